"""The foot of a lesson: the one before, the one after, and the pages that take its question further.

Links are relative, so that they lead to the same notebooks in Voila, on the crowd's server and in JupyterLab.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from IPython.display import HTML

from npcmem import checks
from npcmem.serve.pages import LESSONS, PAGES, ServedPage

FURTHER = {
    "1-the-quadratic": ("every-number.ipynb",),
    "2-the-square-root": ("summary-interval.ipynb",),
    "3-the-cache-and-the-clock": ("watch-the-prefix.ipynb",),
    "4-when-caching-meets-summarising": ("which-memory.ipynb", "summary-interval.ipynb"),
    "5-what-a-summary-forgets": ("which-memory.ipynb",),
    "6-one-player-to-a-million": ("cost-per-player.ipynb",),
}
"""By lesson, the pages that take its question further."""


def lesson(name: str) -> ServedPage:
    """Return a lesson by its notebook's name, without folder and ending."""
    return {page.stem: page for page in LESSONS}[checks.known("lesson", name, [page.stem for page in LESSONS])]


def further(name: str) -> tuple[ServedPage, ...]:
    """Return the pages that go on where a lesson ends."""
    pages = {page.notebook: page for page in PAGES}
    return tuple(pages[notebook] for notebook in FURTHER[lesson(name).stem])


def neighbours(name: str) -> tuple[ServedPage | None, ServedPage | None]:
    """Return the lesson before and the one after, None at either end."""
    at = LESSONS.index(lesson(name))
    return (LESSONS[at - 1] if at else None, LESSONS[at + 1] if at + 1 < len(LESSONS) else None)


def href(page: ServedPage) -> str:
    """Return the link to a page from a notebook among the lessons."""
    folder, _, name = page.notebook.rpartition("/")
    return name if folder else f"../{name}"


def onward(name: str) -> HTML:
    """Return the foot of a lesson: ``onward("2-the-square-root")``."""
    before, after = neighbours(name)
    cards = (_card(before, "Before", "before") if before else "") + (_card(after, "Next", "next") if after else "")
    label = "aria-label='Where to go from here'"
    return HTML(f"<nav class='npc-onward' {label}>{cards}{_own(further(name))}</nav>")


def link(page: ServedPage) -> str:
    """Return the title of a page as a link to it."""
    return f"<a href='{escape(href(page))}'>{escape(page.title)}</a>"


def _card(page: ServedPage, word: str, kind: str) -> str:
    words = f"<small>{word}</small> <b>{escape(page.title)}</b> <span>{escape(page.question)}</span>"
    return f"<p class='npc-{kind}'><a href='{escape(href(page))}'>{words}</a></p>"


def _own(pages: Sequence[ServedPage]) -> str:
    rows = "".join(f"<li>{link(page)}: {escape(page.question)}</li>" for page in pages)
    return f"<div class='npc-further'><p>On the pages of this site</p><ul>{rows}</ul></div>"
