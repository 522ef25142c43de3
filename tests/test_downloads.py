"""What a visitor keeps of a page: the JSON says what the package computes, to the digits of the CSV."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from datetime import date

import comm
import pytest

from npcmem.dashboards import (
    controls as typed,
)
from npcmem.dashboards import (
    cost_per_player,
    downloads,
    every_number,
    scenario,
    summary_interval,
    watch_prefix,
    which_memory,
)
from npcmem.dashboards.controls import Slider
from npcmem.dashboards.page import Page, PriceDate, Tile, View, dates_of
from npcmem.dashboards.words import NBSP, quantity
from npcmem.offers import offer, offers
from npcmem.serve import wire
from tests import pages

BUILDS = {
    build.__name__: build for build in (cost_per_player, every_number, summary_interval, watch_prefix, which_memory)
}
HOSTILE = '</script><img src=x onerror=alert(1)>"\\\n=1+1\u2028.csv'
PLAYERS = b"session,ts\na,1700000000\na,1700000100\na,1700000300\n"


@pytest.fixture(scope="module")
def made():
    return {name: build() for name, build in BUILDS.items()}


@pytest.fixture(params=BUILDS)
def page(request, made):
    return made[request.param]


def ask(page: Page, want: str) -> bytes:
    """Return the file that a page sends when it is asked for one."""
    sent = []
    page.send = lambda content, buffers: sent.append((content, buffers))
    page._on_message(page, {"want": want}, [])
    ((content, (file,)),) = sent
    assert content == {want: f"npcmem.{want}"}
    return file


def kept(page: Page) -> dict:
    return json.loads(ask(page, "json"), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_the_json_is_what_the_page_shows(page):
    told, shown = kept(page), page._current
    assert (told["format"], told["version"], told["title"]) == ("npcmem.page", 1, page.title)
    assert (told["headline"], told["answer"], told["notes"]) == (shown.headline, shown.answer, list(shown.notes))
    assert [(tile["label"], tile["big"]) for tile in told["tiles"]] == [(tile.label, tile.big) for tile in shown.tiles]
    assert [table["rows"] for table in told["tables"]] == [
        [list(row.cells) for row in table.rows] for table in shown.tables
    ]
    assert [chart["spoken"] for chart in told["charts"]] == [chart.spoken for chart in shown.charts]
    for table in told["tables"]:
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_the_json_has_the_rows_of_the_csv_with_numbers_as_numbers(page):
    data = kept(page)["data"]
    head, *rows = csv.reader(io.StringIO(ask(page, "csv").decode(), newline=""))
    assert data["columns"] == head and len(data["rows"]) == len(rows) > 0
    for ours, theirs in zip(data["rows"], rows, strict=True):
        assert len(ours) == len(head)
        for cell, text in zip(ours, theirs, strict=True):
            if isinstance(cell, str):
                assert text.removeprefix("'") == cell
                assert not re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell), "a number is kept as text"
            else:
                assert text == "" if cell is None else float(text) == cell


def test_the_json_has_every_control_with_its_value_and_unit(page):
    told = kept(page)["scenario"]
    offered = [one for one in page.controls if one["type"] != "upload"]
    assert list(told) == [one["name"] for one in offered]
    for one in offered:
        assert told[one["name"]]["label"] == one["label"]
        assert told[one["name"]]["value"] == page.values[one["name"]]
        assert told[one["name"]]["unit"] == one.get("unit")


def test_the_link_in_the_json_restores_the_scenario():
    page = cost_per_player()
    page.set(model="claude-haiku-4-5", pace="casual", players=250_000.0, S=3000, strategy="full-history")
    told = kept(page)
    values, errors, banner = typed.read_address(page._controls, told["link"]["query"], scenario.filled)
    assert (errors, banner, told["link"]["lacks"]) == ({}, "", [])
    assert values == pytest.approx({name: one["value"] for name, one in told["scenario"].items()})


def test_what_is_in_error_is_not_in_the_json():
    page = summary_interval()
    page.set(S=-5)
    assert page.errors
    assert kept(page)["scenario"]["S"]["value"] == 1800
    assert page.view["told"]["S"] == f"1,800{NBSP}tokens"


def test_a_hostile_file_name_is_text_and_no_more():
    page = summary_interval()
    page._on_upload("telemetry", HOSTILE, PLAYERS)
    told = kept(page)
    assert told["scenario"]["pace"] == {
        **{"label": "Players' pace", "group": scenario.WHO, "value": "uploaded", "unit": None},
        "told": f"Yours: {HOSTILE}",
    }
    assert told["link"]["lacks"] == ["pace"]
    assert "uploaded" not in told["link"]["query"]
    assert page.view["lacks"] == [f"Yours: {HOSTILE}"]


def test_hostile_cells_run_nowhere_and_what_is_no_number_is_none():
    table = [["=name", "a"], ["@SUM(1)", float("nan")], ['"', float("inf")], ["x\n,y", -1.5], [None, 10**12]]
    rows = list(csv.reader(io.StringIO(downloads.csv_file(table).decode(), newline="")))
    assert rows == [["'=name", "a"], ["'@SUM(1)", ""], ['"', ""], ["x\n,y", "-1.5"], ["", "1000000000000"]]
    view = View("</script>", "", (Tile("<b>", "\u2028", ""),), (), table=table)
    told = json.loads(downloads.json_file("t", (), {}, "", view))
    assert told["data"]["rows"] == [["@SUM(1)", None], ['"', None], ["x\n,y", -1.5], [None, 10**12]]
    assert (told["headline"], told["tiles"][0]["big"]) == ("</script>", "\u2028")


def test_a_view_without_rows_is_a_json_too():
    told = downloads.document("t", (), {}, "", View("", "", (), ()))
    assert (told["data"], told["prices"], told["tables"]) == ({"columns": [], "rows": []}, [], [])


def test_every_key_of_the_json_is_described(page):
    told = kept(page)
    parts = [told, told["link"], told["data"], *told["prices"], *told["tiles"], *told["charts"], *told["tables"]]
    for part in [*parts, *told["scenario"].values()]:
        for key in part:
            assert f"``{key}``" in downloads.__doc__, key


def test_a_page_without_a_kernel_gives_the_same_json(monkeypatch):
    monkeypatch.setattr(comm, "create_comm", wire.Wire)
    visitor = wire.Visitor(wire.Book(pages.NOTEBOOK))
    (message,) = json.loads(visitor.answer({"content": {"want": "json"}}))["messages"]
    assert message["content"] == {"json": "npcmem.json"}
    assert json.loads(base64.b64decode(message["buffers"][0])) == kept(summary_interval())


# --- the prices' dates -----------------------------------------------------------------------------


def test_the_prices_are_dated_as_the_cards_are():
    values = {
        **typed.defaults(scenario.controls()),
        **scenario.card_values("claude-haiku-4-5"),
        "model": "claude-haiku-4-5",
    }
    card = offer("claude-haiku-4-5")
    (one,) = scenario.price_dates(values)
    assert (one.since, one.checked, one.source, one.listed) == (card.since, card.checked, card.source, True)
    (one,) = scenario.price_dates({**values, "p": values["p"] * 1.01})
    assert not one.listed
    (one,) = scenario.price_dates({**values, "S": 9000, "think": 9.0})
    assert one.listed


def test_the_write_price_of_a_longer_lifetime_is_the_lists_own():
    page = summary_interval()
    page.set(model="claude-haiku-4-5", ttl=3600.0)
    assert page.values["w"] == 2.0
    assert kept(page)["prices"][0]["listed"]
    page.set(w=1.3)
    assert not kept(page)["prices"][0]["listed"]
    assert page.view["prices"].endswith("changed by hand.")


@pytest.mark.parametrize("model", offers())
def test_a_link_to_a_model_has_the_lists_prices(model):
    controls = scenario.controls()
    values = scenario.filled({**typed.defaults(controls), "model": model}, "model")
    for ttl in (values["ttl"], 30.0, 86_400.0):
        here = scenario.filled({**values, "ttl": ttl}, "ttl")
        query = typed.address(controls, here, scenario.filled)
        read, _, _ = typed.read_address(controls, query, scenario.filled)
        assert scenario.price_dates(read)[0].listed, (model, ttl)


def test_prices_of_other_models_are_dated_once():
    told = kept(cost_per_player())
    models = [one["model"] for one in told["prices"]]
    assert len(models) == len(set(models)) > 5 and models[0] == scenario.DEFAULT_MODEL
    for one in told["prices"]:
        card = offer(one["model"])
        assert (date.fromisoformat(one["since"]), date.fromisoformat(one["checked"])) == (card.since, card.checked)


def test_the_articles_prices_have_no_date(made):
    page = summary_interval()
    page.set(model=scenario.ARTICLE)
    for one in (page, made["every_number"]):
        (price,) = kept(one)["prices"]
        assert (price["since"], price["checked"]) == (None, None)
        assert one.view["prices"].endswith("from no price list.")


def test_the_dates_in_a_sentence():
    first, second, third = (
        PriceDate(f"m{day}", f"M{day}", date(2026, 1, day), date(2026, 2, day)) for day in (1, 2, 3)
    )
    assert dates_of(()) == ""
    assert dates_of((first,)) == "Prices of M1: checked 2026-02-01, in force since 2026-01-01."
    assert dates_of((first, third, second)).endswith(
        " Those of the other models: checked from 2026-02-02 to 2026-02-03."
    )
    assert dates_of((first, second)).endswith(" Those of the other models: checked 2026-02-02.")


# --- the scenario in words -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (1800, "tokens", "1,800_tokens"),
        (1_234_567.0, "players", "1,234,567_players"),
        (0.005, "×", "0.005_×"),
        (0.01, "$", "$0.01"),
        (0.1, "$/Mtok", "$0.1/Mtok"),
        (7, "(number)", "7"),
    ],
)
def test_a_number_with_its_unit(number, unit, text):
    assert quantity(number, unit) == text.replace("_", NBSP)


def test_a_slider_of_seconds_tells_a_duration():
    assert Slider("t", "TTL", "", "", 1, 9999, 300, "seconds").told(300) == f"5{NBSP}min"


def test_every_control_of_every_page_says_its_value_in_words(page):
    assert list(page.view["told"]) == [one["name"] for one in page.controls if one["type"] != "upload"]
    assert all(page.view["told"].values())
