"""What a policy is expected to cost and to recall when gaps are random: exact, and without a simulation.

A replay sends every call through a real cache. Here a call is known only by the longest prefix it has in common with
the calls before it, and whether that is still alive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules
from npcmem.dialogue import Call, Character, Session, shared_blocks
from npcmem.ledger import Entry, Ledger, ledger_of
from npcmem.money import Usage
from npcmem.policies import Memory, Policy, Turn, beginning, ping_calls, take_turn
from npcmem.recall import Retention
from npcmem.thinktime import Empirical, Pace, ThinkTime

Gaps = float | np.ndarray | Pace | Sequence[Pace] | None
Case = tuple[int, int, int, int]  # a state, a turn from 0, a class of its gap, how much of the head others keep


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a policy will cost and what of the conversation it will still know.

    ``bill``: the expected ledger. ``recall`` (n,): the chance that a fact told in an earlier exchange, each as likely
    as the other, is in the prompt of turn t if it is wanted there; ``oldest`` (n,): the same for the first one.
    Both are (n, p) for p paces at once, and 1 at turn 1.
    """

    bill: Ledger
    recall: np.ndarray
    oldest: np.ndarray


def expected(
    policy: Policy, character: Character, session: Session, rules: CacheRules | None, gaps: Gaps = None, **more: Any
) -> Ledger:
    """Return the exact expected bill; see ``outlook``."""
    return outlook(policy, character, session, rules, gaps, **more).bill


def outlook(
    policy: Policy,
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: Gaps = None,
    retention: Retention | None = None,
    head_warm: float | Sequence[float] = 0.0,
) -> Outlook:
    """Return the exact expected bill and recall of a session whose gaps are random, each by itself.

    ``gaps``: the chance that a gap is shorter than the cache's lifetime, one for all or one each (n−1,); or the
    players' pace; or several paces, evaluated at once; without it the session's own gaps, known in advance.
    ``head_warm``: the chance that other players' traffic has kept the head cached when this session's own entries are
    dead, one for all of it or one for each of its blocks. Summaries are kept by ``retention``, whole without it.

    With one conversation and all calls of a turn at one instant, a turn's usage depends on the past only through what
    was sent in the turn before and on whether the gap outlived it (the mixing identity). So gaps fall into a few
    classes, between which neither the cache nor the policy tells a difference, and the mean is a sum over them: no
    simulation. Where a policy acts on the gap, the memories it may have are carried along with their probabilities.
    Refuses rules and policies of which that is not true.
    """
    heads = character.heads_alive(head_warm)
    if rules is not None:
        longest = character.static_tokens + character.summary_size(session.turns) + session.exchange_tokens.sum()
        rules.check_followable(float(longest), len(character.head) + policy.stable_blocks)
    kinds, chances = _gaps(policy, session, rules, gaps)
    walk = _walked if _paces(gaps) else _walk
    done = walk(policy, character, session, rules, kinds, tuple(blocks for blocks, _, _ in heads))
    found = _weighed(done, chances, [share for _, _, share in heads], retention or Retention(1.0, 1.0))
    if isinstance(gaps, Sequence) and _paces(gaps):
        return found
    return Outlook(replace(found.bill, chance=found.bill.chance[:, 0]), found.recall[:, 0], found.oldest[:, 0])


# --- gaps -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Gap:
    """How a gap may go: ``classes``, each (seconds, second of the last ping or None), and seconds between pings."""

    classes: tuple[tuple[float, float | None], ...]
    ping_every_s: float = math.inf


FIRST = _Gap(((0.0, None),))  # what is before the first turn


def _gaps(
    policy: Policy, session: Session, rules: CacheRules | None, gaps: Gaps
) -> tuple[tuple[_Gap, ...], np.ndarray]:
    """Return what is before each turn, and (n, classes + 1, p) how likely it is; last, how many pings are expected."""
    if gaps is None:
        return _known_gaps(policy, session, rules)
    if policy.counts_seconds:
        raise ValueError(f"gaps must be known, not random, for {policy.name!r}: it counts the seconds of all of them")
    edges, count = _edges(policy, rules), session.turns - 1
    if paces := _paces(gaps):
        kind, chances = _sorted(policy, rules, edges, _chances(tuple(paces), tuple(edges)))
        return (FIRST, *[kind] * count), _from_the_first(np.broadcast_to(chances, (count, *chances.shape)))
    chance = checks.numbers(
        "gaps", gaps if isinstance(gaps, str) or not np.isscalar(gaps) else np.full(count, gaps), 0, 1, "(probability)"
    )
    if len(chance) != count:
        raise ValueError(f"gaps must have {count} entries, one a gap, got {len(chance)}")
    if len(edges) > 2:
        raise ValueError(
            f"gaps must be a pace for {policy.name!r} on this cache, got a probability: what happens changes at "
            f"{', '.join(f'{edge:g}' for edge in edges[1:4])}{' …' if len(edges) > 4 else ''} s"
        )
    both = np.stack([chance, 1 - chance]) if len(edges) == 2 else np.ones((1, count))
    kind, chances = _sorted(policy, rules, edges, both)
    return (FIRST, *[kind] * count), _from_the_first(chances.T[:, :, None])


def _known_gaps(policy: Policy, session: Session, rules: CacheRules | None) -> tuple[tuple[_Gap, ...], np.ndarray]:
    """Return the session's own gaps as ``_gaps`` does: one class each."""
    certain = np.ones((1, 1))
    found = [_sorted(policy, rules, [gap_s], certain) for gap_s in session.gaps_s.tolist()]
    kinds, chances = [kind for kind, _ in found], [chance for _, chance in found]
    return (FIRST, *kinds), _from_the_first(np.array(chances).reshape(-1, 2, 1))


def _from_the_first(chances: np.ndarray) -> np.ndarray:
    """Return the chances with those of the first turn before them, which begins without a gap."""
    first = np.zeros((1, *chances.shape[1:]))
    first[0, 0] = 1.0
    return np.concatenate([first, chances])


def _paces(gaps: Gaps) -> Sequence[Pace]:
    """Return the paces that ``gaps`` are; none where they are chances."""
    if isinstance(gaps, ThinkTime | Empirical):
        return [gaps]
    many = isinstance(gaps, Sequence) and not isinstance(gaps, str)
    return gaps if many and gaps and all(isinstance(one, ThinkTime | Empirical) for one in gaps) else ()


@lru_cache(maxsize=64)  # policies held side by side ask the same again and again
def _chances(paces: tuple[Pace, ...], edges: tuple[float, ...]) -> np.ndarray:
    """Return (edges, p) the chance that a gap lasts that long, but not up to the next edge."""
    below = np.array([[*np.atleast_1d(pace.cdf(np.array(edges))), 1.0] for pace in paces])
    chances = np.diff(below).T
    chances.flags.writeable = False
    return chances


def _lifetimes(rules: CacheRules | None) -> tuple[float, ...]:
    return () if rules is None or rules.outlives_gaps else rules.lifetimes_s


def _edges(policy: Policy, rules: CacheRules | None) -> list[float]:
    """Return the gaps, 0 first, at which the cache or the policy begins to act otherwise."""
    pings = policy.pings_s(math.inf)
    dies = {used + life for used in (0.0, *pings) for life in _lifetimes(rules)}
    return sorted({0.0, *policy.thresholds_s, *pings, *dies})


def _sorted(
    policy: Policy, rules: CacheRules | None, edges: list[float], chances: np.ndarray
) -> tuple[_Gap, np.ndarray]:
    """Return a gap that lasts ``edges`` or more, up to the next one, with ``chances`` (edges, p), sorted into classes.

    Those in which the same is still alive and the policy does the same are one. Second (classes + 1, p) the chance of
    each and, last, how many pings are expected.
    """
    classes: dict[object, tuple[float, float | None]] = {}
    summed: dict[object, np.ndarray] = {}
    pinged = np.zeros(chances.shape[1])
    for gap_s, chance in zip(edges, chances, strict=True):
        pings = policy.pings_s(gap_s)
        pinged = pinged + len(pings) * chance
        last_s = pings[-1] if pings else None
        alive = [gap_s - used < life for used in (0.0, last_s or 0.0) for life in _lifetimes(rules)]
        key = (*alive, sum(gap_s >= edge for edge in policy.thresholds_s))
        classes.setdefault(key, (gap_s, last_s))
        summed[key] = summed.get(key, 0.0) + chance
    every_s = next(iter(policy.pings_s(math.inf)), math.inf)
    return _Gap(tuple(classes.values()), every_s), np.array([*summed.values(), pinged])


# --- the walk -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _State:
    """A memory the conversation may have after a turn, its number among all of the walk, and its last calls."""

    number: int
    memory: Memory
    last: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class _Move:
    """What may happen at a turn: from which state to which, in which classes of gaps.

    ``passes``: how many exchanges the summaries before and after the reply took in. The reply is given with ``held``
    exchanges in its prompt and ``stored`` ones that left it, each fetched with the chance ``again``; ``covered`` says
    whether a summary stands for the first.
    """

    turn: int
    before: int
    after: int
    classes: tuple[int, ...]
    passes: tuple[int, int]
    held: int
    stored: int
    again: float
    covered: bool


@dataclass(frozen=True, eq=False)
class _Walk:
    """All that may happen in a session, how likely it is left open: so it serves every pace, price and retention.

    ``moves`` in the order of their turns, between ``states`` numbered from 0. ``bill`` without chances: each row is
    made in the cases from ``starts`` on up to the next row's. ``cases`` (4, …): the state before, the turn from 0, the
    class of its gap (the last one for pings) and how much of the head others keep (the last one for no matter).
    """

    moves: tuple[_Move, ...]
    states: int
    known_share: float
    bill: Ledger
    starts: np.ndarray
    cases: np.ndarray


def _walk(
    policy: Policy,
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: tuple[_Gap, ...],
    heads: tuple[int, ...],
) -> _Walk:
    """Return all that may happen, given how each gap may go and how many blocks of the head others may keep cached."""
    moves: list[_Move] = []
    rows: list[tuple[Entry, list[Case]]] = []
    states, count = [_State(0, beginning(character), ())], 1
    for turn, gap in enumerate(gaps, start=1):
        reached: dict[object, _State] = {}
        for state in states:
            ping = _ping(policy, state, gap)
            if ping:
                live = 0 if rules is None else _live_blocks(rules, ping, ping, gap.ping_every_s)
                rows.append((*_entries(rules, ping, turn, [live]), [(state.number, turn - 1, -1, -1)]))
            for step, classes in _steps(policy, character, session, state, turn, gap):
                rows += _billed(step, classes, state, ping, gap, heads, rules)
                there = _merged(reached, _State(count, step.memory, (step.reply, *step.after)))
                count += there.number == count
                moves.append(_move(policy, step, state.number, there.number, classes))
        states = [*reached.values()]
    starts = np.cumsum([0, *(len(cases) for _, cases in rows[:-1])])
    cases = np.array([case for _, cases in rows for case in cases]).T
    bill = ledger_of([entry for entry, _ in rows], rules)
    for column in (bill.turn, bill.kind, bill.at_s, *bill.usage.as_dict().values(), bill.token_hours, bill.needs):
        column.flags.writeable = False  # the walk may be kept, and every outlook on it has these columns
    return _Walk(tuple(moves), count, policy.known_share, bill, starts, cases)


_walked = lru_cache(maxsize=64)(_walk)  # what is asked again at another pace, price or retention is walked once


def _ping(policy: Policy, state: _State, gap: _Gap) -> Call | None:
    """Return the ping of a gap, all of which are alike; None where there is none."""
    if not state.last or gap.ping_every_s == math.inf:
        return None
    return ping_calls(policy, state.last[0], state.memory, gap.ping_every_s)[0]


def _steps(
    policy: Policy, character: Character, session: Session, state: _State, turn: int, gap: _Gap
) -> list[tuple[Turn, tuple[int, ...]]]:
    """Return what may happen at a turn and in which classes of gaps."""
    steps: dict[int, tuple[Turn, tuple[int, ...]]] = {}
    for number, (gap_s, _) in enumerate(gap.classes):
        returned = policy.due_on_return(state.memory, gap_s) if turn > 1 else 0
        if returned in steps:
            step, classes = steps[returned]
            steps[returned] = step, (*classes, number)
        else:
            steps[returned] = take_turn(policy, character, session, state.memory, turn, gap_s), (number,)
    return [*steps.values()]


def _billed(
    step: Turn,
    classes: tuple[int, ...],
    state: _State,
    ping: Call | None,
    gap: _Gap,
    heads: tuple[int, ...],
    rules: CacheRules | None,
) -> Iterator[tuple[Entry, list[Case]]]:
    """Yield the rows of a turn and the cases of each: a call's are those in which it reads the same of its prompt."""
    turn, head = step.reply.turn, state.memory.head
    timed = [(call, turn) for call in (*step.before, step.reply, *step.stored)]
    timed += [(call, turn + 1) for call in step.after]
    earlier: list[Call] = []
    for call, needs in timed:
        cases: dict[int, list[Case]] = {}
        cached = rules is not None and bool(call.prompt)
        own = max([_live_blocks(rules, call, one, 0.0) for one in earlier], default=0) if cached else 0
        for number in classes:
            live = max(own, _live_from_before(rules, call, state, ping, *gap.classes[number])) if cached else 0
            for which, blocks in enumerate(heads):
                most = max(live, shared_blocks(call.prompt, head[:blocks])) if cached and blocks > live else live
                cases.setdefault(most, []).append((state.number, turn - 1, number, which))
        yield from zip(_entries(rules, call, needs, [*cases]), cases.values(), strict=True)
        earlier += [call] if cached else []


def _live_from_before(
    rules: CacheRules, call: Call, state: _State, ping: Call | None, gap_s: float, pinged_s: float | None
) -> int:
    """Return how many leading blocks of a call the turn before and the pings since have left alive."""
    live = max([_live_blocks(rules, call, last, gap_s) for last in state.last], default=0)
    return live if ping is None or pinged_s is None else max(live, _live_blocks(rules, call, ping, gap_s - pinged_s))


def _entries(rules: CacheRules | None, call: Call, needs: int, lives: Sequence[int]) -> list[Entry]:
    """Return the rows of a call of which so many leading blocks are alive in the cache, their chance left open."""
    if rules is None or not call.prompt:
        return [Entry(call, math.nan, Usage(uncached=call.input_tokens, output=call.output_tokens), 0.0, needs)]
    ends = [*accumulate([block.tokens for block in call.prompt])]
    plain = sum([block.tokens for block in call.volatile])
    reads = [int(rules.cacheable(ends[live - 1])) if live else 0 for live in lives]
    usages = [rules.usage(ends, read, plain, call.output_tokens) for read in reads]
    return [Entry(call, math.nan, usage, 0.0, needs) for usage in usages]


def _live_blocks(rules: CacheRules, call: Call, earlier: Call, age_s: float) -> int:
    """Return how many leading blocks the prompts of two calls share that are still alive after ``age_s``."""
    prompt, other = call.prompt, earlier.prompt
    most = min(len(prompt), len(other))
    if age_s >= rules.ttl_s and not rules.outlives_gaps:
        most = min(most, rules.long_blocks) if rules.long_blocks and age_s < rules.long_ttl_s else 0
    return shared_blocks(prompt[:most], other[:most]) if most else 0


def _merged(reached: dict[object, _State], state: _State) -> _State:
    """Return the state among those reached that differs from this one in nothing that matters later, or this one."""
    memory = state.memory
    key = (memory.covered, len(memory.stored), len(memory.exchanges), state.last[0].input_tokens)
    return reached.setdefault(key, state)


def _move(policy: Policy, step: Turn, before: int, after: int, classes: tuple[int, ...]) -> _Move:
    memory, stored = step.spoken, len(step.spoken.stored)
    again = policy.fetched(stored) if stored else 0.0
    held, covered = len(memory.exchanges), memory.covered > 0
    return _Move(step.reply.turn, before, after, classes, step.passes, held, stored, again, covered)


# --- how likely it all is -------------------------------------------------------------------------


def _weighed(walk: _Walk, chances: np.ndarray, shares: Sequence[float], retention: Retention) -> Outlook:
    """Return the walk's outlook; ``chances`` as of ``_gaps``, ``shares`` the chance of each of its heads."""
    turns, _, paces = chances.shape
    if len(walk.moves) == turns:  # whatever the gaps
        odds, recall = _certain(walk, retention)
    else:
        odds, recall = _odds(walk, chances, retention)
    state, turn, kind, head = walk.cases
    weights = odds[state] * chances[turn, kind] * np.array([*shares, 1.0])[head, None]
    bill = replace(walk.bill, chance=np.add.reduceat(weights, walk.starts))
    happens = bill.chance.any(axis=1)
    return Outlook(bill if happens.all() else bill.rows(happens), *np.broadcast_to(recall, (2, turns, paces)))


@lru_cache(maxsize=64)
def _certain(walk: _Walk, retention: Retention) -> tuple[np.ndarray, np.ndarray]:
    """Return ``_odds`` of a walk on which the gaps decide nothing."""
    return _odds(walk, np.ones((len(walk.moves), 1, 1)), retention)  # the first class is in every move


def _odds(walk: _Walk, chances: np.ndarray, retention: Retention) -> tuple[np.ndarray, np.ndarray]:
    """Return (states, p) how likely each state is, and (2, n, p) the recall of all told and of the first exchange.

    A state has five odds (5, p): its probability; times that, for a summariser that carries values over and for one
    that does not, how many of the facts the summary covers it still has (2) and whether it has the first exchange's.
    """
    turns, kinds, paces = chances.shape
    belongs = np.array([[number in move.classes for number in range(kinds)] for move in walk.moves], dtype=float)
    at = [move.turn - 1 for move in walk.moves]
    chance = np.einsum("mk,mkp->mp", belongs, chances[at])
    before, after = np.array([(move.before, move.after) for move in walk.moves]).T
    took = np.array([move.passes for move in walk.moves]).T
    knows = _knows(walk, retention).transpose(1, 0, 2).reshape(2, -1)
    odds, recall = np.zeros((walk.states, 5, paces)), np.zeros((2, turns, paces))
    odds[0] = np.array([1.0, 0, 0, 1, 1])[:, None]
    ends = np.searchsorted(at, range(turns + 1)).tolist()
    for turn, (first, end) in enumerate(pairwise(ends)):
        now = odds[before[first:end]] * chance[first:end, None]
        now = _passed(now, took[0, first:end], retention)
        recall[:, turn] = knows[:, 5 * first : 5 * end] @ now.reshape(-1, paces)
        np.add.at(odds, after[first:end], _passed(now, took[1, first:end], retention))
    return odds[:, 0], recall


def _passed(odds: np.ndarray, took: np.ndarray, retention: Retention) -> np.ndarray:
    """Return states' odds (states, 5, p) after summaries that took in so many exchanges (states,), 0 for none."""
    if not took.any():
        return odds
    odds = odds.copy()
    odds[:, 1:3] += took[:, None, None] * odds[:, :1]
    kept = np.array([retention.kept, retention.kept_else] * 2)
    odds[:, 1:] *= np.where(took[:, None] > 0, kept, 1.0)[:, :, None]
    return odds


def _knows(walk: _Walk, retention: Retention) -> np.ndarray:
    """Return (moves, 2, 5) what, times the odds before, is a move's mean recall and that of the first exchange."""
    held, stored, again, covered = np.array([(m.held, m.stored, m.again, m.covered) for m in walk.moves], float).T
    some, told, unsure = stored > 0, np.maximum(held + stored, 1), 1 - walk.known_share
    lost = unsure * (1 - again)
    knows = np.zeros((len(walk.moves), 2, 5))
    knows[:, 0, 0] = np.where(some, walk.known_share + unsure * (held + again * stored) / told, 1.0)
    knows[:, 1, 0] = np.where(some, walk.known_share + unsure * again, 1.0)
    for at, share in ((1, retention.carried), (2, 1 - retention.carried)):
        knows[:, 0, at] = np.where(some, lost * share / told, 0.0)
        knows[:, 1, at + 2] = np.where(some, lost * share * covered, 0.0)
    return knows
