"""The cheapest schedule against every schedule there is, sent call by call through a real cache."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from npcmem import expected, replay
from npcmem.cache import CacheRules, PrefixCache
from npcmem.dialogue import Block, Call, Character, Session
from npcmem.money import Price, Tier
from npcmem.offers import offers
from npcmem.policies import FullHistory, Policy, SlidingWindow, SummariseEvery
from npcmem.schedule import MOST_TURNS, Bound, best_stationary, bound
from npcmem.thinktime import Empirical, ThinkTime

CHARACTER, PRICE, WARM = Character(1800, 150, 120, 0), Price.relative(5.0), CacheRules(300)
PACE = ThinkTime((0.8, 0.2), (60.0, 900.0), (0.8, 1.0))


@dataclasses.dataclass(frozen=True)
class Planned(Policy):
    """Summarises after given turns: pairs of a turn and how many of the oldest exchanges."""

    flushes: tuple[tuple[int, int], ...]
    shares_prefix: bool = False

    @property
    def name(self):
        return "planned"

    def due(self, memory):
        return dict(self.flushes).get(memory.exchanges[-1].key[1], 0)

    def summary_prompt(self, memory, oldest):
        if self.shares_prefix:
            return memory.prompt[:-1], memory.prompt[-1:]
        return Policy.summary_prompt(self, memory, oldest)


def call_usd(usage, price, rules):
    """Return the dollars of one call, or of each, storage included."""
    stored = rules.stored_token_hours(usage) if rules else 0.0
    return price.usd(usage) + stored * price.storage_usd_per_mtok_hour / 1e6


def replayed(flushes, case) -> float:
    """Return the dollars of the case's session, summarised after the turns given, at its own gaps."""
    bill = replay(Planned(tuple(flushes), case["shares_prefix"]), case["character"], case["session"], case["rules"])
    reply_usd, summary_usd = (
        call_usd(bill.usage, rate, case["rules"]) for rate in (case["price"], case["summary_price"] or case["price"])
    )
    return math.fsum(np.where(bill.kind == "summary", summary_usd, reply_usd))


def every_schedule(turns: int):
    """Yield every way to summarise after replies, as (turn, oldest) pairs."""
    for covered in itertools.product(*(range(turn + 1) for turn in range(1, turns))):
        steps = np.diff([0, *covered])
        if (steps >= 0).all():
            yield [(turn, int(oldest)) for turn, oldest in enumerate(steps, start=1) if oldest]


# --- the design's figures -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "rules", "shares", "usd", "intervals"),
    [
        (60, None, False, 177_890, (4,) * 14),
        (60, WARM, False, 64_634.5, (13, 13, 12)),
        (60, WARM, True, 59_269, (12,) * 4),
        (200, WARM, False, 220_100, (12,) * 3 + (11,) * 13),
    ],
)
def test_the_cheapest_schedule_in_input_tokens(turns, rules, shares, usd, intervals):
    found = bound(CHARACTER, Session.uniform(turns), rules, None, PRICE, shares_prefix=shares)
    assert found.usd == pytest.approx(usd, rel=1e-12)
    assert found.intervals == intervals
    assert found.on_return == found.pings == ()


@pytest.mark.parametrize(("turns", "k", "above"), [(60, 15, 0.0087), (200, 10, 0.0057)])
def test_how_far_the_best_even_interval_is_from_the_bound(turns, k, above):
    one = Session.uniform(turns)
    even = [replay(SummariseEvery(k), CHARACTER, one, WARM).cost(PRICE) for k in range(1, 30)]
    assert int(np.argmin(even)) + 1 == k
    assert min(even) / bound(CHARACTER, one, WARM, None, PRICE).usd - 1 == pytest.approx(above, abs=5e-5)


def test_equal_schedules_are_told_by_the_later_flush():
    case = {"character": CHARACTER, "session": Session.uniform(60), "rules": WARM, "price": PRICE}
    plans = [[(13, 13), (26, 13), (38, 12)], [(13, 13), (25, 12), (37, 12)]]
    assert [replayed(plan, {**case, "summary_price": None, "shares_prefix": False}) for plan in plans] == [
        pytest.approx(64_634.5)
    ] * 2


# --- known gaps: every schedule, replayed ---------------------------------------------------------

sizes = st.one_of(st.integers(0, 400), st.sampled_from([0, 1, 16, 128]))
characters = st.builds(Character, st.integers(0, 1500), sizes, sizes, sizes)
caches = st.one_of(
    st.none(),
    st.builds(
        CacheRules,
        st.just(300.0),
        st.sampled_from([0, 0, 500, 1024, 2048]),
        st.sampled_from([1, 1, 16, 128]),
        st.sampled_from([None, 4, 2]),
        st.sampled_from([None, 20]),
        long_writes=st.booleans(),
        recomputes_last=st.booleans(),
    ),
    st.just(CacheRules(math.inf)),
)
rates = st.builds(
    Price.relative,
    st.sampled_from([1.0, 5.0]),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from([1.0, 1.25]),
    st.sampled_from([1.0, 2.0]),
)


@st.composite
def tiered(draw):
    """A price, maybe of two or three tiers, each dearer than the one below."""
    price = draw(rates)
    dearer = price.scaled(uncached=2, read=2, write=2, write_long=2, output=1.5)
    price = dataclasses.replace(price, storage_usd_per_mtok_hour=draw(st.sampled_from([0.0, 5e6])))
    tiers = [Tier(draw(st.integers(0, 3000)), dearer), Tier(draw(st.integers(0, 3000)), dearer.scaled(output=3))]
    return dataclasses.replace(price, tiers=tuple(tiers[: draw(st.integers(0, 2))]))


@st.composite
def sessions(draw, most: int, gaps=(1.0, 299.0, 300.0, 450.0, 750.0)):
    turns = draw(st.integers(1, most))
    exchange = np.array(draw(st.lists(sizes, min_size=turns, max_size=turns)))
    reply = exchange // draw(st.integers(1, 3))
    return Session(
        exchange, reply, np.array(draw(st.lists(st.sampled_from(gaps), min_size=turns - 1, max_size=turns - 1)))
    )


@st.composite
def cases(draw, most: int):
    """A write no cheaper than a read, and a shared prefix read by its own model: no flush is better made on return."""
    shares = draw(st.booleans())
    return {
        "character": draw(characters),
        "session": draw(sessions(most)),
        "rules": draw(caches),
        "price": draw(tiered()),
        "summary_price": None if shares else draw(st.one_of(st.none(), tiered())),
        "shares_prefix": shares,
    }


@settings(max_examples=80)
@given(cases(6))
def test_known_gaps_no_schedule_replayed_is_cheaper_and_one_is_the_bound(case):
    found = bound(**case, warm=None, pings=False)
    costs = [replayed(flushes, case) for flushes in every_schedule(case["session"].turns)]
    assert found.usd == pytest.approx(min(costs), rel=1e-9, abs=1e-6)
    assert found.on_return == found.pings == ()


@given(cases(25))
def test_known_gaps_the_schedule_found_costs_the_bound(case):
    found = bound(**case, warm=None, pings=False)
    assert found.usd == pytest.approx(replayed(found.flushes, case), rel=1e-9, abs=1e-6)
    assert found.on_return == ()


# --- random gaps and pings: every decision, sent through a cache ----------------------------------


class Player:
    """Plays a session call by call through a cache, to try every decision there is."""

    def __init__(self, case, gaps, pings: bool):
        self.character, self.session, self.rules = case["character"], case["session"], case["rules"]
        self.price, self.summary_price = case["price"], case["summary_price"] or case["price"]
        self.shares, self.drops, self.gaps = case["shares_prefix"], case.get("may_drop", False), gaps
        longest = max((gap_s for gap in gaps for gap_s, _ in gap), default=0)
        self.most_pings = int(longest // self.rules.ttl_s) if pings and self.rules else 0

    def least_usd(self) -> float:
        """Return the expected dollars where every decision is the best."""
        return self.reply(1, 0, PrefixCache(self.rules), 0.0)

    def usd(self, cache, call: Call, at_s: float) -> float:
        price = self.summary_price if call.kind == "summary" else self.price
        return float(call_usd(cache.send(call, at_s), price, self.rules))

    def prompt(self, covered: int, upto: int) -> tuple[Block, ...]:
        told = (
            (Block(("summary", covered), self.character.summary_size(covered)),) if covered and not self.drops else ()
        )
        raw = (Block(at, int(self.session.exchange_tokens[at])) for at in range(covered, upto))
        return (*self.character.head, *told, *raw)

    def reply(self, turn: int, covered: int, cache, at_s: float) -> float:
        prompt, volatile = self.prompt(covered, turn - 1), (Block("volatile", self.character.volatile_tokens),)
        output = int(self.session.reply_tokens[turn - 1])
        usd = self.usd(cache, Call(turn, "reply", prompt, volatile, output), at_s)
        if turn == self.session.turns:
            return usd
        return usd + min(
            self.flush(turn, covered, to, after := copy.deepcopy(cache), at_s)
            + min(
                self.gap(turn, to, prompt if to == covered else self.character.head, after, at_s, pings)
                for pings in range(self.most_pings + 1)
            )
            for to in range(covered, turn + 1)
        )

    def flush(self, turn: int, covered: int, to: int, cache, at_s: float) -> float:
        if to == covered or self.drops:
            return 0.0
        asked = Block("instruction", self.character.instruction_tokens)
        prompt, plain = (), self.prompt(covered, to)[len(self.character.head) :]
        if self.shares:
            prompt, plain = self.prompt(covered, turn - 1), self.prompt(covered, turn)[-1:]
        output = self.character.summary_size(to)
        return self.usd(cache, Call(turn, "summary", prompt, (*plain, asked), output), at_s)

    def gap(self, turn: int, covered: int, last, before, at_s: float, pings: int) -> float:
        """Return the expected dollars of so many pings a gap, at most, and of all that follows."""
        total = 0.0
        for gap_s, chance in self.gaps[turn - 1]:
            cache, usd = copy.deepcopy(before), 0.0
            for number in range(1, pings + 1):
                if number * self.rules.ttl_s <= gap_s:
                    sent_s = at_s + number * (self.rules.ttl_s - 0.25)
                    usd += self.usd(cache, Call(turn, "ping", last, (), 1), sent_s)
            total += chance * (usd + self.back(turn, covered, cache, at_s + gap_s))
        return total

    def back(self, turn: int, covered: int, before, at_s: float) -> float:
        return min(
            self.flush(turn, covered, to, cache := copy.deepcopy(before), at_s) + self.reply(turn + 1, to, cache, at_s)
            for to in range(covered, turn + 1)
        )


def wild_case(rng, turns: int) -> dict:
    """Draw any case: reads dearer than writes, tiers that a prompt just reaches, growing summaries, heads of two."""

    def some(*values):
        return values[rng.integers(len(values))]

    def rates():
        return Price(*rng.choice([0.0, 1e5, 5e5, 1e6, 2e6], 5))

    def price():
        steps = np.cumsum(rng.integers(1, 10, some(0, 0, 1, 2)) * 50).tolist()
        base = some(Price.relative(some(1.0, 5.0), 0.1, some(1.0, 1.25)), Price.relative(1.0, 0.05, 1.0), rates())
        return dataclasses.replace(base, tiers=tuple(Tier(at, rates()) for at in steps))

    breakpoints = some(None, None, 4, 2)
    cache = CacheRules(
        300.0, some(0, 0, 150, 300), some(1, 1, 16, 64), breakpoints, some(None, 20), None, some(False, True),
        recomputes_last=some(False, True),
    )  # fmt: skip
    static = some(0, 100, 400)
    exchange = rng.choice([0, 1, 50, 100, 200, 350], turns)
    gaps_s = rng.choice([1.0, 299.0, 300.0, 450.0, 650.0], turns - 1)
    return {
        "character": Character(
            static, some(0, 10, 50, 150), some(0, 50), some(0, 50),
            shared_tokens=0 if breakpoints == 2 else some(0, static // 2),
            summary_growth_tokens=some(0.0, 0.0, 7.5, 100.0),
        ),
        "session": Session(exchange, exchange // some(1, 2), gaps_s),
        "rules": some(cache, cache, cache, None, CacheRules(math.inf)),
        "price": price(),
        "summary_price": some(None, price()),
        "shares_prefix": some(False, True),
        "may_drop": some(False, False, False, True),
    }  # fmt: skip


SEEDS = (*range(40), 65, 84, 111, 1064, 3206, 3483)  # in the last the cheapest is to flush on return, or twice


@pytest.mark.parametrize("part", range(4))
def test_random_gaps_every_decision_tried(part):
    for seed in SEEDS[part::4]:
        rng = np.random.default_rng(seed)
        case, chance = wild_case(rng, 4), rng.choice([0.0, 0.3, 0.8, 1.0], 3)
        gaps = [[(gap_s, p) for gap_s, p in ((299.0, h), (300.0, 1 - h)) if p] for h in chance.tolist()]
        found = bound(**case, warm=chance)
        assert found.usd == pytest.approx(Player(case, gaps, pings=False).least_usd(), rel=1e-9, abs=1e-6), seed
        assert found.pings == ()


@pytest.mark.parametrize("part", range(4))
def test_a_pace_with_pings_every_decision_tried(part):
    for seed in range(part, 80, 4):
        rng = np.random.default_rng(seed)
        case, gaps_s = wild_case(rng, 3), rng.choice([1.0, 300.0, 450.0, 650.0], rng.integers(1, 4))
        gaps = [[(gap_s, 1 / len(gaps_s)) for gap_s in gaps_s.tolist()]] * 2
        least = Player(case, gaps, pings=True).least_usd()
        assert bound(**case, warm=Empirical(gaps_s)).usd == pytest.approx(least, rel=1e-9, abs=1e-6), seed


@pytest.mark.parametrize("part", range(4))
def test_known_gaps_with_pings_every_decision_tried(part):
    for seed in SEEDS[part::4]:
        case = wild_case(np.random.default_rng(seed), 4)
        gaps = [[(gap_s, 1.0)] for gap_s in case["session"].gaps_s.tolist()]
        least = Player(case, gaps, pings=True).least_usd()
        assert bound(**case, warm=None).usd == pytest.approx(least, rel=1e-9, abs=1e-6), seed


# --- the bound bounds -----------------------------------------------------------------------------


@st.composite
def sold(draw):
    """Return the price and the rules of some model on sale whose cache the bound can follow."""
    offer = draw(st.sampled_from(list(offers().values())))
    rules = draw(st.sampled_from([rules for rules in (None, offer.rules, offer.rules_long) if rules or rules is None]))
    try:
        bound(CHARACTER, Session.uniform(2), rules, 0.5, offer.price)
    except ValueError as refused:
        assert "replay such a cache instead" in str(refused)
        assume(False)
    return offer.price, rules


@given(characters, sessions(30), st.floats(0, 1), sold(), st.integers(1, 31), st.integers(0, 5), st.booleans())
def test_no_policy_is_below_the_bound(character, session, warm, model, k, keep, shares):
    price, rules = model
    for policy in (FullHistory(), SummariseEvery(k, min(keep, k - 1), shares)):
        usd = expected(policy, character, session, rules, warm).cost(price)
        assert bound(character, session, rules, warm, price, shares_prefix=shares).usd <= usd * (1 + 1e-12)


@given(characters, sessions(30), st.floats(0, 1), sold(), st.integers(0, 31))
def test_no_window_is_below_the_bound_of_those_that_forget(character, session, warm, model, turns):
    price, rules = model
    usd = expected(SlidingWindow(turns), character, session, rules, warm).cost(price)
    found = bound(character, session, rules, warm, price, may_drop=True)
    assert found.usd <= usd * (1 + 1e-12)
    assert found.usd <= bound(character, session, rules, warm, price).usd * (1 + 1e-12)


@given(cases(30), st.sampled_from([None, PACE, Empirical([1.0, 300.0, 4000.0])]))
def test_pings_never_cost_more_and_knowing_the_gaps_pays(case, warm):
    with_pings, without = (bound(**case, warm=warm, pings=pings).usd for pings in (True, False))
    assert with_pings <= without * (1 + 1e-12)


@given(cases(30), st.sampled_from([None, PACE, 0.0, 0.4, 1.0]), st.booleans())
def test_a_longer_session_never_costs_less(case, warm, may_drop):
    one, usd = case["session"], math.inf
    for turns in range(one.turns, 0, -1):
        shorter = Session(one.exchange_tokens[:turns], one.reply_tokens[:turns], one.gaps_s[: turns - 1])
        before, usd = usd, bound(**{**case, "session": shorter}, warm=warm, may_drop=may_drop).usd
        assert usd <= before * (1 + 1e-12)


@given(cases(30), st.floats(0, 1), st.floats(0, 1))
def test_a_likelier_hit_never_costs_more(case, one, other):
    low, high = sorted((one, other))
    assert bound(**case, warm=high).usd <= bound(**case, warm=low).usd * (1 + 1e-12)


@given(cases(20))
def test_a_chance_of_one_or_none_is_a_session_of_such_gaps(case):
    gaps = case["session"].turns - 1
    for warm, gap_s in ((1.0, 299.0), (0.0, 300.0)):
        known = {**case, "session": case["session"].with_gaps(np.full(gaps, gap_s))}
        assert bound(**case, warm=warm).usd == pytest.approx(bound(**known, warm=None, pings=False).usd, rel=1e-12)
        each = bound(**case, warm=np.full(gaps, warm))
        assert each == bound(**case, warm=warm)


# --- what is told of it ---------------------------------------------------------------------------


def test_a_break_is_pinged_through_or_gone_cold_by_what_it_costs():
    one = Session.uniform(30).with_gaps(np.where(np.arange(29) == 9, 700.0, 10.0))
    found = bound(CHARACTER, one, WARM, None, PRICE)
    assert found.pings == ((10, 2),)
    night = bound(CHARACTER, one.with_gaps(np.where(np.arange(29) == 9, 28_800.0, 10.0)), WARM, None, PRICE)
    assert night.pings == ()
    assert night.flushes[0] == (10, 10)  # the cache is lost anyway


def test_one_turn_and_nothing_held_is_one_reply():
    assert bound(Character(100), Session.uniform(1, 50, 10), None, None, PRICE) == Bound(150.0, ())


def test_intervals_are_in_order_wherever_they_were_made():
    assert Bound(1.0, ((3, 2), (9, 4)), ((5, 3),)).intervals == (2, 3, 4)


# --- an endless conversation ----------------------------------------------------------------------


def gain(exchange, reply, hot, rules, price, summary_price, shares, most=60) -> float:
    """Return dollars a turn of the best way to flush all, by relative value iteration over exchanges held.

    Every call is priced by what a real cache bills for it.
    """

    def reply_usd(held, reads):
        cache, blocks = (
            PrefixCache(rules),
            [CHARACTER.head[0], Block("summary", 150), *(Block(x, exchange) for x in range(held))],
        )
        if reads:
            cache.send(Call(1, "reply", tuple(blocks[:reads]), (), 0), 0.0)
        return price.usd(cache.send(Call(1, "reply", tuple(blocks), (), reply), 1.0))

    def flush_usd(held, warm):
        cache, blocks = (
            PrefixCache(rules),
            [CHARACTER.head[0], Block("summary", 150), *(Block(x, exchange) for x in range(held))],
        )
        asked = Block("instruction", 120)
        if not shares:
            return summary_price.usd(cache.send(Call(1, "summary", (), (*blocks[1:], asked), 150), 0.0))
        if warm:
            cache.send(Call(1, "reply", tuple(blocks[:-1]), (), 0), 0.0)
        return summary_price.usd(cache.send(Call(1, "summary", tuple(blocks[:-1]), (blocks[-1], asked), 150), 0.0))

    held = range(1, most + 1)
    stay, lost = (np.array([reply_usd(x, reads and x + 1) for x in held]) for reads in (True, False))
    now, late = (np.array([flush_usd(x, warm) for x in held]) for warm in (True, False))
    fresh, cold = reply_usd(0, 1), reply_usd(0, 0)
    after_late = fresh if shares else cold
    value = np.zeros(most)  # by exchanges held after a reply, 1…most
    for _ in range(5000):
        longer = np.append(value[1:], np.inf)
        on = hot * (stay + longer) + (1 - hot) * np.minimum(lost + longer, late + after_late + value[0])
        better = np.minimum(on, now + hot * fresh + (1 - hot) * cold + value[0])
        step = better - value
        value = 0.5 * value + 0.5 * (better - better[0])  # damped: a cycle of fixed length has a period
        if np.ptp(step[:20]) < 1e-9 * abs(step[0]):
            break
    return float(step[0])


@settings(max_examples=25)
@given(
    st.integers(20, 400),
    st.sampled_from([0.05, 0.3, 0.7, 0.95]),
    st.sampled_from([WARM, CacheRules(300, 1024, 128), CacheRules(300, 2200)]),
    st.one_of(rates, st.just(Price(1e6, 5e5, 1e5, 2e5, 5e6))),  # the last: a read dearer than a write
    st.booleans(),
)
@example(160, 0.05, WARM, Price(1e6, 5e5, 1e5, 2e5, 5e6), True)
def test_the_best_stationary_rule_is_that_of_value_iteration(exchange, hot, rules, price, shares):
    found = best_stationary(CHARACTER, exchange, exchange // 2, rules, hot, price, shares_prefix=shares, most_k=60)
    assume(found.k < 30)
    assert found.usd_per_turn == pytest.approx(
        gain(exchange, exchange // 2, hot, rules, price, price, shares), rel=1e-6
    )


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("hot", [0.0, 0.2, 0.5, 0.8, 0.95])
def test_a_long_session_costs_the_stationary_rule_a_turn(hot, shares):
    found = best_stationary(CHARACTER, 160, 80, WARM, hot, PRICE, shares_prefix=shares)
    short, long = (bound(CHARACTER, Session.uniform(n), WARM, hot, PRICE, shares_prefix=shares).usd for n in (200, 620))
    assert (long - short) / 420 == pytest.approx(found.usd_per_turn, rel=2e-4)


def at_the_rule(rule, hot, turns, rng) -> float:
    """Return the dollars a turn of a long conversation that follows a stationary rule, sent call by call."""
    cache, exchanges, at_s, usd, summary = PrefixCache(WARM), [], 0.0, 0.0, [Block("summary", 150)]

    def summarise():
        plain = (*summary, *exchanges, Block("instruction", 120))
        summary[:] = [Block(("summary", turn, at_s), 150)]
        exchanges.clear()
        return PRICE.usd(cache.send(Call(turn, "summary", (), plain, 150), at_s))

    for turn in range(turns):
        cold = rng.random() >= hot
        at_s += 300.0 if cold else 1.0
        if cold and rule.break_k and len(exchanges) >= rule.break_k:
            usd += summarise()
        usd += PRICE.usd(cache.send(Call(turn, "reply", (*CHARACTER.head, *summary, *exchanges), (), 80), at_s))
        exchanges.append(Block(turn, 160))
        if len(exchanges) >= rule.k:
            usd += summarise()
    return usd / turns


@pytest.mark.parametrize("hot", [0.3, 0.7, 0.9])
def test_the_stationary_rule_costs_what_it_says_when_played(hot):
    rule = best_stationary(CHARACTER, 160, 80, WARM, hot, PRICE)
    assert rule.break_k is not None
    runs = np.array([at_the_rule(rule, hot, 400, np.random.default_rng(seed)) for seed in range(40)])
    assert runs.mean() == pytest.approx(rule.usd_per_turn, abs=4 * runs.std(ddof=1) / math.sqrt(len(runs)))


@pytest.mark.parametrize(("hot", "rules", "k"), [(0.7, None, 4), (1.0, WARM, 11), (0.5, CacheRules(math.inf), 11)])
def test_where_no_cache_is_lost_there_is_no_break_to_wait_for(hot, rules, k):
    found = best_stationary(CHARACTER, 160, 80, rules, hot, PRICE)
    assert (found.k, found.break_k) == (k, None)


def test_a_pace_says_the_chance():
    found, same = (best_stationary(CHARACTER, 160, 80, WARM, warm, PRICE) for warm in (PACE, PACE.cdf(300.0)))
    assert found == same


def test_carrying_for_free_is_never_summarised():
    free = best_stationary(CHARACTER, 160, 80, CacheRules(300), 1.0, Price(0, 0, 0, 0, 1), most_k=40)
    assert (free.k, free.usd_per_turn) == (40, pytest.approx((80 + 150 / 40) / 1e6))


# --- what cannot be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"rules": CacheRules(300, max_breakpoints=1)}, "max_breakpoints must be >= 2 breakpoints .*, got 1.*"),
        ({"rules": CacheRules(300, max_breakpoints=4, lookback_blocks=1)}, "lookback_blocks must be >= 2 blocks .*"),
        (
            {"rules": CacheRules(300, capacity_tokens=2000)},
            "capacity_tokens must be >= [0-9,]* tokens, .*, got 2,000.*",
        ),
        (
            {"rules": CacheRules(300, max_breakpoints=2), "character": Character(1800, shared_tokens=900)},
            "max_breakpoints must be >= 3 breakpoints .* a static part of 2 blocks, got 2: .*",
        ),
        ({"rules": CacheRules(300, long_ttl_s=3600, long_blocks=1)}, "long_blocks must be 0 blocks .*, got 1: .*"),
        ({"rules": CacheRules(300, cached_blocks=1)}, "cached_blocks must be None for a closed form, got 1: .*"),
        ({"rules": CacheRules(300, learns_units=True)}, "learns_units must be False for an expectation, .*"),
        ({"rules": CacheRules(300, refreshes=False)}, "refreshes must be True for an expectation, .*"),
        ({"warm": 1.5}, "warm.* must be .* 1 \\(probability\\), got 1.5"),
    ],
)
@pytest.mark.parametrize("endless", [False, True], ids=["bound", "stationary"])
def test_what_the_programme_cannot_follow_is_refused_in_a_sentence(bad, sentence, endless):
    asked = {"character": CHARACTER, "rules": WARM, "warm": 0.5, "price": PRICE, **bad}
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        if endless:
            best_stationary(exchange_tokens=160, reply_tokens=80, **asked)
        else:
            bound(session=Session.uniform(20), **asked)


def test_a_summary_without_end_and_other_impossible_things_are_refused():
    with pytest.raises(ValueError, match="^summary_growth_tokens must be 0 .* got 5: its summary would grow"):
        best_stationary(Character(summary_growth_tokens=5), 160, 80, WARM, 0.5, PRICE)
    with pytest.raises(ValueError, match="^warm must have 9 entries, one a gap, got 3$"):
        bound(CHARACTER, Session.uniform(10), WARM, np.ones(3), PRICE)
    with pytest.raises(ValueError, match="^turns must be <= 2,000 turns in one bound, got 2001$"):
        bound(CHARACTER, Session.uniform(MOST_TURNS + 1), WARM, None, PRICE)
    with pytest.raises(ValueError, match="^most_k must be >= 1 exchanges, got 0$"):
        best_stationary(CHARACTER, 160, 80, WARM, 0.5, PRICE, most_k=0)
    with pytest.raises(ValueError, match=r"^reply_tokens \(200 tokens\) cannot exceed exchange_tokens"):
        best_stationary(CHARACTER, 160, 200, WARM, 0.5, PRICE)
