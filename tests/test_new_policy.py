"""A new policy is one frozen dataclass and its instance in the list: every test and every page then has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT, NAME = Path(__file__).parents[1], "summarise at square turns"
PLUGIN = f'''
from dataclasses import dataclass
from math import isqrt

from npcmem import policies


@dataclass(frozen=True, slots=True)
class Squares(policies.Policy):
    least: int = 4

    @property
    def name(self):
        return "{NAME}"

    def due(self, memory):
        heard = memory.covered + len(memory.exchanges)
        return len(memory.exchanges) if heard >= self.least and isqrt(heard) ** 2 == heard else 0


policies.POLICIES = (*policies.POLICIES, Squares())
'''
VIEWS = f"""
from importlib import import_module

import squares
from npcmem.dashboards.controls import defaults

which_memory, watch_prefix = (import_module(f"npcmem.dashboards.{{page}}") for page in ("which_memory", "watch_prefix"))
values = defaults(which_memory.controls())
shown, found = which_memory.view(values), which_memory.answer(values)
assert "{NAME}" in [row.cells[0] for table in shown.tables for row in table.rows]
assert "{NAME}" in [row[0] for row in shown.table]
assert squares.Squares() in found.grid.policies
assert any("{NAME}" in chart.spoken for chart in shown.charts)

controls = watch_prefix.controls()
(choice,) = (one for one in controls if one.name == "policy")
(slug,) = (option[0] for option in choice.options if option[1] == "{NAME}")
watched = watch_prefix.view({{**defaults(controls), "policy": slug}})
assert any("{NAME}" in chart.title.lower() for chart in watched.charts)
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs Python with the new policy's module at hand and returns what it prints."""
    (tmp_path / "squares.py").write_text(PLUGIN, "utf-8")
    paths = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    return run


SUITES = ("test_policies.py", "test_three_roads.py", "test_strategies.py")
PYTEST = ("-m", "pytest", "-vv", "-p", "squares", "-p", "no:cacheprovider", *(f"tests/{suite}" for suite in SUITES))


def test_every_contract_suite_tests_a_new_policy_and_the_bound_holds_for_it(run):
    named = NAME.replace(" ", " and ")
    done = run(*PYTEST, "-k", f"({named}) or (no_policy_on and gpt-4o-mini)").splitlines()
    tested = {line.partition("::")[0] for line in done if NAME in line and "PASSED" in line}
    assert tested == {f"tests/{suite}" for suite in SUITES}
    assert any("no_policy_on" in line and "PASSED" in line for line in done)


def test_every_page_shows_a_new_policy(run):
    run("-c", VIEWS)
