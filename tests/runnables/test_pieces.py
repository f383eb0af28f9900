"""A runnable's pieces: itself as a tool of plait, and the prompts of plait inside it."""

from typing import Any

import pytest
from pydantic import BaseModel

from plait.chat_models import GenericFakeChatModel
from plait.errors import ToolDefinitionError
from plait.messages import AIMessage
from plait.output_parsers import StrOutputParser
from plait.prompts import ChatPromptTemplate, PromptTemplate
from plait.runnables import RunnableLambda
from plait.tools import BaseTool


class Pair(BaseModel):
    """Two numbers."""

    a: int
    b: int = 3


def add(pair: dict[str, Any]) -> int:
    return pair["a"] + pair["b"]


def unchanged(given: Any) -> Any:
    return given


def model(*answers: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(answer) for answer in answers]))


def test_a_chain_as_a_tool_answers_the_call_of_a_model() -> None:
    chain = (
        ChatPromptTemplate.from_template("{topic} in {tone}") | model("Sea.") | StrOutputParser()
    )
    write = chain.as_tool(name="write", description="Writes.")
    assert isinstance(write, BaseTool)
    assert set(write.args) == {"topic", "tone"}
    call = {"type": "tool_call", "name": "write", "id": "c", "args": {"topic": "sea", "tone": "C"}}
    answer = write.invoke(call)
    assert (answer.content, answer.tool_call_id, answer.name) == ("Sea.", "c", "write")


async def test_a_runnable_as_a_tool_validates_what_it_is_given() -> None:
    tool = RunnableLambda(add).as_tool(Pair, name="add")
    assert tool.invoke({"a": "1"}) == 4
    assert await tool.ainvoke({"a": 1, "b": 1}) == 2
    with pytest.raises(ValueError, match="a"):
        tool.invoke({"b": 1})


def test_a_runnable_of_unknown_arguments_is_refused_as_a_tool() -> None:
    same = RunnableLambda(unchanged)
    with pytest.raises(ToolDefinitionError, match="Pass args_schema or arg_types"):
        same.as_tool()
    assert same.as_tool(arg_types={"a": int}).invoke({"a": 1}) == {"a": 1}


def test_get_prompts_finds_every_prompt_of_a_chain_and_of_the_functions_in_it() -> None:
    first, second = PromptTemplate.from_template("{x}"), PromptTemplate.from_template("{y}")

    def ask(x: str) -> Any:
        return (second | model("yes")).invoke({"y": x})

    chain = first | model("no") | StrOutputParser() | ask
    assert chain.get_prompts() == [first, second]


def test_a_runnable_with_fallbacks_is_one_node_of_a_picture() -> None:
    prompt = PromptTemplate.from_template("{x}")
    safe = prompt.with_fallbacks([prompt])
    nodes = list(safe.get_graph().nodes.values())
    assert [node.data for node in nodes[1:2]] == [safe]
    assert safe.get_prompts() == []
