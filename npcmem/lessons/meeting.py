"""The lesson on caching meeting summaries: what a warm cache does to k*, and what undoes it."""

from __future__ import annotations

import numpy as np

from npcmem import formulas, plots_lessons
from npcmem.cache import CacheRules
from npcmem.dashboards.page import ChartCard
from npcmem.dialogue import Character, Session
from npcmem.ledger import replay
from npcmem.lessons.quadratic import M, S
from npcmem.lessons.square_root import ASKED, IN_INPUT_TOKENS, REPLY, RHO, SUMMARY
from npcmem.plots_lessons import AMBER, BLUE, GREEN, GREY, ORANGE, PLUM
from npcmem.policies import FullHistory, Policy, SlidingWindow, SteppedWindow
from npcmem.sweep import band, crossover, sweep

R, W = IN_INPUT_TOKENS.r, IN_INPUT_TOKENS.w
WHO = Character(S, SUMMARY, ASKED)


def costs(turns: int, h: float | None, least: int = 0, shares_prefix: bool = False) -> np.ndarray:
    """Return the expected cost (k, n), in input tokens, of every k and length; ``h`` None is without a cache.

    ``least``: the shortest prefix the cache takes.
    """
    rules = None if h is None else CacheRules(300, min_tokens=least)
    return sweep(WHO, M, REPLY, turns, rules, h or 0.0, IN_INPUT_TOKENS, shares_prefix=shares_prefix)


def full(turns: int, h: float | None, least: int = 0) -> float:
    """Return the cost of full history."""
    return float(costs(turns, h, least)[-1, -1])


def best(turns: int, h: float | None, least: int = 0, shares_prefix: bool = False) -> tuple[int, float]:
    """Return the cheapest k and its cost."""
    cost = costs(turns, h, least, shares_prefix)[:, -1]
    return int(cost.argmin()) + 1, float(cost.min())


def saving(turns: int, h: float | None, least: int = 0, shares_prefix: bool = False) -> float:
    """Return what the cheapest k saves of full history under the same cache, in %."""
    return 100 * (1 - best(turns, h, least, shares_prefix)[1] / full(turns, h, least))


def pays_from(h: float | None, turns: int = 120) -> int | None:
    """Return the length of conversation from which some summary is cheaper than none."""
    cost = costs(turns, h)
    kept = np.where(np.arange(1, turns + 1)[:, None] < np.arange(1, turns + 1), cost, np.inf).min(axis=0)
    return crossover(kept, cost[-1])


def carried(h: float) -> float:
    """Return μ, what a carried token costs a turn."""
    return float(formulas.carry_price(h, R, W))


def flushed(h: float) -> float:
    """Return F of a summary call with a prompt of its own, under a cache."""
    return float(formulas.flush_cost_separate(M, SUMMARY, ASKED, RHO, h, R, W))


def interval(h: float) -> float:
    """Return k* at a hit rate."""
    return float(formulas.optimal_interval(flushed(h), carried(h), M))


def summary_call(k: np.ndarray | float, static: int = S) -> tuple[np.ndarray | float, np.ndarray | float]:
    """Return the input of a summary call on a warm cache, in input tokens: a prompt of its own, or the same prompt."""
    return SUMMARY + k * M + ASKED, R * (static + SUMMARY + (k - 1) * M) + M + ASKED


def window_cost(turns: int, policy: Policy, warm: bool = True) -> float:
    """Return the cost of a window, in input tokens, on a cache that never misses or on none."""
    session = Session.uniform(turns, M, REPLY, 30.0)
    return replay(policy, WHO, session, CacheRules(300) if warm else None).cost(IN_INPUT_TOKENS)


def windows(n: int = 60, kept: int = 10) -> ChartCard:
    """What windows cost on a warm cache: one that slides, one that steps, and none at all."""
    low, high = kept // 2, kept + kept // 2  # as many exchanges on board, on average, as the window that slides
    everything, slides, steps = (
        window_cost(n, policy) for policy in (FullHistory(), SlidingWindow(kept), SteppedWindow(low, high))
    )
    rows = [
        ("send everything", everything, BLUE),
        (f"the last {kept}", slides, AMBER),
        (f"up to {high}, then the last {low}", steps, GREEN),
        (f"the last {kept}, not cached", window_cost(n, SlidingWindow(kept), warm=False), GREY),
    ]
    figure = plots_lessons.ways([(name, cost, f"{cost:,.0f}", colour) for name, cost, colour in rows], "input tokens")
    sentence = (
        f"On a warm cache the last {kept} of {n} turns cost {slides:,.0f}, {_against(slides, everything)} "
        f"sending everything: the first exchange kept is another one every turn, so that nothing behind the character "
        f"sheet is found again. A window that grows to {high} and then drops to {low} costs {steps:,.0f}."
    )
    return ChartCard("A window breaks the prompt", sentence, figure, f"Four bars. {sentence}", rows=len(rows))


def _against(cost: float, other: float) -> str:
    return f"{cost / other:.1f} times" if cost >= 1.05 * other else f"{cost / other:.0%} of"


def where_it_stands(S: int = S) -> ChartCard:
    """What the input of one summary call costs on a warm cache, by how many exchanges it sums up."""
    k = np.arange(1, 31)
    own, same = summary_call(k, S)
    at = round(interval(1.0))
    curves = {"a prompt of its own": (ORANGE, own), "the conversation's prompt, continued": (PLUM, same)}
    figure = plots_lessons.lines(
        k, curves, "exchanges to sum up, k", "input tokens", top=5000,
        points=[(at, float(own[at - 1]), ORANGE), (at, float(same[at - 1]), PLUM)],
    )  # fmt: skip
    sooner = int(np.argmax(same < own)) + 1
    sentence = (
        f"With a character sheet of {S:,} tokens and {at} exchanges to sum up, the call's input costs "
        f"{own[at - 1]:,.0f} in a prompt of its own and {same[at - 1]:,.0f} behind the conversation. Going on is the "
        f"cheaper of the two from k = {sooner} on."
    )
    return ChartCard("One summary, two ways to ask for it", sentence, figure, f"Two rising lines. {sentence}")


def _every(k: int, n: int) -> str:
    return f"sum up every {k}" if k < n else "never sum up"


def roads(n: int = 60) -> ChartCard:
    """Full history and the best summary, without a cache and on a warm one."""
    k, uncached = best(n, None)
    warm, cached = best(n, 1.0)
    shared, least = best(n, 1.0, shares_prefix=True)
    rows = [
        ("send everything", full(n, None), GREY),
        (_every(k, n), uncached, AMBER),
        ("send everything, cached", full(n, 1.0), BLUE),
        (f"{_every(warm, n)}, cached", cached, ORANGE),
        (f"{_every(shared, n)}, from the cache", least, GREEN),
    ]
    figure = plots_lessons.ways([(name, cost, f"{cost:,.0f}", colour) for name, cost, colour in rows], "input tokens")
    sentence = (
        f"Over {n} turns the best summary makes {uncached / full(n, None):.0%} of the uncached bill. A warm cache "
        f"alone makes {full(n, 1.0) / full(n, None):.0%}, and on it the best summary saves {saving(n, 1.0):.0f} %. "
        f"In the last row the summary call itself reads the conversation from the cache."
    )
    return ChartCard("Four ways and a fifth", sentence, figure, f"Five bars. {sentence}", rows=len(rows))


def by_interval(h: int = 93, n: int = 60) -> ChartCard:
    """Cost against k at a hit rate of h %, and where the formula puts k*."""
    cost, k = costs(n, h / 100)[:, -1], np.arange(1, n + 1)
    at, near = band(cost)
    star = interval(h / 100)
    figure = plots_lessons.lines(
        k, {"counted call by call": (ORANGE, cost), "send everything": (BLUE, np.full(n, cost[-1]))},
        "exchanges between summaries, k", "input tokens", top=float(max(cost.max(), 1) * 1.05),
        marks=[(star, f"k* = {star:.1f}")] if 1 <= star <= n else [],
        points=[(int(one) + 1, float(cost[one]), GREEN) for one in near], dashed=["send everything"],
        y={"tickformat": "~s"},
    )  # fmt: skip
    saved = 1 - cost[at] / cost[-1]
    what = f"k = {at + 1} is cheapest and saves {saved:.0%} of sending everything" if at + 1 < n else "no summary pays"
    sentence = (
        f"When {h} % of pauses are shorter than the lifetime, a carried token costs μ = {carried(h / 100):.2f} a turn "
        f"and the formula gives k* = {star:.1f}. Counted over {n} turns, {what}."
    )
    return ChartCard("The interval under a cache", sentence, figure, f"A curve with a flat bottom. {sentence}")


def least_prefix(least: int = 4096, n: int = 60) -> ChartCard:
    """Cost against k on a warm cache that takes no prefix shorter than ``least`` tokens."""
    k = np.arange(1, n + 1)
    free, bound = costs(n, 1.0)[:, -1], costs(n, 1.0, least)[:, -1]
    uncached = costs(n, None)[:, -1]
    at = int(bound.argmin())
    figure = plots_lessons.lines(
        k, {"no minimum": (GREY, free), f"at least {least:,} tokens": (ORANGE, bound)},
        "exchanges between summaries, k (the last: never)", "input tokens",
        top=float(uncached.max()) * 0.75, points=[(at + 1, float(bound[at]), GREEN)], dashed=["no minimum"],
        y={"tickformat": "~s"},
    )  # fmt: skip
    warm = best(n, 1.0)[0]
    apart = bound[warm - 1] / bound[-1] - 1
    best_way = "never to sum up" if at + 1 == n else f"to sum up every {at + 1}"
    sentence = (
        f"With a minimum of {least:,} tokens the cheapest over {n} turns is {best_way}. The k = {warm} that would be "
        f"best without a minimum costs {abs(apart):.0%} {'more' if apart > 0 else 'less'} than never"
        f"{': a prompt that is kept short is never cached.' if apart > 0 else '.'}"
    )
    return ChartCard("The minimum that turns it round", sentence, figure, f"Two curves against k. {sentence}")
