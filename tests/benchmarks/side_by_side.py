"""The estimate of cost per player beside the same written plainly in Streamlit, Panel and Dash.

The three are installed into a virtual environment of the benchmark's own, never into the project's. All show the same
numbers from the same function; a chart counts as redrawn when its drawing has changed and its figure is another one.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, TimeoutError
from tqdm import tqdm

from tests import pages, publish
from tests.benchmarks.measure import count_bytes, percentiles, rest, spread, total_mb
from tests.benchmarks.rivals.estimate import CHARTS, NAMES, SLIDERS, shown, track

ENVIRONMENT = pages.ROOT / "build" / ".rivals"  # with a dot, as what reads the project's files passes over it
PACKAGES = ("streamlit", "panel", "dash")
APPS = Path(__file__).with_name("rivals")
WATCH = APPS / "charts.js"
SLIDER = "S"
HEIGHT = 1800  # of the window, so that all charts are in view on each of the four
REST_MS, PATIENCE_MS = 500, 8000


@dataclass(frozen=True)
class Contender:
    """One way to write the estimate: ``serve()`` gives its address and process, ``slider`` finds the one to press."""

    name: str
    serve: Callable[[], contextlib.AbstractContextManager[tuple[str, subprocess.Popen]]]
    slider: str
    at: int = 0

    def handle(self, here: pages.Visit) -> Locator:
        return here.page.locator(self.slider).nth(self.at)


@dataclass(frozen=True)
class Result:
    """Seconds until it worked, megabytes until then, milliseconds of each key, the fewest charts that a key changed."""

    opens_s: list[float]
    mb: float
    keys_ms: list[float]
    least_changed: int

    @property
    def measures(self) -> dict[str, float]:
        p50, p95 = percentiles(self.keys_ms)
        return {"opening": float(np.median(self.opens_s)), "bytes": self.mb, "key p50": p50, "key p95": p95}


# --- the contenders -------------------------------------------------------------------------------


def install() -> Path | None:
    """Return the Python of the rivals' environment, made here where it is missing; None where that cannot be."""
    python, ready = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "ready"
    plotly = f"plotly=={importlib.metadata.version('plotly')}"  # the same plotly.js for all
    wanted = (*PACKAGES, plotly, "--editable", f"{pages.ROOT}[crowd]")
    if ready.exists() and ready.read_text("utf-8") == " ".join(wanted):
        return python
    where = ENVIRONMENT.relative_to(pages.ROOT)
    print(f"Installing {', '.join(PACKAGES)} into {where}, about a gigabyte and two minutes ...", flush=True)
    pip = (str(python), "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20", *wanted)
    for command in ((sys.executable, "-m", "venv", str(ENVIRONMENT)), pip):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"Skipping the comparison: its packages could not be installed. Is there a network? ({last})")
            return None
    ready.write_text(" ".join(wanted), "utf-8")
    return python


def _version(python: Path, package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@contextlib.contextmanager
def _served(python: Path, path: str, ready: str, *command: str) -> Iterator[tuple[str, subprocess.Popen]]:
    port = pages.free_port()
    url = f"http://127.0.0.1:{port}/"
    arguments = [word.format(port=port) for word in command]
    with pages.server(*arguments, ready=f"{url}{ready}", python=str(python)) as process:
        yield f"{url}{path}", process


def contenders(python: Path) -> tuple[list[Contender], list[Contender]]:
    """Return ours, from both servers, and each framework as its own command serves it."""
    book = pages.NOTEBOOKS / "cost-per-player.ipynb"
    own = {"Voila": partial(pages.voila, notebooks=book), "--crowd": partial(publish.crowd, notebooks=book)}
    ours = [Contender(f"npcmem, {way}", serve, f"[data-name={SLIDER}] input[type=range]") for way, serve in own.items()]
    quiet = ("--server.headless=true", "--server.fileWatcherType=none", "--browser.gatherUsageStats=false")
    streamlit = ("streamlit", "run", str(APPS / "streamlit_app.py"), "--server.port={port}", *quiet)
    host = "--allow-websocket-origin=127.0.0.1:{port}"
    panel = ("panel", "serve", str(APPS / "panel_app.py"), "--port={port}", host, "--warm")
    dash = ("tests.benchmarks.rivals.dash_app", "--port={port}")
    ways = {
        "streamlit": lambda: _served(python, "", "_stcore/health", *streamlit),
        "panel": lambda: _served(python, "panel_app", "panel_app", *panel),
        "dash": lambda: _served(python, "", "", *dash),
    }
    thumbs, at = "[role=slider], input[type=range]", NAMES.index(SLIDER)
    rivals = [Contender(f"{name} {_version(python, name)}", serve, thumbs, at) for name, serve in ways.items()]
    return ours, rivals


# --- measuring ------------------------------------------------------------------------------------


def open_page(here: pages.Visit, url: str, contender: Contender) -> float:
    """Return seconds from navigation until all charts are drawn and a key has changed one."""
    start = time.perf_counter()
    here.page.goto(url, wait_until="commit")
    here.page.wait_for_function(f"window.charts?.drawn({CHARTS})", timeout=90_000)
    here.page.evaluate(f"charts.arm({CHARTS})")
    handle, value, waited_s = contender.handle(here), None, 0.0
    while not here.page.evaluate("charts.changed() > 0"):
        now = handle.evaluate("node => node.value ?? node.getAttribute('aria-valuenow')")
        if value is None or now == value or waited_s > 5:  # a key that comes before the page listens is lost
            value, waited_s = now, 0.0
            handle.focus()  # again, since a slider that is made anew has lost it
            here.page.keyboard.press("ArrowRight")
        waited_s += _changed_within(here, 0.25)
        if time.perf_counter() - start > 120:
            raise RuntimeError(f"{contender.name}: no key on slider {SLIDER} changed a chart")
    return time.perf_counter() - start


def _changed_within(here: pages.Visit, seconds: float) -> float:
    """Wait until a chart has changed, or so long; returns ``seconds``."""
    with contextlib.suppress(TimeoutError):
        here.page.wait_for_function("charts.changed() > 0", timeout=1000 * seconds)
    return seconds


def press(here: pages.Visit, contender: Contender, times: int) -> list[tuple[float, int]]:
    """Return for each key the milliseconds to the last chart redrawn and how many charts it changed."""
    contender.handle(here).focus()
    found = []
    for _ in tqdm(range(times), desc=contender.name, leave=False, disable=None):
        here.page.evaluate(f"charts.arm({CHARTS})")
        here.page.keyboard.press("ArrowRight")
        found.append(here.page.evaluate(f"charts.settled({REST_MS}, {PATIENCE_MS})"))
        if not np.isfinite(found[-1][0]) or not found[-1][1]:
            raise RuntimeError(f"{contender.name}: a key on slider {SLIDER} redrew no chart")
    return found


def measure(browser: pages.Browser, contender: Contender, times: int, visits: int) -> Result:
    with contender.serve() as (url, process):
        opens, mb = [], []
        for at in range(visits + 1):  # the first is for the server, which loads and compiles at its first visitor
            rest(process)
            here = pages.Visit(browser, height=HEIGHT, bypass_csp=True)  # waiting takes eval
            here.page.add_init_script(path=WATCH)
            moved = count_bytes(here)
            opens.append(open_page(here, url, contender))
            mb.append(total_mb(moved))
            if at < visits:
                here.close()
        rest(process)  # where a server makes ready for the next visitor
        press(here, contender, min(times, 5))
        keys = press(here, contender, times)
        here.close()
    return Result(opens[1:], max(mb[1:]), [lag for lag, _ in keys], min(changed for _, changed in keys))


# --- the table ------------------------------------------------------------------------------------


HEAD = f"{'the same estimate in':28} {'key to redraw p50/p95':>21}  {'opens':>10}  {'moves':>9}  charts a key changes"


def row(name: str, found: Result) -> str:
    return (
        f"{name:28} {spread(found.keys_ms):>21}  {np.median(found.opens_s):8.2f} s  {found.mb:6.2f} MB"
        f"  {found.least_changed} of {CHARTS}"
    )


def ahead(name: str, ours: Result, other: str, theirs: Result) -> str:
    """Return the sentence that says in which measures ours is ahead of another, and by how much."""
    ratio = {what: theirs.measures[what] / own for what, own in ours.measures.items()}
    told = ", ".join(f"{what} {times:.2f} x" for what, times in ratio.items())
    behind = [what for what, times in ratio.items() if times <= 1]
    return f"{name} and {other}: {'ahead in each' if not behind else 'NOT ahead in ' + ', '.join(behind)} ({told})"


def view_ms(times: int) -> float:
    """Return the median milliseconds of the function behind all of them, each time for another value of the slider."""
    values, took = {one.name: track(one)[2] for one in SLIDERS}, []
    for _ in range(times + 2):  # the first ones fill caches that a server has filled
        values[SLIDER] += 1
        start = time.perf_counter()
        shown(**values)
        took.append(1000 * (time.perf_counter() - start))
    return float(np.median(took[2:]))


def compare(browser: pages.Browser, times: int, visits: int) -> None:
    """Print all side by side; a sentence instead where the others cannot be installed."""
    python = install()
    if python is None:
        return
    print(f"{HEAD} (the estimate itself takes {view_ms(10):.0f} ms on all of them)", flush=True)
    ours, rivals = contenders(python)
    found: dict[str, Result] = {}
    for one in (*ours, *rivals):
        found[one.name] = measure(browser, one, times, visits)
        print(row(one.name, found[one.name]), flush=True)
    for one in ours:
        for other in rivals:
            print(ahead(one.name, found[one.name], other.name, found[other.name]), flush=True)
