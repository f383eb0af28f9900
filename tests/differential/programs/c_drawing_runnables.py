"""Runnables as graphs: a sequence is drawn step by step."""

from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.graph import START, StateGraph


def up(text: str) -> str:
    return text


def shown(runnable):
    graph = runnable.get_graph()
    json = graph.to_json()
    names = [one["data"] if one["type"] == "schema" else one["data"]["name"]
             for one in json["nodes"]]  # fmt: skip
    return (
        names,
        [one.get("metadata") for one in json["nodes"]],
        json["edges"],
        graph.draw_mermaid(),
        graph.draw_ascii(),
    )


def case_one_runnable(env):
    return [
        shown(RunnableLambda(up)),
        shown(RunnableLambda(lambda text: text)),
        shown(RunnableLambda(up, name="My Name")),
        shown(RunnablePassthrough()),
    ]


def case_sequences(env):
    return [
        shown(RunnableLambda(up) | RunnableLambda(lambda text: text) | str.lower),
        shown(RunnableLambda(up) | RunnableLambda(up)),
    ]


def case_bound_runnables(env):
    chain = RunnableLambda(up) | str.lower
    return [
        shown(RunnableLambda(up).bind(x=1)),
        shown(chain.with_config(tags=["x"], run_name="name", metadata={"m": 1})),
    ]


def case_a_graph_in_a_sequence(env):
    graph = StateGraph(dict)
    graph.add_node("x", lambda state: {})
    graph.add_node("y", lambda state: {})
    graph.add_edge(START, "x")
    graph.add_edge("x", "y")
    drawn = (RunnableLambda(up) | graph.compile()).get_graph()
    names = [node.name for node in drawn.nodes.values()]
    edges = [(drawn.nodes[e.source].name, drawn.nodes[e.target].name) for e in drawn.edges]
    return names, edges


def case_lines_that_are_steep(env):
    parts = {"a": RunnableLambda(up), "b": RunnableLambda(up), "c": RunnablePassthrough()}
    return (RunnablePassthrough() | parts).get_graph().draw_ascii()
