"""One SQLite database: its connection, opened on first use and again in a forked child."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, Literal, TypeAlias, TypeVar, TypeVarTuple
from weakref import WeakSet, WeakValueDictionary

from plait.errors import CorruptCheckpointError, StorageUnavailableError
from plait.sqlite.failures import concerns_file, explain, has_writer, may_only_read
from plait.sqlite.numbered import taken
from plait.sqlite.paths import File, Log, file_of, in_memory, named, path_of, settled
from plait.sqlite.schema import Schema
from plait.sqlite.transactions import in_transaction

Args = TypeVarTuple("Args")
T = TypeVar("T")
Synchronous: TypeAlias = Literal["OFF", "NORMAL", "FULL", "EXTRA"]

_inherited: list[sqlite3.Connection | None] = []
"""Connections of the parent process: never used again, and never closed by a child either, since
closing would drop locks and shared memory that the parent still relies on."""
_lockless: set[object] = set()
"""Files (device, inode) that this process cannot lock: SQLite keeps the locks of a process in its
memory, which the fork copied while the parent had some. It would take them for this process's own,
and ask the system for none; whoever else uses the file would not know of this process."""


class _Turn:
    """The lock of a connection. One that was given may serve a saver, a store and a history: they
    take turns."""

    def __init__(self, conn: sqlite3.Connection | None) -> None:
        self.conn = conn  # who is known by its id must not go first
        self.lock = Lock()
        self.rests = False
        """Whether a fork happens, and nobody is in a transaction."""


def _turn_of(given: sqlite3.Connection | None) -> _Turn:
    return _Turn(None) if given is None else _turns.setdefault(id(given), _Turn(given))


_turns: WeakValueDictionary[int, _Turn] = WeakValueDictionary()
"""Those of connections that were given, by their ids."""


class Database:
    """A connection guarded by a lock.

    Args:
        target: A path, a `file:` URI, ":memory:", or an open connection made with
            `check_same_thread=False`, which stays its maker's to close.
        schema: The tables it must have; they are brought up to date when it is opened.
        synchronous: What a commit survives. "NORMAL": the death of the process; "FULL": also a
            loss of power.
        timeout: Seconds to wait for other writers.
        folds: Whether commits fold the log beside the file in when it is long.
        lasting: Whether calls are refused once the file was deleted or replaced: nobody would find
            what is stored then.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | sqlite3.Connection,
        schema: Schema,
        *,
        synchronous: Synchronous = "NORMAL",
        timeout: float = 30.0,
        folds: bool = True,
        lasting: bool = True,
    ) -> None:
        self._given = taken(target) if isinstance(target, sqlite3.Connection) else None
        self.path = (
            _path_of(target) if isinstance(target, sqlite3.Connection) else settled(named(target))
        )
        self.shared = not in_memory(self.path)
        """Whether other processes can open the same database."""
        self._file: File | None = None
        """The file that was opened first, if it must stay the same."""
        self._log: Log | None = None
        """The log that the open connection writes, if that must stay the same."""
        self._schema = schema
        self._synchronous: Synchronous = synchronous
        self._timeout = timeout
        self._longer = 0.0 if self._given is not None else max(0.0, timeout - _TURN)
        """Seconds to wait for other writers, after the first turn."""
        self._folds = folds
        self._lasting = lasting
        self._conn: sqlite3.Connection | None = None
        self._closed = False
        self._take_turns(target if isinstance(target, sqlite3.Connection) else None)
        _all.add(self)

    def __reduce__(self) -> Any:
        # Half a copy was made otherwise, and with it the descriptor of the log was closed.
        raise TypeError(
            f"An open database ({self.path!r}) cannot be copied or pickled. Give the copy a saver, "
            "store or cache of its own on the same path."
        )

    def run(self, work: Callable[[sqlite3.Connection, *Args], T], *args: *Args) -> T:
        """Do work on the connection, alone, with errors told in our words."""
        deadline = None
        while True:
            with self._lock:
                self._check()
                conn = kept = self._conn
                if conn is None:
                    conn = self._open()
                try:
                    return work(conn, *args)
                except (sqlite3.Error, UnicodeEncodeError) as error:
                    if concerns_file(error):
                        self._let_go()  # the next call opens the file as it is then
                    deadline = deadline or monotonic() + self._longer
                    if not _may_pass(error, deadline, opened=kept is None):
                        raise explain(error, self.path) from error
                except Exception:
                    raise
                except BaseException as error:
                    _let_cursors_go(error)
                    raise
            sleep(_PAUSE)  # who waits for our lock gets it meanwhile: a fork, perhaps

    def check(self) -> None:
        """Raise StorageUnavailableError if the file, or the log beside it, was deleted, replaced
        or cut short since it was opened."""
        with self._lock:
            self._check()

    def _check(self) -> None:
        if self._file is not None:
            self._file.check()
        if self._log is not None and self._log.check():
            self._look_into(self._log)

    def _look_into(self, log: Log) -> None:
        """Raise StorageUnavailableError if a log that became shorter lacks pages that it holds."""
        assert self._conn is not None
        ((page_size,),) = fetch(self._conn, "PRAGMA page_size")
        pages = 0
        for _ in range(2):  # it may shrink once more, rightly, right after it was asked
            try:
                ((busy, pages, _),) = fetch(self._conn, _FOLD)
            except sqlite3.OperationalError as error:
                raise log.cut(str(error)) from error
            if busy or log.settle(pages, page_size):  # busy: the next call finds out
                return
        raise log.cut(f"it lacks some of its {pages} pages")

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work in one write transaction; what it raises rolls back."""
        return self.run(lambda conn: in_transaction(conn, work))

    def open(self) -> None:
        """Open it and bring its tables up to date now, instead of on first use."""
        self.run(_nothing)

    @property
    def quick(self) -> bool:
        """Whether a commit need not wait for the disk, and another connection can make it."""
        return self._given is None and self.shared and self._synchronous in ("OFF", "NORMAL")

    def impatient(self) -> Database | None:
        """Another connection to the same file, open, whose calls wait for no writer and no disk.

        None where it cannot be opened now. Whoever uses it folds the log in by this one.
        """
        self.open()  # which may wait, and makes the tables
        other = Database(
            self.path, self._schema, synchronous=self._synchronous, timeout=0.0, folds=False
        )
        try:
            self.check()  # or the other one would open, or make, the file that has the name now
            other.open()
        except (StorageUnavailableError, CorruptCheckpointError):
            return None  # whoever uses this one hears why
        return other

    def fold(self) -> int:
        """Fold the log beside the file in, as far as nobody needs it; returns its pages."""
        ((_, pages, _),) = self.run(lambda conn: fetch(conn, _FOLD))
        return pages

    def close(self) -> None:
        """Close the connection, unless it was given. A later use raises."""
        with self._lock:
            self._closed = True
            self._let_go()

    def rest(self) -> bool:
        """Before a fork: close the connection, between two transactions, until its next use.

        SQLite keeps the locks of a process in its memory. A child would inherit them, with nobody
        to ever end what they stand for, and without those that protect it from other processes.
        Returns whether `wake` must be called after the fork.
        """
        turn = self._turn
        turn.rests = turn.rests or turn.lock.acquire(timeout=_PATIENCE)
        if turn.rests and self._given is None and self.shared:
            self._let_go()
        return turn.rests

    def wake(self) -> None:
        """In the parent, after a fork."""
        turn = self._turn
        if turn.rests:  # else another one with the same connection was woken
            turn.rests = False
            turn.lock.release()

    def free(self) -> None:
        """In a forked child: the lock's holder does not exist here, and a connection to a file is
        the parent's. (Memory was copied by the fork, connection and all.)"""
        used = not self._turn.rests and (self._lock.locked() or self._conn is not None)
        self._take_turns(self._turn.conn)
        if self.shared:
            if used or self._given_holds_locks():
                _lockless.add(_id_of(self.path))
            _inherited.extend((self._conn, self._given))
            self._conn = self._given = self._log = None

    def _take_turns(self, given: sqlite3.Connection | None) -> None:
        self._turn = _turn_of(given)
        self._lock = self._turn.lock

    def _given_holds_locks(self) -> bool:
        """Whether a connection that was given has locks between two calls of ours."""
        try:
            inside = self._given is not None and self._given.in_transaction
        except sqlite3.ProgrammingError:  # closed
            return False
        # With a log beside the file, it has them for as long as it is open.
        return inside or (self._given is not None and Path(f"{self.path}-wal").exists())

    def _let_go(self) -> None:
        """Close the connection, unless it was given, until its next use."""
        conn, self._conn, self._log = self._conn, None, None
        if conn is not None and self._given is None:
            conn.close()

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise StorageUnavailableError(
                f"The database {self.path!r} is closed. Use what it belongs to inside its `with` "
                "block, or open another one."
            )
        if _lockless and self.shared and _id_of(self.path) in _lockless:
            raise StorageUnavailableError(
                f"SQLite database {self.path!r} cannot be used in this process, which was forked "
                "while its parent was in a transaction there, or had an open connection of its "
                "own to it: SQLite cannot lock the file here, and what this process stored could "
                "be lost. Nothing of this call was done. Give savers and stores the path instead "
                "of an open connection, and start processes between two transactions, or afresh: "
                'multiprocessing.get_context("spawn").'
            )
        try:
            conn = self._given if self._given is not None else self._connect()
            self._schema.migrate(conn)
            if self._lasting and self.shared:
                self._watch(path_of(conn))
        except BaseException as error:
            self._let_go()
            if isinstance(error, (sqlite3.Error, OSError)):
                raise explain(error, self.path) from error
            raise
        if self._given is None:
            conn.execute(f"PRAGMA busy_timeout = {round(min(self._timeout, _TURN) * 1000)}")
        self._conn = conn
        return conn

    def _watch(self, path: str) -> None:
        """From now on, refuse calls if the files of an open connection are no longer there."""
        if self._file is None:
            self._file = File(path)
        if self._given is None:  # else its maker may close it, and nobody needs the log then
            self._log = Log.of(path)

    def _connect(self) -> sqlite3.Connection:
        made = sqlite3.connect(
            self.path,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            uri=self.path.startswith("file:"),
        )
        conn = self._conn = taken(made)
        if self.shared:
            _use_wal(conn, self._timeout)
            conn.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES if self._folds else 0}")
        conn.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[self._synchronous]}")
        return conn


WAL_PAGES = 160
"""Pages that the log beside the file may hold before it is folded in: 640 KB, not the 4 MB of
SQLite's default, which would weigh more than most threads."""
_TURN = 1.0
"""Seconds that SQLite waits for other writers by itself: a thread holds our lock meanwhile, and can
neither be stopped by a Ctrl-C nor let the process fork."""
_PAUSE = 0.005
"""Seconds without our lock, between two turns."""
_FOLD = "PRAGMA wal_checkpoint(PASSIVE)"
_SYNCHRONOUS = {"OFF": 0, "NORMAL": 1, "FULL": 2, "EXTRA": 3}


def _path_of(conn: sqlite3.Connection) -> str:
    try:
        return path_of(conn)
    except sqlite3.Error as error:  # it is closed, or serves another thread
        raise explain(error, "") from error


def _id_of(path: str) -> object:
    """A file as the system knows it, whatever its name; something new if there is none."""
    try:
        found = os.stat(file_of(path))
    except OSError:
        return object()
    return found.st_dev, found.st_ino


def _may_pass(error: Exception, deadline: float, *, opened: bool) -> bool:
    """Whether what failed may go well in another turn. `opened`: the connection was new."""
    if has_writer(error):
        return monotonic() < deadline
    return not opened and may_only_read(error)  # a new one may write, if the file may be written


def _nothing(conn: sqlite3.Connection) -> None:
    return None


def _let_cursors_go(error: BaseException) -> None:
    """A Ctrl-C may come when a query was half read. Whoever keeps its traceback, as the prompt of
    Python does, would keep the query, and a connection with one sees no newer rows than it."""
    from traceback import clear_frames  # heavy

    clear_frames(error.__traceback__)


def _use_wal(conn: sqlite3.Connection, timeout: float) -> None:
    """Switch the file to write-ahead logging. SQLite's own busy timeout does not cover this."""
    deadline = monotonic() + timeout
    while True:
        try:
            conn.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if may_only_read(error):
                return  # a copy by VACUUM INTO, say: what is to be stored hears of it
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(0.005)
        else:
            return


def fetch(conn: sqlite3.Connection, sql: str, *values: Any) -> list[Any]:
    """All rows of a query as tuples, whatever rows a connection given by the user makes."""
    cursor = conn.cursor()
    cursor.row_factory = None
    return cursor.execute(sql, values).fetchall()


_PATIENCE = 5.0
"""Seconds that a fork waits for a transaction to end."""
_all: WeakSet[Database] = WeakSet()
_resting: list[Database] = []


def _before_fork() -> None:
    asked: set[Database] = set()
    while new := set(_all) - asked:  # others may be made while one is waited for
        _resting.extend(database for database in new if database.rest())
        asked |= new


def _after_in_parent() -> None:
    while _resting:
        _resting.pop().wake()


def _after_fork() -> None:
    _resting.clear()
    _turns.clear()
    for database in _all:
        database.free()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_fork
)

__all__ = ["WAL_PAGES", "Database", "Synchronous", "fetch"]
