"""Error handlers of nodes: when they run, what they are told, where their results go."""

import asyncio
import operator
from threading import Event
from typing import Annotated, TypedDict

from langgraph.errors import GraphDrained, NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
FAST = RetryPolicy(initial_interval=0.001, backoff_factor=1.0, jitter=False)


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Only(TypedDict, total=False):
    x: int


class AppError(Exception):
    """An error of the program's own."""


def add(value):
    return lambda state: {"items": [value]}


def bad(state):
    raise AppError("bad")


def told(state, error: NodeError):
    return {"items": [f"{error.node}: {error.error!r}: {sorted(state)}"]}


def graph_of(nodes, starts, saver=None, **options):
    """nodes: name -> (code, options of add_node)"""
    builder = StateGraph(State)
    for name, (code, given) in nodes.items():
        builder.add_node(name, code, **given)
    if callable(starts):
        builder.add_conditional_edges(START, starts, list(nodes))
    else:
        for start in starts:
            builder.add_edge(START, start)
    return builder.compile(checkpointer=saver, **options)


def handled(code=bad, handler=told, saver=None, **options):
    nodes = {
        "work": (code, {"error_handler": handler, **options}),
        "next": (add("next"), {}),
    }
    builder = StateGraph(State)
    for name, (node, given) in nodes.items():
        builder.add_node(name, node, **given)
    builder.add_edge(START, "work")
    builder.add_edge("work", "next")
    return builder.compile(checkpointer=saver)


def case_edges_of_the_node_are_not_followed(env):
    graph = handled(saver=env.saver())
    return graph.invoke({"items": []}, CONFIG), graph.get_state(CONFIG)


def case_goto_of_the_handler(env):
    def handler(state, error: NodeError):
        return Command(goto="next", update={"items": ["handled"]})

    return handled(handler=handler).invoke({"items": []})


def case_send_and_lists_of_the_handler(env):
    def handler(state):
        return [Command(goto=Send("next", {"items": []})), {"items": ["more"]}]

    return handled(handler=handler).invoke({"items": []})


def case_handler_may_send_back_to_its_node(env):
    calls = []

    def flaky(state):
        calls.append(1)
        if len(calls) < 3:
            raise AppError
        return {"items": ["ok"]}

    graph = handled(flaky, lambda state: Command(goto="work", update={"items": ["again"]}))
    return graph.invoke({"items": []})


def case_handler_without_the_error(env):
    return handled(handler=lambda state: {"items": ["plain"]}).invoke({"items": []})


def case_handler_with_runtime_and_config(env):
    def handler(state, error: NodeError, runtime: Runtime, config):
        info = runtime.execution_info
        return {"items": [info.node_attempt, runtime.context, config["metadata"]["langgraph_node"]]}

    return handled(handler=handler).invoke({"items": []}, context="ctx")


async def case_async_handler(env):
    async def handler(state, error: NodeError):
        await asyncio.sleep(0)
        return {"items": [repr(error.error)]}

    async def node(state):
        raise AppError("bad")

    return await handled(node, handler).ainvoke({"items": []})


def case_order_of_writes(env):
    nodes = {
        "work": (bad, {"error_handler": told}),
        "zib": (add("zib"), {}),
        "aib": (add("aib"), {}),
        "sent": (add("sent"), {}),
    }

    def starts(state):
        return ["work", "zib", "aib", Send("sent", {})]

    return graph_of(nodes, starts).invoke({"items": []})


def case_handlers_of_sends(env):
    nodes = {"work": (bad, {"error_handler": told})}

    def starts(state):
        return [Send("work", {"a": 1}), Send("work", {"b": 2}), "work"]

    return graph_of(nodes, starts).invoke({"items": []})


def case_handler_sees_what_the_node_was_handed(env):
    def narrow(state: Only):
        raise AppError

    def handler(state: State, error: NodeError):
        return {"items": [dict(state)]}

    return handled(narrow, handler).invoke({"items": ["in"], "x": 3})


def case_two_handlers_in_one_step(env):
    nodes = {
        "b": (bad, {"error_handler": told}),
        "a": (bad, {"error_handler": told}),
    }
    return graph_of(nodes, ["a", "b"]).invoke({"items": []})


def case_join_does_not_fire_for_a_failed_node(env):
    builder = StateGraph(State)
    builder.add_node("a", bad, error_handler=told)
    builder.add_node("b", add("b"))
    builder.add_node("joined", add("joined"))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "joined")
    return builder.compile().invoke({"items": []})


def case_which_errors(env):
    errors = [AppError("x"), asyncio.CancelledError(), RecursionError(), KeyboardInterrupt()]
    result = []
    for error in (*errors, GraphDrained()):

        def node(state, error=error):
            raise error

        graph = handled(node, lambda state: {"items": ["handled"]})
        try:
            result.append(graph.invoke({"items": []}))
        except BaseException as raised:
            result.append(type(raised).__name__)
    return result


def case_bad_results_are_handled(env):
    return handled(lambda state: 5, lambda state: {"items": ["handled"]}).invoke({"items": []})


def case_failing_subgraph(env):
    inner = graph_of({"in": (bad, {})}, ["in"])
    return handled(inner).invoke({"items": []})


def case_default_handler(env):
    builder = StateGraph(State)
    builder.set_node_defaults(error_handler=told)
    builder.add_node("a", bad)
    builder.add_node("b", bad, error_handler=lambda state: {"items": ["own"]})
    builder.add_node("c", add("c"))
    for name in "abc":
        builder.add_edge(START, name)
    graph = builder.compile()
    parts = list(graph.stream({"items": []}, stream_mode="updates"))
    return graph.invoke({"items": []}), sorted(map(str, parts)), sorted(graph.nodes)


def case_default_retry_holds_for_handlers(env):
    calls = []

    def flaky(state, error: NodeError):
        calls.append(1)
        if len(calls) < 3:
            raise AppError
        return {"items": ["handled"]}

    builder = StateGraph(State)
    builder.set_node_defaults(retry_policy=FAST)
    builder.add_node("a", bad, error_handler=flaky, retry_policy=FAST._replace(max_attempts=1))
    builder.add_edge(START, "a")
    return builder.compile().invoke({"items": []}), len(calls)


def case_own_retry_does_not_hold_for_its_handler(env):
    calls = []

    def flaky(state, error: NodeError):
        calls.append(1)
        raise ValueError

    return env.error(lambda: handled(handler=flaky, retry_policy=FAST).invoke({"items": []})), calls


def case_streams(env):
    graph = handled(saver=env.saver())
    modes = ["values", "updates", "tasks", "checkpoints"]
    return list(graph.stream({"items": ["in"]}, CONFIG, stream_mode=modes))


def case_history(env):
    graph = handled(saver=env.saver())
    graph.invoke({"items": ["in"]}, CONFIG)
    return list(graph.get_state_history(CONFIG))


def crashing(env, sibling=False):
    calls = []
    beside = Event()  # the sibling is done before the handler crashes

    def node(state):
        calls.append("node")
        assert beside.wait(20)
        raise AppError("bad")

    def look(state):
        beside.set()
        return {"items": ["sibling"]}

    def handler(state, error: NodeError):
        calls.append(f"handler of {error.node}")
        if len([c for c in calls if c != "node"]) == 1:
            raise ValueError("crash")
        return Command(goto="next", update={"items": ["handled"]})

    builder = StateGraph(State)
    builder.add_node("work", node, error_handler=handler)
    builder.add_node("next", add("next"))
    builder.add_edge(START, "work")
    if sibling:
        builder.add_node("sibling", look)
        builder.add_edge(START, "sibling")
    else:
        beside.set()
    return builder.compile(checkpointer=env.saver()), calls


def case_crashed_handler(env):
    graph, calls = crashing(env)
    error = env.error(lambda: graph.invoke({"items": ["in"]}, CONFIG))
    state = graph.get_state(CONFIG)
    return error, state, graph.invoke(None, CONFIG), calls, graph.get_state(CONFIG).next


def case_crashed_handler_with_a_sibling(env):
    graph, calls = crashing(env, sibling=True)
    error = env.error(lambda: graph.invoke({"items": ["in"]}, CONFIG))
    state = graph.get_state(CONFIG)
    resumed = list(graph.stream(None, CONFIG, stream_mode=["values", "updates", "tasks"]))
    # The handler and the sibling run beside each other, so their parts come in any order.
    values = [part for mode, part in resumed if mode == "values"]
    updates = sorted((part for mode, part in resumed if mode == "updates"), key=repr)
    tasks = sorted((part["name"], "result" in part) for mode, part in resumed if mode == "tasks")
    return error, state.next, state.values, values, updates, tasks, calls


def case_question_of_a_handler(env):
    calls = []

    def node(state):
        calls.append("node")
        raise AppError("bad")

    def handler(state, error: NodeError):
        calls.append("handler")
        return {"items": [interrupt(f"what of {error.node}?")]}

    graph = handled(node, handler, env.saver())
    asked = graph.invoke({"items": []}, CONFIG)
    return asked, graph.get_state(CONFIG).next, graph.invoke(Command(resume="A"), CONFIG), calls


def case_get_state_shows_the_question_of_a_handler(env):
    def handler(state, error: NodeError):
        return {"items": [interrupt("what now?")]}

    graph = handled(bad, handler, env.saver())
    graph.invoke({"items": []}, CONFIG)
    return [question.value for question in graph.get_state(CONFIG).interrupts]


def case_resumed_handler_is_told_the_error(env):
    seen = []

    def handler(state, error: NodeError):
        seen.append((type(error.error).__name__, str(error.error)))
        interrupt("q")

    graph = handled(lambda state: 1 // 0, handler, env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A"), CONFIG)
    return seen


def case_sibling_fails_for_good(env):
    calls = []

    def worse(state):
        calls.append("worse")
        if calls.count("worse") == 1:
            raise ValueError("worse")
        return {"items": ["worse"]}

    nodes = {
        "a": (bad, {"error_handler": lambda state: {"items": ["handled"]}}),
        "b": (worse, {}),
    }
    graph = graph_of(nodes, ["a", "b"], env.saver())
    return env.error(lambda: graph.invoke({"items": []}, CONFIG)), graph.invoke(None, CONFIG)


def beside_a_question(saver, **options):
    nodes = {
        "a": (bad, {"error_handler": lambda state: {"items": ["handled"]}}),
        "b": (lambda state: {"items": [interrupt("what of b?")]}, {}),
        "c": (add("c"), {}),
    }
    return graph_of(nodes, ["a", "b", "c"], saver)


def case_handled_beside_a_question(env):
    graph = beside_a_question(env.saver())
    asked = graph.invoke({"items": []}, CONFIG)
    return asked, list(graph.stream(Command(resume="B"), CONFIG, stream_mode="values"))


async def case_handled_beside_a_question_async(env):
    async with env.asaver() as saver:
        graph = beside_a_question(saver)
        parts = [p async for p in graph.astream({"items": []}, CONFIG, stream_mode="values")]
        return parts[-1], await graph.ainvoke(Command(resume="B"), CONFIG)


def case_handled_of_a_fan_out_with_a_question(env):
    def work(state):
        if state["x"] == 1:
            raise AppError("bad")
        return {"items": [interrupt("what?") if state["x"] == 2 else state["x"]]}

    handler = {"error_handler": lambda state: {"items": [f"handled {state['x']}"]}}
    builder = StateGraph(State)
    builder.add_node("work", work, **handler)
    builder.add_conditional_edges(START, lambda _: [Send("work", {"x": n}) for n in range(4)])
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG), graph.invoke(Command(resume="two"), CONFIG)


def case_state_of_what_was_handled_beside_a_question(env):
    graph = beside_a_question(env.saver())
    graph.invoke({"items": []}, CONFIG)
    state = graph.get_state(CONFIG)
    return state.values, state.next, [(t.name, t.result) for t in state.tasks]


def case_a_handler_leads_out_of_its_graph(env):
    leave = Command(graph=Command.PARENT, goto="next", update={"items": ["handled"]})
    inner = graph_of({"a": (bad, {"error_handler": lambda state: leave})}, ["a"])
    graph = graph_of({"sub": (inner, {}), "next": (add("next"), {})}, ["sub"], env.saver())
    return env.error(lambda: graph.invoke({"items": []}, CONFIG))


def case_exit_durability(env):
    graph, calls = crashing(env)
    error = env.error(lambda: graph.invoke({"items": ["in"]}, CONFIG, durability="exit"))
    return error, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG), calls


def case_handler_ends_the_graph(env):
    return handled(handler=lambda state: Command(goto=END, update={"x": 1})).invoke({"items": []})


def case_handler_of_a_node_with_a_question(env):
    calls = []

    def node(state):
        calls.append("node")
        answer = interrupt("q")
        raise AppError(answer)

    graph = handled(node, told, env.saver())
    return graph.invoke({"items": []}, CONFIG), graph.invoke(Command(resume="A"), CONFIG), calls


def case_name_of_the_handler_is_taken(env):
    builder = StateGraph(State)
    builder.add_node("a", bad, error_handler=told)
    builder.add_edge(START, "a")
    return env.error(
        lambda: builder.add_node("__error_handler__a", add(1)).compile() and "compiled"
    )


def case_handlers_are_functions(env):
    builder = StateGraph(State)
    return env.error(lambda: builder.add_node("a", bad, error_handler=5) and "added")
