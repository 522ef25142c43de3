"""The page of the claims: filters, counts and rows are those of the checked claims."""

from __future__ import annotations

import importlib
import re

import pytest

from npcmem.claims import ARTICLES, VERDICTS, check, claims
from npcmem.dashboards.controls import defaults

page = importlib.import_module("npcmem.dashboards.every_number")  # the package has a function of that name
CHECKED = [check(claim) for claim in claims()]
START = defaults(page.controls())


@pytest.mark.parametrize("article", ["all", *ARTICLES])
@pytest.mark.parametrize("verdict", ["all", *VERDICTS])
def test_the_filters_show_what_they_say(article, verdict):
    shown = page.view({"article": article, "verdict": verdict}, CHECKED)
    wanted = [one for one in CHECKED if article in ("all", one.claim.article) and verdict in ("all", one.verdict)]
    assert len(shown.tables[0].rows) == len(shown.table) - 1 == len(wanted)
    for row, one in zip(shown.tables[0].rows, wanted, strict=True):
        assert row.cells[0].replace("\u00a0", "").startswith(one.claim.claim)
        assert not re.search(r"\d ?%", " ".join(row.cells))  # a number and its sign stay together, as everywhere
    counts = {tile.label: int(tile.big) for tile in shown.tiles}
    assert counts == {page.TITLES[name]: sum(one.verdict == name for one in wanted) for name in VERDICTS}
    wanted_first = f"{counts['Right']} of {len(wanted)} claims" if verdict == "all" else f"{len(wanted)} claim"
    assert shown.headline.startswith(wanted_first) and (
        verdict == "all" or page.TITLES[verdict].lower() in shown.headline
    )


def test_the_chart_counts_every_claim_once():
    chart = page.view(START, CHECKED).charts[0]
    assert sum(sum(trace["x"]) for trace in chart.figure["data"]) == len(CHECKED)


def test_the_page_checks_the_claims_itself():
    shown = page.every_number().view
    assert shown["headline"] == page.view(START).headline
