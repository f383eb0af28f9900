"""The vocabulary between the log and its row stores: requests, rows and answers.

A row store (memory, SQLite, Postgres) executes these requests and knows nothing else: not what a
record means, not who may claim what. Ids are packed (`keys.pack`), records are sealed bytes.

Four tables: *lanes* (one per thread and namespace; the root lane, ns "", carries the claim),
*checkpoints* by (lane, id), *values* by (lane, channel, id of the checkpoint that wrote this
version), *writes* by (lane, checkpoint id, task id).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, final


class LaneRow(NamedTuple):
    """One row of *lanes*."""

    lane: int
    thread_id: str
    ns: str
    head: bytes | None
    fence: int
    """Counts the claims of the thread; meaningful on the root lane, as are the next two."""
    owner: str | None
    lease: float | None
    """When the owner's claim ends unless renewed, in seconds since the epoch."""
    clock: float | None = None
    """What time it was then by the storage's clock, if leases are told by that, not by ours."""


class Newest(NamedTuple):
    """A lane, and the newest of its checkpoints that were asked for."""

    id: bytes
    lane: int
    thread_id: str
    ns: str


class CheckpointRow(NamedTuple):
    """One row of *checkpoints*."""

    id: bytes
    parent: bytes | None
    record: bytes


class ValueRow(NamedTuple):
    """One row of *values*."""

    channel: str
    id: bytes
    record: bytes


class WriteRow(NamedTuple):
    """One row of *writes*: everything one task wrote."""

    checkpoint: bytes
    task: bytes
    path: str
    record: bytes


class Page(NamedTuple):
    """Checkpoints of a lane, each with its task writes in order, and what else was read at once."""

    rows: list[tuple[CheckpointRow, list[WriteRow]]]
    kept: dict[tuple[str, bytes], Any]
    """By channel and id the records of versions that lie in the checkpoints' own rows."""


Head: TypeAlias = "tuple[int, CheckpointRow, list[WriteRow]]"
"""A lane, a checkpoint of it, and what tasks wrote there, in order."""


@dataclass(slots=True)
class ReadLane:
    """The lane of a thread and namespace. Answer: LaneRow or None."""

    thread_id: str
    ns: str


@dataclass(slots=True)
class ReadHead:
    """A checkpoint (None: the head) of a thread and namespace, in one request.

    Answer: Head; None if there is no such.
    """

    thread_id: str
    ns: str
    id: bytes | None = None
    live: bool = False
    """Whether records may be `Deferred` ones, where a saver keeps such; here and below."""


@dataclass(slots=True)
class ListLanes:
    """Lanes of one thread, or (None) of all, by ascending lane. Answer: list of LaneRow."""

    thread_id: str | None = None


@dataclass(slots=True)
class ListNewest:
    """Lanes of one thread (in one namespace, if that is named), or (None) of all, that have a head
    (a lane that is just copied has none) and a checkpoint below `before`; that with the newest such
    first. Answer: list of Newest."""

    thread_id: str | None = None
    ns: str | None = None
    before: bytes | None = None
    limit: int | None = None


@dataclass(slots=True)
class ListThreads:
    """Root lanes, by ascending lane, a page at a time. Answer: list of LaneRow."""

    after: int = 0
    """Only those above this lane: the last one of the page before."""
    limit: int = 256


@dataclass(slots=True)
class ReadCheckpoints:
    """Checkpoints with ids in [first, last], below `before`. Answer: list of CheckpointRow."""

    lane: int
    first: bytes | None = None
    last: bytes | None = None
    before: bytes | None = None
    limit: int | None = None
    newest_first: bool = False
    live: bool = False


@dataclass(slots=True)
class ReadPages:
    """Up to `limit` checkpoints of each of these lanes, newest first, with what lies beside them.

    With `holding`, only those in whose record these bytes are; a saver in memory may give others.
    Answer: list of Page, in the order of the lanes.
    """

    lanes: Sequence[tuple[int, bytes | None]]
    """Their numbers, and below which id (None: from the newest)."""
    limit: int
    live: bool = False
    holding: bytes | None = None


@dataclass(slots=True)
class ReadValues:
    """Single versions of channels. Answer: list of records, None where there is no row."""

    lane: int
    keys: Sequence[tuple[str, bytes]]
    live: bool = False


@dataclass(slots=True)
class ReadValuesOf:
    """Single versions of channels of several lanes. Answer: a list as of `ReadValues` for each."""

    reads: Sequence[ReadValues]


@dataclass(slots=True)
class ReadVersions:
    """Versions of one channel whose id is in [first, last]. Answer: list of ValueRow by id."""

    lane: int
    channel: str
    first: bytes | None = None
    last: bytes | None = None


@dataclass(slots=True)
class ListValues:
    """Which versions a lane holds. Answer: list of (channel, id)."""

    lane: int


@dataclass(slots=True)
class ReadWrites:
    """Task writes of one checkpoint, by path, then task. Answer: list of WriteRow."""

    lane: int
    checkpoint: bytes
    last: bytes | None = None
    """With it: those of every checkpoint from the first to this one."""
    live: bool = False


@dataclass(slots=True)
class Claim:
    """Take the root lane if its fence and lease are still what the claimer saw."""

    fence: int
    lease: float | None
    owner: str
    new_lease: float


@dataclass(slots=True)
class Transact:
    """One transaction on one lane. Answer: Done, or Refused with nothing written.

    Records are bytes; of `Append`ed commits (in memory only) they may be `Deferred`.

    In order: the root lane's claim is taken or its fence checked, rows are dropped and stored,
    the head moves, the claim is given back. Lanes that do not exist are made.
    """

    thread_id: str
    ns: str
    seed: int = 0
    """The fence of a root lane that is made: never one that an earlier lane of the name had."""
    claim: Claim | None = None
    fence: int | None = None
    """The fence that the root lane must have (None: do not ask)."""
    root: int | None = None
    """The number of the root lane, where the claimer knows it: a shorter way to it."""
    checkpoints: Sequence[tuple[bytes, bytes | None, Any]] = ()
    """(id, parent, record); replaces a row of the same id."""
    values: Sequence[tuple[str, bytes, Any]] = ()
    """(channel, id, record); replaces a row of the same channel and id."""
    writes: Sequence[tuple[bytes, bytes, str, Any]] = ()
    """(checkpoint, task, path, record); replaces a row of the same checkpoint and task."""
    head: bytes | None = None
    """The new head (None: the head stays)."""
    release: bool = False
    drop_checkpoints: Sequence[bytes] = ()
    """Checkpoints to delete, with their task writes."""
    drop_values: Sequence[tuple[str, bytes]] = ()

    def follow(self, before: Transact) -> None:
        """Do first what another one of the same lane would have done."""
        self.checkpoints = [*before.checkpoints, *self.checkpoints]
        self.values = [*before.values, *self.values]
        self.writes = [*before.writes, *self.writes]
        self.head = self.head or before.head

    def apart(self) -> list[Transact]:
        """The same as two ordinary commits, one after the other, of which the first claims and the
        second gives back, if it is that; else itself alone."""
        if len(self.checkpoints) != 2 or self.drop_checkpoints or self.drop_values:
            return [self]
        (first, parent, _), (second, middle, _) = self.checkpoints
        belong = {first, second}.issuperset(id for _, id, _ in self.values)
        belong = belong and {parent, first}.issuperset(row[0] for row in self.writes)
        if middle != first or self.head != second or not belong:
            return [self]
        pieces: list[Transact] = []
        for checkpoint in self.checkpoints:
            id, before, _ = checkpoint
            piece = Transact(self.thread_id, self.ns, self.seed, None, self.fence, self.root)
            piece.checkpoints, piece.head = [checkpoint], id
            piece.values = [row for row in self.values if row[1] == id]
            piece.writes = [row for row in self.writes if row[0] == before]
            pieces.append(piece)
        pieces[0].claim, pieces[1].release = self.claim, self.release
        return pieces


class RowMaker(Protocol):
    """Makes the rows of what was appended to a lane."""

    @property
    def thread_id(self) -> str: ...

    @property
    def ns(self) -> str: ...

    def rows_of(self, commit: Any) -> Transact:
        """The transaction that a commit stands for."""
        ...


class Append:
    """A commit whose rows are made when the lane is next looked at. Answer: Done or Refused.

    Only for savers in memory, and of what cannot change.
    """

    __slots__ = ("commit", "fence", "maker", "release", "rows", "taken")

    def __init__(self, maker: RowMaker, fence: int, commit: Any, release: bool) -> None:
        self.maker = maker
        self.fence = fence
        self.commit = commit
        """What the maker noted of it."""
        self.release = release
        self.rows: Transact | None = None
        """What it stands for, where that had to be made before the saver was asked."""
        self.taken = False
        """Whether the saver was asked."""


Drain: TypeAlias = "Callable[[Sequence[Append]], None]"
"""Makes the rows of all appends: of those that a saver has taken, then of these, if it has not."""


@dataclass(slots=True)
class Together:
    """Several requests in one transaction. Answer: theirs, in order; an error undoes them all."""

    requests: Sequence[Any]


def parts_of(request: Any) -> Sequence[Any]:
    """The requests that one stands for: itself, or those it does together."""
    return request.requests if type(request) is Together else (request,)


@dataclass(slots=True)
class DropLanes:
    """Delete lanes of a thread with all their rows, in one transaction. Answer: Done, or Refused
    if the fence differs."""

    lanes: Sequence[int]
    thread_id: str
    fence: int | None = None


@dataclass(slots=True)
class Renew:
    """Prolong claims. Answer: None. A claim whose fence moved on is left alone."""

    lanes: Sequence[tuple[int, int]]
    """(root lane, fence)."""
    lease: float


class Done(NamedTuple):
    """The transaction is in the storage."""

    lane: int
    root: int


@final
class Refused(NamedTuple):
    """The fence or lease was not the expected one; nothing was written."""

    root: LaneRow | None
