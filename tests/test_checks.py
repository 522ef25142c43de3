"""Every sentence about bad input has the field, the value, the bound and the unit."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from npcmem import checks


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (-5, "ttl_s must be > 0 seconds, got -5"),
        (0, "ttl_s must be > 0 seconds, got 0"),
        (math.nan, "ttl_s must be > 0 seconds, got nan"),
        (61, "ttl_s must be <= 60 seconds, got 61"),
        (math.inf, "ttl_s must be <= 60 seconds, got inf"),
    ],
)
def test_a_number_out_of_bounds_names_field_value_bound_and_unit(value, sentence):
    with pytest.raises(ValueError) as error:
        checks.number("ttl_s", value, 0, 60, "seconds", above=True)
    assert str(error.value) == sentence


@pytest.mark.parametrize("value", ["5", None, True, 1j, [5], np.bool_(True)])
def test_what_is_no_number_is_a_type_error_that_names_the_field(value):
    with pytest.raises(TypeError, match="^ttl_s must be a number of seconds, got "):
        checks.number("ttl_s", value, 0, 60, "seconds")


@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["huge", "hugely negative"])
def test_a_number_past_all_floats_is_out_of_bounds_like_any_other(value):
    with pytest.raises(ValueError, match="^read must be [<>]= .* tokens, got "):
        checks.tokens("read", value)


@pytest.mark.parametrize("value", [3, 3.0, np.int32(3), np.float64(3)])
def test_whole_numbers_of_any_kind_are_whole(value):
    assert checks.whole("k", value, 1, 9, "exchanges") == 3
    assert type(checks.whole("k", value, 1, 9, "exchanges")) is int


def test_a_fraction_is_refused_not_rounded():
    with pytest.raises(TypeError, match=r"^k must be a whole number of exchanges, got 2\.5$"):
        checks.whole("k", 2.5, 1, 9, "exchanges")


def test_tokens_are_never_negative_and_bounded():
    assert checks.tokens("read", 0) == 0
    with pytest.raises(ValueError, match="^read must be >= 0 tokens, got -1$"):
        checks.tokens("read", -1)
    with pytest.raises(ValueError, match="^read must be <= .* tokens, got "):
        checks.tokens("read", checks.MOST_TOKENS + 1)
    with pytest.raises(TypeError, match="^read must be a number of tokens"):
        checks.tokens("read", "12")


def test_one_bad_entry_of_a_row_is_named_by_its_place():
    with pytest.raises(ValueError, match=r"^gaps_s\[2\] must be between 0 and 60 seconds, got -4$"):
        checks.numbers("gaps_s", [1, 2, -4, -5], 0, 60, "seconds")
    with pytest.raises(ValueError, match=r"^gaps_s\[0\] .* got nan$"):
        checks.numbers("gaps_s", [math.nan], 0, 60, "seconds")
    with pytest.raises(ValueError, match="^gaps_s must be one row of seconds, got 2 dimensions$"):
        checks.numbers("gaps_s", [[1.0]], 0, 60, "seconds")


@pytest.mark.parametrize("values", [["a"], [[1], [1, 2]], [1j], [{}], "abc"])
def test_a_row_that_is_not_numeric_names_the_field(values):
    with pytest.raises((TypeError, ValueError), match="^gaps_s"):
        checks.numbers("gaps_s", values, 0, 60, "seconds")


def test_a_checked_row_is_a_copy_that_cannot_be_written():
    mine = np.array([1.0, 2.0])
    checked = checks.numbers("gaps_s", mine, 0, 60, "seconds")
    mine[0] = 9
    assert checked.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        checked[0] = 9


def test_an_unknown_name_gets_the_nearest_one():
    models = ("claude-sonnet-4-5", "gpt-6")
    assert checks.known("model", "gpt-6", models) == "gpt-6"
    with pytest.raises(KeyError) as error:
        checks.known("model", "sonet-4", models)
    assert checks.sentence(error.value) == "unknown model 'sonet-4'; nearest: 'claude-sonnet-4-5'"


def test_an_unknown_name_near_nothing_gets_all_of_them():
    with pytest.raises(KeyError) as error:
        checks.known("model", "zzz", ("alpha", "beta"))
    assert checks.sentence(error.value) == "unknown model 'zzz'; one of: 'alpha', 'beta'"


@pytest.mark.parametrize("error", [ValueError("a sentence"), KeyError("a sentence"), TypeError("a sentence")])
def test_a_sentence_is_the_message_without_quotes(error):
    assert checks.sentence(error) == "a sentence"


def test_an_error_without_words_is_called_by_its_kind():
    assert checks.sentence(ValueError()) == "ValueError"


def test_decimals_are_refused_not_guessed():
    with pytest.raises(TypeError, match="must be a number of seconds"):
        checks.number("ttl_s", Decimal("3"), 0, 60, "seconds")
