"""Ordinary programs keep working: half-read streams, nested runs, several runs on one thread."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from contextvars import ContextVar
from typing import Any

import pytest

from plait.errors import StorageUnavailableError, SupersededError, ThreadBusyError
from plait.scope import current_scope
from plait.types import Command, interrupt

from .graphs import CONFIG, abc, adder, async_adder, chain, fan

GAVE_UP = 30.0
who: ContextVar[str] = ContextVar("who", default="nobody")


# --- streams that are not read to their end ------------------------------------------------------


def test_half_read_stream_is_superseded_by_the_next_run(saver: Any) -> None:
    graph = abc(saver)
    stream = graph.stream({"items": []}, CONFIG, stream_mode="updates")
    assert next(stream) == {"a": {"items": ["a"]}}
    assert graph.invoke(None, CONFIG) == {"items": ["a", "b", "c"]}
    with pytest.raises(SupersededError):
        next(stream)
    assert graph.get_state(CONFIG).values == {"items": ["a", "b", "c"]}


async def test_half_read_astream_is_superseded_by_the_next_run(saver: Any) -> None:
    graph = abc(saver)
    stream = graph.astream({"items": []}, CONFIG, stream_mode="updates")
    assert await anext(stream) == {"a": {"items": ["a"]}}
    assert await graph.ainvoke(None, CONFIG) == {"items": ["a", "b", "c"]}
    with pytest.raises(SupersededError):
        await anext(stream)


def test_half_read_stream_with_branches_is_superseded(saver: Any) -> None:
    graph = fan(saver, ("a", adder("a")), ("b", adder("b")))
    stream = graph.stream({"items": []}, CONFIG, stream_mode="updates")
    next(stream)
    result = graph.invoke(None, CONFIG)
    assert result == {"items": ["a", "b", "last"]}
    with pytest.raises(SupersededError):
        for _ in stream:
            pass


@pytest.mark.parametrize("mode", ["values", "updates", "custom", "tasks", "checkpoints"])
def test_break_from_stream_then_invoke(saver: Any, mode: str) -> None:
    graph = chain(saver, *[(name, writing(name)) for name in "abc"])
    for _ in graph.stream({"items": ["x"]}, CONFIG, stream_mode=mode):
        break
    assert graph.invoke(None, CONFIG) == {"items": ["x", "a", "b", "c"]}


def writing(name: str) -> Any:
    def node(state: Any, writer: Any) -> dict[str, Any]:
        writer(name)
        return {"items": [name]}

    return node


@pytest.mark.parametrize("mode", ["values", "updates", "custom", "tasks", "checkpoints"])
async def test_break_from_astream_then_ainvoke(saver: Any, mode: str) -> None:
    problems: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
    graph = chain(saver, *[(name, writing(name)) for name in "abc"])
    async for _ in graph.astream({"items": ["x"]}, CONFIG, stream_mode=mode):
        break
    assert await graph.ainvoke(None, CONFIG) == {"items": ["x", "a", "b", "c"]}
    gc.collect()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert problems == []


async def test_break_from_astream_while_branches_run_then_ainvoke(saver: Any) -> None:
    problems: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
    slow: list[int] = []

    async def wait_first_time(state: Any) -> dict[str, Any]:
        slow.append(1)
        if len(slow) == 1:
            await asyncio.sleep(GAVE_UP)
        return {"items": ["slow"]}

    graph = fan(saver, ("quick", async_adder("quick")), ("slow", wait_first_time))
    async for _ in graph.astream({"items": []}, CONFIG, stream_mode="updates"):
        break
    assert await graph.ainvoke(None, CONFIG) == {"items": ["quick", "slow", "last"]}
    gc.collect()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert problems == []
    assert len(slow) == 2


def test_break_from_stream_then_a_new_input(saver: Any) -> None:
    graph = abc(saver)
    for _ in graph.stream({"items": ["1"]}, CONFIG, stream_mode="updates"):
        break
    assert graph.invoke({"items": ["2"]}, CONFIG)["items"] == ["1", "a", "2", "a", "b", "c"]


def test_dropped_streams_hold_no_thread(saver: Any) -> None:
    graph = abc(saver)
    for _ in range(5):
        next(graph.stream({"items": []}, CONFIG, stream_mode="updates"))
    assert graph.invoke(None, CONFIG)["items"] == ["a"] * 5 + ["b", "c"]


# --- inside nodes --------------------------------------------------------------------------------


def test_update_state_inside_a_node(saver: Any) -> None:
    def node(state: Any) -> dict[str, Any]:
        graph.update_state(CONFIG, {"items": ["by hand"]}, as_node="a")
        return {"items": ["own"]}

    graph = chain(saver, ("a", adder("a")), ("b", node), ("c", adder("c")))
    assert graph.invoke({"items": []}, CONFIG)["items"] == ["a", "own", "c"]
    assert graph.get_state(CONFIG).values["items"] == ["a", "own", "c"]
    written = [s.metadata["source"] for s in graph.get_state_history(CONFIG)]
    assert written.count("update") == 1
    assert graph.invoke({"items": ["again"]}, CONFIG)["items"][-3:] == ["a", "own", "c"]


async def test_aupdate_state_inside_a_node(saver: Any) -> None:
    async def node(state: Any) -> dict[str, Any]:
        await graph.aupdate_state(CONFIG, {"items": ["by hand"]}, as_node="a")
        return {"items": ["own"]}

    graph = chain(saver, ("a", async_adder("a")), ("b", node), ("c", async_adder("c")))
    assert (await graph.ainvoke({"items": []}, CONFIG))["items"] == ["a", "own", "c"]
    assert (await graph.aget_state(CONFIG)).values["items"] == ["a", "own", "c"]


@pytest.mark.parametrize("beside", [False, True])
def test_inner_invoke_on_the_same_thread_id(saver: Any, beside: bool) -> None:
    inner = chain(saver, ("inner", adder("inner")))

    def node(state: Any) -> dict[str, Any]:
        return {"items": [inner.invoke({"items": ["given"]}, CONFIG)["items"]]}

    nodes = [("outer", node), *([("other", adder("other"))] if beside else [])]
    graph = fan(saver, *nodes)
    result = graph.invoke({"items": []}, CONFIG)["items"]
    assert ["given", "inner"] in result
    assert result[-1] == "last"
    assert graph.get_state(CONFIG).values["items"] == result


async def test_inner_ainvoke_on_the_same_thread_id(saver: Any) -> None:
    inner = chain(saver, ("inner", async_adder("inner")))

    async def node(state: Any) -> dict[str, Any]:
        return {"items": [(await inner.ainvoke({"items": ["given"]}, CONFIG))["items"]]}

    graph = chain(saver, ("outer", node), ("last", async_adder("last")))
    result = await graph.ainvoke({"items": []}, CONFIG)
    assert result == {"items": [["given", "inner"], "last"]}


def test_inner_invoke_on_another_thread_id_claims_its_own(saver: Any) -> None:
    inner = abc(saver)
    other: Any = {"configurable": {"thread_id": "2"}}

    def node(state: Any) -> dict[str, Any]:
        return {"items": [inner.invoke({"items": []}, other)["items"]]}

    graph = chain(saver, ("outer", node))
    assert graph.invoke({"items": []}, CONFIG) == {"items": [["a", "b", "c"]]}
    assert inner.get_state(other).values == {"items": ["a", "b", "c"]}


# --- several runs on one thread ------------------------------------------------------------------


async def test_gather_of_two_on_one_thread_runs_one(saver: Any) -> None:
    gate = asyncio.Event()
    runs: list[int] = []

    async def node(state: Any) -> dict[str, Any]:
        runs.append(1)
        await gate.wait()
        return {"items": ["x"]}

    graph = chain(saver, ("a", node))

    async def one() -> Any:
        try:
            return await graph.ainvoke({"items": []}, CONFIG)
        finally:
            gate.set()

    results = await asyncio.gather(one(), one(), return_exceptions=True)
    refused = [result for result in results if isinstance(result, ThreadBusyError)]
    assert len(refused) == 1
    assert {"items": ["x"]} in results
    assert len(runs) == 1
    assert await graph.ainvoke({"items": []}, CONFIG) == {"items": ["x", "x"]}


def test_two_threads_on_one_thread_id_run_one(saver: Any) -> None:
    entered, gate = threading.Event(), threading.Event()
    runs: list[int] = []

    def node(state: Any) -> dict[str, Any]:
        runs.append(1)
        entered.set()
        assert gate.wait(GAVE_UP)
        return {"items": ["x"]}

    graph = chain(saver, ("a", node))
    results: list[Any] = []
    first = threading.Thread(target=lambda: results.append(graph.invoke({"items": []}, CONFIG)))
    first.start()
    assert entered.wait(GAVE_UP)
    with pytest.raises(ThreadBusyError):
        graph.invoke({"items": []}, CONFIG)
    with pytest.raises(ThreadBusyError):
        graph.update_state(CONFIG, {"items": ["y"]})
    assert graph.get_state(CONFIG).next == ("a",), "reading never claims"
    gate.set()
    first.join(GAVE_UP)
    assert results == [{"items": ["x"]}]
    assert len(runs) == 1


def test_many_threads_start_at_once_and_exactly_one_runs(saver: Any) -> None:
    barrier, gate = threading.Barrier(8), threading.Event()
    runs: list[int] = []

    def node(state: Any) -> dict[str, Any]:
        runs.append(1)
        assert gate.wait(GAVE_UP)
        return {"items": ["x"]}

    graph = chain(saver, ("a", node))
    outcomes: list[Any] = []

    def go() -> None:
        barrier.wait(GAVE_UP)
        try:
            outcomes.append(graph.invoke({"items": []}, CONFIG))
        except ThreadBusyError:
            outcomes.append("busy")
            if outcomes.count("busy") == 7:
                gate.set()

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GAVE_UP)
    assert sorted(map(str, outcomes)) == ["busy"] * 7 + ["{'items': ['x']}"]
    assert len(runs) == 1


# --- runs that are stopped from outside ----------------------------------------------------------


@pytest.mark.parametrize("way", ["cancel", "timeout", "wait_for"])
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_cancelled_run_leaves_the_thread_resumable_at_once(
    saver: Any, way: str, beside: bool, durability: str
) -> None:
    waits = [True]
    entered = asyncio.Event()
    stopped: list[str] = []

    async def node(state: Any) -> dict[str, Any]:
        entered.set()
        try:
            if waits:
                await asyncio.sleep(GAVE_UP)
        except asyncio.CancelledError:
            stopped.append("node")
            raise
        return {"items": ["b"]}

    nodes = [("b", node), *([("a", async_adder("a"))] if beside else [])]
    graph = fan(saver, *nodes)
    threads, tasks = set(threading.enumerate()), asyncio.all_tasks()

    async def run() -> Any:
        return await graph.ainvoke({"items": []}, CONFIG, durability=durability)

    async def stop() -> None:
        if way == "cancel":
            task = asyncio.create_task(run())
            await entered.wait()
            task.cancel()
            await task
        elif way == "timeout":
            async with asyncio.timeout(None) as limit:
                task = asyncio.create_task(reach(limit))
                await run()
            await task
        else:
            await given_up(0.2)

    async def given_up(timeout: float) -> None:
        try:
            await asyncio.wait_for(run(), timeout)
        except TimeoutError:
            if entered.is_set():
                raise
            await given_up(4 * timeout)  # too soon: the node had not begun

    async def reach(limit: asyncio.Timeout) -> None:
        await entered.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    await graph.aget_state(CONFIG)  # what the first use of a database costs is not timed
    with pytest.raises((asyncio.CancelledError, TimeoutError)):
        await stop()
    assert stopped == ["node"]
    assert asyncio.all_tasks() == tasks, "no task is left behind"
    waits.clear()
    expected = ["a", "b", "last"] if beside else ["b", "last"]
    assert await graph.ainvoke(None, CONFIG, durability=durability) == {"items": expected}
    assert asyncio.all_tasks() == tasks, "no task is left behind"
    new = [each.name for each in set(threading.enumerate()) - threads]
    kept = ("asyncio", "plait-worker")  # the loop's own executor, and plait's, wait for more work
    ours = [name for name in new if not name.startswith(kept)]
    assert len(ours) <= 2, f"a thread of the saver, one heartbeat: {ours}"


def test_keyboard_interrupt_in_a_node_leaves_the_thread_resumable(saver: Any) -> None:
    strikes = [1]

    def node(state: Any) -> dict[str, Any]:
        if strikes:
            strikes.pop()
            raise KeyboardInterrupt
        return {"items": ["b"]}

    graph = chain(saver, ("a", adder("a")), ("b", node), ("c", adder("c")))
    with pytest.raises(KeyboardInterrupt) as caught:
        graph.invoke({"items": []}, CONFIG)
    assert graph.invoke(None, CONFIG) == {"items": ["a", "b", "c"]}
    del caught


def test_keyboard_interrupt_in_a_branch_leaves_the_thread_resumable(saver: Any) -> None:
    strikes = [1]
    runs: list[str] = []

    def node(state: Any) -> dict[str, Any]:
        if strikes:
            strikes.pop()
            raise KeyboardInterrupt
        return {"items": ["b"]}

    def other(state: Any) -> dict[str, Any]:
        runs.append("a")
        return {"items": ["a"]}

    graph = fan(saver, ("a", other), ("b", node))
    with pytest.raises(KeyboardInterrupt):
        graph.invoke({"items": []}, CONFIG)
    assert graph.invoke(None, CONFIG) == {"items": ["a", "b", "last"]}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_exception_in_one_task_keeps_what_its_siblings_finished(
    saver: Any, durability: str
) -> None:
    finished, strikes = threading.Event(), [1]
    runs: list[str] = []

    def good(state: Any) -> dict[str, Any]:
        runs.append("good")
        finished.set()
        return {"items": ["good"]}

    def bad(state: Any) -> dict[str, Any]:
        runs.append("bad")
        assert finished.wait(GAVE_UP)
        if strikes:
            strikes.pop()
            raise ValueError("once")
        return {"items": ["bad"]}

    graph = fan(saver, ("good", good), ("bad", bad))
    with pytest.raises(ValueError, match="once"):
        graph.invoke({"items": []}, CONFIG, durability=durability)
    assert graph.get_state(CONFIG).next == ("bad",)
    assert graph.invoke(None, CONFIG, durability=durability)["items"] == ["bad", "good", "last"]
    assert sorted(runs) == ["bad", "bad", "good"]


def test_a_graph_inside_that_a_failing_sibling_stops_has_not_failed(saver: Any) -> None:
    entered, strikes = threading.Event(), [1]

    def first(state: Any) -> dict[str, Any]:
        entered.set()
        scope: Any = current_scope.get()
        while strikes and not scope.run.stopped():
            time.sleep(0.001)
        return {"items": ["first"]}

    def bad(state: Any) -> dict[str, Any]:
        assert entered.wait(GAVE_UP)
        if strikes:
            raise ValueError("once")
        return {"items": ["bad"]}

    inner = chain(None, ("first", first), ("second", adder("second")))
    graph = fan(saver, ("inner", inner), ("bad", bad))
    with pytest.raises(ValueError, match="once"):
        graph.invoke({"items": []}, CONFIG)
    tasks = {task.name: task for task in graph.get_state(CONFIG, subgraphs=True).tasks}
    assert tasks["inner"].error is None
    assert [(task.name, task.error) for task in tasks["inner"].state.tasks] == [("second", None)]
    strikes.clear()
    items = graph.invoke(None, CONFIG)["items"]
    assert items == ["bad", "first", "second", "last"]


async def test_exception_in_one_task_cancels_its_siblings(saver: Any) -> None:
    entered, cancelled = asyncio.Event(), []
    strikes = [1]

    async def slow(state: Any) -> dict[str, Any]:
        entered.set()
        if strikes:
            try:
                await asyncio.sleep(GAVE_UP)
            except asyncio.CancelledError:
                cancelled.append("slow")
                raise
        return {"items": ["slow"]}

    async def bad(state: Any) -> dict[str, Any]:
        if strikes:
            await entered.wait()
            raise ValueError("once")
        return {"items": ["bad"]}

    graph = fan(saver, ("good", async_adder("good")), ("slow", slow), ("bad", bad))
    with pytest.raises(ValueError, match="once"):
        await graph.ainvoke({"items": []}, CONFIG)
    assert cancelled == ["slow"]
    strikes.clear()
    assert (await graph.ainvoke(None, CONFIG))["items"] == ["bad", "good", "slow", "last"]


def test_an_error_that_the_caller_still_holds_does_not_hold_the_thread(saver: Any) -> None:
    strikes = [1]

    def node(state: Any) -> dict[str, Any]:
        if strikes:
            strikes.pop()
            raise ValueError("once")
        return {"items": ["b"]}

    graph = chain(saver, ("b", node))
    with pytest.raises(ValueError, match="once") as held:
        graph.invoke({"items": []}, CONFIG)
    assert graph.invoke(None, CONFIG) == {"items": ["b"]}
    assert held.tb is not None, "its frames were there all the while"


# --- what nodes see ------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [False, True])
def test_context_variables_of_the_caller_reach_nodes(saver: Any, beside: bool) -> None:
    def node(state: Any) -> dict[str, Any]:
        seen = who.get()
        who.set("node")
        return {"items": [seen]}

    nodes = [("a", node), *([("b", node)] if beside else [])]
    token = who.set("caller")
    try:
        result = fan(saver, *nodes).invoke({"items": []}, CONFIG)["items"]
        assert result[:-1] == ["caller"] * len(nodes)
        assert who.get() == "caller", "what a node sets stays inside it"
    finally:
        who.reset(token)


@pytest.mark.parametrize("beside", [False, True])
async def test_context_variables_reach_sync_and_async_nodes_of_an_async_run(
    saver: Any, beside: bool
) -> None:
    def node(state: Any) -> dict[str, Any]:
        return {"items": [who.get()]}

    async def anode(state: Any) -> dict[str, Any]:
        seen = who.get()
        who.set("node")
        await asyncio.sleep(0)
        assert who.get() == "node"
        return {"items": [seen]}

    nodes = [("a", anode), *([("b", anode), ("c", node)] if beside else [])]
    token = who.set("caller")
    try:
        result = (await fan(saver, *nodes).ainvoke({"items": []}, CONFIG))["items"]
        assert result[:-1] == ["caller"] * len(nodes)
        assert who.get() == "caller"
    finally:
        who.reset(token)


# --- questions -----------------------------------------------------------------------------------


def test_second_answer_is_refused(saver: Any) -> None:
    graph = chain(saver, ("ask", lambda state: {"items": [interrupt("?")]}))
    asked = graph.invoke({"items": []}, CONFIG)["__interrupt__"]
    assert graph.invoke(Command(resume={asked[0].id: "yes"}), CONFIG)["items"] == ["yes"]
    with pytest.raises(RuntimeError, match="answered before"):
        graph.invoke(Command(resume={asked[0].id: "no"}), CONFIG)
    assert graph.get_state(CONFIG).values["items"] == ["yes"]


def test_answer_survives_a_failure_of_the_node_that_was_given_it(saver: Any) -> None:
    strikes = [1]

    def node(state: Any) -> dict[str, Any]:
        answer = interrupt("?")
        if strikes:
            strikes.pop()
            raise ValueError("after the answer")
        return {"items": [answer]}

    graph = chain(saver, ("ask", node))
    graph.invoke({"items": []}, CONFIG)
    with pytest.raises(ValueError, match="after the answer"):
        graph.invoke(Command(resume="yes"), CONFIG)
    state = graph.get_state(CONFIG)
    assert (state.next, state.interrupts) == (("ask",), ()), "nobody waits: it was answered"
    assert graph.invoke(None, CONFIG) == {"items": ["yes"]}


def test_closed_saver_says_so(tmp_path: Any) -> None:
    from plait.checkpoint.sqlite import SqliteSaver

    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = abc(saver)
        graph.invoke({"items": []}, CONFIG)
    with pytest.raises(StorageUnavailableError, match="closed"):
        graph.invoke({"items": []}, CONFIG)
