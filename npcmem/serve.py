"""Start the pages: Voila with the settings that make it quick, quiet and safe to show."""

from __future__ import annotations

import os
from pathlib import Path

from npcmem import checks

SHARE = Path(__file__).parent / "share" / "jupyter"


def voila_arguments(
    notebooks: Path,
    port: int = 8866,
    ip: str = "127.0.0.1",
    warm_kernels: int = 2,
    cull_after_s: int = 600,
    base_url: str = "/",
    open_browser: bool = False,
) -> list[str]:
    """Return Voila's command line for a notebook or a folder of them.

    ``warm_kernels`` started ahead for each notebook make a page open in seconds. ``cull_after_s``: a kernel
    whose page is gone ends when it has been idle that long. No visitor may pick another template, no source
    and no traceback is sent, and nothing but notebooks is served.
    """
    if not notebooks.exists():
        raise ValueError(f"notebooks must be a notebook or a folder of notebooks, got {str(notebooks)!r}: no such file")
    checks.whole("port", port, 1, 65_535, "(port number)")
    checks.whole("warm_kernels", warm_kernels, 0, 200, "kernels")
    cull_after_s = checks.whole("cull_after_s", cull_after_s, 5, 86_400, "seconds")
    return [
        str(notebooks),
        f"--Voila.ip={ip}",
        f"--port={port}",
        f"--Voila.base_url={base_url}",
        *([] if open_browser else ["--no-browser"]),
        "--template=npcmem",
        "--strip_sources=True",
        "--show_tracebacks=False",
        "--VoilaConfiguration.extension_denylist=jupyterlab-plotly",
        "--VoilaConfiguration.allow_template_override=NO",
        "--VoilaConfiguration.allow_theme_override=NO",
        f"--preheat_kernel={warm_kernels > 0}",
        *([f"--pool_size={warm_kernels}"] if warm_kernels else []),
        f"--MappingKernelManager.cull_idle_timeout={cull_after_s}",
        f"--MappingKernelManager.cull_interval={max(min(cull_after_s // 5, 60), 1)}",
        "--MappingKernelManager.cull_connected=False",
        "--Voila.log_level=WARN",
    ]


def serve(notebooks: Path, **settings: int | str | bool) -> None:
    """Serve the pages until stopped; settings as for ``voila_arguments``."""
    arguments = voila_arguments(notebooks, **settings)
    paths = [str(SHARE), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    os.environ["JUPYTER_PATH"] = os.pathsep.join(paths)
    from voila.app import Voila

    Voila.launch_instance(arguments)
