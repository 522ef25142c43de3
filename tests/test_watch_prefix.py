"""Watch the prefix: turns that break it by another road, strips that add up, and sentences that hold at odd values."""

from __future__ import annotations

import math
import re
import sys

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from npcmem import policies
from npcmem.cache import PrefixCache
from npcmem.dashboards import watch_prefix as build
from npcmem.dashboards.controls import Slider, defaults, parse
from npcmem.dashboards.scenario import character, filled, rules
from npcmem.dashboards.words import percent, usd
from npcmem.dialogue import Call
from npcmem.offers import offers
from npcmem.paces import paces
from tests.shown import any_values, numbers, texts
from tests.test_which_memory import WRONG

page = sys.modules[build.__module__]
CONTROLS = page.controls()
START = defaults(CONTROLS)
SLIDERS = [control for control in CONTROLS if isinstance(control, Slider)]
OPTIONS = [option[0] for control in CONTROLS if control.name == "policy" for option in control.options]


def scenario(**changes):
    """Return the values after these changes, made one after the other as a visitor would."""
    values = dict(START)
    for name, value in changes.items():
        values = dict(filled({**values, name: value}, name))
    return values


ODD = {
    "never cached": {"min": 8192},
    "cached late": {"min": 4096, "turns": 80},
    "nothing at all": {"turns": 2, "S": 0, "m": 10, "o": 1, "u": 0, "q": 0, "s": 10},
    "tiny": {"m": 10, "o": 10, "turns": 80},
    "free": {"r": 0.0, "w": 0.0},
    "no gain": {"r": 1.0, "w": 1.0},
    "exactly the lifetime": {"think": 300.0},
    "cold": {"think": 1800.0},
    "blocks of 128": {"model": "gpt-4.1", "turns": 60},
    **{f"{one.name} least": {one.name: one.least} for one in SLIDERS if one.name != "m"},
    **{f"{one.name} most": {one.name: one.most} for one in SLIDERS if one.name != "o"},
}


def broken_by_probing(values, found):
    """Send the prompt before once more, just before each turn: what that reads is what the reply could have read."""
    session, who, cache = found.session, character(values), rules(values)
    sent = [*policies.calls(found.chosen.policy, who, session)]
    start = [0.0]
    for gap_s in session.gaps_s:
        start.append(start[-1] + float(gap_s))
    broken, last = [], None
    read = found.chosen.bill.only("reply").usage.read
    for turn in range(1, session.turns + 1):
        if last is not None:
            probe = PrefixCache(cache)
            for call in sent:
                if call.turn < turn:
                    probe.send(call, start[call.turn - 1] + call.after_s)
            alive = probe.send(Call(turn, "reply", last.prompt, (), 1), start[turn - 1]).read
            if read[turn - 1] < alive:
                broken.append(turn)
        last = next(call for call in sent if call.kind == "reply" and call.turn == turn)
    return tuple(broken)


def check(values):
    """Every number is one, every row adds up, and every sentence is what the ledger says when it is read again."""
    found, shown = page.answer(values), page.view(values)
    for text in texts(shown):
        assert text and not WRONG.search(text.replace("\u00a0", " ")), text
    for chart in shown.charts:
        assert all(map(math.isfinite, numbers(chart.figure))), chart.title
    chosen, full, turns = found.chosen, found.full, values["turns"]
    for strip in (chosen, full):
        check_strip(strip, turns)
    read, breaks, cost, last = shown.tiles
    assert percent(chosen.read_share) == read.big
    assert shown.headline == f"{page._name(chosen)}: {read.big} is read from the cache."
    assert breaks.big == f"{len(chosen.broken)} of {turns}"
    assert ("The cache never dies." in breaks.sentence) == (not chosen.cold)
    assert cost.big == usd(chosen.usd)
    if "dearer" in cost.sentence or "cheaper" in cost.sentence:
        share = chosen.usd / full.usd - 1
        assert cost.sentence.startswith(
            f"{percent(abs(share))} {'dearer' if share > 0 else 'cheaper'} than full history"
        )
    assert last.big == f"{int(chosen.sent[-1]):,}"
    check_explanation(chosen, turns, shown.answer)
    assert len(shown.table) == 1 + len(chosen.bill.turn)
    return found, shown


def check_strip(strip, turns):
    bill = strip.bill
    for turn in range(1, turns + 1):
        rows = (bill.turn == turn) & ((bill.kind == "reply") | (bill.kind == "summary"))
        assert strip.sent[turn - 1] == bill.usage.input[rows].sum()
    assert not set(strip.broken) & set(strip.cold)
    assert set(strip.broken) <= set(strip.changed)


def check_explanation(chosen, turns, answer):
    if "nothing is ever stored" in answer:
        assert not chosen.held.any() and not chosen.broken
    elif answer.startswith("The cache has died before every turn"):
        assert len(chosen.cold) == turns - 1 and not chosen.broken
        assert ("prompts change at the front" in answer) == bool(chosen.changed)
    elif "only ever grow" in answer:
        assert not chosen.changed and not chosen.broken
        assert ("unless" in answer) == bool(chosen.cold)
    elif answer.startswith("From turn"):
        first = int(re.search(r"\d+", answer)[0])
        assert chosen.changed == tuple(range(first, turns + 1))
        assert ("the cache had died before" in answer) == bool(chosen.cold)
    else:
        count, told = re.search(r"front (once|\d+ times), at turns? ([\d, ]+)", answer).groups()
        assert len(chosen.changed) == (1 if count == "once" else int(count.split()[0]))
        assert [int(turn) for turn in told.split(",")] == list(chosen.changed[:6])
        dead = len(set(chosen.changed) & set(chosen.cold))
        assert ("All other turns only add" in answer) == (dead == 0)
        assert ("broke nothing" in answer) == (dead == len(chosen.changed))


@pytest.mark.parametrize("policy", OPTIONS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"player": "drawn", "who": 3, "turns": 40},
        {"player": "drawn", "who": 8, "turns": 50, "think": 400.0},
        {"min": 2500, "turns": 40},
        {"model": "gpt-4.1", "player": "drawn", "who": 2, "turns": 40},
        {"turns": 2},
    ],
    ids=["steady", "drawn", "slow", "minimum", "blocks", "two turns"],
)
def test_broken_turns_are_those_that_read_less_than_a_probe_of_the_cache(policy, changes):
    values = scenario(policy=policy, **changes)
    found, _ = check(values)
    assert found.chosen.broken == broken_by_probing(values, found)


@pytest.mark.parametrize("changes", ODD.values(), ids=ODD)
@pytest.mark.parametrize("policy", ["sliding-window-of-10", "full-history-kept-alive", "summarise-every-4"])
def test_odd_values_break_nothing_and_every_sentence_holds(policy, changes):
    values = scenario(policy=policy, **changes)
    values["m"] = max(values["m"], values["o"])
    _, errors = parse(CONTROLS, values, START)
    assert errors == {}
    check(values)


@pytest.mark.parametrize("model", ["article", *offers()])
def test_every_model(model):
    for policy in OPTIONS:
        check(scenario(model=model, policy=policy, player="drawn"))


@pytest.mark.parametrize("pace", paces())
def test_every_pace(pace):
    for policy in OPTIONS:
        check(scenario(pace=pace, policy=policy, player="drawn", who=100, turns=80))


def test_the_window_breaks_every_turn_once_it_is_full():
    found = page.answer(START)
    assert found.chosen.broken == tuple(range(12, 25))
    assert found.full.broken == ()
    reads = found.chosen.tokens["read from cache"]
    assert set(reads[11:]) == {1800.0}  # the static prompt, and nothing behind it


def test_each_number_is_another_player_and_a_steady_one_never_pauses():
    gaps = [tuple(page.answer(scenario(player="drawn", who=who)).session.gaps_s) for who in (1, 2, 3)]
    assert len(set(gaps)) == 3
    assert gaps[0] == tuple(page.answer(scenario(player="drawn", who=1)).session.gaps_s)
    assert set(page.answer(scenario(who=2)).session.gaps_s) == {START["think"]}


def test_figures_are_plotlys():
    for chart in page.view(scenario(policy="summarise-every-4", player="drawn")).charts:
        go.Figure(chart.figure)  # plotly.py validates every name in it


@settings(max_examples=60, deadline=None)
@given(any_values(CONTROLS))
def test_any_values_at_all(values):
    check({**values, "m": max(values["m"], values["o"])})


def test_the_page_is_its_view():
    made = build()
    made.set(policy="full-history")
    assert made.view["headline"] == page.view(scenario(policy="full-history")).headline
    assert len(made.view["charts"]) == 1
    assert made.address == "v=1&policy=full-history"
