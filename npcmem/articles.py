"""The data behind the articles' tables and charts, computed again: what ``npcmem data`` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from npcmem import formulas
from npcmem.dialogue import Character
from npcmem.money import Price
from npcmem.paces import pace
from npcmem.sweep import band, crossover, sweep

MEDIANS_S, LIFETIMES = (5, 15, 30, 60, 120, 240), {"five_minutes": (300.0, 1.25), "one_hour": (3600.0, 2.0)}
SESSIONS, TURNS, PREFIX, SUFFIX, READ = 20_000, 60, 2400, 300, 0.1


def summary_interval() -> dict[str, Any]:
    """Return the article on the summary interval: every interval at 60 turns, and every length to 120.

    In uncached input tokens with output at five times their price.
    """
    price, who = Price.relative(5.0), Character()
    usd = sweep(who, 160, 80, 120, None, 0.0, price)
    at_60 = usd[:40, 59]
    best, near = band(usd[:60, 59])
    return {
        "unit": "uncached input tokens",
        "full_history_input_tokens": formulas.full_history_input_tokens(60, 1800, 160),
        "k_star": round(
            float(formulas.optimal_interval(formulas.flush_cost_separate(160, 150, 120, 5.0, 0.0, 0.0, 1.0), 1.0, 160)),
            6,
        ),
        "best_interval": best + 1,
        "within_one_percent": (near + 1).tolist(),
        "by_interval_at_60_turns": {str(k): round(float(cost), 6) for k, cost in enumerate(at_60, start=1)},
        "full_history_by_turns": [round(float(cost), 6) for cost in usd[-1]],
        "summarise_every_4_by_turns": [round(float(cost), 6) for cost in usd[3]],
        "pays_from_turn": crossover(usd.min(axis=0), usd[-1]),
    }


def caching_and_think_time() -> dict[str, Any]:
    """Return the article on caching and think time: the table by simulation, seeded, beside its closed form."""
    rng, rows = np.random.default_rng(20_261_009), []
    for median_s in MEDIANS_S:
        players = pace(f"article-{median_s}s")
        gaps_s = players.sample(rng, (SESSIONS, TURNS - 1))
        row: dict[str, Any] = {"median_think_time_s": median_s}
        for name, (ttl_s, write) in LIFETIMES.items():
            for road, rate in (
                ("simulated", float((gaps_s < ttl_s).sum() / (SESSIONS * TURNS))),
                ("exact", float(players.hit_rate(ttl_s, TURNS))),
            ):
                cost = float(formulas.relative_input_cost(rate, READ, write, PREFIX, SUFFIX))
                row[f"{name}_{road}"] = {"hit_rate": round(rate, 6), "input_cost": round(cost, 6)}
        rows.append(row)
    return {"sessions": SESSIONS, "turns": TURNS, "rows": rows}


FILES = {"summary-interval.json": summary_interval, "caching-and-think-time.json": caching_and_think_time}


def write(folder: Path) -> list[Path]:
    """Write every file into ``folder`` and return them: the same bytes each time."""
    paths = []
    for name, made in FILES.items():
        path = folder / name
        path.write_text(json.dumps(made(), indent=1) + "\n", "utf-8")
        paths.append(path)
    return paths
