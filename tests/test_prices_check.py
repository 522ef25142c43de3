"""The cards agree with genai-prices wherever they do not say why they differ."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from npcmem import offers_check
from npcmem.money import Tier
from npcmem.offers import entries, offer
from npcmem.offers_check import Difference, differences, unlisted

pytest.importorskip("genai_prices")


def only(monkeypatch, model, entry=None, price=None):
    """Let the check see one model, with another entry or another price."""
    found = offer(model)
    found = found if price is None else replace(found, price=price)
    monkeypatch.setattr(offers_check, "entries", lambda: {model: entry or entries()[model]})
    monkeypatch.setattr(offers_check, "offer", lambda name: found)


def test_every_difference_is_explained():
    found = differences()
    assert [difference for difference in found if difference.verdict != "explained"] == []
    assert {(difference.model, difference.field) for difference in found} >= {
        ("gpt-6-luna", "write_long"),
        ("gpt-6-luna", "write_long above 272,000"),
        ("claude-sonnet-4-5", "input above 200,000"),
    }


def test_only_the_self_hosted_model_is_not_listed():
    assert unlisted() == ["self-hosted-8b"]


@pytest.mark.parametrize("name", ["uncached", "read", "write", "write_long", "output"])
def test_a_wrong_price_is_found(monkeypatch, name):
    price = offer("claude-haiku-4-5").price
    rate = getattr(price, name)
    only(monkeypatch, "claude-haiku-4-5", price=replace(price, **{name: rate * 1.01}))
    field = "input" if name == "uncached" else name
    (found,) = differences()
    assert found == Difference("claude-haiku-4-5", field, pytest.approx(rate * 1.01), pytest.approx(rate), None)
    assert found.verdict == "NOT explained"


def test_a_wrong_tier_is_found(monkeypatch):
    price = offer("grok-4.7").price
    (tier,) = price.tiers
    only(monkeypatch, "grok-4.7", price=replace(price, tiers=(Tier(200_000, tier.price),)))
    assert {found.field.partition(" ")[2] for found in differences()} == {"above 199,999"}
    only(monkeypatch, "grok-4.7", price=replace(price, tiers=()))
    assert len(differences()) == 5


def test_the_hour_matters(monkeypatch):
    peak = entries()["deepseek-v4.1-flash"]
    only(monkeypatch, "deepseek-v4.1-flash", entry=peak)
    assert differences() == []
    only(monkeypatch, "deepseek-v4.1-flash", entry=replace(peak, check_hour_utc=12))
    assert {found.card / found.theirs for found in differences()} == {2}


def test_an_explanation_of_nothing_is_stale(monkeypatch):
    entry = replace(entries()["gpt-4o"], differs=MappingProxyType({"read": "once it was so"}))
    only(monkeypatch, "gpt-4o", entry=entry)
    (found,) = differences()
    assert (found.field, found.verdict, found.reason) == ("read", "stale", "once it was so")


def test_a_difference_loses_its_explanation(monkeypatch):
    only(monkeypatch, "gpt-6-luna", entry=replace(entries()["gpt-6-luna"], differs={}))
    assert {found.verdict for found in differences()} == {"NOT explained"}


@pytest.mark.parametrize(
    ("key", "field", "explains"),
    [
        ("read", "read", True),
        ("read", "read above 200,000", True),
        ("above 200,000", "read above 200,000", True),
        ("read above 200,000", "read above 200,000", True),
        ("write", "write_long", False),
        ("read above 200,000", "read", False),
        ("above 200,000", "read", False),
    ],
)
def test_what_an_explanation_covers(key, field, explains):
    assert offers_check._explains(key, field) is explains
