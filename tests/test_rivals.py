"""What others compute, put as arithmetic on our own replay: a planner to the cent, an article's claims, and faults."""

from __future__ import annotations

import numpy as np
import pytest

from npcmem import (
    Block,
    CacheRules,
    Call,
    Character,
    FullHistory,
    PrefixCache,
    Price,
    Session,
    SlidingWindow,
    SteppedWindow,
    SummariseEvery,
    Usage,
    replay,
)
from npcmem import formulas as f

# --- forg.pro's Conversation Memory Planner: 60 turns of 600 tokens, a digest of 1,500 ------------

SONNET, DIGEST, SIXTY = Price.of(3.0, 15.0), Character(0, 1500, 0, 600), Session.uniform(60, 600, 400)


def planner(every: int) -> Usage:
    """Return the planner's count: ours, and a digest on the turns before there is one and in the first refresh."""
    return replay(SummariseEvery(every), DIGEST, SIXTY).total + Usage(uncached=1500 * (every + 1))


def test_the_planners_window_is_ours_to_the_cent():
    bill = replay(SlidingWindow(11), Character(0, volatile_tokens=600), SIXTY)  # the turn's own 600 are the twelfth
    assert (bill.total.input, bill.total.output) == (392_400, 24_000)
    assert bill.cost(SONNET) == pytest.approx(1.5372)


def test_the_planner_bills_a_digest_before_it_exists():
    theirs, ours = planner(8), replay(SummariseEvery(8), DIGEST, SIXTY)
    assert (theirs.input, theirs.output) == (291_300, 34_500)
    assert SONNET.usd(theirs) == pytest.approx(1.39, abs=0.005)
    assert (ours.total.input, ours.total.output) == (277_800, 34_500)
    assert ours.cost(SONNET) == pytest.approx(1.351, abs=5e-4)
    assert (ours.only("reply").usage.input[:8] == 600 * np.arange(1, 9)).all()


def test_its_default_of_8_is_3_percent_above_the_optimum_of_6():
    usd = {every: replay(SummariseEvery(every), DIGEST, SIXTY).cost(SONNET) for every in range(1, 61)}
    assert f.optimal_interval_uncached(600, 1500, 0, 5.0) == pytest.approx(5.48, abs=0.005)
    assert min(usd, key=usd.get) == 6
    assert [round(usd[every], 3) for every in (5, 6, 7, 8)] == [1.323, 1.317, 1.332, 1.351]
    assert usd[8] / usd[6] == pytest.approx(1.026, abs=5e-4)


# --- the article on multi-turn cost: 1,000 tokens a turn, the turn's own among them ---------------

GPT_4O, TURN = Price.of(2.5, 10.0), Character(0, 300, 0, 1000)


def turns(count: int) -> Session:
    return Session.uniform(count, 1000, 0)


def test_ten_turns_cost_55_000_tokens_and_not_what_the_tenth_costs():
    bill = replay(FullHistory(), TURN, turns(10))
    assert bill.total.input == 55_000
    assert bill.cost(GPT_4O) == pytest.approx(0.1375)
    assert bill.cost(GPT_4O) / bill.call_usd(GPT_4O)[-1] == pytest.approx(5.5)


def test_shorter_conversations_save_1_406_a_month_when_no_turn_is_dropped():
    long, short = (replay(FullHistory(), TURN, turns(count)).cost(GPT_4O) for count in (25, 10))
    month = 30 * 100 * long, 30 * 250 * short
    assert month == pytest.approx((2437.5, 1031.25))
    assert month[0] - 30 * 100 * short == pytest.approx(2025)  # the article's, of 1,000 turns a day against 2,500


@pytest.mark.parametrize(("kept", "count", "last", "whole"), [(15, 25, 0.40, 0.169), (10, 50, 0.80, 0.643)])
def test_what_a_window_saves_on_the_last_call_is_not_what_it_saves(kept, count, last, whole):
    full, window = (replay(policy, TURN, turns(count)) for policy in (FullHistory(), SlidingWindow(kept - 1)))
    assert 1 - window.usage.input[-1] / full.usage.input[-1] == pytest.approx(last)
    assert 1 - window.total.input / full.total.input == pytest.approx(whole, abs=5e-4)


@pytest.mark.parametrize(("every", "saved"), [(15, 0.45), (5, 0.74), (4, 0.78)])
def test_summaries_every_15_turns_save_45_percent_and_80_take_every_4(every, saved):
    sonnet, haiku = Price.of(3.0, 0.0), Price.of(0.25, 1.25)
    usd = [
        replay(policy, TURN, turns(25)).cost(sonnet, summary=haiku) for policy in (FullHistory(), SummariseEvery(every))
    ]
    assert 100 * usd[0] == pytest.approx(97.5)
    assert 1 - usd[1] / usd[0] == pytest.approx(saved, abs=0.005)


def in_turns(policy, price: Price, rules: CacheRules | None) -> float:
    """Return what a call costs in turns of plain input, the turn's own in its prompt: the mean of ten late ones."""
    bill = replay(policy, Character(0), turns(100), rules)
    return float(bill.call_usd(price)[-10:].sum() / (10 * 1000 * price.uncached / 1e6))


def test_a_sliding_window_never_reads_its_history_and_a_stepped_one_does():
    anthropic, gpt_4o, rules = Price.relative(5.0), Price.relative(4.0, 0.5, 1.0), CacheRules(300)
    sliding, stepped = SlidingWindow(15), SteppedWindow(6, 15)  # 5 of them and the turn's own, to 15
    assert in_turns(sliding, anthropic, None) == 15
    assert in_turns(sliding, anthropic, rules) == pytest.approx(15 * 1.25)
    assert in_turns(sliding, gpt_4o, rules) == pytest.approx(15)
    assert in_turns(stepped, anthropic, rules) == pytest.approx(2.775)
    assert in_turns(stepped, gpt_4o, rules) / 15 == pytest.approx(0.40)


# --- the article on NPC memory: 500 of 3,000 input tokens are retrieved memories, 1,000 history ---


def share_of_uncached(memories_first: bool, warm: float) -> float:
    """Return the dollars of a turn's input over 3,000 plain tokens; the history's newest exchange has 160 tokens.

    With the memories before the history nothing behind the 1,500 of persona and fields can be read, and the best is
    not to write it.
    """
    persona, history, newest = Block("persona", 1500), Block("history", 840), Block("newest", 160)
    memories, price = Block("memories", 500), Price.relative(5.0)
    before, now = ((persona,), (persona,)) if memories_first else ((persona, history), (persona, history, newest))
    plain = (memories, history, newest) if memories_first else (memories,)
    usd = []
    for gap_s in (10.0, 300.0):
        cache = PrefixCache(CacheRules(300))
        cache.send(Call(1, "reply", before, (), 0), 0.0)
        usd.append(price.usd(cache.send(Call(2, "reply", now, plain, 0), gap_s)))
    return (warm * usd[0] + (1 - warm) * usd[1]) / 3000


def test_memories_before_the_history_cost_55_percent_of_uncached_and_behind_it_31():
    first, last = share_of_uncached(True, 1.0), share_of_uncached(False, 1.0)
    assert (first, last) == pytest.approx((0.55, 0.31), abs=0.002)
    assert 1 - last / first == pytest.approx(0.43, abs=0.005)
    assert 1 - share_of_uncached(False, 0.93) / share_of_uncached(True, 0.93) == pytest.approx(0.37, abs=0.005)
