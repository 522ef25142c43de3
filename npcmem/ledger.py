"""Replay a session call by call into exact tokens, and its exact expectation over random gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules, PrefixCache
from npcmem.dialogue import Character, Session
from npcmem.money import CLASSES, Price, Usage
from npcmem.policies import Policy, calls

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Ledger:
    """One row per call, in the order sent: whole tokens from a replay, expected ones from ``expected``.

    ``turn`` from 1; ``kind`` "reply" or "summary"; ``at_s`` seconds since the first call; ``usage`` tokens
    by billing class; ``hit`` 1 where the call read the cache (its probability where expected).
    """

    turn: np.ndarray
    kind: np.ndarray
    at_s: np.ndarray
    usage: Usage
    hit: np.ndarray

    @property
    def total(self) -> Usage:
        """Tokens of all calls by billing class."""
        return self.usage.sum()

    def only(self, kind: str) -> Ledger:
        """Return the rows of one kind of call."""
        rows = self.kind == checks.known("kind of call", kind, ("reply", "summary"))
        usage = Usage(*(getattr(self.usage, name)[rows] for name in CLASSES))
        return Ledger(self.turn[rows], self.kind[rows], self.at_s[rows], usage, self.hit[rows])

    def call_usd(self, price: Price, summary_price: Price | None = None) -> np.ndarray:
        """Return the dollars of each call; summary calls at ``summary_price`` where another model makes them."""
        usd = np.asarray(price.usd(self.usage), dtype=float)
        if summary_price is None:
            return usd
        return np.where(self.kind == "summary", summary_price.usd(self.usage), usd)

    def cost(self, price: Price, summary_price: Price | None = None) -> float:
        """Return the dollars of the session."""
        return math.fsum(self.call_usd(price, summary_price))

    @property
    def hit_rate(self) -> float:
        """The share of turns whose reply call read the conversation's prefix from the cache."""
        return float(self.only("reply").hit.mean())

    @property
    def read_share(self) -> float:
        """The share of input tokens that were read from the cache."""
        return self.total.read / self.total.input if self.total.input else 0.0

    def frame(self) -> pandas.DataFrame:
        """Return the rows as a data frame (needs pandas)."""
        import pandas

        return pandas.DataFrame(
            {"turn": self.turn, "kind": self.kind, "at_s": self.at_s, **self.usage.as_dict(), "hit": self.hit}
        )


def replay(policy: Policy, character: Character, session: Session, rules: CacheRules | None = None) -> Ledger:
    """Return the exact bill of one session under ``policy`` on a cache of its own; no cache without ``rules``."""
    start_s = np.concatenate([[0.0], np.cumsum(session.gaps_s)])
    cache = PrefixCache(rules)
    rows = [
        (call.turn, call.kind, start_s[call.turn - 1], cache.send(call, start_s[call.turn - 1]))
        for call in calls(policy, character, session)
    ]
    turn, kind, at_s, usages = zip(*rows, strict=True)
    usage = Usage(*(np.array([getattr(row, name) for row in usages], dtype=np.int64) for name in CLASSES))
    return Ledger(np.array(turn), np.array(kind), np.array(at_s), usage, (usage.read > 0).astype(float))


def expected(
    policy: Policy, character: Character, session: Session, rules: CacheRules | None, warm: float | np.ndarray
) -> Ledger:
    """Return the exact expected bill when each gap is shorter than the TTL with probability ``warm``.

    ``warm``: one probability, or one per gap (n−1,); the session's own gaps are not used. The mixing
    identity: with one TTL, one conversation and all calls of a turn at one instant, a turn's usage depends
    on the gaps only through warm or cold, so the mean is Σ h·warm + (1−h)·cold: two replays, no simulation.
    A single moving breakpoint breaks it (the static part is an entry on the first turn only) and is refused.
    """
    gaps = session.turns - 1
    chance = checks.numbers("warm", np.full(gaps, warm) if np.isscalar(warm) else warm, 0, 1, "(probability)")
    if len(chance) != gaps:
        raise ValueError(f"warm must have {gaps} entries, one a gap, got {len(chance)}")
    if rules is not None:
        rules.check_mixing()
    cold_gap_s = 0.0 if rules is None or rules.outlives_gaps else rules.ttl_s
    hot = replay(policy, character, session.with_gaps(np.zeros(gaps)), rules)
    cold = replay(policy, character, session.with_gaps(np.full(gaps, cold_gap_s)), rules)
    at_call = np.concatenate([[0.0], chance])[hot.turn - 1]
    usage = hot.usage * at_call + cold.usage * (1 - at_call)
    return replace(hot, usage=usage, hit=hot.hit * at_call + cold.hit * (1 - at_call))


def compare(
    policies: tuple[Policy, ...],
    character: Character,
    session: Session,
    rules: CacheRules | None,
    warm: float | np.ndarray,
    price: Price,
    summary_price: Price | None = None,
) -> dict[str, float]:
    """Return the expected dollars of a session under each policy by its name, cheapest first."""
    usd = {p.name: expected(p, character, session, rules, warm).cost(price, summary_price) for p in policies}
    return dict(sorted(usd.items(), key=lambda item: item[1]))
