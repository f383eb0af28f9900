"""create_agent: the loop, prompts, tools, state, streams, interrupts, threads, pictures, errors."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import dynamic_prompt
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from .scripted import add, ai, call, model_of, mul

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


@tool(return_direct=True)
def direct(a: int) -> str:
    """Ends the loop."""
    return f"direct {a}"


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"answer {interrupt(what)}"


@tool
def boom(a: int) -> int:
    """Fail."""
    raise ValueError("no")


TWO = ai(call("add", a=1, b=2), call("add", "2", a=3, b=4))


def picture(graph):
    drawn = graph.get_graph()
    edges = sorted((one.source, one.target, one.conditional) for one in drawn.edges)
    return list(drawn.nodes), edges


def without(parts, *keys):
    """Parts of a stream without what only the peer's own tracing reads."""
    return [{k: v for k, v in part.items() if k not in keys} for part in parts]


# --- the loop ------------------------------------------------------------------------------------


def case_a_loop(env):
    model = model_of(TWO, ai(call("mul", "3", a=2, b=5)), "done")
    agent = create_agent(model, [add, mul])
    return agent.invoke(USER), model.seen, agent.name


async def case_a_loop_async(env):
    model = model_of(TWO, ai(call("mul", "3", a=2, b=5)), "done")
    agent = create_agent(model, [add, mul], system_prompt="Be kind.", name="ada")
    return await agent.ainvoke(USER), model.seen, agent.name


def case_without_tools(env):
    model = model_of("done")
    agent = create_agent(model)
    return agent.invoke(USER), model.seen, picture(agent)


def case_a_call_without_tools(env):
    return create_agent(model_of(ai(call("nope", a=1)))).invoke(USER)


def case_system_prompts(env):
    found = []
    for prompt in ("Be kind.", SystemMessage("Be brief.", name="boss"), "", None):
        model = model_of("done")
        create_agent(model, [add], system_prompt=prompt).invoke(USER)
        found.append(model.seen)
    return found


def case_system_prompts_of_blocks(env):
    blocks = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]

    @dynamic_prompt
    def made(request):
        return [*blocks, request.system_prompt]

    found = []
    for prompt in (blocks, ["Be kind.", *blocks], ("Be brief.",), []):
        for middleware in ([], [made]):
            model = model_of("done")
            create_agent(model, [add], system_prompt=prompt, middleware=middleware).invoke(USER)
            found.append(model.seen)
    return found


def case_system_prompts_that_are_none(env):
    @dynamic_prompt
    def nothing(request):
        return None

    def refused(**kwargs):
        try:
            return create_agent(model_of("x"), **kwargs).invoke(USER)
        except ValueError:
            return "refused"

    return [
        refused(system_prompt=[5]),
        refused(system_prompt={"text": "x"}),
        refused(middleware=[nothing]),
    ]


def case_tools_of_the_provider(env):
    model = model_of(ai(call("add", a=1, b=2)), "done")
    agent = create_agent(model, [{"type": "web_search"}, add])
    alone = create_agent(model_of("x"), [{"type": "web_search"}])
    return agent.invoke(USER), model.seen, picture(agent), picture(alone)


def case_functions_as_tools(env):
    def double(a: int) -> int:
        """Double."""
        return 2 * a

    return create_agent(model_of(ai(call("double", a=4)), "done"), [double]).invoke(USER)


def case_a_bound_model(env):
    model = model_of("done")
    create_agent(model.bind(stop=["x"])).invoke(USER)
    return [one[0] for one in model.seen]


def case_pictures(env):
    return [
        picture(create_agent(model_of(), tools, name=name))
        for tools in ([], [add], [direct], [add, direct], None)
        for name in (None, "ada")
    ]


def case_mermaid(env):
    return [create_agent(model_of(), tools).get_graph().draw_mermaid() for tools in ([], [add])]


# --- tools ---------------------------------------------------------------------------------------


def case_direct_tools(env):
    both = ai(call("direct", a=1), call("add", "2", a=1, b=2))
    scripts = [ai(call("direct", a=1))], [both], [ai(call("direct", a="x"))]
    return [create_agent(model_of(*s, "on"), [add, direct]).invoke(USER) for s in scripts]


def case_direct_tools_in_two_turns(env):
    script = ai(call("add", "0", a=1, b=1)), ai(call("direct", a=1)), "never"
    return create_agent(model_of(*script), [add, direct]).invoke(USER)


def case_wrong_calls(env):
    script = ai(call("add", a="x")), ai(call("nope", "2", a=1)), "done"
    return create_agent(model_of(*script), [add]).invoke(USER)


def case_errors_of_tools(env):
    return env.error(lambda: create_agent(model_of(ai(call("boom", a=1))), [boom]).invoke(USER))


def case_errors_of_the_model(env):
    return env.error(lambda: create_agent(model_of(KeyError("x")), [add]).invoke(USER))


def case_a_call_without_its_tool(env):
    """The only call is of an unknown tool, beside one that would end the loop."""
    return create_agent(model_of(ai(call("nope", a=1)), "done"), [direct]).invoke(USER)


def case_what_tools_are_given(env):
    class State(AgentState):
        user: str

    @tool
    def who(
        greeting: str,
        user: Annotated[str, InjectedState("user")],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
    ) -> str:
        """Who."""
        return f"{greeting} {user} {call_id} {runtime.tool_call_id} {sorted(runtime.state)}"

    model = model_of(ai(call("who", "7", greeting="Hello", user="eve")), "done")
    agent = create_agent(model, [who], state_schema=State)
    return agent.invoke({**USER, "user": "ada"})


def case_a_store(env):
    store = env.store()
    store.put(("users",), "ada", {"likes": "tea"})

    @tool
    def likes(who: str, store: Annotated[Any, InjectedStore()]) -> str:
        """What somebody likes."""
        return store.get(("users",), who).value["likes"]

    agent = create_agent(model_of(ai(call("likes", who="ada")), "done"), [likes], store=store)
    return agent.invoke(USER)


def case_commands_of_tools(env):
    class State(AgentState):
        notes: Annotated[list, operator.add]

    @tool
    def note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Keep a note."""
        return Command(
            update={"notes": [text], "messages": [ToolMessage("kept", tool_call_id=call_id)]}
        )

    calls = ai(call("note", text="a"), call("note", "2", text="b"))
    agent = create_agent(model_of(calls, "done"), [note], state_schema=State)
    return agent.invoke(USER), agent.get_output_jsonschema()["required"]


def case_content_and_artifact(env):
    @tool(response_format="content_and_artifact")
    def look(what: str) -> Any:
        """Look."""
        return [{"type": "text", "text": what}], {"raw": [1, 2]}

    return create_agent(model_of(ai(call("look", what="up")), "done"), [look]).invoke(USER)


# --- state and context ---------------------------------------------------------------------------


def case_state_schemas(env):
    class Plain(TypedDict):
        messages: Annotated[list, operator.add]
        z: int

    class Model(BaseModel):
        messages: Annotated[list, operator.add]
        z: int = 3

    return [
        create_agent(model_of("a"), state_schema=schema).invoke({**USER, "z": 1})
        for schema in (Plain, Model)
    ]


def case_a_context(env):
    @dataclass
    class Context:
        user: str

    @tool
    def who(runtime: ToolRuntime) -> str:
        """Who."""
        return runtime.context.user

    agent = create_agent(model_of(ai(call("who")), "done"), [who], context_schema=Context)
    return agent.invoke(USER, context=Context("ada"))


def case_no_messages(env):
    found = []
    for given in ({}, {"messages": []}):
        model = model_of("a")
        found += [create_agent(model, [add]).invoke(given), model.seen]
    return found


def case_a_name_signs(env):
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add], name="ada")
    return [(m.type, m.name) for m in agent.invoke(USER)["messages"]]


def case_schemas(env):
    agent = create_agent(model_of(), [add])
    given, taken = agent.get_input_jsonschema(), agent.get_output_jsonschema()
    return sorted(given["properties"]), sorted(taken["properties"]), given["required"]


# --- streams -------------------------------------------------------------------------------------


def case_stream_updates_and_values(env):
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add])
    return list(agent.stream(USER, stream_mode=["updates", "values"]))


def case_stream_tasks(env):
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add])
    return without(agent.stream(USER, stream_mode="tasks"), "metadata")


def case_stream_checkpoints(env):
    agent = create_agent(
        model_of(ai(call("add", a=1, b=2)), "done"), [add], checkpointer=env.saver()
    )
    parts = list(agent.stream(USER, THREAD, stream_mode="checkpoints"))
    return [(part["values"], part["next"], part["metadata"]["step"]) for part in parts]


def case_stream_debug(env):
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add])
    parts = list(agent.stream(USER, stream_mode="debug"))
    return [(part["step"], part["type"], part["payload"]["name"]) for part in parts]


def case_stream_messages(env):
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add], name="ada")
    parts = list(agent.stream(USER, stream_mode="messages"))
    keys = ("langgraph_node", "langgraph_step", "lc_agent_name")
    return [
        (m.type, m.content, m.tool_calls if m.type == "ai" else (), {k: meta[k] for k in keys})
        for m, meta in parts
    ]


def case_stream_tokens(env):
    model = GenericFakeChatModel(messages=iter(["hello big world"]))
    parts = list(create_agent(model, name="ada").stream(USER, stream_mode="messages"))
    return [(message.content, message.name, meta["langgraph_node"]) for message, meta in parts]


async def case_stream_tokens_async(env):
    model = GenericFakeChatModel(messages=iter(["hello big world"]))
    agent = create_agent(model)
    parts = [part async for part in agent.astream(USER, stream_mode=["messages", "updates"])]
    return [(mode, part[0].content if mode == "messages" else sorted(part)) for mode, part in parts]


def case_stream_custom(env):
    @tool
    def tell(what: str, runtime: ToolRuntime) -> str:
        """Tell."""
        runtime.stream_writer({"told": what})
        return "told"

    agent = create_agent(model_of(ai(call("tell", what="x")), "done"), [tell])
    return list(agent.stream(USER, stream_mode="custom"))


# --- questions, breakpoints, threads -------------------------------------------------------------


def case_questions_of_tools(env):
    calls = ai(call("ask", what="one?"), call("ask", "2", what="two?"))
    agent = create_agent(model_of(calls, "done"), [ask], checkpointer=env.saver())
    asked = agent.invoke(USER, THREAD)["__interrupt__"]
    answers = {one.id: one.value.upper() for one in asked}
    state = agent.get_state(THREAD)
    return (
        sorted(one.value for one in asked),
        state.next,
        agent.invoke(Command(resume=answers), THREAD),
    )


async def case_questions_of_tools_async(env):
    async with env.asaver() as saver:
        agent = create_agent(model_of(ai(call("ask", what="?")), "done"), [ask], checkpointer=saver)
        asked = await agent.ainvoke(USER, THREAD)
        return asked, await agent.ainvoke(Command(resume="yes"), THREAD)


def case_breakpoints(env):
    found = []
    for where in ({"interrupt_before": ["tools"]}, {"interrupt_after": ["model"]}):
        model = model_of(ai(call("add", a=1, b=2)), "done")
        agent = create_agent(model, [add], checkpointer=env.saver(str(where)), **where)
        found += [list(agent.stream(USER, THREAD)), agent.get_state(THREAD).next]
        found += [list(agent.stream(None, THREAD))]
    return found


def case_an_unknown_breakpoint(env):
    return env.error(lambda: create_agent(model_of(), [add], interrupt_before=["nope"]))


def case_a_thread_goes_on(env):
    model = model_of("one", ai(call("add", a=1, b=2)), "two")
    agent = create_agent(model, [add], checkpointer=env.saver())
    first = agent.invoke(USER, THREAD)
    second = agent.invoke({"messages": [HumanMessage("more")]}, THREAD)
    history = [(one.next, len(one.values["messages"])) for one in agent.get_state_history(THREAD)]
    return first, second, history, model.seen


def case_time_travel(env):
    model = model_of(ai(call("add", a=1, b=2)), "done", "again")
    agent = create_agent(model, [add], checkpointer=env.saver())
    agent.invoke(USER, THREAD)
    before = next(one for one in agent.get_state_history(THREAD) if one.next == ("tools",))
    return agent.invoke(None, before.config)


def case_a_state_changed_by_hand(env):
    model = model_of(ai(call("add", a=1, b=2)), "done")
    agent = create_agent(model, [add], checkpointer=env.saver(), interrupt_before=["tools"])
    agent.invoke(USER, THREAD)
    last = agent.get_state(THREAD).values["messages"][-1]
    changed = AIMessage("", id=last.id, tool_calls=[call("add", a=10, b=20)])
    agent.update_state(THREAD, {"messages": [changed]})
    return agent.invoke(None, THREAD)


# --- limits and nesting --------------------------------------------------------------------------


def case_too_many_steps(env):
    script = [ai(call("add", str(n), a=1, b=n)) for n in range(9)]
    agent = create_agent(model_of(*script), [add])
    return env.error(lambda: agent.invoke(USER, {"recursion_limit": 4}))


def case_many_steps_are_allowed(env):
    script = [ai(call("add", str(n), a=1, b=n)) for n in range(30)]
    return len(create_agent(model_of(*script, "done"), [add]).invoke(USER)["messages"])


def case_an_agent_as_a_node(env):
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add], name="ada")
    builder = StateGraph(MessagesState)
    builder.add_node(agent)
    builder.add_edge(START, "ada")
    graph = builder.compile()
    parts = list(graph.stream(USER, stream_mode="updates", subgraphs=True))
    return [(len(ns), update) for ns, update in parts], sorted(graph.get_graph(xray=1).nodes)


async def case_batches(env):
    agent = create_agent(model_of("a"))
    return await agent.abatch([USER]), agent.batch([])


def case_what_is_wrong(env):
    return [
        env.error(lambda: create_agent(model_of(), [1])),
        env.error(lambda: create_agent("nope")),
        env.error(lambda: create_agent(model_of(), response_format=3)),
        env.error(lambda: create_agent(model_of(), nope=3)),
    ]


class Hears(BaseCallbackHandler):
    """Notes what starts, by name."""

    def __init__(self):
        self.heard = []

    def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
        self.heard.append(("chain", name))

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.heard.append(("model", [[m.type for m in one] for one in messages]))

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.heard.append(("tool", serialized["name"]))


def case_callbacks(env):
    hears = Hears()
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add], name="ada")
    agent.invoke(USER, {"callbacks": [hears]})
    return hears.heard


async def case_events(env):
    agent = create_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add])
    events = agent.astream_events(USER, version="v2")
    return [(one["event"], one["name"]) async for one in events]
