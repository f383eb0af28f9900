"""Schedules: a random graph, run to its end in one order, with its questions answered late.

`Schedule` says everything about one run, so that it can be replayed; `play` runs it on one of the
three drivers, through errors, questions and crashes; `check` holds the result against the model.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, Literal

from plait.checkpoint.log.requests import (
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
)
from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, Happening, SimEnv, SimResult, simulate
from plait.errors import InvalidUpdateError
from plait.pregel.run import run_env
from plait.types import Command

from .graphs import INPUT, Broken, Spec, answer_to, broken_runs, build, spec_of_text
from .model import Course, Model, Step

CONFIG: Any = {"configurable": {"thread_id": "1"}}
MODES = ("updates", "checkpoints")
LATEST = 16
"""The last storage request of a run that a crash may hit; most runs make about as many."""
MOST_LIVES = 60
"""A schedule that needs more runs than this does not end."""

DriverName = Literal["sim", "sync", "async"]


@dataclass(frozen=True)
class Schedule:
    """One run of one graph."""

    graph: str
    """The graph's choices, as text."""
    seed: int
    crashes: int = 0
    """How often the process dies."""
    driver: DriverName = "sim"
    native: Literal["sync", "async"] = "sync"
    """Whether its nodes are sync or async functions."""
    durability: Literal["sync", "async"] = "sync"

    def command(self) -> str:
        """The command that replays it."""
        words = [f"--graph {self.graph} --seed {self.seed}"]
        words += [f"--crashes {self.crashes}"] if self.crashes else []
        words += [f"--driver {self.driver}"] if self.driver != "sim" else []
        words += ["--native async"] if self.native == "async" else []
        words += ["--durability async"] if self.durability == "async" else []
        return f".venv/bin/python -m tests.sim.replay {' '.join(words)}"


@dataclass
class Played:
    """What came of a schedule."""

    course: Course = field(default_factory=Course)
    trace: list[Happening] = field(default_factory=list)
    lives: int = 0
    deaths: int = 0
    saver: Any = None


@lru_cache(maxsize=64)
def compiled(graph: str, native: str) -> Any:
    """The compiled graph of a description."""
    return build(spec_of_text(graph), native=native)


@lru_cache(maxsize=64)
def expected(graph: str) -> Course:
    """What a run of it must come to."""
    return Model(spec_of_text(graph)).run()


def play(schedule: Schedule) -> Played:
    """Run a schedule to its end: die, resume, answer, go on after errors."""
    chance = Random(schedule.seed)
    env = SimEnv()
    graph = compiled(schedule.graph, schedule.native)
    played = Played(saver=InMemorySaver())
    graph.checkpointer = played.saver
    broken_runs.clear()
    live = _lives(schedule, graph, env, chance)
    given: Any = INPUT
    crashes = schedule.crashes
    while True:
        played.lives += 1
        assert played.lives < MOST_LIVES, "the schedule does not end"
        crash = None
        if played.deaths < crashes:
            crash = Crash(chance.randint(1, LATEST), chance.random() < 0.5)
        life = live(given, crash)
        played.trace += life.trace
        asked = _collect(life.parts, played.course)
        if life.crashed:
            played.deaths += 1
            begun = any(each.what == "committed" for each in played.trace)
            given = None if begun else INPUT
        elif isinstance(life.error, InvalidUpdateError):
            played.course.conflict = True
            return played
        elif life.error is not None:
            given = None
        elif asked:
            some = [each for each in asked if chance.random() < 0.75] or [chance.choice(asked)]
            given = Command(resume={each.id: answer_to(each.value) for each in some})
        else:
            return played


Live = Callable[[Any, Crash | None], SimResult]


def _lives(schedule: Schedule, graph: Any, env: SimEnv, chance: Random) -> Live:
    """How one run is made: input and crash to what came of it."""
    concurrency = chance.choice([None, None, 1, 2, 3])
    config = {**CONFIG, "max_concurrency": concurrency} if concurrency else CONFIG
    options: Any = {"durability": schedule.durability}
    caught = (Broken, InvalidUpdateError)

    def simulated(given: Any, crash: Crash | None) -> SimResult:
        return simulate(
            graph,
            given,
            config,
            seed=chance.getrandbits(32),
            crash_at=crash,
            env=env,
            flavor=schedule.native,
            stream_mode=MODES,
            catch=caught,
            **options,
        )

    def real(given: Any, crash: Crash | None) -> SimResult:
        result = SimResult(0)

        async def play_async() -> None:
            async for part in graph.astream(given, config, stream_mode=[*MODES], **options):
                result.parts.append(((), *part))

        token = run_env.set(env)
        try:
            if schedule.driver == "async":
                asyncio.run(play_async())
            else:
                for part in graph.stream(given, config, stream_mode=[*MODES], **options):
                    result.parts.append(((), *part))
        except caught as error:
            result.error = error
        finally:
            run_env.reset(token)
        return result

    return simulated if schedule.driver == "sim" else real


def _collect(parts: Sequence[Any], course: Course) -> list[Any]:
    """Add a run's checkpoints and updates to the course; returns the questions it ended with."""
    updates: list[str] = []
    asked: list[Any] = []
    for _, mode, payload in parts:
        if mode == "checkpoints":
            number = payload["metadata"]["step"]
            step = course.steps.get(number)
            if step is None:
                step = course.steps[number] = Step(payload["values"], payload["next"])
                step.updates = sorted(updates)
            else:
                assert (step.values, step.next) == (payload["values"], payload["next"])
            updates = []
        elif "__interrupt__" in payload:
            asked = list(payload["__interrupt__"])
        else:
            payload.pop("__metadata__", None)  # a resumed run tells again what was kept
            updates.append(repr(payload))
    return asked


# --- checks ---------------------------------------------------------------------------------------


def check(schedule: Schedule, played: Played | None = None) -> Played:
    """Play a schedule and hold it against the model; a failure says how to replay it."""
    try:
        played = play(schedule) if played is None else played
        check_course(played, expected(schedule.graph), died=played.deaths > 0)
        check_effects(played.trace)
    except Exception as error:
        error.add_note(f"replay: {schedule.command()}")
        raise
    return played


def check_course(played: Played, model: Course, *, died: bool) -> None:
    """Every super-step is the model's: state, what runs next, and what its tasks wrote."""
    course = played.course
    assert course.conflict == model.conflict
    if died:  # a dead process may have told less than it stored
        assert course.steps.keys() <= model.steps.keys()
    else:
        assert course.steps.keys() == model.steps.keys()
    for number, step in course.steps.items():
        right = model.steps[number]
        assert step.values == right.values, f"super-step {number}"
        assert step.next == right.next, f"super-step {number}"
        if not died:
            assert step.updates == right.updates, f"super-step {number}"


def check_effects(trace: Sequence[Happening]) -> None:
    """No task ran again once its outcome was stored; every super-step was committed once."""
    stored: set[str] = set()
    committed: Counter[Any] = Counter()
    for what, id, detail in trace:
        if what == "began":
            assert id not in stored, f"acknowledged task {id} of {detail!r} ran again"
        elif what == "stored":
            stored.add(id)
        elif what == "committed":
            committed[detail] += 1
    twice = [step for step, times in committed.items() if times > 1]
    assert not twice, f"super-steps {twice} were committed twice"


def check_history(played: Played, schedule: Schedule) -> None:
    """What is stored reads back as the model's course, from the newest to the oldest."""
    model = expected(schedule.graph)
    graph = compiled(schedule.graph, schedule.native)
    graph.checkpointer = played.saver
    history = list(graph.get_state_history(CONFIG))
    steps = [snapshot.metadata["step"] for snapshot in history]
    assert steps == sorted(model.steps, reverse=True)
    for snapshot in history:
        right = model.steps[snapshot.metadata["step"]]
        assert snapshot.values == right.values
        assert list(snapshot.next) == right.next


def rows(saver: Any) -> list[Any]:
    """All checkpoints and values that a saver holds, as the sealed bytes that they are."""
    found: list[Any] = []
    for lane in saver.execute(ListLanes()):
        keys = sorted(saver.execute(ListValues(lane.lane)))
        values = saver.execute(ReadValues(lane.lane, keys))
        found.append((lane.thread_id, lane.ns, lane.head))
        found.append([tuple(row) for row in saver.execute(ReadCheckpoints(lane.lane))])
        found.append(list(zip(keys, values, strict=True)))
    return found


def schedule_of(spec: Spec, seed: int, **options: Any) -> Schedule:
    """A schedule of a graph."""
    return Schedule(spec.text, seed, **options)
