"""Imports only go down, as README's table lists the rooms; importing the package loads nothing heavy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import npcmem

PACKAGE = Path(npcmem.__file__).parent
README = Path(__file__).parent.parent / "README.md"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
HEAVY = ("pandas", "plotly", "ipywidgets", "anywidget", "genai_prices", "ibis", "duckdb")


def rooms(readme: str) -> list[list[str]]:
    """Return the rooms of each line of the table of rooms, the lowest line first."""
    table = readme.partition("| room |")[2].partition("\n\n")[0]
    return [re.findall(r"`(\w+)/?`", line.split("|")[1]) for line in reversed(table.splitlines()[2:])]


LINES = rooms(README.read_text("utf-8"))
ROWS = {room: row for row, line in enumerate(LINES) for room in line}
SHOWS = ROWS["plots"]  # from this row on, rooms import what draws and serves


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted name of everything imported anywhere in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def at_import_time(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported: no function bodies, no TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import_time(node.orelse)
            continue
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        if any(blocks):
            yield from at_import_time([inner for block in blocks for inner in block])
            for handler in getattr(node, "handlers", []):
                yield from at_import_time(handler.body)
        else:
            yield node


def test_the_table_lists_every_room_once_and_no_other():
    listed = [room for line in LINES for room in line]
    assert len(listed) == len(ROWS), f"listed twice: {sorted({room for room in listed if listed.count(room) > 1})}"
    assert {*map(room_of, FILES)} - {*ROWS} == set(), "these have no line in README"
    assert [room for room in ROWS if not any((PACKAGE / name).exists() for name in (room, f"{room}.py"))] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    room = room_of(path)
    assert room in ROWS, f"the room {room!r} has no line in README's table"
    for name in imported(ast.parse(path.read_text("utf-8"))):
        assert not name.startswith("."), f"{name}: rooms are imported by their full names"
        if name.split(".")[0] != "npcmem":
            continue
        target = (name.split(".") + [""])[1]
        assert target in ROWS, f"{room} imports {name}: that is for notebooks, rooms import rooms"
        assert target == room or ROWS[target] < ROWS[room], f"{room} imports {name}, which is not on a line below"


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if ROWS.get(room_of(path), 0) < SHOWS],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_low_rooms_import_numpy_and_scipy_and_nothing_heavier(path):
    for node in at_import_time(ast.parse(path.read_text("utf-8")).body):
        for name in imported(node):
            top = name.split(".")[0]
            assert top in {"npcmem", "numpy", "scipy"} | sys.stdlib_module_names, f"{path.name} imports {top}"


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, npcmem; print(*[name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
