"""What a visitor keeps, in a real Chromium: each page's JSON, and each page on paper."""

from __future__ import annotations

import json
import re
from datetime import date

import pytest
from axe_playwright_python.sync_playwright import Axe

from npcmem.dashboards import cost_per_player, every_number, summary_interval, watch_prefix, which_memory
from npcmem.dashboards.page import HERE
from npcmem.serve import PAGES
from tests import pages, pdf

pytestmark = pytest.mark.browser
BUILDS = {
    "cost-per-player.ipynb": cost_per_player,
    "which-memory.ipynb": which_memory,
    "summary-interval.ipynb": summary_interval,
    "watch-the-prefix.ipynb": watch_prefix,
    "every-number.ipynb": every_number,
}
ODD = {
    **{
        "model": "claude-opus-4-8",
        "pace": "casual",
        "turns": 37,
        "S": 2500,
        "m": 210,
        "o": 90,
        "s": 260,
        "think": 77.0,
    },
    **{"players": 250_000.0, "strategy": "summarise-every-4", "recall": 90, "policy": "summarise-every-4"},
    **{"player": "drawn", "who": 9, "by": "gpt-5-mini", "verdict": "wrong"},
}
MOST = {"cost-per-player.ipynb": 1}  # sheets of paper, for the page that is handed to a producer; else two
CROWD = pytest.mark.parametrize("serves", ["crowd"], indirect=True)  # what paper shows is the page's own doing
CARDS = "#1a2029", "#11151b"  # the ground of dark cards, and of the dark page


@pytest.fixture(params=[page.notebook for page in PAGES])
def notebook(request):
    return request.param


def scenario_of(notebook: str):
    """Return a page of the package at a scenario of its own."""
    made = BUILDS[notebook]()
    made.set(**{name: value for name, value in ODD.items() if name in made.values})
    assert made.errors == {} and made.address
    return made


def open_at(here, site, notebook, made):
    """Open a page at the scenario of ``made`` and wait until it shows it."""
    here.open(f"{site}voila/render/{notebook}?{made.address}")
    here.page.wait_for_function(
        "told => document.querySelector('.npc-headline').textContent === told", arg=made.view["headline"]
    )
    return here


def download(here, name):
    with here.page.expect_download() as waiting:
        here.page.get_by_role("button", name=f"Download {name}").click()
    return waiting.value


def test_each_pages_json_parses_and_is_what_stands_there(visit, site, notebook):
    made = scenario_of(notebook)
    here = open_at(visit(), site, notebook, made)
    file = download(here, "JSON")
    told = json.loads(file.path().read_text("utf-8"))
    assert file.suggested_filename == "npcmem.json"
    assert told["headline"] == here.headline()
    assert [tile["big"] for tile in told["tiles"]] == here.tiles()
    assert told["link"]["query"] == here.page.url.partition("?")[2]
    assert {name: one["value"] for name, one in told["scenario"].items()} == pytest.approx(dict(made.values))
    assert told == json.loads(made._json())


HELD = """() => {
    const node = document.activeElement, box = node.getBoundingClientRect();
    return { name: node.ariaLabel ?? node.textContent, size: [box.width, box.height] }; }"""


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_what_one_may_keep_is_reached_by_keyboard_and_passes_axe(visit, site, width, scheme):
    here = visit(width=width, color_scheme=scheme).open(f"{site}voila/render/{PAGES[0].notebook}")
    here.page.locator(".npc-actions button").first.focus()
    for name in ("Copy link", "Download CSV", "Download JSON", "Print"):
        held = here.page.evaluate(HELD)
        assert held["name"] == name and min(held["size"]) >= 24
        here.page.keyboard.press("Tab")
        here.page.keyboard.press("Shift+Tab")
        assert here.page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
        here.page.keyboard.press("Tab")
    assert here.page.evaluate("document.documentElement.scrollWidth") == width
    assert [found["id"] for found in Axe().run(here.page).response["violations"]] == []


@CROWD
@pytest.mark.parametrize("width", [390, 320])
def test_no_label_of_a_tile_is_wider_than_its_tile(visit, site, notebook, width):
    here = visit(width=width).open(f"{site}voila/render/{notebook}")
    assert (
        here.page.evaluate(
            "[...document.querySelectorAll('.npc-tile h3')].filter(node => node.scrollWidth > node.clientWidth).length"
        )
        == 0
    )


@pytest.mark.parametrize("serves", ["voila"], indirect=True)
def test_each_page_prints_under_voila_as_well(visit, site, notebook):
    made = scenario_of(notebook)
    here = open_at(visit(width=390, color_scheme="dark"), site, notebook, made)
    printed = here.page.pdf(format="A4")
    assert 1 <= pdf.page_count(printed) <= MOST.get(notebook, 2)
    assert_light(printed, made)


@CROWD
@pytest.mark.parametrize(
    ("width", "scheme", "paper", "odd"),
    [
        (1440, "light", "A4", False),
        (390, "dark", "Letter", False),
        (390, "light", "A4", True),
        (1440, "dark", "Letter", True),
    ],
)
def test_each_page_prints_to_two_sheets_at_most_and_light(visit, site, notebook, width, scheme, paper, odd):
    made = scenario_of(notebook) if odd else BUILDS[notebook]()
    here = open_at(visit(width=width, color_scheme=scheme), site, notebook, made)
    printed = here.page.pdf(format=paper)
    pages.SHOTS.mkdir(parents=True, exist_ok=True)
    name = f"print-{notebook.removesuffix('.ipynb')}{'-odd' if odd else ''}-{width}-{scheme}-{paper}.pdf"
    (pages.SHOTS / name).write_bytes(printed)
    assert 1 <= pdf.page_count(printed) <= MOST.get(notebook, 2)
    assert_light(printed, made)
    assert here.complaints == []


def assert_light(printed: bytes, made) -> None:
    """The charts' colours are those of a light page: of the palette, and none of what replaces it on a dark one."""
    drawn = pdf.colours(printed)
    in_charts = set(re.findall(r"#[0-9a-f]{6}", json.dumps(made.view["charts"], default=str)))
    assert drawn & in_charts & set(on_dark())
    assert not drawn & dark_only() - in_charts


def on_dark() -> dict[str, str]:
    """Return the palette's colours with what stands for each on a dark card."""
    block = re.search(r"const ON_DARK = \{(.*?)\};", (HERE / "static/page.js").read_text("utf-8"), re.S).group(1)
    return dict(re.findall(r'"(#\w+)": "(#\w+)"', block))


def dark_only() -> set[str]:
    """Return the colours that only a dark page has."""
    return {*on_dark().values(), *CARDS} - set(on_dark())


SHEET = """() => {
    const root = document.querySelector('.npc'), right = root.getBoundingClientRect().right + 1;
    const every = (selector, around = root) => [...around.querySelectorAll(selector)];
    const seen = node => node.getClientRects().length > 0;
    const told = node => [...node.children].map(one => one.textContent);
    const drawn = box => { const svg = box.querySelector('.main-svg');
        return svg?.clientWidth === box.clientWidth && svg.clientHeight === box.clientHeight; };
    const shown = every('*').filter(node => seen(node) && !node.closest('svg'));
    const charts = every('.npc-chart:not([hidden]) .npc-plotbox');
    return {
        outside: shown.filter(node => node.getBoundingClientRect().right > right).map(node => node.className),
        sticky: shown.filter(node => getComputedStyle(node).position === 'sticky').length,
        widgets: every('.site-nav, button, input, select, summary', document).filter(seen).length,
        charts: charts.length, drawn: charts.filter(drawn).length,
        scenario: Object.fromEntries(every('.npc-inputs dl > div').map(told)),
        foot: root.querySelector('.npc-foot').innerText, link: root.querySelector('.npc-foot a').href,
    }; }"""


def sheet(here):
    """Return what stands on a page that is about to be printed, what is cut off and what should not be there."""
    here.page.emulate_media(media="print")
    here.page.wait_for_selector(".npc-sheet")
    return here.page.evaluate(SHEET)


@CROWD
@pytest.mark.parametrize("width", [1440, 390])
def test_a_sheet_has_its_scenario_its_link_and_its_dates_and_nothing_to_press(visit, site, notebook, width):
    made = scenario_of(notebook)
    here = open_at(visit(width=width, color_scheme="dark"), site, notebook, made)
    found = sheet(here)
    assert (found["outside"], found["sticky"], found["widgets"]) == ([], 0, 0)
    assert found["charts"] == found["drawn"] == len(made.view["charts"])
    labels = {one["name"]: one["label"] for one in made.controls}
    assert found["scenario"] == {labels[name]: text for name, text in made.view["told"].items()}
    assert found["link"] == here.page.url and found["link"].endswith(made.address)
    assert found["link"] in found["foot"] and made.view["prices"] in found["foot"]
    assert re.search(rf"Printed {date.today():%Y-%m}-\d\d\.$", found["foot"])


LOOK = """[...document.querySelectorAll('.npc-plotbox')].slice(0, 1).map(box => {
    const colour = node => [getComputedStyle(node).fill, getComputedStyle(node).stroke];
    const svg = box.querySelector('.main-svg');
    const drawn = [...svg.querySelectorAll('path, text')].map(colour);
    return [box.clientWidth, box.clientHeight, svg.clientWidth, ...drawn]; })"""


@CROWD
def test_the_screen_is_as_it_was_after_printing(visit, site, notebook):
    here = visit(color_scheme="dark").open(f"{site}voila/render/{notebook}")
    here.page.wait_for_timeout(300)
    before = here.page.evaluate(LOOK)
    here.page.pdf()
    here.page.wait_for_function("!document.querySelector('.npc-paper')")
    here.page.wait_for_timeout(300)
    assert here.page.evaluate(LOOK) == before


def test_the_print_button_prints(visit, site):
    here = visit()
    here.page.add_init_script("window.print = () => (window.printed = true)")
    here.open(f"{site}voila/render/{PAGES[0].notebook}")
    here.page.get_by_role("button", name="Print").click()
    here.page.wait_for_function("window.printed")


def test_a_sheet_says_what_its_link_cannot_hold(visit, site):
    here = visit().open(f"{site}voila/render/{pages.NOTEBOOK.name}")
    rows = [f"s{session},{1_700_000_000 + 240 * turn}" for session in range(5) for turn in range(10)]
    name = "<b>mine & yours</b>.csv"
    here.page.locator("[data-name=telemetry] input").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": "\n".join(["session,ts", *rows]).encode()}
    )
    here.page.wait_for_function("document.querySelector('[data-name=think] .npc-number').value === '240'")
    told = json.loads(download(here, "JSON").path().read_text("utf-8"))
    assert told["scenario"]["pace"]["told"] == f"Yours: {name}" and told["link"]["lacks"] == ["pace"]
    found = sheet(here)
    assert f"It cannot hold Yours: {name}." in found["foot"]
    assert found["scenario"]["Players' pace"] == f"Yours: {name}"


def test_a_lesson_prints_light_and_with_its_figures_in_full(visit):
    lesson = pages.NOTEBOOKS / "lessons" / "1-the-quadratic.ipynb"
    with pages.voila(notebooks=lesson, warm_kernels=0) as (url, _):
        here = visit(width=390, color_scheme="dark").open(url)
        here.page.wait_for_function("!document.querySelector('.npc-figure:not([data-drawn])')")
        printed = here.page.pdf(format="A4")
        pages.SHOTS.mkdir(parents=True, exist_ok=True)
        (pages.SHOTS / "print-lesson-390-dark-A4.pdf").write_bytes(printed)
        assert not pdf.colours(printed) & dark_only()
        here.page.emulate_media(media="print")
        here.page.wait_for_selector(".npc-paper .npc-figure")
        widths = "[...document.querySelectorAll('.npc-figure .main-svg:first-child')].map(svg => svg.clientWidth)"
        assert min(here.page.evaluate(widths)) > 600
