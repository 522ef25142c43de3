"""The kernels that Voila keeps warm: handed out alive and fresh, and replaced aside from who is there already."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import zmq
from jupyter_server._tz import utcnow
from voila.request_info_handler import RequestInfoSocketHandler

REFILL_AFTER_S = 2
TRIES = 3  # kernels that a visitor is given, one after the other, where they die while they start

Handed = tuple[asyncio.Task, list[str], str]  # that runs the page, the parts of it that stand, the kernel


def tend(manager: Any) -> None:
    """Let Voila's manager of kernels do all that this module names."""
    refill_aside(manager)
    hand_out_alive(manager)
    forget_the_ended(manager)


def transport(folder: Path) -> str:
    """Return how kernels are spoken to: through sockets below ``folder``, where their paths are short enough.

    Two kernels that start at once may choose the same port, and ports are open to whoever else uses the machine.
    """
    path = folder / "voila_12345678" / f"kernel-{uuid.UUID(int=0)}-ipc-5"
    return "ipc" if len(os.fsencode(path)) <= zmq.IPC_PATH_MAX_LEN else "tcp"


def refill_aside(manager: Any) -> None:
    """Start the kernels that refill the pools one after the other, and once those who took the last ones are served.

    A page opens while its kernel's successor would start, which takes as much of the processor as the page does. And
    when a class has emptied the pool, all of its kernels would start at once, and every slider would wait for them.
    Who finds no kernel ready is not kept waiting.
    """
    start, rendered = manager._initialize, manager.get_rendered_notebook
    wanted, free = asyncio.Event(), asyncio.Semaphore(max((os.cpu_count() or 2) - 1, 1))

    async def aside(*args: Any, **settings: Any) -> dict[str, Any]:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wanted.wait(), REFILL_AFTER_S)
        await free.acquire()
        try:
            started = await start(*args, **settings)
        except BaseException:
            free.release()
            raise
        started["task"].add_done_callback(lambda _: free.release())  # when the notebook has run
        return started

    async def asked(notebook_name: str, *args: Any, **settings: Any) -> Handed:
        if not any(kernel.done() for kernel in manager._pools.get(notebook_name, ())):
            wanted.set()
            wanted.clear()  # those who wait are woken all the same
        return await rendered(notebook_name, *args, **settings)

    manager._initialize, manager.get_rendered_notebook, manager.fill_delay = aside, asked, 0


def hand_out_alive(manager: Any) -> None:
    """Give no visitor a kernel that has died or could not run its page: the next one takes its place.

    The system may end a kernel that waits, and one that starts may fail to. The idle time of a warm kernel counts from
    when a visitor gets it: one that has waited long would be ended at once.
    """
    rendered = manager.get_rendered_notebook

    async def alive(notebook_name: str, *args: Any, **settings: Any) -> Handed:
        while True:
            try:
                task, head, kernel_id = await rendered(notebook_name, *args, **settings)
            except Exception:
                manager.fill_if_needed(notebook_name=notebook_name)  # what did not start has left the pool
                raise
            failed = task.done() and task.exception()
            if not failed and await manager.get_kernel(kernel_id).is_alive():
                manager.get_kernel(kernel_id).last_activity = utcnow()
                return task, head, kernel_id
            await manager.shutdown_kernel(kernel_id, now=True)

    async def page(handed: Handed, tries: int, *args: Any, **settings: Any) -> tuple[list[str], AsyncIterator]:
        task, head, kernel_id = handed
        try:
            parts, coming = await task
            return [*parts, *[part async for part, _ in coming]], _nothing()
        except Exception:
            if tries == 1 or kernel_id in "".join(head):
                raise
            manager.log.warning("kernel %s did not start; the next one runs the page", kernel_id, exc_info=True)
            await manager.shutdown_kernel(kernel_id, now=True)
        return await page(await alive(*args, **settings), tries - 1, *args, **settings)

    async def hand_out(*args: Any, **settings: Any) -> Handed:
        task, head, kernel_id = handed = await alive(*args, **settings)
        return asyncio.ensure_future(page(handed, TRIES, *args, **settings)), head, kernel_id

    manager.get_rendered_notebook = hand_out


def forget_the_ended(manager: Any) -> None:
    """Let what Voila keeps of a visitor's request go with the kernel; it would stay for as long as the server runs."""
    shut_down = manager.shutdown_kernel

    async def ended(kernel_id: str, *args: Any, **settings: Any) -> None:
        await shut_down(kernel_id, *args, **settings)
        RequestInfoSocketHandler._cache.pop(kernel_id, None)

    manager.shutdown_kernel = ended


async def _nothing() -> AsyncIterator[tuple[str, dict]]:
    return
    yield
