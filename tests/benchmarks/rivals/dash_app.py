"""The estimate in Dash: one callback from the sliders to all that is shown."""

import argparse

import plotly.graph_objects as go
from dash import Dash, Input, Output, callback, dcc, html

from tests.benchmarks.rivals.estimate import CHARTS, SLIDERS, TITLE, label, shown, track

SIDE_BY_SIDE = {"display": "flex", "gap": "1rem"}


def slider(one):
    least, most, start, step = track(one)
    track_marks = {least: f"{least:,}", most: f"{most:,}"}
    bar = dcc.Slider(least, most, step, value=start, marks=track_marks, updatemode="drag", id=one.name)
    return html.Div([html.Label(label(one)), bar])


def chart(at: int):
    graph = dcc.Graph(id=f"chart-{at}", style={"height": "400px"})
    return html.Div([html.H3(id=f"title-{at}"), graph, html.P(id=f"caption-{at}")], style={"flex": 1, "minWidth": 0})


def tile_words(tile):
    return html.Div([html.H4(tile.label), html.H2(tile.big), html.P(tile.sentence)], style={"flex": 1})


first, *rest = [chart(at) for at in range(CHARTS)]
app = Dash(title=TITLE)
app.layout = html.Div(
    [
        html.Div([html.H1(TITLE), *map(slider, SLIDERS)], style={"width": "22rem"}),
        html.Div(
            [
                html.H2(id="headline"),
                html.P(id="answer"),
                html.Div(id="tiles", style=SIDE_BY_SIDE),
                first,
                html.Div(rest, style=SIDE_BY_SIDE),
            ],
            style={"flex": 1, "minWidth": 0},
        ),
    ],
    style={**SIDE_BY_SIDE, "fontFamily": "sans-serif"},
)


@callback(
    output={
        "headline": Output("headline", "children"),
        "answer": Output("answer", "children"),
        "tiles": Output("tiles", "children"),
        "titles": [Output(f"title-{at}", "children") for at in range(CHARTS)],
        "figures": [Output(f"chart-{at}", "figure") for at in range(CHARTS)],
        "captions": [Output(f"caption-{at}", "children") for at in range(CHARTS)],
    },
    inputs={one.name: Input(one.name, "value") for one in SLIDERS},
)
def redraw(**values):
    view = shown(**values)
    cards = view.charts[:CHARTS]
    return {
        "headline": view.headline,
        "answer": view.answer,
        "tiles": [tile_words(tile) for tile in view.tiles],
        "titles": [card.title for card in cards],
        "figures": [go.Figure(card.figure) for card in cards],
        "captions": [card.sentence for card in cards],
    }


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=8050)
    app.run(host="127.0.0.1", port=options.parse_args().port)
