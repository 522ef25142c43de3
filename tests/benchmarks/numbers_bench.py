"""How long the numbers take, beside the articles' own loops and another cache simulator (make bench)."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import scipy

import npcmem
from npcmem import Block, CacheRules, Call, Character, FullHistory, PrefixCache, Price, Session
from npcmem.claims import check, claims
from npcmem.paces import pace

S, m, s, q, o, N, RHO, R, W = 1800, 160, 150, 120, 80, 60, 5.0, 0.1, 1.25
CHARACTER, PRICE, WARM = Character(S, s, q), Price.relative(RHO, R, W), CacheRules(300)
PLAYERS, SESSIONS = pace("article-120s"), 200
MEDIANS, TTLS = (5, 15, 30, 60, 120, 240), (300.0, 3600.0)

# --- the articles' loops --------------------------------------------------------------------------


def article_cost(n: int, k: int) -> float:
    """The loop of the article on the summary interval: uncached, one session."""
    tokens_in = tokens_out = held = 0
    has_summary = False
    for t in range(1, n + 1):
        tokens_in += S + (s if has_summary else 0) + m * held
        tokens_out += o
        held += 1
        if held == k and t < n:
            tokens_in += (s if has_summary else 0) + k * m + q
            tokens_out += s
            held, has_summary = 0, True
    return tokens_in + RHO * tokens_out


def article_cost_cached(n: int, k: int, hits: list[bool]) -> float:
    """The same loop on the cache of the article on caching: one session, ``hits[t−2]`` says if turn t is warm."""
    cost, held, cached = 0.0, 0, 0
    has_summary = False
    for t in range(1, n + 1):
        prompt = S + (s if has_summary else 0) + m * held
        read = cached if t > 1 and hits[t - 2] else 0
        cost += R * read + W * (prompt - read) + RHO * o
        held, cached = held + 1, prompt
        if held == k and t < n:
            cost += (s if has_summary else 0) + k * m + q + RHO * s
            held, has_summary, cached = 0, True, S
    return cost


def article_curve() -> np.ndarray:
    return np.array([article_cost(N, k) for k in range(1, N + 1)])


def article_curve_cached() -> np.ndarray:
    hits = (PLAYERS.sample(np.random.default_rng(1), (SESSIONS, N - 1)) < WARM.ttl_s).tolist()
    return np.array([sum(article_cost_cached(N, k, row) for row in hits) / SESSIONS for k in range(1, N + 1)])


def article_hit_rates(sessions: int = 20_000) -> list[list[float]]:
    """The simulation of the article on caching: lognormal gaps, 8 % of them breaks."""
    rng, table = np.random.default_rng(1), []
    for median in MEDIANS:
        gaps = median * np.exp(rng.standard_normal((sessions, N - 1)))
        breaks = rng.random(gaps.shape) < 0.08
        gaps[breaks] = 480 * np.exp(0.8 * rng.standard_normal(breaks.sum()))
        table.append([(gaps < ttl).sum() / (sessions * N) for ttl in TTLS])
    return table


# --- the package's ways ---------------------------------------------------------------------------


def curve() -> np.ndarray:
    return npcmem.sweep(CHARACTER, m, o, N, WARM, PLAYERS.cdf(WARM.ttl_s), PRICE)[:, -1]


def wide_sweep() -> np.ndarray:
    return npcmem.sweep(CHARACTER, m, o, 1000, WARM, PLAYERS.cdf(WARM.ttl_s), PRICE, most_k=200)


def hit_rates() -> list[list[float]]:
    return [pace(f"article-{median}s").hit_rate(np.array(TTLS), N).tolist() for median in MEDIANS]


# --- a trace through a cache, and through libcachesim's --------------------------------------------

BLOCKS = 1000  # held at once; a token a block
TRACE = "traces/mooncake_conversation_first2000.jsonl"


@pytest.fixture(scope="module")
def trace(shared) -> list[tuple[list[int], float]]:
    """Return the block ids and the second of each request of the Mooncake trace."""
    rows = map(json.loads, shared(TRACE).read_text("utf-8").splitlines())
    return [(row["hash_ids"], row["timestamp"] / 1000) for row in rows]


def requests_of(prompts: list[tuple[list[int], float]]) -> list[tuple[Call, float]]:
    blocks = {key: Block(key, 1) for ids, _ in prompts for key in ids}
    return [(Call(1, "reply", tuple(blocks[key] for key in ids), (), 0), at_s) for ids, at_s in prompts]


def hits(rules: CacheRules, requests: list[tuple[Call, float]]) -> int:
    send = PrefixCache(rules).send
    return sum([send(call, at_s).read for call, at_s in requests])


def libcachesim_hits(library, ids: list[int]) -> int:
    """Look up each block in its LRU, from Python as we do ours: one request object, one call a block."""
    cache, request = library.LRU(BLOCKS, hashpower=16), library.Request()
    request.obj_size, found = 1, 0
    for key in ids:
        request.obj_id = key
        found += cache.get(request)
    return found


# --- one run, one table ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def medians(request):
    """Collect the median of each benchmark by name; at the end print them side by side."""
    found: dict[str, float] = {}
    yield found
    plugin = request.config.pluginmanager.getplugin
    with plugin("capturemanager").global_and_fixture_disabled():
        plugin("terminalreporter").write("\n".join(["", *_table(found), ""]))


def _table(found: dict[str, float]) -> list[str]:
    lines = [
        f"{platform.platform()}, {platform.machine()}, {os.cpu_count()} cores",
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}; medians",
        *(f"{1e3 * seconds:12.3f} ms  {name}" for name, seconds in found.items()),
        *(f"{n / found[name]:12,.0f} /s  {what}: {name}" for name in found for n, what in COUNTED.get(name, ())),
    ]
    for ours, theirs in BESIDE.items():
        for other in theirs:
            if ours in found and other in found:
                lines.append(f"{found[other] / found[ours]:12.2f} x   as fast: {ours}; as: {other}")
    return lines


CURVE = "sweep: expected curve k=1..60, n=60"
LOOP = "article's loop: uncached curve, one session each"
LOOP_CACHED = f"article's loop with a cache: mean of {SESSIONS} sessions each"
TABLE, TABLE_SIMULATED = "hit rates: 6 paces x 2 TTLs, closed form", "hit rates: the article's 20,000 sessions"
IMPORT, IMPORT_BASE, START = "python -c 'import npcmem'", "python -c 'import numpy, scipy.special'", "python -c ''"
LRU, LRU_FLAT = f"trace: LRU of {BLOCKS:,} blocks, whole prompts", f"trace: LRU of {BLOCKS:,} blocks, one by one"
LRU_OTHER, TTL = f"trace: LRU of {BLOCKS:,} blocks, libcachesim", "trace: lifetime of 300 s"
REPLAY_WARM, REPLAY_COLD = "replay: full history of 200 turns, warm", "replay: full history of 200 turns, all cold"
CLAIMS = "claims: every one computed again"
BESIDE = {CURVE: (LOOP, LOOP_CACHED), TABLE: (TABLE_SIMULATED,), LRU: (LRU_OTHER,), LRU_FLAT: (LRU_OTHER,)}
LOOK_UPS, PROMPTS = (54_559, "block look-ups"), (2_000, "requests")
COUNTED = {LRU: (LOOK_UPS, PROMPTS), TTL: (LOOK_UPS, PROMPTS), LRU_FLAT: (LOOK_UPS,), LRU_OTHER: (LOOK_UPS,)}


@pytest.fixture
def timed(benchmark, medians):
    """Return a function that times another under a name and notes how it compares with those before."""

    def run(name: str, function, rounds: int | None = None):
        result = benchmark.pedantic(function, rounds=rounds) if rounds else benchmark(function)
        if benchmark.stats is not None:  # None under --benchmark-disable
            medians[name] = benchmark.stats.stats.median
            for other in BESIDE.get(name, ()):
                if other in medians:
                    benchmark.extra_info[f"times as fast as: {other}"] = round(medians[other] / medians[name], 1)
        return result

    return run


@pytest.mark.benchmark(group="curve of 60 intervals")
def test_the_articles_loop_uncached(timed):
    costs = timed(LOOP, article_curve)
    assert costs == pytest.approx(npcmem.sweep(CHARACTER, m, o, N, None, 0, PRICE)[:, -1])


@pytest.mark.benchmark(group="curve of 60 intervals")
def test_the_articles_loop_with_a_cache_over_simulated_sessions(timed):
    costs = timed(LOOP_CACHED, article_curve_cached, rounds=5)
    assert costs == pytest.approx(curve(), rel=0.03)


@pytest.mark.benchmark(group="curve of 60 intervals")
def test_the_sweep_of_the_curve(timed):
    assert timed(CURVE, curve).shape == (N,)


@pytest.mark.benchmark(group="200 intervals x 1,000 lengths")
def test_the_wide_sweep(timed):
    assert timed("sweep: k=1..200 x n=1..1,000", wide_sweep).shape == (200, 1000)


@pytest.mark.benchmark(group="table of hit rates")
def test_the_articles_simulation_of_hit_rates(timed):
    assert np.ravel(timed(TABLE_SIMULATED, article_hit_rates, rounds=5)) == pytest.approx(
        np.ravel(hit_rates()), abs=2e-3
    )


@pytest.mark.benchmark(group="table of hit rates")
def test_hit_rates_in_closed_form(timed):
    assert np.shape(timed(TABLE, hit_rates)) == (6, 2)


@pytest.mark.benchmark(group="trace of 54,559 block look-ups")
def test_libcachesim_on_the_trace(timed, trace):
    library = pytest.importorskip("libcachesim", reason="libcachesim is not installed: pip install libcachesim")
    ids = [key for ids, _ in trace for key in ids]
    assert timed(LRU_OTHER, lambda: libcachesim_hits(library, ids), rounds=9) == 2204


@pytest.mark.benchmark(group="trace of 54,559 block look-ups")
def test_the_trace_block_by_block(timed, trace):
    """Each block on its own, the longest prefix not kept together: what libcachesim's LRU does."""
    requests = requests_of([([key], at_s) for ids, at_s in trace for key in ids])
    rules = CacheRules(math.inf, capacity_tokens=BLOCKS)
    assert timed(LRU_FLAT, lambda: hits(rules, requests), rounds=9) == 2204


@pytest.mark.benchmark(group="trace of 54,559 block look-ups")
def test_the_trace_prompt_by_prompt(timed, trace):
    requests, rules = requests_of(trace), CacheRules(math.inf, capacity_tokens=BLOCKS)
    assert timed(LRU, lambda: hits(rules, requests), rounds=9) == 2218  # the deepest block goes first


@pytest.mark.benchmark(group="trace of 54,559 block look-ups")
def test_the_trace_with_a_lifetime(timed, trace):
    requests = requests_of(trace)
    assert timed(TTL, lambda: hits(WARM, requests), rounds=9) == 14_709


@pytest.mark.benchmark(group="a replay of 20,100 blocks")
@pytest.mark.parametrize(("name", "gap_s"), [(REPLAY_WARM, 30.0), (REPLAY_COLD, 300.0)])
def test_a_long_replay(timed, name, gap_s):
    one = Session.uniform(200, gap_s=gap_s)
    bill = timed(name, lambda: npcmem.replay(FullHistory(), CHARACTER, one, WARM), rounds=9)
    assert bill.hit_rate == (199 / 200 if gap_s < 300 else 0)


@pytest.mark.benchmark(group="import in a fresh process")
@pytest.mark.parametrize(
    ("name", "code"), [(START, ""), (IMPORT, "import npcmem"), (IMPORT_BASE, "import numpy, scipy.special")]
)
def test_importing(timed, name, code):
    run = timed(name, lambda: subprocess.run([sys.executable, "-c", code], check=False), rounds=10)
    assert run.returncode == 0


@pytest.mark.benchmark(group="what stands on a page at its opening")
def test_every_claim_computed_again(timed):
    checked = timed(CLAIMS, lambda: [check(claim) for claim in claims()], rounds=9)
    assert len(checked) == len(claims()) > 0
