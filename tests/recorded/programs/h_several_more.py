"""Supervisors and swarms once more: hooks, forms, names, errors, streams, agents of other kinds."""

from typing import Annotated, TypedDict

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import InjectedState, create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.types import Command, interrupt
from langgraph_supervisor import (
    create_forward_message_tool,
    create_handoff_tool,
    create_supervisor,
)
from langgraph_supervisor.agent_name import with_agent_name
from langgraph_supervisor.handoff import create_handoff_back_messages
from langgraph_swarm import SwarmState, add_active_agent_router, create_swarm
from langgraph_swarm import create_handoff_tool as create_swarm_handoff_tool
from pydantic import BaseModel

from .scripted import Scripted, add, ai, call

USER = {"messages": [("user", "hi")]}


class Named(Scripted):
    """Keeps the names of messages, too."""

    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content, m.name) for m in messages]


def model_of(*script):
    return Named(script=list(script), seen=[])


def agent(name, *script, tools=(add,), **options):
    return create_react_agent(model_of(*script), list(tools), name=name, **options)


def shown(result):
    return [
        (one.type, one.name, one.content, [c["name"] for c in getattr(one, "tool_calls", [])])
        for one in result["messages"]
    ]


def to(name, id="1", **args):
    return ai(call(f"transfer_to_{name}", id, **args))


def case_agents_without_names(env):
    nameless = create_react_agent(model_of(), [])
    named = StateGraph(MessagesState).add_node("a", lambda s: s).add_edge(START, "a").compile()
    return (
        env.error(lambda: create_supervisor([nameless], model=model_of())),
        env.error(lambda: create_supervisor([named], model=model_of())),
        env.error(lambda: create_supervisor([agent("a"), agent("a")], model=model_of())),
        env.error(lambda: create_supervisor([], model=model_of()).compile().invoke(USER)),
        env.error(lambda: create_swarm([], default_active_agent="a")),
        env.error(lambda: create_swarm([agent("a")], default_active_agent="b")),
    )


def case_names_with_spaces(env):
    helper = agent("Math Expert", "42")
    model = model_of(to("math_expert"), "done")
    made = create_supervisor([helper], model=model).compile()
    return shown(made.invoke(USER)), sorted(made.get_graph().nodes)


def case_pre_model_hook(env):
    def hook(state):
        return {"llm_input_messages": [HumanMessage("only this")]}

    model = model_of(to("a"), "done")
    made = create_supervisor([agent("a", "42")], model=model, pre_model_hook=hook).compile()
    return shown(made.invoke(USER)), model.seen


def case_pre_model_hook_that_replaces(env):
    def hook(state):
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *state["messages"][-1:]]}

    model = model_of("done")
    made = create_supervisor([agent("a", "42")], model=model, pre_model_hook=hook).compile()
    return shown(made.invoke({"messages": [("user", "a"), ("user", "b")]})), model.seen


def case_post_model_hook(env):
    def hook(state):
        return {"messages": [AIMessage("looked over", name="hook")]}

    model = model_of("done")
    made = create_supervisor([agent("a", "42")], model=model, post_model_hook=hook).compile()
    return shown(made.invoke(USER))


def case_prompt_kinds(env):
    def prompt(state):
        return [SystemMessage("of a function"), *state["messages"]]

    out = []
    for one in ("text", SystemMessage("message"), prompt):
        model = model_of("done")
        create_supervisor([agent("a")], model=model, prompt=one).compile().invoke(USER)
        out.append(model.seen)
    return out


class Wide(AgentState):
    task: str
    notes: list[str]


@tool
def assign(
    task: str,
    state: Annotated[Wide, InjectedState],
    tool_call_id: Annotated[str, InjectedToolCallId],
):
    """Hands a task to a."""
    message = ToolMessage("gone", name="assign", tool_call_id=tool_call_id)
    return Command(
        goto="a",
        graph=Command.PARENT,
        update={**state, "messages": state["messages"] + [message], "task": task},
    )


def case_own_handoff_with_state(env):
    seen = []

    def worker(state):
        seen.append((state["task"], len(state["messages"])))
        return {"messages": [AIMessage("worked", name="a")]}

    a = StateGraph(Wide).add_node("w", worker).add_edge(START, "w").compile(name="a")
    model = model_of(ai(call("assign", task="dig")), "done")
    made = create_supervisor([a], model=model, tools=[assign], state_schema=Wide)
    return shown(made.compile().invoke({**USER, "task": "", "notes": []})), seen


def case_handoff_tools(env):
    one = create_handoff_tool(agent_name="Some Agent")
    two = create_handoff_tool(agent_name="b", name="go", description="Go to b.")
    three = create_swarm_handoff_tool(agent_name="Some Agent")
    four = create_swarm_handoff_tool(agent_name="b", name="go", description="Go to b.")
    return [
        (
            t.name,
            t.description,
            t.metadata,
            sorted(t.tool_call_schema.model_json_schema()["properties"]),
        )
        for t in (one, two, three, four)
    ] + [one.return_direct, three.return_direct]


def case_forwarding(env):
    out = []
    for from_agent in ("a", "nobody"):
        model = model_of(to("a"), ai(call("forward_message", "2", from_agent=from_agent)), "end")
        made = create_supervisor(
            [agent("a", "word for word")], model=model, tools=[create_forward_message_tool("boss")]
        ).compile()
        out.append(shown(made.invoke(USER)))
    t = create_forward_message_tool()
    return (
        out,
        t.name,
        t.return_direct,
        sorted(t.tool_call_schema.model_json_schema()["properties"]),
    )


def case_handoff_back(env):
    one, two = create_handoff_back_messages("a", "boss")
    return (
        one.content,
        one.name,
        one.response_metadata,
        [c["name"] for c in one.tool_calls],
        two.content,
        two.name,
        two.response_metadata,
        one.tool_calls[0]["id"] == two.tool_call_id,
    )


def case_inline_names(env):
    model = model_of(
        AIMessage("<name>x</name><content>hello</content>"),
        AIMessage("plain"),
        AIMessage([{"type": "text", "text": "<name>x</name><content>block</content>"}]),
    )
    named = with_agent_name(model, "inline")
    given = [
        HumanMessage("hi", name="bob"),
        AIMessage("yes", name="a"),
        AIMessage([{"type": "text", "text": "parts"}], name="b"),
        AIMessage("nameless"),
        AIMessage("", name="c", tool_calls=[call("add", a=1, b=2)]),
        ToolMessage("3", name="add", tool_call_id="1"),
    ]
    return (
        named.invoke(given).content,
        named.invoke(given).content,
        named.invoke(given).content,
        model.seen[0],
        env.error(lambda: with_agent_name(model, "other")),
    )


def case_teams_of_teams_in_full(env):
    inner = create_supervisor(
        [agent("a", "a says")],
        model=model_of(to("a"), "inner done"),
        supervisor_name="lead",
        output_mode="full_history",
    ).compile(name="team")
    model = model_of(to("team"), "all done")
    made = create_supervisor([inner], model=model, output_mode="full_history").compile()
    return shown(made.invoke(USER)), model.seen[-1]


def case_streams(env):
    model = model_of(to("a"), "done")
    made = create_supervisor([agent("a", "42")], model=model).compile()
    parts = made.stream(USER, stream_mode="updates", subgraphs=True)
    return [(len(path), sorted(part)) for path, part in parts]


def case_streams_of_values(env):
    model = model_of(to("a"), "done")
    made = create_supervisor([agent("a", "42")], model=model).compile()
    return [len(part["messages"]) for part in made.stream(USER, stream_mode="values")]


def case_token_stream(env):
    model = model_of(to("a"), "done")
    made = create_supervisor([agent("a", "42")], model=model).compile()
    parts = made.stream(USER, stream_mode="messages", subgraphs=True)
    return [(m.type, m.content, info["langgraph_node"]) for _, (m, info) in parts]


def case_threads(env):
    model = model_of(to("a"), "done", to("a"), "again")
    made = create_supervisor([agent("a", "42", "43")], model=model).compile(
        checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "1"}}
    made.invoke(USER, config)
    made.invoke({"messages": "more"}, config)
    return shown(made.get_state(config).values), made.get_state(config).next


class Answer(BaseModel):
    value: int


def case_agent_with_a_form(env):
    class Formed(Named):
        def with_structured_output(self, schema, **kwargs):
            return RunnableLambda(lambda messages: Answer(value=len(messages)))

    model = Formed(script=["42"], seen=[])
    a = create_react_agent(model, [add], name="a", response_format=Answer)
    made = create_supervisor([a], model=model_of(to("a"), "done")).compile()
    result = made.invoke(USER)
    return shown(result), sorted(result)


def case_handoff_content(env):
    model = model_of(AIMessage("I pass you on.", tool_calls=[call("transfer_to_a", "1")]), "done")
    a = model_of("42")
    made = create_supervisor(
        [create_react_agent(a, [add], name="a")], model=model, add_handoff_messages=True
    ).compile()
    return shown(made.invoke(USER)), a.seen


def case_handoff_without_messages(env):
    model = model_of(AIMessage("I pass you on.", tool_calls=[call("transfer_to_a", "1")]), "done")
    a = model_of("42")
    made = create_supervisor(
        [create_react_agent(a, [add], name="a")], model=model, add_handoff_messages=False
    ).compile()
    return shown(made.invoke(USER)), a.seen, model.seen


def case_unknown_handoff(env):
    model = model_of(to("nobody"), "sorry")
    made = create_supervisor([agent("a", "42")], model=model).compile()
    return [one[:2] for one in shown(made.invoke(USER))]


def case_handoff_to_itself(env):
    model = model_of(ai(call("transfer_to_a")), "still a")
    a = create_react_agent(model, [create_swarm_handoff_tool(agent_name="a")], name="a")
    made = create_swarm([a], default_active_agent="a").compile()
    return shown(made.invoke(USER))


def pair(*alice, bob=("Ahoy",), **options):
    return create_swarm(
        [
            agent("alice", *alice, tools=[add, create_swarm_handoff_tool(agent_name="bob")]),
            agent("bob", *bob, tools=[create_swarm_handoff_tool(agent_name="alice")]),
        ],
        default_active_agent="alice",
        **options,
    )


def case_swarm_unknown_active(env):
    made = pair("hi").compile()
    return env.error(lambda: made.invoke({**USER, "active_agent": "carol"}))


def case_swarm_state(env):
    result = pair(to("bob")).compile().invoke(USER)
    return sorted(result), result["active_agent"], sorted(SwarmState.__annotations__)


def case_swarm_stream(env):
    parts = pair(to("bob")).compile().stream(USER, stream_mode="updates", subgraphs=True)
    return [(len(path), sorted(part)) for path, part in parts]


def case_swarm_picture(env):
    graph = pair("x").compile().get_graph()
    return sorted(graph.nodes), sorted((e.source, e.target, e.conditional) for e in graph.edges)


def case_supervisor_picture(env):
    graph = create_supervisor([agent("a"), agent("b")], model=model_of()).compile().get_graph()
    return sorted(graph.nodes), sorted((e.source, e.target, e.conditional) for e in graph.edges)


def case_swarm_own_state(env):
    class Mine(SwarmState):
        mood: str

    result = pair("hi", state_schema=Mine).compile().invoke({**USER, "mood": "fine"})
    return sorted(result), result.get("mood")


def case_router_errors(env):
    def builder():
        return StateGraph(SwarmState).add_node("a", lambda s: s)

    return (
        env.error(
            lambda: add_active_agent_router(builder(), route_to=["a"], default_active_agent="b")
        ),
        env.error(
            lambda: add_active_agent_router(
                StateGraph(MessagesState), route_to=["a"], default_active_agent="a"
            )
        ),
    )


def case_swarm_interrupts(env):
    @tool
    def ask(what: str) -> str:
        """Ask."""
        return interrupt(what)

    made = create_swarm(
        [
            agent("alice", to("bob"), tools=[create_swarm_handoff_tool(agent_name="bob")]),
            agent("bob", ai(call("ask", what="sure?")), "thanks", tools=[ask]),
        ],
        default_active_agent="alice",
    ).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    first = made.invoke(USER, config)
    asked = [one.value for one in first["__interrupt__"]]
    return asked, shown(made.invoke(Command(resume="yes"), config))


def case_own_swarm_handoff(env):
    @tool
    def pass_on(
        task: str,
        state: Annotated[dict, InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ):
        """Pass on to bob."""
        message = ToolMessage("passed", name="pass_on", tool_call_id=tool_call_id)
        return Command(
            goto="bob",
            graph=Command.PARENT,
            update={"messages": state["messages"] + [message], "active_agent": "bob"},
        )

    made = create_swarm(
        [agent("alice", ai(call("pass_on", task="t")), tools=[pass_on]), agent("bob", "Ahoy")],
        default_active_agent="alice",
    ).compile()
    result = made.invoke(USER)
    return shown(result), result.get("active_agent")


async def case_swarm_async(env):
    return shown(await pair(to("bob"), bob=(to("alice"),)).compile().ainvoke(USER))


def case_supervisor_of_a_plain_graph(env):
    def work(state):
        return {"messages": [AIMessage("plain work")]}

    plain = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work")
    plain = plain.add_edge("work", END).compile(name="plain")
    made = create_supervisor([plain], model=model_of(to("plain"), "done")).compile()
    return shown(made.invoke(USER))


def case_agent_that_fails(env):
    made = create_supervisor(
        [agent("a", ValueError("no"))], model=model_of(to("a"), "done")
    ).compile()
    return env.error(lambda: made.invoke(USER))


def case_unknown_options(env):
    return (
        env.error(lambda: create_supervisor([agent("a")], model=model_of(), outputmode="x")),
        env.error(lambda: create_supervisor([agent("a")], model=model_of(), output_mode="x")),
        env.error(
            lambda: create_supervisor([agent("a")], model=model_of(), include_agent_name="x")
        ),
        env.error(lambda: create_handoff_tool("a")),
    )


def case_messages_of_the_supervisor(env):
    class State(TypedDict):
        messages: list

    return env.error(
        lambda: (
            create_supervisor([agent("a")], model=model_of("x"), state_schema=State)
            .compile()
            .invoke(USER)
        )
    )


def case_tool_beside_agents(env):
    model = model_of(ai(call("add", a=1, b=2)), to("a", "2"), "done")
    made = create_supervisor([agent("a", "42")], model=model, tools=[add]).compile()
    return shown(made.invoke(USER))
