"""Questions and how an answer to them is judged: plain functions, without a widget."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from npcmem import checks
from npcmem.dashboards.words import NBSP, spaced

Answer = float | int | str
ALIKE = 0.005  # a guess this near is called right


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, and the sentence that says so; a cell of a notebook shows the sentence."""

    right: bool
    sentence: str

    def _repr_markdown_(self) -> str:
        return f"**{'Right' if self.right else 'Not yet'}.** {self.sentence}"


@dataclass(frozen=True)
class Question:
    """A question with an answer that the package computes.

    ``answer``: a number in ``unit`` (a share in %), one of ``options``, or a function that returns it. ``tolerance``:
    how far off, as a share of the answer, is still right. ``hint``: what to look at. ``slips``: what a common mistake
    gives, by the sentence that explains it. ``told``: what is said once the answer is known; ``{answer}`` and
    ``{given}`` stand for both.
    """

    question: str
    answer: Answer | Callable[[], Answer]
    unit: str = ""
    options: Sequence[str] = ()
    tolerance: float = 0.01
    hint: str = ""
    told: str = ""
    slips: Mapping[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a question that cannot be answered: a mistake in a lesson, not of a student."""
        checks.number("tolerance", self.tolerance, 0, 1, "(share of the answer)")
        if self.options:
            checks.known("option", str(self.computed), self.options)

    @property
    def computed(self) -> Answer:
        """The answer, computed now if it is a function."""
        answer = self.answer() if callable(self.answer) else self.answer
        return str(answer) if self.options else float(answer)

    def read(self, given: Answer) -> Answer:
        """Return what was given as a number, or as one of the options; ValueError with a sentence otherwise."""
        if self.options:
            if str(given) not in self.options:
                raise ValueError(f"Choose one of: {', '.join(self.options)}.")
            return str(given)
        return read_number(given, self.unit)

    def say(self, given: Answer) -> str:
        """Return ``told`` with both numbers in it."""
        return spaced(self.told.format(answer=shown(self.computed, self.unit), given=shown(given, self.unit)))


def read_number(given: Answer, unit: str = "tokens") -> float:
    """Return a typed number: "391,200", "391 200 tokens", "$1.39", "57 %" and "1e5" are read, "3,57" is asked back."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return checks.number("The answer", given, -1e15, 1e15, "(any unit)")
    text = _without_unit(re.sub(r"[\s\u00a0\u202f_$%]", "", str(given).replace("−", "-")), unit)
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", text):
        text = text.replace(",", "")
    elif re.fullmatch(r"[-+]?\d+,\d+", text):
        raise ValueError(f"Write a decimal point for a comma: {text.replace(',', '.')}")
    try:
        return checks.number("The answer", float(text), -1e15, 1e15, "(any unit)")
    except ValueError:
        raise ValueError(f"Type a number such as 1200 or 0.25, not {str(given)[:30]!r}.") from None


def _without_unit(text: str, unit: str) -> str:
    """Return a number without the unit behind it, which may be shortened, in capitals or of one thing only."""
    number, word = re.fullmatch(r"(.*?)([^\W\d_]*)", text, re.DOTALL).groups()
    return number if word and unit.replace(" ", "").lower().startswith(word.lower()) else text


def shown(value: Answer, unit: str = "") -> str:
    """Return a number as it is read: four digits or all before the point, with its unit."""
    if isinstance(value, str):
        return value
    size = abs(value)
    if size >= 1000 or value == int(value):
        text = f"{value:,.0f}"
    elif size >= 0.001:
        text = f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")
    else:
        text = f"{value:.3g}"
    if unit == "$":
        text = f"{value:,.2f}" if 1 <= size < 1000 else text
        return f"−${text[1:]}" if value < 0 else f"${text}"
    return f"{text}{NBSP}{unit}" if unit else text


def how_far(given: float, answer: float) -> str:
    """Return how far a guess was off, in words: "right", "12 % too low", "6.5 times too high"."""
    if given == answer or (answer and abs(given / answer - 1) <= ALIKE):
        return "right on it"
    if answer == 0 or given * answer <= 0:
        return f"{'too high' if given > answer else 'too low'} by {shown(abs(given - answer))}"
    times, share = max(given / answer, answer / given), 100 * abs(given / answer - 1)
    way = "too high" if abs(given) > abs(answer) else "too low"
    return (
        f"{shown(float(f'{times:.2g}'))} times {way}"
        if times >= 2
        else f"{share:.{1 if share < 9.95 else 0}f}{NBSP}% {way}"
    )


def judge(question: Question, given: Answer) -> Verdict:
    """Return whether an answer is right; what could not be read, or what mistake it looks like, is in the sentence."""
    try:
        read = question.read(given)
    except (ValueError, TypeError) as error:
        return Verdict(False, checks.sentence(error))
    if _agree(question, read, question.computed):
        plain = "That is it." if isinstance(read, str) else f"It is {shown(question.computed, question.unit)}."
        return Verdict(True, question.say(read) or plain)
    for why, slip in question.slips.items():
        if _agree(question, read, slip):
            return Verdict(False, why)
    if isinstance(read, str):
        return Verdict(False, "That is another one.")
    return Verdict(False, f"{shown(read, question.unit)} is {how_far(read, float(question.computed))}.")


def _agree(question: Question, given: Answer, answer: Answer) -> bool:
    if isinstance(given, str) or isinstance(answer, str):
        return given == answer
    return abs(given - answer) <= question.tolerance * abs(answer) + 1e-12
