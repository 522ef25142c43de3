"""The exact expected cost of every summary interval and every session length at once, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from npcmem import checks
from npcmem.cache import MOST_PINGS, PING_OUTPUT_TOKENS, CacheRules
from npcmem.dialogue import Character
from npcmem.money import Price
from npcmem.pricing import call_usd, readable
from npcmem.recall import Retention

MOST_CELLS = 25_000_000  # 200 MB an array
KNOWN_CELLS = 200_000  # of a sweep whose turns are kept for the next: models side by side ask for the same


def sweep(
    character: Character,
    exchange_tokens: int,
    reply_tokens: int,
    turns: int,
    rules: CacheRules | None,
    warm: float,
    price: Price,
    *,
    most_k: int | None = None,
    keep: int = 0,
    shares_prefix: bool = False,
    summary_price: Price | None = None,
    head_warm: float | Sequence[float] = 0.0,
    pings: float = 0.0,
) -> np.ndarray:
    """Return expected dollars ``usd[k−1−keep, n−1]`` of a session of n turns that summarises every k exchanges.

    k runs from ``keep + 1`` to ``most_k`` (``turns`` if None) and n from 1 to ``turns``; k ≥ n is full
    history. ``warm`` is the probability that a gap is shorter than the TTL. Equals ``outlook.expected`` of
    ``SummariseEvery`` to rounding: by the mixing identity a turn costs
    ``p·(L + u − L′) + w·L′ − h(w − r)·A + p_out·o`` for a prompt of L tokens of which L′ can be cached and
    A are in the cache when warm. Needs rules that let the static part have a breakpoint of its own.
    ``head_warm``: the chance that other players' traffic keeps the static part cached when this one's is cold, one or
    one for each block of it. ``pings``: how often the prompt is expected to be sent again in a gap to keep it alive;
    ``warm`` is then the chance that it is alive at the gap's end.
    """
    turns, most_k, keep = _size(turns, most_k, keep)
    exchange, reply = checks.tokens("exchange_tokens", exchange_tokens), checks.tokens("reply_tokens", reply_tokens)
    if reply > exchange:
        raise ValueError(f"reply_tokens ({reply} tokens) cannot exceed exchange_tokens ({exchange} tokens)")
    checks.number("warm", warm, 0, 1, "(probability)")
    checks.number("pings", pings, 0, MOST_PINGS, "pings a gap")
    if rules is not None and rules.outlives_gaps:
        warm = 1.0  # no gap outlives such an entry

    cells = _known_cells if most_k * turns <= KNOWN_CELLS else _cells
    cells = cells(turns, most_k, keep, character.summary_growth_tokens > 0)
    prompt, shared = _prompts(character, exchange, cells)
    if rules is not None:
        rules.check_closed_form(prompt[cells.seen].max(), len(character.head))
    read = _read(character, rules, prompt, shared, warm, head_warm)
    usd = call_usd(price, rules, prompt, read, character.volatile_tokens, reply)[cells.of]
    later = usd[:, 1:]  # what is done after a turn serves the next: a session that ends there never pays it
    if pings:
        later += pings * _ping_usd(character, rules, price, prompt, cells)
    later[cells.due] += _flush_usd(character, exchange, shares_prefix, rules, summary_price or price, prompt, cells)
    return np.cumsum(usd, axis=1)


def longest_call(
    character: Character,
    exchange_tokens: int,
    reply_tokens: int,
    turns: int,
    *,
    most_k: int | None = None,
    shares_prefix: bool = False,
) -> np.ndarray:
    """Return ``tokens[k−1, n−1]``: what the longest call of a session of n turns needs of a model's context.

    Input and output together, of the replies and of the summary calls every k exchanges; k ≥ n is full history.
    """
    turns, most_k, _ = _size(turns, most_k, 0)
    exchange, reply = checks.tokens("exchange_tokens", exchange_tokens), checks.tokens("reply_tokens", reply_tokens)
    cells = _known_cells if most_k * turns <= KNOWN_CELLS else _cells
    cells = cells(turns, most_k, 0, character.summary_growth_tokens > 0)
    prompt, _ = _prompts(character, exchange, cells)
    tokens = (prompt + character.volatile_tokens + reply)[cells.of]
    later, flushes = tokens[:, 1:], sum(_flush_calls(character, exchange, shares_prefix, prompt, cells))
    later[cells.due] = np.maximum(later[cells.due], flushes)
    return np.maximum.accumulate(tokens, axis=1)


def recall_sweep(turns: int, retention: Retention, *, most_k: int | None = None, keep: int = 0) -> np.ndarray:
    """Return ``recall[k−1−keep, n−1]``: what a character that summarises every k exchanges knows at turn n.

    The chance that a fact told in an earlier exchange, each as likely as the other, is in the prompt: the exchanges
    held count 1, those of a summary p passes ago ``retention.survive(p)``. Equals ``outlook.outlook``.
    """
    turns, most_k, keep = _size(turns, most_k, keep)
    k = np.arange(keep + 1, most_k + 1)[:, None]
    t = np.arange(1, turns + 1)[None, :]
    passes = np.where(t > k, 1 + (t - 1 - k) // (k - keep), 0)
    alive = np.concatenate([[0.0], np.cumsum(retention.survive(np.arange(1, turns + 1)))])
    known = t - 1 - passes * (k - keep) + (k - keep) * alive[passes]
    return np.where(t > 1, known / np.maximum(t - 1, 1), 1.0)


def band(usd: np.ndarray, within: float = 0.01) -> tuple[int, np.ndarray]:
    """Return the index of a cost curve's minimum and all indices within 1 % of it.

    The second need not be one run: an interval that divides the session wastes no summary at its end.
    """
    best = int(np.argmin(usd))
    return best, np.flatnonzero(usd <= usd[best] * (1 + within))


def crossover(cheaper: np.ndarray, than: np.ndarray) -> int | None:
    """Return the first length n (from 1) from which ``cheaper`` stays below ``than``; None if it never does."""
    wins = cheaper < than * (1 - 1e-12)
    if not len(wins) or not wins[-1]:
        return None
    losses = np.flatnonzero(~wins)
    return int(losses[-1]) + 2 if len(losses) else 1


def _size(turns: int, most_k: int | None, keep: int) -> tuple[int, int, int]:
    """Return ``turns``, ``most_k`` and ``keep`` of a sweep, checked."""
    turns = checks.whole("turns", turns, 1, checks.MOST_TURNS, "turns")
    keep = checks.whole("keep", keep, 0, checks.MOST_TURNS, "exchanges")
    most_k = max(turns, keep + 1) if most_k is None else most_k
    most_k = checks.whole("most_k", most_k, keep + 1, checks.MOST_TURNS, "exchanges")
    if most_k * turns > MOST_CELLS:
        raise ValueError(f"most_k x turns must be <= {MOST_CELLS:,} sessions in one sweep, got {most_k * turns:,}")
    return turns, most_k, keep


def _prompts(character: Character, exchange: int, cells: _Cells) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of each state's prompt, and how many of them it has in common with the call before."""
    summary = np.where(cells.covered > 0, character.summary_size(cells.covered), 0)
    prompt = character.static_tokens + summary + float(exchange) * cells.held
    fresh = (cells.held == cells.keep) & (cells.covered > 0)  # a new summary leaves only the head
    spoken = cells.held + cells.covered > 0
    return prompt, np.where(fresh, character.static_tokens, np.where(spoken, prompt - exchange, 0.0))


def _read(
    character: Character,
    rules: CacheRules | None,
    prompt: np.ndarray,
    shared: np.ndarray,
    warm: float,
    head_warm: float | Sequence[float],
) -> np.ndarray | float:
    """Return the expected tokens that each state's reply reads: what is shared when warm, else what others keep."""
    asked = prompt + character.volatile_tokens
    read = readable(rules, shared, asked) * warm
    others = [] if rules is None else [row for row in character.heads_alive(head_warm) if row[1]]
    if others:
        heads = sum(part * readable(rules, float(end), asked) for _, end, part in others)
        read = read + np.where(shared > 0, 1 - warm, 1.0) * heads  # of the first turn nothing is shared: always cold
    return read


def _ping_usd(
    character: Character, rules: CacheRules | None, price: Price, prompt: np.ndarray, cells: _Cells
) -> np.ndarray:
    """Return the dollars (k, turns − 1) of a ping after each turn: of its prompt, or the head where that is folded."""
    head = np.array([float(character.static_tokens)])
    whole, alone = (
        call_usd(price, rules, sent, readable(rules, sent, sent), 0, PING_OUTPUT_TOKENS) for sent in (prompt, head)
    )
    usd = whole[cells.of[:, :-1]]
    usd[cells.due] = alone  # all that is read after it
    return usd


def _flush_usd(
    character: Character,
    exchange: int,
    shares_prefix: bool,
    rules: CacheRules | None,
    price: Price,
    prompt: np.ndarray,
    cells: _Cells,
) -> np.ndarray:
    """Return the dollars of each summary call that is due."""
    told, asked, made = _flush_calls(character, exchange, shares_prefix, prompt, cells)
    return call_usd(price, rules, told, readable(rules, told, told + asked), asked, made)


def _flush_calls(
    character: Character, exchange: int, shares_prefix: bool, prompt: np.ndarray, cells: _Cells
) -> tuple[np.ndarray | float, np.ndarray | float, np.ndarray]:
    """Return the prompt, the plain input and the output of each summary call that is due.

    It reads the conversation, or is sent what it folds.
    """
    of = cells.of[cells.due]
    told, asked = prompt[of], float(exchange + character.instruction_tokens)
    if not shares_prefix:  # all but the static part and what is kept, as plain input
        told, asked = 0.0, told + asked - character.static_tokens - cells.keep * exchange
    return told, asked, character.summary_size(cells.covered[of] + cells.held[of] + 1 - cells.keep)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Every interval and turn of a sweep, and the states a prompt may be in.

    ``keep`` exchanges are never folded. ``held``, ``covered`` (states,): how many are in the prompt word for word, and
    how many a summary covers; where summaries do not grow it only matters whether there is one, so that there are few
    states for many cells. ``of`` (k, turns): the state of each cell; ``seen``: the states that occur. ``due``: the rows
    and the turns, from 0, after whose reply a summary call is made, the last turn's aside.
    """

    keep: int
    held: np.ndarray
    covered: np.ndarray
    of: np.ndarray
    seen: np.ndarray
    due: tuple[np.ndarray, np.ndarray]


def _cells(turns: int, most_k: int, keep: int, grows: bool) -> _Cells:
    """Return the cells of a sweep; ``grows``: whether a summary's length depends on what it covers."""
    k = np.arange(keep + 1, most_k + 1, dtype=np.int32)[:, None]
    t = np.arange(1, turns + 1, dtype=np.int32)[None, :]
    held = np.where(t > k, keep + (t - 1 - k) % (k - keep), t - 1)
    covered = t - 1 - held
    due = np.nonzero(held[:, :-1] == k - 1)
    if grows:
        each = np.arange(held.size)
        return _Cells(keep, held.ravel(), covered.ravel(), each.reshape(held.shape), each, due)
    of = held + turns * (covered > 0)
    return _Cells(keep, np.tile(np.arange(turns), 2), np.repeat([0, 1], turns), of, np.unique(of), due)


_known_cells = lru_cache(maxsize=8)(_cells)
