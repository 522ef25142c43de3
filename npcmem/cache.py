"""The prefix cache: what a request reads, writes and pays plainly at a given second."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from npcmem import checks
from npcmem.dialogue import YEAR_S, Block, Call
from npcmem.money import Tokens, Usage

NEVER = -math.inf
MOST_S = 1e13  # of a cache's clock, either way: past it seconds lose their fractions
PING_AT = 0.8  # of an entry's lifetime, when it is read again to keep it alive
PING_OUTPUT_TOKENS = 1
MOST_PINGS = 1000  # in one gap


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How one provider's prompt cache behaves.

    ``ttl_s``: an entry lives less than this many seconds from the start of the request that last wrote or
    read it (infinite where only memory runs out). ``min_tokens``: a shorter prefix is neither read nor
    written, silently. ``granularity_tokens``: cached lengths are floored to a multiple. ``max_breakpoints``:
    how many ends of blocks a request may mark; None marks them all, else the first ones and the last.
    ``lookback_blocks``: how many ends, the marked one being the first, are searched back from each mark;
    None searches all. ``capacity_tokens``: least recently used entries go when more would be held.
    ``long_writes``: all writes are billed in the class ``write_long``. ``long_ttl_s``, ``long_blocks``: entries
    at the ends of the first so many blocks live this long instead and are billed in that class.

    ``learns_units``: only the end of a prompt is an entry, and a prefix shared with an earlier live request
    becomes one when that is seen: readable from the request after. ``recomputes_last``: the last token of a
    request is never read. ``cached_blocks``: only the first so many blocks may be cached; None caches all.
    ``refreshes``: whether a read extends an entry's life, else it counts from the write. ``pays_storage``: a
    write is kept for its whole lifetime, at a price by token-hour.
    """

    ttl_s: float
    min_tokens: int = 0
    granularity_tokens: int = 1
    max_breakpoints: int | None = None
    lookback_blocks: int | None = None
    capacity_tokens: int | None = None
    long_writes: bool = False
    long_ttl_s: float | None = None
    long_blocks: int = 0
    learns_units: bool = False
    recomputes_last: bool = False
    cached_blocks: int | None = None
    refreshes: bool = True
    pays_storage: bool = False

    def __post_init__(self) -> None:
        checks.number("ttl_s", self.ttl_s, 0, math.inf, "seconds", above=True)
        checks.whole_field(self, "min_tokens", 0, checks.MOST_TOKENS, "tokens")
        checks.whole_field(self, "granularity_tokens", 1, checks.MOST_TOKENS, "tokens")
        for field in ("max_breakpoints", "lookback_blocks", "cached_blocks"):
            if getattr(self, field) is not None:
                checks.whole_field(self, field, 1, 10_000, field.partition("_")[2])
        if self.capacity_tokens is not None:
            checks.whole_field(self, "capacity_tokens", 0, 10**13, "tokens")
        self._check_lifetimes()

    def _check_lifetimes(self) -> None:
        checks.whole_field(self, "long_blocks", 0, 10_000, "blocks")
        if self.long_ttl_s is not None:
            checks.number("long_ttl_s", self.long_ttl_s, 0, math.inf, "seconds", above=True)
            if self.long_ttl_s < self.ttl_s:
                raise ValueError(
                    f"long_ttl_s ({self.long_ttl_s:g} s) cannot be shorter than ttl_s ({self.ttl_s:g} s): "
                    "entries of the longer lifetime come first in a prompt"
                )
        elif self.long_blocks:
            raise ValueError(f"long_blocks ({self.long_blocks} blocks) needs long_ttl_s in seconds, got None")
        if self.pays_storage and self.refreshes:
            raise ValueError(
                "pays_storage needs refreshes=False, got True: each write is paid for a lifetime that does not grow"
            )
        if self.pays_storage and math.isinf(self.lifetimes_s[-1]):
            raise ValueError("pays_storage needs a lifetime of < inf seconds, got inf: storage is paid by the hour")

    @property
    def lifetimes_s(self) -> tuple[float, ...]:
        """The different lifetimes of entries in seconds, shortest first."""
        return tuple(sorted({self.ttl_s, self.long_ttl_s} if self.long_blocks else {self.ttl_s}))

    def lifetime_s(self, at: int) -> float:
        """Return how long an entry at the end of block ``at`` lives, blocks counted from 0."""
        return self.ttl_s if at >= self.long_blocks else self.long_ttl_s

    def cacheable(self, tokens: Tokens) -> Tokens:
        """Return how much of a prefix of ``tokens`` (or of each) an entry at its end covers: 0 below the minimum."""
        if (step := self.granularity_tokens) > 1:
            in_array = isinstance(tokens, np.ndarray) and tokens.dtype.kind == "f"  # whose remainders are slow
            tokens = np.floor(tokens / step) * step if in_array else tokens - tokens % step
        return tokens * (tokens >= self.min_tokens) if self.min_tokens else tokens

    def breakpoints(self, blocks: int) -> Sequence[int]:
        """Return which of so many blocks carry a breakpoint at their end, from 0: the stable head and the last."""
        if self.cached_blocks is not None:
            blocks = min(blocks, self.cached_blocks)
        most = 1 if self.learns_units else self.max_breakpoints
        return range(blocks) if most is None or blocks <= most else [*range(most - 1), blocks - 1]

    @property
    def outlives_gaps(self) -> bool:
        """Whether no gap is long enough for an entry to die."""
        return self.ttl_s > YEAR_S

    def check_mixing(self) -> None:
        """Raise ValueError where a turn's usage depends on more than whether the gap before it was warm or cold.

        With a single, moving breakpoint the static part is an entry of its own on the first turn only; a unit
        is learnt from all requests before; and without refreshing an entry's age is more than the last gap.
        """
        instead = "replay such a cache instead"
        if self.max_breakpoints == 1:
            raise ValueError(f"max_breakpoints must be >= 2 breakpoints for an expectation, got 1: {instead}")
        if self.learns_units:
            raise ValueError(f"learns_units must be False for an expectation, got True: {instead}")
        if not self.refreshes:
            raise ValueError(
                f"refreshes must be True for an expectation, got False (a lifetime counts from the write): {instead}"
            )

    def check_followable(self, longest_tokens: float, stable_blocks: int = 1) -> None:
        """Raise ValueError where a call does not read its longest common prefix with what is alive.

        So that only a replay can follow: where ``check_mixing`` says so; where too few breakpoints or too short a
        lookback miss the end of one of the ``stable_blocks`` (the static part and what stands as firmly behind it),
        of a block of the longer lifetime or of the prompt before; or where the longest prompt may not fit.
        """
        self.check_mixing()
        instead = "replay such a cache instead"
        if self.max_breakpoints and self.lookback_blocks == 1:
            raise ValueError(f"lookback_blocks must be >= 2 blocks for an expectation, got 1: {instead}")
        stable = max(stable_blocks, self.long_blocks)
        if self.max_breakpoints and self.max_breakpoints <= stable:
            raise ValueError(
                f"max_breakpoints must be >= {stable + 1} breakpoints for an expectation with a static part of "
                f"{stable} blocks, got {self.max_breakpoints}: {instead}"
            )
        if self.capacity_tokens is not None and self.capacity_tokens < longest_tokens:
            raise ValueError(
                f"capacity_tokens must be >= {longest_tokens:,.0f} tokens, the longest prompt there can be, "
                f"got {self.capacity_tokens:,}: {instead}"
            )

    def check_closed_form(self, longest_tokens: float, stable_blocks: int = 1) -> None:
        """Raise ValueError where a call's bill is more than what it reads of its prompt and writes of the rest."""
        self.check_followable(longest_tokens, stable_blocks)
        if self.long_blocks:
            raise ValueError(f"long_blocks must be 0 blocks for a closed form, got {self.long_blocks}: use an outlook")
        if self.cached_blocks is not None:
            raise ValueError(f"cached_blocks must be None for a closed form, got {self.cached_blocks}: use an outlook")

    def usage(self, ends: Sequence[int], read: int, volatile_tokens: int, output_tokens: int) -> Usage:
        """Return the usage of a request whose blocks end after ``ends`` tokens and that finds ``read`` of them cached.

        ``read`` is what ``cacheable`` leaves of the entry found. Past it, what ends at a breakpoint of the longer
        lifetime is a long write, what ends at the last breakpoint a write, and the rest plain input.
        """
        prompt = ends[-1] if ends else 0
        if self.recomputes_last:
            read = min(read, self.cacheable(max(prompt + volatile_tokens - 1, 0)))
        last = prompt if self.cached_blocks is None or not ends else ends[: self.cached_blocks][-1]
        written_to = self.cacheable(last)
        read = min(read, written_to)  # a caller that knows only block ends may have found more than may be cached
        long_to = written_to if self.long_writes else read
        if self.long_blocks:
            marks = self.breakpoints(len(ends))
            long_to = max([long_to, *(self.cacheable(ends[at]) for at in marks if at < self.long_blocks)])
        plain = prompt - written_to + volatile_tokens
        return Usage(plain, read, written_to - long_to, long_to - read, output_tokens)

    def stored_token_hours(self, usage: Usage) -> Tokens:
        """Return the token-hours of storage that the writes of ``usage`` pay for; 0 where storage is free."""
        if not self.pays_storage:
            return 0 * usage.write
        long_s = self.long_ttl_s if self.long_blocks else self.ttl_s
        return (usage.write * self.ttl_s + usage.write_long * long_s) / 3600


class PrefixCache:
    """The entries of one cache and the requests that read, refresh and write them.

    A request reads the longest live prefix that ends at a block's end, refreshing that entry and its
    ancestors; writes from there to its last breakpoint; and pays plain input for the rest.
    ``rules=None`` is no cache at all.
    """

    def __init__(self, rules: CacheRules | None) -> None:
        self.rules = rules
        self.now_s = -MOST_S
        self._longer: dict[tuple[int, Hashable], int] = {}  # (prefix, next block) -> longer prefix; 0 is the empty one
        self._used_s = [NEVER]  # when each prefix was last written or read; NEVER where it is no entry
        self._sent_s = [NEVER]  # when each was last sent, where that is learnt from
        self._last: tuple[tuple[Block, ...], list[int], list[int]] = (), [], []  # the last request's walk
        self._held: OrderedDict[int, int] = OrderedDict()  # entry -> tokens it adds, the next to go first
        self._held_tokens = 0
        if rules is not None:  # the shortest prefix that can be an entry
            self._least = -(-max(rules.min_tokens, 1) // rules.granularity_tokens) * rules.granularity_tokens

    def send(self, call: Call, at_s: float) -> Usage:
        """Return the usage of ``call`` sent at ``at_s``; seconds must not run backwards."""
        if not self.now_s <= at_s <= MOST_S:  # nor may they be no number
            checks.number("at_s", at_s, -MOST_S, MOST_S, "seconds")
            raise ValueError(f"at_s goes back by {self.now_s - at_s:g} s: a request cannot precede the one before it")
        self.now_s = at_s = float(at_s)
        rules = self.rules
        if rules is None:
            return Usage(uncached=call.input_tokens, output=call.output_tokens)
        prefixes, ends = self._walk(call.prompt)
        marks = rules.breakpoints(len(ends))
        first = bisect_left(ends, self._least)  # no shorter prefix is an entry
        hit = self._longest_live(prefixes, marks, first, at_s)
        written = marks[bisect_left(marks, max(hit + 1, first)) :]
        if rules.learns_units and marks:
            unit = self._learnt(prefixes[: marks[-1] + 1], at_s)
            written = [unit, *written] if max(hit + 1, first) <= unit < marks[-1] else written
        self._touch(prefixes, ends, range(first, hit + 1), written, at_s)
        read = rules.cacheable(ends[hit]) if hit >= 0 else 0
        volatile = sum([block.tokens for block in call.volatile]) if call.volatile else 0
        return rules.usage(ends, read, volatile, call.output_tokens)

    def _walk(self, prompt: tuple[Block, ...]) -> tuple[list[int], list[int]]:
        """Return, for the end of each block, the prefix's number and its length in tokens."""
        before, prefixes, ends = self._last
        known = len(before)  # most requests go on where the last one ended
        if 0 < known <= len(prompt) and prompt[known - 1] is before[-1] and prompt[:known] == before:
            prefixes, ends, more = prefixes[:known], ends[:known], prompt[known:]
            prefix, end = prefixes[-1], ends[-1]
        else:
            prefixes, ends, more, prefix, end = [], [], prompt, 0, 0
        for block in more:
            step = prefix, block.key
            prefix = self._longer.get(step)
            if prefix is None:
                prefix = self._longer[step] = len(self._used_s)
                self._used_s.append(NEVER)
                self._sent_s.append(NEVER)
            end += block.tokens
            prefixes.append(prefix)
            ends.append(end)
        self._last = prompt, prefixes, ends
        return prefixes, ends

    def _longest_live(self, prefixes: list[int], marks: Sequence[int], first: int, at_s: float) -> int:
        """Return the position of the longest entry that can be read, or -1."""
        rules, used_s = self.rules, self._used_s
        for at in self._searched(marks, first):
            if at_s - used_s[prefixes[at]] < (rules.ttl_s if at >= rules.long_blocks else rules.long_ttl_s):
                return at
        return -1

    def _searched(self, marks: Sequence[int], first: int) -> Iterable[int]:
        """Return the positions looked up, the longest prefix first: from each mark so many back, down to ``first``."""
        if not marks:
            return ()
        back = self.rules.lookback_blocks
        return range(marks[-1], first - 1, -1) if back is None else _windows(marks, back, first)

    def _learnt(self, prefixes: list[int], at_s: float) -> int:
        """Return the position of the longest prefix that a live request shared, or -1; note that it was sent now."""
        lives = (
            at for at in reversed(range(len(prefixes))) if at_s - self._sent_s[prefixes[at]] < self.rules.lifetime_s(at)
        )
        shared = next(lives, -1)
        for prefix in prefixes:
            self._sent_s[prefix] = at_s
        return shared

    def _touch(self, prefixes: list[int], ends: list[int], read: range, written: list[int], at_s: float) -> None:
        """Refresh the entry read and its ancestors, write the breakpoints past it, then make room."""
        rules, used_s = self.rules, self._used_s
        if rules.refreshes:
            ttl_s, long_s, long_blocks = rules.ttl_s, rules.long_ttl_s, rules.long_blocks
            for at in read:  # an ancestor that has died stays dead
                if at_s - used_s[prefixes[at]] < (ttl_s if at >= long_blocks else long_s):
                    used_s[prefixes[at]] = at_s
        for at in written:
            used_s[prefixes[at]] = at_s
        if rules.capacity_tokens is not None:
            kept = [at for at in read if used_s[prefixes[at]] > NEVER] if read else []
            self._hold(prefixes, ends, [*kept, *written])

    def _hold(self, prefixes: list[int], ends: list[int], kept: list[int]) -> None:
        """Make these entries the last to go, the shortest last of all, each holding what the next shorter does not."""
        held, tokens = self._held, self._held_tokens
        for number in range(len(kept) - 1, -1, -1):
            at = kept[number]
            adds = ends[at] - ends[kept[number - 1]] if number else ends[at]
            tokens += adds - held.pop(prefixes[at], 0)
            held[prefixes[at]] = adds
        while tokens > self.rules.capacity_tokens:
            evicted, adds = held.popitem(last=False)
            self._used_s[evicted] = NEVER
            tokens -= adds
        self._held_tokens = tokens


def _windows(marks: Sequence[int], back: int, first: int) -> Iterator[int]:
    """Yield each position less than ``back`` before some mark and not before ``first``, from the last on, once."""
    below = marks[-1] + 1
    for mark in reversed(marks):
        lowest = max(mark - back + 1, first)
        yield from range(min(mark + 1, below) - 1, lowest - 1, -1)
        below = min(below, lowest)
