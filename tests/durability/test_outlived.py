"""Graphs that outlive the run which called them: they go on, and the thread is free."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Event
from typing import Any

import pytest

from plait.errors import UnstoredWarning
from plait.types import Command, interrupt

from .graphs import CONFIG, Items, adder, chain


def stored(saver: Any) -> list[str]:
    """The namespace of each checkpoint of the thread."""
    return [each.config["configurable"]["checkpoint_ns"] for each in saver.list(CONFIG)]


@pytest.mark.parametrize("memory", [None, True], ids=["steps", "memory"])
@pytest.mark.parametrize("began", [False, True], ids=["later", "before"])
def test_a_graph_that_outlives_its_run_leaves_the_thread_free(
    saver: Any, memory: bool | None, began: bool
) -> None:
    inside, ended = Event(), Event()

    def wait(state: Items) -> Items:
        inside.set()
        assert ended.wait(30)
        return {"items": ["late"]}

    inner = chain(memory, ("a", adder("a")), ("wait", wait), ("b", adder("b")))

    def end(left: Future[Any]) -> Any:
        ended.set()
        return left.result(timeout=30)

    def outlive() -> Any:
        assert began or ended.wait(30)
        return inner.invoke({"items": []})

    with ThreadPoolExecutor(1) as pool:
        left: list[Future[Any]] = []

        def leave(state: Items) -> None:
            left.append(pool.submit(copy_context().run, outlive))
            assert not began or inside.wait(30)

        graph = chain(saver, ("leave", leave), ("outer", adder("outer")))
        graph.invoke({"items": []}, CONFIG)
        before = stored(saver)
        with pytest.warns(UnstoredWarning, match="has outlived the run that called it") as told:
            late = end(left[0])
        assert late == {"items": ["a", "late", "b"]}
        assert len(told) == 1
        assert stored(saver) == before
        assert graph.update_state(CONFIG, {"items": ["free"]})
        assert graph.get_state(CONFIG).values == {"items": ["outer", "free"]}


def test_a_turn_may_begin_while_a_graph_of_the_last_goes_on(saver: Any) -> None:
    async def main() -> None:
        held = asyncio.Event()

        async def wait(state: Items) -> Items:
            await held.wait()
            return {"items": ["late"]}

        inner = chain(None, ("wait", wait), ("b", adder("b")))
        left: list[asyncio.Task[Any]] = []

        async def leave(state: Items) -> Items:
            if not left:
                left.append(asyncio.create_task(inner.ainvoke({"items": []})))
                await asyncio.sleep(0)
            else:
                held.set()
                assert await left[0] == {"items": ["late", "b"]}
            return {"items": ["turn"]}

        graph = chain(saver, ("leave", leave))
        await graph.ainvoke({"items": []}, CONFIG)
        with pytest.warns(UnstoredWarning):
            turn = await graph.ainvoke({"items": []}, CONFIG)
        assert turn == {"items": ["turn", "turn"]}

    asyncio.run(main())


def test_an_answer_is_taken_while_a_graph_beside_the_one_that_asked_goes_on(saver: Any) -> None:
    """`gather` leaves what runs beside a call that raises, as a question does."""

    async def main() -> None:
        begun, held = asyncio.Event(), asyncio.Event()
        calls: list[asyncio.Task[Any]] = []

        async def ask(state: Items) -> Items:
            await begun.wait()
            return {"items": [interrupt("sure?")]}

        async def slow(state: Items) -> Items:
            begun.set()
            await held.wait()
            return {"items": ["slow"]}

        graphs = [chain(None, ("ask", ask)), chain(None, ("slow", slow), ("b", adder("b")))]

        async def both(state: Items) -> Items:
            calls[:] = [asyncio.create_task(graph.ainvoke({"items": []})) for graph in graphs]
            return {"items": [each["items"] for each in await asyncio.gather(*calls)]}

        graph = chain(saver, ("both", both))
        asked = await graph.ainvoke({"items": []}, CONFIG)
        assert [one.value for one in asked["__interrupt__"]] == ["sure?"]
        held.set()
        with pytest.warns(UnstoredWarning, match="gather with return_exceptions=True"):
            assert await calls[1] == {"items": ["slow", "b"]}
        done = await graph.ainvoke(Command(resume="yes"), CONFIG)
        assert done == {"items": [["yes"], ["slow", "b"]]}

    asyncio.run(main())
