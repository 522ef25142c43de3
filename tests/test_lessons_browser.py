"""Lessons and the teachers' pages in a real Chromium, from both servers."""

from __future__ import annotations

from operator import attrgetter

import pytest
from axe_playwright_python.sync_playwright import Axe

from npcmem.serve import LESSONS, TEACHING
from tests import pages

pytestmark = pytest.mark.browser
VIEWS = [(1440, "light"), (390, "dark")]


named = attrgetter("stem")


def opened(visit, site, page, **options):
    here = visit(**options)
    here.page.goto(f"{site}voila/render/{page.notebook}")
    here.page.wait_for_selector(".npc-begin")
    if page in LESSONS:
        here.page.wait_for_selector("mjx-container[display=true]")
        here.working()
    return here


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
@pytest.mark.parametrize("page", [*LESSONS, *TEACHING], ids=named)
def test_a_lesson_opens_quietly_fits_and_passes_axe(visit, site, page, width, scheme):
    here = opened(visit, site, page, width=width, color_scheme=scheme)
    here.page.wait_for_timeout(300)
    here.page.evaluate("document.querySelectorAll('.npc-chart').forEach(node => node.scrollIntoView())")
    here.page.wait_for_function("!document.querySelector('.npc-chart:not([data-drawn])')")
    assert here.page.evaluate("document.documentElement.scrollWidth") == width
    assert here.page.evaluate("document.querySelectorAll('.npc-plotbox:not([aria-label]), img:not([alt])').length") == 0
    found = Axe().run(here.page).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []
    assert here.complaints == []
    assert here.foreign(site) == []
    assert here.page.locator(".site-nav [aria-current]").inner_text() == "Lessons"
    pages.SHOTS.mkdir(parents=True, exist_ok=True)
    here.page.evaluate("scrollTo(0, 0)")
    here.page.screenshot(path=pages.SHOTS / f"{named(page)}-{width}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("page", LESSONS, ids=named)
def test_every_figure_follows_its_sliders_by_keyboard(visit, site, page):
    here = opened(visit, site, page)
    for figure in here.page.locator(".npc-figure").all():
        for handle in figure.locator("input[type=range]").all():
            before = figure.locator(".npc-plotbox").get_attribute("aria-label")
            drawn = figure.get_attribute("data-drawn")
            handle.press("Home" if handle.evaluate("node => node.value === node.max") else "End")
            here.page.wait_for_function(
                "([node, spoken, drawn]) => node.querySelector('.npc-plotbox').ariaLabel !== spoken"
                " || node.dataset.drawn !== drawn",
                arg=[figure.element_handle(), before, drawn],
            )
    assert here.complaints == []


def test_a_guess_and_an_exercise_are_judged(visit, site):
    here = opened(visit, site, LESSONS[0], width=390)
    first = here.page.locator(".npc-guess").first
    first.locator("input").fill("60,000")
    first.get_by_role("button", name="That is my guess").click()
    first.get_by_text("6.5 times too low").wait_for()
    assert first.locator(".npc-pair b").all_inner_texts() == ["60,000\u00a0tokens", "391,200\u00a0tokens"]
    task = here.page.locator(".npc-exercise").first
    for answer, said in (("6440", "Not yet. That is the 30th call alone"), ("123600", "Right.")):
        task.locator("input").fill(answer)
        task.locator("input").press("Enter")
        task.locator(".npc-verdict", has_text=said).wait_for()
    caption = here.page.locator(".npc-figure figcaption").first
    here.page.locator(".npc-drag input[type=range]").first.press("ArrowRight")
    caption.get_by_text("61 calls send").wait_for()
    assert first.get_by_text("6.5 times too low").is_visible()  # the guess is kept
    assert here.complaints == []


def test_one_can_walk_through_the_whole_course(visit, site):
    here = visit()
    here.page.goto(site)
    here.page.get_by_role("link", name=LESSONS[0].title).click()
    for lesson in LESSONS[1:]:
        here.page.wait_for_selector(".npc-onward")
        here.page.locator(".npc-onward .npc-next a").click()
        here.page.wait_for_url(f"**/{lesson.notebook}")
    here.page.locator(".site-nav a", has_text="Lessons").click()
    here.page.wait_for_url(f"{site}#lessons")
    here.page.get_by_role("link", name="For teachers").click()
    here.page.get_by_role("link", name="the answers").first.click()
    here.page.wait_for_selector("h1 >> text=Answers")
    assert here.complaints == []
