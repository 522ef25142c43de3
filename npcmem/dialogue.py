"""The nouns of a conversation: blocks of prompt, calls, the character and a session."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from npcmem import checks

YEAR_S = 366 * 86_400.0


def duration(seconds: float) -> str:
    """Return a time in words, as seconds, minutes or hours: 300 is "5 min"."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 3600 else f"{seconds / 3600:.3g} h"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of prompt that is cached whole or not at all.

    Two blocks with the same ``key`` hold the same bytes; ``text`` says which, where that is known.
    """

    key: Hashable
    tokens: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange(Block):
    """A player line and its reply, as one block of history.

    ``topic``: what it is about, compared with the exchange before it. ``similarity``: the highest cosine
    similarity to an earlier exchange of the session. ``reply_tokens``: the character's part of it.
    """

    topic: Hashable = None
    similarity: float = 0.0
    reply_tokens: int = 0


def shared_blocks(prompt: Sequence[Block], other: Sequence[Block]) -> int:
    """Return how many leading blocks two prompts have in common."""
    most = min(len(prompt), len(other))
    if prompt[:most] == other[:most]:  # the common case, compared without a loop
        return most
    return next(at for at in range(most) if prompt[at] != other[at])


KINDS = ("reply", "summary", "ping", "embedding", "importance", "reflection")


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model.

    ``kind`` is one of ``KINDS``. ``prompt`` is what a cache may hold, in order, with a breakpoint after every
    block. ``volatile`` is what follows the last breakpoint: sent, never cached, never carried. ``after_s``:
    seconds after the start of its turn's reply call.
    """

    turn: int
    kind: str
    prompt: tuple[Block, ...]
    volatile: tuple[Block, ...]
    output_tokens: int
    after_s: float = 0.0

    @property
    def input_tokens(self) -> int:
        return sum(block.tokens for block in self.prompt + self.volatile)


@dataclass(frozen=True, slots=True)
class Character:
    """The fixed sizes of a character's prompt, in tokens.

    ``static_tokens`` S: persona, rules, world. ``summary_tokens`` s: what a summary comes out as.
    ``instruction_tokens`` q: the request to summarise. ``volatile_tokens`` u: the player's new line and
    the state of the moment, sent at the end of each reply call and never cached. ``shared_tokens``: the
    first part of S (world rules, tone), the same for every character of the game. ``summary_growth_tokens``:
    what a summary gains with each exchange it covers; 0 where its length is held. ``name`` tells characters
    apart that share one cache.
    """

    static_tokens: int = 1800
    summary_tokens: int = 150
    instruction_tokens: int = 120
    volatile_tokens: int = 0
    shared_tokens: int = 0
    summary_growth_tokens: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        for field in ("static_tokens", "summary_tokens", "instruction_tokens", "volatile_tokens", "shared_tokens"):
            checks.whole_field(self, field, 0, checks.MOST_TOKENS, "tokens")
        checks.number("summary_growth_tokens", self.summary_growth_tokens, 0, 10_000, "tokens an exchange covered")
        if self.shared_tokens > self.static_tokens:
            raise ValueError(
                f"shared_tokens ({self.shared_tokens} tokens) cannot exceed static_tokens "
                f"({self.static_tokens} tokens): it is the first part of it"
            )

    @property
    def head(self) -> tuple[Block, ...]:
        """The static part as blocks: what all characters share, if anything, then this one's own."""
        own = Block(("static", self.name) if self.name else "static", self.static_tokens - self.shared_tokens)
        return (Block("shared", self.shared_tokens), own) if self.shared_tokens else (own,)

    def heads_alive(self, head_warm: float | Sequence[float]) -> tuple[tuple[int, int, float], ...]:
        """Return how much of the head others may have kept cached: blocks, their tokens, and the chance of just that.

        ``head_warm``: the chance that other players' traffic keeps the prompt cached up to the end of a block of the
        head, one for each and the first at least as likely as the next; a single number stands for the whole head.
        """
        many = [head_warm] * len(self.head) if np.isscalar(head_warm) else head_warm
        chances = checks.numbers("head_warm", many, 0, 1, "(probability)").tolist()
        if len(chances) != len(self.head):
            raise ValueError(f"head_warm must have {len(self.head)} entries, one a block, got {len(chances)}")
        if sorted(chances, reverse=True) != chances:
            raise ValueError(f"head_warm must not rise from block to block, got {chances}")
        exactly = (-np.diff([1.0, *chances, 0.0])).tolist()
        ends = accumulate((block.tokens for block in self.head), initial=0)
        rows = zip(range(len(exactly)), ends, exactly, strict=True)
        return tuple(row for row in rows if row[2] > 0)

    def summary_size(self, covered: int | np.ndarray) -> int | np.ndarray:
        """Return the whole tokens of a summary that covers so many exchanges (or of each): s + ⌊growth · covered⌋."""
        if not self.summary_growth_tokens:
            return self.summary_tokens + 0 * covered
        grown = np.floor(self.summary_growth_tokens * np.asarray(covered)).astype(np.int64)
        return self.summary_tokens + (grown if np.ndim(covered) else int(grown))


@dataclass(frozen=True, eq=False)
class Session:
    """One conversation of n turns.

    ``exchange_tokens`` (n,): player line plus reply, as it joins the history. ``reply_tokens`` (n,): the
    reply alone, at most the exchange. ``gaps_s`` (n−1,): seconds from the start of one reply call to the
    start of the next (think time plus generation). ``topics`` (n,): what each exchange is about, one topic if
    not given. ``similarities`` (n,): the highest cosine similarity of each exchange to an earlier one, 0 if not
    given.
    """

    exchange_tokens: np.ndarray
    reply_tokens: np.ndarray
    gaps_s: np.ndarray
    topics: Sequence[Hashable] | None = None
    similarities: np.ndarray | None = None

    def __post_init__(self) -> None:
        for field in ("exchange_tokens", "reply_tokens"):
            values = checks.numbers(field, getattr(self, field), 0, checks.MOST_TOKENS, "tokens")
            whole = values.astype(np.int64)
            if (whole != values).any():
                raise TypeError(f"{field} must be whole numbers of tokens, got {values[whole != values][0]:g}")
            whole.flags.writeable = False
            object.__setattr__(self, field, whole)
        object.__setattr__(self, "gaps_s", checks.numbers("gaps_s", self.gaps_s, 0, YEAR_S, "seconds"))
        turns = checks.whole("turns", len(self.exchange_tokens), 1, checks.MOST_TURNS, "turns")
        if len(self.reply_tokens) != turns:
            raise ValueError(f"reply_tokens must have {turns} entries, one a turn, got {len(self.reply_tokens)}")
        if len(self.gaps_s) != turns - 1:
            raise ValueError(f"gaps_s must have {turns - 1} entries, one fewer than turns, got {len(self.gaps_s)}")
        over = self.reply_tokens > self.exchange_tokens
        if over.any():
            at = int(over.argmax())
            raise ValueError(
                f"reply_tokens ({self.reply_tokens[at]} tokens) cannot exceed exchange_tokens "
                f"({self.exchange_tokens[at]} tokens) at turn {at + 1}: the reply is part of the exchange"
            )
        similar = np.zeros(turns) if self.similarities is None else self.similarities
        object.__setattr__(self, "similarities", checks.numbers("similarities", similar, -1, 1, "(cosine)"))
        object.__setattr__(self, "topics", (None,) * turns if self.topics is None else tuple(self.topics))
        for field in ("topics", "similarities"):
            if len(getattr(self, field)) != turns:
                raise ValueError(f"{field} must have {turns} entries, one an exchange, got {len(getattr(self, field))}")

    @property
    def turns(self) -> int:
        """The number of exchanges, n."""
        return len(self.exchange_tokens)

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges as they join the history, the first turn's first."""
        similar = [0.0, *self.similarities[1:].tolist()]  # nothing stands before the first
        columns = (self.exchange_tokens.tolist(), self.topics, similar, self.reply_tokens.tolist())
        return tuple(
            Exchange(("exchange", turn), tokens, None, topic, similarity, reply)
            for turn, (tokens, topic, similarity, reply) in enumerate(zip(*columns, strict=True), start=1)
        )

    @classmethod
    def uniform(cls, turns: int, exchange_tokens: int = 160, reply_tokens: int = 80, gap_s: float = 30.0) -> Session:
        """Return a session whose every exchange and every gap is alike."""
        turns = checks.whole("turns", turns, 1, checks.MOST_TURNS, "turns")
        return cls(
            np.full(turns, checks.tokens("exchange_tokens", exchange_tokens)),
            np.full(turns, checks.tokens("reply_tokens", reply_tokens)),
            np.full(turns - 1, float(gap_s)),
        )

    def with_gaps(self, gaps_s: np.ndarray) -> Session:
        """Return the same exchanges at another pace."""
        return replace(self, gaps_s=gaps_s)

    def with_scenes(self, turns_per_scene: int) -> Session:
        """Return the same session with a new topic every so many turns."""
        length = checks.whole("turns_per_scene", turns_per_scene, 1, checks.MOST_TURNS, "turns")
        return replace(self, topics=[turn // length for turn in range(self.turns)])

    def with_repeats(self, share: float) -> Session:
        """Return the same session in which this share of its exchanges, evenly spread, repeats an earlier one."""
        share = checks.number("share", share, 0, 1, "(share of exchanges)")
        repeats = np.floor(np.arange(1, self.turns + 1) * share + 1e-9)
        return replace(self, similarities=np.diff(repeats, prepend=0) * (np.arange(self.turns) > 0))
