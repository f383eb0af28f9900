"""Which event loops the tests run in: `PLAIT_TEST_LOOP` is `asyncio` (default), `eager` (asyncio's,
with the eager task factory of Python 3.12) or `uvloop`, which must be installed."""

from __future__ import annotations

import asyncio
import os

import pytest

LOOP = os.environ.get("PLAIT_TEST_LOOP", "asyncio")

plain_loop = pytest.mark.skipif(LOOP != "asyncio", reason="is about asyncio's own loop")
"""Marks what is so in asyncio's own loop, and need not be so in others."""


class _Eager(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        return loop


def choose() -> None:
    """Have all new event loops be of that kind."""
    if LOOP == "eager":
        asyncio.set_event_loop_policy(_Eager())
    elif LOOP == "uvloop":
        import uvloop  # type: ignore[import-not-found]

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    elif LOOP != "asyncio":
        raise ValueError(f"PLAIT_TEST_LOOP is asyncio, eager or uvloop; got {LOOP!r}.")
