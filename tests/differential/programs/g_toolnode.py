"""ToolNode and ValidationNode in graphs of their own: errors told, interceptors, states, async."""

import warnings
from dataclasses import replace
from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import (
    BaseTool,
    InjectedToolCallId,
    StructuredTool,
    ToolException,
    tool,
)
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime, ValidationNode
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

THREAD = {"configurable": {"thread_id": "1"}}
ALONE = {"configurable": {"__pregel_runtime": Runtime()}}


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def calls(*made):
    return {"messages": [AIMessage("", tool_calls=list(made))]}


def told(state):
    return [(m.content, m.name, m.status, m.tool_call_id) for m in state["messages"][1:]]


def graph_of(node, saver=None, schema=MessagesState, **options):
    graph = StateGraph(schema).add_node("tools", node).add_edge(START, "tools")
    return graph.compile(checkpointer=saver, **options)


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
async def aadd(a: int, b: int) -> int:
    """Add, later."""
    return a + b


@tool
def fail(kind: str) -> str:
    """Fail."""
    raise {"value": ValueError, "tool": ToolException, "key": KeyError}[kind](kind)


@tool
async def afail(kind: str) -> str:
    """Fail, later."""
    raise {"value": ValueError, "tool": ToolException, "key": KeyError}[kind](kind)


def by_value(error: ValueError) -> str:
    return f"value {error}"


def by_either(error: ValueError | KeyError) -> str:
    return f"either {error!r}"


HANDLERS = [
    True,
    False,
    "told",
    (ValueError,),
    ValueError,
    by_value,
    by_either,
    (KeyError, ValueError),
]


def case_handlers_in_a_graph(env):
    found = []
    for handler in HANDLERS:
        graph = graph_of(ToolNode([fail], handle_tool_errors=handler))
        for kind in ("value", "tool", "key"):
            given = calls(call("fail", kind=kind))
            found.append(env.error(lambda given=given: told(graph.invoke(given))))
    return found


async def case_handlers_in_a_graph_async(env):
    found = []
    for handler in HANDLERS:
        graph = graph_of(ToolNode([afail], handle_tool_errors=handler))
        for kind in ("value", "tool", "key"):
            given = calls(call("afail", kind=kind))

            async def run(graph=graph, given=given):
                return told(await graph.ainvoke(given))

            found.append(await env.aerror(run()))
    return found


def case_one_of_several_fails(env):
    node = ToolNode([add, fail], handle_tool_errors=True)
    made = call("add", a=1, b=2), call("fail", "2", kind="key"), call("add", "3", a="x", b=1)
    return told(graph_of(node).invoke(calls(*made)))


def case_tools_that_handle_their_own_errors(env):
    def careful(x: int) -> str:
        """Fail with care."""
        raise ToolException(f"no {x}")

    found = []
    for handled in (True, "own words", lambda error: f"made of {error}"):
        made = StructuredTool.from_function(careful, handle_tool_error=handled)
        found.append(told(graph_of(ToolNode([made])).invoke(calls(call("careful", x=1)))))
    checked = StructuredTool.from_function(careful, handle_validation_error="check it")
    found.append(told(graph_of(ToolNode([checked])).invoke(calls(call("careful", x="y")))))
    return found


class Shout(BaseTool):
    """A tool by derivation."""

    name: str = "shout"
    description: str = "Shout."

    def _run(self, text: str, state: Annotated[dict, InjectedState]) -> str:
        return f"{text.upper()} {len(state['messages'])}"


def case_derived_tools(env):
    return told(graph_of(ToolNode([Shout()])).invoke(calls(call("shout", text="a"))))


def case_schemas_that_name_injected_arguments(env):
    class Args(BaseModel):
        """Arguments."""

        x: int
        state: Annotated[Any, InjectedState]

    @tool(args_schema=Args)
    def peek(x: int, state: Any) -> str:
        """Peek."""
        return f"{x} {len(state['messages'])}"

    shown = sorted(peek.tool_call_schema.model_json_schema()["properties"])
    return shown, told(graph_of(ToolNode([peek])).invoke(calls(call("peek", x=1))))


def case_another_key_of_messages(env):
    class State(TypedDict):
        chat: Annotated[list, add_messages]
        user: str

    @tool
    def who(x: int, state: Annotated[dict, InjectedState]) -> str:
        """Who."""
        return f"{state['user']} {len(state['chat'])}"

    graph = graph_of(ToolNode([who], messages_key="chat"), schema=State)
    given = {"chat": [AIMessage("", tool_calls=[call("who", x=1)])], "user": "ada"}
    return [m.content for m in graph.invoke(given)["chat"]]


def case_pydantic_states(env):
    class State(BaseModel):
        messages: Annotated[list, add_messages]
        user: str = "ada"

    @tool
    def who(
        x: int, state: Annotated[Any, InjectedState], user: Annotated[str, InjectedState("user")]
    ) -> str:
        """Who."""
        return f"{type(state).__name__} {state.user} {user}"

    graph = graph_of(ToolNode([who]), schema=State)
    return [m.content for m in graph.invoke(calls(call("who", x=1)))["messages"]]


def case_states_that_lack_a_key(env):
    @tool
    def who(x: int, user: Annotated[str, InjectedState("user")]) -> str:
        """Who."""
        return user

    found = []
    for handler in (True, False):
        graph = graph_of(ToolNode([who], handle_tool_errors=handler))
        found.append(env.error(lambda graph=graph: told(graph.invoke(calls(call("who", x=1))))))
    return found


def case_lists_of_messages(env):
    @tool
    def count(x: int, state: Annotated[Any, InjectedState]) -> str:
        """Count."""
        return f"{x} {type(state).__name__} {len(state['messages'])}"

    node = ToolNode([count, add])
    messages = [HumanMessage("hi"), AIMessage("", tool_calls=[call("count", x=1)])]
    return node.invoke(messages, ALONE)


def case_stores(env):
    @tool
    def keep(x: int, store: Annotated[Any, InjectedStore()], runtime: ToolRuntime) -> str:
        """Keep."""
        store.put(("xs",), str(x), {"x": x})
        return f"{runtime.store.get(('xs',), str(x)).value}"

    graph = graph_of(ToolNode([keep]), store=env.store())
    return told(graph.invoke(calls(call("keep", x=1), call("keep", "2", x=2))))


def case_sent_calls(env):
    class State(MessagesState):
        user: str

    @tool
    def who(x: int, state: Annotated[dict, InjectedState]) -> str:
        """Who."""
        return f"{x} {state['user']} {sorted(state)}"

    def spread(state):
        made = state["messages"][-1].tool_calls
        return [Send("tools", [one]) for one in made]

    graph = StateGraph(State).add_node("tools", ToolNode([who]))
    graph.add_conditional_edges(START, spread, ["tools"])
    compiled = graph.compile(checkpointer=env.saver())
    given = {**calls(call("who", x=1), call("who", "2", x=2)), "user": "ada"}
    return told(compiled.invoke(given, THREAD))


def case_questions_in_one_node(env):
    @tool
    def ask(what: str) -> str:
        """Ask."""
        return interrupt(what)

    graph = graph_of(ToolNode([add, ask]), env.saver())
    asked = graph.invoke(calls(call("add", a=1, b=2), call("ask", "2", what="a")), THREAD)
    return asked["__interrupt__"][0].value, told(graph.invoke(Command(resume="yes"), THREAD))


async def case_questions_in_one_node_async(env):
    @tool
    async def ask(what: str) -> str:
        """Ask."""
        return interrupt(what)

    async with env.asaver() as saver:
        graph = graph_of(ToolNode([aadd, ask]), saver)
        given = calls(call("aadd", a=1, b=2), call("ask", "2", what="a"))
        asked = await graph.ainvoke(given, THREAD)
        end = await graph.ainvoke(Command(resume="yes"), THREAD)
        return asked["__interrupt__"][0].value, told(end)


def case_interceptors_in_a_graph(env):
    seen = []

    def retry(request, execute):
        for _ in range(3):
            seen.append(request.tool_call["id"])
            message = execute(request)
            if message.status != "error":
                return message
        return message

    def cached(request, execute):
        if request.tool_call["args"].get("a") == 1:
            return ToolMessage("cached", tool_call_id=request.tool_call["id"], name="cache")
        return execute(request)

    def update(request, execute):
        message = execute(request)
        return Command(update={"messages": [message], "n": 1})

    class State(MessagesState):
        n: int

    two = calls(call("add", a=1, b=2), call("add", "2", a=2, b=2))
    one, failing = calls(call("add", a=1, b=2)), calls(call("fail", kind="value"))
    retrying = ToolNode([fail], handle_tool_errors=True, wrap_tool_call=retry)
    return [
        told(graph_of(ToolNode([add], wrap_tool_call=cached)).invoke(two)),
        told(graph_of(retrying).invoke(failing)),
        seen,
        graph_of(ToolNode([add], wrap_tool_call=update), schema=State).invoke(one)["n"],
    ]


async def case_interceptors_in_a_graph_async(env):
    order = []

    async def around(request, execute):
        order.append(f"before {request.tool_call['id']}")
        message = await execute(request)
        order.append(f"after {request.tool_call['id']}")
        return message

    graph = graph_of(ToolNode([aadd, add], awrap_tool_call=around))
    given = calls(call("aadd", a=1, b=2), call("add", "2", a=2, b=2))
    return told(await graph.ainvoke(given)), sorted(order)


@tool
def note(note: Annotated[str, InjectedState("note")], runtime: ToolRuntime) -> str:
    """Read the state in two ways."""
    return f"{note} {runtime.state['note']}"


class Noted(MessagesState):
    note: str


def with_another_state(request):
    return request.override(state={**request.state, "note": "new"})


def with_a_runtime_of_its_own(request):
    stale = replace(request.runtime, state={**request.state, "note": "stale"})
    return with_another_state(request.override(runtime=stale))


def case_interceptors_that_give_another_state(env):
    def answers(given):
        node = ToolNode([note], wrap_tool_call=lambda request, execute: execute(given(request)))
        return told(graph_of(node, schema=Noted).invoke({**calls(call("note")), "note": "old"}))

    return [answers(with_another_state), answers(with_a_runtime_of_its_own)]


async def case_interceptors_that_give_another_state_async(env):
    async def around(request, execute):
        return await execute(with_a_runtime_of_its_own(request))

    graph = graph_of(ToolNode([note], awrap_tool_call=around), schema=Noted)
    return told(await graph.ainvoke({**calls(call("note")), "note": "old"}))


def case_interceptors_that_give_another_runtime(env):
    seen = []

    def around(request, execute):
        given = request.override(state={**request.state, "note": "given"})
        seen.extend(each.state["note"] for each in (given, given.runtime, request.runtime))
        runtime = replace(request.runtime, state={**request.state, "note": "runtime"})
        return execute(request.override(runtime=runtime))

    graph = graph_of(ToolNode([note], wrap_tool_call=around), schema=Noted)
    return told(graph.invoke({**calls(call("note")), "note": "old"})), seen


def assigning(name, value):
    """What a tool answers after an interceptor has assigned to its request, and the warnings."""

    def around(request, execute):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            setattr(request, name, value(request))
        categories.extend(each.category.__name__ for each in caught)
        return execute(request)

    categories = []
    graph = graph_of(ToolNode([note], wrap_tool_call=around), schema=Noted)
    return told(graph.invoke({**calls(call("note")), "note": "old"})), categories


def case_interceptors_that_assign_to_a_request(env):
    def runtime(request):
        return replace(request.runtime, state={**request.state, "note": "runtime"})

    return [
        assigning("tool_call", lambda request: {**request.tool_call, "id": "2"}),
        assigning("runtime", runtime),
        assigning("tool", lambda request: request.tool),
        assigning("mark", lambda request: 1),
    ]


def case_interceptors_that_assign_a_state(env):
    return assigning("state", lambda request: {**request.state, "note": "assigned"})


def case_interceptors_and_unknown_tools(env):
    def stand_in(request, execute):
        if request.tool is None:
            return execute(request.override(tool=add))
        return execute(request)

    node = ToolNode([add], wrap_tool_call=stand_in)
    return told(graph_of(node).invoke(calls(call("plus", a=1, b=2))))


def case_mixed_sync_and_async_tools(env):
    node = ToolNode([add, aadd])
    return env.error(lambda: graph_of(node).invoke(calls(call("aadd", a=1, b=2))))


async def case_mixed_sync_and_async_tools_async(env):
    node = ToolNode([add, aadd])
    given = calls(call("aadd", a=1, b=2), call("add", "2", a=3, b=4))
    return told(await graph_of(node).ainvoke(given))


def case_tools_stream(env):
    @tool
    def talk(n: int, runtime: ToolRuntime) -> str:
        """Talk."""
        runtime.emit_output_delta(f"part {n}")
        runtime.emit_output_delta({"n": n})
        return f"all {n}"

    graph = graph_of(ToolNode([talk, add, fail], handle_tool_errors=(KeyError,)))
    given = calls(call("talk", n=1))
    found = [
        list(graph.stream(given, stream_mode="tools")),
        list(graph.stream(calls(call("add", a=1, b=2)), stream_mode=["tools", "updates"])),
        list(graph.stream(calls(call("fail", kind="key")), stream_mode="tools")),
    ]
    failing = []
    stream = graph.stream(calls(call("fail", kind="value")), stream_mode="tools")
    return [*found, env.error(lambda: [failing.append(one) for one in stream]), failing]


def case_tools_stream_of_an_agent(env):
    @tool
    def ask(what: str) -> str:
        """Ask."""
        return interrupt(what)

    def model(state):
        made = [call("add", a=1, b=2), call("ask", "2", what="a")]
        return {"messages": [AIMessage("", tool_calls=made)]}

    graph = (
        StateGraph(MessagesState).add_node("model", model).add_node("tools", ToolNode([add, ask]))
    )
    graph.add_edge(START, "model").add_edge("model", "tools")
    compiled = graph.compile(checkpointer=env.saver())
    first = compiled.stream({"messages": []}, THREAD, stream_mode=["tools", "updates"])
    found = [part.get("event", sorted(part)) for _, part in first]
    second = compiled.stream(Command(resume="x"), THREAD, stream_mode="tools")
    found += [(part["event"], part["tool_call_id"]) for part in second]
    return sorted(map(str, found))


async def case_tools_stream_async(env):
    @tool
    async def talk(n: int, runtime: ToolRuntime) -> str:
        """Talk."""
        runtime.emit_output_delta(f"part {n}")
        return f"all {n}"

    inner = graph_of(ToolNode([talk, add]))
    outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner").compile()
    found = []
    for subgraphs in (False, True):
        given = calls(call("talk", n=1))
        async for part in outer.astream(given, stream_mode=["tools"], subgraphs=subgraphs):
            found.append(part[1:] if subgraphs else part)
    return found


def case_tools_stream_of_tools_in_nodes(env):
    def node(state):
        add.invoke({"a": 1, "b": 2})
        return {"messages": [add.invoke(call("add", "9", a=1, b=2))]}

    graph = graph_of(node)
    return list(graph.stream(calls(), stream_mode="tools"))


# --- ValidationNode ------------------------------------------------------------------------------


class Select(BaseModel):
    """A number."""

    a: int

    @field_validator("a")
    @classmethod
    def must_be_meaningful(cls, value):
        if value != 37:
            raise ValueError("Only 37 is allowed")
        return value


def case_validation_until_it_fits(env):
    script = [call("Select", str(n), a=a) for n, a in enumerate((1, "x", 37))]

    def model(state):
        return {"messages": [AIMessage("", tool_calls=[script.pop(0)])]}

    def again(state):
        for message in reversed(state["messages"]):
            if message.type == "ai":
                return END
            if message.additional_kwargs.get("is_error"):
                return "model"
        return END

    graph = StateGraph(MessagesState)
    graph.add_node("model", model).add_node("validation", ValidationNode([Select]))
    graph.add_edge(START, "model").add_edge("model", "validation")
    graph.add_conditional_edges("validation", again)
    final = graph.compile(checkpointer=env.saver()).invoke({"messages": [("user", "x")]}, THREAD)
    return [(m.type, m.name, bool(m.additional_kwargs.get("is_error"))) for m in final["messages"]]


async def case_validation_async(env):
    node = ValidationNode([Select, add], name="check", tags=["t"])
    given = calls(call("Select", a=37), call("add", "2", a=1, b=2))
    return await node.ainvoke(given), node.name, node.tags


def case_validation_with_words_of_its_own(env):
    def words(error, made, schema):
        return f"{made['name']} {schema.__name__} {type(error).__name__}"

    node = ValidationNode([Select, add], format_error=words)
    return node.invoke(calls(call("Select", a=1), call("add", "2", a="x", b=2)))


class Order(TypedDict):
    messages: Annotated[list, add_messages]
    password: str
    paid: bool


def case_injected_arguments_that_do_not_fit(env):
    @tool
    def ship(where: str, state: Annotated[Order, InjectedState]) -> str:
        """Ship."""
        return where

    builder = StateGraph(Order).add_node("tools", ToolNode([ship])).add_edge(START, "tools")
    call = {"name": "ship", "args": {"where": "Oslo"}, "id": "1"}
    given = {"messages": [AIMessage("", tool_calls=[call])], "password": "s3cret"}
    told = builder.compile().invoke(given)["messages"][-1]
    return told.status, "s3cret" in told.content, told.content.count("paid")


async def case_events_of_a_tool_that_gives_a_list(env):
    @tool
    def names() -> list:
        """Names."""
        return ["ann", "bob"]

    app = graph_of(ToolNode([names]))
    events = [e async for e in app.astream_events(calls(call("names")), version="v2")]
    told = [e["data"]["output"].content for e in events if e["event"] == "on_tool_end"]
    return told, app.invoke(calls(call("names")))["messages"][-1].content


class Paid(MessagesState):
    paid: int


def case_injected_arguments_that_may_be_none(env):
    @tool
    def first(runtime: ToolRuntime | None = None) -> str:
        """Of the runtime."""
        return f"{runtime.state['paid']} {runtime.tool_call_id}"

    @tool
    def second(its: Annotated[dict, InjectedState] | str = "none") -> str:
        """Of the state."""
        return f"{its['paid']}"

    @tool
    def third(kept: Annotated[BaseStore, InjectedStore()] | None = None) -> str:
        """Of the store."""
        return f"{kept.get(('a',), 'b').value}"

    node = ToolNode([first, second, third])
    asked = [call("first"), call("second", "2", its="forged"), call("third", "3")]
    store = InMemoryStore()
    store.put(("a",), "b", {"c": 1})
    app = graph_of(node, schema=Paid, store=store)
    return told(app.invoke({**calls(*asked), "paid": 3}))


def case_what_is_shown_of_arguments_that_may_be_none(env):
    @tool
    def find(
        what: str,
        key: Annotated[int, InjectedState("paid")] | None = None,
        its_id: Annotated[str, InjectedToolCallId] | None = None,
    ) -> str:
        """Find."""
        return f"{key} {its_id}"

    done = graph_of(ToolNode([find]), schema=Paid).invoke(
        {**calls(call("find", what="x")), "paid": 3}
    )
    return sorted(find.tool_call_schema.model_json_schema()["properties"]), told(done)


def case_a_config_that_may_be_none(env):
    @tool
    def find(what: str, config: RunnableConfig | None = None) -> str:
        """Find."""
        return f"{config is None}"

    return sorted(find.args), told(graph_of(ToolNode([find])).invoke(calls(call("find", what="x"))))
