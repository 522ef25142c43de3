"""Lessons: notebooks that go story, guess, equation, figure, now you. ``kit`` has what they are made of.

A module here per lesson holds its figures and the numbers its text speaks of, as plain functions.
"""

from npcmem.lessons.foot import onward
from npcmem.lessons.kit import begin, check, exercise, figure, guess, say, slider

__all__ = ["begin", "check", "exercise", "figure", "guess", "onward", "say", "slider"]
