"""create_supervisor: handoffs there and back, output modes, names, parallel calls, forwarding."""

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.types import Command, interrupt
from langgraph_supervisor import (
    create_forward_message_tool,
    create_handoff_tool,
    create_supervisor,
)
from langgraph_supervisor.handoff import create_handoff_back_messages

from .scripted import Scripted, add, ai, call

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


class Named(Scripted):
    """Keeps the names of messages, too."""

    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content, m.name) for m in messages], sorted(kwargs.items())


def model_of(*script):
    return Named(script=list(script), seen=[])


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"answer {interrupt(what)}"


def agent(name, *script, tools=(add,)):
    return create_react_agent(model_of(*script), list(tools), name=name)


def shown(result):
    return [
        (one.type, one.name, one.content, [c["name"] for c in getattr(one, "tool_calls", [])])
        for one in result["messages"]
    ]


def metadata(result):
    return [one.response_metadata for one in result["messages"]]


def team(supervisor, *agents, **options):
    return create_supervisor(list(agents), model=supervisor, **options)


def to(name, id="1"):
    return ai(call(f"transfer_to_{name}", id))


def math(*script):
    return agent("math", *(script or (ai(call("add", "m1", a=1, b=2)), "it is 3")))


def case_one_handoff(env):
    model = model_of(to("math"), "done")
    result = team(model, math()).compile().invoke(USER)
    return shown(result), metadata(result), model.seen


def case_full_history(env):
    model = model_of(to("math"), "done")
    result = team(model, math(), output_mode="full_history").compile().invoke(USER)
    return shown(result), model.seen


def case_unknown_output_mode(env):
    return env.error(lambda: team(model_of(), math(), output_mode="half"))


def case_without_handoff_back(env):
    model = model_of(to("math"), "done")
    options = {"add_handoff_back_messages": False}
    return shown(team(model, math(), **options).compile().invoke(USER))


def case_without_handoff_messages(env):
    model = model_of(to("math"), "done")
    result = team(model, math(), add_handoff_messages=False).compile().invoke(USER)
    back = team(
        model_of(to("math"), "done"),
        math(),
        add_handoff_messages=False,
        add_handoff_back_messages=True,
    )
    return shown(result), model.seen, shown(back.compile().invoke(USER))


def case_names_and_prefix(env):
    model = model_of(ai(call("ask_the_math")), "done")
    result = team(model, math(), handoff_tool_prefix="ask_the_").compile(name="team").invoke(USER)
    spaced = create_handoff_tool(agent_name="Math Expert")
    named = create_handoff_tool(agent_name="math", name="x", description="why")
    tools = [(one.name, one.description, one.metadata, one.args) for one in (spaced, named)]
    return shown(result), model.seen[0], tools


def case_supervisor_name(env):
    model = model_of(to("math"), "done")
    result = team(model, math(), supervisor_name="boss").compile().invoke(USER)
    return shown(result)


def case_prompt_and_tools(env):
    model = model_of(ai(call("add", a=2, b=2)), to("math", "2"), "done")
    result = team(model, math(), prompt="You lead.", tools=[add]).compile().invoke(USER)
    callable_ = model_of("done")
    first = team(callable_, math(), prompt=lambda s: [SystemMessage("x"), *s["messages"]])
    first.compile().invoke(USER)
    return shown(result), model.seen, callable_.seen


def case_own_handoff_tools(env):
    model = model_of(ai(call("go_math", task="t")), "done")

    handoff = create_handoff_tool(agent_name="math", name="go_math")
    result = team(model, math(), tools=[handoff]).compile().invoke(USER)
    node = ToolNode([create_handoff_tool(agent_name="math"), add])
    other = team(model_of(to("math"), "done"), math(), tools=node).compile().invoke(USER)
    return shown(result), model.seen[0][1], shown(other)


def case_missing_handoff_tools(env):
    some = [create_handoff_tool(agent_name="math")]
    both = (math(), agent("poet"))
    return [
        env.error(lambda: team(model_of(), *both, tools=some)),
        env.error(lambda: team(model_of(), math(), math())),
        env.error(lambda: team(model_of(), create_react_agent(model_of(), []))),
    ]


def case_two_agents_in_turn(env):
    model = model_of(to("math"), to("poet", "2"), "done")
    poet = agent("poet", "a rhyme")
    result = team(model, math(), poet).compile().invoke(USER)
    return shown(result), model.seen


def case_parallel_handoffs(env):
    both = ai(call("transfer_to_math", "1"), call("transfer_to_poet", "2"))
    model = model_of(both, "done")
    poet = agent("poet", "a rhyme")
    result = team(model, math(), poet, parallel_tool_calls=True).compile().invoke(USER)
    return shown(result), model.seen


def case_parallel_handoff_and_tool(env):
    both = ai(call("add", "1", a=1, b=1), call("transfer_to_math", "2"))
    model = model_of(both, "done")
    worker = model_of("it is 3")
    team_ = team(model, create_react_agent(worker, [add], name="math"), tools=[add])
    return shown(team_.compile().invoke(USER)), worker.seen, model.seen


def case_what_an_agent_sees(env):
    worker = model_of("it is 3")
    model = model_of(AIMessage("let me ask", tool_calls=[call("transfer_to_math")]), "done")
    team(model, create_react_agent(worker, [add], name="math")).compile().invoke(USER)
    quiet = model_of("it is 3")
    model = model_of(AIMessage("let me ask", tool_calls=[call("transfer_to_math")]), "done")
    options = {"add_handoff_messages": False}
    team(model, create_react_agent(quiet, [add], name="math"), **options).compile().invoke(USER)
    return worker.seen, quiet.seen


def case_inline_names(env):
    model = model_of(to("math"), "<name>supervisor</name><content>done</content>")
    result = team(model, math(), include_agent_name="inline").compile().invoke(USER)
    return shown(result), model.seen


def case_forwarded(env):
    forward = create_forward_message_tool("supervisor")
    model = model_of(to("math"), ai(call("forward_message", "2", from_agent="math")), "unused")
    result = team(model, math(), tools=[forward]).compile().invoke(USER)
    lost = model_of(ai(call("forward_message", "2", from_agent="nobody")), "done")
    other = team(lost, math(), tools=[create_forward_message_tool("supervisor")])
    return shown(result), shown(other.compile().invoke(USER)), forward.name, forward.args


def case_back_messages(env):
    pair = create_handoff_back_messages("math", "boss")
    same = pair[0].tool_calls[0]["id"] == pair[1].tool_call_id
    return [(one.type, one.name, one.content, one.response_metadata) for one in pair], same


def case_conversation(env):
    app = team(model_of(to("math"), "one", "two"), math()).compile(checkpointer=env.saver())
    app.invoke(USER, THREAD)
    return shown(app.invoke({"messages": [("user", "again")]}, THREAD))


def case_question_inside_an_agent(env):
    worker = agent("math", ai(call("ask", what="sure?")), "so it is", tools=[ask])
    app = team(model_of(to("math"), "done"), worker).compile(checkpointer=env.saver())
    first = app.invoke(USER, THREAD)
    asked = [one.value for one in first["__interrupt__"]]
    return asked, shown(app.invoke(Command(resume="yes"), THREAD))


async def case_async(env):
    model = model_of(to("math"), "done")
    return shown(await team(model, math()).compile().ainvoke(USER))


def case_updates(env):
    app = team(model_of(to("math"), "done"), math()).compile()
    parts = list(app.stream(USER, stream_mode="updates", subgraphs=True))
    return [
        (
            tuple(one.split(":")[0] for one in ns),
            sorted(part),
            [len(v["messages"]) for v in part.values() if v],
        )
        for ns, part in parts
    ]


def case_nodes(env):
    app = team(model_of(), math(), agent("poet")).compile()
    drawn = app.get_graph()
    return sorted(drawn.nodes), sorted(
        (one.source, one.target, one.conditional) for one in drawn.edges
    )


class Wider(AgentState):
    """More than messages."""

    topic: str


def case_wider_state(env):
    def note(state):
        return {"messages": [AIMessage(f"on {state['topic']}", name="noter")], "topic": "new"}

    noter = StateGraph(Wider).add_node("note", note).add_edge(START, "note").compile(name="noter")
    app = team(model_of(to("noter"), "done"), noter, state_schema=Wider).compile()
    result = app.invoke({**USER, "topic": "cats"})
    return shown(result), result["topic"]


def case_functional_agent(env):
    @entrypoint()
    def joker(state):
        return {"messages": [*state["messages"], AIMessage("a joke", name="joker")]}

    joker.name = "joker"
    return shown(team(model_of(to("joker"), "done"), joker).compile().invoke(USER))


def case_team_of_teams(env):
    inner = team(model_of(to("math"), "inner done"), math(), supervisor_name="lead")
    app = team(model_of(to("research"), "done"), inner.compile(name="research")).compile()
    return shown(app.invoke(USER))


def case_agent_ends_with_a_tool_message(env):
    @tool(return_direct=True)
    def direct(a: int) -> str:
        """Direct."""
        return f"direct {a}"

    worker = agent("math", ai(call("direct", "d", a=1)), tools=[direct])
    return shown(team(model_of(to("math"), "done"), worker).compile().invoke(USER))


def case_unknown_agent(env):
    lost = create_handoff_tool(agent_name="nobody")
    both = [create_handoff_tool(agent_name="math"), lost]
    return shown(
        team(model_of("done"), math(), tools=[create_handoff_tool(agent_name="math")])
        .compile()
        .invoke(USER)
    ), [one.name for one in both]


def case_messages_may_be_dicts(env):
    model = model_of(to("math"), "done")
    user = {"messages": [{"role": "user", "content": "hi"}, HumanMessage("more")]}
    return shown(team(model, math()).compile().invoke(user))
