"""Voila for several pages: a front page of ours at the top, each notebook below it, and nothing else of the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_server.utils import url_path_join
from tornado.ioloop import IOLoop
from tornado.web import HTTPError, RedirectHandler, authenticated
from traitlets.config import Config
from voila.app import Voila
from voila.handler import BaseVoilaHandler
from voila.static_file_handler import AllowListFileHandler
from voila.tornado.contentshandler import VoilaContentsHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.tornado.treehandler import TornadoVoilaTreeHandler

from npcmem.serve import front, pool
from npcmem.serve.health import HealthHandler
from npcmem.serve.pages import Shelf

LESSONS_WARM_AFTER_S, LESSONS_WARM_EVERY_S = 20, 4  # they would keep the pages' kernels from starting
LISTS_FILES = (AllowListFileHandler, TornadoVoilaTreeHandler, VoilaContentsHandler)


class Site(Voila):
    """Voila that serves what is on its ``shelf`` and tells no other file's name."""

    shelf: Shelf

    def init_settings(self) -> dict[str, Any]:
        """Start kernels ahead for the pages, and let the template know the links at their head."""
        settings, kernels = self.voila_configuration, self.config.KernelManager
        kernels.autorestart = False  # a kernel begun anew knows nothing of the page
        kernels.transport = pool.transport(Path(self.connection_dir_root))
        if not self.shelf.alone:
            size = settings.default_pool_size
            pools = {page.notebook: {"pool_size": size} for page in self.shelf.pages}
            self.config.VoilaKernelManager = Config(kernel_pools_config={"default": {"pool_size": 0}, **pools})
            settings.page_config_hook = self._tell_links
        return super().init_settings()

    def _warm_lessons(self) -> None:
        """Start one kernel ahead for each lesson, one after the other, once those of the pages are there."""
        manager, loop = self.kernel_manager, IOLoop.current()

        def warm(notebook: str) -> None:
            manager.kernel_pools_config = {**manager.kernel_pools_config, notebook: {"pool_size": 1}}
            manager.fill_if_needed(delay=0, notebook_name=notebook)

        for at, lesson in enumerate(self.shelf.lessons):
            loop.call_later(LESSONS_WARM_AFTER_S + at * LESSONS_WARM_EVERY_S, warm, lesson.notebook)

    def _tell_links(self, page_config: dict[str, Any], notebook_path: str, **_: Any) -> dict[str, Any]:
        page_config["npcmemLinks"] = self.shelf.nav(notebook_path)
        return page_config

    def init_handlers(self) -> list[tuple]:
        """Return Voila's handlers without those that list or send files, ours for the front page and the rest."""
        if self.voila_configuration.preheat_kernel:
            pool.tend(self.kernel_manager)
            self._warm_lessons()
        served = {""} if self.shelf.alone else {page.notebook for page in self.shelf.served}
        handlers = []
        for pattern, handler, *more in super().init_handlers():
            if handler is TornadoVoilaHandler:
                handlers.append((pattern, PageHandler, {**more[0], "served": served}))
            elif handler not in LISTS_FILES:
                handlers.append((pattern, handler, *more))
        known = {"voila_configuration": self.voila_configuration}
        handlers.append((url_path_join(self.server_url, "health"), HealthHandler))
        if not self.shelf.alone:
            handlers.append((self.server_url, FrontHandler, {**known, "shelf": self.shelf}))
        if slashless := self.server_url.rstrip("/"):
            handlers.append((slashless, RedirectHandler, {"url": self.server_url, "permanent": False}))
        return [*handlers, (url_path_join(self.server_url, "(.*)"), NothingHandler, known)]


class PageHandler(TornadoVoilaHandler):
    """Renders a page; the name of anything else is not known here."""

    def initialize(self, served: set[str], **settings: Any) -> None:
        super().initialize(**settings)
        self._served = served

    async def get(self, path: str = "") -> None:
        if path not in self._served:
            raise HTTPError(404)
        await super().get(path)


class FrontHandler(BaseVoilaHandler):
    def initialize(self, shelf: Shelf, **settings: Any) -> None:
        super().initialize(**settings)
        self._shelf = shelf

    @authenticated
    def get(self) -> None:
        self.finish(self.render_template("front.html", **front.known(self._shelf)))


class NothingHandler(BaseVoilaHandler):
    def get(self, _: str) -> None:
        raise HTTPError(404)
