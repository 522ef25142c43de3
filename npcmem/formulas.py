"""Every closed form, in the symbols of the articles; arrays in, arrays out.

S static prompt, m exchange, s summary, q summary instructions, o reply, u volatile suffix: all in tokens.
n turns, k exchanges between summaries. ρ, r, w: output, cache read and cache write price over the input
price; a and ρ_s: the summariser's input and output price over the main model's input price. h: the
probability that a gap is shorter than the TTL. Costs are in input tokens: multiply by the input price.
"""

from __future__ import annotations

import numpy as np

Numbers = float | np.ndarray

# --- the quadratic: the article on the summary interval --------------------------------------------


def full_history_input_tokens(n: Numbers, S: Numbers, m: Numbers, u: Numbers = 0) -> Numbers:
    """n(S + u) + m·n(n−1)/2: input tokens of n turns that each resend everything before them."""
    return n * (S + u) + m * n * (n - 1) / 2


def repeated_share(n: Numbers, S: Numbers, m: Numbers, u: Numbers = 0) -> Numbers:
    """The share of those input tokens that is history sent before."""
    return m * n * (n - 1) / 2 / full_history_input_tokens(n, S, m, u)


def full_history_cost(n: Numbers, S: Numbers, m: Numbers, o: Numbers, rho: Numbers, u: Numbers = 0) -> Numbers:
    """Full history without a cache, replies included: n(S + u) + m·n(n−1)/2 + ρ·o·n."""
    return full_history_input_tokens(n, S, m, u) + rho * o * n


def summarise_cost_long_run(
    n: Numbers, k: Numbers, S: Numbers, m: Numbers, s: Numbers, q: Numbers, o: Numbers, rho: Numbers
) -> Numbers:
    """Summarise every k without a cache, for n ≫ k: n[S + s + m(k−1)/2 + ρo] + (n/k)[s + km + q + ρs].

    The article's approximation: the history held swings from 0 to k−1 exchanges, (k−1)/2 on average.
    """
    return n * (S + s + m * (k - 1) / 2 + rho * o) + n / k * (s + k * m + q + rho * s)


def optimal_interval_uncached(m: Numbers, s: Numbers, q: Numbers, rho: Numbers) -> Numbers:
    """k* = √(2(s + q + ρs)/m), where d(cost)/dk = 0. Neither n nor S is in it."""
    return np.sqrt(2 * (s + q + rho * s) / m)


def optimal_interval_warm_first_order(m: Numbers, s: Numbers, q: Numbers, rho: Numbers, r: Numbers) -> Numbers:
    """k* = √(2(s + q + ρs)/(r·m)): every carried token a cache read, the flush premium left out."""
    return optimal_interval_uncached(r * m, s, q, rho)


def flatness(x: Numbers) -> Numbers:
    """(x + 1/x)/2: what an interval of x·k* makes of the part of the cost that depends on k."""
    return (x + 1 / x) / 2


# --- the interval under a cache: carry against flush -----------------------------------------------


def carry_price(h: Numbers, r: Numbers, w: Numbers) -> Numbers:
    """μ = h·r + (1−h)·w: what a carried token costs a turn, in input tokens. Uncached: h = 0, w = 1."""
    return h * r + (1 - h) * w


def flush_cost_separate(
    m: Numbers,
    s: Numbers,
    q: Numbers,
    rho: Numbers,
    h: Numbers,
    r: Numbers,
    w: Numbers,
    a: Numbers = 1.0,
    rho_s: Numbers | None = None,
) -> Numbers:
    """F = a(s + q) + ρ_s·s + h(s − m)(w − r): one summary call as a prompt of its own.

    The last term is the flush premium: after it the summary is written once where history was read.
    """
    return a * (s + q) + (rho if rho_s is None else rho_s) * s + h * (s - m) * (w - r)


def flush_cost_shared(
    S: Numbers, m: Numbers, s: Numbers, q: Numbers, rho: Numbers, h: Numbers, r: Numbers, w: Numbers
) -> Numbers:
    """F = r(S + s − m) + m + q + ρ·s + h(s − m)(w − r): a summary call that reads the conversation's prefix."""
    return r * (S + s - m) + m + q + rho * s + h * (s - m) * (w - r)


def _interval_squared(F: Numbers, mu: Numbers, m: Numbers) -> Numbers:
    """2F/(μm); 0 for a flush that pays for itself, F < 0, and else ∞ where carrying is free, μm = 0."""
    carried, free = np.asarray(mu) * m, np.where(np.asarray(F) < 0, 0.0, np.inf)
    return np.where(carried == 0, free, 2 * np.maximum(F, 0) / np.where(carried == 0, 1.0, carried))


def optimal_interval(F: Numbers, mu: Numbers, m: Numbers) -> Numbers:
    """k* = √(2F/(μm)), the continuous interval where carrying and flushing cost the same.

    0 where F < 0, else ∞ where μm = 0: what is carried for nothing is never worth a flush, not even a free one.
    """
    return np.sqrt(_interval_squared(F, mu, m))


def optimal_interval_discrete(F: Numbers, mu: Numbers, m: Numbers) -> Numbers:
    """The long-run optimum in whole exchanges: the smallest k ≥ 1 with k(k+1) ≥ 2F/(μm); 1 and ∞ as k* is 0 and ∞."""
    target = _interval_squared(F, mu, m)
    k = np.maximum(np.ceil((np.sqrt(1 + 4 * target) - 1) / 2), 1)
    k = np.where((k > 1) & ((k - 1) * k >= target), k - 1, k)  # the root may be rounded up past a whole number
    return np.where(k * (k + 1) < target, k + 1, k)


# --- the cache and the clock: the article on caching and think time --------------------------------


def prefix_multiplier(h: Numbers, r: Numbers, w: Numbers) -> Numbers:
    """h·r + (1−h)·w: the cost of a cached prefix over its cost uncached, at hit rate h."""
    return carry_price(h, r, w)


def relative_input_cost(h: Numbers, r: Numbers, w: Numbers, prefix_tokens: Numbers, suffix_tokens: Numbers) -> Numbers:
    """((h·r + (1−h)·w)·P + U)/(P + U): input cost of a cached prefix P and a plain suffix U, uncached = 1."""
    return (prefix_multiplier(h, r, w) * prefix_tokens + suffix_tokens) / (prefix_tokens + suffix_tokens)


def break_even_hit_rate(r: Numbers, w: Numbers) -> Numbers:
    """h* = (w−1)/(w−r): above it the cache pays. 0 where writing costs no more than input, ∞ where reading does."""
    w, r = np.asarray(w, dtype=float), np.asarray(r, dtype=float)
    pays = (w > 1) & (r < 1)
    share = (w - 1) / np.where(pays, w - r, 1.0)
    return np.where(pays, share, np.where(r < 1, 0.0, np.inf))[()]


def long_ttl_miss_threshold(n: Numbers, r: Numbers, w: Numbers, w_long: Numbers) -> Numbers:
    """(w_long − w)/((n−1)(w − r)): the short cache's miss rate per gap past which the longer TTL wins.

    Over n turns, the first always a write, for a longer TTL that every gap stays below.
    """
    return (w_long - w) / ((n - 1) * (w - r))


def storage_break_even_reads(r: Numbers, storage_over_input: Numbers, hours: Numbers) -> Numbers:
    """(1 + hours·storage/input)/(1 − r): uses past which a prefix kept in paid storage beats resending it.

    ``storage_over_input``: price of a million token-hours over the price of a million input tokens. The
    creation at the input price is the 1.
    """
    return (1 + hours * storage_over_input) / (1 - r)


def shared_head_hit_rate(requests_per_s: Numbers, ttl_s: Numbers) -> Numbers:
    """1 − exp(−λτ): the chance that a head common to many players was used within its lifetime.

    λ ``requests_per_s``: requests of all players that begin with that head, per second, as a Poisson process.
    τ ``ttl_s``: seconds an entry lives after its last use, each use renewing it. A request misses where no other
    came in the τ seconds before it, so the gaps that count are those of the traffic, not of one player.
    """
    return -np.expm1(-np.asarray(requests_per_s, dtype=float) * ttl_s)[()]
