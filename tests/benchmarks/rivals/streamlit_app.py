"""The estimate in Streamlit: a script from top to bottom, run again at every move."""

import plotly.graph_objects as go
import streamlit as st

from tests.benchmarks.rivals.estimate import CHARTS, SLIDERS, TITLE, label, shown, track


def words(text: str) -> str:
    """Return text whose dollars are dollars, not the marks of a formula."""
    return text.replace("$", "\\$")


def draw(column, card) -> None:
    column.subheader(card.title)
    column.plotly_chart(go.Figure(card.figure), key=card.title)
    column.caption(words(card.sentence))


st.set_page_config(page_title=TITLE, layout="wide")
st.title(TITLE)
values = {one.name: st.sidebar.slider(label(one), *track(one)) for one in SLIDERS}
view = shown(**values)

st.header(words(view.headline))
st.write(words(view.answer))
for column, tile in zip(st.columns(len(view.tiles)), view.tiles, strict=True):
    column.metric(tile.label, words(tile.big))
    column.caption(words(tile.sentence))
first, *rest = view.charts[:CHARTS]
draw(st, first)
for column, card in zip(st.columns(len(rest)), rest, strict=True):
    draw(column, card)
