"""Group commit: commits that wait share a transaction, and none of them notices the others."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Event, Lock, Semaphore
from typing import Any

import pytest

from plait.checkpoint.log.groups import ThreadGroup
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.requests import (
    Claim,
    Done,
    ReadLane,
    ReadWrites,
    Refused,
    Together,
    Transact,
)
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import StorageError
from plait.testing import fork

from .graphs import adder, async_adder, chain

GAVE_UP = 30.0
MANY = 64
AT = pack("c")


class Slow:
    """A saver whose first transactions wait at a gate, so that the others must wait for them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.gate, self.agate = Event(), asyncio.Event()
        self.begun = Semaphore(0)
        self.transactions: list[int] = []
        """How many commits each transaction was of."""
        self._noting = Lock()

    def _note(self, request: Any) -> int:
        with self._noting:
            if type(request) is Together:
                self.transactions.append(len(request.requests))
            elif type(request) is Transact:
                self.transactions.append(1)
        self.begun.release()
        return len(self.transactions)

    def _stand(self, request: Any) -> None:
        self._note(request)
        assert self.gate.wait(GAVE_UP)


class SlowSqlite(Slow, SqliteSaver):  # pyright: ignore
    """In a SQLite file. What is done in the thread of the event loop waits at no gate."""

    def _do_on(self, database: Any, request: Any) -> Any:
        if database is self._database:
            self._stand(request)
        else:
            self._note(request)
        return super()._do_on(database, request)


class SlowPostgres(Slow, PostgresSaver):  # pyright: ignore
    """In Postgres."""

    def _do(self, request: Any) -> Any:
        self._stand(request)
        return super()._do(request)

    async def _ado(self, request: Any) -> Any:
        self._note(request)
        async with asyncio.timeout(GAVE_UP):
            await self.agate.wait()
        return await super()._ado(request)


@pytest.fixture(params=["sqlite", "postgres"])
def slow(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A saver of each kind, whose tables are there."""
    if request.param == "sqlite":
        opened: Any = SlowSqlite(tmp_path / "log.db")
    else:
        opened = SlowPostgres(request.getfixturevalue("postgres_url"))
    with opened:
        opened.setup()
        yield opened


def put(name: str, task: str = "t", **options: Any) -> Transact:
    """A commit that stores one task's writes."""
    row = (AT, pack(task), "path", name.encode())
    return Transact(name, "", seed=1, writes=[row], **options)


def stored(saver: Any, name: str) -> list[bytes]:
    """The records of the writes of a thread."""
    lane = saver.execute(ReadLane(name, ""))
    if lane is None:
        return []
    return [row.record for row in saver.execute(ReadWrites(lane.lane, AT))]


async def at_once(saver: Any, requests: list[Transact], api: str) -> list[Any]:
    """Do requests all at the same time: when the first is let go, all others wait."""

    def waiting() -> int:
        groups = [saver._group, *getattr(saver, "_groups", {}).values()]
        return sum(len(group._turns._waiting) for group in groups)

    async def let_go(tasks: list[Any]) -> None:
        while sum(saver.transactions) + waiting() < len(requests):
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0)
        saver.gate.set()
        saver.agate.set()

    if api == "async":
        tasks: list[Any] = [asyncio.create_task(saver.aexecute(each)) for each in requests]
        await let_go(tasks)
        return await asyncio.gather(*tasks, return_exceptions=True)
    with ThreadPoolExecutor(len(requests)) as pool:
        loop = asyncio.get_running_loop()
        tasks = [loop.run_in_executor(pool, saver.execute, each) for each in requests]
        await let_go(tasks)
        return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_commits_that_wait_are_stored_in_one_transaction(slow: Any, api: str) -> None:
    names = [f"thread {n}" for n in range(MANY)]
    answers = await at_once(slow, [put(name) for name in names], api)
    assert all(type(answer) is Done for answer in answers)
    assert sum(slow.transactions) == MANY
    assert len(slow.transactions) <= 4
    lanes = {answer.lane for answer in answers}
    assert len(lanes) == MANY, "each hears of its own thread"
    assert all(stored(slow, name) == [name.encode()] for name in names)


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_a_refused_commit_leaves_its_companions_alone(slow: Any, api: str) -> None:
    """A stale fence and a lost claim are answers of one, not of the transaction."""
    slow.gate.set()
    slow.agate.set()
    for name in ("stale", "claimed"):
        claim = Claim(fence=1, lease=None, owner="me", new_lease=4e9)
        slow.execute(Transact(name, "", seed=1, claim=claim))
    slow.gate.clear()
    slow.agate.clear()
    slow.transactions.clear()
    claim = Claim(fence=1, lease=None, owner="other", new_lease=4e9)
    requests = [
        *(put(f"first {n}") for n in range(8)),
        put("stale", fence=1),
        put("claimed", claim=claim),
        *(put(f"then {n}") for n in range(8)),
    ]
    answers = await at_once(slow, requests, api)
    refused = {each.thread_id for each, got in zip(requests, answers, strict=True)
               if type(got) is Refused}  # fmt: skip
    assert refused == {"stale", "claimed"}
    assert len(slow.transactions) <= 4
    for each in requests:
        expected = [] if each.thread_id in refused else [each.thread_id.encode()]
        assert stored(slow, each.thread_id) == expected


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_a_commit_that_fails_is_the_only_one_that_fails(slow: Any, api: str) -> None:
    """What a database cannot hold undoes the shared transaction; then each goes alone."""
    bad = Transact("bad", "", seed=1, writes=[(AT, pack("t"), "path", 1j)])
    requests = [put("a"), put("b"), put("c"), bad, put("d"), put("e")]
    answers = await at_once(slow, requests, api)
    for each, got in zip(requests, answers, strict=True):
        if each is bad:
            assert isinstance(got, Exception)
        else:
            assert type(got) is Done
            assert stored(slow, each.thread_id) == [each.thread_id.encode()]
    assert stored(slow, "bad") == []


async def test_a_commit_that_is_cancelled_while_it_waits_is_not_stored(postgres_url: str) -> None:
    with SlowPostgres(postgres_url) as saver:
        saver.setup()
        first = [asyncio.create_task(saver.aexecute(put(f"first {n}"))) for n in range(2)]
        await asyncio.sleep(0)
        late = asyncio.create_task(saver.aexecute(put("late")))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.wait([late])
        saver.agate.set()
        saver.gate.set()
        assert all(type(answer) is Done for answer in await asyncio.gather(*first))
        assert late.cancelled()
        assert stored(saver, "late") == []


async def test_a_leader_that_is_stopped_tells_its_companions(tmp_path: Path) -> None:
    """A Ctrl-C hits the thread that works for all: the others get a typed error, and none hangs."""
    entered, gate = Event(), Event()
    done: list[Any] = []

    def execute(request: Any) -> Any:
        if request == "first":
            entered.set()
            assert gate.wait(GAVE_UP)
        elif type(request) is Together:
            raise KeyboardInterrupt
        else:
            done.append(request)
        return request

    group = ThreadGroup(execute)
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(4) as pool:
        first = loop.run_in_executor(pool, group.do, "first")
        assert await asyncio.to_thread(entered.wait, GAVE_UP)
        others = [loop.run_in_executor(pool, group.do, name) for name in ("a", "b", "c")]
        while len(group._turns._waiting) < 3:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)
        gate.set()
        outcomes = await asyncio.gather(first, *others, return_exceptions=True)
        kinds = sorted(type(each).__name__ for each in outcomes[1:])
        assert outcomes[0] == "first"
        assert kinds == ["KeyboardInterrupt", "StorageError", "StorageError"]
        assert isinstance(outcomes[1], KeyboardInterrupt | StorageError)
        assert await loop.run_in_executor(pool, group.do, "after") == "after"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("api", ["sync", "async"])
async def test_each_of_many_runs_stores_its_steps_in_order(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, api: str
) -> None:
    target = tmp_path / "log.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    with (SqliteSaver if kind == "sqlite" else PostgresSaver)(target) as saver:
        add = async_adder if api == "async" else adder
        graph = chain(saver, *[(name, add(name)) for name in "abcde"])
        configs: list[Any] = [{"configurable": {"thread_id": str(n)}} for n in range(MANY)]
        if api == "async":
            await asyncio.gather(*(graph.ainvoke({"items": []}, each) for each in configs))
        else:
            with ThreadPoolExecutor(16) as pool:
                list(pool.map(lambda each: graph.invoke({"items": []}, each), configs))
        for each in configs:
            states = list(graph.get_state_history(each))
            assert [state.metadata["step"] for state in states] == [5, 4, 3, 2, 1, 0, -1]
            assert [len(state.values["items"]) for state in states] == [5, 4, 3, 2, 1, 0, 0]


KILLS = 12


@pytest.mark.parametrize("seed", range(KILLS))
async def test_a_step_that_was_acknowledged_in_company_is_stored_when_the_process_dies(
    tmp_path: Path, seed: int, start: Callable[..., Any]
) -> None:
    """Each run tells of a step once its commit was confirmed; then comes SIGKILL."""
    path, acknowledged = tmp_path / "log.db", tmp_path / "acknowledged"
    after = Random(seed).randrange(1, 150)

    def work(tell: Callable[[str], Any]) -> None:
        told = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with SqliteSaver(path) as saver:
            graph = chain(saver, *[(name, async_adder(name)) for name in "abcde"])
            count = 0

            async def one(n: int) -> None:
                nonlocal count
                config: Any = {"configurable": {"thread_id": str(n)}}
                async for _ in graph.astream({"items": []}, config, stream_mode="updates"):
                    os.write(told, f"{n}\n".encode())
                    count += 1
                    if count == after:
                        os.kill(os.getpid(), signal.SIGKILL)

            async def all_of_them() -> None:
                await asyncio.gather(*(one(n) for n in range(32)))

            asyncio.run(all_of_them())

    assert start(work).wait() == -signal.SIGKILL
    heard = acknowledged.read_text().split()
    assert len(heard) == after
    with SqliteSaver(path) as saver:
        graph = chain(saver, *[(name, adder(name)) for name in "abcde"])
        for name in set(heard):
            config: Any = {"configurable": {"thread_id": name}}
            items = graph.get_state(config).values["items"]
            assert len(items) >= heard.count(name), f"thread {name} lost steps (seed {seed})"
            assert graph.invoke(None, config) == {"items": list("abcde")}


def test_a_forked_child_commits_while_its_parent_is_in_a_transaction(tmp_path: Path) -> None:
    entered, gate = Event(), Event()

    def execute(request: Any) -> Any:
        if request == "parent":
            entered.set()
            assert gate.wait(GAVE_UP)
        return request

    group = ThreadGroup(execute)
    with ThreadPoolExecutor(1) as pool:
        parent = pool.submit(group.do, "parent")
        assert entered.wait(GAVE_UP)
        child = fork(lambda tell: tell(group.do("child")))
        assert child.hear() == "child"
        assert child.wait() == 0
        gate.set()
        assert parent.result() == "parent"
