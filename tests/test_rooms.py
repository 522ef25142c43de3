"""Imports only go down, as DESIGN §3 lists the rooms; importing the package loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import npcmem

ROWS = {
    "checks": -1,
    "data_files": -1,
    "dialogue": 0,
    "money": 0,
    "cache": 1,
    "thinktime": 1,
    "formulas": 1,
    "recall": 1,
    "offers": 2,
    "paces": 2,
    "policies": 2,
    "pricing": 2,
    "store": 2,
    "ledger": 3,
    "sweep": 3,
    "schedule": 3,
    "telemetry": 3,
    "conversation": 3,
    "offers_check": 3,
    "outlook": 3.25,
    "strategies": 3.5,
    "articles": 3.5,
    "claim_checks": 3.6,
    "claims": 3.75,
    "estimate": 3.5,
    "plots": 4,
    "plots_lessons": 4.25,
    "serve": 4,
    "dashboards": 5,
    "lessons": 5.5,
    "cli": 5,
}
FRONT = max(row for row in ROWS.values() if row < 4) + 0.25  # `from npcmem import sweep` is for pages, not rooms
HEAVY = ("pandas", "plotly", "ipywidgets", "anywidget", "genai_prices", "ibis", "duckdb")
PACKAGE = Path(npcmem.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    room = room_of(path)
    assert room in ROWS, f"the room {room!r} has no row in DESIGN §3"
    for name in imported(ast.parse(path.read_text("utf-8"))):
        assert not name.startswith("."), f"{name}: rooms are imported by their full names"
        if name.split(".")[0] != "npcmem":
            continue
        target = (name.split(".") + [""])[1]
        if target != room:
            row = ROWS.get(target, FRONT)
            assert row < ROWS[room], f"{room} (row {ROWS[room]}) imports {name} (row {row})"


@pytest.mark.parametrize(
    "path", [path for path in FILES if ROWS.get(room_of(path), 0) <= 3], ids=lambda path: str(path.relative_to(PACKAGE))
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
