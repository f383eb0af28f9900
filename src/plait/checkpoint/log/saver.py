"""The base of plait's savers: sessions and LangGraph's port, over `execute(request)`."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from time import sleep
from typing import Any, ClassVar, TypeVar

from plait.checkpoint.base.plans import arun_plan, run_plan
from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.claims import LEASE, POLICIES, Hold, Policy
from plait.checkpoint.log.requests import Pause
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import Codec, Registry
from plait.errors import ConfigError, nearest

T = TypeVar("T")


class NativeSaver:
    """A saver with the native commit port. A subclass stores rows: it adds `execute`."""

    shared: ClassVar[bool] = True
    """Whether other processes can reach the same rows."""

    def __init__(self, *, serde: Any = None) -> None:
        self.serde = serde
        self._codec = Codec()

    @abstractmethod
    def execute(self, request: Any) -> Any:
        """Do one storage request (see `plait.checkpoint.log.requests`)."""

    @abstractmethod
    async def aexecute(self, request: Any) -> Any:
        """Do one storage request without blocking the event loop."""

    def open_session(
        self,
        thread_id: str,
        ns: str = "",
        *,
        registry: Registry | None = None,
        policy: Policy = "reject",
        lease: float = LEASE,
    ) -> LogSession:
        """A run's hold on a thread. Does no I/O and takes no claim yet.

        Args:
            thread_id: The thread.
            ns: The namespace within the thread ("": the root graph).
            registry: The types that may be stored (None: those registered globally).
            policy: What to do when another run owns the thread: "reject", "wait", "takeover", or
                "allow" (never claim).
            lease: Seconds that a claim lasts unless renewed.

        Raises:
            ConfigError: The policy is unknown.
        """
        if policy not in POLICIES:
            raise ConfigError(f"Unknown policy {policy!r}. {nearest(policy, POLICIES)}")
        codec = self._codec if registry is None else Codec(registry)
        return LogSession(thread_id, ns, codec, Hold(thread_id, policy, lease))

    def run(self, plan: Plan[T]) -> T:
        """Run a plan of this saver to its end."""
        return run_plan(plan, self._execute)

    async def arun(self, plan: Plan[T]) -> T:
        """Run a plan of this saver to its end, without blocking the event loop."""
        return await arun_plan(plan, self._aexecute)

    def _execute(self, request: Any) -> Any:
        if type(request) is Pause:
            sleep(request.seconds)
            return None
        return self.execute(request)

    async def _aexecute(self, request: Any) -> Any:
        if type(request) is Pause:
            await asyncio.sleep(request.seconds)
            return None
        return await self.aexecute(request)
