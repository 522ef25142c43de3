"""The memory policies: what of a conversation the next prompt holds, and when to summarise.

A policy decides content and order only; it sees no clock, no price and no cache. The same object drives a
replay of token counts and a live conversation with text. A new policy is one frozen dataclass with the two
methods of ``Policy`` and its instance in ``POLICIES``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from npcmem import checks
from npcmem.dialogue import Block, Call, Character, Session


@dataclass(frozen=True, slots=True)
class Memory:
    """What a character carries from one turn to the next: its static part, a summary, raw exchanges."""

    static: Block
    summary: Block | None = None
    exchanges: tuple[Block, ...] = ()

    @property
    def prompt(self) -> tuple[Block, ...]:
        """The cacheable prompt, the most stable part first."""
        return (self.static, *([self.summary] if self.summary else []), *self.exchanges)

    def heard(self, exchange: Block) -> Memory:
        """Return the memory with one exchange more."""
        return replace(self, exchanges=(*self.exchanges, exchange))

    def summarised(self, summary: Block, oldest: int) -> Memory:
        """Return the memory with its ``oldest`` exchanges and the old summary replaced by ``summary``."""
        return replace(self, summary=summary, exchanges=self.exchanges[oldest:])


class Policy(Protocol):
    """The contract of a memory policy; the defaults below keep everything and never summarise."""

    @property
    def name(self) -> str:
        """A few words for a chart's legend."""

    def trimmed(self, memory: Memory) -> Memory:
        """Return what of ``memory`` stays for the next prompt."""
        return memory

    def due(self, memory: Memory) -> int:
        """Return how many of the oldest exchanges to summarise now; 0 for none."""
        return 0

    def summary_prompt(self, memory: Memory, oldest: int) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        """Return the cacheable and the plain part of a summary call, its instructions left out."""
        return (), (*memory.prompt[1 : 1 + bool(memory.summary)], *memory.exchanges[:oldest])


def _limit(name: str, value: float, least: int, unit: str) -> None:
    if value != math.inf:
        checks.whole(name, value, least, checks.MOST_TURNS, unit)


@dataclass(frozen=True, slots=True)
class FullHistory(Policy):
    """Resend everything, every turn."""

    @property
    def name(self) -> str:
        return "full history"


@dataclass(frozen=True, slots=True)
class SlidingWindow(Policy):
    """Keep the newest ``turns`` exchanges; the first one kept changes every turn, which breaks the prefix."""

    turns: float

    def __post_init__(self) -> None:
        _limit("turns", self.turns, 0, "exchanges")

    @property
    def name(self) -> str:
        return f"sliding window of {self.turns:g}"

    def trimmed(self, memory: Memory) -> Memory:
        excess = max(len(memory.exchanges) - self.turns, 0)
        return replace(memory, exchanges=memory.exchanges[int(excess) :])


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
        _limit("k", self.k, 1, "exchanges")
        checks.whole("keep", self.keep, 0, checks.MOST_TURNS, "exchanges")
        if self.keep >= self.k:
            raise ValueError(f"keep ({self.keep} exchanges) must be below k ({self.k:g} exchanges)")

    @property
    def name(self) -> str:
        keeping = f", keep {self.keep}" if self.keep else ""
        return f"summarise every {self.k:g}{keeping}{', shared prefix' if self.shares_prefix else ''}"

    def due(self, memory: Memory) -> int:
        return len(memory.exchanges) - self.keep if len(memory.exchanges) >= self.k else 0

    def summary_prompt(self, memory: Memory, oldest: int) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        if self.shares_prefix:
            return memory.prompt[:-1], memory.prompt[-1:]
        return Policy.summary_prompt(self, memory, oldest)


POLICIES: tuple[Policy, ...] = (
    FullHistory(),
    SlidingWindow(10),
    SummariseEvery(4),
    SummariseEvery(15),
    SummariseEvery(12, shares_prefix=True),
    SummariseEvery(12, keep=3),
)


def reply_call(memory: Memory, turn: int, volatile: tuple[Block, ...], output_tokens: int) -> Call:
    """Return the call that asks for the character's reply at ``turn``."""
    return Call(turn, "reply", memory.prompt, volatile, output_tokens)


def summary_call(
    policy: Policy, memory: Memory, oldest: int, turn: int, instruction: Block, output_tokens: int
) -> Call:
    """Return the call that summarises the ``oldest`` exchanges of ``memory``."""
    cacheable, plain = policy.summary_prompt(memory, oldest)
    return Call(turn, "summary", cacheable, (*plain, instruction), output_tokens)


def calls(policy: Policy, character: Character, session: Session) -> Iterator[Call]:
    """Yield every call of a session, in order; a turn's summary call comes at the instant of its reply call."""
    memory = Memory(Block("static", character.static_tokens))
    instruction = Block("instruction", character.instruction_tokens)
    for turn in range(1, session.turns + 1):
        volatile = (Block(("volatile", turn), character.volatile_tokens),)
        yield reply_call(memory, turn, volatile, int(session.reply_tokens[turn - 1]))
        memory = memory.heard(Block(("exchange", turn), int(session.exchange_tokens[turn - 1])))
        oldest = policy.due(memory)
        if oldest and turn < session.turns:
            yield summary_call(policy, memory, oldest, turn, instruction, character.summary_tokens)
            memory = memory.summarised(Block(("summary", turn), character.summary_tokens), oldest)
        memory = policy.trimmed(memory)
