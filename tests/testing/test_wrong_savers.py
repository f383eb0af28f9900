"""The conformance suites notice each promise that a saver breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plait.testing import NativeSaverConformance, SaverConformance

from .wrong_savers import (
    APART,
    WRONG,
    WRONG_NATIVE,
    NativeSaver,
    RightSaver,
    wrong_native_saver,
    wrong_saver,
)

pytestmark = pytest.mark.filterwarnings("ignore::plait.errors.PlaitWarning")


def broken(saver: type[Any], suite: type[SaverConformance] = SaverConformance) -> list[str]:
    """The promises that a saver does not keep; at most one, that of which it was heard first."""

    class Suite(suite):
        @asynccontextmanager
        async def open(self) -> AsyncIterator[Any]:
            yield saver()

    checks = Suite()
    for name in (name for name in dir(checks) if name.startswith("test_")):
        try:
            getattr(checks, name)()
        except Exception:
            return [name]
    return []


def test_a_right_saver_breaks_none() -> None:
    assert broken(RightSaver) == []
    assert broken(NativeSaver, NativeSaverConformance) == []


@pytest.mark.parametrize("name", WRONG)
def test_one_that_does_a_thing_wrong_is_found(name: str) -> None:
    assert broken(wrong_saver(name))


def test_one_whose_async_methods_have_rows_of_their_own_is_found() -> None:
    assert broken(APART)


@pytest.mark.parametrize("name", WRONG_NATIVE)
def test_a_native_one_that_does_a_request_wrong_is_found(name: str) -> None:
    assert broken(wrong_native_saver(name), NativeSaverConformance)
