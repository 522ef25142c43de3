"""Many visitors at once, for both ways to publish: memory and time to an answer. `make bench-crowd`.

Visitors speak the servers' own protocols, without a browser: they come within some seconds of each other, drag a slider
(the next move goes when the last is answered, as in the browser), and leave; and so once more. Client and server share
the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import platform
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from tornado.httpclient import AsyncHTTPClient

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from npcmem.serve import PAGES  # noqa: E402
from tests import pages, publish  # noqa: E402
from tests.visitors import CrowdVisitor, Visitor, VoilaVisitor  # noqa: E402

GiB = 2**30
CULL_AFTER_S = 30  # so that the memory afterwards can be waited for


class Load:
    """What a crowd lived through: seconds until each page stood, milliseconds of each move, the server's memory."""

    def __init__(self, process: psutil.Process) -> None:
        self.process = process
        self.arrived_s: list[float] = []
        self.moves_ms: list[float] = []
        self.faults: list[str] = []
        self.idle, self.peak, self.after = self.memory(), 0, 0
        self.cpu_before_s = sum(process.cpu_times()[:2])

    def memory(self) -> int:
        """Return the bytes that the server and its children keep for themselves (PSS)."""
        found = 0
        for one in (self.process, *self.process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                found += one.memory_full_info().pss
        return found

    async def watch(self, most: int) -> None:
        while True:
            now = await asyncio.to_thread(self.memory)
            self.peak = max(self.peak, now)
            if now > most:
                raise MemoryError(f"the server grew past {most / GiB:.1f} GiB")
            await asyncio.sleep(0.5)

    async def visit(self, one: Visitor, wait_s: float, until: float, moves_per_s: float) -> None:
        await asyncio.sleep(wait_s)
        try:
            start = time.monotonic()
            await asyncio.wait_for(one.arrive(), 300)
            self.arrived_s.append(time.monotonic() - start)
            await asyncio.sleep(random.random() / moves_per_s)
            while (start := time.monotonic()) < until:
                await asyncio.wait_for(one.move(), 60)
                took = time.monotonic() - start
                self.moves_ms.append(1000 * took)
                await asyncio.sleep(max(1 / moves_per_s - took, 0))
        except (Exception, asyncio.CancelledError) as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}"[:400])
        finally:
            one.leave()

    async def run(self, visitors: list[Visitor], args: argparse.Namespace) -> None:
        AsyncHTTPClient.configure(None, max_clients=len(visitors))
        until = time.monotonic() + args.seconds
        watch = asyncio.create_task(self.watch(int(args.most_gib * GiB)))
        waits = np.linspace(0, args.arrive_within, len(visitors))
        came = [self.visit(one, wait, until, args.moves) for one, wait in zip(visitors, waits, strict=True)]
        visits = asyncio.gather(*came)
        await asyncio.wait([watch, visits], return_when=asyncio.FIRST_COMPLETED)
        watch.cancel()
        visits.cancel()
        await asyncio.gather(watch, visits, return_exceptions=True)

    def tell(self, label: str, visitors: int) -> None:
        def spread(values: list[float], unit: str) -> str:
            if not values:
                return "none"
            p50, p95 = np.percentile(values, [50, 95])
            return f"p50 {p50:.4g} / p95 {p95:.4g} / max {max(values):.4g} {unit}"

        cpu_s = sum(self.process.cpu_times()[:2]) - self.cpu_before_s
        busy = (
            f"{1000 * cpu_s / len(self.moves_ms):.1f} ms of the server's own processor time each"
            if self.moves_ms
            else ""
        )
        mib = self.idle / 2**20, self.peak / 2**20
        print(label)
        print(f"  page with its numbers {spread(self.arrived_s, 's')} ({len(self.arrived_s)} of {visitors})")
        print(f"  slider to answer      {spread(self.moves_ms, 'ms')} (n = {len(self.moves_ms):,}); {busy}")
        each = (mib[1] - mib[0]) / visitors
        back = f"{self.after / 2**20:.0f} MB when all had left ({self.after / self.idle - 1:+.0%})"
        print(
            f"  memory (PSS)          {mib[0]:.0f} MB before, {mib[1]:.0f} MB at most, {each:.2f} MB a visitor, {back}"
        )
        print(f"  faults                {len(self.faults)}", *self.faults[:2], flush=True)


def bench(kind: str, visitors: int, args: argparse.Namespace, warm: int = 0) -> None:
    """Run a crowd against one server, in waves; Voila serves one page, since its kernels are warm for each page."""
    if kind == "crowd":
        names = [page.notebook for page in PAGES] if args.every_page else [pages.NOTEBOOK.name]
        made, of, label = publish.crowd(), CrowdVisitor, f"crowd: {visitors} visitors on {len(names)} page(s)"
    else:
        names, book, culling = [""], pages.NOTEBOOKS / args.page, ("--cull-after-s", str(CULL_AFTER_S))
        made, of = pages.voila(*culling, warm_kernels=warm, notebooks=book), VoilaVisitor
        label = f"voila: {visitors} visitors on {args.page}, {warm} kernels warm"
    with made as (url, process):
        if warm:
            wait_for_kernels(process, warm)
        load = Load(psutil.Process(process.pid))
        for _ in range(args.waves):
            asyncio.run(load.run([of(url, names[at % len(names)]) for at in range(visitors)], args))
            wait_for_kernels(process, warm)
        load.after = load.memory()
        load.tell(f"{label}, {args.waves} times {args.seconds:g} s", visitors * args.waves)


def wait_for_kernels(process: Any, warm: int, seconds: float = 3 * CULL_AFTER_S) -> None:
    """Wait until the server has as many kernels as it keeps warm, and they have run their page."""
    until = time.monotonic() + seconds
    while len(pages.kernels(process)) != warm and time.monotonic() < until:
        time.sleep(0.5)
    time.sleep(10 if warm else 15)  # a kernel still runs its notebook; the crowd's server gives memory back


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60, help="of each run (the long one: 900)")
    options.add_argument("--visitors", type=int, default=100, help="of the crowd server")
    options.add_argument("--voila-visitors", type=int, default=25)
    options.add_argument("--arrive-within", type=float, default=10, help="seconds")
    options.add_argument("--moves", type=float, default=1, help="moves of a slider per second and visitor, at most")
    options.add_argument("--most-gib", type=float, default=8, help="memory at which a run is ended")
    options.add_argument("--every-page", action="store_true", help="spread the crowd over all pages")
    options.add_argument("--waves", type=int, default=2, help="how often they come and leave")
    options.add_argument("--page", default=pages.NOTEBOOK.name, help="that Voila's visitors open")
    options.add_argument("--warm", type=int, nargs="*", default=[0, 25], help="kernels started ahead, a run each")
    options.add_argument("--only", choices=("crowd", "voila"))
    args = options.parse_args()
    print(f"{platform.machine()}, {psutil.cpu_count()} cores, Python {platform.python_version()}")
    if args.only != "voila":
        bench("crowd", args.visitors, args)
    if args.only != "crowd":
        for warm in args.warm:
            bench("voila", args.voila_visitors, args, warm)


if __name__ == "__main__":
    main()
