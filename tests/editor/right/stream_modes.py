"""Streams in several modes, whose names may stand in a typed variable."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, StateGraph
from plait.graph.state import CompiledStateGraph
from plait.types import Durability, StreamMode, StreamWriter


class State(TypedDict):
    seen: Annotated[list[str], operator.add]


def look(state: State, *, writer: StreamWriter) -> dict[str, Any]:
    writer(len(state["seen"]))
    return {"seen": ["look"]}


builder = StateGraph(State).add_node(look).add_edge(START, "look")
graph: CompiledStateGraph[State] = builder.compile(checkpointer=InMemorySaver())


def told(modes: StreamMode | Sequence[StreamMode], durability: Durability) -> list[Any]:
    config = {"configurable": {"thread_id": f"{modes} {durability}"}}
    return list(graph.stream({"seen": []}, config, stream_mode=modes, durability=durability))


modes: list[StreamMode] = ["updates", "custom"]
for mode, part in told(modes, "sync"):
    print(mode, part)
assert told("custom", "async") == [0]
assert told(["values"], "exit")[-1] == ("values", {"seen": ["look"]})
