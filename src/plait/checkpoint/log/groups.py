"""Group commit: requests that wait while a transaction is in flight go into the next one together.

Nobody waits for company: whoever finds the storage free does his request at once. Whoever finds it
busy is taken along by the next transaction, and hears his own outcome after it was committed. A
transaction that fails as a whole is rolled back, and each of its requests is done alone, so that
no request fails for the sake of another.

Who waits in what order is decided once (`Turns`, `together`); `ThreadGroup` and `LoopGroup` are its
two small drivers: one for threads, which also serves event loops by a worker thread, and one for
the tasks of a single event loop.
"""

from __future__ import annotations

import asyncio
import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from weakref import WeakSet

from plait.checkpoint.base import arun_plan, run_plan
from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.requests import Together
from plait.errors import StorageError

MOST = 128
"""Requests in one transaction: more only make everybody wait longer."""

_Loop = asyncio.AbstractEventLoop


class Ticket:
    """One request that waits for its turn, and later its outcome."""

    __slots__ = ("answer", "batch", "error", "gate", "loop", "request", "settled", "told")

    def __init__(self, request: Any) -> None:
        self.request = request
        self.answer: Any = None
        self.error: BaseException | None = None
        self.settled = False
        self.gate: Any = None
        """Blocks the thread that waits, if it is a thread."""
        self.loop: _Loop | None = None
        self.told: asyncio.Future[Any] | None = None
        """What an asyncio task waits for."""
        self.batch: list[Ticket] = []
        """What the thread that waits must do now, itself first."""

    def settle(self, answer: Any, error: BaseException | None) -> None:
        """The outcome is known."""
        self.answer, self.error, self.settled = answer, error, True

    def outcome(self) -> Any:
        """The answer; or raises the error."""
        if self.error is not None:
            raise self.error
        return self.answer


class Turns:
    """Who may work now, and who goes next.

    Args:
        width: how many transactions may be in flight.

    >>> turns = Turns(1)
    >>> turns.enter(), turns.enter()
    (True, False)
    >>> first, second = Ticket("a"), Ticket("b")
    >>> turns.enter(first), turns.enter(second)
    (False, False)
    >>> [ticket.request for ticket in turns.leave()], turns.leave(), turns.enter()
    (['a', 'b'], [], True)
    """

    __slots__ = ("_free", "_mutex", "_waiting")

    def __init__(self, width: int) -> None:
        self._free = width
        self._mutex = allocate_lock()
        self._waiting: deque[Ticket] = deque()

    def enter(self, ticket: Ticket | None = None) -> bool:
        """Whether the caller may begin; if not, the ticket waits."""
        with self._mutex:
            if self._free:
                self._free -= 1
                return True
            if ticket is not None:
                self._waiting.append(ticket)
            return False

    def leave(self) -> list[Ticket]:
        """End a turn: those who go next, together. For none, the turn is free."""
        with self._mutex:
            if not self._waiting:
                self._free += 1
            return self._take(MOST)

    def join(self, batch: list[Ticket]) -> None:
        """Let those who wait come along with a batch that is about to begin."""
        with self._mutex:
            batch += self._take(MOST - len(batch))

    def _take(self, most: int) -> list[Ticket]:
        waiting = self._waiting
        return [waiting.popleft() for _ in range(min(len(waiting), most))]

    def withdraw(self, ticket: Ticket) -> bool:
        """Stop waiting. False: it is too late."""
        with self._mutex:
            try:
                self._waiting.remove(ticket)
            except ValueError:
                return False
            return True


def together(batch: Sequence[Ticket]) -> Plan[None]:
    """Do requests in one transaction; if that fails, each in its own. Settles all."""
    if len(batch) > 1:
        try:
            answers = yield Together([ticket.request for ticket in batch])
        except Exception:
            pass  # one of them is the reason; it will hear of it below
        else:
            for ticket, answer in zip(batch, answers, strict=True):
                ticket.settle(answer, None)
            return
    for ticket in batch:
        try:
            answer = yield ticket.request
        except Exception as error:
            ticket.settle(None, error)
        else:
            ticket.settle(answer, None)


def _abandon(batch: Sequence[Ticket], why: BaseException) -> None:
    """Whoever did a batch was stopped: what has no outcome may be stored or not."""
    for ticket in batch:
        if not ticket.settled:
            error = StorageError(
                "The transaction that this commit was part of was broken off by its thread or "
                "task; it may have been stored or not. Go on with the thread: it is consistent."
            )
            error.__cause__ = why
            ticket.settle(None, error)


def _tell(batch: Sequence[Ticket]) -> None:
    """Wake who waits, each event loop once."""
    loops: dict[_Loop, list[Ticket]] = {}
    for ticket in batch:
        if ticket.loop is not None:
            loops.setdefault(ticket.loop, []).append(ticket)
        else:
            ticket.gate.release()
    for loop, tickets in loops.items():
        try:
            loop.call_soon_threadsafe(_tell_here, tickets)
        except RuntimeError:  # the loop was closed: nobody waits any more
            pass


def _tell_here(batch: Sequence[Ticket]) -> None:
    for ticket in batch:
        told = ticket.told
        assert told is not None
        if told.done():  # cancelled
            continue
        if ticket.error is not None:
            told.set_exception(ticket.error)
        else:
            told.set_result(ticket.answer)


class ThreadGroup:
    """Groups the requests of threads, and of event loops that a worker thread serves.

    Args:
        execute: Does one request, which may be a `Together`.
        width: How many transactions may be in flight.
        submit: Runs a function on a worker thread (None: event loops are not served).
    """

    def __init__(
        self,
        execute: Callable[[Any], Any],
        *,
        width: int = 1,
        submit: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._execute = execute
        self._width = width
        self._submit = submit
        self._turns = Turns(width)
        _all.add(self)

    def do(self, request: Any) -> Any:
        """Do a request, alone or in company."""
        turns = self._turns
        if turns.enter():
            try:
                return self._execute(request)
            finally:
                self._hand_on(turns)
        ticket = Ticket(request)
        ticket.gate = allocate_lock()
        ticket.gate.acquire()
        if turns.enter(ticket):
            ticket.batch = [ticket]
        else:
            self._wait(ticket)
        if ticket.batch:
            self._lead(ticket.batch)
        return ticket.outcome()

    def _wait(self, ticket: Ticket) -> None:
        try:
            ticket.gate.acquire()
        except BaseException:  # a Ctrl-C: what others rely on is still done
            if not self._turns.withdraw(ticket) and ticket.batch:
                self._lead(ticket.batch)
            raise

    async def ado(self, request: Any) -> Any:
        """Do a request on the worker thread, alone or in company."""
        assert self._submit is not None
        ticket = Ticket(request)
        ticket.loop = asyncio.get_running_loop()
        ticket.told = ticket.loop.create_future()
        if self._turns.enter(ticket):
            self._submit(lambda: self._lead([ticket]))
        return await ticket.told

    def _lead(self, batch: list[Ticket]) -> None:
        """Do a batch, with those who wait by now."""
        turns = self._turns
        turns.join(batch)
        try:
            run_plan(together(batch), self._execute)
        except BaseException as error:
            _abandon(batch, error)
            raise
        finally:
            _tell(batch)
            self._hand_on(turns)

    def _hand_on(self, turns: Turns) -> None:
        """End a turn; the first of those who waited leads the next batch."""
        batch = turns.leave()
        if not batch:
            return
        if batch[0].loop is None:
            batch[0].batch = batch
            batch[0].gate.release()
        else:
            assert self._submit is not None
            self._submit(lambda: self._lead(batch))

    def reset(self) -> None:
        """In a forked child: whoever was at work or waiting does not exist here."""
        self._turns = Turns(self._width)


class LoopGroup:
    """Groups the requests of the tasks of one event loop; else like `ThreadGroup`."""

    def __init__(self, execute: Callable[[Any], Awaitable[Any]], *, width: int = 1) -> None:
        self._execute = execute
        self._turns = Turns(width)
        self._leading: set[asyncio.Task[None]] = set()

    async def do(self, request: Any) -> Any:
        """Do a request, alone or in company."""
        if self._turns.enter():
            try:
                return await self._execute(request)
            finally:
                self._hand_on()
        ticket = Ticket(request)
        ticket.told = asyncio.get_running_loop().create_future()
        self._turns.enter(ticket)
        try:
            return await ticket.told
        except asyncio.CancelledError:
            self._turns.withdraw(ticket)
            raise

    async def _lead(self, batch: list[Ticket]) -> None:
        self._turns.join(batch)
        try:
            await arun_plan(together(batch), self._execute)
        except BaseException as error:
            _abandon(batch, error)
            raise
        finally:
            _tell_here(batch)
            self._hand_on()

    def _hand_on(self) -> None:
        batch = self._turns.leave()
        if batch:
            task = asyncio.get_running_loop().create_task(self._lead(batch))
            self._leading.add(task)
            task.add_done_callback(self._leading.discard)


_all: WeakSet[ThreadGroup] = WeakSet()


def _after_fork() -> None:
    for group in _all:
        group.reset()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["LoopGroup", "ThreadGroup", "Ticket", "Turns", "together"]
