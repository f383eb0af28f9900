"""What a database of LangGraph's holds, in one shape for SQLite and Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

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


class Source(Protocol):
    """A database of LangGraph's, open for reading."""

    def threads(self) -> list[str]:
        """The ids of all threads, sorted."""
        ...

    def parents(self, thread: str) -> dict[str, dict[str, str | None]]:
        """Namespace to its checkpoints, by ascending id, each with its parent."""
        ...

    def tasks(self, thread: str) -> Iterable[PeerTask]:
        """The tasks of a thread that have stored something."""
        ...

    def checkpoints(self, thread: str, ns: str) -> Iterator[PeerCheckpoint]:
        """The checkpoints of one namespace, oldest first."""
        ...

    def writes(self, thread: str, ns: str, checkpoint: str) -> list[PeerWrite]:
        """What the tasks of a checkpoint wrote, by task path, task and position."""
        ...

    def size(self, thread: str) -> Size:
        """What a thread takes up."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
