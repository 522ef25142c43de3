"""The page "Watch the prefix": one player's session, turn by turn, and what of each prompt the cache still held."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from npcmem import plots, policies
from npcmem.dashboards import scenario
from npcmem.dashboards.controls import Choice, Control, Slider, Value
from npcmem.dashboards.page import ChartCard, Page, Tile, View
from npcmem.dashboards.words import duration, percent, usd
from npcmem.dialogue import Session
from npcmem.ledger import Ledger, replay
from npcmem.money import CLASSES
from npcmem.policies import FullHistory, Policy
from npcmem.strategies import Prices
from npcmem.thinktime import Pace

DEFAULT_POLICY = "sliding-window-of-10"
STEADY, DRAWN = "steady", "drawn"
MOST_TURNS = 80


def controls() -> tuple[Control, ...]:
    """Return the page's controls: the scenario, the policy to watch and the player to watch it with."""
    options = tuple((slug(policy), policy.name, "Memory") for policy in policies.POLICIES)
    players = (
        (STEADY, "Never pauses longer than they think", "Player"),
        (DRAWN, "Drawn from the pace, breaks and all", "Player"),
    )
    watched = (
        Choice(
            "policy", "Memory", "What of the conversation each prompt holds.", options, DEFAULT_POLICY, scenario.WHO
        ),
        Choice("player", "Player", "Whose gaps the session has.", players, STEADY, scenario.WHO),
        Slider("who", "Which player", "", "another one for each number", 1, 100, 1, "(number)", group=scenario.WHO),
    )
    rest = [_shorter(one) for one in scenario.controls() if one.name != "flush"]
    return (*watched, *rest)


def _shorter(control: Control) -> Control:
    """Return the control of turns with as many as a strip can show."""
    if control.name != "turns":
        return control
    return Slider(
        "turns", control.label, control.symbol, control.help, 2, MOST_TURNS, 24, control.unit, group=control.group
    )


def slug(policy: Policy) -> str:
    """Return a policy's name as a link spells it."""
    return re.sub(r"[^a-z0-9]+", "-", policy.name.lower().replace("–", "-to-")).strip("-")


@dataclass(frozen=True, eq=False)
class Strip:
    """A session under one policy: the ledger, and for each turn the tokens of its calls by what became of them.

    ``tokens``: (n,) by name of ``plots.STRIP``. ``broken``: turns whose reply read less than was still alive of the
    prompt before; ``cold``: turns that came after the cache had died.
    """

    policy: Policy
    bill: Ledger
    tokens: dict[str, np.ndarray]
    broken: tuple[int, ...]
    cold: tuple[int, ...]
    usd: float

    @property
    def sent(self) -> np.ndarray:
        """Input tokens of each turn, all calls together (n,)."""
        return sum(self.tokens.values())

    @property
    def read_share(self) -> float:
        """The share of input tokens read from the cache."""
        return self.bill.read_share


@dataclass(frozen=True, eq=False)
class Answer:
    """The chosen policy's session and that of full history, with the same player."""

    chosen: Strip
    full: Strip
    session: Session
    ttl_s: float


def answer(values: Mapping[str, Value], pace: Pace | None = None) -> Answer:
    """Return the numbers for one set of values."""
    _, here = scenario.here(values, pace)
    one = scenario.session(values, int(values["turns"])).with_scenes(12).with_repeats(0.1)
    one = one.with_gaps(_gaps_s(values, here, one.turns - 1))
    named = {slug(policy): policy for policy in policies.POLICIES}
    chosen = named[values["policy"]].suited(float(values["ttl"]))
    return Answer(_strip(chosen, values, one), _strip(FullHistory(), values, one), one, float(values["ttl"]))


def view(values: Mapping[str, Value], pace: Pace | None = None) -> View:
    """Return what the page shows; without ``pace``, for the preset that ``values`` names."""
    found = answer(values, pace)
    most = max(found.chosen.sent.max(), found.full.sent.max()) * 1.25
    charts = [_chart(found.chosen, found, most)]
    if found.chosen.policy != FullHistory():
        charts.append(_chart(found.full, found, most))
    return View(
        headline=_headline(found),
        answer=_explanation(found),
        tiles=(_read_tile(found), _broken_tile(found), _cost_tile(found), _last_tile(found)),
        charts=tuple(charts),
        notes=_notes(values, found),
        table=_download(found),
    )


def watch_prefix() -> Page:
    """Return the page."""
    return scenario.page(
        "Watch the prefix: why does the cache miss?",
        "A cache reads a prompt only as far as it is the same as before. Follow one player, turn by turn.",
        controls(),
        view,
    )


# --- the numbers ----------------------------------------------------------------------------------


def _gaps_s(values: Mapping[str, Value], pace: Pace, gaps: int) -> np.ndarray:
    """Return the gaps of the player: their think time every turn, or drawn from the pace by the player's number."""
    if values["player"] == STEADY:
        return np.full(gaps, float(values["think"]))
    return np.atleast_1d(pace.sample(np.random.default_rng(int(values["who"])), gaps))


def _strip(policy: Policy, values: Mapping[str, Value], session: Session) -> Strip:
    rules, prices = scenario.rules(values), Prices(scenario.price(values))
    bill = replay(policy, scenario.character(values), session, rules)
    replies, summaries = bill.only("reply"), bill.only("summary")
    usage = replies.usage
    tokens = {
        "read from cache": usage.read.astype(float),
        "written to cache": (usage.write + usage.write_long).astype(float),
        "uncached input": usage.uncached.astype(float),
        "sent to be summarised": np.bincount(summaries.turn - 1, summaries.usage.input, session.turns),
    }
    alive = np.concatenate([[0], np.where(_warm(bill, session, rules.ttl_s), _held(usage)[:-1], 0)])
    cold = np.flatnonzero(~_warm(bill, session, rules.ttl_s)) + 2
    broken = np.flatnonzero(usage.read < alive) + 1
    cost = bill.cost(prices.main, **prices.other(policy))
    return Strip(policy, bill, tokens, tuple(broken.tolist()), tuple(cold.tolist()), cost)


def _held(usage: Any) -> np.ndarray:
    """Return how much of each reply's prompt is in the cache once it was sent."""
    return usage.read + usage.write + usage.write_long


def _warm(bill: Ledger, session: Session, ttl_s: float) -> np.ndarray:
    """Return for each gap whether the prompt before it, last sent by the reply or a ping, is still alive at its end."""
    pings = bill.only("ping")
    turn_s = np.concatenate([[0.0], np.cumsum(session.gaps_s)])
    last_s = turn_s[:-1].copy()
    np.maximum.at(last_s, pings.turn - 1, pings.at_s)
    return turn_s[1:] - last_s < ttl_s


# --- the words ------------------------------------------------------------------------------------


def _name(strip: Strip) -> str:
    return f"{strip.policy.name[0].upper()}{strip.policy.name[1:]}"


def _headline(found: Answer) -> str:
    chosen = found.chosen
    return f"{_name(chosen)} reads {percent(chosen.read_share)} of its input from the cache."


def _explanation(found: Answer) -> str:
    chosen, broken = found.chosen, found.chosen.broken
    turns = found.session.turns
    if not _held(chosen.bill.only("reply").usage).any():
        return "No prompt is long enough to be cached at all: every token is paid in full, every turn."
    if not broken:
        text = "Its prompts only ever grow at the end, so each one reads the whole of the one before"
        return f"{text}, unless the player stays away until the cache has died." if chosen.cold else f"{text}."
    if len(broken) > 2 and broken[-1] - broken[0] == len(broken) - 1 and broken[-1] == turns:
        return (
            f"From turn {broken[0]} on it breaks its own prefix every turn: what it drops stands in front of all that "
            "it keeps, and behind the first changed token nothing can be read."
        )
    first = ", ".join(map(str, broken[:5])) + (" …" if len(broken) > 5 else "")
    times = f"{len(broken)} times, at turns" if len(broken) > 1 else "once, at turn"
    rest = "In between" if len(broken) > 1 else "Otherwise"
    return f"It breaks its own prefix {times} {first}. {rest} prompts grow at their end and each reads the one before."


def _read_tile(found: Answer) -> Tile:
    return Tile(
        "Read from the cache",
        percent(found.chosen.read_share),
        f"of {found.chosen.sent.sum():,.0f} input tokens; full history reads {percent(found.full.read_share)} "
        f"of {found.full.sent.sum():,.0f}.",
    )


def _broken_tile(found: Answer) -> Tile:
    cold = len(found.chosen.cold)
    died = f"The player outlasts the cache {cold} time{'s' if cold != 1 else ''}." if cold else "The cache never dies."
    return Tile(
        "Turns that break it",
        f"{len(found.chosen.broken)} of {found.session.turns}",
        f"by the memory's own doing. {died}",
    )


def _cost_tile(found: Answer) -> Tile:
    ratio = found.chosen.usd / found.full.usd - 1 if found.full.usd else 0.0
    against = (
        f"{percent(abs(ratio))} {'dearer' if ratio > 0 else 'cheaper'} than" if abs(ratio) > 5e-4 else "the same as"
    )
    return Tile(
        "Cost of this session", usd(found.chosen.usd), f"{against} full history ({usd(found.full.usd)}), same player."
    )


def _last_tile(found: Answer) -> Tile:
    last, full = int(found.chosen.sent[-1]), int(found.full.sent[-1])
    return Tile(
        "Tokens of the last turn",
        f"{last:,}",
        f"against {full:,} with full history; what of them is new decides the price.",
    )


def _notes(values: Mapping[str, Value], found: Answer) -> list[str]:
    gaps = found.session.gaps_s
    notes = [
        f"This player's gaps: {duration(float(gaps.min()))} to {duration(float(gaps.max()))}; "
        f"an entry lives {duration(found.ttl_s)} after its last use."
    ]
    if len(found.chosen.bill.only("ping").turn):
        notes.append(f"{len(found.chosen.bill.only('ping').turn):,} pings are in the cost but not in the strip.")
    return [*notes, *scenario.origin_notes(values)]


def _chart(strip: Strip, found: Answer, most: float) -> ChartCard:
    marks = dict.fromkeys(strip.cold, "cache had died") | dict.fromkeys(strip.broken, "prefix broken")
    few = {turn: marks[turn] for turn in sorted(marks)[:12]}
    tokens = {name: values for name, values in strip.tokens.items() if values.any()}
    sums = "; ".join(f"{name} {values.sum():,.0f}" for name, values in tokens.items())
    return ChartCard(
        _name(strip),
        f"Each row is a turn, from the front of its prompt to the end. In all: {sums} tokens.",
        plots.prefix_strip(tokens, most, few),
        f"A row per turn for {strip.policy.name}, 1 to {found.session.turns}. Tokens in all: {sums}. Broken at turns "
        f"{', '.join(map(str, strip.broken)) or 'none'}.",
        tall=True,
        wide=False,
    )


def _download(found: Answer) -> list[list[Any]]:
    """Return the rows of the download: each call of the chosen policy."""
    bill = found.chosen.bill
    head = ["turn", "kind", "at_s", *CLASSES]
    columns = (bill.turn, bill.kind, bill.at_s.round(3), *(getattr(bill.usage, name) for name in CLASSES))
    return [head, *([str(cell) for cell in row] for row in zip(*columns, strict=True))]
