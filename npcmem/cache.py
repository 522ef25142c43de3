"""The prefix cache: what a request reads, writes and pays plainly at a given second."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from npcmem import checks
from npcmem.dialogue import YEAR_S, Block, Call
from npcmem.money import Tokens, Usage


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How one provider's prompt cache behaves.

    ``ttl_s``: an entry lives less than this many seconds from the start of the request that last wrote or
    read it (infinite where only memory runs out). ``min_tokens``: a shorter prefix is neither read nor
    written, silently. ``granularity_tokens``: cached lengths are floored to a multiple. ``max_breakpoints``:
    how many ends of blocks a request may mark; None marks them all, else the first ones and the last.
    ``lookback_blocks``: how many ends, the marked one being the first, are searched back from each mark;
    None searches all. ``capacity_tokens``: least recently used entries go when more would be held.
    ``long_writes``: writes are billed in the class ``write_long``.
    """

    ttl_s: float
    min_tokens: int = 0
    granularity_tokens: int = 1
    max_breakpoints: int | None = None
    lookback_blocks: int | None = None
    capacity_tokens: int | None = None
    long_writes: bool = False

    def __post_init__(self) -> None:
        checks.number("ttl_s", self.ttl_s, 0, math.inf, "seconds", above=True)
        checks.tokens("min_tokens", self.min_tokens)
        checks.tokens("granularity_tokens", self.granularity_tokens, 1)
        for field, unit in (("max_breakpoints", "breakpoints"), ("lookback_blocks", "blocks")):
            if getattr(self, field) is not None:
                checks.whole(field, getattr(self, field), 1, 10_000, unit)
        if self.capacity_tokens is not None:
            checks.whole("capacity_tokens", self.capacity_tokens, 0, 10**13, "tokens")

    def cacheable(self, tokens: Tokens) -> Tokens:
        """Return how much of a prefix of ``tokens`` (or of each) an entry at its end covers: 0 below the minimum."""
        if self.granularity_tokens > 1:
            tokens = tokens - tokens % self.granularity_tokens
        return tokens * (tokens >= self.min_tokens) if self.min_tokens else tokens

    @property
    def outlives_gaps(self) -> bool:
        """Whether no gap is long enough for an entry to die."""
        return self.ttl_s > YEAR_S

    def check_mixing(self) -> None:
        """Raise ValueError where a turn's usage depends on more than whether the gap before it was warm or cold.

        With a single, moving breakpoint the static part is an entry of its own on the first turn only.
        """
        if self.max_breakpoints == 1:
            raise ValueError(
                "max_breakpoints must be >= 2 breakpoints for an expectation, got 1: replay such a cache instead"
            )

    def usage(self, prompt_tokens: int, read: int, written_to: int, volatile_tokens: int, output_tokens: int) -> Usage:
        """Return the usage of a request that reads ``read`` tokens and then writes up to ``written_to``."""
        write = max(written_to - read, 0)
        plain = prompt_tokens - read - write + volatile_tokens
        return Usage(plain, read, 0 if self.long_writes else write, write if self.long_writes else 0, output_tokens)


class PrefixCache:
    """The entries of one cache and the requests that read, refresh and write them.

    A request reads the longest live prefix that ends at a block's end, refreshing that entry and its
    ancestors; writes from there to its last breakpoint; and pays plain input for the rest.
    ``rules=None`` is no cache at all.
    """

    def __init__(self, rules: CacheRules | None) -> None:
        self.rules = rules
        self.now_s = -math.inf
        self._prefixes: dict[tuple[int, Hashable], int] = {}  # (prefix, next block) -> longer prefix
        self._entries: OrderedDict[int, tuple[float, int]] = OrderedDict()  # prefix -> (last used, tokens it adds)
        self._held_tokens = 0

    def send(self, call: Call, at_s: float) -> Usage:
        """Return the usage of ``call`` sent at ``at_s``; seconds must not run backwards."""
        if at_s < self.now_s:
            raise ValueError(f"at_s goes back by {self.now_s - at_s:g} s: a request cannot precede the one before it")
        self.now_s = at_s
        volatile = sum(block.tokens for block in call.volatile)
        if self.rules is None:
            return Usage(uncached=call.input_tokens, output=call.output_tokens)
        prefixes, ends = self._walk(call.prompt)
        marks = self._marks(len(prefixes))
        hit = self._longest_live(prefixes, ends, marks, at_s)
        self._touch(prefixes, ends, marks, hit, at_s)
        read = self.rules.cacheable(ends[hit]) if hit >= 0 else 0
        last = self.rules.cacheable(ends[-1]) if ends else 0
        return self.rules.usage(ends[-1] if ends else 0, read, last, volatile, call.output_tokens)

    def _walk(self, prompt: tuple[Block, ...]) -> tuple[list[int], list[int]]:
        """Return, for the end of each block, the prefix's number and its length in tokens."""
        prefixes, ends, prefix, end = [], [], 0, 0
        for block in prompt:
            prefix = self._prefixes.setdefault((prefix, block.key), len(self._prefixes) + 1)
            end += block.tokens
            prefixes.append(prefix)
            ends.append(end)
        return prefixes, ends

    def _marks(self, blocks: int) -> list[int]:
        """Return the positions that carry a breakpoint: the stable head and the last."""
        most = self.rules.max_breakpoints
        if most is None or blocks <= most:
            return list(range(blocks))
        return [*range(most - 1), blocks - 1]

    def _longest_live(self, prefixes: list[int], ends: list[int], marks: list[int], at_s: float) -> int:
        """Return the position of the longest entry that can be read, or -1."""
        back = self.rules.lookback_blocks or len(prefixes)
        for mark in reversed(marks):
            for at in range(mark, max(mark - back, -1), -1):
                used_s, _ = self._entries.get(prefixes[at], (-math.inf, 0))
                if at_s - used_s < self.rules.ttl_s and self.rules.cacheable(ends[at]):
                    return at
        return -1

    def _touch(self, prefixes: list[int], ends: list[int], marks: list[int], hit: int, at_s: float) -> None:
        """Refresh the entry read and its ancestors, write the breakpoints past it, then make room."""
        kept = [at for at in range(hit + 1) if prefixes[at] in self._entries]
        kept += [at for at in marks if at > hit and self.rules.cacheable(ends[at])]
        for before, at in reversed([*zip([None, *kept], kept, strict=False)]):  # the deepest is evicted first
            _, adds = self._entries.pop(prefixes[at], (at_s, 0))
            self._held_tokens -= adds
            adds = ends[at] - (0 if before is None else ends[before])
            self._held_tokens += adds
            self._entries[prefixes[at]] = (at_s, adds)
        while self.rules.capacity_tokens is not None and self._held_tokens > self.rules.capacity_tokens:
            self._held_tokens -= self._entries.popitem(last=False)[1][1]
