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
from npcmem.dialogue import KINDS, Session
from npcmem.ledger import Ledger, replay
from npcmem.money import CLASSES
from npcmem.policies import FullHistory, Policy
from npcmem.pricing import worthwhile_pings
from npcmem.strategies import Prices
from npcmem.thinktime import Pace

DEFAULT_POLICY = "sliding-window-of-10"
STEADY, DRAWN = "steady", "drawn"
MOST_TURNS = 80
ASIDE = {
    "ping": ("ping", "pings"),
    "embedding": ("embedding", "embeddings"),
    "importance": ("rating", "ratings"),
    "reflection": ("reflection", "reflections"),
}


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

    ``tokens``: (n,) by name of ``plots.STRIP``. ``changed``: turns whose prompt does not begin with the one before;
    ``cold``: those that came after the cache had died; ``broken``: those whose reply read less than was still alive of
    the prompt before. ``held``: tokens of each prompt that were in the cache once it was sent (n,).
    """

    policy: Policy
    bill: Ledger
    tokens: dict[str, np.ndarray]
    changed: tuple[int, ...]
    cold: tuple[int, ...]
    broken: tuple[int, ...]
    held: np.ndarray
    usd: float

    @property
    def sent(self) -> np.ndarray:
        """Input tokens of each turn, replies and summaries together (n,)."""
        return sum(self.tokens.values())

    @property
    def prompts(self) -> int:
        """Input tokens of all replies."""
        return int(self.bill.only("reply").usage.input.sum())

    @property
    def read_share(self) -> float:
        """The share of them that was read from the cache."""
        return float(self.tokens["read from cache"].sum()) / max(self.prompts, 1)


@dataclass(frozen=True, eq=False)
class Answer:
    """The chosen policy's session and that of full history, with the same player."""

    chosen: Strip
    full: Strip
    session: Session
    ttl_s: float
    least_tokens: int


def answer(values: Mapping[str, Value], pace: Pace | None = None) -> Answer:
    """Return the numbers for one set of values."""
    _, here = scenario.here(values, pace)
    one = scenario.session(values, int(values["turns"])).with_scenes(12).with_repeats(0.1)
    one = one.with_gaps(_gaps_s(values, here, one.turns - 1))
    named = {slug(policy): policy for policy in policies.POLICIES}
    pings = worthwhile_pings(here, scenario.rules(values), scenario.price(values))
    chosen = named[values["policy"]].suited(float(values["ttl"]), pings)
    rules = scenario.rules(values)
    least_tokens = max(rules.min_tokens, rules.granularity_tokens)
    return Answer(
        _strip(chosen, values, one), _strip(FullHistory(), values, one), one, float(values["ttl"]), least_tokens
    )


def view(values: Mapping[str, Value], pace: Pace | None = None) -> View:
    """Return what the page shows; without ``pace``, for the preset that ``values`` names."""
    found = answer(values, pace)
    most = max(found.chosen.sent.max(), found.full.sent.max()) * 1.06 or 1.0
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
        prices=scenario.price_dates(values),
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
    held = usage.read + usage.write + usage.write_long
    alive, warm = _alive(bill, held, session, rules.ttl_s)
    cold, broken = np.flatnonzero(~warm) + 2, np.flatnonzero(usage.read[1:] < alive) + 2
    cost = bill.cost(prices.main, **prices.other(policy))
    changed = _changed(policy, values, session)
    return Strip(policy, bill, tokens, changed, tuple(cold.tolist()), tuple(broken.tolist()), held, cost)


def _changed(policy: Policy, values: Mapping[str, Value], session: Session) -> tuple[int, ...]:
    """Return the turns whose reply's prompt does not begin with that of the reply before."""
    sent = policies.calls(policy, scenario.character(values), session)
    prompts = [call.prompt for call in sent if call.kind == "reply"]
    pairs = zip(prompts, prompts[1:], strict=False)
    return tuple(turn for turn, (old, new) in enumerate(pairs, start=2) if new[: len(old)] != old)


def _alive(bill: Ledger, held: np.ndarray, session: Session, ttl_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Return for each gap how much of the prompt before it is alive at its end, and whether anything is (n−1,).

    Pings keep what they send again: after a summary, no more of the prompt before than its head.
    """
    pings = bill.only("ping")
    turn_s = np.concatenate([[0.0], np.cumsum(session.gaps_s)])
    own = session.gaps_s < ttl_s
    last_s, kept = np.full(session.turns, -np.inf), np.zeros(session.turns)
    last_s[pings.turn - 1], kept[pings.turn - 1] = pings.at_s, pings.usage.read  # the last of a turn stays
    pinged = turn_s[1:] - last_s[:-1] < ttl_s
    return np.where(own, held[:-1], np.where(pinged, kept[:-1], 0)), own | pinged


# --- the words ------------------------------------------------------------------------------------


def _name(strip: Strip) -> str:
    return f"{strip.policy.name[0].upper()}{strip.policy.name[1:]}"


def _headline(found: Answer) -> str:
    return f"{_name(found.chosen)}: {percent(found.chosen.read_share)} is read from the cache."


def _explanation(found: Answer) -> str:
    chosen, turns = found.chosen, found.session.turns
    changed = chosen.changed
    if not chosen.held.any():
        return (
            f"No prompt reaches the {found.least_tokens:,} tokens that this cache asks for: nothing is ever stored, "
            "and nothing can break."
        )
    if len(chosen.cold) == turns - 1:
        text = "The cache has died before every turn: the player stays away for longer than an entry lives."
        more = f" That its prompts change at the front too, {_times(len(changed))}, costs nothing more."
        return text + (more if changed else "")
    if not changed:
        text = "Its prompts only ever grow at the end, so that each reads all that was cached of the one before"
        return f"{text}, unless the player stays away until the cache has died." if chosen.cold else f"{text}."
    if len(changed) > 2 and changed == tuple(range(changed[0], turns + 1)):
        text = (
            f"From turn {changed[0]} on every prompt differs from the one before near its front: what is dropped stood "
            "before all that is kept, and behind the first changed token nothing can be read."
        )
        return text + (f" And {_times(len(chosen.cold))} the cache had died before." if chosen.cold else "")
    first = ", ".join(map(str, changed[:6])) + (" …" if len(changed) > 6 else "")
    times = f"{len(changed)} times, at turns" if len(changed) > 1 else "once, at turn"
    text = f"It changes its prompt at the front {times} {first}; behind the first changed token nothing can be read."
    return f"{text} {_met(len(set(changed) & set(chosen.cold)), len(changed))}"


def _met(dead: int, changes: int) -> str:
    """Say how many of the changes met a cache that had died already, and so broke nothing."""
    if not dead:
        return "All other turns only add at the end."
    if dead == changes:
        return f"{'Each time the' if dead > 1 else 'The'} cache had died by then, so that it broke nothing."
    return f"{f'{dead} of them' if dead > 1 else 'One of them'} met a cache that had died already."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _read_tile(found: Answer) -> Tile:
    text = f"of the {found.chosen.prompts:,} tokens in its prompts"
    if found.chosen.policy != FullHistory():
        text += f"; full history reads {percent(found.full.read_share)} of {found.full.prompts:,}"
    return Tile("Read from the cache", percent(found.chosen.read_share), f"{text}.")


def _broken_tile(found: Answer) -> Tile:
    cold = len(found.chosen.cold)
    died = f"The player outlasts the cache {_times(cold)}." if cold else "The cache never dies."
    return Tile(
        "Turns that break it",
        f"{len(found.chosen.broken)} of {found.session.turns}",
        f"by the memory's own doing. {died}",
    )


def _cost_tile(found: Answer) -> Tile:
    dearer = found.chosen.usd / found.full.usd - 1 if found.full.usd else 0.0
    if found.chosen.policy == FullHistory():
        text = "what the other memories are held against"
    elif abs(dearer) < 5e-4:
        text = f"the same as full history ({usd(found.full.usd)}), with the same player"
    else:
        text = f"{percent(abs(dearer))} {'dearer' if dearer > 0 else 'cheaper'} than full history "
        text += f"({usd(found.full.usd)}), with the same player"
    return Tile("Session cost", usd(found.chosen.usd), f"{text}.")


def _last_tile(found: Answer) -> Tile:
    last, full = int(found.chosen.sent[-1]), int(found.full.sent[-1])
    new = int(found.chosen.sent[-1] - found.chosen.tokens["read from cache"][-1])
    than = "" if found.chosen.policy == FullHistory() else f"against {full:,} with full history; "
    return Tile("Last turn, tokens", f"{last:,}", f"{than}{new:,} of them at more than the price of a read.")


def _notes(values: Mapping[str, Value], found: Answer) -> list[str]:
    least_s, most_s = (duration(float(gap)) for gap in (found.session.gaps_s.min(), found.session.gaps_s.max()))
    gaps = f"are all {least_s}" if least_s == most_s else f"last {least_s} to {most_s}"
    notes = [f"This player's gaps {gaps}; an entry lives {duration(found.ttl_s)} after its last use."]
    aside = {kind: len(found.chosen.bill.only(kind).turn) for kind in KINDS if kind not in ("reply", "summary")}
    if any(aside.values()):
        made = " and ".join(f"{count:,} {ASIDE[kind][count > 1]}" for kind, count in aside.items() if count)
        notes.append(f"In the cost but not in the strip: {made}.")
    return [*notes, *scenario.origin_notes(values)]


def _chart(strip: Strip, found: Answer, most: float) -> ChartCard:
    tokens = {name: values for name, values in strip.tokens.items() if values.any()}
    sums = ", ".join(f"{values.sum():,.0f} {name}" for name, values in tokens.items())
    said = ", ".join(map(str, strip.broken)) or "none"
    return ChartCard(
        _name(strip),
        f"A row per turn, the front of its prompt on the left. Tokens in all: {sums}.",
        plots.prefix_strip(tokens, most, strip.broken, strip.cold),
        f"A row per turn for {strip.policy.name}, 1 to {found.session.turns}. Tokens in all: {sums}. Broken at turns: "
        f"{said}. After the cache had died: {', '.join(map(str, strip.cold)) or 'none'}.",
        tall=True,
        wide=False,
    )


def _download(found: Answer) -> list[list[Any]]:
    """Return the rows of the download: each call of the chosen policy."""
    bill = found.chosen.bill
    head = ["turn", "kind", "at_s", *CLASSES]
    columns = (bill.turn, bill.kind, bill.at_s.round(3), *(getattr(bill.usage, name) for name in CLASSES))
    return [head, *map(list, zip(*(np.asarray(column).tolist() for column in columns), strict=True))]
