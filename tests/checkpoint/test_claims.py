"""One live owner per thread; a stale one is refused. Real processes, forked from a warm parent."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import time
from typing import Any

import pytest

from plait.checkpoint.base import new_checkpoint_id
from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.log.requests import ReadLane, Renew, Transact
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, SupersededError, ThreadBusyError

TS = "2026-01-01T00:00:00.000000+00:00"


def checkpoint(parent: str | None = None, **values: Any) -> NewCheckpoint:
    return NewCheckpoint(new_checkpoint_id(), parent, TS, {}, {}, values)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    elif request.param == "sqlite":
        with SqliteSaver(tmp_path / "log.db") as opened:
            yield opened
    else:
        with PostgresSaver(request.getfixturevalue("postgres_url")) as opened:
            yield opened


class Child:
    """A forked process that does some work, says so, and waits to be told to go on."""

    def __init__(self, work: Callable[[Callable[[], None]], str]) -> None:
        read, write = os.pipe()
        go_read, go_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:

            def pause() -> None:
                os.write(write, b"paused\n")
                os.read(go_read, 1)

            try:
                answer = work(pause)
            except BaseException as error:
                answer = f"{type(error).__name__}: {error}".replace("\n", " ")
            os.write(write, answer.encode() + b"\n")
            os._exit(0)
        os.close(write)
        self._out = os.fdopen(read)
        self._go = go_write

    def line(self) -> str:
        return self._out.readline().strip()

    def let_go(self) -> None:
        os.write(self._go, b"x")

    def go_on(self) -> str:
        self.let_go()
        return self.line()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        os.waitpid(self.pid, 0)


def test_a_second_run_gets_a_named_error_and_nothing_of_it_is_stored(saver: Any) -> None:
    first, second = saver.open_session("t"), saver.open_session("t")
    saver.run(first.commit(checkpoint(n=1), claim=True))
    saver.run(second.load())
    with pytest.raises(ThreadBusyError, match=r"'t'.*another run of this process.*takeover"):
        saver.run(second.commit(checkpoint(n=2), claim=True))
    assert saver.run(saver.open_session("t").load()).values == {"n": 1}


def test_a_claim_is_respected_as_soon_as_it_is_stored(saver: Any) -> None:
    """Even if its owner, a thread of this process, has not heard yet that it has it."""
    first, second = saver.open_session("t"), saver.open_session("t")
    plan = first.commit(checkpoint(n=1), claim=True)
    answer = None
    while not (type(request := plan.send(answer)) is Transact and request.claim is not None):
        answer = saver.execute(request)
    answer = saver.execute(request)
    saver.run(second.load())
    with pytest.raises(ThreadBusyError, match="another run of this process"):
        saver.run(second.claim())
    with pytest.raises(StopIteration):
        plan.send(answer)
    saver.run(first.commit(checkpoint(n=2), release=True))
    saver.run(second.load(to_write=True))
    saver.run(second.claim())


def test_a_released_thread_is_free_again(saver: Any) -> None:
    first, second = saver.open_session("t"), saver.open_session("t")
    saver.run(first.claim())
    saver.run(first.release())
    saver.run(second.commit(checkpoint(n=2), claim=True, release=True))
    saver.run(first.claim())


def test_a_run_that_read_before_another_moved_the_thread_starts_over(saver: Any) -> None:
    first, second = saver.open_session("t"), saver.open_session("t")
    assert saver.run(first.load()) is None
    saver.run(second.commit(checkpoint(n=2), claim=True, release=True))
    with pytest.raises(ThreadBusyError, match="moved it on"):
        saver.run(first.commit(checkpoint(n=1), claim=True))


def test_takeover_fences_the_old_owner(saver: Any) -> None:
    old = saver.open_session("t")
    new = saver.open_session("t", policy="takeover")
    first = checkpoint(n=1)
    saver.run(old.commit(first, claim=True))
    saver.run(new.claim())
    with pytest.raises(ThreadBusyError):
        saver.run(old.commit(checkpoint(first.id, n=2)))
    with pytest.raises(ThreadBusyError):
        saver.run(old.save_writes([]))
    saver.run(new.load())
    saver.run(new.commit(checkpoint(first.id, n=3), release=True))
    assert saver.run(new.load()).values == {"n": 3}


def test_a_parked_run_of_this_process_is_superseded(saver: Any) -> None:
    old, new = saver.open_session("t"), saver.open_session("t")
    first = checkpoint(n=1)
    saver.run(old.commit(first, claim=True))
    old.parked = True
    saver.run(new.claim())
    old.parked = False
    with pytest.raises(SupersededError, match="half-read"):
        saver.run(old.commit(checkpoint(first.id, n=2)))
    saver.run(old.release())
    saver.run(new.save_writes([], release=True))


def test_a_dropped_run_of_this_process_is_no_owner(saver: Any) -> None:
    old = saver.open_session("t")
    saver.run(old.claim())
    del old
    gc.collect()
    saver.run(saver.open_session("t").claim())


def test_nested_namespaces_share_the_claim_and_its_fence(saver: Any) -> None:
    root = saver.open_session("t")
    saver.run(root.claim())
    inner = root.nested("child")
    saver.run(inner.commit(checkpoint(n=1)))
    assert saver.run(root.nested("child").load()).values == {"n": 1}
    saver.run(saver.open_session("t", policy="takeover").claim())
    with pytest.raises(ThreadBusyError):
        saver.run(inner.commit(checkpoint(n=2)))


def test_allow_neither_claims_nor_is_refused(saver: Any) -> None:
    owner = saver.open_session("t")
    saver.run(owner.claim())
    saver.run(saver.open_session("t", policy="allow").commit(checkpoint(n=1), claim=True))
    saver.run(owner.save_writes([]))


def test_a_waiting_run_starts_when_the_thread_is_free(saver: Any) -> None:
    owner, waiter = saver.open_session("t"), saver.open_session("t", policy="wait")
    saver.run(owner.claim())
    got = threading.Event()
    thread = threading.Thread(target=lambda: (saver.run(waiter.claim()), got.set()))
    thread.start()
    assert not got.is_set()
    saver.run(owner.release())
    thread.join(30)
    assert got.is_set()


async def test_a_waiting_async_run_does_not_block_the_loop(saver: Any) -> None:
    owner, waiter = saver.open_session("t"), saver.open_session("t", policy="wait")
    await saver.arun(owner.claim())
    waiting = asyncio.create_task(saver.arun(waiter.claim()))
    await asyncio.sleep(0)
    await saver.arun(owner.release())
    await waiting


def test_a_deleted_and_remade_thread_refuses_the_old_owner(saver: Any) -> None:
    zombie = saver.open_session("t")
    saver.run(zombie.commit(checkpoint(n=1), claim=True))
    zombie.parked = True
    saver.delete_thread("t")
    with pytest.raises(ThreadBusyError):
        saver.run(zombie.save_writes([]))
    other = saver.open_session("t")
    saver.run(other.commit(checkpoint(n=2), claim=True))
    with pytest.raises(ThreadBusyError):
        saver.run(zombie.commit(checkpoint(n=3), claim=False))
    assert saver.run(other.load()).values == {"n": 2}


def test_a_thread_that_a_run_owns_is_not_deleted(saver: Any) -> None:
    owner = saver.open_session("t")
    saver.run(owner.claim())
    with pytest.raises(ThreadBusyError):
        saver.delete_thread("t")


def test_an_unknown_policy_names_the_nearest(saver: Any) -> None:
    with pytest.raises(ConfigError, match="takeover"):
        saver.open_session("t", policy="takover")


# --- Other processes -----------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def owner(saver: SqliteSaver, **options: Any) -> Callable[[Callable[[], None]], str]:
    """Claim, pause, commit."""

    def work(pause: Callable[[], None]) -> str:
        session = saver.open_session("t", **options)
        first = checkpoint(n=1)
        saver.run(session.commit(first, claim=True))
        pause()
        saver.run(session.commit(checkpoint(first.id, n=2), release=True))
        return "done"

    return work


def test_a_live_process_is_respected_and_a_killed_one_is_taken_over_at_once(path: Path) -> None:
    saver = SqliteSaver(path)
    saver.setup()  # warm: the child inherits an open connection and must not use it
    child = Child(owner(saver, lease=1000.0))
    assert child.line() == "paused"
    session = saver.open_session("t")
    with pytest.raises(ThreadBusyError, match=f"process {child.pid} on host"):
        saver.run(session.claim())
    child.kill()
    child.wait()
    saver.run(session.claim())
    assert saver.run(session.load()).values == {"n": 1}


def test_a_zombie_that_nobody_reaped_is_dead_too(path: Path) -> None:
    saver = SqliteSaver(path)
    child = Child(owner(saver, lease=1000.0))
    child.line()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    saver.run(saver.open_session("t").claim())
    child.wait()


def test_an_owner_stopped_past_its_lease_cannot_commit_when_it_goes_on(path: Path) -> None:
    saver = SqliteSaver(path)
    child = Child(owner(saver, lease=1000.0))
    child.line()
    os.kill(child.pid, signal.SIGSTOP)
    root = saver.execute(ReadLane("t", ""))
    saver.execute(Renew([(root.lane, root.fence)], time() - 1))  # as if its lease had run out
    session = saver.open_session("t")
    saver.run(session.claim())
    os.kill(child.pid, signal.SIGCONT)
    assert child.go_on().startswith("ThreadBusyError: Thread 't' was taken over by another run")
    child.wait()
    assert saver.run(session.load()).values == {"n": 1}


def test_the_heartbeat_renews_while_a_node_is_busy(path: Path) -> None:
    saver = SqliteSaver(path)
    session = saver.open_session("t", lease=0.4)
    saver.run(session.claim())
    first = saver.execute(ReadLane("t", "")).lease
    deadline = time() + 30
    while saver.execute(ReadLane("t", "")).lease == first:
        assert time() < deadline, "no beat within half a minute"
    saver.run(session.release())
    beating = [t for t in threading.enumerate() if t.name == "plait-heartbeat"]
    for thread in beating:
        thread.join(30)
        assert not thread.is_alive(), "the thread outlives its claims"


def test_a_claim_is_renewed_no_more_once_what_drives_its_run_has_ended(path: Path) -> None:
    saver = SqliteSaver(path)
    left, live = saver.open_session("left", lease=0.4), saver.open_session("live", lease=0.4)
    for session in (left, live):
        saver.run(session.claim())
    left.gone = lambda: True
    for _ in range(2):  # the first beat may have been on its way
        first = saver.execute(ReadLane("live", "")).lease
        lease = saver.execute(ReadLane("left", "")).lease
        deadline = time() + 30
        while saver.execute(ReadLane("live", "")).lease == first:
            assert time() < deadline, "no beat within half a minute"
    assert saver.execute(ReadLane("left", "")).lease == lease
    saver.run(live.release())


@pytest.mark.parametrize("processes", [2, 8])
def test_of_many_processes_exactly_one_runs_a_thread(path: Path, processes: int) -> None:
    saver = SqliteSaver(path)
    saver.run(saver.open_session("t").commit(checkpoint(n=0), claim=True, release=True))

    def contend(pause: Callable[[], None]) -> str:
        session = saver.open_session("t")
        head = saver.run(session.load()).id
        pause()
        saver.run(session.commit(checkpoint(head, n=os.getpid()), claim=True, release=True))
        return "won"

    for _ in range(5):
        children = [Child(contend) for _ in range(processes)]
        assert [child.line() for child in children] == ["paused"] * processes
        for child in children:
            child.let_go()
        answers = [child.line() for child in children]
        for child in children:
            child.wait()
        assert answers.count("won") == 1, answers
        assert all(a == "won" or a.startswith("ThreadBusyError") for a in answers), answers
