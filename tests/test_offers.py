"""The cards hold the prices and rules they should, on the days they should."""

import math
from datetime import date, datetime

import pytest

from npcmem import offers as room
from npcmem.cache import CacheRules, PrefixCache
from npcmem.dialogue import Block, Call
from npcmem.formulas import storage_break_even_reads
from npcmem.money import Usage
from npcmem.offers import changes, entries, offer, offers, read_card

# Written out from the providers' pages: in, out, read, write, longer write, shortest prefix.
# None: no such rate, so a write costs what input costs.
PRICES = """
claude-haiku-5-5              0.10   0.50   0.01    0.125  0.20   512
claude-haiku-4-5              1.00   5.00   0.10    1.25   2.00  4096
claude-sonnet-5-5             2.00  10.00   0.10    2.50   4.00   512
claude-sonnet-5               2.00  10.00   0.20    2.50   4.00  1024
claude-sonnet-4-6             3.00  15.00   0.30    3.75   6.00  1024
claude-opus-5-5               4.00  20.00   0.20    5.00   8.00   512
claude-fable-5-2              8.00  40.00   0.20   10.00  16.00   512
gpt-6-luna                    0.10   0.50   0.01    0.125  0.25  1024
gpt-5.6-luna                  0.20   1.20   0.02    0.25   0.50  1024
gpt-6.1-terra                 1.00   5.00   0.05    1.25   2.50  1024
gpt-6.1-sol                   2.00  10.00   0.10    2.50   5.00  1024
gpt-5.4-nano                  0.20   1.25   0.02    None   None  1024
gpt-5-mini                    0.25   2.00   0.025   None   None  1024
gpt-4.1-mini                  0.40   1.60   0.10    None   None  1024
gpt-4o                        2.50  10.00   1.25    None   None  1024
gpt-4o-mini                   0.15   0.60   0.075   None   None  1024
gemini-3.8-flash              0.75   3.75   0.075   None   None  4096
gemini-3.7-flash              0.75   3.75   0.075   None   None  4096
gemini-3.6-flash              0.75   3.75   0.075   None   None  4096
gemini-3.1-flash-lite         0.25   1.50   0.025   None   None  4096
gemini-2.5-flash              0.30   2.50   0.03    None   None  2048
gemini-2.5-flash-lite         0.10   0.40   0.01    None   None  2048
gemini-4-argon                2.00  10.00   0.10    None   None  4096
deepseek-v4.1-flash           0.30   1.20   0.006   None   None    64
deepseek-v4.1-flash-off-peak  0.15   0.60   0.003   None   None    64
grok-4.7                      2.00   6.00   0.50    None   None  1024
mistral-small-latest          0.15   0.60   0.015   None   None  1024
mistral-medium-latest         1.50   7.50   0.15    None   None  1024
gpt-oss-120b                  0.15   0.60   0.075   None   None  1024
nova-lite                     0.06   0.24   0.015   None   None  1536
"""


@pytest.mark.parametrize("row", PRICES.strip().split("\n"), ids=lambda row: row.split()[0])
def test_prices_as_published(row):
    model, *numbers = row.split()
    uncached, output, read, write, write_long, least = (None if x == "None" else float(x) for x in numbers)
    found = offer(model)
    price = found.price
    write = uncached if write is None else write
    expected = (uncached, output, read, write, write if write_long is None else write_long)
    assert (price.uncached, price.output, price.read, price.write, price.write_long) == expected
    assert found.rules.min_tokens == least
    assert (found.id, found.since <= found.checked) == (model, True)


def test_many_models():
    assert len(offers()) >= 55
    assert list(offers()) == list(entries())


@pytest.mark.parametrize(
    ("model", "r"),
    [
        ("claude-haiku-4-5", 0.1),
        ("claude-opus-5", 0.1),
        ("claude-opus-5-5", 0.05),
        ("claude-sonnet-5-5", 0.05),
        ("claude-fable-5-1", 0.025),
        ("claude-fable-5-2", 0.025),
        ("gpt-6.1-sol", 0.05),
        ("gpt-4.1", 0.25),
        ("gpt-4o", 0.5),
        ("gemini-4-argon", 0.05),
        ("deepseek-v4.1-flash", 0.02),
        ("grok-4.7", 0.25),
        ("grok-4.5", 0.15),
        ("grok-4.3", 0.16),
        ("gpt-oss-120b", 0.5),
        ("nova-pro", 0.25),
    ],
)
def test_reads_cost_a_fraction_of_input(model, r):
    assert offer(model).price.r == pytest.approx(r)


@pytest.mark.parametrize(
    ("least", "models"),
    [
        (512, "opus-5 opus-5-5 sonnet-5-5 haiku-5-5 fable-5-1 fable-5-2"),
        (1_024, "opus-4-8 sonnet-5 sonnet-4-6 sonnet-4-5"),
        (2_048, "opus-4-7"),
        (4_096, "haiku-4-5 opus-4-5 opus-4-6"),
    ],
)
def test_shortest_prefix_of_each_claude(least, models):
    for model in models.split():
        found = offer(f"claude-{model}")
        assert (found.rules.min_tokens, found.rules_long.min_tokens) == (least, least)


@pytest.mark.parametrize(
    ("model", "w", "w_long"), [("claude-haiku-5-5", 1.25, 2.0), ("gpt-6.1-terra", 1.25, 2.5), ("gpt-4o", 1, 1)]
)
def test_writes_cost_a_multiple_of_input(model, w, w_long):
    price = offer(model).price
    assert (price.w, price.w_long) == (pytest.approx(w), pytest.approx(w_long))
    assert all(tier.price.w_long == pytest.approx(w_long) for tier in price.tiers)


def test_rules_of_each_family():
    assert offer("claude-haiku-5-5").rules == CacheRules(300, 512, max_breakpoints=4, lookback_blocks=20)
    assert offer("claude-haiku-5-5").rules_long == CacheRules(
        3600, 512, max_breakpoints=4, lookback_blocks=20, long_writes=True
    )
    assert offer("gpt-6-luna").rules == CacheRules(1800, 1024, max_breakpoints=4, lookback_blocks=21)
    assert offer("gpt-6-luna").rules_long.ttl_s == 12 * 3600
    assert offer("gpt-4o").rules == CacheRules(300, 1024, granularity_tokens=128)
    assert offer("gpt-4o").rules_long is None
    assert offer("deepseek-v4.1-flash").rules.granularity_tokens == 64
    assert offer("gpt-oss-120b").rules.ttl_s == 7200
    assert offer("gemini-3.8-flash").rules == CacheRules(300, 4096)
    assert offer("gemini-3.8-flash").rules_long == CacheRules(
        3600, 4096, long_writes=True, cached_blocks=1, refreshes=False, pays_storage=True
    )
    assert offer("self-hosted-8b").rules == CacheRules(math.inf, 16, 16, capacity_tokens=491_520, recomputes_last=True)
    assert offer("gemini-4-argon").rules_long is None


@pytest.mark.parametrize("model", list(entries()))
def test_every_offer_is_complete(model):
    for found in changes(model):
        assert len(found.source) > 40 and len(found.notes) > 20 and found.name and found.provider
        assert found.checked == date(2026, 11, 30)
        assert found.rules.ttl_s > 0 and not found.rules.long_writes
        if found.rules_long:
            assert found.rules_long.long_writes and found.rules_long.ttl_s > found.rules.ttl_s
        else:
            assert found.price.write_long == found.price.write
        assert 0 <= found.price.r <= 0.5 and found.price.w >= 1
        assert (found.price.storage_usd_per_mtok_hour > 0) == (found.provider == "google" and bool(found.rules_long))
        assert (found.price.storage_usd_per_mtok_hour > 0) == bool(found.rules_long and found.rules_long.pays_storage)
        found.rules.check_mixing()  # pages show expectations
        assert found.context_window is None or found.context_window > found.rules.min_tokens


# --- days -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "day", "uncached", "output", "read", "storage"),
    [
        ("gemini-3.8-flash", date(2026, 12, 31), 0.75, 3.75, 0.075, 0.50),
        ("gemini-3.8-flash", date(2027, 1, 1), 1.50, 7.50, 0.15, 1.00),
        ("gemini-3.6-flash", date(2030, 1, 1), 1.50, 7.50, 0.15, 1.00),
        ("gemini-4-argon", date(2026, 11, 30), 2.00, 10.00, 0.10, 0),
        ("gemini-4-argon", date(2026, 12, 1), 4.00, 20.00, 0.20, 0),
        ("mistral-large-4", date(2026, 10, 28), 1.36, 4.18, 0.14, 0),
        ("mistral-large-4", date(2026, 10, 29), 0.70, 2.10, 0.07, 0),
        ("gemini-2.5-pro", date(2026, 11, 30), 1.25, 10.00, 0.125, 4.50),
    ],
)
def test_price_on_a_day(model, day, uncached, output, read, storage):
    price = offer(model, day).price
    assert (price.uncached, price.output, price.read) == (uncached, output, read)
    assert price.storage_usd_per_mtok_hour == storage
    assert offers(day)[model].price == price


def test_changes_are_in_order_and_keep_the_past():
    days = [found.since for found in changes("gemini-4-argon")]
    assert days == [date(2026, 9, 23), date(2026, 12, 1)]
    assert changes("gemini-4-argon")[0] == offer("gemini-4-argon")


def test_day_before_the_first_price():
    with pytest.raises(ValueError, match="gpt-6.1-sol has no price on 2026-09-28; its first price is from 2026-09-29"):
        offer("gpt-6.1-sol", date(2026, 9, 28))
    assert offer("gpt-6.1-sol", datetime(2026, 9, 29, 1)).price.uncached == 2
    then = offers(date(2026, 9, 28))
    assert "gpt-6.1-sol" not in then and "gpt-5.6-luna" in then
    assert offers(date(2020, 1, 1)) == {}
    with pytest.raises(TypeError, match="on must be a date, got '2026-12-01'"):
        offer("gpt-4o", "2026-12-01")


def test_unknown_models_and_aliases():
    with pytest.raises(KeyError) as error:
        offer("sonet-4")
    assert error.value.args[0] == "unknown model 'sonet-4'; nearest: 'claude-sonnet-4-6'"
    assert offer("amazon.nova-lite-v1:0") is offer("nova-lite")
    assert "amazon.nova-lite-v1:0" not in offers()


# --- tiers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "last_cheap", "times_in", "times_out"),
    [
        ("claude-haiku-5-5", 100_000, 5, 5),
        ("bedrock-claude-haiku-5-5", 100_000, 5, 5),
        ("gpt-6-luna", 272_000, 2, 1.5),
        ("gpt-5.4", 272_000, 2, 1.5),
        ("gemini-2.5-pro", 200_000, 2, 1.5),
        ("grok-4.7", 199_999, 2, 2),  # the dear rate begins at 200,000 exactly
    ],
)
def test_whole_request_rates_begin_past_the_boundary(model, last_cheap, times_in, times_out):
    price = offer(model).price
    for name, times in (("uncached", times_in), ("read", times_in), ("write", times_in), ("write_long", times_in)):
        rate = getattr(price, name)
        assert price.usd(Usage(**{name: last_cheap})) == pytest.approx(last_cheap * rate / 1e6)
        assert price.usd(Usage(**{name: last_cheap + 1})) == pytest.approx((last_cheap + 1) * rate * times / 1e6)
    short, past = Usage(read=last_cheap, output=1_000_000), Usage(read=last_cheap, uncached=1, output=1_000_000)
    assert price.usd(short) - price.usd(Usage(read=last_cheap)) == pytest.approx(price.output)
    assert price.usd(past) - price.usd(Usage(read=last_cheap, uncached=1)) == pytest.approx(times_out * price.output)


def test_flat_models_have_no_tiers():
    flat = [model for model, found in offers().items() if not found.price.tiers]
    assert {"claude-sonnet-4-5", "claude-opus-4-6", "gpt-5.4-nano", "gemini-3.8-flash"} <= set(flat)


# --- self-hosted ----------------------------------------------------------------------------------


def test_self_hosted_arithmetic():
    found = offer("self-hosted-8b")
    assert found.price.uncached == pytest.approx(2.95 / (20_000 * 3600) * 1e6)
    assert found.price.output == pytest.approx(2.95 / (6_000 * 3600) * 1e6)
    assert (found.price.read, found.price.w) == (0, 1)
    bytes_a_token = 32 * 8 * 128 * 2 * 2
    assert found.rules.capacity_tokens == 60 * 2**30 // bytes_a_token == 491_520
    assert found.rules.capacity_tokens % 16 == 0
    assert round(3.81 * 2**30 / bytes_a_token / 16) == pytest.approx(1952, abs=2)  # the log that bears it out
    assert found.rules.ttl_s == math.inf and found.rules.cacheable(47) == 32 and found.rules.cacheable(15) == 0
    # The assumed throughput is 30 % of what a saturated GPU was measured to do.
    for tokens_in, tokens_out, measured in ((2048, 128, 3450), (1000, 1000, 15220)):
        seconds = tokens_in / (20_000 / 0.3) + tokens_out / (6_000 / 0.3)
        assert tokens_out / seconds == pytest.approx(measured, rel=0.02)


def test_an_explicit_gemini_cache_pays_for_every_hour_of_its_head():
    """What it saves in an hour, and the uses past which it does: 1.11 + 0.74 H of 3.8 Flash in H hours."""
    found = offer("gemini-3.8-flash")
    one = Call(1, "reply", (Block("static", 5000), Block("history", 400)), (), 0)
    cache = PrefixCache(found.rules_long)
    usages = [cache.send(one, at_s) for at_s in (0, 1000, 3599, 3600)]
    assert [usage.read for usage in usages] == [0, 5000, 5000, 0]
    hours = [found.rules_long.stored_token_hours(usage) for usage in usages]
    assert hours == [5000, 0, 0, 5000]
    stored_usd = hours[0] / 1e6 * found.price.storage_usd_per_mtok_hour
    head_usd = stored_usd + sum(found.price.usd(usage) for usage in usages[:3])
    plain_usd = found.price.usd(Usage(uncached=5000)) * 3
    rest_usd = found.price.usd(Usage(uncached=400)) * 3
    # The request that creates the cache pays the head at the input price; two reads follow.
    saved = 5000 / 1e6 * (2 * (found.price.uncached - found.price.read) - found.price.storage_usd_per_mtok_hour)
    assert plain_usd + rest_usd - head_usd == pytest.approx(saved)
    storage = found.price.storage_usd_per_mtok_hour / found.price.uncached
    uses = [storage_break_even_reads(found.price.r, storage, hours) for hours in (0, 1)]
    assert (round(uses[0], 2), round(uses[1] - uses[0], 2)) == (1.11, 0.74)


# --- faulty cards ---------------------------------------------------------------------------------

CARD = """
provider = "acme"
checked = 2026-11-30
source = "a page"
notes = "a note"
[rules.short]
ttl_s = 300
[[model]]
id = "anvil-1"
name = "Anvil 1"
rules = "short"
prices = [{ from = 2026-01-01, input = 1.0, output = 5.0, read = 0.1 }]
"""


def test_a_card_is_read():
    (found,) = read_card("acme.toml", CARD)["anvil-1"].offers
    assert (found.price.read, found.price.write, found.rules.min_tokens) == (0.1, 1.0, 0)
    assert read_card("acme.toml", CARD)["anvil-1"].reference is None


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('source = "a page"\n', "", "card acme.toml: the field 'source' is missing"),
        ('"a note"', '""', "card acme.toml: the field 'notes' is empty"),
        ("2026-11-30", '"today"', "card acme.toml: the field 'checked' has the wrong type, got 'today'"),
        ("ttl_s = 300", "ttl_s = 300\nrefreshes = 1", "rules 'short': the field 'refreshes' has the wrong type, got 1"),
        ("ttl_s = 300", "ttl_s = true", "rules 'short': the field 'ttl_s' has the wrong type, got True"),
        ("ttl_s = 300", "ttl_s = 300\nlong_blocks = 1", "long_blocks (1 blocks) needs long_ttl_s in seconds, got None"),
        ("ttl_s = 300", "ttl_s = 0", "model 'anvil-1': ttl_s must be > 0 seconds, got 0"),
        ("ttl_s", "tll_s", "model 'anvil-1', rules 'short': the field 'ttl_s' is missing"),
        ('rules = "short"', 'rules = "shrt"', "model 'anvil-1': unknown set of rules 'shrt'; nearest: 'short'"),
        ("read = 0.1", "raed = 0.1", "model 'anvil-1', price row 1: unknown field 'raed'"),
        ("output = 5.0, ", "", "model 'anvil-1', price row 1: the field 'output' is missing"),
        ("input = 1.0", "input = -1.0", "model 'anvil-1': price.uncached must be >= 0 dollars per million tokens"),
        ("from = 2026-01-01", "above_tokens = 9", "model 'anvil-1', price row 1: the field 'from' is missing"),
        ("0.1 }", "0.1 }, { from = 2026-01-01, input = 1, output = 1 }", "price row 2: 'from' (2026-01-01) must be"),
        ('"acme"', "acme", "card acme.toml is not TOML"),
    ],
)
def test_a_faulty_card_is_named(old, new, sentence):
    text = CARD.replace(old, new)
    assert text != CARD
    with pytest.raises(ValueError) as error:
        read_card("acme.toml", text)
    assert error.value.args[0].startswith("card acme.toml") and sentence in error.value.args[0]


def test_an_id_is_given_once(monkeypatch, tmp_path):
    (tmp_path / "cards").mkdir()
    for name in ("a.toml", "b.toml"):
        (tmp_path / "cards" / name).write_text(CARD)
    monkeypatch.setattr(room, "files", lambda package: tmp_path)
    with pytest.raises(ValueError, match="card b.toml, model 'anvil-1': the id 'anvil-1' is taken"):
        entries.__wrapped__()
