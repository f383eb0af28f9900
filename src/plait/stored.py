"""What a database holds, thread by thread, and waking the threads whose time has come.

Only the newest checkpoint of each thread is looked at, and no value of the state is decoded, only
questions and Sends. Nothing is claimed or written but by `wake`, which makes ordinary calls.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.asked import thread_id_of
from plait.checkpoint.log.claims import is_owned
from plait.checkpoint.log.reader import LaneReader
from plait.checkpoint.log.requests import (
    LaneRow,
    ListThreads,
    Page,
    ReadLane,
    ReadPages,
    WriteRow,
)
from plait.constants import INTERRUPT, ONLY_DUE, RESUME
from plait.drivers.env import run_env
from plait.engine.alarms import standing_timers, timed_questions, times
from plait.engine.questions import standing_of
from plait.errors import ConfigError, ConfigTypeError, CorruptCheckpointError, StorageError
from plait.timers import epoch_of

if TYPE_CHECKING:
    from datetime import datetime

    from plait.checkpoint.serde import Codec
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
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """That of the checkpoint, with what its call said in `metadata` and `configurable`."""
    next: tuple[str, ...] = ()
    """The nodes that run next; none: the thread is at its end."""
    questions: tuple[Interrupt, ...] = ()
    """What it waits to be answered, sleeps included."""
    due: float | None = None
    """The first time that it waits for, in seconds since the epoch."""
    owned: bool = False
    """Whether a live run owns it."""
    problem: str = ""
    """Why nothing more is known of it."""
    error: StorageError | None = None
    """What reading it raised: it is damaged, its key is not known, or a question or a Send holds a
    value of a type that is not known here."""


def list_threads(saver: Any, graph: Pregel | None = None) -> Iterator[StoredThread]:
    """The threads of a database, oldest first. One that cannot be read has an `error`.

    Args:
        saver: holds the threads.
        graph: whose types their questions may hold (None: those registered globally).

    Raises:
        ConfigError: the saver cannot list threads (it is not one of plait's).
    """
    yield from _in_pages(saver, partial(_page, _Shelf(saver, graph)))


async def alist_threads(saver: Any, graph: Pregel | None = None) -> AsyncIterator[StoredThread]:
    """Async twin of `list_threads`."""
    _check(saver)
    shelf = _Shelf(saver, graph)
    after, more = 0, True
    while more:
        page: list[StoredThread]
        page, after, more = await saver.arun(_page(shelf, after))
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


def find_thread(saver: Any, thread_id: str, graph: Pregel | None = None) -> StoredThread:
    """One thread as it stands; arguments as for `list_threads`.

    Raises:
        ConfigError: there is no such thread.
    """
    _check(saver)
    thread_id = thread_id_of(thread_id)
    found: StoredThread | None = saver.run(_find(_Shelf(saver, graph), thread_id))
    if found is None:
        raise ConfigError(f"There is no thread {thread_id!r} in this database.")
    return found


def _check(saver: Any) -> None:
    if not lists_threads(saver):
        raise ConfigError(
            f"{type(saver).__name__} cannot list its threads: only plait's own savers do."
        )


def lists_threads(saver: Any) -> bool:
    """Whether it is one of plait's own savers, and not the class of one."""
    return hasattr(saver, "open_session") and hasattr(saver, "arun") and not isinstance(saver, type)


def checked_graph(graph: Any) -> Pregel:
    """A compiled graph.

    Raises:
        ConfigTypeError: it is none.
    """
    if isinstance(graph, type) or not (hasattr(graph, "plan") and hasattr(graph, "registry")):
        raise ConfigTypeError(
            f"That takes a compiled graph (`builder.compile(...)`), not {graph!r:.80}."
        )
    return graph


class _Shelf:
    """Where threads are, and what the values in them may be."""

    def __init__(self, saver: Any, graph: Pregel | None) -> None:
        self._saver = saver
        self._registry = None if graph is None else checked_graph(graph).registry()

    def codec_of(self, thread_id: str) -> Codec:
        """What opens a thread's records."""
        return self._saver.open_session(thread_id, registry=self._registry).codec


def _find(shelf: _Shelf, thread_id: str) -> Plan[StoredThread | None]:
    row: LaneRow | None = yield ReadLane(thread_id, "")
    return None if row is None else (yield from _look(shelf, row))


def _page(shelf: _Shelf, after: int) -> Plan[_Page[StoredThread]]:
    rows, after, more = yield from _rows(after)
    found: list[Page | None]
    try:
        found = yield _heads(rows)
    except CorruptCheckpointError:  # of one of them: each is told of for itself
        found = [None] * len(rows)
    threads: list[StoredThread] = []
    for row, head in zip(rows, found, strict=True):
        threads.append((yield from _look(shelf, row, head)))
    return threads, after, more


def _heads(rows: list[LaneRow]) -> ReadPages:
    """What asks for the heads of lanes, with what tasks wrote there: a page of one row each."""
    return ReadPages([(row.lane, (row.head or b"") + b"\0") for row in rows], 1)


def _ids(after: int) -> Plan[_Page[str]]:
    rows, after, more = yield from _rows(after)
    return [row.thread_id for row in rows], after, more


def _rows(after: int) -> Plan[_Page[LaneRow]]:
    rows: list[LaneRow] = yield ListThreads(after, PAGE)
    return rows, rows[-1].lane if rows else after, len(rows) == PAGE


def _look(shelf: _Shelf, row: LaneRow, head: Page | None = None) -> Plan[StoredThread]:
    thread = StoredThread(row.thread_id, owned=is_owned(row))
    reader = LaneReader(row.thread_id, "", shelf.codec_of(row.thread_id), row.lane)
    try:
        if head is None:
            pages: list[Page] = yield _heads([row])
            head = pages[0]
        if not head.rows or head.rows[0][0].id != row.head:
            thread.problem = "it has no checkpoint"
            return thread
        [(found, writes)] = head.rows
        mark = reader.mark(found)
        thread.checkpoint_id = mark.id
        thread.updated, metadata, frontier = reader.body(reader.open_checkpoint(found))
        thread.step, thread.source = metadata.get("step"), str(metadata.get("source", ""))
        thread.metadata = metadata
        sends = [send.node for send in frontier.get("sends", ())]
        thread.next = (*sends, *sorted(frontier.get("next", ())))
        _take_questions(reader, writes, thread, frontier)
    except StorageError as error:
        thread.error, thread.problem = error, str(error)
    return thread


def _take_questions(
    reader: LaneReader, rows: list[WriteRow], thread: StoredThread, frontier: Mapping[str, Any]
) -> None:
    written = [(row.path, *write) for row in rows for write in reader.writes_frame(row)]
    asked: list[tuple[str, str, Any]] = [
        (path, channel, reader.codec.loads(data))
        for path, channel, data in written
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
    went_on = {path for path, channel, _ in written if channel != RESUME}
    before = standing_of(frontier.get("asked")) or {}
    standing = [due for _, _, due, _ in standing_timers(before, went_on, answered)]
    thread.due = min((*times(timed_questions(asked)), *standing), default=None)


# --- waking --------------------------------------------------------------------------------------


class Woken(NamedTuple):
    """What came of a call that woke a thread."""

    thread_id: str
    waits: bool
    """Whether it waits again."""
    error: BaseException | None
    """What the call raised; `ThreadBusyError`: another run was faster; `StorageError`: the thread
    cannot be read, so that nobody knows whether it waits for a time."""


OptionsOf: TypeAlias = Callable[[StoredThread], Any]
"""What gives the options of the call that wakes a thread."""


def wake(
    graph: Pregel, *, now: datetime | float | None = None, options_of: OptionsOf | None = None
) -> Iterator[Woken]:
    """Go on with the threads of a graph's saver that waited for a time which has come.

    Args:
        graph: a graph with a saver.
        now: the time, as a datetime or in seconds since the epoch (None: the clock's).
        options_of: gives what is not stored, and a thread's call needs: a dict of options of
            `invoke`, such as `context`, `config` and `control`. If it raises, the thread waits on.

    Returns:
        What came of each, as it is done; of a thread that cannot be read, why not.

    Raises:
        ConfigError: the graph has no saver that can list threads, or that is no graph, time or
            function.
    """
    limit, saver = _moment(graph, now), graph.checkpointer
    if iscoroutinefunction(options_of):
        raise ConfigTypeError(f"options_of={options_of!r:.80} is async: call awake().")
    _check_function(options_of)
    shelf, given = _Shelf(saver, graph), _given(limit)
    due = [each.thread_id for each in list_threads(saver, graph) if _is_due(each, limit)]
    for thread_id in due:
        thread = saver.run(_find(shelf, thread_id))
        if thread is None or not _is_due(thread, limit):
            continue  # another run was there meanwhile
        try:
            if thread.error is not None:
                raise thread.error
            options: Any = {} if options_of is None else options_of(thread)
            graph.invoke(None, **_call(thread, options), **given)
        except Exception as error:
            yield Woken(thread_id, False, error)
        else:
            left = saver.run(_find(shelf, thread_id))
            yield Woken(thread_id, left is not None and bool(left.questions), None)


async def awake(
    graph: Pregel, *, now: datetime | float | None = None, options_of: OptionsOf | None = None
) -> AsyncIterator[Woken]:
    """Async twin of `wake`; `options_of` may be async, too."""
    limit, saver = _moment(graph, now), graph.checkpointer
    _check_function(options_of)
    threads = alist_threads(saver, graph)
    due = [each.thread_id async for each in threads if _is_due(each, limit)]
    shelf, given = _Shelf(saver, graph), _given(limit)
    for thread_id in due:
        thread = await saver.arun(_find(shelf, thread_id))
        if thread is None or not _is_due(thread, limit):
            continue  # as above
        try:
            if thread.error is not None:
                raise thread.error
            options: Any = {} if options_of is None else options_of(thread)
            options = await options if isawaitable(options) else options
            await graph.ainvoke(None, **_call(thread, options), **given)
        except Exception as error:
            yield Woken(thread_id, False, error)
        else:
            left = await saver.arun(_find(shelf, thread_id))
            yield Woken(thread_id, left is not None and bool(left.questions), None)


def _check_function(options_of: Any) -> None:
    if options_of is not None and not callable(options_of):
        raise ConfigTypeError(
            f"options_of is a function from a StoredThread to a dict, got {options_of!r:.80}."
        )


def _call(thread: StoredThread, options: Any) -> dict[str, Any]:
    """The options of a call on a thread: those that were asked for, on that thread."""
    if not isinstance(options, Mapping):
        raise ConfigTypeError(
            "options_of gives a dict of options of invoke(), such as {'context': ...}, got "
            f"{options!r:.80}."
        )
    found = cast("Mapping[str, Any]", options)
    config: dict[str, Any] = found.get("config") or {}
    where: dict[str, Any] = {**(config.get("configurable") or {}), "thread_id": thread.thread_id}
    return {**found, "config": {**config, "configurable": where}}


def _moment(graph: Any, now: Any) -> float:
    """The time to judge the threads of a graph by."""
    checked_graph(graph)
    return run_env.get().now() if now is None else epoch_of(now, "wake()")


def _given(limit: float) -> dict[str, Any]:
    """What calls are given. By the clock of the call, a time that lies ahead has not come."""
    return {ONLY_DUE: True} if limit <= run_env.get().now() else {}


def _is_due(thread: StoredThread, now: float) -> bool:
    """Whether there is something to do, or to tell: what cannot be read may well be due."""
    return thread.error is not None or (thread.due is not None and thread.due <= now)


__all__ = [
    "OptionsOf",
    "StoredThread",
    "Woken",
    "alist_threads",
    "awake",
    "checked_graph",
    "find_thread",
    "list_thread_ids",
    "list_threads",
    "lists_threads",
    "wake",
]
