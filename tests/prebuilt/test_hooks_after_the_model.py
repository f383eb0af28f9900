"""A `post_model_hook` after which the history holds no answer of the model."""

from typing import Any

import pytest

from plait.chat_models import BaseChatModel
from plait.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from plait.outputs import ChatGeneration, ChatResult
from plait.prebuilt import create_react_agent
from plait.tools import tool


class Says(BaseChatModel):
    """Says one message, of whatever kind."""

    said: Any

    @property
    def _llm_type(self) -> str:
        return "says"

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.said)])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize(
    ("said", "update", "kinds"),
    [
        (HumanMessage("me?"), {}, ["human", "human"]),
        (ToolMessage("done", tool_call_id="1"), {}, ["human", "tool"]),
        (AIMessage("a"), {"messages": [RemoveMessage("__remove_all__")]}, []),
    ],
    ids=["another kind", "an answer to no call", "all removed"],
)
def test_an_agent_ends_where_nothing_calls_a_tool(
    said: AnyMessage, update: Any, kinds: list[str], version: Any
) -> None:
    turns: list[None] = []

    def hook(state: Any) -> Any:
        turns.append(None)
        return update

    agent = create_react_agent(Says(said=said), [add], post_model_hook=hook, version=version)
    found = agent.invoke({"messages": [("user", "hi")]})["messages"]
    assert ([one.type for one in found], len(turns)) == (kinds, 1)
