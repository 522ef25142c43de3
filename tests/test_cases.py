"""The shared cases: sessions replayed by an independent program, bills from public bug reports."""

from __future__ import annotations

import json
import math

import pytest

from npcmem import (
    CacheRules,
    Character,
    FullHistory,
    Price,
    Session,
    SlidingWindow,
    SummariseEvery,
    Usage,
    replay,
    usage_from,
)


@pytest.fixture(scope="module")
def replay_cases(shared):
    return json.loads(shared("cases/replay_cases.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def billing_cases(shared):
    return json.loads(shared("cases/billing_cases.json").read_text("utf-8"))


def policy_of(case: dict):
    if case["policy"] == "sliding window":
        return SlidingWindow(case["window"])
    if case["policy"] == "summarise every k":
        return SummariseEvery(case["k"], shares_prefix=case["summariser"] == "shares the prefix")
    assert case["policy"] == "full history"
    return FullHistory()


def replayed(case: dict, long_writes: bool = False):
    """Replay a case; a TTL of 0 stands for no cache."""
    character = Character(*(case[f"{name}_tokens"] for name in ("static", "summary", "instruction", "volatile")))
    session = Session.uniform(case["turns"], case["exchange_tokens"], case["reply_tokens"]).with_gaps(case["gaps_s"])
    cache = case["cache"]
    rules = CacheRules(cache["ttl_s"], cache["min_tokens"], long_writes=long_writes) if cache["ttl_s"] else None
    return replay(policy_of(case), character, session, rules)


def test_every_session_comes_out_token_for_token(replay_cases):
    assert len(replay_cases) >= 16
    for case in replay_cases:
        bill = replayed(case)
        for kind in ("reply", "summary"):
            total = bill.only(kind).total.as_dict()
            assert total.pop("write_long") == 0
            assert total == case[f"{kind}_calls"], (case["case"], kind)


def test_every_session_comes_out_at_its_cost(replay_cases):
    for case in replay_cases:
        price = Price.relative(5.0, r=case["cache"]["read_x"], w=case["cache"]["write_x"])
        assert replayed(case).cost(price) == pytest.approx(case["cost_in_input_tokens_at_rho_5"], rel=1e-12)


def test_long_writes_move_between_classes_and_cost_the_long_price(replay_cases):
    for case in replay_cases:
        price = Price.relative(5.0, r=case["cache"]["read_x"], w=999, w_long=case["cache"]["write_x"])
        bill = replayed(case, long_writes=True)
        assert bill.total.write == 0
        assert bill.cost(price) == pytest.approx(case["cost_in_input_tokens_at_rho_5"], rel=1e-12)


def test_every_bill_comes_out_by_class_and_to_the_dollar(billing_cases):
    bills = [case for case in billing_cases if "error" not in case]
    assert len(bills) >= 7
    for case in bills:
        usage = usage_from(case["usage"], case["flavour"])
        assert usage == Usage(**case["tokens"]), case["id"]
        rates = dict(case["price_per_mtok"])
        price = Price.of(rates.pop("input"), **rates)
        assert math.isclose(price.usd(usage), case["usd"], rel_tol=1e-9) or "usd" not in case, case["id"]


def test_a_bill_that_contradicts_itself_names_both_fields_and_both_numbers(billing_cases):
    contradictions = [case for case in billing_cases if "error" in case]
    assert contradictions
    for case in contradictions:
        with pytest.raises(ValueError) as error:
            usage_from(case["usage"], case["flavour"])
        assert str(error.value) == "cached_tokens (300 tokens) cannot exceed prompt_tokens (250 tokens)"
