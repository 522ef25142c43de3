"""The page "What will it cost per player?": a month's bill as a range, what moves it, and what meets a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from npcmem import plots, policies
from npcmem.dashboards import scenario
from npcmem.dashboards.controls import Choice, Control, Slider, Value
from npcmem.dashboards.page import ChartCard, Column, Page, Row, Table, Tile, View
from npcmem.dashboards.watch_prefix import slug
from npcmem.dashboards.words import duration, percent, usd
from npcmem.estimate import (
    Deal,
    Estimate,
    Game,
    Range,
    Strategy,
    cheapest,
    estimate,
    exactly,
    longest,
    longest_call_tokens,
    parts_usd,
    solve,
    tornado,
)
from npcmem.offers import Offer, changes, offers
from npcmem.policies import FullHistory, Policy
from npcmem.pricing import worthwhile_pings
from npcmem.recall import preset, retentions
from npcmem.thinktime import Pace

GAME, SURE, BUDGET = "The game", "How sure you are", "What you may spend"
CHEAPEST = "cheapest"
DRAWS = 20_000
SPREADS = {  # control → the inputs it makes unsure, and what the tornado calls them
    "players": {"players": "players a day"},
    "sessions": {"sessions": "sessions a day"},
    "turns": {"turns": "turns a session"},
    "think": {"think_s": "think time"},
    "tokens": {"static": "static prompt", "exchange": "exchange", "reply": "reply", "volatile": "volatile suffix",
               "summary": "summary"},
}  # fmt: skip
NAMES = {name: words for each in SPREADS.values() for name, words in each.items()}
PAID_FOR = {
    "reply": "replies",
    "retry": "retries",
    "summary": "summaries",
    "ping": "pings",
}


def controls() -> tuple[Control, ...]:
    """Return the page's controls: the game and its players, the scenario of the other pages, and what is unsure."""
    base = {one.name: one for one in scenario.controls()}
    counted = [one for one in policies.POLICIES if one.only_counts]
    strategies = ((CHEAPEST, "The cheapest that recalls enough", "Found for you"),)
    strategies += tuple((slug(one), one.name, "Fixed") for one in counted)
    kept = tuple((one.id, one.name, "A fact through summaries") for one in retentions().values())
    more, sure = {"group": scenario.MORE}, {"group": SURE}
    game = (
        Slider(
            "players",
            "Players a day",
            "",
            "who play on a day (DAU)",
            100,
            10_000_000,
            10_000,
            "players",
            scale="log",
            group=GAME,
        ),
        Slider("sessions", "Conversations", "", "a player has on such a day", 0.1, 30, 1.5, "a day", 0.1, group=GAME),
        replace(
            base["turns"], label="Turns", help="in the middle conversation: half are shorter", default=15, group=GAME
        ),
        Slider(
            "lengths",
            "Spread of turns",
            "",
            "nine in ten lie within this factor of the middle",
            1,
            10,
            3.7,
            "×",
            0.1,
            group=GAME,
        ),
        Choice("strategy", "Memory", "How the character remembers.", strategies, CHEAPEST, GAME),
    )
    unsure = (
        Slider("players_", "Players ±", "", "80 % of what may be lies within", 0, 200, 30, "%", **sure),
        Slider("sessions_", "Conversations ±", "", "80 % of what may be lies within", 0, 200, 30, "%", **sure),
        Slider("turns_", "Turns ±", "", "80 % of what may be lies within", 0, 200, 40, "%", **sure),
        Slider("think_", "Think time ±", "", "80 % of what may be lies within", 0, 200, 20, "%", **sure),
        Slider("tokens_", "Token counts ±", "", "80 % of what may be lies within", 0, 200, 20, "%", **sure),
    )
    budget = (Slider("budget", "Budget", "", "a player and day", 0.0001, 1, 0.01, "$", scale="log", group=BUDGET),)
    rest = (
        Slider("stickiness", "Stickiness", "", "players a day ÷ players a month", 1, 100, 20, "%", **more),
        Slider("retried", "Retries", "", "reply calls that fail once paid for", 0, 30, 1, "%", 0.5, **more),
        Slider(
            "paused",
            "Long pauses",
            "",
            "sessions with one that outlasts the cache, beyond the pace",
            0,
            100,
            5,
            "%",
            **more,
        ),
        Slider("recall", "Recall at least", "", "of what was told, known at the end", 0, 100, 95, "%", **more),
        Choice("kept", "What a summary keeps", "Each time it is rewritten.", kept, "values-verbatim", scenario.MORE),
    )
    sizes = [replace(base[name], group=scenario.TALK) for name in ("S", "m", "s")]
    who = [base[name] for name in ("model", "pace", "telemetry")]
    money = [base[name] for name in ("rho", "ttl", "think", "o", "u", "q", "r", "w", "min", "p")]
    return (*game, *who, *budget, *unsure, *sizes, *money, *rest)


@dataclass(frozen=True, eq=False)
class Answer:
    """What the page shows: the game, what is priced, the draws, the centre and what could be changed."""

    values: Mapping[str, Value]
    game: Game
    strategy: Strategy
    drawn: Estimate
    centre: Estimate
    parts: dict[str, float]
    rows: list[tuple[str, float, float]]

    @property
    def budget_usd(self) -> float:
        """The most that a player may cost a day."""
        return float(self.values["budget"])

    @cached_property
    def models(self) -> list[tuple[Offer, Policy, float]]:
        """Some models with the cheapest strategy and the dollars a player and day of each, cheapest first."""
        return _models(self.values, self.game, self.strategy)

    @cached_property
    def fixes(self) -> list[tuple[str, str, float, bool]]:
        """(change, to what, dollars a player and day then, within budget) for each thing one may change alone."""
        return _fixes(self.values, self.game, self.strategy, self.models)


def answer(values: Mapping[str, Value], pace: Pace | None = None) -> Answer:
    """Return the numbers for one set of values."""
    scenario.session(values, 1)  # says what does not fit together
    _, here = scenario.here(values, pace)
    game = _game(values, here)
    deal = _deal(values)
    strategy = Strategy(_policy(values, game, here, deal), here, deal)
    parts = {kind: float(dollars[0]) for kind, dollars in parts_usd(exactly(game), game, strategy).items()}
    drawn = game.draw(np.random.default_rng(20_261_130), DRAWS)
    return Answer(
        values,
        game,
        strategy,
        estimate(drawn, game, strategy),
        estimate(exactly(game), game, strategy),
        parts,
        tornado(game, strategy),
    )


def view(values: Mapping[str, Value], pace: Pace | None = None) -> View:
    """Return what the page shows; without ``pace``, for the preset that ``values`` names."""
    found = answer(values, pace)
    return _whole(found, _at_once(found))


def first(values: Mapping[str, Value], pace: Pace | None = None) -> View:
    """Return what of ``view`` follows the hand: all but the other models and the ways to meet the budget."""
    found = answer(values, pace)
    shown = _at_once(found)
    return replace(shown, rest=lambda: _whole(found, shown))


def _at_once(found: Answer) -> View:
    low, middle, high = found.drawn.percentiles("month")
    sure = _money(low) == _money(high)
    return View(
        headline=f"{_money(middle)} a month{'' if sure else f', likely {_money(low)} to {_money(high)}'}.",
        answer=_advice(found),
        tiles=(_hour_tile(found), _session_tile(found), _player_tile(found), _budget_tile(found)),
        charts=(_month_chart(found), _tornado_chart(found), _parts_chart(found)),
        notes=_notes(found),
    )


def _whole(found: Answer, shown: View) -> View:
    return replace(
        shown,
        charts=(*shown.charts, _models_chart(found)),
        tables=(_fixes_table(found),),
        table=_download(found),
        prices=scenario.price_dates(found.values, *(one for one, _, _ in found.models)),
    )


def cost_per_player() -> Page:
    """Return the page."""
    return scenario.page(
        "What will it cost per player?",
        "A month's bill for a game whose characters talk, as a range, with what moves it most.",
        controls(),
        view,
        first,
    )


# --- the numbers ----------------------------------------------------------------------------------


def _game(values: Mapping[str, Value], here: Pace) -> Game:
    spread = {name: 1 + float(values[f"{control}_"]) / 100 for control, names in SPREADS.items() for name in names}
    value = {
        "players": values["players"], "sessions": values["sessions"], "turns": values["turns"],
        "think_s": here.think_time_s, "static": values["S"], "summary": values["s"], "exchange": values["m"],
        "reply": values["o"], "volatile": values["u"], "stickiness": values["stickiness"] / 100,
        "retried": values["retried"] / 100, "paused": values["paused"] / 100,
    }  # fmt: skip
    ranges = {name: Range(float(one), spread.get(name, 1.0)) for name, one in value.items()}
    log_sd = float(np.log(values["lengths"])) / 1.6448536269514722  # nine in ten within the factor
    return Game(**ranges, turns_log_sd=log_sd, instruction_tokens=int(values["q"]))


def _deal(values: Mapping[str, Value]) -> Deal:
    return Deal(scenario.price(values), scenario.rules(values))


def _policy(values: Mapping[str, Value], game: Game, pace: Pace, deal: Deal) -> Policy:
    if values["strategy"] == CHEAPEST:
        return _cheapest(values, game, pace, deal, scenario.card_offer(values["model"]))
    named = {slug(policy): policy for policy in policies.POLICIES}
    return named[values["strategy"]].suited(float(values["ttl"]), worthwhile_pings(pace, deal.rules, deal.price))


def _cheapest(values: Mapping[str, Value], game: Game, pace: Pace, deal: Deal, card: Offer | None) -> Policy:
    """Return the cheapest memory that recalls what is asked for and that the model of a card can hold."""
    kept, least = preset(values["kept"]).retention, values["recall"] / 100
    context = scenario.context_tokens(card)
    return cheapest(game, pace, deal, retention=kept, least_recall=least, context_tokens=context)


def _models(values: Mapping[str, Value], game: Game, strategy: Strategy) -> list[tuple[Offer, Policy, float]]:
    """Return some models with the cheapest strategy and the dollars a player and day of each, cheapest first.

    The one chosen at the prices and rules of the sliders, the others as their cards say.
    """
    pace, rows = strategy.pace, []
    for one in _some_models(values["model"]):
        rules = one.rules if one.rules.capacity_tokens is None else replace(one.rules, capacity_tokens=None)
        deal = strategy.deal if one.id == values["model"] else Deal(one.price, rules)
        policy = _cheapest(values, game, pace, deal, one)
        day = estimate(exactly(game), game, Strategy(policy, pace, deal)).player_day[0]
        rows.append((one, policy, float(day)))
    return sorted(rows, key=lambda row: row[2])


def _some_models(chosen: Value) -> list[Offer]:
    """Return the model chosen, and of each provider its first and its cheapest."""
    found, by_provider = offers(), {}
    for one in found.values():
        by_provider.setdefault(one.provider, []).append(one)
    some = [found[chosen]] if chosen in found else []
    for each in by_provider.values():
        some += [each[0], min(each, key=lambda one: one.price.uncached)]
    return list({one.id: one for one in some}.values())


def _fixes(
    values: Mapping[str, Value], game: Game, strategy: Strategy, models: list[tuple[Offer, Policy, float]]
) -> list[tuple[str, str, float, bool]]:
    """Return (change, to what, dollars a player and day then, within budget) for each thing one may change alone."""
    budget, card = float(values["budget"]), scenario.card_offer(values["model"])

    def best(deal: Deal) -> tuple[Policy, float]:
        policy = _cheapest(values, game, strategy.pace, deal, card)
        usd_day = estimate(exactly(game), game, replace(strategy, policy=policy, deal=deal)).player_day[0]
        return policy, float(usd_day)

    policy, day = best(strategy.deal)
    rows = [("Memory", _strategy_words(policy), day)]
    if card is not None and card.rules_long is not None and card.rules_long.refreshes:
        other = card.rules_long if values["ttl"] <= card.rules.ttl_s else card.rules
        there = scenario.filled({**values, "ttl": other.ttl_s}, "ttl")
        rows.append(("Cache lifetime", duration(other.ttl_s), best(_deal(there))[1]))
    within = [row for row in models if row[2] <= budget] or models[:1]
    rows.append(("Model", within[-1][0].name, within[-1][2]))
    for name, knob, unit, low, high in (
        ("Longest conversation", "most_turns", "turns", 2, longest(game)),
        ("Static prompt", "static", "tokens", 0, max(int(values["S"]), 1)),
        ("Exchange", "exchange", "tokens", max(int(values["o"]), 10), max(int(values["m"]), int(values["o"]), 11)),
    ):
        found = solve(game, strategy, budget, knob, low, high)
        rows.append((name, "as it is" if found.value == high else f"{found.value:,.0f} {unit}", found.usd))
    return [(name, to, usd_day, usd_day <= budget) for name, to, usd_day in rows]


# --- the words ------------------------------------------------------------------------------------


def _money(dollars: float) -> str:
    """Return dollars as a budget has them: three significant digits, whole past a hundred."""
    if dollars < 100:
        return usd(dollars)
    rounded = float(f"{dollars:.3g}")
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if rounded >= size:
            return f"${float(f'{rounded / size:.3g}'):,g} {word}"
    return f"${rounded:,.0f}"


def _strategy_words(policy: Policy) -> str:
    return policy.name.replace(", shared prefix", "")


def _advice(found: Answer) -> str:
    full = estimate(exactly(found.game), found.game, replace(found.strategy, policy=FullHistory()))
    saved = 1 - found.centre.month[0] / full.month[0] if full.month[0] else 0.0
    how = f"Memory: {_strategy_words(found.strategy.policy)}"
    against = f"{percent(abs(saved))} {'less' if saved > 0 else 'more'} than resending everything"
    mover = f" What moves the bill most is {NAMES[found.rows[0][0]]}." if found.rows else ""
    return f"{how}, {against if abs(saved) > 5e-4 else 'as much as resending everything'}.{mover}"


def _between(found: Answer, name: str) -> str:
    low, high = (usd(found.drawn.percentiles(name)[at]) for at in (0, 2))
    return f"likely {low} to {high}" if low != high else "nothing of it is unsure"


def _hour_tile(found: Answer) -> Tile:
    return Tile(
        "Per player-hour",
        usd(float(found.centre.player_hour[0])),
        f"of conversation, pauses included; {_between(found, 'player_hour')}.",
    )


def _session_tile(found: Answer) -> Tile:
    text = f"on average over all lengths; {_between(found, 'session')}."
    return Tile("Per conversation", usd(float(found.centre.session[0])), text)


def _player_tile(found: Answer) -> Tile:
    text = f"a month (MAU); {_between(found, 'player_month')}."
    return Tile("Per monthly player", usd(float(found.centre.player_month[0])), text)


def _budget_tile(found: Answer) -> Tile:
    day = float(found.centre.player_day[0])
    share = day / found.budget_usd
    within = float((found.drawn.player_day <= found.budget_usd).mean())
    big = "within" if share <= 1 else f"{percent(share - 1)} over" if share < 10 else f"{share:,.0f} times"
    text = f"{usd(day)} a player and day against {usd(found.budget_usd)}; met in {percent(within)} of what may be."
    return Tile("Budget", big, text)


def _notes(found: Answer) -> list[str]:
    most = longest(found.game)
    notes = [
        f"Monte Carlo: {DRAWS:,} games drawn, each range lognormal, its 10th and 90th percentile at the centre divided "
        f"and multiplied by 1 plus the share; the bill of each is exact. Conversations are cut at {most} turns.",
        "Where defaults come from: turns and their spread are those of 101 sessions with the game AI Cicero; players, "
        "conversations a day, stickiness, retries, long pauses and how sure one is are assumptions to replace.",
    ]
    card = scenario.card_offer(found.values["model"])
    needed = longest_call_tokens(found.game, found.strategy)
    if needed > scenario.context_tokens(card):
        notes.insert(
            0,
            f"Conversations of {most} turns would not fit: {needed:,.0f} tokens, a context of {card.context_window:,}.",
        )
    if card is not None:
        notes += [
            f"From {one.since} {one.name} costs {usd(one.price.uncached)} in and {usd(one.price.output)} out a million."
            for one in changes(card.id)
            if one.since > card.checked
        ]
    return [*notes, *scenario.origin_notes(found.values)]


# --- the charts -----------------------------------------------------------------------------------


def _month_chart(found: Answer) -> ChartCard:
    low, middle, high = found.drawn.percentiles("month")
    told = f"Half of what may be lies below {_money(middle)}, one in ten above {_money(high)}."
    return ChartCard(
        "What a month may cost",
        told if _money(low) != _money(high) else f"Nothing is unsure: it costs {_money(middle)}.",
        plots.bill_density(found.drawn.month, (low, middle, high)),
        f"Histogram of the month's bill: P10 {_money(low)}, P50 {_money(middle)}, P90 {_money(high)}.",
    )


def _tornado_chart(found: Answer) -> ChartCard:
    rows = [(NAMES[name], low, high) for name, low, high in found.rows]
    told = "; ".join(f"{name} {_money(low)} to {_money(high)}" for name, low, high in rows)
    return ChartCard(
        "What moves it most",
        "The month's bill with one number at the low and at the high end of its range, the rest in the middle.",
        plots.tornado(rows, float(found.centre.month[0])),
        f"Bars of the month's bill by input: {told or 'nothing is unsure'}.",
        tall=True,
    )


def _parts_chart(found: Answer) -> ChartCard:
    month = float(found.centre.month[0])
    total = sum(found.parts.values()) or 1.0
    parts = {PAID_FOR.get(kind, kind): dollars / total * month for kind, dollars in found.parts.items() if dollars}
    told = "; ".join(f"{name} {_money(dollars)}" for name, dollars in parts.items())
    return ChartCard(
        "What it is paid for",
        f"A month at the centre: {told}.",
        plots.shares(parts),
        f"Bars of the month's bill by what it is paid for: {told}.",
        tall=True,
    )


def _models_chart(found: Answer) -> ChartCard:
    rows = [(one.name, day, one.id == found.values["model"]) for one, _, day in found.models]
    name, day, _ = rows[0]
    return ChartCard(
        "The same game on other models",
        f"Each with the cheapest memory that recalls enough. Cheapest: {name}, {usd(day)} a player and day.",
        plots.by_model(rows, found.budget_usd),
        "Points of dollars a player and day by model: "
        + "; ".join(f"{name} {usd(day)}" for name, day, _ in rows)
        + ".",
        wide=True,
        rows=max(len(rows), 16),
    )


# --- the tables -----------------------------------------------------------------------------------


def _fixes_table(found: Answer) -> Table:
    rows = tuple(Row((name, to, usd(day), "yes" if meets else "no")) for name, to, day, meets in found.fixes)
    return Table(
        f"What meets {usd(found.budget_usd)} a player and day",
        "One thing changed at a time: the dearest that still meets the budget, or the nearest there is.",
        (
            Column("Change", "", "left"),
            Column("To", "", "left"),
            Column("Then", "a player and day"),
            Column("Within budget"),
        ),
        rows,
        after=1,
        bar_column=2,
        told=True,
    )


def _download(found: Answer) -> list[list[Any]]:
    """Return the rows of the download: the percentiles, what moves the bill and what it is paid for."""
    rows: list[list[Any]] = [["figure", "centre", "p10", "p50", "p90"]]
    for name in ("session", "player_hour", "player_day", "player_month", "month"):
        numbers = (float(getattr(found.centre, name)[0]), *found.drawn.percentiles(name))
        rows.append([f"usd_{name}", *numbers])
    rows += [[f"month_if_{name}_at", None, low, None, high] for name, low, high in found.rows]
    rows += [[f"usd_session_{kind}", dollars, None, None, None] for kind, dollars in found.parts.items()]
    return rows
