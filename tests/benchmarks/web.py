"""How long the pages take: opening one, and from a key on a slider to the last chart redrawn. `make bench-web`.

Everything is measured in one run on one machine, with server and browser sharing it:

* each served page, by Voila (its kernel warm) and by the crowd's server, with an empty browser cache: from a key to
  the last chart in view drawn, over all its unfolded sliders in turn; the browser-only limit, which plays the same
  moves again in the same page with the answers at hand; from navigation until a key has changed what the page says;
  megabytes over HTTP and the websocket;
* the estimate of cost per player beside the same written plainly in Streamlit, Panel and Dash;
* a plain page of ipywidgets sliders and plotly FigureWidgets under Voila's defaults.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import ElementHandle
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from npcmem.serve import LESSONS, PAGES, ServedPage  # noqa: E402
from tests import chromium, pages, publish  # noqa: E402
from tests.benchmarks import side_by_side  # noqa: E402
from tests.benchmarks.measure import count_bytes, percentiles, rest, spread, total_mb, verdict  # noqa: E402

WATCH = Path(__file__).with_name("pages.js")
MOST_RATIO, MOST_S, MOST_MB = 1.5, 2.5, 8.0  # the targets: key to redraw over its limit, navigation, bytes moved
WARM_UP = 12  # keys before those timed: the first ones of a visit wait for the browser's compiler, limit or not
REST_MS, PATIENCE_MS = 350, 2500  # a move is over when nothing was drawn for so long, and without effect after so long
SLIDERS = ".npc-panel > fieldset input[type=range], .npc-drag input[type=range]"
CHOICES = ".npc-panel > fieldset select"
PARTS = ("pages", "rivals", "plain")
SERVERS = {"voila": pages.voila, "crowd": publish.crowd}

PLAIN = """
import ipywidgets as w, plotly.graph_objects as go
from npcmem.dashboards.scenario import controls
from npcmem.dashboards.summary_interval import view
from npcmem.dashboards.controls import defaults
names = ("S", "m", "s", "rho", "ttl", "think")
start = defaults(controls())
sliders = {n: w.FloatSlider(value=start[n], min=c.least, max=c.most, description=n)
           for n in names for c in controls() if c.name == n}
figures = [go.FigureWidget(card.figure) for card in view(start).charts]
tile = w.HTML(view(start).tiles[1].big)
def moved(_):
    shown = view({**start, **{n: s.value for n, s in sliders.items()}})
    tile.value = shown.tiles[1].big
    for figure, card in zip(figures, shown.charts):
        with figure.batch_update():
            for trace, new in zip(figure.data, card.figure["data"]):
                trace.x, trace.y = new["x"], new["y"]
for slider in sliders.values():
    slider.observe(moved, "value")
w.VBox([tile, *sliders.values(), *figures])
"""


@dataclass(frozen=True, eq=False)
class Control:
    """A control of an open page and the key that moves it: its place among those ``selector`` finds."""

    selector: str
    at: int
    name: str
    key: str

    def press(self, here: pages.Visit) -> None:
        """Press the key, or its opposite on the way back from the end of the track."""
        handle = _handle(here, self.selector, self.at)
        handle.focus()
        here.page.keyboard.press(_turned(self.key) if _turned_back(handle) else self.key)


@dataclass(frozen=True, eq=False)
class Measured:
    """A page's figures: milliseconds by control and of the limit, seconds of each visit, megabytes of a first visit."""

    moves_ms: dict[str, list[float]]
    still: list[str]  # controls that draw no chart in view
    limit_ms: list[float]
    cold_s: list[float]
    warm_s: float
    mb: float

    @property
    def all_ms(self) -> list[float]:
        return [lag for lags in self.moves_ms.values() for lag in lags]

    @property
    def ratio(self) -> float:
        return percentiles(self.all_ms)[1] / percentiles(self.limit_ms)[1]

    @property
    def slowest(self) -> tuple[str, float]:
        medians = {name: float(np.median(lags)) for name, lags in self.moves_ms.items() if lags}
        name = max(medians, key=medians.get, default="none")
        return name, medians.get(name, np.nan)

    @property
    def verdicts(self) -> dict[str, str]:
        return {
            "key": verdict(self.ratio, MOST_RATIO),
            "navigation": verdict(float(np.median(self.cold_s)), MOST_S),
            "bytes": verdict(self.mb, MOST_MB),
        }


# --- keys -------------------------------------------------------------------------------------------


def _handle(here: pages.Visit, selector: str, at: int) -> ElementHandle:
    return here.page.locator(selector).nth(at).element_handle()


def _turned(key: str) -> str:
    pairs = {"Right": "Left", "Down": "Up", "Up": "Down"}
    return next(key.replace(one, other) for one, other in pairs.items() if one in key)


def _turned_back(handle: ElementHandle) -> bool:
    """Return whether a control is on its way back from the end its key leads to, until it has come to the other."""
    return handle.evaluate(
        """node => {
          const [least, at, most] = node.options
            ? [0, node.selectedIndex, node.options.length - 1] : [+node.min, +node.value, +node.max];
          if (at === most) node.dataset.turned = 1;
          if (at === least) delete node.dataset.turned;
          return "turned" in node.dataset; }"""
    )


def _settled(here: pages.Visit, control: Control) -> tuple[float, bool] | None:
    """Press and return milliseconds to the last change and whether a chart in view was drawn; None: no change."""
    control.press(here)
    return here.page.evaluate(f"bench.settled({REST_MS}, {PATIENCE_MS})")


def find_controls(here: pages.Visit) -> tuple[list[Control], list[str], bool]:
    """Return the unfolded sliders, or the first choice, each with the smallest step that draws a chart in view.

    The names of those that draw none come second. Where no control does, all that change words come first, and False.
    """
    selector = SLIDERS if here.page.locator(SLIDERS).count() else CHOICES
    count = here.page.locator(selector).count() if selector == SLIDERS else 1
    keys = ("ArrowRight", "PageUp") if selector == SLIDERS else ("ArrowDown",)
    drawing, speaking, names = {}, {}, []
    for at in tqdm(range(count), desc="controls", leave=False, disable=None):
        name = _handle(here, selector, at).evaluate("node => node.closest('[data-name]').dataset.name")
        names.append(name)
        for one in (Control(selector, at, name, key) for key in keys):
            if (change := _settled(here, one)) is not None:
                (drawing if change[1] else speaking).setdefault(name, one)
            if name in drawing:
                break
    found = drawing or speaking
    if not found:
        raise RuntimeError(f"{here.page.url}: none of its controls ({', '.join(names)}) changed anything")
    return [*found.values()], [name for name in names if name not in found], bool(drawing)


def press_in_turn(
    here: pages.Visit, controls: Sequence[Control], charts_only: bool, times: int
) -> tuple[dict[str, list[float]], list[float]]:
    """Return the milliseconds of each control's moves, and those of each move again, which is its limit.

    A move without effect has none.
    """
    lags: dict[str, list[float]] = {one.name: [] for one in controls}
    limit = []
    for at in tqdm(range(times), desc="keys", leave=False, disable=None):
        one = controls[at % len(controls)]
        change = _settled(here, one)
        if change is not None and change[1] >= charts_only:
            lags[one.name].append(change[0])
            limit.append(here.page.evaluate(f"bench.again({REST_MS})"))
    return lags, limit


# --- a page -----------------------------------------------------------------------------------------


def until_working(here: pages.Visit, url: str, control: Control) -> float:
    """Return seconds from navigation until a key has changed what the page says, or in a lesson the key's figure."""
    start = time.perf_counter()
    here.page.goto(url, wait_until="commit")
    here.working()
    handle = _handle(here, control.selector, control.at)
    handle.focus()
    here.page.wait_for_function("node => bench.says(node) !== null", arg=handle)
    before = handle.evaluate("node => bench.says(node)")
    here.page.keyboard.press("PageUp" if control.selector == SLIDERS else control.key)
    here.page.wait_for_function("([node, was]) => bench.says(node) !== was", arg=[handle, before])
    return time.perf_counter() - start


def visit(browser: pages.Browser) -> pages.Visit:
    here = pages.Visit(browser, bypass_csp=True)  # waiting takes eval
    here.page.add_init_script(f"addEventListener('DOMContentLoaded', () => {{ {WATCH.read_text('utf-8')} }})")
    return here


def moves(
    browser: pages.Browser, url: str, times: int
) -> tuple[list[Control], dict[str, list[float]], list[str], list[float]]:
    """Open a page and press its controls.

    Returns the controls, the milliseconds of each, the names of those that draw no chart, and the limit's milliseconds.
    """
    here = visit(browser).open(url)
    here.page.wait_for_timeout(1000)  # all charts in view are drawn
    controls, still, charts_only = find_controls(here)
    press_in_turn(here, controls, charts_only, WARM_UP)
    lags, limit = press_in_turn(here, controls, charts_only, times)
    here.close()
    return controls, lags, still, limit


def measure(browser: pages.Browser, url: str, process: subprocess.Popen, times: int, visits: int) -> Measured:
    rest(process)
    controls, lags, still, limit = moves(browser, url, times)
    cold, moved_mb = [], []
    for at in tqdm(range(visits), desc="visits", leave=False, disable=None):
        rest(process)
        here = visit(browser)
        moved = count_bytes(here)
        cold.append(until_working(here, url, controls[0]))
        moved_mb.append(total_mb(moved))
        if at < visits - 1:
            here.close()
    rest(process)
    warm = until_working(here, url, controls[0])
    here.close()
    return Measured(lags, still, limit, cold, warm, max(moved_mb))


# --- the table --------------------------------------------------------------------------------------


def name_of(page: ServedPage) -> str:
    return page.notebook.removesuffix(".ipynb")


WIDTH = max(len(name_of(page)) for page in (*PAGES, *LESSONS))
HEAD = (
    f"{'page':{WIDTH}} {'key to redraw p50/p95':>21}  {'limit p50/p95':>16}  {f'p95 <= {MOST_RATIO} x':>13}"
    f"  {f'opens <= {MOST_S} s':>15}  {'again':>6}  {f'moves <= {MOST_MB:g} MB':>16}  slowest control (p50)"
)


def row(name: str, found: Measured) -> str:
    said = found.verdicts
    slowest, median = found.slowest
    still = f"; no chart in view by {', '.join(found.still)}" if found.still else ""
    return (
        f"{name:{WIDTH}} {spread(found.all_ms):>21}  {spread(found.limit_ms):>16}"
        f"  {found.ratio:4.2f} x {said['key']:>6}"
        f"  {np.median(found.cold_s):6.2f} s {said['navigation']:>6}  {found.warm_s:4.2f} s"
        f"  {found.mb:6.2f} MB {said['bytes']:>6}  {slowest} {median:.0f} ms of {len(found.moves_ms)}{still}"
    )


def every_page(browser: pages.Browser, kind: str, chosen: Sequence[ServedPage], times: int, visits: int) -> None:
    """Print a row for each page as one of the ``SERVERS`` serves it, then which targets are missed."""
    print(f"{kind}\n{HEAD}", flush=True)
    found = {}
    with SERVERS[kind](notebooks=pages.NOTEBOOKS) as (url, process):
        time.sleep(45 if kind == "voila" else 5)  # the kernels of the lessons start after those of the pages
        for page in chosen:
            found[page] = measure(browser, f"{url}voila/render/{page.notebook}", process, times, visits)
            print(row(name_of(page), found[page]), flush=True)
    every = [(name_of(page), what, said) for page, one in found.items() for what, said in one.verdicts.items()]
    missed = [f"{name} ({what})" for name, what, said in every if said == "missed"]
    print(f"{len(every) - len(missed)} of {len(every)} targets met; missed: {', '.join(missed) or 'none'}", flush=True)


# --- FigureWidgets ----------------------------------------------------------------------------------


def plain(browser: pages.Browser, visits: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder) / "plain.ipynb"
        cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": PLAIN}
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        book.write_text(json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
        port = pages.free_port()
        command = ("voila", str(book), "--no-browser", f"--port={port}")
        with pages.server(*command, ready=f"http://127.0.0.1:{port}/voila/templates/lab/static/voila.js"):
            times = []
            for _ in range(visits):
                here = pages.Visit(browser)
                moved = count_bytes(here)
                start = time.perf_counter()
                here.page.goto(f"http://127.0.0.1:{port}/", wait_until="commit")
                here.page.wait_for_function(
                    "document.querySelectorAll('.js-plotly-plot .main-svg').length >= 3", timeout=90_000
                )
                times.append(time.perf_counter() - start)
                here.close()
            opens = f"opens in {np.median(times):.2f} s (median of {len(times)}), moves {total_mb(moved):.2f} MB"
            print(f"a plain page of FigureWidgets, cold browser cache: {opens}", flush=True)


def choose(names: str) -> list[ServedPage]:
    """Return the pages named, all where none is; ends the program at a name that there is not."""
    known = {name_of(page): page for page in (*PAGES, *LESSONS)}
    wanted = [name for name in names.split(",") if name] or list(known)
    if unknown := [name for name in wanted if name not in known]:
        sys.exit(f"--pages must be of {', '.join(known)}; got {', '.join(unknown)}")
    return [known[name] for name in wanted]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--presses", type=int, default=30, help="keys on each page and rival")
    options.add_argument("--visits", type=int, default=3, help="visits with an empty browser cache to each")
    options.add_argument("--pages", default="", help="notebooks without .ipynb, with commas between; all without it")
    options.add_argument("--servers", choices=SERVERS, nargs="*", default=[*SERVERS], help="that serve the pages")
    options.add_argument("--skip", choices=PARTS, nargs="*", default=[], help="parts to leave out")
    args = options.parse_args()
    chosen = choose(args.pages)
    if not chromium.find():
        sys.exit("No Chromium for the web benchmark.")
    with pages.chromium() as browser:
        cores = f"{pages.os.cpu_count()} cores, Python {platform.python_version()}"
        print(f"{platform.machine()}, {cores}, Chromium {browser.version}", flush=True)
        if "pages" not in args.skip:
            for kind in args.servers:
                every_page(browser, kind, chosen, args.presses, args.visits)
        if "rivals" not in args.skip:
            side_by_side.compare(browser, args.presses, args.visits)
        if "plain" not in args.skip:
            plain(browser, min(args.visits, 3))


if __name__ == "__main__":
    main()
