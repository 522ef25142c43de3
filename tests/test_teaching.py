"""The teachers' page and the answers: plans that add up, links that lead somewhere, every task with its answer."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import nbformat
import pytest
from IPython.display import HTML, Markdown

from npcmem.lessons import classroom, foot, kit, teacher
from npcmem.lessons.judge import judge, shown, spaced
from npcmem.lessons.kit import Ask, Figure
from npcmem.serve import LESSONS, PAGES, TEACHING
from tests.test_lessons import run

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
NAMES = classroom.NAMES
FOR_TEACHERS, ANSWERS = (NOTEBOOKS / page.notebook for page in TEACHING)
LEADS = re.compile(r"(?:href='|\]\()([^')#]+)(?:#[^')]*)?['\)]")


def path_of(name):
    return NOTEBOOKS / foot.lesson(name).notebook


def words_of(path):
    """Return the words of a page: its markdown, and what its cells show as HTML or markdown."""
    cells = nbformat.read(path, as_version=4).cells
    shows = [one.data for one in run(path) if isinstance(one, HTML | Markdown)]
    return "\n".join([*(cell.source for cell in cells if cell.cell_type == "markdown"), *shows])


@pytest.fixture(scope="module")
def for_teachers():
    return words_of(FOR_TEACHERS)


@pytest.fixture(scope="module")
def answers():
    return words_of(ANSWERS)


# --- where links lead -----------------------------------------------------------------------------


def test_every_lesson_is_served_in_its_order_under_its_title():
    folder = sorted((NOTEBOOKS / "lessons").glob("*.ipynb"))
    assert [NOTEBOOKS / page.notebook for page in (*LESSONS, *sorted(TEACHING, key=lambda page: page.title))] == folder
    for page in (*LESSONS, *TEACHING):
        title = nbformat.read(NOTEBOOKS / page.notebook, as_version=4).metadata["title"]
        assert title.removesuffix(" · npcmem").lower().endswith(page.title.lower())
        assert page.question.endswith("?")


@pytest.mark.parametrize("page", [*LESSONS, *TEACHING], ids=lambda page: page.title)
def test_every_relative_link_leads_to_a_notebook(page):
    path = NOTEBOOKS / page.notebook
    leads = LEADS.findall(words_of(path))
    assert leads
    for lead in leads:
        assert lead.endswith(".ipynb") and (path.parent / lead).resolve().exists(), lead


def test_a_lesson_leads_to_its_neighbours_and_to_the_pages_that_go_on():
    titles = [page.title for page in LESSONS]
    for at, name in enumerate(NAMES):
        shown = foot.onward(name).data
        assert nbformat.read(path_of(name), as_version=4).cells[-1].source == f'onward("{name}")'
        around = [*titles[max(at - 1, 0) : at], *titles[at + 1 : at + 2]]
        assert re.findall(r"<b>(.*?)</b>", shown) == around
        assert foot.further(name) and all(page in PAGES for page in foot.further(name))
    with pytest.raises(KeyError, match="nearest: '2-the-square-root'"):
        foot.onward("2-the-square-rot")


def test_lessons_do_not_lead_to_the_answers():
    for name in NAMES:
        assert not {"answers.ipynb", "for-teachers.ipynb"} & set(LEADS.findall(words_of(path_of(name))))


# --- the teachers' page ---------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "minutes"), [(classroom.PLAN, 90), (classroom.SHORT_PLAN, 45)])
def test_the_minutes_of_a_plan_add_up(steps, minutes):
    assert sum(step.minutes for step in steps) == minutes
    assert all(step.minutes >= 3 for step in steps)
    spans = re.findall(r"(\d+)–(\d+)</td>", classroom.plan(steps).data)
    assert [int(end) for _, end in spans][-1] == minutes
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]


def test_goals_plan_and_misconceptions_speak_of_every_lesson():
    assert {step.lesson for step in classroom.PLAN} - {""} == set(NAMES)
    for told in (classroom.GOALS, classroom.MISCONCEPTIONS, classroom.WEEK, foot.FURTHER):
        assert tuple(told) == NAMES
    for table in (classroom.goals(), classroom.plan(), classroom.week(), classroom.misconceptions()):
        assert all(f"href='{name}.ipynb'" in table.data for name in NAMES)


def test_plans_send_pairs_to_exercises_that_there_are():
    for step in (*classroom.PLAN, *classroom.SHORT_PLAN):
        found = [task.number for task in teacher.tasks(step.lesson) if task.kind == "exercise"] if step.lesson else []
        for numbers in re.findall(r"Exercises? ([\d, and]+)", step.what):
            assert set(map(int, re.findall(r"\d+", numbers))) <= set(found)


def test_the_teachers_page_leads_everywhere_and_tells_no_answer(for_teachers):
    leads = set(LEADS.findall(for_teachers))
    assert {*(f"{name}.ipynb" for name in NAMES), "answers.ipynb"} <= leads
    assert {f"../{page.notebook}" for page in PAGES} <= leads
    told = for_teachers.replace("\u00a0", " ")
    for task in (task for name in NAMES for task in teacher.tasks(name) if not task.question.options):
        answer = shown(task.question.computed, task.question.unit).replace("\u00a0", " ")
        assert len(answer) < 4 or not re.search(rf"(?<![\d,.]){re.escape(answer)}(?![\d])", told), answer


# --- the answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_tasks_read_from_a_lesson_are_those_it_shows(name):
    shows = [one for one in run(path_of(name)) if isinstance(one, Ask)]
    found = teacher.tasks(name)
    assert [task.kind for task in found] == [one.kind for one in shows]
    for task, one in zip(found, shows, strict=True):
        assert task.question.question == one.question.question
        assert task.question.computed == one.question.computed
        assert dict(task.question.slips) == dict(one.question.slips)


@pytest.mark.parametrize("name", NAMES)
def test_every_task_stands_among_the_answers_with_what_check_accepts(name, answers):
    part = answers.partition(f"<h2 id='{name}'>")[2].partition("<h2 ")[0]
    sections = [plain(section) for section in part.split("<section ")[1:]]
    found = teacher.tasks(name)
    assert len(sections) == len(found)
    for section, task in zip(sections, found, strict=True):
        asked = task.question
        assert spaced(asked.question) in section and f"{task.kind.capitalize()} {task.number}" in section
        answer = re.search(r"\[\[(.*?)\]\]", section).group(1)
        assert judge(asked, answer).right
        assert spaced(asked.hint) in section
        for why, slip in asked.slips.items():
            assert spaced(why) in section and shown(slip, asked.unit) in section


def plain(html):
    """Return a piece of the page as text, with what is bold between brackets."""
    marked = html.replace("<b>", "[[").replace("</b>", "]]")
    return unescape(re.sub(r"<[^>]+>", "", marked))


def test_two_dollar_signs_are_no_formula():
    assert not re.search(r"\$(?!</span>)", teacher.answers(classroom.TWO).data + teacher.answers(classroom.SIX).data)


def test_a_lesson_does_not_send_its_answers():
    for name in NAMES:
        for one in run(path_of(name)):
            if isinstance(one, Ask):
                question = one.question
                sent = {key: value for key, value in one.spec.items() if key != "options"}
                assert one.reply == {} and set(sent) == {"question", "unit", "hint"}
                assert question.told not in str(sent) or not question.told


def test_the_answers_are_read_without_a_figure_or_a_widget(monkeypatch):
    for made in ("Ask", "Figure"):
        monkeypatch.setattr(kit, made, None)
    assert all(len(teacher.tasks(name)) >= 5 for name in NAMES)


def test_the_two_pages_show_only_what_every_server_can():
    for path in (FOR_TEACHERS, ANSWERS):
        assert all(isinstance(one, HTML | Markdown) for one in run(path))
    for name in NAMES:
        assert all(isinstance(one, HTML | Markdown | Ask | Figure) for one in run(path_of(name)))


@pytest.mark.parametrize("path", [FOR_TEACHERS, ANSWERS], ids=lambda path: path.stem)
def test_no_result_is_typed_into_a_teachers_page(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"\$[^$]*\$|`[^`]*`|\([^)]*ipynb\)", "", cell.source)
            assert not re.search(r"\d+\.\d|\d,\d{3}|\d ?%", text), text
