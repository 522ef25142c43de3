"""A page without a kernel: its notebook run in this process, its widget's messages kept for whoever asks.

Under Voila a kernel runs the notebook and the widget speaks to the browser through it. Here the notebook's few lines
run in the server, once for each visitor who moves something, and the widget speaks to a list.
"""

from __future__ import annotations

import ast
import base64
import json
import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import comm

SHOWN = ("title", "intro", "controls", "values", "view", "errors", "said", "address", "asked", "answered", "moved")
MOVED = ("values", "asked", "moved", "link")  # all that a browser may set
WANTED = ("csv", "json", "upload")  # all that it may ask for

LONGEST_LINE = 2**16  # of a message, a file's bytes aside

log = logging.getLogger("npcmem.serve")


class Wire:
    """What a widget takes for its line to the browser: keeps what is sent until ``take``."""

    def __init__(self, **_: Any) -> None:
        self.comm_id = uuid4().hex
        self._kept: list[tuple[Mapping[str, Any], Sequence[Any]]] = []

    def send(self, data: Mapping[str, Any], metadata: Any = None, buffers: Sequence[Any] | None = None) -> None:
        self._kept.append((data, buffers or ()))

    def on_msg(self, _: Any) -> None:
        """Take the callback for messages, which come through ``Visitor.answer`` here."""

    def close(self) -> None:
        self._kept.clear()

    def take(self) -> dict[str, Any]:
        """Return as plain data all that was sent since the last time: the state that changed, and messages."""
        kept, self._kept = self._kept, []
        state, messages = {}, []
        for data, buffers in kept:
            if data["method"] == "update":
                state |= data["state"]
            elif data["method"] == "custom":
                packed = [base64.b64encode(buffer).decode() for buffer in buffers]
                messages.append({"content": data["content"], "buffers": packed})
        return {"state": state, "messages": messages}


class Book:
    """A notebook that ends in a page: ``build()`` makes the page anew, for one visitor."""

    def __init__(self, path: Path) -> None:
        self.path = path
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        lines = ast.parse("\n".join("".join(cell["source"]) for cell in cells)).body
        if not lines or not isinstance(lines[-1], ast.Expr):
            raise ValueError(f"{path.name} must end in a page, to be served without a kernel")
        self._before = compile(ast.Module(lines[:-1], []), path.name, "exec")
        self._page = compile(ast.Expression(lines[-1].value), path.name, "eval")
        page = self.build()
        if not isinstance(page, anywidget.AnyWidget) or not all(page.has_trait(name) for name in SHOWN):
            raise ValueError(
                f"{path.name} must end in a page, to be served without a kernel, got {type(page).__name__}"
            )
        _forget_files(type(page))
        self.script, self.style = str(page._esm), str(page._css)
        self.first = plain({name: getattr(page, name) for name in SHOWN})
        _end(page)

    def build(self) -> Any:
        names: dict[str, Any] = {}
        exec(self._before, names)
        return eval(self._page, names)


class Visitor:
    """A visitor's page, built when they first move something: nothing is kept of one who only reads."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.left = False  # whose line is closed while they wait is not computed for

    @cached_property
    def _page(self) -> Any:
        page = self._book.build()
        page.comm.take()
        return page

    def answer(self, given: Mapping[str, Any], file: bytes | None = None) -> str:
        """Return, as JSON, what follows from a browser's message; a fault of ours is logged, never shown."""
        try:
            if self.left:
                return ""
            if state := {name: value for name, value in dict(given.get("state") or {}).items() if name in MOVED}:
                self._page.set_state(state)
            content = given.get("content")
            if isinstance(content, dict) and content.get("want") in WANTED:
                self._page._handle_custom_msg(content, [] if file is None else [memoryview(file)])
            return plain(self._page.comm.take())
        except Exception:
            log.exception("%s: no answer", self._book.path.name)
            return plain({"state": {}, "messages": []})

    def end(self) -> None:
        if page := self.__dict__.pop("_page", None):
            _end(page)


def without_a_kernel() -> None:
    """Let every widget of this process speak to a ``Wire``, as a kernel lets them speak to its own."""
    comm.create_comm = Wire


def plain(value: Any) -> str:
    """Return JSON as browsers read it: what is no number there is null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(json.loads(json.dumps(value), parse_constant=lambda _: None), separators=(",", ":"))


def read(message: str | bytes) -> tuple[dict[str, Any], bytes | None]:
    """Return a browser's message and the file behind it, if it has one: a line of JSON, then the file's bytes."""
    line, file = (message, None) if isinstance(message, str) else message.split(b"\n", 1)
    if len(line) > LONGEST_LINE:
        raise ValueError(f"a message must be <= {LONGEST_LINE:,} characters, got {len(line):,}")
    try:
        given = json.loads(line)
    except RecursionError:
        raise ValueError("a message must not be nested this deep") from None
    if not isinstance(given, dict):
        raise ValueError(f"a message must be an object, got {type(given).__name__}")
    return given, file


def _end(page: Any) -> None:
    page.layout.close()
    page.close()


def _forget_files(widget: type) -> None:
    """Replace a widget's files by their text: anywidget lets a file hold on to every widget that reads it."""
    for base in widget.__mro__:
        for name in ("_esm", "_css"):
            if hasattr(base.__dict__.get(name), "changed"):
                base.__dict__[name].changed.disconnect()
                setattr(base, name, str(base.__dict__[name]))
