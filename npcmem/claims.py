"""Every number of the five articles, checked: what is claimed, what the engine computes, and what is true instead.

``data/claims.json`` holds the claims in our own words; ``claim_checks`` recomputes each. A verdict is never typed: it
follows from the figures, and the one the file expects is held against it.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from npcmem import checks, claim_checks
from npcmem.claim_checks import Value, Values
from npcmem.data_files import data_text

ARTICLES = {
    "summary-interval": "The summary interval",
    "conversation-summaries": "Conversation summaries",
    "caching-and-think-time": "Caching and think time",
    "multi-turn-cost": "Multi-turn cost",
    "npc-memory": "NPC memory",
}
VERDICTS = {
    "right": "what the article states comes out again",
    "incomplete": "it comes out under the article's own assumptions, and differently under wider ones",
    "wrong": "it does not come out under the article's own assumptions",
    "unsupported": "there is no data to compute it from",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure an article states.

    ``name``: the result it is held against. ``value``: as the article states it, in ``unit`` (a share in %); True for a
    statement without a number. ``to``: the other end where the article gives a range. ``tolerance``: how far off still
    agrees, in the same unit. ``wider``: results under wider assumptions that a complete figure would agree with too.
    """

    name: str
    value: float | bool
    unit: str
    tolerance: float
    to: float | None = None
    wider: tuple[str, ...] = ()

    def agrees(self, result: Value) -> bool | None:
        """Return whether a result agrees with what is stated; None where there is none."""
        if result is None or isinstance(self.value, bool):
            return None if result is None else result == self.value
        most = self.value if self.to is None else self.to
        slack = self.tolerance * (1 + 1e-9)  # a result that is rounded down from a half still agrees
        return self.value - slack <= self._scaled(result) <= most + slack

    @property
    def stated(self) -> str:
        """The figure as the article has it."""
        if isinstance(self.value, bool):
            return "holds"
        ends = [self._number(end, 12) for end in (self.value, self.to) if end is not None]
        return self._with_unit("–".join(ends))

    def text(self, result: Value) -> str:
        """Return a result in the figure's unit, with a digit more than what is stated."""
        if result is None:
            return "no data"
        if isinstance(self.value, bool):
            return "holds" if result else "does not hold"
        places = max(math.ceil(-math.log10(self.tolerance or 0.05)), 0)
        return self._with_unit(self._number(self._scaled(result), max(places, 2) if self.unit == "$" else places))

    def _number(self, number: float, most_places: int) -> str:
        """Return a number without zeros at its end; dollars that are not whole have cents."""
        whole, _, part = f"{round(number, 9):,.{most_places}f}".partition(".")
        part = part.rstrip("0")
        part = part.ljust(2, "0") if part and self.unit == "$" else part
        return f"{whole}.{part}" if part else whole

    def _scaled(self, result: Value) -> float:
        return 100 * float(result) if self.unit == "%" else float(result)

    def _with_unit(self, number: str) -> str:
        if self.unit in ("%", "$"):
            return f"{number}%" if self.unit == "%" else f"-${number[1:]}" if number[0] == "-" else f"${number}"
        return f"{number} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of an article.

    ``claim``: in our own words, with its figures. ``call``: the function of ``claim_checks`` that recomputes it.
    ``verdict``: the one expected, a key of ``VERDICTS``. ``sentence``: what is true instead, or under which condition,
    with the results' names in braces. ``where``: the part of the article.
    """

    id: str
    article: str
    where: str
    claim: str
    figures: tuple[Figure, ...]
    call: str
    verdict: str
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A claim with its results by name, the verdict that follows from them, and its sentence filled in."""

    claim: Claim
    values: Values
    verdict: str
    sentence: str

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one the file expects."""
        return self.verdict == self.claim.verdict

    @property
    def stated(self) -> tuple[str, ...]:
        """Each figure as the article has it."""
        return tuple(figure.stated for figure in self.claim.figures)

    @property
    def computed(self) -> tuple[str, ...]:
        """Each figure recomputed under the article's own assumptions."""
        return tuple(figure.text(self.values[figure.name]) for figure in self.claim.figures)

    @property
    def wider(self) -> tuple[tuple[str, ...], ...]:
        """Each figure recomputed under wider assumptions, where there are any."""
        return tuple(tuple(figure.text(self.values[name]) for name in figure.wider) for figure in self.claim.figures)


def check(claim: Claim) -> Checked:
    """Recompute a claim and derive its verdict."""
    results = {name: _plain(value) for name, value in calls()[claim.call]().items()}
    missing = [name for name in _names(claim) if name not in results]
    if missing:
        raise ValueError(f"claim {claim.id!r}: {claim.call} has no result {missing[0]!r}; it has {', '.join(results)}")
    return Checked(claim, results, verdict(claim, results), claim.sentence.format_map(results))


def verdict(claim: Claim, results: Values) -> str:
    """Return what results make of a claim: wrong before unsupported before incomplete."""
    own = [figure.agrees(results[figure.name]) for figure in claim.figures]
    if False in own:
        return "wrong"
    if None in own:
        return "unsupported"
    wider = [figure.agrees(results[name]) for figure in claim.figures for name in figure.wider]
    return "right" if all(wider) else "incomplete"


def calls() -> dict[str, Callable[[], Values]]:
    """Return the functions that recompute claims, by name."""
    found = inspect.getmembers(claim_checks, inspect.isfunction)
    return {name: one for name, one in found if one.__module__ == claim_checks.__name__ and name[0] != "_"}


def _plain(value: Value | np.generic) -> Value:
    return value.item() if isinstance(value, np.generic) else value


def _names(claim: Claim) -> list[str]:
    """Return the results that a claim's figures and sentence ask for."""
    own = [name for figure in claim.figures for name in (figure.name, *figure.wider)]
    return own + re.findall(r"{(\w+)", claim.sentence)


# --- reading the file -----------------------------------------------------------------------------

_FIELDS = {
    "id": str,
    "article": str,
    "where": str,
    "claim": str,
    "figures": list,
    "call": str,
    "verdict": str,
    "sentence": str,
}
_NUMBER = (int, float)
_FIGURE = {"name": str, "value": (bool, *_NUMBER), "unit": str, "tolerance": _NUMBER}
_FIGURE_MORE = {"to": _NUMBER, "wider": list}


def claims() -> tuple[Claim, ...]:
    """Return every claim, in the order of the file."""
    return read_claims(data_text("claims.json"))


def find(id: str) -> Claim:
    """Return one claim. Raises KeyError for an unknown id, naming the nearest."""
    known = {claim.id: claim for claim in claims()}
    return known[checks.known("claim", id, known)]


def read_claims(text: str) -> tuple[Claim, ...]:
    """Return the claims of a file's text. Raises ValueError naming the claim, the field and the value that is wrong."""
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"claims are not JSON: {error}") from error
    if not isinstance(rows, list):
        raise ValueError(f"claims must be a list, got {type(rows).__name__}")
    found = tuple(_claim(number, row) for number, row in enumerate(rows, start=1))
    ids = [claim.id for claim in found]
    for id in ids:
        if ids.count(id) > 1:
            raise ValueError(f"claim {id!r}: the id is taken")
    return found


def _claim(number: int, row: Any) -> Claim:
    where = f"claim {row.get('id', f'number {number}')!r}" if isinstance(row, dict) else f"claim number {number}"
    _check_fields(where, row, _FIELDS, {})
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["id"]):
        raise ValueError(f"{where}: id must be words in lower case joined by hyphens")
    for field, choices in (("article", ARTICLES), ("verdict", VERDICTS), ("call", calls())):
        try:
            checks.known(field, row[field], choices)
        except KeyError as error:
            raise ValueError(f"{where}: {checks.sentence(error)}") from error
    if not row["figures"]:
        raise ValueError(f"{where}: figures must hold at least 1 figure, got 0")
    figures = tuple(_figure(f"{where}, figure {at}", one) for at, one in enumerate(row["figures"], start=1))
    return Claim(**{**row, "figures": figures})


def _figure(where: str, row: Any) -> Figure:
    _check_fields(where, row, _FIGURE, _FIGURE_MORE, may_be_empty=("unit",))
    if row["tolerance"] < 0:
        raise ValueError(f"{where}: tolerance must be >= 0 {row['unit']}, got {row['tolerance']:g}")
    if row["value"] is False:
        raise ValueError(f"{where}: value must be a number or true, got false")
    if "to" in row and row["to"] <= row["value"]:
        raise ValueError(f"{where}: to ({row['to']:g}) must be above value ({row['value']:g})")
    return Figure(**{**row, "wider": tuple(row.get("wider", ()))})


def _check_fields(
    where: str, row: Any, needed: dict[str, Any], more: dict[str, Any], may_be_empty: tuple[str, ...] = ()
) -> None:
    """Refuse a row that lacks a field, has an unknown or an empty one, or one of another type."""
    if not isinstance(row, dict):
        raise ValueError(f"{where}: must be fields in braces, got {row!r}")
    for field in needed:
        if field not in row:
            raise ValueError(f"{where}: the field {field!r} is missing")
    for field, value in row.items():
        kind = {**needed, **more}.get(field)
        if kind is None:
            raise ValueError(f"{where}: unknown field {field!r}")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is _NUMBER):
            raise ValueError(f"{where}: the field {field!r} has the wrong type, got {value!r}")
        if value == "" and field not in may_be_empty:
            raise ValueError(f"{where}: the field {field!r} is empty")
