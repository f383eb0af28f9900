"""Telling `GraphCallbackHandler`s when a run stops to ask, and when it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plait.callbacks.dispatch import ahandle_event, handle_event
from plait.callbacks.graph import (
    GraphInterruptEvent,
    GraphLifecycleStatus,
    GraphResumeEvent,
    graph_handlers,
)
from plait.types import Command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plait.engine.spec import Outcome
    from plait.pregel.run import Run


class TurningPoints:
    """Those who hear when one run stops, and when it goes on.

    That it goes on is told when its first task starts, since only then it is known; at its end if
    it has no tasks.

    Args:
        run: the run.
        own: the manager of its own run.
    """

    __slots__ = ("_handlers", "_run", "_run_id", "_untold")

    def __init__(self, run: Run, own: Any) -> None:
        self._run = run
        self._run_id = own.run_id
        self._handlers = graph_handlers(own.handlers)
        self._untold = [True] if self._handlers else []

    def going_on(self) -> None:
        """The run has begun: tell that it goes on, if it does and nobody has been told."""
        event = self._resume()
        if event is not None:
            handle_event(self._handlers, "on_resume", None, event)

    async def agoing_on(self) -> None:
        """`going_on` in an event loop."""
        event = self._resume()
        if event is not None:
            await ahandle_event(self._handlers, "on_resume", None, event)

    def ended(self, outcome: Outcome) -> None:
        """The run has ended, or stops."""
        self.going_on()
        event = self._interrupt(outcome)
        if event is not None:
            handle_event(self._handlers, "on_interrupt", None, event)

    async def aended(self, outcome: Outcome) -> None:
        """`ended` in an event loop."""
        await self.agoing_on()
        event = self._interrupt(outcome)
        if event is not None:
            await ahandle_event(self._handlers, "on_interrupt", None, event)

    def _resume(self) -> GraphResumeEvent | None:
        if not self._untold:
            return None
        try:
            self._untold.pop()  # tasks start at once, on threads: one of them tells
        except IndexError:
            return None
        run, loop = self._run, self._run.loop
        continues = run.given is None or isinstance(run.given, Command)
        if loop.start is None or not (continues or (run.parent is not None and loop.went_on)):
            return None
        return GraphResumeEvent(self._run_id, "pending", loop.checkpoint_id or "", run.ns)

    def _interrupt(self, outcome: Outcome) -> GraphInterruptEvent | None:
        run = self._run
        stops = outcome.interrupts or outcome.stopped
        if not self._handlers or run.parent is not None or not stops:
            return None
        status = self._status(outcome)
        checkpoint_id = run.loop.checkpoint_id or ""
        return GraphInterruptEvent(
            self._run_id, status, checkpoint_id, run.ns, tuple(outcome.interrupts)
        )

    def _status(self, outcome: Outcome) -> GraphLifecycleStatus:
        if outcome.interrupts or outcome.inside:
            return "pending"
        after = self._run.loop.spec.interrupt_after
        last: Sequence[str] = self._run.loop.last
        if last and (after is None or any(name in after for name in last)):
            return "interrupt_after"
        return "interrupt_before"


__all__ = ["TurningPoints"]
