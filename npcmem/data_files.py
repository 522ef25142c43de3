"""The files of ``data/``, wherever the package was put."""

from __future__ import annotations

from pathlib import Path


def data_text(name: str) -> str:
    """Return the text of a file of ``data/``: inside an installed package, beside it in a checkout."""
    here = Path(__file__).parent
    places = (here / "data" / name, here.parent / "data" / name)
    return next(place for place in places if place.exists()).read_text("utf-8")
