"""Kernels kept warm: alive when a visitor gets them, and replaced aside from who is there already."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("voila")

from npcmem.serve import pool as warm
from tests import pages
from tests.visitors import VoilaVisitor


def pool_of(start) -> SimpleNamespace:
    """Return a manager of one pool, whose kernels ``start`` as Voila starts them, that hands out the first of it."""

    async def rendered(notebook_name: str) -> dict:
        return await manager._pools[notebook_name].pop(0)

    manager = SimpleNamespace(_initialize=start, get_rendered_notebook=rendered, _pools={"a": []}, fill_delay=1)
    return manager


@pytest.mark.parametrize("ready", [True, False])
def test_a_pool_is_refilled_once_the_page_stands_or_somebody_waits_for_it(monkeypatch, ready):
    monkeypatch.setattr(warm, "REFILL_AFTER_S", 0.3)

    async def start() -> dict:
        return {"task": asyncio.ensure_future(asyncio.sleep(0)), "at_s": asyncio.get_running_loop().time()}

    async def visit() -> tuple[float, dict, list]:
        manager = pool_of(start)
        warm.refill_aside(manager)
        assert manager.fill_delay == 0  # the wait is ours
        pool = manager._pools["a"]
        begun_s = asyncio.get_running_loop().time()
        pool += [asyncio.ensure_future(start())] if ready else []
        pool.append(asyncio.ensure_future(manager._initialize()))
        await asyncio.sleep(0.05)
        handed = await manager.get_rendered_notebook(notebook_name="a")
        return begun_s, handed, [await one for one in pool]

    begun_s, handed, left = asyncio.run(visit())
    assert handed["at_s"] - begun_s < 0.25  # of a pool that is empty the visitor does not wait for the refill's hour
    assert all(one["at_s"] - begun_s >= 0.29 for one in left) and len(left) == ready


@pytest.mark.parametrize(("cores", "at_once"), [(1, 1), (2, 1), (8, 7), (None, 1)])
def test_kernels_started_ahead_leave_a_core_to_who_is_there(monkeypatch, cores, at_once):
    monkeypatch.setattr(warm.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(warm, "REFILL_AFTER_S", 0.01)
    running, most = 0, 0

    async def run_notebook() -> None:
        nonlocal running
        await asyncio.sleep(0.01)
        running -= 1

    async def start(name: str) -> dict:
        nonlocal running, most
        running += 1
        most = max(most, running)
        return {"task": asyncio.ensure_future(run_notebook()), "name": name}

    async def fill() -> list[str]:
        manager = pool_of(start)
        warm.refill_aside(manager)
        started = await asyncio.gather(*(manager._initialize(str(at)) for at in range(12)))
        await asyncio.gather(*(one["task"] for one in started))
        return [one["name"] for one in started]

    assert asyncio.run(fill()) == [str(at) for at in range(12)]
    assert most == at_once


def test_a_kernel_that_does_not_start_keeps_no_other_from_it(monkeypatch):
    monkeypatch.setattr(warm, "REFILL_AFTER_S", 0.01)

    async def fail() -> dict:
        raise OSError("no more processes")

    async def fill() -> list[BaseException]:
        manager = pool_of(fail)
        warm.refill_aside(manager)
        tries = asyncio.gather(*(manager._initialize() for _ in range(3)), return_exceptions=True)
        return await asyncio.wait_for(tries, 5)

    assert [str(fault) for fault in asyncio.run(fill())] == ["no more processes"] * 3


@pytest.mark.parametrize(("folder", "through"), [("/tmp", "ipc"), ("/tmp/" + "x" * 60, "tcp"), ("/" + "ü" * 30, "tcp")])
def test_kernels_talk_through_sockets_where_their_paths_are_short_enough(folder, through):
    assert warm.transport(Path(folder)) == through


def test_what_was_kept_of_a_request_goes_with_its_kernel(monkeypatch):
    monkeypatch.setattr(warm.RequestInfoSocketHandler, "_cache", {"a": {}, "b": {}})
    manager = Dying([], [])
    warm.forget_the_ended(manager)
    for kernel in ("a", "nobody's"):
        asyncio.run(manager.shutdown_kernel(kernel, now=True))
    assert list(warm.RequestInfoSocketHandler._cache) == ["b"] and manager.ended == ["a", "nobody's"]


# --- kernels that die ------------------------------------------------------------------------------

HEAD, REST = "links", "page"


class Dying:
    """A manager as Voila's, whose kernels wait, dead or alive, and are started once none is left that waits.

    ``waiting`` and ``starting``: of each kernel the moment it dies, "waiting", "starting", "spawning", or "" for none.
    """

    def __init__(self, waiting: list[str], starting: list[str]) -> None:
        self.dies = [*waiting, *starting]
        self.ended: list[str] = []
        self.refills = 0
        self.log = SimpleNamespace(warning=lambda *args, **rest: None)

    async def get_rendered_notebook(self, notebook_name: str) -> warm.Handed:
        at, dies = str(len(self.ended)), self.dies.pop(0)
        if dies == "spawning":
            raise OSError("no more processes")
        task = asyncio.ensure_future(self.run(at, dies))
        if dies == "failed":
            await asyncio.wait([task])
        self.alive = dies != "waiting"
        return task, [HEAD], at

    async def run(self, at: str, dies: str) -> tuple[list[str], object]:
        await asyncio.sleep(0)
        if dies in ("starting", "failed"):
            raise RuntimeError("Kernel died before replying to kernel_info")
        return [HEAD, f"kernel {at}"], self.coming(dies)

    async def coming(self, dies: str) -> object:
        if dies == "running":  # it starts only here where a visitor came before it did
            raise RuntimeError("Kernel died before replying to kernel_info")
        yield REST, {}

    def get_kernel(self, kernel_id: str) -> SimpleNamespace:
        async def is_alive() -> bool:
            return self.alive

        return SimpleNamespace(is_alive=is_alive)

    async def shutdown_kernel(self, kernel_id: str, now: bool) -> None:
        assert now
        self.ended.append(kernel_id)

    def fill_if_needed(self, notebook_name: str) -> None:
        self.refills += 1


def visit(manager: Dying) -> list[str]:
    """Return the parts of a page as Voila sends them: those that stand, those of the task, those to come."""

    async def sent() -> list[str]:
        warm.hand_out_alive(manager)
        task, head, _ = await manager.get_rendered_notebook("a")
        head = [*head]
        parts, coming = await task
        return [*head, *parts[len(head) :], *[part async for part, _ in coming]]

    return asyncio.run(asyncio.wait_for(sent(), 5))


@pytest.mark.parametrize(
    "dies",
    [[], ["waiting"], ["failed"], ["starting"], ["running"], ["waiting"] * 9, ["waiting", "failed", "starting"]],
    ids=" ".join,
)
def test_whoever_comes_gets_a_page_of_a_kernel_that_lives(dies):
    manager = Dying(dies, [""])
    assert visit(manager) == [HEAD, f"kernel {len(dies)}", REST]
    assert manager.ended == [str(at) for at in range(len(dies))]  # each dead one once


def test_where_no_kernel_starts_a_visitor_is_told_soon():
    manager = Dying([], ["starting"] * 9)
    with pytest.raises(RuntimeError, match="died before"):
        visit(manager)
    assert len(manager.dies) == 9 - warm.TRIES


def test_a_pool_whose_kernels_could_not_be_spawned_is_filled_again():
    manager = Dying([], ["spawning", ""])
    with pytest.raises(OSError, match="no more"):
        visit(manager)
    assert manager.refills == 1


async def arrive_and_move(url: str) -> VoilaVisitor:
    here = VoilaVisitor(url, "")
    await asyncio.wait_for(here.arrive(), 60)
    await asyncio.wait_for(here.move(), 30)
    here.leave()
    return here


async def come_while_kernels_die(url: str, process: object, deaths: int) -> int:
    """Come while a kernel starts, of which as many as ``deaths`` are killed at once; return how many were."""
    known = set(pages.kernels(process))
    visit, killed, until = asyncio.ensure_future(arrive_and_move(url)), 0, time.monotonic() + 60
    while not visit.done() and time.monotonic() < until:
        for kernel in set(pages.kernels(process)) - known:
            known.add(kernel)
            if killed < deaths:
                kernel.kill()
                killed += 1
        await asyncio.sleep(0.01)
    assert (await visit).asked == 1
    return killed


@pytest.mark.slow
def test_a_page_of_voila_works_though_the_kernels_that_waited_or_started_were_killed():
    with pages.voila(warm_kernels=2) as (url, process):
        waiting = pages.kernels(process)
        for kernel in waiting:
            kernel.kill()
        until = time.monotonic() + 10
        while set(waiting) & set(pages.kernels(process)) and time.monotonic() < until:  # it takes some milliseconds
            time.sleep(0.05)
        asyncio.run(arrive_and_move(url))
        until = time.monotonic() + 30
        while len(pages.kernels(process)) < 3 and time.monotonic() < until:  # the visitor's and the two that wait
            time.sleep(0.2)
        time.sleep(3)
        for _ in range(2):
            asyncio.run(arrive_and_move(url))  # these are taken
        assert asyncio.run(come_while_kernels_die(url, process, deaths=2)) == 2
