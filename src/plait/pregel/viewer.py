"""One stored checkpoint as users see it: a `StateSnapshot`.

Most checkpoints were made by this very graph and say all there is to show: they are read off
(`_plain`). Where more is to be known (the graph has changed since, somebody steered the thread by
hand, tasks finished without their super-step), the engine restores the checkpoint and is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from plait.checkpoint.base.port import Reading
from plait.constants import (
    ERROR,
    FAILED,
    INTERRUPT,
    NULL_TASK_ID,
    PULL,
    PUSH,
    RESUME,
    RETURN,
    START,
    STATE_VERSION,
)
from plait.drivers.env import SYSTEM
from plait.engine import report
from plait.engine.inside import graph_inside
from plait.engine.journal import MARKS
from plait.engine.loop import Loop
from plait.engine.namespaces import inside
from plait.engine.plan import GraphPlan, View, Writes
from plait.engine.records import CONTAINERS, Live, Snapshot, Stored, TaskWrites, new_tuple
from plait.engine.reporting import task_order
from plait.engine.restore import adopt
from plait.engine.spec import RunSpec
from plait.engine.state import State
from plait.engine.tasks import Task, order_of, task_id
from plait.errors import InvalidUpdateError, UnknownNodeError
from plait.types import Interrupt, PregelTask, Send, StateSnapshot
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.pregel.main import Pregel

_NOTHING: Writes = []
_SEATINGS = 256
"""Sets of nodes that run together, whose seats are kept."""
_TELLING = frozenset({FAILED, STATE_VERSION})
"""Channels of tasks' writes that the engine makes something of."""
_SPECIAL = _TELLING | MARKS | {RETURN}
"""Channels of tasks' writes that are no plain update of the state."""


_Seat: TypeAlias = "tuple[str, tuple[Any, ...], str, bool]"
"""A node that is about to run: its name, its task's path and order, whether a graph runs in it."""
_Row: TypeAlias = "tuple[Sequence[_Seat], tuple[str, ...]]"
"""The nodes that run together, and their names."""
_EMPTY: _Row = ((), ())
_Results: TypeAlias = "dict[str, tuple[str, dict[str, Any]]]"
"""Path of a task to its id and what it updated."""


class Layout:
    """What is the same for all checkpoints of a graph."""

    def __init__(self, plan: GraphPlan) -> None:
        self.plan = plan
        self.declared = {name: at for at, name in enumerate(plan.nodes)} | {START: -1}
        stream = plan.stream
        self.keys: tuple[str, ...] | None = None
        """The keys of the state, if their values are stored as they are shown."""
        self.members: frozenset[str] = frozenset()
        """The same as a set."""
        if isinstance(stream, View) and stream.members <= plan.plain:
            self.keys, self.members = stream.keys, stream.members
        self._rows: dict[tuple[str, ...], _Row | None] = {(): _EMPTY}

    def show(self, held: Mapping[str, Any], *, shared: bool) -> dict[str, Any]:
        """The values of the state's keys, where they are stored as they are shown.

        Args:
            held: by key.
            shared: whether containers there are still somebody else's.
        """
        values: dict[str, Any] = {}
        for key in self.keys or ():
            if key in held:
                value = held[key]
                values[key] = value.copy() if shared and type(value) in CONTAINERS else value
            elif key in self.plan.initial:  # a reducer starts with something
                values[key] = self.plan.channels[key].from_checkpoint(MISSING).get()
        return values

    @classmethod
    def of(cls, graph: Pregel) -> Layout:
        """The layout of a graph, made when one of its threads is first looked at."""
        layout = graph.layout
        if layout is None or layout.plan is not graph.plan:
            layout = graph.layout = cls(graph.plan)
        return layout

    def row(self, names: tuple[str, ...]) -> _Row | None:
        """The seats of nodes that run next; None where the engine must say who sits there."""
        if names in self._rows:
            return self._rows[names]
        if len(self._rows) >= _SEATINGS:
            self._rows.clear()
        row = self._rows[names] = self._seated(names)
        return row

    def _seated(self, names: Sequence[str]) -> _Row | None:
        seats: list[_Seat] = []
        for name in sorted(names, key=lambda name: self.declared.get(name, -1)):
            node = self.plan.nodes.get(name)
            if node is None or not isinstance(node.reads, View):
                return None  # its code is gone, or it may have nothing to read
            path = (PULL, name)
            seats.append((name, path, order_of(path), graph_inside(node) is not None))
        return seats, tuple(name for name, *_ in seats)


class Viewer:
    """Shows the checkpoints of one lane.

    Args:
        graph: whose checkpoints they are.
        lane: where they are.
    """

    def __init__(self, graph: Pregel, lane: Reading) -> None:
        self._layout = Layout.of(graph)
        self._plan = graph.plan
        self._fingerprint = graph.plan.fingerprint
        self._keys = None if lane.ns else self._layout.keys
        """The keys of the state, where `_live` knows how to show it."""
        self._address = {"thread_id": lane.thread_id, "checkpoint_ns": "", "checkpoint_id": None}
        self._thread_id = lane.thread_id
        self._ns = lane.ns

    def show(self, stored: Stored, *, pending: bool) -> StateSnapshot:
        """One checkpoint.

        Args:
            pending: show what finished tasks of its super-step wrote as part of the state, and
                only the others as next (a thread as it stands); else the checkpoint as it was.
        """
        if isinstance(stored, Snapshot):
            snapshot = stored
        else:
            shown = self._live(stored, pending)
            if shown is not None:
                return shown
            snapshot = stored.snapshot()
        row = self._row(snapshot.frontier)
        tasks = None if row is None else self._plain_tasks(snapshot, row[0], pending)
        if row is None or tasks is None:
            return self._restored(snapshot, pending)
        return self._snapshot(snapshot, self._values(snapshot.values), row[1], tasks)

    def _live(self, live: Live, pending: bool) -> StateSnapshot | None:
        """A checkpoint whose tasks did no more than update each key once; None for others.

        Says what the functions below do, in few calls: long histories are made of such checkpoints.
        """
        made = live.checkpoint
        row = self._row(made.frontier)
        results = None if self._keys is None else self._results(live.tasks)
        if row is None or results is None:
            return None
        tasks: list[PregelTask] = []
        for name, path, order, nests in row[0]:
            if order in results:
                if pending:
                    return None
                id, result = results[order]
            else:
                id, result = task_id(made.id, "", name, order), None
            state = self._inside(name, id) if nests else None
            tasks.append(new_tuple(PregelTask, (id, name, path, None, (), state, result)))
        values = self._layout.show(live.values, shared=True)
        metadata = {**made.metadata}
        if "parents" in metadata:
            metadata["parents"] = {**metadata["parents"]}
        ts, parent = made.ts, made.parent_id
        config, before = self._address.copy(), self._address.copy()
        config["checkpoint_id"], before["checkpoint_id"] = made.id, parent
        return new_tuple(
            StateSnapshot,
            (
                values,
                row[1],
                {"configurable": config},
                metadata,
                ts if type(ts) is str else made.made_at,
                None if parent is None else {"configurable": before},
                tuple(tasks),
                (),
            ),
        )

    def _results(self, outcomes: Sequence[TaskWrites]) -> _Results | None:
        """What tasks updated; None where there is more to say of one than that."""
        members = self._layout.members
        results: _Results = {}
        for outcome in outcomes:
            result: dict[str, Any] = {}
            for channel, value in outcome.writes:
                if channel in members:
                    if channel in result:
                        return None
                    result[channel] = value.copy() if type(value) in CONTAINERS else value
                elif channel in _SPECIAL:
                    return None
            if not outcome.derived:
                return None
            results[outcome.path] = outcome.task_id, result
        return results

    def _snapshot(
        self,
        stored: Snapshot,
        values: Any,
        following: Sequence[str],
        tasks: Sequence[PregelTask],
    ) -> StateSnapshot:
        metadata, parent = stored.metadata, stored.parent_id
        asked: list[Interrupt] = []
        for task in tasks:
            asked += task.interrupts
        return StateSnapshot(
            values,
            tuple(following),
            self._config(stored.id, metadata),
            metadata,
            stored.ts,
            None if parent is None else self._config(parent, metadata),
            tuple(tasks),
            tuple(asked),
        )

    def _config(self, id: str, metadata: Mapping[str, Any]) -> Any:
        thread_id, ns = self._thread_id, self._ns
        if ns:
            return report.config_of({"thread_id": thread_id}, ns, id, metadata.get("parents"))
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": id}}

    # --- read off ---------------------------------------------------------------------------------

    def _values(self, held: dict[str, Any]) -> Any:
        if self._layout.keys is None:
            return State(self._plan, held).ordered(self._plan.stream)
        return self._layout.show(held, shared=False)

    def _row(self, frontier: Mapping[str, Any]) -> _Row | None:
        """The nodes that run next; None where only the engine can tell."""
        if frontier.get("graph") != self._plan.fingerprint:
            return None
        if "asked" in frontier or "senders" in frontier:
            return None
        row = self._layout.row(tuple(frontier["next"])) if "next" in frontier else _EMPTY
        if row is None or "sends" not in frontier:
            return row
        sends: Sequence[Send] = frontier["sends"]
        sent = [self._sent(place, send) for place, send in enumerate(sends)]
        return [*sent, *row[0]], (*[name for name, *_ in sent], *row[1])

    def _plain_tasks(
        self, stored: Snapshot, seats: Sequence[_Seat], pending: bool
    ) -> list[PregelTask] | None:
        """The tasks of a checkpoint; None where only the engine can tell."""
        written: dict[str, Writes] = {}
        for id, channel, value in stored.writes:
            if channel in _TELLING or id == NULL_TASK_ID:
                return None
            if id in written:
                written[id].append((channel, value))
            else:
                written[id] = [(channel, value)]
        tasks: list[PregelTask] = []
        known = stored.ids
        for name, path, order, nests in seats:
            id = known.get(order) or task_id(stored.id, self._ns, name, order)
            writes = written.get(id, _NOTHING)
            if pending and report.is_outcome(writes):
                return None
            state = self._inside(name, id) if nests else None
            tasks.append(self._task(id, name, path, state, writes, pending))
        return tasks

    def _sent(self, place: int, send: Send) -> _Seat:
        path = (PUSH, place, False)
        node = self._plan.nodes[send.node]
        return node.name, path, order_of(path), graph_inside(node) is not None

    def _inside(self, name: str, id: str) -> dict[str, Any]:
        """The config of the checkpoints of the graph inside a task."""
        ns = inside(self._ns, name, id)
        return {"configurable": {"thread_id": self._thread_id, "checkpoint_ns": ns}}

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
        loop = Loop(RunSpec(plan=plan, saved=True, ns=self._ns), SYSTEM)
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
        shown = [self._shown(task, task in done, pending) for task in nodes]
        waiting = [self._shown(task, task in done, pending) for task in handlers]
        shown += [task for task in waiting if task.interrupts]
        return self._snapshot(stored, values, following, shown)

    def _shown(self, task: Task, done: bool, pending: bool) -> PregelTask:
        """A restored task; what finished in a thread as it stands has no open questions."""
        state = self._inside(task.identity, task.id) if graph_inside(task.node) else None
        writes = task.prior if task.handled else [*task.prior, *task.writes]
        shown = self._task(task.id, task.name, task.path, state, writes, pending)
        return shown._replace(interrupts=()) if done else shown


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
