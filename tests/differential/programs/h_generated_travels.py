"""What random programs found, made small: time travel, graphs side by side, caches."""

import operator
from typing import Annotated, TypedDict

from langgraph.cache.memory import InMemoryCache
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, Send


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def case_cached_results_of_tasks_alike(env):
    ran = []

    def node(state):
        ran.append(state)
        return {"items": state["items"]}

    builder = StateGraph(State)
    builder.add_node("n", node, cache_policy=CachePolicy(key_func=str))
    builder.add_conditional_edges(START, lambda state: [Send("n", {"items": ["x"]})] * 3)
    app = builder.compile(cache=InMemoryCache())
    return [(app.invoke({"items": []})["items"], len(ran)) for _ in range(3)]
