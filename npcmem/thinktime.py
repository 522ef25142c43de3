"""How long players take between turns, and what share of turns a cache with a TTL then hits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from npcmem import checks
from npcmem.dialogue import YEAR_S

LEAST_S = 1e-3  # the shortest median of a think time
MOST_LOG_SD = 10.0
LEAST_LOG_SD = 0.05  # a narrower component would sit on a single gap


@dataclass(frozen=True)
class ThinkTime:
    """Gaps between turns as a mixture of lognormals.

    Component i has ``weights[i]`` (they sum to 1), median ``medians_s[i]`` in seconds and ``log_sds[i]``,
    the standard deviation of ln(gap). Components listed in ``fixed`` stay where they are when the pace is
    moved (a tea break does not shorten because the player reads faster).
    """

    weights: tuple[float, ...]
    medians_s: tuple[float, ...]
    log_sds: tuple[float, ...]
    fixed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, least, most, unit in (
            ("weights", 0.0, 1.0, "(share of gaps)"),
            ("medians_s", LEAST_S, YEAR_S, "seconds"),
            ("log_sds", 0.0, MOST_LOG_SD, "(standard deviation of ln seconds)"),
        ):
            object.__setattr__(self, name, tuple(checks.numbers(name, getattr(self, name), least, most, unit).tolist()))
        if not len(self.weights) == len(self.medians_s) == len(self.log_sds) > 0:
            raise ValueError(
                f"weights, medians_s and log_sds must be equally long and not empty, got "
                f"{len(self.weights)}, {len(self.medians_s)} and {len(self.log_sds)}"
            )
        if not math.isclose(sum(self.weights), 1.0, abs_tol=1e-6):
            raise ValueError(f"weights must sum to 1, got {sum(self.weights):g}")
        object.__setattr__(self, "fixed", tuple(self.fixed))
        parts = range(len(self.weights))
        if not set(self.fixed) < set(parts):
            raise ValueError(f"fixed must name some of the parts 0 to {parts[-1]} and not all, got {self.fixed!r}")

    def cdf(self, gap_s: np.ndarray | float) -> np.ndarray | float:
        """P(gap < gap_s), of the shape of ``gap_s``."""
        with np.errstate(divide="ignore"):
            log_gap = np.log(np.maximum(np.asarray(gap_s, dtype=float), 0))[..., None]
        below = self._below(log_gap - self._arrays[0])
        return below if np.ndim(gap_s) else below.item()

    def _below(self, past_median: np.ndarray) -> np.ndarray:
        """Return P(gap < …) from how far, in ln seconds, that is past each part's median (…, parts)."""
        from scipy.special import ndtr  # here, since it takes longer to import than the rest of the package

        _, sds, weights = self._arrays
        if (sds > 0).all():
            return ndtr(past_median / sds) @ weights
        at_once = np.where(past_median > 0, np.inf, -np.inf)  # a part without spread: its median itself is not below
        return ndtr(np.where(sds > 0, past_median / np.maximum(sds, 1e-12), at_once)) @ weights

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The logarithms of the medians, the deviations and the weights, (parts,) each."""
        return np.log(self.medians_s), np.array(self.log_sds), np.array(self.weights)

    def hit_rate(self, ttl_s: np.ndarray | float, turns: int) -> np.ndarray | float:
        """Share of ``turns`` that find the cache warm: the first never does. h = (n−1)/n · P(gap < TTL)."""
        return _first_turn_misses(turns) * self.cdf(ttl_s)

    def median_s(self) -> float:
        """The gap that half of all gaps stay below."""
        low, high = min(self.medians_s), max(self.medians_s)
        for _ in range(80):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.cdf(middle) < 0.5 else (low, middle)
        return math.sqrt(low * high)

    @cached_property
    def think_time_s(self) -> float:
        """The median of the gaps that move with the pace, breaks left out."""
        moving = [at for at in range(len(self.weights)) if at not in self.fixed]
        weights = np.array([self.weights[at] for at in moving])
        return ThinkTime(
            tuple(weights / weights.sum()),
            tuple(self.medians_s[at] for at in moving),
            tuple(self.log_sds[at] for at in moving),
        ).median_s()

    def scaled(self, factor: float) -> ThinkTime:
        """Return the same shape with its moving parts ``factor`` times as long; fixed parts stay."""
        factor = checks.number("factor", factor, 0, 1e9, "times as long", above=True)
        medians = (
            median if at in self.fixed else min(max(median * factor, LEAST_S), YEAR_S)
            for at, median in enumerate(self.medians_s)
        )
        return ThinkTime(self.weights, tuple(medians), self.log_sds, self.fixed)

    def at_pace(self, think_time_s: float) -> ThinkTime:
        """Return the same shape with its think time moved to ``think_time_s``; fixed parts stay."""
        return self.scaled(checks.number("think_time_s", think_time_s, LEAST_S, YEAR_S, "seconds") / self.think_time_s)

    def cdf_at_paces(self, gap_s: float | np.ndarray, think_times_s: np.ndarray) -> np.ndarray:
        """Return ``at_pace(t).cdf(gap_s)`` for each t of ``think_times_s`` (p,), all at once.

        (p,) for one gap, (g, p) for several as (g, 1).
        """
        shift = np.log(np.asarray(think_times_s, dtype=float) / self.think_time_s)[:, None] * self._moves
        return self._below(np.log(gap_s)[..., None] - self._arrays[0] - shift)

    def hit_rate_at_paces(self, ttl_s: float, turns: int, think_times_s: np.ndarray) -> np.ndarray:
        """Return ``at_pace(t).hit_rate(ttl_s, turns)`` for each t of ``think_times_s`` (p,), all at once."""
        return _first_turn_misses(turns) * self.cdf_at_paces(ttl_s, think_times_s)

    def mean_s_at_paces(self, think_times_s: np.ndarray) -> np.ndarray:
        """Return the mean gap of ``at_pace(t)`` for each t of ``think_times_s`` (p,): Σ weight·median·exp(sd²/2)."""
        factor = np.asarray(think_times_s, dtype=float) / self.think_time_s
        means = np.array(self.weights) * self.medians_s * np.exp(np.square(self.log_sds) / 2)
        return factor * (means @ self._moves) + means @ ~self._moves

    @property
    def _moves(self) -> np.ndarray:
        return np.array([at not in self.fixed for at in range(len(self.weights))])

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] = 1) -> np.ndarray:
        """Return gaps in seconds, of shape ``size``."""
        part = rng.choice(len(self.weights), size=size, p=np.array(self.weights) / sum(self.weights))
        return np.array(self.medians_s)[part] * np.exp(np.array(self.log_sds)[part] * rng.standard_normal(size))


@dataclass(frozen=True, eq=False)
class Empirical:
    """Gaps between turns as they were measured, in seconds, in any order."""

    gaps_s: np.ndarray
    _sorted: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gaps_s", checks.numbers("gaps_s", self.gaps_s, 0, YEAR_S, "seconds"))
        if not len(self.gaps_s):
            raise ValueError("gaps_s must hold at least 1 gap, got 0: a gap needs a session of two turns")
        object.__setattr__(self, "_sorted", np.sort(self.gaps_s))

    def cdf(self, gap_s: np.ndarray | float) -> np.ndarray | float:
        """P(gap < gap_s), strictly: a gap of exactly the TTL misses."""
        below = np.searchsorted(self._sorted, gap_s, side="left") / len(self._sorted)
        return below if np.ndim(gap_s) else float(below)

    def hit_rate(self, ttl_s: np.ndarray | float, turns: int) -> np.ndarray | float:
        """Share of ``turns`` that find the cache warm: the first never does."""
        return _first_turn_misses(turns) * self.cdf(ttl_s)

    def median_s(self) -> float:
        """The gap that half of all gaps stay below."""
        return float(np.median(self._sorted))

    @cached_property
    def think_time_s(self) -> float:
        """The pace of these players: their median gap."""
        return max(self.median_s(), LEAST_S)

    def scaled(self, factor: float) -> Empirical:
        """Return the same gaps, each ``factor`` times as long."""
        factor = checks.number("factor", factor, 0, 1e9, "times as long", above=True)
        return self if factor == 1 else Empirical(np.minimum(self.gaps_s * factor, YEAR_S))

    def at_pace(self, think_time_s: float) -> Empirical:
        """Return the same gaps, all longer or shorter by one factor, with their median at ``think_time_s``."""
        return self.scaled(checks.number("think_time_s", think_time_s, LEAST_S, YEAR_S, "seconds") / self.think_time_s)

    def cdf_at_paces(self, gap_s: float | np.ndarray, think_times_s: np.ndarray) -> np.ndarray:
        """Return ``at_pace(t).cdf(gap_s)`` for each t of ``think_times_s`` (p,), all at once.

        (p,) for one gap, (g, p) for several as (g, 1).
        """
        factors = np.asarray(think_times_s, dtype=float) / self.think_time_s
        return np.asarray(self.cdf(gap_s / factors))

    def hit_rate_at_paces(self, ttl_s: float, turns: int, think_times_s: np.ndarray) -> np.ndarray:
        """Return ``at_pace(t).hit_rate(ttl_s, turns)`` for each t of ``think_times_s`` (p,), all at once."""
        return _first_turn_misses(turns) * self.cdf_at_paces(ttl_s, think_times_s)

    def mean_s_at_paces(self, think_times_s: np.ndarray) -> np.ndarray:
        """Return the mean gap of ``at_pace(t)`` for each t of ``think_times_s`` (p,)."""
        return self.gaps_s.mean() * np.asarray(think_times_s, dtype=float) / self.think_time_s

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] = 1) -> np.ndarray:
        """Return gaps in seconds drawn with replacement, of shape ``size``."""
        return rng.choice(self.gaps_s, size=size)


Pace = ThinkTime | Empirical


def _first_turn_misses(turns: int) -> float:
    return 1 - 1 / checks.whole("turns", turns, 1, checks.MOST_TURNS, "turns")


def fit(
    gaps_s: Iterable[float], censored_s: Iterable[float] = (), parts: int = 2, resolution_s: float = 1.0
) -> ThinkTime:
    """Fit a mixture of ``parts`` lognormals to gaps by maximum likelihood (expectation–maximisation).

    ``censored_s`` are gaps known only to be longer than so many seconds: the last gap of each session,
    which the end of the log cut off. Leaving them out makes players look quicker than they are. A gap of 0
    counts as half the clock's ``resolution_s``, and as 1 ms at least. Medians stay between 1 ms and a year.
    Starts are fixed, so that equal data give equal fits. Raises ValueError for fewer than ``2 · parts`` gaps.
    """
    parts = checks.whole("parts", parts, 1, 5, "parts")
    floor_s = max(checks.number("resolution_s", resolution_s, 0, YEAR_S, "seconds", above=True) / 2, LEAST_S)
    seen = np.log(np.maximum(checks.numbers("gaps_s", list(gaps_s), 0, YEAR_S, "seconds"), floor_s))
    cut = np.log(np.maximum(checks.numbers("censored_s", list(censored_s), 0, YEAR_S, "seconds"), floor_s))
    if len(seen) < 2 * parts:
        raise ValueError(f"gaps_s must hold at least {2 * parts} gaps to fit {parts} parts, got {len(seen)}")
    tries = [_expectation_maximisation(seen, cut, start) for start in _starts(seen, parts)]
    _, weights, means, sds = max(tries, key=lambda found: found[0])
    order = np.argsort(means)
    return ThinkTime(tuple(weights[order]), tuple(np.exp(means[order]).clip(LEAST_S, YEAR_S)), tuple(sds[order]))


def _starts(seen: np.ndarray, parts: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return eight spreads of the means over the data's quantiles, narrow to wide, even and skew."""
    spread = max(seen.std(), LEAST_LOG_SD)
    starts = []
    for skew in (0.5, 0.8, 1.25, 2.0):
        for sd in (0.5, 1.0):
            quantiles = ((np.arange(parts) + 0.5) / parts) ** skew
            starts.append((np.full(parts, 1 / parts), np.quantile(seen, quantiles), np.full(parts, sd * spread)))
    return starts


def _expectation_maximisation(
    seen: np.ndarray, cut: np.ndarray, start: tuple[np.ndarray, np.ndarray, np.ndarray], rounds: int = 500
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return (log likelihood, weights, means, sds) of log gaps; cut ones enter by their truncated moments."""
    from scipy.special import log_ndtr

    weights, means, sds = start
    likelihood = -math.inf
    for _ in range(rounds):
        z, z_cut = (seen[:, None] - means) / sds, (cut[:, None] - means) / sds
        log_seen = np.log(weights) - 0.5 * z**2 - np.log(sds) - 0.5 * math.log(2 * math.pi)
        log_cut = np.log(weights) + log_ndtr(-z_cut)
        before, likelihood = likelihood, np.logaddexp.reduce(log_seen, 1).sum() + np.logaddexp.reduce(log_cut, 1).sum()
        if likelihood - before < 1e-8 * abs(likelihood):
            break
        share = np.exp(log_seen - np.logaddexp.reduce(log_seen, 1, keepdims=True))
        share_cut = np.exp(log_cut - np.logaddexp.reduce(log_cut, 1, keepdims=True))
        hazard = np.exp(-0.5 * z_cut**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(-z_cut))
        mean_cut = means + sds * hazard  # E[x | x > cut]
        square_cut = sds**2 * (1 + z_cut * hazard) + 2 * means * mean_cut - means**2  # E[x² | x > cut]
        count = np.maximum(share.sum(0) + share_cut.sum(0), 1e-12)
        weights = count / count.sum()
        centres = ((share * seen[:, None]).sum(0) + (share_cut * mean_cut).sum(0)) / count
        means = centres.clip(math.log(LEAST_S), math.log(YEAR_S))
        squares = ((share * seen[:, None] ** 2).sum(0) + (share_cut * square_cut).sum(0)) / count
        sds = np.sqrt((squares - 2 * means * centres + means**2).clip(LEAST_LOG_SD**2, MOST_LOG_SD**2))
    return float(likelihood), weights, means, sds
