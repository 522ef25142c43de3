"""Shared data, and how hard hypothesis tries: 50 fixed examples, or HYPOTHESIS_PROFILE=thorough for 1,000."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium; without one these tests are skipped, in CI they fail."""
    from tests import chromium, pages

    if not chromium.find():
        missing = "no Chromium for the browser tests: set CHROMIUM, or install one and run again"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    with pages.chromium() as found:
        yield found


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that begins a visit with a browser window of its own."""
    from tests import pages

    made = []

    def start(**options: Any) -> pages.Visit:
        made.append(pages.Visit(browser, bypass_csp=True, **options))  # the tests' own waiting needs eval
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture(scope="module", params=["voila", "crowd"])
def serves(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Each of the two servers, as a context that yields a page's or a folder's address and the process."""
    from tests import pages, publish

    voila = functools.partial(pages.voila, "--cull-after-s", "30")  # or the kernels of a hundred tests stay
    return {"voila": voila, "crowd": publish.crowd}[request.param]


@pytest.fixture(scope="module")
def site(serves: Callable[..., Any]) -> Iterator[str]:
    """The address of all pages under a base URL, on either server."""
    from tests import pages

    with serves(notebooks=pages.NOTEBOOKS, base_url="/games/") as (url, _):
        yield url
