"""What both servers share: what is on the shelf, the links at a page's head."""

from __future__ import annotations

import socket
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
