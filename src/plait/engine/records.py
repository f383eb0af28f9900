"""What the engine stores and reads back: checkpoints and the outcomes of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from plait.errors import UnregisteredTypeError
from plait.timers import text_of

CONTAINERS = frozenset({list, dict})
"""Types of values of which a saver in memory keeps copies of its own."""
new_tuple: Any = cast("Any", tuple).__new__
"""`new_tuple(cls, parts)` makes a named tuple in one call less than its class does, for those of
which thousands are made."""


@dataclass(slots=True)
class TaskWrites:
    """The acknowledged outcome of one task: what it wrote, or its error or interrupts."""

    checkpoint_id: str
    """The checkpoint whose super-step the task belongs to."""
    task_id: str
    path: str
    """The sortable place of the task within its super-step (its deterministic order)."""
    writes: Sequence[tuple[str, Any]]
    """(channel, value) pairs; reserved channels carry errors, interrupts and resume values."""
    merge: bool = False
    """False replaces what was stored for the task; True replaces only the channels named here."""
    derived: bool = False
    """Whether the id follows from checkpoint, namespace, node and path, as those of tasks do."""


@dataclass(slots=True)
class NewCheckpoint:
    """One checkpoint to commit: only what changed since its parent."""

    id: str
    parent_id: str | None
    ts: float | str
    """When it was made: seconds since the epoch, or already as text."""
    metadata: Mapping[str, Any]
    frontier: Mapping[str, Any]
    """The engine's own plain record of what runs next (opaque to the saver)."""
    changed: Mapping[str, Any]
    """Checkpoint values (`BaseChannel.checkpoint()`) of the channels that changed."""
    removed: Sequence[str] = ()
    """Channels that hold nothing any more."""

    @property
    def made_at(self) -> str:
        """When it was made: ISO 8601, UTC. It stays text once that was asked for."""
        ts = self.ts
        if not isinstance(ts, str):
            ts = self.ts = text_of(ts)
        return ts


@dataclass(frozen=True, slots=True)
class Mark:
    """A stored checkpoint without its values."""

    id: str
    parent_id: str | None
    metadata: Mapping[str, Any]
    copy_of: str | None = None
    """The checkpoint that this one is a copy of (`as_node="__copy__"`)."""
    past: Sequence[str] | None = None
    """Where pruning has dropped what came before it: the checkpoints whose super-steps ran there,
    and in which a graph has stored a memory that is left."""
    began: tuple[str, bool] | None = None
    """Of what an `exit` run stored: the first id that may be of a super-step that it went through
    (those before it are of other branches, and of runs that died), and whether it went on with the
    super-step of the checkpoint before."""
    caller: str | None = None
    """Of a graph with memory: the task that ran it (see `RunSpec.caller`)."""

    @classmethod
    def of(
        cls, id: str, parent_id: str | None, metadata: Mapping[str, Any],
        frontier: Mapping[str, Any],
    ) -> Mark:  # fmt: skip
        """The mark of a checkpoint with this frontier."""
        began = frontier.get("began")
        return cls(
            id, parent_id, metadata, frontier.get("copy_of"), frontier.get("past"),
            None if began is None else (began[0], began[1]), frontier.get("caller"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """The checkpoint that a replay began at.

    Tasks of the replay's first super-step stand for those of this checkpoint: graphs inside them
    start where `inside` says.
    """

    ns: str
    checkpoint_id: str
    inside: Mapping[str, str]
    """Namespace to checkpoint of the graphs inside, as they were then."""

    def record(self) -> list[Any]:
        """As plain data, for the record of a checkpoint."""
        return [self.ns, self.checkpoint_id, dict(self.inside)]


@dataclass(slots=True)
class Snapshot:
    """One stored checkpoint, read back whole."""

    id: str
    parent_id: str | None
    ts: str
    metadata: dict[str, Any]
    frontier: dict[str, Any]
    values: dict[str, Any]
    """Channel name to checkpoint value, every channel that holds something. One whose type is not
    known here is `Unmade`: newer code may have a key of which this code knows nothing."""
    writes: list[tuple[str, str, Any]] = field(default_factory=list[tuple[str, str, Any]])
    """(task id, channel, value), in the order of task path and position. Values of keys may be
    `Unmade`, as above."""
    origin: Origin | None = None
    """Set where a run shall start from a fork of this checkpoint, which lies at that place."""
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """Path to id of tasks whose id is known to follow from it: need not be computed again."""
    newest: str | None = None
    """The head of its lane, where that may be another one."""

    def add(self, task: TaskWrites) -> None:
        """Add what a task wrote, as a saver in memory keeps it."""
        id = task.task_id
        if task.derived:
            self.ids[task.path] = id
        for channel, value in task.writes:
            self.writes.append((id, channel, _if_known(value)))

    def by_task(self) -> dict[str, list[tuple[str, Any]]]:
        """What each task has written, in order."""
        found: dict[str, list[tuple[str, Any]]] = {}
        for task_id, channel, value in self.writes:
            found.setdefault(task_id, []).append((channel, value))
        return found


class Unmade:
    """A value that was read, and is made when somebody looks at it.

    A history that is listed would else make every list of a thread once for each checkpoint.

    Args:
        make: makes it.
        of: of these.
    """

    __slots__ = ("_make", "_of")

    def __init__(self, make: Callable[..., Any], *of: Any) -> None:
        self._make = make
        self._of = of

    def made(self) -> Any:
        """The value, new."""
        return self._make(*self._of)


def unread(error: UnregisteredTypeError) -> Unmade:
    """What stands for a value that cannot be read here: whoever looks at it is told."""
    return Unmade(_tell, error)


def _tell(error: UnregisteredTypeError) -> Any:
    raise error


def given(value: Any) -> Any:
    """What a saver keeps or has read, as whoever reads it may have it: containers are copied."""
    if type(value) in CONTAINERS:
        return value.copy()
    return value.made() if isinstance(value, Unmade) else value


Live: TypeAlias = "tuple[NewCheckpoint, dict[str, Any], list[TaskWrites]]"
"""One stored checkpoint as it was handed over or read, in this process: nobody changes these parts.

They are the checkpoint; channel name to checkpoint value, every channel that holds something; and
what was stored for it since, in the order of task path. Values may be `Unmade`.
"""
Stored: TypeAlias = "Snapshot | Live"
"""A checkpoint that is read only to be looked at."""


def id_of(stored: Stored) -> str:
    """Its id."""
    return stored.id if isinstance(stored, Snapshot) else stored[0].id


def metadata_of(stored: Stored) -> Mapping[str, Any]:
    """Its metadata, not to be changed."""
    return stored.metadata if isinstance(stored, Snapshot) else stored[0].metadata


def values_of(stored: Stored) -> dict[str, Any]:
    """Its values, by channel."""
    return stored.values if isinstance(stored, Snapshot) else stored[1]


def snapshot_of(stored: Stored) -> Snapshot:
    """A checkpoint, to do with as one likes."""
    if isinstance(stored, Snapshot):
        return stored
    made, values, tasks = stored
    metadata = {**made.metadata}
    if "parents" in metadata:
        metadata["parents"] = {**metadata["parents"]}
    snapshot = Snapshot(
        made.id, made.parent_id, made.made_at, metadata, {**made.frontier},
        _known(values), [], None, {},
    )  # fmt: skip
    for task in tasks:
        snapshot.add(task)
    return snapshot


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that are made, but for those whose type is not known here."""
    try:
        return {name: given(value) for name, value in values.items()}
    except UnregisteredTypeError:
        return {name: _if_known(value) for name, value in values.items()}


def _if_known(value: Any) -> Any:
    try:
        return given(value)
    except UnregisteredTypeError:
        return value
