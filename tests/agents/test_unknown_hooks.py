"""Middleware whose hooks are misspelled is told of; what only looks like a hook is not."""

import warnings
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware as TheirMiddleware

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    PIIMiddleware,
    ShellToolMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    before_model,
)
from plait.chat_models.fake import FakeListChatModel
from plait.errors import UnknownHookWarning

MODEL = FakeListChatModel(responses=["done"])


class Helpful(AgentMiddleware):
    """Has parts of its hooks beside them."""

    def __init__(self) -> None:
        self.calls = 0

    def before_model(self, state: Any, runtime: Any) -> None:
        self.on_before_model()

    def on_before_model(self) -> None:
        self.calls += 1

    def _after_model(self) -> None: ...


@before_model
def log(state: Any, runtime: Any) -> None: ...


def test_no_middleware_that_is_spelled_right_is_told_of() -> None:
    given = [
        *(Helpful(), log, TodoListMiddleware(), PIIMiddleware("email"), ShellToolMiddleware()),
        *(HumanInTheLoopMiddleware({}), ToolCallLimitMiddleware(run_limit=1)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        create_agent(MODEL, middleware=given)


def test_a_hook_is_misspelled_in_a_class_above() -> None:
    class Above(AgentMiddleware):
        def warp_model_call(self, request: Any, handler: Any) -> Any: ...

    class Below(Above): ...

    with pytest.warns(UnknownHookWarning, match=r"'Below' has 'warp_model_call'.*wrap_model_call"):
        create_agent(MODEL, middleware=[Below()])


def test_a_misspelled_schema_is_told_of() -> None:
    class Slips(AgentMiddleware):
        state_shema = dict

    with pytest.warns(UnknownHookWarning, match="Did you mean 'state_schema'"):
        create_agent(MODEL, middleware=[Slips()])


def test_a_guest_whose_hook_is_misspelled_is_told_of() -> None:
    class Guest(TheirMiddleware[Any, Any, Any]):
        def befor_agent(self, state: Any, runtime: Any) -> None: ...

    with pytest.warns(UnknownHookWarning, match="'Guest' has 'befor_agent'"):
        create_agent(MODEL, middleware=[Guest()])


def test_a_hook_of_an_object_in_the_place_of_its_classes_counts() -> None:
    asked: list[str] = []
    helpful = Helpful()
    helpful.before_model = lambda state, runtime: asked.append("mine")  # pyright: ignore[reportAttributeAccessIssue]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        create_agent(MODEL, middleware=[helpful]).invoke({"messages": "hi"})
    assert asked == ["mine"]
