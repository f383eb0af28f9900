"""What the two names of the Postgres saver have in common: everything but `setup`."""

from __future__ import annotations

from typing import Any, Self

from plait.checkpoint.log.claims import Policy
from plait.checkpoint.log.requests import Renew
from plait.checkpoint.log.saver import NativeSaver
from plait.checkpoint.postgres.rows import SCHEMA, steps_of
from plait.postgres import Database, Target


class PostgresLog(NativeSaver):
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

    def renew(self, request: Renew) -> None:
        """Prolong claims on a connection of its own, beside whatever the saver is doing."""
        self._renewer().run(steps_of(request))

    def _renewer(self) -> Database:
        if self._heartbeat is None:
            self._heartbeat = Database(
                self._database.conninfo, SCHEMA, max_connections=1, timeout=5.0
            )
        return self._heartbeat

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, after the calls in flight."""
        self._database.close()
        if self._heartbeat is not None:
            self._heartbeat.close()

    def execute(self, request: Any) -> Any:
        """Do one storage request (see `plait.checkpoint.log.requests`)."""
        return self._database.run(steps_of(request))

    async def aexecute(self, request: Any) -> Any:
        """Do one storage request without blocking the event loop."""
        return await self._database.arun(steps_of(request))
