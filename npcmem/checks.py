"""Sentences for bad input: the field, the value, the bound and the unit."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

MOST_TOKENS = 100_000_000
MOST_TURNS = 100_000


def number(name: str, value: Any, least: float, most: float, unit: str, *, above: bool = False) -> float:
    """Return ``value`` as a float in [least, most], or in (least, most] when ``above``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number of {unit}, got {value!r}")
    try:
        value = float(value)
    except OverflowError:  # a whole number past every float
        value = math.inf if value > 0 else -math.inf
    if math.isnan(value) or (value <= least if above else value < least):
        raise ValueError(f"{name} must be {'>' if above else '>='} {least:,.12g} {unit}, got {value:g}")
    if value > most:
        raise ValueError(f"{name} must be <= {most:,.12g} {unit}, got {value:g}")
    return value


def whole(name: str, value: Any, least: int, most: int, unit: str) -> int:
    """Return ``value`` as an int in [least, most]; a fraction is refused, not rounded."""
    number(name, value, least, most, unit)
    if value != int(value):
        raise TypeError(f"{name} must be a whole number of {unit}, got {value!r}")
    return int(value)


def whole_field(record: object, name: str, least: int, most: int, unit: str) -> None:
    """Check a field of a frozen dataclass and keep it as an int: 4.0 is 4 from then on."""
    object.__setattr__(record, name, whole(name, getattr(record, name), least, most, unit))


def tokens(name: str, value: Any, least: int = 0) -> int:
    """Return a token count."""
    return whole(name, value, least, MOST_TOKENS, "tokens")


def numbers(name: str, values: Any, least: float, most: float, unit: str) -> np.ndarray:
    """Return a read-only 1-d float array whose every entry is in [least, most]."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers of {unit}, got {repr(values)[:60]}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be one row of {unit}, got {array.ndim} dimensions")
    bad = ~((array >= least) & (array <= most))
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(f"{name}[{at}] must be between {least:,.12g} and {most:,.12g} {unit}, got {array[at]:g}")
    array.flags.writeable = False
    return array


def known(kind: str, value: str, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``; otherwise name the nearest ones."""
    names = list(choices)
    if value in names:
        return value
    near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.3)
    some = ", ".join(map(repr, names[:8])) + (f" … ({len(names)} in all)" if len(names) > 8 else "")
    hint = f"nearest: {near[0]!r}" if near else f"one of: {some}"
    raise KeyError(f"unknown {kind} {value!r}; {hint}")


def sentence(error: Exception) -> str:
    """Return the sentence of an error; a KeyError would put it in quotes."""
    return str(error.args[0]) if error.args else type(error).__name__
