"""What both servers share: what is on the shelf, the links at a page's head, and kernels that start in turn."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from urllib.parse import urljoin

import pytest

from npcmem import serve
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


def pool_of(start) -> SimpleNamespace:
    """Return a manager of one pool, whose kernels ``start`` as Voila starts them, that hands out the first of it."""

    async def rendered(notebook_name: str) -> dict:
        return await manager._pools[notebook_name].pop(0)

    manager = SimpleNamespace(_initialize=start, get_rendered_notebook=rendered, _pools={"a": []}, fill_delay=1)
    return manager


@pytest.mark.parametrize("ready", [True, False])
def test_a_pool_is_refilled_once_the_page_stands_or_somebody_waits_for_it(monkeypatch, ready):
    site = pytest.importorskip("npcmem.serve.site")
    monkeypatch.setattr(site, "REFILL_AFTER_S", 0.3)

    async def start() -> dict:
        return {"task": asyncio.ensure_future(asyncio.sleep(0)), "at_s": asyncio.get_running_loop().time()}

    async def visit() -> tuple[float, dict, list]:
        manager = pool_of(start)
        site._refill_aside(manager)
        assert manager.fill_delay == 0  # the wait is ours
        pool = manager._pools["a"]
        begun_s = asyncio.get_running_loop().time()
        pool += [asyncio.ensure_future(start())] if ready else []
        pool.append(asyncio.ensure_future(manager._initialize()))
        await asyncio.sleep(0.05)
        handed = await manager.get_rendered_notebook(notebook_name="a")
        return begun_s, handed, [await one for one in pool]

    begun_s, handed, left = asyncio.run(visit())
    assert handed["at_s"] - begun_s < 0.25  # of a pool that is empty the visitor does not wait for the refill's hour
    assert all(one["at_s"] - begun_s >= 0.29 for one in left) and len(left) == ready


@pytest.mark.parametrize(("cores", "at_once"), [(1, 1), (2, 1), (8, 7), (None, 1)])
def test_kernels_started_ahead_leave_a_core_to_who_is_there(monkeypatch, cores, at_once):
    site = pytest.importorskip("npcmem.serve.site")
    monkeypatch.setattr(site.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(site, "REFILL_AFTER_S", 0.01)
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
        manager = pool_of(start)
        site._refill_aside(manager)
        started = await asyncio.gather(*(manager._initialize(str(at)) for at in range(12)))
        await asyncio.gather(*(one["task"] for one in started))
        return [one["name"] for one in started]

    assert asyncio.run(fill()) == [str(at) for at in range(12)]
    assert most == at_once


def test_a_kernel_that_does_not_start_keeps_no_other_from_it(monkeypatch):
    site = pytest.importorskip("npcmem.serve.site")
    monkeypatch.setattr(site, "REFILL_AFTER_S", 0.01)

    async def fail() -> dict:
        raise OSError("no more processes")

    async def fill() -> list[BaseException]:
        manager = pool_of(fail)
        site._refill_aside(manager)
        tries = asyncio.gather(*(manager._initialize() for _ in range(3)), return_exceptions=True)
        return await asyncio.wait_for(tries, 5)

    assert [str(fault) for fault in asyncio.run(fill())] == ["no more processes"] * 3


@pytest.mark.parametrize(("ip", "host"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("localhost", "localhost")])
def test_a_port_is_tried_at_the_address_that_is_served(ip, host):
    pytest.importorskip("tornado")
    *_, (family, kind, protocol, _, address) = sorted(socket.getaddrinfo(ip, 0, type=socket.SOCK_STREAM))
    with socket.socket(family, kind, protocol) as taken:
        try:
            taken.bind(address)
        except OSError:
            pytest.skip(f"this machine has no {ip}")
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"^port {port} of {ip} cannot be used .*--port or --ip$"):
            serve._check_free(ip, port)
    serve._check_free(ip, port)
    assert serve._host(ip) == host


def test_lessons_and_teaching_stand_below_the_pages():
    assert all(page.notebook.startswith("lessons/") for page in (*LESSONS, *TEACHING))
    assert not any("/" in page.notebook for page in PAGES)
