"""`AsyncBatchedBaseStore`: operations that are asked for at the same time go out as one batch."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from plait.common.rounds import task_maker
from plait.store.base.items import Op, PutOp, Result
from plait.store.base.store import BaseStore

_Asked: TypeAlias = "tuple[Op, asyncio.Future[Any]]"


class AsyncBatchedBaseStore(BaseStore):
    """Derive from it and define `abatch`; `aget`, `aput`, ... of one moment become one call of it.

    Equal reads are done once, and of the puts of a key the last. One batch follows the other. It
    belongs to the event loop that uses it first, as long as that runs: what is asked for on others
    is done there. Sync methods work on other threads only.
    """

    __slots__ = ("_asked", "_draining", "_loop")

    def __init__(self) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: list[_Asked] = []
        self._draining: asyncio.Task[None] | None = None

    @abstractmethod
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations: the reads see what was there before, then the puts apply."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations from another thread than the event loop's.

        Raises:
            asyncio.InvalidStateError: Called on the event loop itself, which would wait for ever.
        """
        self._refuse_on_own_loop()
        loop = self._loop
        if loop is None or loop.is_closed():
            return asyncio.run(self._once(ops))
        return asyncio.run_coroutine_threadsafe(self._once(ops), loop).result()

    def _do_one(self, op: Op) -> Result:
        self._refuse_on_own_loop()
        return super()._do_one(op)

    def _refuse_on_own_loop(self) -> None:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._loop in (None, running):
            raise asyncio.InvalidStateError(
                f"{type(self).__name__} was called synchronously on the event loop that serves it. "
                "Use its async methods here: `await store.aget(...)` instead of `store.get(...)`."
            )

    async def _once(self, ops: Iterable[Op]) -> list[Result]:
        return await self.abatch(ops)

    async def _ado_one(self, op: Op) -> Result:
        loop = asyncio.get_running_loop()
        home = self._loop
        if home is not loop:
            if home is not None and home.is_running():  # on another thread
                return await asyncio.wrap_future(
                    asyncio.run_coroutine_threadsafe(self._ado_one(op), home)
                )
            self._loop, self._asked, self._draining = loop, [], None
        done: asyncio.Future[Any] = loop.create_future()
        self._asked.append((op, done))
        if self._draining is None:
            self._draining = task_maker(loop)(self._drain())
        return await done

    async def _drain(self) -> None:
        """Serve what is asked for, a batch at a time, until nothing is, or another loop does."""
        loop = self._loop
        try:
            while self._loop is loop and (
                asked := [(op, done) for op, done in self._asked if not done.cancelled()]
            ):
                self._asked = []
                await self._serve(asked)
        finally:
            if self._loop is loop:
                self._draining = None

    async def _serve(self, asked: list[_Asked]) -> None:
        slots = [_slot(op) for op, _ in asked]
        ops = {
            slot: op for slot, (op, _) in zip(slots, asked, strict=True)
        }  # the last put of a key
        try:
            results = dict(zip(ops, await self.abatch(list(ops.values())), strict=True))
        except BaseException as error:
            for _, done in asked:
                if not done.done():
                    done.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for slot, (_, done) in zip(slots, asked, strict=True):
            if not done.done():
                done.set_result(results[slot])


def _slot(op: Op) -> Any:
    """What operations have in common: puts of one key their place, equal reads themselves."""
    if isinstance(op, PutOp):
        return ("put", op.namespace, op.key)
    try:
        hash(op)
    except TypeError:  # a filter is a dict
        return (type(op), *map(_hashable, op))
    return (type(op), op)


def _hashable(part: Any) -> Any:
    """A stand-in for a part of an operation, equal where the parts are."""
    if isinstance(part, Mapping):
        pairs = cast("Mapping[Any, Any]", part).items()
        return (dict, frozenset((key, _hashable(value)) for key, value in pairs))
    if isinstance(part, list | tuple):
        items = cast("list[Any]", part)
        return (type(items), *map(_hashable, items))
    try:
        hash(part)
    except TypeError:  # equal to nothing but itself
        return (id, id(part))
    return part


__all__ = ["AsyncBatchedBaseStore"]
