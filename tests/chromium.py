"""Where the browser tests find a Chromium; run as a program, it installs one where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
)


def find() -> str | None:
    """Return the path of a Chromium: CHROMIUM, one on the PATH, or playwright's own."""
    named = os.environ.get("CHROMIUM")
    found = named if named and Path(named).exists() else next(filter(None, map(shutil.which, NAMES)), None)
    return found or _playwrights_own()


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Try the Debian package as root, then playwright's download."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=False, stdout=subprocess.DEVNULL)
    if find() is None:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False, timeout=600)


if __name__ == "__main__":
    if find() is None:
        print("No Chromium here; installing one for the browser tests ...", flush=True)
        install()
    print(f"Chromium for the browser tests: {find() or 'none'}")
