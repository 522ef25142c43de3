"""Memory policies side by side: what each costs, what it still knows, and how far it is from the cheapest there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules
from npcmem.dialogue import Character, Session
from npcmem.ledger import Gaps, Outlook, outlook
from npcmem.money import Price
from npcmem.policies import Policy, SummariseEvery
from npcmem.recall import Retention
from npcmem.schedule import Bound, bound
from npcmem.sweep import band, recall_sweep, sweep
from npcmem.thinktime import Pace

EMBEDDING = Price.of(0.02, 0.0)
"""Dollars per million tokens of a small embedding model (OpenAI's text-embedding-3-small, genai-prices 0.2.3)."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Who is paid for which call: the character's model, the one that works on memory, the one that embeds.

    ``memory``: makes summaries, ratings and reflections; the character's own model where None.
    """

    main: Price
    memory: Price | None = None
    embedding: Price = EMBEDDING

    def other(self, policy: Policy) -> dict[str, Price]:
        """Return the price of each kind of call that another model makes; a shared prefix is the main model's."""
        memory = self.memory or self.main
        summary = self.main if policy.shares_prefix else memory
        return {"embedding": self.embedding, "summary": summary, "importance": memory, "reflection": memory}


@dataclass(frozen=True, eq=False)
class Result:
    """One policy over a whole session.

    ``usd``: expected dollars; ``usd_by_kind``: the same by kind of call; ``last_usd``: of the last reply call alone.
    ``recall``: chance that a fact told in some earlier exchange is in the last prompt; ``oldest``: of the first one.
    ``hit_rate``: share of turns, ``read_share``: share of input tokens read from the cache.
    """

    policy: Policy
    usd: float
    usd_by_kind: dict[str, float]
    last_usd: float
    recall: float
    oldest: float
    hit_rate: float
    read_share: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Policies side by side, cheapest first, and the cheapest way of all to lose nothing unsaid."""

    results: tuple[Result, ...]
    bound: Bound

    def over_bound(self, result: Result) -> float:
        """How much dearer a policy is than the bound, as a share of it; below 0 only for one that forgets."""
        return result.usd / self.bound.usd - 1 if self.bound.usd else 0.0

    def cheapest(self, least_recall: float = 0.0) -> Result | None:
        """Return the cheapest policy that recalls at least so much; None where none does."""
        return next(iter(self.at_least(least_recall)), None)

    def at_least(self, recall: float) -> tuple[Result, ...]:
        """Return the policies that recall at least so much, cheapest first."""
        return tuple(one for one in self.results if one.recall >= recall - 1e-12)

    def front(self) -> tuple[Result, ...]:
        """Return the policies than which no cheaper one recalls as much, cheapest first."""
        best, front = -1.0, []
        for one in self.results:
            if one.recall > best + 1e-12:
                front.append(one)
                best = one.recall
        return tuple(front)


def result(
    policy: Policy,
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: Gaps,
    prices: Prices,
    retention: Retention,
) -> Result:
    """Return what one policy costs and knows over a session; ``gaps`` as in ``ledger.outlook``."""
    seen: Outlook = outlook(policy, character, session, rules, gaps, retention)
    bill, others = seen.bill, prices.other(policy)
    last = bill.rows((bill.kind == "reply") & (bill.turn == session.turns))
    return Result(
        policy,
        bill.cost(prices.main, **others),
        bill.cost_by_kind(prices.main, **others),
        last.cost(prices.main),
        float(seen.recall[-1]),
        float(seen.oldest[-1]),
        bill.hit_rate,
        bill.read_share,
    )


def compare(
    policies: Sequence[Policy],
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: Gaps,
    prices: Prices,
    retention: Retention,
) -> Comparison:
    """Return each policy's cost and recall, cheapest first, and the bound they are measured against."""
    found = [result(policy, character, session, rules, gaps, prices, retention) for policy in policies]
    return Comparison(tuple(sorted(found, key=lambda one: one.usd)), least(character, session, rules, gaps, prices))


def least(character: Character, session: Session, rules: CacheRules | None, gaps: Gaps, prices: Prices) -> Bound:
    """Return the cheapest way to drop nothing, the summary call a prompt of its own or behind the conversation."""
    own = bound(character, session, rules, gaps, prices.main, summary_price=prices.memory)
    return min(own, bound(character, session, rules, gaps, prices.main, shares_prefix=True), key=lambda one: one.usd)


def best_interval(
    character: Character,
    session: Session,
    rules: CacheRules | None,
    warm: float,
    prices: Prices,
    retention: Retention,
    *,
    least_recall: float = 0.0,
    shares_prefix: bool = False,
) -> SummariseEvery | None:
    """Return the cheapest interval for a session of like exchanges that recalls at least so much; None: full history.

    ``session`` of uniform exchanges; ValueError otherwise.
    """
    exchange, reply = _uniform(session)
    usd = sweep(
        character, exchange, reply, session.turns, rules, warm, prices.main,
        shares_prefix=shares_prefix, summary_price=prices.memory,
    )[:, -1]  # fmt: skip
    knows = recall_sweep(session.turns, retention)[:, -1] >= least_recall - 1e-12
    k = band(np.where(knows, usd, np.inf))[0] + 1
    return SummariseEvery(k, shares_prefix=shares_prefix) if k < session.turns else None


def at_k_and_2k(
    k: int,
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: Gaps,
    prices: Prices,
    retention: Retention,
    *,
    shares_prefix: bool = False,
) -> tuple[Result, Result]:
    """Return what summarising every k and every 2k exchanges costs and recalls: take the cheaper if quality allows."""
    pair = (SummariseEvery(k, shares_prefix=shares_prefix), SummariseEvery(2 * k, shares_prefix=shares_prefix))
    return tuple(result(one, character, session, rules, gaps, prices, retention) for one in pair)


def _uniform(session: Session) -> tuple[int, int]:
    for field in ("exchange_tokens", "reply_tokens"):
        sizes = getattr(session, field)
        if (sizes != sizes[0]).any():
            raise ValueError(f"{field} must all be alike for a closed form, got {sizes.min()} to {sizes.max()} tokens")
    return int(session.exchange_tokens[0]), int(session.reply_tokens[0])


# --- a map over lengths and paces -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CostMap:
    """Every policy at every session length and pace.

    ``usd``, ``recall``: (policies, n, p), n = 1 … turns. ``names``: of the policies. The last row, if
    ``intervals`` (n, p) is not None, is the best interval of each cell, 0 there for full history.
    """

    names: tuple[str, ...]
    usd: np.ndarray
    recall: np.ndarray
    intervals: np.ndarray | None = None

    def winners(self, least_recall: float = 0.0) -> np.ndarray:
        """Return (n, p) the index of the cheapest policy that recalls at least so much, −1 where none does."""
        usd = np.where(self.recall >= least_recall - 1e-12, self.usd, np.inf)
        return np.where(np.isfinite(usd).any(axis=0), usd.argmin(axis=0), -1)


def cost_map(
    policies: Sequence[Policy],
    character: Character,
    session: Session,
    rules: CacheRules | None,
    paces: Sequence[Pace],
    prices: Prices,
    retention: Retention,
) -> CostMap:
    """Return the exact cost and recall of each policy for sessions of 1 to ``session.turns`` turns at each pace."""
    checks.whole("paces", len(paces), 1, 10_000, "paces")
    seen = [outlook(policy, character, session, rules, list(paces), retention) for policy in policies]
    usd = np.array(
        [
            one.bill.cost_by_length(prices.main, **prices.other(policy))
            for policy, one in zip(policies, seen, strict=True)
        ]
    )
    return CostMap(tuple(policy.name for policy in policies), usd, np.array([one.recall for one in seen]))
