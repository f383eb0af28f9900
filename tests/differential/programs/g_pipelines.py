"""Graphs of graphs, and of nodes: `create_sequential_pipeline`, `create_parallel_pipeline`."""

import operator
import warnings
from typing import Annotated, TypedDict

from langchain_dev_utils.graph import create_parallel_graph, create_sequential_graph
from langchain_dev_utils.pipeline import create_parallel_pipeline, create_sequential_pipeline
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

warnings.simplefilter("ignore", DeprecationWarning)


class State(TypedDict):
    log: Annotated[list[str], operator.add]


class Out(TypedDict):
    last: str


class Wide(TypedDict):
    log: Annotated[list[str], operator.add]
    last: str


def part(name):
    builder = StateGraph(Wide)
    builder.add_node("n" + name, lambda state: {"log": [name], "last": name})
    builder.add_edge(START, "n" + name)
    builder.add_edge("n" + name, END)
    return builder.compile(name=name)


def step(state):
    return {"log": ["step"]}


def other(state):
    return {"log": ["other"]}


def drawn(graph):
    return graph.name, graph.get_graph().draw_mermaid()


def case_sequential(env):
    graph = create_sequential_pipeline([part("a"), part("b"), part("c")], Wide)
    return graph.invoke({"log": ["in"]}), drawn(graph)


def case_sequential_with_a_name_and_schemas(env):
    graph = create_sequential_pipeline(
        [part("a"), part("b")],
        Wide,
        graph_name="both",
        input_schema=State,
        output_schema=Out,
    )
    return graph.invoke({"log": ["in"]}), drawn(graph)


def case_sequential_keeps_threads(env):
    graph = create_sequential_pipeline([part("a"), part("b")], Wide, checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    return (
        graph.invoke({"log": []}, config),
        graph.invoke({"log": ["again"]}, config),
        [snapshot.next for snapshot in graph.get_state_history(config)],
    )


async def case_sequential_async_stream(env):
    graph = create_sequential_pipeline([part("a"), part("b")], Wide)
    return [part async for part in graph.astream({"log": []}, stream_mode="updates")]


def case_sequential_stops_for_a_question(env):
    def ask(state):
        return {"log": [interrupt("sure?")]}

    builder = StateGraph(Wide)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    graph = create_sequential_pipeline(
        [part("a"), builder.compile(name="asker"), part("b")], Wide, checkpointer=env.saver()
    )
    config = {"configurable": {"thread_id": "1"}}
    return graph.invoke({"log": []}, config), graph.invoke(Command(resume="yes"), config)


def case_parallel(env):
    graph = create_parallel_pipeline([part("a"), part("b"), part("c")], State, graph_name="P")
    return graph.invoke({"log": []}), drawn(graph)


def case_parallel_with_branches(env):
    graph = create_parallel_pipeline(
        [part("a"), part("b")],
        State,
        branches_fn=lambda state: [Send("a", {"log": ["x"]}), Send("b", {"log": ["y"]})],
    )
    return graph.invoke({"log": []}), drawn(graph)


async def case_parallel_with_async_branches(env):
    async def branches(state):
        return [Send("b", {"log": state["log"]})]

    graph = create_parallel_pipeline([part("a"), part("b")], State, branches_fn=branches)
    return await graph.ainvoke({"log": ["z"]})


def case_wrong_pipelines(env):
    unnamed = StateGraph(State)
    unnamed.add_node("step", step)
    unnamed.add_edge(START, "step")
    return [
        env.error(lambda: make(graphs, State))
        for make in (create_sequential_pipeline, create_parallel_pipeline)
        for graphs in ([], [part("a"), part("a")], [unnamed.compile()])
    ]


def case_nodes_one_after_the_other(env):
    graph = create_sequential_graph([step, ("second", other)], State)
    return graph.invoke({"log": []}), drawn(graph)


def case_nodes_beside_each_other(env):
    graph = create_parallel_graph([step, ("second", other)], State)
    return graph.invoke({"log": []}), drawn(graph)


def case_nodes_by_branches(env):
    graph = create_parallel_graph(
        [step, other], State, graph_name="B", branches_fn=lambda state: [Send("other", {"log": []})]
    )
    return graph.invoke({"log": []}), drawn(graph)


def case_wrong_nodes(env):
    return [
        env.error(lambda: make(nodes, State))
        for make in (create_sequential_graph, create_parallel_graph)
        for nodes in ([], [step, step])
    ]
