"""The pages: each is a view (a plain function of numbers), typed controls and one call that builds it."""

from npcmem.dashboards.summary_interval import summary_interval
from npcmem.dashboards.watch_prefix import watch_prefix
from npcmem.dashboards.which_memory import which_memory

__all__ = ["summary_interval", "watch_prefix", "which_memory"]
