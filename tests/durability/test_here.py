"""Commits in the thread of an event loop: which are done there, and what goes to the worker."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, get_ident
from typing import Any

import pytest
from tests.loops import plain_loop

from plait.checkpoint.log.groups import ThreadGroup
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.requests import Done, ReadLane, ReadWrites, Together, Transact
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver, here
from plait.sqlite import Worker
from plait.testing import FaultySaver

from .graphs import CONFIG, adder, async_adder, chain

GAVE_UP = 30.0
AT = pack("c")


class Watched(SqliteSaver):
    """Knows which requests were done in the thread of the event loop, and which elsewhere."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.home = get_ident()
        self.at_home: list[Any] = []
        self.elsewhere: list[Any] = []
        self.refused: list[Any] = []

    def _do_on(self, database: Any, request: Any) -> Any:
        parts = request.requests if type(request) is Together else [request]
        try:
            answer = super()._do_on(database, request)
        except BaseException:
            self.refused.extend(parts)
            raise
        (self.at_home if get_ident() == self.home else self.elsewhere).extend(parts)
        return answer


def put(name: str, record: Any = b"done", **options: Any) -> Transact:
    """A commit that stores one task's writes."""
    return Transact(name, "", seed=1, writes=[(AT, pack("t"), "path", record)], **options)


def stored(saver: Any, name: str) -> list[bytes]:
    """The records of the writes of a thread."""
    lane = saver.execute(ReadLane(name, ""))
    return [row.record for row in saver.execute(ReadWrites(lane.lane, AT))] if lane else []


async def ready(saver: Watched) -> None:
    """Store something, so that the loop's connection is open; then forget what was done."""
    await saver.aexecute(put("first"))
    saver.at_home.clear()
    saver.elsewhere.clear()


async def test_small_commits_are_made_in_the_thread_of_the_loop(tmp_path: Path) -> None:
    with Watched(tmp_path / "log.db") as saver:
        await ready(saver)
        assert type(await saver.aexecute(put("a"))) is Done
        graph = chain(saver, *[(name, async_adder(name)) for name in "abcde"])
        done = await graph.ainvoke({"items": []}, CONFIG)
        assert done["items"] == list("abcde")
        assert len(saver.at_home) >= 7
        assert saver.elsewhere == []
        states = [state async for state in graph.aget_state_history(CONFIG)]
        assert [len(state.values["items"]) for state in states] == [5, 4, 3, 2, 1, 0, 0]


@plain_loop
async def test_tasks_of_one_moment_share_a_transaction(tmp_path: Path) -> None:
    with Watched(tmp_path / "log.db") as saver:
        await ready(saver)
        transactions: list[Any] = []
        begin = saver._here.execute  # pyright: ignore
        saver._here.execute = lambda request: transactions.append(request) or begin(request)  # type: ignore  # pyright: ignore
        names = [f"thread {n}" for n in range(20)]
        answers = await asyncio.gather(*(saver.aexecute(put(name)) for name in names))
        assert all(type(answer) is Done for answer in answers)
        assert [len(each.requests) for each in transactions] == [20]
        assert all(stored(saver, name) == [b"done"] for name in names)


@plain_loop
async def test_a_lone_commit_is_done_at_once_and_then_others_have_their_turn(
    tmp_path: Path,
) -> None:
    with Watched(tmp_path / "log.db") as saver:
        await ready(saver)
        commit = saver.aexecute(put("a"))
        assert commit.send(None) is None  # it lets the loop go on, and waits for nothing
        assert saver.at_home == [put("a")]
        with pytest.raises(StopIteration):
            commit.send(None)


async def test_a_commit_that_fails_there_is_the_only_one_that_fails(tmp_path: Path) -> None:
    with Watched(tmp_path / "log.db") as saver:
        await ready(saver)
        requests = [put("a"), put("bad", record=object()), put("c")]
        requests[1].writes = [(AT, pack("t"), object(), b"")]  # type: ignore[list-item]  # pyright: ignore
        answers = await asyncio.gather(*map(saver.aexecute, requests), return_exceptions=True)
        assert [isinstance(answer, Exception) for answer in answers] == [False, True, False]
        assert [stored(saver, name) for name in ("a", "bad", "c")] == [[b"done"], [], [b"done"]]


async def test_a_loop_goes_on_while_another_program_writes(tmp_path: Path) -> None:
    with Watched(tmp_path / "log.db") as saver:
        await ready(saver)
        other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(saver.aexecute(put("a")))
            while not saver.refused:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert not waiting.done()
            other.execute("ROLLBACK")
        finally:
            other.close()
        assert type(await waiting) is Done
        assert [each.thread_id for each in saver.elsewhere] == ["a"]
        await saver.aexecute(put("b"))
        assert [each.thread_id for each in saver.at_home] == ["b"]
        assert stored(saver, "a") == [b"done"]


async def test_the_log_beside_the_file_stays_short(tmp_path: Path) -> None:
    """It is folded in by the worker, and one commit goes there with it."""
    with Watched(tmp_path / "log.db") as saver:
        await ready(saver)
        for n in range(600):
            await saver.aexecute(put(f"thread {n}", record=bytes(4000)))
        assert 5 < len(saver.elsewhere) < 120
        assert len(saver.at_home) + len(saver.elsewhere) == 600
        beside = tmp_path / "log.db-wal"
        assert beside.stat().st_size < 3 * here.WAL_PAGES * 4096
        assert all(stored(saver, f"thread {n}") for n in range(600))
    assert not beside.exists()


@pytest.mark.parametrize("why", ["power", "large", "given", "slow"])
async def test_what_may_wait_for_the_disk_is_left_to_the_worker(
    tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target: Any = tmp_path / "log.db"
    if why == "given":
        target = sqlite3.connect(target, check_same_thread=False, isolation_level=None)
    with Watched(target, synchronous="FULL" if why == "power" else "NORMAL") as saver:
        await ready(saver)
        if why == "slow":
            times = iter(range(1000))
            monkeypatch.setattr(here, "perf_counter", lambda: next(times))
            await saver.aexecute(put("slow"))
            assert saver.elsewhere == []
            saver.at_home.clear()
        record = bytes(300_000 if why == "large" else 10)
        for name in "abc":
            await saver.aexecute(put(name, record=record))
        assert [each.thread_id for each in saver.elsewhere] == ["a", "b", "c"]
        assert saver.at_home == []
        assert stored(saver, "b") == [record]
    if why == "given":
        target.close()


async def test_a_cancelled_run_has_heard_what_became_of_its_commit(tmp_path: Path) -> None:
    """Wherever the cancellation falls, the thread is free and what is stored is a prefix."""
    with Watched(tmp_path / "log.db") as saver:
        await ready(saver)
        graph = chain(saver, *[(name, async_adder(name)) for name in "abc"])
        found: set[int] = set()
        for turns in range(60):
            config: Any = {"configurable": {"thread_id": f"turn {turns}"}}
            run = asyncio.create_task(graph.ainvoke({"items": []}, config))
            for _ in range(turns):
                await asyncio.sleep(0)
            cancelled = run.cancel()
            await asyncio.wait([run])
            assert run.cancelled() == cancelled
            lane = saver.execute(ReadLane(config["configurable"]["thread_id"], ""))
            assert lane is None or lane.owner is None
            state = await graph.aget_state(config)
            items = state.values.get("items", [])
            assert items == list("abc")[: len(items)]
            found.add(len(items))
            done = await graph.ainvoke(None if lane else {"items": []}, config)
            assert done["items"] == list("abc")
        assert found == {0, 1, 2, 3}


async def test_a_connection_that_is_opened_too_late_is_closed(tmp_path: Path) -> None:
    """The worker had it in its queue when the saver was closed."""
    saver = SqliteSaver(tmp_path / "log.db")
    saver.execute(put("a"))
    late: Any = saver._here  # pyright: ignore[reportPrivateUsage]
    late.close()
    late._set_up()
    saver.close()
    assert not (tmp_path / "log.db-wal").exists()


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_a_new_thread_is_looked_for_once(saver: Any, api: str) -> None:
    asked: list[Any] = []

    class Counting(FaultySaver):
        def execute(self, request: Any) -> Any:
            asked.append(request)
            return super().execute(request)

        async def aexecute(self, request: Any) -> Any:
            asked.append(request)
            return await super().aexecute(request)

    if api == "async":
        graph = chain(Counting(saver), ("a", async_adder("a")))
        await graph.ainvoke({"items": []}, CONFIG)
    else:
        graph = chain(Counting(saver), ("a", adder("a")))
        graph.invoke({"items": []}, CONFIG)
    assert [type(each) for each in asked].count(ReadLane) == 1
    assert graph.get_state(CONFIG).values["items"] == ["a"]


async def test_runs_that_begin_together_look_together(postgres_url: str) -> None:
    """Postgres: each hears of its own lane, in a few round trips."""
    trips: list[Any] = []

    class Looking(PostgresSaver):
        async def _alook(self, request: Any) -> Any:
            trips.append(request)
            return await super()._alook(request)

    with Looking(postgres_url) as saver:
        names = [f"thread \0{n}" for n in range(40)]
        for name in names[::2]:
            saver.execute(put(name))
        lanes = await asyncio.gather(*(saver.aexecute(ReadLane(name, "")) for name in names))
        assert [lane and lane.thread_id for lane in lanes[::2]] == names[::2]
        assert set(lanes[1::2]) == {None}
        alone = [saver.execute(ReadLane(name, "")) for name in names[::2]]
        assert [one._replace(clock=None) for one in lanes[::2]] == [
            one._replace(clock=None) for one in alone
        ]
        assert len(trips) <= 4
        assert saver.execute(ReadLane("nobody", "")) is None


def test_a_loop_that_was_stopped_holds_nobody_up() -> None:
    """A request of it waits when it is stopped; others go on, and so does it when it runs again."""
    entered, gate = Event(), Event()

    def execute(request: Any) -> Any:
        if request == "first":
            entered.set()
            assert gate.wait(GAVE_UP)
        return request

    class AllOfIt:
        def may(self, request: Any) -> bool:
            return True

        def execute(self, request: Any) -> Any:
            return request

    worker = Worker("test")
    group = ThreadGroup(execute, submit=worker.submit, here=AllOfIt())
    loop = asyncio.new_event_loop()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(group.do, "first")
        assert entered.wait(GAVE_UP)
        late = loop.create_task(group.ado("late"))
        while not group._turns._waiting:  # pyright: ignore[reportPrivateUsage]
            loop.run_until_complete(asyncio.sleep(0))
        gate.set()
        assert first.result(GAVE_UP) == "first"
        assert pool.submit(group.do, "after").result(GAVE_UP) == "after"
    assert not late.done()
    assert loop.run_until_complete(late) == "late"
    loop.close()
    worker.close()
