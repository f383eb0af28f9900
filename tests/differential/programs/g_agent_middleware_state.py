"""create_agent's middleware: what it adds to state and tools, streams, threads, and questions."""

import operator
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    after_model,
    before_agent,
    before_model,
    hook_config,
    wrap_model_call,
)
from langchain.agents.middleware.types import (
    OmitFromInput,
    OmitFromOutput,
    OmitFromSchema,
    PrivateStateAttr,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from .hooked import ONE, USER, all_hooks, picture, run
from .scripted import add, ai, call, model_of, mul

THREAD = {"configurable": {"thread_id": "1"}}


def told(messages):
    return [(one.type, one.content) for one in messages]


class Kept(AgentState):
    kept: Annotated[list, operator.add]
    last: Any


def case_state_of_middleware(env):
    class State(AgentState):
        n: int
        private: Annotated[int, PrivateStateAttr]
        made: Annotated[int, OmitFromInput]
        taken: Annotated[int, OmitFromOutput]
        both: NotRequired[Annotated[list, OmitFromSchema(True, True)]]

    class Other(AgentState):
        u: int

    seen = []

    def look(kind):
        def run(state, runtime):
            seen.append((kind, {k: v for k, v in state.items() if k != "messages"}))
            if kind == "first":
                return {"private": 7, "made": 8, "both": [1]}

        return run

    agent = create_agent(
        model_of(ONE, "done"),
        [add],
        middleware=[
            before_agent(state_schema=State, name="A")(look("first")),
            before_model(name="B")(look("second")),
            after_model(state_schema=Other, name="C")(look("third")),
        ],
        state_schema=Other,
    )
    given, taken = agent.get_input_jsonschema(), agent.get_output_jsonschema()
    schemas = [sorted(one["properties"]) for one in (given, taken)]
    return agent.invoke({**USER, "n": 1, "u": 2, "taken": 5}), seen, schemas


def case_keys_that_two_declare(env):
    class Adds(AgentState):
        k: Annotated[list, operator.add]

    class Replaces(AgentState):
        k: list

    def middleware(schema, name):
        return before_agent(state_schema=schema, name=name)(lambda state, runtime: {"k": [name]})

    found = []
    for first, second in ((Adds, Replaces), (Replaces, Adds)):
        agent = create_agent(
            model_of("a"), middleware=[middleware(first, "x"), middleware(second, "y")]
        )
        found.append(agent.invoke({**USER, "k": ["given"]})["k"])
        agent = create_agent(
            model_of("a"), middleware=[middleware(first, "x")], state_schema=second
        )
        found.append(agent.invoke({**USER, "k": ["given"]})["k"])
    return found


def case_a_reducer_before_a_mark(env):
    class State(AgentState):
        k: NotRequired[Annotated[list, operator.add, OmitFromInput]]

    def middleware(name):
        return before_agent(state_schema=State, name=name)(lambda state, runtime: {"k": [name]})

    agent = create_agent(model_of("a"), middleware=[middleware("x"), middleware("y")])
    return agent.invoke(USER)["k"]


def case_tools_of_middleware(env):
    class Brings(AgentMiddleware):
        tools = (mul,)

    class Makes(AgentMiddleware):
        def __init__(self):
            self.tools = [add]

    script = ai(call("mul", a=3, b=4)), ai(call("add", "2", a=3, b=4)), "done"
    return run([Brings(), Makes()], *script, tools=()), run([Brings()], *script, tools=[add, mul])


def case_a_counter(env):
    """State of middleware that lasts over the turns of a thread."""

    class Counted(AgentState):
        calls: NotRequired[Annotated[int, PrivateStateAttr]]

    class Count(AgentMiddleware):
        state_schema = Counted

        @hook_config(can_jump_to=["end"])
        def before_model(self, state, runtime):
            if state.get("calls", 0) >= 3:
                return {"jump_to": "end", "messages": [AIMessage("enough")]}

        def after_model(self, state, runtime):
            return {"calls": state.get("calls", 0) + 1}

    agent = create_agent(
        model_of(ONE, "one", "two"), [add], middleware=[Count()], checkpointer=env.saver()
    )
    found = [agent.invoke(USER, THREAD) for _ in range(3)]
    return found, agent.get_state(THREAD).values["calls"], picture(agent)


def case_breakpoints_at_hooks(env):
    agent = create_agent(
        model_of(ONE, "done"),
        [add],
        middleware=[all_hooks("A")],
        checkpointer=env.saver(),
        interrupt_before=["A.after_model"],
    )
    first = list(agent.stream(USER, THREAD))
    return first, agent.get_state(THREAD).next, list(agent.stream(None, THREAD))


def case_stream_values_and_custom(env):
    class Tells(AgentMiddleware):
        def before_model(self, state, runtime):
            runtime.stream_writer({"seen": len(state["messages"])})

    agent = create_agent(model_of(ONE, "done"), [add], middleware=[Tells(), all_hooks("A")])
    return list(agent.stream(USER, stream_mode=["values", "custom"]))


def case_requests(env):
    first = ModelRequest(model=None, messages=[HumanMessage("x")], system_prompt="a")
    second = first.override(system_prompt="b", tool_choice="any")
    return [
        (first.system_prompt, second.system_prompt, second.tool_choice, second.messages),
        first.override(system_prompt=None).system_message,
        env.error(lambda: first.override(nope=1)),
        env.error(lambda: first.override(system_prompt="a", system_message=SystemMessage("b"))),
        (first.tools, first.state, first.model_settings, first.response_format),
        first == ModelRequest(model=None, messages=[HumanMessage("x")], system_prompt="a"),
        ModelRequest(
            model=None,
            messages=[],
            system_message=SystemMessage([{"type": "text", "text": t} for t in "ab"]),
        ).system_prompt,
    ]


class Hears(BaseCallbackHandler):
    """Notes which chains start, by name."""

    def __init__(self):
        self.heard = []

    def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
        self.heard.append(name)


def case_callbacks(env):
    hears = Hears()
    around = wrap_model_call(name="W")(lambda request, handler: handler(request))
    agent = create_agent(model_of(ONE, "done"), [add], middleware=[all_hooks("A"), around])
    agent.invoke(USER, {"callbacks": [hears]})
    return hears.heard


def case_stream_messages(env):
    said = after_model(name="Said")(lambda state, runtime: {"messages": [AIMessage("also")]})
    agent = create_agent(model_of("done"), [add], middleware=[all_hooks("A"), said])
    parts = agent.stream(USER, stream_mode="messages")
    return [(one.type, one.content, meta["langgraph_node"]) for one, meta in parts]


def case_stream_tasks(env):
    agent = create_agent(model_of(ONE, "done"), [add], middleware=[all_hooks("A")])
    parts = agent.stream(USER, stream_mode="tasks")
    return [{k: v for k, v in part.items() if k != "metadata"} for part in parts]


async def case_stream_updates_with_updates_of_wrappers(env):
    @wrap_model_call(state_schema=Kept)
    async def keeps(request, handler):
        return ExtendedModelResponse(await handler(request), Command(update={"kept": ["x"]}))

    agent = create_agent(model_of(ONE, "done"), [add], middleware=[keeps])
    parts = agent.astream({**USER, "kept": []}, stream_mode=["updates", "values"])
    return [part async for part in parts]


def case_a_thread_with_hooks(env):
    agent = create_agent(
        model_of(ONE, "done", "again"), [add], middleware=[all_hooks("A")], checkpointer=env.saver()
    )
    agent.invoke(USER, THREAD)
    before = [one for one in agent.get_state_history(THREAD) if one.next == ("tools",)]
    replayed = agent.invoke(None, before[0].config)
    nexts = [one.next for one in agent.get_state_history(THREAD)]
    return replayed, nexts, agent.get_state(THREAD).metadata["step"]


def case_questions_in_hooks(env):
    @after_model
    def review(state, runtime):
        last = state["messages"][-1]
        if last.tool_calls:
            return None
        return {"messages": [AIMessage(interrupt(last.content), id=last.id)]}

    @wrap_model_call
    def allowed(request, handler):
        if len(request.messages) == 1 and interrupt("call the model?") != "yes":
            return AIMessage("not asked")
        return handler(request)

    found = []
    for number, answers in enumerate((["yes", "better"], ["no", "worse"])):
        config = {"configurable": {"thread_id": str(number)}}
        agent = create_agent(
            model_of(ONE, "draft"), [add], middleware=[review, allowed], checkpointer=env.saver()
        )
        found.append(agent.invoke(USER, config)["__interrupt__"][0].value)
        for answer in answers:
            result = agent.invoke(Command(resume=answer), config)
            found.append([one.value for one in result.get("__interrupt__", ())])
        found.append(told(result["messages"]))
    return found


def case_handoffs(env):
    """A tool that leads the graph around the agent elsewhere."""

    @tool
    def hand_over(to: str, id: Annotated[str, InjectedToolCallId]) -> Any:
        """Hand over."""
        done = ToolMessage(f"over to {to}", tool_call_id=id)
        return Command(goto=to, graph=Command.PARENT, update={"messages": [done]})

    first = create_agent(model_of(ai(call("hand_over", to="bob"))), [hand_over], name="ada")
    second = create_agent(model_of("I am Bob."), middleware=[all_hooks("A")], name="bob")
    builder = StateGraph(MessagesState)
    builder.add_node("ada", first, destinations=("bob",))
    builder.add_node("bob", second)
    builder.add_edge(START, "ada")
    graph = builder.compile(env.saver())
    return told(graph.invoke(USER, THREAD)["messages"]), graph.get_state(THREAD).next


def case_commands_of_tools_that_lead_on(env):
    @tool
    def stop(id: Annotated[str, InjectedToolCallId]) -> Any:
        """Stop."""
        done = ToolMessage("stopped", tool_call_id=id)
        return Command(update={"messages": [done], "jump_to": "end"})

    return run([], ai(call("stop")), "on", tools=[stop])
