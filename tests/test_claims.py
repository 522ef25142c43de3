"""Every number of the five articles: the verdicts that follow from the engine are those the file expects."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from npcmem import claim_checks, formulas, recall
from npcmem import claims as room
from npcmem.claims import ARTICLES, VERDICTS, Claim, Figure, calls, check, claims, find, read_claims, verdict
from npcmem.offers import offer

CLAIMS = claims()
FILE = Path(room.__file__).parents[1] / "data" / "claims.json"

# What the study of the field recomputed, by the number it has there: each of 43 has a claim here.
SECTIONS = {
    1: ["full-history-input"],
    2: ["interval-root", "interval-counted", "interval-past-the-band"],
    3: ["saving-at-60"],
    4: ["wins-from-10"],
    5: ["warm-interval"],
    6: ["optimum-without-n-and-s"],
    7: ["flat-curve"],
    8: ["twice-as-chatty"],
    9: ["static-prompt-negligible"],
    10: ["players-line-left-out"],
    11: ["summariser-at-main-price"],
    12: ["summary-length-held"],
    13: ["break-even-hit-rates"],
    14: ["miss-rate-threshold"],
    15: ["hour-wins-at-every-pace"],
    16: ["table-5-minute-hits", "table-5-minute-costs", "table-1-hour-hits", "table-1-hour-costs"],
    17: ["floor-is-the-suffix"],
    18: ["breaks-matter-more"],
    19: ["ttl-is-a-hard-edge"],
    20: ["prefix-is-cacheable"],
    21: ["facts-kept-indefinitely"],
    22: [
        "recent-exchanges",
        "trigger-every-10-messages",
        "trigger-after-24-hours",
        "efficient-context",
        "example-reply-remembers",
    ],
    23: ["memory-score", "reflection-threshold"],
    24: ["hallucinated-responses"],
    25: ["half-is-memory"],
    26: ["prompt-order"],
    27: ["erasure-follows-citations"],
    28: ["recency-per-hour"],
    29: ["search-latency"],
    30: ["fifty-turns", "fleet-of-25-turns", "fleet-of-10-turns", "sonnet-fleet"],
    31: ["recoverable"],
    32: ["ten-turn-conversation"],
    33: ["first-five-turns"],
    34: ["rolling-summary-fleet"],
    35: ["fifty-turn-summary"],
    36: ["window-of-15-on-25", "window-of-10-on-50"],
    37: ["cached-rate"],
    38: ["cached-window"],
    39: ["summary-shrinkage"],
    40: ["haiku-price", "batch-price"],
    41: ["cached-tokens-subtracted"],
    42: ["window-of-20-turns", "summary-at-15-turns", "session-budget", "history-read-from-cache"],
    43: ["repeats-left-out", "retrieved-tokens", "retrieval-saving", "strategy-crossovers"],
}
NAMES = r"\b(5-minute|1-hour|GPT-4o|GPT-4|Claude 3\.5 Haiku|Claude 3 Haiku)\b"  # digits that are no figures


@pytest.fixture(params=CLAIMS, ids=lambda claim: claim.id)
def claim(request) -> Claim:
    return request.param


# --- each claim -----------------------------------------------------------------------------------


def test_the_verdict_that_follows_is_the_one_expected(claim):
    checked = check(claim)
    assert checked.verdict == claim.verdict
    assert len(checked.computed) == len(checked.stated) == len(checked.wider) == len(claim.figures)


def test_the_sentence_is_filled_in(claim):
    sentence = check(claim).sentence
    assert not re.search(r"[{}]|nan|None|inf\b|True|False", sentence)
    assert sentence.endswith(".") and sentence[0] != " " and "  " not in sentence


def test_no_result_is_typed_into_the_sentence(claim):
    words = re.sub(NAMES, "", re.sub(r"{[^}]*}", "", claim.sentence))
    assert not re.search(r"\d", words), words


def test_every_figure_occurs_in_the_claim(claim):
    for figure in claim.figures:
        if not isinstance(figure.value, bool):
            for end in filter(None, (figure.value, figure.to)):
                text = f"{end:,.12g}"
                assert re.search(rf"(?<![\d.,]){re.escape(text)}(\.?0+)?(?!\d|[.,]\d)", claim.claim), text


def test_a_claim_belongs_to_an_article_and_not_to_a_seed(claim):
    assert claim.article in ARTICLES
    assert claim.verdict in VERDICTS
    assert "seed" not in json.dumps([claim.claim, claim.sentence, claim.where]).lower()


# --- all of them ----------------------------------------------------------------------------------


def test_all_43_are_covered_and_nothing_else():
    assert sorted(SECTIONS) == [*range(1, 44)]
    assert sorted(id for ids in SECTIONS.values() for id in ids) == sorted(claim.id for claim in CLAIMS)


def test_every_check_is_asked_for_and_documented():
    assert {claim.call for claim in CLAIMS} == set(calls())
    assert all(one.__doc__ for one in calls().values())


def test_articles_stay_together_in_the_file():
    order = [claim.article for claim in CLAIMS]
    assert order == sorted(order, key=[*ARTICLES].index)
    assert set(order) == set(ARTICLES)


def test_the_file_is_plain_and_stays_in_order():
    rows = json.loads(FILE.read_text("utf-8"))
    assert all([*row] == ["id", "article", "where", "claim", "figures", "call", "verdict", "sentence"] for row in rows)
    assert [row["id"] for row in rows] == [claim.id for claim in CLAIMS]


def test_one_claim_by_its_id():
    assert find("half-is-memory").figures[0].value == 50
    with pytest.raises(KeyError, match="unknown claim 'half-memory'; nearest: 'half-is-memory'"):
        find("half-memory")


# --- a changed engine turns a verdict -------------------------------------------------------------


def test_another_formula_turns_the_root_wrong(monkeypatch):
    monkeypatch.setattr(formulas, "optimal_interval_uncached", lambda m, s, q, rho: 4.0)
    checked = check(find("interval-root"))
    assert (checked.verdict, checked.computed, checked.as_expected) == ("wrong", ("4 exchanges",), False)
    assert "4.000" in checked.sentence


def test_another_threshold_for_short_sessions_turns_an_incomplete_claim_right(monkeypatch):
    monkeypatch.setattr(formulas, "long_ttl_miss_threshold", lambda n, r, w, w_long: 0.011)
    assert check(find("miss-rate-threshold")).verdict == "right"


def test_another_price_turns_a_wrong_claim_right(monkeypatch):
    article, dear = offer("gpt-4o"), offer("gpt-4o").price.scaled(read=0.6)

    class Other:
        price, rules = dear, article.rules

    monkeypatch.setattr(claim_checks, "offer", lambda model: Other)
    assert check(find("cached-rate")).verdict == "right"


def test_another_decay_turns_two_claims(monkeypatch):
    monkeypatch.setattr(recall, "recency", lambda hours, decay=0.9: decay**hours)
    assert [check(find(id)).verdict for id in ("recency-per-hour", "memory-score")] == ["wrong", "wrong"]


# --- models of the articles' code -----------------------------------------------------------------


def test_a_message_is_read_by_three_summaries_and_then_by_none():
    windows = claim_checks._summary_windows(100)
    assert [len(window) for window in windows] == [10, 20, *[30] * 8]
    assert [at for at, window in enumerate(windows) if 5 in window] == [0, 1, 2]
    assert [at for at, window in enumerate(windows) if 35 in window] == [3, 4, 5]


def test_subtracting_cached_tokens_twice_can_make_a_bill_negative():
    checked = check(find("cached-tokens-subtracted")).values
    assert checked["billed_write"] == pytest.approx(0.054399, abs=1e-9)  # as the provider billed it
    assert checked["coded_write"] == pytest.approx(0.054399 - 12_304 * 3e-6, abs=1e-9)
    assert checked["coded_read"] < 0 < checked["billed_read"]


def test_the_code_of_the_article_summarises_before_its_window_acts():
    log = [*claim_checks._messages_sent(20)]
    assert [sent for _, sent, _ in log[:9]] == [1, 3, 5, 7, 9, 11, 13, 6, 8]
    assert [turn for turn, _, summarised in log if summarised] == [8, 13, 17]


# --- figures and verdicts by themselves -----------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "result", "agrees", "stated", "text"),
    [
        (Figure("a", 57, "%", 0.5), 0.5749, True, "57%", "57.5%"),
        (Figure("a", 57, "%", 0.5), 0.5751, False, "57%", "57.5%"),
        (Figure("a", 391_200, "tokens", 0), 391_200.0, True, "391,200 tokens", "391,200 tokens"),
        (Figure("a", 391_200, "tokens", 0), 391_201, False, "391,200 tokens", "391,201 tokens"),
        (Figure("a", 2437, "$", 0.5), 2437.5, True, "$2,437", "$2,437.50"),
        (Figure("a", 97.5, "$", 0.005), 97.5, True, "$97.50", "$97.50"),
        (Figure("a", 0.05, "$", 0.005), -0.348, False, "$0.05", "-$0.348"),
        (Figure("a", 65, "%", 0.5, 90), 0.9, True, "65–90%", "90%"),
        (Figure("a", 65, "%", 0.5, 90), 0.91, False, "65–90%", "91%"),
        (Figure("a", True, "", 0), True, True, "holds", "holds"),
        (Figure("a", True, "", 0), False, False, "holds", "does not hold"),
        (Figure("a", 3, "s", 0), None, None, "3 s", "no data"),
    ],
)
def test_a_figure(figure, result, agrees, stated, text):
    assert figure.agrees(result) is agrees
    assert (figure.stated, figure.text(result)) == (stated, text)


@pytest.mark.parametrize(
    ("results", "found"),
    [
        ({"a": 1, "b": 2, "c": 1}, "right"),
        ({"a": 1, "b": 2, "c": 3}, "incomplete"),
        ({"a": 1, "b": None, "c": 3}, "unsupported"),
        ({"a": 2, "b": None, "c": 3}, "wrong"),
    ],
)
def test_a_verdict_follows_from_the_figures(results, found):
    figures = (Figure("a", 1, "", 0, None, ("c",)), Figure("b", 2, "", 0))
    assert verdict(Claim("x", "npc-memory", "here", "1 and 2", figures, "half_life", found, "."), results) == found


# --- a faulty file is one sentence ----------------------------------------------------------------

ROW = {
    "id": "half-life",
    "article": "npc-memory",
    "where": "Layer two",
    "claim": "0.995 an hour",
    "figures": [{"name": "decay", "value": 0.995, "unit": "an hour", "tolerance": 0.0005}],
    "call": "half_life",
    "verdict": "right",
    "sentence": "{hours:.0f} hours.",
}


def figure(**changed) -> dict:
    return {"figures": [{**ROW["figures"][0], **changed}]}


def test_the_row_of_these_tests_is_sound():
    assert check(*read_claims(json.dumps([ROW]))).sentence == "138 hours."


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"article": "npc"}, "claim 'half-life': unknown article 'npc'; nearest: 'npc-memory'"),
        ({"verdict": "true"}, "claim 'half-life': unknown verdict 'true'"),
        ({"call": "half_live"}, "claim 'half-life': unknown call 'half_live'; nearest: 'half_life'"),
        ({"call": "_costs"}, "claim 'half-life': unknown call '_costs'"),
        ({"id": "Half life"}, "claim 'Half life': id must be words in lower case joined by hyphens"),
        ({"sentence": ""}, "claim 'half-life': the field 'sentence' is empty"),
        ({"claim": 7}, "claim 'half-life': the field 'claim' has the wrong type, got 7"),
        ({"note": "x"}, "claim 'half-life': unknown field 'note'"),
        ({"figures": []}, "claim 'half-life': figures must hold at least 1 figure, got 0"),
        ({"figures": [7]}, "claim 'half-life', figure 1: must be fields in braces, got 7"),
        (figure(tolerance=-1), "claim 'half-life', figure 1: tolerance must be >= 0 an hour, got -1"),
        (figure(tolerance=True), "figure 1: the field 'tolerance' has the wrong type, got True"),
        (figure(value=False), "figure 1: value must be a number or true, got false"),
        (figure(to=0.5), r"figure 1: to \(0.5\) must be above value \(0.995\)"),
    ],
)
def test_a_faulty_claim_is_named(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_claims(json.dumps([{**ROW, **changed}]))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[", "claims are not JSON: "),
        ("{}", "claims must be a list, got dict"),
        ("[7]", "claim number 1: must be fields in braces, got 7"),
        ("[{}]", "claim 'number 1': the field 'id' is missing"),
        (json.dumps([ROW, ROW]), "claim 'half-life': the id is taken"),
    ],
)
def test_a_faulty_file_is_one_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_claims(text)


@pytest.mark.parametrize("changed", [figure(name="decays"), figure(wider=["decays"]), {"sentence": "{decays}."}])
def test_a_result_that_is_not_computed_is_named(changed):
    (claim,) = read_claims(json.dumps([{**ROW, **changed}]))
    with pytest.raises(ValueError, match="claim 'half-life': half_life has no result 'decays'; it has decay, hours"):
        check(claim)
