from typing_extensions import TypedDict

from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, StateGraph


class SubgraphState(TypedDict):
    foo: str
    bar: str


def subgraph_node_1(state: SubgraphState):
    return {"bar": "bar"}


def subgraph_node_2(state: SubgraphState):
    return {"foo": state["foo"] + state["bar"]}


sb = StateGraph(SubgraphState)
sb.add_node(subgraph_node_1)
sb.add_node(subgraph_node_2)
sb.add_edge(START, "subgraph_node_1")
sb.add_edge("subgraph_node_1", "subgraph_node_2")
subgraph = sb.compile()


class ParentState(TypedDict):
    foo: str


def node_1(state: ParentState):
    return {"foo": "hi! " + state["foo"]}


def node_x(state: ParentState):
    r = subgraph.invoke({"foo": state["foo"]})
    return {"foo": r["foo"]}


builder = StateGraph(ParentState)
builder.add_node("node_1", node_1)
builder.add_node("node_2", subgraph)
builder.add_node(node_x)
builder.add_edge(START, "node_1")
builder.add_edge("node_1", "node_2")
builder.add_edge("node_2", "node_x")
graph = builder.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
for chunk in graph.stream({"foo": "foo"}, config, subgraphs=True, stream_mode="updates"):
    print(chunk)
graph.update_state(config, {"foo": "baz"}, as_node="node_1")
print(graph.get_state(config, subgraphs=True).values)
print(graph.get_graph().draw_mermaid())
