"""The contract of every memory policy: those of POLICIES, and drawn ones."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npcmem import (
    AtTheBreak,
    CacheRules,
    Character,
    Compaction,
    Deduplicate,
    FullHistory,
    KeepAlive,
    Layers,
    Price,
    Retrieval,
    Scheduled,
    Session,
    SlidingWindow,
    SteppedWindow,
    SummariseAt,
    SummariseEvery,
    SummariseOn,
    replay,
)
from npcmem.policies import POLICIES, calls

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)


@st.composite
def summarisers(draw) -> SummariseEvery:
    k = draw(st.integers(1, 12) | st.just(math.inf))
    keep = draw(st.integers(0, min(k, 13) - 1))
    return SummariseEvery(k, keep, draw(st.booleans()))


some = st.integers(1, 12)
plain_policies = (
    st.sampled_from(POLICIES)
    | st.builds(FullHistory)
    | st.builds(SlidingWindow, st.integers(0, 12) | st.just(math.inf), st.integers(0, 2000) | st.just(math.inf))
    | st.builds(lambda low, more: SteppedWindow(low, low + more), st.integers(0, 8), st.integers(0, 8))
    | summarisers()
    | st.builds(
        lambda keep, more, shares: SummariseAt(keep + more, keep, shares), st.integers(0, 900), some, st.booleans()
    )
    | st.builds(SummariseOn, some | st.just(math.inf), st.sampled_from([60.0, 4000.0, math.inf]), st.booleans())
    | st.builds(lambda s, least, more: AtTheBreak(s, least, least + more), st.sampled_from([1.0, 300.0]), some, some)
    | st.builds(Compaction, st.integers(1, 6000))
    | st.builds(
        Scheduled,
        st.dictionaries(st.integers(1, 30), some, max_size=4).map(lambda one: tuple(sorted(one.items()))),
        st.booleans(),
    )
)
windows = (
    st.builds(lambda low, more: SteppedWindow(low, low + more), st.integers(0, 4), st.integers(0, 5)) | summarisers()
)
policies = (
    plain_policies
    | st.builds(Retrieval, st.integers(0, 5), st.booleans(), policy=windows)
    | st.builds(Layers, st.integers(0, 5), st.booleans(), policy=windows, fields_every=some)
    | st.builds(KeepAlive, st.sampled_from([50.0, 240.0, 299.0]), st.integers(0, 12), policy=plain_policies)
    | st.builds(Deduplicate, st.floats(-0.5, 1), policy=plain_policies)
)
sizes = st.integers(0, 3000)
characters = st.builds(Character, sizes, st.integers(0, 400), st.integers(0, 300), st.integers(0, 300))


@st.composite
def sessions(draw, most: int = 40) -> Session:
    turns = draw(st.integers(1, most))
    exchange = draw(st.lists(st.integers(0, 500), min_size=turns, max_size=turns))
    reply = [draw(st.integers(0, tokens)) for tokens in exchange]
    gaps = st.sampled_from([0, 1, 60, 299, 300, 301, 1799, 3599, 3600, 90_000])
    similar = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 0.95, 1.0]), min_size=turns, max_size=turns))
    topics = draw(st.none() | st.lists(st.integers(0, 2), min_size=turns, max_size=turns))
    return Session(exchange, reply, draw(st.lists(gaps, min_size=turns - 1, max_size=turns - 1)), topics, similar)


rules = st.builds(
    CacheRules,
    ttl_s=st.sampled_from([60, 300, 1800, 3600, math.inf]),
    min_tokens=st.sampled_from([0, 512, 1024, 4096]),
    granularity_tokens=st.sampled_from([1, 16, 128]),
    max_breakpoints=st.none() | st.integers(1, 5),
    lookback_blocks=st.none() | st.sampled_from([1, 2, 20]),
    long_writes=st.booleans(),
)
price = Price.relative(5.0)
contract = given(policies, characters, sessions(), st.none() | rules)


@contract
def test_the_billing_classes_of_each_call_sum_to_its_prompt(policy, character, session, rules):
    bill = replay(policy, character, session, rules)
    prompts = [call.input_tokens for call in calls(policy, character, session)]
    assert bill.usage.input.tolist() == prompts
    assert all((getattr(bill.usage, name) >= 0).all() for name in ("uncached", "read", "write", "write_long", "output"))
    assert bill.cost(price) >= 0


@contract
def test_every_turn_has_one_reply_call_at_its_second(policy, character, session, rules):
    bill = replay(policy, character, session, rules)
    replies = bill.only("reply")
    assert replies.turn.tolist() == list(range(1, session.turns + 1))
    assert replies.at_s.tolist() == pytest.approx([0.0, *np.cumsum(session.gaps_s)])
    assert replies.usage.output.tolist() == session.reply_tokens.tolist()
    assert replies.total.output == session.reply_tokens.sum()


@contract
def test_a_summary_is_made_at_the_instant_of_its_turn_and_never_after_the_last(policy, character, session, rules):
    summaries = replay(policy, character, session, rules).only("summary")
    start_s = np.array([0.0, *np.cumsum(session.gaps_s)])
    assert (summaries.needs <= session.turns).all()  # one on return serves the last reply, one after it nothing
    assert summaries.at_s.tolist() == pytest.approx(start_s[summaries.turn - 1].tolist())
    assert (summaries.usage.output == character.summary_tokens).all()


@contract
def test_no_cache_no_reads_and_no_writes(policy, character, session, rules):
    bill = replay(policy, character, session, None)
    assert (bill.total.read, bill.total.write, bill.total.write_long) == (0, 0, 0)
    assert (bill.hit_rate, bill.read_share) == (0, 0)
    assert bill.total.input == replay(policy, character, session, rules).total.input


@contract
def test_the_first_turn_reads_nothing(policy, character, session, rules):
    assert replay(policy, character, session, rules).usage.read[0] == 0


@given(policies, characters, sessions(), rules, st.sampled_from([1.5, 6, 12, math.inf]))
def test_no_call_reads_less_with_a_longer_ttl(policy, character, session, rules, times):
    """Of the same session: not in total only, but call by call."""
    short = replay(policy, character, session, rules)
    long = replay(policy, character, session, dataclasses.replace(rules, ttl_s=rules.ttl_s * times))
    assert (long.usage.read >= short.usage.read).all()


@given(policies, characters, sessions(), rules)
def test_the_volatile_part_is_plain_input_of_every_reply(policy, character, session, rules):
    without = dataclasses.replace(character, volatile_tokens=0)
    with_it, bare = (replay(policy, who, session, rules).usage for who in (character, without))
    assert with_it.read.tolist() == bare.read.tolist()
    assert with_it.write.tolist() == bare.write.tolist()
    replies = replay(policy, character, session, rules).kind == "reply"
    assert (with_it.uncached - bare.uncached).tolist() == (replies * character.volatile_tokens).tolist()


@given(
    st.sampled_from(
        [
            SlidingWindow(math.inf),
            SlidingWindow(tokens=math.inf),
            SteppedWindow(3, math.inf),
            SummariseEvery(math.inf),
            SummariseEvery(math.inf, 3),
            SummariseEvery(math.inf, 0, True),
            SummariseAt(math.inf),
            SummariseAt(math.inf, 100, True),
            SummariseOn(),
            AtTheBreak(math.inf, k=math.inf),
            AtTheBreak(1.0, 1000, math.inf),
            Compaction(math.inf),
            Scheduled(()),
            KeepAlive(1.0, 0),
            Deduplicate(threshold=1.0),
            Retrieval(4, policy=SteppedWindow(5, math.inf)),
        ]
    ),
    characters,
    sessions(),
)
def test_without_a_limit_it_is_full_history(policy, character, session):
    made = [call for call in calls(policy, character, session) if call.kind != "embedding"]
    assert made == list(calls(FullHistory(), character, session))


@given(characters, sessions(), st.integers(0, 5))
def test_a_limit_the_session_never_reaches_is_full_history(character, session, more):
    full = list(calls(FullHistory(), character, session))
    assert list(calls(SlidingWindow(session.turns - 1 + more), character, session)) == full
    assert list(calls(SummariseEvery(session.turns + more), character, session)) == full


@given(characters, sessions(), st.integers(0, 12))
def test_a_window_holds_its_newest_exchanges(character, session, window):
    for call in calls(SlidingWindow(window), character, session):
        held = session.exchange_tokens[max(call.turn - 1 - window, 0) : call.turn - 1]
        assert [block.tokens for block in call.prompt] == [character.static_tokens, *held]


@given(characters, sessions(), summarisers())
def test_a_summariser_holds_what_the_rules_say(character, session, policy):
    """A transcript kept by hand: the exchanges held, whether a summary exists, and each call in its order."""
    held, summary = [], []
    made = calls(policy, character, session)
    for turn, tokens in enumerate(session.exchange_tokens.tolist(), start=1):
        before = [character.static_tokens, *summary, *held]
        reply = next(made)
        assert (reply.turn, reply.kind) == (turn, "reply")
        assert [block.tokens for block in reply.prompt] == before
        held.append(tokens)
        if len(held) >= policy.k and turn < session.turns:
            oldest, held = held[: len(held) - policy.keep], held[len(held) - policy.keep :]
            call = next(made)
            assert (call.turn, call.kind, call.output_tokens) == (turn, "summary", character.summary_tokens)
            prompt, plain = ([block.tokens for block in part] for part in (call.prompt, call.volatile))
            if policy.shares_prefix:
                assert (prompt, plain) == (before, [tokens, character.instruction_tokens])
            else:
                assert (prompt, plain) == ([], [*summary, *oldest, character.instruction_tokens])
            summary = [character.summary_tokens]
    assert next(made, None) is None


@given(characters, sessions(), st.integers(1, 12), rules)
def test_a_summary_that_shares_the_prefix_reads_what_its_turn_has_just_sent(character, session, k, rules):
    bill = replay(SummariseEvery(k, shares_prefix=True), character, session, rules)
    for at in np.flatnonzero(bill.kind == "summary"):
        assert bill.usage.read[at] == bill.usage.read[at - 1] + bill.usage.write[at - 1] + bill.usage.write_long[at - 1]
        assert bill.usage.write[at] == bill.usage.write_long[at] == 0


def test_no_two_policies_share_a_name():
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)


@every_policy
def test_policies_are_frozen_hashable_and_equal_by_value(policy):
    assert dataclasses.is_dataclass(policy)
    assert hash(policy) == hash(dataclasses.replace(policy))
    assert policy == dataclasses.replace(policy)
    for field in dataclasses.fields(policy):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(policy, field.name, 1)
    with pytest.raises((AttributeError, TypeError)):
        policy.another = 1


@every_policy
def test_the_same_session_twice_is_the_same_bill(policy):
    """A policy keeps nothing between two sessions."""
    session = Session.uniform(40)
    first, second = (replay(policy, Character(), session, CacheRules(300)) for _ in range(2))
    assert first.usage == second.usage


@pytest.mark.parametrize(
    ("policy", "arguments", "sentence"),
    [
        (SlidingWindow, (-1,), "turns must be >= 0 exchanges, got -1"),
        (SlidingWindow, (math.nan,), "turns must be >= 0 exchanges, got nan"),
        (SummariseEvery, (0,), "k must be >= 1 exchanges, got 0"),
        (SummariseEvery.rolling, (10, 15), "batch must be <= 10 exchanges, got 15"),
        (SummariseEvery.rolling, (10, 0), "batch must be >= 1 exchanges, got 0"),
        (SteppedWindow, (5, 4), r"low \(5 exchanges\) cannot exceed high \(4 exchanges\)"),
        (AtTheBreak, (300.0, 9, 4), r"least \(9 exchanges\) cannot exceed k \(4 exchanges\)"),
        (Scheduled, (((3, 2), (3, 2)),), "flushes: turn must be >= 4 turns, got 3"),
        (Scheduled, (((3, 0),),), "flushes: oldest must be >= 1 exchanges, got 0"),
        (SummariseEvery, (4, -1), "keep must be >= 0 exchanges, got -1"),
        (SummariseEvery, (4, 4), r"keep \(4 exchanges\) must be below k \(4 exchanges\)"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_in_a_sentence(policy, arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        policy(*arguments)


@pytest.mark.parametrize(("policy", "name"), [(SlidingWindow, "turns"), (SummariseEvery, "k")])
@pytest.mark.parametrize("value", [2.5, "4", None])
def test_a_limit_is_a_whole_number(policy, name, value):
    with pytest.raises(TypeError, match=f"^{name} must be a (whole )?number of exchanges, got "):
        policy(value)


def test_a_wrapper_wraps_a_policy():
    with pytest.raises(TypeError, match="^policy must be a memory policy, got 3$"):
        KeepAlive(policy=3)


def test_a_schedule_asks_for_what_is_there_and_keeps_its_turns_when_repeats_are_left_out():
    one = Session.uniform(8).with_repeats(0.3)
    for policy in (Scheduled(((3, 10), (6, 3))), Deduplicate(policy=Scheduled(((3, 10), (6, 3))))):
        made = [call.turn for call in calls(policy, Character(), one) if call.kind == "summary"]
        assert made == [3, 6]


def test_what_is_brought_back_is_never_the_same_block_twice():
    one = Session.uniform(12).with_repeats(0.5)
    policy = Deduplicate(policy=Retrieval(2, True, policy=SteppedWindow(1, 2)))
    found = [block for call in calls(policy, Character(), one) for block in call.prompt if block.key[0] == "retrieved"]
    assert len({block.key for block in found}) == len(found) > 0


def test_each_line_is_embedded_once_as_a_query_and_once_as_it_is_stored():
    one = Session.uniform(10).with_repeats(0.2)
    for policy in (Retrieval(), Deduplicate(policy=Retrieval())):
        tokens = [call.input_tokens for call in calls(policy, Character(), one) if call.kind == "embedding"]
        assert tokens == [160 + 80] * 10
    rated = [call.turn for call in calls(Deduplicate(policy=Layers()), Character(), one) if call.kind == "importance"]
    assert rated == [1, 2, 3, 4, 6, 7, 8, 9]  # repeats are not rated


def test_after_a_summary_a_ping_sends_what_the_next_prompt_can_read():
    one = Session.uniform(4, gap_s=250)
    pings = [
        call for call in calls(KeepAlive(240.0, policy=SummariseEvery(2)), Character(), one) if call.kind == "ping"
    ]
    assert [call.input_tokens for call in pings] == [1800, 1800, 1950]  # after turn 2 the static part alone


@pytest.mark.parametrize("policy", [*POLICIES, Scheduled(((3, 2), (7, 4)))], ids=lambda policy: policy.name)
def test_whole_numbers_given_as_floats_are_whole_numbers_from_then_on(policy):
    given = {one.name: getattr(policy, one.name) for one in dataclasses.fields(policy)}
    floats = {name: float(value) for name, value in given.items() if type(value) is int}
    kept = dataclasses.replace(policy, **floats)
    session = Session.uniform(12, 160, 80)
    assert [*calls(kept, Character(1800.0), session)] == [*calls(policy, Character(1800), session)]


def test_a_schedule_of_lists_is_kept_as_one_that_can_be_hashed():
    assert Scheduled([[3.0, 2], (7, 4)]) == Scheduled(((3, 2), (7, 4)))
    assert hash(Scheduled([[3.0, 2]])) == hash(Scheduled(((3, 2),)))
