"""Three roads to one number: the closed form, the exact replay and simulation."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npcmem import (
    Block,
    CacheRules,
    Call,
    Character,
    Empirical,
    FullHistory,
    KeepAlive,
    Layers,
    PrefixCache,
    Price,
    Retention,
    Session,
    SummariseEvery,
    ThinkTime,
    band,
    crossover,
    expected,
    outlook,
    replay,
    replay_together,
    sweep,
)
from npcmem import formulas as f
from npcmem.money import Tier
from npcmem.paces import pace
from npcmem.policies import POLICIES, Policy, beginning, take_turn
from npcmem.recall import mean_recall, oldest_recall
from npcmem.sweep import longest_call, recall_sweep

price, character, rules = Price.relative(5.0), Character(volatile_tokens=300), CacheRules(300)

# --- simulation -----------------------------------------------------------------------------------


def simulated(policy, players: ThinkTime, rules: CacheRules, sessions: int, turns: int) -> np.ndarray:
    """Return the cost of so many sessions, each replayed call by call at its own sampled gaps."""
    gaps, one = players.sample(np.random.default_rng(7), (sessions, turns - 1)), Session.uniform(turns)
    return np.array([replay(policy, character, one.with_gaps(row), rules).cost(price) for row in gaps])


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("rules", [CacheRules(300), CacheRules(300, 2048, 128, 4, 20)], ids=["exact", "coarse"])
def test_the_expectation_is_the_mean_of_replayed_sessions(policy, rules):
    players = pace("deliberate")
    mean = expected(policy, character, Session.uniform(30), rules, players).cost(price)
    costs = simulated(policy, players, rules, 250, 30)
    assert mean == pytest.approx(costs.mean(), abs=4 * costs.std(ddof=1) / math.sqrt(len(costs)))


@pytest.mark.parametrize(("k", "shares"), [(4, False), (15, False), (12, True), (30, False)])
def test_all_three_roads_meet(k, shares):
    players, policy = pace("article-120s"), SummariseEvery(k, shares_prefix=shares)
    warm = players.cdf(300.0)
    closed = sweep(character, 160, 80, 30, rules, warm, price, shares_prefix=shares)[k - 1, -1]
    exact = expected(policy, character, Session.uniform(30), rules, warm).cost(price)
    costs = simulated(policy, players, rules, 250, 30)
    assert closed == pytest.approx(exact, rel=1e-12)
    assert exact == pytest.approx(costs.mean(), abs=4 * costs.std(ddof=1) / math.sqrt(len(costs)))


KINDS_OF_CACHE = {
    "exact": CacheRules(300),
    "minimum above the static part": CacheRules(300, min_tokens=2000),
    "granular": CacheRules(300, 1024, 128),
    "4 breakpoints": CacheRules(300, max_breakpoints=4, lookback_blocks=20),
    "2 breakpoints": CacheRules(300, max_breakpoints=2),
    "a lookback of 1": CacheRules(300, max_breakpoints=2, lookback_blocks=1),
    "a small capacity": CacheRules(300, capacity_tokens=2200),
    "1 breakpoint": CacheRules(300, max_breakpoints=1),
}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("rules", KINDS_OF_CACHE.values(), ids=KINDS_OF_CACHE)
def test_the_mixing_identity_holds_for_every_pattern_of_warm_and_cold_gaps(policy, rules):
    """Of 6 turns all 32 patterns, each gap with a chance of its own; nothing is drawn. Or it is refused."""
    chance = np.array([0.9, 0.2, 0.5, 0.7, 0.35])
    exchange = np.array([160, 90, 200, 10, 333, 160])
    session = Session(exchange, exchange // 2, np.zeros(5))
    policy = shortened(policy)
    mean = 0.0
    for pattern in range(32):
        warm = np.array([bool(pattern >> at & 1) for at in range(5)])
        weight = np.where(warm, chance, 1 - chance).prod()
        mean += weight * replay(policy, character, session.with_gaps(np.where(warm, 299.0, 300.0)), rules).cost(price)
    try:
        found = expected(policy, character, session, rules, chance).cost(price)
    except ValueError as refused:
        assert str(refused).startswith(("max_breakpoints", "lookback_blocks", "capacity_tokens", "gaps must be a pace"))
    else:
        assert found == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize(
    "rules",
    [CacheRules(300), CacheRules(300, 2000, 128, 4, 20), CacheRules(300, long_ttl_s=3600, long_blocks=1), None],
    ids=["exact", "coarse", "the head for an hour", "no cache"],
)
def test_an_expectation_over_measured_gaps_is_the_mean_of_every_sequence_of_them(policy, rules):
    """Four kinds of gap, four turns, 64 sessions: bill, recall and bill by length; nothing is drawn."""
    kinds, counts = np.array([10.0, 260.0, 350.0, 4000.0]), np.array([3, 1, 2, 2])
    measured, chance = Empirical(np.repeat(kinds, counts)), counts / 8
    policy, one = shortened(policy), Session.uniform(4).with_scenes(2).with_repeats(0.4)
    usd, by_length, recall = 0.0, np.zeros(4), np.zeros(4)
    for which in itertools.product(range(4), repeat=3):
        session, weight = one.with_gaps(kinds[list(which)]), chance[list(which)].prod()
        usd += weight * replay(policy, character, session, rules).cost(price)
        known = outlook(policy, character, session, rules, None, Retention(0.5, 0.9, 0.2))
        by_length += weight * known.bill.cost_by_length(price)
        recall += weight * known.recall
    found = outlook(policy, character, one, rules, measured, Retention(0.5, 0.9, 0.2))
    assert found.bill.cost(price) == pytest.approx(usd, rel=1e-12)
    assert found.bill.cost_by_length(price) == pytest.approx(by_length, rel=1e-12)
    assert found.recall == pytest.approx(recall, rel=1e-12)
    several = outlook(policy, character, one, rules, [measured, measured.scaled(0.1)], Retention(0.5, 0.9, 0.2))
    assert several.bill.cost(price)[0] == pytest.approx(usd, rel=1e-12)
    assert several.recall[:, 0] == pytest.approx(recall, rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_the_cost_by_length_is_that_of_each_shorter_session(policy):
    players, bill = pace("deliberate"), expected(policy, character, Session.uniform(12), rules, pace("deliberate"))
    each = [expected(policy, character, Session.uniform(n), rules, players).cost(price) for n in range(1, 13)]
    assert bill.cost_by_length(price) == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_recall_is_that_of_a_transcript_kept_by_hand(policy):
    policy, shape = shortened(policy), Retention(0.6, 0.9, 0.3)
    session = Session.uniform(12, gap_s=310).with_scenes(4).with_repeats(0.3)
    found = outlook(policy, character, session, None, None, shape)
    memory, folded = beginning(character), []
    for turn in range(1, 13):
        step = take_turn(policy, character, session, memory, turn, 310.0 if turn > 1 else 0.0)
        folded += [step.passes[0]] if step.passes[0] else []
        held, dropped = len(step.spoken.exchanges), step.spoken.dropped
        again = policy.fetched(len(step.spoken.stored))
        share = policy.known_share  # of the facts are fields of the game
        mean, first = (of(held, folded, dropped, shape, again) for of in (mean_recall, oldest_recall))
        assert found.recall[turn - 1] == pytest.approx(share + (1 - share) * mean)
        assert found.oldest[turn - 1] == pytest.approx(share + (1 - share) * first)
        folded += [step.passes[1]] if step.passes[1] else []
        memory = step.memory


def shortened(policy):
    """Return a policy that acts within 6 turns."""
    small = {"k": 3, "keep": 1, "turns": 2, "low": 1, "high": 3, "least": 2, "every": 3, "fields_every": 2}
    small |= {"tokens": 400, "trigger_tokens": 2200, "reflect_every": 2}
    names = {field.name for field in dataclasses.fields(policy)}
    changed = {name: small[name] for name in names & set(small) if getattr(policy, name) not in (0, math.inf)}
    if "policy" in names:
        changed["policy"] = shortened(policy.policy)
    return dataclasses.replace(policy, **changed)


def test_hit_rates_and_read_shares_are_expectations_too():
    players, one = pace("deliberate"), Session.uniform(20)
    bill = expected(FullHistory(), character, one, rules, players.cdf(300.0))
    assert bill.hit_rate == pytest.approx(players.hit_rate(300.0, 20))
    gaps = players.sample(np.random.default_rng(3), (300, 19))
    replays = [replay(FullHistory(), character, one.with_gaps(row), rules) for row in gaps]
    rates = np.array([bill.hit_rate for bill in replays])
    assert bill.hit_rate == pytest.approx(rates.mean(), abs=4 * rates.std(ddof=1) / math.sqrt(300))
    read = sum(bill.total.read for bill in replays) / sum(bill.total.input for bill in replays)
    assert bill.read_share == pytest.approx(read, abs=0.02)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("gap_s", [0.0, 299.0, 300.0, 1e6])
def test_an_expectation_of_known_gaps_is_their_replay(policy, gap_s):
    one = Session.uniform(25, gap_s=gap_s)
    bill, sent = expected(policy, character, one, rules), replay(policy, character, one, rules)
    assert bill.total == sent.total
    assert bill.cost_by_kind(price) == pytest.approx(sent.cost_by_kind(price))
    assert bill.cost_by_length(price)[-1] == pytest.approx(sent.cost(price))
    rest = [one.rows(one.kind != "ping") for one in (bill, sent)]  # an expectation has the pings of a gap in one row
    rows = [sorted(zip(one.turn, one.kind, one.usage.read, strict=True)) for one in rest]
    assert rows[0] == rows[1]


# --- the closed form ------------------------------------------------------------------------------

tokens = st.integers(0, 400)
rates = st.builds(
    Price.relative,
    st.sampled_from([1.0, 4.0, 5.0]),
    st.sampled_from([0.0, 0.05, 0.1, 1.0]),
    st.sampled_from([1.0, 1.25]),
    st.sampled_from([1.0, 2.0]),
)


@st.composite
def prices(draw) -> Price:
    """Prices with up to two tiers."""
    tiers = draw(st.lists(st.builds(Tier, st.integers(0, 8000), rates), max_size=2, unique_by=lambda t: t.above_tokens))
    return dataclasses.replace(draw(rates), tiers=tuple(tiers))


@st.composite
def sweeps(draw) -> dict:
    exchange = draw(tokens)
    return {
        "character": Character(
            draw(st.integers(400, 5000)),
            draw(tokens),
            draw(tokens),
            draw(tokens),
            draw(tokens),
            draw(st.sampled_from([0.0, 2.5])),
        ),
        "exchange_tokens": exchange,
        "reply_tokens": draw(st.integers(0, exchange)),
        "turns": draw(st.integers(1, 16)),
        "rules": draw(
            st.none()
            | st.builds(
                CacheRules,
                st.just(300),
                st.sampled_from([0, 512, 1024, 4096]) | st.integers(0, 6000),
                st.sampled_from([1, 16, 128, 1000]),
                st.sampled_from([None, 3, 4]),
                st.sampled_from([None, 2, 20]),
                long_writes=st.booleans(),
            )
        ),
        "warm": draw(st.sampled_from([0.0, 1.0]) | st.floats(0, 1)),
        "price": draw(prices()),
        "keep": draw(st.integers(0, 3)),
        "shares_prefix": draw(st.booleans()),
        "summary_price": draw(st.none() | prices()),
        "head_warm": draw(st.sampled_from([0.0, 1.0]) | st.floats(0, 1)),
    }


def expected_of(case: dict, k: int, turns: int) -> float:
    policy = SummariseEvery(k, case["keep"], case["shares_prefix"])
    session = Session.uniform(turns, case["exchange_tokens"], case["reply_tokens"])
    head_warm = case.get("head_warm", 0.0)
    bill = expected(policy, case["character"], session, case["rules"], case["warm"], head_warm=head_warm)
    return bill.cost(case["price"], **({"summary": case["summary_price"]} if case["summary_price"] else {}))


AT_A_BOUNDARY = {  # the prompts of turns 2, 3, … are 1,000 + 100 (t − 1) tokens: a tier starts past one of them
    "character": Character(1000, 0, 0, 0),
    "exchange_tokens": 100,
    "reply_tokens": 0,
    "turns": 12,
    "rules": CacheRules(300),
    "price": Price(2, 0.2, 2.5, 4, 10, tiers=(Tier(1700, Price(4, 0.4, 5, 8, 20)),)),
    "keep": 0,
    "shares_prefix": False,
    "summary_price": None,
}


@given(sweeps())
@example({**AT_A_BOUNDARY, "warm": 0.3})
@example({**AT_A_BOUNDARY, "warm": 0.7})
@example({**AT_A_BOUNDARY, "warm": 0.9, "shares_prefix": True})
def test_the_sweep_is_the_expectation_for_every_interval(case):
    usd, turns = sweep(**case), case["turns"]
    for k in range(case["keep"] + 1, turns + 1):
        assert usd[k - 1 - case["keep"], -1] == pytest.approx(expected_of(case, k, turns), rel=1e-9, abs=1e-9), k


@given(sweeps(), st.data())
def test_the_sweep_is_the_expectation_for_every_length(case, data):
    case = {**case, "keep": min(case["keep"], case["turns"] - 1)}
    k = data.draw(st.integers(case["keep"] + 1, case["turns"]))
    row = sweep(**case)[k - 1 - case["keep"]]
    for turns in range(1, case["turns"] + 1):
        assert row[turns - 1] == pytest.approx(expected_of(case, k, turns), rel=1e-9, abs=1e-9), turns


@given(st.floats(0.01, 0.99), st.integers(1, 30), st.integers(0, 29))
@example(1 / 3, 8, 7)
def test_a_prompt_of_exactly_the_boundary_is_below_it_whatever_the_hit_rate(warm, turns, at):
    """An expectation mixes two replays; the mix must not lift a prompt past a boundary it only reaches."""
    bound = 1000 + 77 * min(at, turns - 1)
    dear = Price(2, 0.2, 2.5, 4, 10, tiers=(Tier(bound, Price(2e6, 2e6, 2e6, 2e6, 2e6)),))
    who, one = Character(1000), Session.uniform(turns, 77, 30)
    bill = expected(FullHistory(), who, one, rules, warm)
    assert ((bill.call_usd(dear) > 1) == (bill.usage.input > bound)).all()


@pytest.mark.parametrize("k", [3, 7, 20])
@pytest.mark.parametrize("shares", [False, True])
def test_a_sweep_with_pings_is_the_expectation_of_keeping_alive(k, shares):
    players, alive = pace("deliberate"), KeepAlive(240.0, 5, policy=SummariseEvery(k, 0, shares))
    warm = float(players.cdf(5 * 240.0 + 300.0))
    pings = sum(1 - float(players.cdf(240.0 * number)) for number in range(1, 6))
    usd = sweep(character, 160, 80, 20, rules, warm, price, shares_prefix=shares, pings=pings)[k - 1]
    bill = expected(alive, character, Session.uniform(20), rules, players)
    assert usd == pytest.approx(bill.cost_by_length(price), rel=1e-12)


@dataclasses.dataclass(frozen=True)
class HalfOrAll(Policy):
    """After five minutes away half of what is held is summarised, after an hour all of it."""

    @property
    def name(self):
        return "half or all"

    @property
    def thresholds_s(self):
        return (300.0, 3600.0)

    def due_on_return(self, memory, gap_s):
        held = len(memory.exchanges)
        return held if gap_s >= 3600 else held // 2 if gap_s >= 300 else 0


def test_a_policy_may_do_different_things_after_different_gaps():
    kinds, one = np.array([10.0, 400.0, 4000.0]), Session.uniform(4)
    each = [
        replay(HalfOrAll(), character, one.with_gaps(np.array(gaps)), rules).cost(price)
        for gaps in itertools.product(kinds, repeat=3)
    ]
    assert expected(HalfOrAll(), character, one, rules, Empirical(kinds)).cost(price) == pytest.approx(np.mean(each))


@pytest.mark.parametrize(
    ("policy", "rules"),
    [
        (FullHistory(), CacheRules(300, max_breakpoints=2, long_ttl_s=3600, long_blocks=2)),
        (FullHistory(), CacheRules(300, max_breakpoints=4, long_ttl_s=3600, long_blocks=4)),
        (Layers(1, before_history=True), CacheRules(300, max_breakpoints=2)),
    ],
    ids=repr,
)
def test_too_few_breakpoints_for_what_stands_firm_are_refused(policy, rules):
    with pytest.raises(
        ValueError, match="^max_breakpoints must be >= [0-9] breakpoints .* replay such a cache instead$"
    ):
        expected(policy, character, Session.uniform(9), rules, Empirical([10.0, 400.0]))


@pytest.mark.parametrize(
    ("gaps", "error", "sentence"),
    [
        ([], ValueError, "gaps must have 4 entries, one a gap, got 0"),
        ("slow", TypeError, "gaps must be numbers of \\(probability\\), got 'slow'"),
        ([0.5, 2.0, 0.5, 0.5], ValueError, "gaps\\[1\\] must be between 0 and 1 .*, got 2"),
    ],
)
def test_gaps_are_paces_or_chances(gaps, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        expected(FullHistory(), character, Session.uniform(5), rules, gaps)


def test_chances_may_be_a_list():
    chances = [0.9, 0.1, 0.5, 1.0]
    listed, array = (
        expected(FullHistory(), character, Session.uniform(5), rules, one) for one in (chances, np.array(chances))
    )
    assert listed.usage == array.usage
    assert (listed.chance == array.chance).all()


def test_others_keep_the_head_warm_as_a_replay_of_all_of_them_shows():
    """Many players of two characters on one cache: what the chance of a warm head says of one session's bill."""
    rng, players, turns = np.random.default_rng(11), ThinkTime((1.0,), (200.0,), (0.8,)), 6
    who = [Character(1800, volatile_tokens=300, shared_tokens=1100, name=name) for name in ("smith", "guard")]
    count, span_s = 1500, 90_000.0
    starts = np.sort(rng.uniform(0, span_s, count)).tolist()
    sessions = [Session.uniform(turns).with_gaps(players.sample(rng, turns - 1)) for _ in range(count)]
    smiths = rng.random(count) < 0.3
    bills = replay_together(FullHistory(), [who[0] if one else who[1] for one in smiths], sessions, starts, rules)
    inner = [at for at in range(count) if smiths[at] and 3000 < starts[at] < span_s - 6000]
    costs = np.array([bills[at].cost(price) for at in inner])
    requests_per_s = count * turns / span_s
    head_warm = [f.shared_head_hit_rate(requests_per_s * share, 300.0) for share in (1.0, 0.3)]
    found = expected(FullHistory(), who[0], Session.uniform(turns), rules, players, head_warm=head_warm).cost(price)
    alone = expected(FullHistory(), who[0], Session.uniform(turns), rules, players).cost(price)
    assert found == pytest.approx(costs.mean(), abs=4 * costs.std(ddof=1) / math.sqrt(len(costs)))
    assert found < 0.9 * alone


def test_a_sweep_may_stop_at_any_interval():
    whole = sweep(character, 160, 80, 40, rules, 0.8, price)
    assert np.array_equal(sweep(character, 160, 80, 40, rules, 0.8, price, most_k=7), whole[:7])
    beyond = sweep(character, 160, 80, 40, rules, 0.8, price, most_k=50)
    assert (beyond[39:] == whole[-1]).all()


@pytest.mark.parametrize(
    "rules",
    [
        CacheRules(300, max_breakpoints=1),
        CacheRules(300, max_breakpoints=2, lookback_blocks=1),
        CacheRules(300, capacity_tokens=2500),
        CacheRules(300, long_ttl_s=3600, long_blocks=1),
        CacheRules(300, cached_blocks=1),
        CacheRules(300, learns_units=True),
        CacheRules(300, refreshes=False),
        CacheRules(300, recomputes_last=True),
        CacheRules(math.inf),
    ],
    ids=repr,
)
def test_a_cache_the_closed_form_does_not_know_is_refused_or_right(rules):
    one = Session.uniform(20)
    try:
        closed = sweep(character, 160, 80, 20, rules, 0.6, price)[:, -1]
    except ValueError as refused:
        assert any(field in str(refused) for field in CacheRules.__slots__)
    else:
        exact = [expected(SummariseEvery(k), character, one, rules, 0.6).cost(price) for k in range(1, 21)]
        assert closed == pytest.approx(exact)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"turns": 0}, "turns must be >= 1 turns, got 0"),
        ({"warm": 1.5}, r"warm must be <= 1 \(probability\), got 1\.5"),
        ({"warm": math.nan}, r"warm must be >= 0 \(probability\), got nan"),
        ({"reply_tokens": 200}, r"reply_tokens \(200 tokens\) cannot exceed exchange_tokens \(160 tokens\)"),
        ({"exchange_tokens": -1}, "exchange_tokens must be >= 0 tokens, got -1"),
        ({"turns": 6000}, "most_k x turns must be <= 25,000,000 .*, got 36,000,000"),
        ({"most_k": 0}, "most_k must be >= 1 exchanges, got 0"),
        ({"keep": -2}, "keep must be >= 0 exchanges, got -2"),
        ({"keep": 0.5}, "keep must be a whole number of exchanges, got 0.5"),
        ({"pings": -1}, "pings must be >= 0 pings a gap, got -1"),
        ({"pings": math.nan}, "pings must be >= 0 pings a gap, got nan"),
        ({"pings": math.inf}, "pings must be <= 1,000 pings a gap, got inf"),
    ],
)
def test_a_sweep_refuses_what_cannot_be_in_a_sentence(bad, sentence):
    asked = {
        "character": character, "exchange_tokens": 160, "reply_tokens": 80, "turns": 10,
        "rules": rules, "warm": 0.5, "price": price, **bad,
    }  # fmt: skip
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}$"):
        sweep(**asked)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"turns": 0}, "turns must be >= 1 turns, got 0"),
        ({"turns": 6000}, "most_k x turns must be <= 25,000,000 .*, got 36,000,000"),
        ({"keep": -1}, "keep must be >= 0 exchanges, got -1"),
        ({"most_k": 3, "keep": 5}, "most_k must be >= 6 exchanges, got 3"),
        ({"most_k": 2.5}, "most_k must be a whole number of exchanges, got 2.5"),
    ],
)
def test_a_sweep_of_recall_refuses_what_cannot_be_in_a_sentence(bad, sentence):
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}$"):
        recall_sweep(**{"turns": 10, "retention": Retention(), **bad})


@pytest.mark.parametrize("warm", [1.5, -0.1, math.nan, np.ones(3), np.full(9, 2.0)], ids=repr)
def test_an_expectation_refuses_chances_that_cannot_be(warm):
    with pytest.raises(ValueError, match="^gaps"):
        expected(FullHistory(), character, Session.uniform(10), rules, warm)


# --- formulas -------------------------------------------------------------------------------------


@given(st.integers(1, 60), tokens, tokens, tokens, tokens, st.sampled_from([1.0, 4.0, 5.0]))
def test_full_history_in_closed_form_is_its_uncached_replay(n, S, m, o, u, rho):
    o = min(o, m)
    bill = replay(FullHistory(), Character(S, volatile_tokens=u), Session.uniform(n, m, o))
    assert f.full_history_input_tokens(n, S, m, u) == bill.total.input
    assert f.full_history_cost(n, S, m, o, rho, u) == pytest.approx(bill.cost(Price.relative(rho)), rel=1e-12)


@given(st.integers(1, 30), st.integers(2, 30), tokens, tokens, tokens, tokens)
def test_summarising_in_the_long_run_is_a_steady_cycle_of_its_uncached_replay(k, cycles, S, m, s, q):
    """n whole cycles after the first summary: each has n/k summary calls and holds (k − 1)/2 exchanges a turn."""
    bill = replay(SummariseEvery(k), Character(S, s, q), Session.uniform(3 * k + 1, m, 0))
    steady = (bill.turn > 2 * k) & (bill.turn <= 3 * k)
    cost = math.fsum(bill.call_usd(price)[steady]) * cycles
    assert f.summarise_cost_long_run(k * cycles, k, S, m, s, q, 0, 5.0) == pytest.approx(cost, rel=1e-9, abs=1e-6)


@given(st.floats(-1e4, 1e6), st.floats(0.01, 2), st.integers(1, 2000))
def test_the_discrete_optimum_is_minimal(F, mu, m):
    """Carry and flush a turn: μm(k − 1)/2 + F/k, by brute force around the optimum and at the start."""
    best = float(f.optimal_interval_discrete(F, mu, m))
    k = np.unique(np.maximum([*range(1, 200), *(best + np.arange(-50, 51))], 1))

    def cost(k):
        return mu * m * (k - 1) / 2 + F / k

    assert cost(best) <= cost(k).min() + 1e-9 * abs(cost(k)).max()
    assert best >= 1
    assert best == int(best)


@pytest.mark.parametrize(("mu", "m"), [(0.0, 160), (0.1, 0), (0.0, 0)])
def test_what_is_carried_for_nothing_is_flushed_only_where_a_flush_pays_for_itself(mu, m):
    flush = np.array([-5.0, 0.0, 1000.0])
    assert f.optimal_interval(flush, mu, m).tolist() == [0, math.inf, math.inf]
    assert f.optimal_interval_discrete(flush, mu, m).tolist() == [1, math.inf, math.inf]
    assert [float(f.optimal_interval(one, mu, m)) for one in flush.tolist()] == [0, math.inf, math.inf]
    mixed = f.optimal_interval(0.0, np.array([mu, 0.1]), np.array([m, 160]))
    assert mixed.tolist() == [math.inf, 0]


def test_formulas_take_arrays():
    h = np.linspace(0, 1, 5)
    flush = f.flush_cost_separate(160, 150, 120, 5.0, h, 0.1, 1.25)
    k = f.optimal_interval_discrete(flush, f.carry_price(h, 0.1, 1.25), 160)
    each = [
        f.optimal_interval_discrete(
            f.flush_cost_separate(160, 150, 120, 5.0, x, 0.1, 1.25), f.carry_price(x, 0.1, 1.25), 160
        )
        for x in h
    ]
    assert k.tolist() == each
    assert (np.diff(k) >= 0).all()


# --- reading curves -------------------------------------------------------------------------------


def test_a_band_is_the_minimum_and_all_within_a_percent():
    best, within = band(np.array([200.0, 101.0, 100.0, 101.01, 100.5]))
    assert best == 2
    assert within.tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    ("cheaper", "first"), [([3, 1, 3, 1, 1], 4), ([1, 1, 1, 1, 1], 1), ([1, 1, 1, 1, 2], None), ([3, 3, 3, 3, 1], 5)]
)
def test_a_crossover_is_where_it_stays_below(cheaper, first):
    assert crossover(np.array(cheaper, float), np.full(5, 2.0)) == first


def test_a_frame_has_a_row_for_each_call():
    bill = replay(SummariseEvery(4), character, Session.uniform(9), rules)
    frame = bill.frame()
    assert len(frame) == 9 + 2
    assert frame[["uncached", "read", "write", "write_long"]].to_numpy().sum() == bill.total.input
    assert frame["kind"].tolist().count("summary") == 2


def test_another_model_may_make_the_summaries():
    bill = replay(SummariseEvery(4), character, Session.uniform(9), rules)
    cheap = price.scaled(uncached=0.1, output=0.1)
    by_hand = bill.only("reply").cost(price) + bill.only("summary").cost(cheap)
    assert bill.cost(price, summary=cheap) == pytest.approx(by_hand, rel=1e-12)


@settings(max_examples=20)
@given(st.sampled_from([one for one in POLICIES if not one.pings_s(math.inf)]), st.floats(0, 1), st.floats(0, 1))
def test_a_likelier_hit_never_costs_more(policy, one, other):
    low, high = sorted((one, other))
    session = Session.uniform(25)
    costs = [expected(policy, character, session, rules, warm).cost(price) for warm in (low, high)]
    assert costs[1] <= costs[0] * (1 + 1e-12)


def test_huge_exchanges_do_not_overflow():
    one = Session.uniform(60, 100_000_000, 80)
    exact = expected(SummariseEvery(50), Character(), one, None, 0.0).cost(price)
    assert sweep(Character(), 100_000_000, 80, 60, None, 0.0, price)[49, -1] == pytest.approx(exact)


def test_a_lifetime_past_every_gap_is_always_warm():
    never, year = CacheRules(math.inf), CacheRules(1e9)
    totals = [expected(FullHistory(), Character(), Session.uniform(9), rules, 0.3).total for rules in (never, year)]
    assert totals[0] == totals[1]


# --- a head that many players share -----------------------------------------------------------------


@pytest.mark.parametrize("requests_per_s", [1 / 3000, 1 / 300, 1 / 100])
def test_the_hit_rate_of_a_shared_head_is_that_of_poisson_traffic(requests_per_s):
    """40 players, each with variants of a prompt that agree in the first block only, against 1 − exp(−λτ)."""
    rng, requests, cache = np.random.default_rng(7), 20_000, PrefixCache(CacheRules(300))
    at_s = np.cumsum(rng.exponential(1 / requests_per_s, requests)).tolist()
    variants = zip(rng.integers(40, size=requests).tolist(), rng.integers(5, size=requests).tolist(), strict=True)
    prompts = [(Block("world", 900), Block(player_and_variant, 300)) for player_and_variant in variants]
    reads = [cache.send(Call(1, "reply", prompt, (), 0), s).read for prompt, s in zip(prompts, at_s, strict=True)]
    exact = f.shared_head_hit_rate(requests_per_s, 300)
    error = math.sqrt(exact * (1 - exact) / requests)
    assert np.mean(np.array(reads) >= 900) == pytest.approx(exact, abs=4 * error)


def test_the_hit_rate_of_a_shared_head_at_its_ends():
    assert f.shared_head_hit_rate(0, 300) == 0 and f.shared_head_hit_rate(1, math.inf) == 1
    assert f.shared_head_hit_rate(np.array([1e-12, math.log(2) / 300]), 300) == pytest.approx([3e-10, 0.5])


@given(
    st.integers(1, 30), st.integers(1, 30), st.integers(0, 4000), st.integers(1, 900), st.integers(0, 900),
    st.floats(0, 30), st.booleans(),
)  # fmt: skip
def test_the_longest_call_is_that_of_the_replay(turns, k, static, exchange, volatile, growth, shares):
    who, reply = Character(static, 150, 120, volatile, summary_growth_tokens=growth), min(80, exchange)
    bill = replay(SummariseEvery(k, shares_prefix=shares), who, Session.uniform(turns, exchange, reply), None)
    longest = longest_call(who, exchange, reply, 30, shares_prefix=shares)
    assert longest[k - 1, turns - 1] == (bill.usage.input + bill.usage.output).max()
