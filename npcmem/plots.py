"""One function per figure: numbers in, a plotly figure as plain data out (``go.Figure(figure)`` takes it).

Colours are fixed for each policy and each cache lifetime on every page; they are the Okabe–Ito palette,
which stays apart under every common colour blindness. Fonts, grid and background follow the reader's theme
and are set where the figure is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

COLOURS = {
    "full history, uncached": "#8a8f98",
    "full history, cached": "#0072b2",
    "summarise, uncached": "#e69f00",
    "summarise, cached": "#d55e00",
    "best": "#009e73",
    "short lifetime": "#0072b2",
    "long lifetime": "#cc79a7",
    "this lifetime": "#d55e00",
}
MUTED, GOOD, BLUE = "#59616d", "#00664a", "#0a58a8"  # for words: darker, so that they read as text must


def _round(values: Any) -> list[float]:
    """Return values to six significant digits: all a screen shows, at a third of the bytes."""
    values = np.asarray(values, dtype=float)
    size = np.where(values == 0, 1.0, np.abs(values))
    scale = 10.0 ** (5 - np.floor(np.log10(size)))
    return (np.round(values * scale) / scale).tolist()


def _line(x: Any, y: Any, name: str, colour: str, **more: Any) -> dict[str, Any]:
    line = {"color": colour, "width": 2.5, **more.pop("line", {})}
    return {"type": "scatter", "mode": "lines", "x": _round(x), "y": _round(y), "name": name, "line": line, **more}


def _markers(x: Any, y: Any, name: str, colour: str, size: int, **more: Any) -> dict[str, Any]:
    marker = {"color": colour, "size": size, **more.pop("marker", {})}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": _round(x),
        "y": _round(y),
        "name": name,
        "marker": marker,
        **more,
    }


def _upright(x: float, text: str, colour: str, anchor: str = "left") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shape and the label of a vertical mark over the whole height."""
    at = {"x": x, "yref": "paper"}
    shape = {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    shape["line"] = {"color": colour, "width": 1.5, "dash": "dot"}
    label = {**at, "y": 1, "text": text, "showarrow": False, "xanchor": anchor, "yanchor": "top", "xshift": 5}
    return shape, {**label, "xshift": 5 if anchor == "left" else -5, "font": {"color": colour, "size": 12}}


def cost_by_interval(
    k: np.ndarray, usd: np.ndarray, best: int, near: np.ndarray, k_star: float, turns: int
) -> dict[str, Any]:
    """Expected dollars a session against k; ``best`` and ``near`` are indices into ``k``.

    Marks the optimum, the intervals within 1 % of it and where the formula puts k*.
    """
    usd_axis = {"title": {"text": "$ per session"}, "tickprefix": "$", "range": [0, float(usd.max()) * 1.15]}
    never = {
        "x": turns,
        "y": float(usd[-1]),
        "text": "full history",
        "showarrow": False,
        "xanchor": "right",
        "yanchor": "bottom",
    }
    shapes, notes = [], [{**never, "yshift": 7, "font": {"color": BLUE, "size": 12}}]
    if 1 <= k_star <= k[-1]:
        side = "right" if k_star > 0.7 * k[-1] else "left"
        shape, note = _upright(float(k_star), f"formula k* = {k_star:.1f}", MUTED, side)
        shapes.append(shape)
        notes.append(note)
    return {
        "data": [
            _line(k, usd, "exact cost", COLOURS["summarise, cached"], hovertemplate="every %{x}: $%{y}<extra></extra>"),
            _markers(
                [turns], [usd[-1]], "never", COLOURS["full history, cached"], 10, hoverinfo="skip", showlegend=False
            ),
            _markers(k[near], usd[near], "within 1 %", COLOURS["best"], 8, hoverinfo="skip"),
            _markers(
                k[[best]], usd[[best]], "cheapest", COLOURS["best"], 15, marker={"symbol": "diamond"}, hoverinfo="skip"
            ),
        ],
        "layout": {
            "xaxis": {"title": {"text": "exchanges between summaries, k"}, "range": [0, turns + 1]},
            "yaxis": usd_axis,
            "shapes": shapes,
            "annotations": notes,
        },
    }


def cost_by_length(
    n: np.ndarray, usd_by_strategy: dict[str, np.ndarray], crossover: int | None, turns: int
) -> dict[str, Any]:
    """Expected dollars against turns for each strategy (names from ``COLOURS``), the crossover marked."""
    dashes = {"full history, uncached": "dash", "summarise, uncached": "dash"}
    lines = [
        _line(n, usd, name, COLOURS[name], line={"dash": dashes.get(name, "solid")}, hovertemplate="$%{y}")
        for name, usd in usd_by_strategy.items()
    ]
    shape, note = _upright(turns, f"{turns} turns", MUTED, "right")
    shapes, notes = [shape], [note]
    if crossover is not None and 1 < crossover <= n[-1]:
        shape, note = _upright(crossover, f"pays from turn {crossover}", GOOD)
        note["y"] = 0.88
        shapes.append(shape)
        notes.append(note)
    top = max(float(usd[-1]) for name, usd in usd_by_strategy.items() if "uncached" not in name)
    return {
        "data": lines,
        "layout": {
            "xaxis": {"title": {"text": "turns in the conversation, n"}, "range": [0, float(n[-1])]},
            "yaxis": {"title": {"text": "$ per session"}, "tickprefix": "$", "range": [0, top * 1.6]},
            "shapes": shapes,
            "annotations": notes,
            "hovermode": "x unified",
        },
    }


def hit_rate_by_think_time(
    think_s: np.ndarray, rate_by_lifetime: dict[str, tuple[str, np.ndarray]], here_s: float, rate_here: dict[str, float]
) -> dict[str, Any]:
    """Share of turns that hit against think time, a line per cache lifetime, this pace marked on each.

    ``rate_by_lifetime``: label → (role in ``COLOURS``, rates). ``rate_here``: label → rate at ``here_s``.
    """
    lines = [
        _line(
            think_s,
            100 * rates,
            label,
            COLOURS[role],
            line={"dash": "dot" if role == "this lifetime" else "solid"},
            hovertemplate="%{y:.1f} %",
        )
        for label, (role, rates) in rate_by_lifetime.items()
    ]
    here = [
        _markers([here_s], [100 * rate_here[label]], label, COLOURS[role], 11, showlegend=False, hoverinfo="skip")
        for label, (role, _) in rate_by_lifetime.items()
    ]
    far = here_s > float(np.sqrt(think_s[0] * think_s[-1]))
    shape, note = _upright(here_s, "these players", MUTED, "right" if far else "left")
    note["x"] = float(np.log10(here_s))
    note["y"], note["yanchor"] = 0.02, "bottom"
    ticks = [second for second in (1, 5, 20, 60, 300, 1200) if think_s[0] <= second <= think_s[-1]]
    return {
        "data": lines + here,
        "layout": {
            "xaxis": {
                "title": {"text": "think time between turns"},
                "type": "log",
                "range": [float(np.log10(think_s[0])), float(np.log10(think_s[-1]))],
                "tickangle": 0,
                "tickvals": ticks,
                "ticktext": [f"{second} s" if second < 60 else f"{second // 60} min" for second in ticks],
            },
            "yaxis": {"title": {"text": "turns that hit the cache"}, "ticksuffix": " %", "range": [0, 104]},
            "shapes": [shape],
            "annotations": [note],
            "hovermode": "x unified",
        },
    }
