"""What recomputes each claim of the five articles: a few lines apiece on top of the engine.

A check returns its results by name, shares as fractions; None where there is no data to compute from. What is typed
here is input only: the numbers an article starts from, list prices of retired models, and counts with their source.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

from npcmem import formulas, recall
from npcmem.cache import CacheRules
from npcmem.dialogue import Character, Session
from npcmem.ledger import Ledger, replay
from npcmem.money import Price, Usage, usage_from
from npcmem.offers import offer
from npcmem.paces import pace
from npcmem.policies import (
    Deduplicate,
    FullHistory,
    Policy,
    Retrieval,
    SlidingWindow,
    SteppedWindow,
    SummariseEvery,
    calls,
)
from npcmem.strategies import EMBEDDING
from npcmem.sweep import band, crossover, sweep
from npcmem.thinktime import ThinkTime

Value = float | bool | str | None
Values = dict[str, Value]

WARM_H, PLAYERS_H = 1.0, 0.93  # every gap shorter than the TTL; the article's quick players on a 5-minute cache

# --- the summary interval -------------------------------------------------------------------------

S, M, SUMMARY, Q, REPLY, TURNS, RHO = 1800, 160, 150, 120, 80, 60, 5.0
R, W, W_LONG = 0.1, 1.25, 2.0
NPC, PRICE, CACHE = Character(S, SUMMARY, Q), Price.relative(RHO, R, W, W_LONG), CacheRules(300)
ARTICLE_K = 4
MINIMUM = 4096
NEGLIGIBLE = 0.05  # what we let pass for a rounding error
LITTLE = 0.1  # and for "not much" on top of the optimum


def _costs(turns: int, warm: float | None = None, static_tokens: int = S, min_tokens: int = 0) -> np.ndarray:
    """Return input-token equivalents, a row for each k and a column for each length; uncached without ``warm``."""
    rules = None if warm is None else CacheRules(300, min_tokens=min_tokens)
    return sweep(Character(static_tokens, SUMMARY, Q), M, REPLY, turns, rules, warm or 0.0, PRICE)


def _best(costs: np.ndarray) -> int:
    return int(costs[:, -1].argmin()) + 1


def _saving(costs: np.ndarray) -> float:
    """Return what the best interval saves over full history at the longest length."""
    return float(1 - costs[:, -1].min() / costs[-1, -1])


def _interval(h: float) -> float:
    """Return k* of a summary call with a prompt of its own under a 5-minute cache."""
    flush = formulas.flush_cost_separate(M, SUMMARY, Q, RHO, h, R, W)
    return float(formulas.optimal_interval(flush, formulas.carry_price(h, R, W), M))


def full_history_input() -> Values:
    """Input tokens of a conversation that is resent whole, and the share that was sent before."""
    tokens, repeated = formulas.full_history_input_tokens(TURNS, S, M), formulas.repeated_share(TURNS, S, M)
    return {"turns": TURNS, "tokens": tokens, "repeated": repeated, "replayed": _replayed(FullHistory()).total.input}


def _replayed(policy: Policy, turns: int = TURNS) -> Ledger:
    return replay(policy, NPC, Session.uniform(turns, M, REPLY))


def interval_root() -> Values:
    """k* of the article, where the derivative of the long-run cost is 0."""
    return {"k": float(formulas.optimal_interval_uncached(M, SUMMARY, Q, RHO)), "best": _best(_costs(TURNS))}


def interval_counted() -> Values:
    """The exact optimum, the interval's 1 % band, and what the next one past the band costs."""
    curve = _costs(TURNS)[:, -1]
    best, within = band(curve, 0.01)
    past = int(within[-1]) + 1
    return {
        "best": best + 1,
        "first": int(within[0]) + 1,
        "last": int(within[-1]) + 1,
        "next": past + 1,
        "next_over": float(curve[past] / curve[best] - 1),
    }


def saving_of_summaries() -> Values:
    """What summarising saves over full history: without a cache, and where full history is cached."""
    policy = SummariseEvery(ARTICLE_K)
    full = formulas.full_history_cost(TURNS, S, M, REPLY, RHO)
    return {
        "turns": TURNS,
        "saving": 1 - _replayed(policy).cost(PRICE) / full,
        "saving_warm": _saving(_costs(TURNS, WARM_H)),
        "saving_players": _saving(_costs(TURNS, PLAYERS_H)),
        "h": PLAYERS_H,
    }


def first_paying_turn() -> Values:
    """The length from which summarising stays cheaper than full history, uncached and cached."""
    usd = _costs(90)
    full = formulas.full_history_cost(np.arange(1, 91), S, M, REPLY, RHO)
    warm, players = _costs(90, WARM_H), _costs(90, PLAYERS_H)
    return {
        "turns": crossover(usd[ARTICLE_K - 1], full),
        "turns_best": crossover(usd.min(axis=0), full),
        "turns_warm": crossover(warm.min(axis=0), warm[-1]),
        "turns_players": crossover(players.min(axis=0), players[-1]),
        "h": PLAYERS_H,
        "k": ARTICLE_K,
    }


def warm_interval() -> Values:
    """k* on a warm cache: first order, with the flush premium at real hit rates, and counted exactly."""
    slow = pace("article-240s").cdf(300.0)
    return {
        "k": float(formulas.optimal_interval_warm_first_order(M, SUMMARY, Q, RHO, R)),
        "k_warm": _interval(WARM_H),
        "k_players": _interval(PLAYERS_H),
        "k_slow": _interval(slow),
        "h": PLAYERS_H,
        "h_slow": slow,
        "turns": TURNS,
        "best": _best(_costs(TURNS, WARM_H)),
    }


def independent_of_length() -> Values:
    """Whether the best interval is the same for other lengths and static prompts: by formula, and counted."""
    k = np.arange(1, 41)
    formula = {
        int(formulas.summarise_cost_long_run(n, k, static, M, SUMMARY, Q, REPLY, RHO).argmin())
        for n in (10, TURNS, 600)
        for static in (0, S, 6000)
    }
    short, usual = _best(_costs(10)), _best(_costs(TURNS))
    small, large = (_best(_costs(TURNS, WARM_H, static, MINIMUM)) for static in (S, 6000))
    return {
        "independent": len(formula) == 1,
        "independent_counted": short == usual,
        "independent_cached": small == large,
        "short": short,
        "usual": usual,
        "few": 10,
        "turns": TURNS,
        "minimum": MINIMUM,
        "static": S,
        "static_large": 6000,
        "best_small": small,
        "best_large": large,
    }


def flat_near_the_minimum() -> Values:
    """What twice the best interval costs more, by the size of the static prompt."""
    over = {}
    for static in (0, S, 6000):
        curve = _costs(TURNS, static_tokens=static)[:, -1]
        over[static] = float(curve[2 * ARTICLE_K - 1] / curve.min() - 1)
    return {
        "flat": over[S] < LITTLE,
        "flat_without_static": over[0] < LITTLE,
        "k": 2 * ARTICLE_K,
        "over": over[S],
        "over_none": over[0],
        "over_large": over[6000],
        "static": S,
        "static_large": 6000,
        "little": LITTLE,
        "varying_part": float(formulas.flatness(2.0)) - 1,
    }


def twice_the_turns() -> Values:
    """What twice the turns, or twice the words, multiply the input by."""
    tokens = formulas.full_history_input_tokens
    return {
        "times": tokens(TURNS, S, M) / tokens(TURNS // 2, S, M),
        "times_longer": tokens(2 * TURNS, S, M) / tokens(TURNS, S, M),
        "times_words": tokens(TURNS, S, 2 * M) / tokens(TURNS, S, M),
        "half": TURNS // 2,
        "turns": TURNS,
        "double": 2 * TURNS,
    }


def static_prompt_share() -> Values:
    """What of the input the static prompt is, in the whole conversation and in its last call."""
    inputs = _replayed(FullHistory()).usage.input
    share = S / float(inputs[-1])
    return {
        "negligible": share < NEGLIGIBLE,
        "share": TURNS * S / float(inputs.sum()),
        "share_last": share,
        "limit": NEGLIGIBLE,
        "turns": TURNS,
    }


def players_line() -> Values:
    """Input tokens with and without the player's line of the turn, which is sent before it is history."""
    line = M - REPLY
    tokens = formulas.full_history_input_tokens(TURNS, S, M)
    with_line = formulas.full_history_input_tokens(TURNS, S, M, line)
    return {"tokens": tokens, "tokens_with_line": with_line, "more": with_line / tokens - 1, "line": line}


def summariser_price() -> Values:
    """k* with summaries at the main model's price and at a fraction of it."""

    def k(times: float) -> float:
        flush = formulas.flush_cost_separate(M, SUMMARY, Q, RHO, 0.0, R, 1.0, times, times * RHO)
        return float(formulas.optimal_interval(flush, 1.0, M))

    return {"k": k(1.0), "k_quarter": k(0.25), "k_tenth": k(0.1), "quarter": 0.25, "tenth": 0.1}


def summary_length() -> Values:
    """The size of the last summary, and what of a turn-1 fact its passes leave where each keeps so much."""

    def passes(k: int) -> int:
        return len(_summaries(k))

    kept = recall.Retention(1.0, 0.95).survive
    return {
        "tokens": _summaries(ARTICLE_K)[-1],
        "all_kept": bool(recall.Retention(1.0, 1.0).survive(passes(ARTICLE_K)) == 1),
        "all_kept_lossy": bool(kept(passes(ARTICLE_K)) == 1),
        "compression": TURNS * M / SUMMARY,
        "per_pass": 0.95,
        "passes": passes(ARTICLE_K),
        "kept": float(kept(passes(ARTICLE_K))),
        "k": ARTICLE_K,
        "k_more": 20,
        "passes_more": passes(20),
        "kept_more": float(kept(passes(20))),
        "turns": TURNS,
    }


def _summaries(k: int) -> list[int]:
    """Return the size of each summary a session makes."""
    session = Session.uniform(TURNS, M, REPLY)
    return [call.output_tokens for call in calls(SummariseEvery(k), NPC, session) if call.kind == "summary"]


# --- conversation summaries -----------------------------------------------------------------------

EVERY, WINDOW = 10, 30  # messages between two summaries, messages a summary reads
GPT_4 = Price.of(30.0, 60.0)  # OpenAI's list price of GPT-4 with a window of 8,192 tokens


def _summary_windows(messages: int) -> list[range]:
    """Return which messages each summary reads: the newest ``WINDOW`` at every ``EVERY``th, and no older summary."""
    return [range(max(0, count - WINDOW), count) for count in range(EVERY, messages + 1, EVERY)]


def facts_kept() -> Values:
    """How many summaries read a message, and what of a long chat the last one has read."""
    windows = _summary_windows(100)
    return {
        "kept": all(message in windows[-1] for message in range(100)),
        "summaries": sum(0 in window for window in windows),
        "share": len(windows[-1]) / 100,
        "messages": 100,
        "window": WINDOW,
    }


def recent_exchanges() -> Values:
    """How many exchanges the newest messages are, a line and its reply being two."""
    return {"exchanges": len(_summary_windows(100)[-1]) // 2, "messages": WINDOW}


def trigger_by_count() -> Values:
    """How often a summary falls due in 100 messages, by the counts the test gets to see."""

    def fires(counts: range) -> int:
        return sum(count % EVERY == 0 for count in counts)

    return {
        "summaries": fires(range(1, 101)),
        "summaries_greeted": fires(range(1, 101, 2)),
        "summaries_empty": fires(range(0, 1)),
        "messages": 100,
    }


def trigger_by_time() -> Values:
    """Whether the test for 24 hours and a new topic runs on the stored row, and what it says with the field it has."""
    row, now_s, day_s = SimpleNamespace(summary="", summary_updated_at=0.0, message_count=1), 1.75e9, 86_400
    fields = ("last_summary_time", "topic", "previous_topic")
    missing = [field for field in fields if not hasattr(row, field)]
    return {
        "runs": not missing,
        "missing": ", ".join(missing),
        "due_at_once": now_s - row.summary_updated_at > day_s,
        "hours": day_s / 3600,
    }


def refresh_price() -> Values:
    """What one summary of the newest messages costs; the article measures nothing."""
    usage = Usage(uncached=WINDOW * 60 + 100, output=300)
    prices = {"gpt_4": GPT_4, "gpt_4o": offer("gpt-4o").price, "mini": offer("gpt-4o-mini").price}
    usd = {name: float(price.usd(usage)) for name, price in prices.items()}
    return {"measured": None, "messages": WINDOW, "message_tokens": 60, **usd}


def example_reply() -> Values:
    """Who the example's reply speaks of that its summary does not know."""
    summary, reply = {"Alex", "Sarah", "PM contacts"}, {"Maya"}
    return {"remembered": reply <= summary, "invented": ", ".join(sorted(reply - summary))}


# --- caching and think time -----------------------------------------------------------------------

PREFIX, SUFFIX = 2400, 300
PACES_S = (5, 15, 30, 60, 120, 240)
LIFETIMES = {"5min": (300.0, W), "1h": (3600.0, W_LONG)}
# claude-code #94177: the share of 1-hour entries still there after a gap of up to so many seconds
SURVIVAL = ((600, 1.0), (1200, 0.92), (1800, 0.87), (2700, 0.79), (3600, 0.75))


def _players(median_s: int) -> ThinkTime:
    return pace(f"article-{median_s}s")


def _relative_cost(hit: float, write: float) -> float:
    return float(formulas.relative_input_cost(hit, R, write, PREFIX, SUFFIX))


def _cost(median_s: int, lifetime: str, turns: int = TURNS) -> float:
    """Return the article's relative input cost at one pace under one lifetime."""
    ttl_s, write = LIFETIMES[lifetime]
    return _relative_cost(_players(median_s).hit_rate(ttl_s, turns), write)


def break_even_hit_rates() -> Values:
    """The hit rate past which a cache pays, for either lifetime, and the turns a session needs to get there."""
    short, long = (float(formulas.break_even_hit_rate(R, write)) for write in (W, W_LONG))
    turns = {f"turns_{name}": next(n for n in range(2, 99) if 1 - 1 / n > h) for name, h in (("5", short), ("1", long))}
    return {"short": short, "long": long, **turns}


def long_ttl_threshold() -> Values:
    """The miss rate past which the hour wins, by the length of the session."""

    def miss(turns: int) -> float:
        return float(formulas.long_ttl_miss_threshold(turns, R, W, W_LONG))

    return {"miss": miss(TURNS), "miss_20": miss(20), "miss_10": miss(10), "turns": TURNS, "fewer": 20, "few": 10}


def hour_at_every_pace() -> Values:
    """Whether the hour is cheaper at each pace of the article, at its length and at a shorter one."""

    def wins(turns: int) -> bool:
        return all(_cost(median, "1h", turns) < _cost(median, "5min", turns) for median in PACES_S)

    def last(median: int) -> int:
        return max(n for n in range(1, TURNS) if _cost(median, "5min", n) <= _cost(median, "1h", n))

    ends = {f"last_{median}": last(median) for median in (5, 30, 240)}
    return {"wins": wins(TURNS), "wins_short": wins(10), "turns": TURNS, "few": 10, **ends}


def think_time_table() -> Values:
    """The article's table in closed form: hit rates and costs at each pace under each lifetime."""
    cells: Values = {"log_sd": _players(5).log_sds[1], "turns": TURNS, "most": 1 - 1 / TURNS}
    for name, (ttl_s, _) in LIFETIMES.items():
        for median in PACES_S:
            cells[f"hit_{name}_{median}"] = _players(median).hit_rate(ttl_s, TURNS)
            cells[f"cost_{name}_{median}"] = _cost(median, name)
    return cells


def cost_floor() -> Values:
    """What a cache that always hits leaves of the input cost, and what of it the suffix is."""
    return {
        "floor": _relative_cost(1.0, W),
        "suffix": SUFFIX / (PREFIX + SUFFIX),
        "with_first_write": _relative_cost(1 - 1 / TURNS, W_LONG),
        "turns": TURNS,
    }


def breaks_or_pace() -> Values:
    """The misses that breaks cause at each pace, against those that the pace itself causes."""
    by_pace, from_breaks = {}, 0.0
    for median in PACES_S:
        players = _players(median)
        rest = ThinkTime((1.0,), players.medians_s[1:], players.log_sds[1:])
        from_breaks = float(players.weights[1] * (1 - rest.cdf(300.0)))
        by_pace[median] = float(1 - players.cdf(300.0) - from_breaks)
    return {
        "breaks_more": all(from_breaks > misses for misses in by_pace.values()),
        "hit": _players(5).hit_rate(300.0, TURNS),
        "from_breaks": from_breaks,
        "from_s": next((median for median, misses in by_pace.items() if misses > from_breaks), None),
        "from_pace_60": by_pace[60],
        "from_pace_120": by_pace[120],
        "from_pace_240": by_pace[240],
    }


def hard_edge() -> Values:
    """The 4-minute row of the 1-hour cache, if entries live their whole hour and if they are lost as measured."""
    players, hit, since_s = _players(240), 0.0, 0
    for until_s, alive in SURVIVAL:
        hit += alive * (players.cdf(float(until_s)) - players.cdf(float(since_s)))
        since_s = until_s
    soft = _relative_cost((1 - 1 / TURNS) * hit, W_LONG)
    return {"cost": _cost(240, "1h"), "cost_soft": soft, "lost": 1 - SURVIVAL[-1][1]}


def minimum_prefix() -> Values:
    """The cost at the article's steady pace, and under a minimum that its prefix stays below."""
    cacheable = CacheRules(300, min_tokens=MINIMUM).cacheable(PREFIX)
    cost = _cost(30, "5min") if cacheable else 1.0
    return {
        "short": _cost(30, "5min"),
        "long": _cost(30, "1h"),
        "below_minimum": cost,
        "cacheable": cacheable,
        "minimum": MINIMUM,
        "prefix": PREFIX,
    }


# --- multi-turn cost ------------------------------------------------------------------------------

TURN = 1000  # tokens each turn adds; turn t sends t of them
GPT_4O_INPUT, SONNET_35 = 2.5, Price.of(3.0, 15.0, 0.3, 3.75)  # Claude 3.5 Sonnet, retired 2025-10-28
HAIKU_3, HAIKU_35 = Price.of(0.25, 1.25), Price.of(0.80, 4.00)  # Claude 3 Haiku and Claude 3.5 Haiku
AGENT = Character(0, 300, 0, TURN)  # the newest turn is sent behind the history; a summary is 200 to 400 tokens
CHATS, DAYS = 100, 30


def _agent_session(turns: int) -> Session:
    return Session.uniform(turns, TURN, TURN // 2)


def _agent(policy: Policy, turns: int, summary_tokens: int = 300, rules: CacheRules | None = None) -> Ledger:
    return replay(policy, Character(0, summary_tokens, 0, TURN), _agent_session(turns), rules)


def _input_usd(bill: Ledger, price: Price, summary: Price | None = None) -> float:
    """Return dollars as the article counts them: replies' input, and summary calls whole."""
    replies = bill.only("reply")
    usd = float(price.scaled(output=0.0).usd(replies.usage.sum()))
    return usd + (float(summary.usd(bill.only("summary").usage.sum())) if summary else 0.0)


def _reply_input(policy: Policy, turns: int, summary_tokens: int = 300) -> np.ndarray:
    """Return the input tokens of each reply call."""
    return _agent(policy, turns, summary_tokens).only("reply").usage.input


def _conversation(turns: int, usd_per_mtok: float = GPT_4O_INPUT) -> tuple[float, float]:
    """Return input tokens and dollars of a conversation that is resent whole."""
    tokens = formulas.full_history_input_tokens(turns, TURN, TURN)
    return tokens, float(Price.of(usd_per_mtok, 0.0).usd(Usage(uncached=tokens)))


def fifty_turns() -> Values:
    """Input tokens and dollars of 50 turns, and of the last of them."""
    tokens, usd = _conversation(50, offer("gpt-4o").price.uncached)
    return {"tokens": tokens, "usd": usd, "last": float(_reply_input(FullHistory(), 50)[-1]), "turns": 50}


def fleet_of_25() -> Values:
    """A day and a month of conversations of 25 turns."""
    tokens, usd = _conversation(25)
    return {"tokens": tokens, "day": CHATS * usd, "month": DAYS * CHATS * usd}


def fleet_of_10() -> Values:
    """A day and a month of conversations of 10 turns."""
    tokens, usd = _conversation(10)
    return {"tokens": tokens, "day": CHATS * usd, "month": DAYS * CHATS * usd}


def sonnet_fleet() -> Values:
    """The same at the price of Claude 3.5 Sonnet."""
    return {"usd": _conversation(50, SONNET_35.uncached)[1], "day": CHATS * _conversation(25, SONNET_35.uncached)[1]}


def recoverable() -> Values:
    """What shorter chats save in a month: as many chats, and as many turns."""
    long, short = _conversation(25)[1], _conversation(10)[1]
    same_turns = DAYS * CHATS * (long - 25 / 10 * short)
    saving = DAYS * CHATS * (long - short)
    return {
        "saving": saving,
        "saving_same_turns": same_turns,
        "overstated": saving / same_turns - 1,
        "turns": CHATS * 25,
        "dropped": CHATS * (25 - 10),
        "chats": CHATS * 25 // 10,
    }


def ten_turns() -> Values:
    """Dollars of a conversation of 10 turns, and of its last call alone."""
    tokens, usd = _conversation(10)
    call = float(Price.of(GPT_4O_INPUT, 0.0).usd(Usage(uncached=_reply_input(FullHistory(), 10)[-1])))
    return {"usd": usd, "call": call, "times": usd / call, "tokens": tokens}


def first_five_turns() -> Values:
    """What summarising the first 5 turns costs, and what it saves in the 5 calls after."""
    cost = float(offer("gpt-4o-mini").price.usd(Usage(uncached=5 * TURN, output=300)))
    shorter = _reply_input(FullHistory(), 10) - _reply_input(SummariseEvery(5), 10)
    saving = float(Price.of(GPT_4O_INPUT, 0.0).usd(Usage(uncached=int(shorter.sum()))))
    return {"cost": cost, "saving": saving, "times": saving / cost, "tokens": float(shorter.max()), "calls": 5}


def rolling_summary() -> Values:
    """A day of 25-turn chats that are summarised before the 15th call: 10 of 15 turns, or all."""
    full = _input_usd(_agent(FullHistory(), 25), SONNET_35)

    def day(policy: Policy) -> float:
        return CHATS * _input_usd(_agent(policy, 25), SONNET_35, HAIKU_3)

    oldest, flush = day(SummariseEvery(14, keep=4)), day(SummariseEvery(14))
    enough = max(k for k in range(1, 25) if day(SummariseEvery(k)) <= 0.2 * CHATS * full)
    return {
        "day": oldest,
        "saving": 1 - oldest / (CHATS * full),
        "day_flushed": flush,
        "saving_flushed": 1 - flush / (CHATS * full),
        "wanted": 0.8,
        "k_wanted": enough,
    }


def fifty_turn_summary() -> Values:
    """A summary and the last 15 turns in the 50th call, over the conversation, and with the batch of 10."""
    steady = _reply_input(SummariseEvery(15, keep=14), 50, 200)
    batches = _reply_input(SummariseEvery(24, keep=14), 50, 200)
    full = _reply_input(FullHistory(), 50)
    return {
        "tokens": float(steady[-1]),
        "saving_last": 1 - float(steady[-1] / full[-1]),
        "saving": 1 - float(steady.sum() / full.sum()),
        "saving_batches": 1 - float(batches.sum() / full.sum()),
    }


def window_on_25() -> Values:
    """A window of 15 turns in a conversation of 25: its last call, and all of it."""
    return _window(15, 25)


def window_on_50() -> Values:
    """A window of 10 turns in a conversation of 50: its last call, and all of it."""
    return _window(10, 50)


def _window(kept: int, turns: int) -> Values:
    window, full = _reply_input(SlidingWindow(kept - 1), turns), _reply_input(FullHistory(), turns)
    price = Price.of(GPT_4O_INPUT, 0.0)
    return {
        "saving_last": 1 - float(window[-1] / full[-1]),
        "saving": 1 - float(window.sum() / full.sum()),
        "call": float(price.usd(Usage(uncached=int(window[-1])))),
        "call_full": float(price.usd(Usage(uncached=int(full[-1])))),
        "call_mean": float(price.usd(Usage(uncached=int(full.sum())))) / turns,
    }


def cached_rate() -> Values:
    """The rate of a cached token of GPT-4o, and what it takes off the input rate."""
    price = offer("gpt-4o").price
    return {"rate": price.read, "saving": price.uncached - price.read, "of_input": price.r}


def cached_window() -> Values:
    """A call behind a 10-turn window on the caches of OpenAI and Anthropic; a stepped window beside it."""
    found = offer("gpt-4o")

    def last(policy: Policy, rules: CacheRules | None, price: Price) -> float:
        bill = _agent(policy, 200, rules=rules).only("reply")
        return _input_usd(bill.rows(bill.turn == 200), price)

    def mean(policy: Policy, rules: CacheRules, price: Price) -> float:
        bill = _agent(policy, 200, rules=rules).only("reply")
        return _input_usd(bill.rows(bill.turn > 100), price) / 100

    window, stepped = SlidingWindow(9), SteppedWindow(4, 14)
    call, uncached = last(window, found.rules, found.price), last(window, None, found.price)
    marked = last(window, CACHE, SONNET_35) / last(window, None, SONNET_35)
    wide = mean(SlidingWindow(14), found.rules, found.price)
    return {
        "call": call,
        "saving": 1 - call / uncached,
        "frozen": float(found.price.usd(Usage(uncached=TURN, read=9 * TURN))),
        "dearer_anthropic": marked - 1,
        "saving_stepped": 1 - mean(stepped, found.rules, found.price) / wide,
        "saving_stepped_anthropic": 1
        - mean(stepped, CACHE, SONNET_35) / mean(SlidingWindow(14), CACHE, SONNET_35),
        "low": 5,
        "high": 15,
    }  # fmt: skip


def summary_shrinkage() -> Values:
    """How much smaller 200 to 400 tokens are than 1,500 to 3,000, and the batch of the article's own turns."""
    return {"least": 1 - 400 / 1500, "most": 1 - 200 / 3000, "batch": 10 * TURN}


def batch_price() -> Values:
    """What summarising a batch of 1,500 tokens costs, at either Haiku's price, and saves a later call."""
    usage = Usage(uncached=1500, output=300)
    saved = float(SONNET_35.usd(Usage(uncached=1500 - 300)))
    return {"cost": float(HAIKU_3.usd(usage)), "saving": saved, "cost_35": float(HAIKU_35.usd(usage))}


def haiku_price() -> Values:
    """The list price of the model the code names."""
    return {"input": HAIKU_35.uncached, "output": HAIKU_35.output, "times": HAIKU_35.uncached / HAIKU_3.uncached}


def double_subtraction() -> Values:
    """Two reported payloads billed as the article's code does, and as the provider does."""
    write = {"input_tokens": 3, "cache_creation_input_tokens": 12_304, "output_tokens": 550}  # litellm #9812
    read = {"input_tokens": 5, "cache_read_input_tokens": 128_950, "output_tokens": 0}  # langfuse #12306
    coded = [float(SONNET_35.usd(_as_coded(payload))) for payload in (write, read)]
    billed = [float(SONNET_35.usd(usage_from(payload, "anthropic-messages"))) for payload in (write, read)]
    return {
        "agrees": np.allclose(coded, billed),
        "coded_write": coded[0],
        "billed_write": billed[0],
        "coded_read": coded[1],
        "billed_read": billed[1],
    }


def _as_coded(payload: dict[str, int]) -> Usage:
    """Return the usage the article's code makes of a payload: cached tokens taken off a count that leaves them out."""
    read, write = (payload.get(f"cache_{name}_input_tokens", 0) for name in ("read", "creation"))
    return Usage(payload["input_tokens"] - read - write, read, write, 0, payload["output_tokens"])


def _messages_sent(turns: int) -> Iterator[tuple[int, int, bool]]:
    """Yield turn, messages sent and whether a summary was made, as the article's code counts them."""
    held = 0
    for turn in range(1, turns + 1):
        held += 1  # the player's message
        summarised = held >= 15
        if summarised:
            held = held - 10 + 1
        yield turn, min(held, 20), summarised
        held += 1  # the reply


def window_of_messages() -> Values:
    """How many exchanges the code's window of 20 holds, and the most messages it ever sends."""
    most = max(sent for _, sent, _ in _messages_sent(1000))
    return {"exchanges": 20 / 2, "most": most, "never": most < 20, "window": 20}


def threshold_of_messages() -> Values:
    """The turn before whose reply the code first summarises, and the turns between two summaries."""
    turns = [turn for turn, _, summarised in _messages_sent(1000) if summarised]
    return {"first": turns[0], "between": float(np.diff(turns).mean()), "batch": 10 / 2}


def session_budget() -> Values:
    """What has been paid when the budget stops a session: the last call, and summaries nobody recorded."""
    bill = _agent(SummariseEvery(14, keep=4), 200)
    replies = bill.only("reply")
    recorded = np.cumsum(replies.call_usd(SONNET_35))
    at = int(np.argmax(recorded > 2.0))
    until = bill.rows(bill.turn <= at + 1)
    summaries = float(until.only("summary").cost(HAIKU_3))
    return {"paid": float(recorded[at]) + summaries, "summaries": summaries, "turn": at + 1, "budget": 2.0}


def cached_history() -> Values:
    """What a cached token saves, and what the history saves when only the system prompt is marked."""
    history = 15 * TURN
    bill = replay(FullHistory(), Character(2000, 0, 0, TURN), _agent_session(16), CacheRules(300, cached_blocks=1))
    read = int(bill.only("reply").usage.read[-1]) - 2000
    return {"saving": 1 - SONNET_35.r, "saving_in_code": (1 - SONNET_35.r) * read / history, "read": read}


def repeats_left_out() -> Values:
    """What leaving repeats out saves, by the share of turns that repeat an earlier one; nobody counted that share."""

    def saving(share: float) -> float:
        bill = replay(Deduplicate(policy=FullHistory()), AGENT, _agent_session(25).with_repeats(share))
        return 1 - float(bill.only("reply").total.input / _reply_input(FullHistory(), 25).sum())

    shares = {"turns": 25, "share_few": 0.15, "share_many": 0.25}
    return {"measured": None, "few": saving(0.15), "many": saving(0.25), **shares}


def retrieved_tokens() -> Values:
    """The tokens of 3 and of 8 retrieved turns."""
    return {"least": 3 * TURN, "most": 8 * TURN, "turn": TURN}


def retrieval_saving() -> Values:
    """What 3 to 8 retrieved turns instead of all save in the 51st call, and a window of 4 with them in all calls."""
    full = _reply_input(FullHistory(), 51)

    def saved(turns: int, window: int) -> np.ndarray:
        return _reply_input(Retrieval(turns, policy=SteppedWindow(window, window)), 51)

    return {
        "last_least": 1 - float(saved(8, 0)[-1] / full[-1]),
        "last_most": 1 - float(saved(3, 0)[-1] / full[-1]),
        "all_least": 1 - float(saved(8, 4).sum() / full.sum()),
        "all_most": 1 - float(saved(3, 4).sum() / full.sum()),
        "window": 4,
    }


def strategy_crossovers() -> Values:
    """The length from which cost alone prefers summaries to a window; where meaning does, nobody measured."""
    main, cheap = offer("gpt-4o").price, offer("gpt-4o-mini").price

    def by_length(policy: Policy) -> np.ndarray:
        return _agent(policy, 100).cost_by_length(main.scaled(output=0.0), summary=cheap, embedding=EMBEDDING)

    summary, window = by_length(SummariseEvery(14, keep=4)), by_length(SlidingWindow(14))
    retrieval = by_length(Retrieval(5, policy=SteppedWindow(4, 4)))
    return {
        "measured": None,
        "summary": crossover(summary, window),
        "retrieval_over_summary": float(retrieval[-1] / summary[-1] - 1),
        "turns": 100,
    }


# --- NPC memory -----------------------------------------------------------------------------------

CODE_DECAY, CODE_WEIGHTS = 0.99, (0.5, 3.0, 2.0)  # generative_agents: retrieve.py, scratch.py
CODE_THRESHOLD, TOWN_THRESHOLD = 150, 500  # generative_agents: scratch.py; AI Town: memory.ts, on a scale of 0 to 9


def memory_score() -> Values:
    """The paper's decay and weights, and what its public code does instead."""
    newest, oldest = (CODE_DECAY**rank for rank in (100, 1))
    by_default = recall.score([0, 1], [0, 0], [0, 0])  # scaled recency counts once, the others cancel
    return {
        "decay": float(recall.recency(1.0)),
        "decay_in_code": CODE_DECAY,
        "weight": float(np.ptp(by_default)),
        "weight_in_code": CODE_WEIGHTS[0],
        "weight_relevance": CODE_WEIGHTS[1],
        "weight_importance": CODE_WEIGHTS[2],
        "oldest": oldest,
        "newest": newest,
        "equal": float(recall.scaled([1.0, 1.0])[0]),
    }


def reflection_threshold() -> Values:
    """The summed importance that starts a reflection in two public programs, and the events that takes."""
    return {
        "threshold": CODE_THRESHOLD,
        "threshold_town": TOWN_THRESHOLD,
        "events": CODE_THRESHOLD / float(np.mean([1, 10])),
        "events_town": TOWN_THRESHOLD / float(np.mean([0, 9])),
    }


def hallucinated_share() -> Values:
    """6 of 453 responses."""
    return {"share": 6 / 453}


def memory_share() -> Values:
    """The memory layers of the worked example over its input."""
    return {"share": (500 + 1000) / 3000}


def prompt_order() -> Values:
    """Input cost over uncached by where the retrieved memories stand, at the example's sizes."""
    persona, memories, history = 1500, 500, 1000

    def cost(cached: int, fresh: int, volatile: int, h: float = 1.0) -> float:
        warm, cold = (CACHE.usage([cached], read, volatile, 0) for read in (cached - fresh, 0))
        return float(h * PRICE.usd(warm) + (1 - h) * PRICE.usd(cold)) / total

    total = persona + memories + history
    after_persona = cost(persona, 0, memories + history)
    last = cost(persona + history, M, memories)
    return {
        "better_than_first": after_persona < cost(0, 0, total),
        "best": after_persona <= last,
        "after_persona": after_persona,
        "last": last,
        "cheaper": 1 - last / after_persona,
        "last_players": cost(persona + history, M, memories, PLAYERS_H),
        "h": PLAYERS_H,
    }


def erasure() -> Values:
    """What is left of an event after a cascade along citations: reflections cite it, a rolling summary does not."""
    erased = "the debt"
    reflections = {"owes the smith": {"the debt"}, "keeps promises": {"the debt", "the lantern", "the sword"}}
    summary_of = {"the debt", "the lantern", "the sword"}
    left = {belief: sources for belief, sources in reflections.items() if erased not in sources}
    lost = [belief for belief, sources in reflections.items() if erased in sources and len(sources - {erased}) > 1]
    return {
        "gone": not any(erased in sources for sources in left.values()),
        "gone_from_summary": erased not in summary_of,
        "lost_with_evidence": len(lost),
        "sources": len(reflections["keeps promises"] - {erased}),
    }


def half_life() -> Values:
    """Game hours after which a memory's recency has halved."""

    def hours(decay: float) -> float:
        return float(np.log(0.5) / np.log(recall.recency(1.0, decay)))

    usual = hours(recall.RECENCY_DECAY)
    return {
        "decay": float(recall.recency(1.0)),
        "hours": usual,
        "days": usual / 24,
        "other": CODE_DECAY,
        "hours_other": hours(CODE_DECAY),
    }


def search_latency() -> Values:
    """A measurement on a graphics card that no engine repeats."""
    return {"seconds": None}
