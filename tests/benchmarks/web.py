"""How long the page takes: opening it, and from a key on a slider to the last chart redrawn. `make bench-web`.

Everything is measured in one run on one machine, with server and browser sharing it:

* slider to redraw, in the browser from the key press to the last chart drawn (the kernel answers in between);
* the browser-only limit: the same key, the same charts and the same drawing calls, with both figures already
  in the browser, so that only plotly.js is left;
* from navigation until a key on a slider has changed a tile, with an empty and with a filled browser cache;
* megabytes over HTTP and over the websocket;
* the same slider to redraw on the other pages, side by side;
* the same for a plain page of ipywidgets sliders and plotly FigureWidgets under Voila's defaults.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests import chromium, pages  # noqa: E402

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

WATCH = """() => {
  window.lag = [];
  let key = 0, last = 0, timer = 0;
  addEventListener('keydown', () => { key = performance.now(); last = 0; }, true);
  addEventListener('npcdrawn', event => { // charts off screen are drawn once the hand rests
    const box = event.target.getBoundingClientRect();
    if (box.bottom > 0 && box.top < innerHeight) last = performance.now(); });
  window.settle = () => new Promise(done => {
    const look = () => (last && performance.now() - last > 400) ? done(last - key)
                       : (performance.now() - key > 3000 ? done(NaN) : setTimeout(look, 20));
    look(); }); }"""

LIMIT = """async (times) => {
  const plots = [...document.querySelectorAll('.npc-plot')].filter(p => {
    const box = p.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; });
  const states = [0, 1].map(turn => plots.map(p => ({
    data: p.data.map(t => ({...t, [t.orientation === 'h' ? 'x' : 'y']:
      (t.orientation === 'h' ? t.x : t.y).map((v, i) => v * (1 + 0.002 * turn * (i % 7)))})), layout: p.layout})));
  const lags = [];
  for (let i = 0; i < times; i++) {
    await new Promise(r => setTimeout(r, 120));
    const start = performance.now();
    await new Promise(r => requestAnimationFrame(r));
    await Promise.all(plots.map((p, at) => Plotly.react(p, states[i % 2][at].data,
      JSON.parse(JSON.stringify(states[i % 2][at].layout)), {displayModeBar: false})));
    lags.push(performance.now() - start);
  }
  return [lags, plots.length]; }"""


def seconds(label: str, values: list[float]) -> str:
    return f"  {label:50} median {np.median(values):.2f} s   max {max(values):.2f} s   (n = {len(values)})"


def megabytes(moved: dict[str, float]) -> str:
    return f"{moved['http'] / 1e6:.2f} MB HTTP + {moved['websocket'] / 1e6:.2f} MB websocket"


def quantiles(values: list[float]) -> str:
    values = [value for value in values if np.isfinite(value)]
    if not values:
        return "no chart in view changed"
    return f"p50 {np.percentile(values, 50):5.0f} ms   p95 {np.percentile(values, 95):5.0f} ms   (n = {len(values)})"


def presses(
    here: pages.Visit, name: str, times: int, keys: tuple[str, str] = ("ArrowRight", "ArrowLeft")
) -> list[float]:
    here.page.locator(f"[data-name={name}] input[type=range]").focus()
    lags = []
    for at in tqdm(range(times), desc=f"slider {name}", leave=False):
        here.page.keyboard.press(keys[at % 4 >= 2])
        lags.append(here.page.evaluate("settle()"))
    return lags


OTHERS = (("which-memory", ("S", "think")), ("watch-the-prefix", ("S", "m")))  # pages and their sliders


def others(browser: pages.Browser, times: int) -> None:
    """Print the lag of the other pages' sliders, beside the page of summary intervals in the same run."""
    with pages.voila(notebooks=pages.NOTEBOOKS, warm_kernels=1) as (url, _):
        for name, sliders in (("summary-interval", ("S", "think")), *OTHERS):
            here = pages.Visit(browser).open(f"{url}voila/render/{name}.ipynb")
            here.page.evaluate(WATCH)
            presses(here, "S", 8)
            for slider in sliders:  # by steps of a tenth, so that every press changes the map
                lags = quantiles(presses(here, slider, times, ("PageUp", "PageDown")))
                print(f"  {name:17} slider {slider:5} to last chart redrawn   {lags}", flush=True)
            lags, charts = here.page.evaluate(LIMIT, times)
            print(f"  {name:17} browser-only limit, {charts} charts in view  {quantiles(lags)}")
            here.close()


def count_bytes(here: pages.Visit) -> dict[str, float]:
    moved = {"http": 0.0, "websocket": 0.0}
    session = here.context.new_cdp_session(here.page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda e: moved.update(http=moved["http"] + e["encodedDataLength"]))
    for event in ("Network.webSocketFrameReceived", "Network.webSocketFrameSent"):
        session.on(event, lambda e: moved.update(websocket=moved["websocket"] + len(e["response"]["payloadData"])))
    return moved


def until_working(here: pages.Visit, url: str) -> float:
    """Return seconds from navigation until a key on a slider has changed a tile."""
    start = time.perf_counter()
    here.page.goto(url, wait_until="commit")
    here.working()
    before = here.tiles()[1]
    here.page.locator("[data-name=S] input[type=range]").focus()
    here.page.keyboard.press("PageUp")
    here.page.wait_for_function(
        "was => document.querySelectorAll('.npc-tile strong')[1].textContent !== was", arg=before
    )
    return time.perf_counter() - start


def ours(browser: pages.Browser, times: int, visits: int) -> None:
    with pages.voila(warm_kernels=3) as (url, _):
        cold, warm = [], []
        for _ in tqdm(range(visits), desc="visits", leave=False):
            here = pages.Visit(browser)
            moved = count_bytes(here)
            cold.append(until_working(here, url))
            first = dict(moved)
            time.sleep(6)  # the pool of warm kernels fills up again
            warm.append(until_working(here, url))
            here.close()
            time.sleep(6)
        print(seconds("navigation to a working page, cold browser cache", cold))
        print(seconds("the same, warm browser cache", warm))
        print(f"  moved by a first visit   {megabytes(first)}")
        here = pages.Visit(browser).open(url)
        here.page.evaluate(WATCH)
        presses(here, "S", 8)
        for name in ("S", "ttl"):
            print(f"  slider {name:5} to last chart redrawn   {quantiles(presses(here, name, times))}")
        lags, charts = here.page.evaluate(LIMIT, times)
        print(f"  browser-only limit, {charts} charts in view  {quantiles(lags)}")
        here.close()


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
            print(seconds("plain FigureWidget page, cold browser cache", times))
            print(f"  moved by a visit   {megabytes(moved)}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--presses", type=int, default=60)
    options.add_argument("--visits", type=int, default=5)
    args = options.parse_args()
    if not chromium.find():
        sys.exit("No Chromium for the web benchmark.")
    with pages.chromium() as browser:
        print(
            f"{platform.machine()}, {pages.os.cpu_count()} cores, Python {platform.python_version()}, {browser.version}"
        )
        others(browser, args.presses)
        ours(browser, args.presses, args.visits)
        plain(browser, min(args.visits, 3))


if __name__ == "__main__":
    main()
