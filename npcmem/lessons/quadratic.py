"""The lesson on the quadratic: what resending everything costs, and why the last call says little about the whole."""

from __future__ import annotations

import numpy as np

from npcmem import formulas, plots_lessons
from npcmem.dashboards.page import ChartCard
from npcmem.dialogue import Character, Session
from npcmem.ledger import replay
from npcmem.plots_lessons import GREEN, GREY, ORANGE, SKY
from npcmem.policies import FullHistory

S, M = 1800, 160
"""The character of the lessons: static prompt and exchange, in tokens, as in the article on the summary interval."""


def counted(turns: int, static: int = S, exchange: int = M) -> int:
    """Return the input tokens of a conversation, call by call, by replaying it."""
    session = Session.uniform(turns, exchange, 0)
    return replay(FullHistory(), Character(static_tokens=static), session).total.input


def last_call(turns: int, static: int = S, exchange: int = M) -> float:
    """Return the input tokens of call number ``turns``: S + m(n − 1)."""
    return static + exchange * (turns - 1)


def doubled(turns: int) -> float:
    """Return how many times as many input tokens a conversation twice as long sends."""
    return formulas.full_history_input_tokens(2 * turns, S, M) / formulas.full_history_input_tokens(turns, S, M)


def input_usd(turns: int, exchange: int, usd_per_mtok: float) -> float:
    """Return the dollars of a conversation's input whose call number t sends t exchanges."""
    return formulas.full_history_input_tokens(turns, exchange, exchange) * usd_per_mtok / 1e6


def every_call(n: int = 60, m: int = M) -> ChartCard:
    """What each of n calls sends: the character sheet and the history, most of which was sent before."""
    t = np.arange(1, n + 1)
    new = np.where(t > 1, float(m), 0.0)
    parts = {
        "character sheet, every time": (SKY, np.full(n, float(S))),
        "history sent before": (ORANGE, m * np.maximum(t - 2, 0.0)),
        "the newest exchange": (GREEN, new),
    }
    figure = plots_lessons.stacked(t, parts, "call", "input tokens")
    total, share = formulas.full_history_input_tokens(n, S, m), formulas.repeated_share(n, S, m)
    sentence = (
        f"{n} calls send {total:,.0f} tokens, {share:.0%} of them history, although only {m * (n - 1):,} tokens of "
        f"it were ever said. The triangle is the square: twice as long is twice as wide and twice as high."
    )
    return ChartCard("What each call sends", sentence, figure, f"Bars that grow with every call. {sentence}")


def window_savings(n: np.ndarray | int, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what a window of so many turns saves of the last call, and of the whole conversation of n turns.

    As in the article on multi-turn cost, call t sends t exchanges and nothing else.
    """
    n = np.asarray(n, dtype=float)
    most = np.minimum(n, window)
    whole = most * (most + 1) / 2 + (n - most) * window
    return 1 - most / n, 1 - whole / (n * (n + 1) / 2)


def two_savings(window: int = 10, n: int = 50) -> ChartCard:
    """What a sliding window saves of the last call, which is often quoted, and of the bill."""
    turns = np.arange(1, 101)
    last, whole = window_savings(turns, window)
    here = window_savings(n, window)
    curves = {"of the last call": (GREY, 100 * last), "of the whole conversation": (ORANGE, 100 * whole)}
    points = [(n, 100 * float(here[0]), GREY), (n, 100 * float(here[1]), ORANGE)]
    figure = plots_lessons.lines(
        turns, curves, "turns in the conversation", "saved", top=100, points=points, y={"ticksuffix": " %"}
    )
    sentence = (
        f"Keep the last {window} of {n} turns and the last call is {here[0]:.0%} shorter. The conversation is only "
        f"{here[1]:.0%} cheaper, because every call before it was shorter already."
    )
    return ChartCard("One saving, measured twice", sentence, figure, f"Two rising curves. {sentence}")
