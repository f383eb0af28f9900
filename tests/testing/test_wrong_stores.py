"""The conformance suite of stores notices what a store gets wrong about its items."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plait.store.base import GetOp, PutOp, SearchOp
from plait.store.memory import InMemoryStore
from plait.testing import StoreConformance


class Store(InMemoryStore):
    """A right store, and a hook for what it answers."""

    def __init__(self) -> None:
        super().__init__()
        self.shared: dict[Any, Any] = {}

    def answer(self, op: Any, result: Any) -> Any:
        return result

    def batch(self, ops: Any) -> Any:
        asked = list(ops)
        return [self.answer(*each) for each in zip(asked, super().batch(asked), strict=True)]

    async def abatch(self, ops: Any) -> Any:
        asked = list(ops)
        given = await super().abatch(asked)
        return [self.answer(*each) for each in zip(asked, given, strict=True)]


def found_by_reference(store: Store, op: Any, result: Any) -> Any:
    if type(op) is PutOp:
        store.shared.pop((op.namespace, op.key), None)
    for item in result if type(op) is SearchOp else ():
        item.value = store.shared.setdefault((item.namespace, item.key), item.value)
    return result


def made_anew(store: Store, op: Any, result: Any) -> Any:
    if type(op) is GetOp and result is not None:
        result.created_at = result.updated_at
    return result


def never_updated(store: Store, op: Any, result: Any) -> Any:
    if type(op) is GetOp and result is not None:
        result.updated_at = result.created_at
    return result


def broken(kind: type[Store]) -> list[str]:
    class Suite(StoreConformance):
        @asynccontextmanager
        async def open(self) -> AsyncIterator[Any]:
            yield kind()

    checks = Suite()
    for name in (name for name in dir(checks) if name.startswith("test_")):
        try:
            getattr(checks, name)()
        except AssertionError:
            return [name]
    return []


def test_a_right_store_breaks_none() -> None:
    assert broken(Store) == []


@pytest.mark.parametrize("answer", [found_by_reference, made_anew, never_updated])
def test_a_store_that_answers_wrongly_is_found(answer: Callable[..., Any]) -> None:
    assert broken(type("WrongStore", (Store,), {"answer": answer}))
