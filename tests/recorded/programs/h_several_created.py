"""Supervisors and swarms of agents that `create_agent` made, with middleware, forms and threads."""

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
    after_model,
    before_model,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_supervisor import create_handoff_tool, create_supervisor
from langgraph_swarm import create_handoff_tool as to_tool
from langgraph_swarm import create_swarm

from .scripted import Scripted, add, ai, call

USER = {"messages": [("user", "hi")]}
THREAD = {"configurable": {"thread_id": "1"}}


class Heard(Scripted):
    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content, m.name) for m in messages]


def model_of(*script):
    return Heard(script=list(script), seen=[])


def agent(name, *script, tools=(add,), **options):
    return create_agent(model_of(*script), list(tools), name=name, **options)


def shown(result):
    return [
        (one.type, one.name, one.content, [c["name"] for c in getattr(one, "tool_calls", [])])
        for one in result["messages"]
    ]


def to(name, id="1", **args):
    return ai(call(f"transfer_to_{name}", id, **args))


def team(model, *agents, **options):
    return create_supervisor(list(agents), model=model, **options).compile()


def case_team(env):
    out = []
    for mode in ("last_message", "full_history"):
        a = agent("a", ai(call("add", a=1, b=2)), "three", system_prompt="You add.")
        model = model_of(to("a"), "done")
        out.append((shown(team(model, a, output_mode=mode).invoke(USER)), model.seen[-1]))
    return out


def pair(*alice, bob=("Ahoy",), **options):
    return create_swarm(
        [
            agent("alice", *alice, tools=[add, to_tool(agent_name="bob")], **options),
            agent("bob", *bob, tools=[to_tool(agent_name="alice")]),
        ],
        default_active_agent="alice",
    )


def case_swarm(env):
    result = pair(to("bob")).compile().invoke(USER)
    return shown(result), result["active_agent"]


def case_swarm_on_a_thread(env):
    made = pair(to("bob"), bob=("Ahoy", to("alice"))).compile(checkpointer=InMemorySaver())
    first = shown(made.invoke(USER, THREAD))
    return first, shown(made.invoke({"messages": "more"}, THREAD))


async def case_swarm_async(env):
    return shown(await pair(to("bob")).compile().ainvoke(USER))


def case_middleware_around_a_handoff(env):
    heard = []

    @wrap_tool_call
    def around(request, handler):
        heard.append(request.tool_call["name"])
        return handler(request)

    @before_model
    def before(state, runtime):
        heard.append(("before", len(state["messages"])))

    @after_model
    def after(state, runtime):
        heard.append(("after", len(state["messages"])))

    result = pair(to("bob"), middleware=[around, before, after]).compile().invoke(USER)
    return shown(result), heard


def case_supervised_questions(env):
    a = agent(
        "a",
        ai(call("add", a=1, b=2)),
        "three",
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"add": True})],
    )
    made = create_supervisor(
        [a], model=model_of(to("a"), "done"), output_mode="full_history"
    ).compile(checkpointer=InMemorySaver())
    asked = made.invoke(USER, THREAD)["__interrupt__"]
    answer = Command(resume={"decisions": [{"type": "approve"}]})
    return [one.value["action_requests"][0]["name"] for one in asked], shown(
        made.invoke(answer, THREAD)
    )


def case_limits(env):
    a = agent(
        "a",
        ai(call("add", a=1, b=2)),
        ai(call("add", "2", a=1, b=2)),
        "three",
        middleware=[ToolCallLimitMiddleware(run_limit=1)],
    )
    made = team(model_of(to("a"), "done"), a, output_mode="full_history")
    return [one[:2] for one in shown(made.invoke(USER))]


class Topic(AgentState):
    topic: str


class Keeps(AgentMiddleware):
    state_schema = Topic

    def before_model(self, state, runtime):
        return {"topic": "kept"}


def case_state_of_middleware(env):
    result = team(model_of(to("a"), "done"), agent("a", "x", middleware=[Keeps()])).invoke(USER)
    return sorted(result)


def case_agents_in_a_graph(env):
    graph = (
        StateGraph(MessagesState)
        .add_node("a", agent("a", "one"))
        .add_node("b", agent("b", "two"))
        .add_edge(START, "a")
        .add_edge("a", "b")
        .compile()
    )
    return shown(graph.invoke(USER))


def case_agent_as_a_tool(env):
    inner = agent("inner", ai(call("add", a=1, b=2)), "three")

    @tool
    def ask(question: str) -> str:
        """Ask the inner agent."""
        found = inner.invoke({"messages": [HumanMessage(question)]})
        return found["messages"][-1].content

    outer = agent("outer", ai(call("ask", question="1+2?")), "it is three", tools=[ask])
    return shown(outer.invoke(USER))


def case_agent_as_a_tool_that_asks(env):
    @tool
    def sure(what: str) -> str:
        """Ask a person."""
        return interrupt(what)

    inner = agent("inner", ai(call("sure", what="sure?")), "thanks", tools=[sure])

    @tool
    def ask(question: str) -> str:
        """Ask the inner agent."""
        return inner.invoke({"messages": [HumanMessage(question)]})["messages"][-1].content

    outer = create_agent(
        model_of(ai(call("ask", question="q")), "it is"), [ask], checkpointer=InMemorySaver()
    )
    asked = outer.invoke(USER, THREAD)["__interrupt__"]
    return [one.value for one in asked], shown(outer.invoke(Command(resume="yes"), THREAD))


def case_handoff_beside_a_tool(env):
    made = pair(ai(call("add", "1", a=1, b=2), call("transfer_to_bob", "2"))).compile()
    return [one[:2] for one in shown(made.invoke(USER))][:3]


def case_supervisor_made_by_hand(env):
    model = model_of(to("a"), "done")
    boss = create_agent(model, [create_handoff_tool(agent_name="a")], name="boss")
    graph = (
        StateGraph(MessagesState)
        .add_node("boss", boss, destinations=("a",))
        .add_node("a", agent("a", "a says"))
        .add_edge(START, "boss")
        .add_edge("a", "boss")
        .compile()
    )
    return shown(graph.invoke(USER)), model.seen[-1]


def case_own_handoff(env):
    from langgraph.prebuilt import ToolRuntime

    @tool
    def pass_on(task: str, runtime: ToolRuntime):
        """Pass on to bob."""
        told = ToolMessage("passed", tool_call_id=runtime.tool_call_id, name="pass_on")
        return Command(
            goto="bob",
            graph=Command.PARENT,
            update={"messages": [runtime.state["messages"][-1], told]},
        )

    graph = (
        StateGraph(MessagesState)
        .add_node(
            "alice",
            agent("alice", ai(call("pass_on", task="t")), tools=[pass_on]),
            destinations=("bob",),
        )
        .add_node("bob", agent("bob", "Ahoy"))
        .add_edge(START, "alice")
        .compile()
    )
    return shown(graph.invoke(USER))


def case_names_of_messages(env):
    a = agent("a", AIMessage("named", name="other"))
    return shown(team(model_of(to("a"), "done"), a).invoke(USER))
