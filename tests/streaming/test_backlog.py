"""A slow consumer bounds memory: what waits for it is counted, never timed."""

import asyncio
import contextvars
import threading
from typing import Any, TypedDict

import pytest

from plait.config import aemit_token, emit_token, get_stream_writer
from plait.drivers.backlog import BACKLOG
from plait.engine.limits import Limit
from plait.graph import START, StateGraph
from plait.types import TimeoutPolicy

MANY = 20 * BACKLOG
HELD = 2 * BACKLOG + 2
"""What a run may hold: what waits, what was taken to be handed out, one more of the writer."""


class State(TypedDict, total=False):
    x: int


def graph_of(node: Any, **more: Any) -> Any:
    builder = StateGraph(State).add_node("n", node).add_edge(START, "n")
    for name, other in more.items():
        builder.add_node(name, other).add_edge(START, name)
    return builder.compile()


class Writer:
    """A sync node that counts what it has written, and says when it is blocked or done."""

    def __init__(self, write: Any = None) -> None:
        self.written = 0
        self.ended = threading.Event()
        self.write = write

    def __call__(self, state: State) -> None:
        write = self.write or get_stream_writer()
        try:
            for n in range(MANY):
                write(n)
                self.written += 1
        finally:
            self.ended.set()


def until_still(writer: Writer) -> int:
    """What the writer has written once it writes no more. Who never stops fails here."""
    before = -1
    while writer.written != before and not writer.ended.is_set():
        before = writer.written
        writer.ended.wait(0.05)
    return writer.written


def test_a_sync_node_waits_for_a_slow_consumer() -> None:
    writer = Writer()
    stream = graph_of(writer).stream({}, stream_mode="custom")
    assert next(stream) == 0
    assert until_still(writer) <= HELD
    assert list(stream) == list(range(1, MANY))
    assert writer.written == MANY


def test_tokens_wait_like_custom_chunks() -> None:
    writer = Writer(lambda n: emit_token(f"{n} "))
    stream = graph_of(writer).stream({}, stream_mode="messages")
    next(stream)
    assert until_still(writer) <= HELD
    assert sum(1 for _ in stream) == MANY - 1


def test_writers_beside_each_other_share_the_room() -> None:
    writers = {name: Writer() for name in ("n", "m", "o")}
    stream = graph_of(node=writers["n"], m=writers["m"], o=writers["o"]).stream(
        {}, stream_mode="custom"
    )
    next(stream)
    assert sum(until_still(writer) for writer in writers.values()) <= HELD + len(writers)
    assert sum(1 for _ in stream) == 3 * MANY - 1


def test_a_nested_graph_waits_for_the_consumer_of_the_outer_one() -> None:
    writer = Writer()
    outer = graph_of(graph_of(writer))
    stream = outer.stream({}, stream_mode="custom", subgraphs=True)
    next(stream)
    assert until_still(writer) <= 2 * HELD  # each level holds its own
    assert sum(1 for _ in stream) == MANY - 1


def test_a_failure_beside_a_blocked_writer_reaches_the_consumer() -> None:
    writer = Writer()

    def fail(state: State) -> None:
        while writer.written < BACKLOG:
            writer.ended.wait(0.001)
        raise ValueError("beside")

    stream = graph_of(writer, fail=fail).stream({}, stream_mode="custom")
    with pytest.raises(ValueError, match="beside"):
        list(stream)


class AsyncWriter:
    """An async node that counts; it writes `at_once` chunks between two awaits."""

    def __init__(self, at_once: int = 1) -> None:
        self.written = 0
        self.at_once = at_once

    async def __call__(self, state: State) -> None:
        write = get_stream_writer()
        for start in range(0, MANY, self.at_once):
            for n in range(start, start + self.at_once):
                write(n)
                self.written += 1
            await asyncio.sleep(0)


async def turns(n: int) -> None:
    """Let the event loop go round `n` times: a writer that is not held back would be done."""
    for _ in range(n):
        await asyncio.sleep(0)


async def test_an_async_node_is_suspended_where_it_awaits() -> None:
    writer = AsyncWriter()
    stream = graph_of(writer).astream({}, stream_mode="custom")
    assert await anext(stream) == 0
    await turns(3 * MANY)
    assert writer.written <= HELD
    assert [part async for part in stream] == list(range(1, MANY))


async def test_between_two_awaits_an_async_node_writes_what_it_wants() -> None:
    writer = AsyncWriter(at_once=4 * BACKLOG)
    stream = graph_of(writer).astream({}, stream_mode="custom")
    await anext(stream)
    await turns(3 * MANY)
    assert writer.written <= 8 * BACKLOG
    assert sum([1 async for _ in stream]) == MANY - 1


async def test_tasks_that_a_node_creates_wait_in_aemit_token() -> None:
    sent = 0

    async def produce() -> None:
        nonlocal sent
        for n in range(MANY):
            await aemit_token(f"{n} ")
            sent += 1

    async def node(state: State) -> None:
        await asyncio.create_task(produce())

    stream = graph_of(node).astream({}, stream_mode="messages")
    await anext(stream)
    await turns(3 * MANY)
    assert sent <= HELD
    assert sum([1 async for _ in stream]) == MANY - 1


async def test_a_sync_node_of_an_async_run_waits_in_its_thread() -> None:
    writer = Writer()
    stream = graph_of(writer).astream({}, stream_mode="custom")
    await anext(stream)
    assert until_still(writer) <= HELD  # the event loop is blocked meanwhile: nobody takes
    assert sum([1 async for _ in stream]) == MANY - 1


async def test_nested_async_graphs_are_held_back_too() -> None:
    writer = AsyncWriter()
    outer = graph_of(graph_of(writer))
    stream = outer.astream({}, stream_mode="custom", subgraphs=True)
    await anext(stream)
    await turns(3 * MANY)
    assert writer.written <= 2 * HELD
    assert sum([1 async for _ in stream]) == MANY - 1


async def test_events_hold_back_the_run_between_its_steps() -> None:
    steps = 0

    def step(state: State) -> dict[str, int]:
        nonlocal steps
        steps += 1
        return {"x": steps}

    builder = StateGraph(State).add_node("step", step).add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if s["x"] < 500 else "__end__")
    events = builder.compile().astream_events({})
    await anext(events)
    await turns(20_000)
    held = steps
    assert held < 500
    assert sum([1 async for _ in events]) > 4 * 500
    assert steps == 500


def around(graph: Any, levels: int, **options: Any) -> Any:
    """The graph as the node of a graph, so many times."""
    for _ in range(levels):
        graph = StateGraph(State).add_node("n", graph, **options).add_edge(START, "n").compile()
    return graph


@pytest.mark.parametrize("levels", [0, 1, 4])
def test_chunks_come_through_all_levels_as_they_are_and_in_order(levels: int) -> None:
    written = [{"n": n} for n in range(3 * BACKLOG)]

    def node(state: State) -> State:
        for chunk in written:
            get_stream_writer()(chunk)
        return {"x": 1}

    graph = around(graph_of(node), levels)
    modes = ["custom", "values", "updates"]
    parts = list(graph.stream({}, stream_mode=modes, subgraphs=True))
    custom = [(ns, payload) for ns, mode, payload in parts if mode == "custom"]
    assert all(told is chunk for (_, told), chunk in zip(custom, written, strict=True))
    assert {len(ns) for ns, _ in custom} == {levels}
    assert [len(ns) for ns, mode, _ in parts if mode == "updates"] == list(range(levels, -1, -1))
    assert {type(part) for part in parts} == {tuple}
    first, last = (parts.index((*custom[n][:1], "custom", written[n])) for n in (0, -1))
    assert {mode for _, mode, _ in parts[first : last + 1]} == {"custom"}
    assert graph.invoke({}) == {"x": 1}


def test_what_is_written_deep_inside_is_a_sign_of_life_of_every_node_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signs: list[str] = []

    def refresh(limit: Any, *, heartbeat: bool = False) -> None:
        signs.append(limit.task.step.ns)

    def node(state: State) -> None:
        signs.clear()
        get_stream_writer()(1)
        told.append(len(set(signs)))

    told: list[int] = []
    monkeypatch.setattr(Limit, "refresh", refresh)
    patient = TimeoutPolicy(idle_timeout=10**6)
    limited = around(graph_of(node), 2, timeout=patient)
    list(around(limited, 2).stream({}, stream_mode="custom", subgraphs=True))
    assert told == [2]


@pytest.mark.parametrize("in_loop", [False, True], ids=["sync", "async"])
def test_a_writer_that_outlives_its_run_waits_for_nobody(in_loop: bool) -> None:
    """One part waits for room when the run ends, the others come after it."""
    writer, full = Writer(), threading.Event()
    threads: list[threading.Thread] = []

    def write(n: int) -> None:
        if n == BACKLOG:
            full.set()
        get_stream_writer()(n)

    writer.write = write

    def leave(state: State) -> None:
        run = contextvars.copy_context().run
        threads.append(threading.Thread(target=run, args=(writer, state), daemon=True))
        threads[0].start()
        assert full.wait(30)

    async def read() -> None:
        async for _ in graph_of(leave).astream({}, stream_mode="custom"):
            pass

    if in_loop:
        asyncio.run(read())
    else:
        list(graph_of(leave).stream({}, stream_mode="custom"))
    assert writer.ended.wait(30)
    assert writer.written == MANY


def test_tokens_of_a_task_that_outlives_its_run_wait_for_nobody() -> None:
    async def main() -> None:
        tasks: list[asyncio.Task[None]] = []

        async def tell() -> None:
            for _ in range(2):
                await asyncio.sleep(0)
            for _ in range(MANY):
                await aemit_token("x")

        async def leave(state: State) -> None:
            tasks.append(asyncio.create_task(tell()))

        async for _ in graph_of(leave).astream({}, stream_mode="messages"):
            pass
        await asyncio.wait_for(tasks[0], 60)

    asyncio.run(main())
