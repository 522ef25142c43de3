"""The pages that are served: what the front page and the row of links on each page say of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

PACKAGE = Path(__file__).parents[1]
SHARE = PACKAGE / "share" / "jupyter"


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A page as others link to it: its notebook below the folder, a title of two or three words, what it answers.

    ``takes_scenario``: its link may hold the model, the players and the conversation of another page.
    """

    notebook: str
    title: str
    question: str
    takes_scenario: bool = False

    @property
    def stem(self) -> str:
        """What it is called without folder and ending: "1-the-quadratic"."""
        return PurePosixPath(self.notebook).stem


# In the order of the front page. A new page is its notebook in notebooks/ and a line here; a test holds that.
PAGES = (
    ServedPage("cost-per-player.ipynb", "Cost per player", "What will it cost per player?", True),
    ServedPage("which-memory.ipynb", "Which memory", "Which memory should it have?", True),
    ServedPage("summary-interval.ipynb", "Summary interval", "How often should this character summarise?", True),
    ServedPage("watch-the-prefix.ipynb", "Watch the prefix", "Why does the cache miss?", True),
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


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is served of a folder: its pages, the lessons, what teachers have beside them; or one page alone."""

    folder: Path
    pages: tuple[ServedPage, ...] = ()
    lessons: tuple[ServedPage, ...] = ()
    teaching: tuple[ServedPage, ...] = ()
    alone: ServedPage | None = None

    @property
    def served(self) -> tuple[ServedPage, ...]:
        """All of them."""
        return (self.alone,) if self.alone else (*self.pages, *self.lessons, *self.teaching)

    def nav(self, here: str) -> list[dict[str, str | bool]]:
        """Return the links at the head of a page, from ``here``: the front page, the pages, the lessons."""
        if self.alone:
            return []
        home = up(here)
        links = [{"title": "npcmem", "href": home, "home": True, "here": False}]
        for page in self.pages:
            href = f"{home}voila/render/{quote(page.notebook)}"
            more = {"here": page.notebook == here, "takes": page.takes_scenario}
            links.append({"title": page.title, "href": href, "home": False, **more})
        if self.lessons:
            here_too = here not in [page.notebook for page in self.pages]
            links.append({"title": "Lessons", "href": f"{home}#lessons", "home": False, "here": here_too})
        return links


def up(notebook: str) -> str:
    """Return the way from a page to the front page, whatever the base URL."""
    return "../" * (2 + notebook.count("/"))


def shelf_of(notebooks: Path) -> Shelf:
    """Return what there is to serve of a folder, or of one notebook.

    Of a folder, ours in their order, then other notebooks in it under the titles in their metadata.
    """
    if not notebooks.is_dir():
        return Shelf(notebooks.parent, alone=ServedPage(notebooks.name, page_title(notebooks), ""))
    there = {path.name for path in notebooks.glob("*.ipynb") if not path.name.startswith(".")}
    pages, lessons, teaching = (
        tuple(page for page in ours if (notebooks / page.notebook).is_file()) for ours in (PAGES, LESSONS, TEACHING)
    )
    others = sorted(there - {page.notebook for page in pages})
    pages += tuple(ServedPage(name, page_title(notebooks / name), "") for name in others)
    return Shelf(notebooks, pages, lessons, teaching)


def page_title(notebook: Path) -> str:
    """Return the title in a notebook's metadata, its name where it has none."""
    try:
        return str(json.loads(notebook.read_text("utf-8"))["metadata"]["title"])
    except (KeyError, TypeError, ValueError):
        return notebook.stem
