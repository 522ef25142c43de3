"""The estimate in Panel: panes made once, given new objects at every move, all in one message."""

import panel as pn
import plotly.graph_objects as go

from tests.benchmarks.rivals.estimate import CHARTS, SLIDERS, TITLE, label, shown, track

pn.extension("plotly", sizing_mode="stretch_width")


def slider(one):
    least, most, start, step = track(one)
    kind = pn.widgets.IntSlider if isinstance(step, int) else pn.widgets.FloatSlider
    return kind(name=label(one), start=least, end=most, value=start, step=step)


def tile_words(tile) -> str:
    return f"### {tile.label}\n# {tile.big}\n{tile.sentence}"


sliders = {one.name: slider(one) for one in SLIDERS}
view = shown(**{name: one.value for name, one in sliders.items()})
headline = pn.pane.Markdown(f"# {view.headline}\n{view.answer}")
tiles = [pn.pane.Markdown(tile_words(tile)) for tile in view.tiles]
charts = [pn.pane.Plotly(go.Figure(card.figure), height=400) for card in view.charts[:CHARTS]]
captions = [pn.pane.Markdown(card.sentence) for card in view.charts[:CHARTS]]


def redraw(**values) -> None:
    view = shown(**values)
    with pn.io.hold():
        headline.object = f"# {view.headline}\n{view.answer}"
        for pane, tile in zip(tiles, view.tiles, strict=True):
            pane.object = tile_words(tile)
        for pane, caption, card in zip(charts, captions, view.charts, strict=False):
            pane.object = go.Figure(card.figure)
            caption.object = card.sentence


pn.bind(redraw, **sliders, watch=True)
cards = [
    pn.Column(f"## {card.title}", chart, caption)
    for card, chart, caption in zip(view.charts, charts, captions, strict=False)
]
page = pn.Column(f"# {TITLE}", headline, pn.Row(*tiles), cards[0], pn.Row(*cards[1:]))
pn.Row(pn.Column(*sliders.values(), width=320, sizing_mode="fixed"), page).servable(title=TITLE)
