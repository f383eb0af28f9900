"""A question that a caller of a task swallows is an error, not an answer that gets lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.errors import InterruptSwallowedError
from plait.func import entrypoint, task
from plait.types import interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def test_caller_that_swallows_a_called_tasks_question_fails() -> None:
    @task
    def ask() -> Any:
        return interrupt("ok?")

    @entrypoint(checkpointer=InMemorySaver())
    def main(given: int) -> str:
        try:
            return ask().result()
        except Exception:
            return "swallowed"

    with pytest.raises(InterruptSwallowedError, match=r"'main' called interrupt\('ok\?'\)"):
        main.invoke(1, CONFIG)


def test_caller_that_swallows_a_called_tasks_question_fails_in_an_event_loop() -> None:
    @task
    async def ask() -> Any:
        return interrupt("ok?")

    @entrypoint(checkpointer=InMemorySaver())
    async def main(given: int) -> str:
        try:
            return await ask()
        except Exception:
            return "swallowed"

    with pytest.raises(InterruptSwallowedError, match="'main'"):
        asyncio.run(main.ainvoke(1, CONFIG))
