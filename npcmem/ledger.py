"""What a conversation's calls cost: a row per call, replayed through a real cache."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from npcmem import checks
from npcmem.cache import MOST_S, CacheRules, PrefixCache
from npcmem.dialogue import KINDS, Block, Call, Character, Session
from npcmem.money import CLASSES, Price, Usage
from npcmem.policies import Policy, calls

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Ledger:
    """One row per call that is, or may be, made.

    ``turn`` from 1; ``kind`` one of ``dialogue.KINDS``; ``at_s`` seconds since the first call, not known where gaps
    are random; ``usage`` whole tokens by billing class; ``token_hours`` held in paid storage. ``chance``: how often
    the call is expected to be made and billed so, 1 in a replay; (rows,), or (rows, p) for p paces at once.
    ``needs``: turns of the shortest session that makes the call, its own or, for what only serves the next turn, one
    more.
    """

    turn: np.ndarray
    kind: np.ndarray
    at_s: np.ndarray
    usage: Usage
    token_hours: np.ndarray
    chance: np.ndarray
    needs: np.ndarray

    @property
    def total(self) -> Usage:
        """Tokens of all calls by billing class: whole in a replay, expected ones where rows have a chance."""
        return Usage(*(_plain(getattr(self.usage, name) @ self.chance) for name in CLASSES))

    @property
    def hit(self) -> np.ndarray:
        """Whether each row's call read the cache."""
        return self.usage.read > 0

    def rows(self, at: np.ndarray) -> Ledger:
        """Return the rows ``at`` (a mask or indices)."""
        usage = Usage(*(getattr(self.usage, name)[at] for name in CLASSES))
        rest = (getattr(self, name)[at] for name in ("token_hours", "chance", "needs"))
        return Ledger(self.turn[at], self.kind[at], self.at_s[at], usage, *rest)

    def only(self, kind: str) -> Ledger:
        """Return the rows of one kind of call."""
        return self.rows(self.kind == checks.known("kind of call", kind, KINDS))

    def session(self, turns: int, pace: int | None = None) -> Ledger:
        """Return the rows of a session that ends after so many turns, at one of the paces."""
        part = self.rows(self.needs <= turns)
        return part if pace is None else replace(part, chance=part.chance[:, pace])

    def call_usd(self, price: Price, **other: Price) -> np.ndarray:
        """Return the dollars of each row if made; kinds of calls that go to another model at their own price.

        ``call_usd(price, summary=cheap, embedding=tiny)``.
        """
        usd = _usd(price, self)
        for kind, its in other.items():
            usd = np.where(self.kind == checks.known("kind of call", kind, KINDS), _usd(its, self), usd)
        return usd

    def cost(self, price: Price, **other: Price) -> float | np.ndarray:
        """Return the dollars of the session, expected ones where rows have a chance."""
        usd = self.call_usd(price, **other)
        return math.fsum(usd * self.chance) if self.chance.ndim == 1 else usd @ self.chance

    def cost_by_kind(self, price: Price, **other: Price) -> dict[str, float | np.ndarray]:
        """Return the dollars of each kind of call that occurs, in the order of ``KINDS``: memory's own bill."""
        usd = self.call_usd(price, **other)
        at = {kind: self.kind == kind for kind in KINDS}
        return {kind: _plain(usd[rows] @ self.chance[rows]) for kind, rows in at.items() if self.chance[rows].any()}

    def cost_by_length(self, price: Price, **other: Price) -> np.ndarray:
        """Return the dollars of a session of 1, 2, … turns that goes like this one: (n,), or (n, p)."""
        usd = self.call_usd(price, **other)
        turns = int(self.turn.max(initial=0))
        sums = np.zeros((turns + 2, *self.chance.shape[1:]))
        np.add.at(sums, self.needs, (usd * self.chance.T).T)
        return np.cumsum(sums, axis=0)[1 : turns + 1]

    @property
    def hit_rate(self) -> float | np.ndarray:
        """The share of turns whose reply call read anything from the cache; ``read_share`` says how much.

        At each pace where there are several; 0 where there is no reply.
        """
        replies = self.only("reply")
        return _share(replies.hit @ replies.chance, replies.chance.sum(axis=0))

    @property
    def read_share(self) -> float | np.ndarray:
        """The share of input tokens that were read from the cache, at each pace; 0 where there is no input."""
        return _share(self.total.read, self.total.input)

    def frame(self) -> pandas.DataFrame:
        """Return the rows as a data frame (needs pandas). ValueError where they are those of several paces."""
        import pandas

        if self.chance.ndim > 1:
            raise ValueError(
                f"a frame has the rows of 1 pace, got {self.chance.shape[1]} paces: take session(turns, pace) first"
            )
        columns = {"turn": self.turn, "kind": self.kind, "at_s": self.at_s, **self.usage.as_dict()}
        return pandas.DataFrame({**columns, "token_hours": self.token_hours, "chance": self.chance})


def _plain(value: np.ndarray) -> float | np.ndarray:
    return value.item() if np.ndim(value) == 0 else value


def _share(part: float | np.ndarray, whole: float | np.ndarray) -> float | np.ndarray:
    """Return ``part/whole``, 0 where there is nothing."""
    whole = np.asarray(whole, dtype=float)
    return _plain(np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0))


def _usd(price: Price, bill: Ledger) -> np.ndarray:
    usd = np.asarray(price.usd(bill.usage), dtype=float)
    return usd + bill.token_hours * (price.storage_usd_per_mtok_hour / 1e6)


@dataclass(slots=True)
class Entry:
    """One row of a ledger to be."""

    call: Call
    at_s: float
    usage: Usage
    chance: float | np.ndarray
    needs: int


def ledger_of(rows: Iterable[Entry], rules: CacheRules | None) -> Ledger:
    """Return the ledger of some rows; ``rules`` say what of them is kept in paid storage."""
    rows = [*rows]
    usage = Usage(*(np.array([getattr(row.usage, name) for row in rows], dtype=np.int64) for name in CLASSES))
    stored = rules.stored_token_hours(usage) if rules is not None and rules.pays_storage else np.zeros(len(rows))
    return Ledger(
        np.array([row.call.turn for row in rows]),
        np.array([row.call.kind for row in rows]),
        np.array([row.at_s for row in rows]),
        usage,
        stored,
        np.array([row.chance for row in rows]),
        np.array([row.needs for row in rows]),
    )


# --- replay ---------------------------------------------------------------------------------------


def replay(policy: Policy, character: Character, session: Session, rules: CacheRules | None = None) -> Ledger:
    """Return the exact bill of one session under ``policy`` on a cache of its own; no cache without ``rules``."""
    cache = PrefixCache(rules)
    return ledger_of((_sent(cache, *timed) for timed in _timed(policy, character, session, 0.0)), rules)


def replay_together(
    policy: Policy,
    characters: Sequence[Character],
    sessions: Sequence[Session],
    starts_s: Sequence[float],
    rules: CacheRules | None,
) -> list[Ledger]:
    """Return the exact bill of each of many sessions that begin at their seconds and share one cache.

    Sessions have nothing in common but the heads of their characters: what other players pay warms one's own, and
    with a capacity what they hold pushes one's own out. ``at_s`` counts from the common zero.
    """
    if not len(characters) == len(sessions) == len(starts_s):
        raise ValueError(
            f"characters, sessions and starts_s must be equally long, got "
            f"{len(characters)}, {len(sessions)} and {len(starts_s)}"
        )
    starts_s = checks.numbers("starts_s", starts_s, -MOST_S, MOST_S, "seconds")
    sizes: dict[object, int] = {}
    for one in {block for character in characters for block in character.head}:
        if sizes.setdefault(one.key, one.tokens) != one.tokens:
            raise ValueError(
                f"characters must have names of their own where they differ: {one.key!r} has {sizes[one.key]} and "
                f"{one.tokens} tokens"
            )
    cache = PrefixCache(rules)
    rows: list[list[Entry]] = [[] for _ in sessions]

    def own(number: int) -> Iterator[tuple[float, int, Call, int]]:
        head = set(characters[number].head)
        for call, at_s, needs in _timed(policy, characters[number], sessions[number], starts_s[number]):
            prompt = tuple(one if one in head else Block((number, one.key), one.tokens) for one in call.prompt)
            yield at_s, number, replace(call, prompt=prompt), needs

    for at_s, number, call, needs in heapq.merge(*map(own, range(len(sessions))), key=lambda sent: sent[:2]):
        rows[number].append(_sent(cache, call, at_s, needs))
    return [ledger_of(mine, rules) for mine in rows]


def _timed(policy: Policy, character: Character, session: Session, start_s: float) -> Iterator[tuple[Call, float, int]]:
    """Yield each call with its second and the shortest session that makes it."""
    turn_s = start_s + np.concatenate([[0.0], np.cumsum(session.gaps_s)])
    replied = 0
    for call in calls(policy, character, session):
        replied = call.turn if call.kind == "reply" else replied
        serves_next = call.kind == "ping" or (call.kind == "summary" and replied == call.turn)
        yield call, float(turn_s[call.turn - 1]) + call.after_s, call.turn + serves_next


def _sent(cache: PrefixCache, call: Call, at_s: float, needs: int) -> Entry:
    return Entry(call, at_s, cache.send(call, at_s), 1, needs)
