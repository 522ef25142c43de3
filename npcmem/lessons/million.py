"""The lesson from one player to a million: a month's bill as a product, and how sure one can be of it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from npcmem import plots, plots_lessons
from npcmem.dashboards.page import ChartCard
from npcmem.dashboards.words import usd
from npcmem.estimate import DAYS_A_MONTH, Deal, Game, Range, Strategy, cheapest, estimate, exactly
from npcmem.estimate import tornado as rows_of
from npcmem.lessons.clock import REAL
from npcmem.offers import offer
from npcmem.plots_lessons import BLUE, GREEN, GREY
from npcmem.policies import FullHistory, Policy

MODEL = offer("claude-sonnet-5-5")
GAME = Game()
CACHED, UNCACHED = Deal(MODEL.price, MODEL.rules), Deal(MODEL.price, None)
DRAWS, SEED = 4000, 20_261_130
WORDS = {"players": "players a day", "sessions": "conversations a day", "turns": "turns", "think_s": "think time"}


def session(policy: Policy | None = None, deal: Deal = CACHED) -> float:
    """Return the mean dollars of a conversation; everything is sent unless a policy says otherwise."""
    return float(estimate(exactly(GAME), GAME, Strategy(policy or FullHistory(), REAL, deal)).session[0])


def month(players: float = 10_000, sessions: float = 1.5, usd_a_session: float | None = None) -> float:
    """Return a month's bill: players a day × conversations × dollars each × days."""
    return players * sessions * (session() if usd_a_session is None else usd_a_session) * DAYS_A_MONTH


@cache
def cheapest_memory() -> Policy:
    """Return the cheapest memory for this game on a cache, whatever it forgets."""
    return cheapest(GAME, REAL, CACHED)


def together(*spreads: float) -> float:
    """Return the spread of a product of independent factors: exp(√(Σ ln²)), P90 over P50."""
    return math.exp(math.sqrt(sum(math.log(one) ** 2 for one in spreads)))


def mean_over_middle(spread: float) -> float:
    """Return how far the mean lies above the middle of such a range, in %."""
    return 100 * (Range(1.0, spread).mean() - 1)


def unsure(percent: float) -> Game:
    """Return the game with players, conversations and turns each known up to so many per cent."""
    factor = 1 + percent / 100
    named = {name: Range(getattr(GAME, name).value, factor) for name in ("players", "sessions", "turns")}
    return Game(**named, think_s=Range(GAME.think_s.value, 1.2))


def three_bills() -> ChartCard:
    """A month of the same game: nothing cached, everything cached, the cheapest memory."""
    best = cheapest_memory()
    rows = (
        ("send everything", session(deal=UNCACHED), GREY),
        ("send everything, cached", session(), BLUE),
        ("the cheapest memory", session(best), GREEN),
    )
    bills = [(name, month(usd_a_session=each), usd(month(usd_a_session=each)), colour) for name, each, colour in rows]
    figure = plots_lessons.ways(bills, "$ a month")
    sentence = (
        f"{GAME.players.value:,.0f} players a day on {MODEL.name}: {bills[0][2]} a month with nothing cached, "
        f"{bills[1][2]} on the cache, {bills[2][2]} with the cheapest memory ({best.name})."
    )
    return ChartCard("One game, three bills", sentence, figure, f"Three bars. {sentence}", rows=len(rows) + 2)


def likely(percent: float = 40) -> ChartCard:
    """How likely each bill of a month is, when players, conversations and turns are each known up to so much."""
    game = unsure(percent)
    found = estimate(game.draw(np.random.default_rng(SEED), DRAWS), game, Strategy(FullHistory(), REAL, CACHED))
    low, middle, high = found.percentiles("month")
    sentence = (
        f"If each of the three is known up to {percent:g} %, the month costs between {usd(low)} and {usd(high)} in "
        f"eight cases of ten, with {usd(middle)} in the middle and {usd(float(found.month.mean()))} on average. "
        f"The longer the tail on the right, the further the mean lies above the middle."
    )
    figure = plots.bill_density(found.month, (low, middle, high))
    return ChartCard("What the month may cost", sentence, figure, f"A hill with a tail to the right. {sentence}")


def what_moves(percent: float = 40) -> ChartCard:
    """The month's bill with each input at its low and its high end."""
    game = unsure(percent)
    strategy = Strategy(FullHistory(), REAL, CACHED)
    rows = [(WORDS[name], low, high) for name, low, high in rows_of(game, strategy)]
    figure = plots.tornado(rows, float(estimate(exactly(game), game, strategy).month[0]))
    name, low, high = rows[0]
    sentence = f"What moves the bill most is {name}: from {usd(low)} to {usd(high)}, the others at their middle."
    return ChartCard("What moves it most", sentence, figure, f"Bars to both sides. {sentence}", rows=len(rows) + 4)
