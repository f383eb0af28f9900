"""Every crash point of a workflow: killed before and after each storage request, then resumed.

    from plait.testing import Effects, every_crash_point, until_done

    def workflow(saver, effects: Effects):
        graph = build(saver, effects)          # yours; nodes call effects.note("charged")
        return until_done(graph, {"order": 7}, CONFIG, answer="yes")

    def test_a_killed_order_is_charged_once(tmp_path):
        report = every_crash_point(workflow, tmp_path)
        assert report.counts("charged") == {1}

The workflow is a function that brings the thread to its end from wherever it stands. It is run in
a process of its own that gets SIGKILL at its nth storage request, then in a fresh one that lives,
for every n, before and after. Effects are counted in a file, outside of the database under test.
"""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import inf
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, Literal, TypeAlias, cast

from plait.checkpoint.sqlite import SqliteSaver
from plait.drivers.env import run_env
from plait.engine.spec import Env
from plait.errors import ConfigError
from plait.runtime import get_runtime
from plait.testing.faults import Fault, FaultySaver, InjectedCrash
from plait.testing.processes import fork
from plait.timers import moment_of
from plait.types import Command

When: TypeAlias = Literal["before", "after"]
Workflow: TypeAlias = "Callable[[Any, Effects], Any]"
"""Given a saver and where to note effects, brings the thread to its end; returns its result."""

REPLAY: Final = "PLAIT_CRASH"
"""The environment variable that names the only point to play, as a failure prints it."""
MOST_POINTS: Final = 2000


class Effects:
    """What a workflow did to the world: lines in a file that only grows, each one atomic append.

    Args:
        path: The file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     effects = Effects(Path(folder) / "effects")
    ...     effects.note("charged", "order-7")
    ...     effects.counts()
    Counter({'charged order-7': 1})
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def note(self, *words: str) -> None:
        """Something was done. Inside a task its id is noted too."""
        self._add("did", _task_here(), " ".join(words))

    def stored(self, task_id: str) -> None:
        """The storage has confirmed the outcome of a task."""
        self._add("stored", task_id, "")

    def _add(self, *parts: str) -> None:
        line = "\t".join(map(_in_a_line, parts))
        with self.path.open("ab", buffering=0) as file:
            file.write(line.encode("utf-8", "surrogatepass") + b"\n")

    def lines(self) -> list[tuple[str, str, str]]:
        """All lines so far: ("did" or "stored", task id, words)."""
        *lines, _ = self.path.read_bytes().decode("utf-8", "surrogatepass").split("\n")
        return [tuple(line.split("\t", 2)) for line in lines]  # type: ignore[misc]

    def counts(self) -> Counter[str]:
        """How often each effect happened."""
        return Counter(words for what, _, words in self.lines() if what == "did")

    def repeated(self) -> list[tuple[str, str]]:
        """(task id, words) of effects under a task whose outcome was stored before: there must be
        none. A task is known by its id, which a resumed run gives it again."""
        acknowledged: set[str] = set()
        found: list[tuple[str, str]] = []
        for what, task, words in self.lines():
            if what == "stored":
                acknowledged.add(task)
            elif task in acknowledged:
                found.append((task, words))
        return found


def _in_a_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")


def _task_here() -> str:
    try:
        return get_runtime().execution_info.task_id
    except (RuntimeError, AttributeError):  # outside of any run, or of any task
        return "-"


@dataclass(frozen=True)
class CrashPoint:
    """One trial: where the first process died, and what came of it."""

    request: int
    """The number of the storage request."""
    when: When
    died: bool
    """Whether the workflow made so many requests."""
    result: str
    """The `repr` of what the workflow returned in the end."""
    effects: Counter[str]
    repeated: list[tuple[str, str]]
    """Effects of tasks that ran again although their outcome was stored."""

    @property
    def replay(self) -> str:
        """The command that plays this point alone: the test, or the program as it was started.

        Of a program that nobody can start again, such as what is typed in at a prompt, it is what
        to set in the environment.
        """
        return _replay(self.request, self.when)


def _replay(request: int, when: When) -> str:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    command = f'{REPLAY}="{request} {when}"'
    if test:
        return f"{command} python -m pytest '{test}'"
    program = [] if hasattr(sys, "ps1") else sys.orig_argv[1:]
    return f"{command} {shlex.join([sys.executable, *program])}" if program else command


@dataclass(frozen=True)
class CrashReport:
    """All points of a workflow."""

    points: list[CrashPoint] = field(default_factory=list[CrashPoint])

    @property
    def deaths(self) -> int:
        """How many trials died."""
        return sum(point.died for point in self.points)

    def counts(self, *words: str) -> set[int]:
        """How often an effect happened in a trial: all the counts that were seen."""
        return {point.effects[_in_a_line(" ".join(words))] for point in self.points}

    def __str__(self) -> str:
        return f"{len(self.points)} crash points, {self.deaths} deaths"


def every_crash_point(
    workflow: Workflow,
    folder: Path,
    *,
    open: Callable[[Path], AbstractContextManager[Any]] | None = None,
    kill: bool = True,
    stride: int = 1,
) -> CrashReport:
    """Crash a workflow before and after each of its storage requests, and resume it.

    Args:
        workflow: Brings the thread to its end; see the module's head.
        folder: An empty folder; each trial has one of its own inside. (A replay makes a new one
            in it.)
        open: Opens one of plait's savers for a trial's folder (None: a `SqliteSaver` there).
        kill: SIGKILL in a forked process. False: an `InjectedCrash` in this process and then a
            fresh saver; for systems without fork.
        stride: Only every nth request.

    Returns:
        The points, when all ended with the result of an undisturbed trial and no task ran again
        whose outcome was stored.

    Raises:
        AssertionError: A point that did not, or whose process failed; it says how to replay it.
        ConfigError: The stride is no whole number of at least 1, the environment names no point,
            the workflow makes no request, or `open` gives no saver of plait's whose threads another
            process can go on with.
    """
    if isinstance(stride, bool) or not isinstance(cast("Any", stride), int) or stride < 1:
        raise ConfigError(f"stride={stride!r}: give a whole number of at least 1.")
    opened = open or _sqlite
    report = CrashReport()
    if REPLAY in os.environ:
        folder.mkdir(parents=True, exist_ok=True)
        folder = Path(mkdtemp(prefix="replay-", dir=folder))
    expected = _play(workflow, folder / "undisturbed", opened, None, kill)
    for point in _points(workflow, folder, opened, kill, stride):
        report.points.append(point)
        assert point.result == expected.result, (
            f"Killed {point.when} storage request {point.request}, the workflow ended with "
            f"{point.result}, not with {expected.result}.\nreplay: {point.replay}"
        )
        assert not point.repeated, (
            f"Killed {point.when} storage request {point.request}, tasks ran again after their "
            f"outcome was stored: {point.repeated}.\nreplay: {point.replay}"
        )
    if not report.points:
        raise ConfigError(
            "The workflow has asked nothing of the saver that it was given, so there is no place "
            "to crash it at. Compile the graph with that saver: compile(checkpointer=saver)."
        )
    return report


def _points(
    workflow: Workflow, folder: Path, opened: Any, kill: bool, stride: int
) -> Iterator[CrashPoint]:
    only = os.environ.get(REPLAY)
    if only is not None:
        request, when = _named(only)
        yield _play(workflow, folder / f"{when}-{request}", opened, (request, when), kill)
        return
    for when in ("before", "after"):
        for request in count(1, stride):
            assert request < MOST_POINTS, f"The workflow made {MOST_POINTS} storage requests."
            point = _play(workflow, folder / f"{when}-{request}", opened, (request, when), kill)
            if not point.died:
                break
            yield point


def _named(text: str) -> tuple[int, When]:
    """The point that the environment names. Raises ConfigError."""
    request, _, when = text.partition(" ")
    if not (request.isdecimal() and int(request)) or when not in ("before", "after"):
        raise ConfigError(
            f"{REPLAY}={text!r} names no crash point. Give the number of a storage request, and "
            'when: "12 before" or "12 after".'
        )
    return int(request), "after" if when == "after" else "before"


def _play(
    workflow: Workflow, place: Path, opened: Any, at: tuple[int, When] | None, kill: bool
) -> CrashPoint:
    place.mkdir(parents=True)
    effects = Effects(place / "effects")
    request, when = at or (0, "before")
    live = _in_processes if kill else _in_this_process
    died, result = False, ""
    try:
        if at is not None:
            died, result = live(workflow, place, opened, effects, at)
        if at is None or died:
            _, result = live(workflow, place, opened, effects, None)
    except Exception as error:
        if at is not None:
            dies = "Killed" if died else "To be killed"
            error.add_note(
                f"{dies} {when} storage request {request}, the workflow failed.\n"
                f"replay: {_replay(request, when)}"
            )
        raise
    return CrashPoint(request, when, died, result, effects.counts(), effects.repeated())


@contextmanager
def _faulty(
    place: Path, opened: Any, effects: Effects, request: int, fault: Fault
) -> Generator[FaultySaver]:
    """The saver of a trial, which fails. Raises ConfigError where there can be none."""
    given = opened(place)
    if not isinstance(given, AbstractContextManager):
        raise ConfigError(
            f"open= gave {type(given).__name__}, which `with` cannot open. Give a saver of plait's "
            "over a file or a server, or a context manager around one."
        )
    with cast("AbstractContextManager[Any]", given) as saver:
        faulty = FaultySaver(saver, at=request, fault=fault, stored=effects.stored)
        if "kill" in fault and not saver.shared:
            raise ConfigError(
                f"open= gave {type(saver).__name__}, whose threads end with their process: after a "
                "kill nothing would be there to go on with. Give a saver over a file or a server."
            )
        yield faulty


def _in_processes(
    workflow: Workflow, place: Path, opened: Any, effects: Effects, at: tuple[int, When] | None
) -> tuple[bool, str]:
    request, fault = _fault(at, "kill", "commit then kill")
    ended, refused = place / "result", place / "refused"

    def work(_: Callable[[str], None]) -> None:
        with ExitStack() as stack:
            try:
                saver = stack.enter_context(_faulty(place, opened, effects, request, fault))
            except ConfigError as error:
                refused.write_text(str(error), "utf-8")
                return
            ended.write_text(repr(workflow(saver, effects)), "utf-8")

    died = fork(work).wait() == -signal.SIGKILL
    if refused.exists():
        raise ConfigError(refused.read_text("utf-8"))
    return died, "" if died else ended.read_text("utf-8")


def _in_this_process(
    workflow: Workflow, place: Path, opened: Any, effects: Effects, at: tuple[int, When] | None
) -> tuple[bool, str]:
    request, fault = _fault(at, "crash", "commit then crash")
    try:
        with _faulty(place, opened, effects, request, fault) as saver:
            return False, repr(workflow(saver, effects))
    except InjectedCrash:
        pass
    gc.collect()  # a run that nobody holds any more owns nothing
    return True, ""


def _fault(at: tuple[int, When] | None, before: Fault, after: Fault) -> tuple[int, Fault]:
    if at is None:
        return 0, before
    return at[0], before if at[1] == "before" else after


def _sqlite(place: Path) -> AbstractContextManager[Any]:
    return SqliteSaver(place / "threads.db")


# --- bringing a thread to its end -----------------------------------------------------------------


def next_input(state: Any, input: Any, answer: Any = None, *, now: float | None = None) -> Any:
    """What a thread needs to go on: the input, answers, None, or `...` when it has ended.

    Args:
        state: Its `StateSnapshot`.
        input: What starts it.
        answer: What to answer to its questions: a value, or a function of the `Interrupt`. Those
            whose time has come take no answer any more.
        now: The time, in seconds since the epoch (None: the clock's).
    """
    if state.created_at is None:
        return input
    now = run_env.get().now() if now is None else now
    asked = [each for each in _waits(state)
             if not getattr(each, "sleeps", False) and getattr(each, "due", inf) > now]  # fmt: skip
    if asked:
        return Command(resume={each.id: answer(each) if callable(answer) else answer
                               for each in asked})  # fmt: skip
    return None if state.next else ...


def sleeps_until(state: Any) -> float | None:
    """The time, in seconds since the epoch, at which a thread that only sleeps goes on."""
    waits = _waits(state)
    if not waits or not all(getattr(each, "sleeps", False) for each in waits):
        return None
    due = min(each.due for each in waits)
    if moment_of(due) == moment_of(inf):
        raise ConfigError("The thread sleeps for ever: it has no end to be brought to.")
    return due


def _waits(state: Any) -> list[Any]:
    return [each for task in state.tasks for each in task.interrupts]


def until_done(graph: Any, input: Any, config: Any, *, answer: Any = None, **options: Any) -> Any:
    """Bring a thread to its end from wherever it stands: start, go on, answer.

    Where it only sleeps, its clock is put forward.

    Args:
        graph: The compiled graph.
        input: What starts the thread, if it has not begun.
        config: Names the thread.
        answer: What to answer to its questions: a value, or a function of the `Interrupt`.
        options: As for `invoke`.

    Returns:
        The final state.

    Raises:
        ConfigError: It sleeps for ever.

    >>> from plait.checkpoint.memory import InMemorySaver
    >>> from plait.graph import START, StateGraph
    >>> from plait.types import interrupt
    >>> builder = StateGraph(dict)
    >>> _ = builder.add_node("ask", lambda state: {"said": interrupt("well?")})
    >>> _ = builder.add_edge(START, "ask")
    >>> graph = builder.compile(checkpointer=InMemorySaver())
    >>> until_done(graph, {}, {"configurable": {"thread_id": "1"}}, answer="yes")
    {'said': 'yes'}
    """
    state = graph.get_state(config)
    while (given := next_input(state, input, answer)) is not ...:
        with _awake(state):
            graph.invoke(given, config, **options)
        state = graph.get_state(config)
    return state.values


async def auntil_done(
    graph: Any, input: Any, config: Any, *, answer: Any = None, **options: Any
) -> Any:
    """`until_done` with the async API."""
    state = await graph.aget_state(config)
    while (given := next_input(state, input, answer)) is not ...:
        with _awake(state):
            await graph.ainvoke(given, config, **options)
        state = await graph.aget_state(config)
    return state.values


@contextmanager
def _awake(state: Any) -> Generator[None]:
    """A clock that has come to where a thread wakes."""
    env, due = run_env.get(), sleeps_until(state)
    if due is None or due <= env.now():
        yield
        return
    token = run_env.set(_Ahead(env, due - env.now()))
    try:
        yield
    finally:
        run_env.reset(token)


class _Ahead:
    """The clock of another world, put forward."""

    def __init__(self, env: Env, seconds: float) -> None:
        self.checkpoint_id, self.new_id = env.checkpoint_id, env.new_id
        self.monotonic, self.jitter = env.monotonic, env.jitter
        self._env, self._seconds = env, seconds

    def now(self) -> float:
        return self._env.now() + self._seconds


__all__ = [
    "CrashPoint",
    "CrashReport",
    "Effects",
    "auntil_done",
    "every_crash_point",
    "next_input",
    "sleeps_until",
    "until_done",
]
