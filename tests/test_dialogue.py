"""Characters and sessions refuse what cannot be, in a sentence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from npcmem import Block, Call, Character, Session


def test_the_default_character_is_the_articles():
    assert dataclasses.astuple(Character()) == (1800, 150, 120, 0, 0, 0.0, "")


@pytest.mark.parametrize("field", [one.name for one in dataclasses.fields(Character) if one.type == "int"])
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (-1, ValueError, "must be >= 0 tokens, got -1"),
        (1.5, TypeError, r"must be a whole number of tokens, got 1\.5"),
        ("12", TypeError, "must be a number of tokens, got '12'"),
        (10**12, ValueError, r"must be <= .* tokens, got 1e\+12"),
    ],
)
def test_a_character_has_whole_tokens_from_0(field, value, error, words):
    with pytest.raises(error, match=f"^{field} {words}$"):
        Character(**{field: value})


def test_the_shared_part_is_the_first_of_the_static_part():
    assert Character().head == (Block("static", 1800),)
    assert Character(1800, shared_tokens=1200, name="smith").head == (
        Block("shared", 1200),
        Block(("static", "smith"), 600),
    )
    with pytest.raises(ValueError, match=r"^shared_tokens \(20 tokens\) cannot exceed static_tokens \(10 tokens\)"):
        Character(10, shared_tokens=20)


def test_a_summary_grows_with_what_it_covers():
    assert Character().summary_size(40) == 150
    growing = Character(summary_growth_tokens=1.5)
    assert growing.summary_size(3) == 154
    assert growing.summary_size(np.arange(4)).tolist() == [150, 151, 153, 154]
    with pytest.raises(ValueError, match="^summary_growth_tokens must be >= 0 tokens an exchange covered, got -1$"):
        Character(summary_growth_tokens=-1)


def test_scenes_and_repeats_are_evenly_spread():
    assert Session.uniform(7).with_scenes(3).topics == (0, 0, 0, 1, 1, 1, 2)
    repeated = Session.uniform(20).with_repeats(0.25)
    assert repeated.similarities.tolist() == [0, 0, 0, 1] * 5
    assert Session.uniform(3).with_repeats(1.0).similarities.tolist() == [0, 1, 1]  # the first repeats nothing
    assert [one.similarity for one in repeated.exchanges[:4]] == [0, 0, 0, 1]


@pytest.mark.parametrize("field", ["topics", "similarities"])
def test_a_session_knows_as_many_topics_and_similarities_as_turns(field):
    with pytest.raises(ValueError, match=f"^{field} must have 3 entries, one an exchange, got 2$"):
        dataclasses.replace(Session.uniform(3), **{field: [0, 1]})


def test_a_call_counts_prompt_and_volatile_as_input():
    call = Call(1, "reply", (Block("S", 10), Block("e", 5)), (Block("u", 2),), 99)
    assert call.input_tokens == 17


def test_a_uniform_session_has_one_gap_fewer_than_turns():
    session = Session.uniform(3, 160, 80, 30)
    assert session.turns == 3
    assert session.exchange_tokens.tolist() == [160, 160, 160]
    assert session.reply_tokens.tolist() == [80, 80, 80]
    assert session.gaps_s.tolist() == [30, 30]
    assert Session.uniform(1).gaps_s.tolist() == []


def test_the_same_exchanges_at_another_pace():
    session = Session.uniform(3).with_gaps(np.array([1.0, 2.0]))
    assert session.gaps_s.tolist() == [1, 2]
    assert session.exchange_tokens.tolist() == [160, 160, 160]


@pytest.mark.parametrize(
    ("exchange", "reply", "gaps", "error", "sentence"),
    [
        ([], [], [], ValueError, "turns must be >= 1 turns, got 0"),
        ([10, 10], [5], [1], ValueError, "reply_tokens must have 2 entries, one a turn, got 1"),
        ([10, 10], [5, 5], [], ValueError, "gaps_s must have 1 entries, one fewer than turns, got 0"),
        ([10, 10], [5, 5], [1, 1], ValueError, "gaps_s must have 1 entries, one fewer than turns, got 2"),
        ([10.5], [5], [], TypeError, r"exchange_tokens must be whole numbers of tokens, got 10\.5"),
        ([10], [0.5], [], TypeError, r"reply_tokens must be whole numbers of tokens, got 0\.5"),
        ([-1], [0], [], ValueError, r"exchange_tokens\[0\] must be between 0 and .* tokens, got -1"),
        ([float("nan")], [0], [], ValueError, r"exchange_tokens\[0\] .* tokens, got nan"),
        ([9, 9], [1, 1], [-3], ValueError, r"gaps_s\[0\] must be between 0 and .* seconds, got -3"),
        ([9, 9], [1, 1], [float("inf")], ValueError, r"gaps_s\[0\] .* seconds, got inf"),
        (
            [9, 9],
            [1, 10],
            [1],
            ValueError,
            r"reply_tokens \(10 tokens\) cannot exceed exchange_tokens \(9 tokens\).*turn 2.*",
        ),
    ],
)
def test_a_session_that_cannot_be_is_refused_in_a_sentence(exchange, reply, gaps, error, sentence):
    with pytest.raises(error, match=f"^{sentence}$"):
        Session(exchange, reply, gaps)


@pytest.mark.parametrize("turns", [0, -1, 2.5, "3", 10**9])
def test_uniform_names_turns_when_they_are_wrong(turns):
    with pytest.raises((TypeError, ValueError), match="^turns must be "):
        Session.uniform(turns)


def test_nothing_of_a_session_can_be_written():
    session = Session.uniform(2)
    for field in ("exchange_tokens", "reply_tokens", "gaps_s"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(session, field)[0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(session, field, np.zeros(2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Character().static_tokens = 1
