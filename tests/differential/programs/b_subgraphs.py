"""Subgraphs in time: their memory, their checkpoints, replays of their parents."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


def add(value):
    return lambda state: {"items": [value]}


def counting(saver_of_inner):
    inner = StateGraph(State)
    inner.add_node("count", lambda s: {"items": ["c"]})
    inner.add_edge(START, "count")
    return inner.compile(checkpointer=saver_of_inner)


def caller(saver, inner):
    """A node that calls another graph with an empty list and tells how long it got."""
    builder = StateGraph(State)
    builder.add_node("call", lambda s: {"x": len(inner.invoke({"items": ["i"]})["items"])})
    builder.add_edge(START, "call")
    return builder.compile(checkpointer=saver)


def case_b26_subgraph_memory(env):
    found = {}
    for inner_saver in (True, None, False):
        graph = caller(env.saver(), counting(inner_saver))
        config = {"configurable": {"thread_id": str(inner_saver)}}
        found[str(inner_saver)] = [graph.invoke({"items": []}, config)["x"] for _ in range(3)]
    return found


def case_b27_namespaces_by_node(env):
    inner = counting(True)
    builder = StateGraph(State)
    builder.add_node("one", lambda s: {"items": [len(inner.invoke({"items": []})["items"])]})
    builder.add_node("two", lambda s: {"items": [len(inner.invoke({"items": []})["items"])]})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph = builder.compile(checkpointer=env.saver())
    return [graph.invoke({"items": []}, CONFIG)["items"] for _ in range(2)]


def case_b25_replay_of_a_subgraph_checkpoint(env):
    inner = StateGraph(State)
    inner.add_sequence(
        [("s1", add("s1")), ("ask", lambda s: {"items": [interrupt("q")]}), ("s2", add("s2"))]
    )
    inner.add_edge(START, "s1")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    place = {k: child.config["configurable"][k] for k in ("thread_id", "checkpoint_ns")}
    history = list(graph.get_state_history({"configurable": place}))
    return (
        child.values,
        child.next,
        [(s.metadata["step"], s.next, s.values) for s in history],
        graph.invoke(Command(resume="A"), CONFIG),
    )


def case_b28_replay_of_the_parent_and_memory_of_the_subgraph(env):
    graph = caller(env.saver(), counting(True))
    turns = [graph.invoke({"items": []}, CONFIG, durability="sync")["x"] for _ in range(3)]
    first_call = [s for s in graph.get_state_history(CONFIG) if s.next == ("call",)][-1]
    replayed = graph.invoke(None, first_call.config, durability="sync")["x"]
    return turns, replayed, graph.invoke({"items": []}, CONFIG)["x"]


def case_b28_new_input_at_an_old_checkpoint_of_the_parent(env):
    graph = caller(env.saver(), counting(True))
    turns = [graph.invoke({"items": []}, CONFIG, durability="sync")["x"] for _ in range(3)]
    first_end = [s for s in graph.get_state_history(CONFIG) if not s.next][-1]
    forked = graph.invoke({"items": []}, first_end.config, durability="sync")["x"]
    return turns, forked, graph.invoke({"items": []}, CONFIG)["x"]


def case_subgraph_update_while_asked(env):
    inner = StateGraph(State)
    inner.add_sequence([("s1", add("s1")), ("ask", lambda s: {"items": [interrupt("q")]})])
    inner.add_edge(START, "s1")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    graph.update_state(child.config, {"items": ["inside"]})
    return graph.invoke(None, CONFIG), graph.invoke(Command(resume="A"), CONFIG)
