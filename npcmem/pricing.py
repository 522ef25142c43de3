"""What calls known by their sizes cost: the one place where tokens read and written become expected dollars."""

from __future__ import annotations

import numpy as np

from npcmem.cache import MOST_PINGS, PING_AT, CacheRules
from npcmem.money import Price
from npcmem.thinktime import Pace

Tokens = float | np.ndarray


def readable(rules: CacheRules | None, shared: Tokens, asked: Tokens) -> Tokens:
    """Return what calls of ``asked`` input tokens read that share ``shared`` of them with a live entry."""
    if rules is None:
        return 0.0
    read = rules.cacheable(shared)
    return np.minimum(read, rules.cacheable(np.maximum(asked - 1, 0))) if rules.recomputes_last else read


def call_usd(
    price: Price,
    rules: CacheRules | None,
    prompt: Tokens,
    read: Tokens,
    plain_tokens: Tokens,
    output_tokens: Tokens,
) -> np.ndarray:
    """Return the dollars of calls that read ``read`` tokens of their ``prompt`` and write what else can be cached.

    ``p·(L + plain) + (w − p)·L′ − (w − r)·A + p_out·o`` for a prompt of L tokens of which L′ can be cached and A =
    ``read``, exact or expected, are. All broadcast.
    """
    asked = prompt + plain_tokens
    cached = 0.0 if rules is None else rules.cacheable(prompt)

    def at(rate: Price) -> np.ndarray:
        usd = asked * rate.uncached + output_tokens * rate.output
        if rules is not None:
            write = rate.write_long if rules.long_writes else rate.write
            usd += cached * (write - rate.uncached)
            usd -= read * (write - rate.read)
        usd /= 1e6
        return usd

    usd = at(price)
    for tier in sorted(price.tiers, key=lambda tier: tier.above_tokens):
        over = asked > tier.above_tokens
        usd = np.where(over, at(tier.price), usd) if np.any(over) else usd
    return usd


def ping_worth(price: Price, rules: CacheRules) -> float:
    """Return r/(w − r): how likelier a ping has to make it that the cache is found alive, to be worth its price.

    The least over the price's tiers; ∞ where reading costs no less than writing.
    """
    worths = []
    for rate in (price, *(tier.price for tier in price.tiers)):
        saved = (rate.write_long if rules.long_writes else rate.write) - rate.read
        worths.append(rate.read / saved if saved > 0 else np.inf)
    return float(min(worths))


def worthwhile_pings(pace: Pace, rules: CacheRules | None, price: Price) -> int:
    """Return how many pings in one gap cost least for a prompt that stays as it is; 0 where nothing dies.

    The m that is best by P(gap < m·every + TTL) − worth·Σ P(gap ≥ i·every), i = 1…m, ``worth`` as of ``ping_worth``.
    """
    if rules is None or rules.outlives_gaps or not np.isfinite(worth := ping_worth(price, rules)):
        return 0
    many, every_s = np.arange(MOST_PINGS + 1), PING_AT * rules.ttl_s
    alive = np.asarray(pace.cdf(many * every_s + rules.ttl_s), dtype=float)
    sent = np.concatenate([[0.0], np.cumsum(1 - np.asarray(pace.cdf(many[1:] * every_s), dtype=float))])
    return int((alive - worth * sent).argmax())
