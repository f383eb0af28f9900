"""What each stream mode emits, in which shape and order."""

import contextlib
import io
import operator
from typing import Annotated, TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, StreamWriter, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
MODES = ("values", "updates", "tasks", "checkpoints", "debug", "custom")


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Plain(TypedDict, total=False):
    """No reducer, so nothing is set at first."""

    x: int
    y: int


def add(value):
    return lambda state: {"items": [value]}


def aadd(value):
    async def node(state):
        return {"items": [value]}

    return node


def chain(saver, *nodes, schema=State, **options):
    builder = StateGraph(schema)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(checkpointer=saver, **options)


def silent(saver):
    """Every way of a node to say little or nothing."""
    return chain(
        saver,
        ("none", lambda s: None),
        ("empty", lambda s: {}),
        ("value", add("v")),
        ("null", lambda s: {"x": None}),
        ("mixed", lambda s: [Command(), {"items": ["m"]}]),
        ("command", lambda s: Command(update={"x": 2})),
        ("nothing", lambda s: Command()),
        ("both", lambda s: [Command(update={"x": 3}), {"items": ["b"]}]),
    )


def sub_graph(saver):
    outer = StateGraph(State)
    outer.add_node("a", add("a"))
    outer.add_node("sub", chain(None, ("s1", add("s1")), ("s2", add("s2"))))
    outer.add_edge(START, "a")
    outer.add_edge("a", "sub")
    return outer.compile(checkpointer=saver)


def fan(saver):
    builder = StateGraph(State)
    builder.add_node("w", lambda state: {"items": [state["x"]]})
    builder.add_node("z", add("z"))
    builder.add_conditional_edges(START, lambda s: [Send("w", {"x": i}) for i in range(3)], ["w"])
    builder.add_edge("w", "z")
    return builder.compile(checkpointer=saver)


def by_name(parts):
    """The parts of parallel tasks arrive in any order."""
    return sorted(parts, key=repr)


def case_each_mode(env):
    found = {}
    for mode in MODES:
        graph = chain(env.saver(), ("a", add("a")), ("b", add("b")))
        config = {"configurable": {"thread_id": mode}}
        found[mode] = list(graph.stream({"items": ["i"], "x": 1}, config, stream_mode=mode))
    return found


async def case_each_mode_async(env):
    found = {}
    async with env.asaver() as saver:
        for mode in MODES:
            graph = chain(saver, ("a", aadd("a")), ("b", add("b")))
            config = {"configurable": {"thread_id": mode}}
            stream = graph.astream({"items": ["i"], "x": 1}, config, stream_mode=mode)
            found[mode] = [part async for part in stream]
    return found


def case_each_mode_without_saver(env):
    graph = chain(None, ("a", add("a")), ("b", add("b")))
    return {m: list(graph.stream({"items": ["i"]}, stream_mode=m)) for m in MODES}


def case_default_mode(env):
    return list(chain(None, ("a", add("a"))).stream({"items": []}))


def case_all_modes_at_once(env):
    def node(state):
        get_stream_writer()("hello")
        return {"items": ["a"]}

    graph = chain(env.saver(), ("a", node), ("b", add("b")))
    return list(graph.stream({"items": []}, CONFIG, stream_mode=list(MODES)))


async def case_all_modes_at_once_async(env):
    async def node(state, writer: StreamWriter):
        writer("hello")
        return {"items": ["a"]}

    async with env.asaver() as saver:
        graph = chain(saver, ("a", node), ("b", aadd("b")))
        stream = graph.astream({"items": []}, CONFIG, stream_mode=list(MODES))
        return [part async for part in stream]


def case_list_of_one_mode(env):
    return list(chain(None, ("a", add("a"))).stream({"items": []}, stream_mode=["updates"]))


def case_empty_updates(env):
    return {
        mode: list(silent(None).stream({"items": []}, stream_mode=mode))
        for mode in ("values", "updates", "tasks")
    }


def case_empty_updates_checkpoints(env):
    parts = silent(env.saver()).stream({"items": []}, CONFIG, stream_mode="checkpoints")
    return [(p["metadata"], p["next"], p["values"]) for p in parts]


def case_b15_debug_values_where_nothing_is_set(env):
    graph = chain(env.saver(), ("a", lambda s: {"y": s["x"] + 1}), schema=Plain)
    parts = list(graph.stream({"x": 1}, CONFIG, stream_mode="debug"))
    return parts, [sorted(p["payload"]) for p in parts], graph.get_state(CONFIG)


def case_b15_history_where_nothing_is_set(env):
    graph = chain(env.saver(), ("a", lambda s: {"y": s["x"] + 1}), schema=Plain)
    graph.invoke({"x": 1}, CONFIG)
    return list(graph.get_state_history(CONFIG))


def case_values_without_reducers(env):
    graph = chain(None, ("a", lambda s: {"y": 2}), ("b", lambda s: {"y": 3}), schema=Plain)
    return list(graph.stream({"x": 1}, stream_mode="values"))


def case_first_values_with_an_empty_input(env):
    graph = chain(None, ("a", lambda s: {"y": 2}), schema=Plain)
    return [
        env.error(lambda: list(graph.stream({}, stream_mode="values"))),
        env.error(lambda: list(graph.stream({"nope": 1}, stream_mode="values"))),
        env.error(lambda: list(graph.stream({"x": None}, stream_mode="values"))),
    ]


def case_parallel_branches_updates(env):
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, add(name))
        builder.add_edge(START, name)
    builder.add_node("z", add("z"))
    builder.add_edge(list("abc"), "z")
    graph = builder.compile()
    return {
        "updates": by_name(graph.stream({"items": []}, stream_mode="updates")),
        "values": list(graph.stream({"items": []}, stream_mode="values")),
        "tasks": by_name(
            {k: v for k, v in part.items() if k != "id"}
            for part in graph.stream({"items": []}, stream_mode="tasks")
        ),
    }


def case_fan_out_streams(env):
    graph = fan(env.saver())
    config = [{"configurable": {"thread_id": str(n)}} for n in range(3)]
    return (
        by_name(graph.stream({"items": []}, config[0], stream_mode="updates")),
        list(graph.stream({"items": []}, config[1], stream_mode="values")),
        list(graph.stream({"items": []}, config[2], stream_mode="checkpoints")),
    )


def case_fan_out_task_inputs(env):
    parts = list(fan(None).stream({"items": []}, stream_mode="tasks"))
    starts = [(p["name"], p["input"], p["triggers"]) for p in parts if "input" in p]
    return starts, by_name((p["name"], p["result"]) for p in parts if "result" in p)


def case_custom_by_get_stream_writer(env):
    def node(state):
        writer = get_stream_writer()
        for value in ("one", {"two": 2}, None, 0, ["list"]):
            writer(value)
        return {"items": ["a"]}

    return list(chain(None, ("a", node)).stream({"items": []}, stream_mode="custom"))


def case_custom_by_parameter(env):
    def node(state, writer: StreamWriter):
        writer("from the parameter")
        return {"items": ["a"]}

    def other(state, *, writer):
        writer("keyword only, without annotation")
        return {}

    graph = chain(None, ("a", node), ("b", other))
    return list(graph.stream({"items": []}, stream_mode=["custom", "updates"]))


async def case_custom_async(env):
    async def node(state):
        writer = get_stream_writer()
        writer(1)
        writer(2)
        return {"items": ["a"]}

    def plain(state, writer: StreamWriter):
        writer(3)
        return {}

    graph = chain(None, ("a", node), ("b", plain))
    stream = graph.astream({"items": []}, stream_mode=["custom", "updates"])
    return [part async for part in stream]


def case_b11_custom_arrives_while_the_node_runs(env):
    log = []

    def node(state, writer: StreamWriter):
        writer("first")
        log.append("after first")
        writer("second")
        log.append("end of node")
        return {"items": ["a"]}

    for part in chain(None, ("a", node)).stream({"items": []}, stream_mode=["custom", "updates"]):
        log.append(part[0])
    return [entry for entry in log if entry in ("custom", "updates")], log.count("custom")


async def case_b11_custom_arrives_while_the_node_waits(env):
    import asyncio

    seen = asyncio.Event()

    async def node(state):
        get_stream_writer()("ping")
        await asyncio.wait_for(seen.wait(), 20)  # only the reader of the stream can set it
        return {"items": ["a"]}

    found = []
    graph = chain(None, ("a", node))
    async for part in graph.astream({"items": []}, stream_mode=["custom", "updates"]):
        found.append(part)
        seen.set()
    return found


def case_writer_is_silent_when_not_asked_for(env):
    def node(state, writer: StreamWriter):
        writer("nobody listens")
        get_stream_writer()("nobody listens")
        return {"items": ["a"]}

    graph = chain(None, ("a", node))
    return graph.invoke({"items": []}), list(graph.stream({"items": []}, stream_mode="updates"))


def case_writer_outside_a_run(env):
    return env.error(get_stream_writer)


def case_custom_from_parallel_nodes(env):
    def node(name):
        def write(state, writer: StreamWriter):
            writer((name, 1))
            writer((name, 2))
            return {"items": [name]}

        return write

    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, node(name))
        builder.add_edge(START, name)
    parts = list(builder.compile().stream({"items": []}, stream_mode="custom"))
    return [p for p in parts if p[0] == "a"], [p for p in parts if p[0] == "b"]


def case_output_keys(env):
    graph = chain(None, ("a", lambda s: {"x": 1, "items": ["a"]}), ("b", add("b")))
    found = []
    for keys in ("x", ["x"], "items", ["items"], ["items", "x"]):
        for mode in ("values", "updates"):
            found.append(list(graph.stream({"items": []}, stream_mode=mode, output_keys=keys)))
        found.append(graph.invoke({"items": []}, output_keys=keys))
    return found


def case_unknown_output_key(env):
    graph = chain(None, ("a", add("a")))
    return env.error(lambda: graph.invoke({"items": []}, output_keys=["nope"]))


def case_invoke_with_a_stream_mode(env):
    graph = chain(None, ("a", add("a")), ("b", add("b")))
    modes = ["values", "updates", "custom", "tasks", ["updates"], ["values", "updates"]]
    return [graph.invoke({"items": []}, stream_mode=mode) for mode in modes]


async def case_invoke_with_a_stream_mode_async(env):
    graph = chain(None, ("a", aadd("a")), ("b", add("b")))
    modes = ["values", "updates", "custom", "tasks", ["updates"], ["values", "updates"]]
    return [await graph.ainvoke({"items": []}, stream_mode=mode) for mode in modes]


def case_stream_of_a_failing_graph(env):
    def boom(state):
        raise ValueError("boom")

    found = {}
    for mode in ("values", "updates", "tasks", "checkpoints", "debug"):
        graph = chain(env.saver(), ("a", add("a")), ("b", boom), ("c", add("c")))
        config = {"configurable": {"thread_id": mode}}
        parts = []

        def read(graph=graph, config=config, mode=mode, parts=parts):
            for part in graph.stream({"items": []}, config, stream_mode=mode):
                parts.append(part)

        found[mode] = env.error(read), parts
    return found


async def case_stream_of_a_failing_graph_async(env):
    async def boom(state):
        raise ValueError("boom")

    found = {}
    for mode in ("values", "updates", "tasks"):
        graph = chain(None, ("a", aadd("a")), ("b", boom))
        parts = []

        async def read(graph=graph, mode=mode, parts=parts):
            async for part in graph.astream({"items": []}, stream_mode=mode):
                parts.append(part)

        found[mode] = await env.aerror(read()), parts
    return found


def case_finished_thread_without_input(env):
    graph = chain(env.saver(), ("a", add("a")))
    graph.invoke({"items": []}, CONFIG)
    return {m: list(graph.stream(None, CONFIG, stream_mode=m)) for m in MODES}


def case_second_turn(env):
    graph = chain(env.saver(), ("a", add("a")))
    graph.invoke({"items": ["1"]}, CONFIG)
    return {
        mode: list(graph.stream({"items": [mode]}, CONFIG, stream_mode=mode))
        for mode in ("values", "updates", "checkpoints")
    }


def case_subgraphs(env):
    found = {}
    for mode in ("values", "updates", "tasks", ["values", "updates"]):
        graph = sub_graph(None)
        found[str(mode)] = (
            list(graph.stream({"items": ["i"]}, stream_mode=mode, subgraphs=True)),
            list(graph.stream({"items": ["i"]}, stream_mode=mode)),
        )
    return found


async def case_subgraphs_async(env):
    found = {}
    for mode in ("values", "updates", ["values", "updates"]):
        stream = sub_graph(None).astream({"items": ["i"]}, stream_mode=mode, subgraphs=True)
        found[str(mode)] = [part async for part in stream]
    return found


async def case_results_of_subgraphs(env):
    graph, given = sub_graph(None), {"items": ["i"]}
    modes = ("values", "updates", ["updates", "values"], ["custom"], "tasks")
    results = [graph.invoke(given, stream_mode=mode, subgraphs=True) for mode in modes]
    later = await graph.ainvoke(given, stream_mode=["updates"], subgraphs=True)
    parts = graph.invoke(given, stream_mode="updates", subgraphs=True, version="v2")
    return results, later, parts, graph.batch([given], subgraphs=True)


def case_subgraphs_custom(env):
    def node(state, writer: StreamWriter):
        writer("inside")
        return {"items": ["s"]}

    outer = StateGraph(State)
    outer.add_node("sub", chain(None, ("s", node)))
    outer.add_edge(START, "sub")
    graph = outer.compile()
    return (
        list(graph.stream({"items": []}, stream_mode="custom", subgraphs=True)),
        list(graph.stream({"items": []}, stream_mode=["custom"], subgraphs=True)),
        list(graph.stream({"items": []}, stream_mode="custom")),
    )


def case_subgraph_checkpoints(env):
    graph = sub_graph(env.saver())
    stream = graph.stream({"items": ["i"]}, CONFIG, stream_mode="checkpoints", subgraphs=True)
    return list(stream)


def case_print_mode(env):
    def ask(state):
        return {"items": [interrupt("q")]}

    graph = chain(env.saver(), ("a", add("a")), ("ask", ask))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = graph.invoke({"items": ["i"]}, CONFIG, print_mode="updates")
    lines = out.getvalue().splitlines()
    return result, lines[0], len(lines)


def case_print_mode_beside_a_stream_mode(env):
    graph = chain(None, ("a", add("a")), ("b", add("b")))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        parts = list(
            graph.stream({"items": []}, stream_mode="values", print_mode=["updates", "values"])
        )
    return parts, out.getvalue()


def case_version_two(env):
    found = {}
    for mode in (*MODES, ["values", "updates"]):
        graph = chain(env.saver(), ("a", add("a")), ("b", add("b")))
        config = {"configurable": {"thread_id": str(mode)}}
        stream = graph.stream({"items": ["i"]}, config, stream_mode=mode, version="v2")
        found[str(mode)] = list(stream)
    return found


def case_version_two_interrupt(env):
    def ask(state):
        return {"items": [interrupt("q")]}

    graph = chain(env.saver(), ("a", add("a")), ("ask", ask))
    return [
        list(graph.stream({"items": []}, CONFIG, stream_mode=["values", "updates"], version="v2")),
        graph.invoke(None, CONFIG, version="v2"),
        graph.invoke(Command(resume="A"), CONFIG, version="v2"),
    ]


async def case_version_two_async(env):
    graph = sub_graph(None)
    stream = graph.astream({"items": ["i"]}, stream_mode="values", subgraphs=True, version="v2")
    return [p async for p in stream], await graph.ainvoke({"items": ["i"]}, version="v2")


def case_graph_output_is_also_a_mapping(env):
    graph = chain(None, ("a", add("a")))
    output = graph.invoke({"items": []}, version="v2")
    return type(output).__name__, output.value, output.interrupts


def case_half_read_stream(env):
    graph = chain(env.saver(), ("a", add("a")), ("b", add("b")), ("c", add("c")))
    stream = graph.stream({"items": []}, CONFIG)
    first = next(stream)
    stream.close()
    return first, graph.invoke(None, CONFIG)


def case_goto_end_in_a_stream(env):
    graph = chain(None, ("a", lambda s: Command(goto=END, update={"items": ["a"]})))
    return list(graph.stream({"items": []}, stream_mode=["values", "updates"]))
