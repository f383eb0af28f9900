"""The conformance suite of stores notices what a store gets wrong about its items."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from unittest import SkipTest

import pytest

from plait.testing import StoreConformance

from .wrong_stores import ANSWERS, ASKED, EXPIRY, Expiring, Store


def suite(kind: type[Any]) -> StoreConformance:
    class Suite(StoreConformance):
        @asynccontextmanager
        async def open(self, **options: Any) -> AsyncIterator[Any]:
            if issubclass(kind, Expiring):
                with kind(":memory:", **options) as store:
                    yield store
            else:
                yield kind(**options)

        def open_indexed(self, index: Any) -> Any:
            return self.open(index=index)

    return Suite()


@pytest.mark.parametrize("kind", [Store, Expiring])
def test_a_right_store_breaks_none(kind: type[Any]) -> None:
    checks = suite(kind)
    for name in (name for name in dir(checks) if name.startswith("test_")):
        with suppress(SkipTest):
            getattr(checks, name)()


@pytest.mark.parametrize("name", ANSWERS)
def test_a_store_that_answers_wrongly_is_found(name: str) -> None:
    answer, promise = ANSWERS[name]
    with pytest.raises(AssertionError):
        getattr(suite(type("Wrong", (Store,), {"answer": answer})), promise)()


@pytest.mark.parametrize(("name", "kind"), [*((name, Store) for name in ASKED),
                                            *((name, Expiring) for name in EXPIRY)])  # fmt: skip
def test_a_store_that_does_something_else_is_found(name: str, kind: type[Any]) -> None:
    asked, promise = (ASKED | EXPIRY)[name]
    with pytest.raises(AssertionError):
        getattr(suite(type("Wrong", (kind,), {"asked": asked})), promise)()
