"""The saver in memory, for tests, examples and short-lived threads.

What was stored never changes afterwards, whatever the program does to its values. Whoever looks at
it finds the same sealed bytes as in a database; an ordinary commit is only noted until then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest
from itertools import count, islice
from threading import Lock
from typing import Any, cast

from plait.checkpoint.base import SerializerProtocol
from plait.checkpoint.log.claims import Policy
from plait.checkpoint.log.requests import (
    Append,
    CheckpointRow,
    Done,
    Drain,
    DropLanes,
    Head,
    LaneRow,
    ListLanes,
    ListNewest,
    ListThreads,
    ListValues,
    Newest,
    Page,
    ReadCheckpoints,
    ReadHead,
    ReadLane,
    ReadPages,
    ReadValues,
    ReadValuesOf,
    ReadVersions,
    ReadWrites,
    Refused,
    Renew,
    Transact,
    ValueRow,
    WriteRow,
)
from plait.checkpoint.log.saver import NativeSaver
from plait.checkpoint.persistent_dict import PersistentDict
from plait.checkpoint.tables import Lane, between
from plait.common.forks import renew_in_child
from plait.common.sql import no_text
from plait.errors import NotSupportedError

_APPENDED = Done(0, 0)
_OF_ONE_NAME = frozenset({Transact, ReadHead})
"""Requests that name a lane by its thread and namespace, and no other."""
_OF_ONE_LANE = frozenset({ReadCheckpoints, ReadValues, ReadVersions, ListValues, ReadWrites})
"""Requests that name a lane by its number."""


class _Rows:
    """All lanes of a saver, and what it takes to execute requests on them."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._by_number: dict[int, Lane] = {}
        self._by_thread: dict[str, dict[int, Lane]] = {}
        self._numbers = count(1)
        self._handlers: dict[type, Callable[[Any], Any]] = {
            ReadLane: self._read_lane,
            ReadHead: self._read_head,
            ListLanes: self._list_lanes,
            ListNewest: self._list_newest,
            ListThreads: self._list_threads,
            ReadCheckpoints: self._read_checkpoints,
            ReadPages: self._read_pages,
            ReadValues: self._read_values,
            ReadValuesOf: self._read_values_of,
            ReadVersions: self._read_versions,
            ListValues: self._list_values,
            ReadWrites: self._read_writes,
            Transact: self._transact,
            DropLanes: self._drop_lanes,
            Renew: self._renew,
        }
        self._lock = Lock()
        self._appended: dict[tuple[str, str], list[Append]] = {}
        """Commits whose rows are not made yet: of each lane, in order."""
        renew_in_child(self)

    def execute(self, request: Any) -> Any:
        with self._lock:
            if type(request) is Append:
                return self._append(request)
            if self._appended:
                self._make_rows(self._concerned(request))
            return self._handlers[type(request)](request)

    def drain(self, coming: Sequence[Append]) -> None:
        """Make the rows of all appended commits, and of those that come after them."""
        with self._lock:
            self._make_rows(list(self._appended))
            for each in coming:
                if not each.taken and each.rows is None:
                    each.rows = each.maker.rows_of(each.commit)

    def _append(self, request: Append) -> Done | Refused:
        request.taken = True
        maker = request.maker
        root = self._lanes.get((maker.thread_id, ""))
        if root is None or root.claim.fence != request.fence:
            return Refused(root.row if root is not None else None)
        if request.rows is None:
            self._appended.setdefault((maker.thread_id, maker.ns), []).append(request)
        else:
            self._lane(maker.thread_id, maker.ns).store(request.rows)
        if request.release:
            root.claim = root.claim._replace(owner=None, lease=None)
        return _APPENDED

    def _concerned(self, request: Any) -> Sequence[tuple[str, str]]:
        """The lanes that a request may be about."""
        kind = cast("type[Any]", type(request))
        if kind in _OF_ONE_NAME or (kind is ReadLane and not self._is_owned(request)):
            return ((request.thread_id, request.ns),)
        if kind in _OF_ONE_LANE and (lane := self._by_number.get(request.lane)) is not None:
            return ((lane.claim.thread_id, lane.claim.ns),)
        if kind is ReadPages and len(request.lanes) == 1:
            lane = self._by_number.get(request.lanes[0][0])
            return () if lane is None else ((lane.claim.thread_id, lane.claim.ns),)
        if kind is DropLanes:
            lanes = [self._by_number[each] for each in request.lanes if each in self._by_number]
            return [(lane.claim.thread_id, lane.claim.ns) for lane in lanes]
        return list(self._appended)

    def _is_owned(self, request: ReadLane) -> bool:
        """Whether the root lane that is read has an owner. Its run may be gone, which shows when
        nothing refers to it: commits that it appended must not."""
        root = self._lanes.get((request.thread_id, "")) if request.ns == "" else None
        return root is not None and root.claim.owner is not None

    def _make_rows(self, lanes: Sequence[tuple[str, str]]) -> None:
        for place in lanes:
            for each in self._appended.pop(place, ()):
                self._lane(*place).store(each.maker.rows_of(each.commit))

    def after_fork(self) -> None:
        """In a forked child: the lock's holder does not exist here."""
        self._lock = Lock()

    def _lane(self, thread_id: str, ns: str, fence: int = 0) -> Lane:
        lane = self._lanes.get((thread_id, ns))
        if lane is None:
            _check_name(thread_id)
            number = next(self._numbers)
            lane = Lane(LaneRow(number, thread_id, ns, None, fence, None, None))
            self._lanes[thread_id, ns] = self._by_number[number] = lane
            self._by_thread.setdefault(thread_id, {})[number] = lane
        return lane

    def _read_lane(self, request: ReadLane) -> LaneRow | None:
        lane = self._lanes.get((request.thread_id, request.ns))
        return lane.row if lane is not None else _check_name(request.thread_id)

    def _read_head(self, request: ReadHead) -> Head | None:
        lane = self._lanes.get((request.thread_id, request.ns))
        if lane is None:
            return _check_name(request.thread_id)
        id = request.id or lane.head
        found = None if id is None else lane.whole(id, live=request.live)
        return None if found is None else (lane.claim.lane, *found)

    def _list_lanes(self, request: ListLanes) -> list[LaneRow]:
        wanted = request.thread_id
        if wanted is not None:
            _check_name(wanted)
        lanes = self._by_number if wanted is None else self._by_thread.get(wanted, {})
        return [lane.row for lane in lanes.values()]

    def _list_newest(self, request: ListNewest) -> list[Newest]:
        wanted, before = request.thread_id, request.before
        if wanted is not None:
            _check_name(wanted)
        lanes: Iterable[Lane] = self._by_number.values()
        if wanted is not None and request.ns is not None:
            lane = self._lanes.get((wanted, request.ns))
            lanes = () if lane is None else (lane,)
        elif wanted is not None:
            lanes = self._by_thread.get(wanted, {}).values()
        if before is None:
            found = [(lane.ids[-1], lane.claim.lane) for lane in lanes if lane.head is not None]
        else:
            found = [
                (lane.ids[place - 1], lane.claim.lane)
                for lane in lanes
                if lane.head is not None and (place := bisect_left(lane.ids, before))
            ]
        if request.limit is not None:
            found = nlargest(request.limit, found)
        else:
            found.sort(reverse=True)
        return [self._newest(*each) for each in found]

    def _newest(self, id: bytes, lane: int) -> Newest:
        at = self._by_number[lane].claim
        return Newest(id, lane, at.thread_id, at.ns)

    def _list_threads(self, request: ListThreads) -> list[LaneRow]:
        last = next(reversed(self._by_number), 0)
        lanes = map(self._by_number.get, range(request.after + 1, last + 1))
        roots = (lane.row for lane in lanes if lane is not None and lane.claim.ns == "")
        return list(islice(roots, request.limit))

    def _read_checkpoints(self, request: ReadCheckpoints) -> list[CheckpointRow]:
        lane = self._by_number.get(request.lane)
        if lane is None:
            return []
        limit = request.limit
        low, high = between(lane.ids, request.first, request.last, request.before)
        if limit is not None and high - low > limit:
            low, high = (high - limit, high) if request.newest_first else (low, low + limit)
        rows = lane.checkpoints(low, high, live=request.live)
        if request.newest_first:
            rows.reverse()
        return rows

    def _read_pages(self, request: ReadPages) -> list[Page]:
        return [
            self._page(self._by_number.get(number), before, request)
            for number, before in request.lanes
        ]

    def _page(self, lane: Lane | None, before: bytes | None, request: ReadPages) -> Page:
        page = Page([], {})
        if lane is None:
            return page
        low, high = between(lane.ids, None, None, before)
        if request.holding is None:
            lane.add_page(page, max(low, high - request.limit), high, live=request.live)
        else:
            places = [*islice(lane.holding(low, high, request.holding), request.limit)]
            if places and places[0] - places[-1] == len(places) - 1:  # nothing lies between them
                lane.add_page(page, places[-1], places[0] + 1, live=request.live)
                return page
            for at in places:
                lane.add_page(page, at, at + 1, live=request.live)
        return page

    def _read_values(self, request: ReadValues) -> list[bytes | None]:
        lane = self._by_number.get(request.lane)
        if lane is None:
            return [None] * len(request.keys)
        return [lane.value(channel, key, live=request.live) for channel, key in request.keys]

    def _read_values_of(self, request: ReadValuesOf) -> list[list[bytes | None]]:
        return [*map(self._read_values, request.reads)]

    def _read_versions(self, request: ReadVersions) -> list[ValueRow]:
        lane = self._by_number.get(request.lane)
        if lane is None:
            return []
        return lane.versions(request.channel, request.first, request.last)

    def _list_values(self, request: ListValues) -> list[tuple[str, bytes]]:
        lane = self._by_number.get(request.lane)
        return lane.all_versions() if lane is not None else []

    def _read_writes(self, request: ReadWrites) -> list[WriteRow]:
        lane = self._by_number.get(request.lane)
        if lane is None:
            return []
        if request.last is None:
            return lane.writes(request.checkpoint, live=request.live)
        low, high = between(lane.ids, request.checkpoint, request.last)
        return lane.writes_between(low, high, live=request.live)

    def _transact(self, request: Transact) -> Done | Refused:
        root = self._lanes.get((request.thread_id, ""))
        claim = request.claim
        if claim is not None:
            root = root or self._lane(request.thread_id, "", request.seed)
            row = root.claim
            if row.fence != claim.fence or row.lease != claim.lease:
                return Refused(root.row)
            root.claim = row._replace(fence=row.fence + 1, owner=claim.owner, lease=claim.new_lease)
        elif request.fence is not None and (root is None or root.claim.fence != request.fence):
            return Refused(root.row if root is not None else None)
        if root is None:
            root = self._lane(request.thread_id, "", request.seed)
        lane = root if request.ns == "" else self._lane(request.thread_id, request.ns)
        lane.store(request)
        if request.release:
            root.claim = root.claim._replace(owner=None, lease=None)
        return Done(lane.claim.lane, root.claim.lane)

    def _drop_lanes(self, request: DropLanes) -> Done | Refused:
        root = self._lanes.get((request.thread_id, ""))
        if request.fence is not None and (root is None or root.claim.fence != request.fence):
            return Refused(root.row if root is not None else None)
        for number in request.lanes:
            lane = self._by_number.pop(number, None)
            if lane is not None:
                thread_id = lane.claim.thread_id
                del self._lanes[thread_id, lane.claim.ns]
                del self._by_thread[thread_id][number]
                if not self._by_thread[thread_id]:
                    del self._by_thread[thread_id]
        return Done(request.lanes[-1], request.lanes[-1])

    def _renew(self, request: Renew) -> None:
        for number, fence in request.lanes:
            lane = self._by_number.get(number)
            if lane is not None and lane.claim.fence == fence and lane.claim.owner is not None:
                lane.claim = lane.claim._replace(lease=request.lease)


def _check_name(thread_id: str) -> None:
    """Refuse the name of a thread that no database could hold. Raises InvalidValueError."""
    try:
        thread_id.encode()
    except UnicodeEncodeError as error:
        raise no_text(error, "A saver") from None


class InMemorySaver(NativeSaver):
    """Keep checkpoints in the memory of this process.

    Args:
        serde: The serializer of values (None: plait's codec).
        factory: Only `defaultdict`, the default.
        thread_busy: What a run does when another one owns its thread: "reject", "wait",
            "takeover" or "allow".

    Raises:
        NotSupportedError: another `factory`.

    >>> saver = InMemorySaver()
    >>> saver.get_tuple({"configurable": {"thread_id": "1"}}) is None
    True
    """

    def __init__(
        self,
        *,
        serde: SerializerProtocol | None = None,
        factory: Any = defaultdict,
        thread_busy: Policy = "reject",
    ) -> None:
        if factory is not defaultdict:
            raise NotSupportedError(
                f"InMemorySaver(factory={factory!r}) is not supported: rows are kept in a form of "
                "plait's own. For threads in a file, use SqliteSaver."
            )
        super().__init__(serde=serde, thread_busy=thread_busy)
        self._rows = _Rows()

    @property
    def drain(self) -> Drain:
        """Makes the rows of commits that were only appended."""
        return self._rows.drain

    def __enter__(self) -> InMemorySaver:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> InMemorySaver:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def execute(self, request: Any) -> Any:
        """Do one storage request (see `plait.checkpoint.log.requests`)."""
        return self._rows.execute(request)

    async def aexecute(self, request: Any) -> Any:
        """Do one storage request; nothing here waits."""
        return self._rows.execute(request)


MemorySaver = InMemorySaver

__all__ = ["InMemorySaver", "MemorySaver", "PersistentDict"]
