"""The pages that are served: what the front page and the row of links on each page say of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
SHARE = PACKAGE / "share" / "jupyter"


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A page as others link to it: its notebook's file name, a title of two or three words, the question it answers."""

    notebook: str
    title: str
    question: str


# In the order of the front page. A new page is its notebook in notebooks/ and a line here; a test holds that.
PAGES = (
    ServedPage("cost-per-player.ipynb", "Cost per player", "What will it cost per player?"),
    ServedPage("which-memory.ipynb", "Which memory", "Which memory should it have?"),
    ServedPage("summary-interval.ipynb", "Summary interval", "How often should this character summarise?"),
    ServedPage("watch-the-prefix.ipynb", "Watch the prefix", "Why does the cache miss?"),
    ServedPage("every-number.ipynb", "Every number", "Which of the articles' numbers are right?"),
)

# The lessons in the order in which they are read: the foot of each leads to the next. A new lesson is a line here.
LESSONS = (
    ServedPage("lessons/1-the-quadratic.ipynb", "The quadratic", "Why does a long conversation cost so much?"),
    ServedPage("lessons/2-the-square-root.ipynb", "The square root", "When should a character sum up what was said?"),
    ServedPage("lessons/3-the-cache-and-the-clock.ipynb", "The cache and the clock", "Is the player back in time?"),
    ServedPage(
        "lessons/4-when-caching-meets-summarising.ipynb",
        "Caching meets summarising",
        "What is left of either cure when you take both?",
    ),
    ServedPage(
        "lessons/5-what-a-summary-forgets.ipynb",
        "What a summary forgets",
        "What becomes of a promise that is copied from summary to summary?",
    ),
    ServedPage(
        "lessons/6-one-player-to-a-million.ipynb",
        "One player to a million",
        "What does a month of it cost, and how sure can you be?",
    ),
)
TEACHING = (
    ServedPage("lessons/for-teachers.ipynb", "For teachers", "How do I teach this in 90 minutes?"),
    ServedPage("lessons/answers.ipynb", "Answers", "What are the answers, and which slips are usual?"),
)


def pages_in(folder: Path) -> tuple[ServedPage, ...]:
    """Return the pages of a folder: ours in their order, then other notebooks under the titles in their metadata."""
    there = {path.name: path for path in sorted(folder.glob("*.ipynb")) if not path.name.startswith(".")}
    ours = tuple(page for page in PAGES if there.pop(page.notebook, None))
    return ours + tuple(ServedPage(name, page_title(path), "") for name, path in there.items())


def page_title(notebook: Path) -> str:
    """Return the title in a notebook's metadata, its name where it has none."""
    try:
        return str(json.loads(notebook.read_text("utf-8"))["metadata"]["title"])
    except (KeyError, TypeError, ValueError):
        return notebook.stem
