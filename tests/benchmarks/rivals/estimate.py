"""What the three apps have in common: six sliders, and npcmem's own view of "What will it cost per player?"."""

from __future__ import annotations

from npcmem.dashboards.controls import Slider, defaults
from npcmem.dashboards.cost_per_player import controls, first
from npcmem.dashboards.page import View

TITLE = "What will it cost per player?"
NAMES = ("players", "sessions", "turns", "S", "m", "think")
CHARTS = 3  # of the page's charts, its first ones

ALL = {one.name: one for one in controls()}
SLIDERS: tuple[Slider, ...] = tuple(ALL[name] for name in NAMES)


def label(slider: Slider) -> str:
    """Return a slider's label with its unit."""
    return f"{slider.label} ({slider.unit})"


def track(slider: Slider) -> tuple[float, float, float, float]:
    """Return least, most, start and step, whole numbers where the step is one."""
    number = int if slider.step == 1 else float
    return tuple(number(one) for one in (slider.least, slider.most, slider.default, slider.step))


def shown(**values: float) -> View:
    """Return what npcmem's page shows at once for these sliders, all else as it is at first; no app shows more."""
    return first({**defaults(ALL.values()), **values})
