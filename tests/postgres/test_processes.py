"""Processes over one Postgres database: killed anywhere, racing for a thread, frozen and fenced."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest
from tests.durability.graphs import CONFIG, adder, chain
from tests.durability.test_kill import MOST_POINTS, Trial, check, crashing, play

from plait.checkpoint.log.requests import ReadLane
from plait.checkpoint.postgres import PostgresSaver
from plait.errors import ThreadBusyError
from plait.testing import FaultySaver
from plait.testing.processes import GAVE_UP, Child, fork

from .server import Server

Start = Callable[[Any], Child]


@pytest.fixture
def start() -> Iterator[Start]:
    """`fork`, whose processes do not outlive the test."""
    children: list[Child] = []

    def begin(work: Any) -> Child:
        children.append(fork(work))
        return children[-1]

    yield begin
    for child in children:
        child.kill()


@pytest.mark.parametrize(("flow", "api"), [("fan", "sync"), ("nested", "async"), ("calls", "sync")])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_storage_request_nothing_is_lost_or_repeated(
    postgres_server: Server, tmp_path: Path, flow: str, api: str, when: str
) -> None:
    deaths = 0
    for point in count(1, 2 if when == "before" else 3):
        assert point < MOST_POINTS
        with postgres_server.database() as url:
            trial = Trial(flow, api, "sync", when, (point,))

            def opened(_: Path, *options: Any, url: str = url) -> FaultySaver:
                return crashing(PostgresSaver(url), *options)

            result = play(trial, tmp_path / str(point), opened)
        check(trial, result)
        deaths += result.deaths
        if not result.deaths:
            break
    print(f"{deaths} deaths")
    assert deaths > 5


@pytest.mark.parametrize("processes", [2, 8])
def test_of_many_processes_that_resume_a_thread_exactly_one_runs(
    postgres_url: str, tmp_path: Path, start: Start, processes: int
) -> None:
    effects = tmp_path / "effects"

    def graph_of(saver: Any, stop: list[str]) -> Any:
        def effect(state: Any) -> dict[str, Any]:
            with effects.open("a") as file:
                file.write(f"{os.getpid()}\n")
            return {"items": ["effect"]}

        return chain(saver, ("a", adder("a")), ("effect", effect), interrupt_before=stop)

    with PostgresSaver(postgres_url) as saver:
        for round in range(5):
            config: Any = {"configurable": {"thread_id": str(round)}}
            effects.write_text("")
            graph_of(saver, ["effect"]).invoke({"items": []}, config)
            ours, theirs = os.pipe()

            def resume(tell: Callable[[str], Any], config: Any = config, gate: int = ours) -> None:
                graph = graph_of(saver, [])  # the saver of the warm parent
                tell("ready")
                os.read(gate, 1)
                try:
                    tell(f"ran {graph.invoke(None, config)['items']}")
                except ThreadBusyError:
                    tell("busy")

            children = [start(resume) for _ in range(processes)]
            assert [child.hear() for child in children] == ["ready"] * processes
            os.write(theirs, b"x" * processes)
            told = sorted(child.hear() for child in children)
            assert [child.wait() for child in children] == [0] * processes
            os.close(ours)
            os.close(theirs)
            assert len(effects.read_text().split()) == 1
            ran = [line for line in told if line != "busy"]
            assert set(ran) == {"ran ['a', 'effect']"}  # who comes late finds the run at its end


class ShortLease(PostgresSaver):
    """Claims that last a moment unless renewed."""

    def open_session(self, thread_id: str, ns: str = "", **options: Any) -> Any:
        return super().open_session(thread_id, ns, **{**options, "lease": 0.4})


def waiting(saver: Any, tell: Callable[[str], Any], gate: int) -> Any:
    """`a`, then `b` which says that it runs and waits at the gate, then `c`."""

    def wait(state: Any) -> dict[str, Any]:
        tell("b runs")
        os.read(gate, 1)
        return {"items": ["b"]}

    return chain(saver, ("a", adder("a")), ("b", wait), ("c", adder("c")))


def quick(saver: Any) -> Any:
    return chain(saver, *((name, adder(name)) for name in "abc"))


def test_frozen_owner_is_taken_over_after_its_lease_and_fenced_when_it_wakes(
    postgres_url: str, start: Start
) -> None:
    ours, theirs = os.pipe()

    def first(tell: Callable[[str], Any]) -> None:
        with ShortLease(postgres_url) as saver:
            try:
                waiting(saver, tell, ours).invoke({"items": []}, CONFIG)
            except ThreadBusyError as error:
                tell("refused" if "taken over" in str(error) else str(error))

    owner = start(first)
    assert owner.hear() == "b runs"
    owner.signal(signal.SIGSTOP)
    with ShortLease(postgres_url) as saver:
        graph = quick(saver)
        result, deadline = None, monotonic() + GAVE_UP
        while result is None:
            assert monotonic() < deadline
            try:
                result = graph.invoke(None, CONFIG)
            except ThreadBusyError:
                pass
        assert result == {"items": ["a", "b", "c"]}
        before = [snapshot.config for snapshot in graph.get_state_history(CONFIG)]
        os.write(theirs, b"x")
        owner.signal(signal.SIGCONT)
        assert owner.hear() == "refused"
        assert owner.wait() == 0
        assert [snapshot.config for snapshot in graph.get_state_history(CONFIG)] == before


def test_owner_at_work_keeps_a_short_lease_while_its_node_blocks(
    postgres_url: str, start: Start
) -> None:
    ours, theirs = os.pipe()

    def first(tell: Callable[[str], Any]) -> None:
        with ShortLease(postgres_url) as saver:
            tell(str(waiting(saver, tell, ours).invoke({"items": []}, CONFIG)["items"]))

    owner = start(first)
    assert owner.hear() == "b runs"
    with ShortLease(postgres_url) as saver:
        leases: set[float] = set()
        while len(leases) < 5:  # renewed several times over
            leases.add(saver.execute(ReadLane("1", "")).lease)
            with pytest.raises(ThreadBusyError):
                quick(saver).invoke(None, CONFIG)
    os.write(theirs, b"x")
    assert owner.hear() == "['a', 'b', 'c']"


def test_leases_are_told_by_the_servers_clock(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose clock is a day ahead neither takes a living owner's thread over nor
    holds one for a day."""
    from plait.checkpoint.log import claims
    from plait.checkpoint.postgres import rows

    with PostgresSaver(postgres_url) as saver, psycopg.connect(postgres_url) as conn:
        session = saver.open_session("t", lease=60)
        saver.run(session.claim())
        conn.execute("UPDATE plait_lanes SET owner = 'a|b|1|c|elsewhere|1'")
        conn.commit()
        real = claims.time
        for module in (claims, rows):
            monkeypatch.setattr(module, "time", lambda: real() + 86400)
        with pytest.raises(ThreadBusyError, match="elsewhere"):
            saver.run(saver.open_session("t").claim())
        conn.execute("UPDATE plait_lanes SET lease = plait_clock() - 1")
        conn.commit()
        late = saver.open_session("t", lease=60)
        saver.run(late.claim())
        left = conn.execute("SELECT lease - plait_clock() FROM plait_lanes").fetchone()
        assert left is not None
        assert 0 < left[0] <= 60
