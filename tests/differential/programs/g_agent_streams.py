"""create_agent: streams of version "v3", transformers, and what tracers record of middleware."""

from importlib import import_module
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolCallTransformer
from langgraph.stream import CustomTransformer, UpdatesTransformer
from langgraph.types import TracePolicy

BaseTracer: Any = import_module("langchain_core.tracers").BaseTracer  # the peer's, on both sides


class Script(BaseChatModel):
    """Says its messages one after the other."""

    says: list[Any]

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.says.pop(0))])


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


CALL = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}


def script():
    return Script(says=[AIMessage("", tool_calls=[CALL], id="1"), AIMessage("Three.", id="2")])


def start(agent, **kwargs):
    return agent.stream_events({"messages": [("user", "1 + 2?")]}, version="v3", **kwargs)


def case_tool_calls_of_an_agent(env):
    found = []
    for call in start(create_agent(script(), [add])).tool_calls:
        found.append((call.tool_name, call.tool_call_id, call.input))
        found.append((list(call.output_deltas), call.output, call.error, call.completed))
    return found


async def case_messages_of_an_agent(env):
    agent = create_agent(script(), [add])
    run = await agent.astream_events({"messages": [("user", "1 + 2?")]}, version="v3")
    return [(m.node, await m.text, await m.tool_calls) async for m in run.messages]


def case_tool_events_of_an_agent(env):
    events = start(create_agent(script(), [add]))
    return [e["params"]["data"]["event"] for e in events if e["method"] == "tools"]


def case_transformers_of_agents_and_middleware(env):
    class Updates(AgentMiddleware):
        transformers = (UpdatesTransformer,)

    agent = create_agent(
        script(),
        [add],
        middleware=[Updates()],
        transformers=[CustomTransformer, ToolCallTransformer],
    )
    run = start(agent)
    return sorted(run.extensions), [list(each) for each in run.updates]


class Tracer(BaseTracer):
    def __init__(self):
        super().__init__()
        self.seen = []

    def _persist_run(self, run):
        pass

    def _on_run_update(self, run):
        self.seen.append((run.name, dict(run.inputs), run.outputs))


def case_trace_policies_of_middleware(env):
    class Traced(AgentMiddleware):
        trace_policy = TracePolicy(
            process_inputs=lambda given: {"messages": len(given["messages"])},
            process_outputs=lambda given: {"said": given is not None},
        )

        def before_model(self, state, runtime):
            return None

        def after_model(self, state, runtime):
            return {"messages": []}

        def after_agent(self, state, runtime):
            return None

    tracer = Tracer()
    agent = create_agent(script(), [add], middleware=[Traced()])
    agent.invoke({"messages": [("user", "1 + 2?")]}, {"callbacks": [tracer]})
    return [each for each in tracer.seen if each[0].startswith("Traced")]


def asker():
    """An agent whose tool asks another one."""

    @tool
    def research(question: str) -> str:
        """Ask the researcher."""
        researcher = create_agent(Script(says=[AIMessage("Two.", id="r")]), [], name="researcher")
        return researcher.invoke({"messages": [("user", question)]})["messages"][-1].text

    call = {"name": "research", "args": {"question": "1 + 1?"}, "id": "c7"}
    says = [AIMessage("", tool_calls=[call], id="1"), AIMessage("It is two.", id="2")]
    return create_agent(Script(says=says), [research])


def case_agents_in_tools(env):
    lifecycle = list(start(asker()).lifecycle)
    nested = [
        (s.graph_name, [str(m.text) for m in s.messages], s.status)
        for s in start(asker()).subgraphs
    ]
    return lifecycle, nested


def case_agents_in_graphs(env):
    agent = create_agent(Script(says=[AIMessage("Hello.", id="1")]), [], name="greeter")
    builder = StateGraph(MessagesState)
    builder.add_node("greet", agent)
    builder.add_edge(START, "greet")
    run = start(builder.compile())
    return list(run.lifecycle)
