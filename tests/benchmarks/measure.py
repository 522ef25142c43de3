"""What the benchmarks in a browser have in common: bytes moved, servers at rest, numbers as they are told."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Sequence

import numpy as np
import psutil

from tests import pages


def count_bytes(here: pages.Visit) -> dict[str, float]:
    """Return bytes by "http" and "websocket", counted from now on; a websocket's as they are before compression."""
    moved = {"http": 0.0, "websocket": 0.0}

    def frame(event: dict) -> None:
        payload, binary = event["response"]["payloadData"], event["response"]["opcode"] == 2
        moved["websocket"] += 0.75 * len(payload) if binary else len(payload.encode())  # binary comes in base64

    session = here.context.new_cdp_session(here.page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda e: moved.update(http=moved["http"] + e["encodedDataLength"]))
    session.on("Network.webSocketFrameReceived", frame)
    session.on("Network.webSocketFrameSent", frame)
    return moved


def total_mb(moved: dict[str, float]) -> float:
    return sum(moved.values()) / 1e6


def rest(process: subprocess.Popen, still_s: float = 1.0, most_s: float = 60.0) -> None:
    """Wait until a server and its children have used no processor for a while: kernels started ahead are ready."""
    begun = quiet_since = time.monotonic()
    before = _cpu_s(process)
    while quiet_since + still_s > time.monotonic() < begun + most_s:
        time.sleep(0.25)
        now = _cpu_s(process)
        if now - before > 0.02:
            quiet_since = time.monotonic()
        before = now


def _cpu_s(process: subprocess.Popen) -> float:
    used = 0.0
    server = psutil.Process(process.pid)
    for one in (server, *server.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            used += sum(one.cpu_times()[:2])
    return used


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile, NaN where there are no values."""
    return tuple(np.percentile(values, (50, 95))) if len(values) else (np.nan, np.nan)


def spread(values: Sequence[float]) -> str:
    """Return milliseconds as "median / 95th percentile"."""
    return "{:5.0f} / {:5.0f} ms".format(*percentiles(values))


def verdict(value: float, most: float) -> str:
    return "met" if value <= most else "missed"
