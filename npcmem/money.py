"""Tokens by billing class, what they cost, and every provider's usage payload made one shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from npcmem import checks

Tokens = int | float | np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Tokens in disjoint billing classes; each may be a number or an array with an entry per call.

    ``uncached``: plain input. ``read``: read from the cache. ``write``: written for the shorter lifetime
    on offer (5 minutes, 30 minutes), ``write_long``: for the longer (1 hour, 12 hours). ``output``.
    """

    uncached: Tokens = 0
    read: Tokens = 0
    write: Tokens = 0
    write_long: Tokens = 0
    output: Tokens = 0

    @property
    def input(self) -> Tokens:
        """All input tokens: the prompt."""
        return self.uncached + self.read + self.write + self.write_long

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in CLASSES))

    def __radd__(self, nothing: int) -> Usage:
        return self if nothing == 0 else NotImplemented  # what ``sum`` begins with

    def __mul__(self, factor: Tokens) -> Usage:
        return Usage(*(getattr(self, name) * factor for name in CLASSES))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Usage):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in CLASSES)

    def sum(self) -> Usage:
        """Return the totals over all calls, as plain numbers."""
        return Usage(*(np.sum(getattr(self, name)).item() for name in CLASSES))

    def as_dict(self) -> dict[str, Tokens]:
        return {name: getattr(self, name) for name in CLASSES}


CLASSES = tuple(field.name for field in fields(Usage))


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens of each billing class.

    The write price *replaces* the input price. ``tiers`` are other rates for the whole request once its
    prompt is longer than so many tokens; the highest one passed applies.
    """

    uncached: float
    read: float
    write: float
    write_long: float
    output: float
    storage_usd_per_mtok_hour: float = 0.0
    tiers: tuple[Tier, ...] = ()

    def __post_init__(self) -> None:
        for name in CLASSES:
            checks.number(f"price.{name}", getattr(self, name), 0, 1e9, "dollars per million tokens")
        checks.number("price.storage", self.storage_usd_per_mtok_hour, 0, 1e9, "dollars per million token-hours")

    @classmethod
    def of(
        cls,
        uncached: float,
        output: float,
        read: float | None = None,
        write: float | None = None,
        write_long: float | None = None,
        **more: Any,
    ) -> Price:
        """Return a price where a class without a rate of its own is billed as its simpler neighbour."""
        write = uncached if write is None else write
        write_long = write if write_long is None else write_long
        return cls(uncached, uncached if read is None else read, write, write_long, output, **more)

    @classmethod
    def relative(cls, rho: float = 5.0, r: float = 0.1, w: float = 1.25, w_long: float = 2.0) -> Price:
        """Return prices in uncached input tokens: bills then come out in input-token equivalents."""
        return cls(1e6, r * 1e6, w * 1e6, w_long * 1e6, rho * 1e6)

    @classmethod
    def self_hosted(cls, usd_per_gpu_hour: float, prefill_tokens_per_s: float, decode_tokens_per_s: float) -> Price:
        """Return what a busy GPU's time comes to: dollars an hour ÷ tokens an hour; reads take no time."""
        hour = checks.number("usd_per_gpu_hour", usd_per_gpu_hour, 0, 1e6, "dollars")
        prefill = checks.number("prefill_tokens_per_s", prefill_tokens_per_s, 0, 1e9, "tokens per second", above=True)
        decode = checks.number("decode_tokens_per_s", decode_tokens_per_s, 0, 1e9, "tokens per second", above=True)
        return cls.of(hour / (prefill * 3600) * 1e6, hour / (decode * 3600) * 1e6, read=0.0)

    @property
    def rho(self) -> float:
        """ρ: output price over input price."""
        return self._over_input(self.output)

    @property
    def r(self) -> float:
        """r: cache read price over input price."""
        return self._over_input(self.read)

    @property
    def w(self) -> float:
        """w: cache write price over input price, shorter lifetime."""
        return self._over_input(self.write)

    @property
    def w_long(self) -> float:
        """Cache write price over input price, longer lifetime."""
        return self._over_input(self.write_long)

    def _over_input(self, rate: float) -> float:
        if not self.uncached:
            raise ValueError("price.uncached must be > 0 dollars per million tokens for a ratio to it, got 0")
        return rate / self.uncached

    def scaled(self, **factors: float) -> Price:
        """Return this price with some classes multiplied, tiers included: ``scaled(output=1.2)``."""
        classes = {
            checks.known("billing class", name, CLASSES): getattr(self, name) * factors[name] for name in factors
        }
        tiers = tuple(Tier(tier.above_tokens, tier.price.scaled(**factors)) for tier in self.tiers)
        return replace(self, **classes, tiers=tiers)

    def usd(self, usage: Usage) -> Tokens:
        """Return the dollars of a usage; of an array usage, the dollars of each call.

        With tiers every entry of ``usage`` must be one call, since the prompt's length picks the rate.
        """
        flat = sum(getattr(usage, name) * getattr(self, name) for name in CLASSES) / 1e6
        for tier in sorted(self.tiers, key=lambda tier: tier.above_tokens):
            over = np.round(usage.input, 6) > tier.above_tokens  # expected tokens are whole but for rounding
            flat = np.where(over, tier.price.usd(usage), flat)[()]
        return flat

    def usd_by_class(self, usage: Usage) -> Usage:
        """Return the dollars of a usage by billing class, in the shape of a usage; they sum to ``usd``."""
        parts = [getattr(usage, name) * getattr(self, name) / 1e6 for name in CLASSES]
        for tier in sorted(self.tiers, key=lambda tier: tier.above_tokens):
            over, dear = np.round(usage.input, 6) > tier.above_tokens, tier.price.usd_by_class(usage)
            parts = [np.where(over, getattr(dear, name), flat)[()] for name, flat in zip(CLASSES, parts, strict=True)]
        return Usage(*parts)


@dataclass(frozen=True, slots=True)
class Tier:
    """The rates of a whole request whose prompt is longer than ``above_tokens``."""

    above_tokens: int
    price: Price

    def __post_init__(self) -> None:
        checks.tokens("above_tokens", self.above_tokens)


# --- usage payloads -------------------------------------------------------------------------------
# Two conventions exist: input counts that leave cached tokens out (Anthropic, Bedrock Converse), and
# totals that include them (everybody else).


def usage_from(payload: Mapping[str, Any], flavour: str) -> Usage:
    """Return the tokens by billing class of one provider usage payload.

    ``flavour`` is one of ``FLAVOURS``. Raises KeyError for an unknown flavour, an unknown cache lifetime or
    a payload without its input count, TypeError for a count that is no whole number, ValueError for counts
    that contradict each other.
    """
    read = FLAVOURS[checks.known("usage flavour", flavour, FLAVOURS)]
    return read(_mapping("usage", payload))


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping of token counts, got {repr(value)[:60]}")
    return value


def _at(payload: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path; None where any step of it is absent or null."""
    if path in payload:  # OpenTelemetry attributes have dots in their names
        return payload[path]
    for step in path.split("."):
        if not isinstance(payload, Mapping):
            return None
        payload = payload.get(step)
    return payload


def _count(payload: Mapping[str, Any], *paths: str, required: bool = False) -> tuple[str, int]:
    """Return the name and the value of the first of ``paths`` that is present; absent counts are 0."""
    for path in paths:
        value = _at(payload, path)
        if value is not None:
            name = path if path in payload else path.rsplit(".", 1)[-1]
            return name, checks.tokens(name, value)
    if required:
        raise KeyError(f"usage has no {' or '.join(paths)}; it has: {', '.join(map(str, payload)) or 'nothing'}")
    return paths[0].rsplit(".", 1)[-1], 0


def _first(payload: Mapping[str, Any], *paths: str) -> int | None:
    """Return the count at the first of ``paths`` that is present, or None where none is."""
    return _count(payload, *paths)[1] if any(_at(payload, path) is not None for path in paths) else None


def _split(name: str, total: int | None, short: int | None, long: int | None) -> tuple[int, int]:
    """Return the writes of each lifetime; the split sums to the total, and is never added to it."""
    if short is None:
        short = max((total or 0) - (long or 0), 0)
    if long is None:
        long = max((total or 0) - short, 0)
    if total is not None and short + long != total:
        raise ValueError(f"{name} ({total} tokens) must equal its split by lifetime ({short} + {long} tokens)")
    return short, long


def _inclusive(total: tuple[str, int], read: tuple[str, int], write: tuple[str, int], long: int, output: int) -> Usage:
    """Return the usage of a payload whose input total includes cached tokens."""
    for part in (read, write):
        if part[1] > total[1]:
            raise ValueError(f"{part[0]} ({part[1]} tokens) cannot exceed {total[0]} ({total[1]} tokens)")
    uncached = total[1] - read[1] - write[1]
    if uncached < 0:
        raise ValueError(
            f"{read[0]} ({read[1]} tokens) and {write[0]} ({write[1]} tokens) together "
            f"cannot exceed {total[0]} ({total[1]} tokens)"
        )
    return Usage(uncached, read[1], write[1] - long, long, output)


def _anthropic(usage: Mapping[str, Any]) -> Usage:
    _, uncached = _count(usage, "input_tokens", required=True)
    _, read = _count(usage, "cache_read_input_tokens")
    at = "cache_creation.ephemeral_"
    total = "cache_creation_input_tokens"
    writes = _split(
        total,
        _first(usage, total),
        _first(usage, at + "5m_input_tokens"),
        _first(usage, at + "1h_input_tokens"),
    )
    return Usage(uncached, read, *writes, _count(usage, "output_tokens")[1])


def _bedrock(usage: Mapping[str, Any]) -> Usage:
    _, uncached = _count(usage, "inputTokens", required=True)
    _, read = _count(usage, "cacheReadInputTokens", "cacheReadInputTokensCount")
    total = _first(usage, "cacheWriteInputTokens", "cacheWriteInputTokensCount")
    details = usage.get("cacheDetails") or []
    if not isinstance(details, list | tuple):
        raise TypeError(f"cacheDetails must be a list, got {repr(details)[:60]}")
    by_ttl: Counter[str] = Counter()
    for one in details:
        ttl = _mapping("cacheDetails", one).get("ttl") or "5m"  # the lifetime of a write that asks for none
        by_ttl[checks.known("cacheDetails ttl", ttl, ("5m", "1h"))] += _count(one, "inputTokens")[1]
    writes = _split("cacheWriteInputTokens", total, by_ttl.get("5m"), by_ttl.get("1h"))
    return Usage(uncached, read, *writes, _count(usage, "outputTokens")[1])


def _openai(usage: Mapping[str, Any], total: str, details: str, output: str) -> Usage:
    total_write = _first(usage, f"{details}.cache_write_tokens", "cache_write_tokens")
    by_ttl = "cache_write_tokens_details.ttl_"  # beside the details or inside them, by SDK version
    lifetimes = ("30m_tokens", "12h_tokens")
    short, long = _split(
        "cache_write_tokens",
        total_write,
        *(_first(usage, f"{details}.{by_ttl}{life}", by_ttl + life) for life in lifetimes),
    )
    read = _count(usage, f"{details}.cached_tokens", "prompt_cache_hit_tokens")
    return _inclusive(
        _count(usage, total, required=True),
        read,
        ("cache_write_tokens", short + long),
        long,
        _count(usage, output)[1],
    )


def _openai_chat(usage: Mapping[str, Any]) -> Usage:
    return _openai(usage, "prompt_tokens", "prompt_tokens_details", "completion_tokens")


def _xai(usage: Mapping[str, Any]) -> Usage:
    """Return the usage of an xAI chat completion, whose reasoning is billed on top of its completion.

    Where ``total_tokens`` is the prompt and the completion alone, the reasoning is inside the completion.
    """
    chat = _openai_chat(usage)
    reasoning = _count(usage, "completion_tokens_details.reasoning_tokens")[1]
    total, without = _first(usage, "total_tokens"), chat.input + chat.output
    if total not in (None, without, without + reasoning):
        raise ValueError(
            f"total_tokens ({total} tokens) must equal prompt_tokens ({chat.input} tokens) plus completion_tokens "
            f"({chat.output} tokens), with or without reasoning_tokens ({reasoning} tokens)"
        )
    inside = total == without and reasoning <= chat.output
    return chat if inside else chat + Usage(output=reasoning)


def _openai_responses(usage: Mapping[str, Any]) -> Usage:
    return _openai(usage, "input_tokens", "input_tokens_details", "output_tokens")


def _deepseek(usage: Mapping[str, Any]) -> Usage:
    hit = _count(usage, "prompt_cache_hit_tokens", "prompt_tokens_details.cached_tokens")
    miss_name, miss = _count(usage, "prompt_cache_miss_tokens")
    total = _count(usage, "prompt_tokens", required=True)
    if _at(usage, "prompt_cache_miss_tokens") is not None and hit[1] + miss != total[1]:
        raise ValueError(
            f"{total[0]} ({total[1]} tokens) must equal {hit[0]} ({hit[1]} tokens) plus {miss_name} ({miss} tokens)"
        )
    return _inclusive(total, hit, ("cache_write_tokens", 0), 0, _count(usage, "completion_tokens")[1])


def _gemini(usage: Mapping[str, Any]) -> Usage:
    usage = _mapping("usageMetadata", usage.get("usageMetadata", usage))
    output = _count(usage, "candidatesTokenCount")[1] + _count(usage, "thoughtsTokenCount")[1]
    total, read = _count(usage, "promptTokenCount", required=True), _count(usage, "cachedContentTokenCount")
    return _inclusive(total, read, ("cache_write_tokens", 0), 0, output)


def _otel(usage: Mapping[str, Any]) -> Usage:
    at = "gen_ai.usage."
    total = _count(usage, at + "input_tokens", at + "prompt_tokens", required=True)
    read = _count(usage, at + "cache_read.input_tokens", at + "cache_read_tokens")
    write = _count(
        usage, at + "cache_write.input_tokens", at + "cache_creation.input_tokens", at + "cache_write_tokens"
    )
    return _inclusive(total, read, write, 0, _count(usage, at + "output_tokens", at + "completion_tokens")[1])


def _genai_prices(usage: Mapping[str, Any]) -> Usage:
    name = "cache_write_tokens"
    short, long = _split(
        name, _first(usage, name), _first(usage, "cache_write_5m_tokens"), _first(usage, "cache_write_1h_tokens")
    )
    total, read = _count(usage, "input_tokens", required=True), _count(usage, "cache_read_tokens")
    return _inclusive(total, read, (name, short + long), long, _count(usage, "output_tokens")[1])


FLAVOURS: dict[str, Callable[[Mapping[str, Any]], Usage]] = {
    "anthropic-messages": _anthropic,
    "bedrock-converse": _bedrock,
    "openai-chat": _openai_chat,  # also Azure, Groq, vLLM, SGLang, OpenRouter
    "openai-responses": _openai_responses,  # also xAI's Responses
    "xai": _xai,
    "gemini": _gemini,
    "deepseek": _deepseek,
    "otel": _otel,
    "genai-prices": _genai_prices,
}
