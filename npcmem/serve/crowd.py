"""The pages for many visitors at once: one process, no kernels, a websocket for each open page.

Same addresses, same look, same pages and lessons as under Voila. Everything but a moved slider is a file that is made
once when the server starts; a moved slider is a message to the visitor's own page (``wire.Visitor``) and one back.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import gzip
import hashlib
import re
import signal
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from tornado.httpserver import HTTPServer
from tornado.web import Application, RedirectHandler, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from npcmem.serve import front
from npcmem.serve.health import HealthHandler
from npcmem.serve.pages import SHARE, Shelf, page_title, shelf_of, up
from npcmem.serve.wire import Book, Visitor, read, without_a_kernel

TEMPLATE = SHARE / "voila/templates/npcmem"
PLOTLY = "static/plotly-basic.min.js"
STATIC = Path(__file__).parent / "static"
# Equations are what stands in elements of class math, between the marks that mistune leaves there.
MATHJAX = """window.MathJax = {options: {ignoreHtmlClass: "crowd", processHtmlClass: "math", enableMenu: false},
tex: {inlineMath: [["\\\\(", "\\\\)"]], displayMath: [["$$", "$$"]]}};
"""
MOST_BYTES = 9 * 2**20  # of a message; a file of the largest size that a page takes fits
FILES = ""  # the name of the thread that reads visitors' files
MOST_BODY = 2**16  # nothing is posted to these pages
GIVE_BACK_AFTER_S = 10  # what was asked of a visitor's page has ended by then
MOST_VISITORS = 2_000  # open pages; about 0.2 MB each
SAFE = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Asset:
    """A file that is sent as it is: its bytes, packed once, and how long a browser may keep it."""

    def __init__(self, body: str | bytes, kind: str, forever: bool = False) -> None:
        self.body = body.encode() if isinstance(body, str) else body
        self.packed = gzip.compress(self.body, 6, mtime=0)
        self.tag = f'"{hashlib.sha256(self.body).hexdigest()[:20]}"'
        self.kind = f"{kind}; charset=utf-8"
        self.kept = "public, max-age=31536000, immutable" if forever else "no-cache"


def application(notebooks: Path, base_url: str = "/") -> Application:
    """Return the server of a folder of pages, or of one; ValueError for a notebook that shows what no page can."""
    without_a_kernel()
    shelf = shelf_of(notebooks)
    books = {page.notebook: Book(shelf.folder / page.notebook) for page in shelf.served}
    templates = Environment(loader=FileSystemLoader(TEMPLATE), autoescape=True)
    assets = _assets(books, shelf, templates)
    known = {"templates": templates, "base_url": base_url}
    path = re.escape(base_url)
    leads = {} if shelf.pages else {path: f"{base_url}voila/render/{notebooks.name}"}
    if slashless := base_url.rstrip("/"):
        leads[re.escape(slashless)] = base_url
    handlers = [
        (rf"{path}health", HealthHandler),
        (rf"{path}live/(.+)", LiveHandler, {"books": books, "visitors": set(), "pools": _pools(books)}),
        *((way, RedirectHandler, {"url": to, "permanent": False}) for way, to in leads.items()),
        (rf"{path}(.*)", AssetHandler, {"assets": assets, **known}),
        (r".*", NothingHandler, known),
    ]
    return Application(
        handlers,
        websocket_max_message_size=MOST_BYTES,
        websocket_ping_interval=30,
        log_function=lambda _: None,
    )


def _pools(books: dict[str, Book]) -> dict[str, ThreadPoolExecutor]:
    """Return a thread for each page and one for files: a slow page keeps the others' visitors waiting little."""
    return {name: ThreadPoolExecutor(1, name) for name in (*books, FILES)}


def _assets(books: dict[str, Book], shelf: Shelf, templates: Environment) -> dict[str, Asset]:
    """Return everything that is sent as it is, by its address below the base."""
    found: dict[str, Asset] = {}
    scripts = {
        "crowd": _keep(found, (STATIC / "crowd.js").read_bytes(), "js"),
        "plotly": _keep(found, (TEMPLATE / PLOTLY).read_bytes(), "js", f"voila/templates/npcmem/{PLOTLY}"),
        "math": _keep(found, MATHJAX.encode() + (STATIC / "mathjax-tex-svg.js").read_bytes(), "js"),
    }
    for page in shelf.served:
        book = books[page.notebook]
        html = templates.get_template("crowd.html").render(
            page=page,
            title=page_title(book.path),
            up=up(page.notebook),
            nav=shelf.nav(page.notebook),
            parts=book.parts,
            has_math=any('class="math"' in part for part in book.parts if isinstance(part, str)),
            scripts=scripts,
            script=book.script and _keep(found, book.script, "js"),
            style=book.style and _keep(found, book.style, "css"),
            states=book.first.replace("<", "\\u003c"),  # a script's text ends at the first </script>
        )
        found[f"voila/render/{page.notebook}"] = Asset(html, "text/html")
    if shelf.pages:
        _add_front(found, shelf, templates)
    return found


def _add_front(found: dict[str, Asset], shelf: Shelf, templates: Environment) -> None:
    """Put the front page and what it shows among the files found."""
    known = front.known(shelf)
    found[""] = Asset(templates.get_template("front.html").render(**known), "text/html")
    found[f"{known['static']}front.js"] = Asset((TEMPLATE / "static/front.js").read_bytes(), "text/javascript")
    for path in front.THUMBNAILS.glob("*.svg"):
        found[f"{known['static']}thumbnails/{path.name}"] = Asset(path.read_bytes(), "image/svg+xml")


def _keep(found: dict[str, Asset], body: str | bytes, ending: str, address: str = "") -> str:
    """Put a file among those found, for good; return its address, which changes with what is in it."""
    asset = Asset(body, {"js": "text/javascript", "css": "text/css"}[ending], forever=True)
    version = asset.tag.strip('"')
    found[address or f"voila/static/{version}.{ending}"] = asset
    return f"{address}?v={version}" if address else f"voila/static/{version}.{ending}"


class QuietHandler(RequestHandler):
    """Says nothing of what it runs on; an error is our own page with its number."""

    def initialize(self, templates: Environment, base_url: str) -> None:
        self._templates, self._base_url = templates, base_url

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in SAFE.items():
            self.set_header(name, value)

    def write_error(self, status_code: int, **_: Any) -> None:
        known = {"status_code": status_code, "status_message": self._reason, "base_url": self._base_url}
        self.finish(self._templates.get_template("error.html").render(**known))


class AssetHandler(QuietHandler):
    def initialize(self, assets: dict[str, Asset], **known: Any) -> None:
        super().initialize(**known)
        self._assets = assets

    def get(self, path: str) -> None:
        asset = self._assets.get(path)
        if asset is None:
            return self.send_error(404)
        packs = "gzip" in self.request.headers.get("Accept-Encoding", "")
        self.set_header("Content-Type", asset.kind)
        self.set_header("Cache-Control", asset.kept)
        self.set_header("Vary", "Accept-Encoding")
        self.set_header("Etag", asset.tag)
        if self.check_etag_header():
            return self.set_status(304)
        if packs:
            self.set_header("Content-Encoding", "gzip")
        self.write(asset.packed if packs else asset.body)

    head = get

    def compute_etag(self) -> str | None:
        return None  # set from the asset


class NothingHandler(QuietHandler):
    def prepare(self) -> None:
        self.send_error(404)


class LiveHandler(WebSocketHandler):
    """A visitor's line: each message has one answer, and the next message comes after it."""

    def set_default_headers(self) -> None:
        self.clear_header("Server")

    def initialize(
        self, books: dict[str, Book], visitors: set[LiveHandler], pools: dict[str, ThreadPoolExecutor]
    ) -> None:
        self._books, self._visitors, self._pools = books, visitors, pools

    def prepare(self) -> None:
        if self.path_args[0] not in self._books:
            self._refuse(404)
        elif len(self._visitors) >= MOST_VISITORS:
            self._refuse(503)

    def _refuse(self, status: int) -> None:
        self.set_status(status)
        self.finish()

    def open(self, notebook: str) -> None:
        self.set_nodelay(True)
        self._visitor, self._pool = Visitor(self._books[notebook]), self._pools[notebook]
        self._task: asyncio.Task | None = None
        self._busy = False
        self._visitors.add(self)

    def on_message(self, message: str | bytes) -> None:
        try:
            given, file = read(message)
        except ValueError:
            return self.close(1003)
        if self._busy:  # no browser of ours sends a second message before the answer
            return self.close(1008)
        self._busy = True
        self._task = asyncio.create_task(self._answer(given, file))

    async def _answer(self, given: dict[str, Any], file: bytes | None) -> None:
        pool = self._pool if file is None else self._pools[FILES]
        answer = await asyncio.get_running_loop().run_in_executor(pool, self._visitor.answer, given, file)
        self._busy = False
        if self not in self._visitors:
            self._pool.submit(self._visitor.end)
        else:
            with contextlib.suppress(WebSocketClosedError):
                await self.write_message(answer)

    def on_close(self) -> None:
        if self not in self._visitors:  # was refused
            return
        self._visitors.discard(self)
        self._visitor.left = True
        if not self._busy:
            self._pool.submit(self._visitor.end)
        asyncio.get_running_loop().call_later(GIVE_BACK_AFTER_S, self._tidy)

    def _tidy(self) -> None:
        if not self._visitors:
            self._pools[FILES].submit(_give_back)


def _give_back() -> None:
    """Give the memory that a crowd has left back to the system, where its allocator can be asked to."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def serve_crowd(notebooks: Path, port: int, ip: str, base_url: str, host: str, open_browser: bool = False) -> None:
    """Serve the pages in this process until it is told to end; ``host`` is ``ip`` as it stands in a link."""
    app = application(notebooks, base_url)

    async def main() -> None:
        end, loop = asyncio.Event(), asyncio.get_running_loop()
        for told in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(told, end.set)
        server = HTTPServer(app, xheaders=True, max_body_size=MOST_BODY, max_buffer_size=MOST_BYTES + 2**20)
        server.listen(port, ip)
        url = f"http://{host}:{port}{base_url}"
        print(f"npcmem: {url} is ready; Ctrl+C stops it", flush=True)
        if open_browser:
            webbrowser.open(url)
        await end.wait()
        server.stop()

    asyncio.run(main())
