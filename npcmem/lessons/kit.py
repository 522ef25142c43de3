"""What lessons are made of: a beginning, a sentence with numbers in it, a guess, a figure, an exercise.

Each is one call in a cell of a notebook. Voila serves the notebook as a page; JupyterLab shows the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

import anywidget
import traitlets
from IPython.display import HTML, Markdown

from npcmem.dashboards import controls
from npcmem.dashboards.controls import Slider
from npcmem.dashboards.page import HERE, ChartCard, plotly_js
from npcmem.dashboards.words import spaced
from npcmem.lessons.judge import Answer, Question, Verdict, how_far, judge, shown

STATIC = HERE / "static"
PAGE_VIEW = "export default { initialize, render };"
OWN_CSS = (STATIC / "lesson.css").read_text("utf-8")
CSS = (STATIC / "page.css").read_text("utf-8") + OWN_CSS
ESM = (STATIC / "page.js").read_text("utf-8").replace(PAGE_VIEW, "") + (STATIC / "lesson.js").read_text("utf-8")


def begin(title: str, about: str, minutes: int = 0) -> HTML:
    """Return a lesson's head: its title, a sentence on what it is about, and how long it takes, if that is said.

    It brings the lesson's typography to a page served by Voila, and leaves JupyterLab's alone.
    """
    words = f"<h1>{escape(title)}</h1><p>{escape(about)}</p>"
    words += f"<p class='npc-minutes'>about {minutes} minutes</p>" if minutes else ""
    return HTML(f"<style>{OWN_CSS}</style><div class='npc-begin'>{words}</div>")


def say(text: str, **values: Any) -> Markdown:
    """Return a sentence with computed numbers in it: ``say("It is {x:,.0f} tokens.", x=…)``.

    A dollar sign before a number stays one; formulas are between double dollars.
    """
    filled = spaced(text.format(**values))
    return Markdown(filled.replace("$$", "\0").replace("$", "\\$").replace("\0", "$"))


class Ask(anywidget.AnyWidget):
    """A question on the page. What is typed comes as ``given``, the answer to it goes back as ``reply``."""

    _esm, _css = ESM, CSS
    kind = traitlets.Unicode().tag(sync=True)
    spec = traitlets.Dict().tag(sync=True)
    given = traitlets.Unicode().tag(sync=True)
    moves = traitlets.Int().tag(sync=True)
    reply = traitlets.Dict().tag(sync=True)

    def __init__(self, kind: str, question: Question) -> None:
        self.question = question
        shows = {"question": spaced(question.question), "unit": question.unit, "options": list(question.options)}
        super().__init__(kind=kind, spec={**shows, "hint": question.hint if kind == "exercise" else ""})
        self.observe(self._on_move, "moves")

    def check(self, given: Answer) -> Verdict:
        """Return whether an answer is right."""
        return judge(self.question, given)

    def _on_move(self, _: Any) -> None:
        self.reply = revealed(self.question, self.given) if self.kind == "guess" else asdict(self.check(self.given))


def guess(question: str, answer: Answer | Callable[[], Answer], **more: Any) -> Ask:
    """Ask for a guess, keep it, and show what the package computes beside it; see ``Question``."""
    return Ask("guess", Question(question, answer, **more))


def exercise(question: str, answer: Answer | Callable[[], Answer], **more: Any) -> Ask:
    """Ask for an answer and say "right" or "not yet" and why, as often as it is tried; see ``Question``."""
    return Ask("exercise", Question(question, answer, **more))


def check(task: Ask, given: Answer) -> Verdict:
    """Return whether ``given`` is right, and the hint if it is not, for a student who works in the notebook's cells."""
    verdict, hint = task.check(given), task.question.hint
    return verdict if verdict.right or not hint else Verdict(False, f"{verdict.sentence} Hint: {hint}")


def revealed(question: Question, given: Answer) -> dict[str, Any]:
    """Return what is shown after a guess: both values, their bars, how far off it was; or the sentence of bad input.

    Without a guess ("") only what is computed is shown.
    """
    answer = question.computed
    if given == "":
        return {
            "yours": "",
            "computed": shown(answer, question.unit),
            "bars": [0, 1],
            "off": "",
            "told": question.say(""),
        }
    try:
        read = question.read(given)
    except (ValueError, TypeError) as error:
        return {"error": str(error)}
    both = {"yours": shown(read, question.unit), "computed": shown(answer, question.unit), "told": question.say(read)}
    if isinstance(read, str):
        return {**both, "bars": [], "off": "That is it." if read == answer else "Not what comes out."}
    most = max(abs(read), abs(float(answer))) or 1.0
    off = how_far(read, float(answer))
    return {**both, "bars": [abs(read) / most, abs(float(answer)) / most], "off": f"Your guess was {off}."}


# --- figures --------------------------------------------------------------------------------------


def slider(label: str, value: float, least: float, most: float, unit: str = "", **more: Any) -> Slider:
    """Return a slider for ``figure``: what it moves is the argument it is given as."""
    return Slider("", label, more.pop("symbol", ""), more.pop("help", ""), least, most, value, unit, **more)


class Figure(anywidget.AnyWidget):
    """A figure that a plain function of the sliders' numbers returns; read ``card``, set ``values``."""

    _esm, _css = ESM, CSS
    kind = traitlets.Unicode("figure").tag(sync=True)
    card = traitlets.Dict().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    values = traitlets.Dict().tag(sync=True, echo_update=False)
    errors = traitlets.Dict().tag(sync=True)

    def __init__(self, view: Callable[..., ChartCard], sliders: Sequence[Slider]) -> None:
        self._view, self._sliders = view, tuple(sliders)
        self._shown = controls.defaults(self._sliders)
        super().__init__(card=self._drawn(), controls=controls.spec(self._sliders), values=dict(self._shown))
        self.observe(self._on_values, "values")
        self.on_msg(self._on_message)

    def _on_values(self, change: Mapping[str, Any]) -> None:
        values, errors = controls.parse(self._sliders, change["new"], self._shown)
        self._shown = values
        with self.hold_sync():
            self.card, self.errors = self._drawn(), errors

    def _drawn(self) -> dict[str, Any]:
        """Return the card of what is shown; a whole number from a slider is one, that a sentence has no 30.0 in it."""
        whole = {name: int(value) if float(value).is_integer() else value for name, value in self._shown.items()}
        return plain(self._view(**whole))

    def _on_message(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        if content.get("want") == "plotly":
            self.send({"plotly": True}, buffers=[plotly_js()])


def figure(view: ChartCard | Callable[..., ChartCard], **sliders: Slider) -> Figure:
    """Draw a card, or what ``view`` returns for the sliders' values, and again whenever one moves.

    ``figure(saw_tooth, k=slider("exchanges between summaries", 4, 1, 30))`` calls ``saw_tooth(k=4)``.
    """
    named = [Slider(**{**asdict(one), "name": name}) for name, one in sliders.items()]
    return Figure(view if callable(view) else lambda: view, named)


def plain(card: ChartCard) -> dict[str, Any]:
    """Return a card as the browser draws it."""
    shows = {name: getattr(card, name) for name in ChartCard.__slots__}
    return {**shows, "sentence": spaced(card.sentence), "spoken": spaced(card.spoken)}
