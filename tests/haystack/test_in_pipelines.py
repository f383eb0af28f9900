"""plait's Agent beside Haystack's own parts: in its pipelines, with its components as tools."""

import asyncio
import os
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import pytest
from haystack import AsyncPipeline, Pipeline, component
from haystack.components.agents import Agent as TheirAgent
from haystack.components.builders import ChatPromptBuilder, PromptBuilder
from haystack.components.generators.chat import FallbackChatGenerator
from haystack.core.errors import PipelineError, PipelineRuntimeError
from haystack.dataclasses import ChatMessage, Document, ToolCall
from haystack.dataclasses.breakpoints import AgentBreakpoint, Breakpoint
from haystack.tools import ComponentTool, PipelineTool, Tool, Toolset

from plait.haystack import Agent, BreakpointException, ChatModelGenerator, ToolInvoker
from plait.haystack import ComponentTool as OwnComponentTool
from plait.messages import AIMessage
from plait.testing import ScriptedChatModel

AGENTS = pytest.mark.parametrize("kind", [TheirAgent, Agent], ids=["haystack", "plait"])


@component
class Scripted:
    """Says its replies one after the other; without any, what it was told."""

    def __init__(self, *replies: ChatMessage) -> None:
        self.replies = list(replies)
        self.shown: list[list[str]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        flat = [one for tool in tools or () for one in _each(tool)]
        self.shown.append([tool.name for tool in flat])
        said = self.replies.pop(0) if self.replies else None
        return {"replies": [said or ChatMessage.from_assistant(f"You said: {messages[-1].text}")]}


def _each(tool: Any) -> list[Any]:
    return list(tool) if isinstance(tool, Toolset) else [tool]


@component
class Reader:
    """Takes what an agent gives."""

    @component.output_types(text=str)
    def run(self, message: ChatMessage, messages: list[ChatMessage]) -> dict[str, Any]:
        assert all(isinstance(one, ChatMessage) for one in [message, *messages])
        return {"text": f"{len(messages)}: {message.text}"}


@component
class Greeter:
    """Greets people."""

    def __init__(self) -> None:
        self.is_warm = False

    def warm_up(self) -> None:
        self.is_warm = True

    @component.output_types(text=str)
    def run(self, name: str, docs: list[Document], times: int = 1) -> dict[str, Any]:
        """
        Greet.

        :param name: Who is greeted.
        """
        if not self.is_warm:
            raise RuntimeError("not warm")
        return {"text": f"{'hi ' * times}{name} {type(docs[0]).__name__} {docs[0].content}"}


def calling(tool: str, **arguments: Any) -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall(tool, arguments, "1")])


ADD = Tool("add", "Add.", {"type": "object", "properties": {}}, lambda a, b: a + b)


def connected(kind: Any, pipeline: Any) -> Any:
    agent = kind(
        chat_generator=Scripted(),
        state_schema={"count": {"type": int}, "docs": {"type": list[Document]}},
    )
    template = [ChatMessage.from_user("Q: {{q}}")]
    pipeline.add_component("prompt", ChatPromptBuilder(template, required_variables=["q"]))
    pipeline.add_component("agent", agent)
    pipeline.add_component("reader", Reader())
    pipeline.connect("prompt.prompt", "agent.messages")
    pipeline.connect("agent.last_message", "reader.message")
    pipeline.connect("agent.messages", "reader.messages")
    return pipeline


# --- in pipelines --------------------------------------------------------------------------------


def test_an_agent_is_a_component_of_haystacks_pipelines_and_gives_what_theirs_gives() -> None:
    given = {"prompt": {"q": "why?"}, "agent": {"count": 2}}
    results = [
        connected(kind, Pipeline()).run(given, include_outputs_from={"agent"})
        for kind in (TheirAgent, Agent)
    ]
    assert results[0] == results[1]
    assert results[1]["reader"]["text"] == "2: You said: Q: why?"
    assert results[1]["agent"]["count"] == 2


def test_an_agent_is_awaited_by_their_async_pipelines() -> None:
    results = [
        asyncio.run(connected(kind, AsyncPipeline()).run_async({"prompt": {"q": "why?"}}))
        for kind in (TheirAgent, Agent)
    ]
    assert results[0] == results[1]


def test_a_pipeline_is_told_the_same_inputs_and_outputs() -> None:
    theirs, own = (connected(kind, Pipeline()) for kind in (TheirAgent, Agent))
    assert own.outputs() == theirs.outputs()
    assert {key: set(value) for key, value in own.inputs().items()} == {
        key: set(value) for key, value in theirs.inputs().items()
    }


@AGENTS
def test_what_does_not_fit_is_not_connected(kind: Any) -> None:
    pipeline = connected(kind, Pipeline())
    pipeline.add_component("other", Greeter())
    with pytest.raises(PipelineError):
        pipeline.connect("agent.count", "other.name")
    with pytest.raises(PipelineError):
        pipeline.connect("agent.no_such_output", "other.name")


@AGENTS
def test_an_agent_belongs_to_one_pipeline(kind: Any) -> None:
    taken = connected(kind, Pipeline()).get_component("agent")
    with pytest.raises(PipelineError):
        Pipeline().add_component("agent", taken)


def test_a_pipelines_breakpoint_inside_the_agent_is_refused_with_the_way_out() -> None:
    pipeline = connected(Agent, Pipeline())
    point = AgentBreakpoint("agent", Breakpoint("chat_generator"))
    with pytest.raises(PipelineRuntimeError, match=r"agent\.run\(break_point"):
        pipeline.run({"prompt": {"q": "why?"}}, break_point=point)


# --- their objects -------------------------------------------------------------------------------


def test_their_messages_and_breakpoints_are_taken_and_their_messages_given_back() -> None:
    agent = Agent(chat_generator=Scripted())
    asked = [ChatMessage.from_user("Hi.")]
    result = agent.run(asked)
    assert result["last_message"] == ChatMessage.from_assistant("You said: Hi.")
    assert result["messages"] == [*asked, result["last_message"]]
    with pytest.raises(BreakpointException):
        agent.run(asked, break_point=AgentBreakpoint("x", Breakpoint("chat_generator")))


@AGENTS
def test_their_components_and_pipelines_are_tools_that_are_warmed_up(kind: Any) -> None:
    inner = Pipeline()
    inner.add_component("greeter", Greeter())
    names = {"who": ["greeter.name"], "docs": ["greeter.docs"]}
    piped = PipelineTool(
        inner, name="piped", description="Greet.", input_mapping=names,
        output_mapping={"greeter.text": "greeting"},
    )  # fmt: skip
    single = ComponentTool(
        Greeter(),
        outputs_to_state={"text": {"source": "text"}},
        outputs_to_string={"source": "text"},
    )
    docs = [{"content": "x"}]
    model = Scripted(
        calling("greeter", name="Bo", docs=docs, times=2), calling("piped", who="Al", docs=docs)
    )
    agent = kind(chat_generator=model, tools=[single, piped], state_schema={"text": {"type": str}})
    agent.warm_up()
    result = agent.run([ChatMessage.from_user("Greet.")])
    told = [m.tool_call_result.result for m in result["messages"] if m.tool_call_result]
    assert told == ["hi hi Bo Document x", "{'greeting': 'hi Al Document x'}"]
    assert result["text"] == told[0]
    assert model.shown[0] == ["greeter", "piped"]


async def test_a_generator_of_theirs_may_hand_on_to_one_of_plaits() -> None:
    adding = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "1"}])
    heard: list[str] = []

    async def hear(chunk: Any) -> None:
        heard.append(chunk.content)

    model = ScriptedChatModel([adding, "3", adding, "3"])
    agent = Agent(chat_generator=FallbackChatGenerator([ChatModelGenerator(model)]), tools=[ADD])
    asked = [ChatMessage.from_user("1 + 2?")]
    result = agent.run(asked)
    later = await agent.run_async(asked, hear)
    assert [one.text for one in result["messages"]] == [one.text for one in later["messages"]]
    assert result["messages"][2].tool_call_result.result == "3"
    assert "3" in heard


@pytest.mark.parametrize("tools", [[ADD], Toolset([ADD])], ids=["list", "set"])
def test_their_tools_are_run_by_an_invoker_and_shown_by_a_generator(tools: Any) -> None:
    call = calling("add", a=1, b=2)
    assert ToolInvoker(tools).run([call])["tool_messages"][0].tool_call_result.result == "3"
    model = ScriptedChatModel(["3"])
    ChatModelGenerator(model, tools=tools).run([ChatMessage.from_user("1 + 2?")])
    assert [one["name"] for one in model.calls[0].tools] == ["add"]


def test_inputs_that_a_component_of_theirs_declares_are_those_of_the_tool() -> None:
    made = [
        kind(PromptBuilder("Hi {{name}}", required_variables="*"), name="greet")
        for kind in (ComponentTool, OwnComponentTool)
    ]
    assert made[0].parameters == made[1].parameters
    assert made[1].parameters["required"] == ["name"]
    assert made[0].invoke(name="Bo") == made[1].invoke(name="Bo") == {"prompt": "Hi Bo"}


@AGENTS
@pytest.mark.parametrize("inner", [TheirAgent, Agent], ids=["haystack", "plait"])
def test_agents_are_tools_of_agents(kind: Any, inner: Any) -> None:
    expert = inner(chat_generator=Scripted())
    expert.warm_up()
    ask = ComponentTool(
        expert,
        name="expert",
        description="Knows.",
        outputs_to_string={"source": "last_message", "handler": lambda message: message.text},
    )
    question = ChatMessage.from_user("why?").to_dict()
    agent = kind(chat_generator=Scripted(calling("expert", messages=[question])), tools=[ask])
    agent.warm_up()
    result = agent.run([ChatMessage.from_user("Ask.")])
    assert result["messages"][2].tool_call_result.result == "You said: why?"


class Remote(Toolset):
    """Knows its tools only when it is warm."""

    def warm_up(self) -> None:
        self.tools = [Tool("late", "Late.", {"type": "object", "properties": {}}, lambda: "late")]


@pytest.mark.parametrize("several", [False, True])
def test_a_set_of_theirs_may_get_its_tools_when_it_is_warmed_up(several: bool) -> None:
    model = Scripted(calling("late"))
    remote = Remote([])
    agent = Agent(chat_generator=model, tools=[remote] if several else remote)
    agent.warm_up()
    result = agent.run([ChatMessage.from_user("Go.")])
    assert result["messages"][2].tool_call_result.result == "late"
    assert model.shown[0] == ["late"]


@component
class Broken(Scripted):
    """Fails."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        raise ConnectionError("down")


@AGENTS
def test_an_error_names_the_generator_that_failed(kind: Any) -> None:
    agent = kind(chat_generator=Broken())
    agent.warm_up()
    with pytest.raises(Exception, match="Component type: 'Broken'") as told:
        agent.run([ChatMessage.from_user("Well?")])
    assert told.value.component_type is Broken  # pyright: ignore[reportAttributeAccessIssue]
