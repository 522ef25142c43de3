"""The scenario every page starts from: a model and its card, the players' pace, the conversation, prices and clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from npcmem.cache import CacheRules
from npcmem.dashboards.controls import Choice, Control, Slider, Upload, Value, WrongTogether
from npcmem.dashboards.page import Page, PriceDate, View
from npcmem.dashboards.words import usd
from npcmem.dialogue import Character, Session
from npcmem.money import CLASSES, Price
from npcmem.offers import Offer, offer, offers
from npcmem.paces import paces
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
    price, (short, _) = card(model)
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
        price, (short, long) = card(values["model"])
        return {**values, "w": price.w_long if long and values["ttl"] > short.ttl_s else price.w}
    return values


# --- what the values mean ---------------------------------------------------------------------------


def card_offer(model: Value) -> Offer | None:
    """Return a model's card; None for the articles' example."""
    return None if model == ARTICLE else offer(model)


def context_tokens(found: Offer | None) -> float:
    """Return what a call of a model may hold; without end where there is no card or it does not say."""
    return (found and found.context_window) or math.inf


def card(model: Value) -> tuple[Price, tuple[CacheRules, CacheRules | None]]:
    """Return a model's price and its rules for the shorter and, if there is one, the longer lifetime."""
    found = card_offer(model)
    return (ARTICLE_PRICE, ARTICLE_RULES) if found is None else (found.price, (found.rules, found.rules_long))


def price(values: Mapping[str, Value]) -> Price:
    """Return the price the sliders say; past a prompt length it changes by the factors on the card."""
    listed, p = card(values["model"])[0], values["p"]
    said = Price.of(p, p * values["rho"], p * values["r"], p * values["w"])
    factors = {name: getattr(said, name) / getattr(listed, name) if getattr(listed, name) else 1.0 for name in CLASSES}
    return replace(said, tiers=listed.scaled(**factors).tiers)


def rules(values: Mapping[str, Value]) -> CacheRules:
    """Return the cache the sliders say, in the card's steps."""
    short, _ = card(values["model"])[1]
    return CacheRules(values["ttl"], int(values["min"]), short.granularity_tokens)


def character(values: Mapping[str, Value]) -> Character:
    """Return the sizes of the character's prompt."""
    return Character(int(values["S"]), int(values["s"]), int(values["q"]), int(values["u"]))


def session(values: Mapping[str, Value], turns: int) -> Session:
    """Return a conversation of so many like exchanges; WrongTogether where the reply is longer than its exchange."""
    exchange, reply = int(values["m"]), int(values["o"])
    if reply > exchange:
        raise WrongTogether(
            ("o", "m"), f"Reply o ({reply} tokens) cannot exceed exchange m ({exchange} tokens): it is part of it"
        )
    return Session.uniform(turns, exchange, reply)


def lifetimes(values: Mapping[str, Value]) -> tuple[float, float]:
    """Return the two lifetimes a model offers, the shorter first; beside a single one an hour, to compare."""
    short, long = card(values["model"])[1]
    own, other = min(short.ttl_s, LONGEST_TTL_S), min(long.ttl_s if long else 3600.0, LONGEST_TTL_S)
    return min(own, other), max(own, other)


def here(values: Mapping[str, Value], pace: Pace | None) -> tuple[Pace, Pace]:
    """Return the shape of the players' pace and that shape at the think time of the slider."""
    shape = paces()[values["pace"]].think_time if pace is None else pace
    return shape, shape.scaled(values["think"] / slider_think_s(shape))


def origin_notes(values: Mapping[str, Value]) -> list[str]:
    """Return where the pace and the prices come from."""
    notes, found = [], card_offer(values["model"])
    if values["pace"] in paces():
        notes.append(f"Pace: {paces()[values['pace']].source}.")
    if found is None:
        notes.append("Prices: the articles' illustration; only their ratios move k*.")
        return notes
    notes.append(f"Prices of {found.name}: in force since {found.since}, checked {found.checked}. {found.source}")
    if found.price.storage_usd_per_mtok_hour and values["ttl"] > found.rules.ttl_s:
        rate = found.price.storage_usd_per_mtok_hour
        notes.append(f"This lifetime is paid storage: {usd(rate)} per million tokens and hour, not in these figures.")
    return [*notes, *([found.notes] if found.notes else [])]


def price_dates(values: Mapping[str, Value], *others: Offer) -> tuple[PriceDate, ...]:
    """Return of which day the prices are: the chosen model's, then those of ``others`` that are shown beside it."""
    found = card_offer(values["model"])
    own = PriceDate(ARTICLE, "the articles' example") if found is None else _dated(found, _as_listed(values))
    return (own, *(_dated(one, True) for one in others if one.id != own.model))


def _dated(one: Offer, listed: bool) -> PriceDate:
    return PriceDate(one.id, one.name, one.since, one.checked, listed, one.source)


def _as_listed(values: Mapping[str, Value]) -> bool:
    """Return whether the price controls stand as the model's card and the cache's lifetime fill them in.

    A link keeps six digits, which are all that is compared.
    """
    start = filled({**values, **card_values(values["model"]), "ttl": values["ttl"]}, "ttl")
    return all(f"{values[name]:.6g}" == f"{start[name]:.6g}" for name in ("p", "rho", "r", "w"))


# --- the page -------------------------------------------------------------------------------------


def page(
    title: str,
    intro: str,
    offered: tuple[Control, ...],
    view: Callable[[Mapping[str, Value], Pace], View],
    first: Callable[[Mapping[str, Value], Pace], View] | None = None,
) -> Page:
    """Return a page of ``view(values, pace)``, of which ``first(values, pace)`` follows a moving hand at once.

    Everything it remembers lives in what this call makes.
    """
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
        title,
        intro,
        offered,
        lambda values: view(values, pace_of(values["pace"])),
        lambda values, name: filled(values, name, pace_of),
        uploaded,
        first and (lambda values: first(values, pace_of(values["pace"]))),
    )
