"""Closing a stream stops the run: promptly, at every depth, sync and async."""

import asyncio
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any, TypedDict

import pytest

from plait.callbacks import BaseCallbackHandler
from plait.checkpoint.log.requests import ReadLane
from plait.checkpoint.memory import InMemorySaver
from plait.config import get_stream_writer
from plait.drivers.backlog import BACKLOG
from plait.errors import NodeCancelledError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.scope import current_scope


class State(TypedDict, total=False):
    x: int


def graph_of(*nodes: Any, **compiled: Any) -> Any:
    builder = StateGraph(State)
    before = START
    for index, node in enumerate(nodes):
        builder.add_node(f"n{index}", node).add_edge(before, f"n{index}")
        before = f"n{index}"
    return builder.compile(**compiled)


def nested(depth: int, make: Callable[..., Any], **compiled: Any) -> Any:
    graph = make()
    for _ in range(depth):
        graph = graph_of(graph)
    if compiled:
        graph = graph_of(graph, **compiled)
    return graph


class Endless:
    """A sync node that writes until it is stopped, and remembers how it was."""

    def __init__(self) -> None:
        self.stopped_by: BaseException | None = None
        self.after = 0

    def __call__(self, state: State) -> None:
        write = get_stream_writer()
        try:
            while True:
                write("chunk")
        except BaseException as error:
            self.stopped_by = error
            raise

    def next(self, state: State) -> None:
        self.after += 1


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_closing_a_sync_stream_stops_a_node_that_writes(depth: int) -> None:
    node = Endless()
    graph = nested(depth, lambda: graph_of(node, node.next))
    stream = graph.stream({}, stream_mode="custom", subgraphs=True)
    next(stream)
    stream.close()
    assert isinstance(node.stopped_by, NodeCancelledError)
    assert node.after == 0


def test_a_blocked_writer_is_let_go_when_the_stream_is_closed() -> None:
    node = Endless()
    stream = graph_of(node).stream({}, stream_mode="custom")
    for _ in range(BACKLOG // 2):
        next(stream)
    stream.close()
    assert isinstance(node.stopped_by, NodeCancelledError)


def test_dropping_a_sync_stream_closes_it() -> None:
    node = Endless()
    for _ in graph_of(node).stream({}, stream_mode="custom"):
        break
    gc.collect()
    assert isinstance(node.stopped_by, NodeCancelledError)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_silent_nested_graph_starts_no_further_step_when_the_outer_stream_is_closed(
    depth: int,
) -> None:
    inside = threading.Event()
    later: list[str] = []

    def first(state: State) -> None:
        scope: Any = current_scope.get()
        inside.set()
        while not scope.run.stopped():
            inside.wait(0.001)

    def second(state: State) -> None:
        later.append("ran")

    def beside(state: State) -> None:
        inside.wait()
        get_stream_writer()("now")

    inner = nested(depth - 1, lambda: graph_of(first, second))
    builder = StateGraph(State).add_node("inner", inner).add_node("beside", beside)
    graph = builder.add_edge(START, "inner").add_edge(START, "beside").compile()
    stream = graph.stream({}, stream_mode="custom")
    assert next(stream) == "now"
    stream.close()
    assert later == []


class AsyncEndless:
    """An async node that writes and sleeps until it is cancelled."""

    def __init__(self, silent: bool = False) -> None:
        self.began = asyncio.Event()
        self.cancelled = False
        self.silent = silent

    async def __call__(self, state: State) -> None:
        write = get_stream_writer()
        self.began.set()
        try:
            while True:
                if not self.silent:
                    write("chunk")
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_aclose_cancels_an_async_node(depth: int) -> None:
    node = AsyncEndless()
    graph = nested(depth, lambda: graph_of(node))
    stream = graph.astream({}, stream_mode="custom", subgraphs=True)
    await anext(stream)
    await stream.aclose()
    assert node.cancelled


@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_aclose_cancels_an_async_node_that_says_nothing(depth: int) -> None:
    node = AsyncEndless(silent=True)

    async def beside(state: State) -> None:
        await node.began.wait()
        get_stream_writer()("now")

    inner = nested(depth, lambda: graph_of(node))
    builder = StateGraph(State).add_node("inner", inner).add_node("beside", beside)
    graph = builder.add_edge(START, "inner").add_edge(START, "beside").compile()
    stream = graph.astream({}, stream_mode="custom")
    assert await anext(stream) == "now"
    await stream.aclose()
    assert node.cancelled


async def test_leaving_an_async_stream_by_break_cancels_the_run() -> None:
    node = AsyncEndless()
    async for _ in graph_of(node).astream({}, stream_mode="custom"):
        break
    while not node.cancelled:  # the event loop closes the dropped stream on its own
        await asyncio.sleep(0)


async def test_cancelling_the_consumer_cancels_the_run() -> None:
    node = AsyncEndless()

    async def consume() -> None:
        async for _ in graph_of(graph_of(node)).astream({}, stream_mode="custom", subgraphs=True):
            pass

    consumer = asyncio.create_task(consume())
    await node.began.wait()
    consumer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consumer
    assert node.cancelled


async def test_a_sync_node_of_an_async_run_is_stopped_where_it_writes() -> None:
    node = Endless()
    stream = graph_of(node).astream({}, stream_mode="custom")
    await anext(stream)
    await stream.aclose()
    assert isinstance(node.stopped_by, NodeCancelledError)


async def test_closing_an_event_stream_cancels_the_run() -> None:
    node = AsyncEndless()
    events = graph_of(graph_of(node)).astream_events({})
    async for event in events:
        if event["name"] == "n0" and len(event["parent_ids"]) > 2:
            break
    await events.aclose()
    assert node.cancelled


async def test_streams_that_the_collector_finds_in_circles_are_closed_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a server leaves them whose clients went away. It closes what it finds in any order."""
    stopped = [asyncio.Event() for _ in range(10)]
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

    async def node(state: State) -> None:
        get_stream_writer()("begun")
        try:
            await asyncio.Event().wait()
        finally:
            stopped[state.get("x", 0)].set()

    saver = InMemorySaver()
    graph = graph_of(node, checkpointer=saver)

    async def leave(number: int) -> None:
        config = {"configurable": {"thread_id": str(number)}}
        stream = graph.astream({"x": number}, config, stream_mode="custom")
        assert await anext(stream) == "begun"
        circle: list[Any] = [stream]
        circle.append(circle)

    gc.disable()
    try:
        for number in range(10):
            await leave(number)
        gc.collect()
    finally:
        gc.enable()
    async with asyncio.timeout(60):
        for number in range(10):
            await stopped[number].wait()
            while saver.execute(ReadLane(str(number), "")).owner is not None:
                await asyncio.sleep(0)  # what closes it has some turns of the loop left
    assert told == []


def test_a_closed_run_gives_its_thread_back_and_goes_on_later() -> None:
    saver = InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    ran: list[str] = []

    def first(state: State) -> dict[str, int]:
        ran.append("first")
        return {"x": 1}

    def second(state: State) -> dict[str, int]:
        ran.append("second")
        return {"x": state["x"] + 1}

    graph = graph_of(first, second, checkpointer=saver)
    stream = graph.stream({}, config, stream_mode=["updates", "messages"])
    next(stream)
    stream.close()
    assert graph.invoke(None, config) == {"x": 2}
    assert ran == ["first", "second"]


class Done(TypedDict, total=False):
    quick: str
    slow: str


def until_stopped() -> None:
    """Hold a sync task until its run is being stopped; it goes on to its end all the same."""
    scope: Any = current_scope.get()
    while not scope.run.driver.is_cancelled(scope.task):
        threading.Event().wait(0.001)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("called", [False, True], ids=["node", "called task"])
def test_what_was_done_while_a_stream_was_closed_is_not_done_again(
    durability: Any, is_async: bool, called: bool
) -> None:
    ran: list[str] = []
    closing = True

    def quick() -> str:
        ran.append("quick")
        return "quick"

    def slow() -> str:
        if closing:
            until_stopped()
        ran.append("slow")
        return "slow"

    def workflow() -> Any:
        if not called:
            builder: Any = StateGraph(Done)
            for code in (quick, slow):
                builder.add_node(code.__name__, lambda state, code=code: {code.__name__: code()})
                builder.add_edge(START, code.__name__)
            return builder.compile(checkpointer=InMemorySaver())
        if is_async:

            async def amain(given: Any) -> Any:
                calls = [task(slow)(), task(quick)()]
                return [await call for call in calls]

            return entrypoint(checkpointer=InMemorySaver())(amain)

        def main(given: Any) -> Any:
            return [call.result() for call in [task(slow)(), task(quick)()]]

        return entrypoint(checkpointer=InMemorySaver())(main)

    graph = workflow()
    config: Any = {"configurable": {"thread_id": "1"}}
    options: Any = {"durability": durability, "stream_mode": "updates"}

    async def closed_in_a_loop() -> None:
        stream = graph.astream({}, config, **options)
        assert "quick" in await anext(stream)
        await stream.aclose()

    if is_async:
        asyncio.run(closed_in_a_loop())
    else:
        stream = graph.stream({}, config, **options)
        assert "quick" in next(stream)
        stream.close()
    assert ran == ["quick", "slow"]
    closing = False
    if is_async:
        asyncio.run(graph.ainvoke(None, config))
    else:
        graph.invoke(None, config)
    assert ran == ["quick", "slow"]


def test_those_who_listen_hear_that_a_stream_was_closed() -> None:
    heard: list[str] = []

    class Listener(BaseCallbackHandler):
        def on_chain_error(self, error: BaseException, **rest: Any) -> None:
            heard.append(type(error).__name__)

    node = Endless()
    stream = graph_of(node).stream({}, {"callbacks": [Listener()]}, stream_mode="custom")
    next(stream)
    stream.close()
    assert heard == ["NodeCancelledError", "GeneratorExit"]
