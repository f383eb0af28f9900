"""The proof of durability: `python -m tests.prove` (`make prove`) does the full counts.

Each row prints its figure, and all of them go to `docs/proof.json`, which the README quotes. A
failure prints the command that replays it. `--row 4` does one row, `--sample` a few seconds' worth;
the default test run does the sample (`tests/test_proof.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.durability.graphs import CONFIG, adder, chain
from tests.durability.savers import ShortLease
from tests.durability.test_kill import OUTCOMES, Trial, check, play
from tests.durability.workflow import CONFIG as KILL
from tests.durability.workflow import EXPECTED, Journal, build

from plait.checkpoint.base import empty_checkpoint
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import RunError, StorageError, ThreadBusyError
from plait.testing import FaultySaver, InjectedFailure, auntil_done, fork, until_done
from plait.testing.processes import GAVE_UP
from plait.testing.savers import HOSTILE
from plait.types import Command, interrupt

FIGURES = Path(__file__).parent.parent / "docs" / "proof.json"
Figure = dict[str, Any]
Row = Callable[[int, Path], Figure]


@contextmanager
def replayed(row: int, seed: int) -> Iterator[None]:
    """Failures inside say how to play them alone."""
    try:
        yield
    except Exception as error:
        error.add_note(f"replay: .venv/bin/python -m tests.prove --row {row} --seed {seed}")
        raise


def kills(seed: int, place: Path) -> Figure:
    """One run of a workflow, killed at a random storage request, and brought to its end."""
    chance = Random(seed)
    flow = chance.choice(list(OUTCOMES))
    trial = Trial(flow, chance.choice(["sync", "async"]), "sync",
                  chance.choice(["before", "after"]), (chance.randint(1, 24),))  # fmt: skip
    result = play(trial, place / "trial")
    check(trial, result)
    return {"runs": 1, "kills": result.deaths, "lost, repeated or re-run": 0}


def faults(seed: int, place: Path) -> Figure:
    """One storage request of the workflow fails (request and fault by the seed)."""
    fault: Any = ("raise", "commit then raise", "hang")[seed % 3]
    point, api = 1 + seed // 3, "async" if seed % 2 else "sync"
    with SqliteSaver(place / "threads.db") as inner:
        saver = FaultySaver(inner, at=point, fault=fault)
        graph = build(saver, Journal(place / "journal"), api)
        watch = threading.Thread(target=lambda: saver.hanging.wait(GAVE_UP) and saver.release())
        if fault == "hang":
            watch.start()
        for _ in range(2):
            try:
                _finish(graph, api)
            except (InjectedFailure, StorageError):
                assert saver.failed
        saver.hanging.set()
        if fault == "hang":
            watch.join()
        saver.at = 0
        values = graph.get_state(KILL).values
        assert values == EXPECTED, f"{fault} at request {point}: {values}"
        return {"points": int(saver.failed), "other states": 0}


def _finish(graph: Any, api: str) -> None:
    if api == "async":
        asyncio.run(auntil_done(graph, {"trail": []}, KILL, answer="yes"))
    else:
        until_done(graph, {"trail": []}, KILL, answer="yes")


def races(seed: int, place: Path) -> Figure:
    """2, 8 or 32 processes, forked from this one, answer one question at the same moment."""
    processes = (2, 2, 8, 8, 32)[seed % 5]
    path, effects = place / "threads.db", place / "effects"
    read, write = os.pipe()

    def graph_of(saver: Any) -> Any:
        def ask(state: Any) -> Any:
            answer = interrupt("?")
            with effects.open("a") as file:
                file.write(f"{answer}\n")
            return {"items": [answer]}

        return chain(saver, ("ask", ask), ("c", adder("c")))

    def work(name: str) -> Callable[[Callable[[str], Any]], None]:
        def answer(tell: Callable[[str], Any]) -> None:
            with SqliteSaver(path) as saver:
                graph = graph_of(saver)
                tell("ready")
                os.read(read, 1)
                try:
                    graph.invoke(Command(resume=name), CONFIG)
                    tell("ran")
                except RunError as error:
                    tell(type(error).__name__)

        return answer

    with SqliteSaver(path) as saver:
        graph_of(saver).invoke({"items": []}, CONFIG)
    children = [fork(work(str(number))) for number in range(processes)]
    assert {child.hear() for child in children} == {"ready"}
    os.write(write, b"x" * processes)
    said = Counter(child.hear() for child in children)
    assert [child.wait() for child in children] == [0] * processes
    os.close(read), os.close(write)
    assert said.pop("ran") == 1, said
    assert said.keys() <= {"ThreadBusyError", "UnknownInterruptError"}, said
    assert len(effects.read_text().split()) == 1
    return {"rounds": 1, "processes": processes, "ran twice": 0}


def zombies(seed: int, place: Path) -> Figure:
    """An owner is stopped past its lease, another run finishes, the owner goes on."""
    path = place / "threads.db"
    read, write = os.pipe()

    def first(tell: Callable[[str], Any]) -> None:
        def wait(state: Any) -> Any:
            tell("runs")
            os.read(read, 1)
            return {"items": ["b"]}

        with ShortLease(path) as saver:
            graph = chain(saver, ("a", adder("a")), ("b", wait), ("c", adder("c")))
            try:
                graph.invoke({"items": []}, CONFIG)
            except ThreadBusyError:
                tell("refused")

    owner = fork(first)
    assert owner.hear() == "runs"
    owner.signal(signal.SIGSTOP)
    with ShortLease(path, thread_busy="wait") as saver:
        graph = chain(saver, *((name, adder(name)) for name in "abc"))
        assert graph.invoke(None, CONFIG) == {"items": ["a", "b", "c"]}
        before = [each.config for each in graph.get_state_history(CONFIG)]
        os.write(write, b"x")
        owner.signal(signal.SIGCONT)
        assert owner.hear() == "refused"
        assert owner.wait() == 0
        assert [each.config for each in graph.get_state_history(CONFIG)] == before
    os.close(read), os.close(write)
    return {"rounds": 1, "stale commits": 0}


def tampering(seed: int, place: Path, mutations: int = 20_000) -> Figure:
    """Mutated and swapped records, payloads of attacks (a process of its own, audited)."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.prove_bytes"]
    command += ["--mutations", str(mutations), "--seed", str(seed or 7)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FIGURES.parent.parent)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nreplay: {' '.join(command)}"
    return json.loads(done.stdout)


def names(seed: int, place: Path) -> Figure:
    """Hostile thread ids, namespaces and filters against a Python oracle; constant SQL."""
    chance, rows, texts = Random(seed), list[tuple[str, str, dict[str, Any], str]](), set[str]()
    conn = sqlite3.connect(place / "threads.db", check_same_thread=False, isolation_level=None)
    with SqliteSaver(conn) as saver:
        saver.setup()
        for _ in range(40):
            thread, ns = chance.choice(HOSTILE), chance.choice(HOSTILE)
            facts: Any = {"source": chance.choice(HOSTILE), "step": chance.randint(0, 3)}
            at: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
            put = saver.put(at, empty_checkpoint(), facts, {})
            rows.append((thread, ns, facts, put["configurable"]["checkpoint_id"]))
        texts = _texts(conn, saver, HOSTILE[:4])
        assert texts == _texts(conn, saver, HOSTILE[4:]), "SQL depends on names"
        for _ in range(60):
            thread, ns = chance.choice(HOSTILE), chance.choice(HOSTILE)
            key = chance.choice(["source", "step", "x') OR 1=1 --", "$.source", *HOSTILE])
            value = chance.choice([*HOSTILE, 0, 1, {"$gt": 0}, None])
            at = {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
            found = [each.checkpoint["id"] for each in saver.list(at, filter={key: value})]
            here = [(facts, id) for t, n, facts, id in rows if (t, n) == (thread, ns)]
            right = [id for facts, id in here if key in facts and facts[key] == value]
            assert sorted(found) == sorted(right), (thread, ns, key, value)
    conn.close()
    return {"queries": 60, "differences from the oracle": 0, "SQL texts": len(texts)}


def _texts(conn: sqlite3.Connection, saver: Any, some: Any) -> set[str]:
    """The SQL of lists by hostile names, with bound values taken out again."""
    heard: set[str] = set()
    for name in some:
        at: Any = {"configurable": {"thread_id": name, "checkpoint_ns": name}}
        traced: list[str] = []
        conn.set_trace_callback(traced.append)
        list(saver.list(at, filter={name: name}, limit=3))
        conn.set_trace_callback(None)
        quoted = "'" + name.replace("'", "''") + "'"
        heard |= {text.replace(quoted, "?") for text in traced[:1]}
    return heard


def cancels(seed: int, place: Path) -> Figure:
    """The run is cancelled at its nth turn of the event loop; it leaves nothing behind."""

    async def play(turns: int) -> bool:
        with SqliteSaver(place / f"{turns}.db") as saver:
            graph = build(saver, Journal(place / f"journal-{turns}"), "async")
            run = asyncio.create_task(graph.ainvoke({"trail": []}, KILL))
            for _ in range(turns):
                await asyncio.sleep(0)
            in_time = run.cancel()
            try:
                await run
            except asyncio.CancelledError:
                pass
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"cancelled after {turns} turns, tasks live on: {left}"
            values = await auntil_done(graph, {"trail": []}, KILL, answer="yes")
            assert values == EXPECTED, f"cancelled after {turns} turns"
        return in_time

    threads = threading.active_count()
    in_time = asyncio.run(play(seed * 3))
    gc.collect()
    assert threading.active_count() <= threads + 2, "threads that nobody ends"
    return {"cancels": int(in_time), "leaked": 0}


def releases(seed: int, place: Path) -> Figure:
    """Files of all releases load (`tests/durability/test_releases.py` looks closely)."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist",
               "tests/durability/test_releases.py"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=FIGURES.parent.parent)
    assert done.returncode == 0, f"{done.stdout}\nreplay: {' '.join(command)}"
    return {"releases": len(list(Path(__file__).parent.glob("durability/releases/*/threads.db")))}


ROWS: dict[int, tuple[Row, int, int]] = {
    1: (kills, 1000, 10),
    2: (faults, 300, 12),
    4: (races, 200, 3),
    5: (zombies, 50, 1),
    6: (tampering, 1, 1),
    7: (names, 50, 2),
    9: (cancels, 60, 6),
    10: (releases, 1, 1),
}
"""Row of the table to: what it does for one seed, how many seeds in full, how many as a sample."""


def prove(row: int, seeds: Any) -> Figure:
    """Do a row for these seeds; returns the sum of its figures."""
    total: Figure = {}
    work = ROWS[row][0]
    for seed in seeds:
        with TemporaryDirectory() as folder, replayed(row, seed):
            for name, value in work(seed, Path(folder)).items():
                old = total.get(name, 0)
                total[name] = old + value if type(value) is int else value
    return total


def main() -> None:
    """Prove rows, print their figures, and write them down when all were done in full."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", type=int, choices=list(ROWS))
    parser.add_argument("--seed", type=int, help="only this one: a replay")
    parser.add_argument("--sample", action="store_true")
    given = parser.parse_args()
    figures: dict[str, Figure] = {}
    for row in ROWS if given.row is None else [given.row]:
        full, sample = ROWS[row][1:]
        seeds = range(sample if given.sample else full) if given.seed is None else [given.seed]
        figures[str(row)] = prove(row, seeds)
        print(f"row {row}: {figures[str(row)]}", flush=True)
    if given.row is given.seed is None and not given.sample:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
