"""Shared data, and how hard hypothesis tries: 50 fixed examples, or HYPOTHESIS_PROFILE=thorough for 1,000."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(os.environ.get("NPCMEM_SHARED") or Path(__file__).parents[2] / "shared")

_calm = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", max_examples=50, derandomize=True, **_calm)
settings.register_profile("thorough", max_examples=1000, **_calm)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Return a function from a path inside the shared data to the file, skipping where it is absent."""

    def find(path: str) -> Path:
        file = SHARED / path
        if not file.exists():
            pytest.skip(f"shared data absent: {path} is in neither ../shared nor $NPCMEM_SHARED")
        return file

    return find
