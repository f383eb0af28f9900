"""Stores that do what is asked for at one moment as one batch, under more than one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from threading import Event, Thread
from typing import Any

from plait.store.base import Item, Op, Result
from plait.store.base.batch import AsyncBatchedBaseStore
from plait.store.memory import InMemoryStore

PLACE = (("u",), "k")


class Batched(AsyncBatchedBaseStore):
    """Over a store in memory; the first batch waits for `gate`."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = InMemoryStore()
        self.gate = asyncio.Event()
        self.entered = Event()
        self.loops: set[Any] = set()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        self.loops.add(asyncio.get_running_loop())
        self.entered.set()
        await self.gate.wait()
        return self.inner.batch(ops)


async def test_what_is_asked_for_on_another_running_loop_is_done_on_the_first() -> None:
    store = Batched()
    asked, told = Event(), Event()
    found: list[Item | None] = []

    async def read() -> None:
        reading = asyncio.ensure_future(store.aget(*PLACE))
        await asyncio.sleep(0)
        asked.set()
        found.append(await reading)

    def elsewhere() -> None:
        # In debug mode a loop refuses what another thread does to it, and would not hear of.
        asyncio.run(read(), debug=True)
        told.set()

    first = asyncio.ensure_future(store.aput(*PLACE, {"n": 1}))
    assert await asyncio.to_thread(store.entered.wait, 20)
    Thread(target=elsewhere, daemon=True).start()
    assert await asyncio.to_thread(asked.wait, 20)
    store.gate.set()
    await first
    assert await asyncio.to_thread(told.wait, 20)
    assert [item and item.value for item in found] == [{"n": 1}]
    assert store.loops == {asyncio.get_running_loop()}


def test_a_loop_that_stands_still_is_followed_by_the_next() -> None:
    still = asyncio.new_event_loop()
    try:
        store = Batched()
        waiting = still.create_task(store.aput(*PLACE, {"n": 1}))
        for _ in range(3):
            still.run_until_complete(asyncio.sleep(0))
        assert store.entered.is_set()

        async def next_one() -> Item | None:
            store.gate = asyncio.Event()
            store.gate.set()
            await asyncio.wait_for(store.aput(*PLACE, {"n": 2}), 20)
            return await asyncio.wait_for(store.aget(*PLACE), 20)

        item = asyncio.run(next_one())
        assert item is not None
        assert item.value == {"n": 2}
        assert not waiting.done()
        left = asyncio.all_tasks(still)
        for task in left:
            task.cancel()
        still.run_until_complete(asyncio.wait(left))
    finally:
        still.close()
