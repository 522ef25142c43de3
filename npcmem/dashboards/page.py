"""One widget for every page: typed controls in, tiles and charts out, the address as its memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anywidget
import traitlets

from npcmem import checks
from npcmem.dashboards import controls as typed
from npcmem.dashboards.controls import Control, Value
from npcmem.dashboards.downloads import Cell, csv_file, json_file

HERE = Path(__file__).parent
STALE = "Two numbers do not fit together: below is still the answer to the last ones that did."
PLOTLY_JS = HERE.parent / "share/jupyter/voila/templates/npcmem/static/plotly-basic.min.js"


@dataclass(frozen=True, slots=True)
class Tile:
    """One large number, what it is, and the sentence that says what it means."""

    label: str
    big: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ChartCard:
    """A figure with its heading, the sentence under it and the same told in words for those who cannot see it.

    ``tall`` reserves more height, ``rows`` a line of text for each of so many; ``wide`` spans the page, as the first
    chart does unless it says False.
    """

    title: str
    sentence: str
    figure: dict[str, Any]
    spoken: str
    tall: bool = False
    wide: bool | None = None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading and, in small print below it, its unit or what it means. ``align``: "right" or "left"."""

    name: str
    help: str = ""
    align: str = "right"


@dataclass(frozen=True, slots=True)
class Row:
    """A row's cells, the first of which names it, with a dot of ``colour`` (one of the palette's) before it.

    ``mark``: a word such as "cheapest" for the row that wins; ``chosen``: the row of what the controls say.
    ``bar``: 0 to 1, the length of the thin bar in the table's ``bar_column``.
    """

    cells: tuple[str, ...]
    colour: str = ""
    mark: str = ""
    chosen: bool = False
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows side by side, such as policies; columns keep their widths whatever the cells hold.

    ``after``: it stands behind so many charts, without it behind all. ``bar_column`` is an index into ``columns``.
    ``told``: its cells are sentences, so that on a phone each row becomes a paragraph.
    """

    title: str
    sentence: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    after: int | None = None
    bar_column: int = 1
    told: bool = False

    def __post_init__(self) -> None:
        """Refuse rows that do not fit the columns: a mistake in a view, not of a visitor."""
        if not 1 <= self.bar_column < max(len(self.columns), 2):
            raise ValueError(f"bar_column must be an index of columns after the first, got {self.bar_column}")
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"a row needs {len(self.columns)} cells, got {len(row.cells)}: {row.cells[:1]}")
            if row.bar is not None and not 0 <= row.bar <= 1:
                raise ValueError(f"bar must be between 0 and 1, got {row.bar!r}: {row.cells[0]}")


@dataclass(frozen=True, slots=True)
class PriceDate:
    """Whose prices a view is computed with and of which day they are.

    ``since``: the first day they are known to hold; ``checked``: the day they were last held against their ``source``;
    both None for prices of no price list. ``listed``: they are the list's; False where the visitor moved one.
    """

    model: str
    name: str
    since: date | None = None
    checked: date | None = None
    listed: bool = True
    source: str = ""


def dates_of(prices: Sequence[PriceDate]) -> str:
    """Return in a sentence or two of which day the prices are, the first of them before the others."""
    if not prices:
        return ""
    first, *others = prices
    dated = "from no price list"
    if first.checked:
        dated = f"checked {first.checked}, in force since {first.since}{'' if first.listed else ', changed by hand'}"
    days = sorted({one.checked for one in others if one.checked})
    more = ""
    if days:
        span = f"{days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
        more = f" Those of the other models: checked {span}."
    return f"Prices of {first.name}: {dated}.{more}"


@dataclass(frozen=True, slots=True)
class View:
    """All that a page shows for one set of values: what a view function returns.

    ``rest``: returns the whole view, where this one holds only what comes at once, the first charts and no tables.
    """

    headline: str
    answer: str
    tiles: Sequence[Tile]
    charts: Sequence[ChartCard]
    notes: Sequence[str] = ()
    table: Sequence[Sequence[Cell]] = field(default=(), repr=False)  # the rows of the downloads, their names first
    tables: Sequence[Table] = ()
    prices: Sequence[PriceDate] = ()  # the scenario's own first
    rest: Callable[[], View] | None = field(default=None, repr=False)

    def plain(self) -> dict[str, Any]:
        """Return what the browser draws; the rows of the download stay here until they are asked for."""
        return {
            "headline": self.headline,
            "answer": self.answer,
            "tiles": [asdict(tile) for tile in self.tiles],
            "charts": [_plain_chart(chart, first=at == 0) for at, chart in enumerate(self.charts)],
            "tables": [asdict(table) for table in self.tables],
            "notes": list(self.notes),
            "prices": dates_of(self.prices),
            "more": self.rest is not None,
        }


def _plain_chart(chart: ChartCard, first: bool) -> dict[str, Any]:
    plain = {name: getattr(chart, name) for name in ChartCard.__slots__}  # asdict would copy every point
    return {**plain, "wide": first if chart.wide is None else chart.wide}


class Page(anywidget.AnyWidget):
    """A page: set ``values`` (or some of them through ``set``) and read ``view`` and ``errors``.

    ``view_of(values)`` computes what is shown; ``first_of(values)`` what of it a visitor's move shows at once, the rest
    being asked for when the hand rests. ``filled(values, name)`` returns the values that follow when
    the visitor sets the control ``name``. ``uploaded(name, content)`` takes a file and returns the controls,
    the values and the sentence that follow. Wrong input leaves the last good view and a sentence in ``errors``.
    """

    _esm = HERE / "static" / "page.js"
    _css = HERE / "static" / "page.css"
    title = traitlets.Unicode().tag(sync=True)
    intro = traitlets.Unicode().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    values = traitlets.Dict().tag(sync=True, echo_update=False)
    asked = traitlets.Int().tag(sync=True, echo_update=False)  # counts the visitor's moves …
    moved = traitlets.List().tag(sync=True, echo_update=False)  # the controls not yet answered, in order
    answered = traitlets.Int().tag(sync=True)  # … and how many of them the view has seen
    view = traitlets.Dict().tag(sync=True)
    errors = traitlets.Dict().tag(sync=True)
    said = traitlets.Dict().tag(sync=True)
    address = traitlets.Unicode().tag(sync=True)
    link = traitlets.Unicode().tag(sync=True, echo_update=False)

    def __init__(
        self,
        title: str,
        intro: str,
        controls: Sequence[Control],
        view_of: Callable[[Mapping[str, Value]], View],
        filled: Callable[[Mapping[str, Value], str], Mapping[str, Value]] = lambda values, name: values,
        uploaded: Callable[[str, bytes], tuple[Sequence[Control], Mapping[str, Value], str]] | None = None,
        first_of: Callable[[Mapping[str, Value]], View] | None = None,
    ) -> None:
        self._controls = tuple(controls)
        self._view_of, self._first_of, self._filled, self._uploaded = view_of, first_of or view_of, filled, uploaded
        self._shown = self._seen = typed.defaults(self._controls)
        self._writing = False
        self._current = view_of(self._shown)
        super().__init__(
            title=title,
            intro=intro,
            controls=typed.spec(self._controls),
            values=dict(self._shown),
            view=self._plain(),
        )
        self.observe(self._on_values, ["values", "asked"])
        self.observe(self._on_link, "link")
        self.on_msg(self._on_message)
        _settle()

    def _plain(self) -> dict[str, Any]:
        """Return what the browser draws, and what it prints beside it: the controls' values in words."""
        told = typed.told(self._controls, self._shown)
        lacks = [told[name] for name in typed.not_in_link(self._controls, self._shown)]
        return {**self._current.plain(), "told": told, "lacks": lacks}

    def set(self, **changes: Value) -> None:
        """Set some controls, as a visitor would one after the other."""
        for name, value in changes.items():
            self.values = {**self.values, name: value}

    def _on_values(self, _: Any) -> None:
        before, raw = self._seen, self.values
        if self._writing or (raw == before and self.answered == self.asked):
            return
        if self.answered != self.asked:  # from a browser, whose other values may be older than what is shown
            raw = {**before, **{name: raw[name] for name in raw if name in self.moved}}
        order = [name for name in (*self.moved, *raw) if raw.get(name) != before.get(name)]
        read, errors = typed.parse(self._controls, raw, self._shown)
        values = {**read, **{name: self._shown[name] for name in order if name in self._shown}}
        for name in dict.fromkeys(order):
            if name in read and name not in errors:
                values = dict(self._filled({**values, name: read[name]}, name))
        self._show(values, errors, raw=raw)

    def _on_link(self, change: Mapping[str, Any]) -> None:
        values, errors, sentence = typed.read_address(self._controls, change["new"], self._filled)
        self._show(
            values, errors, banner=sentence, clash="The values of this link do not fit together. Defaults are shown."
        )

    def _show(
        self,
        values: Mapping[str, Value],
        errors: dict[str, str],
        banner: str = "",
        clash: str = "",
        raw: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Compute and send the view of ``values`` in one message; keep the last good one if it cannot be.

        A control in error keeps what the visitor gave it (``raw``), with the sentence beside it. ``clash``
        is the banner where values do not go together.
        """
        wrong = {name: raw[name] for name in errors if name in raw}
        with self.hold_sync():
            try:
                view_of = self._view_of if self.answered == self.asked else self._first_of
                self._current = view_of(values)
                self._shown = dict(values)
                self.address = typed.address(self._controls, self._shown, self._filled)
            except typed.WrongTogether as error:
                touched = [name for name in (*self.errors, *reversed(self.moved), *error.names) if name in error.names]
                errors, wrong = {touched[0]: checks.sentence(error), **errors}, {**values, **wrong}
                banner = banner or clash or STALE
            self.errors = errors
            self.view = {**self._plain(), "banner": banner}
            self.answered = self.asked
            self._writing = True
            self.values = self._seen = {**self._shown, **wrong}
            self._writing = False

    def _complete(self) -> None:
        """Compute and send what the last view has left for later."""
        if self._current.rest:
            self._current = self._current.rest()
            self.view = {**self._plain(), "banner": self.view["banner"]}

    def _on_message(self, _: Any, content: Mapping[str, Any], buffers: Sequence[memoryview]) -> None:
        want = content.get("want")
        if want in ("rest", "csv", "json"):
            self._complete()
        if want == "plotly":
            self.send({"plotly": True}, buffers=[plotly_js()])
        elif want == "csv":
            self.send({"csv": "npcmem.csv"}, buffers=[csv_file(self._current.table)])
        elif want == "json":
            self.send({"json": "npcmem.json"}, buffers=[self._json()])
        elif want == "upload" and buffers and self._uploaded:
            self._on_upload(str(content.get("control")), str(content.get("file"))[:80], bytes(buffers[0]))

    def _json(self) -> bytes:
        return json_file(self.title, self._controls, self._shown, self.address, self._current)

    def _on_upload(self, control: str, file: str, content: bytes) -> None:
        heard = {"#": self.said.get("#", 0) + 1}  # so that the same file twice is answered twice
        try:
            typed.check_size(self._controls, control, content)
            controls, values, sentence = self._uploaded(file, content)
        except (ValueError, TypeError, KeyError) as error:
            self.errors = {**self.errors, control: f"{file}: {checks.sentence(error)}"}
            self.said = heard
            return
        self._controls = tuple(controls)
        self.controls = typed.spec(self._controls)
        self.said = {control: sentence, **heard}
        self._show({**self._shown, **values}, {})


@cache
def _settle() -> None:
    """Spare the garbage collector, once in a process, what is loaded by the first page: it stays, whoever leaves."""
    gc.freeze()


@cache
def plotly_js() -> bytes:
    """Return the plotly.js that pages and lessons draw with."""
    return PLOTLY_JS.read_bytes()
