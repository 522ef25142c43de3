"""Start the pages as they are published for a crowd: one process, no kernels."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests import pages


@contextlib.contextmanager
def crowd(
    *options: str, notebooks: Path = pages.NOTEBOOKS, base_url: str = "/"
) -> Iterator[tuple[str, subprocess.Popen]]:
    """Serve a page or a folder of them; yields its address and the server's process."""
    port = pages.free_port()
    url = f"http://127.0.0.1:{port}{base_url}"
    arguments = ("npcmem.cli", "dashboard", str(notebooks), "--crowd", "--port", str(port), "--base-url", base_url)
    with pages.server(*arguments, *options, ready=f"{url}health") as process:
        yield url, process
