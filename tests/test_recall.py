"""What a character still knows: laws, hand solutions, and theory against seeded simulation."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from npcmem import Character, Deduplicate, Session, recall
from npcmem.policies import calls
from npcmem.recall import (
    Retention,
    fill,
    mean_recall,
    oldest_recall,
    retentions,
    retrieval_hit_rate,
    scaled,
    score,
    similarities,
)

SHARE = st.floats(0, 1)
RETENTIONS = st.builds(Retention, SHARE, SHARE, SHARE)
COUNTS = st.integers(0, 50)
FOLDED = st.lists(COUNTS, max_size=300)
VALUES = st.floats(-1e6, 1e6)
EPS = 1e-12
COUNTED = tomllib.loads((Path(recall.__file__).parents[1] / "data/retention.toml").read_text("utf-8"))["retention"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- facts through summaries ----------------------------------------------------------------------


@given(RETENTIONS, st.integers(0, 1000))
def test_survival_starts_at_one_and_never_rises(shape, passes):
    chances = shape.survive(np.arange(passes + 1))
    assert chances[0] == 1
    assert (np.diff(chances) <= EPS).all()
    assert (chances >= 0).all()
    assert chances.tolist() == shape.table(passes).tolist()


def test_the_first_fact_of_sixty_turns_at_95_percent_a_pass():
    passes = np.array([(60 - 1) // interval for interval in (4, 11, 20)])
    assert passes.tolist() == [14, 5, 2]
    assert Retention(kept=0.95).survive(passes).round(2).tolist() == [0.49, 0.77, 0.90]


def test_two_states_by_hand():
    shape = Retention(0.5, 0.9, 0.2)
    assert shape.survive(2) == pytest.approx(0.5 * 0.81 + 0.5 * 0.04)
    assert isinstance(shape.survive(2), float)
    assert shape.survive(np.array([[0, 1], [2, 3]])).shape == (2, 2)
    assert Retention(0.5, 1.0).survive([0, 1, 40]).tolist() == [1, 0.5, 0.5]


def test_survival_agrees_with_conversations_played_out():
    shape, facts, passes = Retention(0.6, 0.93, 0.5), 20_000, 12
    dice = rng(1)
    chance = np.where(dice.random(facts) < shape.carried, shape.kept, shape.kept_else)
    there = np.cumprod(dice.random((passes, facts)) < chance, axis=0).mean(1)
    assert there == pytest.approx(shape.survive(np.arange(1, passes + 1)), abs=4 * math.sqrt(0.25 / facts))


def test_a_table_grows_past_its_first_length_and_is_read_only():
    shape = Retention(kept=0.999)
    assert shape.table(5_000)[5_000] == shape.survive(5_000)
    assert not shape.table(10).flags.writeable
    assert shape == Retention(kept=0.999)
    assert hash(shape) == hash(Retention(kept=0.999))


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: row["id"])
def test_a_preset_reproduces_its_count(row):
    found = recall.preset(row["id"])
    share = row.get("share") or row["kept"] / row["of"]
    assert found.retention.survive(found.passes) == pytest.approx(share)
    assert found.share == share
    assert 1 - found.retention.carried == pytest.approx(row.get("lost", 0) / row.get("conversations", 1))
    assert found.source
    assert found.note


def test_presets_by_hand():
    prose, verbatim = recall.preset("prose").retention, recall.preset("values-verbatim").retention
    assert (prose.carried, prose.kept**10) == (0.5, pytest.approx(39 / 40))
    assert (verbatim.carried, verbatim.kept**10) == (1, pytest.approx(70 / 72))
    assert recall.preset("game-fields").retention.survive(1000) == 1
    assert round(recall.preset("prose-in-passing").retention.kept, 2) == 0.95
    assert list(retentions()) == [row["id"] for row in COUNTED]


def test_what_a_retention_refuses():
    with pytest.raises(ValueError, match=r"kept must be <= 1 \(chance per pass\), got 1.5"):
        Retention(kept=1.5)
    with pytest.raises(ValueError, match="passes.0. must be between 0"):
        Retention().survive(-1)
    with pytest.raises(TypeError, match="passes must be whole numbers"):
        Retention().survive([1.5])
    with pytest.raises(KeyError, match="unknown retention 'pros'; nearest: 'prose'"):
        recall.preset("pros")


# --- the chance over a conversation ---------------------------------------------------------------


def one_by_one(held: int, folded: list[int], dropped: int, shape: Retention, retrieved: float) -> list[float]:
    """Return each earlier exchange's own chance, oldest first."""
    in_summary = [
        1 - (1 - shape.survive(len(folded) - at)) * (1 - retrieved) for at, n in enumerate(folded) for _ in range(n)
    ]
    return [retrieved] * dropped + in_summary + [1.0] * held


@given(COUNTS, st.lists(st.integers(0, 5), max_size=12), COUNTS, RETENTIONS, SHARE)
def test_recall_is_the_mean_over_exchanges_and_the_oldest_is_the_first(held, folded, dropped, shape, retrieved):
    chances = one_by_one(held, folded, dropped, shape, retrieved) or [1.0]
    assert mean_recall(held, folded, dropped, shape, retrieved) == pytest.approx(np.mean(chances))
    assert oldest_recall(held, folded, dropped, shape, retrieved) == pytest.approx(chances[0])


@given(COUNTS, FOLDED, COUNTS, RETENTIONS, SHARE)
def test_recall_lies_between_the_oldest_and_one(held, folded, dropped, shape, retrieved):
    found = mean_recall(held, folded, dropped, shape, retrieved)
    assert oldest_recall(held, folded, dropped, shape, retrieved) - EPS <= found <= 1
    assert found >= mean_recall(held, folded, dropped, shape) - EPS
    assert mean_recall(held, np.array(folded, dtype=int), dropped, shape, retrieved) == found


@given(COUNTS, RETENTIONS, SHARE)
def test_what_is_still_in_the_prompt_is_recalled(held, shape, retrieved):
    assert mean_recall(held, (), 0, shape, retrieved) == oldest_recall(held, (), 0, shape, retrieved) == 1


@given(COUNTS, FOLDED, COUNTS)
def test_nothing_is_lost_on_fields_or_with_certain_retrieval(held, folded, dropped):
    assert mean_recall(held, folded, 0, Retention(kept=1)) == pytest.approx(1)
    assert mean_recall(held, folded, dropped, Retention(0, 0), 1) == pytest.approx(1)


def test_recall_by_hand():
    half = Retention(kept=0.5)
    assert mean_recall(2, [4, 4], 0, half) == pytest.approx((2 + 4 * 0.25 + 4 * 0.5) / 10)
    assert mean_recall(2, [], 8, half, 0.3) == pytest.approx((2 + 8 * 0.3) / 10)
    assert mean_recall(0, [1], 0, half, 0.5) == pytest.approx(0.75)
    assert oldest_recall(2, [0, 4], 0, half) == 0.5


def test_recall_agrees_with_a_rolling_summary_played_out():
    shape, every, turns, players = Retention(0.7, 0.9, 0.3), 4, 24, 4_000
    dice, there = rng(2), []
    for _ in range(players):
        chance = shape.kept if dice.random() < shape.carried else shape.kept_else
        summary, held = [], []
        for turn in range(1, turns):
            held.append(turn)
            if len(held) == every:
                summary, held = [fact for fact in summary + held if dice.random() < chance], []
        there.append((len(held) + len(summary)) / (turns - 1))
    error = np.std(there) / math.sqrt(players)
    assert mean_recall(3, [4] * 5, 0, shape) == pytest.approx(np.mean(there), abs=4 * error)


def test_what_recall_refuses():
    for wrong, words in (
        ((-1, (), 0, Retention(), 0.0), "held must be >= 0 exchanges, got -1"),
        ((0, [4, -4], 0, Retention(), 0.0), r"folded\[1\] must be between 0"),
        ((0, [math.nan], 0, Retention(), 0.0), r"folded\[0\] must be between 0"),
        ((0, (), -2, Retention(), 0.0), "dropped must be >= 0 exchanges"),
        ((0, (), 0, Retention(), 1.5), "retrieved must be <= 1"),
    ):
        for chance in (mean_recall, oldest_recall):
            with pytest.raises(ValueError, match=words):
                chance(*wrong)


# --- retrieval by rank ----------------------------------------------------------------------------


@pytest.mark.parametrize("separation", [-1.0, 0.0, 0.7, 3.0])
def test_the_better_of_two_by_hand(separation):
    assert retrieval_hit_rate(2, 1, separation) == pytest.approx(stats.norm.cdf(separation / math.sqrt(2)), abs=1e-12)


@pytest.mark.parametrize(("stored", "top_k"), [(3, 1), (50, 5), (1000, 500), (10_000, 9_999), (1_000_000, 20)])
def test_a_retriever_that_knows_nothing_draws_lots(stored, top_k):
    assert retrieval_hit_rate(stored, top_k, 0.0) == pytest.approx(top_k / stored, rel=1e-9)


@pytest.mark.parametrize(
    ("stored", "top_k", "separation"), [(20, 1, 1.0), (50, 5, 2.0), (300, 3, 3.0), (300, 150, 0.3)]
)
def test_hit_rates_agree_with_ranks_drawn(stored, top_k, separation):
    dice, draws = rng(3), 8_000
    wanted = dice.standard_normal(draws) + separation
    better = (dice.standard_normal((stored - 1, draws)) > wanted).sum(0)
    found = retrieval_hit_rate(stored, top_k, separation)
    assert (better < top_k).mean() == pytest.approx(found, abs=4 * math.sqrt(found * (1 - found) / draws))


@given(st.integers(1, 300), st.integers(0, 40), st.floats(-2, 5))
def test_more_places_help_more_memories_hurt_better_scores_help(stored, top_k, separation):
    found = retrieval_hit_rate(stored, top_k, separation)
    assert 0 <= found <= 1 + EPS
    assert retrieval_hit_rate(stored, top_k + 1, separation) >= found - EPS
    assert retrieval_hit_rate(stored + 1, top_k, separation) <= found + EPS
    assert retrieval_hit_rate(stored, top_k, separation + 0.5) >= found - EPS


def test_hit_rates_take_arrays():
    found = retrieval_hit_rate(np.arange(0, 100, 10)[:, None], [1, 10, 100])
    assert found.shape == (10, 3)
    assert (found[:, 2] == 1).all()
    assert isinstance(retrieval_hit_rate(50, 5), float)
    assert retrieval_hit_rate(50, 0) == 0
    assert retrieval_hit_rate(5, 5, -3.0) == 1


def test_the_default_separation_reproduces_its_source():
    assert retrieval_hit_rate(48, np.array([1, 5])) == pytest.approx([0.729, 0.957], abs=0.035)


def test_what_retrieval_refuses():
    with pytest.raises(ValueError, match="stored must be >= 0 memories, got -1"):
        retrieval_hit_rate(-1, 5)
    with pytest.raises(TypeError, match="top_k must be a whole number"):
        retrieval_hit_rate(50, 2.5)


# --- memory scores --------------------------------------------------------------------------------


def test_recency_halves_in_138_game_hours():
    assert recall.recency(138.28) == pytest.approx(0.5, abs=1e-4)
    assert recall.recency(68.97, 0.99) == pytest.approx(0.5, abs=1e-4)
    assert recall.recency(np.array([0, 1, 2])).tolist() == [1, 0.995, pytest.approx(0.995**2)]
    with pytest.raises(ValueError, match="hours.0. must be between 0"):
        recall.recency(-1)


@given(st.lists(VALUES, max_size=20))
def test_scaled_values_span_zero_to_one_in_the_same_order(values):
    found = scaled(values)
    assert len(found) == len(values)
    assert ((found >= 0) & (found <= 1)).all()
    if len(set(values)) > 1:
        assert (found.min(), found.max()) == (0, 1)
        assert (np.diff(found[np.argsort(values)]) >= 0).all()
    else:
        assert (found == 0.5).all()


def test_a_score_adds_three_scaled_measures():
    found = score([1.0, 0.5, 0.0], [2, 8, 5], [0.1, 0.1, 0.9])
    assert found.tolist() == [1 + 0 + 0, 0.5 + 1 + 0, 0 + 0.5 + 1]
    assert score([0, 1], [1, 0], [3, 3], (0.5, 2, 3)).tolist() == [2 + 1.5, 0.5 + 1.5]
    with pytest.raises(ValueError, match="a value for each memory, got 1, 2, 1"):
        score([1], [1, 2], [1])
    with pytest.raises(ValueError, match="weights must be 3 numbers"):
        score([1], [1], [1], (1, 1))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 200)), max_size=30), st.integers(0, 1000))
def test_a_fill_keeps_the_budget_and_is_greedy(memories, budget):
    scores, tokens = [rank for rank, _ in memories], [size for _, size in memories]
    taken = fill(scores, tokens, budget).tolist()
    assert sum(tokens[at] for at in taken) <= budget
    assert taken == sorted(taken, key=lambda at: (-scores[at], at))
    for left_out in set(range(len(memories))) - set(taken):
        better = [at for at in taken if (-scores[at], at) < (-scores[left_out], left_out)]
        assert sum(tokens[at] for at in better) + tokens[left_out] > budget


def test_a_fill_by_hand():
    assert fill([1, 9, 5, 5], [50, 90, 80, 10], 150).tolist() == [1, 3, 0]
    assert fill([1, 1, 1], [40, 40, 40], 80).tolist() == [0, 1]
    assert fill([], [], 80).tolist() == []
    with pytest.raises(ValueError, match="scores and tokens must be equally long, got 1 and 2"):
        fill([1], [1, 2], 10)
    with pytest.raises(ValueError, match="budget_tokens must be >= 0 tokens"):
        fill([1], [1], -1)


def test_a_repeat_is_as_similar_as_can_be_to_what_it_repeats():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((12, 8))
    rows[7] = 3 * rows[2]  # the same direction, longer
    rows[9] = 0.0
    found = similarities(rows)
    assert found[0] == 0
    assert found[7] == pytest.approx(1.0)
    assert found[9] == 0
    by_hand = [
        max(rows[at] @ rows[by] / np.linalg.norm(rows[at]) / np.linalg.norm(rows[by]) for by in range(at))
        for at in range(1, 7)
    ]
    assert found[1:7] == pytest.approx(by_hand)
    session = dataclasses.replace(Session.uniform(12), similarities=found)
    kept = [call for call in calls(Deduplicate(), Character(), session) if call.kind == "reply"][-1]
    assert len(kept.prompt) == 1 + 10  # the static part and eleven exchanges but the repeat


def test_embeddings_are_a_table_of_numbers():
    with pytest.raises(
        ValueError, match=r"^embeddings must be finite numbers \(exchanges, dimensions\), got shape \(3,\)$"
    ):
        similarities(np.zeros(3))
    assert similarities(np.zeros((0, 4))).tolist() == []
