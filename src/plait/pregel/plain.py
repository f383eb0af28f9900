"""Checkpoints whose tasks did no more than update each key once, as users see them.

Long histories are made of such checkpoints, so they are shown in few calls. Of others, `Viewer`
knows more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from plait.engine.records import CONTAINERS, Live, TaskWrites, Unmade, new_tuple
from plait.engine.tasks import UnnamedWrites, is_task_id, task_id
from plait.pregel.layout import SPECIAL, Address, Layout, Row, Seat
from plait.pregel.unread import Unread
from plait.types import PregelTask, StateSnapshot

LOOSE = CONTAINERS | {Unmade}
"""Types of values that are not shown as they are held."""


class PlainView:
    """Shows checkpoints of a lane, as they were handed over.

    Args:
        layout: of the graph; its values are stored as they are shown.
        address: of the lane.
    """

    __slots__ = ("_address", "_layout", "_members", "_unmade")

    def __init__(self, layout: Layout, address: Address) -> None:
        self._layout = layout
        self._members = layout.members
        self._address = address
        self._unmade = False
        """Whether something in the snapshot at hand is yet to be made."""

    def show(self, lives: Iterable[Live], pending: bool) -> list[StateSnapshot | None]:
        """Checkpoints (see `Viewer.show`); None for those of which there is more to say.

        Histories are long: what each checkpoint needs stands here, without calls.
        """
        layout, address = self._layout, self._address
        only, thread, nested = layout.only, address.thread_id, address.ns != ""
        shown: list[StateSnapshot | None] = []
        last = row = seat = None
        for made, held, outcomes in lives:
            if made.frontier is not last:  # those of a loop are most often one
                last = made.frontier
                row = layout.row(last)
                seat = row[0][0] if row is not None and len(row[0]) == 1 and not pending else None
            id, before, ts = made.id, made.parent_id, made.ts
            if seat is not None and len(outcomes) == 1:
                task = self._task(id, seat, outcomes[0])
                tasks = None if task is None else (task,)
            else:
                tasks = None if row is None else self._tasks(id, row, outcomes, pending)
            if row is None or tasks is None:
                shown.append(None)
                continue
            metadata: dict[str, Any] = {**made.metadata}
            if "parents" in metadata:
                metadata["parents"] = {**parents} if (parents := metadata["parents"]) else {}
            if only in held and type(value := held[only]) not in LOOSE:
                values = {only: value}
            else:
                values = layout.show(held, held is made.changed)
                if Unmade in map(type, values.values()):
                    self._unmade = True
            config: Any
            parent: Any = None
            if nested:
                config = address.config(id, metadata)
                if before is not None:
                    parent = address.config(before, metadata)
            else:
                place = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id}
                config = {"configurable": place}
                if before is not None:
                    place = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": before}
                    parent = {"configurable": place}
            when = ts if type(ts) is str else made.made_at
            parts = values, row[1], config, metadata, when, parent, tasks, ()
            if self._unmade:
                self._unmade = False
                shown.append(new_tuple(Unread, parts))
            else:
                shown.append(new_tuple(StateSnapshot, parts))
        return shown

    def _tasks(
        self, id: str, row: Row, outcomes: Sequence[TaskWrites], pending: bool
    ) -> tuple[PregelTask, ...] | None:
        """The tasks of a checkpoint; None if there is more to say of one."""
        done = {outcome.path: outcome for outcome in outcomes} if outcomes else {}
        if len(done) < len(outcomes) or (pending and outcomes):
            return None  # an error handler has the place of the task that failed
        tasks: list[PregelTask] = []
        for seat in row[0]:
            task = self._task(id, seat, done.pop(seat[2], None))
            if task is None:
                return None
            tasks.append(task)
        return None if done else tuple(tasks)

    def _task(self, id: str, seat: Seat, outcome: TaskWrites | None) -> PregelTask | None:
        """A task and what it updated; None if there is more to say of it."""
        name, path, order, nests = seat
        result: dict[str, Any] | None = None
        if outcome is None:
            task = task_id(id, self._address.ns, name, order)
        elif outcome.path != order:
            return None
        else:
            members, result = self._members, {}
            for channel, value in outcome.writes:
                if channel in members:
                    if channel in result:
                        return None
                    result[channel] = self._loose(value) if type(value) in LOOSE else value
                elif channel in SPECIAL:
                    return None
            if type(outcome) is UnnamedWrites:
                task = outcome.known_id or outcome.task_id
            else:
                task = outcome.task_id
                if not (outcome.derived or is_task_id(task, id, self._address.ns, name, order)):
                    return None
        state = self._address.inside(name, task) if nests else None
        return new_tuple(PregelTask, (task, name, path, None, (), state, result))

    def _loose(self, value: Any) -> Any:
        """A value of which the snapshot must have one of its own: here, or once it is looked at."""
        if type(value) is Unmade:
            self._unmade = True
            return value
        return value.copy()
