"""Code changes under live threads: a checkpoint that another graph made, as this graph's own.

Three things may differ between the graph that stored a checkpoint and the one that restores it:

- **Names of nodes**: the stored ones (what runs next, `Send`s, joins, pending writes) become
  today's. A task that was stored keeps the identity it was born with, which derives from the old
  name: so its acknowledged writes, its questions, and the threads of graphs inside it stay its own.
- **Names of keys**: values and pending writes move to today's key.
- **The version of the state**: migration functions of the user's bring values forward, one version
  at a time, after the renaming. This is the only code of the user's that restoring runs.

Nothing is stored by it: the next commit records the new names, values and version. What finished
tasks of an interrupted super-step write meanwhile is marked with its version (`STATE_VERSION`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from plait.channels.last_value import LastValue
from plait.constants import (
    JOIN,
    NO_WRITES,
    NULL_TASK_ID,
    PULL,
    ROUTE,
    STATE_VERSION,
    TASKS,
)
from plait.engine.records import Unmade, given
from plait.errors import (
    InvalidGraphError,
    MigrationError,
    UnknownKeyWarning,
    UnreachableNodeWarning,
    nearest,
)
from plait.types import Send
from plait.warnings import program_level

if TYPE_CHECKING:
    from plait.engine.plan import GraphPlan, Writes
    from plait.engine.records import Snapshot
    from plait.engine.tasks import Task

OWN = "__"
"""What the names of the engine's own channels begin with."""

Values: TypeAlias = dict[str, Any]
Migration: TypeAlias = Callable[[Values], Values]
"""The values of a state at one version -> at the next."""


@dataclass(frozen=True, slots=True, eq=False)
class Renames:
    """What a graph declares of its former names."""

    nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Former name to today's."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Former key to today's."""
    joins: Sequence[tuple[re.Pattern[str], str]] = ()
    """What a join may have been called, and its channel today."""

    def join(self, stored: str) -> str:
        """Today's name of a stored join."""
        return next((now for former, now in self.joins if former.fullmatch(stored)), stored)


def former_names(given: str | Iterable[str], what: str) -> tuple[str, ...]:
    """One former name, or several, as a tuple.

    Raises:
        InvalidGraphError: one is no text, or empty.
    """
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidGraphError(
                f"{what} takes former names, texts that are not empty; got {name!r}."
            )
    return names


def todays_names(kind: str, former: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Former names to those of today.

    Args:
        kind: what the names are of.
        former: the former names of each.

    Raises:
        InvalidGraphError: a former name is in use, or two claim it.
    """
    today: dict[str, str] = {}
    for now, names in former.items():
        for name in names:
            if name in former:
                raise InvalidGraphError(
                    f"{kind} {now!r} is declared as renamed from {name!r}, but there is a "
                    f"{kind.lower()} {name!r} today: a stored thread could mean either. Give that "
                    "one another name, or take the declaration back."
                )
            if name in today and today[name] != now:
                raise InvalidGraphError(
                    f"{kind}s {today[name]!r} and {now!r} are both declared as renamed from "
                    f"{name!r}: a stored thread could mean either. Leave it to one."
                )
            today[name] = now
    return today


@dataclass(slots=True, eq=False)
class Moved:
    """What was not as stored, of one restored checkpoint."""

    version: int
    """The version of the state that the checkpoint has."""
    pulls: dict[str, str] = field(default_factory=dict[str, str])
    """Triggered nodes, to the names that their tasks were born with."""
    sends: dict[int, str] = field(default_factory=dict[int, str])
    """Positions of `Send`s, to the names that their tasks were born with."""
    changed: dict[str, None] = field(default_factory=dict[str, None])
    """Channels that the next checkpoint must store."""
    gone: list[str] = field(default_factory=list[str])
    """Stored channels that exist no more."""
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    """Stored keys, to today's."""
    lost: list[str] = field(default_factory=list[str])
    """Stored keys that the graph does not have, so that their values are out of reach."""
    dropped: list[str] = field(default_factory=list[str])
    """Such keys that finished tasks had written, so that the writes are dropped."""
    joins: list[str] = field(default_factory=list[str])
    """Joins that some of their nodes had come to, and that the graph does not have."""
    mark: Writes = field(default_factory=list[tuple[str, Any]])
    """Added to what tasks write before the next checkpoint: their version of the state."""

    def name(self, tasks: Sequence[Task]) -> None:
        """Give tasks the identity that they were born with."""
        for task in tasks:
            if task.is_push:
                task.born = self.sends.get(task.path[1])
            elif (former := self.pulls.get(task.name)) is not None:
                task.born = former
                task.path = (PULL, former)


def adapt(plan: GraphPlan, snapshot: Snapshot, where: str) -> Moved | None:
    """Bring a stored checkpoint, in place, to the names and the version of this graph.

    Args:
        where: names the thread in messages.

    Returns:
        What differed; None where the checkpoint was made by a graph of this very shape.

    Raises:
        MigrationError: a migration failed or is missing, or renames do not fit what is stored.
    """
    writes = snapshot.writes
    if writes and any(type(value) is Unmade for _, _, value in writes):
        _check_types(plan, writes)
    version = snapshot.frontier.get("version", 1)
    if snapshot.frontier.get("graph") == plan.fingerprint and all(
        _is_ours(plan, channel) for _, channel, _ in writes
    ):
        return None
    moved = Moved(version)
    at = f"{where}, checkpoint {snapshot.id}"
    renames = plan.renames
    if renames.nodes:
        _rename_nodes(renames, snapshot, moved, at)
    if renames.keys:
        _rename_keys(plan, snapshot, moved)
    if version != plan.version or any(channel == STATE_VERSION for _, channel, _ in writes):
        _Migrating(plan, snapshot, version, moved, at).run()
    for key in snapshot.values:
        if key not in plan.channels and not key.startswith(OWN):
            (moved.joins if key.startswith(JOIN) else moved.lost).append(key)
    if writes:
        snapshot.writes = [_kept(plan, write, moved) for write in snapshot.writes]
    return moved


def _is_ours(plan: GraphPlan, channel: str) -> bool:
    """Whether tasks of this very graph may have written it, and not those of other code, which went
    on from a checkpoint of this one."""
    known = channel in plan.channels or channel.startswith((OWN, ROUTE))
    return known and channel != STATE_VERSION


def _check_types(plan: GraphPlan, writes: Iterable[tuple[str, str, Any]]) -> None:
    """Let those writes tell of types that are not known here that go to a key of the graph."""
    for _, channel, value in writes:
        if plan.renames.keys.get(channel, channel) in plan.channels:
            given(value)


def _kept(plan: GraphPlan, write: tuple[str, str, Any], moved: Moved) -> tuple[str, str, Any]:
    """A pending write; one to a key or join that is gone only says that its task has finished."""
    task_id, channel, _ = write
    if channel in plan.channels or channel.startswith((OWN, ROUTE)):
        return write
    if not channel.startswith(JOIN):
        moved.dropped.append(channel)
    elif channel not in moved.joins:
        moved.joins.append(channel)
    return task_id, NO_WRITES, None


def lost_join(channel: str, graph: str) -> str:
    """What to say of a join that a graph does not have any more.

    >>> lost_join("join:plan+draft:send", "letters").partition(", for")[0]
    "some of ['plan', 'draft'] have finished"
    """
    starts, _, end = channel.removeprefix(JOIN).rpartition(":")
    return (
        f"some of {starts.split('+')} have finished, for all of which {end!r} waits, and graph "
        f"{graph!r} does not have that join any more: what came to it is forgotten. Put it back "
        "until such threads have moved on, or move them on by update_state(..., as_node=...)."
    )


def warn_of_dropped(plan: GraphPlan, moved: Moved, where: str) -> None:
    """Say which acknowledged writes this run will not apply, and which joins it forgets."""
    for join in moved.joins:
        what = f"On {where}, {lost_join(join, plan.name)}"
        warnings.warn(what, UnreachableNodeWarning, stacklevel=program_level())
    for key in moved.dropped:
        warnings.warn(
            f"A finished task of {where} wrote key {key!r}, which graph {plan.name!r} does not "
            f"have any more; the write is dropped. {nearest(key, plan.channels)} If the key was "
            f"renamed, declare it: Annotated[..., RenamedFrom({key!r})].",
            UnknownKeyWarning,
            stacklevel=program_level(),
        )


# --- names of nodes ------------------------------------------------------------------------------


def _rename_nodes(renames: Renames, snapshot: Snapshot, moved: Moved, at: str) -> None:
    record, nodes = snapshot.frontier, renames.nodes
    pulls: list[str] = list(record.get("next", ()))
    sends: list[Send] = list(record.get("sends", ()))
    for name in pulls:
        if name in nodes:
            now = nodes[name]
            if now in pulls or now in moved.pulls:
                raise MigrationError(
                    f"Nodes {moved.pulls.get(now, now)!r} and {name!r} are both about to run "
                    f"({at}), and both are called {now!r} today: their tasks would be one. Keep "
                    "them apart until such threads have moved on.",
                    checkpoint_id=snapshot.id,
                )
            moved.pulls[now] = name
    steered: list[str] = []
    snapshot.writes = [_rename_write(renames, write, steered, sends) for write in snapshot.writes]
    for name in steered:
        if name in nodes and nodes[name] not in pulls:
            moved.pulls.setdefault(nodes[name], name)
    moved.sends = {i: send.node for i, send in enumerate(sends) if send.node in nodes}
    for part in ("next", "deferred", "last"):
        if part in record:
            record[part] = [nodes.get(name, name) for name in record[part]]
    if "sends" in record:
        record["sends"] = [_rename_send(nodes, send) for send in record["sends"]]
    for channel in [name for name in snapshot.values if name.startswith(JOIN)]:
        now = renames.join(channel)
        if now != channel:
            snapshot.values[now] = _renamed_within(nodes, snapshot.values.pop(channel))
            moved.changed[now] = None
            moved.gone.append(channel)


def _rename_write(
    renames: Renames, write: tuple[str, str, Any], steered: list[str], sends: list[Send]
) -> tuple[str, str, Any]:
    """A pending write under today's names; where callers steered to goes into the lists."""
    task_id, channel, value = write
    if channel.startswith(ROUTE):
        name = channel.removeprefix(ROUTE)
        if task_id == NULL_TASK_ID:
            steered.append(name)
        return task_id, ROUTE + renames.nodes.get(name, name), value
    if channel == TASKS:
        if task_id == NULL_TASK_ID:
            sends.append(value)
        return task_id, channel, _rename_send(renames.nodes, value)
    if channel.startswith(JOIN):
        return task_id, renames.join(channel), renames.nodes.get(value, value)
    return write


def _rename_send(nodes: Mapping[str, str], send: Send) -> Send:
    now = nodes.get(send.node)
    return send if now is None else Send(now, send.arg, timeout=send.timeout)


def _renamed_within(nodes: Mapping[str, str], stored: Any) -> Any:
    """What a join has seen, under today's names (nested lists of names)."""
    if isinstance(stored, str):
        return nodes.get(stored, stored)
    if isinstance(stored, (list, tuple)):
        return [_renamed_within(nodes, each) for each in cast("Sequence[Any]", stored)]
    return stored


# --- names of keys -------------------------------------------------------------------------------


def _rename_keys(plan: GraphPlan, snapshot: Snapshot, moved: Moved) -> None:
    keys, values = plan.renames.keys, snapshot.values
    for former, now in keys.items():
        if former in values:
            value = values.pop(former)
            moved.gone.append(former)
            moved.renamed[former] = now
            if now not in values or now in moved.changed:  # of several, the latest name counts
                values[now] = value
                moved.changed[now] = None
    entry = plan.entry
    if entry is not None and isinstance(values.get(entry), dict):
        values[entry] = {keys.get(key, key): value for key, value in values[entry].items()}
    snapshot.writes = [
        (task_id, keys.get(channel, channel), _renamed_arg(plan, value, channel))
        for task_id, channel, value in snapshot.writes
    ]
    if "sends" in snapshot.frontier:
        snapshot.frontier["sends"] = [
            _renamed_arg(plan, send, TASKS) for send in snapshot.frontier["sends"]
        ]


def _renamed_arg(plan: GraphPlan, value: Any, channel: str) -> Any:
    """A `Send` whose argument has the keys that its node reads today."""
    if channel != TASKS or not isinstance(value, Send) or not isinstance(value.arg, dict):
        return value
    node = plan.nodes.get(value.node)
    if node is None or isinstance(node.reads, str):
        return value
    keys, given = plan.renames.keys, cast("dict[str, Any]", value.arg)
    renamed = {key: keys[key] for key in given if keys.get(key) in node.reads.members}
    if not renamed:
        return value
    arg = {renamed.get(key, key): held for key, held in given.items()}
    return Send(value.node, arg, timeout=value.timeout)


# --- versions of the state -----------------------------------------------------------------------


class _Migrating:
    """Brings the values of one checkpoint, and what was written since, to today's version."""

    def __init__(
        self, plan: GraphPlan, snapshot: Snapshot, version: int, moved: Moved, at: str
    ) -> None:
        self.plan = plan
        self.snapshot = snapshot
        self.version = version
        self.moved = moved
        self.at = at

    def run(self) -> None:
        snapshot, plan, moved = self.snapshot, self.plan, self.moved
        before = {key: given(value) for key, value in snapshot.values.items() if self._is_key(key)}
        after = self._forward(deepcopy(before), self.version) if before else {}
        self._migrate_writes(before, after)
        if plan.entry is not None and isinstance(put := snapshot.values.get(plan.entry), dict):
            put = list(cast("Values", put).items())
            snapshot.values[plan.entry] = dict(self._updates(put, before, after, self.version))
            moved.changed[plan.entry] = None
        if self.version == plan.version:
            return  # only writes were of another version
        snapshot.values = {
            **{key: value for key, value in snapshot.values.items() if not self._is_key(key)},
            **after,
        }
        moved.changed.update(dict.fromkeys(key for key in after if key in plan.channels))
        moved.gone.extend(key for key in before if key not in after)
        moved.mark = [(STATE_VERSION, plan.version)]

    def _is_key(self, name: str) -> bool:
        """Whether a channel is, or was, a key of the user's state."""
        known = name in self.plan.channels and name != self.plan.entry
        return (known or not name.startswith(OWN)) and not name.startswith(JOIN)

    def _forward(self, values: Values, version: int, to: int | None = None) -> Values:
        """Values of a version, as today's (or as those of the version `to`)."""
        plan = self.plan
        if version > plan.version:
            raise self._error(
                version,
                f"it was written by newer code. Run that code, or raise the version of "
                f"{plan.name!r} to {version} with the migrations that lead there.",
            )
        for number in range(version, to or plan.version):
            migrate = plan.migrations.get(number)
            if migrate is None:
                raise self._error(
                    version, f"there is no migration from version {number}. Add migrations="
                    f"{{{number}: function}} to the graph."
                )  # fmt: skip
            known = set(values)
            try:
                values = migrate(values)
            except Exception as error:
                raise self._error(
                    version, f"the migration from version {number} failed: {error!r}."
                ) from error
            if not isinstance(values, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise self._error(
                    version,
                    f"the migration from version {number} returned {values!r} instead of a dict "
                    "of values.",
                )
            if number == plan.version - 1:
                self._check_keys(values, known, version)
        return values

    def _check_keys(self, values: Values, known: set[str], version: int) -> None:
        for key in values:
            if key not in self.plan.channels and key not in known:
                raise self._error(
                    version, f"the last migration returned key {key!r}, which the state does not "
                    f"have. {nearest(key, self.plan.channels)}"
                )  # fmt: skip

    def _error(self, version: int, what: str) -> MigrationError:
        return MigrationError(
            f"The state of {self.at} cannot go from version {version} to {self.plan.version} "
            f"of graph {self.plan.name!r}: {what}",
            checkpoint_id=self.snapshot.id,
            stored_version=version,
            version=self.plan.version,
        )

    def _migrate_writes(self, before: Values, after: Values) -> None:
        migrated: list[tuple[str, str, Any]] = []
        for task_id, writes in self.snapshot.by_task().items():
            version = next((v for c, v in writes if c == STATE_VERSION), self.version)
            if version != self.plan.version:
                writes = [(channel, given(value)) for channel, value in writes]
                base = before
                if base and version != self.version:
                    base = self._forward(deepcopy(before), self.version, version)
                writes = self._updates(writes, base, after, version)
                writes = [write for write in writes if write[0] != STATE_VERSION]
            migrated.extend((task_id, channel, value) for channel, value in writes)
        self.snapshot.writes = migrated

    def _updates(self, writes: Writes, before: Values, after: Values, version: int) -> Writes:
        """What a task wrote, as it would have written today.

        Only writes that are values themselves can go through a migration; what a reducer takes,
        stays as it was written.
        """
        channels = self.plan.channels
        given: Values = {}
        others: Writes = []
        for channel, value in writes:
            prototype = channels.get(channel)
            routing = channel.startswith(ROUTE) or not self._is_key(channel)
            if routing or not (prototype is None or type(prototype) is LastValue):
                others.append((channel, value))
            else:
                given[channel] = value
        if not given:
            return writes
        migrated = self._forward(deepcopy({**before, **given}), version)
        changed = [
            (key, value)
            for key, value in migrated.items()
            if key in given or key not in after or not _same(after[key], value)
        ]
        return [*others, *((key, value) for key, value in changed if self._takes(key))]

    def _takes(self, key: str) -> bool:
        prototype = self.plan.channels.get(key)
        return prototype is None or type(prototype) is LastValue


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal; arrays, whose `==` gives an array, as a whole."""
    equal = a == b
    whole = getattr(equal, "all", None)
    return bool(whole() if callable(whole) else equal)


NO_RENAMES = Renames()

__all__ = ["NO_RENAMES", "Migration", "Moved", "Renames", "adapt", "lost_join", "warn_of_dropped"]
