"""What a conversation's calls cost: replayed call by call, or as an exact expectation over random gaps.

``replay`` sends every call through a real cache. ``outlook`` knows only, for each call, the longest prefix it has in
common with the calls before it and whether that is still alive; it is exact too, and takes random gaps.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules, PrefixCache
from npcmem.dialogue import KINDS, Block, Call, Character, Session
from npcmem.money import CLASSES, Price, Usage
from npcmem.policies import Memory, Policy, Turn, beginning, calls, ping_calls, take_turn
from npcmem.recall import Retention
from npcmem.thinktime import Empirical, Pace, ThinkTime

if TYPE_CHECKING:
    import pandas

Gaps = float | np.ndarray | Pace | Sequence[Pace] | None


@dataclass(frozen=True, eq=False)
class Ledger:
    """One row per call that is, or may be, made.

    ``turn`` from 1; ``kind`` one of ``dialogue.KINDS``; ``at_s`` seconds since the first call, not known where gaps
    are random; ``usage`` whole tokens by billing class; ``token_hours`` held in paid storage. ``chance``: probability
    that the call is made and billed so, 1 in a replay; (rows,), or (rows, p) for p paces at once. ``needs``: turns of
    the shortest session that makes the call, its own or, for what only serves the next turn, one more.
    """

    turn: np.ndarray
    kind: np.ndarray
    at_s: np.ndarray
    usage: Usage
    token_hours: np.ndarray
    chance: np.ndarray
    needs: np.ndarray

    @property
    def total(self) -> Usage:
        """Tokens of all calls by billing class; expected ones where rows have a chance."""
        return Usage(*(_plain(getattr(self.usage, name) @ self.chance) for name in CLASSES))

    @property
    def hit(self) -> np.ndarray:
        """Whether each row's call read the cache."""
        return self.usage.read > 0

    def rows(self, at: np.ndarray) -> Ledger:
        """Return the rows ``at`` (a mask or indices)."""
        usage = Usage(*(getattr(self.usage, name)[at] for name in CLASSES))
        rest = (getattr(self, name)[at] for name in ("token_hours", "chance", "needs"))
        return Ledger(self.turn[at], self.kind[at], self.at_s[at], usage, *rest)

    def only(self, kind: str) -> Ledger:
        """Return the rows of one kind of call."""
        return self.rows(self.kind == checks.known("kind of call", kind, KINDS))

    def call_usd(self, price: Price, **other: Price) -> np.ndarray:
        """Return the dollars of each row if made; kinds of calls that go to another model at their own price.

        ``call_usd(price, summary=cheap, embedding=tiny)``.
        """
        usd = _usd(price, self)
        for kind, its in other.items():
            usd = np.where(self.kind == checks.known("kind of call", kind, KINDS), _usd(its, self), usd)
        return usd

    def cost(self, price: Price, **other: Price) -> float | np.ndarray:
        """Return the dollars of the session, expected ones where rows have a chance."""
        usd = self.call_usd(price, **other)
        return math.fsum(usd * self.chance) if self.chance.ndim == 1 else usd @ self.chance

    def cost_by_kind(self, price: Price, **other: Price) -> dict[str, float]:
        """Return the dollars of each kind of call that occurs, in the order of ``KINDS``: memory's own bill."""
        usd = self.call_usd(price, **other)
        at = {kind: self.kind == kind for kind in KINDS}
        return {kind: _plain(usd[rows] @ self.chance[rows]) for kind, rows in at.items() if rows.any()}

    def cost_by_length(self, price: Price, **other: Price) -> np.ndarray:
        """Return the dollars of a session of 1, 2, … turns that goes like this one: (n,), or (n, p)."""
        usd = self.call_usd(price, **other)
        turns = int(self.turn.max())
        sums = np.zeros((turns + 2, *self.chance.shape[1:]))
        np.add.at(sums, self.needs, (usd * self.chance.T).T)
        return np.cumsum(sums, axis=0)[1 : turns + 1]

    @property
    def hit_rate(self) -> float:
        """The share of turns whose reply call read the conversation's prefix from the cache."""
        replies = self.only("reply")
        return _plain(replies.hit @ replies.chance / replies.chance.sum(axis=0))

    @property
    def read_share(self) -> float:
        """The share of input tokens that were read from the cache."""
        return self.total.read / self.total.input if np.all(self.total.input) else 0.0

    def frame(self) -> pandas.DataFrame:
        """Return the rows as a data frame (needs pandas)."""
        import pandas

        columns = {"turn": self.turn, "kind": self.kind, "at_s": self.at_s, **self.usage.as_dict()}
        return pandas.DataFrame({**columns, "token_hours": self.token_hours, "chance": self.chance})


def _plain(value: np.ndarray) -> float | np.ndarray:
    return value.item() if np.ndim(value) == 0 else value


def _usd(price: Price, bill: Ledger) -> np.ndarray:
    usd = np.asarray(price.usd(bill.usage), dtype=float)
    return usd + bill.token_hours * (price.storage_usd_per_mtok_hour / 1e6)


@dataclass(slots=True)
class _Row:
    call: Call
    at_s: float
    usage: Usage
    chance: float | np.ndarray
    needs: int


def _ledger(rows: Iterable[_Row], rules: CacheRules | None) -> Ledger:
    rows = [*rows]
    usage = Usage(*(np.array([getattr(row.usage, name) for row in rows], dtype=np.int64) for name in CLASSES))
    stored = rules.stored_token_hours(usage) if rules is not None and rules.pays_storage else np.zeros(len(rows))
    return Ledger(
        np.array([row.call.turn for row in rows]),
        np.array([row.call.kind for row in rows]),
        np.array([row.at_s for row in rows]),
        usage,
        stored,
        np.array([row.chance for row in rows]),
        np.array([row.needs for row in rows]),
    )


# --- replay ---------------------------------------------------------------------------------------


def replay(policy: Policy, character: Character, session: Session, rules: CacheRules | None = None) -> Ledger:
    """Return the exact bill of one session under ``policy`` on a cache of its own; no cache without ``rules``."""
    cache = PrefixCache(rules)
    return _ledger((_sent(cache, *timed) for timed in _timed(policy, character, session, 0.0)), rules)


def replay_together(
    policy: Policy,
    characters: Sequence[Character],
    sessions: Sequence[Session],
    starts_s: Sequence[float],
    rules: CacheRules | None,
) -> list[Ledger]:
    """Return the exact bill of each of many sessions that begin at their seconds and share one cache.

    Sessions have nothing in common but the heads of their characters: what other players pay warms one's own, and
    with a capacity what they hold pushes one's own out. ``at_s`` counts from the common zero.
    """
    if not len(characters) == len(sessions) == len(starts_s):
        raise ValueError(
            f"characters, sessions and starts_s must be equally long, got "
            f"{len(characters)}, {len(sessions)} and {len(starts_s)}"
        )
    cache = PrefixCache(rules)
    rows: list[list[_Row]] = [[] for _ in sessions]

    def own(number: int) -> Iterator[tuple[float, int, Call, int]]:
        head = set(characters[number].head)
        for call, at_s, needs in _timed(policy, characters[number], sessions[number], starts_s[number]):
            prompt = tuple(one if one in head else Block((number, one.key), one.tokens) for one in call.prompt)
            yield at_s, number, replace(call, prompt=prompt), needs

    for at_s, number, call, needs in heapq.merge(*map(own, range(len(sessions))), key=lambda sent: sent[:2]):
        rows[number].append(_sent(cache, call, at_s, needs))
    return [_ledger(mine, rules) for mine in rows]


def _timed(policy: Policy, character: Character, session: Session, start_s: float) -> Iterator[tuple[Call, float, int]]:
    """Yield each call with its second and the shortest session that makes it."""
    turn_s = start_s + np.concatenate([[0.0], np.cumsum(session.gaps_s)])
    replied = 0
    for call in calls(policy, character, session):
        replied = call.turn if call.kind == "reply" else replied
        serves_next = call.kind == "ping" or (call.kind == "summary" and replied == call.turn)
        yield call, float(turn_s[call.turn - 1]) + call.after_s, call.turn + serves_next


def _sent(cache: PrefixCache, call: Call, at_s: float, needs: int) -> _Row:
    return _Row(call, at_s, cache.send(call, at_s), 1.0, needs)


# --- expectation ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a policy will cost and what of the conversation it will still know.

    ``bill``: the expected ledger. ``recall`` (n,): the chance that a fact told in an earlier exchange, each as likely
    as the other, is in the prompt of turn t; ``oldest`` (n,): the same for the very first exchange. Both are (n, p)
    for p paces at once, and 1 at turn 1.
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
    policy: Policy, character: Character, session: Session, rules: CacheRules | None, gaps: Gaps = None
) -> Ledger:
    """Return the exact expected bill; see ``outlook``."""
    return outlook(policy, character, session, rules, gaps).bill


def outlook(
    policy: Policy,
    character: Character,
    session: Session,
    rules: CacheRules | None,
    gaps: Gaps = None,
    retention: Retention | None = None,
) -> Outlook:
    """Return the exact expected bill and recall of a session whose gaps are random, each by itself.

    ``gaps``: the chance that a gap is shorter than the cache's lifetime, one for all or one each (n−1,); or the
    players' pace; or several paces, evaluated at once; without it the session's own gaps, known in advance.

    With one conversation and all calls of a turn at one instant, a turn's usage depends on the past only through what
    was sent in the turn before and on whether the gap outlived it (the mixing identity). So gaps fall into a few
    classes, between which neither the cache nor the policy tells a difference, and the mean is a sum over them: no
    simulation. Where a policy acts on the gap, the memories it may have are carried along with their probabilities.
    Refuses rules and policies of which that is not true.
    """
    classes, paces = _gap_classes(policy, session, rules, gaps)
    _check_followable(rules, character, session)
    retention = retention or Retention(1.0, 1.0)
    rows: list[_Row] = []
    recall = np.zeros((2, session.turns, paces))
    states = [_State(beginning(character), (), np.array([1.0, 0, 0, 1, 1])[:, None] * np.ones(paces))]
    for turn in range(1, session.turns + 1):
        reached: dict[object, _State] = {}
        for state in states:
            for step, chance in _steps(policy, character, session, state, turn, classes, rules, rows):
                odds = _passed(state.odds * chance, step.passes[0], retention)
                recall[:, turn - 1] += _known(policy, step.spoken, retention) @ odds
                odds = _passed(odds, step.passes[1], retention)
                _merge(reached, _State(step.memory, (step.reply, *step.after), odds))
        states = [*reached.values()]
    bill = _ledger(rows, rules)
    if isinstance(gaps, Sequence):
        return Outlook(bill, *recall)
    return Outlook(replace(bill, chance=bill.chance[:, 0]), *recall[:, :, 0])


def _gap_classes(
    policy: Policy, session: Session, rules: CacheRules | None, gaps: Gaps
) -> tuple[list[tuple[tuple[float, np.ndarray], ...]], int]:
    """Return for each gap its classes, the shortest gap and the chance (p,) of each, and the number of paces p."""
    if rules is not None:
        rules.check_mixing()
    if gaps is None:
        return [((gap_s, np.ones(1)),) for gap_s in session.gaps_s.tolist()], 1
    if policy.counts_seconds:
        raise ValueError(f"gaps must be known, not random, for {policy.name!r}: it counts the seconds of all of them")
    edges = _edges(policy, rules)
    count = session.turns - 1
    if isinstance(gaps, ThinkTime | Empirical) or isinstance(gaps, Sequence):
        paces = gaps if isinstance(gaps, Sequence) else [gaps]
        below = np.array([[*np.atleast_1d(pace.cdf(np.array(edges))), 1.0] for pace in paces])
        return [tuple(zip(edges, np.diff(below).T, strict=True))] * count, len(paces)
    chance = checks.numbers("gaps", np.full(count, gaps) if np.isscalar(gaps) else gaps, 0, 1, "(probability)")
    if len(chance) != count:
        raise ValueError(f"gaps must have {count} entries, one a gap, got {len(chance)}")
    if len(edges) > 2:
        raise ValueError(
            f"gaps must be a pace for {policy.name!r} on this cache, got a probability: what happens changes at "
            f"{', '.join(f'{edge:g}' for edge in edges[1:])} s"
        )
    if len(edges) == 1:
        return [((0.0, np.ones(1)),)] * count, 1
    return [((0.0, np.array([h])), (edges[1], np.array([1 - h]))) for h in chance.tolist()], 1


def _edges(policy: Policy, rules: CacheRules | None) -> list[float]:
    """Return the gaps, 0 first, at which the cache or the policy begins to act otherwise."""
    lifetimes = [] if rules is None or rules.outlives_gaps else rules.lifetimes_s
    last_used_s = (0.0, *policy.pings_s(math.inf))
    return sorted({0.0, *policy.thresholds_s, *(used + life for used in last_used_s for life in lifetimes)})


def _check_followable(rules: CacheRules | None, character: Character, session: Session) -> None:
    """Raise ValueError where what a call reads is not its longest common prefix, so that only a replay can follow."""
    if rules is None:
        return
    if rules.max_breakpoints and rules.lookback_blocks == 1:
        raise ValueError("lookback_blocks must be >= 2 blocks for an expectation, got 1: replay such a cache instead")
    longest = character.static_tokens + int(character.summary_size(session.turns)) + int(session.exchange_tokens.sum())
    if rules.capacity_tokens is not None and rules.capacity_tokens < longest:
        raise ValueError(
            f"capacity_tokens must be >= {longest:,} tokens, the longest prompt there can be, "
            f"got {rules.capacity_tokens:,}: replay such a cache instead"
        )


def _steps(
    policy: Policy,
    character: Character,
    session: Session,
    state: _State,
    turn: int,
    classes: list[tuple[tuple[float, np.ndarray], ...]],
    rules: CacheRules | None,
    rows: list[_Row],
) -> list[tuple[Turn, np.ndarray]]:
    """Return what may happen at a turn and the chance (p,) of each; put the calls made for it into ``rows``."""
    steps: dict[int, tuple[Turn, np.ndarray]] = {}
    bills: dict[object, _Row] = {}
    gaps = classes[turn - 2] if turn > 1 else ((0.0, 1.0),)
    pings = ping_calls(policy, state.last[0], gaps[-1][0]) if state.last else ()
    _bill_pings(bills, pings, state, gaps, rules)
    for gap_s, chance in gaps:
        weight = state.odds[0] * chance
        if not weight.any():
            continue
        returned = policy.due_on_return(state.memory, gap_s) if turn > 1 else 0
        if returned in steps:
            step, before = steps[returned]
            steps[returned] = step, before + chance
        else:
            step = take_turn(policy, character, session, state.memory, turn, gap_s)
            steps[returned] = step, chance
        sent = [(call.prompt, 0.0) for call in state.last if call.prompt]
        sent += [(ping.prompt, ping.after_s) for ping in pings if ping.after_s <= gap_s][-1:]
        _bill(bills, step, sent, gap_s, rules, weight)
    rows += bills.values()
    return [*steps.values()]


def _bill_pings(
    bills: dict[object, _Row],
    pings: tuple[Call, ...],
    state: _State,
    gaps: Sequence[tuple[float, np.ndarray]],
    rules: CacheRules | None,
) -> None:
    """Add the pings of a gap, each made where the gap lasts so long."""
    used_s = 0.0
    for ping in pings:
        weight = state.odds[0] * sum(chance for gap_s, chance in gaps if gap_s >= ping.after_s)
        live = _live_blocks(rules, ping.prompt, ping.prompt, ping.after_s - used_s) if rules is not None else 0
        bills[ping.after_s, "ping"] = _Row(ping, math.nan, _usage(rules, ping, live), weight, ping.turn + 1)
        used_s = ping.after_s


def _bill(
    bills: dict[object, _Row],
    step: Turn,
    sent: list[tuple[tuple[Block, ...], float]],
    gap_s: float,
    rules: CacheRules | None,
    weight: np.ndarray,
) -> None:
    """Add the calls of a turn, each with what it reads of the prompts ``sent`` at their seconds of the gap before."""
    turn = step.reply.turn
    timed = [(call, turn) for call in (*step.before, step.reply, *step.stored)]
    timed += [(call, turn + 1) for call in step.after]
    for at, (call, needs) in enumerate(timed):
        live = 0
        if rules is not None and call.prompt:
            live = max([_live_blocks(rules, call.prompt, one, gap_s - then_s) for one, then_s in sent], default=0)
            sent.append((call.prompt, gap_s))
        key = (at, len(step.before), live)
        if key in bills:
            bills[key].chance = bills[key].chance + weight
        else:
            bills[key] = _Row(call, math.nan, _usage(rules, call, live), weight, needs)


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
    if prompt is earlier or prompt[:most] == earlier[:most]:
        return most
    return next(at for at in range(most) if prompt[at] != earlier[at])


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
    held, stored = len(memory.exchanges), len(memory.stored)
    if not stored:
        return np.array([[1.0, 0, 0, 0, 0]] * 2)
    again = policy.fetched(stored)
    by_summary = (1 - again) * retention.carried, (1 - again) * (1 - retention.carried)
    mean = np.array([held + again * stored, *by_summary, 0, 0]) / (held + stored)
    oldest = [again, 0, 0, *by_summary] if memory.covered else [again, 0, 0, 0, 0]
    return np.array([mean, oldest])


def _merge(reached: dict[object, _State], state: _State) -> None:
    """Add a state to those reached, together with the one that differs from it in nothing that matters later."""
    memory = state.memory
    key = (memory.summary and memory.summary.key, len(memory.exchanges), state.last[0].input_tokens)
    there = reached.setdefault(key, state)
    if there is not state:
        there.odds = there.odds + state.odds
