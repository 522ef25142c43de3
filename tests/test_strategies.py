"""Policies side by side: each is its own expectation, none is below the bound, and every cell of a map is exact."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npcmem import CacheRules, Character, Empirical, Price, Retention, Session, expected, outlook, replay
from npcmem.money import CLASSES, Tier
from npcmem.offers import offers
from npcmem.paces import pace, paces
from npcmem.policies import (
    POLICIES,
    AtTheBreak,
    Compaction,
    Deduplicate,
    FullHistory,
    KeepAlive,
    Layers,
    Retrieval,
    SlidingWindow,
    SteppedWindow,
    SummariseEvery,
)
from npcmem.pricing import worthwhile_pings
from npcmem.schedule import bound
from npcmem.strategies import (
    BEST_INTERVALS,
    EMBEDDING,
    Prices,
    at_k_and_2k,
    compare,
    cost_map,
    interval_curve,
    least,
    result,
)

MAIN = Price(3.0, 0.3, 3.75, 6.0, 15.0)
TIERED = replace(MAIN, tiers=(Tier(2500, MAIN.scaled(uncached=2, read=2, write=2, output=1.5)), Tier(4000, MAIN)))
CHEAP = Price(0.25, 0.02, 0.3, 0.5, 1.25)
CHARACTER, RULES, KEPT = Character(1800, 150, 120, 300), CacheRules(300, 1024), Retention(0.6, 0.95, 0.3)
SESSION, PACE = Session.uniform(24).with_scenes(7).with_repeats(0.2), pace("deliberate")
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)


def compared(prices: Prices, head_warm: float = 0.0):
    return compare(POLICIES, CHARACTER, SESSION, RULES, PACE, prices, KEPT, head_warm)


# --- side by side ---------------------------------------------------------------------------------


def test_a_comparison_is_cheapest_first_and_holds_each_policy_once():
    found = compared(Prices(MAIN, CHEAP))
    usd = [one.usd for one in found.results]
    assert usd == pytest.approx(sorted(usd), rel=1e-10)
    assert sorted(one.policy.name for one in found.results) == sorted(policy.name for policy in POLICIES)
    assert found.bound == least(CHARACTER, SESSION, RULES, PACE, Prices(MAIN, CHEAP))
    assert [found.over_bound(one) for one in found.results] == pytest.approx([x / found.bound.usd - 1 for x in usd])


@every_policy
@pytest.mark.parametrize("price", [MAIN, TIERED], ids=["flat", "tiers"])
def test_a_result_is_the_outlook_of_its_policy(policy, price):
    found = result(policy, CHARACTER, SESSION, RULES, PACE, Prices(price, CHEAP), KEPT)
    seen = outlook(policy, CHARACTER, SESSION, RULES, PACE, KEPT)
    assert (found.recall, found.oldest) == (seen.recall[-1], seen.oldest[-1])
    assert (found.hit_rate, found.read_share) == (seen.bill.hit_rate, seen.bill.read_share)
    replies = seen.bill.only("reply")
    assert math.fsum(getattr(found.reply_usd, name) for name in CLASSES) == pytest.approx(replies.cost(price))
    shorter = outlook(policy, CHARACTER, first(SESSION, 23), RULES, PACE, KEPT).bill.only("reply")
    assert found.last_usd == pytest.approx(replies.cost(price) - shorter.cost(price))


@every_policy
def test_a_session_walked_before_says_the_same_as_one_walked_anew(policy):
    """Pace, retention, prices and other players' traffic may be other ones: what may happen is kept, not how likely."""
    walked = Session.uniform(24).with_scenes(7).with_repeats(0.2)
    outlook(policy, CHARACTER, walked, RULES, [PACE, PACE.scaled(3)], KEPT, 0.5)
    for paces_, kept, head in (([PACE.scaled(0.2)], Retention(0.9, 0.5), 0.1), ([PACE.scaled(9), PACE], KEPT, 0.0)):
        again = outlook(policy, CHARACTER, walked, RULES, paces_, kept, head)
        anew = outlook(policy, CHARACTER, first(walked, 24), RULES, paces_, kept, head)
        assert np.array_equal(again.recall, anew.recall) and np.array_equal(again.oldest, anew.oldest)
        assert np.array_equal(again.bill.cost_by_length(MAIN), anew.bill.cost_by_length(MAIN))
    before = again.bill.cost_by_length(MAIN)
    with contextlib.suppress(ValueError):  # read-only, or the caller's own
        again.bill.usage.output[:] = 0
    once_more = outlook(policy, CHARACTER, walked, RULES, paces_, kept, head)
    assert np.array_equal(once_more.bill.cost_by_length(MAIN), before)


def first(session: Session, turns: int) -> Session:
    """Return the first turns of a session."""
    columns = (session.exchange_tokens[:turns], session.reply_tokens[:turns], session.gaps_s[: turns - 1])
    return Session(*columns, session.topics[:turns], session.similarities[:turns])


@every_policy
@pytest.mark.parametrize("price", [MAIN, TIERED], ids=["flat", "tiers"])
def test_each_kind_of_call_is_paid_at_the_price_of_who_makes_it(policy, price):
    found = result(policy, CHARACTER, SESSION, RULES, PACE, Prices(price, CHEAP), KEPT)
    bill = expected(policy, CHARACTER, SESSION, RULES, PACE)
    its = {"reply": price, "ping": price, "embedding": EMBEDDING, "importance": CHEAP, "reflection": CHEAP}
    its["summary"] = price if policy.shares_prefix else CHEAP
    for kind in its:
        assert found.usd_by_kind.get(kind, 0.0) == pytest.approx(bill.only(kind).cost(its[kind])), kind
    assert found.usd == pytest.approx(math.fsum(found.usd_by_kind.values()), rel=1e-12)


def test_without_a_model_for_memory_the_characters_own_makes_all_but_the_embeddings():
    for one in compared(Prices(MAIN)).results:
        bill = expected(one.policy, CHARACTER, SESSION, RULES, PACE)
        assert one.usd == pytest.approx(bill.cost(MAIN, embedding=EMBEDDING))


def test_the_replies_of_a_tier_are_paid_in_its_classes():
    """Two turns known beforehand: the first below the boundary and written, the second past it and read."""
    who, one, above = Character(1000), Session.uniform(2, 400, 100), 1300
    price = replace(MAIN, tiers=(Tier(above, MAIN.scaled(read=2, write=3, output=4)),))
    paid = result(FullHistory(), who, one, CacheRules(300), None, Prices(price), KEPT).reply_usd
    assert paid.write * 1e6 == pytest.approx(1000 * 3.75 + 400 * 3.75 * 3)
    assert paid.read * 1e6 == pytest.approx(1000 * 0.3 * 2)
    assert paid.output * 1e6 == pytest.approx(100 * 15 + 100 * 15 * 4)
    assert (paid.uncached, paid.write_long) == (0, 0)


@pytest.mark.parametrize("floor", [0.0, 0.5, 0.95, 1.0])
def test_the_cheapest_that_recalls_enough_is_that_of_a_search_by_hand(floor):
    found = compared(Prices(MAIN, CHEAP))
    enough = [one for one in found.results if one.recall >= floor - 1e-12]
    assert found.at_least(floor) == tuple(enough)
    assert found.cheapest(floor) is min(enough, key=lambda one: one.usd)
    assert found.cheapest(1.01) is None


def test_the_front_holds_what_no_cheaper_policy_recalls_as_well_as():
    found = compared(Prices(MAIN, CHEAP))
    front = found.front()
    for one in found.results:
        outdone = any(other.usd <= one.usd and other.recall >= one.recall - 1e-12 for other in front if other != one)
        assert (one in front) != outdone, one.policy.name
    assert [one.recall for one in front] == sorted(one.recall for one in front)
    assert front[0] is found.cheapest()


@pytest.mark.parametrize("shares", [False, True])
def test_an_interval_and_twice_it_is_one_call(shares):
    asked = (CHARACTER, SESSION, RULES, PACE, Prices(MAIN, CHEAP), KEPT)
    pair = at_k_and_2k(5, *asked, shares_prefix=shares)
    assert [one.policy for one in pair] == [SummariseEvery(k, shares_prefix=shares) for k in (5, 10)]
    alone = [result(one.policy, *asked) for one in pair]
    assert [(one.usd, one.recall, one.usd_by_kind) for one in pair] == [
        (one.usd, one.recall, one.usd_by_kind) for one in alone
    ]
    assert pair[1].recall > pair[0].recall


def test_a_warmer_head_never_costs_more_and_at_a_slow_pace_costs_less():
    slow = PACE.scaled(5)
    of = {"character": CHARACTER, "session": SESSION, "rules": RULES, "prices": Prices(MAIN, CHEAP)}
    found = [compare(POLICIES, gaps=slow, retention=KEPT, head_warm=warm, **of) for warm in (0.0, 0.4, 1.0)]
    usd = np.array([[{one.policy: one.usd for one in each.results}[policy] for policy in POLICIES] for each in found])
    assert (np.diff(usd, axis=0) < 0).all()
    assert [each.bound.usd for each in found] == [least(gaps=slow, head_warm=x, **of).usd for x in (0.0, 0.4, 1.0)]
    assert (np.diff([each.bound.usd for each in found]) < 0).all()
    maps = [cost_map(POLICIES, paces=[slow], retention=KEPT, head_warm=x, **of) for x in (0.0, 0.4, 1.0)]
    assert [each.usd[: len(POLICIES), -1, 0].tolist() for each in maps] == [pytest.approx(row) for row in usd]
    assert (np.diff([each.usd[:, 1:] for each in maps], axis=0) < 0).all()


# --- the bound ------------------------------------------------------------------------------------

speeds = st.tuples(st.sampled_from([one.think_time for one in paces().values()]), st.sampled_from([0.1, 1, 10, 60]))
gaps = st.none() | speeds.map(lambda pair: pair[0].scaled(pair[1]))


@st.composite
def scenarios(draw, rules: CacheRules) -> tuple[Character, Session]:
    least = rules.min_tokens
    near = [max(least + more, 0) for more in (-160, -120, -1, 0, 1, 160)]
    who = Character(
        draw(st.sampled_from([0, 200, 1800, 8000, *near])),
        draw(st.sampled_from([0, 150, 400])),
        draw(st.sampled_from([0, 120])),
        draw(st.sampled_from([0, 300])),
    )
    turns, most = draw(st.integers(1, 20)), draw(st.sampled_from([1, 160, 500, 2000]))
    exchange = draw(st.lists(st.integers(0, most), min_size=turns, max_size=turns) | st.just([most] * turns))
    reply = [draw(st.integers(0, tokens)) for tokens in exchange]
    ttl_s = min(rules.ttl_s, 1e6)
    gap_s = st.sampled_from([1.0, 0.5 * ttl_s, ttl_s, 3 * ttl_s, 30 * ttl_s])
    one = Session(exchange, reply, draw(st.lists(gap_s, min_size=turns - 1, max_size=turns - 1)))
    return who, one.with_scenes(draw(st.integers(1, 8))).with_repeats(draw(st.sampled_from([0, 0.2, 0.6])))


def least_usd(policy, who, session, rules, gaps, prices) -> float:
    """Return what no policy of its kind can cost less than.

    The least of all schedules of summaries; where exchanges may be dropped, of dropping them too. Of one that puts
    fields behind the static part: with the fields in the static part, as if they never changed. Of one that leaves
    repeats out: without their exchanges, but with their replies.
    """
    if isinstance(policy, Deduplicate):
        told = session.similarities <= policy.threshold
        apart = prices.main.output / 1e6 * session.reply_tokens[~told].sum()
        tokens = {"exchange_tokens": session.exchange_tokens * told, "reply_tokens": session.reply_tokens * told}
        return apart + least_usd(policy.policy, who, replace(session, **tokens), rules, gaps, prices)
    if isinstance(policy, Layers):
        who = replace(who, static_tokens=who.static_tokens + policy.fields_tokens)
    usd = least(who, session, rules, gaps, prices).usd
    return min(usd, bound(who, session, rules, gaps, prices.main, may_drop=True).usd) if policy.forgets else usd


CACHES = {
    f"{id}, {rules.ttl_s:g} s": (offer.price, rules)
    for id, offer in offers().items()
    for rules in (offer.rules, offer.rules_long)
    if rules is not None and rules.refreshes and rules.cached_blocks is None  # as a closed form asks
}


@pytest.mark.parametrize(("price", "rules"), CACHES.values(), ids=CACHES)
@settings(max_examples=max(settings.default.max_examples // 20, 1))
@given(st.data())
def test_no_policy_on_any_models_cache_costs_less_than_the_bound(price, rules, data):
    who, session = data.draw(scenarios(rules))
    asked = (who, session, rules, data.draw(gaps), Prices(price, data.draw(st.sampled_from([None, CHEAP]))))
    bounds: dict[object, float] = {}
    for policy in POLICIES:
        if policy.counts_seconds and asked[3] is not None:
            continue  # of which only known gaps say what it does
        policy = policy.suited(rules.ttl_s) if math.isfinite(rules.ttl_s) else policy
        kind = policy if isinstance(policy, Deduplicate | Layers) else policy.forgets
        bounds[kind] = bounds.get(kind) or least_usd(policy, *asked)
        found = result(policy, *asked, Retention())
        assert found.usd >= bounds[kind] * (1 - 1e-9), policy.name


def test_the_models_caches_left_out_are_those_that_only_a_replay_can_follow():
    every = [rules for offer in offers().values() for rules in (offer.rules, offer.rules_long) if rules]
    for rules in every:
        if rules in [kept for _, kept in CACHES.values()]:
            rules.check_closed_form(100_000)
        else:
            with pytest.raises(ValueError, match="(refreshes|cached_blocks) must be"):
                rules.check_closed_form(100_000)


def test_fields_may_lift_a_prompt_over_the_minimum_and_so_cost_less_than_none():
    """Why the law counts the fields: 120 tokens more, and the whole prompt is read from the cache."""
    who, one, rules = Character(4000), Session.uniform(20, 160, 80), CacheRules(300, 4096)
    asked = (who, one, rules, None, Prices(MAIN))
    layers = Layers(turns=0, policy=SteppedWindow(0, 0), importance_tokens=0, reflect_every=math.inf, fields_every=100)
    usd = result(layers, *asked, Retention()).usd
    assert usd < bound(who, one, rules, None, MAIN, may_drop=True).usd
    assert usd >= least_usd(layers, *asked)


def test_leaving_repeats_out_may_hold_a_prompt_just_over_the_minimum():
    """Why the law counts them: a window of the oldest cannot stay at one length, so every turn would write."""
    who, rules = Character(1800, 400, 120), CacheRules(300, 2048)
    one = Session.uniform(20, 500, 80).with_repeats(0.6)
    asked = (who, one, rules, None, Prices(MAIN))
    policy = Deduplicate(policy=SummariseEvery(15))
    usd = result(policy, *asked, Retention()).usd
    assert usd < bound(who, replace(one, similarities=None), rules, None, MAIN, may_drop=True).usd
    assert usd >= least_usd(policy, *asked)


# --- every interval -------------------------------------------------------------------------------

GROWING = Character(1800, 150, 120, 300, 500, 2.5)
SEVERAL = {
    "exact": CacheRules(300),
    "coarse": CacheRules(300, 2048, 128, 4, 20),
    "an hour": CacheRules(3600, 1024, long_writes=True),
    "the last token again": CacheRules(300, recomputes_last=True),
    "for ever": CacheRules(math.inf),
    "none": None,
}
STORED = replace(MAIN, storage_usd_per_mtok_hour=4.5)


@pytest.mark.parametrize("rules", SEVERAL.values(), ids=SEVERAL)
@pytest.mark.parametrize("who", [Character(1800), GROWING], ids=["plain", "growing"])
@pytest.mark.parametrize("head_warm", [0.0, 0.7])
def test_the_curve_of_intervals_is_the_expectation_of_each(rules, who, head_warm):
    one, prices = Session.uniform(10), Prices(STORED, CHEAP)
    curve = interval_curve(who, one, rules, PACE, prices, KEPT, head_warm)
    for k in range(1, 11):
        pair = [SummariseEvery(k, shares_prefix=shares) for shares in (False, True)]
        alone = [result(policy, who, one, rules, PACE, prices, KEPT, head_warm) for policy in pair]
        assert curve.usd[0, k - 1] == pytest.approx(min(each.usd for each in alone), rel=1e-12)
        assert curve.recall[k - 1] == pytest.approx(alone[0].recall)
        alive = alone
        if rules is not None:
            pings = worthwhile_pings(PACE, rules, prices.main)
            kept = [KeepAlive(policy=policy).suited(rules.ttl_s, pings) for policy in pair]
            alive = [result(policy, who, one, rules, PACE, prices, KEPT, head_warm) for policy in kept]
        assert curve.usd[1, k - 1] == pytest.approx(min(each.usd for each in alive), rel=1e-12)
        for row, each in enumerate((alone, alive)):
            assert each[int(curve.shared[row, k - 1])].usd == pytest.approx(curve.usd[row, k - 1])


@pytest.mark.parametrize("floor", [0.0, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("alive", [False, True])
def test_the_best_interval_is_the_cheapest_that_recalls_enough(floor, alive):
    prices = Prices(MAIN, CHEAP)
    best = interval_curve(CHARACTER, SESSION, RULES, PACE, prices, KEPT).best(floor, alive)

    def around(policy):
        pings = worthwhile_pings(PACE, RULES, MAIN)
        return KeepAlive(policy=policy).suited(RULES.ttl_s, pings) if alive else policy

    every = [SummariseEvery(k, shares_prefix=shares) for k in range(1, 25) for shares in (False, True)]
    results = [result(around(one), CHARACTER, SESSION, RULES, PACE, prices, KEPT) for one in every]
    enough = [one.usd for one in results if one.recall >= floor - 1e-12]
    chosen = results[every.index(best)]
    assert chosen.usd == pytest.approx(min(enough), rel=1e-12)
    assert chosen.recall >= floor - 1e-12


def test_a_curve_of_unlike_exchanges_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="^exchange_tokens must all be alike for a closed form, got 100 to 160 tokens"):
        interval_curve(CHARACTER, Session([100, 160], [80, 80], [30.0]), RULES, PACE, Prices(MAIN), KEPT)


# --- a map over lengths and paces -----------------------------------------------------------------

PACES = [PACE, PACE.scaled(0.1), PACE.scaled(8)]


@pytest.mark.parametrize("price", [MAIN, TIERED], ids=["flat", "tiers"])
def test_the_cells_of_a_map_are_the_result_of_each_policy_there(price):
    prices = Prices(price, CHEAP)
    grid = cost_map(POLICIES, CHARACTER, SESSION, RULES, PACES, prices, KEPT, head_warm=0.2)
    assert grid.usd.shape == grid.recall.shape == (len(POLICIES) + 2, 24, 3)
    assert grid.names == (*(policy.name for policy in POLICIES), *BEST_INTERVALS)
    for turns, which in itertools.product((1, 2, 7, 16, 24), range(3)):
        asked = (CHARACTER, first(SESSION, turns), RULES, PACES[which], prices, KEPT, 0.2)
        there = {one.policy: one for one in grid.results(prices, turns, which)}
        for at, policy in enumerate(POLICIES):
            found = result(policy, *asked)
            assert grid.usd[at, turns - 1, which] == pytest.approx(found.usd, rel=1e-12)
            assert grid.recall[at, turns - 1, which] == pytest.approx(found.recall)
            for name in ("usd", "usd_by_kind", "last_usd", "recall", "oldest", "hit_rate", "read_share"):
                assert getattr(there[policy], name) == pytest.approx(getattr(found, name), rel=1e-12), name
            assert there[policy].reply_usd.as_dict() == pytest.approx(found.reply_usd.as_dict(), rel=1e-12)
        usd = [one.usd for one in grid.results(prices, turns, which)]
        assert usd == pytest.approx(sorted(usd), rel=1e-10)


@pytest.mark.parametrize("floor", [0.0, 0.7, 0.9, 1.0])
def test_the_best_intervals_of_a_map_are_the_best_by_brute_force_in_every_cell(floor):
    prices, turns = Prices(MAIN, CHEAP), 9
    who, rules = Character(200, 40, 20), CacheRules(300, 512)
    one = Session.uniform(turns, 300, 100)
    grid = cost_map([FullHistory()], who, one, rules, PACES, prices, KEPT, least_recall=floor)
    for n, (which, there) in itertools.product(range(1, turns + 1), enumerate(PACES)):
        for row in (0, 1):
            best = None
            for k, shares in itertools.product(range(1, n + 1), (False, True)):
                policy = SummariseEvery(k, shares_prefix=shares)
                pings = worthwhile_pings(there, rules, MAIN)
                policy = KeepAlive(policy=policy).suited(300.0, pings) if row else policy
                found = result(policy, who, first(one, n), rules, there, prices, KEPT)
                if found.recall >= floor - 1e-12 and (best is None or found.usd < best.usd * (1 - 1e-12)):
                    best, best_k = found, k
            assert grid.usd[1 + row, n - 1, which] == pytest.approx(best.usd, rel=1e-12)
            assert grid.recall[1 + row, n - 1, which] == pytest.approx(best.recall)
            assert grid.intervals[row, n - 1, which] == best_k


@pytest.mark.parametrize("floor", [0.0, 0.8, 0.95, 1.0])
def test_a_cells_winner_is_the_cheapest_that_recalls_enough(floor):
    grid = cost_map(POLICIES, CHARACTER, SESSION, RULES, PACES, Prices(MAIN, CHEAP), KEPT, least_recall=floor)
    for n, which in itertools.product(range(24), range(3)):
        usd, knows = grid.usd[:, n, which], grid.recall[:, n, which]
        enough = [at for at in range(len(usd)) if knows[at] >= floor - 1e-12]
        least_there = min(usd[at] for at in enough)
        winner = next(at for at in enough if usd[at] <= least_there * (1 + 1e-12))
        assert grid.winners[n, which] == winner
    assert len(np.unique(grid.winners)) > 1


ACTIVE = (
    FullHistory(),
    KeepAlive(240.0, 2),
    KeepAlive(240.0, 1, policy=SummariseEvery(2, shares_prefix=True)),
    SlidingWindow(1),
    SteppedWindow(1, 2),
    SummariseEvery(2),
    SummariseEvery(2, 1),
    SummariseEvery(2, shares_prefix=True),
    AtTheBreak(300.0, 1, 3),
    Compaction(2000),
    Retrieval(1, policy=SteppedWindow(0, 1)),
    Layers(1, policy=SteppedWindow(0, 1), fields_every=2, reflect_every=2),
    Deduplicate(policy=SummariseEvery(2)),
)


def test_the_cells_of_a_map_are_the_mean_of_every_sequence_of_gaps_replayed():
    """Three kinds of gap, up to four turns, 27 sessions: nothing is drawn."""
    kinds, prices = np.array([10.0, 310.0, 4000.0]), Prices(TIERED, CHEAP)
    one = Session.uniform(4, 400, 100).with_scenes(2).with_repeats(0.4)
    grid = cost_map(ACTIVE, CHARACTER, one, RULES, [Empirical(kinds)], prices, KEPT)
    for at, policy in enumerate(ACTIVE):
        for turns in range(1, 5):
            short = first(one, turns)
            usd = [
                replay(policy, CHARACTER, short.with_gaps(np.array(which)), RULES).cost(
                    prices.main, **prices.other(policy)
                )
                for which in itertools.product(kinds, repeat=turns - 1)
            ]
            assert grid.usd[at, turns - 1, 0] == pytest.approx(np.mean(usd), rel=1e-12), (policy.name, turns)


def test_a_break_may_be_pinged_through_at_length_and_the_bound_knows():
    """Where reading costs a fortieth, some fifty pings are worth their price: no number of them is below the bound."""
    fable = offers()["claude-fable-5-1"]
    gaps, prices = Empirical([60.0, 60.0, 60.0, 6000.0]), Prices(fable.price)
    asked = (Character(5000), Session.uniform(10), fable.rules, gaps)
    lowest = least(*asked, prices).usd
    for pings in (0, 5, 12, 21, 40):
        assert result(KeepAlive(299.0, pings), *asked, prices, KEPT).usd >= lowest * (1 - 1e-12)
    assert result(KeepAlive(299.0, 21), *asked, prices, KEPT).usd < 1.01 * lowest


@pytest.mark.parametrize(("r", "w"), [(0.5, 1.0), (0.1, 1.25), (0.025, 1.25), (0.0, 1.25), (1.25, 1.0)])
def test_the_pings_worth_their_price_are_the_best_number_by_brute_force(r, w):
    price, rules, there = Price.relative(5.0, r, w), CacheRules(300), pace("deliberate")
    best = worthwhile_pings(there, rules, price)
    who, one = Character(50_000), Session.uniform(3, 1, 0)  # a prompt that hardly grows: pings are all that matters
    usd = [
        expected(KeepAlive(240.0, most), who, one, rules, there).cost(price.scaled(output=0.0)) for most in range(60)
    ]
    assert usd[min(best, 59)] == pytest.approx(min(usd), rel=1e-4)
    assert worthwhile_pings(there, CacheRules(math.inf), price) == worthwhile_pings(there, None, price) == 0


def test_a_recall_that_is_no_share_is_refused_in_a_sentence():
    uniform, prices = Session.uniform(6, 160, 80), Prices(MAIN)
    with pytest.raises(ValueError, match=r"^least_recall must be <= 1 \(share of what was told\), got 95$"):
        interval_curve(CHARACTER, uniform, RULES, PACE, prices, KEPT).best(95)
    with pytest.raises(ValueError, match="least_recall must be >= 0"):
        cost_map([FullHistory()], CHARACTER, uniform, RULES, [PACE], prices, KEPT, least_recall=-0.1)


@pytest.mark.parametrize("context_tokens", [4_000, 8_000, 16_000])
def test_the_map_recommends_nothing_that_does_not_fit(context_tokens):
    grid = cost_map(
        POLICIES, CHARACTER, Session.uniform(60), RULES, PACES, Prices(MAIN), KEPT,
        least_recall=0.9, context_tokens=context_tokens,
    )  # fmt: skip
    for policy, fits in zip(POLICIES, grid.fits, strict=False):
        for turns in (1, 20, 60):
            one = Session.uniform(turns).with_gaps(np.full(turns - 1, 30.0))
            bill = replay(policy, CHARACTER, one, RULES)
            assert not fits[turns - 1] or (bill.usage.input + bill.usage.output).max() <= context_tokens
    chosen = grid.winners
    recall = np.take_along_axis(grid.recall, chosen[None], axis=0)[0]
    fit = grid.fits[chosen, np.arange(60)[:, None]]
    most = np.where(grid.fits[:, :, None], grid.recall, -1.0).max(axis=0)
    assert (fit | ~grid.fits.any(axis=0)[:, None]).all()
    assert ((recall >= 0.9 - 1e-12) | np.isclose(recall, most)).all()
