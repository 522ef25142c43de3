"""The rules of DESIGN §2.4, one by one, and an independent cache that must agree on any calls."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npcmem import Block, CacheRules, Call, PrefixCache, Usage

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
    ],
)
def test_rules_that_cannot_be_are_refused_in_a_sentence(field, value, sentence):
    with pytest.raises(ValueError) as error:
        CacheRules(**{"ttl_s": 300, field: value})
    assert str(error.value) == sentence


def test_rules_are_frozen_and_hashable():
    assert len({CacheRules(300), CacheRules(300)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        CacheRules(300).ttl_s = 1


# --- any calls, against a dictionary of prefixes --------------------------------------------------


class Dictionary:
    """A cache as DESIGN §2.4 says it, slowly: the prefixes themselves are the keys."""

    def __init__(self, rules: CacheRules) -> None:
        self.rules, self.used = rules, {}  # prefix -> (second, order of last use)
        self.order = 0

    def covers(self, prefix: str) -> int:
        length = sum(TOKENS[key] for key in prefix)
        length = length // self.rules.granularity_tokens * self.rules.granularity_tokens
        return length if length >= self.rules.min_tokens else 0

    def marked(self, prefixes: list[str]) -> list[str]:
        most = self.rules.max_breakpoints or len(prefixes)
        return prefixes if len(prefixes) <= most else prefixes[: most - 1] + prefixes[-1:]

    def send(self, keys: str, at_s: float) -> tuple[int, int, int]:
        prefixes = [keys[: end + 1] for end in range(len(keys))]
        marks = self.marked(prefixes)
        near = {
            prefix
            for mark in marks
            for prefix in prefixes[: len(mark)][-(self.rules.lookback_blocks or len(prefixes)) :]
        }
        alive = [
            prefix
            for prefix in prefixes
            if prefix in near and prefix in self.used and self.covers(prefix)
            and at_s - self.used[prefix][0] < self.rules.ttl_s
        ]  # fmt: skip
        hit = max(alive, key=len, default="")
        refreshed = [prefix for prefix in prefixes if len(prefix) <= len(hit) and prefix in self.used]
        written = [prefix for prefix in marks if len(prefix) > len(hit) and self.covers(prefix)]
        for prefix in sorted(refreshed + written, key=len, reverse=True):
            self.order += 1
            self.used[prefix] = at_s, self.order
        while self.rules.capacity_tokens is not None and self.held() > self.rules.capacity_tokens:
            del self.used[min(self.used, key=lambda prefix: self.used[prefix][1])]
        read, total = self.covers(hit) if hit else 0, sum(TOKENS[key] for key in keys)
        write = max((self.covers(keys) if keys else 0) - read, 0)
        return read, write, total - read - write

    def held(self) -> int:
        """Tokens of all blocks that some entry needs, each place in the tree of prefixes once."""
        nodes = {prefix[: end + 1] for prefix in self.used for end in range(len(prefix))}
        return sum(TOKENS[node[-1]] for node in nodes)


prompts = st.text("Sabcdz", max_size=7)
requests = st.lists(st.tuples(prompts, st.sampled_from([0, 1, 100, 299.5, 300, 301, 5000])), min_size=1, max_size=25)
plain_rules = st.builds(
    CacheRules,
    ttl_s=st.sampled_from([1, 300, 3600, math.inf]),
    min_tokens=st.sampled_from([0, 30, 105, 128]),
    granularity_tokens=st.sampled_from([1, 16, 64]),
    max_breakpoints=st.none() | st.integers(1, 5),
    lookback_blocks=st.none() | st.integers(1, 5),
    long_writes=st.booleans(),
)
bounded_rules = st.builds(CacheRules, ttl_s=st.sampled_from([300, math.inf]), capacity_tokens=st.integers(0, 500))


def timed(requests: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Turn gaps into seconds."""
    now, out = 0.0, []
    for keys, gap_s in requests:
        now += gap_s
        out.append((keys, now))
    return out


@given(plain_rules | bounded_rules, requests)
def test_any_requests_come_out_as_from_a_dictionary_of_prefixes(rules, requests):
    reference = Dictionary(rules)
    requests = timed(requests)
    assert sent(rules, *requests) == [reference.send(*request) for request in requests]


@given(plain_rules, st.integers(0, 500), requests)
def test_so_do_they_with_every_rule_and_a_capacity_at_once(rules, capacity, requests):
    rules = dataclasses.replace(rules, capacity_tokens=capacity)
    reference = Dictionary(rules)
    requests = timed(requests)
    assert sent(rules, *requests) == [reference.send(*request) for request in requests]


@given(plain_rules | bounded_rules, requests, st.sampled_from([1.5, 2, 12, math.inf]))
def test_no_request_reads_less_with_a_longer_ttl(rules, requests, times):
    longer = dataclasses.replace(rules, ttl_s=rules.ttl_s * times)
    for short, long in zip(sent(rules, *timed(requests)), sent(longer, *timed(requests)), strict=True):
        assert long[0] >= short[0]
