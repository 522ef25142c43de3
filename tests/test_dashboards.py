"""Pages without a browser: views are plain functions, controls are typed, links are hostile until parsed."""

from __future__ import annotations

import re

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npcmem import Character, ThinkTime, expected, formulas, replay
from npcmem.cache import CacheRules
from npcmem.dashboards import summary_interval as build
from npcmem.dashboards import words
from npcmem.dashboards.controls import WrongTogether, address, defaults, parse, read_address
from npcmem.dashboards.page import ChartCard, Column, Row, Table, View
from npcmem.dashboards.scenario import MOST_UPLOAD_BYTES, card_values, controls, filled
from npcmem.dashboards.summary_interval import answer, view
from npcmem.dialogue import Session
from npcmem.money import Price
from npcmem.offers import offers
from npcmem.paces import paces
from npcmem.policies import FullHistory, SummariseEvery
from tests.shown import any_values

CONTROLS = controls()
START = defaults(CONTROLS)
ARTICLE = {**START, **card_values("article"), "model": "article", "u": 0}


def with_warm_cache(**changes):
    return answer({**ARTICLE, **changes}, ThinkTime((1.0,), (1.0,), (0.0,)))


# --- the view --------------------------------------------------------------------------------------


def test_the_page_says_the_articles_numbers_without_a_cache():
    found = answer({**ARTICLE, "w": 1.0, "r": 1.0}, paces()["article-30s"].think_time)
    assert found.k == 4
    assert list(found.near + 1) == [3, 4, 5]
    assert found.full_uncached_usd == pytest.approx(415_200 * 3e-6)
    assert found.usd == pytest.approx(177_890 * 3e-6)
    assert found.k_star == pytest.approx(3.5707, abs=1e-4)


def test_the_page_says_the_warm_numbers():
    found = with_warm_cache()
    assert (found.k, found.crossover) == (15, 30)
    assert found.usd == pytest.approx(65_196.5 * 3e-6)
    assert found.full_cached_usd == pytest.approx(76_046 * 3e-6)
    shared = with_warm_cache(flush="shared")
    assert shared.k == 12
    assert shared.usd == pytest.approx(59_269 * 3e-6)


def test_a_minimum_prefix_flips_the_answer():
    found = with_warm_cache(min=4096)
    assert found.k is None
    shown = view({**ARTICLE, "min": 4096, "pace": "article-5s", "think": 5.0})
    assert shown.headline == "Do not summarise."
    assert shown.tiles[0].big == "never"


@pytest.mark.parametrize("model", ["article", *offers()])
def test_every_model_has_a_view_that_is_the_exact_expectation(model):
    values = filled({**START, "model": model}, "model")
    pace = paces()["deliberate"].think_time  # as it is: the slider stands at its own pace
    found = answer(values, pace)
    rules = CacheRules(
        values["ttl"], int(values["min"]), offers()[model].rules.granularity_tokens if model != "article" else 1
    )
    policy = SummariseEvery(found.k) if found.k else FullHistory()
    who = Character(values["S"], values["s"], values["q"], values["u"])
    ledger = expected(policy, who, Session.uniform(values["turns"], values["m"], values["o"]), rules, found.warm)
    p = values["p"]
    price = Price.of(p, p * values["rho"], p * values["r"], p * values["w"])
    assert found.usd == pytest.approx(ledger.cost(price), rel=1e-9)
    shown = view(values)
    assert shown.tiles[1].big == words.usd(found.usd)
    for chart in shown.charts:
        go.Figure(chart.figure)  # plotly.py validates every name in it
        assert len(chart.spoken) > 40


def test_the_model_fills_what_its_card_says():
    for model, offer in offers().items():
        values = filled({**START, "model": model}, "model")
        assert values["p"] == offer.price.uncached
        assert values["rho"] == pytest.approx(offer.price.rho, rel=1e-5)
        assert values["min"] == offer.rules.min_tokens
        _, errors = parse(CONTROLS, values, START)
        assert errors == {}, model


def test_a_longer_lifetime_brings_its_write_price():
    assert filled({**START, "ttl": 3600.0}, "ttl")["w"] == pytest.approx(2.0)
    assert filled({**START, "ttl": 300.0}, "ttl")["w"] == pytest.approx(1.25)


def test_the_formula_on_the_page_is_the_design_formula():
    found = with_warm_cache()
    flush = formulas.flush_cost_separate(160, 150, 120, 5, 1, 0.1, 1.25)
    assert found.k_star == pytest.approx(float(formulas.optimal_interval(flush, 0.1, 160)))


def test_a_simulated_session_costs_what_the_tile_says():
    pace = paces()["deliberate"].think_time
    found = answer(ARTICLE, pace)
    rng = np.random.default_rng(4)
    price = Price.of(3.0, 15.0, 0.3, 3.75)
    costs = [
        replay(SummariseEvery(found.k), Character(), Session.uniform(60).with_gaps(gaps), CacheRules(300)).cost(price)
        for gaps in pace.sample(rng, (400, 59))
    ]
    assert np.mean(costs) == pytest.approx(found.usd, abs=4 * np.std(costs) / 20)


@given(any_values(CONTROLS))
@example({**START, "r": 1.0, "w": 1.0})
@example({**START, "r": 0.0, "w": 0.0})
@example({**START, "turns": 2})
@example({**START, "r": 0.5, "w": 0.5, "min": 8192})
def test_every_sentence_is_made_of_real_numbers(values):
    values = {**values, "m": max(values["m"], values["o"])}
    shown = view(values)
    text = " ".join([shown.headline, shown.answer, *(f"{tile.big} {tile.sentence}" for tile in shown.tiles)])
    assert not re.search(r"nan|inf|-0[ .]|e[+-]\d|every 1 ex|= \.", text.replace("\u00a0", " ")), text


# --- the page widget -------------------------------------------------------------------------------


def test_setting_a_control_changes_the_view_and_the_address():
    page = build()
    before = page.view
    page.set(S=3000)
    assert page.view != before
    assert page.address == "v=1&S=3000"
    page.set(S=START["S"])
    assert page.address == ""
    assert page.view["tiles"] == before["tiles"]


def test_wrong_input_keeps_the_last_good_view_and_says_why():
    page = build()
    good = page.view["tiles"]
    page.set(S=-1)
    assert page.errors == {"S": "Static prompt must be >= 0 tokens, got -1"}
    page.set(m=50)
    assert page.errors["o"] == "Reply o (80 tokens) cannot exceed exchange m (50 tokens): it is part of it"
    assert page.view["tiles"] == good
    page.set(m=160)
    page.set(S=1800)
    assert page.errors == {}
    assert page.view["tiles"] == good


def test_two_pages_in_one_process_share_nothing():
    one, other = build(), build()
    one.set(S=9000)
    one._on_upload("telemetry", "mine.csv", b"session,ts\na,1700000000\na,1700000100\n")
    assert other.values["S"] == START["S"]
    assert "uploaded" not in str(other.controls)
    other.set(pace="uploaded")
    assert other.errors["pace"].startswith("unknown players' pace 'uploaded'")


def test_an_upload_becomes_the_pace_and_a_bad_one_a_sentence():
    page = build()
    page._on_upload("telemetry", "mine.csv", b"session,ts\na,1700000000\na,1700000100\na,1700000300\n")
    assert (page.values["pace"], page.values["think"]) == ("uploaded", 150)
    assert page.said["telemetry"].startswith("1 sessions, 3 player turns, 2 gaps.")
    page._on_upload("telemetry", "bad.csv", b"\xff\xfe\x00")
    assert page.errors["telemetry"].startswith("bad.csv: ")
    assert page.values["pace"] == "uploaded"


# --- charts and tables as plain data -----------------------------------------------------------------

COLUMNS = (Column("Policy"), Column("Cost", "per session"))


def test_the_first_chart_is_wide_unless_it_says_otherwise():
    def widths(*wide):
        charts = [ChartCard("a", "b", {"data": []}, "c", wide=one) for one in wide]
        return [chart["wide"] for chart in View("", "", (), charts).plain()["charts"]]

    assert widths(None, None) == [True, False]
    assert widths(False, True) == [False, True]


def test_a_table_reaches_the_browser_as_plain_data():
    rows = (Row(("Full history", "$1"), "#0072b2", "cheapest", True, 0.5), Row(("Window", "$2")))
    (plain,) = View("", "", (), (), tables=[Table("Policies", "Told.", COLUMNS, rows, after=0)]).plain()["tables"]
    assert [*plain["columns"]][1] == {"name": "Cost", "help": "per session", "align": "right"}
    assert plain["rows"][0] == {
        **{"cells": ("Full history", "$1"), "colour": "#0072b2", "mark": "cheapest", "chosen": True, "bar": 0.5}
    }
    assert (plain["after"], plain["bar_column"], plain["rows"][1]["bar"]) == (0, 1, None)


@pytest.mark.parametrize(
    ("row", "more", "sentence"),
    [
        (Row(("Full history",)), {}, "a row needs 2 cells, got 1"),
        (Row(("Full history", "$1"), bar=1.5), {}, "bar must be between 0 and 1, got 1.5"),
        (Row(("Full history", "$1"), bar=float("nan")), {}, "bar must be between 0 and 1, got nan"),
        (Row(("Full history", "$1")), {"bar_column": 2}, "bar_column must be an index"),
    ],
)
def test_a_table_refuses_rows_that_do_not_fit(row, more, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Table("Policies", "Told.", COLUMNS, (row,), **more)


# --- links -----------------------------------------------------------------------------------------


def reading(query):
    return read_address(CONTROLS, query, filled)


@given(any_values(CONTROLS))
def test_a_link_restores_all_values(values):
    found, errors, banner = reading(address(CONTROLS, values, filled))
    assert (errors, banner) == ({}, "")
    assert found == pytest.approx(values)


@given(st.text(max_size=300) | st.text("&=?%+Smovtpacemodelrho.0123456789-eE", max_size=300))
def test_no_link_breaks_the_page(query):
    values, errors, banner = reading(query)
    assert set(values) == set(START)
    assert bool(errors) == ("could not be read" in banner)
    try:
        view(values)
    except WrongTogether as error:
        assert set(error.names) <= set(START)


def test_too_long_or_too_new_links_are_named():
    assert "5,001 characters" in reading("?" + "a" * 5000)[2]
    assert "version '2'" in reading("?v=2&S=3")[2]
    assert "more than 100 fields" in reading("?" + "a=1&" * 200)[2]


# --- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0, "$0"),
        (0.0109211, "$0.0109"),
        (0.00071, "$0.000710"),
        (0.9999, "$1.00"),
        (12.345, "$12.35"),
        (12345.6, "$12,346"),
    ],
)
def test_dollars_read_as_money(dollars, text):
    assert words.usd(dollars) == text


def test_runs_durations_and_shares():
    assert words.runs([10, 12, 15, 16, 20]) == "10, 12, 15–16, 20"
    assert [words.duration(s).replace("\u00a0", " ") for s in (5, 300, 3600, 86_400)] == ["5 s", "5 min", "1 h", "24 h"]
    assert [words.percent(x).replace("\u00a0", " ") for x in (0, 0.0141, 0.57, 0.983, 0.999)] == [
        "0 %",
        "1.4 %",
        "57 %",
        "98 %",
        "99.9 %",
    ]


def test_the_upload_limit_is_below_what_a_websocket_takes():
    assert MOST_UPLOAD_BYTES < 10 * 2**20


# --- a browser that is ahead of the kernel ---------------------------------------------------------


def test_a_move_made_before_the_answer_to_a_model_keeps_the_models_prices():
    page = build()
    stale = dict(page.values)
    page.set_state({"values": {**stale, "model": "claude-haiku-4-5"}, "moved": ["model"], "asked": 1})
    page.set_state({"values": {**stale, "model": "claude-haiku-4-5", "S": 2500}, "moved": ["model", "S"], "asked": 2})
    assert (page.values["p"], page.values["min"], page.values["S"]) == (1.0, 4096, 2500)
    assert page.address == "v=1&model=claude-haiku-4-5&S=2500"
    assert page.answered == 2


def test_moves_that_arrive_together_count_in_their_order():
    page = build()
    values = {**page.values, "p": 7.0, "model": "claude-haiku-4-5"}
    page.set_state({"values": values, "moved": ["p", "model"], "asked": 1})
    assert page.values["p"] == 1.0
    page.set_state({"values": {**page.values, "p": 7.0, "model": "gpt-4o"}, "moved": ["model", "p"], "asked": 2})
    assert page.values["p"] == 7.0


def test_a_model_chosen_while_values_clash_keeps_its_prices():
    page = build()
    page.set(m=50)
    page.set(model="claude-haiku-4-5")
    page.set(o=40)
    assert page.errors == {}
    assert (page.values["p"], page.values["min"]) == (1.0, 4096)


def test_the_same_file_twice_is_answered_twice():
    page = build()
    heard = []
    page.observe(lambda change: heard.append(change["new"]), "said")
    for _ in range(2):
        page._on_upload("telemetry", "bad.csv", b"nothing")
    assert len(heard) == 2
    page._on_upload("telemetry", "big.csv", b"x" * (MOST_UPLOAD_BYTES + 1))
    assert "must be <= 8,388,608 bytes" in page.errors["telemetry"]


def test_a_link_whose_values_clash_says_so_and_an_uploaded_pace_stays_out_of_it():
    page = build()
    page.link = "?m=50"
    assert page.view["banner"] == "The values of this link do not fit together. Defaults are shown."
    page = build()
    page._on_upload("telemetry", "mine.csv", b"session,ts\na,1700000000\na,1700000100\na,1700000300\n")
    assert "uploaded" not in page.address


@pytest.mark.parametrize(
    "gaps_s", [[0, 0, 0, 30, 20] * 20, [5000] * 40, [17, 211, 94, 3601] * 9], ids=["ties", "slow", "mixed"]
)
def test_an_uploaded_pace_is_used_as_measured_until_the_slider_moves(gaps_s):
    times = 1_700_000_000 + np.concatenate([[0], np.cumsum(gaps_s)])
    page = build()
    page._on_upload("telemetry", "mine.csv", "\n".join(["session,ts", *(f"a,{t}" for t in times)]).encode())
    assert page.errors == {}
    turns = page.values["turns"]
    measured = [np.mean(np.array(gaps_s) < ttl) * (turns - 1) / turns for ttl in (300, 3600)]
    assert page.view["tiles"][3]["big"] == " · ".join(map(words.percent, measured))
    page.set(pace="casual")
    page.set(pace="uploaded")
    assert page.errors == {}
    assert page.view["tiles"][3]["big"] == " · ".join(map(words.percent, measured))


def test_advice_never_names_a_turn_past_the_session_as_reached():
    for changes in ({"turns": 10, "min": 3340}, {"q": 1000, "s": 1500, "min": 8192}, {"flush": "shared", "min": 8192}):
        shown = view({**START, **changes})
        below = re.search(r"sessions below (\d+) turns", shown.answer)
        assert not below or int(below.group(1)) <= {**START, **changes}["turns"]
        if changes.get("flush"):
            assert "Caching costs more" not in shown.answer  # nothing is cached, so nothing can cost more


# --- values that do not go together ----------------------------------------------------------------


def test_the_sentence_stands_at_the_control_that_was_touched_and_the_old_answer_is_said_to_be_old():
    here = build()
    before = here.view["headline"]
    with here.hold_trait_notifications():
        here.moved, here.values, here.asked = ["m"], {**here.values, "m": 50}, 1
    assert list(here.errors) == ["m"] and "cannot exceed" in here.errors["m"]
    assert "last ones that did" in here.view["banner"] and here.view["headline"] == before
    with here.hold_trait_notifications():
        here.moved, here.values, here.asked = ["o"], {**here.values, "o": 40}, 2
    assert here.errors == {} and here.view["banner"] == ""
