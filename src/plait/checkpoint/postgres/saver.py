"""What the two names of the Postgres saver have in common: everything but `setup`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Self, TypeAlias
from weakref import WeakKeyDictionary

from plait.checkpoint.log.claims import Policy
from plait.checkpoint.log.groups import LoopGroup, ThreadGroup
from plait.checkpoint.log.requests import ReadLane, Renew, Together
from plait.checkpoint.log.saver import NativeSaver
from plait.checkpoint.postgres.lanes import read_lanes
from plait.checkpoint.postgres.rows import SCHEMA, may_join, renew, renew_in_turn, steps_of
from plait.common.closing import ClosedAtEitherEnd
from plait.postgres import Database, Target

_WIDTH = 2
"""Transactions in flight at once: while one waits for the disk, the server works on the other."""


_Groups: TypeAlias = WeakKeyDictionary[asyncio.AbstractEventLoop, LoopGroup]


class PostgresLog(NativeSaver, ClosedAtEitherEnd):
    """The log in a Postgres database; see `PostgresSaver`."""

    def __init__(
        self,
        conn: Target,
        pipe: Any = None,
        serde: Any = None,
        *,
        max_connections: int = 10,
        timeout: float = 30.0,
        thread_busy: Policy = "reject",
    ) -> None:
        super().__init__(serde=serde, thread_busy=thread_busy)
        self._database = Database(conn, SCHEMA, max_connections=max_connections, timeout=timeout)
        self._heartbeat: Database | None = None
        self._group = ThreadGroup(self._do, width=_WIDTH)
        self._groups: _Groups = WeakKeyDictionary()
        self._looks: _Groups = WeakKeyDictionary()

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        serde: Any = None,
        max_connections: int = 10,
        timeout: float = 30.0,
        thread_busy: Policy = "reject",
    ) -> Self:
        """A saver for `with` and `async with`, which close it at their end.

        Args:
            conn_string: The database, as a URL or as `host=... dbname=...`.
            pipeline: Accepted for programs that give it: commits are one round trip without it.
            serde: The serializer (None: plait's codec).
            max_connections: How many connections to open at most.
            timeout: Seconds to wait for a free connection, and for a server that restarts.
            thread_busy: What a run does when another one owns its thread.
        """
        return cls(
            conn_string,
            serde=serde,
            max_connections=max_connections,
            timeout=timeout,
            thread_busy=thread_busy,
        )

    @property
    def shared(self) -> bool:
        """Other processes can reach the same rows."""
        return True

    @property
    def stepped(self) -> bool:
        """What psycopg does, it does in tasks of its own."""
        return True

    def renew(self, request: Renew) -> None:
        """Prolong claims on a connection of its own, beside whatever the saver is doing.

        A thread that some transaction holds locked for long keeps no other one from it.
        """
        renewer = self._renewer()
        if left := renewer.run(partial(renew, request)):
            rest = Renew(left, request.lease)
            renewer.run(partial(renew_in_turn, rest), together=True)

    def _renewer(self) -> Database:
        if self._heartbeat is None:
            self._heartbeat = Database(
                self._database.origin, SCHEMA, max_connections=1, timeout=5.0
            )
        return self._heartbeat

    def close(self) -> None:
        """Close the connections, after the calls in flight."""
        self._database.close()
        if self._heartbeat is not None:
            self._heartbeat.close()

    def execute(self, request: Any) -> Any:
        """Do one storage request (see `plait.checkpoint.log.requests`)."""
        return self._group.do(request) if may_join(request) else self._do(request)

    async def aexecute(self, request: Any) -> Any:
        """Do one storage request without blocking the event loop."""
        if may_join(request):
            return await self._group_of(self._groups, self._ado).do(request)
        if type(request) is ReadLane:
            return await self._group_of(self._looks, self._alook).do(request)
        return await asyncio.ensure_future(self._ado(request))

    def _group_of(self, groups: _Groups, execute: Callable[[Any], Awaitable[Any]]) -> LoopGroup:
        loop = asyncio.get_running_loop()
        group = groups.get(loop)
        if group is None:
            group = groups[loop] = LoopGroup(execute, width=_WIDTH)
        return group

    def _do(self, request: Any) -> Any:
        return self._database.run(steps_of(request))

    async def _ado(self, request: Any) -> Any:
        return await self._database.arun(steps_of(request))

    async def _alook(self, request: Any) -> Any:
        if type(request) is Together:
            return await self._database.arun(partial(read_lanes, request))
        return await self._ado(request)
