"""What a second cancellation, a Ctrl-C, the garbage collector and a lack of threads leave behind.

Each of these comes at a moment that nobody chose. Afterwards the thread can be used at once, and so
can its saver.
"""

from __future__ import annotations

import asyncio
import gc
import operator
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from tests.ctrl_c import no_collection, stopped

from plait.checkpoint.base import plans
from plait.checkpoint.base.plans import run_plan
from plait.checkpoint.log import groups
from plait.checkpoint.log.groups import ThreadGroup, Turn, Turns
from plait.checkpoint.log.recording import Recorder
from plait.checkpoint.log.requests import ReadHead, ReadLane
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.drivers import pool, sync
from plait.drivers.awaiting import InContext
from plait.drivers.pacing import AioRoom, Paced
from plait.drivers.pool import WorkerPool
from plait.engine import running
from plait.errors import StorageUnavailableError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.sqlite import Database, database, in_transaction, worker
from plait.testing import Effects

from .graphs import Items, adder, config, fan, line

DEADLINE = 30.0
"""Seconds after which something is held to hang."""


def side_by_side(saver: Any) -> Any:
    """Async and sync nodes beside each other, and one after them."""

    async def rests(state: Items) -> Items:
        await asyncio.sleep(0)
        return {"items": ["a"]}

    builder = StateGraph(Items).add_node("a", rests)
    builder.add_node("b", lambda state: {"items": ["b"]}).add_node("c", lambda s: {"items": ["c"]})
    builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")
    return builder.compile(checkpointer=saver)


def side_by_side_in_threads(saver: Any) -> Any:
    """Sync nodes beside each other, and one after them."""
    return fan(saver, *((name, adder(name)) for name in "abc"))


def within(work: Callable[[], Any]) -> Any:
    """What `work` returns, unless it hangs."""
    given: list[Any] = []
    thread = threading.Thread(target=lambda: given.append(work()), daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert not thread.is_alive(), "it hangs"
    return given[0]


# --- cancelled twice ------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("in_file", [True, False])
async def test_a_run_that_is_cancelled_twice_at_any_turn_gives_its_thread_back(
    tmp_path: Path, durability: str, in_file: bool
) -> None:
    with SqliteSaver(tmp_path / "threads.db") if in_file else InMemorySaver() as saver:
        graph = side_by_side(saver)
        turns, ended = 0, False
        while not ended:
            run = asyncio.ensure_future(
                graph.ainvoke({"items": ["in"]}, config(turns), durability=durability)
            )
            for _ in range(turns):
                await asyncio.sleep(0)
            ended = run.done()
            run.cancel()
            await asyncio.sleep(0)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            state = await graph.aget_state(config(turns))
            if state.next or not state.values:
                given = None if state.config["configurable"].get("checkpoint_id") else {"items": []}
                await graph.ainvoke(given, config(turns))
            turns += 1


class _Held(SqliteSaver):
    """Holds transactions back."""

    asked: asyncio.Event
    go_on: asyncio.Event
    freely = 0
    """How many of them are done at once."""

    async def _late(self, request: Any) -> Any:
        self.asked.set()
        await self.go_on.wait()
        return await super().aexecute(request)

    def aexecute(self, request: Any) -> Any:
        if type(request) is ReadLane:
            return super().aexecute(request)
        self.freely -= 1
        return self._late(request) if self.freely < 0 else super().aexecute(request)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("freely", [0, 1])
async def test_a_claim_is_given_back_though_its_run_was_cancelled_twice_while_it_was_stored(
    tmp_path: Path, durability: str, freely: int
) -> None:
    with _Held(tmp_path / "threads.db") as saver:
        saver.asked, saver.go_on, saver.freely = asyncio.Event(), asyncio.Event(), freely
        asked = saver.asked

        async def until_asked(state: Items) -> Items:
            if freely and durability == "async":
                await asked.wait()
                await asyncio.Event().wait()
            return {"items": ["c"]}

        builder = StateGraph(Items).add_node("a", lambda state: {"items": ["a"]})
        builder.add_node("b", until_asked).add_edge(START, "a").add_edge("a", "b")
        graph: Any = builder.compile(checkpointer=saver)
        run = asyncio.ensure_future(graph.ainvoke({"items": []}, config(1), durability=durability))
        await saver.asked.wait()
        for _ in range(5):
            run.cancel()
            await asyncio.sleep(0)
        saver.go_on.set()
        await asyncio.gather(run, return_exceptions=True)
        root = saver.execute(ReadLane("1", ""))
        assert root is None or root.owner is None


@pytest.mark.parametrize("times", [1, 3])
async def test_a_run_can_be_cancelled_while_the_result_of_a_called_task_is_stored(
    tmp_path: Path, times: int
) -> None:
    with _Held(tmp_path / "threads.db") as saver:
        saver.asked, saver.go_on, saver.freely = asyncio.Event(), asyncio.Event(), 1
        done = Effects(tmp_path / "done")

        @task
        async def work(n: int) -> int:
            done.note("work")
            return n

        @entrypoint(checkpointer=saver)
        async def flow(n: int) -> int:
            found = await work(n)
            await asyncio.sleep(0)
            return found

        run = asyncio.ensure_future(flow.ainvoke(3, config(1)))
        await saver.asked.wait()
        for _ in range(times):
            run.cancel()
            await asyncio.sleep(0)
        saver.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await run
        saver.freely = 1000
        assert await flow.ainvoke(None, config(1)) == 3
        assert done.counts() == {"work": 1}


@pytest.mark.parametrize("in_file", [True, False])
async def test_a_run_that_waits_for_its_thread_can_be_cancelled(
    tmp_path: Path, in_file: bool
) -> None:
    with SqliteSaver(tmp_path / "threads.db") if in_file else InMemorySaver() as saver:
        held, go_on = asyncio.Event(), asyncio.Event()

        async def hold(state: Items) -> Items:
            held.set()
            await go_on.wait()
            return {"items": ["held"]}

        builder = StateGraph(Items).add_node("hold", hold).add_edge(START, "hold")
        graph: Any = builder.compile(checkpointer=saver)
        owner = asyncio.ensure_future(graph.ainvoke({"items": []}, config(1)))
        await held.wait()
        patient = {"configurable": {"thread_id": "1", "thread_busy": "wait"}}
        waits = asyncio.ensure_future(graph.ainvoke({"items": ["in"]}, patient))
        await asyncio.sleep(0)
        waits.cancel()
        assert await asyncio.wait([waits], timeout=DEADLINE) == ({waits}, set())
        go_on.set()
        assert await owner == {"items": ["held"]}
        assert await graph.ainvoke({"items": ["in"]}, config(1)) == {
            "items": ["held", "in", "held"]
        }


# --- the garbage collector ------------------------------------------------------------------------


def test_a_stream_that_is_collected_inside_a_storage_call_holds_nobody_up(tmp_path: Path) -> None:
    with SqliteSaver(tmp_path / "threads.db") as saver:
        graph = line(saver)
        graph.invoke({"items": []}, config("first"))

        def leave_a_stream_half_read() -> None:
            stream = graph.stream({"items": ["in"]}, config("dropped"))
            next(stream)
            circle: list[Any] = [stream]
            circle.append(circle)

        with _collecting(saver):
            leave_a_stream_half_read()
            done = within(lambda: graph.invoke({"items": ["in"]}, config("other")))
        assert done == {"items": ["in", "a", "b"]}
        done = graph.invoke(None, config("dropped"))
        assert done == {"items": ["in", "a", "b"]}


@contextmanager
def _collecting(saver: Any) -> Iterator[None]:
    """Garbage is collected whenever a statement runs, and at no other time."""
    database = saver._database
    with no_collection():
        _trace(database, lambda statement: gc.collect())
        try:
            yield
        finally:
            _trace(database, None)


def _trace(database: Database, callback: Callable[[str], Any] | None) -> None:
    """Alone on the connection: sqlite3 waits for a statement that runs, and keeps the GIL that the
    statement's callback needs."""
    database.run(lambda conn: conn.set_trace_callback(callback))


async def _rests() -> None:
    await asyncio.sleep(0)


def _in_context(coroutine: Any) -> Iterator[Any]:
    return InContext(coroutine, copy_context(), coroutine.send(None)).__await__()


def _paced(coroutine: Any) -> Iterator[Any]:
    return Paced(coroutine, AioRoom(())).__await__()


@pytest.mark.parametrize("awaiting", [_in_context, _paced])
@pytest.mark.parametrize("closed_before", [True, False])
def test_who_awaits_a_coroutine_and_the_coroutine_are_closed_in_any_order(
    awaiting: Any, closed_before: bool
) -> None:
    coroutine = _rests()
    awaits = awaiting(coroutine)
    next(awaits)
    if closed_before:
        coroutine.close()
    awaits.close()
    with pytest.raises(RuntimeError, match="already awaited"):
        coroutine.send(None)


# --- Ctrl-C ---------------------------------------------------------------------------------------


class _Connection(sqlite3.Connection):
    """Raises a Ctrl-C once a statement was done, as Python does when one came meanwhile."""

    after = ""

    def execute(self, sql: str, *values: Any) -> Any:
        cursor = super().execute(sql, *values)
        if self.after and sql.startswith(self.after):
            raise KeyboardInterrupt
        return cursor


@pytest.mark.parametrize("after", ["BEGIN", "INSERT", "COMMIT"])
def test_a_ctrl_c_leaves_no_transaction_open(tmp_path: Path, after: str) -> None:
    path = tmp_path / "some.db"
    conn = sqlite3.connect(path, isolation_level=None, factory=_Connection)
    conn.execute("CREATE TABLE told (what)")
    conn.after = after
    with pytest.raises(KeyboardInterrupt):
        in_transaction(conn, lambda conn: conn.execute("INSERT INTO told VALUES (1)"))
    assert not conn.in_transaction
    conn.after = ""
    in_transaction(conn, lambda conn: conn.execute("INSERT INTO told VALUES (2)"))
    conn.close()


def test_a_transaction_that_was_open_before_is_left_to_its_owner(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "some.db", isolation_level=None)
    conn.execute("CREATE TABLE told (what)")
    conn.execute("BEGIN")
    with pytest.raises(sqlite3.OperationalError):
        in_transaction(conn, lambda conn: None)
    assert conn.in_transaction
    conn.close()


class _Interrupted(Turns):
    """Raises a Ctrl-C at one of the points where Python looks for one."""

    at = ""

    def enter(self, ticket: Any = None, turn: Turn | None = None) -> bool:
        entered = super().enter(ticket, turn)
        self._strike("entered")
        return entered

    def leave(self, most: int = 128, turn: Turn | None = None) -> Any:
        self._strike("leaving")
        batch = super().leave(most, turn)
        self._strike("left")
        return batch

    def _strike(self, point: str) -> None:
        if self.at == point:
            self.at = ""
            raise KeyboardInterrupt


@pytest.mark.parametrize("at", ["entered", "leaving", "left"])
def test_a_ctrl_c_leaves_the_turn_to_the_next_and_tells_who_waits(at: str) -> None:
    group = ThreadGroup(lambda request: request)
    turns = group._turns = _Interrupted(1)  # pyright: ignore[reportPrivateUsage]
    turns.at = at
    with pytest.raises(KeyboardInterrupt):
        group.do("interrupted")
    assert within(lambda: group.do("next")) == "next"


def test_who_waits_is_told_by_a_thread_that_a_ctrl_c_reaches() -> None:
    waits = threading.Event()
    told: list[Any] = []

    def execute(request: Any) -> Any:
        if request == "first":
            companion.start()
            while not turns.waiting():
                waits.wait(0.001)
            turns.at = "left"
        return request

    group = ThreadGroup(execute)
    turns = group._turns = _Counted(1)  # pyright: ignore[reportPrivateUsage]
    companion = threading.Thread(target=lambda: told.append(group.do("second")), daemon=True)
    with pytest.raises(KeyboardInterrupt):
        group.do("first")
    companion.join(DEADLINE)
    assert told == ["second"]


class _Counted(_Interrupted):
    def waiting(self) -> int:
        return len(self._waiting)


def test_a_plan_that_a_ctrl_c_leaves_between_two_requests_is_closed_at_once() -> None:
    told: list[str] = []

    def plan() -> Iterator[Any]:
        told.append("begun")
        try:
            yield "first"
            yield "second"
        finally:
            told.append("closed")

    nth = 0
    while True:
        told.clear()
        where, error = stopped(nth, plans.__file__, partial(run_plan, plan(), str))
        if not where:
            break
        assert isinstance(error, KeyboardInterrupt), where
        assert told in ([], ["begun", "closed"]), where
        nth += 1
    assert nth == 3


def test_what_a_ctrl_c_left_may_be_collected_while_rows_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows_of = Recorder.rows_of

    def collecting(recorder: Recorder, commit: Any) -> Any:
        gc.collect()
        return rows_of(recorder, commit)

    graph = line(InMemorySaver())
    nth, where = 0, "somewhere"
    with no_collection():
        while where:
            work = partial(graph.invoke, {"items": ["in"]}, config(nth))
            where, error = stopped(nth, plans.__file__, work)
            circle: list[Any] = [error]
            circle.append(circle)
            del error, circle
            with monkeypatch.context() as patched:
                patched.setattr(Recorder, "rows_of", collecting)
                history = graph.get_state_history(config(nth))
                assert len(within(partial(list, history))) <= 4
            nth += 1
    assert nth > 3


@pytest.mark.parametrize("room", [sync.__file__, running.__file__])
@pytest.mark.parametrize("shape", [line, side_by_side_in_threads])
def test_one_ctrl_c_ends_a_run_wherever_it_comes(room: str, shape: Callable[[Any], Any]) -> None:
    graph = shape(InMemorySaver())
    done = graph.invoke({"items": ["in"]}, config("undisturbed"))
    nth, where = 0, "somewhere"
    while where:
        work = partial(graph.invoke, {"items": ["in"]}, config(nth))
        where, error = within(partial(stopped, nth, room, work))
        if where:
            assert isinstance(error, KeyboardInterrupt), where
            state = graph.get_state(config(nth))
            if state.next or not state.values:
                graph.invoke(None if state.next else {"items": ["in"]}, config(nth))
            assert graph.get_state(config(nth)).values == done, where
        nth += 1
    assert nth > 10


@pytest.mark.parametrize("beside", [1, 3])  # those beside each other go together
def test_the_runs_of_an_event_loop_leave_the_saver_to_others_wherever_a_ctrl_c_comes(
    tmp_path: Path, beside: int
) -> None:
    with SqliteSaver(tmp_path / "threads.db") as saver:
        graph = line(saver)

        async def runs(thread: object) -> Any:
            threads = [config(f"{thread}, {n}") for n in range(beside)]
            return await asyncio.gather(*(graph.ainvoke({"items": ["in"]}, t) for t in threads))

        def run(thread: object) -> Any:
            return asyncio.run(runs(thread))

        run("first")
        while saver._here is None or saver._here._database is None:
            run("until commits are made in the loop's thread")
        nth, where = 0, "somewhere"
        while where:
            where, _ = stopped(nth, groups.__file__, partial(run, nth))
            gc.collect()  # asyncio leaves tasks behind: a Ctrl-C in one of them ends its clean-up
            done = within(partial(run, f"after {nth}"))
            assert done == [{"items": ["in", "a", "b"]}] * beside, where
            nth += 1
        assert nth > 10


def test_a_query_that_a_ctrl_c_left_half_read_hides_no_newer_rows(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver, SqliteSaver(path) as other:
        graph, elsewhere = line(saver), line(other)
        graph.invoke({"items": ["in"]}, config(1))
        held: list[Any] = []
        nth, where = 0, "somewhere"
        while where:
            read = partial(saver.execute, ReadHead("1", "", None))
            where, error = stopped(nth, database.__file__, read)
            held.append(error)
            done = elsewhere.invoke({"items": []}, config(1))
            assert graph.get_state(config(1)).values == done, where
            nth += 1
        assert nth > 5


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_thread_is_free_after_a_ctrl_c_between_any_two_requests(
    saver: Any, durability: str
) -> None:
    graph = line(saver)
    held: list[BaseException | None] = []  # as the prompt of Python does
    nth = 0
    while True:
        thread = config(nth)
        work = partial(graph.invoke, {"items": ["in"]}, thread, durability=durability)
        where, error = stopped(nth, plans.__file__, work)
        if not where:
            break
        assert isinstance(error, KeyboardInterrupt), where
        held.append(error)
        assert graph.invoke({"items": ["next"]}, thread)["items"][-3:] == ["next", "a", "b"]
        nth += 1
    assert nth > 3


# --- no threads -----------------------------------------------------------------------------------


class _Scarce(threading.Thread):
    """A thread of a system that gives no more than a few."""

    left = 0

    def start(self) -> None:
        if _Scarce.left <= 0:
            raise RuntimeError("can't start new thread")
        _Scarce.left -= 1
        super().start()


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "Thread", _Scarce)
    monkeypatch.setattr(pool, "_pool", WorkerPool())


def fan_out(width: int) -> Any:
    builder = StateGraph(Items)
    begun = threading.Semaphore(0)

    def work(state: Items) -> Items:
        begun.release()
        return {"items": ["done"]}

    for number in range(width):
        builder.add_node(f"n{number}", work).add_edge(START, f"n{number}")
    return builder.compile()


@pytest.mark.usefixtures("scarce")
def test_a_run_goes_on_with_the_threads_there_are() -> None:
    _Scarce.left = 1
    assert within(lambda: fan_out(40).invoke({"items": []})) == {"items": ["done"] * 40}


@pytest.mark.usefixtures("scarce")
async def test_an_async_run_goes_on_with_the_threads_there_are(tmp_path: Path) -> None:
    _Scarce.left = 2  # those that work: none to look after them
    with SqliteSaver(tmp_path / "threads.db") as saver:
        graph = side_by_side_in_threads(saver)
        run = graph.ainvoke({"items": ["in"]}, config(1))
        assert (await asyncio.wait_for(run, DEADLINE))["items"] == ["in", "a", "b", "c", "last"]


@pytest.mark.usefixtures("scarce")
def test_a_run_without_any_thread_fails_and_a_later_one_finds_some() -> None:
    _Scarce.left = 0
    with pytest.raises(RuntimeError, match="thread"):
        fan_out(3).invoke({"items": []})
    _Scarce.left = 2
    assert within(lambda: fan_out(3).invoke({"items": []})) == {"items": ["done"] * 3}


async def test_async_calls_of_a_saver_without_any_thread_say_so_and_later_ones_find_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Scarce.left = 0
    monkeypatch.setattr(worker, "Thread", _Scarce)
    with SqliteSaver(tmp_path / "threads.db") as saver:
        graph = line(saver)
        for thread in "ab":
            with pytest.raises(StorageUnavailableError, match="can't start new thread"):
                await asyncio.wait_for(graph.ainvoke({"items": []}, config(thread)), DEADLINE)
        _Scarce.left = 1
        assert await graph.ainvoke({"items": []}, config("a")) == {"items": ["a", "b"]}


# --- between two commands -------------------------------------------------------------------------


def test_an_error_that_is_thrown_into_a_stream_gives_its_thread_back() -> None:
    graph = line(InMemorySaver())
    stream = graph.stream({"items": ["in"]}, config(1))
    next(stream)
    with pytest.raises(KeyboardInterrupt) as held:
        stream.throw(KeyboardInterrupt)
    assert graph.invoke(None, config(1)) == {"items": ["in", "a", "b"]}
    del held


async def test_an_error_that_is_thrown_into_an_async_stream_gives_its_thread_back() -> None:
    graph = line(InMemorySaver())
    stream = graph.astream({"items": ["in"]}, config(1))
    await anext(stream)
    with pytest.raises(LookupError) as held:
        await stream.athrow(LookupError)
    assert await graph.ainvoke(None, config(1)) == {"items": ["in", "a", "b"]}
    del held


# --- a super-step that breaks while it ends -------------------------------------------------------


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("refused", ["in", "a", "b", "c"])
@pytest.mark.parametrize("in_file", [True, False])
def test_writes_that_were_applied_in_part_are_not_stored(
    tmp_path: Path, durability: str, refused: str, in_file: bool
) -> None:
    refusing = [refused]

    def last(old: str, new: str) -> str:
        if new in refusing:
            raise RuntimeError("refused")
        return new

    keys = {"items": Annotated[list[str], operator.add], "zero": Annotated[str, last]}
    builder: Any = StateGraph(TypedDict("Both", keys, total=False))
    for name in "abc":
        builder.add_node(name, lambda state, name=name: {"items": [name], "zero": name})
    builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")
    with SqliteSaver(tmp_path / "threads.db") if in_file else InMemorySaver() as saver:
        graph: Any = builder.compile(checkpointer=saver)
        with pytest.raises(RuntimeError, match="refused"):
            graph.invoke({"items": ["in"], "zero": "in"}, config(1), durability=durability)
        refusing.clear()
        state = graph.get_state(config(1))
        done = state.values if not state.next else graph.invoke(None, config(1))
        assert done == {"items": ["in", "a", "b", "c"], "zero": "c"}
