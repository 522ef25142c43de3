"""npcmem: what it costs when a game character remembers, and the cheapest way to let it."""

from npcmem.cache import CacheRules, PrefixCache
from npcmem.dialogue import Block, Call, Character, Exchange, Session
from npcmem.ledger import Ledger, replay, replay_together
from npcmem.money import Price, Tier, Usage, usage_from
from npcmem.offers import Offer, offer
from npcmem.outlook import Outlook, expected, outlook
from npcmem.paces import pace
from npcmem.policies import (
    POLICIES,
    AtTheBreak,
    Compaction,
    Deduplicate,
    FullHistory,
    KeepAlive,
    Layers,
    Policy,
    Retrieval,
    Scheduled,
    SlidingWindow,
    SteppedWindow,
    SummariseAt,
    SummariseEvery,
    SummariseOn,
)
from npcmem.recall import Retention
from npcmem.schedule import Bound, bound
from npcmem.strategies import Comparison, Prices, compare
from npcmem.sweep import band, crossover, sweep
from npcmem.thinktime import Empirical, Pace, ThinkTime, fit

__all__ = [
    "POLICIES",
    "AtTheBreak",
    "Block",
    "Bound",
    "CacheRules",
    "Call",
    "Character",
    "Compaction",
    "Comparison",
    "Deduplicate",
    "Empirical",
    "Exchange",
    "FullHistory",
    "KeepAlive",
    "Layers",
    "Ledger",
    "Offer",
    "Outlook",
    "Pace",
    "Policy",
    "PrefixCache",
    "Price",
    "Prices",
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
    "Tier",
    "Usage",
    "band",
    "bound",
    "compare",
    "crossover",
    "expected",
    "fit",
    "offer",
    "outlook",
    "pace",
    "replay",
    "replay_together",
    "sweep",
    "usage_from",
]
__version__ = "0.1.0"
