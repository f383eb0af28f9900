"""Deferred nodes: they wait until nothing else is left to do."""

from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def marks(*names, deferred=()):
    graph = StateGraph(State)
    for name in names:
        graph.add_node(name, lambda s, name=name: {"log": [name]}, defer=name in deferred)
    return graph


def edges(graph, *pairs):
    for start, end in pairs:
        graph.add_edge(start, end)
    return graph


def case_waits_for_the_longer_branch(env):
    graph = marks("a", "b", "b2", "b3", "c", "d", deferred=["d"])
    edges(
        graph,
        (START, "a"),
        ("a", "b"),
        ("a", "c"),
        ("b", "b2"),
        ("b2", "b3"),
        ("b3", "d"),
        ("c", "d"),
    )
    return graph.compile().invoke({})


def case_deferred_alone(env):
    return edges(marks("a", deferred=["a"]), (START, "a")).compile().invoke({})


def case_deferred_in_the_middle(env):
    graph = marks("a", "b", "c", "d", deferred=["b"])
    edges(graph, (START, "a"), (START, "b"), ("a", "c"), ("b", "d"))
    return graph.compile().invoke({})


def case_two_deferred_nodes(env):
    graph = marks("a", "b", "x", "y", deferred=["x", "y"])
    edges(graph, (START, "a"), ("a", "b"), ("a", "x"), ("b", "y"))
    return graph.compile().invoke({})


def case_deferred_after_deferred(env):
    graph = marks("a", "b", "x", "y", deferred=["x", "y"])
    edges(graph, (START, "a"), (START, "x"), ("a", "b"), ("x", "y"), ("b", "y"))
    return graph.compile().invoke({})


def case_deferred_with_waiting_edge(env):
    graph = marks("a", "b", "c", "x", deferred=["x"])
    edges(graph, (START, "a"), (START, "b"), ("b", "c"), (["a", "b"], "x"))
    return graph.compile().invoke({})


def case_deferred_with_a_loop(env):
    graph = marks("a", "x", deferred=["x"])
    graph.add_node("count", lambda s: {"n": s.get("n", 0) + 1, "log": ["count"]})
    edges(graph, (START, "a"), (START, "count"), ("a", "x"))
    graph.add_conditional_edges("count", lambda s: "count" if s["n"] < 3 else END)
    return graph.compile().invoke({})


def case_loop_through_a_deferred_node(env):
    graph = marks("a", "b", "b2")
    graph.add_node("x", lambda s: {"n": s.get("n", 0) + 1, "log": ["x"]}, defer=True)
    edges(graph, (START, "a"), ("a", "b"), ("b", "b2"), ("a", "x"), ("b2", "x"))
    graph.add_conditional_edges("x", lambda s: "a" if s["n"] < 2 else END)
    return graph.compile().invoke({})


def case_deferred_by_conditional_edge(env):
    graph = marks("a", "b", "b2", "x", deferred=["x"])
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: ["x", "b"])
    edges(graph, ("b", "b2"))
    return graph.compile().invoke({})


def case_deferred_by_goto(env):
    graph = marks("b", "b2", "x", deferred=["x"])
    graph.add_node("a", lambda s: Command(goto=["x", "b"], update={"log": ["a"]}))
    edges(graph, (START, "a"), ("b", "b2"))
    return graph.compile().invoke({})


def case_deferred_after_sends(env):
    graph = marks("x", "c", "c2", deferred=["x"])
    graph.add_node("w", lambda arg: {"log": [arg]})
    graph.add_conditional_edges(START, lambda s: [Send("w", 1), Send("w", 2), "c"])
    edges(graph, ("w", "x"), ("c", "c2"))
    return graph.compile().invoke({})


def case_send_to_a_deferred_node(env):
    graph = marks("c", "c2")
    graph.add_node("x", lambda arg: {"log": [("x", arg)]}, defer=True)
    graph.add_conditional_edges(START, lambda s: [Send("x", 1), "c"])
    edges(graph, ("c", "c2"))
    return graph.compile().invoke({})


def case_deferred_sees_the_final_state(env):
    graph = marks("a", "b", "c")
    graph.add_node("x", lambda s: {"log": [tuple(s["log"])]}, defer=True)
    edges(graph, (START, "a"), ("a", "b"), ("b", "c"), ("a", "x"))
    return graph.compile().invoke({})


def case_deferred_stream(env):
    graph = marks("a", "b", "x", deferred=["x"])
    edges(graph, (START, "a"), (START, "x"), ("a", "b"))
    return list(graph.compile().stream({}, stream_mode=["values", "updates"]))


async def case_deferred_async(env):
    graph = marks("a", "b", "x", deferred=["x"])
    edges(graph, (START, "a"), ("a", "b"), ("a", "x"))
    return await graph.compile().ainvoke({})


def case_deferred_saved_history(env):
    graph = marks("a", "b", "x", deferred=["x"])
    edges(graph, (START, "a"), ("a", "b"), ("a", "x"))
    app = graph.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    result = app.invoke({}, config)
    return [result, [(s.next, s.values, s.metadata["step"]) for s in app.get_state_history(config)]]
