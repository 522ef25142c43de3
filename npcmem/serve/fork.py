"""Kernels that start in a moment: forked from a process that has already imported what every page needs.

A kernel takes about two seconds of a core to start, most of it for imports. When a class arrives that is a minute of
waiting, and those who are already there wait along.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.metadata import EntryPoint
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

NAME = "npcmem-fork"
LAUNCHER = ["-m", "ipykernel_launcher"]
# Not ipywidgets nor what imports it: it looks for its kernel when it is imported.
PRELOADED = ["ipykernel.kernelapp", "scipy.special", "npcmem.claim_checks", "npcmem.estimate", "npcmem.plots"]


def fork_kernels() -> None:
    """Let the servers of this process fork their kernels, where the system can; called before the first one starts."""
    if sys.platform != "linux":
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with threads is not one to fork
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(NAME, f"{__name__}:ForkProvisioner", factory.GROUP_NAME)
    factory.default_provisioner_name = NAME


class Forked:
    """A forked kernel, as far as jupyter_client asks of a subprocess."""

    stdin = stdout = stderr = None

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Wait for its end; return the exit code."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, signum: int) -> None:
        """Send a signal, to it alone."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()


class ForkProvisioner(LocalProvisioner):
    """Starts Python kernels of this environment by forking, all others as usual."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Launch a kernel and return how it is reached."""
        if cmd[1:3] != LAUNCHER or os.path.realpath(cmd[0]) != os.path.realpath(sys.executable):
            return await super().launch_kernel(cmd, **kwargs)
        where = kwargs.get("cwd") or os.getcwd()
        process = get_context("forkserver").Process(target=_run, args=(cmd[3:], kwargs["env"], where), daemon=True)
        process.start()
        self.process, self.pid, self.pgid, self.cwd = Forked(process), process.pid, None, where
        return self.connection_info


def _run(argv: list[str], env: dict[str, str], cwd: str) -> None:
    os.setsid()  # Ctrl+C in the server's terminal is for the server
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = [LAUNCHER[1], *argv]
    IPKernelApp.launch_instance(argv=[*argv, f"--IPKernelApp.parent_handle={os.getppid()}", "--log-level=ERROR"])


def _end_with_the_server() -> None:
    parent_process().join()
    os._exit(0)
