"""create_swarm: who is active, handoffs, memory of who was last, states, errors."""

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.types import Command, interrupt
from langgraph_swarm import SwarmState, add_active_agent_router, create_handoff_tool, create_swarm

from .scripted import Scripted, add, ai, call

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


class Named(Scripted):
    """Keeps the names of messages, and nothing of the rest."""

    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content, m.name) for m in messages]


def model_of(*script):
    return Named(script=list(script), seen=[])


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"answer {interrupt(what)}"


def shown(result):
    return [
        (one.type, one.name, one.content, [c["name"] for c in getattr(one, "tool_calls", [])])
        for one in result["messages"]
    ], result.get("active_agent")


def pair(alice_says, bob_says, **options):
    alice = create_react_agent(
        model_of(*alice_says), [add, ask, create_handoff_tool(agent_name="Bob")], name="Alice"
    )
    bob = create_react_agent(
        model_of(*bob_says),
        [create_handoff_tool(agent_name="Alice", description="back")],
        name="Bob",
    )
    return create_swarm([alice, bob], default_active_agent="Alice", **options)


def case_first_agent(env):
    return shown(pair(["hello"], []).compile().invoke(USER))


def case_handoff(env):
    return shown(pair([ai(call("transfer_to_bob"))], ["ahoy"]).compile().invoke(USER))


def case_last_active_goes_on(env):
    app = pair([ai(call("transfer_to_bob"))], ["ahoy", "arr"]).compile(checkpointer=env.saver())
    app.invoke(USER, THREAD)
    return shown(app.invoke({"messages": [("user", "more")]}, THREAD))


def case_there_and_back(env):
    app = pair([ai(call("transfer_to_bob")), "I am back"], [ai(call("transfer_to_alice", "2"))])
    return shown(app.compile().invoke(USER))


def case_given_active_agent(env):
    return shown(pair([], ["ahoy"]).compile().invoke({**USER, "active_agent": "Bob"}))


def case_tool_and_handoff_at_once(env):
    both = ai(call("add", "1", a=1, b=2), call("transfer_to_bob", "2"))
    return env.error(lambda: pair([both], ["ahoy"]).compile().invoke(USER))


def case_tools(env):
    one = create_handoff_tool(agent_name="Bob Smith")
    two = create_handoff_tool(agent_name="Bob", name="bob", description="ask bob")
    return [(it.name, it.description, it.metadata, it.args) for it in (one, two)]


def case_errors(env):
    nameless = create_react_agent(model_of(), [])
    alice = create_react_agent(model_of(), [create_handoff_tool(agent_name="Bob")], name="Alice")
    return [
        env.error(lambda: create_swarm([alice], default_active_agent="Carol")),
        env.error(lambda: create_swarm([nameless], default_active_agent="Alice")),
        env.error(lambda: pair([], [], state_schema=AgentState)),
    ]


def case_question_inside_an_agent(env):
    said = [ai(call("ask", what="sure?")), ai(call("transfer_to_bob", "2"))]
    app = pair(said, ["ahoy"]).compile(checkpointer=env.saver())
    asked = [one.value for one in app.invoke(USER, THREAD)["__interrupt__"]]
    return asked, shown(app.invoke(Command(resume="yes"), THREAD))


async def case_async(env):
    return shown(await pair([ai(call("transfer_to_bob"))], ["ahoy"]).compile().ainvoke(USER))


def case_updates(env):
    app = pair([ai(call("transfer_to_bob"))], ["ahoy"]).compile()
    parts = list(app.stream(USER, stream_mode="updates", subgraphs=True))
    return [(tuple(one.split(":")[0] for one in ns), sorted(part)) for ns, part in parts]


def case_picture(env):
    drawn = pair([], []).compile().get_graph()
    return sorted(drawn.nodes), sorted(
        (one.source, one.target, one.conditional) for one in drawn.edges
    )


def case_router_by_hand(env):
    alice = create_react_agent(
        model_of(ai(call("transfer_to_bob"))), [create_handoff_tool(agent_name="Bob")], name="Alice"
    )
    bob = create_react_agent(model_of("ahoy"), [], name="Bob")
    builder = StateGraph(SwarmState).add_node(alice, destinations=("Bob",)).add_node(bob)
    made = add_active_agent_router(builder, route_to=["Alice", "Bob"], default_active_agent="Alice")
    bad = StateGraph(SwarmState).add_node(bob)
    worse = StateGraph(AgentState).add_node(bob)
    return [
        shown(made.compile().invoke(USER)),
        env.error(lambda: add_active_agent_router(bad, route_to=["Bob"], default_active_agent="X")),
        env.error(
            lambda: add_active_agent_router(worse, route_to=["Bob"], default_active_agent="Bob")
        ),
    ]


class Wider(SwarmState):
    """More than messages."""

    topic: str


def case_wider_state(env):
    def note(state):
        return {"messages": [AIMessage(f"on {state['topic']}", name="Noter")], "topic": "new"}

    noter = StateGraph(Wider).add_node("note", note).add_edge(START, "note").compile(name="Noter")
    app = create_swarm([noter], default_active_agent="Noter", state_schema=Wider).compile()
    result = app.invoke({**USER, "topic": "cats"})
    return shown(result), result["topic"]


def case_memory_of_each_agent(env):
    saver = env.saver()
    first = model_of("one", "two")
    alice = create_react_agent(first, [], name="Alice", checkpointer=True)
    app = create_swarm([alice], default_active_agent="Alice").compile(checkpointer=saver)
    app.invoke(USER, THREAD)
    return shown(app.invoke({"messages": [("user", "more")]}, THREAD)), first.seen
