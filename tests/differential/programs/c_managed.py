"""Managed values: in nodes, in path functions, in subgraphs, sync and async."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.managed import IsLastStep, RemainingSteps


class Loop(TypedDict, total=False):
    count: int
    left: RemainingSteps
    last: IsLastStep


def _counts(state: Loop):
    return {"count": state.get("count", 0) + 1}


def _graph(seen: list, **options):
    def path(state: Loop):
        seen.append(dict(state))
        return END if state["left"] <= 2 or state["last"] else "count"

    builder = StateGraph(Loop).add_node("count", _counts).add_edge(START, "count")
    return builder.add_conditional_edges("count", path).compile(**options)


def case_path_functions_read_them(env):
    seen: list = []
    return _graph(seen).invoke({"count": 0}, {"recursion_limit": 10}), seen


async def case_path_functions_read_them_async(env):
    seen: list = []
    return await _graph(seen).ainvoke({"count": 0}, {"recursion_limit": 7}), seen


def case_in_a_subgraph(env):
    seen: list = []
    inner = _graph(seen)
    outer = StateGraph(Loop).add_node("inner", inner).add_edge(START, "inner").compile()
    return outer.invoke({"count": 0}, {"recursion_limit": 6}), seen


def case_by_hand(env):
    def path(state: Loop):
        return "count" if state["left"] > 1 and not state["last"] else END

    builder = StateGraph(Loop).add_node("count", _counts).add_edge(START, "count")
    graph = builder.add_conditional_edges("count", path).compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"count": 0}, {**config, "recursion_limit": 5})
    graph.update_state(config, {"count": 7}, as_node="count")
    return graph.get_state(config).next, graph.get_state(config).values


def case_what_a_builder_says(env):
    class More(TypedDict, total=False):
        count: int
        more: RemainingSteps

    def more(state: More):
        return {}

    builder = StateGraph(Loop).add_node("count", _counts).add_node(more)
    managed = {key: kind.__name__ for key, kind in builder.managed.items()}
    return managed, sorted(builder.channels), StateGraph(dict).managed
