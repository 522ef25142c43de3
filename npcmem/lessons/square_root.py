"""The lesson on the square root: carry against flush, the interval between them, and how flat the bottom is."""

from __future__ import annotations

import numpy as np

from npcmem import formulas, plots_lessons
from npcmem.dashboards.page import ChartCard
from npcmem.dialogue import Character, Session
from npcmem.ledger import replay
from npcmem.lessons.quadratic import M, S
from npcmem.money import Price
from npcmem.plots_lessons import AMBER, BLUE, GREEN, GREY, ORANGE, SKY
from npcmem.policies import SummariseEvery
from npcmem.sweep import band, sweep

SUMMARY, ASKED, REPLY, RHO = 150, 120, 80, 5.0
"""Summary s, instructions q and reply o in tokens; ρ, the price of output over that of input."""
IN_INPUT_TOKENS = Price.relative(rho=RHO)


def flush(s: float = SUMMARY, rho: float = RHO) -> float:
    """Return F, what one summary call costs beyond the exchanges it would have carried: s + q + ρs."""
    return s + ASKED + rho * s


def interval(s: float = SUMMARY, m: float = M, rho: float = RHO) -> float:
    """Return k* without a cache."""
    return float(formulas.optimal_interval_uncached(m, s, ASKED, rho))


def moves_with_the_sheet(before: int, after: int) -> int:
    """Return which way the long run's cheapest k moves as the character sheet grows: −1, 0 or 1."""
    k = np.arange(1, 100)
    bills = (
        formulas.summarise_cost_long_run(1, k, static, M, SUMMARY, ASKED, REPLY, RHO) for static in (before, after)
    )
    low, high = (int(bill.argmin()) for bill in bills)
    return (high > low) - (high < low)


def exact(turns: int, static: int = S) -> np.ndarray:
    """Return the exact cost of a session, in input tokens, for every k = 1 … turns; the last is full history."""
    who = Character(static, SUMMARY, ASKED)
    return sweep(who, M, REPLY, turns, None, 0.0, IN_INPUT_TOKENS)[:, -1]


def best(turns: int, static: int = S) -> tuple[int, float, list[int]]:
    """Return the cheapest k, what it saves of full history, and the intervals within 1 % of it."""
    cost = exact(turns, static)
    at, near = band(cost)
    return at + 1, float(1 - cost[at] / cost[-1]), (near + 1).tolist()


def saw_tooth(k: int = 4, n: int = 40) -> ChartCard:
    """What the prompt of each turn holds when every k exchanges become a summary."""
    bill = replay(SummariseEvery(k), Character(S, SUMMARY, ASKED), Session.uniform(n, M, REPLY)).only("reply")
    held = np.asarray(bill.usage.input) - S
    summary = np.where(bill.turn > k, float(SUMMARY), 0.0)
    parts = {"summary": (SKY, summary), "exchanges word for word": (ORANGE, held - summary)}
    figure = plots_lessons.stacked(bill.turn, parts, "turn", "tokens after the character sheet", top=float(M * n / 2))
    calls = (n - 1) // k
    sentence = (
        f"With a summary every {k}, a prompt carries {(k - 1) / 2:g} exchanges on average once the first summary is "
        f"there, and the conversation pays for {calls} summary call{'s' * (calls != 1)}. A longer tooth is "
        f"dearer to carry; a shorter one is cut more often."
    )
    spoken = f"Bars that rise and fall in teeth of {k} turns. {sentence}"
    return ChartCard("The history, turn by turn", sentence, figure, spoken)


def tug_of_war(s: int = SUMMARY, m: int = M) -> ChartCard:
    """Carry and flush per turn against k, and their sum with its bottom at k*."""
    k = np.linspace(1, 20, 191)
    carry, paid = m * k / 2, flush(s) / k
    star = interval(s, m)
    curves = {
        "carry: mk/2": (ORANGE, carry),
        "flush: F/k": (BLUE, paid),
        "both": (GREEN, carry + paid),
    }
    at = min(max(star, 1.0), 20.0)
    low = m * at / 2 + flush(s) / at
    figure = plots_lessons.lines(
        k,
        curves,
        "exchanges between summaries, k",
        "input tokens a turn",
        top=2200,
        marks=[(at, f"k* = {star:.2f}")],
        points=[(at, low, GREEN)],
    )
    sentence = (
        f"One summary costs F = {flush(s):,.0f} input tokens and an exchange carried costs {m} a turn. The two curves "
        f"cross where their sum is lowest, at k* = √(2 · {flush(s):,.0f} / {m}) = {star:.2f}. A flush "
        f"four times as dear moves it by a factor of two only."
    )
    return ChartCard("Carry against flush", sentence, figure, f"A rising line, a falling curve, their sum. {sentence}")


def formula_against_exact(n: int = 60, S: int = S) -> ChartCard:
    """How much dearer than the best each k is, counted call by call, and the formula's own curve."""
    cost, k = exact(n, S), np.arange(1, n + 1)
    at, near = band(cost)
    shown = k <= 20
    long_run = formulas.summarise_cost_long_run(n, k, S, M, SUMMARY, ASKED, REPLY, RHO)
    above, formula = 100 * (cost / cost[at] - 1), 100 * (long_run / long_run.min() - 1)
    curves = {"counted call by call": (ORANGE, above[shown]), "formula for a long conversation": (GREY, formula[shown])}
    figure = plots_lessons.lines(
        k[shown],
        curves,
        "exchanges between summaries, k",
        "dearer than the cheapest",
        top=30,
        marks=[(interval(), f"k* = {interval():.2f}")],
        points=[(int(one) + 1, float(above[one]), GREEN) for one in near if one < 20],
        y={"ticksuffix": " %"},
        dashed=["formula for a long conversation"],
    )
    double = min(2 * (at + 1), n)
    sentence = (
        f"Counted over {n} turns, k = {at + 1} is cheapest and saves {1 - cost[at] / cost[-1]:.0%} of full history. "
        f"{len(near)} interval{'s are' if len(near) > 1 else ' is'} within 1 % of it (green), and twice that k costs "
        f"{above[double - 1]:.1f} % more. With a longer character sheet the same loss is a smaller share."
    )
    return ChartCard("Formula and count", sentence, figure, f"Two curves with a flat bottom. {sentence}")


def how_flat() -> ChartCard:
    """What a wrong k costs: the variable part alone, and the bill for three character sheets."""
    x = np.linspace(0.3, 3, 136)
    k = x * interval()
    curves = {"the part that depends on k": (GREY, 100 * (formulas.flatness(x) - 1))}
    for size, colour in ((0, AMBER), (1800, ORANGE), (6000, BLUE)):
        cost = formulas.summarise_cost_long_run(1.0, k, size, M, SUMMARY, ASKED, REPLY, RHO)
        low = formulas.summarise_cost_long_run(1.0, interval(), size, M, SUMMARY, ASKED, REPLY, RHO)
        curves[f"the bill, S = {size:,}"] = (colour, 100 * (cost / low - 1))
    figure = plots_lessons.lines(
        x,
        curves,
        "k as a multiple of k*",
        "dearer than k*",
        top=70,
        y={"ticksuffix": " %"},
        dashed=["the part that depends on k"],
    )
    part, bill = curves["the part that depends on k"][1], curves["the bill, S = 1,800"][1]
    twice = int(np.argmin(abs(x - 2)))
    sentence = (
        f"Twice the best k makes carry and flush together {part[twice]:.0f} % dearer, the same as half of it, whatever "
        f"the prices. Of the whole bill it is {bill[twice]:.1f} % with a sheet of 1,800 tokens: the sheet "
        f"is paid in any case."
    )
    return ChartCard("Why the bottom is flat", sentence, figure, f"Four curves that touch zero at one. {sentence}")


def order_quantity(order_usd: float, units_a_year: float, holding_usd: float) -> float:
    """Return Harris's economic order quantity √(2KD/h): an order is a flush, a unit in stock is carried."""
    return float(formulas.optimal_interval(order_usd, holding_usd / units_a_year, 1.0))


def checkpoint_interval(checkpoint_min: float, between_failures_min: float) -> float:
    """Return Young's checkpoint interval √(2CM): a checkpoint is a flush, work not yet saved is carried."""
    return float(formulas.optimal_interval(checkpoint_min, 1 / between_failures_min, 1.0))
