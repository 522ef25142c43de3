"""Every answer of every lesson, for a teacher. None is written down: each is read out of the lesson and computed."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from IPython.display import HTML

from npcmem.dashboards.words import spaced
from npcmem.lessons.foot import lesson, link
from npcmem.lessons.judge import Question, shown
from npcmem.serve import own_notebooks
from npcmem.serve.pages import LESSONS, ServedPage

ASKS = ("guess", "exercise")


@dataclass(frozen=True, slots=True)
class Task:
    """A guess or an exercise of a lesson, counted from 1 among those of its kind."""

    lesson: ServedPage
    kind: str
    number: int
    question: Question


def contents() -> HTML:
    """Return links to the lessons' places on the page of answers."""
    rows = "".join(f"<li><a href='#{page.stem}'>{escape(page.title)}</a></li>" for page in LESSONS)
    return HTML(f"<ol class='npc-contents'>{rows}</ol>")


def answers(name: str) -> HTML:
    """Return every task of a lesson with its answer as computed now, its hint, and what slips mean."""
    head = f"<h2 id='{name}'>{link(lesson(name))}</h2>"
    return HTML(head + "".join(_answer(task) for task in tasks(name)))


def _answer(task: Task) -> str:
    asked = task.question
    exact = "" if asked.options or task.kind == "guess" else f"right within {100 * asked.tolerance:g} %"
    notes = [("said afterwards", asked.say(""))] if asked.told else []
    notes += [("hint", asked.hint)] if asked.hint else []
    notes += [(f"who says {shown(slip, asked.unit)}", why) for why, slip in asked.slips.items()]
    return (
        f"<section class='npc-answer'><h3>{task.kind.capitalize()} {task.number}</h3><p>{words(asked.question)}</p>"
        f"<p class='npc-solution'><b>{words(shown(asked.computed, asked.unit))}</b> <small>{words(exact)}</small></p>"
        f"<dl>{''.join(f'<dt>{words(term)}</dt><dd>{words(told)}</dd>' for term, told in notes)}</dl></section>"
    )


def words(text: str) -> str:
    """Return a text as HTML; two dollar signs in a sentence are not the ends of a formula."""
    return escape(spaced(text)).replace("$", "<span>$</span>")


# --- the lessons' notebooks -----------------------------------------------------------------------


def tasks(name: str) -> tuple[Task, ...]:
    """Return the guesses and exercises of a lesson, in its order: its notebook's own, without running the rest.

    Only the statements that ask are run, and those whose names they use: no figure is drawn, no widget made.
    """
    names: dict[str, Any] = {}
    found: list[Task] = []
    for statement in _needed(_statements(name)):
        call = _asking(statement)
        if call is None:
            exec(compile(ast.Module([statement], []), name, "exec"), names)
            continue
        question = eval(compile(ast.Expression(call), name, "eval"), {**names, **dict.fromkeys(ASKS, Question)})
        number = 1 + sum(task.kind == call.func.id for task in found)
        found.append(Task(lesson(name), call.func.id, number, question))
    return tuple(found)


def minutes(name: str) -> int:
    """Return how long a lesson takes, as its head says."""
    calls = (node for statement in _statements(name) for node in _calls(statement, ("begin",)))
    return int(ast.literal_eval(next(calls).args[2]))


def _statements(name: str) -> list[ast.stmt]:
    cells = json.loads((own_notebooks() / lesson(name).notebook).read_text("utf-8"))["cells"]
    return ast.parse("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")).body


def _needed(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements that ask, and before them those that bind a name which is used."""
    kept, used = [], set()
    for statement in reversed(statements):
        if _asking(statement) or used & _bound(statement):
            kept.append(statement)
            used |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return kept[::-1]


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _asking(statement: ast.stmt) -> ast.Call | None:
    return next(_calls(statement, ASKS), None)


def _calls(statement: ast.stmt, names: Sequence[str]) -> Iterator[ast.Call]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node
