"""The lesson on what a summary forgets: one fact through many passes, and what remembering costs."""

from __future__ import annotations

import numpy as np

from npcmem import plots_lessons
from npcmem.dashboards.page import ChartCard
from npcmem.lessons import meeting
from npcmem.plots_lessons import BLUE, GREEN, GREY, ORANGE
from npcmem.recall import Retention, RetentionPreset, preset
from npcmem.sweep import recall_sweep

PROSE = preset("prose")
VERBATIM = preset("values-verbatim")
FACTS = 8  # told in each of the ten conversations of the count


def passes(turn: int | np.ndarray, k: int) -> int | np.ndarray:
    """Return how many summaries the first exchange has been through at a turn: ⌊(t − 1)/k⌋."""
    return (turn - 1) // k


def first_fact(turn: int, k: int, kept: float = 0.95) -> float:
    """Return the chance that a fact of the first exchange is still known, in %."""
    return 100 * float(Retention(1.0, kept).survive(passes(turn, k)))


def a_pass(share: float, times: int) -> float:
    """Return the chance to survive one pass where a share is left after so many: share^(1/p), in %."""
    return 100 * share ** (1 / times)


def mean_known(turn: int, k: int, kept: float = 0.95) -> float:
    """Return how much of what was told is known at a turn, in %."""
    return 100 * float(recall_sweep(turn, Retention(1.0, kept), most_k=max(k, 1))[k - 1, -1])


def whispers(kept: int = 95) -> ChartCard:
    """The first fact of a conversation by turn, for three intervals."""
    turns = np.arange(1, 101)
    curves = {
        f"summed up every {k}": (colour, 100 * np.asarray(Retention(1.0, kept / 100).survive(passes(turns, k))))
        for k, colour in ((4, ORANGE), (11, BLUE), (20, GREEN))
    }
    figure = plots_lessons.lines(turns, curves, "turn", "still known", top=104, y={"ticksuffix": " %"})
    for trace in figure["data"]:
        trace["line"]["shape"] = "hv"
    sentence = (
        f"If a summary keeps a fact with {kept} %, what the player said first is known at turn 60 with "
        f"{first_fact(60, 4, kept / 100):.0f} % when you sum up every 4 exchanges ({passes(60, 4)} passes), "
        f"{first_fact(60, 11, kept / 100):.0f} % every 11 and {first_fact(60, 20, kept / 100):.0f} % every 20."
    )
    return ChartCard("The telephone game", sentence, figure, f"Three falling stairs. {sentence}")


def all_or_nothing(found: RetentionPreset = PROSE) -> ChartCard:
    """How many of eight facts a conversation keeps: all alike, or all or nothing, with the same mean."""
    from scipy.stats import binom

    kept, share, carried = np.arange(FACTS + 1), found.share, found.retention.carried
    alike = binom.pmf(kept, FACTS, share)
    states = carried * binom.pmf(kept, FACTS, share / carried) + (1 - carried) * (kept == 0)
    figure = plots_lessons.stacked(
        kept,
        {"every fact by itself": (GREY, 100 * alike), "all or nothing": (ORANGE, 100 * states)},
        f"facts of {FACTS} still in the summary",
        "conversations",
    )
    figure["layout"] |= {"barmode": "group", "bargap": 0.25}
    figure["layout"]["yaxis"] |= {"ticksuffix": " %", "range": [0, 60], "tickformat": ".0f"}
    sentence = (
        f"Both keep {share:.0%} of facts on average. Where every fact takes its own chance, {alike[0]:.1%} of "
        f"conversations lose all {FACTS}; as counted, {1 - carried:.0%} do. An average hides it."
    )
    return ChartCard("The same average twice", sentence, figure, f"Two sets of columns. {sentence}")


def dear_and_true(kept: int = 95, h: int = 100) -> ChartCard:
    """What a summary interval costs and what it forgets over 60 turns."""
    n, most = 60, 40
    cost = meeting.costs(n, h / 100)[:most, -1]
    known = recall_sweep(n, Retention(1.0, kept / 100), most_k=most)[:, -1]
    k, at = np.arange(1, most + 1), int(cost.argmin())
    double = min(2 * (at + 1), most)
    curves = {"dearer than the cheapest": (BLUE, 100 * (cost / cost[at] - 1)), "forgotten": (ORANGE, 100 * (1 - known))}
    figure = plots_lessons.lines(
        k, curves, "exchanges between summaries, k", "per cent", top=100, y={"ticksuffix": " %"},
        marks=[(at + 1, f"cheapest, k = {at + 1}")],
        points=[(double, 100 * float(cost[double - 1] / cost[at] - 1), BLUE),
                (double, 100 * float(1 - known[double - 1]), ORANGE)],
    )  # fmt: skip
    sentence = (
        f"At the cheapest k = {at + 1} the character has forgotten {1 - known[at]:.0%} of what was told by turn {n}. "
        f"At k = {double} it is {1 - known[double - 1]:.0%}, for {cost[double - 1] / cost[at] - 1:.1%} more money."
    )
    return ChartCard("What remembering costs", sentence, figure, f"Two curves against k. {sentence}")
