"""The figures of the lessons: numbers in, a plotly figure as plain data out, in the colours of ``plots``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npcmem.plots import GOOD, MUTED, _line, _markers, _named_rows, _round, _upright

BLUE, SKY, ORANGE, AMBER, GREEN, PLUM, GREY = (
    "#0072b2",
    "#56b4e9",
    "#d55e00",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#8a8f98",
)


def stacked(
    x: np.ndarray, parts: Mapping[str, tuple[str, np.ndarray]], x_title: str, y_title: str, top: float | None = None
) -> dict[str, Any]:
    """Bars of parts on top of each other: name → (colour, heights). ``top`` fixes the axis, lest it jumps."""
    data = [
        {"type": "bar", "name": name, "x": _round(x), "y": _round(height),
         "marker": {"color": colour, "line": {"width": 0}}, "hovertemplate": f"{name}: %{{y:,.0f}}<extra></extra>"}
        for name, (colour, height) in parts.items()
    ]  # fmt: skip
    most = float(sum(height for _, height in parts.values()).max()) if top is None else top
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "bargap": 0.12 if len(x) < 70 else 0,
            "xaxis": {"title": {"text": x_title}, "range": [float(x[0]) - 0.6, float(x[-1]) + 0.6], "showgrid": False},
            "yaxis": {"title": {"text": y_title}, "range": [0, most * 1.06], "tickformat": "~s"},
        },
    }


def lines(
    x: np.ndarray,
    curves: Mapping[str, tuple[str, np.ndarray]],
    x_title: str,
    y_title: str,
    *,
    top: float,
    marks: Sequence[tuple[float, str]] = (),
    points: Sequence[tuple[float, float, str]] = (),
    y: Mapping[str, Any] | None = None,
    dashed: Sequence[str] = (),
    log_x: bool = False,
) -> dict[str, Any]:
    """Curves over one axis: name → (colour, values).

    ``marks``: upright lines with a label; ``points``: (x, y, colour) dots; ``y``: more of the y axis.
    """
    data = [
        _line(x, values, name, colour, line={"dash": "dash" if name in dashed else "solid"}, hovertemplate="%{y:,.4~g}")
        for name, (colour, values) in curves.items()
    ]
    data += [
        _markers([at], [high], "", colour, 11, showlegend=False, hoverinfo="skip", cliponaxis=False)
        for at, high, colour in points
    ]
    ends = [float(x[0]), float(x[-1])]
    middle = float(np.sqrt(ends[0] * ends[1])) if log_x else sum(ends) / 2
    drawn = [
        _upright(at, text, GOOD if turn == 0 else MUTED, "right" if at > middle else "left")
        for turn, (at, text) in enumerate(marks)
    ]
    for turn, (_, note) in enumerate(drawn):
        note["y"] = 1 - 0.09 * turn
        note["x"] = float(np.log10(note["x"])) if log_x else note["x"]
    axis = {"type": "log", "range": np.log10(ends).tolist(), "tickangle": 0} if log_x else {"range": ends}
    return {
        "data": data,
        "layout": {
            "xaxis": {"title": {"text": x_title}, **axis},
            "yaxis": {"title": {"text": y_title}, "range": [0, top], **(y or {})},
            "shapes": [shape for shape, _ in drawn],
            "annotations": [note for _, note in drawn],
            "hovermode": "x unified",
        },
    }


def ways(rows: Sequence[tuple[str, float, str, str]], x_title: str) -> dict[str, Any]:
    """One bar each, side by side and the first on top: (name, length, what stands behind it, colour)."""
    data = [
        {"type": "bar", "orientation": "h", "name": name, "y": [at], "x": _round([length]), "text": [text],
         "textposition": "outside", "cliponaxis": False, "marker": {"color": colour, "line": {"width": 0}},
         "showlegend": False, "hoverinfo": "skip"}
        for at, (name, length, text, colour) in enumerate(rows)
    ]  # fmt: skip
    most = max(length for _, length, _, _ in rows)
    return {
        "data": data,
        "layout": {
            "bargap": 0.4,
            "xaxis": {"title": {"text": x_title}, "range": [0, most * 1.3], "tickformat": "~s"},
            "yaxis": {**_named_rows(tuple(name for name, *_ in rows)), "showgrid": False},
            "margin": {"l": 150},
        },
    }
