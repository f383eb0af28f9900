"""`import_langgraph`: writes LangGraph's threads as plait's, and reports what became of each.

A thread is written under plait's claim, the graphs inside it first and its own checkpoints last,
each with what its tasks have done in one transaction. So an import that is cut off is taken up
again where it stood; one that is repeated finds everything there; and what LangGraph has stored
since is added, as long as nobody has gone on with the thread here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.deleting import delete_thread, released
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.progress import Progress, Tell
from plait.checkpoint.log.reader import writes_of
from plait.checkpoint.log.requests import (
    CheckpointRow,
    LaneRow,
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadLane,
    ReadValues,
)
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import GLOBAL
from plait.errors import ConfigError, StorageError, StorageUnavailableError, ThreadBusyError
from plait.importing.again import Again, At, compare
from plait.importing.known import Known
from plait.importing.rows import Size, Source
from plait.importing.sqlite import SqliteSource
from plait.importing.threads import Lane, PeerThread

if TYPE_CHECKING:
    from plait.pregel.main import Pregel

Outcome: TypeAlias = Literal["imported", "present", "moved on", "busy", "refused"]
POSTGRES = ("postgres://", "postgresql://")
NOTHING = Size(0, 0)
_PAGE = 64
"""Checkpoints between two signs of life."""


@dataclass(slots=True)
class ImportedThread:
    """What became of one thread."""

    thread_id: str
    outcome: Outcome
    """`imported`; `present`: all of it was here; `moved on`: somebody has gone on with it here, so
    it was left alone; `busy`: a live run owns it; `refused`: it cannot be imported."""
    checkpoints: int = 0
    """How many were written."""
    problem: str = ""
    """Why it was not imported."""
    notes: list[str] = field(default_factory=list[str])
    before: Size = NOTHING
    after: Size = NOTHING


@dataclass(slots=True)
class ImportReport:
    """What became of all threads."""

    threads: list[ImportedThread] = field(default_factory=list[ImportedThread])
    dry_run: bool = False

    def of(self, *outcomes: Outcome) -> list[ImportedThread]:
        """The threads with these outcomes."""
        return [thread for thread in self.threads if thread.outcome in outcomes]

    @property
    def before(self) -> Size:
        """What the threads that are here now took up in LangGraph's database."""
        return sum((each.before for each in self.of("imported", "present")), NOTHING)

    @property
    def after(self) -> Size:
        """What they take up here."""
        return sum((each.after for each in self.of("imported", "present")), NOTHING)


def import_langgraph(
    source: str | os.PathLike[str] | Source,
    saver: Any = None,
    *,
    threads: Iterable[str] | None = None,
    graph: Pregel | None = None,
    modules: Mapping[str, str] | None = None,
    dry_run: bool = False,
    progress: Tell = None,
) -> ImportReport:
    """Import the threads that LangGraph's SQLite or Postgres saver has stored.

    Nothing in its database is executed or imported, and nothing in it is changed. A value of a type
    that nobody has registered refuses its thread, and the others are imported.

    Args:
        source: A file of `SqliteSaver`, or the URL of a database of `PostgresSaver`.
        saver: One of plait's savers; not needed for a dry run.
        threads: Which threads (None: all).
        graph: The graph that will go on with them: types that its schemas name are known.
        modules: Former names of modules to today's, such as {"__main__": "shop.state"}.
        dry_run: Do everything but keep the result: it tells what would be refused, and what the
            move saves.
        progress: Called after each thread, and now and then inside long ones.

    Returns:
        What became of each thread.

    Raises:
        ConfigError: The source is no database of LangGraph's, a thread does not exist, or the saver
            is not one of plait's.
    """
    if not dry_run and not hasattr(saver, "open_session"):
        raise ConfigError(
            "import_langgraph() writes to plait's own savers; pass one, such as "
            "SqliteSaver('threads.db'), or dry_run=True."
        )
    own = None if graph is None else graph.registry()
    known = Known(own or GLOBAL, modules)
    opened = _open(source)
    report = ImportReport(dry_run=dry_run)
    try:
        names = _chosen(opened, threads)
        for done, name in enumerate(names):

            def tell(done: int = done, name: str = name, *, records: int = 0) -> None:
                if progress is not None:
                    progress(Progress(name, done, len(names), records))

            target = InMemorySaver() if dry_run else saver
            moved = _move(opened, name, target, known, own, tell)
            report.threads.append(moved)
            tell(done + 1)
    finally:
        if opened is not source:
            opened.close()
    return report


def _open(source: str | os.PathLike[str] | Source) -> Source:
    if not isinstance(source, (str, os.PathLike)):
        return source
    text = os.fspath(source)
    if text.startswith(POSTGRES):
        from plait.importing.postgres import PostgresSource  # needs psycopg, an extra

        return PostgresSource(text)
    return SqliteSource(source)


def _chosen(source: Source, threads: Iterable[str] | None) -> list[str]:
    there = source.threads()
    if threads is None:
        return there
    chosen = list(threads)
    for name in chosen:
        if name not in there:
            raise ConfigError(f"There is no thread {name!r} to import ({len(there)} others).")
    return chosen


def _move(
    source: Source, name: str, saver: Any, known: Known, registry: Any, tell: Callable[..., None]
) -> ImportedThread:
    """Import one thread; what goes wrong with it is part of the report."""
    moved = ImportedThread(name, "imported")
    try:
        moved.before = source.size(name)
        thread = PeerThread(source, name, known)
        session = saver.open_session(name, registry=registry)
        moved.outcome = saver.run(_import(source, known, thread, session, moved, tell))
        if moved.outcome != "moved on":
            moved.after = saver.run(_size_of(name))
            moved.notes = thread.notes()
    except StorageUnavailableError:
        raise
    except ThreadBusyError as error:
        moved.outcome, moved.problem = "busy", str(error)
    except StorageError as error:
        moved.outcome, moved.problem = "refused", str(error)
    return moved


def _import(
    source: Source, known: Known, thread: PeerThread, session: LogSession,
    moved: ImportedThread, tell: Callable[..., None],
) -> Plan[Outcome]:  # fmt: skip
    root: LaneRow | None = yield ReadLane(thread.thread_id, "")
    begun = root is not None and root.head is not None
    again = Again(left=True)
    if begun:
        again = yield from compare(PeerThread(source, thread.thread_id, known), session)
    if not again.left:
        moved.problem = "it has gone on here since it was imported"
        return "moved on"
    if again.whole:
        return "present"
    yield from session.claim()
    try:
        yield from released(session, _write(thread.lanes(), again.stale, session, moved, tell))
    except StorageError:
        if not begun:
            yield from delete_thread(session)
            moved.checkpoints = 0
        raise
    return "imported"


def _write(
    lanes: list[Lane], stale: Set[At], session: LogSession, moved: ImportedThread,
    tell: Callable[..., None],
) -> Plan[None]:  # fmt: skip
    for lane in lanes:
        here = lane.here
        stored: LaneRow | None = yield ReadLane(session.thread_id, here)
        present: set[bytes] = set()
        if stored is not None:
            rows: list[CheckpointRow] = yield ReadCheckpoints(stored.lane)
            present = {row.id for row in rows}
        target = session.nested(here)
        for step in lane.steps():
            id = step.checkpoint.id
            is_new = pack(id) not in present
            if not is_new and (here, id) not in stale:
                continue
            yield from target.commit(step.checkpoint, step.writes)
            moved.checkpoints += is_new
            if moved.checkpoints % _PAGE == 0:
                tell(records=moved.checkpoints)


def _size_of(thread_id: str) -> Plan[Size]:
    """What a thread takes up here: ids and names of columns count, as they do there."""
    rows = size = 0
    lanes: list[LaneRow] = yield ListLanes(thread_id)
    for lane in lanes:
        rows, size = rows + 1, size + len(lane.thread_id.encode()) + len(lane.ns.encode()) + 16
        checkpoints: list[CheckpointRow] = yield ReadCheckpoints(lane.lane)
        rows += len(checkpoints)
        found = yield from writes_of(lane.lane, checkpoints)
        for each in checkpoints:
            size += len(each.id) + len(each.parent or b"") + len(each.record)
            writes = found[each.id]
            rows += len(writes)
            size += sum(
                len(w.checkpoint) + len(w.task) + len(w.path) + len(w.record) for w in writes
            )
        keys: list[tuple[str, bytes]] = yield ListValues(lane.lane)
        rows += len(keys)
        for start in range(0, len(keys), _PAGE):
            some = keys[start : start + _PAGE]
            records: list[bytes | None] = yield ReadValues(lane.lane, some)
            size += sum(len(key) + len(id) for key, id in some)
            size += sum(len(record or b"") for record in records)
    return Size(rows, size)


__all__ = ["ImportReport", "ImportedThread", "Size", "import_langgraph"]
