"""The address that a proxy, a container or a cluster asks whether the server still answers: ``health``."""

from __future__ import annotations

from tornado.web import RequestHandler


class HealthHandler(RequestHandler):
    """Answers "ok" from the server's own loop; it starts no kernel and computes nothing."""

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "text/plain; charset=utf-8")

    def get(self) -> None:
        self.finish("ok\n")

    head = get
