"""Memory policies side by side: what each costs, what it still knows, and how far it is from the cheapest there is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules
from npcmem.dialogue import Character, Session
from npcmem.money import CLASSES, Price, Usage
from npcmem.outlook import Gaps, Outlook, outlook
from npcmem.policies import Policy, SummariseEvery
from npcmem.recall import Retention
from npcmem.schedule import Bound, bound
from npcmem.sweep import recall_sweep, sweep
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

    ``usd``: expected dollars; ``usd_by_kind``: the same by kind of call; ``reply_usd``: of reply calls by billing
    class; ``last_usd``: of the last reply call alone. ``recall``: chance that a fact told in some earlier exchange is
    in the last prompt; ``oldest``: of the first one. ``hit_rate``: share of turns, ``read_share``: share of input
    tokens read from the cache.
    """

    policy: Policy
    usd: float
    usd_by_kind: dict[str, float]
    reply_usd: Usage
    last_usd: float
    recall: float
    oldest: float
    hit_rate: float
    read_share: float


def _result(policy: Policy, seen: Outlook, prices: Prices, turns: int, pace: int | None = None) -> Result:
    bill, others = seen.bill.session(turns, pace), prices.other(policy)
    replies = bill.only("reply")
    by_class = prices.main.usd_by_class(replies.usage)
    at = turns - 1 if pace is None else (turns - 1, pace)
    by_kind = bill.cost_by_kind(prices.main, **others)
    return Result(
        policy,
        math.fsum(by_kind.values()),
        by_kind,
        Usage(*(float(getattr(by_class, name) @ replies.chance) for name in CLASSES)),
        replies.rows(replies.turn == turns).cost(prices.main),
        float(seen.recall[at]),
        float(seen.oldest[at]),
        bill.hit_rate,
        bill.read_share,
    )


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


def _cheapest_first(results: Iterable[Result]) -> tuple[Result, ...]:
    """Sort results by dollars; those equal but for rounding keep their order."""
    return tuple(sorted(results, key=lambda one: float(f"{one.usd:.11e}")))


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
    return _result(policy, outlook(policy, character, session, rules, gaps, retention), prices, session.turns)


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
    return Comparison(_cheapest_first(found), least(character, session, rules, gaps, prices))


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
) -> SummariseEvery:
    """Return the cheapest interval for a session of like exchanges that recalls at least so much.

    The summary call stands where it is cheaper. At ``k = session.turns`` it never summarises. ``warm``: chance that a
    gap is shorter than the cache's lifetime.
    """
    curve = interval_curve(character, session, rules, warm, prices, retention)
    enough = np.where(curve.recall >= least_recall - 1e-12, curve.usd, np.inf)
    shared, at = np.unravel_index(enough.argmin(), enough.shape)
    return SummariseEvery(int(at) + 1, 0, bool(shared))


@dataclass(frozen=True, eq=False)
class IntervalCurve:
    """Every summary interval k = 1 … n of one session: ``usd`` (2, k), a prompt of its own first; ``recall`` (k,)."""

    usd: np.ndarray
    recall: np.ndarray


def interval_curve(
    character: Character,
    session: Session,
    rules: CacheRules | None,
    warm: float,
    prices: Prices,
    retention: Retention,
) -> IntervalCurve:
    """Return what every interval costs and recalls over a session of like exchanges, by where its call stands."""
    cold, hot = _intervals(character, session, rules, prices)
    return IntervalCurve((cold + (hot - cold) * warm)[:, :, -1], recall_sweep(session.turns, retention)[:, -1])


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

BEST_INTERVAL = "summarise at the best interval"


@dataclass(frozen=True, eq=False)
class CostMap:
    """Policies at every session length and pace.

    ``usd``, ``recall``: (policies, n, p) for sessions of 1, 2, … n turns at p paces. The last of ``names`` is
    ``BEST_INTERVAL``: of every cell the cheapest interval that recalls enough, ``intervals`` (n, p), from 1, wherever
    its summary call is cheaper.
    """

    policies: tuple[Policy, ...]
    seen: tuple[Outlook, ...]
    usd: np.ndarray
    recall: np.ndarray
    intervals: np.ndarray
    least_recall: float

    @property
    def names(self) -> tuple[str, ...]:
        """What the first axis of ``usd`` counts."""
        return (*(policy.name for policy in self.policies), BEST_INTERVAL)

    @property
    def winners(self) -> np.ndarray:
        """(n, p): the index into ``names`` of the cheapest that recalls enough, the first listed where equal."""
        usd = np.where(self.recall >= self.least_recall - 1e-12, self.usd, np.inf)
        return (usd <= usd.min(axis=0) * (1 + 1e-12)).argmax(axis=0)

    def results(self, prices: Prices, turns: int, pace: int) -> tuple[Result, ...]:
        """Return each policy's result for a session of ``turns`` at one of the paces, cheapest first."""
        pairs = zip(self.policies, self.seen, strict=True)
        found = (_result(policy, seen, prices, turns, pace) for policy, seen in pairs)
        return _cheapest_first(found)


def cost_map(
    policies: Sequence[Policy],
    character: Character,
    session: Session,
    rules: CacheRules | None,
    paces: Sequence[Pace],
    prices: Prices,
    retention: Retention,
    *,
    least_recall: float = 0.0,
) -> CostMap:
    """Return the exact cost and recall of each policy for sessions of 1 to ``session.turns`` turns at each pace.

    ``session`` of uniform exchanges.
    """
    checks.whole("paces", len(paces), 1, 10_000, "paces")
    seen = tuple(outlook(policy, character, session, rules, list(paces), retention) for policy in policies)
    usd = [
        one.bill.cost_by_length(prices.main, **prices.other(policy)) for policy, one in zip(policies, seen, strict=True)
    ]
    warm = np.array([1.0 if rules is None else float(pace.cdf(rules.ttl_s)) for pace in paces])
    knows = recall_sweep(session.turns, retention)
    cold, hot = _intervals(character, session, rules, prices)
    by_interval = np.stack([(cold + (hot - cold) * h).min(axis=0) for h in warm], axis=-1)
    by_interval = np.where((knows >= least_recall - 1e-12)[:, :, None], by_interval, np.inf)
    best = by_interval.argmin(axis=0)
    usd.append(np.take_along_axis(by_interval, best[None], axis=0)[0])
    recall = [*(one.recall for one in seen), np.take_along_axis(knows[:, :, None], best[None], axis=0)[0]]
    return CostMap(tuple(policies), seen, np.array(usd), np.array(recall), best + 1, least_recall)


def _intervals(
    character: Character, session: Session, rules: CacheRules | None, prices: Prices
) -> tuple[np.ndarray, np.ndarray]:
    """Return the dollars (2, k, n) of every interval and length, all gaps cold and all warm, by the call's place."""
    exchange, reply = _uniform(session)
    return tuple(
        np.array(
            [
                sweep(
                    character, exchange, reply, session.turns, rules, warm, prices.main,
                    shares_prefix=shares, summary_price=None if shares else prices.memory,
                )
                for shares in (False, True)
            ]
        )
        for warm in (0.0, 1.0)
    )  # fmt: skip
