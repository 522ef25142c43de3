"""Numbers as a reader wants them: dollars, shares, durations and runs of whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from npcmem import dialogue

NBSP = "\u00a0"  # keeps a number and its unit on one line


def usd(dollars: float) -> str:
    """Return dollars to three significant digits, cents and thousands as money is written."""
    dollars = float(f"{dollars:.3g}") if dollars < 1 else dollars
    if dollars >= 1:
        return f"${dollars:,.2f}" if dollars < 1000 else f"${dollars:,.0f}"
    decimals = 2 - int(f"{dollars:e}".split("e")[1])
    return f"${dollars:.{decimals}f}" if dollars else "$0"


def percent(share: float) -> str:
    """Return a share in whole percent, with a decimal near 0 and 100."""
    value = 100 * share
    digits = 1 if 0 < abs(value) < 10 or 99 < value < 100 else 0
    return f"{value:,.{digits}f}{NBSP}%".replace("-", "−")


def spaced(text: str) -> str:
    """Return a text with one space that does not break between a number and its per cent sign."""
    return re.sub(r"(?<=\d) ?%", f"{NBSP}%", text)


def duration(seconds: float) -> str:
    """Return a time in words, on one line."""
    return dialogue.duration(seconds).replace(" ", NBSP)


def quantity(number: float, unit: str) -> str:
    """Return a number with its unit, thousands apart; a unit in brackets says only what the number is."""
    text = f"{number:,.10g}"
    if unit.startswith("$"):
        return f"${text}{unit[1:]}"
    return text if unit.startswith("(") else f"{text}{NBSP}{unit}"


def runs(numbers: Iterable[int]) -> str:
    """Return sorted whole numbers with their runs joined: "10, 12, 15–16, 20"."""
    parts = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [int(number) for _, number in group]
        parts.append(f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}")
    return ", ".join(parts)
