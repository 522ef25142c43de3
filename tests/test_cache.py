"""The rules of DESIGN §2.4, one by one, and an independent cache that must agree on any calls."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npcmem import (
    Block,
    CacheRules,
    Call,
    Character,
    PrefixCache,
    Session,
    SummariseEvery,
    Usage,
    replay,
)

TOKENS = {"S": 100, "a": 10, "b": 20, "c": 30, "d": 40, "z": 0, "L": 1500}
STEP = 1e-9


def call(keys: str, volatile: int = 0, output: int = 0) -> Call:
    prompt = tuple(Block(key, TOKENS[key]) for key in keys)
    return Call(1, "reply", prompt, (Block("volatile", volatile),) if volatile else (), output)


def sent(rules: CacheRules | None, *requests: tuple[str, float]) -> list[tuple[int, int, int]]:
    """Send prompts at seconds; return (read, write, uncached) of each."""
    cache = PrefixCache(rules)
    usages = [cache.send(call(keys), at_s) for keys, at_s in requests]
    return [(usage.read, usage.write + usage.write_long, usage.uncached) for usage in usages]


# --- the rules ------------------------------------------------------------------------------------


def test_no_rules_are_no_cache():
    assert PrefixCache(None).send(call("Sab", 5, 7), 0) == Usage(uncached=135, output=7)
    assert sent(None, ("Sa", 0), ("Sa", 0)) == [(0, 0, 110)] * 2


def test_a_first_request_writes_all_but_the_volatile_block():
    assert PrefixCache(CacheRules(300)).send(call("Sab", 5, 7), 0) == Usage(uncached=5, write=130, output=7)


def test_a_request_reads_the_longest_live_prefix_and_writes_the_rest():
    assert sent(CacheRules(300), ("Sab", 0), ("Sabc", 1), ("Sad", 2)) == [(0, 130, 0), (130, 30, 0), (110, 40, 0)]


def test_the_volatile_block_is_never_read():
    cache = PrefixCache(CacheRules(300))
    assert [cache.send(call("S", 5), at_s).uncached for at_s in (0, 1)] == [5, 5]


def test_a_gap_of_exactly_the_ttl_misses():
    assert sent(CacheRules(300), ("S", 0), ("S", 300 - STEP * 1e3)) == [(0, 100, 0), (100, 0, 0)]
    assert sent(CacheRules(300), ("S", 0), ("S", 300)) == [(0, 100, 0), (0, 100, 0)]


def test_a_read_refreshes():
    assert sent(CacheRules(300), ("S", 0), ("S", 200), ("S", 400), ("S", 699))[1:] == [(100, 0, 0)] * 3


def test_a_read_refreshes_the_ancestors():
    assert sent(CacheRules(300), ("Sa", 0), ("Sa", 200), ("Sb", 400))[2] == (100, 20, 0)


def test_a_read_does_not_bring_back_an_ancestor_that_has_died():
    """With one breakpoint S is an entry of the first request only; that of Sab, read at 500, does not revive it."""
    rules = CacheRules(300, max_breakpoints=1)
    assert sent(rules, ("S", 0), ("Sab", 400), ("Sab", 500), ("Sc", 600))[2:] == [(130, 0, 0), (0, 130, 0)]


def test_a_read_does_not_refresh_what_is_longer():
    assert sent(CacheRules(300), ("Sab", 0), ("Sa", 200), ("Sab", 400))[2] == (110, 20, 0)


def test_a_dead_prefix_is_written_anew():
    assert sent(CacheRules(300), ("Sa", 0), ("Sa", 300), ("Sa", 599)) == [(0, 110, 0), (0, 110, 0), (110, 0, 0)]


def test_a_prefix_below_the_minimum_is_neither_read_nor_written():
    assert sent(CacheRules(300, min_tokens=110), ("S", 0), ("S", 1), ("Sa", 2), ("Sb", 3), ("Sa", 4)) == [
        (0, 0, 100),
        (0, 0, 100),
        (0, 110, 0),
        (0, 120, 0),
        (110, 0, 0),
    ]


def test_cached_lengths_are_floored_to_the_granularity():
    assert sent(CacheRules(300, granularity_tokens=64), ("Sa", 0), ("Sa", 1), ("Sab", 2)) == [
        (0, 64, 46),
        (64, 0, 46),
        (64, 64, 2),
    ]


def test_the_minimum_holds_after_flooring():
    assert sent(CacheRules(300, min_tokens=100, granularity_tokens=64), ("Sa", 0), ("Sa", 1)) == [(0, 0, 110)] * 2
    assert sent(CacheRules(300, min_tokens=128, granularity_tokens=64), ("Sab", 0), ("Sab", 1))[1] == (128, 0, 2)


def test_two_breakpoints_mark_the_first_end_and_the_last():
    rules = CacheRules(300, max_breakpoints=2)
    assert sent(rules, ("Sab", 0), ("Sac", 1), ("Sabd", 2)) == [(0, 130, 0), (100, 40, 0), (130, 40, 0)]


def test_one_breakpoint_marks_the_last_end_only():
    rules = CacheRules(300, max_breakpoints=1)
    assert sent(rules, ("Sab", 0), ("Sac", 1), ("Sabd", 2)) == [(0, 130, 0), (0, 140, 0), (130, 40, 0)]


@pytest.mark.parametrize(("lookback", "read"), [(1, 100), (2, 100), (3, 110), (4, 110)])
def test_a_lookback_counts_the_marked_end_first(lookback, read):
    """Of Sabc only S and the end are marked; its ends are S, a, b, c, so that a is the third back from c."""
    rules = CacheRules(300, max_breakpoints=2, lookback_blocks=lookback)
    assert sent(rules, ("Sa", 0), ("Sabc", 1))[1][0] == read


def test_a_lookback_starts_at_every_marked_end():
    assert sent(CacheRules(300, lookback_blocks=1), ("Sa", 0), ("Sabc", 1))[1] == (110, 50, 0)


def test_without_a_ttl_an_entry_lives_for_ever():
    assert sent(CacheRules(math.inf), ("S", 0), ("S", 1e9))[1] == (100, 0, 0)


def test_long_writes_are_billed_in_their_own_class():
    assert PrefixCache(CacheRules(3600, long_writes=True)).send(call("S"), 0) == Usage(write_long=100)


def test_past_the_capacity_the_least_recently_used_goes():
    rules = CacheRules(math.inf, capacity_tokens=150)
    assert sent(rules, ("a", 0), ("S", 1), ("d", 2), ("a", 3), ("d", 4))[2:] == [(0, 40, 0), (10, 0, 0), (40, 0, 0)]
    assert sent(rules, ("a", 0), ("S", 1), ("d", 2), ("b", 3), ("a", 4))[4] == (0, 10, 0)


def test_past_the_capacity_the_deepest_block_goes_first():
    assert sent(CacheRules(math.inf, capacity_tokens=130), ("Sabc", 0), ("Sabc", 1))[1] == (130, 30, 0)


def test_blocks_that_prefixes_share_are_held_once():
    assert sent(CacheRules(math.inf, capacity_tokens=160), ("Sab", 0), ("Sac", 1), ("Sab", 2), ("Sac", 3))[2:] == [
        (130, 0, 0),
        (140, 0, 0),
    ]


def test_a_cache_of_no_capacity_never_reads():
    assert sent(CacheRules(math.inf, capacity_tokens=0), ("S", 0), ("S", 0))[1][0] == 0


def test_an_entry_larger_than_the_capacity_is_not_held():
    """Below the minimum the first 100 tokens are no entry of their own; the entry at the end holds all 110."""
    rules = CacheRules(math.inf, min_tokens=105, capacity_tokens=105)
    assert sent(rules, ("Sa", 0), ("Sa", 1))[1][0] == 0
    assert sent(CacheRules(math.inf, max_breakpoints=1, capacity_tokens=105), ("Sa", 0), ("Sa", 1))[1][0] == 0


def test_time_running_backwards_is_refused():
    cache = PrefixCache(CacheRules(300))
    cache.send(call("S"), 50)
    with pytest.raises(ValueError, match="^at_s goes back by 8 s: "):
        cache.send(call("S"), 42)
    assert cache.send(call("S"), 50).read == 100


@pytest.mark.parametrize("rules", [None, CacheRules(300)])
@pytest.mark.parametrize("at_s", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("before", [[], [50.0]])
def test_what_is_no_second_is_refused_and_changes_nothing(rules, at_s, before):
    cache = PrefixCache(rules)
    for second in before:
        cache.send(call("S"), second)
    with pytest.raises(ValueError, match=f"^at_s must be .* seconds, got {at_s:g}$"):
        cache.send(call("S"), at_s)
    with pytest.raises(ValueError, match="^at_s goes back by "):
        [cache.send(call("S"), second) for second in (50.0, 42.0)]


def test_an_empty_prompt_is_nothing():
    assert sent(CacheRules(300), ("", 0), ("", 1)) == [(0, 0, 0)] * 2


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("ttl_s", -5, "ttl_s must be > 0 seconds, got -5"),
        ("ttl_s", 0, "ttl_s must be > 0 seconds, got 0"),
        ("ttl_s", math.nan, "ttl_s must be > 0 seconds, got nan"),
        ("min_tokens", -1, "min_tokens must be >= 0 tokens, got -1"),
        ("granularity_tokens", 0, "granularity_tokens must be >= 1 tokens, got 0"),
        ("max_breakpoints", 0, "max_breakpoints must be >= 1 breakpoints, got 0"),
        ("lookback_blocks", 0, "lookback_blocks must be >= 1 blocks, got 0"),
        ("capacity_tokens", -1, "capacity_tokens must be >= 0 tokens, got -1"),
        ("long_ttl_s", 0, "long_ttl_s must be > 0 seconds, got 0"),
        (
            "long_ttl_s",
            299,
            "long_ttl_s (299 s) cannot be shorter than ttl_s (300 s): entries of the longer lifetime "
            "come first in a prompt",
        ),
        ("long_blocks", -1, "long_blocks must be >= 0 blocks, got -1"),
        ("long_blocks", 2, "long_blocks (2 blocks) needs long_ttl_s in seconds, got None"),
        ("cached_blocks", 0, "cached_blocks must be >= 1 blocks, got 0"),
    ],
)
def test_rules_that_cannot_be_are_refused_in_a_sentence(field, value, sentence):
    with pytest.raises(ValueError) as error:
        CacheRules(**{"ttl_s": 300, field: value})
    assert str(error.value) == sentence


def test_storage_is_paid_for_a_lifetime_that_does_not_grow():
    with pytest.raises(ValueError, match="^pays_storage needs refreshes=False, got True"):
        CacheRules(300, pays_storage=True)


def test_storage_needs_an_end_to_its_hours():
    sentence = "^pays_storage needs a lifetime of < inf seconds, got inf: "
    with pytest.raises(ValueError, match=sentence):
        CacheRules(math.inf, refreshes=False, pays_storage=True)
    with pytest.raises(ValueError, match=sentence):
        CacheRules(300, refreshes=False, pays_storage=True, long_ttl_s=math.inf, long_blocks=1)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (CacheRules(300, max_breakpoints=1), "max_breakpoints must be >= 2 breakpoints for an expectation, got 1: "),
        (CacheRules(300, learns_units=True), "learns_units must be False for an expectation, got True: "),
        (
            CacheRules(300, refreshes=False),
            r"refreshes must be True for an expectation, got False \(a lifetime counts ",
        ),
    ],
    ids=["one breakpoint", "units", "no refresh"],
)
def test_rules_no_two_replays_can_mix_are_refused_an_expectation(rules, sentence):
    with pytest.raises(ValueError, match="^" + sentence + ".*replay such a cache instead$"):
        rules.check_mixing()
    CacheRules(300, long_ttl_s=3600, long_blocks=1, recomputes_last=True, cached_blocks=1).check_mixing()


def test_rules_are_frozen_and_hashable():
    assert len({CacheRules(300), CacheRules(300)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        CacheRules(300).ttl_s = 1


# --- two lifetimes in one prompt ------------------------------------------------------------------

MIXED = CacheRules(300, max_breakpoints=4, lookback_blocks=20, long_ttl_s=3600, long_blocks=2)


def billed(rules: CacheRules, *requests: tuple[str, float]) -> list[Usage]:
    cache = PrefixCache(rules)
    return [cache.send(call(keys), at_s) for keys, at_s in requests]


def test_the_lifetimes_of_some_rules():
    assert CacheRules(300).lifetimes_s == CacheRules(300, long_ttl_s=3600).lifetimes_s == (300,)
    assert MIXED.lifetimes_s == (300, 3600)
    assert CacheRules(300, long_ttl_s=300, long_blocks=1).lifetimes_s == (300,)


@pytest.mark.parametrize(
    ("gap_s", "usage"),
    [
        (299, Usage(read=130, write=30)),  # the hit is past the long breakpoints: B = A
        (300, Usage(read=110, write=50)),  # the short entry has died, the long ones live
        (3599, Usage(read=110, write=50)),
        (3600, Usage(write_long=110, write=50)),  # nothing lives: B is the end of a, C the end of c
    ],
)
def test_what_is_written_splits_at_the_last_long_breakpoint(gap_s, usage):
    assert billed(MIXED, ("Sab", 0), ("Sabc", gap_s)) == [Usage(write_long=110, write=20), usage]


def test_a_hit_inside_the_long_part_writes_the_rest_of_it_long():
    assert billed(MIXED, ("S", 0), ("Sab", 400)) == [Usage(write_long=100), Usage(read=100, write_long=10, write=20)]


def test_a_long_breakpoint_below_the_minimum_is_none():
    """S is no entry of its own then: the tokens are written for the lifetime of the first breakpoint that is."""
    rules = dataclasses.replace(MIXED, min_tokens=105, long_blocks=1)
    assert billed(rules, ("Sab", 0), ("Sab", 299), ("Sab", 599)) == [
        Usage(write=130),
        Usage(read=130),
        Usage(write=130),
    ]


def test_the_long_part_is_floored_as_all_is():
    rules = dataclasses.replace(MIXED, granularity_tokens=64, long_blocks=2)
    assert billed(rules, ("Sab", 0)) == [Usage(write_long=64, write=64, uncached=2)]


def test_an_unmarked_block_in_the_long_part_is_no_breakpoint():
    """Of Sabc two ends are marked, S and c; with three long blocks B is the end of S, not that of b."""
    rules = dataclasses.replace(MIXED, max_breakpoints=2, long_blocks=3)
    assert billed(rules, ("Sabc", 0)) == [Usage(write_long=100, write=60)]
    assert billed(dataclasses.replace(rules, long_blocks=4), ("Sabc", 0)) == [Usage(write_long=160)]


def test_all_writes_may_be_billed_long_whatever_their_lifetime():
    assert billed(dataclasses.replace(MIXED, long_writes=True), ("Sab", 0)) == [Usage(write_long=130)]


def test_a_usage_needs_only_the_ends_and_what_was_read():
    assert MIXED.usage([100, 110, 130, 160], 0, 7, 5) == Usage(uncached=7, write_long=110, write=50, output=5)
    assert MIXED.usage([100, 110, 130, 160], 130, 7, 5) == Usage(uncached=7, read=130, write=30, output=5)
    assert MIXED.usage([], 0, 7, 5) == Usage(uncached=7, output=5)
    assert CacheRules(300, cached_blocks=2).usage([100, 110, 130], 130, 7, 5) == Usage(27, 110, output=5)


# --- what each provider says of itself --------------------------------------------------------------


def many(blocks: int, size: int = 100) -> tuple[Block, ...]:
    return tuple(Block(number, size) for number in range(blocks))


def of_prompts(rules: CacheRules, *prompts: tuple[Block, ...], volatile: int = 0) -> list[Usage]:
    """Send prompts a second apart."""
    cache = PrefixCache(rules)
    last = (Block("u", volatile),) if volatile else ()
    return [cache.send(Call(1, "reply", prompt, last, 0), at_s) for at_s, prompt in enumerate(prompts)]


def test_anthropic_looks_back_twenty_blocks_and_misses_the_twenty_first():
    """The mark itself is the first of the 20: an entry 19 blocks before it is found, one 20 before it is not."""
    rules = CacheRules(300, max_breakpoints=1, lookback_blocks=20)
    assert of_prompts(rules, many(10), many(29))[1] == Usage(read=1000, write=1900)
    assert of_prompts(rules, many(10), many(30))[1] == Usage(write=3000)


def test_anthropic_marks_at_most_four_ends():
    rules = CacheRules(300, max_breakpoints=4, lookback_blocks=1)
    assert list(rules.breakpoints(30)) == [0, 1, 2, 29]
    readable = [of_prompts(rules, many(30), many(length))[1].read for length in range(1, 31)]
    assert readable == [100, 200, *[300] * 27, 3000]


def test_anthropic_caches_nothing_below_the_minimum():
    rules = CacheRules(300, 4096, max_breakpoints=4, lookback_blocks=20, long_ttl_s=3600, long_blocks=1)
    assert of_prompts(rules, many(40), many(40)) == [Usage(uncached=4000)] * 2


OPENAI = CacheRules(1800, 1024, max_breakpoints=4, lookback_blocks=21)


def test_openai_bills_a_token_once():
    """Of 2,600 tokens 2,000 were cached, 400 more end at a message and 200 follow the last eligible end."""
    first, second = Block("developer", 2000), Block("message", 400)
    assert of_prompts(OPENAI, (first,), (first, second), volatile=200)[1] == Usage(200, 2000, 400)


def test_openai_looks_up_twenty_earlier_ends():
    rules = dataclasses.replace(OPENAI, max_breakpoints=1)
    assert of_prompts(rules, many(11), many(31))[1] == Usage(read=1100, write=2000)
    assert of_prompts(rules, many(11), many(32))[1] == Usage(write=3200)


def test_openai_without_falling_back_reads_marked_ends_only():
    """As measured in July: a conversation that went on from an unmarked end finds the head and nothing else."""
    rules = dataclasses.replace(OPENAI, max_breakpoints=2, lookback_blocks=1)
    head = Block("developer", 1100)
    assert of_prompts(rules, (head, *many(3)), (head, *many(5)))[1] == Usage(read=1100, write=500)
    assert of_prompts(rules, (head, *many(3)), (head, *many(3)))[1] == Usage(read=1400)


@pytest.mark.parametrize(("granularity", "read"), [(128, 2944), (2048, 2048)])
def test_openai_before_5_6_reads_whole_intervals(granularity, read):
    rules = CacheRules(1800, 1024, granularity)
    assert of_prompts(rules, many(30), many(30))[1].read == read
    assert of_prompts(rules, many(10), many(10))[1].read == 0  # below 1,024


VLLM = CacheRules(math.inf, 16, 16, recomputes_last=True)


@pytest.mark.parametrize(
    ("prompt", "volatile", "read"), [(48, 0, 32), (49, 0, 48), (48, 1, 48), (47, 9, 32), (16, 0, 0)]
)
def test_vllm_computes_the_last_token_of_a_request_anew(prompt, volatile, read):
    """⌊(L − 1)/16⌋·16 of L tokens at most, whatever part of them the blocks are."""
    once, again = of_prompts(VLLM, (Block("S", prompt),), (Block("S", prompt),), volatile=volatile)
    assert (once.read, again.read, again.input) == (0, read, prompt + volatile)


EXPLICIT = CacheRules(3600, cached_blocks=1, refreshes=False, pays_storage=True, long_writes=True)


def test_gemini_caches_the_head_for_a_fixed_time_and_the_rest_never():
    assert sent(EXPLICIT, ("Sa", 0), ("Sab", 3599), ("Sab", 3600), ("Sb", 7199), ("S", 7200)) == [
        (0, 100, 10),
        (100, 0, 30),
        (0, 100, 30),
        (100, 0, 20),
        (0, 100, 0),
    ]


def test_gemini_pays_storage_for_the_whole_lifetime_of_what_it_writes():
    first, second = billed(EXPLICIT, ("Sa", 0), ("Sa", 1))
    assert (EXPLICIT.stored_token_hours(first), EXPLICIT.stored_token_hours(second)) == (100, 0)
    halves = CacheRules(1800, long_ttl_s=7200, long_blocks=1, refreshes=False, pays_storage=True)
    assert halves.stored_token_hours(Usage(9, 9, 100, 10, 9)) == 100 / 2 + 10 * 2
    assert CacheRules(1800).stored_token_hours(Usage(write=100)) == 0


def test_without_refreshing_a_longer_lifetime_may_read_less_in_a_call():
    """The one rule under which "longer never reads less" fails call by call: the shorter was renewed later."""
    requests = ("S", 0), ("S", 310), ("S", 600)
    short, long = (sent(CacheRules(ttl_s, refreshes=False), *requests) for ttl_s in (300, 400))
    assert [call[0] for call in short] == [0, 0, 100]
    assert [call[0] for call in long] == [0, 100, 0]


UNITS = CacheRules(7200, learns_units=True)


def test_deepseek_makes_a_unit_of_what_two_requests_share():
    """A + B, then A + C misses, but A becomes a unit, so that A + D hits."""
    assert sent(UNITS, ("Sa", 0), ("Sb", 1), ("Sd", 2)) == [(0, 110, 0), (0, 120, 0), (100, 40, 0)]


def test_deepseek_reads_a_whole_earlier_prompt_at_once():
    assert sent(UNITS, ("Sa", 0), ("Sab", 1), ("Sabc", 2)) == [(0, 110, 0), (110, 20, 0), (130, 30, 0)]


def test_deepseek_learns_nothing_from_a_request_that_no_longer_lives():
    assert sent(UNITS, ("Sa", 0), ("Sb", 7200), ("Sd", 7201))[1:] == [(0, 120, 0), (0, 140, 0)]


def lost_to_units(k: int, breaks: tuple[int, ...], S: int, turns: int = 60) -> int:
    """Tokens read when each block's end is an entry but not when units are learnt; ``breaks``: turns after a day."""
    gaps = np.full(turns - 1, 30.0)
    gaps[[turn - 2 for turn in breaks]] = 86_400
    session = Session.uniform(turns).with_gaps(gaps)
    ends, units = (
        replay(SummariseEvery(k), Character(S), session, CacheRules(7200, learns_units=learns)).total
        for learns in (False, True)
    )
    assert ends.input == units.input
    return ends.read - units.read


@pytest.mark.parametrize("S", [500, 1800, 5000])
@pytest.mark.parametrize(
    ("k", "breaks", "times"),
    [
        (15, (), 0),  # the first turn's prompt is the static part: its end is an entry from then on
        (60, (20, 40), 0),  # no summary ever makes a prompt leave the one before
        (15, (10,), 1),  # written anew as one unit with its history, S is first shared after the next summary
        (15, (10, 12), 1),
        (15, (10, 20), 2),
        (4, (10, 20, 30), 3),
        (15, (10, 50), 1),  # after the second break no summary comes
    ],
)
def test_units_cost_one_more_reading_of_the_static_part_when_it_is_first_shared(k, breaks, times, S):
    assert lost_to_units(k, breaks, S) == times * S


@given(st.integers(1, 60), st.sets(st.integers(2, 60), max_size=12), st.integers(0, 5000))
def test_units_never_cost_more_than_that_after_each_break(k, breaks, S):
    assert 0 <= lost_to_units(k, tuple(breaks), S) <= len(breaks) * S


def test_units_cost_a_head_that_characters_share_once():
    """Of two characters of one game the second misses the world's rules, which its first call makes a unit."""
    rules, heads = CacheRules(7200, learns_units=True), [(Block("world", 900), Block(name, 300)) for name in "abc"]
    assert [usage.read for usage in of_prompts(rules, *heads)] == [0, 0, 900]
    assert [usage.read for usage in of_prompts(CacheRules(7200), *heads)] == [0, 900, 900]


# --- any calls, against a dictionary of prefixes --------------------------------------------------


class Dictionary:
    """A cache as DESIGN §2.4 and each provider say it, slowly: the prefixes themselves are the keys."""

    def __init__(self, rules: CacheRules) -> None:
        self.rules, self.used = rules, {}  # prefix -> (second, order of last use)
        self.sent = {}  # prefix -> second
        self.order = 0

    def covers(self, prefix: str) -> int:
        return self.floored(sum(TOKENS[key] for key in prefix))

    def floored(self, length: int) -> int:
        length = length // self.rules.granularity_tokens * self.rules.granularity_tokens
        return length if length >= self.rules.min_tokens else 0

    def marked(self, prefixes: list[str]) -> list[str]:
        prefixes = prefixes[: self.rules.cached_blocks]
        if self.rules.learns_units:
            return prefixes[-1:]
        most = self.rules.max_breakpoints or len(prefixes)
        return prefixes if len(prefixes) <= most else prefixes[: most - 1] + prefixes[-1:]

    def long(self, prefix: str) -> bool:
        return len(prefix) <= self.rules.long_blocks

    def lives(self, prefix: str, since_s: float, at_s: float) -> bool:
        return at_s - since_s < (self.rules.long_ttl_s if self.long(prefix) else self.rules.ttl_s)

    def alive(self, prefix: str, at_s: float) -> bool:
        return prefix in self.used and self.lives(prefix, self.used[prefix][0], at_s)

    def send(self, keys: str, at_s: float, volatile: int = 0) -> tuple[int, int, int, int]:
        prefixes = [keys[: end + 1] for end in range(len(keys))]
        marks = self.marked(prefixes)
        near = {
            prefix
            for mark in marks
            for prefix in prefixes[: len(mark)][-(self.rules.lookback_blocks or len(prefixes)) :]
        }
        alive = [prefix for prefix in prefixes if prefix in near and self.covers(prefix) and self.alive(prefix, at_s)]
        hit = max(alive, key=len, default="")
        refreshed = [prefix for prefix in prefixes if len(prefix) <= len(hit) and prefix in self.used]
        written = [prefix for prefix in [*marks, *self.unit(marks, at_s)] if len(prefix) > len(hit)]
        written = [prefix for prefix in dict.fromkeys(written) if self.covers(prefix)]
        for prefix in sorted(refreshed + written, key=len, reverse=True):
            self.order += 1
            kept = prefix in refreshed and not (self.rules.refreshes and self.alive(prefix, at_s))
            self.used[prefix] = self.used[prefix][0] if kept else at_s, self.order
        while self.rules.capacity_tokens is not None and self.held() > self.rules.capacity_tokens:
            del self.used[min(self.used, key=lambda prefix: self.used[prefix][1])]
        return self.bill(keys, hit, marks, volatile)

    def unit(self, marks: list[str], at_s: float) -> list[str]:
        """The longest prefix shared with a live request, once any was; then all prefixes have been sent now."""
        if not self.rules.learns_units or not marks:
            return []
        prefixes = [marks[-1][: end + 1] for end in range(len(marks[-1]))]
        shared = [one for one in prefixes if one in self.sent and self.lives(one, self.sent[one], at_s)]
        self.sent.update(dict.fromkeys(prefixes, at_s))
        return shared[-1:]

    def bill(self, keys: str, hit: str, marks: list[str], volatile: int) -> tuple[int, int, int, int]:
        """Read A, then write_long to B, write to C and plain to the end."""
        total = sum(TOKENS[key] for key in keys) + volatile
        a = self.covers(hit) if hit else 0
        if self.rules.recomputes_last:
            a = min(a, self.floored(total - 1) if total else 0)
        c = max([a, *(self.covers(mark) for mark in marks)])
        b = max([a, *(self.covers(mark) for mark in marks if self.rules.long_writes or self.long(mark))])
        return a, b - a, c - b, total - c

    def held(self) -> int:
        """Tokens of all blocks that some entry needs, each place in the tree of prefixes once."""
        nodes = {prefix[: end + 1] for prefix in self.used for end in range(len(prefix))}
        return sum(TOKENS[node[-1]] for node in nodes)


prompts = st.text("Sabcdz", max_size=7)
gaps = st.sampled_from([0, 1, 100, 299.5, 300, 301, 5000])
requests = st.lists(st.tuples(prompts, gaps, st.sampled_from([0, 0, 1, 7])), min_size=1, max_size=25)
ttls = st.sampled_from([1, 300, 3600, math.inf])
plain = {
    "ttl_s": ttls,
    "min_tokens": st.sampled_from([0, 30, 105, 128]),
    "granularity_tokens": st.sampled_from([1, 16, 64]),
    "max_breakpoints": st.none() | st.integers(1, 5),
    "lookback_blocks": st.none() | st.integers(1, 5),
    "long_writes": st.booleans(),
}
providers = {
    "recomputes_last": st.booleans(),
    "cached_blocks": st.none() | st.integers(1, 4),
    "learns_units": st.booleans(),
}
plain_rules = st.builds(CacheRules, **plain)
mixed_rules = st.builds(
    CacheRules,
    **{**plain, "ttl_s": st.sampled_from([1, 300])},
    long_ttl_s=st.sampled_from([300, 301, 3600, math.inf]),
    long_blocks=st.integers(0, 5),
)
provider_rules = st.builds(CacheRules, **plain, **providers)
bounded_rules = st.builds(CacheRules, ttl_s=st.sampled_from([300, math.inf]), capacity_tokens=st.integers(0, 500))
any_rules = plain_rules | mixed_rules | provider_rules | bounded_rules


def timed(requests: list[tuple[str, float, int]]) -> list[tuple[str, float, int]]:
    """Turn gaps into seconds."""
    now, out = 0.0, []
    for keys, gap_s, volatile in requests:
        now += gap_s
        out.append((keys, now, volatile))
    return out


def usages(rules: CacheRules, requests: list[tuple[str, float, int]]) -> list[Usage]:
    cache = PrefixCache(rules)
    return [cache.send(call(keys, volatile), at_s) for keys, at_s, volatile in timed(requests)]


def assert_as_the_dictionary(rules: CacheRules, requests: list[tuple[str, float, int]]) -> None:
    reference = Dictionary(rules)
    got = [(one.read, one.write_long, one.write, one.uncached) for one in usages(rules, requests)]
    assert got == [reference.send(*request) for request in timed(requests)]


@given(any_rules, requests)
def test_any_requests_come_out_as_from_a_dictionary_of_prefixes(rules, requests):
    assert_as_the_dictionary(rules, requests)


@settings(max_examples=4 * settings.default.max_examples)
@given(any_rules, st.none() | st.integers(0, 500), st.booleans(), st.integers(0, 3), st.booleans(), requests)
def test_so_do_they_with_every_rule_and_a_capacity_at_once(rules, capacity, refreshes, long_blocks, units, requests):
    longer = {"long_ttl_s": 2 * rules.ttl_s, "long_blocks": long_blocks}
    rules = dataclasses.replace(rules, capacity_tokens=capacity, refreshes=refreshes, learns_units=units, **longer)
    assert_as_the_dictionary(rules, requests)


@given(any_rules, requests)
def test_every_token_of_a_request_is_billed_once(rules, requests):
    for (keys, _, volatile), usage in zip(requests, usages(rules, requests), strict=True):
        assert usage.input == sum(TOKENS[key] for key in keys) + volatile
        assert min(usage.as_dict().values()) >= 0


@given(any_rules, requests, st.sampled_from([1.5, 2, 12, math.inf]), st.booleans())
def test_no_request_reads_less_with_a_longer_ttl(rules, requests, times, long_too):
    """Longer for all entries, or for the long ones alone."""
    longer = {"long_ttl_s": rules.long_ttl_s and rules.long_ttl_s * times}
    if long_too or not rules.long_ttl_s:
        longer["ttl_s"] = rules.ttl_s * times
    for short, long in zip(
        usages(rules, requests), usages(dataclasses.replace(rules, **longer), requests), strict=True
    ):
        assert long.read >= short.read


def test_whole_numbers_given_as_floats_are_whole_numbers_from_then_on():
    given = {"min_tokens": 1024.0, "granularity_tokens": 128.0, "max_breakpoints": 4.0, "lookback_blocks": 20.0}
    rules = CacheRules(300, **given, cached_blocks=3.0, capacity_tokens=10_000.0, long_ttl_s=3600, long_blocks=1.0)
    assert rules == CacheRules(300, 1024, 128, 4, 20, 10_000, False, 3600, 1, cached_blocks=3)
    assert all(
        type(getattr(rules, name)) is int for name in (*given, "cached_blocks", "capacity_tokens", "long_blocks")
    )
    assert [*rules.breakpoints(9)] == [0, 1, 2]
