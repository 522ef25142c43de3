"""Visitors who speak the servers' own protocols, without a browser."""

from __future__ import annotations

import json
import random
import re
import uuid
from typing import Any

import numpy as np
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

WIDGETS = {"metadata": {"version": "1.0.0"}}  # of the protocol in which a browser asks for all states
CLIENT_BYTES = 64 * 2**20


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
