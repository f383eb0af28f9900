"""Group commit: requests that wait while a transaction is in flight go into the next one together.

Nobody waits for company: whoever finds the storage free does his request at once. Whoever finds it
busy is taken along by the next transaction, and hears his own outcome after it was committed. A
transaction that fails as a whole is rolled back, and each of its requests is done alone, so that
no request fails for the sake of another.

Tasks of an event loop that ask in the same round of their loop go together from the start; where
nothing else is ready to run in it, nobody could come, and a request is done at once. Such a
batch is done in the loop's own thread where that is no slower than what its runs do there anyway (a
hop to another thread and back costs more than many a transaction); else by a worker thread.

Who waits in what order is decided once (`Turns`, `together`); `ThreadGroup` and `LoopGroup` are its
two small drivers: one for threads, which also serves event loops, and one for the tasks of a single
event loop.
"""

from __future__ import annotations

import asyncio
from _thread import allocate_lock
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

from plait.checkpoint.base import arun_plan, run_plan
from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.requests import Together, parts_of
from plait.common.forks import renew_in_child
from plait.common.rounds import task_maker
from plait.errors import StorageError

MOST = 128
"""Requests in one transaction: more only make everybody wait longer."""
MOST_HERE = 32
"""Requests of an event loop in one transaction: the loop may stand still as long as it takes."""

_Loop = asyncio.AbstractEventLoop


class Ticket:
    """One request that waits for its turn, and later its outcome."""

    __slots__ = ("again", "answer", "batch", "error", "gate", "loop", "request", "settled", "told")

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
        self.again = False
        """Whether its event loop was asked already to do it."""

    def settle(self, answer: Any, error: BaseException | None) -> None:
        """The outcome is known."""
        self.answer, self.error, self.settled = answer, error, True

    def outcome(self) -> Any:
        """The answer; or raises the error."""
        if self.error is not None:
            raise self.error
        return self.answer


class Turn:
    """One turn of a thread that a Ctrl-C may reach between any two calls: what is left to do of it
    is told here, in the one statement that does it."""

    __slots__ = ("held", "next")

    def __init__(self) -> None:
        self.held = False
        self.next: list[Ticket] = []
        """Those who go next, until they were told."""


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

    def enter(self, ticket: Ticket | None = None, turn: Turn | None = None) -> bool:
        """Whether the caller may begin; if not, the ticket waits."""
        if turn is None:
            turn = Turn()
        with self._mutex:
            if self._free:
                self._free, turn.held = self._free - 1, True
                return True
            if ticket is not None:
                self._waiting.append(ticket)
            return False

    def leave(self, most: int = MOST, turn: Turn | None = None) -> list[Ticket]:
        """End a turn: those who go next, together. For none, the turn is free."""
        if turn is None:
            turn = Turn()
        with self._mutex:
            if not self._waiting:
                self._free, turn.held = self._free + 1, False
                return []
            turn.next, turn.held = self._take(most), False
            return turn.next

    def join(self, batch: list[Ticket], most: int = MOST) -> None:
        """Let those who wait come along with a batch that is about to begin."""
        with self._mutex:
            batch += self._take(most - len(batch))

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


class NotHere(BaseException):
    """A request cannot be done now by whoever made it; nothing of it was done.

    Nothing that handles the errors of requests may take it for one.
    """


def together(batch: Sequence[Ticket]) -> Plan[None]:
    """Do requests in one transaction; if that fails, each in its own. Settles all."""
    if len(batch) > 1:
        asked = [parts_of(ticket.request) for ticket in batch]
        try:
            answers = iter((yield Together([part for parts in asked for part in parts])))
        except Exception:
            pass  # one of them is the reason; it will hear of it below
        else:
            for ticket, parts in zip(batch, asked, strict=True):
                found = [next(answers) for _ in parts]
                ticket.settle(found if type(ticket.request) is Together else found[0], None)
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
            loop.call_soon_threadsafe(_tell_here, tickets)  # a Ctrl-C may take the first
        except RuntimeError:  # the loop was closed: nobody waits any more
            pass


def _tell_here(batch: Sequence[Ticket]) -> None:
    """Wake those in this event loop whose outcome is known."""
    for ticket in batch:
        told = ticket.told
        assert told is not None
        if told.done() or not ticket.settled:  # cancelled; or somebody else is at it
            continue
        if ticket.error is not None:
            told.set_exception(ticket.error)
        else:
            told.set_result(ticket.answer)


class DoesHere(Protocol):
    """Does requests in the thread of an event loop."""

    def may(self, request: Any) -> bool:
        """Whether a request is of a kind that it does."""
        ...

    def execute(self, request: Any) -> Any:
        """Do a request, which may be a `Together`, or raise `NotHere`."""
        ...


class _Round:
    """What the tasks of one event loop ask for in one round of it."""

    __slots__ = ("asked", "begun", "loop", "tickets")

    def __init__(self, loop: _Loop, tickets: list[Ticket]) -> None:
        self.loop = loop
        self.tickets = tickets
        self.asked = False
        """Whether the loop will begin with it."""
        self.begun: list[Ticket] = []
        """Those that were taken from it last."""


class ThreadGroup:
    """Groups the requests of threads, and of event loops.

    Args:
        execute: Does one request, which may be a `Together`.
        width: How many transactions may be in flight.
        submit: Runs a function on a worker thread (None: event loops are not served).
        here: Does what it may in the thread of an event loop (None: nothing).
    """

    def __init__(
        self,
        execute: Callable[[Any], Any],
        *,
        width: int = 1,
        submit: Callable[[Callable[[], None]], None] | None = None,
        here: DoesHere | None = None,
    ) -> None:
        self._execute = execute
        self._width = width
        self._submit = submit
        self._here = here
        self._most = MOST if here is None else MOST_HERE
        self._round: _Round | None = None
        self._turns = Turns(width)
        renew_in_child(self)

    def do(self, request: Any) -> Any:
        """Do a request, alone or in company."""
        try:
            return self._alone(self._execute, request)
        except NotHere:  # somebody else is at work
            pass
        ticket = Ticket(request)
        ticket.gate = allocate_lock()
        ticket.gate.acquire()
        self._wait(ticket)
        if ticket.batch:
            self._lead(ticket.batch)
        return ticket.outcome()

    def _alone(self, execute: Callable[[Any], Any], request: Any) -> Any:
        """Do a request without looking for company.

        Raises:
            NotHere: Somebody else is at work, or `execute` does not do it; nothing was done.
        """
        turns, turn = self._turns, Turn()
        try:
            if turns.enter(None, turn):
                return execute(request)
        finally:
            try:
                self._end(turns, turn)
            except BaseException:  # a Ctrl-C: it comes once
                self._end(turns, turn)
                raise
        raise NotHere

    def _wait(self, ticket: Ticket) -> None:
        turns, turn = self._turns, Turn()
        try:
            if turns.enter(ticket, turn):
                ticket.batch = [ticket]
            else:
                ticket.gate.acquire()
        except BaseException:  # a Ctrl-C: what others rely on is still done
            if turn.held or (not turns.withdraw(ticket) and ticket.batch):
                self._lead(ticket.batch or [ticket])
            raise

    def _end(self, turns: Turns, turn: Turn) -> None:
        """End a turn, as far as that was not done."""
        if turn.held:
            turns.leave(self._most, turn)
        if turn.next:
            batch, turn.next = turn.next, []
            self._begin_next(turns, batch)

    async def ado(self, request: Any) -> Any:
        """Do a request of an event loop, alone or in company."""
        loop = asyncio.get_running_loop()
        here = self._here
        if here is not None and not here.may(request):
            here = None
        if here is not None and _is_alone(loop):
            try:
                answer = self._alone(here.execute, request)
            except NotHere:
                here = None
            else:
                await asyncio.sleep(0)  # what else the loop has to do has its turn
                return answer
        ticket = Ticket(request)
        ticket.loop = loop
        ticket.told = told = loop.create_future()
        if here is None:
            self._ask([ticket])
            return await told
        round = self._round
        if round is None or round.loop is not loop:
            round = self._round = _Round(loop, [])
        tickets = round.tickets
        tickets.append(ticket)
        if not round.asked:
            self._begin_soon(loop.call_soon, round)
        if len(tickets) >= MOST_HERE:
            self._begin(round)
        return await told

    def _begin_soon(self, soon: Callable[..., Any], round: _Round) -> None:
        """Have an event loop begin with a round: twice, for a Ctrl-C may end the first attempt
        before anything was done, and comes once."""
        soon(self._begin, round)
        soon(self._begin, round)
        round.asked = True

    def _begin(self, round: _Round) -> None:
        """Do what was asked for in a round, or see that it is done."""
        batch, round.tickets, round.asked = round.tickets, [], False
        if not batch:
            begun, round.begun = round.begun, []
            _tell_here(begun)
            return
        round.begun = batch
        try:
            self._begin_batch(batch)
        except BaseException as error:
            _abandon(batch, error)
            raise
        finally:
            _tell_here(batch)

    def _begin_batch(self, batch: list[Ticket]) -> None:
        """Do a batch in the thread of the loop of all its requests, or have the worker do it."""
        turns, turn = self._turns, Turn()
        try:
            if not turns.enter(None, turn):
                self._ask(batch)
            elif left := self._do_here(batch):
                self._send(left)
                turn.held = False  # it went along
        finally:
            try:
                self._end(turns, turn)
            except BaseException:  # a Ctrl-C: it comes once
                self._end(turns, turn)
                raise

    def _do_here(self, batch: list[Ticket]) -> list[Ticket]:
        """Do a batch as far as it may be done in the thread of the loop; returns the rest."""
        here = self._here
        assert here is not None
        try:
            run_plan(together(batch), here.execute)
        except NotHere:
            return [ticket for ticket in batch if not ticket.settled]
        return []

    def _ask(self, batch: Sequence[Ticket]) -> None:
        """Have the worker do a batch when it is its turn."""
        for ticket in batch:
            if self._turns.enter(ticket):
                self._send([ticket])

    def _send(self, batch: list[Ticket]) -> None:
        """Have the worker do a batch now, or tell who asked that it cannot."""
        assert self._submit is not None
        try:
            self._submit(partial(self._lead, batch))
        except Exception as error:
            for ticket in batch:
                ticket.settle(None, error)
            self._hand_on(self._turns)
            _tell(batch)

    def _lead(self, batch: list[Ticket]) -> None:
        """Do a batch, with those who wait by now."""
        turns = self._turns
        try:
            turns.join(batch, self._most)
            run_plan(together(batch), self._execute)
        except BaseException as error:
            _abandon(batch, error)
            raise
        finally:
            self._hand_on(turns)  # first, so that who is told finds the storage free
            _tell(batch)

    def _hand_on(self, turns: Turns) -> None:
        """End a turn; the first of those who waited leads the next batch."""
        self._begin_next(turns, turns.leave(self._most))

    def _begin_next(self, turns: Turns, batch: list[Ticket]) -> None:
        while batch:
            first = batch[0]
            if first.loop is None:
                first.batch = batch
                first.gate.release()
                return
            if not self._ask_loop(first.loop, batch):
                self._send(batch)
                return
            batch = turns.leave(self._most)

    def _ask_loop(self, loop: _Loop, batch: list[Ticket]) -> bool:
        """Let an event loop do a batch when it gets to it, if it may.

        It does not own the turn until then: a loop that was stopped would never give it back.
        """
        here = self._here
        if here is None or batch[0].again:
            return False
        if not all(ticket.loop is loop and here.may(ticket.request) for ticket in batch):
            return False
        for ticket in batch:
            ticket.again = True
        try:
            self._begin_soon(loop.call_soon_threadsafe, _Round(loop, batch))
        except RuntimeError:  # the loop was closed
            return False
        return True

    def after_fork(self) -> None:
        """In a forked child: whoever was at work or waiting does not exist here."""
        self._turns = Turns(self._width)
        self._round = None


def _is_alone(loop: _Loop) -> bool:
    """Whether no other task of a loop can ask in this round of it. Not all loops can tell."""
    ready = getattr(loop, "_ready", None)
    return ready is not None and not ready


class LoopGroup:
    """Groups the requests of the tasks of one event loop; else like `ThreadGroup`.

    What is executed has an asyncio task of its own, whoever asked for it.
    """

    def __init__(self, execute: Callable[[Any], Awaitable[Any]], *, width: int = 1) -> None:
        self._execute = execute
        self._turns = Turns(width)
        self._leading: set[asyncio.Task[None]] = set()

    async def do(self, request: Any) -> Any:
        """Do a request, alone or in company."""
        turn = Turn()
        try:
            if self._turns.enter(None, turn):
                return await asyncio.ensure_future(self._execute(request))
        finally:
            try:
                self._end(turn)
            except BaseException:  # a Ctrl-C: it comes once
                self._end(turn)
                raise
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
            turn = Turn()
            turn.held = True
            self._end(turn)

    def _end(self, turn: Turn) -> None:
        """End a turn, as far as that was not done; the next batch has a task of its own."""
        if turn.held:
            self._turns.leave(MOST, turn)
        if turn.next:
            batch, turn.next = turn.next, []
            task = task_maker(asyncio.get_running_loop())(self._lead(batch))
            self._leading.add(task)
            task.add_done_callback(self._leading.discard)


__all__ = ["DoesHere", "LoopGroup", "NotHere", "ThreadGroup", "Ticket", "Turns", "together"]
