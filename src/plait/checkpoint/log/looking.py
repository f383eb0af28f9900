"""The reading half of the native port: a lane that is looked at, with no hold on its thread."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import partial
from typing import Any

from plait.checkpoint.base.port import Mark, Plan, Stored
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.meanwhile import sure
from plait.checkpoint.log.pages import PageReader
from plait.checkpoint.log.reader import LaneReader, all_live, reads_live
from plait.checkpoint.log.recent import Recent
from plait.checkpoint.log.requests import (
    Head,
    LaneRow,
    ReadHead,
    ReadLane,
)
from plait.checkpoint.serde import Codec
from plait.errors import CorruptCheckpointError

PAGE = 64


class _Walk:
    """Where a walk through the history stands."""

    __slots__ = ("before", "done", "left", "pages", "wanted")

    def __init__(self, before: bytes | None, left: int | None, wanted: dict[str, Any]) -> None:
        self.before = before
        self.left = left
        self.wanted = wanted
        self.done = left == 0
        self.pages: PageReader | None = None


class LogReading:
    """Looks at one lane (see `plait.checkpoint.base.port.Reading`)."""

    __slots__ = ("codec", "ns", "recent", "thread_id")

    def __init__(
        self,
        thread_id: str,
        ns: str,
        codec: Codec,
        *,
        recent: Recent | None = None,
    ) -> None:
        self.thread_id = thread_id
        self.ns = ns
        self.codec = codec
        self.recent = recent
        """What the saver read or wrote last, if it keeps that."""

    def nested(self, ns: str) -> LogReading:
        """The lane of another namespace of this thread."""
        return LogReading(self.thread_id, ns, self.codec, recent=self.recent)

    def look(self, checkpoint_id: str | None = None) -> Plan[Stored | None]:
        """Read a checkpoint (None: the head) for somebody who will not go on from it.

        Raises:
            CorruptCheckpointError: What is stored is damaged.
        """
        return sure(partial(self._look, pack(checkpoint_id) if checkpoint_id is not None else None))

    def _look(self, key: bytes | None) -> Plan[Stored | None]:
        at: Head | None = yield ReadHead(self.thread_id, self.ns, key, reads_live(self.codec))
        if at is None:
            return None
        lane, found, writes = at
        live = all_live(found, writes)
        if live is not None:
            return live
        return (yield from self._reader(lane).look(found, writes))

    def history(
        self,
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Generator[Plan[list[Stored]], None, None]:
        """Newest first, page by page: plans of up to some tens of checkpoints each.

        Args:
            before: Only checkpoints older than this one.
            limit: At most so many.
            filter: Metadata that must be equal.
        """
        walk = _Walk(pack(before) if before is not None else None, limit, dict(filter or {}))
        while not walk.done:
            yield sure(partial(self._page, walk))

    def _page(self, walk: _Walk) -> Plan[list[Stored]]:
        lane: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        if lane is None or lane.head is None:  # or a copy that is not done
            walk.done = True
            return []
        if walk.pages is None or walk.pages.lane != lane.lane:
            walk.pages = PageReader(self._reader(lane.lane))
        size = PAGE if walk.left is None or walk.wanted else min(walk.left, PAGE)
        try:
            rows = yield from walk.pages.rows(walk.before, size, walk.wanted)
            if size == 1 and rows:  # there are no neighbours to share anything with
                page = [(yield from self._reader(lane.lane).look(*rows[0]))]
            else:
                page = yield from walk.pages.read(rows, walk.wanted, walk.left)
        except CorruptCheckpointError:
            walk.pages = None  # what it knows may be pruned
            raise
        if rows:
            walk.before = rows[-1][0].id
        if walk.left is not None:
            walk.left -= len(page)
        walk.done = len(rows) < size or walk.left == 0
        return page

    def marks(self, at: str | None, limit: int) -> Plan[list[Mark]]:
        """Up to `limit` checkpoints from `at` (None: the newest) back, without their values."""
        lane: LaneRow | None = yield ReadLane(self.thread_id, self.ns)
        if lane is None or lane.head is None:
            return []
        reader = self._reader(lane.lane)
        first = None if at is None else (yield from reader.row(pack(at)))
        rows = [] if first is None else [first]
        if len(rows) < limit:
            rows += yield from reader.page(None if first is None else first.id, limit - len(rows))
        return [reader.mark(row) for row in rows]

    def _reader(self, lane: int) -> LaneReader:
        return LaneReader(self.thread_id, self.ns, self.codec, lane, self.recent)
