"""Voila for several pages: a front page of ours at the top, each notebook below it, and nothing else of the folder."""

from __future__ import annotations

from typing import Any

from jupyter_server._tz import utcnow
from jupyter_server.utils import url_path_join
from tornado.web import HTTPError, RedirectHandler, authenticated
from traitlets.config import Config
from voila.app import Voila
from voila.handler import BaseVoilaHandler
from voila.static_file_handler import AllowListFileHandler
from voila.tornado.contentshandler import VoilaContentsHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.tornado.treehandler import TornadoVoilaTreeHandler

from npcmem.serve.health import HealthHandler
from npcmem.serve.pages import ServedPage

LISTS_FILES = (AllowListFileHandler, TornadoVoilaTreeHandler, VoilaContentsHandler)


class Site(Voila):
    """Voila that serves ``pages`` of its folder, or one notebook where there are none, and tells no file's name."""

    pages: tuple[ServedPage, ...] = ()

    def init_settings(self) -> dict[str, Any]:
        """Start kernels ahead for the pages alone, and let the template know the pages."""
        settings = self.voila_configuration
        if self.pages:
            pools = {page.notebook: {"pool_size": settings.default_pool_size} for page in self.pages}
            self.config.VoilaKernelManager = Config(kernel_pools_config={"default": {"pool_size": 0}, **pools})
            settings.page_config_hook = self._tell_pages
        return super().init_settings()

    def _tell_pages(self, page_config: dict[str, Any], **_: Any) -> dict[str, Any]:
        page_config["npcmemPages"] = [{"notebook": page.notebook, "title": page.title} for page in self.pages]
        return page_config

    def init_handlers(self) -> list[tuple]:
        """Return Voila's handlers without those that list or send files, ours for the front page and the rest."""
        if self.voila_configuration.preheat_kernel:
            _hand_out_fresh(self.kernel_manager)
        served = {page.notebook for page in self.pages} or {""}
        handlers = []
        for pattern, handler, *more in super().init_handlers():
            if handler is TornadoVoilaHandler:
                handlers.append((pattern, PageHandler, {**more[0], "served": served}))
            elif handler not in LISTS_FILES:
                handlers.append((pattern, handler, *more))
        known = {"voila_configuration": self.voila_configuration}
        handlers.append((url_path_join(self.server_url, "health"), HealthHandler))
        if self.pages:
            handlers.append((self.server_url, FrontHandler, {**known, "pages": self.pages}))
        if slashless := self.server_url.rstrip("/"):
            handlers.append((slashless, RedirectHandler, {"url": self.server_url, "permanent": False}))
        return [*handlers, (url_path_join(self.server_url, "(.*)"), NothingHandler, known)]


def _hand_out_fresh(manager: Any) -> None:
    """Count a warm kernel's idle time from when a visitor gets it: one that has waited long would be ended at once."""
    rendered = manager.get_rendered_notebook

    async def fresh(*args: Any, **settings: Any) -> Any:
        task, cells, kernel_id = await rendered(*args, **settings)
        manager.get_kernel(kernel_id).last_activity = utcnow()
        return task, cells, kernel_id

    manager.get_rendered_notebook = fresh


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
    def initialize(self, pages: tuple[ServedPage, ...], **settings: Any) -> None:
        super().initialize(**settings)
        self._pages = pages

    @authenticated
    def get(self) -> None:
        self.finish(self.render_template("front.html", pages=self._pages))


class NothingHandler(BaseVoilaHandler):
    def get(self, _: str) -> None:
        raise HTTPError(404)
