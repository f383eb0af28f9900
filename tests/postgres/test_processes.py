"""Processes over one Postgres database: killed anywhere, racing for a thread; whose clock counts.

Frozen and fenced owners are in `tests/durability/test_owners.py`, with those of SQLite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.durability.graphs import adder, chain
from tests.durability.test_kill import MOST_POINTS, REPLAYS, Result, Trial, check, crashing, play

from plait.checkpoint.postgres import PostgresSaver
from plait.errors import ThreadBusyError
from plait.testing import FaultySaver
from plait.testing.processes import Child, fork

from .server import Server

HERE = "tests/postgres/test_processes.py"
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
            result = played(trial, tmp_path / str(point), url)
        check(trial, result, HERE)
        deaths += result.deaths
        if not result.deaths:
            break
    print(f"{deaths} deaths")
    assert deaths > 5


@REPLAYS
def test_replay(postgres_url: str, tmp_path: Path) -> None:
    trial = Trial.parse(os.environ["PLAIT_KILL"])
    check(trial, played(trial, tmp_path / "trial", postgres_url), HERE)


def played(trial: Trial, place: Path, url: str) -> Result:
    """A trial whose threads are in a database."""

    def opened(_: Path, *options: Any) -> FaultySaver:
        return crashing(PostgresSaver(url), *options)

    return play(trial, place, opened)


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


def test_leases_are_told_by_the_servers_clock(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose clock is a day ahead neither takes a living owner's thread over nor
    holds one for a day."""
    from plait.checkpoint.log import identity

    with PostgresSaver(postgres_url) as saver, psycopg.connect(postgres_url) as conn:
        session = saver.open_session("t", lease=60)
        saver.run(session.claim())
        conn.execute("UPDATE plait_lanes SET owner = 'a|b|1|c|elsewhere|1'")
        conn.commit()
        for name, real in (("time", identity.time), ("monotonic", identity.monotonic)):
            monkeypatch.setattr(identity, name, lambda real=real: real() + 86400)
        with pytest.raises(ThreadBusyError, match="elsewhere"):
            saver.run(saver.open_session("t").claim())
        conn.execute("UPDATE plait_lanes SET lease = plait_clock() - 1")
        conn.commit()
        late = saver.open_session("t", lease=60)
        saver.run(late.claim())
        left = conn.execute("SELECT lease - plait_clock() FROM plait_lanes").fetchone()
        assert left is not None
        assert 0 < left[0] <= 60
