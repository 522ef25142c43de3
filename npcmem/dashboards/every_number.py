"""The page "Every number, checked": what the five articles claim, computed again while the page opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npcmem import plots
from npcmem.claims import ARTICLES, VERDICTS, Checked, check, claims
from npcmem.dashboards.controls import Choice, Control, Value
from npcmem.dashboards.page import ChartCard, Column, Page, PriceDate, Row, Table, Tile, View
from npcmem.dashboards.words import spaced

ALL = "all"
WHICH = "Which claims"
TITLES = {
    "right": "Right",
    "incomplete": "Right under its own assumptions",
    "wrong": "Wrong",
    "unsupported": "Without data",
}


def controls() -> tuple[Control, ...]:
    """Return the page's controls: which article, which verdict."""
    articles = ((ALL, "All five articles", "Articles"), *((id, title, "Articles") for id, title in ARTICLES.items()))
    verdicts = ((ALL, "Every verdict", "Verdicts"), *((name, TITLES[name], "Verdicts") for name in VERDICTS))
    return (
        Choice("article", "Article", "Where the claim stands.", articles, ALL, WHICH),
        Choice("verdict", "Verdict", "What came out.", verdicts, ALL, WHICH),
    )


def view(values: Mapping[str, Value], checked: Sequence[Checked] | None = None) -> View:
    """Return what the page shows; ``checked`` are all claims, computed here where not given."""
    every = [check(claim) for claim in claims()] if checked is None else checked
    shown = [
        one
        for one in every
        if values["article"] in (ALL, one.claim.article) and values["verdict"] in (ALL, one.verdict)
    ]
    count = {name: sum(one.verdict == name for one in shown) for name in VERDICTS}
    return View(
        headline=_headline(values["verdict"], count, len(shown)),
        answer=_answer(values["verdict"], count, len(shown)),
        tiles=tuple(
            Tile(TITLES[name], str(count[name]), f"{meaning[0].upper()}{meaning[1:]}.")
            for name, meaning in VERDICTS.items()
        ),
        charts=(_chart(every),),
        notes=_notes(),
        table=_download(shown),
        tables=(_table(shown),),
        prices=(PriceDate("articles", "the five articles"),),
    )


def every_number() -> Page:
    """Return the page; the claims are computed once, when it is built."""
    checked = [check(claim) for claim in claims()]
    return Page(
        "Every number, checked",
        "What five articles on the cost of memory claim, computed again by this package while the page opens.",
        controls(),
        lambda values: view(values, checked),
    )


# --- the words ------------------------------------------------------------------------------------


def _headline(verdict: Value, count: Mapping[str, int], shown: int) -> str:
    if verdict == ALL:
        return f"{count['right']} of {shown} claims come out as they stand."
    return f"{shown} claim{'s' * (shown != 1)}: {TITLES[verdict].lower()}."


def _answer(verdict: Value, count: Mapping[str, int], shown: int) -> str:
    if not shown:
        return "No claim of this article has that verdict."
    if verdict != ALL:
        return f"{VERDICTS[verdict][0].upper()}{VERDICTS[verdict][1:]}."
    return (
        f"{count['incomplete']} more hold under the article's own assumptions and differ under wider ones; "
        f"{count['wrong']} do not come out, and for {count['unsupported']} there are no data to compute from."
    )


def _notes() -> list[str]:
    return [
        "Each claim is put in this project's own words with its figures; the function that computes it again and the "
        "tolerance stand beside it in data/claims.json, and its section of the article here in the CSV. The same list "
        "is on the command line: npcmem claims.",
    ]


def _chart(checked: Sequence[Checked]) -> ChartCard:
    counts = {
        name: np.array([sum(one.claim.article == id and one.verdict == name for one in checked) for id in ARTICLES])
        for name in VERDICTS
    }
    told = "; ".join(
        f"{title}: {', '.join(f'{int(counts[name][at])} {name}' for name in VERDICTS)}"
        for at, title in enumerate(ARTICLES.values())
    )
    return ChartCard(
        "By article",
        "How many claims of each article come out, and how.",
        plots.verdicts(tuple(ARTICLES.values()), {TITLES[name]: numbers for name, numbers in counts.items()}),
        f"Stacked bars of claims by article and verdict. {told}.",
        rows=6,
    )


def _table(shown: Sequence[Checked]) -> Table:
    columns = (
        Column("Claim", "and its article", "left"),
        Column("Stated", "by the article", "left"),
        Column("Computed", "here, now", "left"),
        Column("What is true", "", "left"),
    )
    rows = tuple(
        Row(
            tuple(
                spaced(text)
                for text in (
                    f"{one.claim.claim} ({ARTICLES[one.claim.article]})",
                    "; ".join(one.stated),
                    "; ".join(one.computed) + _wider(one),
                    f"{TITLES[one.verdict]}. {one.sentence}",
                )
            ),
            plots.VERDICT_COLOURS[TITLES[one.verdict]],
        )
        for one in shown
    )
    return Table("Claim by claim", f"{len(shown)} claims.", columns, rows, after=1, told=True)


def _wider(one: Checked) -> str:
    wider = [text for texts in one.wider for text in texts]
    return f" (wider: {'; '.join(wider)})" if wider else ""


def _download(shown: Sequence[Checked]) -> list[list[Any]]:
    """Return the rows of the download: a claim each."""
    head = ["id", "article", "where", "claim", "stated", "computed", "verdict", "sentence"]
    return [
        head,
        *(
            [one.claim.id, one.claim.article, one.claim.where, one.claim.claim, "; ".join(one.stated),
             "; ".join(one.computed), one.verdict, one.sentence]
            for one in shown
        ),
    ]  # fmt: skip
