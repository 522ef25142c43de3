"""What both servers share: what is on the shelf, the links at a page's head, and kernels that start in turn."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from urllib.parse import urljoin

import pytest

from npcmem.serve import LESSONS, PAGES, TEACHING, shelf_of
from npcmem.serve.pages import up
from tests import pages

SHELF = shelf_of(pages.NOTEBOOKS)


@pytest.mark.parametrize("page", SHELF.served, ids=lambda page: page.notebook)
def test_the_links_at_the_head_of_a_page_lead_to_the_others(page):
    links = SHELF.nav(page.notebook)
    here = f"http://host/games/voila/render/{page.notebook}"
    targets = [urljoin(here, link["href"]) for link in links]
    assert targets == [
        "http://host/games/",
        *(f"http://host/games/voila/render/{one.notebook}" for one in PAGES),
        "http://host/games/#lessons",
    ]
    assert [link["title"] for link in links if link["here"]] == [page.title if page in PAGES else "Lessons"]
    assert urljoin(here, up(page.notebook)) == "http://host/games/"


def test_a_page_alone_has_no_links():
    shelf = shelf_of(pages.NOTEBOOK)
    assert shelf.nav(pages.NOTEBOOK.name) == []
    assert [page.notebook for page in shelf.served] == [pages.NOTEBOOK.name]


def test_other_notebooks_of_a_folder_come_after_ours_by_their_titles(tmp_path):
    for name in ("zoo.ipynb", PAGES[1].notebook, "ant.ipynb", ".hidden.ipynb"):
        pages.book(tmp_path / name, "x = 1", f"A page called {name}")
    shelf = shelf_of(tmp_path)
    assert shelf.pages[0] == PAGES[1]
    assert [page.title for page in shelf.pages[1:]] == ["A page called ant.ipynb", "A page called zoo.ipynb"]
    assert shelf.lessons == () and shelf.teaching == ()
    assert "Lessons" not in [link["title"] for link in shelf.nav("ant.ipynb")]


def test_a_notebook_whose_name_has_odd_letters_is_linked_as_it_is(tmp_path):
    pages.book(tmp_path / 'a "b" & <c>.ipynb', "x = 1", "Odd")
    (link,) = shelf_of(tmp_path).nav("elsewhere.ipynb")[1:]
    assert link["href"] == "../../voila/render/a%20%22b%22%20%26%20%3Cc%3E.ipynb"


@pytest.mark.parametrize(("cores", "at_once"), [(1, 1), (2, 1), (8, 7), (None, 1)])
def test_kernels_started_ahead_leave_a_core_to_who_is_there(monkeypatch, cores, at_once):
    site = pytest.importorskip("npcmem.serve.site")
    monkeypatch.setattr(site.os, "cpu_count", lambda: cores)
    running, most = 0, 0

    async def run_notebook() -> None:
        nonlocal running
        await asyncio.sleep(0.01)
        running -= 1

    async def start(name: str) -> dict:
        nonlocal running, most
        running += 1
        most = max(most, running)
        return {"task": asyncio.ensure_future(run_notebook()), "name": name}

    async def fill() -> list[str]:
        manager = SimpleNamespace(_initialize=start)
        site._start_in_turn(manager)
        started = await asyncio.gather(*(manager._initialize(str(at)) for at in range(12)))
        await asyncio.gather(*(one["task"] for one in started))
        return [one["name"] for one in started]

    assert asyncio.run(fill()) == [str(at) for at in range(12)]
    assert most == at_once


def test_a_kernel_that_does_not_start_keeps_no_other_from_it():
    site = pytest.importorskip("npcmem.serve.site")

    async def fail() -> dict:
        raise OSError("no more processes")

    async def fill() -> list[BaseException]:
        manager = SimpleNamespace(_initialize=fail)
        site._start_in_turn(manager)
        tries = asyncio.gather(*(manager._initialize() for _ in range(3)), return_exceptions=True)
        return await asyncio.wait_for(tries, 5)

    assert [str(fault) for fault in asyncio.run(fill())] == ["no more processes"] * 3


def test_lessons_and_teaching_stand_below_the_pages():
    assert all(page.notebook.startswith("lessons/") for page in (*LESSONS, *TEACHING))
    assert not any("/" in page.notebook for page in PAGES)
