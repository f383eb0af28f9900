"""Names of tools that nobody has, and tools that share a name, are told when an agent is made."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
    wrap_model_call,
    wrap_tool_call,
)
from plait.agents.structured_output import ToolStrategy
from plait.chat_models.fake import FakeListChatModel
from plait.errors import ConfigError, DuplicateToolWarning, UnknownToolWarning
from plait.prebuilt import ToolNode
from plait.tools import tool

MODEL = FakeListChatModel(responses=["x"])


def refund(euro: int) -> str:
    """Pay money back."""
    return "refunded"


def other_refund() -> Any:
    """Another tool of the same name."""

    @tool("refund")
    def pay(euro: int) -> str:
        """Pay less money back."""
        return "half of it"

    return pay


def told(*middleware: Any, tools: Any = (refund,), **kwargs: Any) -> list[str]:
    """The warnings with which an agent is made."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        create_agent(MODEL, tools, middleware=middleware, **kwargs)
    assert {one.filename for one in heard} <= {__file__}
    return [f"{one.category.__name__}: {one.message}" for one in heard]


def naming(name: str) -> Iterator[Any]:
    """Every middleware that can name a tool."""
    edit = ClearToolUsesEdit(exclude_tools=[name])
    yield HumanInTheLoopMiddleware({name: True})
    yield ToolCallLimitMiddleware(tool_name=name, run_limit=1)
    yield ToolRetryMiddleware(tools=[name])
    yield ToolErrorMiddleware(lambda error, request: "no", tools=[name])
    yield LLMToolEmulator(tools=[name], model=MODEL)
    yield LLMToolSelectorMiddleware(always_include=[name])
    yield ContextEditingMiddleware(edits=[edit])


class Asks(HumanInTheLoopMiddleware):
    """One of a program's own."""


@pytest.mark.parametrize("one", [*naming("refnd"), Asks({"refnd": True})], ids=lambda it: it.name)
def test_a_name_that_no_tool_has_is_told_with_the_nearest(one: Any) -> None:
    (said,) = told(one)
    for part in ("UnknownToolWarning", repr(one.name), "'refnd'", "Did you mean 'refund'?"):
        assert part in said


@pytest.mark.parametrize("one", [*naming("refund")], ids=lambda it: it.name)
def test_the_name_of_a_tool_is_no_mistake_wherever_the_tool_comes_from(one: Any) -> None:
    class Brings(AgentMiddleware):
        tools = (refund,)

    schema = {"title": "refund", "description": "An answer.", "type": "object", "properties": {}}
    assert told(one) == []
    assert told(one, Brings(), tools=()) == []
    assert told(one, tools=ToolNode([refund])) == []
    assert told(one, tools=[{"type": "refund"}]) == []
    assert told(one, tools=[{"type": "function", "function": {"name": "refund"}}]) == []
    assert told(one, tools=[{"function_declarations": [{"name": "refund"}]}]) == []
    if not isinstance(one, HumanInTheLoopMiddleware):
        assert told(one, tools=(), response_format=ToolStrategy(schema)) == []


def test_a_person_who_would_never_be_asked_about_the_answer_is_told_of() -> None:
    schema = {"title": "refund", "type": "object", "properties": {}}
    people = HumanInTheLoopMiddleware({"refund": True})
    (warning,) = told(people, tools=(), response_format=ToolStrategy(schema))
    for part in ("UnknownToolWarning", "'refund'", "nobody is asked", "after_agent"):
        assert part in warning


def test_tools_that_a_hook_may_bring_later_are_not_told() -> None:
    @wrap_model_call
    def more(request: Any, handler: Any) -> Any:
        return handler(request)

    @wrap_tool_call
    def runs(request: Any, handler: Any) -> Any:
        return handler(request)

    asks = HumanInTheLoopMiddleware({"later": True})
    assert told(asks, more, runs) == []
    assert told(asks, more, tools=ToolNode([refund])) == []
    assert told(asks, more, LLMToolEmulator(model=MODEL)) == []
    assert len(told(asks, more)) == 1, "nobody would run it"
    assert len(told(asks, runs)) == 1, "the model is never shown it"


def test_results_of_other_agents_may_be_kept() -> None:
    edit = ClearToolUsesEdit(exclude_tools=["look_up"])
    assert told(ContextEditingMiddleware(edits=[edit])) == []


def test_a_middleware_of_a_programs_own_says_which_tools_it_names() -> None:
    class Audits(AgentMiddleware):
        @property
        def tools_by_option(self) -> dict[str, list[str]]:
            return {"audited": ["refund", "transfer"]}

    (said,) = told(Audits())
    assert "audited" in said
    assert "'transfer'" in said


def test_a_text_is_no_list_of_tools_whose_errors_are_told() -> None:
    text: Any = "refund"
    with pytest.raises(ConfigError, match="list of tools"):
        ToolErrorMiddleware(lambda error, request: "no", tools=text)


def test_two_tools_of_one_name_are_told_and_the_last_one_counts() -> None:
    with pytest.warns(DuplicateToolWarning, match="named 'refund': the last one") as heard:
        node = ToolNode([refund, other_refund()])
    assert heard[0].filename == __file__
    assert node.tools_by_name["refund"].description == "Pay less money back."
    (said,) = told(tools=[refund, other_refund()])
    assert said.startswith("DuplicateToolWarning")


def test_a_tool_of_a_middleware_that_the_agent_has_under_its_name_is_told() -> None:
    class Brings(AgentMiddleware):
        tools = (other_refund(),)

    (said,) = told(Brings())
    assert "the one that the node had before" in said


def test_one_tool_that_is_given_twice_is_no_mistake() -> None:
    class Brings(AgentMiddleware):
        tools = (refund,)

    assert told(Brings(), tools=[refund, refund]) == []
    assert told(tools=[one := other_refund(), one]) == []


def test_a_warning_can_be_made_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownToolWarning)
        with pytest.raises(UnknownToolWarning, match="interrupt_on"):
            create_agent(MODEL, [refund], middleware=[HumanInTheLoopMiddleware({"refnd": True})])
