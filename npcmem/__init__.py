"""npcmem: what it costs when a game character remembers, and the cheapest way to let it."""

from npcmem.cache import CacheRules, PrefixCache
from npcmem.dialogue import Block, Call, Character, Exchange, Session
from npcmem.ledger import Ledger, replay, replay_together
from npcmem.money import Price, Usage, usage_from
from npcmem.outlook import Outlook, expected, outlook
from npcmem.policies import (
    POLICIES,
    AtTheBreak,
    Compaction,
    Deduplicate,
    FullHistory,
    KeepAlive,
    Layers,
    Retrieval,
    Scheduled,
    SlidingWindow,
    SteppedWindow,
    SummariseAt,
    SummariseEvery,
    SummariseOn,
)
from npcmem.recall import Retention
from npcmem.sweep import band, crossover, sweep
from npcmem.thinktime import Empirical, ThinkTime, fit

__all__ = [
    "POLICIES",
    "AtTheBreak",
    "Block",
    "CacheRules",
    "Call",
    "Character",
    "Compaction",
    "Deduplicate",
    "Empirical",
    "Exchange",
    "FullHistory",
    "KeepAlive",
    "Layers",
    "Ledger",
    "Outlook",
    "PrefixCache",
    "Price",
    "Retention",
    "Retrieval",
    "Scheduled",
    "Session",
    "SlidingWindow",
    "SteppedWindow",
    "SummariseAt",
    "SummariseEvery",
    "SummariseOn",
    "ThinkTime",
    "Usage",
    "band",
    "crossover",
    "expected",
    "fit",
    "outlook",
    "replay",
    "replay_together",
    "sweep",
    "usage_from",
]
__version__ = "0.1.0"
