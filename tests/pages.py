"""Start the real servers under a memory bound and drive their pages in a real Chromium."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
from playwright.sync_api import Browser, BrowserContext, Page, TimeoutError, sync_playwright

from tests.chromium import FLAGS, find

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
NOTEBOOK = NOTEBOOKS / "summary-interval.ipynb"
SHOTS = ROOT / "build" / "screenshots"
MEMORY_BOUND = 16 * 2**30
WORKING = "document.querySelectorAll('.npc-chart[data-drawn]').length >= 1"


@contextlib.contextmanager
def server(
    *command: str, ready: str, env: dict[str, str] | None = None, python: str = sys.executable
) -> Iterator[subprocess.Popen]:
    """Run a server in a process group of its own until ``ready`` answers; end the whole group afterwards."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BOUND, MEMORY_BOUND))

    process = subprocess.Popen(
        [python, "-m", *command],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        preexec_fn=bound,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(process, ready)
        yield process
    finally:
        children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        _, alive = psutil.wait_procs([*children, *([psutil.Process(process.pid)] if process.poll() is None else [])], 5)
        for one in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        process.wait(10)


def _wait(process: subprocess.Popen, url: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with code {process.returncode} before it answered")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.2)
    raise TimeoutError(f"no answer from {url} in {seconds:g} s")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def voila(
    *options: str, warm_kernels: int = 1, notebooks: Path = NOTEBOOK, base_url: str = "/"
) -> Iterator[tuple[str, subprocess.Popen]]:
    """Serve a page, or a folder of them as ``make dashboard`` does; yields its address and the server's process."""
    port = free_port()
    url = f"http://127.0.0.1:{port}{base_url}"
    arguments = ("npcmem.cli", "dashboard", str(notebooks), "--port", str(port), "--warm-kernels", str(warm_kernels))
    ready = f"{url}voila/templates/npcmem/static/plotly-basic.min.js"
    wanted = warm_kernels * (len([*notebooks.glob("*.ipynb")]) if notebooks.is_dir() else 1)
    with server(*arguments, "--base-url", base_url, *options, ready=ready) as process:
        until = time.monotonic() + 60
        while len(kernels(process)) < wanted and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(6 if wanted else 0)  # a kernel that has started still has to run its notebook
        yield url, process


def book(path: Path, source: str, title: str) -> None:
    """Write a notebook of one code cell."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, "title": title}
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
    path.write_text(json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}), "utf-8")


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[str]:
    """Run JupyterLab on a folder with a copy of the notebook; yields the notebook's address."""
    port = free_port()
    (folder / NOTEBOOK.name).write_text(NOTEBOOK.read_text("utf-8"), "utf-8")
    options = [
        "--no-browser",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
        "--allow-root",
    ]
    options += [
        f"--ServerApp.root_dir={folder}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    env = {"JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces")}
    with server("jupyterlab", *options, ready=f"http://127.0.0.1:{port}/api", env=env):
        yield f"http://127.0.0.1:{port}/lab/tree/{NOTEBOOK.name}"


def kernels(process: subprocess.Popen) -> list[psutil.Process]:
    """Return the running kernels of a server."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if any("ipykernel" in part for part in child.cmdline()):
                found.append(child)
    return found


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=list(FLAGS))
        yield browser
        browser.close()


class Visit:
    """A visit to a page: what it asked for, what the console said, and its controls."""

    def __init__(self, browser: Browser, width: int = 1440, height: int = 900, **context: object) -> None:
        self.context: BrowserContext = browser.new_context(viewport={"width": width, "height": height}, **context)
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        self.page.on("console", lambda line: line.type == "error" and self.complaints.append(f"console: {line.text}"))

    def open(self, url: str) -> Visit:
        self.page.goto(url)
        return self.working()

    def working(self, seconds: float = 60) -> Visit:
        try:
            self.page.wait_for_function(WORKING, timeout=1000 * seconds)
        except TimeoutError:
            SHOTS.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=SHOTS / "not-working.png")
            raise
        return self

    def run_in_lab(self, url: str) -> Visit:
        """Open a notebook in JupyterLab and run all its cells from the menu."""
        self.page.goto(url)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        self.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
        for _ in range(5):  # Lab drops the command while its kernel connects
            self.page.get_by_role("menuitem", name="Run", exact=True).click()
            self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            with contextlib.suppress(TimeoutError):
                self.page.wait_for_selector(".npc", timeout=8_000)
                break
        return self.working()

    def foreign(self, url: str) -> list[str]:
        """Return the requests that went to another host."""
        own = url.split("/", 3)[2]
        return [
            u for u in self.requests if u.split(":")[0] in ("http", "https", "ws", "wss") and u.split("/", 3)[2] != own
        ]

    def tiles(self) -> list[str]:
        return self.page.locator(".npc-tile strong").all_inner_texts()

    def headline(self) -> str:
        return self.page.locator(".npc-headline").inner_text()

    def value(self, name: str) -> str:
        return self.page.locator(f"[data-name={name}] :is(.npc-number, select)").input_value()

    def unfold(self) -> None:
        self.page.evaluate("document.querySelectorAll('.npc-panel details').forEach(node => node.open = true)")

    def type(self, name: str, text: str) -> None:
        """Type a value into a control's number field, as a visitor would."""
        field = self.page.locator(f"[data-name={name}] .npc-number")
        field.fill(text)
        field.press("Enter")
        field.blur()

    def error(self, name: str) -> str:
        return self.page.locator(f"[data-name={name}] .npc-error").inner_text()

    def close(self) -> None:
        self.context.close()
