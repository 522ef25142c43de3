"""The cheapest possible way to summarise, by dynamic programming over exact costs.

The bound on every policy whose prompts hold nothing but the static part, a summary and exchanges, none forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from npcmem import checks
from npcmem.cache import MOST_PINGS, PING_OUTPUT_TOKENS, CacheRules
from npcmem.dialogue import Character, Session
from npcmem.money import Price
from npcmem.pricing import call_usd, ping_worth, readable
from npcmem.thinktime import Pace

MOST_TURNS = 2000  # of one bound: tables of turns², 32 MB each
NEVER_USD = 1e200
CLOSE = 1e-12  # costs nearer than this are equal: the schedule told flushes later, and then more


@dataclass(frozen=True, slots=True)
class Bound:
    """The least a session can cost, and the schedule that costs it.

    ``usd``: (expected) dollars of the session. The rest is the path on which no gap is cold that may be warm; with
    known gaps, the path itself. ``flushes``: (turn, how many of the oldest exchanges are summarised after its
    reply). ``on_return``: the same for flushes made when the player is back, before the reply of the turn after.
    ``pings``: (turn, how many keep-alive calls the gap after it may take).
    """

    usd: float
    flushes: tuple[tuple[int, int], ...]
    on_return: tuple[tuple[int, int], ...] = ()
    pings: tuple[tuple[int, int], ...] = ()

    @property
    def intervals(self) -> tuple[int, ...]:
        """How many exchanges each flush takes, in order."""
        return tuple(oldest for _, oldest in sorted(self.flushes + self.on_return, key=lambda flush: flush[0]))


@dataclass(frozen=True, slots=True)
class Stationary:
    """A rule for an endless conversation: summarise everything after the reply when ``k`` exchanges are held.

    Or on return from a cold gap when at least ``break_k`` (below k) are held; None: a break changes nothing.
    """

    k: int
    break_k: int | None
    usd_per_turn: float


def bound(
    character: Character,
    session: Session,
    rules: CacheRules | None,
    warm: float | np.ndarray | Pace | None,
    price: Price,
    *,
    summary_price: Price | None = None,
    shares_prefix: bool = False,
    may_drop: bool = False,
    pings: bool = True,
    head_warm: float | Sequence[float] = 0.0,
) -> Bound:
    """Return the least (expected) dollars of ``session`` over all ways to summarise it, and the way that costs it.

    ``warm``: None where the session's own gaps are known beforehand; a chance that a gap is shorter than the TTL,
    one for all or one per gap (n−1,), which leaves no pings; or a pace, whose ``cdf`` says both. Any number of the
    oldest exchanges may be summarised after each reply and, knowing whether the gap was warm, again before the
    next; ``may_drop``: they are forgotten instead, free of charge and without a summary. ``pings``: the last reply's
    prompt (after a summary its static part) may be sent again before each expiry, so that m pings keep it for gaps
    below (m + 1)·TTL. ``head_warm``:
    the chance that other players' traffic keeps the static part cached when this session's own entries are dead.

    With c exchanges covered by the summary, and h(m) and E(m) the chance of warm and the pings spent for m allowed:
    ``U(t, c) = min over m, c′ ≥ c of E(m)·ping(t, c) + flush(t, c, c′) + h(m)·warm(t, c′) + (1 − h(m))·cold(t, c′)``
    where warm and cold are, over c″ ≥ c′, the flush on return, the reply of turn t + 1 and U(t + 1, c″). Exact where
    each turn's usage depends on the gap before it only; ValueError for a cache where it does not. Of policies whose
    summary calls write (a provider's own compaction) the least only where writing costs no less than plain input.
    """
    turns = checks.whole("turns", session.turns, 1, MOST_TURNS, "turns in one bound")
    gaps = _gaps(session, rules, warm, price, pings)
    sizes = _sizes(character, session, may_drop)
    if rules is not None:
        rules.check_closed_form(sizes.prompt[-1].max(), len(character.head))
    heads = character.heads_alive(head_warm)
    replies = _replies(sizes, character, session, rules, price, heads)
    if may_drop:
        flush = _free(turns)
    elif shares_prefix:
        flush = _shared_flush(sizes, character, session, rules, summary_price or price, heads)
    else:
        flush = _separate_flush(sizes, character, summary_price or price)

    then, ways = np.zeros(turns), []
    for turn in range(turns - 1, 0, -1):
        ways.append(_way(replies, flush, gaps[turn - 1], turn, then))
        then = ways[-1].usd
    return _along(replies.cold[0, 0] + then[0], ways[::-1], gaps)


def best_stationary(
    character: Character,
    exchange_tokens: int,
    reply_tokens: int,
    rules: CacheRules | None,
    warm: float | Pace,
    price: Price,
    *,
    summary_price: Price | None = None,
    shares_prefix: bool = False,
    most_k: int = 200,
) -> Stationary:
    """Return the cheapest rule of the kind of ``Stationary`` for an endless conversation of like exchanges.

    ``warm``: the chance that a gap is shorter than the TTL, each gap by itself, or the pace that says it. Between two
    flushes lies a cycle that may hold 1, 2, … k exchanges after a reply, and is still running at x of them with
    probability ``h^max(x − break_k, 0)``; so the dollars a turn are E[dollars of a cycle] / E[turns of a cycle], of
    all pairs (break_k, k) at once. Of equal rules the one that flushes soonest; ``most_k`` where carrying is free.
    """
    most_k = checks.whole("most_k", most_k, 1, MOST_TURNS, "exchanges")
    exchange, reply = checks.tokens("exchange_tokens", exchange_tokens), checks.tokens("reply_tokens", reply_tokens)
    if reply > exchange:
        raise ValueError(f"reply_tokens ({reply} tokens) cannot exceed exchange_tokens ({exchange} tokens)")
    if character.summary_growth_tokens:
        raise ValueError(
            "summary_growth_tokens must be 0 tokens an exchange covered for an endless conversation, got "
            f"{character.summary_growth_tokens:g}: its summary would grow without end"
        )
    prompt = character.static_tokens + character.summary_tokens + float(exchange) * np.arange(most_k)
    if rules is not None:
        rules.check_closed_form(prompt.max(), len(character.head))
    hot = _chance(rules, warm)
    stay, lost, after, broken = _cycle_usd(
        prompt, exchange, reply, hot, character, rules, price, summary_price or price, shares_prefix
    )

    least, held = np.arange(1, most_k + 1)[:, None], np.arange(1, most_k + 1)
    running = hot ** np.maximum(held - least, 0.0)
    at_break = np.where(held < least, lost, broken)[:, :-1]
    usd = np.cumsum(running[:, :-1] * (hot * stay[:-1] + (1 - hot) * at_break), axis=1)
    usd = np.hstack([np.zeros((most_k, 1)), usd]) + running * after
    rate = np.where(held >= least, usd / np.cumsum(running, axis=1), np.inf)
    equal = rate <= rate.min() * (1 + CLOSE)
    k = int(equal.any(axis=0).argmax()) + 1
    break_k = int(np.flatnonzero(equal[:, k - 1])[-1]) + 1
    return Stationary(k, break_k if break_k < k else None, float(rate[break_k - 1, k - 1]))


def _chance(rules: CacheRules | None, warm: float | Pace) -> float:
    """Return the chance that a gap is no break; 1 where no cache is lost in it."""
    if rules is None or rules.outlives_gaps:
        return 1.0
    return float(warm.cdf(rules.ttl_s)) if hasattr(warm, "cdf") else checks.number("warm", warm, 0, 1, "(probability)")


# --- gaps -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Gap:
    """The choices in one gap, each (m,): pings allowed, pings expected, chance that the gap ends warm."""

    pings: np.ndarray
    spent: np.ndarray
    warm: np.ndarray


def _gaps(
    session: Session, rules: CacheRules | None, warm: float | np.ndarray | Pace | None, price: Price, pings: bool
) -> list[_Gap]:
    """Return the choices in each gap of a session."""
    count = session.turns - 1
    if warm is None:
        return [_known_gap(gap_s, rules, pings) for gap_s in session.gaps_s.tolist()]
    if hasattr(warm, "cdf"):
        return [_paced_gap(warm, rules, price, pings)] * count
    chance = checks.numbers("warm", np.full(count, warm) if np.isscalar(warm) else warm, 0, 1, "(probability)")
    if len(chance) != count:
        raise ValueError(f"warm must have {count} entries, one a gap, got {len(chance)}")
    if rules is not None and rules.outlives_gaps:
        chance = np.ones(count)
    return [_Gap(np.zeros(1), np.zeros(1), chance[at : at + 1]) for at in range(count)]


def _known_gap(gap_s: float, rules: CacheRules | None, pings: bool) -> _Gap:
    """Return the choices in a gap of known length: to let it go cold or to ping it through."""
    if rules is None or gap_s < rules.ttl_s:
        return _Gap(np.zeros(1), np.zeros(1), np.ones(1))
    needed = np.array([0.0, gap_s // rules.ttl_s] if pings else [0.0])
    return _Gap(needed, needed, (needed > 0) * 1.0)


def _paced_gap(pace: Pace, rules: CacheRules | None, price: Price, pings: bool) -> _Gap:
    """Return the choices in a gap drawn from a pace; m pings are spent up to Σ P(gap ≥ i·TTL), i = 1…m.

    What a choice costs is linear in the pings spent and the chance of warm, and warm saves at most w − r of a prompt
    that costs r to ping: so of all m only the corners of the upper hull matter whose slope is at least r/(w − r).
    """
    if rules is None or rules.outlives_gaps:
        return _Gap(np.zeros(1), np.zeros(1), np.ones(1))
    allowed = np.arange((MOST_PINGS if pings else 0) + 1)
    warm = np.asarray(pace.cdf((allowed + 1) * rules.ttl_s), dtype=float)
    spent = np.concatenate([[0.0], np.cumsum(1 - warm[:-1])])
    corners = [0]
    for at in np.flatnonzero(np.diff(warm) > 0) + 1:
        while len(corners) > 1 and _slope(spent, warm, *corners[-2:]) <= _slope(spent, warm, corners[-1], at):
            corners.pop()
        corners.append(int(at))
    least = ping_worth(price, rules)
    kept = [0] + [to for at, to in pairwise(corners) if _slope(spent, warm, at, to) >= least]
    return _Gap(allowed[kept], spent[kept], warm[kept])


def _slope(spent: np.ndarray, warm: np.ndarray, at: int, to: int) -> float:
    return (warm[to] - warm[at]) / max(spent[to] - spent[at], 1e-300)


# --- what each call costs -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Sizes:
    """Tokens by exchanges covered c = 0…n−1: of the summary, of all exchanges up to c, and of the prompt (n, n).

    Row t−1 of ``prompt`` is the reply call of turn t; entries with c ≥ t mean nothing.
    """

    summary: np.ndarray
    up_to: np.ndarray
    prompt: np.ndarray


def _sizes(character: Character, session: Session, may_drop: bool) -> _Sizes:
    covered = np.arange(session.turns)
    summary = np.where(covered > 0, character.summary_size(covered), 0) * (0.0 if may_drop else 1.0)
    up_to = np.concatenate([[0.0], np.cumsum(session.exchange_tokens[:-1])])
    return _Sizes(summary, up_to, character.static_tokens + up_to[:, None] + (summary - up_to))


@dataclass(frozen=True, slots=True, eq=False)
class _Replies:
    """Dollars (n, n) of the reply of each turn by exchanges covered, and of a ping after it.

    ``warm``: reads the whole prompt of the reply before. ``head``: reads the static part. ``cold``: reads nothing.
    ``ping_head``: of a ping of the static part alone, all that the prompt after a summary can read.
    """

    warm: np.ndarray
    head: np.ndarray
    cold: np.ndarray
    ping: np.ndarray
    ping_head: float


def _replies(
    sizes: _Sizes,
    character: Character,
    session: Session,
    rules: CacheRules | None,
    price: Price,
    heads: Sequence[tuple[int, int, float]],
) -> _Replies:
    asked, told = float(character.volatile_tokens), session.reply_tokens[:, None]
    before = np.vstack([np.zeros(session.turns), sizes.prompt[:-1]])
    warm, head = (
        _call_usd(price, rules, sizes.prompt, shared, asked, told)
        for shared in (before, float(character.static_tokens))
    )
    cold = _cold_usd(heads, price, rules, sizes.prompt, asked, told)
    static = np.array([float(character.static_tokens)])
    ping, ping_head = (_call_usd(price, rules, sent, sent, 0.0, PING_OUTPUT_TOKENS) for sent in (sizes.prompt, static))
    return _Replies(warm, head, cold, ping, float(ping_head[0]))


@dataclass(frozen=True, slots=True, eq=False)
class _Flush:
    """Dollars of the summary calls that take the exchanges covered from c to c′ > c.

    Such a call costs ``fixed(t, c) + told(level(t, c), c′)``, or ``pairs(c, c′)`` besides where a price's tier makes
    it depend on both. ``fixed`` is ``warm`` (n, n) where the whole prompt of the turn's reply can be read, ``head``
    where the static part can, ``cold`` where nothing can. ``leaves_head``: the call itself puts the static part in
    the cache.
    """

    warm: np.ndarray
    head: np.ndarray
    cold: np.ndarray
    told: np.ndarray
    level: np.ndarray | None = None
    pairs: np.ndarray | None = None
    leaves_head: bool = False


def _free(turns: int) -> _Flush:
    nothing = np.broadcast_to(0.0, (turns, turns))
    return _Flush(nothing, nothing, nothing, np.zeros((1, turns)))


def _separate_flush(sizes: _Sizes, character: Character, price: Price) -> _Flush:
    """Return the costs of a prompt of its own: the old summary, the exchanges up to c′ and the instructions."""
    turns = len(sizes.summary)
    asked = sizes.summary - sizes.up_to + character.instruction_tokens
    most = (asked + sizes.up_to[-1]).max()
    if any(tier.above_tokens < most for tier in price.tiers):
        usd = _call_usd(price, None, asked[:, None] + sizes.up_to, 0.0, 0.0, sizes.summary)
        usd[np.tril_indices(turns)] = NEVER_USD
        return replace(_free(turns), pairs=usd)
    fixed = np.broadcast_to(asked * price.uncached / 1e6, (turns, turns))
    told = (sizes.up_to * price.uncached + sizes.summary * price.output) / 1e6
    return _Flush(fixed, fixed, fixed, told[None, :])


def _shared_flush(
    sizes: _Sizes,
    character: Character,
    session: Session,
    rules: CacheRules | None,
    price: Price,
    heads: Sequence[tuple[int, int, float]],
) -> _Flush:
    """Return the costs of the conversation so far with the newest exchange and the instructions as plain input."""
    asked = (session.exchange_tokens + character.instruction_tokens)[:, None].astype(float)
    warm, head = (
        _call_usd(price, rules, sizes.prompt, shared, asked, 0)
        for shared in (sizes.prompt, float(character.static_tokens))
    )
    cold = _cold_usd(heads, price, rules, sizes.prompt, asked, 0)
    tiers = sorted(price.tiers, key=lambda tier: tier.above_tokens)
    level = sum((sizes.prompt + asked > tier.above_tokens).astype(int) for tier in tiers) if tiers else None
    rates = np.array([price.output, *(tier.price.output for tier in tiers)])
    return _Flush(warm, head, cold, rates[:, None] * sizes.summary / 1e6, level, leaves_head=True)


def _cold_usd(
    heads: Sequence[tuple[int, int, float]],
    price: Price,
    rules: CacheRules | None,
    prompt: np.ndarray,
    plain_tokens: np.ndarray | float,
    output_tokens: np.ndarray | float,
) -> np.ndarray:
    """Return the expected dollars of calls that find no more than what others keep of the head."""
    each = (
        share * _call_usd(price, rules, prompt, float(tokens), plain_tokens, output_tokens)
        for _, tokens, share in heads
    )
    return sum(each)


def _call_usd(
    price: Price,
    rules: CacheRules | None,
    prompt: np.ndarray,
    shared: np.ndarray | float,
    plain_tokens: np.ndarray | float,
    output_tokens: np.ndarray | float,
) -> np.ndarray:
    """Return the dollars of calls that find ``shared`` tokens of ``prompt`` in the cache and write the rest of it."""
    read = readable(rules, shared, prompt + plain_tokens)
    return call_usd(price, rules, prompt, read, plain_tokens, output_tokens)


def _cycle_usd(
    prompt: np.ndarray,
    exchange: int,
    reply: int,
    hot: float,
    character: Character,
    rules: CacheRules | None,
    price: Price,
    summary_price: Price,
    shares_prefix: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return dollars of the steps of a cycle by the exchanges held after a reply, x = 1…most_k, each (most_k,).

    Of the next reply when warm (``stay``) and cold (``lost``), which hold x as well; of a flush of all x with the
    reply that follows it, made at once (``after``) or on return from a cold gap (``broken``). ``prompt``: of a reply
    that holds 0…most_k − 1.
    """
    head = float(character.static_tokens)
    volatile, longer = float(character.volatile_tokens), prompt + exchange
    stay, lost = (_call_usd(price, rules, longer, shared, volatile, reply) for shared in (prompt, 0.0))
    fresh, cold = (_call_usd(price, rules, prompt[:1], shared, volatile, reply)[0] for shared in (head, 0.0))
    made, asked = character.summary_tokens, float(character.instruction_tokens)
    if shares_prefix:
        flush, late = (
            _call_usd(summary_price, rules, prompt, shared, asked + exchange, made) for shared in (prompt, 0.0)
        )
    else:
        flush = late = _call_usd(summary_price, None, prompt - head + exchange, 0.0, asked, made)
    return stay, lost, flush + hot * fresh + (1 - hot) * cold, late + (fresh if shares_prefix else cold)


# --- the programme --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """What to do after the reply of a turn by exchanges covered c (0…t−1), and what it and all later turns cost.

    ``choice``: which of the gap's choices. ``to``: the exchanges covered after the flush, 0 for none. On return the
    same, where the whole prompt is warm, where only the static part is left (flushed, warm), and where nothing is.
    """

    usd: np.ndarray
    choice: np.ndarray
    to: np.ndarray
    to_warm: np.ndarray
    to_head: np.ndarray
    to_cold: np.ndarray


def _way(replies: _Replies, flush: _Flush, gap: _Gap, turn: int, then: np.ndarray) -> _Way:
    """Return the cheapest way from the reply of ``turn`` on; ``then`` (turn + 1,): dollars after the next reply."""
    at, upto = slice(0, turn), slice(0, turn + 1)
    stay = replies.warm[turn, at] + then[at]
    head, cold = replies.head[turn, upto] + then, replies.cold[turn, upto] + then
    on_head = _cheapest(flush, turn, head)
    on_cold = on_head if flush.leaves_head else _cheapest(flush, turn, cold)
    warm, to_warm = _lesser(stay, flush.warm[turn - 1, at], *on_head)
    head, to_head = _lesser(head, flush.head[turn - 1, at], *on_head)
    cold, to_cold = _lesser(cold, flush.cold[turn - 1, at], *on_cold)

    chance = gap.warm[:, None]
    kept = chance * warm + (1 - chance) * cold[at]
    early, to = _cheapest(flush, turn, chance * head + (1 - chance) * cold)
    kept = kept + gap.spent[:, None] * replies.ping[turn - 1, at]
    early = early + flush.warm[turn - 1, at] + gap.spent[:, None] * replies.ping_head
    late = np.where(chance > 0, to_warm, to_cold[at]) > 0  # of two equal flushes the one after the reply
    flushed = early < kept * np.where(late, 1 + CLOSE, 1 - CLOSE)
    usd = np.where(flushed, early, kept)
    choice = usd.argmin(axis=0)
    chosen = choice, np.arange(turn)
    return _Way(usd[chosen], choice, np.where(flushed, to, 0)[chosen], to_warm, to_head, to_cold)


def _cheapest(flush: _Flush, turn: int, then: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least of the call's varying part and ``then`` (…, turn + 1) over c′ > c, and that c′; (…, turn)."""
    if flush.pairs is not None:
        usd = flush.pairs[:turn, : turn + 1] + then[..., None, :]
        least = usd.min(axis=-1)
        equal = usd[..., ::-1] <= least[..., None] * (1 + CLOSE)
        return least, turn - equal.argmax(axis=-1)
    found = [_least_after(told[: turn + 1] + then) for told in flush.told]
    if len(found) == 1:
        return found[0]
    level = flush.level[turn - 1, :turn]
    return np.choose(level, [usd for usd, _ in found]), np.choose(level, [to for _, to in found])


def _least_after(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least of the ``values`` (…, n) behind each but the last, and where last it is; (…, n−1)."""
    behind = values[..., :0:-1]
    least = np.minimum.accumulate(behind, axis=-1)
    last = behind.shape[-1]
    better = np.zeros(behind.shape, dtype=int)
    better[..., 1:] = np.where(behind[..., 1:] < least[..., :-1] * (1 - CLOSE), np.arange(1, last), 0)
    return least[..., ::-1], last - np.maximum.accumulate(better, axis=-1)[..., ::-1]


def _lesser(keep: np.ndarray, fixed: np.ndarray, varying: np.ndarray, to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lesser of keeping and flushing, and where the flush leads to, 0 for keeping.

    ``keep`` may have one entry more, of nothing held, where there is nothing to flush.
    """
    usd, leads = keep.copy(), np.zeros(len(keep), dtype=int)
    flushed = fixed + varying
    better = flushed < keep[: len(to)] * (1 - CLOSE)
    usd[: len(to)][better] = flushed[better]
    leads[: len(to)][better] = to[better]
    return usd, leads


def _along(usd: float, ways: list[_Way], gaps: list[_Gap]) -> Bound:
    """Return the bound with its path: warm wherever the gap may be."""
    covered, flushes, on_return, pings = 0, [], [], []
    for turn, (way, gap) in enumerate(zip(ways, gaps, strict=True), start=1):
        choice, to = int(way.choice[covered]), int(way.to[covered])
        if gap.pings[choice]:
            pings.append((turn, int(gap.pings[choice])))
        if to:
            flushes.append((turn, to - covered))
        leads = (way.to_head if to else way.to_warm) if gap.warm[choice] else way.to_cold
        covered = to or covered
        late = int(leads[covered])
        if late:
            on_return.append((turn, late - covered))
        covered = late or covered
    return Bound(float(usd), tuple(flushes), tuple(on_return), tuple(pings))
