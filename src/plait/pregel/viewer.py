"""One stored checkpoint as users see it: a `StateSnapshot`.

Most checkpoints were made by this very graph and say all there is to show: they are read off
(`PlainView`, `_plain_tasks`). Where more is to be known (the graph has changed since, somebody
steered the thread by hand, tasks finished without their super-step), the engine restores the
checkpoint and is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.base.port import Reading
from plait.constants import (
    CALL,
    ERROR,
    FAILED,
    INTERRUPT,
    NULL_TASK_ID,
    RESUME,
)
from plait.drivers.env import SYSTEM
from plait.engine import report
from plait.engine.inside import graph_inside
from plait.engine.journal import MARKS
from plait.engine.loop import Loop
from plait.engine.plan import Writes
from plait.engine.records import Live, Snapshot, Stored, Unmade, given, snapshot_of
from plait.engine.reporting import task_order
from plait.engine.restore import adopt
from plait.engine.spec import RunSpec
from plait.engine.state import State
from plait.engine.tasks import Task, task_id
from plait.errors import InvalidUpdateError, UnknownNodeError
from plait.pregel.layout import TELLING, Address, Layout, Seat
from plait.pregel.plain import PlainView
from plait.types import Interrupt, PregelTask, StateSnapshot

if TYPE_CHECKING:
    from plait.pregel.main import Pregel

_NOTHING: Writes = []
_TOGETHER = 64
"""So many checkpoints of a history are made before the first of them is given out."""


class Viewer:
    """Shows the checkpoints of one lane.

    Args:
        graph: whose checkpoints they are.
        lane: where they are.
    """

    def __init__(self, graph: Pregel, lane: Reading) -> None:
        self._layout = Layout.of(graph)
        self._plan = graph.plan
        self._address = Address(lane.thread_id, lane.ns)
        told = self._layout.keys is not None
        self._plain = PlainView(self._layout, self._address) if told else None

    def show(self, stored: Stored, pending: bool) -> StateSnapshot:
        """One checkpoint.

        Args:
            pending: show what finished tasks of its super-step wrote as part of the state, and
                only the others as next (a thread as it stands); else the checkpoint as it was.
        """
        if self._plain is not None and not isinstance(stored, Snapshot):
            shown = self._plain.show((stored,), pending)[0]
            if shown is not None and type(shown) is StateSnapshot:
                return shown
        return self._shown(snapshot_of(stored), pending)

    def history(self, page: Sequence[Stored]) -> Iterator[list[StateSnapshot]]:
        """Checkpoints as they were: some of a page after the other, each time the last one first.
        A page is of one kind."""
        if self._plain is None or (page and isinstance(page[0], Snapshot)):
            for stored in page:
                yield [self.show(stored, False)]
            return
        for first in range(0, len(page), _TOGETHER):
            lives = cast("Sequence[Live]", page[first : first + _TOGETHER])
            shown = self._plain.show(lives, False)
            if all(shown):
                shown.reverse()
                yield cast("list[StateSnapshot]", shown)
                continue
            for live, snapshot in zip(lives, shown, strict=True):
                yield [snapshot or self._shown(snapshot_of(live), False)]

    def _shown(self, snapshot: Snapshot, pending: bool) -> StateSnapshot:
        row = self._layout.row(snapshot.frontier)
        tasks = None if row is None else self._plain_tasks(snapshot, row[0], pending)
        if row is None or tasks is None:
            return self._restored(snapshot, pending)
        return self._snapshot(snapshot, self._values(snapshot.values), row[1], tasks)

    def _snapshot(
        self,
        stored: Snapshot,
        values: Any,
        following: Sequence[str],
        tasks: Sequence[PregelTask],
    ) -> StateSnapshot:
        metadata, parent = stored.metadata, stored.parent_id
        callers = {id: call[0] for id, channel, call in stored.writes if channel == CALL}
        if callers:
            by_task = stored.by_task()
            tasks = [_with_calls(task, by_task, callers) for task in tasks]
        asked: list[Interrupt] = []
        for task in tasks:
            asked += task.interrupts
        return StateSnapshot(
            values,
            tuple(following),
            self._address.config(stored.id, metadata),
            metadata,
            stored.ts,
            None if parent is None else self._address.config(parent, metadata),
            tuple(tasks),
            tuple(asked),
        )

    # --- read off ---------------------------------------------------------------------------------

    def _values(self, held: dict[str, Any]) -> Any:
        if self._layout.keys is None:
            return State(self._plan, held).read_or_none(self._plan.stream)
        shown = self._layout.show(held, False)
        if Unmade in map(type, shown.values()):
            return {key: given(value) for key, value in shown.items()}
        return shown

    def _plain_tasks(
        self, stored: Snapshot, seats: Sequence[Seat], pending: bool
    ) -> list[PregelTask] | None:
        """The tasks of a checkpoint; None where only the engine can tell."""
        written: dict[str, Writes] = {}
        for id, channel, value in stored.writes:
            if channel in TELLING or id == NULL_TASK_ID or type(value) is Unmade:
                return None
            if id in written:
                written[id].append((channel, value))
            else:
                written[id] = [(channel, value)]
        tasks: list[PregelTask] = []
        known = stored.ids
        for name, path, order, nests in seats:
            id = known.get(order) or task_id(stored.id, self._address.ns, name, order)
            writes = written.get(id, _NOTHING)
            if pending and report.is_outcome(writes):
                return None
            state = self._address.inside(name, id) if nests else None
            tasks.append(self._task(id, name, path, state, writes, pending))
        return tasks

    def _task(
        self, id: str, name: str, path: Any, state: Any, writes: Writes, pending: bool
    ) -> PregelTask:
        """A task and what became of it; of a thread as it stands, only its open questions."""
        if not writes:
            return PregelTask(id, name, path, None, (), state)
        error: Any = None
        asked: tuple[Interrupt, ...] = ()
        finished = False
        for channel, value in writes:
            if channel not in MARKS:
                finished = True
            elif channel == INTERRUPT:
                asked += tuple(value)
            elif channel == ERROR and error is None:
                error = value
        if asked and pending:
            asked = _unanswered(asked, writes)
        result: Any = None
        if finished:
            stream = self._plan.stream
            result = report.result_of(writes, stream)
            if isinstance(stream, str):
                result = result.get(stream)
        return PregelTask(id, name, path, error, asked, state, result)

    # --- restored ---------------------------------------------------------------------------------

    def _restored(self, stored: Snapshot, pending: bool) -> StateSnapshot:
        """Ask the engine what the checkpoint is to this graph."""
        plan = self._plan
        address = self._address
        spec = RunSpec(plan=plan, saved=True, ns=address.ns, thread_id=address.thread_id)
        loop = Loop(spec, SYSTEM)
        loop.restore(stored)
        try:
            adopt(loop, stored)
            tasks = loop.prepare()
        except UnknownNodeError:  # its code is gone: the thread can still be looked at
            values = loop.values_with((), plan.stream)
            return self._snapshot(stored, values, loop.frontier.names(), ())
        tasks.sort(key=lambda task: -1 if task.is_push else self._layout.declared[task.name])
        nodes, handlers = _apart(tasks)
        done = [task for task in tasks if pending and task.saved and not task.handled]
        settled = {task.path for task in done}
        values = loop.values_with(done, plan.stream)
        if done and len(settled) == len(nodes):
            following = _after(loop, done)
        else:
            following = [task.name for task in nodes if task.path not in settled]
        shown = [self._looked_at(task, task in done, pending) for task in nodes]
        waiting = [self._looked_at(task, task in done, pending) for task in handlers]
        shown += [task for task in waiting if task.interrupts]
        return self._snapshot(stored, values, following, shown)

    def _looked_at(self, task: Task, done: bool, pending: bool) -> PregelTask:
        """A restored task; what finished in a thread as it stands has no open questions."""
        state = self._address.inside(task.identity, task.id) if graph_inside(task.node) else None
        writes = task.prior if task.handled else [*task.prior, *task.writes]
        shown = self._task(task.id, task.name, task.path, state, writes, pending)
        return shown._replace(interrupts=()) if done else shown


def _with_calls(
    task: PregelTask, by_task: Mapping[str, Writes], callers: Mapping[str, str]
) -> PregelTask:
    """A task that goes on, with what the tasks that it called still ask beside its own question."""
    own = by_task.get(task.id, _NOTHING)
    if not task.interrupts and any(c not in MARKS or c == FAILED for c, _ in own):
        return task
    asked = {question.id: question for question in task.interrupts}
    for id in callers:
        if _outermost(id, callers) == task.id:
            writes = by_task[id]
            given = [each for channel, value in writes if channel == INTERRUPT for each in value]
            asked |= {question.id: question for question in _unanswered(given, writes)}
    return task._replace(interrupts=tuple(asked.values()))


def _outermost(id: str, callers: Mapping[str, str]) -> str:
    """The task of a node in which a call was made, however deep."""
    while id in callers:
        id = callers[id]
    return id


def _unanswered(asked: Sequence[Interrupt], writes: Writes) -> tuple[Interrupt, ...]:
    """The questions a task still waits with; an answer may be stored before what came of it."""
    answers = {id for channel, value in writes if channel == RESUME for id in value}
    return tuple(question for question in asked if question.id not in answers)


def _apart(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """The tasks of nodes, and those of error handlers that run in the place of some."""
    nodes = [task for task in tasks if task.failed is None]
    return nodes, [task for task in tasks if task.failed is not None]


def _after(loop: Loop, done: list[Task]) -> list[str]:
    """What runs after a super-step whose tasks all finished, but which was not committed.

    The run stopped between the two (a crash, a failing storage): the thread is not at its end.
    """
    try:
        frontier = loop.state.apply(sorted(done, key=task_order))
    except (InvalidUpdateError, UnknownNodeError):
        return [task.name for task in done]  # it cannot be committed either: say where it stands
    if not frontier:
        loop.state.finish(frontier)
    return frontier.names()
