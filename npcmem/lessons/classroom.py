"""A class on the lessons: what students can do afterwards, plans by the minute, and the usual misconceptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from IPython.display import HTML

from npcmem.lessons.foot import further, lesson, link
from npcmem.lessons.teacher import minutes, words
from npcmem.serve.pages import LESSONS

ONE, TWO, THREE, FOUR, FIVE, SIX = NAMES = tuple(page.stem for page in LESSONS)


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a class: minutes, the lesson it is from ("" for none), how it is held, what happens."""

    minutes: int
    lesson: str
    how: str
    what: str


GOALS = {
    ONE: (
        "write down what call number t sends and what n calls send in all, and compute both",
        "tell a saving on the last call from a saving on the conversation, and work out one from the other",
    ),
    TWO: (
        "name the two costs that pull at k, derive k* from them, and compute it",
        "say what a wrong k costs, and why twice or half of k* costs little",
        "find the same root in a warehouse or in a backup",
    ),
    THREE: (
        "compute the hit rate from which a cache pays",
        "read from measured pauses which share of them outlasts a lifetime",
        "choose between five minutes and an hour for a given pace and length of talk",
    ),
    FOUR: (
        "compute k* under a cache, and say which way a better hit rate moves it",
        "name two cases in which a shorter prompt costs more, and say why",
    ),
    FIVE: (
        "compute the chance that a fact survives so many summaries",
        "explain how an average of facts kept can hide that some conversations kept none",
        "decide what belongs in a field, what in a summary, and what is worth reading again in the raw",
    ),
    SIX: (
        "turn dollars a conversation into a month's bill",
        "combine the ranges of independent numbers, and say which one to measure first",
        "say how many pauses a log must hold for a wanted precision",
    ),
}
"""By lesson, what a student can do after it: each can be asked for in a test."""

TALK, GUESS, PAIRS = "talk", "all guess", "pairs"

PLAN = (
    Step(5, ONE, TALK, "Play three turns. One student is the model and remembers nothing; another is the game and "
         "hands over every slip of paper again, each turn."),
    Step(7, ONE, GUESS, "The tokens of 60 turns. Everybody writes a number down before anybody says one. Read out the "
         "lowest and the highest, then type one of them in."),
    Step(8, ONE, TALK, "Equations (1) and (2) on the board, then the first figure: where in it is the square?"),
    Step(5, ONE, PAIRS, "Exercises 1 and 3."),
    Step(5, TWO, GUESS, "After how many exchanges would you sum up? Then the saw-tooth, with k at both ends."),
    Step(10, TWO, TALK, "Carry and flush on the board, as far as (3). Let a student draw both curves before the figure "
         "does."),
    Step(10, TWO, PAIRS, "Exercises 1, 4 and 5: the terse innkeeper, the lanterns, the longer sheet. Who is done reads "
         "\"Flat, and why\"."),
    Step(8, THREE, GUESS, "Both guesses: from which hit rate the cache pays, and how many pauses outlast five minutes. "
         "Ask those who play."),
    Step(7, THREE, PAIRS, "The last figure: find a pace and a length at which the hour loses. Compare with the pair "
         "behind you."),
    Step(10, FOUR, GUESS, "The first guess and its figure, then what a window does to a cache. Why is the shorter "
         "prompt the dearer one?"),
    Step(8, FIVE, GUESS, "The lantern at turn 60, and equation (1). What would you never leave to a summary?"),
    Step(4, SIX, GUESS, "The month's bill. Which of its factors did this class work on?"),
    Step(3, "", TALK, "What surprised you? A sentence from each pair. Homework: one lesson of their choice, in full."),
)  # fmt: skip
"""Ninety minutes: two lessons worked through, and the heart of the other four."""

SHORT_PLAN = (
    Step(7, ONE, GUESS, "The story and the first guess, each on paper first."),
    Step(8, ONE, TALK, "Equations (1) and (2), and the first figure."),
    Step(5, ONE, PAIRS, "Exercise 1."),
    Step(5, TWO, GUESS, "After how many exchanges would you sum up? Then the saw-tooth."),
    Step(10, TWO, TALK, "Carry and flush, as far as (3)."),
    Step(7, TWO, PAIRS, "Exercises 1 and 4."),
    Step(3, "", TALK, "What would change if a token sent a moment ago cost a tenth? Hand out lesson 3."),
)
"""Forty-five minutes: the square and the root."""

WEEK = {
    ONE: "Find one advertised saving. Is it of the last call or of the conversation?",
    TWO: "Find a third relative of the square root, besides the warehouse and the crash.",
    THREE: "Note the pauses of one chat of your own. Which share of them outlasts a minute?",
    FOUR: "In a sentence each: what do a summary, a window and a minimum do to a cache?",
    FIVE: "Write down the fields of a character of your own, and its first summary.",
    SIX: "Put a game of your own into a month's bill, with a range for each factor.",
}
"""A lesson a day: its exercises, and this."""

MISCONCEPTIONS = {
    ONE: (
        ("The last call is what a conversation costs.", "Is the bill the height of the triangle, or its area?"),
        ("Quadratic means that twice as long costs four times as much.", "And if the sheet were a whole book?"),
    ),
    TWO: (
        ("The longer the sheet or the talk, the more often one should sum up.", "Where do you see S or n in (3)?"),
        ("The formula says it with decimals, so one has to hit it.", "What does (4) say of one exchange more or less?"),
        ("A summary at a tenth of the price lets one sum up ten times as often.", "What stands under the root?"),
    ),
    THREE: (
        ("A cache is always cheaper.", "What does a player pay who comes back once an hour?"),
        ("The average pause decides.", "Two players: one pauses a minute each time, one once for an hour. Who misses?"),
        ("A miss costs what it would have cost anyway.", "What is w, and when is it paid?"),
    ),
    FOUR: (
        ("A shorter prompt is a cheaper prompt.", "What does the cache do with a prompt whose beginning changed?"),
        ("Both cures together save what each saves alone.", "What is there to save on words that cost a tenth?"),
    ),
    FIVE: (
        ("A careful summary loses next to nothing.", "After how many copies?"),
        ("Half of the facts kept: every character remembers half.", "Could it also be half of the characters?"),
        ("A better prompt solves it.", "Which facts may the game never lose, however good the prompt?"),
    ),
    SIX: (
        ("Two numbers known up to a factor of two: their product, up to four.", "How often are both at the edge?"),
        ("The middle bill is what we shall pay on average.", "Which side of the hill has the longer tail?"),
        ("Twice the log, half the error.", "What stands under the root in (4)?"),
    ),
}  # fmt: skip
"""By lesson, what students say and a question that lets them find it out."""


# --- tables ---------------------------------------------------------------------------------------


def goals() -> HTML:
    """Return the goals: a row for each lesson, with its minutes and the pages that go on from it."""
    rows = [(_about(name), _list(GOALS[name])) for name in NAMES]
    return _table(("lesson", "afterwards, a student can"), ("", rows))


def plan(steps: Sequence[Step] = PLAN) -> HTML:
    """Return a plan as a table, lesson by lesson: from which minute to which, what is done, and how."""
    starts = [sum(step.minutes for step in steps[:at]) for at in range(len(steps))]
    groups = []
    for name, several in groupby(zip(starts, steps, strict=True), key=lambda pair: pair[1].lesson):
        rows = [(f"{at}–{at + step.minutes}", words(step.what), step.how) for at, step in several]
        groups.append((_part(name, steps), rows))
    return _table(("minutes", "what", "how"), *groups)


def week() -> HTML:
    """Return the homework of a week as a table."""
    rows = [
        (str(day), f"{link(lesson(name))}, with all exercises. {words(also)}", f"{minutes(name)} min")
        for day, (name, also) in enumerate(WEEK.items(), start=1)
    ]
    return _table(("day", "what", "reading"), ("", rows))


def misconceptions() -> HTML:
    """Return what students say, and what to ask them, lesson by lesson."""
    groups = [(link(lesson(name)), _asked_back(MISCONCEPTIONS[name])) for name in NAMES]
    return _table(("they say", "ask them"), *groups)


def _asked_back(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"“{words(heard)}”", words(ask)) for heard, ask in pairs]


def _about(name: str) -> str:
    pages = ", ".join(link(page) for page in further(name))
    return f"<b>{link(lesson(name))}</b><br><small>{minutes(name)} min, then {pages}</small>"


def _part(name: str, steps: Sequence[Step]) -> str:
    took = sum(step.minutes for step in steps if step.lesson == name)
    return f"{link(lesson(name)) if name else 'To end with'} <small>{took} min</small>"


def _list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{words(text)}</li>' for text in texts)}</ul>"


def _table(head: Sequence[str], *groups: tuple[str, Iterable[Sequence[str]]]) -> HTML:
    """Return a table of groups of rows, each under its own heading where it has one ("" is none)."""
    heads = "".join(f"<th scope='col'>{name}</th>" for name in head)
    bodies = []
    for name, rows in groups:
        first = f"<tr><th scope='rowgroup' colspan='{len(head)}'>{name}</th></tr>" if name else ""
        lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        bodies.append(f"<tbody>{first}{lines}</tbody>")
    return HTML(f"<table class='npc-table'><thead><tr>{heads}</tr></thead>{''.join(bodies)}</table>")
