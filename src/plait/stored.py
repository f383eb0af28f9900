"""What a database holds, thread by thread, and waking the threads whose time has come.

Only the newest checkpoint of each thread is looked at, and no value of the state is decoded.
Nothing is claimed or written but by `wake`, which makes ordinary calls.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.claims import is_owned
from plait.checkpoint.log.reader import LaneReader
from plait.checkpoint.log.requests import LaneRow, ListThreads, ReadLane, ReadWrites, WriteRow
from plait.constants import INTERRUPT, RESUME
from plait.drivers.env import run_env
from plait.engine.alarms import timed_questions
from plait.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from plait.pregel.main import Pregel
    from plait.types import Interrupt

T = TypeVar("T")
PAGE = 256
"""Threads that are listed at once."""
_Page: TypeAlias = tuple[list[T], int, bool]
"""What stands on a page, after which lane the next one begins, and whether there may be one."""


@dataclass(slots=True)
class StoredThread:
    """A thread as it stands."""

    thread_id: str
    checkpoint_id: str = ""
    """Its newest checkpoint."""
    updated: str = ""
    """When that was made (ISO 8601, UTC)."""
    step: int | None = None
    source: str = ""
    """What made it: input, loop, update, fork."""
    next: tuple[str, ...] = ()
    """The nodes that run next; none: the thread is at its end."""
    questions: tuple[Interrupt, ...] = ()
    """What it waits to be answered, sleeps included."""
    due: float | None = None
    """The first time that it waits for, in seconds since the epoch."""
    owned: bool = False
    """Whether a live run owns it."""
    problem: str = ""
    """Why it cannot be read."""


def list_threads(saver: Any) -> Iterator[StoredThread]:
    """The threads of a database, oldest first.

    Raises:
        ConfigError: the saver cannot list threads (it is not one of plait's).
    """
    yield from _in_pages(saver, partial(_page, saver))


async def alist_threads(saver: Any) -> AsyncIterator[StoredThread]:
    """Async twin of `list_threads`."""
    _check(saver)
    after, more = 0, True
    while more:
        page: list[StoredThread]
        page, after, more = await saver.arun(_page(saver, after))
        for thread in page:
            yield thread


def list_thread_ids(saver: Any) -> Iterator[str]:
    """The ids of the threads of a database, oldest first: nothing else of them is read.

    Raises:
        ConfigError: the saver cannot list threads (it is not one of plait's).
    """
    yield from _in_pages(saver, _ids)


def _in_pages(saver: Any, page: Callable[[int], Plan[_Page[T]]]) -> Iterator[T]:
    _check(saver)
    after, more = 0, True
    while more:
        found: list[T]
        found, after, more = saver.run(page(after))
        yield from found


def find_thread(saver: Any, thread_id: str) -> StoredThread:
    """One thread as it stands.

    Raises:
        ConfigError: there is no such thread.
    """
    _check(saver)
    found: StoredThread | None = saver.run(_find(saver, thread_id))
    if found is None:
        raise ConfigError(f"There is no thread {thread_id!r} in this database.")
    return found


def _check(saver: Any) -> None:
    if not (hasattr(saver, "open_session") and hasattr(saver, "arun")):
        raise ConfigError(
            f"{type(saver).__name__} cannot list its threads: only plait's own savers do."
        )


def _find(saver: Any, thread_id: str) -> Plan[StoredThread | None]:
    row: LaneRow | None = yield ReadLane(thread_id, "")
    return None if row is None else (yield from _look(saver, row))


def _page(saver: Any, after: int) -> Plan[_Page[StoredThread]]:
    rows, after, more = yield from _rows(after)
    threads: list[StoredThread] = []
    for row in rows:
        threads.append((yield from _look(saver, row)))
    return threads, after, more


def _ids(after: int) -> Plan[_Page[str]]:
    rows, after, more = yield from _rows(after)
    return [row.thread_id for row in rows], after, more


def _rows(after: int) -> Plan[_Page[LaneRow]]:
    rows: list[LaneRow] = yield ListThreads(after, PAGE)
    return rows, rows[-1].lane if rows else after, len(rows) == PAGE


def _look(saver: Any, row: LaneRow) -> Plan[StoredThread]:
    thread = StoredThread(row.thread_id, owned=is_owned(row))
    reader = LaneReader(row.thread_id, "", saver.open_session(row.thread_id).codec, row.lane)
    try:
        found = None if row.head is None else (yield from reader.row(row.head))
        if found is None:
            thread.problem = "it has no checkpoint"
            return thread
        mark = reader.mark(found)
        thread.checkpoint_id = mark.id
        thread.updated, metadata, frontier = reader.body(reader.open_checkpoint(found))
        thread.step, thread.source = metadata.get("step"), str(metadata.get("source", ""))
        sends = [send.node for send in frontier.get("sends", ())]
        thread.next = (*sends, *sorted(frontier.get("next", ())))
        writes: list[WriteRow] = yield ReadWrites(row.lane, found.id)
        _take_questions(reader, writes, thread)
    except StorageError as error:
        thread.problem = str(error)
    return thread


def _take_questions(reader: LaneReader, rows: list[WriteRow], thread: StoredThread) -> None:
    asked: list[tuple[str, str, Any]] = [
        (row.path, channel, reader.codec.loads(data))
        for row in rows
        for channel, data in reader.writes_frame(row)
        if channel in (INTERRUPT, RESUME) and isinstance(data, bytes)
    ]
    answered = {id for _, channel, value in asked if channel == RESUME for id in value}
    questions = {
        question.id: question
        for _, channel, value in asked
        if channel == INTERRUPT
        for question in value
        if question.id not in answered
    }
    thread.questions = tuple(questions.values())
    timed = [each.due for waits in timed_questions(asked).values() for each in waits.values()]
    thread.due = min(timed, default=None)


# --- waking --------------------------------------------------------------------------------------


class Woken(NamedTuple):
    """What came of a call that woke a thread."""

    thread_id: str
    waits: bool
    """Whether it waits again."""
    error: BaseException | None
    """What the call raised; `ThreadBusyError`: another run was faster."""


def wake(graph: Pregel, *, now: float | None = None) -> Iterator[Woken]:
    """Go on with the threads of a graph's saver that waited for a time which has come.

    Args:
        graph: a graph with a saver.
        now: the time, in seconds since the epoch (None: the clock's).

    Returns:
        What came of each, as it is done.

    Raises:
        ConfigError: the graph has no saver that can list threads.
    """
    limit = run_env.get().now() if now is None else now
    for thread in [each for each in list_threads(graph.checkpointer) if _is_due(each, limit)]:
        try:
            graph.invoke(None, {"configurable": {"thread_id": thread.thread_id}})
        except Exception as error:
            yield Woken(thread.thread_id, False, error)
        else:
            waits = find_thread(graph.checkpointer, thread.thread_id).questions
            yield Woken(thread.thread_id, bool(waits), None)


async def awake(graph: Pregel, *, now: float | None = None) -> AsyncIterator[Woken]:
    """Async twin of `wake`."""
    limit = run_env.get().now() if now is None else now
    threads = [each async for each in alist_threads(graph.checkpointer) if _is_due(each, limit)]
    for thread in threads:
        try:
            await graph.ainvoke(None, {"configurable": {"thread_id": thread.thread_id}})
        except Exception as error:
            yield Woken(thread.thread_id, False, error)
        else:
            found = await graph.checkpointer.arun(_find(graph.checkpointer, thread.thread_id))
            yield Woken(thread.thread_id, found is not None and bool(found.questions), None)


def _is_due(thread: StoredThread, now: float) -> bool:
    return thread.due is not None and thread.due <= now


__all__ = [
    "StoredThread",
    "Woken",
    "alist_threads",
    "awake",
    "find_thread",
    "list_thread_ids",
    "list_threads",
    "wake",
]
