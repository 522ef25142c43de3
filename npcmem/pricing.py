"""What calls known by their sizes cost: the one place where tokens read and written become expected dollars."""

from __future__ import annotations

import numpy as np

from npcmem.cache import CacheRules
from npcmem.money import Price

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
    ``read``, exact or expected, are; with the storage of what is written where it is paid for. All broadcast.
    """
    asked = prompt + plain_tokens
    cached = 0.0 if rules is None else rules.cacheable(prompt)
    stored = price.storage_usd_per_mtok_hour * rules.ttl_s / 3600 if rules is not None and rules.pays_storage else 0.0

    def at(rate: Price) -> np.ndarray:
        usd = asked * rate.uncached + output_tokens * rate.output
        if rules is not None:
            write = (rate.write_long if rules.long_writes else rate.write) + stored
            usd += cached * (write - rate.uncached)
            usd -= read * (write - rate.read)
        usd /= 1e6
        return usd

    usd = at(price)
    for tier in sorted(price.tiers, key=lambda tier: tier.above_tokens):
        over = asked > tier.above_tokens
        usd = np.where(over, at(tier.price), usd) if np.any(over) else usd
    return usd
