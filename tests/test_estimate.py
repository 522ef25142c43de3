"""The estimate: exact at a point, the mixture's mean over ranges, and budgets that are met."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npcmem import POLICIES as EVERY_POLICY
from npcmem import (
    AtTheBreak,
    Block,
    CacheRules,
    Character,
    Compaction,
    FullHistory,
    KeepAlive,
    Price,
    Retention,
    Session,
    SlidingWindow,
    SteppedWindow,
    SummariseAt,
    SummariseEvery,
    expected,
)
from npcmem.estimate import (
    DAYS_A_MONTH,
    RANGED,
    Deal,
    Game,
    Range,
    Strategy,
    cheapest,
    estimate,
    exactly,
    longer_than,
    longest,
    parts_usd,
    session_usd,
    solve,
    tornado,
)
from npcmem.money import Tier
from npcmem.offers import offer
from npcmem.paces import pace
from npcmem.pricing import worthwhile_pings

haiku, players = offer("claude-haiku-5-5"), pace("deliberate")
deal = Deal(haiku.price, haiku.rules)
POLICIES = (
    FullHistory(),
    SummariseEvery(4),
    SummariseEvery(9, 3),
    SummariseEvery(7, 0, True),
    KeepAlive(240.0, 11),
    KeepAlive(240.0, 3, policy=SummariseEvery(6, 0, True)),
    SlidingWindow(6),
    SteppedWindow(3, 9),
)
DEALS = {
    "linear": deal,
    "no cache": Deal(haiku.price, None),
    "a minimum between the prompts": Deal(haiku.price, CacheRules(300, 2400)),
    "steps": Deal(haiku.price, CacheRules(300, 1024, 128, 4, 20)),
    "the last token again": Deal(haiku.price, CacheRules(300, 16, 16, recomputes_last=True)),
    "a tier between the prompts": Deal(
        Price(1, 0.1, 1.25, 2, 5, tiers=(Tier(3000, Price(2, 0.2, 2.5, 4, 10)),)), CacheRules(300)
    ),
    "another model for memory": Deal(haiku.price, haiku.rules, Price.of(0.05, 0.2)),
}


def by_the_engine(game: Game, policy, bought: Deal, most: int | None = None) -> float:
    """Return the expected dollars of a session: the exact bill of each length times its chance."""
    value, most = {name: numbers[0] for name, numbers in exactly(game).items()}, most or longest(game)
    lasts = longer_than(np.array([value["turns"]]), game.turns_log_sd, most)[:, 0]
    who = Character(
        *(int(value[name]) for name in ("static", "summary")), game.instruction_tokens, int(value["volatile"])
    )
    session = Session.uniform(most, int(value["exchange"]), int(value["reply"]))
    other = {} if bought.memory is None or policy.shares_prefix else {"summary": bought.memory}
    bill = expected(policy, who, session, bought.rules, players.at_pace(value["think_s"]))
    return float(bill.cost_by_length(bought.price, **other) @ (lasts - np.append(lasts[1:], 0.0)))


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("bought", DEALS.values(), ids=DEALS)
def test_the_centre_is_the_exact_engine(policy, bought):
    game = Game(turns=Range(6), turns_log_sd=0.5, retried=Range(0), paused=Range(0))
    found = session_usd(exactly(game), game, Strategy(policy, players, bought))
    assert found == pytest.approx([by_the_engine(game, policy, bought)], rel=1e-12)


@settings(max_examples=15)
@given(st.sampled_from(POLICIES), st.sampled_from(sorted(DEALS)), st.integers(0, 10_000))
def test_many_draws_at_once_are_each_draw_by_itself(policy, which, number):
    unsure = {name: Range(getattr(Game(), name).value, 1.6) for name in RANGED}
    game = Game(**{**unsure, "turns": Range(8, 1.6)}, turns_log_sd=0.5)
    strategy = Strategy(policy, players, DEALS[which])
    drawn = game.draw(np.random.default_rng(number), 40)
    together = session_usd(drawn, game, strategy)
    each = [session_usd({name: values[[at]] for name, values in drawn.items()}, game, strategy)[0] for at in range(40)]
    assert together == pytest.approx(each, rel=1e-9)


def test_retries_and_pauses_cost_what_they_do():
    game = Game(turns=Range(6), turns_log_sd=0.5, retried=Range(0.1), paused=Range(0.2))
    strategy = Strategy(FullHistory(), players, deal)
    parts = parts_usd(exactly(game), game, strategy)
    calm = parts_usd(exactly(game, retried=0, paused=0), game, strategy)
    assert list(parts) == ["reply", "retry"]
    assert calm["retry"] == 0
    assert 0 < parts["retry"] < 0.1 * parts["reply"]  # the second try reads what the first has written
    assert calm["reply"] < parts["reply"] < 1.2 * calm["reply"]
    never = parts_usd(exactly(game, retried=0, paused=1), game, Strategy(FullHistory(), pace("group-chat"), deal))
    cold = parts_usd(
        exactly(game, retried=0), game, Strategy(FullHistory(), pace("group-chat"), Deal(deal.price, None))
    )
    assert never["reply"] > 0 and cold["reply"] > 0


def test_the_mean_over_ranges_is_the_mixtures():
    """Where the bill is a product of what is drawn, its mean is the product of the means."""
    game = Game(players=Range(10_000, 2.0), sessions=Range(1.5, 1.4), retried=Range(0), paused=Range(0))
    strategy = Strategy(SummariseEvery(7, 0, True), players, deal)
    found = estimate(game.draw(np.random.default_rng(3), 100_000), game, strategy).month
    exact = game.players.mean() * game.sessions.mean() * DAYS_A_MONTH * session_usd(exactly(game), game, strategy)[0]
    assert found.mean() == pytest.approx(exact, abs=4 * found.std(ddof=1) / math.sqrt(len(found)))
    assert np.median(found) == pytest.approx(estimate(exactly(game), game, strategy).month[0], rel=0.02)


def test_a_range_is_what_it_says():
    drawn = Range(200, 1.5).draw(np.random.default_rng(1), 200_000)
    assert np.quantile(drawn, (0.1, 0.5, 0.9)) == pytest.approx([200 / 1.5, 200, 300], rel=0.01)
    assert drawn.mean() == pytest.approx(Range(200, 1.5).mean(), rel=0.005)
    assert (Range(7).draw(np.random.default_rng(1), 5) == 7).all()
    with pytest.raises(ValueError, match="^spread must be >= 1 times, got 0.5$"):
        Range(7, 0.5)


@given(st.floats(1, 80), st.floats(0, 1.5))
def test_sessions_end_some_time(turns, log_sd):
    lasts = longer_than(np.array([turns]), log_sd, 300)[:, 0]
    assert lasts[0] == 1
    assert (np.diff(lasts) <= 1e-15).all()
    assert lasts[round(turns) - 1] >= 0.5 - 1e-9 or turns % 1 == 0.5


def test_what_is_unsure_moves_the_bill_the_widest_first():
    game = Game(players=Range(10_000, 1.2), turns=Range(15, 2.0), think_s=Range(110, 1.1))
    rows = tornado(game, Strategy(SummariseEvery(7, 0, True), players, deal))
    assert [name for name, *_ in rows] == ["turns", "players", "think_s"]
    swings = [abs(high - low) for _, low, high in rows]
    assert swings == sorted(swings, reverse=True)
    low = estimate(exactly(game, turns=7.5), game, Strategy(SummariseEvery(7, 0, True), players, deal)).month[0]
    assert rows[0][1] == pytest.approx(low, rel=1e-9)
    assert tornado(Game(), Strategy(FullHistory(), players, deal)) == []


@pytest.mark.parametrize(
    ("knob", "least", "most"), [("most_turns", 2, 400), ("static", 0, 20_000), ("exchange", 80, 2000)]
)
def test_a_budget_is_met_to_the_cent_and_no_larger_value_meets_it(knob, least, most):
    game, strategy = Game(), Strategy(FullHistory(), players, deal)
    budget = 1.02 * estimate(exactly(game), game, strategy).player_day[0]
    found = solve(game, strategy, budget, knob, least, most)
    assert found.meets and found.usd <= budget

    def cost(value):
        if knob == "most_turns":
            return estimate(exactly(game), game, Strategy(FullHistory(), players, deal, int(value))).player_day[0]
        return estimate(exactly(game, **{knob: value}), game, strategy).player_day[0]

    assert cost(found.value) == pytest.approx(found.usd)
    assert found.value == most or cost(found.value + 1) > budget


def test_a_budget_that_nothing_meets_is_answered_with_the_nearest():
    found = solve(Game(), Strategy(FullHistory(), players, deal), 1e-6, "static", 0, 20_000)
    assert (found.value, found.meets) == (0, False)
    assert found.usd > 1e-6
    with pytest.raises(KeyError, match="unknown knob 'statik'; nearest: 'static'"):
        solve(Game(), Strategy(FullHistory(), players, deal), 1.0, "statik", 0, 1)


def test_the_cheapest_is_the_cheapest_of_all_intervals():
    game = Game(turns=Range(12), turns_log_sd=0.5, retried=Range(0))
    best = cheapest(game, players, deal)
    others = [SummariseEvery(k, 0, shares) for k in range(1, 25) for shares in (False, True)]
    pings = worthwhile_pings(players.at_pace(110), haiku.rules, haiku.price)
    others += [FullHistory()]
    others += [KeepAlive(policy=one).suited(300.0, pings) for one in others]
    usd = {one: session_usd(exactly(game), game, Strategy(one, players, deal))[0] for one in others}
    assert session_usd(exactly(game), game, Strategy(best, players, deal))[0] <= min(usd.values()) * (1 + 1e-9)
    forgetful = Retention(0.5, 0.9)
    assert not isinstance(cheapest(game, players, deal, retention=forgetful, least_recall=0.99), SummariseEvery)


def test_the_cheapest_memory_is_a_matter_of_the_session_alone():
    game = Game(turns=Range(12), turns_log_sd=0.5, players=Range(100, 3), sessions=Range(9, 2), stickiness=Range(0.9))
    assert cheapest(game, players, deal) == cheapest(Game(turns=Range(12, 1.5), turns_log_sd=0.5), players, deal)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_pattern_serves_every_shorter_session(policy):
    game = Game(turns=Range(20), retried=Range(0), paused=Range(0))
    for most in (2, 49, 99, 100, 101, 430):
        strategy = Strategy(policy, players, deal, most)
        assert session_usd(exactly(game), game, strategy) == pytest.approx([by_the_engine(game, policy, deal, most)])


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=lambda policy: policy.name)
def test_a_policy_that_does_more_than_count_is_refused_and_any_other_is_exact(policy):
    game = Game(turns=Range(12), turns_log_sd=0.7, retried=Range(0), paused=Range(0))
    strategy = Strategy(policy, players, deal)
    if policy.only_counts:
        assert session_usd(exactly(game), game, strategy) == pytest.approx([by_the_engine(game, policy, deal)])
        return
    with pytest.raises(ValueError, match="^policy must only count exchanges for an estimate over ranges, got '"):
        session_usd(exactly(game), game, strategy)


def test_a_policy_without_its_own_limit_only_counts():
    unlimited = SlidingWindow(8), SummariseAt(math.inf), Compaction(math.inf), AtTheBreak(break_s=math.inf)
    assert all(policy.only_counts for policy in unlimited)
    assert not KeepAlive(policy=SummariseAt(900)).only_counts


def test_a_block_of_its_own_is_not_counted_as_nothing():
    class Chatty(FullHistory):
        def prompt(self, memory):
            return memory.prompt, (Block("weather", 50),)

    with pytest.raises(KeyError, match="unknown block for an estimate 'weather'"):
        session_usd(exactly(Game()), Game(), Strategy(Chatty(), players, deal))


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (CacheRules(300, cached_blocks=1), "cached_blocks must be None"),
        (CacheRules(300, long_ttl_s=3600, long_blocks=1), "long_blocks must be 0"),
        (CacheRules(300, capacity_tokens=3000), "capacity_tokens must be >= "),
        (CacheRules(3600, refreshes=False, pays_storage=True), "refreshes must be True"),
    ],
)
def test_a_cache_that_only_a_replay_can_follow_is_refused(rules, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        session_usd(exactly(Game()), Game(), Strategy(FullHistory(), players, Deal(haiku.price, rules)))


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Game(turns=20), TypeError, "turns must be a Range, got 20"),
        (lambda: Game().at(turns=0), ValueError, "turns must be > 0 turns, got 0"),
        (lambda: Game().at(think_s=0), ValueError, "think_s must be > 0 seconds, got 0"),
        (lambda: Game().at(turnz=20), KeyError, "unknown number of a game 'turnz'; nearest: 'turns'"),
        (lambda: Game().at(turns_log_sd=0.5), KeyError, "unknown number of a game 'turns_log_sd'"),
        (lambda: Game(turns_log_sd=-1), ValueError, "turns_log_sd must be >= 0"),
        (lambda: Game(instruction_tokens=-1), ValueError, "instruction_tokens must be >= 0 tokens, got -1"),
        (lambda: exactly(Game(), turnz=100), KeyError, "unknown number of a game 'turnz'"),
        (lambda: exactly(Game(), turns=-5), ValueError, "value must be >= 0"),
        (lambda: Strategy(FullHistory(), players, deal, 0), ValueError, "most_turns must be >= 1 turns, got 0"),
        (lambda: cheapest(Game(), players, deal, least_recall=95), ValueError, "least_recall must be <= 1"),
        (
            lambda: solve(Game(), Strategy(FullHistory(), players, deal), 0.01, "static", 5000, 10),
            ValueError,
            "static must have a whole number to choose, got none from 5000 to 10",
        ),
    ],
)
def test_what_cannot_be_a_game_is_a_sentence(make, error, said):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value.args[0]).startswith(said)
