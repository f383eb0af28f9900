import operator
from typing import Annotated, Any

from typing_extensions import TypedDict

from plait.cache.memory import InMemoryCache
from plait.graph import END, START, StateGraph
from plait.types import CachePolicy, RetryPolicy


class State(TypedDict):
    aggregate: Annotated[list, operator.add]
    x: int


def a(state: State) -> dict[str, Any]:
    return {"aggregate": ["A"]}


def b(state: State):
    return {"aggregate": ["B"]}


def c(state: State):
    return {"aggregate": ["C"]}


def d(state: State):
    return {"aggregate": ["D"]}


builder = StateGraph(State)
builder.add_node(a, retry_policy=RetryPolicy(max_attempts=5, retry_on=ValueError))
builder.add_node(b, cache_policy=CachePolicy(ttl=3))
builder.add_node(c)
builder.add_node(d, defer=True)
builder.add_edge(START, "a")
builder.add_edge("a", "b")
builder.add_edge("a", "c")
builder.add_edge(["b", "c"], "d")
builder.add_edge("d", END)
graph = builder.compile(cache=InMemoryCache())
print(graph.invoke({"aggregate": []}, {"recursion_limit": 10}))
graph2 = (
    StateGraph(State)
    .add_sequence([a, b, ("c", c)])
    .add_edge(START, "a")
    .compile(name="seq", interrupt_before=["b"])
)
print(graph2.invoke({"aggregate": [], "x": 1}))
