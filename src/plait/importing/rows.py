"""What a database of LangGraph's holds, in one shape for SQLite and Postgres."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from plait.checkpoint.log.records import is_dict
from plait.errors import CorruptCheckpointError, StorageError, UnregisteredTypeError
from plait.importing.calls import damaged
from plait.importing.values import Tree


class Size(NamedTuple):
    """What something takes up in a database: its rows, and the bytes in them."""

    rows: int
    bytes: int

    def __add__(self, other: object) -> Size:
        assert isinstance(other, Size)
        return Size(self.rows + other.rows, self.bytes + other.bytes)


class PeerCheckpoint(NamedTuple):
    """One stored checkpoint; its values are decoded when they are asked for."""

    id: str
    parent: str | None
    format: int
    """The version of LangGraph's own format (`v`)."""
    ts: str
    metadata: Mapping[str, Any]
    held: frozenset[str]
    """The channels that hold something."""
    versions: Mapping[str, Any]
    """Channel to the version of its value."""
    seen: Mapping[str, Mapping[str, Any]]
    """Node to the versions of its trigger channels that it has run for."""
    load: Callable[[Iterable[str]], dict[str, Tree]]
    """The values of some channels."""


class PeerTask(NamedTuple):
    """A task that has stored something, and where."""

    ns: str
    checkpoint: str
    id: str
    path: str


class PeerWrite(NamedTuple):
    """One value that a task wrote."""

    task: str
    path: str
    channel: str
    tag: str
    data: bytes


class Source(ABC):
    """A database of LangGraph's, open for reading."""

    SQL_THREADS: ClassVar[str]
    """The ids of all threads."""
    SQL_PARENTS: ClassVar[str]
    """(namespace, checkpoint, parent) of a thread, in this order."""

    @abstractmethod
    def rows(self, sql: str, *given: Any) -> Iterable[tuple[Any, ...]]:
        """The rows of a query, with errors of the database told as plait's."""

    def threads(self) -> list[str]:
        """The ids of all threads, sorted."""
        return [row[0] for row in self.rows(self.SQL_THREADS)]

    def parents(self, thread: str) -> dict[str, dict[str, str | None]]:
        """Namespace to its checkpoints, by ascending id, each with its parent."""
        found: dict[str, dict[str, str | None]] = {}
        for ns, id, parent in self.rows(self.SQL_PARENTS, thread):
            found.setdefault(ns, {})[id] = parent or None
        return found

    @abstractmethod
    def tasks(self, thread: str) -> Iterable[PeerTask]:
        """The tasks of a thread that have stored something."""

    @abstractmethod
    def checkpoints(self, thread: str, ns: str) -> Iterator[PeerCheckpoint]:
        """The checkpoints of one namespace, oldest first."""

    @abstractmethod
    def writes(self, thread: str, ns: str, checkpoint: str) -> list[PeerWrite]:
        """What the tasks of a checkpoint wrote, by task path, task and position."""

    @abstractmethod
    def size(self, thread: str) -> Size:
        """What a thread takes up."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


@contextmanager
def told(thread: str, id: str) -> Generator[None]:
    """Errors of a whole checkpoint say which one."""
    try:
        yield
    except (StorageError, ValueError, TypeError, RecursionError) as error:
        known = isinstance(error, UnregisteredTypeError)
        kind = UnregisteredTypeError if known else CorruptCheckpointError
        raise kind(f"Thread {thread!r}: checkpoint {id} cannot be read: {error}.") from error


def checkpoint_of(id: str, parent: str | None, tree: Tree, metadata: Any) -> PeerCheckpoint:
    """A checkpoint from the tree that LangGraph stores; its values lie in it."""
    if not (is_dict(tree) and is_dict(metadata) and "ts" in tree):
        raise damaged("it has not the form of a checkpoint")
    held, versions = tree.get("channel_values"), tree.get("channel_versions")
    seen = tree.get("versions_seen", {})
    if not (is_dict(held) and is_dict(versions) and is_dict(seen)):
        raise damaged("it has not the form of a checkpoint")
    if not all(type(key) is str for key in (*held, *versions, *metadata)):
        raise damaged("a channel has no name")
    if not all(is_dict(each) for each in seen.values()):
        raise damaged("it has not the form of a checkpoint")

    def load(names: Iterable[str]) -> dict[str, Tree]:
        return {name: held[name] for name in names}

    return PeerCheckpoint(
        id,
        parent,
        int(tree.get("v", 0)),
        str(tree["ts"]),
        metadata,
        frozenset(held),
        versions,
        seen,
        load,
    )
