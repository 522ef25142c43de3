"""The producer's page: what it shows is what the estimate says, at odd values too."""

from __future__ import annotations

import importlib
import math
import re

import numpy as np
import pytest

from npcmem import Character, Session, expected
from npcmem.dashboards.controls import Choice, Slider, address, defaults, parse, read_address
from npcmem.dashboards.scenario import filled, price, rules
from npcmem.estimate import Game, Range, longer_than, longest
from npcmem.offers import offers
from npcmem.paces import pace
from tests.shown import numbers

page = importlib.import_module("npcmem.dashboards.cost_per_player")  # the package has a function of that name
CONTROLS = page.controls()
START = defaults(CONTROLS)
SURE = {f"{name}_": 0 for name in ("players", "sessions", "turns", "think", "tokens")}
WRONG = re.compile(r"\b(nan|inf|None)\b|\$-|\$0\.000 ")


def check(values):
    shown = page.view(values)
    texts = [shown.headline, shown.answer, *(tile.sentence + tile.big for tile in shown.tiles), *shown.notes]
    texts += [chart.sentence + chart.spoken for chart in shown.charts] + [
        str(row.cells) for row in shown.tables[0].rows
    ]
    for text in texts:
        assert text and not WRONG.search(text.replace("\u00a0", " ")), text
    for chart in shown.charts:
        assert all(map(math.isfinite, numbers(chart.figure))), chart.title
    return shown


def test_the_centre_of_the_page_is_the_exact_engine():
    """With everything sure and nothing retried or paused: the bill of each length times its chance."""
    values = {**START, **SURE, "retried": 0, "paused": 0, "strategy": "full-history"}
    found = page.answer(values)
    game = Game(turns=Range(float(values["turns"])), turns_log_sd=found.game.turns_log_sd)
    lasts = longer_than(np.array([float(values["turns"])]), game.turns_log_sd, longest(game))[:, 0]
    session = Session.uniform(longest(game), values["m"], values["o"])
    who = Character(values["S"], values["s"], values["q"], values["u"])
    players = pace("deliberate").at_pace(found.strategy.pace.think_time_s)
    bill = expected(found.strategy.policy, who, session, rules(values), players).cost_by_length(price(values))
    assert found.centre.session[0] == pytest.approx(bill @ (lasts - np.append(lasts[1:], 0)), rel=1e-9)
    assert found.drawn.session == pytest.approx(found.centre.session[0])


def test_each_change_that_meets_the_budget_meets_it_when_it_is_made():
    found = page.answer({**START, "budget": 0.002, "strategy": "full-history"})
    assert any(not meets for *_, meets in found.fixes) and any(meets for *_, meets in found.fixes)
    for name, to, day, meets in found.fixes:
        assert meets == (day <= 0.002)
        if name == "Model":
            again = [row for row in found.models if row[0].name == to]
            assert again[0][2] == day


def test_the_cheapest_strategy_is_no_dearer_than_any_fixed_one():
    best = page.answer(START).centre.month[0]
    for id, *_ in next(one for one in CONTROLS if one.name == "strategy").options[1:]:
        if "window" not in id:  # which forget
            assert page.answer({**START, "strategy": id}).centre.month[0] >= best * (1 - 1e-9), id


def test_percentiles_are_in_order_and_surer_is_narrower():
    wide, narrow = page.answer(START), page.answer({**START, **SURE, "turns_": 10})
    for found in (wide, narrow):
        low, middle, high = found.drawn.percentiles("month")
        assert low < middle < high
    spread = [found.drawn.percentiles("month")[2] / found.drawn.percentiles("month")[0] for found in (wide, narrow)]
    assert spread[0] > spread[1]


ODD = {
    **{f"{one.name} {end}": {one.name: getattr(one, end)}
       for one in CONTROLS if isinstance(one, Slider) for end in ("least", "most")},
    "sure of everything": SURE,
    "nobody pauses": {"paused": 0, "retried": 0},
    "two turns": {"turns": 2, "lengths": 1},
    "dear": {"budget": 0.0001, "p": 30, "turns": 300},
}  # fmt: skip


@pytest.mark.parametrize("changes", ODD.values(), ids=ODD)
def test_odd_values_break_nothing(changes):
    values = {**START, **changes}
    values["m"] = max(values["m"], values["o"])
    _, errors = parse(CONTROLS, values, START)
    assert errors == {}
    check(values)


@pytest.mark.parametrize("model", ["article", *list(offers())[::6]])
def test_some_models(model):
    check(dict(filled({**START, "model": model}, "model")))


@pytest.mark.parametrize("id", [option[0] for one in CONTROLS if one.name == "strategy" for option in one.options])
def test_every_strategy(id):
    check({**START, "strategy": id})


def test_a_link_restores_the_whole_scenario():
    values = {**START, "players": 250_000, "turns": 40, "turns_": 80, "budget": 0.02, "strategy": "summarise-every-4"}
    link = address(CONTROLS, values, filled)
    assert read_address(CONTROLS, link, filled)[0] == pytest.approx(values)


def test_controls_have_names_of_their_own():
    names = [one.name for one in CONTROLS]
    assert len(names) == len(set(names))
    assert all(one.help for one in CONTROLS if isinstance(one, Slider | Choice))


def moved(**changes):
    """Return the page after a visitor's move, which is answered at once with what follows the hand."""
    made = page.cost_per_player()
    made.set_state({"values": {**made.values, **changes}, "moved": [*changes], "asked": 1})
    return made


def test_a_move_shows_at_once_what_follows_the_hand_and_the_rest_when_it_rests():
    made, whole = moved(S=2600), page.view({**START, "S": 2600}).plain()
    at_once = dict(made.view)
    assert at_once["more"] and made.answered == 1
    assert at_once["charts"] == whole["charts"][:3] and at_once["tables"] == []
    assert [at_once[name] for name in ("headline", "answer", "tiles", "notes")] == [
        whole[name] for name in ("headline", "answer", "tiles", "notes")
    ]
    made._on_message(None, {"want": "rest"}, [])
    assert {name: made.view[name] for name in whole} == whole
    assert not made.view["more"]


@pytest.mark.parametrize("want", ["csv", "json"])
def test_what_one_keeps_is_whole_also_before_the_hand_rests(want):
    made = moved(budget=0.002)
    sent = []
    made.send = lambda content, buffers=None: sent.append(bytes(buffers[0]))
    made._on_message(None, {"want": want}, [])
    other = page.cost_per_player()
    other.set(budget=0.002)
    assert not made.view["more"] and made._json() == other._json()
    assert sent and (want == "csv" or sent == [made._json()])


def test_a_move_in_error_after_another_leaves_nothing_out():
    made = moved(S=2600)
    made.set_state({"values": {**made.values, "m": 20}, "moved": ["m"], "asked": 2})
    assert "o" in made.errors or "m" in made.errors
    made._on_message(None, {"want": "rest"}, [])
    assert len(made.view["charts"]) == 4 and len(made.view["tables"]) == 1


# --- what is bought is what the sliders say -------------------------------------------------------


@pytest.mark.parametrize("changed", [{"p": 0.2}, {"rho": 9.0}, {"r": 0.5}, {"min": 4096, "S": 3000}])
def test_the_chosen_model_costs_the_same_in_every_place(changed):
    found = page.answer({**START, **changed})
    (yours,) = [day for one, _, day in found.models if one.id == START["model"]]
    assert yours == pytest.approx(found.centre.player_day[0], rel=1e-12)
    assert {name: day for name, _, day, _ in found.fixes}["Memory"] == pytest.approx(yours, rel=1e-12)


def test_another_lifetime_is_bought_at_the_sliders_prices():
    double = page.answer({**START, "p": 2 * START["p"]})
    once = page.answer(START)
    there = [{name: day for name, _, day, _ in found.fixes}["Cache lifetime"] for found in (once, double)]
    assert there[1] == pytest.approx(2 * there[0], rel=1e-9)


def test_a_shorter_prompt_that_is_not_cached_is_no_way_to_meet_a_budget():
    values = dict(filled({**START, "model": "claude-haiku-4-5"}, "model")) | {"S": 4500, "budget": 0.057}
    found = page.answer(values)
    fix = next(fix for fix in found.fixes if fix[0] == "Static prompt")
    assert fix[3] and fix[2] <= 0.057
    tokens = int(fix[1].split()[0].replace(",", ""))
    assert 4096 <= tokens < 4500
    day = page.answer({**values, "S": tokens, "strategy": page.CHEAPEST})
    assert day.centre.player_day[0] <= 0.057


def test_no_memory_that_the_model_cannot_hold_is_recommended():
    values = dict(filled({**START, "model": "nova-micro"}, "model")) | {"turns": 200, "m": 1000, "recall": 100}
    found = page.answer(values)
    card = next(one for one in offers().values() if one.id == "nova-micro")
    assert page.longest_call_tokens(found.game, found.strategy) <= card.context_window
    assert "would not fit" not in " ".join(page.view(values).notes)
    full = page.view({**values, "strategy": "full-history"})
    assert f"would not fit: {400_000 + 1800 + 80 - 1000 + 80:,}"[:14] in full.notes[0]
    assert f"a context of {card.context_window:,}" in full.notes[0]


def test_where_nothing_is_unsure_the_bill_is_one_number():
    shown = page.view({**START, **SURE})
    assert "likely" not in shown.headline and shown.charts[0].sentence.startswith("Nothing is unsure")
    shares = {bar["name"]: sum(bar["y"]) for bar in shown.charts[0].figure["data"]}
    assert shares == {"eight in ten": 100, "the rest": 0}


@pytest.mark.parametrize(
    ("dollars", "said"),
    [(999_400, "$999,000"), (999_600, "$1 million"), (123_456_789, "$123 million"), (3.42e9, "$3.42 billion")],
)
def test_large_bills_are_counted_in_words(dollars, said):
    assert page._money(dollars) == said
