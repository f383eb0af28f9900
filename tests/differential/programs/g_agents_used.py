"""Agents as programs use them: several features in one agent, and tools of all shapes."""

import operator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Optional

from langchain.agents import AgentState as CreateAgentState
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    after_model,
    before_agent,
    before_model,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import (
    InjectedState,
    InjectedStore,
    ToolNode,
    create_react_agent,
    tools_condition,
)
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .scripted import Scripted, add, ai, call, model_of

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"{what}: {interrupt({'what': what})}"


# --- tools of all shapes -------------------------------------------------------------------------


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    name: str
    count: int = Field(default=1, ge=1)


@tool
def order(
    items: list[Item],
    by: date,
    color: Color = Color.RED,
    how: Literal["fast", "slow"] = "slow",
    note: Optional[str] = None,  # noqa: UP045
    state: Annotated[dict, InjectedState] = None,  # noqa: RUF013
) -> dict:
    """Order things."""
    said = len(state["messages"]) if state else None
    names = [f"{one.count} {one.name}" for one in items]
    return {"items": names, "by": by.isoformat(), "color": color.value, "how": how, "said": said}


def case_arguments_of_all_kinds(env):
    good = call("order", items=[{"name": "a"}, {"name": "b", "count": 2}], by="2026-01-02")
    colored = call("order", "2", items=[], by="2026-01-02", color="blue", how="fast", note="n")
    wrong = call("order", "3", items=[{"name": "a", "count": 0}], by="never", how="so")
    extra = call("order", "4", items=[], by="2026-01-02", state={"messages": []}, unknown=1)
    agent = create_react_agent(model_of(ai(good, colored, wrong, extra)), [order])
    messages = agent.invoke(USER)["messages"]
    told = {m.tool_call_id: m.content for m in messages if m.type == "tool" and m.status != "error"}
    return told, [(m.type, getattr(m, "status", None)) for m in messages]


def case_tools_that_say_how_they_fail(env):
    def fails(text: str) -> str:
        """Fail."""
        raise ToolException(f"no {text}")

    def made(name, handle):
        return StructuredTool.from_function(
            fails, name=name, description="Fail.", handle_tool_error=handle
        )

    tools = [
        made("plain", True),
        made("text", "told"),
        made("function", lambda error: f"because {error}"),
    ]
    calls = [call(one.name, str(place), text="x") for place, one in enumerate(tools)]
    silent = create_react_agent(model_of(ai(call("raises", text="x"))), [made("raises", False)])
    return (
        create_react_agent(model_of(ai(*calls)), tools).invoke(USER),
        env.error(lambda: silent.invoke(USER)),
    )


def case_tools_with_json_schemas(env):
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    weather = StructuredTool(
        name="weather",
        description="Weather.",
        args_schema=schema,
        func=lambda **given: sorted(given.items()),
    )
    calls = ai(call("weather", city="Oslo", days=2), call("weather", "2", city="Rome"))
    return create_react_agent(model_of(calls), [weather]).invoke(USER)


def case_errors_by_their_kind(env):
    def told(error: ValueError | KeyError) -> str:
        return f"{type(error).__name__} was handled"

    @tool
    def fails(kind: str) -> str:
        """Fail."""
        raise {"value": ValueError, "key": KeyError, "type": TypeError}[kind](kind)

    node = ToolNode([fails], handle_tool_errors=told)

    def run(kind):
        return node.invoke([call("fails", kind=kind)])

    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()

    def inside(kind):
        return graph.invoke({"messages": [ai(call("fails", kind=kind))]})

    return [env.error(lambda kind=kind: inside(kind)) for kind in ("value", "key", "type")]


# --- graphs around tools -------------------------------------------------------------------------


def case_a_loop_whose_messages_have_another_name(env):
    class State(TypedDict):
        chat: Annotated[list, operator.add]
        log: Annotated[list, operator.add]

    @tool
    def note(text: str, id: Annotated[str, InjectedToolCallId]) -> Command:
        """Note."""
        return Command(update={"chat": [ToolMessage("noted", tool_call_id=id)], "log": [text]})

    model = model_of(ai(call("note", text="a"), call("add", "2", a=1, b=2)), "done")

    def llm(state):
        return {"chat": [model.invoke(state["chat"])]}

    builder = StateGraph(State)
    builder.add_node("llm", llm)
    builder.add_node("retrieve", ToolNode([note, add], messages_key="chat"))
    builder.set_entry_point("llm")
    builder.add_conditional_edges(
        "llm",
        lambda state: tools_condition(state, messages_key="chat"),
        {"tools": "retrieve", END: END},
    )
    builder.add_edge("retrieve", "llm")
    state = builder.compile().invoke({"chat": [HumanMessage("hi")], "log": []})
    return [(m.type, m.content) for m in state["chat"]], state["log"]


def case_tools_that_send_their_parent_on(env):
    class State(MessagesState):
        seen: Annotated[list, operator.add]

    @tool
    def fan(n: int, state: Annotated[dict, InjectedState], id: Annotated[str, InjectedToolCallId]):
        """Fan out."""
        said = [*state["messages"], ToolMessage("sent", tool_call_id=id)]
        return Command(
            graph=Command.PARENT,
            goto=[Send("worker", {"n": each}) for each in range(n)],
            update={"messages": said},
        )

    agent = create_react_agent(model_of(ai(call("fan", n=3))), [fan], name="agent")
    builder = StateGraph(State)
    builder.add_node("agent", agent, destinations=("worker",))
    builder.add_node("worker", lambda given: {"seen": [given["n"]]})
    builder.add_edge(START, "agent")
    return builder.compile().invoke({**USER, "seen": []})


def case_a_question_deep_inside(env):
    inner = create_react_agent(
        model_of(ai(call("ask", what="a"), call("ask", "2", what="b")), "inner done"), [ask]
    )

    def outer(state):
        result = inner.invoke({"messages": state["messages"]})
        return {"messages": [AIMessage(result["messages"][-1].content)]}

    builder = StateGraph(MessagesState).add_node("outer", outer).add_edge(START, "outer")
    graph = builder.compile(checkpointer=env.saver())
    asked = graph.invoke(USER, THREAD)["__interrupt__"]
    values = sorted(one.value["what"] for one in asked)
    answers = {one.id: one.value["what"].upper() for one in asked}
    return values, graph.invoke(Command(resume=answers), THREAD)


# --- agents with several features ----------------------------------------------------------------


def case_a_call_is_edited_at_a_breakpoint(env):
    results = []
    for version in ("v1", "v2"):
        agent = create_react_agent(
            model_of(ai(call("add", a=1, b=2)), "done"),
            [add],
            version=version,
            checkpointer=env.saver(version),
            interrupt_before=["tools"],
        )
        agent.invoke(USER, THREAD)
        state = agent.get_state(THREAD)
        last = state.values["messages"][-1]
        changed = last.model_copy(update={"tool_calls": [call("add", a=40, b=2)]})
        agent.update_state(THREAD, {"messages": [changed]})
        results.append((state.next, agent.get_state(THREAD).next, agent.invoke(None, THREAD)))
    return results


class Answer(BaseModel):
    total: int


class Structured(Scripted):
    def with_structured_output(self, schema, **kwargs):
        return self.bind(form=schema.__name__) | (lambda message: schema(total=len(message.text)))


def case_a_form_a_hook_and_a_question(env):
    def trimmed(state):
        return {"llm_input_messages": state["messages"][-2:]}

    def checked(state):
        return {"checks": 1}

    class State(AgentState):
        checks: Annotated[int, operator.add]
        structured_response: Any

    model = Structured(script=[ai(call("ask", what="a")), "done", "form"], seen=[])
    agent = create_react_agent(
        model,
        [ask],
        pre_model_hook=trimmed,
        post_model_hook=checked,
        response_format=("In a form.", Answer),
        state_schema=State,
        checkpointer=env.saver(),
    )
    asked = agent.invoke({**USER, "checks": 0}, THREAD)
    done = agent.invoke(Command(resume="yes"), THREAD)
    return [one.value for one in asked["__interrupt__"]], done, model.seen


def case_an_answer_in_a_form_is_stored(env):
    results = []
    for n, form in enumerate((Answer, ("In a form.", Answer))):
        model = Structured(script=["done", "form"], seen=[])
        thread = {"configurable": {"thread_id": str(n)}}
        create_react_agent(model, [], response_format=form, checkpointer=env.saver()).invoke(
            USER, thread
        )
        again = create_react_agent(model, [], response_format=form, checkpointer=env.saver())
        results.append(again.get_state(thread).values)
    return results


def case_a_history_is_cut_and_goes_on(env):
    def short(state):
        old = state["messages"][:-1]
        return (
            {"messages": [RemoveMessage(id=one.id) for one in old]}
            if len(old) > 2
            else {"messages": []}
        )

    model = model_of("a", "b", "c", "d")
    agent = create_react_agent(model, [], pre_model_hook=short, checkpointer=env.saver())
    for n in range(4):
        agent.invoke({"messages": [("user", str(n))]}, THREAD)
    return agent.get_state(THREAD).values, [said for said, _ in model.seen]


@dataclass
class Context:
    name: str
    strict: bool = False


def case_what_tools_write_and_read(env):
    @tool
    def remember(what: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Remember."""
        get_stream_writer()({"remembering": what})
        store.put(("facts",), what, {"text": what})
        return f"{len(store.search(('facts',)))} facts"

    agent = create_agent(
        model_of(ai(call("remember", what="a")), ai(call("remember", what="b")), "done"),
        [remember],
        store=env.store(),
        context_schema=Context,
    )
    parts = agent.stream(USER, context=Context("x"), stream_mode=["custom", "updates"])
    return list(parts)


def case_hooks_that_shape_a_turn(env):
    class State(CreateAgentState):
        turns: Annotated[int, operator.add]
        plan: str

    @before_agent(state_schema=State)
    def planned(state, runtime):
        return {"plan": f"for {runtime.context.name}"}

    @before_model(state_schema=State)
    def counted(state, runtime):
        return {"turns": 1}

    @wrap_model_call
    def told(request, handler):
        prompt = f"{request.system_prompt} {request.state['plan']} turn {request.state['turns']}"
        return handler(request.override(system_prompt=prompt))

    @wrap_tool_call
    def doubled(request, handler):
        first, second = handler(request), handler(request)
        return second.model_copy(update={"content": f"{first.content} {second.content}"})

    model = model_of(ai(call("add", a=1, b=2)), "done")
    agent = create_agent(
        model,
        [add],
        system_prompt="S",
        middleware=[planned, counted, told, doubled],
        context_schema=Context,
    )
    return agent.invoke({**USER, "turns": 0}, context={"name": "Bo"}), model.seen


def case_a_model_that_is_not_asked(env):
    class Cached(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            if request.messages[-1].type == "human":
                return ai(call("add", a=1, b=2), text="cached")
            return handler(request)

    model = model_of("done")
    return create_agent(model, [add], middleware=[Cached()]).invoke(USER), model.seen


def case_another_tool_runs_in_its_place(env):
    @tool
    def times(a: int, b: int) -> int:
        """Multiply."""
        return a * b

    @wrap_tool_call
    def swapped(request, handler):
        return handler(request.override(tool=times))

    agent = create_agent(model_of(ai(call("add", a=3, b=4)), "done"), [add], middleware=[swapped])
    return agent.invoke(USER)


def case_a_hook_calls_tools(env):
    @before_model(can_jump_to=["tools"])
    def first(state, runtime):
        if len(state["messages"]) == 1:
            return {"messages": [ai(call("add", a=1, b=2))], "jump_to": "tools"}

    model = model_of("done")
    return create_agent(model, [add], middleware=[first]).invoke(USER), model.seen


def case_a_hook_sends_the_model_back(env):
    @after_model(can_jump_to=["model"])
    def strict(state, runtime):
        if "please" not in state["messages"][-1].text:
            return {"messages": [HumanMessage("Say please.")], "jump_to": "model"}

    model = model_of("no", "please")
    return create_agent(model, middleware=[strict]).invoke(USER), model.seen


def case_a_thread_is_forked(env):
    agent = create_agent(
        model_of(ai(call("add", a=1, b=2)), "three", "other"), [add], checkpointer=env.saver()
    )
    agent.invoke(USER, THREAD)
    history = list(agent.get_state_history(THREAD))
    before = next(
        one for one in history if one.next == ("model",) and len(one.values["messages"]) == 3
    )
    fork = agent.update_state(
        before.config, {"messages": [ToolMessage("30", tool_call_id="1", name="add")]}, "tools"
    )
    again = agent.invoke(None, fork)
    kinds = [(one.metadata["source"], one.next) for one in agent.get_state_history(THREAD)]
    return [(m.type, m.content) for m in again["messages"]], kinds


def case_an_agent_is_a_tool_of_another(env):
    inner = create_agent(model_of(ai(call("add", a=1, b=2)), "inner: 3"), [add], name="inner")

    @tool
    def delegate(task: str) -> str:
        """Delegate."""
        return inner.invoke({"messages": [("user", task)]})["messages"][-1].text

    outer = create_agent(model_of(ai(call("delegate", task="add")), "outer done"), [delegate])
    parts = [
        (len(ns), sorted(part))
        for ns, part in outer.stream(USER, subgraphs=True, stream_mode="updates")
    ]
    return parts


def case_steps_run_out_inside_a_tool(env):
    endless = create_react_agent(
        model_of(*[ai(call("add", str(n), a=n, b=n)) for n in range(20)]), [add]
    )

    @tool
    def delegate(task: str) -> str:
        """Delegate."""
        return endless.invoke({"messages": [("user", task)]}, {"recursion_limit": 6})["messages"][
            -1
        ].text

    outer = create_react_agent(model_of(ai(call("delegate", task="add")), "done"), [delegate])
    return outer.invoke(USER)


async def case_async_tools_beside_sync_ones(env):
    @tool
    async def later(n: int) -> int:
        """Later."""
        return n + 1

    agent = create_agent(
        model_of(ai(call("later", n=1), call("add", "2", a=1, b=2)), "done"), [later, add]
    )
    parts = [part async for part in agent.astream(USER, stream_mode="values")]
    return [[(m.type, m.content) for m in part["messages"]] for part in parts]
