"""Memory policies side by side: what each costs, what it still knows, and how far it is from the cheapest there is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules
from npcmem.dialogue import Character, Session
from npcmem.ledger import Ledger
from npcmem.money import CLASSES, Price, Usage
from npcmem.outlook import Gaps, Outlook, outlook
from npcmem.policies import KeepAlive, Policy, SummariseEvery
from npcmem.pricing import worthwhile_pings
from npcmem.recall import SHARE, Retention
from npcmem.schedule import Bound, bound
from npcmem.sweep import longest_call, recall_sweep, sweep
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
    class, paid storage aside; ``last_usd``: of the last reply call alone. ``recall``: chance that a fact told in some
    earlier exchange is in the last prompt; ``oldest``: of the first one. ``hit_rate``: share of
    turns, ``read_share``: share of input tokens read from the cache.
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
        """How much dearer a policy is than the bound, as a share of it.

        Below 0 only for one that forgets, or whose own blocks lift a short prompt over the provider's minimum.
        """
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
    head_warm: float | Sequence[float] = 0.0,
) -> Result:
    """Return what one policy costs and knows over a session; ``gaps`` and ``head_warm`` as in ``outlook.outlook``."""
    seen = outlook(policy, character, session, rules, gaps, retention, head_warm)
    return _result(policy, seen, prices, session.turns)


def compare(
    policies: Sequence[Policy],
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: Gaps,
    prices: Prices,
    retention: Retention,
    head_warm: float | Sequence[float] = 0.0,
) -> Comparison:
    """Return each policy's cost and recall, cheapest first, and the bound they are measured against."""
    found = [result(policy, character, session, rules, gaps, prices, retention, head_warm) for policy in policies]
    return Comparison(_cheapest_first(found), least(character, session, rules, gaps, prices, head_warm))


def least(
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: Gaps,
    prices: Prices,
    head_warm: float | Sequence[float] = 0.0,
) -> Bound:
    """Return the cheapest way to drop nothing, the summary call a prompt of its own or behind the conversation."""
    asked = (character, session, rules, gaps, prices.main)
    own = bound(*asked, summary_price=prices.memory, head_warm=head_warm)
    return min(own, bound(*asked, shares_prefix=True, head_warm=head_warm), key=lambda one: one.usd)


@dataclass(frozen=True, eq=False)
class IntervalCurve:
    """Every summary interval k = 1 … n of one session.

    ``usd`` (2, k): the cache left alone, then kept alive by pings, each with the summary call where it is cheaper:
    behind the conversation where ``shared`` (2, k). ``recall`` (k,).
    """

    usd: np.ndarray
    shared: np.ndarray
    recall: np.ndarray

    def best(self, least_recall: float = 0.0, kept_alive: bool = False) -> SummariseEvery:
        """Return the cheapest interval that recalls enough; at k = n it never summarises."""
        checks.number("least_recall", least_recall, 0, 1, SHARE)
        usd = np.where(self.recall >= least_recall - 1e-12, self.usd[int(kept_alive)], np.inf)
        at = int(usd.argmin())
        return SummariseEvery(at + 1, 0, bool(self.shared[int(kept_alive), at]))


def interval_curve(
    character: Character,
    session: Session,
    rules: CacheRules | None,
    pace: Pace,
    prices: Prices,
    retention: Retention,
    head_warm: float | Sequence[float] = 0.0,
) -> IntervalCurve:
    """Return what every interval costs and recalls over a session of like exchanges, by closed form."""
    swept = [usd[:, -1] for usd in _intervals(character, session, rules, prices, head_warm)]
    usd = np.array([_at(swept, *ends) for ends in _ends(rules, [pace], prices.main)])
    return IntervalCurve(usd.min(axis=1), usd.argmin(axis=1) == 1, recall_sweep(session.turns, retention)[:, -1])


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

BEST_INTERVALS = ("summarise at the best interval", "summarise at the best interval, kept alive")


@dataclass(frozen=True, eq=False)
class CostMap:
    """Policies at every session length and pace.

    ``usd``, ``recall``: (policies, n, p) for sessions of 1, 2, … n turns at p paces. The last two of ``names`` are
    ``BEST_INTERVALS``: of every cell the cheapest interval that recalls enough, ``intervals`` (2, n, p), from 1,
    wherever its summary call is cheaper. ``fits`` (policies, n): whether the longest call fits the model's context.
    """

    policies: tuple[Policy, ...]
    seen: tuple[Outlook, ...]
    usd: np.ndarray
    recall: np.ndarray
    fits: np.ndarray
    intervals: np.ndarray
    least_recall: float

    @property
    def names(self) -> tuple[str, ...]:
        """What the first axis of ``usd`` counts."""
        return (*(policy.name for policy in self.policies), *BEST_INTERVALS)

    @property
    def winners(self) -> np.ndarray:
        """(n, p): the index into ``names`` of the cheapest that fits and recalls enough, the first listed where equal.

        Where none does, the one that recalls most of those that fit.
        """
        fits = np.broadcast_to(self.fits[:, :, None], self.recall.shape)
        enough = fits & (self.recall >= self.least_recall - 1e-12)
        nearest = np.where(fits, self.recall, -1.0)
        enough |= ~enough.any(axis=0) & (nearest == nearest.max(axis=0))
        usd = np.where(enough, self.usd, np.inf)
        return (usd <= usd.min(axis=0) * (1 + 1e-12)).argmax(axis=0)

    def results(self, prices: Prices, turns: int, pace: int) -> tuple[Result, ...]:
        """Return each policy's result for a session of ``turns`` at one of the paces, cheapest first."""
        pairs = zip(self.policies, self.seen, strict=True)
        return _cheapest_first(_result(policy, seen, prices, turns, pace) for policy, seen in pairs)


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
    head_warm: float | Sequence[float] = 0.0,
    context_tokens: float = math.inf,
) -> CostMap:
    """Return the exact cost and recall of each policy for sessions of 1 to ``session.turns`` turns at each pace.

    ``session`` of uniform exchanges. ``context_tokens``: the most that a call may hold, its output included.
    """
    checks.whole("paces", len(paces), 1, 10_000, "paces")
    checks.number("least_recall", least_recall, 0, 1, SHARE)
    seen = tuple(outlook(policy, character, session, rules, list(paces), retention, head_warm) for policy in policies)
    pairs = zip(policies, seen, strict=True)
    usd = [one.bill.cost_by_length(prices.main, **prices.other(policy)) for policy, one in pairs]
    swept = _intervals(character, session, rules, prices, head_warm)
    knows = recall_sweep(session.turns, retention).T  # intervals last, that the least of them is found fast
    fit = _intervals_fit(character, session, context_tokens)  # by where the summary call stands, as swept
    allowed, nearest = fit & (knows >= least_recall - 1e-12), np.where(fit, knows, -1.0)
    allowed |= ~allowed.any(axis=(0, 2), keepdims=True) & (nearest == nearest.max(axis=(0, 2), keepdims=True))
    short = np.where(allowed, 0.0, np.inf)
    best = np.empty((2, session.turns, len(paces)), dtype=int)
    least_usd = np.empty(best.shape)
    for (kept, pace), ends in zip(np.ndindex(2, len(paces)), _ends(rules, paces, prices.main), strict=True):
        curve = (_at(swept, *ends) + short).min(axis=0)
        best[kept, :, pace] = k = curve.argmin(axis=1)
        least_usd[kept, :, pace] = curve[np.arange(session.turns), k]
    usd += [*least_usd]
    recall = [*(one.recall for one in seen), *knows[np.arange(session.turns)[:, None], best]]
    fits = [_longest(one.bill, session.turns) <= context_tokens for one in seen]
    fits += 2 * [fit.any(axis=(0, 2))]
    return CostMap(tuple(policies), seen, np.array(usd), np.array(recall), np.array(fits), best + 1, least_recall)


def _longest(bill: Ledger, turns: int) -> np.ndarray:
    """Return the tokens (n,) that the longest call of a session of 1, 2, … n turns holds, its output included."""
    most = np.zeros(turns)
    within = bill.needs <= turns
    np.maximum.at(most, bill.needs[within] - 1, (bill.usage.input + bill.usage.output)[within])
    return np.maximum.accumulate(most)


def _intervals_fit(character: Character, session: Session, context_tokens: float) -> np.ndarray:
    """Return (2, n, k) whether every call fits, the summary call a prompt of its own or behind the conversation."""
    if context_tokens == math.inf:
        return np.ones((2, session.turns, session.turns), dtype=bool)
    sizes = _uniform(session)
    both = [longest_call(character, *sizes, session.turns, shares_prefix=shares).T for shares in (False, True)]
    return np.array(both) <= context_tokens


def _intervals(
    character: Character,
    session: Session,
    rules: CacheRules | None,
    prices: Prices,
    head_warm: float | Sequence[float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return dollars (2, n, k) of every length and interval, by where the summary call stands.

    With all gaps cold, with all warm, and of one ping in every gap.
    """
    exchange, reply = _uniform(session)

    def swept(warm: float, pings: float = 0.0) -> np.ndarray:
        both = (
            sweep(
                character, exchange, reply, session.turns, rules, warm, prices.main, shares_prefix=shares,
                summary_price=None if shares else prices.memory, head_warm=head_warm, pings=pings,
            )
            for shares in (False, True)
        )  # fmt: skip
        return np.array([usd.T for usd in both])

    cold, hot = swept(0.0), swept(1.0)
    return cold, hot, swept(0.0, 1.0) - cold


def _at(swept: Sequence[np.ndarray], warm: float, pings: float) -> np.ndarray:
    """Return the dollars of what ``_intervals`` swept where gaps end warm so often and have so many pings."""
    cold, hot, ping = swept
    return cold + (hot - cold) * warm + ping * pings


def _ends(rules: CacheRules | None, paces: Sequence[Pace], price: Price) -> list[tuple[float, float]]:
    """Return, at each pace, the chance that a gap ends warm and the pings expected in it.

    First with the cache left alone, then, at each again, with it kept alive.
    """
    if rules is None or rules.outlives_gaps:
        return [(1.0, 0.0)] * 2 * len(paces)
    alone = [(float(pace.cdf(rules.ttl_s)), 0.0) for pace in paces]
    return alone + [_kept_alive(pace, rules, price) for pace in paces]


def _kept_alive(pace: Pace, rules: CacheRules, price: Price) -> tuple[float, float]:
    """Return the chance that a gap ends warm and the pings expected in it, where the best number is allowed."""
    pings_s = KeepAlive().suited(rules.ttl_s, worthwhile_pings(pace, rules, price)).pings_s(math.inf)
    edges_s = np.array([*pings_s, (pings_s[-1] if pings_s else 0.0) + rules.ttl_s])
    *until_ping, alive = np.asarray(pace.cdf(edges_s), dtype=float).tolist()
    return alive, math.fsum(1 - chance for chance in until_ping)
