"""Many visitors at once, for both ways to publish: memory and time to an answer. `make bench-crowd`.

Visitors speak the servers' own protocols, without a browser: they come within some seconds of each other, drag a slider
(the next move goes when the last is answered, as in the browser), and leave; and so once more. Client and server share
the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import platform
import random
import re
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from npcmem.serve import PAGES  # noqa: E402
from tests import pages, publish  # noqa: E402

GiB = 2**30
WIDGETS = {"metadata": {"version": "1.0.0"}}  # of the protocol in which a browser asks for all states
CLIENT_BYTES = 64 * 2**20
CULL_AFTER_S = 30  # so that the memory afterwards can be waited for


class Visitor:
    """Someone with a page open: ``arrive`` until its numbers are there, ``move`` until a slider is answered."""

    def __init__(self, url: str, notebook: str) -> None:
        self.url, self.notebook, self.asked = url, notebook, 0
        self.state: dict[str, Any] = {}
        self.line: WebSocketClientConnection | None = None

    async def get_page(self) -> str:
        request = HTTPRequest(
            f"{self.url}{self.notebook and 'voila/render/'}{self.notebook}", request_timeout=300, connect_timeout=60
        )
        return (await AsyncHTTPClient().fetch(request)).body.decode()

    async def connect(self, path: str) -> None:
        url = f"{self.url}{path}".replace("http", "ws", 1)
        self.line = await websocket_connect(url, connect_timeout=60, max_message_size=CLIENT_BYTES)

    def next_state(self) -> dict[str, Any]:
        """Return what a browser sends for a move of the page's first slider, or of its first choice."""
        kinds = {one["type"]: one for one in reversed(self.state["controls"])}
        self.asked += 1
        if found := kinds.get("slider"):
            steps = max(int((found["most"] - found["least"]) / found["step"]), 1)
            value = found["least"] + found["step"] * random.randint(0, steps)
        else:
            found = kinds["choice"]
            value = random.choice(found["options"])[0]
        self.state["values"] = {**self.state["values"], found["name"]: value}
        return {"values": self.state["values"], "moved": [found["name"]], "asked": self.asked}

    def leave(self) -> None:
        if self.line:
            self.line.close()


class CrowdVisitor(Visitor):
    async def arrive(self) -> None:
        html = await self.get_page()
        (self.state,) = json.loads(re.search(r'id="states">(.*?)</script>', html, re.DOTALL).group(1))
        await self.connect(f"live/{self.notebook}")

    async def move(self) -> None:
        await self.line.write_message(json.dumps({"at": 0, "state": self.next_state()}))
        self.state |= json.loads(await self.line.read_message())["state"]
        assert self.state["answered"] == self.asked


class VoilaVisitor(Visitor):
    async def arrive(self) -> None:
        html = await self.get_page()
        kernel = re.search(r'"kernelId": "([\w-]+)"', html)
        if kernel is None:
            raise ValueError(f"the page of {len(html):,} characters names no kernel: …{html[-300:]}")
        await self.connect(f"api/kernels/{kernel[1]}/channels")
        control = uuid.uuid4().hex
        await self._send("comm_open", {"comm_id": control, "target_name": "jupyter.widget.control", "data": {}})
        await self._send("comm_msg", {"comm_id": control, "data": {"method": "request_states"}})
        while True:
            data = await self._heard(control)
            for model, found in data.get("states", {}).items():
                if "answered" in found["state"]:
                    self.model, self.state = model, found["state"]
                    return

    async def move(self) -> None:
        data = {"method": "update", "state": self.next_state(), "buffer_paths": []}
        await self._send("comm_msg", {"comm_id": self.model, "data": data})
        while self.state["answered"] != self.asked:
            data = await self._heard(self.model)
            self.state |= data.get("state", {})

    async def _send(self, kind: str, content: dict[str, Any]) -> None:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "username": "", "session": "b", "version": "5.3"}
        message = {"channel": "shell", "header": header, "parent_header": {}, "content": content, **WIDGETS}
        await self.line.write_message(json.dumps({**message, "buffers": []}))

    async def _heard(self, comm: str) -> dict[str, Any]:
        while True:
            text = await self.line.read_message()
            if text is None:
                raise ConnectionError("the server closed the line")
            if isinstance(text, bytes):  # offsets, then JSON and buffers
                first, second = np.frombuffer(text[4:12], ">u4")
                text = text[first:second].decode()
            message = json.loads(text)
            if message["header"]["msg_type"] == "comm_msg" and message["content"]["comm_id"] == comm:
                return message["content"]["data"]


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
            self.faults.append(f"{type(fault).__name__}: {fault}"[:120])
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
