"""Agents on real SDKs over a real wire: a structured response by each provider's own way."""

import pytest
from pydantic import BaseModel

from plait.agents import create_agent
from plait.agents.structured_output import (
    ProviderStrategy,
    StructuredOutputValidationError,
    ToolStrategy,
)
from plait.chat_models import init_chat_model
from plait.checkpoint.memory import InMemorySaver

from . import openai_script as script
from .test_anthropic import answer_of as said_by_anthropic
from .test_google import answer_of as said_by_google

TEXT = '{"name": "Ann"}'


class Person(BaseModel):
    """A person."""

    name: str


def add(a: int) -> int:
    """Adds."""
    return a


NEW = {
    "openai:gpt-5": script.completion({"content": TEXT}),
    "anthropic:claude-test-1": said_by_anthropic([{"type": "text", "text": TEXT}]),
    "google:gemini-3": said_by_google([{"text": TEXT}]),
}
OLD = {
    "openai:gpt-4-turbo": script.completion({"tool_calls": [script.call("Person", TEXT, "c1")]}),
    "anthropic:claude-3-haiku": said_by_anthropic(
        [{"type": "tool_use", "id": "c1", "name": "Person", "input": {"name": "Ann"}}]
    ),
}


def schema_on_the_wire(asked):
    """Where each provider is told the schema."""
    if "response_format" in asked:
        return asked["response_format"]["json_schema"]["schema"]
    if "output_config" in asked:
        return asked["output_config"]["format"]["schema"]
    return asked["generationConfig"]["responseJsonSchema"]


def model_of(name, wire):
    return init_chat_model(name, base_url=wire.url, api_key="k", max_retries=0)


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("tools", [[], [add]])
def test_a_provider_that_can_holds_the_answer_to_the_schema(name, tools, wire):
    wire.answer(NEW[name])
    agent = create_agent(model_of(name, wire), tools, response_format=Person)
    assert agent.invoke({"messages": "who?"})["structured_response"] == Person(name="Ann")
    assert schema_on_the_wire(wire.last)["required"] == ["name"]
    assert bool(wire.last.get("tools")) is bool(tools)


@pytest.mark.parametrize("name", OLD)
def test_an_older_model_answers_by_a_tool(name, wire):
    wire.answer(OLD[name])
    agent = create_agent(model_of(name, wire), response_format=Person)
    assert agent.invoke({"messages": "who?"})["structured_response"] == Person(name="Ann")
    assert "Person" in str(wire.last["tools"])


@pytest.mark.parametrize(
    ("said", "finish", "why"),
    [
        ({"refusal": "No."}, "stop", "The model refused to answer: No."),
        ({"content": '{"name": "An'}, "length", "cut off by its limit: raise max_tokens"),
        ({"content": "Ann"}, "stop", "expected valid JSON for Person"),
    ],
)
def test_why_there_is_no_response_is_told(said, finish, why, wire):
    wire.answer(script.completion(said, finish))
    agent = create_agent(model_of("openai:gpt-5", wire), response_format=ProviderStrategy(Person))
    with pytest.raises(StructuredOutputValidationError, match=why):
        agent.invoke({"messages": "who?"})


def test_a_strict_schema_is_one_that_openai_takes(wire):
    class Place(BaseModel):
        name: str
        land: str = "Norway"

    wire.answer(script.completion({"content": '{"name": "Oslo", "land": "Norway"}'}))
    form = ProviderStrategy(Place, strict=True)
    create_agent(model_of("openai:gpt-5", wire), response_format=form).invoke({"messages": "?"})
    schema = wire.last["response_format"]["json_schema"]["schema"]
    assert (schema["required"], schema["additionalProperties"]) == (["name", "land"], False)


async def test_a_tool_strategy_forces_a_tool_call(wire):
    wire.answer(OLD["anthropic:claude-3-haiku"])
    model = model_of("anthropic:claude-test-1", wire)
    agent = create_agent(model, [add], response_format=ToolStrategy(Person))
    result = await agent.ainvoke({"messages": "who?"})
    assert result["structured_response"] == Person(name="Ann")
    assert wire.last["tool_choice"]["type"] == "any"
    assert [one["name"] for one in wire.last["tools"]] == ["add", "Person"]


def test_a_call_that_a_stopped_run_left_open_is_answered_right_after_its_message(wire):
    def failing(a: int) -> int:
        """Fails."""
        raise ConnectionError("down")

    made = [script.call("add", '{"a": 1}', "c1"), script.call("failing", '{"a": 2}', "c2")]
    wire.answer(script.completion({"tool_calls": made}, "tool_calls"))
    wire.answer(script.completion({"content": "yes"}))
    model, thread = model_of("openai:gpt-5", wire), {"configurable": {"thread_id": "1"}}
    agent = create_agent(model, [add, failing], checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": "hi"}, {**thread, "max_concurrency": 1})
    agent.invoke({"messages": "are you there?"}, thread)
    sent = wire.last["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert [one["tool_call_id"] for one in sent[2:4]] == ["c1", "c2"]
    assert (sent[2]["content"], sent[3]["content"][:11]) == ("1", "Interrupted")
