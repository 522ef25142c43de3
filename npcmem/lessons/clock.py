"""The lesson on the cache and the clock: when a cached prompt pays, how long players think, what lifetime to buy."""

from __future__ import annotations

import numpy as np

from npcmem import formulas, plots_lessons
from npcmem.dashboards.page import ChartCard
from npcmem.dashboards.words import duration, percent
from npcmem.paces import pace, paces
from npcmem.plots_lessons import BLUE, GREEN, GREY, ORANGE, PLUM
from npcmem.thinktime import Pace

R, W, W_LONG = 0.1, 1.25, 2.0
"""Price of a cache read, of a write that lives 5 minutes and of one that lives an hour, over that of plain input."""
SHORT_S, LONG_S = 300.0, 3600.0
REAL = pace("deliberate")
"""Players who wrote to an AI in a game of Diplomacy, as measured."""
GAPS = paces()["deliberate"].gaps


def break_even(w: float = W) -> float:
    """Return the hit rate past which a cache pays, in %."""
    return 100 * float(formulas.break_even_hit_rate(R, w))


def threshold(turns: int) -> float:
    """Return the miss rate of the 5-minute cache past which the hour wins, in %."""
    return 100 * float(formulas.long_ttl_miss_threshold(turns, R, W, W_LONG))


def past(ttl_s: float, think: Pace = REAL) -> float:
    """Return the share of gaps of at least so many seconds, in %."""
    return 100 * (1 - float(think.cdf(ttl_s)))


def prefix_cost(turns: np.ndarray | int, ttl_s: float, w: float, think: Pace = REAL) -> np.ndarray | float:
    """Return what a prefix costs over a session, sending it plain being 1: the first turn writes, h of the rest hit."""
    hits = (1 - 1 / np.asarray(turns, dtype=float)) * think.cdf(ttl_s)
    return formulas.prefix_multiplier(hits, R, w)


def least_turns(ttl_s: float = LONG_S, w: float = W_LONG, think: Pace = REAL) -> int:
    """Return from how many turns on the hour is cheaper than 5 minutes."""
    turns = np.arange(1, 2001)
    wins = prefix_cost(turns, ttl_s, w, think) < prefix_cost(turns, SHORT_S, W, think)
    return int(turns[wins][0])


def paying() -> ChartCard:
    """Cost of a cached prefix against the hit rate, for both lifetimes, and where each crosses plain input."""
    h = np.linspace(0, 1, 101)
    curves = {
        "not cached": (GREY, np.full_like(h, 100.0)),
        "5-minute cache": (BLUE, 100 * formulas.prefix_multiplier(h, R, W)),
        "1-hour cache": (PLUM, 100 * formulas.prefix_multiplier(h, R, W_LONG)),
    }
    marks = [(break_even(w), f"{name}: {break_even(w):.1f} %") for w, name in ((W, "5 minutes"), (W_LONG, "1 hour"))]
    figure = plots_lessons.lines(
        100 * h, curves, "turns that hit the cache, in %", "cost of the prefix", top=210, marks=marks,
        points=[(break_even(W), 100.0, BLUE), (break_even(W_LONG), 100.0, PLUM)], y={"ticksuffix": " %"},
        dashed=["not cached"],
    )  # fmt: skip
    sentence = (
        f"A write costs more than plain input, a read a tenth of it. The 5-minute cache pays once "
        f"{break_even(W):.1f} % of turns hit, the hour once {break_even(W_LONG):.1f} % do. Below that it is a loss."
    )
    return ChartCard("When a cache pays", sentence, figure, f"Two falling lines that cross 100 %. {sentence}")


def still_alive(minutes: float = 5) -> ChartCard:
    """The share of gaps that are shorter than a lifetime, for measured paces."""
    gap_s = np.geomspace(2, 7200, 160)
    shown = (
        ("deliberate", "writing to an AI in a game", ORANGE),
        ("casual", "chatting with a bot", GREEN),
        ("group-chat", "fast group chat", GREY),
    )
    curves = {name: (colour, 100 * np.asarray(pace(id).cdf(gap_s))) for id, name, colour in shown}
    figure = plots_lessons.lines(
        gap_s, curves, "seconds between two turns", "gaps that are shorter", top=104, log_x=True,
        marks=[(60 * minutes, f"lifetime {duration(60 * minutes)}")], y={"ticksuffix": " %"},
        points=[(60 * minutes, 100 - past(60 * minutes, pace(id)), colour) for id, _, colour in shown],
    )  # fmt: skip
    ticks = [2, 10, 60, 300, 1200, 3600]
    figure["layout"]["xaxis"] |= {"tickvals": ticks, "ticktext": [duration(one) for one in ticks]}
    figure["layout"]["xaxis"]["title"] = {"text": "time between two turns"}
    sentence = (
        f"Where players write to an AI in a game, half of the pauses are longer than {_pause(REAL.median_s())}, and "
        f"{percent(past(60 * minutes) / 100)} outlast {duration(60 * minutes)}: each of them pays for a write. "
        f"Chatting with a bot it is {percent(past(60 * minutes, pace('casual')) / 100)}."
    )
    return ChartCard("How long players take", sentence, figure, f"Three S-shaped curves. {sentence}")


def which_lifetime(think_s: float = 112, n: int = 20) -> ChartCard:
    """Cost of the prefix against the length of a session, for both lifetimes, at a pace."""
    think = REAL.at_pace(think_s)
    turns = np.arange(1, 61)
    short, long = (prefix_cost(turns, ttl_s, w, think) for ttl_s, w in ((SHORT_S, W), (LONG_S, W_LONG)))
    wins = np.flatnonzero(long < short)
    marks = [(float(turns[wins[0]]), f"1 hour from {turns[wins[0]]} turns")] if len(wins) else []
    curves = {
        "not cached": (GREY, np.full(len(turns), 100.0)),
        "5-minute cache": (BLUE, 100 * short),
        "1-hour cache": (PLUM, 100 * long),
    }
    figure = plots_lessons.lines(
        turns, curves, "turns in the session, n", "cost of the prefix", top=210, marks=marks, y={"ticksuffix": " %"},
        points=[(n, 100 * float(short[n - 1]), BLUE), (n, 100 * float(long[n - 1]), PLUM)], dashed=["not cached"],
    )  # fmt: skip
    better = "5-minute cache" if short[n - 1] <= long[n - 1] else "1-hour cache"
    since = f"The hour wins from {turns[wins[0]]} turns on." if len(wins) else "The hour wins at no length shown."
    sentence = (
        f"At a think time of {_pause(think_s)}, {percent(past(SHORT_S, think) / 100)} of gaps outlast 5 minutes. "
        f"Over {n} turn{'s' * (n != 1)} the prefix costs {short[n - 1]:.0%} of plain input with 5 minutes, "
        f"{long[n - 1]:.0%} with an hour: buy the {better}. {since}"
    )
    return ChartCard("Which cache is cheaper", sentence, figure, f"Two falling curves that cross. {sentence}")


def _pause(seconds: float) -> str:
    return f"{seconds:.0f}\u00a0s" if seconds < 180 else duration(seconds)


def measured() -> str:
    """Return where the measured gaps come from."""
    return paces()["deliberate"].source
