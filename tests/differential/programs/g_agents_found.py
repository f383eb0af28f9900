"""What programs of agents that chance has made (`tests/differential/random/agents`) have found."""

import operator
from typing import Annotated

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, before_model, wrap_model_call
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import StructuredTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentStatePydantic
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .hooked import UNREPAIRED
from .scripted import Scripted, ai, call

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [HumanMessage("hi", id="h")]}


class Formal(Scripted):
    """Is told its tools in OpenAI's form."""

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)


def model_of(*script, **more):
    return Formal(script=list(script), seen=[], **more)


class Streaming(Scripted):
    """Streams the contents of its script."""

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for content in self.script:
            yield ChatGenerationChunk(message=AIMessageChunk(content=content))


def unreadable(id, name="add"):
    return {"name": name, "args": "{", "id": id, "error": "no", "type": "invalid_tool_call"}


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


def case_names_that_models_give_themselves(env):
    found = []
    for name in (None, "helper"):
        first = AIMessage("", tool_calls=[call("add", a=1)], name="bob")
        model = model_of(first, AIMessage("x", name="bob"))
        found.append(create_react_agent(model, [add], name=name).invoke(USER))
    return found


def case_ends_of_streams_of_blocks(env):
    block = {"type": "text", "text": "x"}
    contents = ([[block]], ["a", [block]], [[block], "a"], ["a"], [[]])
    return [[c.content for c in Streaming(script=one).stream("hi")] for one in contents]


class Point(BaseModel):
    x: int


class Inner(TypedDict):
    points: Annotated[list[Point], operator.add]


class PydanticInner(BaseModel):
    points: list[Point] = []


class Outer(TypedDict):
    total: int


def asking_graph(schema):
    def ask(state):
        return {"points": [Point(x=interrupt("x?"))]}

    builder = StateGraph(schema)
    builder.add_node("first", lambda state: {"points": [Point(x=1)]})
    builder.add_node("ask", ask)
    builder.add_edge(START, "first")
    builder.add_conditional_edges("first", lambda state: [Send("ask", state)], ["ask"])
    return builder.compile()


def case_types_that_only_a_subgraph_names(env):
    """As a node, called in a node, and called where nobody can see it beforehand."""
    found = []
    for schema in (Inner, PydanticInner):
        inner = asking_graph(schema)
        hidden = {"graph": inner}
        nodes = (
            inner,
            lambda state, inner=inner: {"total": inner.invoke({"points": []})["points"][-1].x},
            lambda state, hidden=hidden: {
                "total": hidden["graph"].invoke({"points": []})["points"][-1].x
            },
        )
        for number, node in enumerate(nodes):
            builder = StateGraph(Outer).add_node("node", node).add_edge(START, "node")
            graph = builder.compile(checkpointer=env.saver())
            config = {"configurable": {"thread_id": f"{schema.__name__} {number}"}}
            found.append(graph.invoke({"total": 0}, config))
            found.append(graph.get_state(config, subgraphs=number < 1).tasks[0].interrupts)
            found.append(graph.invoke(Command(resume=4), config))
    return found


class Noted(AgentStatePydantic):
    notes: list = Field(default_factory=list)


def case_an_agent_with_a_pydantic_state_called_in_a_node(env):
    script = [ai(call("add", a=1))]
    agent = create_react_agent(model_of(*script), [add], state_schema=Noted)

    def node(state):
        return {"total": len(agent.invoke(USER)["messages"])}

    builder = StateGraph(Outer).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=env.saver()).invoke({"total": 0}, THREAD)


def case_titles_in_schemas_of_tools(env):
    schema = {
        "type": "object",
        "title": "T",
        "properties": {
            "title": {"type": "string", "title": "Title"},
            "o": {"type": "object", "title": "O", "properties": {"b": {"title": "B"}}},
        },
    }
    made = StructuredTool.from_function(add.func, name="f", args_schema=schema)
    model = model_of(ai(call("Point", x=1)))
    create_agent(model, [add], response_format=ToolStrategy(Point)).invoke(USER)
    return convert_to_openai_tool(made), model.seen


def case_profiles_of_models(env):
    script = [AIMessage('{"x": 1}')]
    model = model_of(*script, profile={"structured_output": True})
    found = create_agent(model, [add], response_format=Point).invoke(USER)
    return found["structured_response"], model.seen, model.profile, model_of().profile


def case_a_form_of_the_provider_beside_tools(env):
    model = model_of(AIMessage('{"x": 1}'))
    create_agent(model, [add], response_format=ProviderStrategy(Point)).invoke(USER)
    return model.seen


def unread(*ids, id="2", **more):
    """A message of the model with tool calls that cannot be read."""
    calls = [unreadable(one) if one != "d" else unreadable("d", None) for one in ids]
    return AIMessage("", id=id, invalid_tool_calls=calls, **more)


LATER = HumanMessage("b", id="3")
HISTORIES = (
    [unread("b", tool_calls=[call("add", "a", a=1)])],
    [unread("b", None, "d", id="6")],
    [unread("b"), LATER, ToolMessage("r", tool_call_id="b", id="4")],
    [unread("b", tool_calls=[call("add", "b", a=1)], id="7")],
)


def case_calls_that_cannot_be_read(env):
    found = []
    for history in HISTORIES:
        model = model_of()
        agent = create_agent(model, [add], **UNREPAIRED)
        messages = [*USER["messages"], *history, HumanMessage("go on", id="9")]
        found.append((list(agent.stream({"messages": messages})), model.seen))
    return found


def case_calls_that_cannot_be_read_by_one_id(env):
    model = model_of()
    agent = create_agent(model, [add], **UNREPAIRED)
    agent.invoke({"messages": [unread("b"), LATER, unread("b", id="5"), HumanMessage("go on")]})
    return model.seen


def case_calls_that_cannot_be_read_in_a_graph_around(env):
    model = model_of(unread("b"), "two", "three")
    builder = StateGraph(MessagesState).add_node("agent", create_agent(model, [add], name="agent"))
    graph = builder.add_edge(START, "agent").compile(checkpointer=env.saver())
    for _ in range(3):
        graph.invoke({"messages": "hi"}, THREAD)
    return model.seen


async def case_calls_that_cannot_be_read_in_a_loop(env):
    said = AIMessage("", tool_calls=[call("add", a=1)], invalid_tool_calls=[unreadable("b")])
    agent = create_agent(model_of(said), [add])
    return [part async for part in agent.astream(USER)]


def case_calls_that_cannot_be_read_and_middleware(env):
    """Hooks see the history as it is, wrappers as it is shown; what they return goes after it."""
    found = []

    @before_model
    def look(state, runtime):
        found.append(len(state["messages"]))

    @wrap_model_call
    def wrap(request, handler):
        found.append((len(request.messages), len(request.state["messages"])))
        return AIMessage("instead")

    messages = [*USER["messages"], *HISTORIES[0], HumanMessage("go on", id="9")]
    agent = create_agent(model_of(), [add], middleware=[look, wrap], **UNREPAIRED)
    return list(agent.stream({"messages": messages})), found


def case_hooks_after_the_model_in_version_1(env):
    script = [ai(call("add", a=1))]
    agent = create_react_agent(
        model_of(*script), [add], version="v1", post_model_hook=lambda state: {}
    )
    return env.error(lambda: agent.invoke(USER))


def case_hooks_before_the_model_with_a_pydantic_state(env):
    agent = create_react_agent(
        model_of(), [], state_schema=Noted, pre_model_hook=lambda state: {"notes": [1]}
    )
    return env.error(lambda: agent.invoke(USER))


def case_an_answer_in_the_last_step(env):
    agent = create_react_agent(model_of(), [])
    parts = []
    stream = agent.stream(USER, {"recursion_limit": 1})
    error = env.error(lambda: parts.extend(stream))
    return parts, error


def case_a_choice_of_tools_beside_a_form_of_the_provider(env):
    @wrap_model_call
    def must(request, handler):
        return handler(request.override(tool_choice="any"))

    model = model_of(AIMessage('{"x": 1}'))
    form = ProviderStrategy(Point)
    create_agent(model, [add], middleware=[must], response_format=form).invoke(USER)
    return model.seen


def case_a_form_of_the_provider_without_tools(env):
    model = model_of(AIMessage('{"x": 1}'))
    create_agent(model, [], response_format=ProviderStrategy(Point)).invoke(USER)
    return model.seen


def case_an_async_prompt_in_a_sync_call(env):
    async def prompt(state):
        return state["messages"]

    agent = create_react_agent(model_of(), [], prompt=prompt)
    return env.error(lambda: agent.invoke(USER))


def case_checkpoints_of_failed_tasks(env):
    def ask_and_fail(state):
        interrupt("q")
        raise ValueError("no")

    builder = StateGraph(Outer).add_node("node", ask_and_fail).add_edge(START, "node")
    graph = builder.compile(checkpointer=env.saver())
    parts = []
    errors = []
    for given in ({"total": 1}, Command(resume=1), None):
        stream = graph.stream(given, THREAD, stream_mode=["checkpoints", "debug"])
        errors.append(env.error(lambda stream=stream: parts.extend(stream)))
    return parts, errors


def case_wrong_decisions(env):
    script = [ai(call("add", a=1))]
    people = HumanInTheLoopMiddleware({"add": {"allowed_decisions": ["approve"]}})
    agent = create_agent(model_of(*script), [add], middleware=[people], checkpointer=env.saver())
    agent.invoke(USER, THREAD)
    wrong = Command(resume={"decisions": [{"type": "reject"}]})
    return [env.error(lambda one=one: agent.invoke(one, THREAD)) for one in (wrong, None)]


def case_handlers_behind_interceptors(env):
    @tool
    def fails(kind: str) -> str:
        """Fail."""
        raise {"key": KeyError, "type": TypeError}[kind]("no")

    node = ToolNode(
        [fails],
        handle_tool_errors=KeyError,
        wrap_tool_call=lambda request, execute: execute(request),
    )
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
    found = []
    for kind in ("key", "type"):
        message = AIMessage("", id="2", tool_calls=[call("fails", kind=kind)])
        found.append(env.error(lambda m=message: graph.invoke({"messages": [m]})))
    return found


async def case_runs_before_a_hook(env):
    agent = create_react_agent(model_of("done"), [add], post_model_hook=lambda state: {})
    events = [event async for event in agent.astream_events(USER, version="v2")]
    return [one["event"] for one in events if one["name"] == "should_continue"]
