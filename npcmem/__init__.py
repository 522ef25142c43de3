"""npcmem: what it costs when a game character remembers, and the cheapest way to let it."""

from npcmem.cache import CacheRules, PrefixCache
from npcmem.dialogue import Block, Call, Character, Session
from npcmem.ledger import Ledger, compare, expected, replay
from npcmem.money import Price, Usage, usage_from
from npcmem.policies import POLICIES, FullHistory, SlidingWindow, SummariseEvery
from npcmem.sweep import band, crossover, sweep
from npcmem.thinktime import Empirical, ThinkTime, fit

__all__ = [
    "POLICIES",
    "Block",
    "CacheRules",
    "Call",
    "Character",
    "Empirical",
    "FullHistory",
    "Ledger",
    "PrefixCache",
    "Price",
    "Session",
    "SlidingWindow",
    "SummariseEvery",
    "ThinkTime",
    "Usage",
    "band",
    "compare",
    "crossover",
    "expected",
    "fit",
    "replay",
    "sweep",
    "usage_from",
]
__version__ = "0.1.0"
