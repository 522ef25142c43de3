"""The figures and formulas that DESIGN §2 states, each against the exact count."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npcmem import (
    CacheRules,
    Character,
    FullHistory,
    Price,
    Session,
    SlidingWindow,
    SteppedWindow,
    SummariseEvery,
    expected,
    replay,
    sweep,
)
from npcmem import formulas as f

CHARACTER, SESSION, PRICE = Character(1800, 150, 120), Session.uniform(60, 160, 80, 30.0), Price.relative(5.0)
WARM, WARM_4096 = CacheRules(300), CacheRules(300, min_tokens=4096)


@pytest.mark.parametrize(
    ("policy", "rules", "cost"),
    [
        (FullHistory(), None, 415_200),
        (SummariseEvery(4), None, 177_890),
        (FullHistory(), WARM, 76_046),
        (SummariseEvery(15), WARM, 65_196.5),
        (SummariseEvery(12, shares_prefix=True), WARM, 59_269),
        (SlidingWindow(10), WARM, 137_590),
        (SlidingWindow(15), WARM, 173_550),
        (SteppedWindow(5, 15), WARM, 59_630),
        (FullHistory(), WARM_4096, 115_466),
        (SummariseEvery(4), WARM_4096, 177_890),
        (SummariseEvery(11), WARM_4096, 198_700),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_60_turns_in_input_tokens(policy, rules, cost):
    assert replay(policy, CHARACTER, SESSION, rules).cost(PRICE) == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize(("shares", "best", "cost"), [(False, 15, 65_196.5), (True, 12, 59_269)])
def test_the_best_interval_on_a_warm_cache(shares, best, cost):
    curve = sweep(CHARACTER, 160, 80, 60, WARM, 1.0, PRICE, shares_prefix=shares)[:, -1]
    assert (curve.argmin() + 1, curve.min()) == (best, pytest.approx(cost, rel=1e-12))
    assert curve.min() / 76_046 == pytest.approx(0.78 if shares else 0.86, abs=0.005)


@pytest.mark.parametrize(("h", "first"), [(1.0, 30), (0.93, 20), (0.55, 10)])
def test_the_slower_the_players_the_sooner_summarising_pays(h, first):
    usd = sweep(CHARACTER, 160, 80, 60, WARM, h, PRICE)
    wins = usd.min(axis=0) < usd[-1] * (1 - 1e-12)
    assert not wins[first - 2]
    assert wins[first - 1 :].all()


def test_a_sliding_window_reads_the_static_part_only():
    bill = replay(SlidingWindow(10), CHARACTER, SESSION, WARM)
    assert (bill.usage.read[12:] == 1800).all()


def test_a_minimum_of_4096_keeps_a_summarised_prompt_out_of_the_cache():
    bill = replay(SummariseEvery(11), CHARACTER, SESSION, WARM_4096)
    assert bill.total.read == bill.total.write == 0
    assert replay(FullHistory(), CHARACTER, SESSION, WARM_4096).total.read > 0


# --- the optimal interval against brute force -----------------------------------------------------


def settings_drawn(count: int, most_k: int, seed: int) -> list[dict]:
    """Return random settings whose long-run optimum is at most ``most_k``."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        drawn = {
            "S": int(rng.integers(0, 6001)),
            "m": int(rng.integers(10, 501)),
            "s": int(rng.integers(0, 401)),
            "q": int(rng.integers(0, 301)),
            "rho": float(rng.choice([1, 2, 4, 5, 8])),
            "h": float(rng.choice([0, 0.3, 0.55, 0.76, 0.93, 1, rng.random()])),
            "r": float(rng.choice([0.025, 0.1, 0.25, 0.5, 1])),
            "w": float(rng.choice([1, 1.25, 2])),
            "shared": bool(rng.random() < 0.5),
            "a": float(rng.choice([1, 0.25, 0.1])),
        }
        if drawn["shared"]:
            drawn["a"] = 1.0
        if k_star(drawn) <= most_k:
            found.append(drawn)
    return found


def k_star(d: dict) -> int:
    mu = f.carry_price(d["h"], d["r"], d["w"])
    if d["shared"]:
        flush = f.flush_cost_shared(d["S"], d["m"], d["s"], d["q"], d["rho"], d["h"], d["r"], d["w"])
    else:
        flush = f.flush_cost_separate(
            d["m"], d["s"], d["q"], d["rho"], d["h"], d["r"], d["w"], d["a"], d["a"] * d["rho"]
        )
    return int(f.optimal_interval_discrete(flush, mu, d["m"]))


def prices(d: dict) -> tuple[Price, Price]:
    main = Price.relative(d["rho"], d["r"], d["w"])
    return main, main.scaled(uncached=d["a"], output=d["a"])


def is_best(k: int, costs: np.ndarray) -> bool:
    """Is k the first of the cheapest? ``costs[k−1]`` is the cost of a turn; equal to rounding is equal."""
    return k - 1 == int(np.flatnonzero(costs <= costs.min() * (1 + 1e-11))[0])


def test_k_star_is_the_brute_force_optimum_of_a_steady_cycle_in_400_settings():
    most = 60
    for d in settings_drawn(400, most // 2, seed=1):
        main, summariser = prices(d)
        usd = sweep(
            Character(d["S"], d["s"], d["q"]), d["m"], 0, 3 * most + 1, CacheRules(300), d["h"], main,
            most_k=most, shares_prefix=d["shared"], summary_price=summariser,
        )  # fmt: skip
        k = np.arange(1, most + 1)
        cycle = (usd[k - 1, 3 * k] - usd[k - 1, 2 * k]) / k  # k turns and the summary call before them
        assert is_best(k_star(d), cycle), (d, k_star(d), cycle.argmin() + 1)


def test_k_star_is_the_brute_force_optimum_of_replayed_cycles():
    most = 14
    for d in settings_drawn(40, most // 2, seed=2):
        cycle = []
        for k in range(1, most + 1):
            bill = expected(
                SummariseEvery(k, shares_prefix=d["shared"]), Character(d["S"], d["s"], d["q"]),
                Session.uniform(3 * k + 1, d["m"], 0), CacheRules(300), d["h"],
            )  # fmt: skip
            steady = bill.rows((bill.turn > 2 * k) & (bill.turn <= 3 * k))
            main, summariser = prices(d)
            cycle.append(steady.cost(main, summary=summariser) / k)
        assert is_best(k_star(d), np.array(cycle)), (d, k_star(d), cycle)


def test_the_discrete_optimum_is_the_smallest_k_whose_oblong_reaches_the_target():
    k = np.arange(1, 40)
    at = f.optimal_interval_discrete(k * (k + 1) / 2.0, 1.0, 1.0)  # exactly k(k+1) = 2F/(μm)
    assert at.tolist() == k.tolist()
    past = f.optimal_interval_discrete(k * (k + 1) / 2.0 + 0.01, 1.0, 1.0)
    assert past.tolist() == (k + 1).tolist()


def test_a_flush_that_costs_nothing_is_done_every_turn_and_free_carrying_never_ends():
    assert f.optimal_interval_discrete(-5.0, 0.1, 160.0) == 1
    assert f.optimal_interval(1000.0, 0.0, 160.0) == math.inf
    assert f.optimal_interval_discrete(1000.0, 0.0, 160.0) == math.inf
