"""The front page's figure: what one conversation costs as it grows, sent whole, cached, and remembered well."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from npcmem.dialogue import Character, Session
from npcmem.offers import offer
from npcmem.outlook import expected
from npcmem.paces import pace
from npcmem.policies import POLICIES, FullHistory, duration
from npcmem.pricing import worthwhile_pings
from npcmem.recall import preset
from npcmem.serve.pages import SHARE, Shelf
from npcmem.strategies import BEST_INTERVALS, CostMap, Prices, cost_map

THUMBNAILS = SHARE / "voila/templates/npcmem/static/thumbnails"
# The scenario with which the pages begin; a test holds that it is theirs.
MODEL, PACE, KEPT = "claude-haiku-5-5", "deliberate", "values-verbatim"
CHARACTER = Character(static_tokens=1800, summary_tokens=150, instruction_tokens=120, volatile_tokens=80)
EXCHANGE_TOKENS, REPLY_TOKENS, LEAST_RECALL = 160, 80, 0.95
TURNS = 100
THINK_S = (10, 30, 120, 300, 900)
SESSIONS = 1_000


@cache
def known(shelf: Shelf) -> dict[str, Any]:
    """Return what the front page's template shows."""
    drawn = {path.stem.removesuffix("-light") for path in THUMBNAILS.glob("*-light.svg")}
    return {"shelf": shelf, "figure": figure(), "thumbnails": drawn, "static": "voila/templates/npcmem/static/"}


def figure() -> dict[str, Any]:
    """Return the figure as plain data: dollars of 1,000 conversations of 1, 2, … ``TURNS`` turns.

    ``plain``: everything sent every turn at full price; of each of ``paces``: ``cached``, the same with the provider's
    cache, ``best``, the cheapest memory that still knows 95 %, and ``names``, which one it is, by turns.
    """
    model, shape = offer(MODEL), pace(PACE)
    session = Session.uniform(TURNS, EXCHANGE_TOKENS, REPLY_TOKENS)
    paces = [shape.at_pace(think_s) for think_s in THINK_S]
    pings = max(worthwhile_pings(one, model.rules, model.price) for one in paces)
    policies = [one.suited(model.rules.ttl_s, pings) for one in POLICIES]
    grid = cost_map(
        policies, CHARACTER, session, model.rules, paces, Prices(model.price), preset(KEPT).retention,
        least_recall=LEAST_RECALL,
    )  # fmt: skip
    plain = expected(FullHistory(), CHARACTER, session, None).cost_by_length(model.price)
    return {
        "model": model.name,
        "priced": f"{model.checked:%-d %B %Y}",
        "sessions": SESSIONS,
        "static_tokens": CHARACTER.static_tokens,
        "exchange_tokens": EXCHANGE_TOKENS,
        "least_recall": LEAST_RECALL,
        "plain": _dollars(np.ravel(plain)),
        "paces": [_at_pace(grid, at, think_s) for at, think_s in enumerate(THINK_S)],
    }


def _at_pace(grid: CostMap, at: int, think_s: int) -> dict[str, Any]:
    winners = grid.winners[:, at]
    names = [_name(grid, winner, turns, at) for turns, winner in enumerate(winners, start=1)]
    best = np.take_along_axis(grid.usd[:, :, at], winners[None], axis=0)[0]
    whole = [policy == FullHistory() for policy in grid.policies].index(True)
    return {
        "think_s": think_s,
        "label": duration(think_s),
        "cached": _dollars(grid.usd[whole, :, at]),
        "best": _dollars(best),
        "names": names,
    }


def _name(grid: CostMap, winner: int, turns: int, at: int) -> str:
    """Return a winner's name; the best interval by its k, and as full history where it never summarises."""
    if winner < len(grid.policies):
        name = grid.names[winner]
    else:
        alive = winner - len(grid.policies)
        k = int(grid.intervals[alive, turns - 1, at])
        name = "full history" if k >= turns else f"summarise every {k}"
        name += BEST_INTERVALS[alive].removeprefix(BEST_INTERVALS[0])
    return name.replace(", shared prefix", "").replace(", kept alive", ", cache kept alive")


def _dollars(usd: np.ndarray) -> list[float]:
    """Return dollars of all sessions, to four digits that count."""
    return [float(f"{SESSIONS * one:.4g}") for one in usd]
