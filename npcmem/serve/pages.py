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
