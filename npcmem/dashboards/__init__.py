"""The pages: each is a view (a plain function of numbers), typed controls and one call that builds it."""

from npcmem.dashboards.cost_per_player import cost_per_player
from npcmem.dashboards.every_number import every_number
from npcmem.dashboards.summary_interval import summary_interval
from npcmem.dashboards.watch_prefix import watch_prefix
from npcmem.dashboards.which_memory import which_memory

__all__ = ["cost_per_player", "every_number", "summary_interval", "watch_prefix", "which_memory"]
