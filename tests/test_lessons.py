"""Lessons: how answers are judged, the widgets as a browser drives them, and every notebook from top to bottom."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from npcmem import formulas
from npcmem.cache import CacheRules
from npcmem.dashboards.page import ChartCard
from npcmem.dialogue import Session
from npcmem.estimate import Range, Strategy, estimate, exactly
from npcmem.ledger import replay
from npcmem.lessons import (
    check,
    clock,
    exercise,
    figure,
    forgetting,
    guess,
    kit,
    meeting,
    million,
    quadratic,
    say,
    slider,
    square_root,
)
from npcmem.lessons.judge import Question, Verdict, how_far, judge, read_number, shown
from npcmem.lessons.kit import Ask, Figure, revealed
from npcmem.policies import FullHistory, SlidingWindow, SteppedWindow, SummariseEvery
from npcmem.serve import LESSONS

BOOKS = [Path(__file__).parents[1] / "notebooks" / page.notebook for page in LESSONS]
THREE = Question("?", 391_200, "tokens", hint="Add them up.", told="It is {answer}.", slips={"The last call.": 11_240})


# --- judging --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("391,200", 391_200),
        ("391 200 tokens", 391_200),
        ("$1.39", 1.39),
        ("57 %", 57),
        ("1e5", 1e5),
        (" -2 ", -2),
        ("1,234.5", 1234.5),
        ("120 Tok", 120),
        ("1 token", 1),
        (3, 3),
    ],
)
def test_a_number_is_read_as_people_write_it(typed, number):
    assert read_number(typed) == number


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("3,57", "Write a decimal point for a comma: 3.57"),
        ("0,138", "Write a decimal point for a comma: 0.138"),
        ("0,1375", "Write a decimal point for a comma: 0.1375"),
        ("12 turns", "Type a number such as 1200 or 0.25, not '12 turns'."),
        ("a lot", "Type a number such as 1200 or 0.25, not 'a lot'."),
        ("", "Type a number such as 1200 or 0.25, not ''."),
        ("nan", "Type a number such as 1200 or 0.25, not 'nan'."),
        ("2 + 2", "Type a number such as 1200 or 0.25, not '2 + 2'."),
    ],
)
def test_what_is_no_number_is_asked_back(typed, sentence):
    with pytest.raises(ValueError) as caught:
        read_number(typed)
    assert str(caught.value) == sentence
    assert judge(THREE, typed) == Verdict(False, sentence)


def test_an_answer_is_right_within_its_tolerance_and_no_further():
    assert judge(THREE, "391200") == Verdict(True, "It is 391,200\u00a0tokens.")
    assert judge(THREE, 391_200 * 1.0099).right
    assert not judge(THREE, 391_200 * 1.0101).right
    assert judge(Question("?", 0.0), 0).right
    assert not judge(Question("?", 0.0), 0.1).right


def test_a_wrong_answer_is_told_its_mistake_or_how_far_off_it_is():
    assert judge(THREE, 11_240) == Verdict(False, "The last call.")
    assert judge(THREE, 60_000) == Verdict(False, "60,000\u00a0tokens is 6.5 times too low.")


def test_options_are_judged_by_name():
    which = Question("?", "tea", options=("tea", "ale"), hint="It is hot.", slips={"Too early.": "ale"})
    assert judge(which, "tea").right
    assert judge(which, "ale") == Verdict(False, "Too early.")
    assert judge(which, "mead") == Verdict(False, "Choose one of: tea, ale.")
    with pytest.raises(KeyError, match="unknown option"):
        Question("?", "mead", options=("tea", "ale"))


@given(some.floats(1e-3, 1e12), some.floats(0.02, 50))
def test_what_is_shown_of_an_answer_is_itself_right(answer, factor):
    for unit in ("", "tokens", "%", "$"):
        question = Question("?", answer, unit, tolerance=0.01)
        assert judge(question, shown(answer, unit)).right
        if abs(factor - 1) > 0.011:
            assert not judge(question, answer * factor).right


@pytest.mark.parametrize(
    ("guessed", "words"),
    [
        (100, "right on it"),
        (98.6, "1.4\u00a0% too low"),
        (88, "12\u00a0% too low"),
        (130, "30\u00a0% too high"),
        (650, "6.5 times too high"),
        (-5, "too low by 105"),
    ],
)
def test_how_far_a_guess_was(guessed, words):
    assert how_far(guessed, 100) == words


def test_the_right_option_is_a_sentence():
    assert judge(Question("?", "tea", options=("tea", "ale")), "tea") == Verdict(True, "That is it.")


# --- widgets --------------------------------------------------------------------------------------


def test_a_figure_is_given_whole_numbers_where_a_slider_stands_on_one():
    def card(k: float, share: float) -> ChartCard:
        return ChartCard("A", f"{k} and {share}", {"data": [], "layout": {}}, "A.")

    made = kit.figure(card, k=kit.slider("k", 4, 1, 30), share=kit.slider("share", 0.5, 0, 1, step=0.1))
    assert made.card["sentence"] == "4 and 0.5"
    made.values = {"k": 5.0, "share": 1.0}
    assert made.card["sentence"] == "5 and 1"


def test_a_guess_is_kept_beside_what_is_computed():
    asked = []
    one = guess("?", lambda: asked.append(1) or 200.0, unit="tokens", told="It is {answer}, you said {given}.")
    assert "200" not in str(one.spec)  # what the browser has does not tell
    one.given, one.moves = "50", 1
    assert one.reply == {
        "yours": "50\u00a0tokens",
        "computed": "200\u00a0tokens",
        "bars": [0.25, 1.0],
        "off": "Your guess was 4 times too low.",
        "told": "It is 200\u00a0tokens, you said 50\u00a0tokens.",
    }
    assert asked


def test_a_guess_may_be_left_out_and_a_bad_one_is_asked_back():
    assert revealed(THREE, "")["bars"] == [0, 1]
    assert revealed(THREE, "many") == {"error": "Type a number such as 1200 or 0.25, not 'many'."}
    which = Question("?", "tea", options=("tea", "ale"))
    assert revealed(which, "ale")["off"] == "Not what comes out."
    assert revealed(which, "tea")["off"] == "That is it."


def test_an_exercise_is_judged_in_the_browser_as_in_a_cell():
    one = exercise("?", 4, told="Four.", hint="Two and two.")
    one.given, one.moves = "5", 1
    assert one.reply == {"right": False, "sentence": "5 is 25\u00a0% too high."}
    one.given, one.moves = "4", 2
    assert one.reply == {"right": True, "sentence": "Four."}
    assert check(one, 4)._repr_markdown_() == "**Right.** Four."
    assert check(one, 5)._repr_markdown_() == "**Not yet.** 5 is 25\u00a0% too high. Hint: Two and two."


def test_a_figure_follows_its_sliders_and_says_what_it_cannot_take():
    one = figure(square_root.saw_tooth, k=slider("interval", 4, 1, 20, "exchanges"))
    assert one.card["sentence"].startswith("With a summary every 4")
    one.values = {"k": 7}
    assert one.card["sentence"].startswith("With a summary every 7")
    one.values = {"k": "many"}
    assert one.card["sentence"].startswith("With a summary every 7")
    assert one.errors == {"k": "interval must be a number of exchanges, got 'many'"}


def test_page_js_ends_as_the_lessons_need_it():
    page = (kit.STATIC / "page.js").read_text("utf-8")
    assert page.count(kit.PAGE_VIEW) == 1
    assert kit.ESM.count("export default") == 1


def test_say_keeps_dollars_and_formulas_apart():
    assert say("It is ${x:.2f}, and $$k^*$$ is {k}.", x=1.5, k=4).data == "It is \\$1.50, and $k^*$ is 4."


# --- the numbers of the lessons --------------------------------------------------------------------


@given(some.integers(1, 80), some.integers(1, 80))
def test_what_a_window_saves_is_what_its_sums_say(n, window):
    last, whole = quadratic.window_savings(n, window)
    sent = np.minimum(np.arange(1, n + 1), window)
    assert last == pytest.approx(1 - sent[-1] / n)
    assert whole == pytest.approx(1 - sent.sum() / (n * (n + 1) / 2))


@given(some.integers(1, 120), some.integers(0, 4000), some.integers(0, 500))
def test_the_lesson_counts_what_the_formula_says(n, static, exchange):
    assert quadratic.counted(n, static, exchange) == formulas.full_history_input_tokens(n, static, exchange)


def test_old_formulas_come_out_of_the_new_one():
    assert square_root.order_quantity(100, 1200, 6) == pytest.approx((2 * 100 * 1200 / 6) ** 0.5)
    assert square_root.checkpoint_interval(5, 1440) == pytest.approx((2 * 5 * 1440) ** 0.5)
    assert square_root.best(60)[0] == 4 and square_root.best(60)[2] == [3, 4, 5]


def test_the_measured_players_are_the_measured_players():
    assert clock.past(300) == pytest.approx(23.3, abs=1.0)
    assert clock.REAL.median_s() == pytest.approx(112, abs=2)
    assert clock.break_even() == pytest.approx(21.74, abs=0.01)
    assert clock.threshold(60) == pytest.approx(1.105, abs=0.001)


def test_the_cheaper_lifetime_is_the_one_past_its_threshold():
    for turns in range(3, 80):
        missed = clock.past(300)
        always = formulas.prefix_multiplier(1 - 1 / turns, clock.R, clock.W_LONG)
        assert (missed > clock.threshold(turns)) == (always < clock.prefix_cost(turns, 300, clock.W))


def test_caching_and_summarising_cost_what_the_design_says():
    assert meeting.full(60, None) == 415_200
    assert meeting.best(60, None) == (4, 177_890)
    assert meeting.full(60, 1.0) == 76_046
    assert meeting.best(60, 1.0) == (15, 65_196.5)
    assert meeting.best(60, 1.0, shares_prefix=True) == (12, 59_269)
    assert (meeting.pays_from(None), meeting.pays_from(1.0)) == (8, 30)


def test_a_summary_call_costs_what_the_replay_says():
    session = Session.uniform(30, quadratic.M, square_root.REPLY, 10.0)
    for at, shares in ((0, False), (1, True)):
        bill = replay(SummariseEvery(10, shares_prefix=shares), meeting.WHO, session, CacheRules(300)).only("summary")
        second = [int(amount[1]) for amount in (bill.usage.uncached, bill.usage.read, bill.usage.write)]
        assert second[0] + meeting.R * second[1] + meeting.W * second[2] == pytest.approx(meeting.summary_call(10)[at])


def test_windows_cost_what_the_design_says():
    assert meeting.window_cost(60, SlidingWindow(10)) == 137_590
    assert meeting.window_cost(60, SteppedWindow(5, 15)) == 59_630


@given(some.integers(1, 120), some.integers(1, 40))
def test_summaries_from_the_raw_words_read_what_counting_says(turns, k):
    at = [turn for turn in range(1, turns) if turn % k == 0]
    raw = sum(quadratic.M * turn for turn in at)
    folded = sum(quadratic.M * k + (square_root.SUMMARY if turn > k else 0) for turn in at)
    assert forgetting.rebuilding(turns, k) == raw - folded


def test_facts_kept_by_chance_are_binomial():
    from scipy.stats import binom

    assert forgetting._kept_by_chance(0.3) == pytest.approx(binom.pmf(np.arange(forgetting.FACTS + 1), 8, 0.3))


def test_what_is_known_of_the_first_fact():
    assert [forgetting.passes(60, k) for k in (4, 11, 20)] == [14, 5, 2]
    assert [round(forgetting.first_fact(60, k)) for k in (4, 11, 20)] == [49, 77, 90]


def test_spreads_of_a_product_come_out_of_a_simulation():
    rng = np.random.default_rng(7)
    product = Range(1, 2).draw(rng, 200_000) * Range(1, 1.5).draw(rng, 200_000)
    middle, high = np.quantile(product, (0.5, 0.9))
    assert high / middle == pytest.approx(million.together(2, 1.5), rel=0.01)
    assert product.mean() == pytest.approx(1 + million.mean_over_middle(million.together(2, 1.5)) / 100, rel=0.01)


def test_a_month_is_the_estimate_of_a_month():
    found = estimate(exactly(million.GAME), million.GAME, Strategy(FullHistory(), clock.REAL, million.CACHED))
    assert million.month() == pytest.approx(found.month[0])


def test_a_month_goes_in_a_straight_line_with_the_misses():
    quick, slow = million.month_at_both_ends()
    assert quick < million.month() < slow
    for think_s in (20.0, 110.0, 500.0):
        game = million.GAME.at(think_s=think_s, paused=0)
        month = estimate(exactly(game), game, Strategy(FullHistory(), clock.REAL, million.CACHED)).month[0]
        missed = clock.past(300, clock.REAL.at_pace(think_s))
        assert million.month_where(missed) == pytest.approx(month, rel=1e-3)


def test_a_log_is_off_by_what_a_simulation_says():
    counted = np.random.default_rng(7).binomial(400, 0.25, 100_000) / 4
    assert np.mean(abs(counted - 25) <= million.off_by(25, 400)) == pytest.approx(0.8, abs=0.03)
    assert million.off_by(25, 1600) == pytest.approx(million.off_by(25, 400) / 2)


def test_the_sheet_does_not_move_the_interval():
    assert square_root.moves_with_the_sheet(0, 50_000) == 0


# --- every lesson ----------------------------------------------------------------------------------


def run(path):
    """Run a lesson's cells in one namespace; return what each cell shows."""
    names, shows = {}, []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        *before, last = tree.body
        exec(compile(ast.Module(before, []), str(path), "exec"), names)
        if isinstance(last, ast.Expr):
            shows.append(eval(compile(ast.Expression(last.value), str(path), "eval"), names))
        else:
            exec(compile(ast.Module([last], []), str(path), "exec"), names)
    return shows


@pytest.fixture(params=BOOKS, ids=lambda path: path.stem, scope="module")
def shows(request):
    return run(request.param)


def asks(shows, kind):
    return [one for one in shows if isinstance(one, Ask) and one.kind == kind]


def test_a_lesson_has_its_parts(shows):
    assert "npc-begin" in shows[0].data
    assert len(asks(shows, "guess")) >= 1
    assert len(asks(shows, "exercise")) >= 2
    assert len([one for one in shows if isinstance(one, Figure)]) >= 2


def test_exercises_are_right_with_the_right_answer_and_wrong_with_another(shows):
    for one in asks(shows, "exercise"):
        question = one.question
        answer = question.computed
        assert one.check(shown(answer, question.unit)).right, question.question
        assert question.hint
        others = [option for option in question.options if option != answer] or [answer * 1.2, answer / 2, -answer]
        assert not any(one.check(other).right for other in others)
        for why, slip in question.slips.items():
            assert one.check(shown(slip, question.unit)) == Verdict(False, why)


def test_guesses_are_revealed(shows):
    for one in asks(shows, "guess"):
        one.given, one.moves = "", 1
        assert one.reply["computed"] and one.reply["told"]
        one.given, one.moves = one.question.options[0] if one.question.options else "7", 2
        assert one.reply["off"]


def test_figures_draw_at_both_ends_of_every_slider(shows):
    for one in (one for one in shows if isinstance(one, Figure)):
        for spec in one.controls:
            for value in (spec["least"], spec["most"], spec["default"]):
                one.values = {**one.values, spec["name"]: value}
                assert not one.errors
                drawable(one.card)


def drawable(card):
    assert isinstance(ChartCard(**card), ChartCard)
    assert card["title"] and card["sentence"] and card["sentence"] in card["spoken"]
    assert "nan" not in card["sentence"] and "inf" not in card["sentence"].replace("infinit", "")
    for trace in card["figure"]["data"]:
        assert trace["x"]
        for letter in "xy":
            values = [value for value in trace[letter] if not isinstance(value, str)]
            assert np.isfinite(np.array(values, dtype=float)).all()


def test_no_result_is_typed_into_a_lesson():
    """Sentences with results come from code; markdown holds what is given, years and small numbers in formulas."""
    for path in BOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", "", cell.source, flags=re.DOTALL)
                assert not re.search(r"\d+\.\d|\d,\d{3}", text), f"{path.stem}: {text}"
