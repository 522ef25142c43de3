"""What talking characters cost a player, a session and a month: exact at a point, and over ranges by Monte Carlo.

A policy that only counts exchanges does the same at every turn of every conversation, whatever the sizes: its calls
are a pattern, written down once (``pattern``) and priced for a hundred thousand drawn games at a time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from npcmem import checks
from npcmem.cache import CacheRules
from npcmem.dialogue import Block, Call, Character, Session, shared_blocks
from npcmem.money import Price
from npcmem.policies import Blocks, FullHistory, KeepAlive, Policy, SummariseEvery, beginning, ping_calls, take_turn
from npcmem.pricing import call_usd, ping_worth, readable, worthwhile_pings
from npcmem.recall import SHARE, Retention
from npcmem.sweep import longest_call, recall_sweep, sweep
from npcmem.thinktime import Pace

P10_P90 = 2.5631031310892007  # standard deviations between the 10th and the 90th percentile of a normal
MOST_TURNS = 400
DAYS_A_MONTH = 365.25 / 12


@dataclass(frozen=True, slots=True)
class Range:
    """A number about which one is sure up to a factor: half below ``value``, P10 = value/spread, P90 = value·spread.

    Lognormal between and beyond. ``spread`` 1 is exact.
    """

    value: float
    spread: float = 1.0

    def __post_init__(self) -> None:
        checks.number("value", self.value, 0, 1e15, "(any unit)")
        checks.number("spread", self.spread, 1, 100, "times")

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Return ``size`` draws."""
        return self.value * self.spread ** (rng.standard_normal(size) * 2 / P10_P90)

    def mean(self) -> float:
        """Return the exact mean, value·exp(σ²/2) with σ = ln(spread)·2/2.563."""
        return self.value * math.exp((math.log(self.spread) * 2 / P10_P90) ** 2 / 2)


@dataclass(frozen=True, slots=True)
class Game:
    """A game and its players, each number a ``Range``.

    ``players``: who play on a day (DAU). ``stickiness``: DAU over MAU. ``sessions``: conversations a player and day.
    ``turns``: the median length of one, spread among sessions with ``turns_log_sd`` (of ln turns). ``think_s``: think
    time. ``static``, ``summary``, ``exchange``, ``reply``, ``volatile``: tokens of the prompt's parts; a reply is at
    most its exchange. ``retried``: share of reply calls that fail once paid for and are sent again. ``paused``: share
    of sessions in which the player once stays away until the cache is dead, beyond what the pace says.
    """

    players: Range = Range(10_000)
    stickiness: Range = Range(0.2)
    sessions: Range = Range(1.5)
    turns: Range = Range(15)
    think_s: Range = Range(110)
    static: Range = Range(1800)
    summary: Range = Range(150)
    exchange: Range = Range(160)
    reply: Range = Range(80)
    volatile: Range = Range(80)
    retried: Range = Range(0.01)
    paused: Range = Range(0.05)
    turns_log_sd: float = 0.8
    instruction_tokens: int = 120

    def __post_init__(self) -> None:
        for name in RANGED:
            if not isinstance(getattr(self, name), Range):
                raise TypeError(f"{name} must be a Range, got {getattr(self, name)!r}")
        for name, unit in (("turns", "turns"), ("think_s", "seconds")):
            checks.number(name, getattr(self, name).value, 0, 1e15, unit, above=True)
        checks.number("turns_log_sd", self.turns_log_sd, 0, 10, "(standard deviation of ln turns)")
        checks.tokens("instruction_tokens", self.instruction_tokens)

    def at(self, **values: float) -> Game:
        """Return the game with some numbers set exactly: ``game.at(turns=20)``."""
        return replace(self, **{checks.known("number of a game", name, RANGED): Range(values[name]) for name in values})

    def centre(self) -> dict[str, float]:
        """Return the middle of every range."""
        return {name: getattr(self, name).value for name in RANGED}

    def draw(self, rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
        """Return ``size`` draws of every range, each by itself, within what can be.

        Unsure turns and think times to three digits: many draws share one then, and what follows from it alone.
        """
        drawn = {name: getattr(self, name).draw(rng, size) for name in RANGED}
        for name in ("turns", "think_s"):
            if getattr(self, name).spread > 1:
                digit = 10.0 ** np.floor(np.log10(drawn[name]) - 2)
                drawn[name] = np.round(drawn[name] / digit) * digit
        return _possible(drawn)


RANGED = tuple(field.name for field in fields(Game) if field.name not in ("turns_log_sd", "instruction_tokens"))
SHARES = ("stickiness", "retried", "paused")
SIZES = ("static", "summary", "exchange", "reply", "volatile")
MOST_LOOKED_AT = 50_000  # values of a size, one by one


def _possible(drawn: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return draws cut to what can be: shares at most 1, whole tokens, a reply within its exchange."""
    drawn = {name: np.atleast_1d(np.asarray(values, dtype=float)) for name, values in drawn.items()}
    for name in SHARES:
        drawn[name] = np.minimum(drawn[name], 1.0)
    for name in SIZES:
        drawn[name] = np.round(drawn[name])
    drawn["reply"] = np.minimum(drawn["reply"], drawn["exchange"])
    return drawn


# --- a policy as a pattern ------------------------------------------------------------------------

PATTERN_STEP = 100  # turns: one pattern serves all sessions up to its length
PARTS = ("static", "summary", "exchange", "volatile", "instruction", "reply", "one")


@dataclass(frozen=True, eq=False)
class Pattern:
    """The calls of a policy over so many turns, sizes left open: how many of each of ``PARTS`` a call holds.

    Calls that are alike but for their turn are one row. ``prompt``, ``shared``, ``instant``, ``plain``, ``output``
    (rows, parts): its cacheable prompt, what of it is alive when the gap before was warm, what is alive in any case,
    its plain input and its output. ``kind`` (rows,) as in a ledger; ``needs``: of each row, the turns of the shortest
    session that makes each of its calls. A ping stands for every ping of its gap.
    """

    kind: np.ndarray
    needs: tuple[np.ndarray, ...]
    prompt: np.ndarray
    shared: np.ndarray
    instant: np.ndarray
    plain: np.ndarray
    output: np.ndarray


@lru_cache(maxsize=256)
def pattern(policy: Policy, turns: int) -> Pattern:
    """Return the pattern of a policy that only counts exchanges; ValueError for any other."""
    if not policy.only_counts:
        raise ValueError(f"policy must only count exchanges for an estimate over ranges, got {policy.name!r}")
    rows: dict[tuple, list[int]] = {}
    for call, needs, warm, instant in _calls(policy, turns):
        output = tuple(float(part == OUTPUTS.get(call.kind, "one")) for part in PARTS)
        alive = max(warm, instant, key=len)
        counts = (_count(call.prompt), _count(alive), _count(instant), _count(call.volatile), output)
        rows.setdefault((call.kind, *counts), []).append(needs)
    kinds, *counts = zip(*rows, strict=True)
    return Pattern(np.array(kinds), tuple(map(np.array, rows.values())), *map(np.array, counts))


def _pinging_once(policy: Policy) -> Policy:
    """Return the policy with one ping a gap, which stands for all: so that one pattern serves every lifetime."""
    return replace(policy, every_s=1.0, most=1) if isinstance(policy, KeepAlive) and policy.most else policy


OUTPUTS = {"reply": "reply", "summary": "summary"}  # of the other kinds one token


def _calls(policy: Policy, turns: int) -> Iterator[tuple[Call, int, Blocks, Blocks]]:
    """Yield each call of a session, the turns it needs, and what of its prompt the turn before and this turn sent."""
    character, session = Character(1, 1, 1, 1), Session.uniform(turns, 1, 1)
    memory, last = beginning(character), []
    for turn in range(1, turns + 1):
        step, now = take_turn(policy, character, session, memory, turn, 0.0), []
        for call in (*step.before, step.reply, *step.stored, *(step.after if turn < turns else ())):
            yield call, turn + (call in step.after), _common(call, last), _common(call, now)
            now.append(call)
        if turn < turns and policy.pings_s(math.inf):
            ping = ping_calls(policy, step.reply, step.memory, policy.pings_s(math.inf)[0])[0]
            yield ping, turn + 1, ping.prompt, ping.prompt
        last, memory = now, step.memory


def _common(call: Call, earlier: Sequence[Call]) -> tuple[Block, ...]:
    """Return the longest leading part of a call's prompt that an earlier call has too."""
    return call.prompt[: max((shared_blocks(call.prompt, other.prompt) for other in earlier), default=0)]


def _count(blocks: Sequence[Block]) -> tuple[float, ...]:
    """Return how many of each of ``PARTS`` there are among blocks; KeyError for one that is none of them."""
    found = Counter([one.key if isinstance(one.key, str) else one.key[0] for one in blocks])
    found["summary"] += found.pop("summary on return", 0)
    for key in found.keys() - set(PARTS):
        checks.known("block for an estimate", key, PARTS)
    return tuple(float(found[part]) for part in PARTS)


# --- dollars a session ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Deal:
    """What is bought: a price, the cache that comes with it, and who works on memory if another model does."""

    price: Price
    rules: CacheRules | None
    memory: Price | None = None

    def of(self, kind: str, shares_prefix: bool) -> Price:
        """Return the price of a kind of call."""
        return self.price if kind in ("reply", "ping") or shares_prefix else self.memory or self.price


def longer_than(turns: np.ndarray, log_sd: float, most: int) -> np.ndarray:
    """Return P(a session has at least t turns) (most, draws) for t = 1 … ``most``: lognormal, rounded, cut at most."""
    if len(turns) == 1:
        return _one_longer_than(float(turns[0]), log_sd, most)
    return _longer_than(turns, log_sd, most)


@lru_cache(maxsize=64)  # of the game as it stands, which every model and policy asks for
def _one_longer_than(turns: float, log_sd: float, most: int) -> np.ndarray:
    chance = _longer_than(np.array([turns]), log_sd, most)
    chance.flags.writeable = False
    return chance


def _longer_than(turns: np.ndarray, log_sd: float, most: int) -> np.ndarray:
    from scipy.special import ndtr

    t = np.arange(1, most + 1)[:, None]
    past = np.log(np.maximum(turns, 1e-9)) - np.log(t - 0.5)
    chance = ndtr(past / log_sd) if log_sd > 1e-6 else (past >= 0).astype(float)
    chance[0] = 1.0
    return chance


def longest(game: Game) -> int:
    """Return the length past which sessions are cut: one in a thousand of all that may be, at most 400 turns."""
    spread = math.log(game.turns.spread) * 2 / P10_P90
    top = game.turns.value * math.exp(3.1 * math.hypot(spread, game.turns_log_sd))
    return int(min(max(math.ceil(top), 2), MOST_TURNS))


@dataclass(frozen=True, slots=True)
class Strategy:
    """What is priced: a policy, the players' pace, what is bought, and the longest session (None: as the game says)."""

    policy: Policy
    pace: Pace
    deal: Deal
    most_turns: int | None = None

    def __post_init__(self) -> None:
        if self.most_turns is not None:
            checks.whole("most_turns", self.most_turns, 1, checks.MOST_TURNS, "turns")


def session_usd(drawn: Mapping[str, np.ndarray], game: Game, strategy: Strategy) -> np.ndarray:
    """Return the expected dollars of a session (draws,) of each drawn game.

    Exact at each draw: over the session's length, over whether each gap outlives the cache and, in the share of
    sessions with a pause, over the gap it falls in.
    """
    return sum(parts_usd(drawn, game, strategy).values())


def parts_usd(drawn: Mapping[str, np.ndarray], game: Game, strategy: Strategy) -> dict[str, np.ndarray]:
    """Return the expected dollars of a session (draws,) by kind of call, retries a kind of their own."""
    return _parts_usd(drawn, game, strategy, *_lasting(drawn, game, strategy))


def _lasting(drawn: Mapping[str, np.ndarray], game: Game, strategy: Strategy) -> tuple[np.ndarray, np.ndarray]:
    """Return P(a session has at least t turns) (most, lengths) of the different lengths drawn, and each draw's."""
    lengths, which = np.unique(drawn["turns"], return_inverse=True)
    most = longest(game) if strategy.most_turns is None else strategy.most_turns
    return longer_than(lengths, game.turns_log_sd, most), which


def _parts_usd(
    drawn: Mapping[str, np.ndarray], game: Game, strategy: Strategy, lasts: np.ndarray, which: np.ndarray
) -> dict[str, np.ndarray]:
    made = pattern(_pinging_once(strategy.policy), -(-len(lasts) // PATTERN_STEP) * PATTERN_STEP)
    often = np.array([lasts[needs[needs <= len(lasts)] - 1].sum(axis=0) for needs in made.needs])
    gaps = lasts[1:].sum(axis=0)
    rules, draws = strategy.deal.rules, len(drawn["static"])
    if rules is not None:
        rules.check_closed_form(float((made.prompt.max(axis=0) @ _sizes(drawn, game)).max()))
    above = np.zeros(draws, dtype=bool) if rules is None else drawn["static"] >= rules.min_tokens
    usd: dict[str, np.ndarray] = {}
    for rows in (np.flatnonzero(above), np.flatnonzero(~above)):  # what is linear for some need not be for all
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            few = {name: values[part] for name, values in drawn.items()}
            for kind, dollars in _chunk_usd(few, game, strategy, made, often, which[part], gaps[which[part]]).items():
                usd.setdefault(kind, np.zeros(draws))[part] = dollars
    return usd


CHUNK = 8192  # draws at a time: what of them is worked on stays in the processor's own memory


def _chunk_usd(
    drawn: Mapping[str, np.ndarray],
    game: Game,
    strategy: Strategy,
    made: Pattern,
    often: np.ndarray,
    which: np.ndarray,
    gaps: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return ``parts_usd`` of some draws; calls are made ``often[:, which]`` times in sessions of ``gaps``."""
    deal, sizes = strategy.deal, _sizes(drawn, game)
    warm, pings = _gaps(drawn, gaps, strategy)
    usd: dict[str, np.ndarray] = {}
    for kind in dict.fromkeys(made.kind.tolist()):
        rows = made.kind == kind
        calls = {name: getattr(made, name)[rows] for name in ("prompt", "shared", "instant", "plain", "output")}
        price = deal.of(kind, strategy.policy.shares_prefix)
        rules = deal.rules if calls["prompt"].any() else None
        once = _sum_usd(calls, often[rows], which, sizes, warm, price, rules)
        usd[kind] = once * pings if kind == "ping" else once
        if kind == "reply":
            again = {**calls, "shared": calls["prompt"], "instant": calls["prompt"]}
            usd["retry"] = drawn["retried"] * _sum_usd(again, often[rows], which, sizes, warm, price, rules)
    return usd


def _sum_usd(
    calls: Mapping[str, np.ndarray],
    often: np.ndarray,
    which: np.ndarray,
    sizes: np.ndarray,
    warm: np.ndarray,
    price: Price,
    rules: CacheRules | None,
) -> np.ndarray:
    """Return the dollars (draws,) of calls (calls, parts) that are made ``often[:, which]`` times (calls, draws).

    Where no threshold lies between the sizes, a call's dollars are linear in them: the calls are added up first.
    """
    if _linear(calls, sizes, price, rules):
        summed = {name: _summed(each, often, which, sizes) for name, each in calls.items()}
        read = warm * summed["shared"] + (1 - warm) * summed["instant"] if rules is not None else 0.0
        flat = None if rules is None else replace(rules, min_tokens=0)
        return call_usd(replace(price, tiers=()), flat, summed["prompt"], read, summed["plain"], summed["output"])
    usd = np.zeros(sizes.shape[1])
    step = _at_a_time(sizes.shape[1])
    for at in range(0, len(often), step):
        prompt, shared, instant, plain, output = (each[at : at + step] @ sizes for each in calls.values())
        alive, dead = (readable(rules, live, prompt + plain) for live in (shared, instant))
        read = warm * alive + (1 - warm) * dead
        usd += (often[at : at + step, which] * call_usd(price, rules, prompt, read, plain, output)).sum(axis=0)
    return usd


def _summed(counts: np.ndarray, often: np.ndarray, which: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the tokens (draws,) of all calls together, of which each holds ``counts`` (calls, parts)."""
    held = counts.any(axis=0)
    return ((counts[:, held].T @ often)[:, which] * sizes[held]).sum(axis=0)


def _at_a_time(draws: int) -> int:
    """Return how many calls or pings of so many draws are worked on at once."""
    return max(8 * CHUNK // max(draws, 1), 1)


def _linear(calls: Mapping[str, np.ndarray], sizes: np.ndarray, price: Price, rules: CacheRules | None) -> bool:
    """Return whether no tier, minimum or step of the cache makes a difference between the calls."""
    longest_call = (calls["prompt"] + calls["plain"]).max(axis=0) @ sizes
    if price.tiers and longest_call.max() > min(tier.above_tokens for tier in price.tiers):
        return False
    if rules is None:
        return True
    return rules.granularity_tokens == 1 and not rules.recomputes_last and sizes[0].min() >= rules.min_tokens


def _sizes(drawn: Mapping[str, np.ndarray], game: Game) -> np.ndarray:
    """Return the tokens (parts, draws) of each of ``PARTS``."""
    one = np.ones_like(drawn["static"])
    known = {"instruction": game.instruction_tokens * one, "one": one}
    return np.array([known[part] if part in known else drawn[part] for part in PARTS])


def _gaps(drawn: Mapping[str, np.ndarray], gaps: np.ndarray, strategy: Strategy) -> tuple[np.ndarray, np.ndarray]:
    """Return, of each draw, the chance that one of its ``gaps`` ends with the cache alive, and its expected pings."""
    rules, pace = strategy.deal.rules, strategy.pace
    think_s, which = np.unique(drawn["think_s"], return_inverse=True)
    pings_s = strategy.policy.pings_s(math.inf)
    paused = np.minimum(drawn["paused"] / np.maximum(gaps, 1e-12), 1.0)
    sent, step = np.zeros_like(think_s), _at_a_time(len(think_s))
    for at in range(0, len(pings_s), step):
        sent += (1 - pace.cdf_at_paces(np.array(pings_s[at : at + step])[:, None], think_s)).sum(axis=0)
    pings = sent[which] * (1 - paused) + len(pings_s) * paused
    if rules is None or rules.outlives_gaps:
        return np.ones_like(paused), pings
    alive = pace.cdf_at_paces((pings_s[-1] if pings_s else 0.0) + rules.ttl_s, think_s)
    return alive[which] * (1 - paused), pings


# --- a game over a month --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Estimate:
    """Dollars of each drawn game (draws,): of a session, an hour of play, a player's day, a MAU's month, all of it."""

    session: np.ndarray
    player_hour: np.ndarray
    player_day: np.ndarray
    player_month: np.ndarray
    month: np.ndarray

    def percentiles(self, name: str) -> tuple[float, float, float]:
        """Return P10, P50 and P90 of one of the fields."""
        return tuple(np.quantile(getattr(self, name), (0.1, 0.5, 0.9)).tolist())


def estimate(drawn: Mapping[str, np.ndarray], game: Game, strategy: Strategy) -> Estimate:
    """Return what each drawn game costs; ``game.draw(rng, n)`` for a Monte Carlo, ``exactly(game)`` for its centre."""
    lasts, which = _lasting(drawn, game, strategy)
    usd = sum(_parts_usd(drawn, game, strategy, lasts, which).values())
    turns = lasts.sum(axis=0)[which]
    hours = turns * strategy.pace.mean_s_at_paces(drawn["think_s"]) / 3600
    day = usd * drawn["sessions"]
    month = day * drawn["players"] * DAYS_A_MONTH
    return Estimate(usd, usd / hours, day, day * drawn["stickiness"] * DAYS_A_MONTH, month)


def exactly(game: Game, **values: float) -> dict[str, np.ndarray]:
    """Return the one draw that is the centre of every range, or some of them set."""
    return _possible({name: np.array([value]) for name, value in game.at(**values).centre().items()})


def tornado(game: Game, strategy: Strategy) -> list[tuple[str, float, float]]:
    """Return (input, dollars a month at its P10, at its P90), the others at their centres, the widest first."""
    unsure = [name for name in RANGED if getattr(game, name).spread > 1]
    rows = {name: np.full(2 * len(unsure), float(value)) for name, value in game.centre().items()}
    for at, name in enumerate(unsure):
        one = getattr(game, name)
        rows[name][2 * at : 2 * at + 2] = one.value / one.spread, one.value * one.spread
    if not unsure:
        return []
    month = estimate(_possible(rows), game, strategy).month.reshape(-1, 2)
    found = [(name, float(low), float(high)) for name, (low, high) in zip(unsure, month, strict=True)]
    return sorted(found, key=lambda row: -abs(row[2] - row[1]))


# --- what to choose -------------------------------------------------------------------------------


def cheapest(
    game: Game,
    pace: Pace,
    deal: Deal,
    *,
    retention: Retention | None = None,
    least_recall: float = 0.0,
    context_tokens: float = math.inf,
) -> Policy:
    """Return the cheapest of full history and summaries every k exchanges, kept alive or not, at the game's centre.

    ``least_recall``: of what was told, still known at the end of a session, averaged over their lengths.
    ``context_tokens``: what the longest call may hold. Where nothing that fits recalls enough, the nearest to it.
    """
    checks.number("least_recall", least_recall, 0, 1, SHARE)
    session = replace(game.at(**game.centre()), **dict.fromkeys(("players", "sessions", "stickiness"), Range(1.0)))
    return _cheapest(session, pace, deal, retention or Retention(1.0, 1.0), least_recall, context_tokens)


@lru_cache(maxsize=128)  # a session is the same however many players there are and however sure one is
def _cheapest(
    game: Game, pace: Pace, deal: Deal, retention: Retention, least_recall: float, context_tokens: float
) -> Policy:
    drawn, most = exactly(game, retried=0.0), longest(game)
    lasts = longer_than(drawn["turns"], game.turns_log_sd, most)[:, 0]
    ends = lasts - np.append(lasts[1:], 0.0)
    knows = _recall(most, retention) @ ends
    ways = (False, True) if deal.memory is None else (False,)
    fits = {shares: _fits(drawn, game, most, context_tokens, shares) for shares in ways}
    least = min(least_recall - 1e-12, max(np.where(fit, knows, -1.0).max() for fit in fits.values()))
    pings = worthwhile_pings(pace.at_pace(float(drawn["think_s"][0])), deal.rules, deal.price)
    few = (
        min(pings, int(1 / max(ping_worth(deal.price, deal.rules), 1e-3))) if pings else 0
    )  # for pauses the pace knows not of
    alive = [KeepAlive().suited(deal.rules.ttl_s, each) for each in sorted({few, pings}) if each]
    found: list[tuple[float, Policy]] = []
    for around in (None, *alive):
        for shares in ways:
            enough = fits[shares] & (knows >= least)
            usd = np.where(enough, _intervals(drawn, game, pace, deal, around, shares, most) @ ends, np.inf)
            k = int(usd.argmin()) + 1
            inner = SummariseEvery(k, 0, shares) if k < most else FullHistory()
            found.append((float(usd[k - 1]), replace(around, policy=inner) if around else inner))
    return min(found, key=lambda pair: pair[0])[1]


def _fits(drawn: Mapping[str, np.ndarray], game: Game, most: int, context_tokens: float, shares: bool) -> np.ndarray:
    """Return (k,) whether the longest call of every interval fits."""
    if context_tokens == math.inf:
        return np.ones(most, dtype=bool)
    sizes = int(drawn["exchange"][0]), int(drawn["reply"][0])
    return longest_call(_character(drawn, game), *sizes, most, shares_prefix=shares)[:, -1] <= context_tokens


def _character(drawn: Mapping[str, np.ndarray], game: Game) -> Character:
    """Return the character of the first draw."""
    static, summary, volatile = (int(drawn[name][0]) for name in ("static", "summary", "volatile"))
    return Character(static, summary, game.instruction_tokens, volatile)


def longest_call_tokens(game: Game, strategy: Strategy) -> float:
    """Return what the longest call of the game's longest session holds at its centre, the output included."""
    drawn, most = exactly(game), longest(game) if strategy.most_turns is None else strategy.most_turns
    made = pattern(_pinging_once(strategy.policy), -(-most // PATTERN_STEP) * PATTERN_STEP)
    held = (made.prompt + made.plain + made.output) @ _sizes(drawn, game)[:, 0]
    return float(max(tokens for tokens, needs in zip(held, made.needs, strict=True) if needs.min() <= most))


_recall = lru_cache(maxsize=8)(recall_sweep)  # what is known is a matter of no price: every model asks for the same


def _intervals(
    drawn: Mapping[str, np.ndarray],
    game: Game,
    pace: Pace,
    deal: Deal,
    around: KeepAlive | None,
    shares: bool,
    most: int,
) -> np.ndarray:
    """Return dollars (k, n) of every interval and length at one draw, retries aside."""
    who, sizes = _character(drawn, game), {name: int(drawn[name][0]) for name in ("exchange", "reply")}
    strategy = Strategy(around or FullHistory(), pace, deal)
    gaps = longer_than(drawn["turns"], game.turns_log_sd, most)[1:].sum(axis=0)
    warm, pings = _gaps(drawn, gaps, strategy)
    return sweep(
        who, sizes["exchange"], sizes["reply"], most, deal.rules, float(warm[0]), deal.price,
        shares_prefix=shares, summary_price=None if shares else deal.memory,
        pings=float(np.max(pings)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to meet a budget: set ``knob`` to ``value``, which costs ``usd`` a player and day.

    ``meets``: whether that is within the budget; where nothing is, ``value`` is the nearest there is.
    """

    knob: str
    value: float
    usd: float
    meets: bool


def solve(game: Game, strategy: Strategy, budget_usd: float, knob: str, least: float, most: float) -> Fix:
    """Return the largest whole value of a knob in [least, most] at which a player's day costs at most the budget.

    Where none does, the cheapest. ValueError where no whole number lies between them.

    ``knob``: one of the game's numbers that make it dearer, or ``most_turns``, the longest session there may be. A
    shorter prompt is no cheaper where it falls short of the cache's minimum: each value of a size is looked at.
    """
    checks.number("budget_usd", budget_usd, 0, 1e9, "dollars a player and day", above=True)
    checks.known("knob", knob, (*RANGED, "most_turns"))

    def usd_of(values: np.ndarray) -> np.ndarray:
        if knob == "most_turns":
            cut = [replace(strategy, most_turns=int(value)) for value in values]
            return np.array([estimate(exactly(game), game, one).player_day[0] for one in cut])
        rows = {name: np.full(len(values), float(value)) for name, value in game.centre().items()}
        return estimate(_possible({**rows, knob: values.astype(float)}), game, strategy).player_day

    def usd(value: int) -> float:
        return float(usd_of(np.array([value]))[0])

    low, high = math.ceil(least), math.floor(most)
    if low > high:
        raise ValueError(f"{knob} must have a whole number to choose, got none from {least:g} to {most:g}")
    if usd(high) <= budget_usd:
        return Fix(knob, high, usd(high), True)
    if knob in SIZES and high - low < MOST_LOOKED_AT:
        values = np.arange(low, high + 1)
        each = usd_of(values)
        meets = np.flatnonzero(each <= budget_usd)
        at = int(meets[-1]) if len(meets) else int(np.flatnonzero(each <= each.min() * (1 + 1e-12))[-1])
        return Fix(knob, int(values[at]), float(each[at]), bool(len(meets)))
    if usd(low) > budget_usd:
        return Fix(knob, low, usd(low), False)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if usd(middle) <= budget_usd else (low, middle)
    return Fix(knob, low, usd(low), True)
