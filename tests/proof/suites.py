"""Rows 3, 6, 7, 10, 11 and 13: simulations, tampered bytes, hostile names, suites of tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from tests.sim.graphs import INPUT, Spec, build, spec_of_seed
from tests.sim.schedules import CONFIG, TROUBLES, check, check_history, expected, schedule_of
from tests.sim.travel import travel

from plait.checkpoint.base import empty_checkpoint
from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import SimEnv, simulate
from plait.errors import ThreadBusyError
from plait.testing.savers import HOSTILE

from .parts import Figure, Scene

ROOT = Path(__file__).parents[2]
SCHEDULES = 50
"""Schedules of each graph."""
STEPS = 9
"""What is done after the first turn of a journey; each is a schedule."""


# --- row 3 ----------------------------------------------------------------------------------------


def schedules(seed: int, scene: Scene) -> Figure:
    """A random graph in 50 orders, with crashes, zombies and questions, held against a model."""
    spec, deaths, stale = spec_of_seed(seed), 0, 0
    for number in range(SCHEDULES):
        crashes, zombies = TROUBLES[number % len(TROUBLES)]
        schedule = schedule_of(
            spec,
            number,
            crashes=crashes,
            zombies=zombies,
            durability="async" if number % 3 == 2 else "sync",
            native="async" if number % 7 == 4 else "sync",
        )
        played = check(schedule)
        if not played.course.conflict:
            check_history(played, schedule)
        deaths += played.deaths
        stale += played.zombies
    return {"schedules": SCHEDULES, "crashes": deaths, "zombies": stale, "stale commits": 0,
            "differences from the model": 0}  # fmt: skip


class Frozen(InMemorySaver):
    """Stands still at its nth transaction, while another run takes the thread over and ends it."""

    at, count = 0, 0
    meanwhile: Any = None

    def execute(self, request: Any) -> Any:
        if type(request).__name__ in ("Transact", "Append"):
            self.count += 1
            if self.count == self.at:
                self.meanwhile()
        return super().execute(request)


def stale(seed: int, scene: Scene) -> Figure:
    """A simulated owner comes back after another run has taken its thread over and ended it."""
    number = seed
    while not _steady(spec := spec_of_seed(number)):
        number += 100_000
    model, chance = expected(spec.text), Random(seed)
    graph, other, env = build(spec), build(spec), SimEnv()
    saver = graph.checkpointer = other.checkpointer = Frozen()
    saver.at = chance.randint(2, 8)
    takes_over: Any = {"configurable": {"thread_id": "1", "thread_busy": "takeover"}}
    histories: list[Any] = []

    def meanwhile() -> None:
        simulate(other, None, takes_over, seed=seed + 1, env=env)
        histories.append([each.config for each in other.get_state_history(CONFIG)])

    saver.meanwhile = meanwhile
    life = simulate(graph, INPUT, CONFIG, seed=seed, env=env, catch=ThreadBusyError)
    state = graph.get_state(CONFIG)
    assert state.values == model.steps[max(model.steps)].values
    if not histories:
        return {"zombies": 0}
    assert isinstance(life.error, ThreadBusyError), "a stale owner was not refused"
    assert [each.config for each in graph.get_state_history(CONFIG)] == histories[0]
    return {"zombies": 1, "stale commits": 0}


def _steady(spec: Spec) -> bool:
    """Whether a graph runs to its end without questions and errors."""
    asks = any(node.asks or node.broken for node in spec.nodes)
    return not asks and not expected(spec.text).conflict


def journeys(seed: int, scene: Scene) -> Figure:
    """A thread takes turns, replays and forks from any checkpoint, held against a model."""
    travel(seed, STEPS, crashes=False)
    return {"schedules": 1 + STEPS, "differences from the model": 0}


def broken_journeys(seed: int, scene: Scene) -> Figure:
    """The same, and the process dies between."""
    deaths = travel(seed, STEPS, crashes=True).deaths
    return {"schedules": 1 + STEPS, "crashes": deaths, "differences from the model": 0}


# --- rows 6 and 7 ---------------------------------------------------------------------------------


def tampering(seed: int, scene: Scene, mutations: int = 20_000) -> Figure:
    """Mutated and swapped records, payloads of attacks (a process of its own, audited)."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.prove_bytes"]
    command += ["--mutations", str(mutations), "--seed", str(seed or 7)]
    return json.loads(_ran(command))


def attacks(seed: int, scene: Scene) -> Figure:
    """A database of LangGraph's full of attacks is imported (a process of its own, audited)."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.importing.attack", str(scene.folder)]
    found = json.loads(_ran(command))
    assert (found["heard"], found["imported"]) == ([], False), found
    assert found["outcomes"].keys() <= {"imported", "refused"}, found
    return {"attacks on the import": found["threads"], "imports_or_executions": 0}


def names(seed: int, scene: Scene) -> Figure:
    """Hostile thread ids, namespaces and filters against a Python oracle."""
    chance, rows = Random(seed), list[tuple[str, str, dict[str, Any], str]]()
    with scene.db.open() as saver:
        saver.setup()
        for _ in range(40):
            thread, ns = chance.choice(HOSTILE), chance.choice(HOSTILE)
            facts: Any = {"source": chance.choice(HOSTILE), "step": chance.randint(0, 3)}
            at: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
            put = saver.put(at, empty_checkpoint(), facts, {})
            rows.append((thread, ns, facts, put["configurable"]["checkpoint_id"]))
        for _ in range(60):
            thread, ns = chance.choice(HOSTILE), chance.choice(HOSTILE)
            key = chance.choice(["source", "step", "x') OR 1=1 --", "$.source", *HOSTILE])
            value = chance.choice([*HOSTILE, 0, 1, {"$gt": 0}, None])
            at = {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
            found = [each.checkpoint["id"] for each in saver.list(at, filter={key: value})]
            here = [(facts, id) for t, n, facts, id in rows if (t, n) == (thread, ns)]
            right = [id for facts, id in here if key in facts and facts[key] == value]
            assert sorted(found) == sorted(right), (thread, ns, key, value)
    return {"queries": 60, "differences from the oracle": 0}


# --- rows 10 and 11 -------------------------------------------------------------------------------


def releases(seed: int, scene: Scene) -> Figure:
    """Files of all releases load, and their threads go on: of SQLite and of Postgres."""
    kept = ROOT / "tests/durability/releases"
    files = [*kept.glob("*/*.db"), *kept.glob("*/*.sql")]
    figures = _suite("tests/durability/test_releases.py")
    return {"releases": len({each.parent for each in files}), "files": len(files), **figures}


def savers(seed: int, scene: Scene) -> Figure:
    """One suite over memory, SQLite and Postgres, through sync and async methods."""
    return _suite("tests/testing/test_savers.py", "tests/postgres/test_conformance.py")


def stores(seed: int, scene: Scene) -> Figure:
    """One suite over the stores in memory, SQLite and Postgres."""
    return _suite("tests/store/test_conformance.py", "tests/postgres/test_store.py")


def _suite(*files: str) -> Figure:
    """Run tests; all of them must pass."""
    options = ["-o", "addopts=--import-mode=importlib", "-p", "no:xdist"]  # not quiet: it counts
    said = _ran([sys.executable, "-m", "pytest", *options, *files])
    passed = re.search(r"(\d+) passed", said)
    skipped = re.search(r"(\d+) skipped", said)
    assert passed is not None, said
    return {"promises kept": int(passed[1]),
            "skipped": int(skipped[1]) if skipped else 0, "broken": 0}  # fmt: skip


def _ran(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nreplay: {' '.join(command)}"
    return done.stdout
