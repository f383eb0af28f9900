"""Chain groups: their handlers hear one run, with the calls inside it, and how it ends."""

from typing import Any
from uuid import UUID

import pytest

from plait.callbacks import (
    AsyncCallbackManager,
    BaseCallbackHandler,
    CallbackManager,
    atrace_as_chain_group,
    trace_as_chain_group,
)
from plait.runnables import RunnableLambda

UPPER = RunnableLambda(str.upper, name="upper")


class Hears(BaseCallbackHandler):
    def __init__(self) -> None:
        self.told: list[Any] = []
        self.names: dict[UUID | None, Any] = {None: None}

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.names[run_id] = kwargs.get("name")
        self.told.append((kwargs.get("name"), "in", self.names[kwargs.get("parent_run_id")]))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.told.append((self.names[run_id], outputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.told.append((self.names[run_id], type(error).__name__))


def test_calls_are_children_of_the_group_and_the_block_ends_it() -> None:
    heard = Hears()
    with trace_as_chain_group("both", CallbackManager.configure([heard])) as group:
        UPPER.invoke("a", {"callbacks": group})
    called = [("upper", "in", "both"), ("upper", "A")]
    assert heard.told == [("both", "in", None), *called, ("both", {})]


def test_an_end_that_is_told_is_the_only_one() -> None:
    heard = Hears()
    with trace_as_chain_group("both", CallbackManager.configure([heard])) as group:
        group.on_chain_end({"output": 1})
    assert heard.told == [("both", "in", None), ("both", {"output": 1})]


def test_an_error_in_the_block_is_told_once() -> None:
    heard = Hears()
    manager = CallbackManager.configure([heard])
    with pytest.raises(KeyError), trace_as_chain_group("bad", manager):
        raise KeyError("x")

    def tells_and_fails() -> None:
        with trace_as_chain_group("told", manager) as group:
            group.on_chain_error(ValueError("y"))
            raise KeyError("x")

    with pytest.raises(KeyError):
        tells_and_fails()
    assert heard.told[1::2] == [("bad", "KeyError"), ("told", "ValueError")]


async def test_async_groups_tell_the_same() -> None:
    heard = Hears()
    manager = AsyncCallbackManager.configure([heard])
    async with atrace_as_chain_group("both", manager) as group:
        await UPPER.ainvoke("a", {"callbacks": group})
    with pytest.raises(KeyError):
        async with atrace_as_chain_group("bad", manager):
            raise KeyError("x")
    assert heard.told[:4] == [
        ("both", "in", None),
        ("upper", "in", "both"),
        ("upper", "A"),
        ("both", {}),
    ]
    assert heard.told[4:] == [("bad", "in", None), ("bad", "KeyError")]
