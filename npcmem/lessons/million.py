"""The lesson from one player to a million: a month's bill as a product, and how sure one can be of it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from npcmem import formulas, plots, plots_lessons
from npcmem.dashboards.page import ChartCard
from npcmem.dashboards.words import duration, percent, usd
from npcmem.estimate import DAYS_A_MONTH, P10_P90, Deal, Game, Range, Strategy, cheapest, estimate, exactly
from npcmem.estimate import tornado as rows_of
from npcmem.lessons.clock import REAL, SHORT_S, past
from npcmem.offers import offer
from npcmem.plots_lessons import BLUE, GREEN, GREY, ORANGE
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
        f"If each of the three is known up to {percent:g} % and the think time up to 20 %, the month costs between "
        f"{usd(low)} and {usd(high)} in eight cases of ten, with {usd(middle)} in the middle and "
        f"{usd(float(found.month.mean()))} on average. "
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


# --- logs and fleets ------------------------------------------------------------------------------


def off_by(share: float, pauses: float) -> float:
    """Return how far a share in % that was counted in a log may be off, in points, in eight cases of ten."""
    return 100 * P10_P90 / 2 * math.sqrt(share / 100 * (1 - share / 100) / pauses)


@cache
def month_at_both_ends() -> tuple[float, float]:
    """Return a month's bill if every pause is shorter than the cache's life, and if every one is longer."""
    strategy = Strategy(FullHistory(), REAL, CACHED)
    quick, slow = (GAME.at(think_s=think_s, paused=0) for think_s in (0.01, 1e7))
    return tuple(float(estimate(exactly(game), game, strategy).month[0]) for game in (quick, slow))


def month_where(past_share: float) -> float:
    """Return a month's bill where so many % of pauses outlast the cache: it goes in a straight line with the share."""
    quick, slow = month_at_both_ends()
    return quick + (slow - quick) * past_share / 100


def a_log_tells(pauses: int = 100) -> ChartCard:
    """What a log of so many pauses says about the share past five minutes: a band that narrows with the root."""
    counted = np.geomspace(10, 10_000, 81)
    true, off = past(SHORT_S), np.array([off_by(past(SHORT_S), one) for one in counted])
    curves = {
        "at most": (ORANGE, np.minimum(true + off, 100)),
        "as it is": (GREY, np.full(len(counted), true)),
        "at least": (BLUE, np.maximum(true - off, 0)),
    }
    figure = plots_lessons.lines(
        counted, curves, "pauses in the log", "share past 5 minutes", top=50, log_x=True, y={"ticksuffix": " %"},
        marks=[(pauses, f"{pauses:,} pauses")], dashed=["as it is"],
    )  # fmt: skip
    ticks = [10, 100, 1000, 10_000]
    figure["layout"]["xaxis"] |= {"tickvals": ticks, "ticktext": [f"{one:,}" for one in ticks]}
    low, high = (max(true + way * off_by(true, pauses), 0) for way in (-1, 1))
    sentence = (
        f"If {true:.0f} % of pauses really outlast five minutes, a log of {pauses:,} says between {low:.0f} % and "
        f"{high:.0f} % in eight cases of ten. For our game that is a month of {usd(month_where(low))} to "
        f"{usd(month_where(high))}, all else known."
    )
    return ChartCard("What a log tells", sentence, figure, f"A band that narrows to the right. {sentence}")


def calls_a_second(players: np.ndarray | float, characters: float = 1) -> np.ndarray | float:
    """Return the calls a second that reach each of so many characters, spread evenly over the day."""
    turns = GAME.turns.value * math.exp(GAME.turns_log_sd**2 / 2)
    return players * GAME.sessions.value * turns / characters / 86_400


def finds_the_sheet(a_second: np.ndarray | float) -> np.ndarray | float:
    """Return the chance in % that a call finds a sheet in the 5-minute cache that so many calls a second begin with."""
    return 100 * formulas.shared_head_hit_rate(a_second, SHORT_S)


def one_sheet(characters: int = 20) -> ChartCard:
    """How likely a character's sheet is still cached when a stranger walks up, by players a day."""
    players = np.geomspace(10, 1e6, 101)
    warm = finds_the_sheet(calls_a_second(players, characters))
    curves = {"sheet already cached": (GREEN, warm)}
    figure = plots_lessons.lines(
        players, curves, "players a day", "first calls that find it", top=104, log_x=True, y={"ticksuffix": " %"}
    )
    ticks = [10, 100, 1000, 10_000, 100_000, 1_000_000]
    figure["layout"]["xaxis"] |= {"tickvals": ticks, "ticktext": ["10", "100", "1,000", "10,000", "100,000", "1 M"]}
    few, many = (float(np.interp(one, players, warm)) for one in (100, 10_000))
    between = 1 / calls_a_second(10_000, characters)
    sentence = (
        f"With {characters} characters and 100 players a day, a first call finds its character's sheet in the cache "
        f"{percent(few / 100)} of the time; with 10,000 players somebody speaks to each of them every "
        f"{duration(between)}, and it is {percent(many / 100)}."
    )
    return ChartCard("Who finds it warm", sentence, figure, f"A curve that rises to the right. {sentence}")
