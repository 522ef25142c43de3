"""The pages: each is a view (a plain function of numbers), typed controls and one call that builds it."""

from npcmem.dashboards.summary_interval import summary_interval

__all__ = ["summary_interval"]
