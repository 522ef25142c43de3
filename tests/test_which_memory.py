"""Which memory it should have: no odd value breaks the page, and every sentence on it is true."""

from __future__ import annotations

import math
import re
import sys
from unittest import mock

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from npcmem.dashboards import which_memory as build
from npcmem.dashboards.controls import Slider, WrongTogether, defaults, parse
from npcmem.dashboards.scenario import filled, here, price, rules, session
from npcmem.dashboards.words import percent, usd
from npcmem.offers import offers
from npcmem.paces import paces
from npcmem.policies import FullHistory, KeepAlive, Policy, SummariseEvery
from npcmem.recall import preset, retentions
from npcmem.strategies import Prices, result
from tests.shown import any_values, numbers, texts

page = sys.modules[build.__module__]
CONTROLS = page.controls()
START = defaults(CONTROLS)
SLIDERS = [control for control in CONTROLS if isinstance(control, Slider)]
WRONG = re.compile(
    r"\bnan\b|\binf\b|(?<!\w)-\d|\b1 (times|turns|exchanges|sessions|pings)\b|e[+-]\d|\.\.| {2}|None|−0 %"
)


def scenario(**changes):
    """Return the values after these changes, made one after the other as a visitor would."""
    values = dict(START)
    for name, value in changes.items():
        values = dict(filled({**values, name: value}, name))
    return values


ODD = {
    "defaults": {},
    "shortest": {"turns": 2},
    "three turns": {"turns": 3},
    "nothing to cache": {"turns": 2, "S": 0, "m": 10, "o": 1, "u": 0, "q": 0, "s": 10},
    "tiny exchanges": {"m": 10, "o": 10},
    "cheap": {"p": 0.01, "m": 10, "o": 1, "S": 0},
    "reads cost": {"r": 1.0},
    "reads and writes cost as input": {"r": 1.0, "w": 1.0},
    "free reads": {"r": 0.0},
    "free writes": {"w": 0.0},
    "free": {"r": 0.0, "w": 0.0},
    "dear writes": {"w": 3.0},
    "half a minute": {"ttl": 30.0},
    "a day": {"ttl": 86_400.0},
    "never cached": {"min": 8192, "turns": 20},
    "cached late": {"min": 8192, "turns": 200},
    "hasty": {"think": 1.0},
    "slow": {"think": 1800.0},
    "slow and long": {"think": 1800.0, "turns": 300, "recall": 100},
    "no recall wanted": {"recall": 0},
    "all recall wanted": {"recall": 100},
    "half, long": {"recall": 50, "turns": 300},
    "growing": {"grow": 30.0, "turns": 300},
    "crowded": {"others": 60.0, "think": 1800.0},
    "many scenes": {"scene": 2, "again": 50},
    "one scene": {"scene": 100, "again": 0},
    "another's summaries": {"by": "gpt-4o", "recall": 0},
    "long summaries": {"s": 1500, "q": 1000, "m": 60, "o": 20},
    "every exchange": {"m": 1500, "s": 10, "q": 0, "r": 1.0, "w": 1.0},
    **{f"pace {id}": {"pace": id} for id in paces()},
    **{f"model {id}": {"model": id} for id in ("article", *offers())},
    **{f"keeps {id}": {"kept": id} for id in retentions()},
    **{f"{one.name} least": {one.name: one.least} for one in SLIDERS if one.name not in ("m", "turns", "think")},
    **{f"{one.name} most": {one.name: one.most} for one in SLIDERS if one.name not in ("o", "turns", "think")},
}


def dollars(text):
    return [float(found.replace(",", "")) for found in re.findall(r"\$([\d,]+(?:\.\d+)?)", text)]


def check(values):
    """Every number is one, and every sentence is what the results say when they are read again."""
    found = page.answer(values)
    with mock.patch.object(page, "answer", lambda *_: found):
        shown = page.view(values)
    for text in texts(shown):
        assert text and not WRONG.search(text.replace("\u00a0", " ")), text
    for chart in shown.charts:
        assert all(map(math.isfinite, numbers(chart.figure))), chart.title
    assert all(math.isfinite(float(cell)) for row in shown.table[1:] for cell in row[1:])

    fitting = [one for one in found.results if found.fits(one)]
    enough = [one for one in fitting if one.recall >= values["recall"] / 100 - 1e-12]
    if not enough:
        return check_nearest(found, fitting, shown)
    best, full = found.winner, next(one for one in found.results if one.policy == FullHistory())
    assert best.usd <= min(one.usd for one in enough) * (1 + 1e-10)
    assert full.recall == 1
    assert best.usd <= full.usd * (1 + 1e-10) or not found.fits(full)
    check_headline(best.policy, shown.headline)
    cost, margin, recall, bound = shown.tiles
    assert cost.big == usd(best.usd)
    assert dollars(cost.sentence)[0] == pytest.approx(1000 * best.usd, rel=0.006, abs=0.006)
    assert dollars(cost.sentence)[1] == pytest.approx(best.last_usd, rel=0.006)
    assert margin.big == page._signed(best.usd / full.usd - 1)
    assert recall.big == percent(best.recall)
    forgetful = [one for one in fitting if one.usd < best.usd * (1 - 1e-9)]
    assert ("Nothing cheaper, even among those that forget." in recall.sentence) == (not forgetful)
    assert all(one.recall < values["recall"] / 100 for one in forgetful)
    assert bound.big == page._signed(best.usd / found.bound.usd - 1)
    check_rival(found, enough, margin.sentence)
    check_answer(values, best, full, shown.answer)
    check_intervals(found, shown.charts[1].sentence)
    marked = [row for table in shown.tables for row in table.rows if row.mark]
    assert [row.cells[0] for row in marked if row.mark == "cheapest"] == [best.policy.name]
    check_too_long(found, marked, shown.notes)
    assert len(shown.table) == 1 + len(found.results)
    return found, shown


def check_nearest(found, fitting, shown):
    """Where nothing that fits recalls enough: the one that recalls most of those that fit, and it is said."""
    assert found.winner.recall == max(one.recall for one in (fitting or found.results))
    assert ("Nothing that fits" if fitting else "No memory fits") in shown.answer
    check_too_long(found, [row for table in shown.tables for row in table.rows if row.mark], shown.notes)
    return found, shown


def check_too_long(found, marked, notes):
    long = {one.policy.name for one in found.results if not found.fits(one)}
    assert {row.cells[0] for row in marked if row.mark == "too long"} == long
    assert any("Would not fit" in note for note in notes) == bool(long)


def check_headline(policy, headline):
    alive = isinstance(policy, KeepAlive)
    inner = policy.policy if alive else policy
    assert headline.endswith(", keep the cache alive.") == alive
    if isinstance(inner, SummariseEvery):
        every = "every exchange" if inner.k == 1 else f"every {inner.k} exchanges"
        assert headline.startswith(f"Summarise {every}")
    if isinstance(inner, FullHistory):
        assert headline.startswith("Send the full history")
    assert len(headline) < 70


def check_rival(found, enough, sentence):
    best = found.winner
    others = [one for one in enough if page._signed(one.usd / best.usd - 1) != "0" and one is not best]
    if "Nothing else recalls enough." in sentence:
        assert all(one.usd == pytest.approx(best.usd, rel=1e-9) or same_kind(one, best) for one in others)
    else:
        named = [one for one in enough if f"kind: {one.policy.name}, " in sentence]
        rival = max(named, key=lambda one: len(one.policy.name))  # names begin with other names
        assert not same_kind(rival, best)
        between = [one for one in enough if best.usd * (1 + 1e-9) < one.usd < rival.usd * (1 - 1e-9)]
        assert all(same_kind(one, best) for one in between)
        share = rival.usd / best.usd - 1
        assert (f"{percent(share)} dearer" if share >= 5e-4 else "as cheap") in sentence


def same_kind(one, other):
    def kind(policy: Policy):
        return type(policy), type(getattr(policy, "policy", None))

    return kind(one.policy) == kind(other.policy)


def check_answer(values, best, full, answer):
    assert answer.startswith(f"The cheapest memory that still knows {percent(best.recall)} of") or best.recall == 1
    if best is full:
        assert "Nothing shorter recalls enough for less" in answer
        assert ("nothing is read from the cache" in answer) == (best.read_share < 5e-4)
        return
    assert usd(full.usd) in answer
    saved, spent = re.search(r"it saves (\$[\d.,]+|next to nothing) on replies and spends (.*)\.$", answer).groups()
    left = sum(dollars(saved)) - sum(dollars(spent))
    assert left == pytest.approx(full.usd - best.usd, abs=0.01 * full.usd)
    assert ("pings" in spent) == (best.usd_by_kind.get("ping", 0) > 5e-4 * best.usd)


def check_intervals(found, sentence):
    curve, recall = found.curve.usd[0], found.curve.recall
    k = int(curve.argmin()) + 1
    if "no summary pays" in sentence:
        assert k == found.turns
        return
    told = re.search(
        r"a summary every (?:(\d+) )?exchanges? is best: (\S+) and (.*?) known; (.*): (\S+) and (.*?) k", sentence
    )
    said_k, cost, knows, double, cost_2k, knows_2k = told.groups()
    assert int(said_k or 1) == k < found.turns
    assert (cost, knows) == (usd(curve[k - 1]), percent(recall[k - 1]))
    assert double == ("never" if 2 * k >= found.turns else f"every {2 * k}")
    at = min(2 * k, found.turns) - 1
    assert (cost_2k, knows_2k) == (usd(curve[at]), percent(recall[at]))


@pytest.mark.parametrize("changes", ODD.values(), ids=ODD)
def test_odd_values_break_nothing_and_every_sentence_holds(changes):
    values = scenario(**changes)
    _, errors = parse(CONTROLS, values, START)
    assert errors == {}
    check(values)


def test_figures_are_plotlys():
    for chart in page.view(START).charts:
        go.Figure(chart.figure)  # plotly.py validates every name in it


def test_a_reply_longer_than_its_exchange_is_a_sentence():
    with pytest.raises(WrongTogether, match="Reply o"):
        page.view(scenario(m=10))


@pytest.mark.parametrize(
    "changes", [{}, {"turns": 9, "think": 20.0}, {"by": "gpt-4o", "model": "gpt-5-mini"}, {"others": 3.0}]
)
def test_the_winner_costs_what_the_package_says_of_it_alone(changes):
    values = scenario(**changes)
    found = page.answer(values)
    talk = session(values, values["turns"]).with_scenes(12).with_repeats(0.1)
    other = None if values["by"] == "same" else offers()[values["by"]].price
    warm = page.shared_head_hit_rate(values["others"] / 60, values["ttl"])
    for one in (found.winner, found.full, found.results[-1]):
        asked = page._character(values), talk, rules(values), here(values, None)[1], Prices(price(values), other)
        alone = result(one.policy, *asked, preset(values["kept"]).retention, float(warm))
        assert (one.usd, one.recall, one.last_usd) == pytest.approx((alone.usd, alone.recall, alone.last_usd), rel=1e-9)


def test_the_map_is_cheapest_where_the_scenario_stands():
    values = scenario()
    found = page.answer(values)
    grid = found.grid
    at = values["turns"] - 1, len(page.MAP_S)
    assert np.nanmin(np.where(grid.recall[:, *at] >= found.floor, grid.usd[:, *at], np.nan)) == pytest.approx(
        found.winner.usd
    )


def test_parts_of_a_bill_add_up_to_it():
    for one in page.answer(scenario(by="gpt-4o")).results:
        assert sum(page._parts(one).values()) == pytest.approx(one.usd, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(any_values(CONTROLS))
def test_any_values_at_all(values):
    check({**values, "m": max(values["m"], values["o"])})


def test_the_page_is_its_view():
    made = build()
    made.set(S=3000)
    assert made.view["headline"] == page.view(scenario(S=3000)).headline
    assert made.address == "v=1&S=3000"
