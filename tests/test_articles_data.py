"""The articles' data in data/articles is what `make data` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npcmem import articles
from npcmem.cli import main

FOLDER = Path(__file__).parent.parent / "data" / "articles"


@pytest.mark.parametrize("name", articles.FILES)
def test_what_is_committed_is_current(name):
    made, kept = json.loads(json.dumps(articles.FILES[name]())), json.loads((FOLDER / name).read_text("utf-8"))
    assert made == kept


def test_the_command_writes_the_same_bytes_each_time(tmp_path, capsys):
    assert main(["data", str(tmp_path)]) == 0
    for name in articles.FILES:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()
    assert capsys.readouterr().out.count(".json") == len(articles.FILES)


def test_the_simulation_is_within_its_noise_of_the_closed_form():
    for row in articles.caching_and_think_time()["rows"]:
        for name in articles.LIFETIMES:
            assert row[f"{name}_simulated"]["hit_rate"] == pytest.approx(row[f"{name}_exact"]["hit_rate"], abs=0.002)
