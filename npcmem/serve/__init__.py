"""Start the pages: Voila with the settings that make it quick, quiet and safe to show."""

from __future__ import annotations

import os
from pathlib import Path

from npcmem import checks
from npcmem.serve.pages import LESSONS, PACKAGE, PAGES, SHARE, TEACHING, ServedPage, Shelf, shelf_of

__all__ = [
    "LESSONS",
    "PAGES",
    "TEACHING",
    "ServedPage",
    "Shelf",
    "own_notebooks",
    "serve",
    "serve_to_a_crowd",
    "shelf_of",
    "voila_arguments",
]

DEFAULTS = {"ip": "127.0.0.1", "port": 8866, "base_url": "/"}
# All that a page of widgets needs of JupyterLab; each further extension costs every visitor its download.
EXTENSIONS = ("anywidget", "@jupyter-widgets/jupyterlab-manager", "@voila-dashboards/widgets-manager8")


def own_notebooks() -> Path:
    """Return the folder of the pages: inside the package where installed, else in the checkout."""
    installed = PACKAGE / "notebooks"
    return installed if installed.exists() else PACKAGE.parent / "notebooks"


def voila_arguments(
    notebooks: Path,
    port: int = 8866,
    ip: str = "127.0.0.1",
    warm_kernels: int = 1,
    cull_after_s: int = 600,
    base_url: str = "/",
    open_browser: bool = False,
) -> list[str]:
    """Return Voila's command line for a notebook or a folder of them.

    ``warm_kernels`` started ahead for each page make it open in seconds; each takes about 62 MB.
    ``cull_after_s``: a kernel whose page is gone ends when it has been idle that long. No visitor may pick
    another template, no source and no traceback is sent, and nothing but notebooks is served.
    """
    _check(notebooks, port)
    checks.whole("warm_kernels", warm_kernels, 0, 200, "kernels")
    cull_after_s = checks.whole("cull_after_s", cull_after_s, 5, 86_400, "seconds")
    return [
        str(notebooks),
        f"--Voila.ip={ip}",
        f"--port={port}",
        f"--Voila.base_url={_slashed(base_url)}",
        *([] if open_browser else ["--no-browser"]),
        "--template=npcmem",
        "--strip_sources=True",
        "--show_tracebacks=False",
        *(f"--VoilaConfiguration.extension_allowlist={name}" for name in EXTENSIONS),
        "--VoilaConfiguration.allow_template_override=NO",
        "--VoilaConfiguration.allow_theme_override=NO",
        f"--preheat_kernel={warm_kernels > 0}",
        *([f"--pool_size={warm_kernels}"] if warm_kernels else []),
        f"--MappingKernelManager.cull_idle_timeout={cull_after_s}",
        f"--MappingKernelManager.cull_interval={max(min(cull_after_s // 5, 60), 1)}",
        "--MappingKernelManager.cull_connected=False",
        "--Voila.log_level=ERROR",
        "--Voila.port_retries=0",
    ]


def _check(notebooks: Path, port: int) -> None:
    if not notebooks.exists():
        raise ValueError(f"notebooks must be a notebook or a folder of notebooks, got {str(notebooks)!r}: no such file")
    if not shelf_of(notebooks).served:
        raise ValueError(f"notebooks must be a folder with notebooks, got {str(notebooks)!r}: no .ipynb in it")
    checks.whole("port", port, 1, 65_535, "(port number)")


def _slashed(base_url: str) -> str:
    return f"/{base_url.strip('/')}/".replace("//", "/")


def _check_free(ip: str, port: int) -> None:
    """Raise ValueError where a server cannot listen at each of the addresses, IPv4 or IPv6, that ``ip`` stands for."""
    from tornado.netutil import bind_sockets  # as both servers do

    try:
        for probe in bind_sockets(port, ip):
            probe.close()
    except OSError as error:
        raise ValueError(
            f"port {port} of {ip} cannot be used ({error.strerror}); choose another with --port or --ip"
        ) from None


def _host(ip: str) -> str:
    """Return an address as it stands in a link: IPv6 in brackets."""
    return f"[{ip}]" if ":" in ip else ip


def serve(notebooks: Path, **settings: int | str | bool) -> None:
    """Serve the pages until stopped; settings as for ``voila_arguments``. ValueError where the port is taken."""
    arguments = voila_arguments(notebooks, **settings)
    ip, port, base_url = (settings.get(name, start) for name, start in DEFAULTS.items())
    _check_free(ip, port)
    from npcmem.serve.site import Site

    paths = [str(SHARE), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    os.environ["JUPYTER_PATH"] = os.pathsep.join(paths)
    os.environ.setdefault("JUPYTER_WIDGETS_ECHO", "0")  # a slider's own move need not come back to it
    print(
        f"npcmem: http://{_host(ip)}:{port}{_slashed(base_url)} is ready in a few seconds; Ctrl+C stops it", flush=True
    )
    site = Site.instance()
    site.shelf = shelf_of(notebooks)
    site.initialize(arguments)
    site.start()


def serve_to_a_crowd(
    notebooks: Path, port: int = 8866, ip: str = "127.0.0.1", base_url: str = "/", open_browser: bool = False
) -> None:
    """Serve the same pages in one process and without kernels until stopped. ValueError where the port is taken."""
    _check(notebooks, port)
    _check_free(ip, port)
    from npcmem.serve.crowd import serve_crowd

    serve_crowd(notebooks, port, ip, _slashed(base_url), _host(ip), open_browser)
