"""What a page shows, taken apart for its tests, and any values at all to show it for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from npcmem.dashboards.controls import Choice, Control, Slider
from npcmem.dashboards.page import View


def texts(shown: View) -> list[str]:
    """Return everything that a page says."""
    tiles = [text for tile in shown.tiles for text in (tile.label, tile.big, tile.sentence)]
    charts = [text for chart in shown.charts for text in (chart.title, chart.sentence, chart.spoken)]
    cells = [cell for table in shown.tables for row in table.rows for cell in row.cells]
    return [shown.headline, shown.answer, *tiles, *charts, *shown.notes, *cells]


def numbers(node: Any) -> Iterator[float]:
    """Yield every number of a figure."""
    if isinstance(node, dict):
        for value in node.values():
            yield from numbers(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from numbers(value)
    elif isinstance(node, float | int | np.number):
        yield float(node)


def any_values(controls: Sequence[Control]) -> st.SearchStrategy[dict[str, Any]]:
    """Return what draws a value in its bounds for every control that has one."""
    return st.fixed_dictionaries({one.name: _any(one) for one in controls if isinstance(one, Slider | Choice)})


def _any(control: Slider | Choice) -> st.SearchStrategy[Any]:
    if isinstance(control, Choice):
        return st.sampled_from([option[0] for option in control.options])
    if control.step == 1 and control.scale == "linear":
        return st.integers(int(control.least), int(control.most))
    six_digits = st.floats(control.least, control.most).map(lambda x: float(f"{x:.6g}"))
    return six_digits.map(lambda x: min(max(x, control.least), control.most))
