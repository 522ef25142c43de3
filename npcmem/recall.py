"""What a character still knows: facts through summaries, memories by rank and by score, and what fits the prompt.

A fact is recalled on a turn when it is in that turn's prompt: in an exchange kept word for word, in the
summary, or in a memory fetched back from the store.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np

from npcmem import checks
from npcmem.data_files import data_text

MOST_STORED = 1_000_000
MOST_HOURS = 1e7
SHARE = "(share of what was told)"
ANY = 1e300  # the largest value that min and max may lie apart without overflow

RECENCY_DECAY = 0.995
"""A memory's recency falls to this share of itself every game hour: a half-life of 138 hours."""

SEPARATION = 3.0
"""d′ of a retriever: how many standard deviations the wanted memory scores above the others.

It reproduces a published count on LongMemEval-S, sentence embeddings and BM25 over some 48 stored sessions, for
the 70 questions with one wanted session: first in 72.9 %, among the first five in 95.7 % (xiaowu0162/LongMemEval
#42); 3.0 gives 76 % and 95 %. Whole sessions differ more than the exchanges of one do: measure your own.
"""


# --- facts through summaries ----------------------------------------------------------------------


@dataclass(frozen=True)
class Retention:
    """The chance that a fact survives p summary passes: c·k^p + (1−c)·e^p.

    With probability c = ``carried`` a conversation's summaries carry values over, and a fact then survives each
    pass with probability k = ``kept``; in the other conversations with e = ``kept_else``. Counts call for two
    states: a summary either copies values forward or replaces them by their labels, and a value once replaced
    cannot come back, so that conversations keep nearly all or nothing. ``carried`` = 1 is one smooth loss.
    """

    carried: float = 1.0
    kept: float = 0.95
    kept_else: float = 0.0
    _table: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, unit in (
            ("carried", "(share of conversations)"),
            ("kept", "(chance per pass)"),
            ("kept_else", "(chance per pass)"),
        ):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), 0, 1, unit))
        self._tabulate(256)

    def survive(self, passes: np.ndarray | int) -> np.ndarray | float:
        """P(a fact is still there after so many passes), of the shape of ``passes``; 1 before the first.

        At 95 % a pass, 14, 5 and 2 passes leave 0.49, 0.77 and 0.90: the first fact of 60 turns, summarised
        every 4, 11 and 20.
        """
        counts = np.asarray(passes)
        checks.numbers("passes", counts.ravel(), 0, checks.MOST_TURNS, "summary passes")
        if (counts != np.floor(counts)).any():
            raise TypeError(f"passes must be whole numbers of summary passes, got {repr(passes)[:60]}")
        return self._survive(counts)

    def table(self, passes: int) -> np.ndarray:
        """Return ``survive`` of 0, 1, … ``passes``, read-only: computed once, for callers in a loop."""
        if passes >= len(self._table):
            passes = checks.whole("passes", passes, 0, checks.MOST_TURNS, "summary passes")
            self._tabulate(2 * passes)
        return self._table[: passes + 1]

    def _tabulate(self, length: int) -> None:
        table = self._survive(np.arange(length))
        table.flags.writeable = False
        object.__setattr__(self, "_table", table)

    def _survive(self, passes: np.ndarray) -> np.ndarray | float:
        other = self.kept_else**passes  # 0⁰ = 1: before the first pass nothing is lost
        return other + self.carried * (self.kept**passes - other)


@dataclass(frozen=True, slots=True)
class RetentionPreset:
    """One published count as a ``Retention``.

    ``share`` of ``facts`` facts (None where their number is unknown) was kept after ``passes`` passes; ``kind``
    is the kind of fact, ``note`` what was assumed.
    """

    id: str
    name: str
    kind: str
    retention: Retention
    share: float
    facts: int | None
    passes: int
    source: str
    note: str


@cache
def retentions() -> dict[str, RetentionPreset]:
    """Return the presets of ``data/retention.toml`` by id, in the order of the file."""
    rows = tomllib.loads(data_text("retention.toml"))["retention"]
    return {row["id"]: _preset(row) for row in rows}


def preset(id: str) -> RetentionPreset:
    """Return one preset."""
    return retentions()[checks.known("retention", id, retentions())]


def _preset(row: dict) -> RetentionPreset:
    """Turn a count into a chance per pass: k = (share/c)^(1/p), with c the share of conversations not lost."""
    share = row["share"] if "share" in row else row["kept"] / row["of"]
    carried = 1 - row.get("lost", 0) / row.get("conversations", 1)
    shape = Retention(carried, (share / carried) ** (1 / row["passes"]))
    words = (row["id"], row["name"], row["kind"])
    return RetentionPreset(*words, shape, share, row.get("of"), row["passes"], row["source"], row["note"])


def mean_recall(
    held: int, folded: Sequence[int] | np.ndarray, dropped: int, retention: Retention, retrieved: float = 0.0
) -> float:
    """The chance that a fact from any one earlier exchange, each equally likely, is in the prompt now.

    (held + Σ fᵢ·(1 − (1 − survive(P−i))·(1 − R)) + dropped·R) / (held + Σ fᵢ + dropped); 1 before there is any.

    ``held`` exchanges are in the prompt word for word. ``folded`` is how many each of the P summary passes took
    in, fᵢ, oldest pass first; a fact taken in by pass i = 0, 1, … has gone through P−i. ``dropped`` ones left
    the prompt without a summary. R = ``retrieved`` is the chance that a stored exchange is fetched back.
    """
    taken = _places(held, folded, dropped, retrieved)
    in_summaries = float(np.add.reduce(taken))
    exchanges = held + in_summaries + dropped
    if not exchanges:
        return 1.0
    by_summary = float(taken @ retention.table(len(taken))[:0:-1])
    fetched = retrieved * (in_summaries - by_summary + dropped)
    return min((held + by_summary + fetched) / exchanges, 1.0)


def oldest_recall(
    held: int, folded: Sequence[int] | np.ndarray, dropped: int, retention: Retention, retrieved: float = 0.0
) -> float:
    """The chance that a fact from the very first exchange is in the prompt now; see ``mean_recall``.

    Exchanges that were dropped are older than those folded, and those than the ones held. 1 before there is any.
    """
    taken = _places(held, folded, dropped, retrieved)
    if dropped:
        return retrieved
    first = next((at for at, count in enumerate(taken) if count), None)
    if first is None:
        return 1.0
    survived = float(retention.table(len(taken))[len(taken) - first])
    return survived + retrieved * (1 - survived)


def _places(held: int, folded: Sequence[int] | np.ndarray, dropped: int, retrieved: float) -> np.ndarray:
    """Return what each pass took in as an array; the sentences of ``checks`` only where something is wrong."""
    taken = np.asarray(folded, dtype=float)
    if not (held >= 0 and dropped >= 0 and 0 <= retrieved <= 1 and np.minimum.reduce(taken, initial=0) >= 0):
        checks.number("held", held, 0, checks.MOST_TURNS, "exchanges")
        checks.number("dropped", dropped, 0, checks.MOST_TURNS, "exchanges")
        checks.numbers("folded", folded, 0, checks.MOST_TURNS, "exchanges")
        checks.number("retrieved", retrieved, 0, 1, "(chance of a fetch)")
    return taken


# --- retrieval by rank ----------------------------------------------------------------------------


def retrieval_hit_rate(
    stored: np.ndarray | int, top_k: np.ndarray | int, separation: np.ndarray | float = SEPARATION
) -> np.ndarray | float:
    """P(the wanted memory is among the ``top_k`` best of ``stored``): ∫ φ(z−d′)·B(K−1; N−1, 1−Φ(z)) dz.

    The retriever scores the wanted memory as N(d′, 1), d′ = ``separation``, and each of the N−1 others as
    N(0, 1); B is the binomial distribution function of how many of the others beat the score z. Arguments are
    broadcast. 1 where everything stored is fetched; K/N for d′ = 0; Φ(d′/√2) for the better one of two. The
    model is that of signal detection among several alternatives (Green and Swets 1966).
    """
    return np.vectorize(_hit_rate, otypes=[float])(stored, top_k, separation)[()]


@lru_cache(maxsize=100_000)
def _hit_rate(stored: int, top_k: int, separation: float) -> float:
    """Integrate by the trapezoidal rule: for a smooth integrand that vanishes at both ends it converges at once."""
    stored = checks.whole("stored", stored, 0, MOST_STORED, "memories")
    top_k = checks.whole("top_k", top_k, 0, MOST_STORED, "memories")
    separation = checks.number("separation", separation, -10, 10, "standard deviations")
    if stored <= top_k:
        return 1.0
    if top_k == 0:
        return 0.0
    from scipy.special import bdtr, ndtr  # here, since it takes longer to import than the rest of the package

    step = min(0.1, 1 / math.sqrt(stored))  # B turns from 0 to 1 over at least 1.25/√N
    above = np.arange(-9, 9, step)  # z − d′
    weight = np.exp(-0.5 * above**2)
    among = bdtr(top_k - 1, stored - 1, ndtr(-(above + separation)))
    return float(weight @ among / weight.sum())


# --- memory scores: the article on NPC memory -----------------------------------------------------


def recency(hours: np.ndarray | float, decay: float = RECENCY_DECAY) -> np.ndarray | float:
    """decay^hours: 1 for a memory just used, half after ln 2/−ln(decay) game hours since it was last retrieved.

    0.995 has a half-life of 138 hours, 5.8 game days; 0.99 of 69. This is the Generative Agents paper; its public
    code decays by rank and not by hour (0.99 to the power of the rank, oldest first, so that the oldest memory
    scores highest) and weighs recency, relevance and importance 0.5, 3 and 2.
    """
    decay = checks.number("decay", decay, 0, 1, "(share left after an hour)")
    checks.numbers("hours", np.ravel(hours), 0, MOST_HOURS, "game hours")
    return (decay ** np.asarray(hours, dtype=float))[()]


def scaled(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """(x − min)/(max − min), from 0 to 1; 0.5 for all where all are equal, since they tell nothing apart."""
    row = checks.numbers("values", values, -ANY, ANY, "a score")
    if not len(row):
        return row
    least, spread = row.min(), np.ptp(row)
    return (row - least) / spread if spread > 0 else np.full(len(row), 0.5)


def score(
    recency: Sequence[float] | np.ndarray,
    importance: Sequence[float] | np.ndarray,
    relevance: Sequence[float] | np.ndarray,
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> np.ndarray:
    """w₁·scaled(recency) + w₂·scaled(importance) + w₃·scaled(relevance), one score a memory; equal weights."""
    measures = [scaled(values) for values in (recency, importance, relevance)]
    if len({len(values) for values in measures}) > 1:
        sizes = ", ".join(str(len(values)) for values in measures)
        raise ValueError(f"recency, importance and relevance must hold a value for each memory, got {sizes}")
    shares = checks.numbers("weights", weights, 0, 1e6, "(weight of a measure)")
    if len(shares) != len(measures):
        raise ValueError(f"weights must be 3 numbers (recency, importance, relevance), got {len(shares)}")
    return shares @ np.array(measures)


def similarities(embeddings: np.ndarray) -> np.ndarray:
    """Return the highest cosine similarity of each exchange (n,) to an earlier one; 0 for the first.

    ``embeddings`` (n, d): a row per exchange, in order; a row of zeros is like no other. What a session's
    ``similarities`` and the policy that leaves repeats out ask for.
    """
    rows = np.array(embeddings, dtype=float)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"embeddings must be finite numbers (exchanges, dimensions), got shape {rows.shape}")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    earlier = np.where(np.tri(len(rows), k=-1, dtype=bool), unit @ unit.T, -1.0)
    return np.clip(np.where(np.arange(len(rows)) > 0, earlier.max(axis=1, initial=-1.0), 0.0), -1.0, 1.0)


def fill(scores: Sequence[float] | np.ndarray, tokens: Sequence[int] | np.ndarray, budget_tokens: int) -> np.ndarray:
    """Return the indices of the memories that go into the prompt, best first, within ``budget_tokens``.

    In order of score, equal scores in the order given; one that no longer fits is passed over and smaller ones
    after it may still go in.
    """
    order = np.argsort(-checks.numbers("scores", scores, -ANY, ANY, "a score"), kind="stable")
    sizes = checks.numbers("tokens", tokens, 0, checks.MOST_TOKENS, "tokens")
    if len(order) != len(sizes):
        raise ValueError(f"scores and tokens must be equally long, got {len(order)} and {len(sizes)}")
    left = checks.tokens("budget_tokens", budget_tokens)
    taken = []
    for at in order.tolist():
        if sizes[at] <= left:
            taken.append(at)
            left -= sizes[at]
    return np.array(taken, dtype=int)
