"""Rows 1, 2 and 9: killed, failing and cancelled at storage requests."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

from tests.durability.test_faults import letting_go
from tests.durability.test_kill import OUTCOMES, Trial, check_outcome, crashing, play
from tests.durability.workflow import CONFIG, EXPECTED, Journal, build

from plait.errors import StorageError
from plait.testing import FaultySaver, InjectedFailure, auntil_done, until_done

from .parts import Figure, Scene

REQUESTS = 28
"""How many storage requests the longest of the killed workflows makes."""


def kills(seed: int, scene: Scene) -> Figure:
    """One run of a workflow, killed at a random storage request, and brought to its end.

    Each fifth writes behind (`async`): what is stored is a prefix, and goes on from there.
    """
    chance = Random(seed)
    flow, api = chance.choice(list(OUTCOMES)), chance.choice(["sync", "async"])
    durability = "async" if seed % 5 == 4 and flow == "fan" else "sync"
    point = chance.randint(1, REQUESTS)
    trial = Trial(flow, api, durability, chance.choice(["before", "after"]), (point,))

    def opened(_: Path, *options: Any) -> FaultySaver:
        return crashing(scene.db.open(), *options)

    result = play(trial, scene.folder / "trial", opened)
    check_outcome(trial, result)
    return {"runs": 1, "kills": result.deaths, "lost, repeated or re-run": 0}


def faults(seed: int, scene: Scene) -> Figure:
    """One storage request of the workflow fails: each one by each fault, through either API."""
    fault: Any = ("raise", "commit then raise", "hang")[seed % 3]
    point, api = 1 + seed // 6, ("sync", "async")[seed // 3 % 2]
    with scene.db.open() as inner:
        saver = FaultySaver(inner, at=point, fault=fault)
        graph = build(saver, Journal(scene.folder / "journal"), api)
        with letting_go(saver) if fault == "hang" else nullcontext():
            for _ in range(2):
                try:
                    _finish(graph, api)
                except (InjectedFailure, StorageError):
                    assert saver.failed
        saver.at = 0
        values = graph.get_state(CONFIG).values
        assert values == EXPECTED, f"{fault} at request {point}, {api}: {values}"
        hung = {f"hung, {api}": int(saver.failed and fault == "hang")}
        return {"points": int(saver.failed), **hung, "other states": 0}


def _finish(graph: Any, api: str) -> None:
    if api == "async":
        asyncio.run(auntil_done(graph, {"trail": []}, CONFIG, answer="yes"))
    else:
        until_done(graph, {"trail": []}, CONFIG, answer="yes")


class Cancelling:
    """Cancels a task at the nth storage request, before it is begun or once it is done."""

    target: Any = None
    at, after, requests = 0, False, 0

    async def aexecute(self, request: Any) -> Any:
        """Do a request."""
        self.requests += 1
        whole: Any = super()
        hit = self.requests == self.at
        if hit and not self.after:
            self.target.cancel()
        answer = await whole.aexecute(request)
        if hit and self.after:
            self.target.cancel()
        return answer


def cancels(seed: int, scene: Scene) -> Figure:
    """A run is cancelled at a storage request, or at a turn of the event loop."""
    threads = set(threading.enumerate())
    in_time = asyncio.run(_cancelled(seed, scene))
    gc.collect()
    new = [each.name for each in set(threading.enumerate()) - threads if each.is_alive()]
    assert len(new) <= 2, f"threads that nobody ends: {new}"
    if scene.db.kind == "postgres":
        scene.postgres.wait_until_left(scene.db.target)
    return {"cancels": int(in_time), "leaked tasks, threads, connections": 0}


async def _cancelled(seed: int, scene: Scene) -> bool:
    """Cancel a run, look for what it left behind, and finish its thread; whether it was in time."""
    async with scene.db.open(Cancelling) as saver:
        graph = build(saver, Journal(scene.folder / "journal"), "async")
        run = saver.target = asyncio.create_task(graph.ainvoke({"trail": []}, CONFIG))
        if seed % 3:
            saver.at, saver.after = 1 + seed // 3, seed % 3 == 2
        else:
            for _ in range(seed):
                await asyncio.sleep(0)
            run.cancel()
        try:
            await run
        except asyncio.CancelledError:
            pass
        saver.at = 0
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks live on: {left}"
        values = await auntil_done(graph, {"trail": []}, CONFIG, answer="yes")
        assert values == EXPECTED
        return run.cancelled()
