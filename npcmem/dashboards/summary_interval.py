"""The page "How often should this character summarise?": what it may be asked, what it shows, how it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from npcmem import formulas, plots
from npcmem.cache import CacheRules
from npcmem.dashboards.controls import Choice, Control, Slider, Upload, Value, WrongTogether
from npcmem.dashboards.page import ChartCard, Page, Tile, View
from npcmem.dashboards.words import duration, percent, runs, usd
from npcmem.dialogue import Character
from npcmem.money import CLASSES, Price
from npcmem.offers import Offer, offer, offers
from npcmem.paces import paces
from npcmem.sweep import band, crossover, sweep
from npcmem.telemetry import read_player_inputs
from npcmem.thinktime import Pace

ARTICLE = "article"
ARTICLE_PRICE = Price.of(3.0, 15.0, 0.3, 3.75, 6.0)
ARTICLE_RULES = (CacheRules(300), CacheRules(3600, long_writes=True))
DEFAULT_MODEL, DEFAULT_PACE, UPLOADED = "claude-haiku-5-5", "deliberate", "uploaded"
SHORTEST_TTL_S, LONGEST_TTL_S = 30, 86_400
MOST_UPLOAD_BYTES = 8 * 2**20
THINK_S = np.geomspace(1, 1800, 61)

WHO, TALK, MONEY, MORE = (
    "Model and players",
    "The conversation",
    "Prices and clock",
    "More: replies, suffix, cache rules",
)


def controls() -> tuple[Control, ...]:
    """Return the page's controls; the defaults are a real model of today and measured players."""
    start = card_values(DEFAULT_MODEL)
    pace = slider_think_s(paces()[DEFAULT_PACE].think_time)
    models = ((ARTICLE, "The articles' example ($3 in, $15 out)", "Example"),)
    models += tuple((id, one.name, one.provider) for id, one in offers().items())
    shapes = tuple((preset.id, preset.name, "Presets") for preset in paces().values())
    return (
        Choice(
            "model",
            "Model",
            "Fills the prices, the lifetime and the minimum from its card.",
            models,
            DEFAULT_MODEL,
            WHO,
        ),
        Choice("pace", "Players' pace", "How long players take between turns.", shapes, DEFAULT_PACE, WHO),
        Upload("telemetry", "Or your own players", "CSV with a session and a time column.", MOST_UPLOAD_BYTES, WHO),
        Slider("turns", "Turns", "n", "exchanges in one session", 2, 300, 60, "turns", group=TALK),
        Slider(
            "S", "Static prompt", "S", "persona, rules, world: sent every turn", 0, 12_000, 1800, "tokens", group=TALK
        ),
        Slider("m", "Exchange", "m", "player line plus reply, kept as history", 10, 1500, 160, "tokens", group=TALK),
        Slider("s", "Summary", "s", "what a summary comes out as", 10, 1500, 150, "tokens", group=TALK),
        Slider("rho", "Price ratio", "ρ", "output price ÷ input price", 1, 12, start["rho"], "×", 0.01, group=MONEY),
        Slider(
            "ttl",
            "Cache TTL",
            "τ",
            "an unused entry lives this long",
            SHORTEST_TTL_S,
            LONGEST_TTL_S,
            start["ttl"],
            "seconds",
            scale="log",
            group=MONEY,
        ),
        Slider(
            "think",
            "Think time",
            "",
            "from one request to the next, breaks aside",
            1,
            1800,
            pace,
            "seconds",
            scale="log",
            group=MONEY,
        ),
        Slider("o", "Reply", "o", "the character's part of an exchange", 1, 1500, 80, "tokens", group=MORE),
        Slider(
            "u",
            "Volatile suffix",
            "u",
            "new player line and state: sent last, never cached",
            0,
            2000,
            80,
            "tokens",
            group=MORE,
        ),
        Slider("q", "Summary instructions", "q", "the request to summarise", 0, 1000, 120, "tokens", group=MORE),
        Choice(
            "flush",
            "Summary call",
            "Where the request to summarise stands.",
            (
                ("separate", "A prompt of its own", "Same model"),
                ("shared", "Behind the conversation, sharing its prefix", "Same model"),
            ),
            "separate",
            MORE,
        ),
        Slider("r", "Cache read", "r", "read price ÷ input price", 0, 1, start["r"], "×", 0.005, group=MORE),
        Slider("w", "Cache write", "w", "write price ÷ input price", 0, 3, start["w"], "×", 0.05, group=MORE),
        Slider(
            "min",
            "Minimum prefix",
            "",
            "shorter prefixes are not cached, silently",
            0,
            8192,
            start["min"],
            "tokens",
            group=MORE,
        ),
        Slider(
            "p",
            "Input price",
            "p",
            "dollars per million input tokens",
            0.01,
            30,
            start["p"],
            "$/Mtok",
            scale="log",
            group=MORE,
        ),
    )


def card_values(model: str) -> dict[str, Value]:
    """Return what a model's card puts into the controls."""
    price, (short, _) = _card(model)
    ttl = float(min(max(short.ttl_s, SHORTEST_TTL_S), LONGEST_TTL_S))
    ratios = {"rho": price.rho, "r": price.r, "w": price.w}
    return {
        "p": price.uncached,
        "ttl": ttl,
        "min": short.min_tokens,
        **{k: float(f"{v:.6g}") for k, v in ratios.items()},
    }


def slider_think_s(pace: Pace) -> float:
    """Return where the think-time slider stands for a pace as it is: rounded, and within the track."""
    return float(np.clip(float(f"{pace.think_time_s:.3g}"), THINK_S[0], THINK_S[-1]))


def filled(
    values: Mapping[str, Value], name: str, pace_of: Callable[[Value], Pace] = lambda id: paces()[id].think_time
) -> Mapping[str, Value]:
    """Return the values that follow from setting one control: a card's, a pace's, the write price of a lifetime."""
    if name == "model":
        return {**values, **card_values(values["model"])}
    if name == "pace":
        return {**values, "think": slider_think_s(pace_of(values["pace"]))}
    if name == "ttl":
        price, (short, long) = _card(values["model"])
        return {**values, "w": price.w_long if long and values["ttl"] > short.ttl_s else price.w}
    return values


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
    cached = _sweep(values, _rules(values), warm)
    best, near = band(cached[:turns, turns - 1])
    return Answer(turns, cached, _sweep(values, None, 0.0), best, near, warm, _k_star(values, warm))


def view(values: Mapping[str, Value], pace: Pace | None = None) -> View:
    """Return what the page shows; without ``pace``, for the preset that ``values`` names."""
    shape = paces()[values["pace"]].think_time if pace is None else pace
    here = shape.scaled(values["think"] / slider_think_s(shape))
    found = answer(values, here)
    return View(
        headline=f"Summarise {_every(found.k)}." if found.k else "Do not summarise.",
        answer=_advice(found),
        tiles=(_best_tile(found), _cost_tile(found), _saving_tile(found), _hits_tile(values, here, found)),
        charts=(_interval_chart(found), _length_chart(found), _hits_chart(values, shape, here)),
        notes=_notes(values, found),
        table=_table(found),
    )


def summary_interval() -> Page:
    """Return the page; everything it remembers lives in what this call makes."""
    offered = controls()
    measured: dict[str, Pace] = {}

    def pace_of(id: Value) -> Pace:
        return measured[id] if id in measured else paces()[id].think_time

    def uploaded(file: str, content: bytes) -> tuple[tuple[Control, ...], Mapping[str, Value], str]:
        inputs = read_player_inputs(content)
        measured[UPLOADED] = inputs.pace()
        now = tuple(c.with_upload(UPLOADED, f"Yours: {file}") if c.name == "pace" else c for c in offered)
        aside = [f"Line {one.line}: {one.sentence}." for one in inputs.problems[:3]]
        said = " ".join([inputs.summary(), *inputs.notes[:2], *aside])
        return now, {"pace": UPLOADED, "think": slider_think_s(measured[UPLOADED])}, said

    return Page(
        "How often should this character summarise?",
        "What an NPC's memory costs, exactly: all of it is resent each turn, or read from a cache while that lives.",
        offered,
        lambda values: view(values, pace_of(values["pace"])),
        lambda values, name: filled(values, name, pace_of),
        uploaded,
    )


# --- the numbers ----------------------------------------------------------------------------------


def _offer(model: Value) -> Offer | None:
    return None if model == ARTICLE else offer(model)


def _card(model: Value) -> tuple[Price, tuple[CacheRules, CacheRules | None]]:
    """Return a model's price and its rules for the shorter and, if there is one, the longer lifetime."""
    card = _offer(model)
    return (ARTICLE_PRICE, ARTICLE_RULES) if card is None else (card.price, (card.rules, card.rules_long))


def _price(values: Mapping[str, Value]) -> Price:
    """Return the price the sliders say; past a prompt length it changes by the factors on the card."""
    card, p = _card(values["model"])[0], values["p"]
    price = Price.of(p, p * values["rho"], p * values["r"], p * values["w"])
    factors = {name: getattr(price, name) / getattr(card, name) if getattr(card, name) else 1.0 for name in CLASSES}
    return replace(price, tiers=card.scaled(**factors).tiers)


def _rules(values: Mapping[str, Value]) -> CacheRules:
    card = _card(values["model"])[1][0]
    return CacheRules(values["ttl"], int(values["min"]), card.granularity_tokens)


def _sweep(values: Mapping[str, Value], rules: CacheRules | None, warm: float) -> np.ndarray:
    who = Character(int(values["S"]), int(values["s"]), int(values["q"]), int(values["u"]))
    longest = min(max(2 * int(values["turns"]), 120), 600)
    exchange, reply = int(values["m"]), int(values["o"])
    if reply > exchange:
        raise WrongTogether(
            "o", f"Reply o ({reply} tokens) cannot exceed exchange m ({exchange} tokens): it is part of it"
        )
    return sweep(who, exchange, reply, longest, rules, warm, _price(values), shares_prefix=values["flush"] == "shared")


def _k_star(values: Mapping[str, Value], warm: float) -> float:
    m, s, q, rho, r, w = (values[name] for name in ("m", "s", "q", "rho", "r", "w"))
    if values["flush"] == "shared":
        flush = formulas.flush_cost_shared(values["S"], m, s, q, rho, warm, r, w)
    else:
        flush = formulas.flush_cost_separate(m, s, q, rho, warm, r, w)
    return float(formulas.optimal_interval(flush, formulas.carry_price(warm, r, w), m))


def _lifetimes(values: Mapping[str, Value]) -> tuple[float, float]:
    """Return the two lifetimes a model offers, the shorter first; beside a single one an hour, to compare."""
    short, long = _card(values["model"])[1]
    own, other = min(short.ttl_s, LONGEST_TTL_S), min(long.ttl_s if long else 3600.0, LONGEST_TTL_S)
    return min(own, other), max(own, other)


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
    lifetimes = _lifetimes(values)
    rates = " · ".join(percent(float(pace.hit_rate(ttl, found.turns))) for ttl in lifetimes)
    even = float(formulas.break_even_hit_rate(values["r"], values["w"]))
    pays = f"pays above {percent(even)}" if 0 < even < 1 else "pays from the first hit" if even == 0 else "never pays"
    text = f"with {' and '.join(map(duration, lifetimes))}. "
    if values["ttl"] not in lifetimes:
        text += f"Yours of {duration(values['ttl'])}: {percent(float(pace.hit_rate(values['ttl'], found.turns)))}. "
    text += f"Caching {pays}."
    price, (short, long) = _card(values["model"])
    on_card = values["w"] == filled(values, "ttl")["w"]
    if long and on_card and not price.storage_usd_per_mtok_hour:  # both are for sale, and no storage is owed
        other = long.ttl_s if values["ttl"] <= short.ttl_s else short.ttl_s
        then = filled({**values, "ttl": other}, "ttl")
        there = float(_sweep(then, _rules(then), float(pace.cdf(other)))[: found.turns, found.turns - 1].min())
        verdict = "is cheaper" if there < found.usd else "would be"
        text += f" {duration(other)} {verdict}: {usd(there)}."
    return Tile("Cache hits", rates, text)


def _notes(values: Mapping[str, Value], found: Answer) -> list[str]:
    notes, card = [], _offer(values["model"])
    longest = _longest_prefix(values, found)
    if longest < values["min"]:
        notes.append(
            f"Nothing is ever cached at this interval: its longest prefix is {longest:,.0f} tokens, and prefixes "
            f"below {values['min']:,.0f} are not cached."
        )
    sent = values["S"] + values["m"] * (found.turns - 1) + values["u"] + values["o"]
    if card and card.context_window and sent > card.context_window:
        notes.append(
            f"Full history would not fit: {sent:,.0f} tokens with the last reply, a context of {card.context_window:,}."
        )
    if values["pace"] in paces():
        notes.append(f"Pace: {paces()[values['pace']].source}.")
    if card is None:
        notes.append("Prices: the articles' illustration; only their ratios move k*.")
    else:
        notes.append(f"Prices of {card.name}: in force since {card.since}, checked {card.checked}. {card.source}")
        if card.price.storage_usd_per_mtok_hour and values["ttl"] > card.rules.ttl_s:
            rate = card.price.storage_usd_per_mtok_hour
            notes.append(
                f"This lifetime is paid storage: {usd(rate)} per million tokens and hour, not in these figures."
            )
        notes.append(card.notes)
    return [note for note in notes if note]


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
    lifetimes = dict(zip(_lifetimes(values), ("short lifetime", "long lifetime"), strict=True))
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
    return [head, *([k, f"{cached:.9f}", f"{uncached:.9f}"] for k, cached, uncached in rows)]
