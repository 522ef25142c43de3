"""The page "How often should this character summarise?": what it may be asked, what it shows, how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from npcmem import formulas, plots
from npcmem.cache import CacheRules
from npcmem.dashboards import scenario
from npcmem.dashboards.controls import Value
from npcmem.dashboards.page import ChartCard, Page, Tile, View
from npcmem.dashboards.scenario import THINK_S, controls, filled, slider_think_s
from npcmem.dashboards.words import duration, percent, runs, usd
from npcmem.sweep import band, crossover, sweep
from npcmem.thinktime import Pace


@dataclass(frozen=True, slots=True)
class Answer:
    """The numbers behind the page, all in dollars per session unless said otherwise.

    ``cached_usd``, ``uncached_usd``: (k, n) sweeps. ``best``: index of the cheapest interval at ``turns``,
    ``near``: those within 1 %. ``warm``: chance that a gap is shorter than the TTL. ``k_star``: the formula's.
    """

    turns: int
    cached_usd: np.ndarray
    uncached_usd: np.ndarray
    best: int
    near: np.ndarray
    warm: float
    k_star: float

    @property
    def k(self) -> int | None:
        """The cheapest interval; None where that is not to summarise."""
        return self.best + 1 if self.best + 1 < self.turns else None

    @property
    def usd(self) -> float:
        return float(self.cached_usd[self.best, self.turns - 1])

    @property
    def full_cached_usd(self) -> float:
        return float(self.cached_usd[self.turns - 1, self.turns - 1])

    @property
    def full_uncached_usd(self) -> float:
        return float(self.uncached_usd[self.turns - 1, self.turns - 1])

    @property
    def crossover(self) -> int | None:
        """The length from which summarising beats full history on the same cache."""
        return crossover(self.cached_usd.min(axis=0), self.cached_usd[-1])


def answer(values: Mapping[str, Value], pace: Pace) -> Answer:
    """Return the numbers for one set of values and the players' pace, already at their think time."""
    turns, warm = int(values["turns"]), float(pace.cdf(values["ttl"]))
    cached = _sweep(values, scenario.rules(values), warm)
    best, near = band(cached[:turns, turns - 1])
    return Answer(turns, cached, _sweep(values, None, 0.0), best, near, warm, _k_star(values, warm))


def view(values: Mapping[str, Value], pace: Pace | None = None) -> View:
    """Return what the page shows; without ``pace``, for the preset that ``values`` names."""
    shape, here = scenario.here(values, pace)
    found = answer(values, here)
    return View(
        headline=f"Summarise {_every(found.k)}." if found.k else "Do not summarise.",
        answer=_advice(found),
        tiles=(_best_tile(found), _cost_tile(found), _saving_tile(found), _hits_tile(values, here, found)),
        charts=(_interval_chart(found), _length_chart(found), _hits_chart(values, shape, here)),
        notes=_notes(values, found),
        table=_table(found),
        prices=scenario.price_dates(values),
    )


def summary_interval() -> Page:
    """Return the page."""
    return scenario.page(
        "How often should this character summarise?",
        "What an NPC's memory costs, exactly: all of it is resent each turn, or read from a cache while that lives.",
        controls(),
        view,
    )


# --- the numbers ----------------------------------------------------------------------------------


def _sweep(values: Mapping[str, Value], rules: CacheRules | None, warm: float) -> np.ndarray:
    longest = min(max(2 * int(values["turns"]), 120), 600)
    one = scenario.session(values, 1)
    sizes = int(one.exchange_tokens[0]), int(one.reply_tokens[0])
    shares, who = values["flush"] == "shared", scenario.character(values)
    return sweep(who, *sizes, longest, rules, warm, scenario.price(values), shares_prefix=shares)


def _k_star(values: Mapping[str, Value], warm: float) -> float:
    m, s, q, rho, r, w = (values[name] for name in ("m", "s", "q", "rho", "r", "w"))
    if values["flush"] == "shared":
        flush = formulas.flush_cost_shared(values["S"], m, s, q, rho, warm, r, w)
    else:
        flush = formulas.flush_cost_separate(m, s, q, rho, warm, r, w)
    return float(formulas.optimal_interval(flush, formulas.carry_price(warm, r, w), m))


# --- the words ------------------------------------------------------------------------------------


def _every(k: int) -> str:
    return f"every {k} exchanges" if k > 1 else "after every exchange"


def _advice(found: Answer) -> str:
    start, pays, longest = "With this cache and these players", found.crossover, found.cached_usd.shape[1]
    if found.k:
        short = f"do not summarise sessions below {pays} turns; " if pays and 2 < pays <= found.turns else ""
        text = f"{start}, {short}at {found.turns}, summarising {_every(found.k)} is cheapest."
    else:
        loses = bool((found.cached_usd.min(axis=0) >= found.cached_usd[-1] * (1 - 1e-12)).all())
        none = f"at no length up to {longest}" if loses else f"not for good up to {longest} turns"
        when = f"do not summarise before turn {pays}" if pays else f"summarising pays {none}"
        text = f"{start}, resending everything is the cheapest memory for {found.turns} turns; {when}."
    if (cheaper := float(found.uncached_usd[: found.turns, found.turns - 1].min())) < found.usd * (1 - 1e-9):
        text += f" Caching costs more than it saves here: without it the best is {usd(cheaper)}."
    return text


def _best_tile(found: Answer) -> Tile:
    formula = max(found.k_star, 1.0)  # no shorter interval exists
    said = f"{formula:.1f}" if formula < 100 else f"{formula:.0f}" if formula < 10_000 else "never"
    near = [k for k in found.near + 1 if k < found.turns]
    if found.k:
        within = f"Within 1 % of the cheapest: k = {runs(near)}."
    else:
        within = f"k = {runs(near)} come within 1 % of it." if near else "No interval comes within 1 % of it."
    return Tile("Best interval", f"k = {found.k}" if found.k else "never", f"{within} The formula says {said}.")


def _cost_tile(found: Answer) -> Tile:
    return Tile(
        "Cost per session",
        usd(found.usd),
        f"{usd(1000 * found.usd)} for 1,000 sessions of {found.turns} turns, replies and summaries included.",
    )


def _saving_tile(found: Answer) -> Tile:
    cached = 1 - found.usd / found.full_cached_usd
    return Tile(
        "Saving",
        f"{percent(1 - found.usd / found.full_uncached_usd)}",
        f"against full history uncached ({usd(found.full_uncached_usd)}); {percent(cached)} against full history "
        f"cached ({usd(found.full_cached_usd)}).",
    )


def _hits_tile(values: Mapping[str, Value], pace: Pace, found: Answer) -> Tile:
    if _longest_prefix(values, found) < values["min"]:
        short = (
            f"The prompts stay below the {values['min']:,.0f} tokens that the cache asks for: nothing is ever in it."
        )
        return Tile("Cache hits", "none", short)
    lifetimes = scenario.lifetimes(values)
    rates = " · ".join(percent(float(pace.hit_rate(ttl, found.turns))) for ttl in lifetimes)
    even = float(formulas.break_even_hit_rate(values["r"], values["w"]))
    pays = f"pays above {percent(even)}" if 0 < even < 1 else "pays from the first hit" if even == 0 else "never pays"
    text = f"with {' and '.join(map(duration, lifetimes))}. "
    if values["ttl"] not in lifetimes:
        text += f"Yours of {duration(values['ttl'])}: {percent(float(pace.hit_rate(values['ttl'], found.turns)))}. "
    text += f"Caching {pays}."
    price, (short, long) = scenario.card(values["model"])
    on_card = values["w"] == filled(values, "ttl")["w"]
    if long and on_card and not price.storage_usd_per_mtok_hour:  # both are for sale, and no storage is owed
        other = long.ttl_s if values["ttl"] <= short.ttl_s else short.ttl_s
        then = filled({**values, "ttl": other}, "ttl")
        there = float(_sweep(then, scenario.rules(then), float(pace.cdf(other)))[: found.turns, found.turns - 1].min())
        verdict = "is cheaper" if there < found.usd else "would be"
        text += f" {duration(other)} {verdict}: {usd(there)}."
    return Tile("Cache hits", rates, text)


def _notes(values: Mapping[str, Value], found: Answer) -> list[str]:
    notes, card = [], scenario.card_offer(values["model"])
    longest = _longest_prefix(values, found)
    if longest < values["min"]:
        notes.append(
            f"Nothing is ever cached at this interval: its longest prefix is {longest:,.0f} tokens, and prefixes "
            f"below {values['min']:,.0f} are not cached."
        )
    sent = values["S"] + values["m"] * (found.turns - 1) + values["u"] + values["o"]
    if sent > scenario.context_tokens(card):
        notes.append(
            f"Full history would not fit: {sent:,.0f} tokens with the last reply, a context of {card.context_window:,}."
        )
    notes.append(
        "Summaries are held against full history here, the cache left alone; Which memory adds all other policies, and "
        "calls that keep the cache alive."
    )
    return [*notes, *scenario.origin_notes(values)]


def _longest_prefix(values: Mapping[str, Value], found: Answer) -> float:
    """Return the tokens of the longest cacheable prompt of the session at its cheapest interval."""
    if found.k is None:
        return values["S"] + values["m"] * (found.turns - 1)
    held_after = min(found.k, found.turns - found.k) - 1  # the last exchanges before the session or a cycle ends
    return max(values["S"] + values["m"] * (found.k - 1), values["S"] + values["s"] + values["m"] * held_after)


def _interval_chart(found: Answer) -> ChartCard:
    k, curve = np.arange(1, found.turns + 1), found.cached_usd[: found.turns, found.turns - 1]
    last = f"k = {found.turns} never summarises and costs {usd(float(curve[-1]))}"
    return ChartCard(
        "What each interval costs",
        f"Every k from 1 to {found.turns}, counted exactly; {last}. Teeth are summaries that a session's end wastes.",
        plots.cost_by_interval(k, curve, found.best, found.near, found.k_star, found.turns),
        f"Line chart of dollars per session against the summary interval. Cheapest at k = {found.best + 1} with "
        f"{usd(found.usd)}; k = 1 costs {usd(float(curve[0]))}; {last}.",
    )


def _length_chart(found: Answer) -> ChartCard:
    n = np.arange(1, found.cached_usd.shape[1] + 1)
    lines = {
        "full history, uncached": found.uncached_usd[-1],
        "summarise, uncached": found.uncached_usd.min(axis=0),
        "full history, cached": found.cached_usd[-1],
        "summarise, cached": found.cached_usd.min(axis=0),
    }
    pays = f"Up to {n[-1]} turns it does not pay for good."
    if found.crossover:
        pays = f"Summarising pays from turn {found.crossover}."
    told = "; ".join(f"{name} {usd(float(line[found.turns - 1]))}" for name, line in lines.items())
    return ChartCard(
        "As the conversation grows",
        f"Summaries at the best interval of each length. {pays}",
        plots.cost_by_length(n, lines, found.crossover, found.turns),
        f"Line chart of dollars per session against its length for four strategies. "
        f"At {found.turns} turns: {told}. {pays}",
    )


def _hits_chart(values: Mapping[str, Value], shape: Pace, here: Pace) -> ChartCard:
    turns, own = int(values["turns"]), float(values["ttl"])
    lifetimes = dict(zip(scenario.lifetimes(values), ("short lifetime", "long lifetime"), strict=True))
    lifetimes.setdefault(own, "this lifetime")
    paced_s = THINK_S * (shape.think_time_s / slider_think_s(shape))
    rates = {duration(ttl): (role, shape.hit_rate_at_paces(ttl, turns, paced_s)) for ttl, role in lifetimes.items()}
    now = {duration(ttl): float(here.hit_rate(ttl, turns)) for ttl in lifetimes}
    told = ", ".join(f"{percent(rate)} with {life}" for life, rate in now.items())
    return ChartCard(
        "Who still finds the cache warm",
        f"Players who think for {duration(values['think'])} hit {told}. The first turn of a session always misses.",
        plots.hit_rate_by_think_time(THINK_S, rates, float(values["think"]), now),
        f"Line chart of the share of turns that hit the cache against think time, a line per lifetime. Here: {told}.",
    )


def _table(found: Answer) -> list[list[Any]]:
    """Return the rows of the download: each interval's cost at this length."""
    at = found.turns - 1
    rows = zip(range(1, found.turns + 1), found.cached_usd[:, at], found.uncached_usd[:, at], strict=False)
    head = ["summarise_every_k_exchanges", "usd_per_session_cached", "usd_per_session_uncached"]
    return [head, *([k, float(cached), float(uncached)] for k, cached, uncached in rows)]
