"""The calls that a task's code makes, held against those that are on record from before.

A call of a `@task` is recorded under its function, the likeness of its arguments, and its ordinal
among equal calls. Code that starts again finds each result under that key, so that calls may come
in another order: equal ones are interchangeable. What it may not do is ask for something else
where a result is on record that nobody has asked for: that result's work would be done twice.

- Calls from the task's own thread of control come in the program's order. The nth of them that is
  not on record, where another one is on record as the nth, is refused before it starts.
- Calls that race (other threads, other asyncio tasks, calls inside a batch) have no order to
  compare. When the task ends, a call that was not on record is refused if one of the same function
  is left over.
- Failures are not results: they are made again and may end otherwise. From there on the code may
  rightly go another way, and nothing is compared any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from plait.constants import CALL, ERROR, FAILED, INTERRUPT, RESUME, STARTED
from plait.errors import JournalMismatchError

if TYPE_CHECKING:
    from plait.engine.plan import Writes
    from plait.engine.tasks import Task

MARKS = frozenset({CALL, ERROR, FAILED, INTERRUPT, RESUME, STARTED})
"""Reserved channels that say something of a task without being its result."""


@dataclass(slots=True)
class CallMark:
    """What tells one call of a `@task` from another."""

    likeness: str
    """The digest of its arguments."""
    ordered: bool
    """Whether it came from the task's own thread of control."""


class Recorded(NamedTuple):
    """A call of an earlier attempt, as it is stored beside its outcome."""

    parent: str
    """The id of the task whose code made the call."""
    place: int
    """How many ordered calls that code had made before; -1 for a call that raced."""
    name: str
    likeness: str


class Calls:
    """The calls that one attempt of a task makes."""

    __slots__ = (
        "_counts",
        "_drifted",
        "_places",
        "_unrecorded",
        "asked",
        "failed",
        "left",
        "made",
        "number",
        "open",
    )

    def __init__(self, recorded: Mapping[str, Recorded]) -> None:
        self.left: dict[str, Recorded] = dict(recorded)
        """What is on record and was not asked for, by the id of the called task."""
        self.made: dict[str, Task] = {}
        """The calls of earlier attempts in this run, where there may be such attempts."""
        self.open = 0
        """Calls that have no outcome yet."""
        self.asked: list[Task] = []
        """Those that wait for answers, of any attempt."""
        self.restart()

    def restart(self) -> None:
        """A new attempt begins."""
        self.number = 0
        """How many calls this attempt has made."""
        self.failed: list[Task] = []
        """Those that ended in an error."""
        self._places = 0
        self._counts: dict[tuple[str, str], int] = {}
        self._unrecorded: set[str] = set()
        self._drifted = False

    def key(self, name: str, mark: CallMark) -> str:
        """What the id of a call derives from: its likeness and its ordinal among equal calls."""
        counts, label = self._counts, (name, mark.likeness)
        nth = counts.get(label, 0)
        counts[label] = nth + 1
        return f"{mark.likeness}:{nth}"

    def record(self, task: Task, mark: CallMark) -> Recorded:
        """The call as it goes on record."""
        assert task.parent is not None
        place = -1
        if mark.ordered:
            place, self._places = self._places, self._places + 1
        return Recorded(task.parent.id, place, task.name, mark.likeness)

    def check(self, task: Task, call: Recorded, where: str) -> JournalMismatchError | None:
        """Note that a call was made; the error if another one is on record in its place."""
        left = self.left
        if not left or left.pop(task.id, None) is not None or self._drifted:
            return None
        if call.place < 0:
            self._unrecorded.add(call.name)
            return None
        for other in left.values():
            if other.place == call.place:
                return mismatch(task, call, other, where)
        return None

    def check_end(self, parent: Task, where: str) -> JournalMismatchError | None:
        """The error if a racing call was made although one of its function was on record."""
        if self._drifted:
            return None
        for other in self.left.values():
            if other.place < 0 and other.name in self._unrecorded:
                return mismatch(parent, None, other, where)
        return None

    def drift(self) -> None:
        """A call that had failed before has an outcome: what comes now may rightly differ."""
        self._drifted = True


def recorded_calls(journal: Mapping[str, Writes]) -> dict[str, dict[str, Recorded]]:
    """The calls among stored outcomes: the id of the task that made them -> by their own id."""
    found: dict[str, dict[str, Recorded]] = {}
    for task_id, writes in journal.items():
        for channel, value in writes:
            if channel == CALL:
                call = Recorded(*value)
                found.setdefault(call.parent, {})[task_id] = call
    return found


def failed_before(stored: Iterable[tuple[str, Any]]) -> bool:
    """Whether a call's stored outcome is a failure."""
    channels = {channel for channel, _ in stored}
    return ERROR in channels and channels <= MARKS


def mismatch(
    task: Task, call: Recorded | None, other: Recorded, where: str
) -> JournalMismatchError:
    """The error of a call that is not the recorded one."""
    node = (task.parent or task) if call is not None else task
    if call is None:
        what = f"made a call of {other.name!r} that is not on record beside one that is"
    elif call.name != other.name:
        what = f"called {call.name!r} where {other.name!r} is on record"
    else:
        what = f"called {call.name!r} with other arguments than those on record"
    nth = f"call {other.place + 1}" if other.place >= 0 else "a call from concurrent code"
    return JournalMismatchError(
        f"Node {node.name!r} on {where} started again and {what} ({nth}, task id {node.id}; "
        f"recorded {other.name}[{other.likeness}], "
        f"now {call.name + '[' + call.likeness + ']' if call else 'another one'}). A recorded "
        "result is reused only for the same call, or its work would be done twice. Keep the code "
        "around calls deterministic: get times, random values and the like from a @task of their "
        "own. To start the node over without its record, run the thread from its checkpoint: "
        "graph.invoke(None, graph.get_state(config).config).",
        node=node.name,
        recorded=other.name,
        called=other.name if call is None else call.name,
    )


__all__ = ["CallMark", "Calls", "Recorded", "failed_before", "recorded_calls"]
