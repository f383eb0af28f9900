"""Runs on savers that only have LangGraph's port (`put`, `put_writes`, `get_tuple`, `list`).

A `ForeignSession` speaks the native port of `port.py` over them. The promise is weaker, and a
`WeakDurabilityWarning` says so once for each saver:

- No fence: two runs on one thread are not noticed, a stale owner's writes are not refused.
- No transaction: the writes of a step are stored before its checkpoint, so that a crash between
  the two runs no task again, but a reader may see the one without the other.
- Every checkpoint keeps whole values; what that costs is the saver's affair.

What is stored does not depend on the saver's serializer: values made of None, bool, int, float,
text, bytes, lists and dicts are handed over as they are; any other value, and every pending write,
is handed over as bytes of plait's codec, in a dict marked by `MARK`. If its serializer is plait's,
so are all values that this knows by itself, such as messages: the saver may look at them.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from weakref import WeakSet

from plait.checkpoint.base.model import LATEST_VERSION, WRITES_IDX_MAP
from plait.checkpoint.base.plans import arun_plan, in_order, run_plan
from plait.checkpoint.base.port import Mark, NewCheckpoint, Plan, Snapshot, TaskWrites
from plait.checkpoint.serde import Codec
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.constants import FRONTIER
from plait.errors import (
    ConfigError,
    CorruptCheckpointError,
    UnregisteredTypeError,
    WeakDurabilityWarning,
)

MARK = "__plait__"
"""The key of a dict that holds plait's bytes of a value."""
PAGE = 50
"""How many checkpoints one plan of `history` reads."""

T = TypeVar("T")
_warned: WeakSet[Any] = WeakSet()


@dataclass(frozen=True, slots=True)
class Call:
    """A request of a plan: call this method of the saver (or its async twin)."""

    method: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    merge: bool = False
    """Of writes: whether they replace only the channels that they name."""


def run_call(saver: Any, request: Call) -> Any:
    """Do a request with the saver's sync methods. `list` is read to its end.

    Raises:
        ConfigError: The saver is async only.
    """
    try:
        answer = getattr(saver, request.method)(*request.args, **request.kwargs)
        return list(answer) if request.method == "list" else answer
    except NotImplementedError as error:
        raise ConfigError(
            f"{type(saver).__name__} cannot be used by a sync run: it has no {request.method}(). "
            "Use ainvoke/astream, or another saver."
        ) from error


async def arun_call(saver: Any, request: Call) -> Any:
    """Do a request with the saver's async methods, or in a thread if it only has sync ones."""
    twin = getattr(saver, f"a{request.method}", None)
    if twin is not None:
        try:
            if request.method == "list":
                return [found async for found in twin(*request.args, **request.kwargs)]
            return await twin(*request.args, **request.kwargs)
        except NotImplementedError:
            pass
    return await asyncio.to_thread(run_call, saver, request)


@dataclass(slots=True)
class _Known:
    """What this session knows of one stored checkpoint, to build the next one on."""

    values: dict[str, Any]
    """Channel values as they were handed to the saver."""
    versions: dict[str, Any]
    tasks: dict[str, _TaskLog] = field(default_factory=dict[str, "_TaskLog"])


@dataclass(slots=True)
class _TaskLog:
    """The writes of one task as they lie in the saver: batches, numbered, never changed."""

    batches: int = 0
    plain: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """All writes to ordinary channels, as handed over: savers know a write by its position."""


class ForeignSession:
    """One run's use of one lane of a foreign saver (see `port.Session`).

    Args:
        saver: Any object with LangGraph's saver methods.
        thread_id: The thread.
        ns: The namespace.
        config: The run's config; its other `configurable` keys reach the saver.
        codec: Encodes values that the saver may not know.
    """

    def __init__(
        self,
        saver: Any,
        thread_id: str,
        ns: str = "",
        config: Mapping[str, Any] | None = None,
        codec: Codec | None = None,
    ) -> None:
        self.saver = saver
        self.thread_id = thread_id
        self.ns = ns
        self.config = dict(config or {})
        self.codec = codec or Codec()
        serde = getattr(saver, "serde", None)
        self._theirs = serde.codec if isinstance(serde, JsonPlusSerializer) else None
        """Knows what the saver's serializer knows, if that is plait's."""
        self.parked = False
        self.gone: Callable[[], bool] = lambda: False
        self._known: dict[str, _Known] = {}
        _warn(saver)

    def load(
        self, checkpoint_id: str | None = None, *, to_write: bool = False
    ) -> Plan[Snapshot | None]:
        """Read a checkpoint (None: the newest). Returns None where there is none."""
        found = yield Call("get_tuple", (self._at(checkpoint_id),))
        return None if found is None else self._snapshot(found)

    def look(self, checkpoint_id: str | None = None) -> Plan[Snapshot | None]:
        """`load`, to look at it."""
        return self.load(checkpoint_id)

    def leave(self) -> bool:
        """There is nothing to wait for."""
        return False

    @property
    def may_wait(self) -> bool:
        """Nobody is waited for."""
        return False

    def claim(self) -> Plan[None]:
        """Nothing to take: a foreign saver has no fence."""
        yield from ()

    def release(self) -> Plan[None]:
        """Nothing to give back."""
        yield from ()

    def commit(
        self,
        checkpoint: NewCheckpoint,
        writes: Sequence[TaskWrites] = (),
        *,
        claim: bool = False,
        release: bool = False,
    ) -> Plan[None]:
        """Store task writes, then the checkpoint."""
        encoded = [self._encode_writes(task) for task in writes]
        changed = {name: self._hand_over(value) for name, value in checkpoint.changed.items()}
        changed[FRONTIER] = self._hand_over(dict(checkpoint.frontier))
        return self._commit(checkpoint, encoded, changed)

    def put_off(self, checkpoint: NewCheckpoint) -> bool:
        """Each checkpoint is a call of its own."""
        return False

    def save_writes(
        self, writes: Sequence[TaskWrites], *, claim: bool = False, release: bool = False
    ) -> Plan[None]:
        """Store the writes of finished tasks."""
        return self._put_writes([self._encode_writes(task) for task in writes])

    def history(
        self,
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Generator[Plan[list[Snapshot]], None, None]:
        """Newest first, page by page."""
        wanted = dict(filter) if filter else None
        page = _Page(before)
        while not page.last and (limit is None or limit > 0):
            size = PAGE if limit is None else min(PAGE, limit)
            yield self._read_page(page, size, wanted)
            limit = None if limit is None else limit - size

    def marks(self, at: str | None, limit: int) -> Plan[list[Mark]]:
        """Up to `limit` checkpoints from `at` (None: the newest) back."""
        first = None if at is None else (yield Call("get_tuple", (self._at(at),)))
        found = [] if first is None else [self._snapshot(first, remember=False)]
        if len(found) < limit:
            page = _Page(at)
            found += yield from self._read_page(page, limit - len(found), None)
        return [Mark.of(one.id, one.parent_id, one.metadata, one.frontier) for one in found]

    def nested(self, ns: str) -> ForeignSession:
        """The lane of another namespace of this thread."""
        return type(self)(self.saver, self.thread_id, ns, self.config, self.codec)

    # --- Reading ---------------------------------------------------------------------------------

    def _at(self, checkpoint_id: str | None) -> dict[str, Any]:
        """The config that names a checkpoint of this lane (None: the newest, or no parent)."""
        given = cast("Mapping[str, Any]", self.config.get("configurable", {}))
        kept = {k: v for k, v in given.items() if not k.startswith("__")}
        for key in ("checkpoint_id", "thread_ts", "checkpoint_map"):
            kept.pop(key, None)
        kept |= {"thread_id": self.thread_id, "checkpoint_ns": self.ns}
        if checkpoint_id is not None:
            kept["checkpoint_id"] = checkpoint_id
        return {**self.config, "configurable": kept}

    def _read_page(
        self, page: _Page, size: int, filter: dict[str, Any] | None
    ) -> Plan[list[Snapshot]]:
        before = None if page.before is None else self._at(page.before)
        found = yield Call(
            "list", (self._at(None),), {"filter": filter, "before": before, "limit": size}
        )
        snapshots = [self._snapshot(one, remember=False) for one in found]
        page.last = len(snapshots) < size
        page.before = snapshots[-1].id if snapshots else page.before
        return snapshots

    def _snapshot(self, found: Any, remember: bool = True) -> Snapshot:
        """A stored checkpoint as the native port shows it; remembers what to build on."""
        checkpoint = found.checkpoint
        handed = dict(checkpoint["channel_values"])
        versions = dict(checkpoint["channel_versions"])
        stored: list[tuple[str, str, Any]] = list(found.pending_writes or ())
        if remember:
            self._known[checkpoint["id"]] = _Known(handed, versions, _logs(stored))
        values = {name: self._take_back(value) for name, value in handed.items()}
        parent = cast("Mapping[str, Any]", found.parent_config or {}).get("configurable", {})
        return Snapshot(
            id=checkpoint["id"],
            parent_id=parent.get("checkpoint_id"),
            ts=checkpoint["ts"],
            metadata=dict(found.metadata),
            frontier=values.pop(FRONTIER, {}),
            values=values,
            writes=self._effective(stored),
        )

    def _effective(self, stored: Iterable[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
        """What the batches of each task come to, in the order of task path and position."""
        tasks: dict[str, list[tuple[int, int, str, Any]]] = {}
        order: dict[str, str] = {}
        for task_id, channel, value in stored:
            writes = tasks.setdefault(task_id, [])
            batch, at = _position(value, len(writes))
            writes.append((batch, at, channel, value))
            order.setdefault(task_id, value["path"] if _is_marked(value) else "")
        return [
            (task_id, channel, self._take_back(value))
            for task_id in sorted(tasks, key=lambda task_id: (order[task_id], task_id))
            for channel, value in _play(tasks[task_id])
        ]

    def _take_back(self, handed: Any) -> Any:
        """The value behind what was handed to the saver; never the saver's own object."""
        if _is_marked(handed):
            if type(handed[MARK]) is not bytes:
                raise _damaged()
            return self.codec.loads(handed[MARK])
        return _copy(handed) if _is_plain(handed) else self.codec.loads(self.codec.dumps(handed))

    # --- Writing ---------------------------------------------------------------------------------

    def _hand_over(self, value: Any) -> Any:
        if _is_plain(value):
            return _copy(value)
        packed = self.codec.dumps(value)
        if self._theirs is not None and not _is_marked(value):
            try:
                return self._theirs.loads(packed)
            except UnregisteredTypeError:  # only this graph's schema names it
                pass
        return {MARK: packed}

    def _encode_writes(self, task: TaskWrites) -> Batch:
        raw = [(channel, self.codec.dumps(value)) for channel, value in task.writes]
        return Batch(task.checkpoint_id, task.task_id, task.path, task.merge, raw)

    def _remembered(self, checkpoint_id: str) -> Plan[_Known]:
        """What is known of a checkpoint, read from the saver if this session never saw it."""
        if checkpoint_id not in self._known:
            found = yield Call("get_tuple", (self._at(checkpoint_id),))
            if found is None:
                self._known[checkpoint_id] = _Known({}, {})
            else:
                self._snapshot(found)
        return self._known[checkpoint_id]

    def _put_writes(self, batches: Sequence[Batch]) -> Plan[None]:
        for batch in batches:
            known = yield from self._remembered(batch.checkpoint_id)
            log = known.tasks.setdefault(batch.task_id, _TaskLog())
            reserved: list[tuple[str, Any]] = []
            more = False
            for at, (channel, raw) in enumerate(batch.raw):
                marked = {
                    MARK: raw,
                    "at": at,
                    "batch": log.batches,
                    "merge": batch.merge,
                    "path": batch.path,
                }
                if channel in WRITES_IDX_MAP:
                    reserved.append((channel, marked))
                else:
                    log.plain.append((channel, marked))
                    more = True
            log.batches += 1
            where = self._at(batch.checkpoint_id)
            if more:  # all of them: a saver keeps what it has and adds the positions that are new
                yield Call("put_writes", (where, list(log.plain), batch.task_id, batch.path))
            if reserved:
                yield Call("put_writes", (where, reserved, batch.task_id, batch.path))

    def _commit(
        self, checkpoint: NewCheckpoint, batches: Sequence[Batch], changed: dict[str, Any]
    ) -> Plan[None]:
        yield from self._put_writes(batches)
        parent = _Known({}, {})
        if checkpoint.parent_id is not None:
            parent = yield from self._remembered(checkpoint.parent_id)
        values = {k: v for k, v in parent.values.items() if k not in checkpoint.removed} | changed
        newest = max(parent.versions.values(), default=None)
        version = self.saver.get_next_version(newest, None)
        new_versions = dict.fromkeys([*changed, *checkpoint.removed], version)
        versions = parent.versions | new_versions
        stored = {
            "v": LATEST_VERSION,
            "id": checkpoint.id,
            "ts": checkpoint.made_at,
            "channel_values": dict(values),
            "channel_versions": dict(versions),
            "versions_seen": {},
            "pending_sends": [],
            "updated_channels": sorted(new_versions),
        }
        where = self._at(checkpoint.parent_id)
        yield Call("put", (where, stored, dict(checkpoint.metadata), new_versions))
        self._known = {checkpoint.id: _Known(values, versions)}


@dataclass(slots=True)
class _Page:
    """Where a walk through the history stands."""

    before: str | None
    last: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """The writes of one task, encoded."""

    checkpoint_id: str
    task_id: str
    path: str
    merge: bool
    raw: list[tuple[str, bytes]]


def _logs(stored: Iterable[tuple[str, str, Any]]) -> dict[str, _TaskLog]:
    """What lies in the saver for each task."""
    found: dict[str, dict[tuple[int, int], tuple[str, Any]]] = {}
    logs: dict[str, _TaskLog] = {}
    for task_id, channel, value in stored:
        log, plain = logs.setdefault(task_id, _TaskLog()), found.setdefault(task_id, {})
        position = _position(value, len(plain))
        log.batches = max(log.batches, position[0] + 1)
        if channel not in WRITES_IDX_MAP:
            plain[position] = (channel, value)
    for task_id, log in logs.items():
        log.plain = [found[task_id][position] for position in sorted(found[task_id])]
    return logs


def _play(writes: list[tuple[int, int, str, Any]]) -> list[tuple[str, Any]]:
    """What the batches of one task come to: each replaces all, or the channels that it names."""
    batches: dict[int, dict[int, tuple[str, Any]]] = {}
    for batch, at, channel, value in writes:
        batches.setdefault(batch, {})[at] = (channel, value)
    state: list[tuple[str, Any]] = []
    for _, batch in sorted(batches.items()):
        new = [batch[at] for at in sorted(batch)]
        named = {channel for channel, _ in new}
        value = new[0][1]
        keep = state if _is_marked(value) and value["merge"] else []
        state = [write for write in keep if write[0] not in named] + new
    return state


def _position(value: Any, default: int) -> tuple[int, int]:
    """(batch, position) of a stored write; one that another program wrote came first of all."""
    if not _is_marked(value):
        return 0, default
    batch, at = value.get("batch"), value.get("at")
    if not (type(batch) is int and type(at) is int and {"path", "merge"} <= value.keys()):
        raise _damaged()
    return batch, at


def _damaged() -> CorruptCheckpointError:
    return CorruptCheckpointError(
        f"A value that a saver keeps is marked as plait's ({MARK!r}), and is not in its form. "
        "Restore the database from a backup."
    )


def _is_marked(value: Any) -> bool:
    return type(value) is dict and MARK in value


def _is_plain(value: Any) -> bool:
    """Whether every serializer keeps a value as it is: JSON's types and bytes."""
    cls = cast("type[Any]", type(value))
    if cls in (bool, float, bytes, type(None)):
        return True
    if cls is int:
        return -(1 << 63) <= value < 1 << 63
    if cls is str:
        return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
    if cls is list:
        return all(map(_is_plain, value))
    if cls is dict:
        return MARK not in value and all(
            type(k) is str and _is_plain(k) and _is_plain(v) for k, v in value.items()
        )
    return False


def _copy(value: Any) -> Any:
    """A copy of a plain value, so that neither the saver nor the program sees the other's."""
    if type(value) is list:
        return [_copy(item) for item in cast("list[Any]", value)]
    if type(value) is dict:
        return {k: _copy(v) for k, v in cast("dict[str, Any]", value).items()}
    return value


def _warn(saver: Any) -> None:
    """Warn once for each saver that its promises are weaker."""
    try:
        if saver in _warned:
            return
        _warned.add(saver)
    except TypeError:  # cannot be hashed or referred to weakly: the warnings filter must do
        pass
    name, overridden = type(saver).__name__, sorted(getattr(saver, "overridden", ()))
    if overridden:
        name = f"{name} overrides {', '.join(overridden)}, so runs go through it. It"
    warnings.warn(
        f"{name} has no fence and no transaction: a second run on the same thread is not noticed, "
        "and a stale owner's writes are not refused. plait's own savers have both.",
        WeakDurabilityWarning,
        stacklevel=3,
    )


class ForeignRunner:
    """Opens sessions on a foreign saver and executes their plans (`drivers.base.PlanRunner`)."""

    shared = True
    """Nobody knows where the saver keeps its rows."""
    stepped = False
    """Nor what its async methods rely on."""

    def __init__(self, saver: Any, codec: Codec | None = None) -> None:
        self.saver = saver
        self.codec = codec

    def open_session(
        self, thread_id: str, ns: str, config: Mapping[str, Any] | None
    ) -> ForeignSession:
        """A run's use of one lane of the saver."""
        return ForeignSession(self.saver, thread_id, ns, config, self.codec)

    def join(self, plans: Sequence[Plan[Any]]) -> Plan[Any]:
        """One plan that does several in order: such a saver has no transactions."""
        return in_order(plans)

    def run(self, plan: Plan[T]) -> T:
        """Run a plan with the saver's sync methods."""
        return run_plan(plan, self._call)

    async def arun(self, plan: Plan[T]) -> T:
        """Run a plan with the saver's async methods."""
        return await arun_plan(plan, self._acall)

    def _call(self, request: Call) -> Any:
        return run_call(self.saver, request)

    async def _acall(self, request: Call) -> Any:
        return await arun_call(self.saver, request)
