"""What a visitor may keep of a page: its rows as CSV, and all that it shows as JSON.

The JSON is one object, and what stands in it keeps its name and meaning within a ``version``:

- ``format`` "npcmem.page" and ``version`` 1;
- ``title``, ``headline``, ``answer``, ``notes``: the page's words;
- ``link``: ``query``, what stands behind the ``?`` of the page's address, and ``lacks``, the controls it cannot hold;
- ``scenario``: by the name that a link has for it, each control's ``label``, ``group``, ``value``, ``unit`` (None for
  a choice, whose value is an id) and, as a reader wants it, ``told``;
- ``prices``: the price lists used, the scenario's own first: ``model``, ``name``, ``since`` and ``checked`` (days, or
  None where there is no list), ``listed`` (False where the visitor moved a price) and ``source``;
- ``tiles``: ``label``, ``big`` and ``sentence`` each; ``charts``: ``title``, ``sentence`` and ``spoken``, in words;
- ``tables``: as shown, each cell a text: ``title``, ``sentence``, ``columns`` and ``rows``;
- ``data``: the rows of the CSV, ``columns`` and ``rows``, with numbers as numbers and None where there is none.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from npcmem.dashboards import controls as typed
from npcmem.dashboards.controls import Control, Value

if TYPE_CHECKING:
    from npcmem.dashboards.page import View

FORMAT, VERSION = "npcmem.page", 1
DIGITS = 9  # significant ones of a number that is kept
Cell = Value | None


def csv_file(rows: Sequence[Sequence[Cell]]) -> bytes:
    """Return rows as a CSV file; a cell that a spreadsheet would run as a formula is kept from it."""
    text = io.StringIO()
    csv.writer(text).writerows([_no_formula(kept(cell)) for cell in row] for row in rows)
    return text.getvalue().encode()


def json_file(title: str, controls: Sequence[Control], values: Mapping[str, Value], query: str, view: View) -> bytes:
    """Return all that a page shows as a JSON file."""
    text = json.dumps(document(title, controls, values, query, view), ensure_ascii=False, allow_nan=False, indent=1)
    return f"{text}\n".encode()


def document(
    title: str, controls: Sequence[Control], values: Mapping[str, Value], query: str, view: View
) -> dict[str, Any]:
    """Return all that a page shows as plain data, in the shape that this module describes."""
    columns, *rows = view.table or ((),)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "link": {"query": query, "lacks": typed.not_in_link(controls, values)},
        "scenario": typed.scenario(controls, values),
        "prices": [{**asdict(one), "since": _day(one.since), "checked": _day(one.checked)} for one in view.prices],
        "headline": view.headline,
        "answer": view.answer,
        "tiles": [asdict(tile) for tile in view.tiles],
        "charts": [{name: getattr(chart, name) for name in ("title", "sentence", "spoken")} for chart in view.charts],
        "tables": [_table(table) for table in view.tables],
        "data": {"columns": list(columns), "rows": [[kept(cell) for cell in row] for row in rows]},
        "notes": list(view.notes),
    }


def kept(cell: Cell) -> Cell:
    """Return a cell as both files have it: a number of so many digits, None for what is no number, text as it is."""
    if cell is None or isinstance(cell, str | int):
        return cell
    return float(f"{cell:.{DIGITS}g}") if math.isfinite(cell) else None


def _no_formula(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "@") else cell


def _day(day: Any) -> str | None:
    return None if day is None else day.isoformat()


def _table(table: Any) -> dict[str, Any]:
    return {
        "title": table.title,
        "sentence": table.sentence,
        "columns": [{"name": column.name, "help": column.help} for column in table.columns],
        "rows": [list(row.cells) for row in table.rows],
    }
