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
POLICY_COLOURS = {  # by the name of a policy's class, or of it and the one inside
    "FullHistory": "#0072b2",
    "KeepAlive": "#56b4e9",
    "KeepAlive SummariseEvery": "#009e73",
    "SlidingWindow": "#8a8f98",
    "SteppedWindow": "#b3a125",
    "SummariseEvery": "#d55e00",
    "SummariseAt": "#a65628",
    "SummariseOn": "#e69f00",
    "AtTheBreak": "#cc79a7",
    "Compaction": "#8f2d56",
    "Retrieval": "#7a5cc0",
    "Layers": "#4b3f8f",
    "Deduplicate": "#7f9a2f",
}
OTHER_POLICY = "#444b57"
PARTS = {  # of a bill: reply calls by billing class, then each kind of call that memory makes
    "read from cache": "#56b4e9",
    "written to cache": "#e69f00",
    "uncached input": "#d55e00",
    "replies": "#009e73",
    "summaries": "#7a5cc0",
    "pings": "#0072b2",
    "embeddings": "#cc79a7",
    "importance": "#b3a125",
    "reflections": "#4b3f8f",
}
MUTED, GOOD, BLUE, BROKEN = (
    "#59616d",
    "#00664a",
    "#0a58a8",
    "#8f2d56",
)  # for words: darker, so that they read as text must


def policy_colour(policy: object) -> str:
    """Return the colour of a policy's kind; one that stands around another may have a colour with it."""
    kind = type(policy).__name__
    inner = type(getattr(policy, "policy", None)).__name__
    return POLICY_COLOURS.get(f"{kind} {inner}", POLICY_COLOURS.get(kind, OTHER_POLICY))


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


IN_LEGEND = 4  # names beside a map, of the largest areas: its place stays, and the pointer tells the others


def cheapest_map(
    think_s: np.ndarray, winners: np.ndarray, names: tuple[str, ...], colours: tuple[str, ...], here: tuple[float, int]
) -> dict[str, Any]:
    """The cheapest policy by think time and turns, a cell per pace and whole number of turns.

    ``winners`` (n, p): index into ``names`` for sessions of 1, 2, … n turns at each of ``think_s`` (p,), which are
    spread evenly on a logarithmic axis. ``here``: think time and turns of the scenario. Cells of one colour above each
    other are one bar, so that a map of thousands of cells is drawn as some hundred shapes.
    """
    turns = len(winners)
    bars: dict[int, tuple[list[int], list[int], list[int]]] = {}
    for column, found in enumerate(winners.T):
        starts = np.flatnonzero(np.diff(found, prepend=-1))
        for start, end in zip(starts, [*starts[1:], turns], strict=True):
            x, base, height = bars.setdefault(int(found[start]), ([], [], []))
            x.append(column)
            base.append(int(start) + 1)
            height.append(int(end - start))
    data = [
        {
            "type": "bar",
            "name": names[winner],
            "x": x,
            "base": base,
            "y": height,
            "width": 1,
            "marker": {"color": colours[winner], "line": {"width": 0}},
            "hovertemplate": f"{names[winner]}<extra></extra>",
            "showlegend": rank < IN_LEGEND,
        }
        for rank, (winner, (x, base, height)) in enumerate(sorted(bars.items(), key=lambda item: -sum(item[1][2])))
    ]
    scale = np.log(think_s)
    across = float(np.interp(np.log(here[0]), scale, np.arange(len(think_s))))
    spot = {"symbol": "circle", "line": {"color": "#ffffff", "width": 2.5}, "color": "#111111"}
    ticks = [second for second in (5, 20, 60, 300, 1200) if think_s[0] <= second <= think_s[-1]]
    side = "left" if across < 2 else "right" if across > len(think_s) - 3 else "center"
    here_at = {"x": across, "y": min(here[1], turns), "text": "you are here", "showarrow": False, "yshift": 15}
    return {
        "data": [
            *data,
            _markers([across], [min(here[1], turns)], "here", "#111111", 13, marker=spot, showlegend=False),
        ],
        "layout": {
            "barmode": "overlay",
            "bargap": 0,
            "xaxis": {
                "title": {"text": "think time between turns"},
                "range": [-0.5, len(think_s) - 0.5],
                "tickvals": np.interp(np.log(ticks), scale, np.arange(len(think_s))).tolist(),
                "ticktext": [f"{second} s" if second < 60 else f"{second // 60} min" for second in ticks],
                "tickangle": 0,
                "showgrid": False,
            },
            "yaxis": {"title": {"text": "turns in the conversation, n"}, "range": [1, turns + 1], "showgrid": False},
            "annotations": [{**here_at, "xanchor": side, "font": {"size": 12}}],
        },
    }


def cost_and_recall(
    usd: np.ndarray,
    recall: np.ndarray,
    names: tuple[str, ...],
    colours: tuple[str, ...],
    front: tuple[int, ...],
    intervals: tuple[np.ndarray, np.ndarray],
    least_recall: float,
) -> dict[str, Any]:
    """Dollars a session against recall, a mark per policy, the front through those nothing cheaper outdoes.

    ``front``: indices of policies on it, cheapest first. ``intervals``: dollars and recall of every summary interval.
    """
    top = float(max(usd.max(), 1e-12)) * 1.08
    shown = intervals[0] <= top
    height = _stretched(recall)
    marks = [
        _markers([x], [y], name, colour, 12, customdata=[round(100 * float(knows), 2)], showlegend=False,
                 hovertemplate=f"{name}: $%{{x}}, %{{customdata}} %<extra></extra>")
        for x, y, knows, name, colour in zip(usd, height, recall, names, colours, strict=True)
    ]  # fmt: skip
    floor = float(_stretched(least_recall))
    steps = {"shape": "hv", "width": 1.5, "dash": "dot"}
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": floor, "y1": floor}
    wanted = {"xref": "paper", "x": 1, "y": floor, "text": f"at least {100 * least_recall:g} %", "yshift": -2}
    labels = [
        {"name": "wide", "x": float(usd[at]), "y": float(height[at]), "text": names[at], "showarrow": False,
         "xanchor": side, "xshift": 10 if side == "left" else -10, "font": {"size": 11, "color": MUTED},
         "bgcolor": "rgba(0,0,0,0)"}
        for at, side in _beside(usd / top, height / _stretched(1.0), names, front)
    ]  # fmt: skip
    ticks = np.array([0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1])
    return {
        "data": [
            _line(intervals[0][shown], _stretched(intervals[1][shown]), "summarise every k",
                  POLICY_COLOURS["SummariseEvery"], line={"width": 1.2}, hoverinfo="skip"),
            _line(usd[list(front)], height[list(front)], "nothing cheaper recalls as much", MUTED, line=steps,
                  hoverinfo="skip"),
            *marks,
        ],
        "layout": {
            "xaxis": {"title": {"text": "$ per session"}, "tickprefix": "$", "range": [0, top]},
            "yaxis": {"title": {"text": "of what was told, still known"}, "range": [-0.06, 2.78], "zeroline": False,
                      "tickvals": _stretched(ticks).tolist(), "ticktext": [f"{100 * tick:g} %" for tick in ticks]},
            "shapes": [{**line, "line": {"color": GOOD, "width": 1.5, "dash": "dash"}}],
            "annotations": [
                {**wanted, "showarrow": False, "xanchor": "right", "yanchor": "top",
                 "font": {"color": GOOD, "size": 12}},
                *labels,
            ],
        },
    }  # fmt: skip


def _stretched(recall: Any) -> np.ndarray:
    """Return the height of a recall where each halving of what is forgotten is as high as the next, 1 being 2.6."""
    return -np.log10(np.maximum(1 - np.asarray(recall, dtype=float), 10**-2.6))


def _beside(x: np.ndarray, y: np.ndarray, names: tuple[str, ...], front: tuple[int, ...]) -> list[tuple[int, str]]:
    """Return which points, at shares of width and height, have room for their name beside them, and on which side.

    Those on the front are tried first, then the cheaper; no name stands on another or on a point.
    """
    points = [(a - 0.008, a + 0.008, b) for a, b in zip(x, y, strict=True)]
    taken: list[tuple[float, float, float]] = []
    found = []
    for at in (*front, *(one for one in range(len(names)) if one not in front)):
        wide = 0.0072 * len(names[at])
        for side, start in (("left", x[at] + 0.012), ("right", x[at] - 0.012 - wide)):
            mine = (start, start + wide, y[at])
            others = [*taken, *(point for by, point in enumerate(points) if by != at)]
            if start >= 0 and start + wide <= 1 and not any(_overlap(mine, other) for other in others):
                taken.append(mine)
                found.append((at, side))
                break
    return found


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < 0.045


def _two_lines(name: str) -> str:
    """Return a long name broken at the comma or blank nearest its middle."""
    breaks = [at for at, sign in enumerate(name) if sign == " "]
    if len(name) <= 24 or not breaks:
        return name
    at = min(breaks, key=lambda at: abs(at - len(name) / 2) - 4 * (name[at - 1] == ","))
    return f"{name[:at]}<br>{name[at + 1 :]}"


def _named_rows(names: tuple[str, ...]) -> dict[str, Any]:
    """Return a vertical axis with a name for each row, the first on top."""
    return {
        "range": [len(names) - 0.4, -0.6],
        "tickvals": list(range(len(names))),
        "ticktext": [_two_lines(name) for name in names],
        "tickfont": {"size": 10.5},
        "title": {"text": ""},
        "zeroline": False,
    }


def savings(names: tuple[str, ...], last: np.ndarray, whole: np.ndarray) -> dict[str, Any]:
    """What each policy saves against full history, as shares: by its last call, and by the whole conversation.

    A row per policy, best first; the line between is what looking at one call misjudges.
    """
    rows = np.arange(len(names))
    between_x = np.column_stack([whole, last, np.full(len(names), np.nan)]).ravel()
    between_y = np.column_stack([rows, rows, rows]).ravel()
    gaps = {"type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip"}
    dots = {"hovertemplate": "%{x:.0f} %<extra></extra>"}
    span = [max(-100.0, min(0.0, float(100 * min(last.min(), whole.min())))) - 8, 104]
    return {
        "data": [
            {
                **gaps,
                "x": [None if np.isnan(x) else round(100 * float(x), 3) for x in between_x],
                "y": between_y.tolist(),
                "line": {"color": MUTED, "width": 1.5},
            },
            _markers(100 * last, rows, "judged by the last call", "#e69f00", 9, **dots),
            _markers(100 * whole, rows, "of the whole conversation", "#0072b2", 9, **dots),
        ],
        "layout": {
            "xaxis": {"title": {"text": "saved against full history"}, "ticksuffix": " %", "range": span},
            "yaxis": _named_rows(names),
            "margin": {"l": 178},
        },
    }


def bill_by_part(names: tuple[str, ...], usd_by_part: dict[str, np.ndarray]) -> dict[str, Any]:
    """Dollars a session of each policy as one bar, stacked by part (names from ``PARTS``); parts of 0 left out."""
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part,
            "x": _round(usd),
            "y": list(range(len(names))),
            "marker": {"color": PARTS[part]},
            "hovertemplate": f"{part}: $%{{x}}<extra></extra>",
        }
        for part, usd in usd_by_part.items()
        if usd.any()
    ]
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "bargap": 0.25,
            "xaxis": {"title": {"text": "$ per session"}, "tickprefix": "$", "rangemode": "tozero"},
            "yaxis": _named_rows(names),
            "margin": {"l": 178},
        },
    }


STRIP = {  # what becomes of a prompt's tokens, in the order in which they stand in it
    "read from cache": PARTS["read from cache"],
    "written to cache": PARTS["written to cache"],
    "uncached input": PARTS["uncached input"],
    "sent to be summarised": PARTS["summaries"],
}


def prefix_strip(
    tokens: dict[str, np.ndarray], most: float, broken: tuple[int, ...], cold: tuple[int, ...]
) -> dict[str, Any]:
    """A row per turn that shows what became of its input tokens (names from ``STRIP``), the first turn on top.

    ``tokens``: (n,) of each class. ``most``: where the axis ends. ``broken``, ``cold``: turns, from 1, marked before
    their rows: those that broke the prefix they could have read, and those whose cache had died.
    """
    turns = len(next(iter(tokens.values())))
    rows = list(range(1, turns + 1))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": _round(tokens[name]),
            "y": rows,
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": f"turn %{{y}}: %{{x:,.0f}} tokens {name}<extra></extra>",
        }
        for name, colour in STRIP.items()
        if name in tokens
    ]
    before = -0.022 * most
    marks = [
        _markers([before] * len(turns_of), turns_of, name, colour, 7, marker={"symbol": symbol},
                 hovertemplate=f"turn %{{y}}: {name}<extra></extra>")
        for name, turns_of, colour, symbol in (
            ("prefix broken", broken, BROKEN, "diamond"),
            ("cache died before", cold, MUTED, "square"),
        )
        if turns_of
    ]  # fmt: skip
    return {
        "data": [*data, *marks],
        "layout": {
            "barmode": "stack",
            "bargap": 0.12,
            "xaxis": {"title": {"text": "input tokens of the turn"}, "range": [-0.045 * float(most), float(most)],
                      "tickformat": ",d", "zeroline": False},
            "yaxis": {"title": {"text": "turn"}, "range": [turns + 0.5, 0.5], "dtick": 5 if turns > 12 else 1,
                      "tick0": 5 if turns > 12 else 1, "showgrid": False},
        },
    }  # fmt: skip


# --- the producer's figures -----------------------------------------------------------------------


def bill_density(month: np.ndarray, marks: tuple[float, float, float]) -> dict[str, Any]:
    """How likely each bill of a month is: a histogram over P0.5 to P99.5 with P10, P50 and P90 marked."""
    low, high = np.quantile(month, (0.005, 0.995))
    low, high = (low, high) if high > low else (0.9 * low, 1.1 * high + 1e-9)
    counts, edges = np.histogram(month, bins=48, range=(low, high))
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    inside = (middle >= marks[0]) & (middle <= marks[2])
    inside |= (edges[:-1] <= marks[1]) & (marks[1] <= edges[1:])  # where nothing is unsure there is no other bar
    shapes, notes = [], []
    for at, name, colour in zip(marks, ("P10", "P50", "P90"), (MUTED, GOOD, MUTED), strict=True):
        shape, note = _upright(float(at), name, colour)
        shapes.append(shape)
        notes.append(note)
    share = 100 * counts / max(counts.sum(), 1)
    bars = [
        {"type": "bar", "name": name, "x": _round(middle[mask]), "y": _round(share[mask]), "width": _round(width[mask]),
         "marker": {"color": colour, "line": {"width": 0}}, "hovertemplate": "$%{x:,.0f}: %{y:.1f} %<extra></extra>"}
        for name, mask, colour in (("eight in ten", inside, "#0072b2"), ("the rest", ~inside, "#8a8f98"))
    ]  # fmt: skip
    return {
        "data": bars,
        "layout": {
            "bargap": 0,
            "barmode": "overlay",
            "xaxis": {"title": {"text": "$ a month"}, "tickprefix": "$", "range": [float(low), float(high)]},
            "yaxis": {"title": {"text": "of what may be"}, "ticksuffix": " %", "rangemode": "tozero"},
            "shapes": shapes,
            "annotations": notes,
        },
    }


def tornado(rows: list[tuple[str, float, float]], centre: float) -> dict[str, Any]:
    """The month's bill with one input at the low and the high end of its range, the widest on top."""
    names, at = tuple(name for name, *_ in rows), list(range(len(rows)))
    data = [
        {"type": "bar", "orientation": "h", "name": end, "y": at, "base": _round([centre] * len(rows)),
         "x": _round([row[which] - centre for row in rows]), "marker": {"color": colour},
         "hovertemplate": "$%{customdata:,.0f}<extra></extra>", "customdata": _round([row[which] for row in rows])}
        for which, end, colour in ((1, "at its low end", "#56b4e9"), (2, "at its high end", "#d55e00"))
    ]  # fmt: skip
    line = {"type": "line", "x0": centre, "x1": centre, "y0": 0, "y1": 1, "yref": "paper"}
    return {
        "data": data,
        "layout": {
            "barmode": "overlay",
            "bargap": 0.3,
            "xaxis": {"title": {"text": "$ a month"}, "tickprefix": "$"},
            "yaxis": _named_rows(names or ("nothing is unsure",)),
            "shapes": [{**line, "line": {"color": MUTED, "width": 1.5}}],
            "margin": {"l": 120},
        },
    }


def shares(parts: dict[str, float]) -> dict[str, Any]:
    """Dollars of a month by what they are paid for, a bar each, the largest on top."""
    rows = sorted(parts.items(), key=lambda row: -row[1])
    return {
        "data": [
            {"type": "bar", "orientation": "h", "name": "a month", "y": list(range(len(rows))),
             "x": _round([dollars for _, dollars in rows]), "marker": {"color": "#0072b2"}, "showlegend": False,
             "hovertemplate": "$%{x:,.0f}<extra></extra>"}
        ],
        "layout": {
            "bargap": 0.35,
            "xaxis": {"title": {"text": "$ a month"}, "tickprefix": "$", "rangemode": "tozero"},
            "yaxis": _named_rows(tuple(name for name, _ in rows)),
            "margin": {"l": 120},
        },
    }  # fmt: skip


def by_model(rows: list[tuple[str, float, bool]], budget_usd: float) -> dict[str, Any]:
    """Dollars a player and day by model on a logarithmic axis, the chosen one marked, the budget as a line."""
    names, at = tuple(name for name, *_ in rows), np.arange(len(rows))
    usd, chosen = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    usd = np.maximum(usd, 1e-9)
    line = {"type": "line", "x0": budget_usd, "x1": budget_usd, "y0": 0, "y1": 1, "yref": "paper"}
    low, high = float(np.log10(min(usd.min(), budget_usd))) - 0.1, float(np.log10(max(usd.max(), budget_usd))) + 0.15
    note = {"x": float(np.log10(budget_usd)), "y": 0, "yref": "paper", "yanchor": "bottom", "text": "budget"}
    return {
        "data": [
            _markers(usd[mask], at[mask], name, colour, 11, hovertemplate="$%{x}<extra></extra>")
            for name, mask, colour in (("models", ~chosen, "#0072b2"), ("yours", chosen, "#d55e00"))
            if mask.any()
        ],
        "layout": {
            "xaxis": {
                "title": {"text": "$ a player and day"}, "type": "log", "range": [low, high],
                "tickprefix": "$", "dtick": 1, "exponentformat": "none",
            },
            "yaxis": _named_rows(names),
            "shapes": [{**line, "line": {"color": GOOD, "width": 1.5, "dash": "dash"}}],
            "annotations": [{**note, "showarrow": False, "xanchor": "left", "xshift": 5,
                             "font": {"color": GOOD, "size": 12}}],
            "margin": {"l": 178},
        },
    }  # fmt: skip


VERDICT_COLOURS = {
    "Right": "#009e73",
    "Right under its own assumptions": "#e69f00",
    "Wrong": "#d55e00",
    "Without data": "#8a8f98",
}


def verdicts(names: tuple[str, ...], counts: dict[str, np.ndarray]) -> dict[str, Any]:
    """How many claims of each article have each verdict (names from ``VERDICT_COLOURS``), a stacked bar each."""
    data = [
        {"type": "bar", "orientation": "h", "name": verdict, "x": numbers.tolist(), "y": list(range(len(names))),
         "marker": {"color": VERDICT_COLOURS[verdict]}, "hovertemplate": f"{verdict}: %{{x}}<extra></extra>"}
        for verdict, numbers in counts.items()
    ]  # fmt: skip
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "bargap": 0.3,
            "xaxis": {"title": {"text": "claims"}, "rangemode": "tozero", "dtick": 5},
            "yaxis": _named_rows(names),
            "margin": {"l": 178},
        },
    }
