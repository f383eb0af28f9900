"""Event loops whose tasks begin at once (`asyncio.eager_task_factory` of Python 3.12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from tests.charges import twice_charging

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite.aio import AsyncSqliteSaver
from plait.common.rounds import task_maker
from plait.drivers.awaiting import InContext
from plait.func import entrypoint
from plait.graph import START, MessagesState, StateGraph
from plait.store.memory import InMemoryStore
from plait.types import Send

CONFIG: Any = {"configurable": {"thread_id": "1"}}


def _eager(loop: asyncio.AbstractEventLoop, code: Any, *, context: Any = None) -> Any:
    """What `asyncio.eager_task_factory` does, for Python 3.11: the code is begun here."""
    context = copy_context() if context is None else context
    try:
        waits_for = context.run(code.send, None)
    except StopIteration as end:
        rest = _ended(end.value, None)
    except Exception as error:
        rest = _ended(None, error)
    else:
        rest = _awaited(InContext(code, context, waits_for))
    return asyncio.Task(rest, loop=loop)


async def _ended(value: Any, error: Exception | None) -> Any:
    if error is not None:
        raise error
    return value


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


@pytest.fixture
def eagerly() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a program in such a loop."""
    factory = getattr(asyncio, "eager_task_factory", _eager)

    async def run(code: Coroutine[Any, Any, Any]) -> Any:
        asyncio.get_running_loop().set_task_factory(factory)
        return await asyncio.wait_for(code, 10)

    return lambda code: asyncio.run(run(code))


def test_calls_of_tasks_are_heard(eagerly: Any) -> None:
    seen: list[str] = []
    twice = twice_charging(seen)

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(x: int) -> Any:
        both = await asyncio.gather(twice("a"), asyncio.create_task(twice("b")))
        return [await twice("c"), *both]

    assert eagerly(flow.ainvoke(1, CONFIG)) == ["ccc!c!", "aaa!a!", "bbb!b!"]
    assert sorted(seen) == ["a", "a!", "b", "b!", "c", "c!"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_runs_store_and_stream(eagerly: Any, tmp_path: Path, durability: Any) -> None:
    async def say(state: Any) -> Any:
        return {"messages": [f"from {state['n']}"]}

    async def main() -> Any:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            builder: Any = StateGraph(MessagesState)
            builder.add_node("say", say)
            builder.add_conditional_edges(
                START, lambda _: [Send("say", {"n": n}) for n in range(9)]
            )
            graph = builder.compile(checkpointer=saver)
            stream = graph.astream(
                {"messages": "go"}, CONFIG, stream_mode="updates", durability=durability
            )
            parts = [part async for part in stream]
            runs = [
                graph.ainvoke({"messages": "go"}, {"configurable": {"thread_id": str(n)}})
                for n in range(2, 6)
            ]
            others = await asyncio.gather(*runs)
            said = (await graph.aget_state(CONFIG)).values["messages"]
            return len(parts), [m.content for m in said], {len(o["messages"]) for o in others}

    parts, said, others = eagerly(main())
    assert parts == 9
    assert said == ["go", *(f"from {n}" for n in range(9))]
    assert others == {10}


def test_stores_answer_more_than_once(eagerly: Any) -> None:
    async def main() -> Any:
        store = InMemoryStore()
        for n in range(3):
            await store.aput(("a",), "k", {"n": n})
        return await store.aget(("a",), "k")

    assert eagerly(main()).value == {"n": 2}


def test_code_that_is_cancelled_before_it_began_is_closed(eagerly: Any) -> None:
    seen: list[str] = []

    async def work() -> None:
        seen.append("begun")

    async def main() -> None:
        made = task_maker(asyncio.get_running_loop())(work())
        assert not seen
        made.cancel()
        await asyncio.wait([made])
        assert made.cancelled()

    eagerly(main())
    assert not seen
