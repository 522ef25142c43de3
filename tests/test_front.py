"""The front page: its figure says what the engine says, and leads to every page and lesson."""

from __future__ import annotations

import math
import re
import sys

import pytest

from npcmem import FullHistory, Session, SummariseEvery, expected
from npcmem.dashboards import scenario, which_memory
from npcmem.dashboards.controls import defaults
from npcmem.offers import offer
from npcmem.paces import pace
from npcmem.serve import LESSONS, PAGES, front, shelf_of
from npcmem.serve.front import CHARACTER, MODEL, PACE, SESSIONS, THINK_S, TURNS
from tests import pages

CARD = offer(MODEL)
SESSION = Session.uniform(TURNS, front.EXCHANGE_TOKENS, front.REPLY_TOKENS)
SHOWN = front.figure()


def test_its_scenario_is_that_with_which_the_pages_begin():
    start = defaults(sys.modules[which_memory.__module__].controls())
    assert (scenario.DEFAULT_MODEL, scenario.DEFAULT_PACE, start["kept"]) == (MODEL, PACE, front.KEPT)
    assert scenario.character(start) == CHARACTER
    assert (start["m"], start["o"], start["recall"]) == (front.EXCHANGE_TOKENS, front.REPLY_TOKENS, 95)


def test_what_is_sent_whole_and_cached_is_the_engines():
    alone = [Session.uniform(n, front.EXCHANGE_TOKENS, front.REPLY_TOKENS) for n in (1, 17, TURNS)]
    for session in alone:
        n = session.turns
        plain = SESSIONS * expected(FullHistory(), CHARACTER, session, None).cost(CARD.price)
        assert SHOWN["plain"][n - 1] == pytest.approx(plain, rel=1e-3)
        for at, think_s in enumerate(THINK_S):
            shape = pace(PACE).at_pace(think_s)
            cached = SESSIONS * expected(FullHistory(), CHARACTER, session, CARD.rules, shape).cost(CARD.price)
            assert SHOWN["paces"][at]["cached"][n - 1] == pytest.approx(cached, rel=1e-3)


@pytest.mark.parametrize("at", range(len(THINK_S)))
def test_the_best_is_never_dearer_and_costs_what_its_name_says(at):
    shown = SHOWN["paces"][at]
    assert all(best <= cached * (1 + 1e-3) for best, cached in zip(shown["best"], shown["cached"], strict=True))
    assert all(re.search(r"\d|full history|fields", name) for name in shown["names"])
    shape = pace(PACE).at_pace(THINK_S[at])
    for n, name in enumerate(shown["names"], start=1):
        if (found := re.fullmatch(r"summarise every (\d+)", name)) and n % 25 == 0:
            session = Session.uniform(n, front.EXCHANGE_TOKENS, front.REPLY_TOKENS)
            each = (SummariseEvery(int(found[1]), shares_prefix=shared) for shared in (False, True))
            usd = min(expected(one, CHARACTER, session, CARD.rules, shape).cost(CARD.price) for one in each)
            assert shown["best"][n - 1] == pytest.approx(SESSIONS * usd, rel=1e-3)


def test_longer_conversations_cost_more():
    for line in (SHOWN["plain"], *(one[name] for one in SHOWN["paces"] for name in ("cached", "best"))):
        assert len(line) == TURNS and all(math.isfinite(one) for one in line)
        assert all(a < b for a, b in zip(line, line[1:], strict=False))


def test_every_page_and_lesson_has_its_thumbnails_and_they_ask_nobody():
    known = front.known(shelf_of(pages.NOTEBOOKS))
    stems = {page.stem for page in (*PAGES, *LESSONS)}
    assert known["thumbnails"] == stems
    files = sorted(front.THUMBNAILS.iterdir())
    assert {path.name for path in files} == {f"{stem}-{scheme}.svg" for stem in stems for scheme in ("light", "dark")}
    for path in files:
        text = path.read_text("utf-8")
        assert len(text) < 40_000 and text.startswith("<svg")
        assert "<script" not in text and "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
