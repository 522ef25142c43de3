"""The lesson on what a summary forgets: one fact through many passes, and what remembering costs."""

from __future__ import annotations

from math import comb

import numpy as np

from npcmem import plots_lessons
from npcmem.dashboards.page import ChartCard
from npcmem.dashboards.words import percent
from npcmem.lessons import meeting, square_root
from npcmem.lessons.quadratic import M
from npcmem.lessons.square_root import SUMMARY
from npcmem.plots_lessons import BLUE, GREEN, GREY, ORANGE
from npcmem.recall import Retention, RetentionPreset, preset
from npcmem.sweep import recall_sweep

PROSE = preset("prose")
VERBATIM = preset("values-verbatim")
FIELDS = preset("game-fields")
FACTS = 8  # told in each of the ten conversations of the count


def passes(turn: int | np.ndarray, k: int) -> int | np.ndarray:
    """Return how many summaries the first exchange has been through at a turn: ⌊(t − 1)/k⌋."""
    return (turn - 1) // k


def first_fact(turn: int, k: int, kept: float = 0.95) -> float:
    """Return the chance that a fact of the first exchange is still known, in %."""
    return 100 * float(Retention(1.0, kept).survive(passes(turn, k)))


def rebuilding(turns: int, k: int) -> float:
    """Return what it costs more, in input tokens, to write every summary from all the raw words there are.

    Summary number j then reads j·k exchanges and no older summary, in place of k exchanges and one.
    """
    made = int(passes(turns, k))
    return M * k * made * (made - 1) / 2 - SUMMARY * max(made - 1, 0)


def rebuilt(turns: int, k: int) -> float:
    """Return how much dearer a conversation gets by it, in %."""
    return 100 * rebuilding(turns, k) / float(square_root.exact(turns)[k - 1])


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
    return ChartCard("What is left of the first exchange", sentence, figure, f"Three falling stairs. {sentence}")


def promise(turn: int = 60, kept: int = 95) -> ChartCard:
    """The promise of the first exchange at a turn, for every interval from 2 to 20, and where nothing is copied."""
    k = np.arange(2, 21)
    copied = 100 * np.asarray(Retention(1.0, kept / 100).survive(passes(turn, k)))
    once = np.where(passes(turn, k) > 0, float(kept), 100.0)
    curves = {
        "copied from summary to summary": (ORANGE, copied),
        "each summary from the raw words": (BLUE, once),
        "kept in a field": (GREEN, np.full(len(k), 100.0)),
    }
    figure = plots_lessons.lines(
        k, curves, "exchanges between summaries, k", "promise still known", top=104, y={"ticksuffix": " %"}
    )
    often, seldom = passes(turn, 2), passes(turn, 20)
    sentence = (
        f"At turn {turn} the promise has been copied {often} times with a summary every 2 exchanges and is known with "
        f"{copied[0]:.0f} %; every 20 it has been copied {seldom} times, and it is {copied[-1]:.0f} %. Written from "
        f"the raw words each time, it has been copied once at most; in a field, never."
    )
    return ChartCard("One promise", sentence, figure, f"A rising line of steps below two level ones. {sentence}")


def three_kinds() -> ChartCard:
    """What was left of the facts in prose, in values told to be carried over, and in fields."""
    rows = (("prose", PROSE, ORANGE), ("prose, values word for word", VERBATIM, BLUE), ("fields", FIELDS, GREEN))
    bars = [(name, 100 * found.share, percent(found.share), colour) for name, found, colour in rows]
    figure = plots_lessons.ways(bars, "facts asked for at the end, in %")
    figure["layout"]["xaxis"]["tickvals"] = [*range(0, 101, 20)]
    sentence = (
        f"After {PROSE.passes} summaries or more, prose still had {PROSE.share:.0%} of the facts, and prose that was "
        f"told to carry every value over {VERBATIM.share:.0%}. Fields are not a count: no summary touches them."
    )
    return ChartCard("Facts still known", sentence, figure, f"Three bars. {sentence}", rows=len(rows))


def from_raw(n: int = 60) -> ChartCard:
    """What a conversation costs for each interval: summaries from summaries, and each from all the raw words."""
    k = np.arange(2, 21)
    cost = square_root.exact(n)
    folded = cost[k - 1]
    raw = folded + np.array([rebuilding(n, int(one)) for one in k])
    curves = {
        "from the last summary": (ORANGE, folded),
        "from the raw words": (BLUE, raw),
        "send everything": (GREY, np.full(len(k), cost[-1])),
    }
    low, high = int(folded.argmin()), int(raw.argmin())
    figure = plots_lessons.lines(
        k, curves, "exchanges between summaries, k", "input tokens", top=1.4 * float(cost[-1]), y={"tickformat": "~s"},
        points=[(int(k[low]), float(folded[low]), ORANGE), (int(k[high]), float(raw[high]), BLUE)],
        dashed=["send everything"],
    )  # fmt: skip
    sentence = (
        f"Over {n} turns and without a cache, summaries from the raw words are cheapest at k = {k[high]}, not at "
        f"{k[low]}, and cost {raw[high] / folded[low] - 1:.0%} more there than the cheapest summaries of summaries."
    )
    return ChartCard("The price of the raw words", sentence, figure, f"Two curves and a level line. {sentence}")


def all_or_nothing(found: RetentionPreset = PROSE) -> ChartCard:
    """How many of eight facts a conversation keeps: all alike, or all or nothing, with the same mean."""
    kept, share, carried = np.arange(FACTS + 1), found.share, found.retention.carried
    alike = _kept_by_chance(share)
    states = carried * _kept_by_chance(share / carried) + (1 - carried) * (kept == 0)
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


def _kept_by_chance(share: float) -> np.ndarray:
    """Return the chances that 0 … ``FACTS`` facts are kept, each by itself."""
    # scipy.stats has it too, and takes a second to load while a reader waits for the page
    return np.array([comb(FACTS, kept) * share**kept * (1 - share) ** (FACTS - kept) for kept in range(FACTS + 1)])


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
    return ChartCard("Money against memory", sentence, figure, f"Two curves against k. {sentence}")
