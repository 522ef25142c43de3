"""The cards against genai-prices: a second, independently kept price list must agree or the card must say why not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from npcmem.money import CLASSES, Usage
from npcmem.offers import Entry, Offer, entries, offer

# Their counts of one request whose prompt is all of one class; their totals include what is cached.
_THEIRS = {
    "uncached": ("input_tokens",),
    "read": ("input_tokens", "cache_read_tokens"),
    "write": ("input_tokens", "cache_write_tokens"),
    "write_long": ("input_tokens", "cache_write_tokens", "cache_write_1h_tokens"),
}
_NAMES = {name: "input" if name == "uncached" else name for name in CLASSES}


@dataclass(frozen=True, slots=True)
class Difference:
    """One billing class of one model that costs something else in genai-prices.

    ``field``: the class, for a rate of long prompts followed by their length: ``read above 272,000``.
    ``card``, ``theirs``: dollars per million tokens, both None where the card explains a difference that is no
    longer there. ``reason``: the card's explanation, None where it has none.
    """

    model: str
    field: str
    card: float | None
    theirs: float | None
    reason: str | None

    @property
    def verdict(self) -> str:
        """``explained``, ``NOT explained`` or ``stale``."""
        if self.card is None:
            return "stale"
        return "NOT explained" if self.reason is None else "explained"


def differences() -> list[Difference]:
    """Return where cards and genai-prices disagree, and explanations that explain nothing any more.

    Compared are all classes on the day of each card's check, below and above every prompt length at which either
    list changes its rate. Raises ImportError without the optional package genai-prices.
    """
    found: list[Difference] = []
    for model, entry in entries().items():
        ask = _their_price(entry, offer(model))
        if ask is not None:
            here = list(_compare(entry, offer(model), ask))
            unused = [key for key in entry.differs if not any(_explains(key, other.field) for other in here)]
            found += [*here, *(Difference(model, key, None, None, entry.differs[key]) for key in unused)]
    return found


def _explains(key: str, field: str) -> bool:
    """Whether a card's ``differs`` entry is about a difference: ``read`` also covers ``read above 200,000``."""
    return field == key or field.startswith(f"{key} above ") or (key.startswith("above ") and field.endswith(f" {key}"))


def unlisted() -> list[str]:
    """Return the models that genai-prices does not know. Raises ImportError without that package."""
    return [model for model, entry in entries().items() if _their_price(entry, offer(model)) is None]


def _their_price(entry: Entry, ours: Offer) -> Any:
    """Return a function of a usage giving genai-prices' calculation, or None where it does not list the model."""
    import genai_prices

    if entry.reference is None:
        return None
    provider, reference = entry.reference
    at = datetime.combine(ours.checked, time(entry.check_hour_utc), UTC)

    def ask(**usage: int) -> Any:
        usage = genai_prices.Usage(**usage)
        return genai_prices.calc_price(usage, reference, provider_id=provider, genai_request_timestamp=at)

    try:
        ask(input_tokens=1)
    except LookupError:
        return None
    return ask


def _compare(entry: Entry, ours: Offer, ask: Any) -> Iterator[Difference]:
    # Both sides are asked for whole bills, so that defaults and tiers are compared as they are charged.
    theirs_above = {
        tier.start for rate in vars(ask(input_tokens=1).model_price).values() for tier in getattr(rate, "tiers", ())
    }
    above = sorted(theirs_above | {tier.above_tokens for tier in ours.price.tiers})
    for start in (0, *above):
        prompt = start + 1
        for name in CLASSES:
            if name == "output":
                card = ours.price.usd(Usage(uncached=prompt, output=prompt)) - ours.price.usd(Usage(uncached=prompt))
                total = ask(input_tokens=prompt, output_tokens=prompt).output_price
            else:
                card = ours.price.usd(Usage(**{name: prompt}))
                total = ask(**dict.fromkeys(_THEIRS[name], prompt)).input_price
            card, theirs = card / prompt * 1e6, float(total) / prompt * 1e6
            if not math.isclose(card, theirs, rel_tol=1e-9):
                field = _NAMES[name] if start == 0 else f"{_NAMES[name]} above {start:,}"
                reason = next((why for key, why in entry.differs.items() if _explains(key, field)), None)
                yield Difference(ours.id, field, round(card, 9), round(theirs, 9), reason)
