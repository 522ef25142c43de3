"""The pages for a crowd: what a visitor's page says without a kernel, what is refused, what is never told."""

from __future__ import annotations

import asyncio
import base64
import gc
import html
import json
import re
import socket
import sys
import urllib.error
import urllib.request
import weakref
from pathlib import Path

import psutil
import pytest

pytest.importorskip("tornado")
pytest.importorskip("anywidget")

import comm
from tornado.websocket import WebSocketClosedError, websocket_connect

from npcmem.cli import main
from npcmem.dashboards import summary_interval
from npcmem.dashboards.controls import defaults
from npcmem.dashboards.summary_interval import controls, view
from npcmem.serve import LESSONS, PAGES, TEACHING, wire
from npcmem.serve.pages import page_title
from tests import pages, publish

START = defaults(controls())
SECRETS = ("Traceback", 'File "', "npcmem.dashboards", "site-packages", sys.prefix, str(pages.ROOT), "TornadoServer")


def without_secrets(text: str) -> str:
    assert [secret for secret in SECRETS if secret in text] == []
    return text


# --- a page without a kernel -----------------------------------------------------------------------


@pytest.fixture(autouse=True)
def widgets_as_before(monkeypatch):
    monkeypatch.setattr(comm, "create_comm", comm.create_comm)  # put back what the crowd replaces


@pytest.fixture
def book():
    wire.without_a_kernel()
    return wire.Book(pages.NOTEBOOK)


def moved(asked: int, **changes) -> dict:
    return {"state": {"values": {**START, **changes}, "moved": [*changes], "asked": asked}}


def test_an_answer_is_what_the_package_computes(book):
    visitor = wire.Visitor(book)
    state = json.loads(visitor.answer(moved(1, S=2500)))["state"]
    expected = view({**START, "S": 2500}).plain()
    assert state["view"]["headline"] == expected["headline"]
    assert state["view"]["charts"] == json.loads(wire.plain(expected["charts"]))
    assert state["answered"] == 1 and state["address"] == "v=1&S=2500"


def test_the_first_state_is_that_of_the_page_as_built(book):
    (first,) = json.loads(book.first)
    assert book.parts == (0,)
    assert first["values"] == START and first["view"]["headline"] == view(START).headline
    assert not {"_esm", "_css", "layout", "comm", "link"} & first.keys()


def test_two_visitors_do_not_meet(book):
    one, other = wire.Visitor(book), wire.Visitor(book)
    one.answer(moved(1, S=2500))
    assert "S=2500" not in json.loads(other.answer(moved(1, m=300)))["state"]["address"]


def test_a_link_restores_and_a_wrong_one_says_so(book):
    page = summary_interval()
    page.set(turns=90, S=3000)
    state = json.loads(wire.Visitor(book).answer({"state": {"link": f"?{page.address}"}}))["state"]
    assert (state["values"]["turns"], state["values"]["S"]) == (90, 3000)
    state = json.loads(wire.Visitor(book).answer({"state": {"link": "?S=banana"}}))["state"]
    assert state["view"]["banner"].endswith("stayed at the default.")


def test_a_file_and_the_download_go_through(book):
    visitor = wire.Visitor(book)
    rows = [f"s{at % 5},{1_700_000_000 + 240 * at}" for at in range(50)]
    sent = {"content": {"want": "upload", "control": "telemetry", "file": "players.csv"}}
    state = json.loads(visitor.answer(sent, "\n".join(["session,ts", *rows]).encode()))["state"]
    assert state["said"]["telemetry"].startswith("5 sessions, 50 player turns")
    (message,) = json.loads(visitor.answer({"content": {"want": "csv"}}))["messages"]
    assert base64.b64decode(message["buffers"][0]).startswith(b"summarise_every_k_exchanges,")


@pytest.mark.parametrize(
    "given",
    [
        {"state": {"view": {"headline": "owned"}, "title": "owned", "_esm": "owned", "controls": []}},
        {"state": {"values": 7}},
        {"state": {"values": {"S": {"$ne": 1}}, "moved": [["S"]], "asked": 1}},
        {"state": [1, 2]},
        {"state": {"asked": "many"}},
        {"content": {"want": "plotly"}},
        {"content": {"want": "upload", "control": "no such", "file": 7}},
        {"content": [1]},
        {"at": 1, "state": {"values": {"S": 99}, "moved": ["S"], "asked": 1}},
        {"at": -1, "state": {"values": {"S": 99}, "moved": ["S"], "asked": 1}},
        {"at": True, "state": {"asked": 1}},
        {"at": "0", "state": {"asked": 1}},
        {"at": 0.0, "state": {"asked": 1}},
        {"at": {}, "content": {"want": "csv"}},
        {},
    ],
    ids=str,
)
def test_what_no_page_sends_changes_nothing_and_is_not_explained(book, given):
    visitor = wire.Visitor(book)
    assert "owned" not in without_secrets(visitor.answer(given, b"x"))
    assert json.loads(visitor.answer(moved(2, S=2500)))["state"]["answered"] == 2


@pytest.mark.parametrize(
    "message", ["", "[1]", "7", "null", "{", "[" * 60_000, "x" * 70_000, b"no line", b"{\n", b"\xff\n"]
)
def test_a_message_that_is_none_is_refused(message):
    with pytest.raises(ValueError):
        wire.read(message)


def test_what_is_no_number_for_a_browser_is_null():
    assert wire.plain({"y": [1.5, float("nan"), float("-inf")]}) == '{"y":[1.5,null,null]}'


def test_nothing_stays_of_a_visitor_who_left(book):
    visitor = wire.Visitor(book)
    visitor.answer(moved(1, S=2500))
    page = weakref.ref(visitor._widgets[0])
    visitor.end()
    del visitor
    gc.collect()
    assert page() is None


def test_a_notebook_that_shows_what_no_page_can_is_refused(tmp_path):
    for source in ("1", "'text'", "import pathlib\npathlib.Path()"):
        pages.book(tmp_path / "odd.ipynb", source, "Odd")
        with pytest.raises(ValueError, match=r"odd\.ipynb must show widgets, HTML or Markdown"):
            wire.Book(tmp_path / "odd.ipynb")


def test_text_and_widgets_stand_in_the_notebooks_order(tmp_path):
    source = """from npcmem.lessons import exercise, say
say("It is {x:.2f} and $$\\\\frac{{a}}{{b}}$$, for $3.", x=0.5)
"""
    pages.book(tmp_path / "text.ipynb", source, "Text")
    notebook = json.loads((tmp_path / "text.ipynb").read_text("utf-8"))
    cells = notebook["cells"]
    told = {
        "cell_type": "markdown",
        "id": "m",
        "metadata": {},
        "source": "## A $k^*$\n\n| a | b |\n|:--|:--|\n| 1 | 2 |",
    }
    cells.insert(0, told)
    cells.insert(1, {**told, "metadata": {"tags": ["notebook-only"]}, "source": "for readers of the notebook"})
    cells.append({**cells[-1], "source": "exercise('How many?', 4.0)\n"})
    cells.append({**cells[-1], "source": "x = 1\n"})
    (tmp_path / "text.ipynb").write_text(json.dumps(notebook), "utf-8")
    book = wire.Book(tmp_path / "text.ipynb")
    heading, sentence, widget = book.parts
    assert '<h2>A <span class="math">\\(k^*\\)</span></h2>' in heading and "<table>" in heading
    assert "0.50" in sentence and "\\frac{a}{b}" in sentence and "$3." in sentence and widget == 0
    assert "readers" not in "".join([heading, sentence])


def test_a_lessons_tasks_and_figures_answer_without_a_kernel():
    wire.without_a_kernel()
    book = wire.Book(pages.NOTEBOOKS / LESSONS[1].notebook)
    states = json.loads(book.first)
    kinds = [state["kind"] for state in states]
    visitor = wire.Visitor(book)
    for at, kind in enumerate(kinds):
        if kind == "figure":
            (one, *_) = states[at]["controls"] or [None]
            if one is None:
                continue
            values = {**states[at]["values"], one["name"]: one["most"]}
            answer = json.loads(visitor.answer({"at": at, "state": {"values": values}}))
            assert answer["at"] == at and answer["state"]["card"]["figure"] != states[at]["card"]["figure"]
        elif not states[at]["spec"]["options"]:
            answer = json.loads(visitor.answer({"at": at, "state": {"given": "1e6", "moves": 1}}))
            assert answer["state"]["reply"].get("right", False) is False
            assert answer["state"]["reply"].get("off", "too high").endswith("too high.") or kind == "exercise"
    assert {"guess", "exercise", "figure"} <= set(kinds)
    assert json.loads(visitor.answer({"at": 0, "state": {"given": "<b>", "moves": 2, "kind": "x"}}))["state"]


@pytest.mark.parametrize(("name", "sentence"), [("", "no .ipynb in it"), ("none.ipynb", "no such file")])
def test_a_crowd_without_a_notebook_is_one_sentence(capsys, tmp_path, name, sentence):
    assert main(["dashboard", "--crowd", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.endswith(f"{sentence}\n")


# --- the server ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served():
    with publish.crowd(base_url="/games/") as found:
        yield found


@pytest.fixture
def url(served):
    return served[0]


def ask(url: str, path: str, data: bytes | None = None, **headers: str) -> tuple[int, str, dict[str, str]]:
    request = urllib.request.Request(url + path, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), dict(error.headers)


def test_every_page_stands_where_voila_has_it(url):
    code, text, _ = ask(url, "")
    assert code == 200 and all(f'href="voila/render/{page.notebook}"' in text for page in PAGES)
    for page in (*PAGES, *LESSONS):
        code, text, headers = ask(url, f"voila/render/{page.notebook}?v=1&S=2500")
        said = page_title(pages.NOTEBOOKS / page.notebook)
        assert code == 200 and said in html.unescape(text) and 'aria-current="page"' in text
        assert "Server" not in headers and "default-src 'self'" in headers["Content-Security-Policy"]
        without_secrets(text)


def test_the_health_address_answers(url):
    assert ask(url, "health")[:2] == (200, "ok\n")


@pytest.mark.parametrize(
    "path",
    [
        "nope",
        "voila/render/",
        "voila/render/..%2f..%2fpyproject.toml",
        "voila/render/../../pyproject.toml",
        "voila/static/../crowd.py",
        "voila/files/which-memory.ipynb",
        "api/kernels",
        "live/nope.ipynb",
        "live/lessons/nope.ipynb",
        "live/lessons/../which-memory.ipynb",
        "voila/render/lessons/",
        "voila/static/../mathjax-tex-svg.js",
        "live/which-memory.ipynb",
        "%00",
    ],
)
def test_nothing_else_is_there(url, path):
    code, text, _ = ask(url, path)
    assert code in (400, 404)
    assert "import" not in without_secrets(text)


def test_what_a_browser_has_is_not_sent_again(url):
    for page in (PAGES[0], LESSONS[0]):
        html_of_page = ask(url, f"voila/render/{page.notebook}")[1]
        (script,) = re.findall(r'data-script="[./]*(voila/static/\w+\.js)"', html_of_page)
        _, _, headers = ask(url, script)
        assert "immutable" in headers["Cache-Control"]
        assert ask(url, script, **{"If-None-Match": headers["Etag"]})[0] == 304


async def speak(url: str, *messages: str | bytes, path: str = f"live/{pages.NOTEBOOK.name}") -> list[str | None]:
    """Return what a line answers to messages sent one after the other; None where it was closed."""
    line = await websocket_connect(f"{url}{path}".replace("http", "ws", 1), max_message_size=2**26)
    answers = []
    for message in messages:
        try:
            await line.write_message(message, binary=isinstance(message, bytes))
        except WebSocketClosedError:
            return [*answers, None]
        answers.append(await asyncio.wait_for(line.read_message(), 30))
    line.close()
    return answers


def works(url: str) -> None:
    (answer,) = asyncio.run(speak(url, json.dumps(moved(1, S=2500))))
    assert json.loads(answer)["state"]["view"]["headline"] == view({**START, "S": 2500}).headline


def test_a_slider_is_answered_over_the_line(url):
    works(url)


def test_another_sites_page_gets_no_line(url):
    from tornado.httpclient import HTTPClientError, HTTPRequest

    request = HTTPRequest(f"{url}live/{PAGES[0].notebook}".replace("http", "ws", 1), headers={"Origin": "http://else"})
    with pytest.raises(HTTPClientError, match="403"):
        asyncio.run(_connect(request))


async def _connect(request) -> None:
    await websocket_connect(request)


def test_a_file_too_large_is_refused_before_it_is_read(served):
    url, process = served
    before = psutil.Process(process.pid).memory_info().rss
    head = json.dumps({"content": {"want": "upload", "control": "telemetry", "file": "x.csv"}}).encode()
    (answer,) = asyncio.run(speak(url, head + b"\n" + bytes(200 * 2**20)))
    assert answer is None
    assert psutil.Process(process.pid).memory_info().rss < before + 60 * 2**20
    works(url)


def test_a_post_of_200_mb_is_refused_before_it_is_read(served):
    url, process = served
    host, port = url.split("/")[2].split(":")
    before = psutil.Process(process.pid).memory_info().rss
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(f"POST /games/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: {200 * 2**20}\r\n\r\n".encode())
        try:
            for _ in range(200):
                line.sendall(bytes(2**20))
        except OSError:
            pass
        else:
            pytest.fail("the server took it all")
    assert psutil.Process(process.pid).memory_info().rss < before + 60 * 2**20
    works(url)


def test_who_does_not_wait_for_the_answer_loses_the_line(url):
    async def hurry() -> int:
        line = await websocket_connect(f"{url}live/{pages.NOTEBOOK.name}".replace("http", "ws", 1))
        for at in range(50):
            await line.write_message(json.dumps(moved(at + 1, S=2500 + at)))
        answers = 0
        while await asyncio.wait_for(line.read_message(), 30) is not None:
            answers += 1
        return answers

    assert asyncio.run(hurry()) < 50
    works(url)


def test_messages_that_are_none_end_the_line_and_nothing_else(url):
    for message in ("[", "[" * 60_000, "x" * 100_000, b"no line", "7"):
        assert asyncio.run(speak(url, message)) == [None]
    works(url)


@pytest.mark.slow
def test_ten_thousand_bad_links_leave_the_server_as_it_was(served):
    url, process = served
    odd = (
        "?S=%s",
        "?S=-%s",
        "?S=1e%s",
        "?v=%s",
        "?model=<script>%s",
        "?S=NaN&m=%s",
        "?pace=%s&" + "a=1&" * 120,
        "?%%%s",
    )
    works(url)
    before = psutil.Process(process.pid).memory_info().rss
    for start in range(0, 10_000, 100):
        links = [odd[at % len(odd)] % at for at in range(start, start + 100)]
        answers = asyncio.run(speak(url, *(json.dumps({"state": {"link": link}}) for link in links)))
        assert len(answers) == 100 and None not in answers
        without_secrets("".join(answers))
        code, text, _ = ask(url, f"voila/render/{pages.NOTEBOOK.name}?" + urllib.request.quote(links[0][1:]))
        assert code == 200
    assert psutil.Process(process.pid).memory_info().rss < before + 50 * 2**20
    works(url)


# --- Voila, used as badly --------------------------------------------------------------------------


@pytest.mark.slow
def test_voila_says_nothing_and_answers_afterwards():
    with pages.voila(notebooks=pages.NOTEBOOKS, base_url="/games/", warm_kernels=0) as (url, process):
        before = psutil.Process(process.pid).memory_info().rss
        assert ask(url, "health")[:2] == (200, "ok\n")
        for at in range(10_000):
            path = (
                "nope-%d.ipynb",
                "voila/render/no-%d.ipynb",
                "voila/files/%d.py",
                "voila/tree/%d",
                "live/%d",
                "?x=%d",
            )
            code, text, _ = ask(url, path[at % len(path)] % at)
            assert code in (200, 302, 403, 404) and "import " not in without_secrets(text)
        with pytest.raises(OSError):
            urllib.request.urlopen(urllib.request.Request(url, bytes(200 * 2**20)), timeout=60)
        _, text, _ = ask(url, f"voila/render/{pages.NOTEBOOK.name}")
        kernel = re.search(r'"kernelId": "([\w-]+)"', text).group(1)
        without_secrets(re.sub(r"npcmem\.dashboards\.page\.Page object", "", text))  # how a kernel writes any widget
        path = f"api/kernels/{kernel}/channels"
        assert asyncio.run(speak(url, "x" * (200 * 2**20), path=path))[-1] is None
        assert ask(url, "health")[:2] == (200, "ok\n")
        assert psutil.Process(process.pid).memory_info().rss < before + 400 * 2**20


# --- in a browser ----------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("page", [*PAGES, *LESSONS, *TEACHING], ids=lambda page: page.notebook)
def test_a_page_is_quiet_under_its_policy_and_asks_one_host(browser, url, page):
    here = pages.Visit(browser)
    here.page.goto(f"{url}voila/render/{page.notebook}")
    here.page.wait_for_selector("#rendered_cells > *" if page in TEACHING else ".npc-chart[data-drawn]")
    here.page.wait_for_timeout(500)
    assert here.complaints == [] and here.foreign(url) == []
    assert here.page.title() == page_title(pages.NOTEBOOKS / page.notebook)
    assert here.page.locator(".site-nav [aria-current]").inner_text() == page.title if page in PAGES else "Lessons"
    here.close()


@pytest.mark.browser
def test_a_page_finds_its_server_again_with_its_numbers(visit, tmp_path):
    port = pages.free_port()
    where = ("npcmem.cli", "dashboard", "--crowd", "--port", str(port))
    ready = f"http://127.0.0.1:{port}/health"
    with pages.server(*where, ready=ready):
        here = visit().open(f"http://127.0.0.1:{port}/voila/render/{pages.NOTEBOOK.name}")
        here.type("S", "4000")
        here.page.wait_for_function("location.search.includes('S=4000')")
    here.type("m", "300")  # nobody is there to hear it
    with pages.server(*where, ready=ready):
        told = "|".join(tile.big for tile in view({**START, "S": 4000, "m": 300}).tiles)
        here.page.wait_for_function(
            "told => [...document.querySelectorAll('.npc-tile strong')].map(n => n.textContent).join('|') === told",
            arg=told,
            timeout=30_000,
        )


def test_the_script_beside_the_pages_names_no_host():
    assert "//" not in "".join(
        line.split("// ")[0]
        for line in (Path(wire.__file__).parent / "static/crowd.js").read_text("utf-8").splitlines()
    )
