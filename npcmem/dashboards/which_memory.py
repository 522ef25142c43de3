"""The page "Which memory should it have?": every policy under one cache and one pace, and the cheapest that recalls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from npcmem import plots, policies
from npcmem.dashboards import scenario
from npcmem.dashboards.controls import Choice, Control, Slider, Value
from npcmem.dashboards.page import ChartCard, Column, Page, Row, Table, Tile, View
from npcmem.dashboards.words import duration, percent, usd
from npcmem.dialogue import KINDS, Character, Session
from npcmem.formulas import shared_head_hit_rate
from npcmem.money import CLASSES
from npcmem.offers import offer, offers
from npcmem.policies import FullHistory, KeepAlive, Policy, SummariseEvery
from npcmem.pricing import worthwhile_pings
from npcmem.recall import preset, retentions
from npcmem.strategies import Comparison, CostMap, IntervalCurve, Prices, Result, cost_map, interval_curve, least
from npcmem.thinktime import Pace

KNOWS = "What it must remember"
SAME = "same"
MAP_S = np.geomspace(5, 1800, 24)
MAP_TURNS = 80  # at least; in steps, that a longer session is not another map
MAP_STEP = 40
SPENT_ON = dict(zip(KINDS[1:], ("summaries", "pings", "embeddings", "importance", "reflections"), strict=True))
PAID_FOR = dict(
    zip(CLASSES, ("uncached input", "read from cache", "written to cache", "written to cache", "replies"), strict=True)
)


def controls() -> tuple[Control, ...]:
    """Return the page's controls: the scenario, and what the character has to remember."""
    kept = tuple((one.id, one.name, "A fact through summaries") for one in retentions().values())
    others = ((SAME, "The character's own model", "Same model"),)
    others += tuple((id, one.name, one.provider) for id, one in offers().items())
    wanted = (
        Slider("recall", "Recall at least", "", "of what was told, known at the end", 0, 100, 95, "%", group=KNOWS),
        Choice(
            "kept",
            "What a summary keeps",
            "Of the facts in it, each time it is rewritten.",
            kept,
            "values-verbatim",
            KNOWS,
        ),
    )
    of = {"group": scenario.MORE}
    more = (
        Choice("by", "Memory's model", "Makes summaries, ratings and reflections.", others, SAME, scenario.MORE),
        Slider(
            "grow", "Summary growth", "", "what it gains with each exchange it covers", 0, 30, 0, "tokens", 0.5, **of
        ),
        Slider(
            "others", "Other players", "", "requests that keep its static part cached", 0, 60, 0, "a minute", 0.5, **of
        ),
        Slider("scene", "Scene", "", "a new topic every so many turns", 2, 100, 12, "turns", **of),
        Slider("again", "Repeats", "", "exchanges that repeat an earlier one", 0, 50, 10, "%", **of),
    )
    start = [one for one in scenario.controls() if one.name != "flush"]
    first = [one for one in start if one.group in (scenario.WHO, scenario.TALK)]
    return (*first, *wanted, *(one for one in start if one not in first), *more)


@dataclass(frozen=True, eq=False)
class Answer(Comparison):
    """What the page shows beside the comparison: the recall asked for, ``floor``, every interval, and the map.

    ``context_tokens``: what a call of the model may hold.
    """

    floor: float
    context_tokens: float
    grid: CostMap
    curve: IntervalCurve
    turns: int
    think_s: float
    read_ratio: float

    @property
    def enough(self) -> tuple[Result, ...]:
        """The policies that recall enough and fit, cheapest first; where none does, those that fit, by recall."""
        enough = tuple(one for one in self.at_least(self.floor) if self.fits(one))
        return enough or tuple(sorted(filter(self.fits, self.results), key=lambda one: -one.recall)) or self.results

    def fits(self, one: Result) -> bool:
        """Return whether the longest call of a policy fits the model's context."""
        return bool(self.grid.fits[self.grid.policies.index(one.policy), self.turns - 1])

    @property
    def winner(self) -> Result:
        """The first of them."""
        return self.enough[0]

    @property
    def full(self) -> Result:
        """Full history on the same cache."""
        return next(one for one in self.results if one.policy == FullHistory())


def answer(values: Mapping[str, Value], pace: Pace | None = None) -> Answer:
    """Return the numbers for one set of values."""
    shape, here = scenario.here(values, pace)
    turns, floor = int(values["turns"]), values["recall"] / 100
    rules, prices = scenario.rules(values), _prices(values)
    who, kept = _character(values), preset(values["kept"]).retention
    one = scenario.session(values, turns)
    most = max(MAP_TURNS, -(-turns // MAP_STEP) * MAP_STEP)
    longest = _longest(most, int(values["m"]), int(values["o"]), int(values["scene"]), values["again"] / 100)
    others = float(shared_head_hit_rate(values["others"] / 60, rules.ttl_s))
    curve = interval_curve(who, one, rules, here, prices, kept, others)
    paces = [shape.scaled(s / scenario.slider_think_s(shape)) for s in MAP_S]
    policies = _policies(values, curve, turns, floor, worthwhile_pings(here, rules, prices.main))
    context_tokens = scenario.context_tokens(scenario.card_offer(values["model"]))
    grid = cost_map(
        policies, who, longest, rules, [*paces, here], prices, kept,
        least_recall=floor, head_warm=others, context_tokens=context_tokens,
    )  # fmt: skip
    return Answer(
        grid.results(prices, turns, len(paces)),
        least(who, one, rules, here, prices, others),
        floor,
        context_tokens,
        grid,
        curve,
        turns,
        float(values["think"]),
        float(values["r"]),
    )


def view(values: Mapping[str, Value], pace: Pace | None = None) -> View:
    """Return what the page shows; without ``pace``, for the preset that ``values`` names."""
    found = answer(values, pace)
    return View(
        headline=_headline(found.winner.policy),
        answer=f"{_knows(found)} {_reason(found)}",
        tiles=(_cost_tile(found), _margin_tile(found), _recall_tile(found), _bound_tile(found)),
        charts=(_map_chart(found), _front_chart(found), _calls_chart(found), _bill_chart(found)),
        notes=_notes(values, found),
        table=_download(found),
        tables=(_table(found),),
        prices=scenario.price_dates(values, *([] if values["by"] == SAME else [offer(values["by"])])),
    )


def which_memory() -> Page:
    """Return the page."""
    return scenario.page(
        "Which memory should it have?",
        "Every way to remember, billed by the provider's own rules and held against the best schedule of summaries.",
        controls(),
        view,
    )


# --- the numbers ----------------------------------------------------------------------------------


def _character(values: Mapping[str, Value]) -> Character:
    who = scenario.character(values)
    sizes = (who.static_tokens, who.summary_tokens, who.instruction_tokens, who.volatile_tokens)
    return Character(*sizes, summary_growth_tokens=float(values["grow"]))


@lru_cache(maxsize=8)  # the same session again is not walked through again
def _longest(turns: int, exchange_tokens: int, reply_tokens: int, turns_per_scene: int, repeats: float) -> Session:
    session = Session.uniform(turns, exchange_tokens, reply_tokens)
    return session.with_scenes(turns_per_scene).with_repeats(repeats)


def _prices(values: Mapping[str, Value]) -> Prices:
    return Prices(scenario.price(values), None if values["by"] == SAME else offer(values["by"]).price)


def _policies(
    values: Mapping[str, Value], curve: IntervalCurve, turns: int, least_recall: float, pings: int
) -> tuple[Policy, ...]:
    """Return all policies, set for this cache's lifetime and price, and the intervals that are best here."""
    alone, alive = (curve.best(least_recall, kept_alive) for kept_alive in (False, True))
    tuned = [alone] if alone.k < turns else []
    tuned += [KeepAlive(policy=alive)] if alive.k < turns else []
    return tuple(dict.fromkeys(one.suited(float(values["ttl"]), pings) for one in (*policies.POLICIES, *tuned)))


def _parts(result: Result) -> dict[str, float]:
    """Return a session's dollars by what they are paid for, in the order of ``plots.PARTS``."""
    parts = dict.fromkeys(plots.PARTS, 0.0)
    for name, part in PAID_FOR.items():
        parts[part] += getattr(result.reply_usd, name)
    for kind, part in SPENT_ON.items():
        parts[part] += result.usd_by_kind.get(kind, 0.0)
    return parts


# --- the words ------------------------------------------------------------------------------------


OPENINGS = {  # names that do not say what to do, as instructions
    "full history": "send the full history",
    "sliding window": "keep a sliding window",
    "stepped window": "keep a stepped window",
    "provider compaction at": "let the provider compact at",
    "fields": "keep fields",
}


def _headline(policy: Policy) -> str:
    """Return the winner as an instruction; where its summary call stands is said below."""
    words = policy.name.replace(", shared prefix", "").replace(", kept alive", ", keep the cache alive")
    for opening, told in OPENINGS.items():
        words = re.sub(f"^{opening}", told, words)
    words = re.sub(r"^(summarise every) (\d+)", _every, words)
    return f"{words[0].upper()}{words[1:]}."


def _every(match: re.Match[str]) -> str:
    return f"{match[1]} {_exchanges(int(match[2]))}"


def _exchanges(k: int) -> str:
    return "exchange" if k == 1 else f"{k} exchanges"


def _rival(found: Answer) -> Result | None:
    """Return the cheapest policy of another kind than the winner's that recalls enough; None where there is none.

    One that never gets to differ, such as summaries in sessions too short for the first, is no other kind.
    """

    def kind(policy: Policy) -> tuple[type, type]:
        return type(policy), type(getattr(policy, "policy", None))

    best = found.winner
    others = (one for one in found.enough if kind(one.policy) != kind(best.policy))
    return next((one for one in others if one.usd > best.usd * (1 + 1e-9) or one.recall != best.recall), None)


def _knows(found: Answer) -> str:
    if not found.fits(found.winner):
        return f"No memory fits the model's context of {found.context_tokens:,} tokens in {found.turns} turns."
    if found.winner.recall < found.floor - 1e-12:
        nearest = f"the nearest knows {percent(found.winner.recall)}."
        return f"Nothing that fits a context of {found.context_tokens:,} tokens knows {percent(found.floor)}: {nearest}"
    knows = "all" if found.winner.recall > 1 - 1e-9 else percent(found.winner.recall)
    return f"The cheapest memory that still knows {knows} of what was told."


def _dearer(usd_there: float, usd_here: float) -> str:
    more = usd_there / usd_here - 1 if usd_here else 0.0
    return f"{percent(more)} dearer" if more >= 0.0005 else "as cheap"


def _reason(found: Answer) -> str:
    best = found.winner
    if best is found.full:
        read = "nothing is read from the cache"
        if best.read_share >= 0.0005:
            at = f"at {percent(found.read_ratio)} of the price" if found.read_ratio else "for nothing"
            read = f"{percent(best.read_share)} of its input is read from the cache, {at}"
        return f"Nothing shorter recalls enough for less: {read}."
    replies = found.full.usd_by_kind["reply"] - best.usd_by_kind["reply"]
    spent = [(best.usd_by_kind.get(kind, 0.0), word) for kind, word in SPENT_ON.items()]
    parts = [f"{usd(paid)} on {word}" for paid, word in spent if paid > 5e-4 * best.usd]
    on = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "next to nothing on memory"
    saved = usd(replies) if replies > 5e-4 * best.usd else "next to nothing"
    return f"Against full history ({usd(found.full.usd)} a session) it saves {saved} on replies and spends {on}."


def _cost_tile(found: Answer) -> Tile:
    best = found.winner
    thousand = f"{usd(1000 * best.usd)} for 1,000 sessions of {found.turns} turns"
    return Tile("Cost per session", usd(best.usd), f"{thousand}. The last reply alone: {usd(best.last_usd)}.")


def _margin_tile(found: Answer) -> Tile:
    best, full, rival = found.winner, found.full, _rival(found)
    saved = 1 - best.usd / full.usd if full.usd else 0.0
    other = "Nothing else recalls enough."
    if rival:
        other = f"Next of another kind: {rival.policy.name}, {_dearer(rival.usd, best.usd)}."
    return Tile("Against full history", _signed(-saved), f"on the same cache ({usd(full.usd)}). {other}")


def _recall_tile(found: Answer) -> Tile:
    best = found.winner
    least_usd = next(filter(found.fits, found.results), best)
    text = f"of what was told; of the very first exchange {percent(best.oldest)}."
    if least_usd.usd < best.usd * (1 - 1e-9):
        text += f" Cheapest of all: {least_usd.policy.name}, {usd(least_usd.usd)}, knows {percent(least_usd.recall)}."
    else:
        text += " Nothing cheaper, even among those that forget."
    return Tile("Known at the end", percent(best.recall), text)


def _bound_tile(found: Answer) -> Tile:
    steps = found.bound.intervals
    how = "no summary"
    if steps:
        least_k, most_k = min(steps), max(steps)
        of = _exchanges(least_k) if least_k == most_k else f"{least_k} to {most_k} exchanges"
        how = f"a summary every {of}" if len(steps) > 1 else f"one summary, after {of}"
    over = found.over_bound(found.winner)
    text = f"The best schedule of summaries and pings costs {usd(found.bound.usd)}: {how} while nobody breaks off."
    if over < -0.0005:
        text += " The winner sends less than such a schedule may: it leaves something out."
    return Tile("Above the best schedule", _signed(over), text)


def _signed(share: float) -> str:
    """Return a share with a minus sign as print has it; what rounds to nothing is 0."""
    return percent(0) if abs(share) < 0.0005 else f"{'−' if share < 0 else ''}{percent(abs(share))}"


def _notes(values: Mapping[str, Value], found: Answer) -> list[str]:
    keeps = preset(values["kept"])
    notes = [f"What a summary keeps: {keeps.source}. {keeps.note[:1].upper()}{keeps.note[1:]}."]
    long = [one.policy.name for one in found.results if not found.fits(one)]
    if long:
        context = f"{scenario.card_offer(values['model']).name} ({found.context_tokens:,} tokens)"
        notes.append(f"Would not fit the context of {context} in {found.turns} turns: {'; '.join(long)}.")
    forgetful = [one.policy.name for one in found.results if one.recall < found.floor - 1e-12]
    if forgetful:
        notes.append(f"Below {percent(found.floor)} recall at {found.turns} turns: {'; '.join(forgetful)}.")
    if not found.winner.hit_rate:
        notes.append("Nothing is read from the cache here: prompts stay below the minimum, or players outlast it.")
    if values["by"] != SAME:
        card = offer(values["by"])
        notes.append(
            f"Summaries that share the prefix are made by the character's own model; all else is priced as {card.name}."
        )
    return [*notes, *scenario.origin_notes(values)]


# --- the charts -----------------------------------------------------------------------------------


def _map_chart(found: Answer) -> ChartCard:
    grid = found.grid
    winners, names, colours = grid.winners[:, : len(MAP_S)].copy(), grid.names, _map_colours(grid)
    best = len(grid.policies)  # of the best interval; one more, of it kept alive
    pairs = [(one.policy, True) if isinstance(one, KeepAlive) else (one, False) for one in grid.policies]
    for at, (policy, alive) in enumerate(pairs):  # one name for every interval that the best one takes in
        if isinstance(policy, SummariseEvery) and not policy.keep:
            winners[winners == at] = best + alive
    n = np.arange(1, len(winners) + 1)[:, None]
    for at, (policy, alive) in enumerate(pairs):  # and an interval as long as the session is none
        if policy == FullHistory():
            never = grid.intervals[int(alive), :, : len(MAP_S)] >= n
            winners[(winners == best + alive) & never] = at
    shares = np.bincount(winners.ravel(), minlength=len(names)) / winners.size
    most = [f"{names[at]} {percent(shares[at])}" for at in np.argsort(-shares) if shares[at] > 0]
    at = found.think_s, found.turns
    return ChartCard(
        "Which is cheapest, for whom",
        f"The cheapest memory that knows at least {percent(found.floor)}, exact in every cell; the dot is you.",
        plots.cheapest_map(MAP_S, winners, tuple(names), tuple(colours), at),
        f"Map of the cheapest policy by think time, {duration(MAP_S[0])} to {duration(MAP_S[-1])}, and turns, 1 to "
        f"{len(winners)}. {'; '.join(most)}.",
        tall=True,
    )


def _map_colours(grid: CostMap) -> list[str]:
    best = (SummariseEvery(2), KeepAlive(policy=SummariseEvery(2)))
    return [*map(plots.policy_colour, (*grid.policies, *best))]


def _front_chart(found: Answer) -> ChartCard:
    front = found.front()
    names = tuple(one.policy.name for one in found.results)
    return ChartCard(
        "Dollars against recall",
        f"Left is cheaper, up knows more; the scale stretches towards all. {_at_k_and_2k(found)}",
        plots.cost_and_recall(
            np.array([one.usd for one in found.results]),
            np.array([one.recall for one in found.results]),
            names,
            tuple(plots.policy_colour(one.policy) for one in found.results),
            tuple(found.results.index(one) for one in front),
            (found.curve.usd[0], found.curve.recall),
            found.floor,
        ),
        "Scatter of policies by dollars a session and recall. Not outdone: "
        + "; ".join(f"{one.policy.name}, {usd(one.usd)}, {percent(one.recall)}" for one in front)
        + ".",
        tall=True,
        wide=True,
    )


def _at_k_and_2k(found: Answer) -> str:
    """Say what the cheapest interval and twice that interval cost and know, the cache left alone."""
    curve, k, turns = found.curve, found.curve.best().k, found.turns

    def at(k: int) -> str:
        return f"{usd(float(curve.usd[0, k - 1]))} and {percent(float(curve.recall[k - 1]))} known"

    if k >= turns:
        return "With the cache left alone, no summary pays."
    double = f"every {2 * k}" if 2 * k < turns else "never"
    best = f"With the cache left alone, a summary every {_exchanges(k)} is best: {at(k)}"
    return f"{best}; {double}: {at(min(2 * k, turns))}."


def _calls_chart(found: Answer) -> ChartCard:
    full = found.full
    shown = [one for one in found.results if one.policy != FullHistory()]
    last = np.array([1 - one.last_usd / full.last_usd if full.last_usd else 0.0 for one in shown])
    whole = np.array([1 - one.usd / full.usd if full.usd else 0.0 for one in shown])
    most = int((last - whole).argmax())
    return ChartCard(
        "The last call is not the conversation",
        f"Judged by its last reply, {shown[most].policy.name} is {_cheaper(last[most])} than full history; "
        f"over the conversation it is {_cheaper(whole[most])}.",
        plots.savings(tuple(one.policy.name for one in shown), last, whole),
        "Points of each policy's saving against full history, by its last reply and by the whole conversation: "
        + "; ".join(
            f"{one.policy.name} {_signed(a)} and {_signed(b)}" for one, a, b in zip(shown, last, whole, strict=True)
        )
        + ".",
        wide=True,
        rows=len(policies.POLICIES) + 2,
    )


def _cheaper(saved: float) -> str:
    return f"{percent(abs(saved))} {'cheaper' if saved >= 0 else 'dearer'}"


def _bill_chart(found: Answer) -> ChartCard:
    parts = [_parts(one) for one in found.results]
    own = sum(found.winner.usd_by_kind.get(kind, 0.0) for kind in SPENT_ON)
    share = own / found.winner.usd if found.winner.usd else 0.0
    return ChartCard(
        "Where the money goes",
        f"Memory's own calls, a colour each, are {percent(share)} of the winner's bill.",
        plots.bill_by_part(
            tuple(one.policy.name for one in found.results),
            {name: np.array([part[name] for part in parts]) for name in plots.PARTS},
        ),
        "Stacked bars of dollars a session by part: "
        + "; ".join(f"{one.policy.name} {usd(one.usd)}" for one in found.results)
        + ".",
        wide=True,
        rows=len(policies.POLICIES) + 2,
    )


# --- the tables -----------------------------------------------------------------------------------


def _table(found: Answer) -> Table:
    most = max(one.usd for one in found.results) or 1.0
    forgetful = [one for one in found.results if one not in found.enough]
    columns = (
        Column("Memory", "", "left"),
        Column("A session", "dollars"),
        Column("Above the best", "schedule"),
        Column("Still known", "of all told"),
        Column("First exchange", "still known"),
        Column("Last reply", "dollars"),
        Column("Turns that hit", "the cache"),
    )
    rows = [
        Row(
            (
                one.policy.name,
                usd(one.usd),
                _above(found.over_bound(one)),
                percent(one.recall),
                percent(one.oldest),
                usd(one.last_usd),
                percent(one.hit_rate),
            ),
            plots.policy_colour(one.policy),
            "cheapest" if one is found.winner else "" if found.fits(one) else "too long",
            bar=one.usd / most,
        )
        for one in (*found.enough, *forgetful)
    ]
    return Table(
        "All of them, side by side",
        f"Cheapest first, those that know less than {percent(found.floor)} or do not fit after them. Whole "
        f"conversations of {found.turns} turns; the last reply alone beside them, for the last call is not the "
        "conversation.",
        columns,
        tuple(rows),
        after=1,
    )


def _above(share: float) -> str:
    return f"{'+' if share >= 0.0005 else ''}{_signed(share)}"


def _download(found: Answer) -> list[list[Any]]:
    """Return the rows of the download: a policy each."""
    head = ["policy", "usd_per_session", "above_bound", "recall", "recall_first_exchange", "usd_last_reply"]
    head += ["share_of_turns_hit", "share_of_input_read", *(f"usd_{part.replace(' ', '_')}" for part in plots.PARTS)]
    rows = []
    for one in found.results:
        numbers = (one.usd, found.over_bound(one), one.recall, one.oldest, one.last_usd, one.hit_rate, one.read_share)
        rows.append([one.policy.name, *(float(number) for number in (*numbers, *_parts(one).values()))])
    return [head, *rows]
