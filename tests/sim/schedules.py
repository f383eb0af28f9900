"""Schedules: a random graph, run to its end in one order, with its questions answered late.

`Schedule` says everything about one run, so that it can be replayed; `play` runs it on one of the
three drivers, through errors, questions, crashes and zombies; `check` holds the result against the
model.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, Literal, Protocol

from plait.checkpoint.log.requests import (
    Append,
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadLane,
    ReadValues,
    ReadWrites,
    Transact,
)
from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, Happening, SimEnv, SimResult, simulate
from plait.errors import InvalidUpdateError, ThreadBusyError
from plait.pregel.run import run_env
from plait.types import Command

from .graphs import INPUT, Broken, Spec, answer_to, broken_runs, build, spec_of_text
from .model import Course, Model, Step

CONFIG: Any = {"configurable": {"thread_id": "1"}}
MODES = ("updates", "checkpoints")
LATEST = 16
"""The last storage request of a run that a crash may hit; most runs make about as many."""
LATEST_WRITE = 8
"""The last one that writes, at which an owner may stand still."""
TROUBLES = ((1, 0), (0, 1), (1, 1), (2, 1), (1, 2))
"""(crashes, zombies), at most, of schedules with trouble."""
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
    zombies: int = 0
    """How often it stands still, and comes back when another one has gone on with the thread."""
    driver: DriverName = "sim"
    native: Literal["sync", "async"] = "sync"
    """Whether its nodes are sync or async functions."""
    durability: Literal["sync", "async"] = "sync"

    def command(self) -> str:
        """The command that replays it."""
        words = [f"--graph {self.graph} --seed {self.seed}"]
        words += [f"--crashes {self.crashes}"] if self.crashes else []
        words += [f"--zombies {self.zombies}"] if self.zombies else []
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
    zombies: int = 0
    saver: Any = None


class Standing(InMemorySaver):
    """Stands still at a request by which an owner writes, while something else happens."""

    left = 0
    """How many such requests there are, up to that one; 0: it does not."""
    meanwhile: Callable[[], None]

    def execute(self, request: Any) -> Any:
        """Do a storage request."""
        if self.left and type(request) in (Transact, Append) and request.fence is not None:
            self.left -= 1
            if not self.left:
                self.meanwhile()
        return super().execute(request)


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
    return _Play(schedule).out()


class _Play:
    """A schedule at work."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.chance = Random(schedule.seed)
        self.graph = compiled(schedule.graph, schedule.native)
        self.saver = self.graph.checkpointer = Standing()
        self.played = Played(saver=self.saver)
        broken_runs.clear()
        self.live = _lives(schedule, self.graph, SimEnv(), self.chance)

    def out(self) -> Played:
        """Play it out."""
        given: Any = INPUT
        while given is not ...:
            given = self.one(given)
        return self.played

    def one(self, given: Any) -> Any:
        """A life; returns what is given to the next one (`...`: it was the last)."""
        played = self.played
        played.lives += 1
        assert played.lives < MOST_LIVES, "the schedule does not end"
        if played.zombies < self.schedule.zombies and self.chance.random() < 0.5:
            return self.standing(given)
        return self.after(self.live(given, self.crash(), takeover=False))

    def crash(self) -> Crash | None:
        """Where the next life ends early."""
        if self.played.deaths >= self.schedule.crashes:
            return None
        return Crash(self.chance.randint(1, LATEST), self.chance.random() < 0.5)

    def after(self, life: SimResult) -> Any:
        """Take in a life; returns what is given to the next one."""
        played, chance = self.played, self.chance
        played.trace += life.trace
        asked = _collect(life.parts, played.course)
        if life.crashed:
            played.deaths += 1
            begun = any(each.what == "committed" for each in played.trace)
            return None if begun else INPUT
        if isinstance(life.error, InvalidUpdateError):
            played.course.conflict = True
            return ...
        if life.error is not None:
            assert isinstance(life.error, Broken), life.error
            return None
        return answers(asked, chance) if asked else ...

    def standing(self, given: Any) -> Any:
        """A life that stands still at a request by which it writes, while another process takes the
        thread over and goes on with it; then it comes back, and is refused."""
        others: list[SimResult] = []
        stored: list[Any] = []

        def meanwhile() -> None:
            before = self.saver.execute(ReadLane("1", "")).fence
            crash = self.crash()
            while (then := self.next()) is not ...:
                others.append(self.live(then, crash, takeover=True))
                if self.saver.execute(ReadLane("1", "")).fence != before:
                    break
                crash = None  # it died before it had taken over
            stored.append(everything(self.saver))

        self.saver.left, self.saver.meanwhile = self.chance.randint(1, LATEST_WRITE), meanwhile
        life = self.live(given, None, takeover=False)
        self.saver.left = 0
        if not others:
            return self.after(life)
        self.played.zombies += 1
        refused = isinstance(life.error, ThreadBusyError)
        if isinstance(life.error, InvalidUpdateError):  # it had an error of its own by then
            refused = expected(self.schedule.graph).conflict
        assert refused, f"a zombie was not refused: {life.error}"
        assert everything(self.saver) == stored[0], "a zombie stored something"
        self.played.trace += life.trace  # what it began when it was back, too
        _collect(life.parts, self.played.course)
        for other in others:
            self.after(other)
        return ... if self.played.course.conflict else self.next()

    def next(self) -> Any:
        """What the thread needs to go on, by what is stored (`...`: it has ended)."""
        try:
            state = self.graph.get_state(CONFIG)
        except InvalidUpdateError:  # the tasks are done, and what they wrote is in conflict
            return None
        if state.created_at is None:
            return INPUT
        asked = [each for task in state.tasks for each in task.interrupts]
        if asked:
            return answers(asked, self.chance)
        return None if state.next else ...


def answers(asked: list[Any], chance: Random) -> Any:
    """The answers to some questions."""
    some = [each for each in asked if chance.random() < 0.75] or [chance.choice(asked)]
    return Command(resume={each.id: answer_to(each.value) for each in some})


class Live(Protocol):
    """One run: input and crash to what came of it."""

    def __call__(self, given: Any, crash: Crash | None, *, takeover: bool) -> SimResult: ...


def _lives(schedule: Schedule, graph: Any, env: SimEnv, chance: Random) -> Live:
    """How one run is made."""
    concurrency = chance.choice([None, None, 1, 2, 3])
    config = {**CONFIG, "max_concurrency": concurrency} if concurrency else CONFIG
    options: Any = {"durability": schedule.durability}
    caught = (Broken, InvalidUpdateError, ThreadBusyError)
    taking: Any = {"configurable": {**CONFIG["configurable"], "thread_busy": "takeover"}}

    def simulated(given: Any, crash: Crash | None, *, takeover: bool) -> SimResult:
        return simulate(
            graph,
            given,
            {**config, **taking} if takeover else config,
            seed=chance.getrandbits(32),
            crash_at=crash,
            env=env,
            flavor=schedule.native,
            stream_mode=MODES,
            catch=caught,
            **options,
        )

    def real(given: Any, crash: Crash | None, *, takeover: bool) -> SimResult:
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
        died = played.deaths + played.zombies > 0
        check_course(played, expected(schedule.graph), died=died)
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


def everything(saver: Any) -> list[Any]:
    """`rows`, and what tasks wrote."""
    found = rows(saver)
    for lane in saver.execute(ListLanes()):
        for row in saver.execute(ReadCheckpoints(lane.lane)):
            found.append([tuple(each) for each in saver.execute(ReadWrites(lane.lane, row.id))])
    return found


def schedule_of(spec: Spec, seed: int, **options: Any) -> Schedule:
    """A schedule of a graph."""
    return Schedule(spec.text, seed, **options)
