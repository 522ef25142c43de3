"""Think times: theory against sample, the strict TTL, moving the pace, and fits that find what made the data."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from npcmem import Empirical, ThinkTime, fit
from npcmem.dialogue import YEAR_S
from npcmem.paces import pace, paces

MIXED = ThinkTime((0.92, 0.08), (30.0, 480.0), (1.0, 0.8), fixed=(1,))
MEASURED = Empirical(np.array([40.0, 10.0, 300.0, 300.0, 20.0]))
DELIBERATE = ThinkTime((0.38, 0.62), (62.0, 229.0), (0.35, 0.96))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- distribution ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", paces())
def test_samples_follow_the_cdf(name):
    players = pace(name)
    assert stats.kstest(players.sample(rng(1), 20_000), players.cdf).pvalue > 0.001


@pytest.mark.parametrize("name", paces())
def test_half_of_all_gaps_stay_below_the_median(name):
    players = pace(name)
    assert players.cdf(players.median_s()) == pytest.approx(0.5, abs=1e-9)


def test_a_single_lognormal_has_the_textbook_cdf():
    one = ThinkTime((1.0,), (112.0,), (1.01,))
    at = np.array([1.0, 60.0, 112.0, 300.0, 3600.0])
    assert one.cdf(at) == pytest.approx(stats.lognorm(1.01, scale=112.0).cdf(at))
    assert one.median_s() == pytest.approx(112.0)


def test_a_mixture_is_its_weighted_parts():
    parts = [ThinkTime((1.0,), (30.0,), (1.0,)), ThinkTime((1.0,), (480.0,), (0.8,))]
    assert MIXED.cdf(300.0) == pytest.approx(0.92 * parts[0].cdf(300.0) + 0.08 * parts[1].cdf(300.0))


@pytest.mark.parametrize("players", [MIXED, MEASURED], ids=["mixture", "measured"])
def test_a_cdf_takes_the_shape_of_what_it_is_asked(players):
    assert isinstance(players.cdf(300.0), float)
    assert players.cdf(np.array([[1.0, 300.0]])).shape == (1, 2)
    assert players.sample(rng(), (3, 4)).shape == (3, 4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("players", [MIXED, MEASURED], ids=["mixture", "measured"])
def test_no_gap_is_shorter_than_nothing_and_all_are_finite(players):
    assert players.cdf(0.0) == 0
    assert players.cdf(-5.0) == 0
    assert players.cdf(math.inf) == pytest.approx(1)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_cdf_never_falls(one, other):
    low, high = sorted((one, other))
    for players in (MIXED, MEASURED, DELIBERATE):
        assert 0 <= players.cdf(low) <= players.cdf(high) <= 1


def test_a_gap_of_exactly_the_ttl_misses():
    assert MEASURED.cdf(300.0) == 3 / 5
    assert MEASURED.cdf(300.1) == 1
    steady = ThinkTime((1.0,), (300.0,), (0.0,))
    assert steady.cdf(300.0) == 0
    assert steady.cdf(300.1) == 1


@pytest.mark.parametrize("players", [MIXED, MEASURED], ids=["mixture", "measured"])
def test_the_first_turn_never_hits(players):
    assert players.hit_rate(300.0, 1) == 0
    assert players.hit_rate(300.0, 60) == pytest.approx(59 / 60 * players.cdf(300.0))
    assert players.hit_rate(np.array([300.0, 3600.0]), 60).shape == (2,)
    with pytest.raises(ValueError, match="^turns must be >= 1 turns, got 0$"):
        players.hit_rate(300.0, 0)


def test_equal_seeds_give_equal_samples():
    assert np.array_equal(MIXED.sample(rng(5), 9), MIXED.sample(rng(5), 9))
    assert set(MEASURED.sample(rng(5), 1000)) == {10.0, 20.0, 40.0, 300.0}


# --- pace -----------------------------------------------------------------------------------------


def test_breaks_stay_where_they_are_when_the_pace_moves():
    faster = MIXED.at_pace(5.0)
    assert faster.medians_s == pytest.approx((5.0, 480.0))
    assert (faster.weights, faster.log_sds, faster.fixed) == (MIXED.weights, MIXED.log_sds, MIXED.fixed)
    assert faster.think_time_s == pytest.approx(5.0)


def test_the_articles_paces_are_one_shape_at_six_paces():
    for seconds in (5, 15, 30, 60, 120, 240):
        assert pace(f"article-{seconds}s") == dataclasses.replace(MIXED, medians_s=(seconds, 480.0))
        assert MIXED.at_pace(seconds).cdf(300.0) == pytest.approx(pace(f"article-{seconds}s").cdf(300.0))


def test_without_breaks_all_parts_move_by_one_factor():
    slower = DELIBERATE.at_pace(2 * DELIBERATE.think_time_s)
    assert slower.medians_s == pytest.approx((124.0, 458.0))
    assert slower.cdf(600.0) == pytest.approx(DELIBERATE.cdf(300.0))


def test_measured_gaps_move_by_one_factor():
    assert MEASURED.think_time_s == MEASURED.median_s() == 40
    assert sorted(MEASURED.at_pace(80.0).gaps_s) == [20, 40, 80, 600, 600]


@pytest.mark.parametrize("players", [MIXED, MEASURED], ids=["mixture", "measured"])
@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf])
def test_a_pace_is_a_time(players, seconds):
    with pytest.raises(ValueError, match="^think_time_s must be .* seconds, got "):
        players.at_pace(seconds)


@pytest.mark.parametrize("players", [MIXED, MEASURED, DELIBERATE], ids=["breaks", "measured", "no breaks"])
def test_hit_rates_at_many_paces_are_those_at_each(players):
    seconds = np.array([1.0, 30.0, 112.0, 300.0, 3600.0])
    each = [players.at_pace(pace_s).hit_rate(300.0, 60) for pace_s in seconds]
    assert players.hit_rate_at_paces(300.0, 60, seconds) == pytest.approx(each)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (((0.5, 0.4), (1, 2), (1, 1)), r"weights must sum to 1, got 0\.9"),
        (((1.0,), (1, 2), (1, 1)), ".*equally long and not empty, got 1, 2 and 2"),
        (((), (), ()), ".*equally long and not empty, got 0, 0 and 0"),
        (((1.5, -0.5), (1, 2), (1, 1)), r"weights\[0\] must be between 0 and 1 \(share of gaps\), got 1\.5"),
        (((1.0,), (0,), (1,)), r"medians_s\[0\] must be between 0\.001 and .* seconds, got 0"),
        (((1.0,), (math.nan,), (1,)), r"medians_s\[0\] .* seconds, got nan"),
        (((1.0,), (1,), (-1,)), r"log_sds\[0\] must be between 0 and 10 .*, got -1"),
        (((0.5, 0.5), (1, 2), (1, 1), (2,)), r"fixed .*2.*"),
        (((0.5, 0.5), (1, 2), (1, 1), (-1,)), r"fixed .*-1.*"),
        (((0.5, 0.5), (1, 2), (1, 1), (0, 1)), r"fixed .*"),
    ],
)
def test_a_mixture_that_cannot_be_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        ThinkTime(*arguments)


@pytest.mark.parametrize(
    ("gaps", "sentence"),
    [
        ([], "gaps_s must hold at least 1 gap, got 0: .*"),
        ([5, -1], r"gaps_s\[1\] must be between 0 and .* seconds, got -1"),
        ([math.inf], r"gaps_s\[0\] .* seconds, got inf"),
        ([math.nan], r"gaps_s\[0\] .* seconds, got nan"),
    ],
)
def test_gaps_that_cannot_be_are_refused_in_a_sentence(gaps, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Empirical(gaps)


def test_think_times_are_frozen_and_mixtures_hashable():
    assert hash(MIXED) == hash(dataclasses.replace(MIXED))
    for players in (MIXED, MEASURED):
        with pytest.raises(dataclasses.FrozenInstanceError):
            players.fixed = ()
    with pytest.raises(ValueError, match="read-only"):
        MEASURED.gaps_s[0] = 1


def test_an_unknown_pace_gets_the_nearest():
    with pytest.raises(KeyError, match="unknown pace 'delibrate'; nearest: 'deliberate'"):
        pace("delibrate")


def test_every_pace_has_a_source_and_a_name_of_its_own():
    assert all(preset.source and preset.gaps != 0 for preset in paces().values())
    assert len({preset.name for preset in paces().values()}) == len(paces())


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "truth",
    [
        ThinkTime((1.0,), (40.0,), (0.9,)),
        ThinkTime((0.92, 0.08), (20.0, 900.0), (0.6, 0.4)),
        ThinkTime((0.3, 0.5, 0.2), (5.0, 60.0, 1500.0), (0.4, 0.4, 0.4)),
    ],
    ids=["one part", "two", "three"],
)
def test_a_fit_finds_the_mixture_that_made_the_gaps(truth):
    found = fit(truth.sample(rng(11), 6000), parts=len(truth.weights))
    order = np.argsort(truth.medians_s)
    assert found.weights == pytest.approx(np.array(truth.weights)[order], abs=0.02)
    assert np.log(found.medians_s) == pytest.approx(np.log(truth.medians_s)[order], abs=0.08)
    assert found.log_sds == pytest.approx(np.array(truth.log_sds)[order], abs=0.06)


def test_parts_come_in_order_of_their_medians():
    found = fit(DELIBERATE.sample(rng(3), 3000), parts=2)
    assert list(found.medians_s) == sorted(found.medians_s)


@pytest.mark.parametrize("truth", [ThinkTime((1.0,), (200.0,), (1.0,)), DELIBERATE], ids=["one part", "two"])
def test_cut_off_gaps_remove_the_bias_that_leaving_them_out_has(truth):
    """Each gap is watched for so long only; what outlasts the watch is known to be longer, no more."""
    gaps, watched = truth.sample(rng(4), 3000), np.exp(rng(5).normal(math.log(250), 0.8, 3000))
    seen, cut = gaps[gaps < watched], watched[gaps >= watched]
    right, biased = (fit(seen, censored, len(truth.weights)) for censored in (cut, ()))
    share = 1 - truth.cdf(300.0)
    assert 1 - right.cdf(300.0) == pytest.approx(share, abs=0.02)
    assert 1 - biased.cdf(300.0) < share - 0.1
    assert right.median_s() == pytest.approx(truth.median_s(), rel=0.08)
    assert biased.median_s() < 0.85 * truth.median_s()


def test_a_tie_with_zero_counts_as_half_the_clock():
    found = fit([0.0] * 50 + [100.0] * 50, parts=2, resolution_s=2.0)
    assert found.medians_s == pytest.approx((1.0, 100.0), rel=1e-3)
    assert found.weights == pytest.approx((0.5, 0.5), abs=1e-3)


def test_equal_data_give_equal_fits():
    gaps = DELIBERATE.sample(rng(6), 500)
    assert fit(gaps) == fit(gaps)


@pytest.mark.parametrize(
    "gaps", [[60.0] * 20, [0.0] * 20, [1e-9] * 10 + [3e7] * 10], ids=["equal", "zero", "far apart"]
)
def test_odd_gaps_still_fit(gaps):
    found = fit(gaps, parts=2)
    assert all(map(math.isfinite, (*found.weights, *found.medians_s, *found.log_sds)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "arguments",
    [
        ([0] * 10, (), 2, 1e-4),
        ([1e-9] * 10, (), 1, 1e-12),
        ([YEAR_S] * 10, (), 2),
        ([1e7] * 10, [3e7] * 200, 2),
        ([60.0] * 10, [YEAR_S] * 1000, 1),
        ([1e-3] * 5 + [3e7] * 5, (), 1, 2e-3),
    ],
    ids=["a fine clock", "finer", "years", "mostly cut off", "all but cut off", "a wide spread"],
)
def test_a_fit_stays_within_what_a_think_time_may_be(arguments):
    found = fit(*arguments)
    assert all(1e-3 <= median_s <= YEAR_S for median_s in found.medians_s)
    assert all(log_sd <= 10 for log_sd in found.log_sds)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (([1.0, 2.0, 3.0],), ValueError, "gaps_s must hold at least 4 gaps to fit 2 parts, got 3"),
        (([1.0, -2.0],), ValueError, r"gaps_s\[1\] must be between 0 and .* seconds, got -2"),
        (([1.0] * 9, [-1.0]), ValueError, r"censored_s\[0\] must be between 0 and .* seconds, got -1"),
        (([1.0] * 9, (), 0), ValueError, "parts must be >= 1 parts, got 0"),
        (([1.0] * 9, (), 1.5), TypeError, r"parts must be a whole number of parts, got 1\.5"),
        (([1.0] * 9, (), 1, 0), ValueError, "resolution_s must be > 0 seconds, got 0"),
    ],
)
def test_a_fit_refuses_what_cannot_be_in_a_sentence(arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}$"):
        fit(*arguments)


def test_the_players_of_cicero_are_two_lognormals(shared):
    """Read here by hand: sessions in order of time, a run of player messages is one turn at its first."""
    with shared("traces/cicero_messages.csv").open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["session_id"], float(row["ts"])))
    gaps = []
    for _, session in itertools.groupby(rows, key=lambda row: row["session_id"]):
        runs = [list(run) for _, run in itertools.groupby(session, key=lambda row: row["role"])]
        turns = [float(run[0]["ts"]) for run in runs if run[0]["role"] == "player"]
        gaps += np.diff(turns).tolist()
    assert len(gaps) == 1556
    found = fit(gaps)
    assert found.weights == pytest.approx((0.38, 0.62), abs=0.005)
    assert found.medians_s == pytest.approx((62.2, 229.1), rel=0.005)
    assert found.log_sds == pytest.approx((0.35, 0.96), abs=0.005)
