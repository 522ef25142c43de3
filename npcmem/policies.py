"""The memory policies: what of a conversation the next prompt holds, and when to summarise.

A policy decides content and order only; it sees no price and no cache, and of the clock only what it is told: how
long the player was away. The same object drives a replay and an expectation over all gaps. A new policy is one frozen
dataclass, whose fields can be hashed, with those methods of ``Policy`` in which it differs, and its instance in
``POLICIES``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from npcmem import checks, recall
from npcmem.cache import MOST_PINGS, PING_AT, PING_OUTPUT_TOKENS
from npcmem.dialogue import YEAR_S, Block, Call, Character, Exchange, Session, duration, shared_blocks

Blocks = tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """What a character carries from one turn to the next.

    ``head``: its static part. ``summary``: of the ``covered`` oldest exchanges, if there is one. ``exchanges``: those
    still in the prompt word for word. ``stored``: those that left it, summarised or not; ``dropped`` of them were not.
    ``since_summary_s``: seconds since the last summary, or since the conversation began. ``turn``: the turn under way.
    """

    head: Blocks
    summary: Block | None = None
    exchanges: tuple[Exchange, ...] = ()
    stored: tuple[Exchange, ...] = ()
    covered: int = 0
    dropped: int = 0
    since_summary_s: float = 0.0
    turn: int = 0

    @property
    def prompt(self) -> Blocks:
        """The cacheable prompt, the most stable part first."""
        return (*self.head, *([self.summary] if self.summary else []), *self.exchanges)

    @property
    def history_tokens(self) -> int:
        """Tokens of the exchanges still in the prompt."""
        return sum(exchange.tokens for exchange in self.exchanges)

    def returned_to(self, turn: int, gap_s: float) -> Memory:
        """Return the memory as a turn begins, after a gap."""
        since_s = self.since_summary_s + gap_s
        kept = self.summary, self.exchanges, self.stored, self.covered, self.dropped
        return Memory(self.head, *kept, since_s, turn)  # here and below, for ``replace`` would be too slow

    def heard(self, exchange: Exchange) -> Memory:
        """Return the memory with one exchange more."""
        held = (*self.exchanges, exchange)
        rest = self.stored, self.covered, self.dropped, self.since_summary_s, self.turn
        return Memory(self.head, self.summary, held, *rest)

    def summarised(self, summary: Block, oldest: int) -> Memory:
        """Return the memory with its ``oldest`` exchanges and the old summary replaced by ``summary``."""
        stored = (*self.stored, *self.exchanges[:oldest])
        left, covered = self.exchanges[oldest:], self.covered + oldest
        return Memory(self.head, summary, left, stored, covered, self.dropped, 0.0, self.turn)

    def without(self, oldest: int) -> Memory:
        """Return the memory with its ``oldest`` exchanges dropped from the prompt."""
        if oldest <= 0:
            return self
        left, stored = self.exchanges[oldest:], (*self.stored, *self.exchanges[:oldest])
        rest = self.covered, self.dropped + oldest, self.since_summary_s, self.turn
        return Memory(self.head, self.summary, left, stored, *rest)


@runtime_checkable
class Policy(Protocol):
    """The contract of a memory policy; the defaults below keep everything and never summarise."""

    @property
    def name(self) -> str:
        """A few words for a chart's legend."""

    @property
    def forgets(self) -> bool:
        """Whether exchanges may leave the prompt without a summary."""
        return False

    @property
    def shares_prefix(self) -> bool:
        """Whether a summary call stands behind the conversation, so that only the character's own model can make it."""
        return False

    @property
    def thresholds_s(self) -> tuple[float, ...]:
        """The gaps, in seconds, from which on the policy acts otherwise, pings aside."""
        return ()

    @property
    def counts_seconds(self) -> bool:
        """Whether it acts on the sum of gaps, so that only known gaps say what it does."""
        return False

    @property
    def only_counts(self) -> bool:
        """Whether the number of exchanges alone decides what it sends, whatever their sizes, topics and gaps.

        And that is the static part, its summary and exchanges, nothing of its own.
        """
        return True

    @property
    def stable_blocks(self) -> int:
        """How many blocks of its own a reply's prompt has right behind the static part, needing a breakpoint each."""
        return 0

    @property
    def known_share(self) -> float:
        """The share of facts that need no memory, since the game keeps them as fields of every prompt."""
        return 0.0

    def suited(self, ttl_s: float, most_pings: int = 11) -> Policy:
        """Return the policy as one would set it for a cache.

        ``ttl_s``: how long its entries live; ``most_pings``: how many pings in one gap are worth their price.
        """
        return self

    def prompt(self, memory: Memory) -> tuple[Blocks, Blocks]:
        """Return the cacheable part of a reply's prompt and what of the memory stands behind it."""
        return memory.prompt, ()

    def due(self, memory: Memory) -> int:
        """Return how many of the oldest exchanges to summarise after a reply; 0 for none."""
        return 0

    def due_on_return(self, memory: Memory, gap_s: float) -> int:
        """Return how many to summarise before the next reply, the player having been away for ``gap_s``."""
        return 0

    def summary_prompt(self, memory: Memory, oldest: int) -> tuple[Blocks, Blocks]:
        """Return the cacheable and the plain part of a summary call, its instructions left out.

        One that shares the prefix is the conversation so far, all but the newest exchange of it cached.
        """
        if self.shares_prefix:
            return memory.prompt[:-1], memory.prompt[-1:]
        return (), (*([memory.summary] if memory.summary else []), *memory.exchanges[:oldest])

    def trimmed(self, memory: Memory) -> Memory:
        """Return what of ``memory`` stays for the next prompt."""
        return memory

    def pings_s(self, gap_s: float) -> tuple[float, ...]:
        """Return when, in a gap of ``gap_s``, what the next prompt can read is sent again: evenly spaced."""
        return ()

    def memory_calls(self, memory: Memory, turn: int) -> Iterator[Call]:
        """Yield the calls by which an exchange just heard is stored: embedding, importance, reflection."""
        yield from ()

    def fetched(self, stored: int) -> float:
        """Return the chance that the stored exchange a reply needs is brought back into its prompt."""
        return 0.0


def _limit(policy: Policy, name: str, least: int, unit: str) -> None:
    if getattr(policy, name) != math.inf:
        checks.whole_field(policy, name, least, checks.MOST_TOKENS, unit)


def _suffix(shares_prefix: bool) -> str:
    return ", shared prefix" if shares_prefix else ""


@dataclass(frozen=True, slots=True)
class FullHistory(Policy):
    """Resend everything, every turn."""

    @property
    def name(self) -> str:
        return "full history"


@dataclass(frozen=True, slots=True)
class SlidingWindow(Policy):
    """Keep the newest ``turns`` exchanges, of at most ``tokens`` together.

    The first one kept changes every turn, which breaks the prefix behind the static part.
    """

    turns: float = math.inf
    tokens: float = math.inf

    def __post_init__(self) -> None:
        _limit(self, "turns", 0, "exchanges")
        _limit(self, "tokens", 0, "tokens")

    @property
    def name(self) -> str:
        limits = [f"{self.turns:g}"] if self.turns < math.inf or self.tokens == math.inf else []
        limits += [f"{self.tokens:,.0f} tokens"] if self.tokens < math.inf else []
        return f"sliding window of {', '.join(limits)}"

    @property
    def forgets(self) -> bool:
        return min(self.turns, self.tokens) < math.inf

    @property
    def only_counts(self) -> bool:
        return self.tokens == math.inf

    def trimmed(self, memory: Memory) -> Memory:
        kept, tokens = 0, 0
        for exchange in reversed(memory.exchanges):
            tokens += exchange.tokens
            if kept + 1 > self.turns or tokens > self.tokens:
                break
            kept += 1
        return memory.without(len(memory.exchanges) - kept)


@dataclass(frozen=True, slots=True)
class SteppedWindow(Policy):
    """When more than ``high`` exchanges are held, keep the newest ``low``: between two steps the prefix stands."""

    low: int
    high: float

    def __post_init__(self) -> None:
        checks.whole_field(self, "low", 0, checks.MOST_TURNS, "exchanges")
        _limit(self, "high", 0, "exchanges")
        if self.low > self.high:
            raise ValueError(f"low ({self.low} exchanges) cannot exceed high ({self.high:g} exchanges)")

    @property
    def name(self) -> str:
        return f"stepped window of {self.low}–{self.high:g}"

    @property
    def forgets(self) -> bool:
        return self.high < math.inf

    def trimmed(self, memory: Memory) -> Memory:
        held = len(memory.exchanges)
        return memory.without(held - self.low) if held > self.high else memory


@dataclass(frozen=True, slots=True)
class SummariseEvery(Policy):
    """When ``k`` exchanges are held, replace the old summary and all but the newest ``keep`` by a new one.

    The summary call is a prompt of its own, which may go to a cheaper model; or, with ``shares_prefix``,
    the conversation so far with the request to summarise behind it, so that it reads the warm prefix.
    """

    k: float
    keep: int = 0
    shares_prefix: bool = False

    def __post_init__(self) -> None:
        _limit(self, "k", 1, "exchanges")
        checks.whole_field(self, "keep", 0, checks.MOST_TURNS, "exchanges")
        if self.keep >= self.k:
            raise ValueError(f"keep ({self.keep} exchanges) must be below k ({self.k:g} exchanges)")

    @classmethod
    def rolling(cls, threshold: int, batch: int, shares_prefix: bool = False) -> SummariseEvery:
        """Return the rolling summary: at ``threshold`` exchanges the oldest ``batch`` are summarised."""
        checks.whole("threshold", threshold, 1, checks.MOST_TURNS, "exchanges")
        checks.whole("batch", batch, 1, threshold, "exchanges")
        return cls(threshold, threshold - batch, shares_prefix)

    @property
    def name(self) -> str:
        keeping = f", keep {self.keep}" if self.keep else ""
        return f"summarise every {self.k:g}{keeping}{_suffix(self.shares_prefix)}"

    def due(self, memory: Memory) -> int:
        return len(memory.exchanges) - self.keep if len(memory.exchanges) >= self.k else 0


@dataclass(frozen=True, slots=True)
class SummariseAt(Policy):
    """When the exchanges held reach ``tokens``, summarise the oldest until at most ``keep_tokens`` are left."""

    tokens: float
    keep_tokens: int = 0
    shares_prefix: bool = False

    def __post_init__(self) -> None:
        _limit(self, "tokens", 1, "tokens")
        checks.whole_field(self, "keep_tokens", 0, checks.MOST_TOKENS, "tokens")
        if self.keep_tokens >= self.tokens:
            raise ValueError(f"keep_tokens ({self.keep_tokens} tokens) must be below tokens ({self.tokens:g} tokens)")

    @property
    def name(self) -> str:
        keeping = f", keep {self.keep_tokens:,}" if self.keep_tokens else ""
        return f"summarise at {self.tokens:,.0f} tokens{keeping}{_suffix(self.shares_prefix)}"

    @property
    def only_counts(self) -> bool:
        return self.tokens == math.inf

    def due(self, memory: Memory) -> int:
        left = memory.history_tokens
        if left < self.tokens:
            return 0
        oldest = 0
        while left > self.keep_tokens:
            left -= memory.exchanges[oldest].tokens
            oldest += 1
        return oldest


@dataclass(frozen=True, slots=True)
class SummariseOn(Policy):
    """Summarise on whichever comes first: ``every`` exchanges, ``after_s`` seconds since the last summary, a new topic.

    A new topic leaves the exchange that opened it in the prompt.
    """

    every: float = math.inf
    after_s: float = math.inf
    topic_shift: bool = False

    def __post_init__(self) -> None:
        _limit(self, "every", 1, "exchanges")
        checks.number("after_s", self.after_s, 0, math.inf, "seconds", above=True)

    @property
    def name(self) -> str:
        on = [f"{self.every:g} exchanges"] if self.every < math.inf else []
        on += [duration(self.after_s)] if self.after_s < math.inf else []
        on += ["a new topic"] if self.topic_shift else []
        return f"summarise on {' or '.join(on) or 'nothing'}"

    @property
    def counts_seconds(self) -> bool:
        return self.after_s < math.inf

    @property
    def only_counts(self) -> bool:
        return not (self.counts_seconds or self.topic_shift)

    def due(self, memory: Memory) -> int:
        held = len(memory.exchanges)
        if held >= self.every or memory.since_summary_s >= self.after_s:
            return held
        shifted = held > 1 and memory.exchanges[-1].topic != memory.exchanges[-2].topic
        return held - 1 if self.topic_shift and shifted else 0


@dataclass(frozen=True, slots=True)
class AtTheBreak(Policy):
    """Summarise when the player comes back after ``break_s`` or more: the cache is cold then anyway.

    Only where at least ``least`` exchanges are held; and, break or not, after the reply with which ``k`` are. The
    larger k, the more memories there may be at once, all of which an outlook follows.
    """

    break_s: float = 300.0
    least: int = 4
    k: float = 12

    def __post_init__(self) -> None:
        checks.number("break_s", self.break_s, 0, math.inf, "seconds", above=True)
        _limit(self, "k", 1, "exchanges")
        checks.whole_field(self, "least", 1, checks.MOST_TURNS, "exchanges")
        if self.least > self.k:
            raise ValueError(f"least ({self.least} exchanges) cannot exceed k ({self.k:g} exchanges)")

    @property
    def name(self) -> str:
        capped = f", at most {self.k:g}" if self.k < math.inf else ""
        return f"summarise at the break from {self.least}{capped}"

    @property
    def thresholds_s(self) -> tuple[float, ...]:
        return (self.break_s,) if self.break_s < YEAR_S else ()

    @property
    def only_counts(self) -> bool:
        return not self.thresholds_s

    def suited(self, ttl_s: float, most_pings: int = 11) -> AtTheBreak:
        return replace(self, break_s=ttl_s)

    def due(self, memory: Memory) -> int:
        return len(memory.exchanges) if len(memory.exchanges) >= self.k else 0

    def due_on_return(self, memory: Memory, gap_s: float) -> int:
        held = len(memory.exchanges)
        return held if gap_s >= self.break_s and held >= self.least else 0


@dataclass(frozen=True, slots=True)
class Compaction(Policy):
    """The provider's own: a prompt longer than ``trigger_tokens`` is summarised inside the call, then answered.

    The player's new line aside. The pass over the long prompt reads what of it is cached and is billed like a summary
    call. Providers set a least trigger (Anthropic 50,000 tokens), below which it is one's own to do.
    """

    trigger_tokens: float = 50_000

    def __post_init__(self) -> None:
        _limit(self, "trigger_tokens", 1, "tokens")

    @property
    def name(self) -> str:
        return f"provider compaction at {self.trigger_tokens:,.0f}"

    @property
    def shares_prefix(self) -> bool:
        return True

    @property
    def only_counts(self) -> bool:
        return self.trigger_tokens == math.inf

    def due_on_return(self, memory: Memory, gap_s: float) -> int:
        long = sum(block.tokens for block in memory.prompt) > self.trigger_tokens
        return len(memory.exchanges) if long else 0

    def summary_prompt(self, memory: Memory, oldest: int) -> tuple[Blocks, Blocks]:
        return memory.prompt, ()


@dataclass(frozen=True, slots=True)
class Scheduled(Policy):
    """Summarise after the replies of given turns: pairs of a turn, rising, and how many of the oldest exchanges."""

    flushes: tuple[tuple[int, int], ...]
    shares_prefix: bool = False

    def __post_init__(self) -> None:
        before, flushes = 0, []
        for turn, oldest in self.flushes:
            before = checks.whole("flushes: turn", turn, before + 1, checks.MOST_TURNS, "turns")
            flushes.append((before, checks.whole("flushes: oldest", oldest, 1, checks.MOST_TURNS, "exchanges")))
        object.__setattr__(self, "flushes", tuple(flushes))

    @property
    def name(self) -> str:
        turns = ", ".join(str(turn) for turn, _ in self.flushes) or "no turn"
        return f"summarise after {turns}{_suffix(self.shares_prefix)}"

    def due(self, memory: Memory) -> int:
        return min(dict(self.flushes).get(memory.turn, 0), len(memory.exchanges))


@dataclass(frozen=True, slots=True)
class _Around(Policy):
    """A policy that does something beside another one and leaves the rest to it."""

    policy: Policy = field(default_factory=FullHistory, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise TypeError(f"policy must be a memory policy, got {self.policy!r}")

    @property
    def forgets(self) -> bool:
        return self.policy.forgets

    @property
    def shares_prefix(self) -> bool:
        return self.policy.shares_prefix

    @property
    def stable_blocks(self) -> int:
        return self.policy.stable_blocks

    @property
    def known_share(self) -> float:
        return self.policy.known_share

    @property
    def thresholds_s(self) -> tuple[float, ...]:
        return self.policy.thresholds_s

    @property
    def counts_seconds(self) -> bool:
        return self.policy.counts_seconds

    @property
    def only_counts(self) -> bool:
        return self.policy.only_counts

    def suited(self, ttl_s: float, most_pings: int = 11) -> Policy:
        return replace(self, policy=self.policy.suited(ttl_s, most_pings))

    def prompt(self, memory: Memory) -> tuple[Blocks, Blocks]:
        return self.policy.prompt(memory)

    def due(self, memory: Memory) -> int:
        return self.policy.due(memory)

    def due_on_return(self, memory: Memory, gap_s: float) -> int:
        return self.policy.due_on_return(memory, gap_s)

    def summary_prompt(self, memory: Memory, oldest: int) -> tuple[Blocks, Blocks]:
        return self.policy.summary_prompt(memory, oldest)

    def trimmed(self, memory: Memory) -> Memory:
        return self.policy.trimmed(memory)

    def pings_s(self, gap_s: float) -> tuple[float, ...]:
        return self.policy.pings_s(gap_s)

    def memory_calls(self, memory: Memory, turn: int) -> Iterator[Call]:
        return self.policy.memory_calls(memory, turn)

    def fetched(self, stored: int) -> float:
        return self.policy.fetched(stored)


@dataclass(frozen=True, slots=True)
class KeepAlive(_Around):
    """While the dialogue is open, send the prompt again every ``every_s`` seconds, at most ``most`` times a gap.

    As far as the next prompt can read it: after a summary that is the static part. A game knows when the dialogue has
    ended, so nothing is sent after the last turn.
    """

    every_s: float = 240.0
    most: int = 11

    def __post_init__(self) -> None:
        _Around.__post_init__(self)
        checks.number("every_s", self.every_s, 0, YEAR_S, "seconds", above=True)
        checks.whole_field(self, "most", 0, MOST_PINGS, "pings")

    @property
    def name(self) -> str:
        return f"{self.policy.name}, kept alive"

    def suited(self, ttl_s: float, most_pings: int = 11) -> KeepAlive:
        every_s = min(PING_AT * ttl_s, YEAR_S)
        alive_s = every_s * most_pings + ttl_s  # for the policy inside, that is how long the cache lives
        return replace(self, policy=self.policy.suited(alive_s, most_pings), every_s=every_s, most=most_pings)

    def pings_s(self, gap_s: float) -> tuple[float, ...]:
        count = self.most if gap_s == math.inf else min(int(gap_s // self.every_s), self.most)
        return tuple(self.every_s * number for number in range(1, count + 1))


@dataclass(frozen=True, slots=True)
class Retrieval(_Around):
    """Bring back, by similarity, ``turns`` of the exchanges that left the prompt under another policy.

    They differ every turn. Behind the history they are plain input; ``before_history`` they break the prefix of all
    that follows. ``separation``: how well the retriever tells the wanted exchange from the others (d′, in standard
    deviations of their scores). Every exchange is embedded as it is stored, and every player line as a query.
    """

    turns: int = 4
    before_history: bool = False
    separation: float = recall.SEPARATION
    policy: Policy = field(default_factory=lambda: SteppedWindow(5, 15), kw_only=True)

    def __post_init__(self) -> None:
        _Around.__post_init__(self)
        checks.whole_field(self, "turns", 0, checks.MOST_TURNS, "exchanges")
        checks.number("separation", self.separation, -10, 10, "standard deviations")

    @property
    def name(self) -> str:
        where = " before the history" if self.before_history else ""
        return f"{self.policy.name}, retrieve {self.turns}{where}"

    @property
    def only_counts(self) -> bool:
        return False

    def prompt(self, memory: Memory) -> tuple[Blocks, Blocks]:
        found = self.found(memory)
        cacheable, plain = self.policy.prompt(memory)
        if not self.before_history:
            return cacheable, (*found, *plain)
        stable = len(cacheable) - len(memory.exchanges)
        return (*cacheable[:stable], *found, *cacheable[stable:]), plain

    def found(self, memory: Memory) -> Blocks:
        """Return the exchanges brought back, as blocks no other prompt holds: in a replay, evenly spread ones."""
        stored, count = memory.stored, min(self.turns, len(memory.stored))
        picked = [stored[(2 * at + 1) * len(stored) // (2 * count)] for at in range(count)]
        return tuple(Block(("retrieved", memory.turn, one.key), one.tokens, one.text) for one in picked)

    def memory_calls(self, memory: Memory, turn: int) -> Iterator[Call]:
        newest = memory.exchanges[-1]
        query = Block(("query", turn), newest.tokens - newest.reply_tokens)
        yield Call(turn, "embedding", (), (newest, query), 0)
        yield from (call for call in self.policy.memory_calls(memory, turn) if call.kind != "embedding")

    def fetched(self, stored: int) -> float:
        return float(recall.retrieval_hit_rate(stored, self.turns, self.separation)) if self.turns and stored else 0.0


@dataclass(frozen=True, slots=True)
class Layers(Retrieval):
    """The memory of a game character in layers: fields, a window, retrieved memories, importance and reflections.

    ``fields_tokens``: facts the game keeps, in every prompt behind the static part; they change every
    ``fields_every`` turns, which breaks the prefix behind them, and hold ``fields_share`` of all facts, for good.
    ``importance_tokens``: the prompt that rates each exchange, 0 where the game's event type says how much it
    matters. ``reflect_every``: exchanges between two reflections, a prompt of ``reflect_tokens`` over the newest
    ``reflect_on``, each of ``reflection_tokens``; what they help to recall is not counted anywhere, nor here.
    """

    fields_tokens: int = 120
    fields_every: int = 10
    fields_share: float = 0.25
    importance_tokens: int = 150
    reflect_every: float = 20
    reflect_on: int = 20
    reflect_tokens: int = 150
    reflection_tokens: int = 150

    def __post_init__(self) -> None:
        Retrieval.__post_init__(self)
        for name in ("fields_tokens", "importance_tokens", "reflect_tokens", "reflection_tokens"):
            checks.whole_field(self, name, 0, checks.MOST_TOKENS, "tokens")
        checks.whole_field(self, "fields_every", 1, checks.MOST_TURNS, "turns")
        checks.number("fields_share", self.fields_share, 0, 1, "(share of facts)")
        _limit(self, "reflect_every", 1, "exchanges")
        checks.whole_field(self, "reflect_on", 1, checks.MOST_TURNS, "exchanges")

    @property
    def name(self) -> str:
        window = "" if self.policy == SteppedWindow(5, 15) else f"{self.policy.name}, "
        where = " before the history" if self.before_history else ""
        return f"fields, {window}retrieve {self.turns}{where}, reflections"

    @property
    def stable_blocks(self) -> int:
        return 1 + self.policy.stable_blocks

    @property
    def known_share(self) -> float:
        return self.fields_share

    def prompt(self, memory: Memory) -> tuple[Blocks, Blocks]:
        fields = Block(("fields", (memory.turn - 1) // self.fields_every), self.fields_tokens)
        return Retrieval.prompt(self, replace(memory, head=(*memory.head, fields)))

    def memory_calls(self, memory: Memory, turn: int) -> Iterator[Call]:
        yield from Retrieval.memory_calls(self, memory, turn)
        if self.importance_tokens:
            asked = Block("rate this", self.importance_tokens)
            yield Call(turn, "importance", (), (asked, memory.exchanges[-1]), 1)
        if turn % self.reflect_every == 0:
            newest = (*memory.stored, *memory.exchanges)[-self.reflect_on :]
            asked = Block("reflect", self.reflect_tokens)
            yield Call(turn, "reflection", (), (asked, *newest), self.reflection_tokens)


@dataclass(frozen=True, slots=True)
class Deduplicate(_Around):
    """Leave out an exchange that is more similar than ``threshold`` to an earlier one; it tells nothing new.

    Also where that earlier one has left the prompt by then; and recall counts only the exchanges that are not left
    out, so that it may be compared with that of other policies where little is repeated.
    """

    threshold: float = 0.92

    def __post_init__(self) -> None:
        _Around.__post_init__(self)
        checks.number("threshold", self.threshold, -1, 1, "(cosine)")

    @property
    def name(self) -> str:
        return f"{self.policy.name}, repeats left out"

    @property
    def forgets(self) -> bool:
        return True

    @property
    def only_counts(self) -> bool:
        return False

    def due(self, memory: Memory) -> int:
        return self.policy.due(self._told(memory))  # only the newest can be a repeat, so the oldest are the same

    def trimmed(self, memory: Memory) -> Memory:
        return self.policy.trimmed(self._told(memory))

    def memory_calls(self, memory: Memory, turn: int) -> Iterator[Call]:
        stored = [*self.policy.memory_calls(memory, turn)]
        if not any(call.kind == "embedding" for call in stored):
            yield Call(turn, "embedding", (), memory.exchanges[-1:], 0)
        repeats = memory.exchanges[-1].similarity > self.threshold
        yield from (call for call in stored if call.kind == "embedding" or not repeats)

    def _told(self, memory: Memory) -> Memory:
        new = tuple(one for one in memory.exchanges if one.similarity <= self.threshold)
        return memory if len(new) == len(memory.exchanges) else replace(memory, exchanges=new)


POLICIES: tuple[Policy, ...] = (
    FullHistory(),
    KeepAlive(),
    KeepAlive(policy=SummariseEvery(12, shares_prefix=True)),
    SlidingWindow(10),
    SlidingWindow(tokens=1600),
    SteppedWindow(5, 15),
    SummariseEvery(4),
    SummariseEvery(15),
    SummariseEvery.rolling(15, 10),
    SummariseEvery(12, shares_prefix=True),
    SummariseAt(2000),
    SummariseOn(every=20, topic_shift=True),
    AtTheBreak(least=4, k=12),
    Compaction(4000),
    Retrieval(),
    Retrieval(policy=SummariseEvery(12, shares_prefix=True)),
    Layers(),
    Deduplicate(policy=SummariseEvery(15)),
)


# --- driving a policy -----------------------------------------------------------------------------


def reply_call(policy: Policy, memory: Memory, turn: int, volatile: Blocks, output_tokens: int) -> Call:
    """Return the call that asks for the character's reply at ``turn``."""
    cacheable, plain = policy.prompt(memory)
    return Call(turn, "reply", cacheable, (*plain, *volatile), output_tokens)


def summary_call(
    policy: Policy, memory: Memory, oldest: int, turn: int, instruction: Block, output_tokens: int
) -> Call:
    """Return the call that summarises the ``oldest`` exchanges of ``memory``."""
    cacheable, plain = policy.summary_prompt(memory, oldest)
    return Call(turn, "summary", cacheable, (*plain, instruction), output_tokens)


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens from the player's return to the end of a reply.

    ``before``: calls made before the reply, ``reply``, ``stored``: calls that store the exchange, ``after``: the
    summary after the reply, which only serves the next turn. ``spoken``: the memory the reply was given with,
    ``memory``: what is carried on. ``passes``: how many exchanges each summary of this turn took in, that before the
    reply and that after it, 0 for none.
    """

    before: tuple[Call, ...]
    reply: Call
    stored: tuple[Call, ...]
    after: tuple[Call, ...]
    spoken: Memory
    memory: Memory
    passes: tuple[int, int]


def beginning(character: Character) -> Memory:
    """Return the memory of a character before its first turn."""
    return Memory(character.head)


def take_turn(policy: Policy, character: Character, session: Session, memory: Memory, turn: int, gap_s: float) -> Turn:
    """Return what ``policy`` does at ``turn`` (from 1), the player having been away for ``gap_s`` seconds."""
    instruction = Block("instruction", character.instruction_tokens)

    def summarise(memory: Memory, oldest: int, when: str) -> tuple[tuple[Call, ...], Memory]:
        if not oldest:
            return (), memory
        checks.whole(f"{policy.name}: oldest", oldest, 0, len(memory.exchanges), "exchanges held")
        summary = Block((when, turn), int(character.summary_size(memory.covered + oldest)))
        call = summary_call(policy, memory, oldest, turn, instruction, summary.tokens)
        return (call,), memory.summarised(summary, oldest)

    memory = memory.returned_to(turn, gap_s)
    returned = policy.due_on_return(memory, gap_s) if turn > 1 else 0
    before, spoken = summarise(memory, returned, "summary on return")
    volatile = (Block(("volatile", turn), character.volatile_tokens),)
    reply = reply_call(policy, spoken, turn, volatile, int(session.reply_tokens[turn - 1]))
    heard = spoken.heard(session.exchanges[turn - 1])
    stored = tuple(policy.memory_calls(heard, turn))
    oldest = policy.due(heard) if turn < session.turns else 0
    after, kept = summarise(heard, oldest, "summary")
    return Turn(before, reply, stored, after, spoken, policy.trimmed(kept), (returned, oldest))


def ping_calls(policy: Policy, reply: Call, memory: Memory, gap_s: float) -> tuple[Call, ...]:
    """Return the calls that keep a reply's prompt alive over the gap behind it, each asking for one token.

    Only as far as the next prompt, with ``memory``, can read it.
    """
    times_s = policy.pings_s(gap_s)
    if not times_s:
        return ()
    following, _ = policy.prompt(memory.returned_to(reply.turn + 1, 0.0))
    readable = reply.prompt[: shared_blocks(reply.prompt, following)]
    return tuple(Call(reply.turn, "ping", readable, (), PING_OUTPUT_TOKENS, at_s) for at_s in times_s)


def calls(policy: Policy, character: Character, session: Session) -> Iterator[Call]:
    """Yield every call of a session, in order."""
    memory = beginning(character)
    for turn in range(1, session.turns + 1):
        step = take_turn(policy, character, session, memory, turn, float(session.gaps_s[turn - 2]) if turn > 1 else 0.0)
        yield from (*step.before, step.reply, *step.stored, *step.after)
        memory = step.memory
        if turn < session.turns:
            yield from ping_calls(policy, step.reply, memory, float(session.gaps_s[turn - 1]))
