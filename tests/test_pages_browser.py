"""The pages in a real Chromium, from both servers and in JupyterLab: what one sees is what the package computes."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import urllib.error
import urllib.request
from functools import lru_cache

import pytest
from axe_playwright_python.sync_playwright import Axe

from npcmem.dashboards import cost_per_player, watch_prefix, which_memory
from npcmem.dashboards import summary_interval as build
from npcmem.dashboards.controls import Choice, Slider, defaults
from npcmem.dashboards.scenario import controls
from npcmem.dashboards.summary_interval import view
from npcmem.serve import LESSONS, PAGES, front
from tests import pages

pytestmark = pytest.mark.browser
CONTROLS = {control.name: control for control in controls()}
SLIDERS = [name for name, control in CONTROLS.items() if isinstance(control, Slider)]


@pytest.fixture(scope="module")
def alone(serves):
    """The address of one page that is served by itself."""
    with serves(notebooks=pages.NOTEBOOK) as (url, _):
        yield url


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with pages.lab(tmp_path_factory.mktemp("lab")) as url:
        yield url


def shown_values(here):
    """Read every control back from the page, as the package would."""
    return {
        name: control.parse(here.value(name))
        for name, control in CONTROLS.items()
        if isinstance(control, Slider | Choice)
    }


def check_shown(here, seconds=10):
    """What stands on the page equals what the package computes for the controls as they stand.

    Soon: an answer may move controls that have not been touched, such as the write price of another lifetime.
    """
    until = time.monotonic() + seconds
    while True:
        expected = view(shown_values(here))
        told = [tile.big for tile in expected.tiles]
        if (here.tiles(), here.headline()) == (told, expected.headline) or time.monotonic() > until:
            break
        here.page.wait_for_timeout(50)
    assert (here.tiles(), here.headline()) == (told, expected.headline)
    return told


def move_every_slider(here):
    here.unfold()
    here.type("m", "900")  # room for a longer reply
    changed = {}
    for name in SLIDERS:
        before = check_shown(here)
        handle = here.page.locator(f"[data-name={name}] input[type=range]")
        handle.focus()
        for key in ("PageUp", "ArrowRight") if name != "r" else ("PageUp", "PageUp"):
            was = here.value(name)
            handle.press(key)
            assert here.value(name) != was, f"{key} does not move {name}"
        changed[name] = check_shown(here) != before
        here.type(name, "900" if name == "m" else str(CONTROLS[name].default))
    moved_nothing = {name for name, did in changed.items() if not did} - {
        "min"
    }  # a minimum below every prompt moves nothing
    assert not moved_nothing


def test_the_page_opens_quietly_and_from_one_host(visit, alone):
    here = visit().open(alone)
    check_shown(here)
    here.page.wait_for_timeout(1000)
    assert here.complaints == []
    assert here.foreign(alone) == []
    assert here.page.title().startswith("How often should this character summarise?")
    assert here.page.evaluate("document.documentElement.lang") == "en"


def test_moving_each_slider_shows_what_the_package_computes(visit, alone):
    here = visit().open(alone)
    move_every_slider(here)
    assert here.complaints == []


def test_moving_each_slider_in_lab_shows_what_the_package_computes(visit, lab):
    here = visit().run_in_lab(lab)
    address = here.page.url
    move_every_slider(here)
    check_cards(here)
    assert here.complaints == []
    assert here.foreign(lab) == []
    assert here.page.url == address


def test_the_tiles_follow_while_the_slider_is_dragged(visit, alone):
    here = visit().open(alone)
    box = here.page.locator("[data-name=S] input[type=range]").bounding_box()
    middle = box["y"] + box["height"] / 2
    here.page.mouse.move(box["x"] + 0.15 * box["width"], middle)
    here.page.mouse.down()
    seen = set()
    for step in range(20):
        here.page.mouse.move(box["x"] + (0.15 + 0.03 * step) * box["width"], middle)
        here.page.wait_for_timeout(40)
        seen.add(here.tiles()[1])
    assert len(seen) > 5
    here.page.mouse.up()
    check_shown(here)


def check_cards(here):
    """Every chart card is higher than 250 px, fits the window and has its plot drawn in its own size."""
    here.page.evaluate("document.querySelectorAll('.npc-chart').forEach(node => node.scrollIntoView())")
    here.page.wait_for_function("document.querySelectorAll('.npc-chart[data-drawn]').length === 3")
    here.page.wait_for_function(
        """[...document.querySelectorAll('.npc-plotbox')].every(box => {
             const svg = box.querySelector('.main-svg');
             return svg && Math.abs(svg.clientWidth - box.clientWidth) <= 1 && box.clientHeight > 250; })"""
    )
    return here.page.evaluate("[...document.querySelectorAll('.npc-chart')].map(node => node.clientWidth)")


@pytest.mark.parametrize("width", [1440, 1100, 390])
def test_nothing_shifts_while_a_slider_moves(visit, alone, width):
    here = visit(width=width).open(alone)
    here.unfold()
    top = "document.querySelector('.npc-plotbox').getBoundingClientRect().top + scrollY"
    before = here.page.evaluate(top)
    for name, text in (
        ("ttl", "400"),
        ("ttl", "7300"),
        ("turns", "7"),
        ("turns", "300"),
        ("w", "3"),
        ("think", "1800"),
    ):
        here.type(name, text)
        check_shown(here)
        assert here.page.evaluate(top) == pytest.approx(before, abs=1), (name, text)


def test_charts_follow_the_width_of_the_window(visit, alone):
    here = visit().open(alone)
    wide = check_cards(here)
    here.page.set_viewport_size({"width": 900, "height": 900})
    narrow = check_cards(here)
    here.page.set_viewport_size({"width": 1440, "height": 900})
    assert check_cards(here) == wide
    assert narrow[0] < wide[0] - 300


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_no_sideways_scroll_and_no_axe_violation(visit, alone, width, scheme):
    here = visit(width=width, color_scheme=scheme).open(alone)
    here.unfold()
    check_cards(here)
    assert here.page.evaluate("document.documentElement.scrollWidth") == width
    found = Axe().run(here.page)
    assert [(v["id"], [node["html"][:120] for node in v["nodes"][:3]]) for v in found.response["violations"]] == []


def test_a_link_restores_every_control(visit, alone):
    page = build()
    page.set(model="claude-haiku-4-5", pace="article-60s", turns=90, S=3000, m=120, s=200, u=40, ttl=1800.0)
    here = visit().open(f"{alone}?{page.address}")
    here.page.wait_for_function("document.querySelector('[data-name=S] .npc-number').value === '3000'")
    assert shown_values(here) == pytest.approx(dict(page.values))
    check_shown(here)
    here.type("S", "4000")
    here.page.wait_for_function("location.search.includes('S=4000')")
    again = visit().open(here.page.url)
    again.page.wait_for_function("document.querySelector('[data-name=S] .npc-number').value === '4000'")
    assert shown_values(again) == shown_values(here)


@pytest.mark.parametrize(
    "query",
    ["?S=banana", "?S=-1", "?S=1e999", "?model=<script>alert(1)</script>", "?v=99", "?S=NaN&m=inf", "?" + "a=1&" * 200],
)
def test_a_broken_link_gives_a_sentence_and_defaults(visit, alone, query):
    here = visit().open(alone + query)
    here.page.wait_for_function("document.querySelector('.npc-banner').textContent !== ''")
    assert here.page.locator(".npc-banner").inner_text().endswith(("default.", "shown."))
    assert shown_values(here) == pytest.approx(defaults(CONTROLS.values()))
    assert here.complaints == []


def test_bad_values_get_a_sentence_beside_the_control_and_the_page_lives_on(visit, alone):
    here = visit().open(alone)
    for name, text, sentence in (
        ("S", "-5", "Static prompt must be >= 0 tokens, got -5"),
        ("m", "1e300", "Exchange must be <= 1,500 tokens"),
        ("turns", "many", "Turns must be a number of turns, got 'many'"),
        ("m", "50", "Reply o (80 tokens) cannot exceed exchange m (50 tokens)"),
    ):
        good = here.tiles()
        here.type(name, text)
        here.page.wait_for_function(
            "([name, text]) => document.querySelector(`[data-name=${name}] .npc-error`).textContent.startsWith(text)",
            arg=[name, sentence],
        )
        assert here.tiles() == good
        here.type(name, str(CONTROLS[name].default))
        here.page.wait_for_function("[...document.querySelectorAll('.npc-error')].every(n => n.textContent === '')")
        check_shown(here)


def upload(here, content, name="players.csv"):
    here.page.locator("[data-name=telemetry] input").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content}
    )


def test_a_csv_of_players_becomes_the_pace(visit, alone):
    here = visit().open(alone)
    rows = [f"s{session},{1_700_000_000 + 240 * turn}" for session in range(5) for turn in range(10)]
    upload(here, "\r\n".join(["session,ts", *rows, "s1,nonsense"]).encode())
    here.page.wait_for_function("document.querySelector('[data-name=think] .npc-number').value === '240'")
    told = here.page.locator("[data-name=telemetry] .npc-help").inner_text()
    assert told.startswith("5 sessions, 50 player turns, 45 gaps; 1 of 51 rows kept aside.")
    assert "neither ISO 8601 nor epoch" in told
    assert here.tiles()[3].replace("\u00a0", " ") == "98 % · 98 %"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"who,when\n1,2\n", "no column for the session"),
        (b"session,ts\na,2026-01-01\n", "none of the 1 sessions has 2 player turns"),
        (os.urandom(7 * 2**20), "is not UTF-8 text"),
        (b"x" * (10 * 2**20), "the file must be at most 8.0 MB, got 10.0 MB"),
    ],
    ids=["empty", "columns", "no gaps", "garbage", "too large"],
)
def test_a_bad_file_gets_a_sentence_and_the_page_lives_on(visit, alone, content, sentence):
    here = visit().open(alone)
    upload(here, content)
    here.page.wait_for_function(
        "text => document.querySelector('[data-name=telemetry] .npc-error').textContent.includes(text)", arg=sentence
    )
    here.type("S", "2500")
    check_shown(here)
    assert here.complaints == []


def test_the_csv_download_is_what_the_page_shows(visit, alone):
    here = visit().open(alone)
    with here.page.expect_download() as waiting:
        here.page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text("utf-8").splitlines()
    assert lines[0].startswith("summarise_every_k_exchanges,")
    assert len(lines) == 1 + CONTROLS["turns"].default


def test_plotly_reaches_the_browser_once(visit, alone):
    here = visit().open(alone)
    here.page.goto("about:blank")
    here.open(alone)
    transferred = here.page.evaluate(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('plotly')).map(e => e.transferSize)"
    )
    assert transferred == [0]


def test_closing_the_page_frees_its_kernel_within_the_culling_time(browser):
    with pages.voila("--cull-after-s", "5", warm_kernels=0) as (url, process):
        here = pages.Visit(browser).open(url)
        assert len(pages.kernels(process)) == 1
        time.sleep(8)
        here.type("S", "2500")
        check_shown(here)  # an open page is never culled
        here.close()
        until = time.monotonic() + 5 + 3
        while pages.kernels(process) and time.monotonic() < until:
            time.sleep(0.2)
        assert pages.kernels(process) == []


def test_a_warm_kernel_that_has_waited_longer_than_the_culling_time_still_serves(browser):
    with pages.voila("--cull-after-s", "5", warm_kernels=1) as (url, _):
        time.sleep(12)
        here = pages.Visit(browser, width=1440, height=900).open(url)
        assert here.tiles()
        here.page.close()


def test_no_source_and_no_other_template_for_visitors(visit, alone):
    here = visit().open(alone + "?voila-template=base&template=base&theme=dark")
    check_shown(here)
    assert "from npcmem" not in here.page.content()


# --- several pages ---------------------------------------------------------------------------------

TABLE_PAGE = """
from npcmem.dashboards.controls import Slider
from npcmem.dashboards.page import ChartCard, Column, Page, Row, Table, View
names = ("Full history", "Sliding window", "Summaries", "Facts and recall")
colours = ("#0072b2", "#8a8f98", "#d55e00", "#009e73")
columns = (Column("Policy"), Column("Cost", "per session"), Column("Kept", "facts"), Column("Longest", "tokens"),
           Column("Note", align="left"))
def view(values):
    n = values["n"]
    usd = [0.0004 * n * n, 0.011 * n, 0.009 * n, 0.01 * n]
    best = usd.index(min(usd))
    rows = tuple(Row((name, f"${cost:.4f}", f"{10 * at} %", f"{n * 160 * (at + 1):,}", "as it is said"), colour,
                     "cheapest" if at == best else "", at == 1, cost / max(usd))
                 for at, (name, cost, colour) in enumerate(zip(names, usd, colours)))
    part = lambda part, colour, share: {"type": "bar", "orientation": "h", "name": part, "y": list(names), "width": 0.6,
        "x": [cost * share for cost in usd], "marker": {"color": colour}}
    bars = {"data": [part("fresh", "#0072b2", 0.7), part("cached", "#e69f00", 0.3)], "layout": {"barmode": "stack",
        "margin": {"l": 120}, "xaxis": {"tickprefix": "$"}, "yaxis": {"autorange": "reversed"}}}
    steps = {"data": [{"type": "bar", "name": "step", "x": [at], "y": [1], "base": [at], "marker": {"color": "#009e73"}}
        for at in range(3)], "layout": {"bargap": 0.1, "xaxis": {"tickvals": [0, 1, 2], "ticktext": ["a", "b", "c"]},
        "yaxis": {"title": {"text": "steps"}}}}
    side = ChartCard("Steps", "Each on the one before.", steps, "Bars in three steps.", wide=False)
    stack = ChartCard("What is paid for", "By policy.", bars, "Stacked bars by policy.", tall=True)
    return View(f"{names[best]} costs least.", f"At {n} turns.", (), (side, side, stack),
                tables=(Table("Policies side by side", "For one session.", columns, rows, after=0),))
turns = Slider("n", "Turns", "n", "turns of a session", 2, 60, 20, "turns")
Page("Which memory?", "A page for the tests.", (turns,), view)
"""


# A page of the site: its module, and a scenario in which every control but the minimum has something to change.
SITE = {
    "which-memory": (sys.modules[which_memory.__module__], "?v=1&m=900"),
    "watch-the-prefix": (sys.modules[watch_prefix.__module__], "?v=1&m=900&player=drawn&policy=summarise-every-4"),
    "cost-per-player": (sys.modules[cost_per_player.__module__], "?v=1&m=900"),
}


@pytest.fixture(params=SITE)
def served(request, site):
    """A page's address, its module, and a scenario of it."""
    return f"{site}voila/render/{request.param}.ipynb", *SITE[request.param]


def read_back(here, controls):
    return {one.name: one.parse(here.value(one.name)) for one in controls if isinstance(one, Slider | Choice)}


@lru_cache(maxsize=64)
def computed(module, values):
    return module.view(dict(values))


def shows_its_view(here, module, seconds=10):
    """What stands on the page is what the package computes for its controls; returns all that is told in words."""
    until = time.monotonic() + seconds
    while True:  # a model or a pace fills in other controls, which are read again
        told = computed(module, tuple(read_back(here, module.controls()).items()))
        cells = [cell for table in told.tables for row in table.rows for cell in row.cells[1:]]
        expected = (told.headline, [tile.big for tile in told.tiles], cells)
        shown = (here.headline(), here.tiles(), here.page.locator(".npc-table td").all_text_contents())
        if shown == expected or time.monotonic() > until:
            break
        here.page.wait_for_timeout(50)
    assert shown == expected
    plain = told.plain()
    return str([plain[name] for name in ("headline", "answer", "tiles", "charts", "tables")])


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_each_page_opens_quietly_fits_and_passes_axe(visit, site, served, width, scheme):
    url, module, _ = served
    here = visit(width=width, color_scheme=scheme).open(url)
    shows_its_view(here, module)
    here.unfold()
    here.page.evaluate("document.querySelectorAll('.npc-chart:not([hidden])').forEach(node => node.scrollIntoView())")
    here.page.wait_for_function("!document.querySelector('.npc-chart:not([hidden]):not([data-drawn])')")
    quiet_and_fitting(here, site, width)
    assert here.page.evaluate("document.documentElement.lang") == "en"


def test_each_control_of_each_page_changes_what_is_shown(visit, served):
    url, module, query = served
    roomy = url + query
    here = visit().open(roomy)
    here.page.wait_for_function("document.querySelector('[data-name=m] .npc-number').value === '900'")
    start, moved = shows_its_view(here, module), set()
    values = read_back(here, module.controls())
    for control in module.controls():
        here.unfold()
        if isinstance(control, Slider):
            for key in ("PageUp", "ArrowRight"):
                here.page.locator(f"[data-name={control.name}] input[type=range]").press(key)
        elif isinstance(control, Choice):
            others = [option[0] for option in control.options if option[0] != values[control.name]]
            here.page.locator(f"[data-name={control.name}] select").select_option(others[-1])
        else:
            continue
        assert read_back(here, [control])[control.name] != values[control.name], control.name
        if shows_its_view(here, module) != start:
            moved.add(control.name)
        if isinstance(control, Slider) and control.name != "ttl":
            here.type(control.name, str(values[control.name]))
        else:  # what it filled in goes with it
            here.open(roomy)
            here.page.wait_for_function("document.querySelector('[data-name=m] .npc-number').value === '900'")
    assert set(values) - moved <= {"min"}  # no prompt of these is as short


def test_what_does_not_follow_the_hand_comes_when_it_rests(visit, site):
    module, _ = SITE["cost-per-player"]
    here = visit().open(f"{site}voila/render/cost-per-player.ipynb")
    for key in ("PageUp", "ArrowRight", "ArrowRight"):
        here.page.locator("[data-name=turns] input[type=range]").press(key)
    shows_its_view(here, module)
    assert here.page.locator(".npc-waits").count() == 0
    assert here.page.locator(".npc-chart:not([hidden])").count() == 4


def test_each_pages_link_restores_every_control_and_its_csv_parses(visit, served):
    url, module, _ = served
    made = {"which_memory": which_memory, "watch_prefix": watch_prefix, "cost_per_player": cost_per_player}[
        module.__name__.rsplit(".", 1)[1]
    ]()
    odd = {"model": "gpt-5-mini", "pace": "casual", "turns": 37, "S": 2500, "m": 210, "o": 90, "s": 260, "think": 77.0}
    odd |= {"recall": 90, "kept": "game-fields", "scene": 7, "policy": "summarise-every-4", "player": "drawn", "who": 9}
    made.set(**{name: value for name, value in odd.items() if name in made.values})
    assert made.errors == {}
    here = visit().open(f"{url}?{made.address}")
    here.page.wait_for_function("document.querySelector('[data-name=S] .npc-number').value === '2500'")
    assert read_back(here, module.controls()) == pytest.approx(dict(made.values))
    shows_its_view(here, module)
    with here.page.expect_download() as waiting:
        here.page.get_by_role("button", name="Download CSV").click()
    head, *rows = csv.reader(waiting.value.path().read_text("utf-8").splitlines())
    assert rows and {len(row) for row in rows} == {len(head)}
    assert len(rows) == len(module.view(dict(made.values)).table) - 1
    with here.page.expect_download() as waiting:
        here.page.get_by_role("button", name="Download JSON").click()
    assert json.loads(waiting.value.path().read_text("utf-8")) == json.loads(made._json())


def test_the_keyboard_alone_works_each_page(visit, served):
    url, module, _ = served
    here = visit().open(url)
    reached, seen = (
        set(),
        """() => {
        const node = document.activeElement, style = getComputedStyle(node);
        const named = node.closest('[data-name]')?.dataset.name ?? '';
        return [node.type ?? node.tagName, named, node.innerText ?? '', style.outlineStyle, style.visibility]; }""",
    )
    for _ in range(120):
        here.page.keyboard.press("Tab")
        kind, name, text, outline, visibility = here.page.evaluate(seen)
        if kind == "BODY":
            break
        assert outline != "none" and visibility == "visible", (kind, name, text)
        reached.add(name or text.strip())
        if (kind, name) == ("range", "S"):
            was = here.value("S")
            here.page.keyboard.press("PageUp")
            assert here.value("S") != was
            shows_its_view(here, module)
        elif kind == "SUMMARY" or here.page.evaluate("document.activeElement.tagName") == "SUMMARY":
            here.page.keyboard.press("Enter")
    assert {"Copy link", "CSV", "JSON", "Print", "npcmem", "Lessons"} <= reached
    assert {one.name for one in module.controls()} <= reached
    assert here.complaints == []


def test_a_hostile_link_to_each_page_gives_a_sentence_and_defaults(visit, served):
    url, module, _ = served
    for query in ("?S=1e999&turns=-4", "?model=%3Cscript%3Ealert(1)%3C/script%3E&policy=x&kept=x"):
        here = visit().open(url + query)
        here.page.wait_for_function("document.querySelector('.npc-banner').textContent !== ''")
        assert here.page.locator(".npc-banner").inner_text().endswith("default.")
        assert read_back(here, module.controls()) == pytest.approx(defaults(module.controls()))
        assert here.complaints == []


def test_a_csv_of_players_becomes_the_pace_of_each_page(visit, served):
    url, module, _ = served
    here = visit().open(url)
    rows = [f"s{session},{1_700_000_000 + 240 * turn}" for session in range(5) for turn in range(10)]
    upload(here, "\r\n".join(["session,ts", *rows]).encode())
    here.page.wait_for_function("document.querySelector('[data-name=think] .npc-number').value === '240'")
    assert here.value("pace") == "uploaded"
    upload(here, b"who,when\n1,2\n")
    here.page.wait_for_function(
        "document.querySelector('[data-name=telemetry] .npc-error').textContent.includes('no column for the session')"
    )
    assert here.complaints == []


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_shifts_on_any_page_while_a_slider_moves(visit, served, width):
    url, module, _ = served
    here = visit(width=width).open(url)
    here.unfold()
    tops = "[document.querySelector('.npc-plotbox').getBoundingClientRect().top + scrollY]"
    before = here.page.evaluate(tops)
    for name, text in (("turns", "80"), ("turns", "4"), ("S", "12000"), ("think", "1800"), ("ttl", "30"), ("r", "1")):
        here.type(name, text)
        shows_its_view(here, module)
        here.page.wait_for_timeout(150)
        assert here.page.evaluate(tops) == pytest.approx(before, abs=1), (name, text)


def test_the_other_pages_open_with_the_numbers_of_this_one(visit, site):
    here = visit().open(f"{site}voila/render/cost-per-player.ipynb?v=1&model=claude-sonnet-5-5&turns=25&S=2400")
    here.page.wait_for_function("document.querySelector('.site-nav [href*=which-memory]').href.includes('S=2400')")
    assert "?" not in here.page.locator(".site-nav [href*=every-number]").get_attribute("href")
    here.page.get_by_role("link", name="Which memory").click()
    here.page.wait_for_url("**/which-memory.ipynb*")
    here.working()
    here.page.wait_for_function("document.querySelector('[data-name=S] .npc-number')?.value === '2400'")
    assert (here.value("model"), here.value("turns")) == ("claude-sonnet-5-5", "25")


def test_on_a_phone_what_the_numbers_mean_can_be_read(visit, site):
    here = visit(width=390, height=844).open(f"{site}voila/render/which-memory.ipynb")
    here.page.locator(".npc-words summary").click()
    told = here.page.locator(".npc-words").inner_text()
    for sentence in here.page.locator(".npc-tile p, .npc-answer").all_text_contents():
        assert sentence in told.replace("\u00a0", " ") or sentence in told
    wide = visit(width=1440).open(f"{site}voila/render/which-memory.ipynb")
    assert not wide.page.locator(".npc-words").is_visible()


def test_the_largest_number_fits_its_box(visit, site):
    here = visit(width=390, height=844).open(f"{site}voila/render/cost-per-player.ipynb?v=1&players=10000000")
    here.page.wait_for_function("document.querySelector('[data-name=players] .npc-number').value === '10000000'")
    assert here.page.locator("[data-name=players] .npc-number").evaluate("n => n.scrollWidth <= n.clientWidth")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_the_claims_open_fit_and_filter(visit, site, width, scheme):
    here = visit(width=width, color_scheme=scheme).open(f"{site}voila/render/every-number.ipynb?verdict=wrong")
    here.page.wait_for_function("document.querySelector('.npc-headline').textContent.endsWith(': wrong.')")
    here.page.locator("[data-name=verdict] select").select_option("all")
    here.page.wait_for_function(
        "document.querySelector('.npc-headline').textContent.includes('come out as they stand')"
    )
    quiet_and_fitting(here, site, width)


@pytest.fixture(scope="module")
def tables(tmp_path_factory, serves):
    folder = tmp_path_factory.mktemp("tables")
    pages.book(folder / "which-memory.ipynb", TABLE_PAGE, "Which memory")
    pages.book(folder / "other.ipynb", "x = 1", "Another page")
    (folder / "notes.txt").write_text("not a page")
    (folder / "picture.png").write_bytes(b"not a page")
    with serves(notebooks=folder) as (url, _):
        yield url


def quiet_and_fitting(here, url, width):
    assert here.page.evaluate("document.documentElement.scrollWidth") == width
    found = Axe().run(here.page)
    assert [(v["id"], [node["html"][:120] for node in v["nodes"][:3]]) for v in found.response["violations"]] == []
    assert here.complaints == []
    assert here.foreign(url) == []


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "light"), (1440, "dark")])
def test_the_front_page_leads_to_every_page(visit, site, width, scheme):
    here = visit(width=width, color_scheme=scheme)
    here.page.goto(site)
    for cards, listed in ((".front-ask a", PAGES), (".front-lessons a", LESSONS)):
        cards = here.page.locator(cards)
        numbers = [f"{at} " if listed is LESSONS else "" for at in range(1, len(listed) + 1)]
        titles = [f"{number}{page.title}" for number, page in zip(numbers, listed, strict=True)]
        assert cards.locator("h3").all_inner_texts() == titles
        assert cards.locator("p").all_inner_texts() == [page.question for page in listed]
    here.page.evaluate("document.querySelectorAll('img').forEach(node => { node.loading = 'eager' })")
    here.page.wait_for_function("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
    quiet_and_fitting(here, site, width)
    pages.SHOTS.mkdir(parents=True, exist_ok=True)
    here.page.screenshot(path=pages.SHOTS / f"front-{width}-{scheme}.png", full_page=True)


def test_the_front_pages_figure_follows_its_slider_and_pace_by_keyboard(visit, site):
    here, shown = visit(), front.figure()
    here.page.goto(site)
    handle, read = here.page.locator(".live input[type=range]"), {}
    handle.focus()
    for key in ("Home", "End", "ArrowLeft", "PageDown"):
        here.page.keyboard.press(key)
        at = int(handle.input_value()) - 1
        pace = shown["paces"][2]
        told = [here.page.locator(f".live-{name}").inner_text() for name in ("plain", "cached", "best", "how")]
        dollars = [shown["plain"][at], pace["cached"][at], pace["best"][at]]
        assert [float(one.strip("$").replace(",", "")) for one in told[:3]] == pytest.approx(dollars, abs=0.5)
        assert told[3] == pace["names"][at]
        read[at] = told
    assert len(read) == 4
    here.page.locator("[name=pace]").nth(2).focus()
    here.page.keyboard.press("ArrowRight")
    told = here.page.locator(".live-cached").inner_text()
    assert float(told.strip("$")) == pytest.approx(shown["paces"][3]["cached"][int(handle.input_value()) - 1], abs=0.5)
    assert here.complaints == []


@pytest.mark.parametrize("width", [1440, 390])
def test_a_page_opened_from_the_front_page_answers_and_leads_back(visit, site, width):
    here = visit(width=width)
    here.page.goto(site)
    here.page.get_by_text("How often should this character summarise?").click()
    here.working()
    check_shown(here)
    links = here.page.locator(".site-nav a")
    assert links.all_inner_texts() == ["npcmem", *(page.title for page in PAGES), "Lessons"]
    assert here.page.locator(".site-nav a[aria-current=page]").all_inner_texts() == ["Summary interval"]
    quiet_and_fitting(here, site, width)
    here.type("S", "4000")
    here.page.wait_for_function("location.search.includes('S=4000')")
    again = visit(width=width).open(here.page.url)
    again.page.wait_for_function("document.querySelector('[data-name=S] .npc-number').value === '4000'")
    here.page.locator(".site-home").click()
    assert here.page.url == site


def test_a_link_leads_from_page_to_page(visit, tables):
    here = visit()
    here.page.goto(f"{tables}voila/render/other.ipynb")
    here.page.get_by_role("link", name="Which memory").click()
    here.working()
    assert here.page.locator("h1").inner_text() == "Which memory?"
    assert here.page.locator(".site-nav [aria-current]").inner_text() == "Which memory"


@pytest.mark.parametrize(
    "path",
    ["voila/tree", "voila/api/contents", "voila/files/notes.txt", "voila/files/picture.png", "voila/render/notes.txt"]
    + ["voila/files/other.ipynb", "voila/render/none.ipynb", "voila/render/%2e%2e/other.ipynb", "picture.png"],
)
def test_nothing_but_pages_is_served(tables, path):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(tables + path, timeout=10)
    assert refused.value.code == 404
    text = refused.value.read().decode()
    assert "There is no page here." in text
    assert "not a page" not in text and "picture" not in text and "//cdn" not in text


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_a_table_and_bars_follow_a_slider_in_place(visit, tables, width, scheme):
    here = visit(width=width, color_scheme=scheme).open(f"{tables}voila/render/which-memory.ipynb")
    check_cards(here)
    told = here.page.locator(".npc-legend").all_inner_texts()
    assert [text.split() for text in told] == [["step"], ["step"], ["fresh", "cached"]]
    assert here.page.locator(".npc-legend .npc-square").count() == 4
    sheet = here.page.get_by_role("table", name="Policies side by side")
    assert sheet.get_by_role("columnheader").count() == 5
    assert sheet.get_by_role("rowheader").count() == 4
    assert sheet.locator(".npc-winner th").inner_text().split()[-1] == "cheapest"
    assert "chosen" in sheet.locator(".npc-chosen th").inner_text()
    places = """[...document.querySelectorAll('.npc-table tr > *, .npc-plotbox')].map(node => {
        const box = node.getBoundingClientRect();
        return [box.left, box.top + scrollY, box.width, box.height].map(Math.round); })"""
    before = here.page.evaluate(places)
    here.page.evaluate("document.querySelectorAll('.npc-table td').forEach(node => node.seen = true)")
    here.type("n", "60")
    here.page.wait_for_function("document.querySelector('.npc-table td').textContent === '$1.4400'")
    assert sheet.locator(".npc-winner .npc-name").inner_text() == "Summaries"
    assert here.page.evaluate("[...document.querySelectorAll('.npc-table td')].every(node => node.seen)")
    assert here.page.evaluate(places) == before
    quiet_and_fitting(here, tables, width)
    pages.SHOTS.mkdir(parents=True, exist_ok=True)
    here.page.evaluate("scrollTo(0, 0)")
    here.page.screenshot(path=pages.SHOTS / f"tables-{width}-{scheme}.png", full_page=True)
