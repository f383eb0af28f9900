"""ToolNode, tools_condition, ValidationNode: inputs, errors, results, injection, interceptors."""

from dataclasses import replace
from typing import Annotated, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import (
    InjectedState,
    InjectedStore,
    ToolNode,
    ToolRuntime,
    ValidationNode,
    tools_condition,
)
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.runtime import Runtime
from langgraph.types import Command, Send
from pydantic import BaseModel

ALONE = {"configurable": {"__pregel_runtime": Runtime()}}


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def calls(*made):
    return [AIMessage("", tool_calls=list(made))]


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def boom(a: int) -> int:
    """Fail."""
    raise ValueError("no")


@tool
def whole(a: int, state: Annotated[Any, InjectedState]) -> Any:
    """The state."""
    return sorted(state) if isinstance(state, dict) else type(state).__name__


@tool
def part(a: int, foo: Annotated[str, InjectedState("foo")]) -> str:
    """A key of the state."""
    return foo


@tool
def stored(a: int, store: Annotated[Any, InjectedStore()]) -> str:
    """The store."""
    return store.get(("n",), "k").value["v"]


@tool
def runtime_of(a: int, runtime: ToolRuntime) -> str:
    """The runtime."""
    known = runtime.tool_call_id, runtime.context, runtime.store, len(runtime.tools)
    return f"{known} {sorted(runtime.state)}"


@tool
def hidden(a: int, secret: Annotated[str, InjectedToolArg] = "kept") -> str:
    """An argument that nobody fills."""
    return secret


TOOLS = [add, boom, whole, part, stored, runtime_of, hidden]


def run(given, **options):
    return ToolNode(TOOLS, **options).invoke(given, ALONE)


def case_forms_of_the_input(env):
    one = call("add", a=1, b=2)
    return [
        run([one]),
        run(calls(one)),
        run({"messages": calls(one)}),
        run({"messages": calls(one, call("add", "2", a=3, b=4))}),
        run([AIMessage("x")]),
        run([*calls(one), HumanMessage("later")]),
        run({"__type": "tool_call_with_context", "tool_call": one, "state": {}}),
        run({"m": calls(one)}, messages_key="m"),
    ]


async def case_forms_of_the_input_async(env):
    one = call("add", a=1, b=2)
    node = ToolNode(TOOLS)
    return [
        await node.ainvoke([one], ALONE),
        await node.ainvoke(calls(one, call("nope", "2")), ALONE),
        await node.ainvoke({"messages": calls(one)}, ALONE),
        await env.aerror(node.ainvoke(calls(call("boom", a=1)), ALONE)),
    ]


def case_inputs_without_calls(env):
    wrong = [{}, [HumanMessage("x")], {"messages": []}, "x"]
    return [env.error(lambda given=given: run(given)) for given in wrong]


def case_unknown_tools(env):
    return [run([call("zip", a=1)]), run([call("zip", a=1)], handle_tool_errors=False)]


def on_value(error: ValueError) -> str:
    return f"value {error}"


def on_union(error: ValueError | KeyError) -> str:
    return "union"


def on_key(error: KeyError) -> str:
    return "key"


def on_invocation(error: ToolInvocationError) -> str:
    return f"{error.tool_name} {error.tool_kwargs} {len(error.filtered_errors)}"


class Handler:
    def handle(self, error: ValueError) -> str:
        return "method"


def case_errors(env):
    kinds = (True, False, "told", ValueError, KeyError, (ValueError,), (KeyError, ValueError))
    functions = (on_value, on_union, on_key, on_invocation, Handler().handle, lambda e: f"any {e}")
    made = call("boom", a=1), call("boom", a="x"), call("part", a="x", foo="model")
    results = [run([made[1]])]
    results += [env.error(lambda: run([made[0]]))]
    for handler in (*kinds, *functions):
        results += [env.error(lambda h=handler, m=m: run([m], handle_tool_errors=h)) for m in made]
    return results


def case_handlers_that_are_none(env):
    def on_dict(error: dict) -> str:
        return "never"

    return [
        env.error(lambda h=h: run([call("boom", a=1)], handle_tool_errors=h)) for h in (5, on_dict)
    ]


def case_handlers_that_are_refused_when_the_node_is_made(env):
    return [env.error(lambda h=h: type(ToolNode(TOOLS, handle_tool_errors=h))) for h in (5, {1})]


def case_handlers_that_say_nothing(env):
    given = ("", [], (), 0, None, False)
    return [env.error(lambda h=h: run([call("boom", a=1)], handle_tool_errors=h)) for h in given]


def case_injected_arguments(env):
    state = {"messages": calls(call("whole", a=1), call("part", "2", a=1, foo="model")), "foo": "F"}
    return [
        run(state),
        run(calls(call("whole", a=1))),
        run([call("whole", a=1)]),
        run([call("runtime_of", a=1)]),
        run({"messages": calls(call("runtime_of", a=1, runtime="model"))}),
        run([call("hidden", a=1)]),
        env.error(lambda: run({"messages": calls(call("part", a=1))})),
        env.error(lambda: run(calls(call("part", a=1)))),
        env.error(lambda: run([call("stored", a=1)])),
        env.error(lambda: run([call("stored", a=1)], handle_tool_errors=True)),
        [sorted(one.args) for one in TOOLS],
    ]


def case_tool_calls_that_are_sent(env):
    class State(MessagesState):
        foo: str

    @tool
    def plain(a: int, runtime) -> str:
        """A runtime by its name."""
        return f"{sorted(runtime.state)} {runtime.tool_call_id}"

    def route(state):
        return [Send("tools", [one]) for one in state["messages"][-1].tool_calls]

    graph = StateGraph(State).add_node("model", lambda state: {"foo": "new"})
    graph.add_node("tools", ToolNode([whole, part, plain])).add_edge(START, "model")
    compiled = graph.add_conditional_edges("model", route, ["tools"]).compile()
    made = call("whole", a=1), call("part", "2", a=1), call("plain", "3", a=1)
    return compiled.invoke({"messages": calls(*made), "foo": "old"})


def case_states_that_are_objects(env):
    class State(BaseModel):
        messages: list
        foo: str = "F"

    return run(State(messages=calls(call("part", a=1), call("whole", "2", a=1))))


def case_store_and_context_of_a_graph(env):
    store = env.store()
    store.put(("n",), "k", {"v": "from the store"})

    @tool
    def context(a: int, runtime: ToolRuntime) -> str:
        """The context."""
        runtime.stream_writer(a)
        return f"{runtime.context} {runtime.store is not None} {runtime.execution_info is not None}"

    graph = StateGraph(MessagesState, context_schema=dict)
    graph.add_node("tools", ToolNode([stored, context])).add_edge(START, "tools")
    compiled = graph.compile(store=store)
    given = {"messages": calls(call("stored", a=1), call("context", "2", a=1))}
    return list(compiled.stream(given, context={"u": 1}, stream_mode=["custom", "updates"]))


@tool
def results(kind: str, id: Annotated[str, InjectedToolCallId]) -> Any:
    """All that a tool may return."""
    mine = ToolMessage("ok", tool_call_id=id)
    other = ToolMessage("ok", tool_call_id="other")
    parent = Command.PARENT
    return {
        "dict": Command(update={"messages": [mine], "x": 1}),
        "list": Command(update=[mine]),
        "no_message": Command(update={"x": 1}),
        "goto": Command(goto="b"),
        "parent": Command(graph=parent, goto="b"),
        "parent_no_message": Command(graph=parent, goto="b", update={"x": 1}),
        "parent_message": Command(graph=parent, goto="b", update={"messages": [mine]}),
        "parent_send": Command(graph=parent, goto=[Send("b", {"x": id})]),
        "wrong": Command(update={"messages": [other]}),
        "two": Command(update={"messages": [mine, other]}),
        "clear": Command(update={"messages": [RemoveMessage("__remove_all__")]}),
        "clear_and": Command(
            update={"messages": [RemoveMessage("__remove_all__"), HumanMessage("x")]}
        ),
        "commands": [Command(update={"messages": [mine]}), Command(update={"x": 1})],
        "no_answer": [Command(update={"x": 1}), Command(update={"x": 2})],
        "two_answers": [Command(update={"messages": [mine]}), Command(update={"messages": [mine]})],
        "message_and": [mine, Command(update={"x": 1})],
        "messages": [mine, mine],
        "foreign_and": [other, Command(update={"x": 1})],
        "message": other,
        "signed": ToolMessage("own", tool_call_id=id, name="signed"),
        "empty": [],
        "text": "s",
        "number": 3,
        "json": {"é": 1},
        "blocks": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": "u"}],
        "mixed": ["a", {"type": "text", "text": "b"}],
        "set": {1},
        "nothing": Command(),
        "dicts": Command(
            update={"messages": [{"role": "tool", "content": "x", "tool_call_id": id}]}
        ),
    }[kind]


KINDS = """
    dict list no_message goto parent parent_no_message parent_message parent_send wrong two clear
    clear_and commands no_answer two_answers message_and messages foreign_and signed empty text
    number json blocks mixed set nothing dicts
""".split()


def given_results(*kinds):
    return calls(*(call("results", str(n), kind=kind) for n, kind in enumerate(kinds)))


def case_results(env):
    node = ToolNode([results])
    found = []
    for kind in KINDS:
        made = given_results(kind)
        for given in ({"messages": made}, made, [call("results", kind=kind)]):
            found.append((kind, env.error(lambda given=given: node.invoke(given, ALONE))))
    return found


def case_a_message_that_answers_another_call(env):
    made = calls(call("results", kind="message"))
    wrapped = ToolNode(
        [results], wrap_tool_call=lambda request, run: ToolMessage("x", tool_call_id="2")
    )
    nodes = ToolNode([results]), ToolNode([results], handle_tool_errors=True), wrapped
    return [env.error(lambda node=node: node.invoke(made, ALONE)) for node in nodes]


def case_a_tool_put_in_place_of_one_of_its_name(env):
    @tool
    def size(x: int) -> str:
        """Needs nothing of the state."""
        return f"{x} of nothing"

    needs_nothing = size

    @tool("size")
    def needs_messages(x: int, messages: Annotated[list, InjectedState("messages")]) -> str:
        """Needs the messages."""
        return f"{x} of {len(messages)}"

    found = []
    for there, other in ((needs_nothing, needs_messages), (needs_messages, needs_nothing)):
        seen = []
        node = ToolNode(
            [there], wrap_tool_call=lambda r, run, other=other: run(r.override(tool=other))
        )
        heard = Heard(seen)
        told = node.invoke({"messages": calls(call("size", x=1))}, {**ALONE, "callbacks": [heard]})
        found.append((told["messages"][0].content, told["messages"][0].status, seen))
    return found


def case_a_name_and_a_config_that_an_interceptor_changes(env):
    @tool
    def look(what: str, config: RunnableConfig) -> str:
        """Look."""
        return f"{what} for {config['configurable'].get('user')}"

    def mend(request, run):
        return run(request.override(tool_call={**request.tool_call, "name": "look"}))

    def name_user(request, run):
        config = request.runtime.config
        config = {**config, "configurable": {**config["configurable"], "user": "ada"}}
        return run(request.override(runtime=replace(request.runtime, config=config)))

    found = []
    for wrap, name in ((mend, "lok"), (name_user, "look")):
        node = ToolNode([look], wrap_tool_call=wrap)
        graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
        given = {"messages": calls(call(name, what="a"))}
        found.append(env.error(lambda: graph.invoke(given)["messages"][-1].content))
    return found


class Heard(BaseCallbackHandler):
    """Notes the names of the arguments that tools are started with."""

    def __init__(self, seen):
        self.seen = seen

    def on_tool_start(self, serialized, input_str, *, inputs=None, **kwargs):
        self.seen.append(sorted(inputs))


def case_a_command_with_one_message(env):
    @tool
    def one(id: Annotated[str, InjectedToolCallId]) -> Any:
        """Writes a message, and no list of them."""
        return Command(update={"messages": ToolMessage("ok", tool_call_id=id)})

    return env.error(lambda: ToolNode([one]).invoke({"messages": calls(call("one"))}, ALONE))


def case_several_results(env):
    node = ToolNode([results])
    several = [
        ("text", "dict", "number"),
        ("parent_send", "parent_send", "text"),
        ("parent_send", "parent_message", "parent_send"),
        ("commands", "message_and"),
    ]
    return [node.invoke({"messages": given_results(*kinds)}, ALONE) for kinds in several]


def case_commands_in_a_graph(env):
    class State(MessagesState):
        x: int

    graph = StateGraph(State)
    graph.add_node("tools", ToolNode([results])).add_edge(START, "tools")
    compiled = graph.compile()
    several = [("text", "dict"), ("commands", "number"), ("message_and",)]
    return [compiled.invoke({"messages": given_results(*kinds), "x": 0}) for kinds in several]


def case_artifacts(env):
    @tool(response_format="content_and_artifact")
    def search(q: str) -> tuple:
        """Search."""
        return f"hits of {q}", [1, 2]

    return ToolNode([search]).invoke([call("search", q="a")], ALONE)


def case_interceptors(env):
    def change(request, execute):
        known = request.tool.name, sorted(request.state), request.runtime.tool_call_id
        args = {**request.tool_call["args"], "b": 40}
        message = execute(request.override(tool_call={**request.tool_call, "args": args}))
        return message.model_copy(update={"content": f"{known} {message.content}"})

    def answer(request, execute):
        kind = None if request.tool is None else request.tool.name
        return ToolMessage(f"cached {kind}", tool_call_id=request.tool_call["id"])

    def fail(request, execute):
        raise KeyError("interceptor")

    def again(request, execute):
        try:
            return execute(request)
        except ValueError:
            return execute(request.override(tool=add, tool_call=call("add", a=1, b=1)))

    one = {"messages": calls(call("add", a=1, b=2))}
    return [
        ToolNode(TOOLS, wrap_tool_call=change).invoke(one, ALONE),
        ToolNode(TOOLS, wrap_tool_call=answer).invoke([call("unknown")], ALONE),
        ToolNode(TOOLS, wrap_tool_call=lambda r, e: e(r)).invoke([call("unknown")], ALONE),
        ToolNode(TOOLS, wrap_tool_call=again).invoke([call("boom", a=1)], ALONE),
        ToolNode(TOOLS, wrap_tool_call=lambda r, e: Command(goto="b")).invoke(one, ALONE),
        env.error(lambda: ToolNode(TOOLS, wrap_tool_call=fail).invoke(one, ALONE)),
        ToolNode(TOOLS, wrap_tool_call=fail, handle_tool_errors=True).invoke(one, ALONE),
    ]


async def case_interceptors_async(env):
    async def change(request, execute):
        message = await execute(request)
        return message.model_copy(update={"content": f"seen {message.content}"})

    def sync(request, execute):
        message = execute(request)
        return message.model_copy(update={"content": f"sync {message.content}"})

    one = {"messages": calls(call("add", a=1, b=2), call("add", "2", a=2, b=2))}
    return [
        await ToolNode(TOOLS, awrap_tool_call=change).ainvoke(one, ALONE),
        await ToolNode(TOOLS, wrap_tool_call=sync).ainvoke(one, ALONE),
        await ToolNode(TOOLS, wrap_tool_call=sync, awrap_tool_call=change).ainvoke(one, ALONE),
    ]


def case_async_interceptor_in_a_sync_call(env):
    async def change(request, execute):
        return await execute(request)

    node = ToolNode(TOOLS, awrap_tool_call=change)
    return env.error(lambda: node.invoke([call("add", a=1, b=2)], ALONE))


def case_without_a_runtime(env):
    return env.error(lambda: ToolNode(TOOLS).invoke([call("add", a=1, b=2)]))


def case_names_and_tags(env):
    node = ToolNode([add, boom], name="mine", tags=["t"])
    return node.name, node.get_name(), node.tags, list(node.tools_by_name)


def case_functions_as_tools(env):
    def double(x: int) -> int:
        """Double."""
        return 2 * x

    async def triple(x: int) -> int:
        """Triple."""
        return 3 * x

    node = ToolNode([double, triple])
    return (
        node.invoke([call("double", x=2)], ALONE),
        env.error(lambda: node.invoke([call("triple", x=2)], ALONE)),
    )


def case_where_to_go(env):
    called = calls(call("add"))
    states = [
        called,
        {"messages": called},
        [AIMessage("x")],
        [*called, HumanMessage("x")],
        {},
        [],
        "x",
    ]
    found = [env.error(lambda state=state: tools_condition(state)) for state in states]
    return [*found, tools_condition({"m": called}, "m")]


class Number(BaseModel):
    """A number."""

    a: int


def case_validation(env):
    def function(x: int, y: str = "é") -> int:
        """A function."""
        return x

    node = ValidationNode([Number, add, function])
    made = calls(
        call("Number", a="1"),
        call("Number", "2", a="x"),
        call("add", "3", a=1, b=2),
        call("function", "4", x=1),
    )
    names = lambda e, c, s: f"{c['name']} {s.__name__} {e.title}"  # noqa: E731
    told = ValidationNode([Number, function], format_error=names)
    return [
        node.invoke(made),
        node.invoke({"messages": made}),
        told.invoke(calls(call("Number", a="x"), call("function", "2", x="x"))),
        env.error(lambda: node.invoke(calls(call("unknown")))),
        env.error(lambda: node.invoke([HumanMessage("x")])),
        env.error(lambda: node.invoke({})),
        env.error(lambda: ValidationNode([5])),
        node.name,
        list(node.schemas_by_name),
    ]
