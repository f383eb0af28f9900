"""Supervisors and swarms, odd uses: names, bound models, keys of states, limits, nested teams."""

from typing import Annotated, Any

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.runtime import get_runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from langgraph_supervisor import create_forward_message_tool, create_handoff_tool, create_supervisor
from langgraph_swarm import SwarmState, create_swarm
from langgraph_swarm import create_handoff_tool as to_tool
from pydantic import BaseModel

from .scripted import Scripted, add, ai, call

USER = {"messages": [("user", "hi")]}


class Noted(Scripted):
    """Keeps what it was bound to."""

    def noted(self, messages, stop, kwargs):
        return sorted((k, v if k != "tools" else [t["name"] for t in v]) for k, v in kwargs.items())


class ChatOpenAI(Noted):
    """Has the name of a model that takes `parallel_tool_calls`."""


class Heard(Scripted):
    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content, m.name) for m in messages]


def model_of(*script, kind=Heard):
    return kind(script=list(script), seen=[])


def agent(name, *script, tools=(add,), **options):
    return create_react_agent(model_of(*script), list(tools), name=name, **options)


def shown(result):
    return [
        (one.type, one.name, one.content, [c["name"] for c in getattr(one, "tool_calls", [])])
        for one in result["messages"]
    ]


def to(name, id="1", **args):
    return ai(call(f"transfer_to_{name}", id, **args))


def team(model, *agents, **options):
    return create_supervisor(list(agents), model=model, **options).compile()


def case_names_of_all_kinds(env):
    out = []
    for name in ("Research Agent", "Data-Team", "研究员", "a.b", "UPPER", "two  spaces"):
        model = model_of("done", kind=Noted)
        made = team(model, agent(name, "x"))
        made.invoke(USER)
        out.append((dict(model.seen[0])["tools"], sorted(made.get_graph().nodes)))
    return out


def case_name_of_the_supervisor_taken(env):
    return (
        env.error(lambda: team(model_of("x"), agent("supervisor"))),
        env.error(lambda: team(model_of("x"), agent("boss"), supervisor_name="boss")),
    )


def case_bound_parallel_calls(env):
    out = []
    for kind in (Noted, ChatOpenAI):
        for parallel in (True, False):
            model = model_of("done", kind=kind)
            team(model, agent("a"), parallel_tool_calls=parallel).invoke(USER)
            out.append(model.seen)
    return out


def case_model_bound_already(env):
    model = model_of("done", kind=Noted)
    tools = [add, create_handoff_tool(agent_name="a")]
    made = create_supervisor([agent("a")], model=model.bind_tools(tools), tools=tools).compile()
    made.invoke(USER)
    return model.seen


def case_tool_node_of_the_supervisor(env):
    model = model_of(ai(call("add", a=1, b=2)), to("a", "2"), "done")
    node = ToolNode([add, create_handoff_tool(agent_name="a")])
    return env.error(lambda: shown(team(model, agent("a", "x"), tools=node).invoke(USER)))


class Wide(AgentState):
    topic: str


def case_keys_that_agents_share(env):
    seen = []

    def work(state):
        seen.append(state.get("topic"))
        return {"messages": [AIMessage("worked")], "topic": "changed"}

    a = StateGraph(Wide).add_node("w", work).add_edge(START, "w").compile(name="a")
    result = team(model_of(to("a"), "done"), a, state_schema=Wide).invoke({**USER, "topic": "t"})
    return seen, result["topic"], sorted(result)


def case_keys_that_the_team_lacks(env):
    def work(state):
        return {"messages": [AIMessage("worked")], "topic": "new"}

    a = StateGraph(Wide).add_node("w", work).add_edge(START, "w").compile(name="a")
    return sorted(team(model_of(to("a"), "done"), a).invoke(USER))


def case_agent_that_says_nothing(env):
    def work(state):
        return {}

    out = []
    for mode in ("last_message", "full_history"):
        a = StateGraph(MessagesState).add_node("w", work).add_edge(START, "w").compile(name="a")
        out.append(shown(team(model_of(to("a"), "done"), a, output_mode=mode).invoke(USER)))
    return out


def case_agent_that_removes(env):
    def work(state):
        return {
            "messages": [RemoveMessage(id=state["messages"][0].id), AIMessage("gone", name="a")]
        }

    a = StateGraph(MessagesState).add_node("w", work).add_edge(START, "w").compile(name="a")
    out = []
    for mode in ("last_message", "full_history"):
        out.append(
            env.error(
                lambda mode=mode: shown(
                    team(model_of(to("a"), "done"), a, output_mode=mode).invoke(
                        {"messages": [HumanMessage("hi", id="1")]}
                    )
                )
            )
        )
    return out


def case_full_history_of_a_tool_user(env):
    out = []
    for back in (True, False):
        a = agent("a", ai(call("add", a=1, b=2)), "three")
        model = model_of(to("a"), "done")
        made = team(model, a, output_mode="full_history", add_handoff_back_messages=back)
        out.append((shown(made.invoke(USER)), model.seen[-1]))
    return out


def case_neither_messages(env):
    a = agent("a", ai(call("add", a=1, b=2)), "three")
    model = model_of(to("a"), "done")
    made = team(
        model,
        a,
        add_handoff_messages=False,
        add_handoff_back_messages=False,
        output_mode="full_history",
    )
    return shown(made.invoke(USER)), model.seen


def case_recursion_limit(env):
    model = model_of(*[to("a", str(i)) for i in range(20)])
    made = team(model, agent("a", *["x"] * 20))
    return env.error(lambda: made.invoke(USER, {"recursion_limit": 6}))


def case_custom_stream(env):
    @tool
    def tell(what: str) -> str:
        """Tell."""
        get_stream_writer()(f"telling {what}")
        return what

    a = agent("a", ai(call("tell", what="it")), "told", tools=[tell])
    parts = team(model_of(to("a"), "done"), a).stream(USER, stream_mode="custom", subgraphs=True)
    return [(len(path), part) for path, part in parts]


class Context(BaseModel):
    user: str


def case_context(env):
    @tool
    def who() -> str:
        """Who."""
        return get_runtime(Context).context.user

    a = agent("a", ai(call("who")), "told", tools=[who], context_schema=Context)
    made = create_supervisor(
        [a], model=model_of(to("a"), "done"), context_schema=Context, output_mode="full_history"
    ).compile()
    return shown(made.invoke(USER, context=Context(user="ada")))


def case_store(env):
    from langgraph.config import get_store

    @tool
    def keep(what: str) -> str:
        """Keep."""
        get_store().put(("n",), "k", {"v": what})
        return "kept"

    store = InMemoryStore()
    a = agent("a", ai(call("keep", what="it")), "told", tools=[keep])
    made = create_supervisor([a], model=model_of(to("a"), "done")).compile(store=store)
    made.invoke(USER)
    return store.get(("n",), "k").value


def case_questions_of_two_agents(env):
    @tool
    def ask(what: str) -> str:
        """Ask."""
        return interrupt(what)

    inner = create_supervisor(
        [agent("a", ai(call("ask", what="sure?")), "thanks", tools=[ask])],
        model=model_of(to("a"), "inner done"),
        supervisor_name="lead",
    ).compile(name="team")
    made = create_supervisor([inner], model=model_of(to("team"), "done")).compile(
        checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "1"}}
    asked = made.invoke(USER, config)["__interrupt__"]
    return [one.value for one in asked], shown(made.invoke(Command(resume="yes"), config))


def case_functional_agents(env):
    @entrypoint()
    def a(state):
        return {"messages": [*state["messages"], AIMessage("functional")]}

    a.name = "a"
    return shown(team(model_of(to("a"), "done"), a).invoke(USER))


def case_forwarded_parts(env):
    message = AIMessage([{"type": "text", "text": "parts"}])
    model = model_of(to("a"), ai(call("forward_message", "2", from_agent="a")), "end")
    made = team(model, agent("a", message), tools=[create_forward_message_tool("supervisor")])
    return shown(made.invoke(USER))


def case_forwarded_twice(env):
    model = model_of(to("a"), to("a", "3"), ai(call("forward_message", "2", from_agent="a")), "end")
    made = team(model, agent("a", "first", "second"), tools=[create_forward_message_tool()])
    return shown(made.invoke(USER))


def case_conversation_given(env):
    given = [
        SystemMessage("sys"),
        HumanMessage("one", name="bob"),
        AIMessage("", tool_calls=[call("add", a=1, b=2)]),
        ToolMessage("3", tool_call_id="1", name="add"),
        AIMessage("three", name="a"),
        HumanMessage("two"),
    ]
    a = model_of("x")
    model = model_of(to("a", "9"), "done")
    made = team(model, create_react_agent(a, [add], name="a"), include_agent_name="inline")
    return shown(made.invoke({"messages": given})), model.seen, a.seen


def case_swarm_of_three(env):
    made = create_swarm(
        [
            agent("a", to("b"), tools=[to_tool(agent_name="b"), to_tool(agent_name="c")]),
            agent("b", to("c", "2"), tools=[to_tool(agent_name="c")]),
            agent("c", "c speaks", tools=[to_tool(agent_name="a")]),
        ],
        default_active_agent="a",
    ).compile()
    result = made.invoke(USER)
    graph = made.get_graph()
    return (
        shown(result),
        result["active_agent"],
        sorted((e.source, e.target, e.conditional) for e in graph.edges),
    )


def case_swarm_without_default_turn(env):
    made = create_swarm(
        [agent("a", "one", "two"), agent("b", "b")], default_active_agent="a"
    ).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    first = made.invoke(USER, config)
    return (
        sorted(first),
        made.get_state(config).values.get("active_agent"),
        shown(made.invoke({"messages": "more", "active_agent": "b"}, config)),
    )


def case_swarm_handoff_to_a_stranger(env):
    def run():
        lost = agent("a", to("z"), tools=[to_tool(agent_name="z")])
        return shown(create_swarm([lost], default_active_agent="a").compile().invoke(USER))

    return env.error(run)


def case_swarm_names(env):
    return [
        to_tool(agent_name=name).name
        for name in ("Research Agent", "Data-Team", "研究员", "UPPER", "two  spaces", "a.b")
    ] + [
        create_handoff_tool(agent_name=name).name
        for name in ("Research Agent", "Data-Team", "研究员", "UPPER", "two  spaces", "a.b")
    ]


def case_team_in_a_graph(env):
    made = create_supervisor([agent("a", "x")], model=model_of(to("a"), "done")).compile(name="t")
    graph = StateGraph(MessagesState).add_node("team", made).add_edge(START, "team").compile()
    return shown(graph.invoke(USER))


def case_supervisor_sees_state(env):
    @tool
    def topic(state: Annotated[dict, InjectedState]) -> str:
        """Topic."""
        return state["topic"]

    model = model_of(ai(call("topic")), "done")
    made = team(model, agent("a"), tools=[topic], state_schema=Wide)
    return shown(made.invoke({**USER, "topic": "tea"}))


def case_response_format(env):
    class Answer(BaseModel):
        value: int

    class Formed(Heard):
        def with_structured_output(self, schema: Any, **kwargs: Any):
            from langchain_core.runnables import RunnableLambda

            return RunnableLambda(lambda messages: Answer(value=len(messages)))

    model = model_of(to("a"), "done", kind=Formed)
    made = team(model, agent("a", "x"), response_format=Answer)
    return sorted(made.invoke(USER))


def case_swarm_in_a_team(env):
    swarm = create_swarm(
        [
            agent("a", to("b"), tools=[to_tool(agent_name="b")]),
            agent("b", "b speaks", tools=[to_tool(agent_name="a")]),
        ],
        default_active_agent="a",
    ).compile(name="swarm")
    made = team(model_of(to("swarm"), "done"), swarm, output_mode="full_history")
    return shown(made.invoke(USER))


def case_swarm_state_keys(env):
    return SwarmState.__name__, sorted(SwarmState.__annotations__)
