"""The pace presets of ``data/paces.toml``: named think times, each with its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from npcmem import checks
from npcmem.data_files import data_text
from npcmem.thinktime import ThinkTime


@dataclass(frozen=True, slots=True)
class PacePreset:
    """One named pace; ``gaps`` is how many measured gaps stand behind it, None where it is an assumption."""

    id: str
    name: str
    think_time: ThinkTime
    gaps: int | None
    source: str


@cache
def paces() -> dict[str, PacePreset]:
    """Return the presets by id, in the order of the file."""
    rows = tomllib.loads(data_text("paces.toml"))["pace"]
    return {row["id"]: _preset(row) for row in rows}


def pace(id: str) -> ThinkTime:
    """Return the think time of one preset."""
    return paces()[checks.known("pace", id, paces())].think_time


def _preset(row: dict) -> PacePreset:
    shape = ThinkTime(row["weights"], row["medians_s"], row["log_sds"], tuple(row["fixed"]))
    return PacePreset(row["id"], row["name"], shape, row.get("gaps"), row["source"])
