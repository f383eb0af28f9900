"""Driving a run in an event loop: its commands, one after the other, to its end or where it is cut.

The run's own loop (`engine.loop.Loop.run`) is a generator. It is sent the answer to each command it
yields, and has thrown into it what went wrong with one. Here is who sends and throws; what each
command does is the subclass's (`aio`).

A run ends in one of three ways:

- Its loop returns, or raises.
- It is cut between two commands: its stream is closed, or something is thrown into it. The loop is
  told, stops what runs and gives the thread back (`_unwind`).
- The event loop has ended before it, or what awaits it is dropped or closed in the midst. Then
  nothing can be awaited, and nothing is done any more (`_strand`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from types import GeneratorType
from typing import Any, ClassVar, Self, cast

from plait.common.belongings import left_by
from plait.common.closing import STARTED, read_inside
from plait.drivers.aio_writer import AioWriter
from plait.drivers.base import (
    Closed,
    Part,
    ScopeFactory,
    Storage,
    lags,
    no_scope,
    refuse,
)
from plait.drivers.dropped import streaming
from plait.drivers.pacing import AioRoom
from plait.engine.commands import Claim, Command, Commit, Load, Newest, Release, Run, SaveWrites
from plait.engine.loop import Loop
from plait.engine.spec import Outcome
from plait.errors import SupersededError
from plait.scope import Here, thread_of_control

STORES = frozenset({Load, Newest, Claim, SaveWrites, Commit, Release})
"""The commands of storage."""


class AioDriving:
    """Drives one loop in the calling asyncio task.

    Args:
        loop: what to run.
        make_scope: makes the scope that a task's code sees.
        storage: the run's session, or None without a saver.
    """

    HANDLERS: ClassVar[dict[type[Command], Callable[[Any, Any], Any]]]
    """What does each command that waits for nothing."""
    AWAITED: ClassVar[dict[type[Command], Callable[[Any, Any], Awaitable[Any]]]]
    """What does each of the others."""

    def __init__(self, loop: Loop, make_scope: ScopeFactory, storage: Storage | None) -> None:
        self.loop = loop
        self.storage = storage
        self.outcome: Outcome | None = None
        self.aio = asyncio.get_running_loop()
        self._make_scope = make_scope
        self._here: Here = (0, 0)
        """Where the run is driven."""
        self._parts: list[Part] = []
        self._events: deque[Any] = deque()
        self._room = AioRoom(self._events)
        self._generator = cast("GeneratorType[Command, Any, None]", loop.run())
        self._told_next: tuple[Callable[[Any], Command], Any] = (self._generator.send, None)
        """What the loop is told next, and how."""
        self._writer: AioWriter | None = None
        self._stranded = False
        self._stores_now = True
        """Whether storage commands are done without waiting for anything."""
        if storage is not None:
            self._stores_now = not (storage.saver.shared or storage.session.may_wait)
            if lags(storage):
                self._writer = AioWriter(storage, self.aio)
            if storage.around is None:
                storage.session.gone = self.aio.is_closed

    # --- to the end ------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Run to the end without anybody listening."""
        async with self:
            while await self._next_parts():
                pass

    @read_inside
    async def parts(self) -> AsyncGenerator[Part, None]:
        """Run to the end, yielding the parts of the stream as they come."""
        yield STARTED
        async with self:
            while parts := await self._next_parts():
                for part in parts:
                    self._park(True)
                    yield part
                    self._park(False)

    async def __aenter__(self) -> Self:
        streaming.add(self)
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if error is not None:
                await self._unwind_if_cut(error)
        finally:
            try:
                await self._leave()
            finally:
                left = left_by(self.loop)
                if left is not None:
                    if self._in_loop() and not self._stranded:
                        await asyncio.to_thread(left.close)
                    else:
                        left.close()

    async def _leave(self) -> None:
        """The run has ended."""
        streaming.discard(self)
        if self._in_loop():
            self._let_go()
            if self._writer is not None:
                if self._stranded:
                    self._writer.begin()
                else:
                    await self._writer.close()
        self._make_scope = no_scope  # the run, which has this driver, is free at once
        if self._in_loop():
            self._room.end()
            while self._events:
                refuse(self._events.popleft())

    def _let_go(self) -> None:
        """Have the event loop forget what the run asked of it."""
        raise NotImplementedError

    async def _heard(self) -> None:
        """Wait until the loop has heard what it is being told beside a command of its own.

        An error that stops the run must not come between: the loop, which waits for the answer to
        one command then, would take it for that to another.
        """
        raise NotImplementedError

    def _park(self, parked: bool) -> None:
        if self.storage is not None:
            self.storage.session.parked = parked

    # --- command by command ----------------------------------------------------------------------

    async def _next_parts(self) -> list[Part]:
        """Do commands until there are parts of the stream. There are none where the run ended.

        It does what `_do` does: a coroutine for each command would cost as much as a quick node.
        """
        generator, send, throw = self._generator, self._generator.send, self._generator.throw
        advance: Callable[[Any], Command]
        answer: Any
        self._here = thread_of_control()
        (advance, answer), self._told_next = self._told_next, (send, None)
        while not self._parts:
            try:
                command = next(generator, None) if answer is None else advance(answer)
            except StopIteration:
                command = None
            if command is None:
                self.outcome = self.loop.outcome
                break
            answer = None  # what a task wrote is not kept while the next one is waited for
            try:
                if type(command) is Run:
                    ended = self._run(command)
                    if ended is None or isinstance(ended, list):
                        answer = cast("Any", ended)
                    else:
                        answer = await ended
                elif self._stores_now and type(command) in STORES:
                    answer = self._store_now(command)
                else:
                    handler = self.HANDLERS.get(type(command))
                    if handler is not None:
                        answer = handler(self, command)
                    else:
                        answer = await self.AWAITED[type(command)](self, command)
                advance = send
            except GeneratorExit:
                self._strand()
                raise
            except BaseException as error:
                self._room.close()
                await self._heard()
                advance, answer = throw, error
        else:
            self._told_next = advance, answer
        parts, self._parts = self._parts, []
        return parts

    async def _advance(self, command: Command, until: type[Command] | None) -> None:
        """Do commands until one of type `until` comes (None: until the loop ends).

        Raises:
            Closed: the loop has ended.
        """
        while type(command) is not until:
            try:
                answer = await self._do(command)
            except GeneratorExit:
                self._strand()
                raise
            except BaseException as error:
                command = self._throw(error)
            else:
                command = self._send(answer)

    async def _do(self, command: Command) -> Any:
        """Do one command; returns what the loop is told."""
        handler = self.HANDLERS.get(type(command))
        if handler is not None:
            return handler(self, command)
        if self._stores_now and type(command) in STORES:
            return self._store_now(command)
        return await self.AWAITED[type(command)](self, command)

    def _send(self, answer: Any) -> Command:
        # StopIteration cannot leave a coroutine; the loop's end is told otherwise.
        try:
            return self._generator.send(answer)
        except StopIteration:
            raise Closed from None

    def _throw(self, error: BaseException) -> Command:
        try:
            return self._generator.throw(error)
        except StopIteration:
            raise Closed from None

    def _run(self, command: Run) -> list[Any] | Coroutine[Any, Any, list[Any]] | None:
        """Run a task as far as it comes without waiting.

        Returns:
            What happened; None where the task has ended and nothing else has, and the command has
            its writes; where there is something to wait for, a coroutine that returns it.
        """
        raise NotImplementedError

    def _store_now(self, command: Command) -> Any:
        """Storage in memory, or none: nothing waits."""
        storage = self.storage
        plan = None if storage is None else storage.plan(command)
        return None if storage is None or plan is None else storage.saver.run(plan)

    # --- cut -------------------------------------------------------------------------------------

    async def _unwind_if_cut(self, error: BaseException) -> None:
        """An error came between two commands (`aclose`, `athrow`): the loop has not heard of it."""
        if self._generator.gi_frame is None:
            return
        if not isinstance(error, GeneratorExit):
            await self._unwind(error)
        elif self._in_loop():
            await self._unwind(Closed())
        else:
            self._strand()

    async def _unwind(self, error: BaseException) -> None:
        """Let the loop stop what runs and give the thread back."""
        self._room.close()
        try:
            await self._advance(self._generator.throw(error), until=None)
        except (StopIteration, Closed, SupersededError):
            pass  # a later run that took over has nothing to hear from this one

    def _strand(self) -> None:
        """Nothing can be awaited any more: let the run's own loop end, and do nothing that it asks
        for. Others need not wait for the thread."""
        self._stranded = True
        if self.storage is not None and self.storage.around is None:
            self.storage.session.gone = _ended
        with suppress(StopIteration, Closed):
            while True:
                self._generator.throw(Closed())

    def _in_loop(self) -> bool:
        """Not where the collector closes what an event loop left that has ended."""
        return asyncio._get_running_loop() is self.aio  # pyright: ignore[reportPrivateUsage]


def _ended() -> bool:
    return True


__all__ = ["STORES", "AioDriving"]
