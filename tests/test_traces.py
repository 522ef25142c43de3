"""Real traces through the same cache: hits as counted by others' scripts, block by block and token by token."""

from __future__ import annotations

import json
import math
from itertools import groupby, takewhile

import pytest

from npcmem import Block, CacheRules, Call, PrefixCache

FOR_EVER = CacheRules(math.inf)
THOUSAND = CacheRules(math.inf, capacity_tokens=1000)  # where a block is one token


def rows(shared, name: str) -> list[dict]:
    return [json.loads(line) for line in shared(f"traces/{name}").read_text("utf-8").splitlines()]


def sized(ids: list[int], tokens: int, size: int) -> tuple[Block, ...]:
    """Return the blocks of a prompt of so many tokens: all of ``size`` but the last, which has what is left."""
    return tuple(Block(key, min(size, tokens - size * at)) for at, key in enumerate(ids))


def reads(rules: CacheRules, requests: list[tuple[tuple[Block, ...], float]]) -> int:
    """Return the tokens that requests, sent one after the other at their seconds, read from one cache."""
    cache = PrefixCache(rules)
    return sum(cache.send(Call(1, "reply", prompt, (), 0), at_s).read for prompt, at_s in requests)


# --- Mooncake: 2,000 requests to an assistant, blocks of 512 tokens, one cache for all -------------


@pytest.fixture(scope="module")
def mooncake(shared):
    return rows(shared, "mooncake_conversation_first2000.jsonl")


@pytest.fixture(scope="module")
def blocks(mooncake):
    """A token a block, so that the last, partial one counts like the others."""
    return [(tuple(Block(key, 1) for key in row["hash_ids"]), row["timestamp"] / 1000) for row in mooncake]


def test_the_trace_is_the_one_that_was_counted(mooncake):
    ids = [key for row in mooncake for key in row["hash_ids"]]
    assert (len(mooncake), len(ids), len(set(ids))) == (2000, 54_559, 38_788)
    assert all(len(row["hash_ids"]) == math.ceil(row["input_length"] / 512) for row in mooncake)


@pytest.mark.parametrize(("ttl_s", "hits"), [(math.inf, 15_771), (300, 14_709), (3600, 15_771)])
def test_mooncake_blocks_hit_by_lifetime(blocks, ttl_s, hits):
    assert reads(CacheRules(ttl_s), blocks) == hits


def test_mooncake_blocks_hit_in_a_thousand_blocks(blocks):
    """2,204 as published, each block looked up on its own, front to back; 2,218 where the deepest goes first."""
    one_by_one = [((block,), at_s) for prompt, at_s in blocks for block in prompt]
    assert reads(THOUSAND, one_by_one) == 2204
    assert reads(THOUSAND, blocks) == 2218


def test_mooncake_tokens_are_those_of_the_blocks_seen_before(mooncake):
    """In tokens, and as a server does it that keeps whole blocks only and computes the last token anew."""
    seen, tokens, whole = set(), 0, 0
    for row in mooncake:
        run = sum(1 for _ in takewhile(seen.__contains__, row["hash_ids"]))
        tokens += min(512 * run, row["input_length"])
        whole += 512 * min(run, (row["input_length"] - 1) // 512)
        seen.update(row["hash_ids"])
    prompts = [(sized(row["hash_ids"], row["input_length"], 512), row["timestamp"] / 1000) for row in mooncake]
    assert reads(FOR_EVER, prompts) == tokens
    assert reads(CacheRules(math.inf, 512, 512, recomputes_last=True), prompts) == whole < tokens < 512 * 15_771


# --- LLMafia: every call of a game character, blocks of 16 tokens, one cache a game ----------------


@pytest.fixture(scope="module")
def games(shared):
    calls = rows(shared, "llmafia_llm_calls.jsonl")
    return [list(game) for _, game in groupby(calls, key=lambda row: row["session_id"])]


@pytest.mark.parametrize(("ttl_s", "tokens"), [(math.inf, 2_167_480), (300, 2_166_452), (3600, 2_167_480)])
def test_llmafia_tokens_hit_by_lifetime(games, ttl_s, tokens):
    assert (len(games), sum(map(len, games))) == (16, 2134)
    assert sum(row["input_length"] for game in games for row in game) == 2_571_319
    requests = [
        [(sized(row["hash_ids"], row["input_length"], 16), row["timestamp"] / 1000) for row in game] for game in games
    ]
    assert sum(reads(CacheRules(ttl_s), game) for game in requests) == tokens
