"""Usage payloads of every provider, prices and tiers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from npcmem import Price, Usage, usage_from
from npcmem.checks import sentence
from npcmem.money import CLASSES, FLAVOURS, Tier

# --- payloads: 1,000 plain, 700 read, 200 and 100 written for the two lifetimes, 50 output ---------

PAYLOADS = [
    pytest.param(
        "anthropic-messages",
        {
            "input_tokens": 1000,
            "cache_read_input_tokens": 700,
            "cache_creation_input_tokens": 300,
            "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
            "output_tokens": 50,
            "service_tier": "standard",
        },
        Usage(1000, 700, 200, 100, 50),
        id="Anthropic: input excludes the cached, the split sums to the total",
    ),
    pytest.param(
        "anthropic-messages",
        {"input_tokens": 9, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 0, "output_tokens": 1},
        Usage(9, 0, 300, 0, 1),
        id="Anthropic without a split: 5 minutes",
    ),
    pytest.param(
        "anthropic-messages",
        {"input_tokens": 9, "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100}},
        Usage(9, 0, 200, 100, 0),
        id="Anthropic with the split alone",
    ),
    pytest.param(
        "anthropic-messages",
        {
            "input_tokens": 9,
            "cache_creation_input_tokens": 300,
            "cache_creation": {"ephemeral_1h_input_tokens": 100},
        },
        Usage(9, 0, 200, 100, 0),
        id="Anthropic with half a split: the rest is the other half",
    ),
    pytest.param(
        "anthropic-messages",
        {
            "input_tokens": 9,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": None,
            "cache_creation": None,
            "output_tokens": 1,
        },
        Usage(9, 0, 0, 0, 1),
        id="Anthropic nulls",
    ),
    pytest.param(
        "bedrock-converse",
        {
            "inputTokens": 1000,
            "cacheReadInputTokens": 700,
            "cacheWriteInputTokens": 300,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 100}, {"ttl": "5m", "inputTokens": 200}],
            "outputTokens": 50,
            "totalTokens": 2050,
        },
        Usage(1000, 700, 200, 100, 50),
        id="Bedrock Converse by TTL",
    ),
    pytest.param(
        "bedrock-converse",
        {"inputTokens": 10, "cacheReadInputTokens": 7, "cacheWriteInputTokens": 3, "cacheDetails": None},
        Usage(10, 7, 3, 0, 0),
        id="Bedrock Converse without details",
    ),
    pytest.param(
        "bedrock-converse",
        {
            "inputTokens": 10,
            "cacheDetails": [
                {"ttl": "5m", "inputTokens": 150},
                {"ttl": "1h", "inputTokens": 100},
                {"ttl": "5m", "inputTokens": 40},
                {"inputTokens": 10},
            ],
        },
        Usage(10, 0, 200, 100, 0),
        id="Bedrock Converse: two writes of one TTL",
    ),
    pytest.param(
        "openai-chat",
        {
            "prompt_tokens": 2000,
            "completion_tokens": 50,
            "total_tokens": 2050,
            "prompt_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 300, "audio_tokens": 0},
        },
        Usage(1000, 700, 300, 0, 50),
        id="OpenAI Chat: the total includes both",
    ),
    pytest.param(
        "openai-chat",
        {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": None},
        Usage(20, 0, 0, 0, 5),
        id="vLLM without --enable-prompt-tokens-details",
    ),
    pytest.param(
        "openai-chat",
        {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 16}},
        Usage(4, 16, 0, 0, 5),
        id="Groq, SGLang",
    ),
    pytest.param(
        "openai-chat",
        {
            "prompt_tokens": 2000,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 700},
            "cache_write_tokens": 300,
        },
        Usage(1000, 700, 300, 0, 50),
        id="OpenRouter: writes beside the details",
    ),
    pytest.param(
        "openai-responses",
        {
            "input_tokens": 2000,
            "output_tokens": 50,
            "input_tokens_details": {
                "cached_tokens": 700,
                "cache_write_tokens": 300,
                "cache_write_tokens_details": {"ttl_30m_tokens": 200, "ttl_12h_tokens": 100},
            },
        },
        Usage(1000, 700, 200, 100, 50),
        id="OpenAI Responses with lifetimes in the details",
    ),
    pytest.param(
        "openai-responses",
        {
            "input_tokens": 2000,
            "output_tokens": 50,
            "input_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 300},
            "cache_write_tokens_details": {"ttl_30m_tokens": 200, "ttl_12h_tokens": 100},
        },
        Usage(1000, 700, 200, 100, 50),
        id="OpenAI Responses with lifetimes beside the details",
    ),
    pytest.param(
        "xai",
        {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94},
        },
        Usage(32, 0, 0, 0, 103),
        id="xAI: reasoning on top, as in its own documentation",
    ),
    pytest.param(
        "xai",
        {
            "prompt_tokens": 10120,
            "completion_tokens": 1499,
            "prompt_tokens_details": {"cached_tokens": 128},
            "completion_tokens_details": {"reasoning_tokens": 2809},
        },
        Usage(9992, 128, 0, 0, 4308),
        id="xAI without a total: on top",
    ),
    pytest.param(
        "xai",
        {
            "prompt_tokens": 32,
            "completion_tokens": 103,
            "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94},
        },
        Usage(32, 0, 0, 0, 103),
        id="xAI: a total that leaves reasoning out has it inside the completion",
    ),
    pytest.param(
        "xai",
        {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "total_tokens": 41,
            "completion_tokens_details": {"reasoning_tokens": 94},
        },
        Usage(32, 0, 0, 0, 103),
        id="xAI: more reasoning than completion cannot be inside it",
    ),
    pytest.param(
        "xai",
        {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, "completion_tokens_details": None},
        Usage(20, 0, 0, 0, 5),
        id="xAI without reasoning",
    ),
    pytest.param(
        "gemini",
        {
            "usageMetadata": {
                "promptTokenCount": 1700,
                "cachedContentTokenCount": 700,
                "candidatesTokenCount": 30,
                "thoughtsTokenCount": 20,
                "totalTokenCount": 1750,
            }
        },
        Usage(1000, 700, 0, 0, 50),
        id="Gemini: thoughts are output",
    ),
    pytest.param(
        "gemini",
        {"promptTokenCount": 1700, "candidatesTokenCount": None, "cachedContentTokenCount": None},
        Usage(1700, 0, 0, 0, 0),
        id="Gemini metadata alone, with nulls",
    ),
    pytest.param(
        "deepseek",
        {
            "prompt_tokens": 1700,
            "prompt_cache_hit_tokens": 700,
            "prompt_cache_miss_tokens": 1000,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 700},
        },
        Usage(1000, 700, 0, 0, 50),
        id="DeepSeek: hit and miss make the total",
    ),
    pytest.param(
        "deepseek",
        {"prompt_tokens": 1700, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 700}},
        Usage(1000, 700, 0, 0, 50),
        id="DeepSeek by the OpenAI name",
    ),
    pytest.param(
        "otel",
        {
            "gen_ai.usage.input_tokens": 2000,
            "gen_ai.usage.cache_read.input_tokens": 700,
            "gen_ai.usage.cache_creation.input_tokens": 300,
            "gen_ai.usage.output_tokens": 50,
            "gen_ai.request.model": "any",
        },
        Usage(1000, 700, 300, 0, 50),
        id="OpenTelemetry, old name of a write",
    ),
    pytest.param(
        "otel",
        {
            "gen_ai.usage.input_tokens": 2000,
            "gen_ai.usage.cache_read.input_tokens": 700,
            "gen_ai.usage.cache_write.input_tokens": 300,
            "gen_ai.usage.output_tokens": 50,
        },
        Usage(1000, 700, 300, 0, 50),
        id="OpenTelemetry, new name of a write",
    ),
    pytest.param(
        "otel",
        {
            "gen_ai.usage.prompt_tokens": 2000,
            "gen_ai.usage.cache_read_tokens": 700,
            "gen_ai.usage.cache_write_tokens": 300,
            "gen_ai.usage.completion_tokens": 50,
        },
        Usage(1000, 700, 300, 0, 50),
        id="OpenTelemetry, legacy and pydantic-ai names",
    ),
    pytest.param(
        "genai-prices",
        {
            "input_tokens": 2000,
            "cache_read_tokens": 700,
            "cache_write_tokens": 300,
            "cache_write_5m_tokens": 200,
            "cache_write_1h_tokens": 100,
            "output_tokens": 50,
        },
        Usage(1000, 700, 200, 100, 50),
        id="genai-prices",
    ),
]


@pytest.mark.parametrize(("flavour", "payload", "usage"), PAYLOADS)
def test_every_flavour_comes_out_in_disjoint_classes(flavour, payload, usage):
    assert usage_from(payload, flavour) == usage


def test_every_flavour_has_an_example():
    assert {case.values[0] for case in PAYLOADS} == set(FLAVOURS)


TOTAL = {
    "anthropic-messages": "input_tokens",
    "bedrock-converse": "inputTokens",
    "openai-chat": "prompt_tokens",
    "openai-responses": "input_tokens",
    "xai": "prompt_tokens",
    "gemini": "promptTokenCount",
    "deepseek": "prompt_tokens",
    "otel": "gen_ai.usage.input_tokens",
    "genai-prices": "input_tokens",
}
each_total = pytest.mark.parametrize(("flavour", "name"), TOTAL.items(), ids=TOTAL)


@each_total
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (-5, ValueError, "must be >= 0 tokens, got -5"),
        (2.5, TypeError, r"must be a whole number of tokens, got 2\.5"),
        ("12", TypeError, "must be a number of tokens, got '12'"),
        (True, TypeError, "must be a number of tokens, got True"),
        (math.nan, ValueError, "must be >= 0 tokens, got nan"),
        (10**400, ValueError, "must be <= .* tokens, got .*"),
    ],
    ids=["negative", "fractional", "text", "boolean", "not a number", "huge"],
)
def test_a_bad_count_is_named(flavour, name, value, error, words):
    with pytest.raises(error, match=f"^{name} {words}$"):
        usage_from({name: value}, flavour)


@each_total
@pytest.mark.parametrize("payload", ["nothing", "null", "another"])
def test_a_payload_without_its_input_count_says_what_it_has(flavour, name, payload):
    with pytest.raises(KeyError) as error:
        usage_from({"nothing": {}, "null": {name: None}, "another": {"tokens": 3}}[payload], flavour)
    has = {"nothing": "nothing", "null": name, "another": "tokens"}[payload]
    assert sentence(error.value).startswith(f"usage has no {name}")
    assert sentence(error.value).endswith(f"it has: {has}")


@each_total
@pytest.mark.parametrize("payload", [None, 5, "usage", [1]], ids=repr)
def test_what_is_no_payload_is_refused_in_a_sentence(flavour, name, payload):
    """A provider that streams sends usage: null in every chunk but the last."""
    with pytest.raises((KeyError, TypeError), match="usage"):
        usage_from(payload, flavour)


@pytest.mark.parametrize(
    ("flavour", "payload", "said"),
    [
        (
            "openai-chat",
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 10}},
            "cached_tokens (10 tokens) cannot exceed prompt_tokens (9 tokens)",
        ),
        (
            "openai-responses",
            {"input_tokens": 9, "input_tokens_details": {"cache_write_tokens": 10}},
            "cache_write_tokens (10 tokens) cannot exceed input_tokens (9 tokens)",
        ),
        (
            "openai-chat",
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 6}},
            "cached_tokens (5 tokens) and cache_write_tokens (6 tokens) together "
            "cannot exceed prompt_tokens (9 tokens)",
        ),
        (
            "xai",
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 99,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            "total_tokens (99 tokens) must equal prompt_tokens (32 tokens) plus completion_tokens (9 tokens), "
            "with or without reasoning_tokens (94 tokens)",
        ),
        (
            "gemini",
            {"promptTokenCount": 9, "cachedContentTokenCount": 10},
            "cachedContentTokenCount (10 tokens) cannot exceed promptTokenCount (9 tokens)",
        ),
        (
            "deepseek",
            {"prompt_tokens": 9, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 5},
            "prompt_tokens (9 tokens) must equal prompt_cache_hit_tokens (5 tokens) "
            "plus prompt_cache_miss_tokens (5 tokens)",
        ),
        (
            "otel",
            {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.cache_read.input_tokens": 10},
            "gen_ai.usage.cache_read.input_tokens (10 tokens) cannot exceed gen_ai.usage.input_tokens (9 tokens)",
        ),
        (
            "genai-prices",
            {"input_tokens": 9, "cache_read_tokens": 10},
            "cache_read_tokens (10 tokens) cannot exceed input_tokens (9 tokens)",
        ),
        (
            "anthropic-messages",
            {
                "input_tokens": 1,
                "cache_creation_input_tokens": 100,
                "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 40},
            },
            "cache_creation_input_tokens (100 tokens) must equal its split by lifetime (30 + 40 tokens)",
        ),
        (
            "anthropic-messages",
            {
                "input_tokens": 1,
                "cache_creation_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 40},
            },
            "cache_creation_input_tokens (0 tokens) must equal its split by lifetime (0 + 40 tokens)",
        ),
        (
            "bedrock-converse",
            {"inputTokens": 1, "cacheWriteInputTokens": 5, "cacheDetails": [{"ttl": "1h", "inputTokens": 9}]},
            "cacheWriteInputTokens (5 tokens) must equal its split by lifetime (0 + 9 tokens)",
        ),
    ],
)
def test_counts_that_contradict_each_other_are_all_named(flavour, payload, said):
    with pytest.raises(ValueError) as error:
        usage_from(payload, flavour)
    assert str(error.value) == said


@pytest.mark.parametrize("details", [5, ["5m"], [None]], ids=repr)
def test_details_of_another_shape_are_refused_in_a_sentence(details):
    with pytest.raises((TypeError, ValueError), match="cacheDetails"):
        usage_from({"inputTokens": 1, "cacheDetails": details}, "bedrock-converse")


@pytest.mark.parametrize("ttl", ["2h", 300, ["5m"]], ids=repr)
def test_a_write_of_an_unknown_lifetime_is_refused_not_lost(ttl):
    with pytest.raises(KeyError, match="unknown cacheDetails ttl"):
        usage_from({"inputTokens": 1, "cacheDetails": [{"ttl": ttl, "inputTokens": 9}]}, "bedrock-converse")


def test_an_unknown_flavour_gets_the_nearest():
    with pytest.raises(KeyError) as error:
        usage_from({}, "openai")
    assert sentence(error.value) == "unknown usage flavour 'openai'; nearest: 'openai-chat'"


# --- usage ----------------------------------------------------------------------------------------


def test_usage_adds_scales_and_sums_class_by_class():
    one, two = Usage(1, 2, 3, 4, 5), Usage(10, 20, 30, 40, 50)
    assert one + two == Usage(11, 22, 33, 44, 55)
    assert one * 2 == Usage(2, 4, 6, 8, 10)
    assert one.input == 1 + 2 + 3 + 4
    calls = Usage(*(np.array([value, value * 10]) for value in (1, 2, 3, 4, 5)))
    assert calls.sum() == one + two
    assert type(calls.sum().read) is int
    assert Usage(1) != Usage(2)
    assert Usage(1) != 1


# --- prices ---------------------------------------------------------------------------------------

ALL = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000)


def test_every_class_has_its_own_rate():
    assert Price(3, 0.3, 3.75, 6, 15).usd(ALL) == pytest.approx(3 + 0.3 + 3.75 + 6 + 15)
    for at, name in enumerate(CLASSES):
        assert Price(3, 0.3, 3.75, 6, 15).usd(Usage(**{name: 1_000_000})) == (3, 0.3, 3.75, 6, 15)[at]


def test_the_write_price_replaces_the_input_price():
    assert Price.of(3, 15, write=3.75).usd(Usage(write=1_000_000)) == 3.75


def test_a_class_without_a_rate_is_billed_as_its_simpler_neighbour():
    assert Price.of(3, 15) == Price(3, 3, 3, 3, 15)
    assert Price.of(3, 15, read=0.3, write=3.75) == Price(3, 0.3, 3.75, 3.75, 15)
    assert Price.of(3, 15, write_long=6) == Price(3, 3, 3, 6, 15)


def test_relative_prices_bill_in_input_tokens():
    price = Price.relative(5, 0.1, 1.25, 2)
    assert price.usd(Usage(10, 100, 4, 3, 2)) == pytest.approx(10 + 10 + 5 + 6 + 10)
    assert (price.rho, price.r, price.w, price.w_long) == (5, pytest.approx(0.1), 1.25, 2)


def test_a_gpu_of_3_dollars_60_an_hour():
    """1 $/h ÷ 3,600 s: at 10,000 tokens a second prefill is 0.10 $, at 500 decoding is 2 $ per million."""
    price = Price.self_hosted(3.6, 10_000, 500)
    assert price.uncached == price.write == price.write_long == pytest.approx(0.1)
    assert price.output == pytest.approx(2.0)
    assert price.read == 0
    assert price.usd(Usage(uncached=10_000 * 3600)) == pytest.approx(3.6)


@pytest.mark.parametrize("field", ["prefill_tokens_per_s", "decode_tokens_per_s"])
def test_a_gpu_must_make_tokens(field):
    speeds = {"prefill_tokens_per_s": 1.0, "decode_tokens_per_s": 1.0, field: 0}
    with pytest.raises(ValueError, match=f"^{field} must be > 0 tokens per second, got 0$"):
        Price.self_hosted(1.0, **speeds)


TIERED = Price(2, 0.2, 2, 2, 12, tiers=(Tier(1000, Price(8, 0.8, 8, 8, 36)), Tier(200, Price(4, 0.4, 4, 4, 18))))


@pytest.mark.parametrize(
    ("prompt", "rate", "out"), [(0, 2, 12), (200, 2, 12), (201, 4, 18), (1000, 4, 18), (1001, 8, 36)]
)
def test_a_tier_starts_past_its_boundary_and_covers_the_whole_request(prompt, rate, out):
    assert TIERED.usd(Usage(prompt, output=10)) == pytest.approx((prompt * rate + 10 * out) / 1e6)


def test_cached_tokens_count_towards_the_boundary_and_output_does_not():
    assert TIERED.usd(Usage(1, read=100, write=50, write_long=50)) == pytest.approx((1 * 4 + 100 * 0.4 + 100 * 4) / 1e6)
    assert TIERED.usd(Usage(200, output=5000)) == pytest.approx((200 * 2 + 5000 * 12) / 1e6)


def test_each_call_of_an_array_picks_its_own_tier():
    prompts = np.array([200, 201, 1001])
    each = TIERED.usd(Usage(prompts, np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)))
    assert each.tolist() == [TIERED.usd(Usage(int(prompt))) for prompt in prompts]


def test_scaling_reaches_the_tiers_and_nothing_else():
    scaled = TIERED.scaled(output=1.5, read=2)
    assert (scaled.output, scaled.read, scaled.uncached, scaled.write) == (18, 0.4, 2, 2)
    assert [(tier.above_tokens, tier.price.output, tier.price.read) for tier in scaled.tiers] == [
        (1000, 54, 1.6),
        (200, 27, 0.8),
    ]
    assert TIERED.output == 12


def test_scaling_an_unknown_class_is_refused_in_a_sentence():
    with pytest.raises((KeyError, TypeError), match="unknown billing class 'outptu'; nearest: 'output'"):
        TIERED.scaled(outptu=2)


@pytest.mark.parametrize("name", CLASSES)
def test_no_rate_is_negative(name):
    with pytest.raises(ValueError, match=f"^price.{name} must be >= 0 dollars per million tokens, got -1$"):
        Price(**{**dict.fromkeys(CLASSES, 1.0), name: -1.0})


def test_a_boundary_is_whole_tokens():
    with pytest.raises(ValueError, match="^above_tokens must be >= 0 tokens, got -1$"):
        Tier(-1, TIERED)
    with pytest.raises(TypeError, match="^above_tokens must be a whole number"):
        Tier(0.5, TIERED)


def test_ratios_of_a_free_model_are_not_a_crash():
    """A free model has no ratio; whoever asks reads a sentence or nan, not a ZeroDivisionError."""
    for name in ("rho", "r", "w", "w_long"):
        try:
            assert not math.isfinite(getattr(Price.of(0, 0), name))
        except ValueError as error:
            assert "uncached" in str(error)


def test_prices_are_frozen_and_hashable():
    assert len({TIERED, TIERED.scaled()}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        TIERED.output = 1


def test_usages_add_up_with_sum_as_numbers_do():
    assert sum([Usage(1, output=2), Usage(read=3)]) == Usage(1, 3, 0, 0, 2)
    with pytest.raises(TypeError):
        1 + Usage(1)
