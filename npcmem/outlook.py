"""What a policy is expected to cost and to recall when gaps are random: exact, and without a simulation.

A replay sends every call through a real cache. Here a call is known only by the longest prefix it has in common with
the calls before it, and whether that is still alive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules
from npcmem.dialogue import Block, Call, Character, Session, shared_blocks
from npcmem.ledger import Entry, Ledger, ledger_of
from npcmem.money import Usage
from npcmem.policies import Memory, Policy, Turn, beginning, ping_calls, take_turn
from npcmem.recall import Retention
from npcmem.thinktime import Empirical, Pace, ThinkTime

Gaps = float | np.ndarray | Pace | Sequence[Pace] | None


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


@dataclass(slots=True)
class _State:
    """A memory the conversation may have after a turn, and its last calls.

    ``odds`` (5, p): its probability; times that, for a summariser that carries values over and for one that does not,
    how many of the facts the summary covers it still has (2) and whether it has the first exchange's (2).
    """

    memory: Memory
    last: tuple[Call, ...]
    odds: np.ndarray


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
    expected_gaps, paces = _gaps(policy, session, rules, gaps)
    if rules is not None:
        longest = character.static_tokens + character.summary_size(session.turns) + session.exchange_tokens.sum()
        rules.check_followable(float(longest), len(character.head) + policy.stable_blocks)
    retention = retention or Retention(1.0, 1.0)
    rows: list[Entry] = []
    recall = np.zeros((2, session.turns, paces))
    states = [_State(beginning(character), (), np.array([1.0, 0, 0, 1, 1])[:, None] * np.ones(paces))]
    for turn, gap in enumerate([FIRST, *expected_gaps], start=1):
        reached: dict[object, _State] = {}
        for state in states:
            for step, chance in _steps(policy, character, session, state, turn, gap, heads, rules, rows):
                odds = _passed(state.odds * chance, step.passes[0], retention)
                recall[:, turn - 1] += _known(policy, step.spoken, retention) @ odds
                odds = _passed(odds, step.passes[1], retention)
                _merge(reached, _State(step.memory, (step.reply, *step.after), odds))
        states = [*reached.values()]
    bill = ledger_of(rows, rules)
    if isinstance(gaps, Sequence) and _paces(gaps):
        return Outlook(bill, *recall)
    return Outlook(replace(bill, chance=bill.chance[:, 0]), *recall[:, :, 0])


# --- gaps -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Gap:
    """How a gap may go. ``classes``: (seconds, second of the last ping or None, chance (p,)) of each.

    ``pings``: how many are expected (p,); ``ping_every_s`` between them.
    """

    classes: tuple[tuple[float, float | None, np.ndarray], ...]
    pings: np.ndarray | float = 0.0
    ping_every_s: float = math.inf


FIRST = _Gap(((0.0, None, np.ones(1)),))  # what is before the first turn


def _gaps(policy: Policy, session: Session, rules: CacheRules | None, gaps: Gaps) -> tuple[list[_Gap], int]:
    """Return each gap of the session, and the number of paces p."""
    if gaps is None:
        return [_gap(policy, rules, [gap_s], np.ones((1, 1))) for gap_s in session.gaps_s.tolist()], 1
    if policy.counts_seconds:
        raise ValueError(f"gaps must be known, not random, for {policy.name!r}: it counts the seconds of all of them")
    edges, count = _edges(policy, rules), session.turns - 1
    if paces := _paces(gaps):
        return [_gap(policy, rules, edges, _chances(tuple(paces), tuple(edges)))] * count, len(paces)
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
    if len(edges) == 1:
        return [_gap(policy, rules, edges, np.ones((1, 1)))] * count, 1
    return [_gap(policy, rules, edges, np.array([[h], [1 - h]])) for h in chance.tolist()], 1


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


def _gap(policy: Policy, rules: CacheRules | None, edges: list[float], chances: np.ndarray) -> _Gap:
    """Return a gap that lasts ``edges`` or more, up to the next one, with ``chances`` (edges, p).

    Classes in which the same is still alive and the policy does the same are one.
    """
    classes: dict[object, tuple[float, float | None, np.ndarray]] = {}
    expected = 0.0
    for gap_s, chance in zip(edges, chances, strict=True):
        pings = policy.pings_s(gap_s)
        expected = expected + len(pings) * chance
        last_s = pings[-1] if pings else None
        alive = [gap_s - used < life for used in (0.0, last_s or 0.0) for life in _lifetimes(rules)]
        key = (*alive, sum(gap_s >= edge for edge in policy.thresholds_s))
        if key in classes:
            classes[key] = (*classes[key][:2], classes[key][2] + chance)
        elif chance.any():
            classes[key] = gap_s, last_s, chance
    return _Gap(tuple(classes.values()), expected, next(iter(policy.pings_s(math.inf)), math.inf))


# --- turns ----------------------------------------------------------------------------------------


def _steps(
    policy: Policy,
    character: Character,
    session: Session,
    state: _State,
    turn: int,
    gap: _Gap,
    heads: tuple[tuple[int, int, float], ...],
    rules: CacheRules | None,
    rows: list[Entry],
) -> list[tuple[Turn, np.ndarray]]:
    """Return what may happen at a turn and the chance (p,) of each; put the calls made for it into ``rows``."""
    steps: dict[int, tuple[Turn, np.ndarray]] = {}
    bills: dict[object, Entry] = {}
    if state.last and gap.ping_every_s < math.inf:
        rows.append(_pings(policy, state, gap, rules))
    for gap_s, pinged_s, chance in gap.classes:
        returned = policy.due_on_return(state.memory, gap_s) if turn > 1 else 0
        if returned in steps:
            step, before = steps[returned]
            steps[returned] = step, before + chance
        else:
            step = take_turn(policy, character, session, state.memory, turn, gap_s)
            steps[returned] = step, chance
        sent = [(call.prompt, gap_s) for call in state.last if call.prompt]
        if pinged_s is not None:
            sent.append((ping_calls(policy, state.last[0], state.memory, pinged_s)[-1].prompt, gap_s - pinged_s))
        for blocks, _, share in heads:
            by_others = [(character.head[:blocks], 0.0)] if blocks else []
            _bill(bills, returned, step, [*sent, *by_others], rules, state.odds[0] * chance * share)
    rows += bills.values()
    return [*steps.values()]


def _pings(policy: Policy, state: _State, gap: _Gap, rules: CacheRules | None) -> Entry:
    """Return the pings of a gap, all alike, as one row."""
    ping = ping_calls(policy, state.last[0], state.memory, gap.ping_every_s)[0]
    live = 0 if rules is None else _live_blocks(rules, ping.prompt, ping.prompt, gap.ping_every_s)
    return Entry(ping, math.nan, _usage(rules, ping, live), state.odds[0] * gap.pings, ping.turn + 1)


def _bill(
    bills: dict[object, Entry],
    returned: int,
    step: Turn,
    sent: list[tuple[tuple[Block, ...], float]],
    rules: CacheRules | None,
    weight: np.ndarray,
) -> None:
    """Add the calls of a turn, each with what it reads of the prompts ``sent``, by the seconds since then.

    Those made after ``returned`` exchanges were summarised on return are alike but for what they read.
    """
    turn = step.reply.turn
    timed = [(call, turn) for call in (*step.before, step.reply, *step.stored)]
    timed += [(call, turn + 1) for call in step.after]
    for at, (call, needs) in enumerate(timed):
        live = 0
        if rules is not None and call.prompt:
            live = max([_live_blocks(rules, call.prompt, one, age_s) for one, age_s in sent], default=0)
            sent.append((call.prompt, 0.0))
        key = (returned, at, live)
        if key in bills:
            bills[key].chance = bills[key].chance + weight
        else:
            bills[key] = Entry(call, math.nan, _usage(rules, call, live), weight, needs)


def _usage(rules: CacheRules | None, call: Call, live: int) -> Usage:
    """Return the usage of a call of which so many leading blocks are alive in the cache."""
    if rules is None or not call.prompt:
        return Usage(uncached=call.input_tokens, output=call.output_tokens)
    ends = [*accumulate(block.tokens for block in call.prompt)]
    read = int(rules.cacheable(ends[live - 1])) if live else 0
    return rules.usage(ends, read, sum(block.tokens for block in call.volatile), call.output_tokens)


def _live_blocks(rules: CacheRules, prompt: tuple[Block, ...], earlier: tuple[Block, ...], age_s: float) -> int:
    """Return how many leading blocks two prompts share that are still alive after ``age_s``."""
    most = min(len(prompt), len(earlier))
    if age_s >= rules.ttl_s and not rules.outlives_gaps:
        most = min(most, rules.long_blocks) if rules.long_blocks and age_s < rules.long_ttl_s else 0
    return shared_blocks(prompt[:most], earlier[:most])


def _passed(odds: np.ndarray, took: int, retention: Retention) -> np.ndarray:
    """Return a state's odds after a summary that took in so many exchanges, 0 for none."""
    if not took:
        return odds
    odds = odds.copy()
    odds[1:3] += took * odds[0]
    odds[1:] *= np.array([retention.kept, retention.kept_else] * 2)[:, None]
    return odds


def _known(policy: Policy, memory: Memory, retention: Retention) -> np.ndarray:
    """Return (2, 5) what, times a state's odds, is its mean recall and that of the first exchange."""
    held, stored, fields = len(memory.exchanges), len(memory.stored), policy.known_share
    if not stored:
        return np.array([[1.0, 0, 0, 0, 0]] * 2)
    again, unsure, told = policy.fetched(stored), 1 - fields, held + stored
    lost = unsure * (1 - again)
    kept, kept_else = lost * retention.carried, lost * (1 - retention.carried)
    oldest = (kept, kept_else) if memory.covered else (0, 0)
    return np.array(
        [
            [fields + unsure * (held + again * stored) / told, kept / told, kept_else / told, 0, 0],
            [fields + unsure * again, 0, 0, *oldest],
        ]
    )


def _merge(reached: dict[object, _State], state: _State) -> None:
    """Add a state to those reached, together with the one that differs from it in nothing that matters later."""
    memory = state.memory
    key = (memory.covered, len(memory.stored), len(memory.exchanges), state.last[0].input_tokens)
    there = reached.setdefault(key, state)
    if there is not state:
        there.odds = there.odds + state.odds
