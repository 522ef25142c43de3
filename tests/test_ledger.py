"""What a ledger says of its rows, and many sessions on one cache."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npcmem import (
    CacheRules,
    Character,
    FullHistory,
    KeepAlive,
    Layers,
    Price,
    Session,
    SummariseEvery,
    ThinkTime,
    expected,
    replay,
)
from npcmem.ledger import replay_together
from npcmem.offers import offer

character, price = Character(volatile_tokens=80), Price.relative(5.0)


def test_a_replay_is_whole_tokens():
    bill = replay(SummariseEvery(4), character, Session.uniform(20), CacheRules(300))
    assert all(isinstance(tokens, int) for tokens in bill.total.as_dict().values())


def test_the_bill_by_kind_and_by_length_add_up():
    bill = replay(Layers(), character, Session.uniform(50), CacheRules(300))
    by_kind = bill.cost_by_kind(price)
    assert list(by_kind) == ["reply", "embedding", "importance", "reflection"]
    assert sum(by_kind.values()) == pytest.approx(bill.cost(price), rel=1e-12)
    assert bill.cost_by_length(price)[-1] == pytest.approx(bill.cost(price), rel=1e-12)
    assert bill.cost_by_length(price)[29] == pytest.approx(bill.session(30).cost(price), rel=1e-12)


def test_each_kind_of_call_may_have_a_price_of_its_own():
    bill = replay(Layers(), character, Session.uniform(50), CacheRules(300))
    free = Price.of(0.0, 0.0)
    assert bill.cost(price, embedding=free, importance=free, reflection=free) == bill.only("reply").cost(price)
    with pytest.raises(KeyError, match="unknown kind of call 'imprtance'; nearest: 'importance'"):
        bill.cost(price, imprtance=free)


def test_paid_storage_is_billed_for_the_whole_life_of_each_write():
    """An explicit cache of 8,000 tokens that lives an hour, over 110 minutes: written twice, stored for two hours."""
    gemini = offer("gemini-3.8-flash")
    bill = replay(FullHistory(), Character(8000), Session.uniform(60, gap_s=110), gemini.rules_long)
    assert bill.total.write_long == 16_000
    assert bill.token_hours.sum() == 16_000
    without = Price.of(0.75, 3.75, 0.075)
    stored = 16_000 * gemini.price.storage_usd_per_mtok_hour / 1e6
    assert bill.cost(gemini.price) == pytest.approx(bill.cost(without) + stored, rel=1e-12)


def test_pings_are_sent_while_the_player_is_away_and_none_after_the_last_turn():
    session = Session.uniform(3).with_gaps([1000.0, 100.0])
    bill = replay(KeepAlive(240.0, 3), character, session, CacheRules(300))
    pings = bill.only("ping")
    assert pings.at_s.tolist() == [240, 480, 720]
    assert (pings.usage.read == 1800).all()
    assert bill.only("reply").usage.read.tolist() == [0, 1800, 1960]  # the third ping is 280 s old at the second turn


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("gaps", "shape"), [(0.5, ()), ([ThinkTime((1.0,), (60.0,), (0.5,))] * 2, (2,))])
def test_a_selection_without_rows_is_a_bill_of_nothing(gaps, shape):
    bill = expected(FullHistory(), character, Session.uniform(9), CacheRules(300), gaps).only("summary")
    for nothing in (bill.hit_rate, bill.read_share, bill.cost(price)):
        assert np.shape(nothing) == shape and not np.any(nothing)
    assert bill.cost_by_length(price).shape == (0, *shape)
    assert bill.cost_by_kind(price) == {}


def test_a_ledger_of_several_paces_says_of_each_what_its_own_does():
    paces = [ThinkTime((1.0,), (median_s,), (0.5,)) for median_s in (60.0, 400.0)]
    several = expected(SummariseEvery(4), character, Session.uniform(9), CacheRules(300), paces)
    for at, pace in enumerate(paces):
        one = expected(SummariseEvery(4), character, Session.uniform(9), CacheRules(300), pace)
        assert several.hit_rate[at] == pytest.approx(one.hit_rate, rel=1e-12)
        assert several.read_share[at] == pytest.approx(one.read_share, rel=1e-12)
        assert several.session(9, at).frame()["chance"].tolist() == several.chance[:, at].tolist()
    with pytest.raises(ValueError, match=r"^a frame has the rows of 1 pace, got 2 paces: take session\("):
        several.frame()


def test_sessions_on_one_cache_share_the_head_and_nothing_else():
    sessions = [Session.uniform(5), Session.uniform(5)]
    first, second = replay_together(FullHistory(), [character] * 2, sessions, [0.0, 10.0], CacheRules(300))
    assert first.usage.read[0] == 0
    assert second.usage.read[0] == 1800
    assert second.usage.read[1:].tolist() == first.usage.read[1:].tolist()
    assert second.at_s.tolist() == [10, 40, 70, 100, 130]


def test_characters_share_what_they_have_in_common():
    smith, guard = (Character(1800, shared_tokens=1100, name=name) for name in ("smith", "guard"))
    sessions = [Session.uniform(2)] * 2
    _, second = replay_together(FullHistory(), [smith, guard], sessions, [0.0, 5.0], CacheRules(300))
    assert (second.usage.read[0], second.usage.write[0]) == (1100, 700)


def test_a_full_memory_pushes_out_the_least_recently_used():
    """Ten sessions that take turns need ten prompts at once: with room for the head alone, no turn finds its own."""
    sessions = [Session.uniform(6, gap_s=100)] * 10
    starts = np.arange(10.0).tolist()
    roomy, tight = (
        replay_together(FullHistory(), [character] * 10, sessions, starts, CacheRules(1e9, capacity_tokens=tokens))
        for tokens in (100_000, 2_000)
    )
    assert [bill.hit_rate for bill in roomy[1:]] == [1.0] * 9
    assert all((bill.usage.read <= 1800).all() for bill in tight)


def test_one_session_together_is_its_replay():
    session = Session.uniform(12, gap_s=200)
    (alone,) = replay_together(SummariseEvery(5), [character], [session], [0.0], CacheRules(300))
    assert alone.usage == replay(SummariseEvery(5), character, session, CacheRules(300)).usage


def test_as_many_characters_sessions_and_starts():
    with pytest.raises(ValueError, match="must be equally long, got 1, 2 and 2$"):
        replay_together(FullHistory(), [character], [Session.uniform(2)] * 2, [0.0, 1.0], None)


@pytest.mark.parametrize("start_s", [math.nan, math.inf, -math.inf])
def test_sessions_start_at_a_second(start_s):
    with pytest.raises(ValueError, match=rf"^starts_s\[1\] must be between .* seconds, got {start_s:g}$"):
        replay_together(FullHistory(), [character] * 2, [Session.uniform(2)] * 2, [0.0, start_s], CacheRules(300))


def test_characters_that_differ_have_names_of_their_own():
    with pytest.raises(ValueError, match="^characters must have names of their own where they differ: 'static' has"):
        replay_together(FullHistory(), [Character(1800), Character(2400)], [Session.uniform(2)] * 2, [0.0, 1.0], None)
