"""The figures printed in the articles on the summary interval and on caching and think time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npcmem import CacheRules, Character, FullHistory, Price, Session, SummariseEvery, band, crossover, replay, sweep
from npcmem import formulas as f
from npcmem.paces import pace
from npcmem.policies import calls

S, m, s, q, o, n, rho = 1800, 160, 150, 120, 80, 60, 5.0
r, w, w_long = 0.1, 1.25, 2.0
CHARACTER, PRICE = Character(S, s, q), Price.relative(rho)
WARM = CacheRules(300)


def costs(turns: int, rules: CacheRules | None = None, warm: float = 0.0, static_tokens: int = S) -> np.ndarray:
    """Cost in input tokens, a row for each k and a column for each session length."""
    return sweep(Character(static_tokens, s, q), m, o, turns, rules, warm, PRICE)


# --- the summary interval -------------------------------------------------------------------------


def test_60_turns_resend_391_200_tokens_72_percent_of_them_history():
    assert f.full_history_input_tokens(n, S, m) == 391_200
    assert replay(FullHistory(), CHARACTER, Session.uniform(n, m, o)).total.input == 391_200
    assert f.repeated_share(n, S, m) == pytest.approx(0.724, abs=5e-4)


def test_the_static_prompt_is_no_rounding_error():
    assert n * S / f.full_history_input_tokens(n, S, m) == pytest.approx(0.276, abs=5e-4)
    last = replay(FullHistory(), CHARACTER, Session.uniform(n, m, o)).usage.input[-1]
    assert S / last == pytest.approx(0.160, abs=5e-4)


def test_twice_the_turns_cost_about_three_times_as_much_not_four():
    tokens = f.full_history_input_tokens
    assert tokens(60, S, m) / tokens(30, S, m) == pytest.approx(3.17, abs=0.005)
    assert tokens(120, S, m) / tokens(60, S, m) == pytest.approx(3.47, abs=0.005)
    assert tokens(60, S, 2 * m) / tokens(60, S, m) == pytest.approx(1.72, abs=0.005)


def test_the_players_line_the_article_leaves_out_is_1_percent():
    assert f.full_history_input_tokens(n, S, m, 80) / f.full_history_input_tokens(n, S, m) == pytest.approx(
        1.0123, abs=5e-5
    )


def test_the_uncached_optimum_is_3_571_and_in_whole_exchanges_4():
    assert f.optimal_interval_uncached(m, s, q, rho) == pytest.approx(3.571, abs=5e-4)
    curve = costs(n)[:, -1]
    best = curve.min()
    assert curve.argmin() + 1 == 4
    assert [round(100 * (curve[k - 1] / best - 1), 2) for k in (3, 5, 6)] == [0.34, 0.80, 2.18]


def test_the_root_is_the_minimum_of_the_long_run_cost():
    k = np.linspace(1, 20, 190_001)
    assert k[f.summarise_cost_long_run(n, k, S, m, s, q, o, rho).argmin()] == pytest.approx(3.571, abs=1e-3)


def test_summarising_saves_57_percent_at_60_turns():
    full = f.full_history_cost(n, S, m, o, rho)
    bill = replay(SummariseEvery(4), CHARACTER, Session.uniform(n, m, o))
    assert 1 - bill.cost(PRICE) / full == pytest.approx(0.572, abs=5e-4)
    assert 1 - bill.total.input / 391_200 == pytest.approx(0.633, abs=5e-4)


def test_an_interval_of_4_wins_at_8_loses_at_9_and_wins_from_10():
    usd, turns = costs(60), np.arange(1, 61)
    against = usd[3] / f.full_history_cost(turns, S, m, o, rho)
    assert against[6] > 1 > against[7]
    assert against[8] == pytest.approx(1.003, abs=5e-4)
    assert (against[9:] < 1).all()
    full = f.full_history_cost(turns, S, m, o, rho)
    assert crossover(usd[3], full) == 10
    assert crossover(usd.min(axis=0), full) == 8


def test_a_short_session_has_another_optimum():
    assert costs(10)[:, -1].argmin() + 1 == 5


def test_with_a_warm_cache_summarising_starts_to_pay_at_30_turns():
    usd = costs(90, WARM, 1.0)
    assert crossover(usd.min(axis=0), usd[-1]) == 30


@pytest.mark.parametrize(("static", "percent"), [(0, 14.6), (1800, 5.7), (6000, 2.4)])
def test_the_curve_is_flat_because_the_static_prompt_is_large(static, percent):
    curve = costs(n, static_tokens=static)[:, -1]
    assert 100 * (curve[7] / curve.min() - 1) == pytest.approx(percent, abs=0.05)


def test_the_part_that_depends_on_k_is_as_flat_as_an_order_quantity():
    k = f.optimal_interval_uncached(m, s, q, rho)

    def varies(k: float) -> float:
        return m * k / 2 + (s + q + rho * s) / k

    for x in (0.5, 1, 2, 3):
        assert f.flatness(x) == pytest.approx(varies(x * k) / varies(k))


def test_a_warm_cache_makes_the_first_order_interval_11_29():
    assert f.optimal_interval_warm_first_order(m, s, q, rho, r) == pytest.approx(11.29, abs=0.005)


@pytest.mark.parametrize(("h", "k"), [(1.0, 11.23), (0.93, 8.36), (0.55, 4.53)])
def test_with_real_hit_rates_the_interval_is_shorter(h, k):
    flush = f.flush_cost_separate(m, s, q, rho, h, r, w)
    assert f.optimal_interval(flush, f.carry_price(h, r, w), m) == pytest.approx(k, abs=0.005)


def test_the_general_interval_contains_the_uncached_one():
    flush = f.flush_cost_separate(m, s, q, rho, h=0, r=r, w=1)
    assert f.optimal_interval(flush, f.carry_price(0, r, 1), m) == pytest.approx(3.571, abs=5e-4)


@pytest.mark.parametrize(("times", "k"), [(0.25, 1.79), (0.1, 1.13)])
def test_a_cheaper_summariser_summarises_more_often(times, k):
    flush = f.flush_cost_separate(m, s, q, rho, h=0, r=r, w=1, a=times, rho_s=times * rho)
    assert f.optimal_interval(flush, 1.0, m) == pytest.approx(k, abs=0.005)


@pytest.mark.parametrize(
    ("turns", "best", "first", "last"), [(60, 15, 10, 20), (200, 10, 8, 17), (600, 12, None, None)]
)
def test_the_length_of_a_session_shifts_the_warm_optimum(turns, best, first, last):
    at, within = band(costs(turns, WARM, 1.0)[:, -1])
    assert at + 1 == best
    if first:
        assert (within[0] + 1, within[-1] + 1) == (first, last)


@pytest.mark.parametrize(("k", "passes"), [(4, 14), (11, 5), (20, 2)])
def test_how_many_summaries_a_fact_of_the_first_turn_goes_through(k, passes):
    session = Session.uniform(n, m, o)
    assert sum(call.kind == "summary" for call in calls(SummariseEvery(k), CHARACTER, session)) == passes


# --- caching and think time -----------------------------------------------------------------------

PREFIX, SUFFIX, SESSIONS = 2400, 300, 20_000
TTLS = {300.0: w, 3600.0: w_long}
TABLE = {  # median think time: 5-minute hit rate and cost, 1-hour hit rate and cost, in per cent
    5: (92.7, 28, 98.3, 23),
    15: (92.6, 28, 98.3, 23),
    30: (91.7, 29, 98.3, 23),
    60: (87.8, 32, 98.3, 23),
    120: (76.4, 44, 98.3, 23),
    240: (55.5, 66, 98.0, 23),
}
CELLS = [
    pytest.param(median, ttl, rate, cost, id=f"{median} s, {ttl:g} s")
    for median, row in TABLE.items()
    for (ttl, rate, cost) in ((300.0, *row[:2]), (3600.0, *row[2:]))
]


def test_break_even_hit_rates_are_21_7_and_52_6_percent():
    assert f.break_even_hit_rate(r, w) == pytest.approx(0.217, abs=5e-4)
    assert f.break_even_hit_rate(r, w_long) == pytest.approx(0.526, abs=5e-4)
    for write in (w, w_long):
        assert f.prefix_multiplier(f.break_even_hit_rate(r, write), r, write) == pytest.approx(1)
    assert f.break_even_hit_rate(r, 1.0) == 0


@pytest.mark.parametrize(("turns", "percent"), [(5, 16.3), (10, 7.2), (20, 3.4), (60, 1.105)])
def test_the_hour_pays_past_a_miss_rate_of_1_105_percent_at_60_turns(turns, percent):
    assert 100 * f.long_ttl_miss_threshold(turns, r, w, w_long) == pytest.approx(
        percent, abs=0.05 if turns < 60 else 5e-4
    )


def simulation_sd(p: float) -> float:
    """The standard deviation of a hit rate that 20,000 sessions of 59 gaps give, a turn 1 missing in each."""
    return math.sqrt(SESSIONS * (n - 1) * p * (1 - p)) / (SESSIONS * n)


def cost_per_hit(write: float) -> float:
    """How much a hit rate of 1 more takes off the relative cost."""
    return (write - r) * PREFIX / (PREFIX + SUFFIX)


@pytest.mark.parametrize(("median", "ttl", "rate", "cost"), CELLS)
def test_the_table_in_closed_form_is_the_articles_within_rounding_and_its_noise(median, ttl, rate, cost):
    players, write = pace(f"article-{median}s"), TTLS[ttl]
    hit, noise = players.hit_rate(ttl, n), 4 * simulation_sd(players.cdf(ttl))
    assert noise < 0.002
    assert hit == pytest.approx(rate / 100, abs=0.0005 + noise)
    relative = f.relative_input_cost(hit, r, write, PREFIX, SUFFIX)
    assert relative == pytest.approx(cost / 100, abs=0.005 + noise * cost_per_hit(write))


@pytest.mark.parametrize(("median", "ttl", "rate", "cost"), CELLS)
def test_the_table_simulated_again(median, ttl, rate, cost):
    players, write = pace(f"article-{median}s"), TTLS[ttl]
    gaps = players.sample(np.random.default_rng(2026), (SESSIONS, n - 1))
    hit, noise = (gaps < ttl).sum() / (SESSIONS * n), 4 * simulation_sd(players.cdf(ttl))
    assert hit == pytest.approx(players.hit_rate(ttl, n), abs=noise)
    assert hit == pytest.approx(rate / 100, abs=0.0005 + math.sqrt(2) * noise)
    relative = f.relative_input_cost(hit, r, write, PREFIX, SUFFIX)
    assert relative == pytest.approx(cost / 100, abs=0.005 + math.sqrt(2) * noise * cost_per_hit(write))


@pytest.mark.parametrize(("median", "last_win"), [(5, 12), (30, 10), (60, 7), (120, 3), (240, 2)])
def test_the_five_minute_cache_wins_short_sessions_only(median, last_win):
    """The article says the hour wins at every pace: so it does at 60 turns."""
    players = pace(f"article-{median}s")

    def cost(ttl: float, turns: int) -> float:
        return f.relative_input_cost(players.hit_rate(ttl, turns), r, TTLS[ttl], PREFIX, SUFFIX)

    assert cost(300, last_win) < cost(3600, last_win)
    assert cost(300, last_win + 1) > cost(3600, last_win + 1)
    assert cost(300, 60) > cost(3600, 60)


def test_the_floor_of_a_cache_that_always_hits_is_20_percent():
    assert f.relative_input_cost(1.0, r, w, PREFIX, SUFFIX) == pytest.approx(0.2)


@pytest.mark.parametrize(("median", "percent"), [(5, 0.0), (15, 0.1), (30, 1.0), (60, 4.9), (120, 16.5), (240, 37.9)])
def test_breaks_cause_the_same_misses_at_every_pace(median, percent):
    players = pace(f"article-{median}s")
    breaks = type(players)((1.0,), players.medians_s[1:], players.log_sds[1:])
    from_breaks = players.weights[1] * (1 - breaks.cdf(300.0))
    assert 100 * from_breaks == pytest.approx(5.8, abs=0.05)
    assert 100 * (1 - players.cdf(300.0) - from_breaks) == pytest.approx(percent, abs=0.05)


@pytest.mark.parametrize(("hours", "uses"), [(0, 1.11), (1, 1.85), (10, 8.52)])
def test_paid_storage_breaks_even_past_so_many_uses(hours, uses):
    assert f.storage_break_even_reads(r=0.1, storage_over_input=0.5 / 0.75, hours=hours) == pytest.approx(
        uses, abs=0.005
    )
