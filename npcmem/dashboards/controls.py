"""Typed controls: what a page's inputs may be, read from sliders and from hostile links alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from npcmem import checks
from npcmem.dashboards.words import duration, quantity

Value = float | int | str
LINK_VERSION = "1"
LONGEST_LINK = 4_000
UPLOADED = "Uploaded"  # the heading of options made from a visitor's own file


class WrongTogether(ValueError):
    """Values that are fine by themselves but not together: those of the controls ``names``."""

    def __init__(self, names: tuple[str, ...], sentence: str) -> None:
        super().__init__(sentence)
        self.names = names


@dataclass(frozen=True, slots=True)
class Slider:
    """A number in [least, most]. ``scale`` "log" gives every factor of ten the same length of track."""

    name: str
    label: str
    symbol: str
    help: str
    least: float
    most: float
    default: float
    unit: str
    step: float = 1
    scale: str = "linear"
    group: str = ""

    def parse(self, raw: Any) -> Value:
        """Return the value; ValueError or TypeError with field, value, bound and unit."""
        if isinstance(raw, str):
            try:
                raw = float(raw)
            except ValueError:
                raise ValueError(f"{self.label} must be a number of {self.unit}, got {raw[:40]!r}") from None
        value = checks.number(self.label, raw, self.least, self.most, self.unit)
        if self.step == 1 and self.scale == "linear":
            return checks.whole(self.label, value, int(self.least), int(self.most), self.unit)
        return value

    def told(self, value: Value) -> str:
        """Return a value with its unit, as a reader wants it."""
        return duration(float(value)) if self.unit == "seconds" else quantity(float(value), self.unit)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some options, each (id, label, heading it stands under)."""

    name: str
    label: str
    help: str
    options: tuple[tuple[str, str, str], ...]
    default: str
    group: str = ""

    def parse(self, raw: Any) -> Value:
        """Return the id; KeyError naming the nearest one."""
        return checks.known(self.label.lower(), str(raw)[:60], [option[0] for option in self.options])

    def told(self, value: Value) -> str:
        """Return the label of the option of an id."""
        return next(option[1] for option in self.options if option[0] == value)

    def with_upload(self, id: str, label: str) -> Choice:
        """Return the choice with an option made from the visitor's own file."""
        others = tuple(option for option in self.options if option[0] != id)
        return replace(self, options=(*others, (id, label, UPLOADED)))

    def is_upload(self, id: Value) -> bool:
        """Whether an option was made from the visitor's own file, which no link can hold."""
        return any((id, UPLOADED) == (option[0], option[2]) for option in self.options)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file from the visitor's machine, sent to the kernel as bytes; it never becomes part of a link."""

    name: str
    label: str
    help: str
    most_bytes: int
    group: str = ""


Control = Slider | Choice | Upload


def spec(controls: Iterable[Control]) -> list[dict[str, Any]]:
    """Return the controls as plain data for the browser."""
    return [{"type": type(control).__name__.lower(), **asdict(control)} for control in controls]


def defaults(controls: Iterable[Control]) -> dict[str, Value]:
    return {control.name: control.default for control in controls if not isinstance(control, Upload)}


def told(controls: Iterable[Control], values: Mapping[str, Value]) -> dict[str, str]:
    """Return by name what the controls say, in words; a control that takes a file says nothing by itself."""
    return {one.name: one.told(values[one.name]) for one in controls if not isinstance(one, Upload)}


def scenario(controls: Iterable[Control], values: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """Return by name what the controls say, as plain data: label, group, value, unit and the same in words."""
    return {
        one.name: {
            "label": one.label,
            "group": one.group,
            "value": values[one.name],
            "unit": getattr(one, "unit", None),
            "told": one.told(values[one.name]),
        }
        for one in controls
        if not isinstance(one, Upload)
    }


def not_in_link(controls: Iterable[Control], values: Mapping[str, Value]) -> list[str]:
    """Return the names of the choices whose option was made from a visitor's file, which a link leaves out."""
    return [one.name for one in controls if isinstance(one, Choice) and one.is_upload(values[one.name])]


def parse(
    controls: Iterable[Control], raw: Mapping[str, Any], otherwise: Mapping[str, Value]
) -> tuple[dict[str, Value], dict[str, str]]:
    """Return the values of all controls and, for those that could not be read, a sentence each.

    A control that ``raw`` lacks, or has wrong, keeps its value in ``otherwise``.
    """
    values, errors = dict(otherwise), {}
    for control in controls:
        if not isinstance(control, Upload) and control.name in raw:
            try:
                values[control.name] = control.parse(raw[control.name])
            except (ValueError, TypeError, KeyError) as error:
                errors[control.name] = checks.sentence(error)
    return values, errors


def check_size(controls: Iterable[Control], name: str, content: bytes) -> None:
    """Raise ValueError where a file is larger than its control takes, whatever the browser let through."""
    for control in controls:
        if isinstance(control, Upload) and control.name == name and len(content) > control.most_bytes:
            raise ValueError(f"the file must be <= {control.most_bytes:,} bytes, got {len(content):,}")


Fill = Callable[[Mapping[str, Value], str], Mapping[str, Value]]


def chosen(controls: Iterable[Control], choices: Mapping[str, Value], filled: Fill) -> dict[str, Value]:
    """Return the defaults with ``choices`` made one after the other and what each of them fills in."""
    values = defaults(controls)
    for control in controls:
        if isinstance(control, Choice) and choices.get(control.name, control.default) != control.default:
            values = dict(filled({**values, control.name: choices[control.name]}, control.name))
    return values


def address(controls: Iterable[Control], values: Mapping[str, Value], filled: Fill) -> str:
    """Return the query string that restores ``values``: a version, the choices made, and what differs from them."""
    choices = [control for control in controls if isinstance(control, Choice)]
    start = defaults(controls)
    values = {**values, **{name: start[name] for name in not_in_link(choices, values)}}
    chose = chosen(controls, values, filled)
    picked = [one.name for one in choices if values[one.name] != one.default]
    moved = [name for name in start if name not in picked and values[name] != chose[name]]
    pairs = [(name, _text(values[name])) for name in (*picked, *moved)]
    return urlencode([("v", LINK_VERSION), *pairs]) if pairs else ""


def read_address(controls: Iterable[Control], query: str, filled: Fill) -> tuple[dict[str, Value], dict[str, str], str]:
    """Return values, errors by control and a sentence on the link as a whole ("" if it is fine)."""
    start = defaults(controls)
    if len(query) > LONGEST_LINK:
        return start, {}, f"This link has {len(query):,} characters, more than {LONGEST_LINK:,}. Defaults are shown."
    try:
        pairs = dict(parse_qsl(query.lstrip("?"), max_num_fields=100))
    except ValueError:
        return start, {}, "This link has more than 100 fields. Defaults are shown."
    if (version := pairs.get("v", LINK_VERSION)) != LINK_VERSION:
        return (
            start,
            {},
            f"This link is of version {version[:20]!r}, this page reads {LINK_VERSION!r}. Defaults are shown.",
        )
    choices, _ = parse([control for control in controls if isinstance(control, Choice)], pairs, {})
    values, errors = parse(controls, pairs, chosen(controls, choices, filled))
    count = f"{len(errors)} value{'s' if len(errors) > 1 else ''} of this link"
    return values, errors, f"{count} could not be read and stayed at the default." if errors else ""


def _text(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
