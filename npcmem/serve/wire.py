"""A page without a kernel: its notebook run in this process, its widgets' messages kept for whoever asks.

Under Voila a kernel runs the notebook and the widgets speak to the browser through it. Here the notebook's few lines
run in the server, once for each visitor who moves something, and the widgets speak to a list.
"""

from __future__ import annotations

import ast
import base64
import json
import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import Any
from uuid import uuid4

import anywidget
import comm
import mistune

KEPT_BACK = {"link", "comm", "layout", "tabbable", "tooltip"}  # and what begins with _: no page shows it
MOVED = ("values", "asked", "moved", "link", "given", "moves")  # all that a browser may set
WANTED = ("rest", "csv", "json", "upload")  # all that it may ask for

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
    """A notebook as a page: text, and widgets that ``build()`` makes anew for one visitor.

    ``parts``: what it shows from top to bottom, HTML or the number of a widget in ``first``, their states as JSON.
    ``script`` and ``style`` are those of its widgets, "" where it has none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if _is_shown(cell)]
        self._steps = [_steps(cell, path.name) for cell in self._cells]
        shown = self._run()
        widgets = [one for one in shown if isinstance(one, anywidget.AnyWidget)]
        self.parts = tuple(widgets.index(one) if one in widgets else html_of(one, path.name) for one in shown)
        self.script = str(widgets[0]._esm) if widgets else ""
        self.style = str(widgets[0]._css) if widgets else ""
        self.first = plain([_state(one) for one in widgets])
        for one in widgets:
            _forget_files(type(one))
            _end(one)

    def build(self) -> list[anywidget.AnyWidget]:
        """Return the widgets of the page, in order, for one visitor."""
        return [one for one in self._run() if isinstance(one, anywidget.AnyWidget)]

    def _run(self) -> list[Any]:
        """Return what the cells show: a widget, text with a ``_repr_html_`` or ``_repr_markdown_``, or nothing."""
        names: dict[str, Any] = {}
        shown = []
        for cell, (before, last) in zip(self._cells, self._steps, strict=True):
            if cell["cell_type"] == "markdown":
                shown.append(_Text(_source(cell)))
            else:
                exec(before, names)
                shown.append(eval(last, names))
        return [one for one in shown if one is not None]


class _Text(str):
    """A cell of Markdown."""


def _is_shown(cell: Mapping[str, Any]) -> bool:
    tags = cell["metadata"].get("tags", [])
    return cell["cell_type"] == "code" or (cell["cell_type"] == "markdown" and "notebook-only" not in tags)


def _source(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def _steps(cell: Mapping[str, Any], name: str) -> tuple[CodeType, CodeType]:
    """Return a code cell as what is done and what is shown; nothing of either for a cell of text."""
    lines = ast.parse(_source(cell)).body if cell["cell_type"] == "code" else []
    last = lines.pop().value if lines and isinstance(lines[-1], ast.Expr) else ast.Constant(None)
    shown = ast.fix_missing_locations(ast.Expression(last))
    return compile(ast.Module(lines, []), name, "exec"), compile(shown, name, "eval")


_markdown = mistune.create_markdown(escape=False, plugins=["math", "table"])


def html_of(shown: Any, name: str) -> str:
    """Return text that a notebook shows as HTML; ValueError for what is neither Markdown nor HTML."""
    if hasattr(shown, "_repr_html_"):
        return shown._repr_html_()
    text = shown if isinstance(shown, _Text) else getattr(shown, "_repr_markdown_", lambda: None)()
    if text is None:
        raise ValueError(
            f"{name} must show widgets, HTML or Markdown, to be served without a kernel, got {type(shown).__name__}"
        )
    return _markdown(text)


def _state(widget: anywidget.AnyWidget) -> dict[str, Any]:
    return {name: getattr(widget, name) for name in widget.keys if name[0] != "_" and name not in KEPT_BACK}


class Visitor:
    """A visitor's page, built when they first move something: nothing is kept of one who only reads."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.left = False  # whose line is closed while they wait is not computed for

    @cached_property
    def _widgets(self) -> list[anywidget.AnyWidget]:
        widgets = self._book.build()
        for widget in widgets:
            widget.comm.take()
        return widgets

    def answer(self, given: Mapping[str, Any], file: bytes | None = None) -> str:
        """Return, as JSON, what follows from a browser's message; a fault of ours is logged, never shown.

        ``given``: ``at``, the number of the widget it is for, and ``state`` or ``content``.
        """
        nothing = {"at": 0, "state": {}, "messages": []}
        try:
            if self.left:
                return ""
            at = given.get("at", 0)
            if type(at) is not int or not 0 <= at < len(self._widgets):
                return plain(nothing)
            widget, nothing = self._widgets[at], {**nothing, "at": at}
            if state := {name: value for name, value in dict(given.get("state") or {}).items() if name in MOVED}:
                widget.set_state(state)
            content = given.get("content")
            if isinstance(content, dict) and content.get("want") in WANTED:
                widget._handle_custom_msg(content, [] if file is None else [memoryview(file)])
            return plain({"at": at, **widget.comm.take()})
        except Exception:
            log.exception("%s: no answer", self._book.path.name)
            return plain(nothing)

    def end(self) -> None:
        for widget in self.__dict__.pop("_widgets", ()):
            _end(widget)


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
