"""A topic that was written nothing holds nothing: whoever reads the state goes on without it."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from plait.channels import Topic
from plait.checkpoint.memory import InMemorySaver
from plait.graph import END, START, StateGraph
from plait.types import interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    topic: Annotated[list[str], Topic(str)]


def test_a_path_function_reads_the_state_without_it() -> None:
    seen: list[Any] = []
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"log": ["a"], "topic": []})
    builder.add_conditional_edges(START, lambda state: seen.append({**state}) or "a")
    builder.add_conditional_edges("a", lambda state: seen.append({**state}) or END)
    assert builder.compile().invoke({"log": ["in"], "topic": []}) == {"log": ["in", "a"]}
    assert seen == [{"log": ["in"]}, {"log": ["in", "a"]}]


def test_a_stopped_super_step_shows_the_state_without_it() -> None:
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"log": ["a"], "topic": []})
    builder.add_node("asks", lambda state: interrupt("?"))
    builder.add_edge(START, "a").add_edge(START, "asks")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": ["in"]}, CONFIG)
    assert graph.get_state(CONFIG).values == {"log": ["in", "a"]}
