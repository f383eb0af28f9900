"""Programs that mutate their state: what they meant is what a fresh process reads from disk."""

from __future__ import annotations

import asyncio
import copy
import json
import subprocess
import sys
from array import array
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import numpy as np
import pytest

from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import START, StateGraph, add_messages
from plait.messages import AIMessage, HumanMessage

CONFIG: Any = {"configurable": {"thread_id": "1"}}
READER = """
import json, sys
from plait.checkpoint.sqlite import SqliteSaver
with SqliteSaver(sys.argv[1]) as saver:
    found = [t.checkpoint["channel_values"] for t in
             saver.list({"configurable": {"thread_id": "1"}})]
def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.content if hasattr(value, "content") else value
print(json.dumps([{key: plain(value) for key, value in values.items()
                   if key in ("items", "messages", "data")} for values in found]))
"""


class State(TypedDict, total=False):
    items: list[Any]
    messages: Annotated[list[Any], add_messages]
    data: dict[str, Any]


def reload(path: Path) -> list[dict[str, Any]]:
    """The values of all checkpoints, newest first, as a fresh interpreter reads them."""
    out = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=False
    )
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def run(path: Path, api: str, durability: str, given: Any, *nodes: Any) -> Any:
    """Run nodes one after the other on a file."""
    builder: Any = StateGraph(State)
    for node in nodes:
        builder.add_node(node.__name__, node)
    names = [START, *(node.__name__ for node in nodes)]
    for first, then in pairwise(names):
        builder.add_edge(first, then)
    with SqliteSaver(path) as saver:
        graph = builder.compile(checkpointer=saver)
        if api == "async":
            return asyncio.run(graph.ainvoke(given, CONFIG, durability=durability))
        return graph.invoke(given, CONFIG, durability=durability)


modes = pytest.mark.parametrize("durability", ["sync", "async", "exit"])
apis = pytest.mark.parametrize("api", ["sync", "async"])


@modes
@apis
def test_list_mutated_in_place_and_returned_is_stored(
    tmp_path: Path, api: str, durability: str
) -> None:
    def append(state: Any) -> Any:
        state["items"].append("x")
        return state

    def again(state: Any) -> Any:
        state["items"].append("y")
        state["items"][0] = "changed"
        return {"items": state["items"]}

    path = tmp_path / "log.db"
    result = run(path, api, durability, {"items": ["first"]}, append, again)
    stored = reload(path)
    assert result["items"] == stored[0]["items"] == ["changed", "x", "y"]
    if durability != "exit":
        assert [values.get("items") for values in stored] == [
            ["changed", "x", "y"],
            ["first", "x"],
            ["first"],
            None,
        ], "older checkpoints keep what was true then"


@modes
@apis
def test_message_edited_and_returned_under_its_id_is_stored(
    tmp_path: Path, api: str, durability: str
) -> None:
    def edit(state: Any) -> Any:
        message = state["messages"][0]
        message.content = "edited"
        return {"messages": [message]}

    def reply(state: Any) -> Any:
        return {"messages": [AIMessage("reply", id="2")]}

    path = tmp_path / "log.db"
    given = {"messages": [HumanMessage("said", id="1")]}
    run(path, api, durability, given, edit, reply)
    stored = reload(path)
    assert stored[0]["messages"] == ["edited", "reply"]
    if durability != "exit":
        told = [values["messages"] for values in stored if values.get("messages")]
        assert told == [["edited", "reply"], ["edited"], ["said"]]


@modes
@apis
def test_message_edited_while_another_is_returned_is_stored(
    tmp_path: Path, api: str, durability: str
) -> None:
    def reply(state: Any) -> Any:
        state["messages"][0].content = "edited"
        return {"messages": [AIMessage("reply", id="2")]}

    def more(state: Any) -> Any:
        state["messages"][0].content += " twice"
        state["messages"][1].content = "better reply"
        return {"messages": [AIMessage("more", id="3")]}

    path = tmp_path / "log.db"
    given = {"messages": [HumanMessage("said", id="1")]}
    run(path, api, durability, given, reply, more)
    stored = reload(path)
    assert stored[0]["messages"] == ["edited twice", "better reply", "more"]
    if durability != "exit":
        told = [values["messages"] for values in stored if values.get("messages")]
        assert told == [["edited twice", "better reply", "more"], ["edited", "reply"], ["said"]]


@modes
@apis
def test_nested_value_mutated_in_place_and_returned_is_stored(
    tmp_path: Path, api: str, durability: str
) -> None:
    def deepen(state: Any) -> Any:
        state["data"]["a"]["b"].append(2)
        return {"data": state["data"]}

    def deepen_more(state: Any) -> Any:
        state["data"]["a"]["b"].append(3)
        state["data"]["c"] = {"d": 1}
        return {"data": state["data"]}

    path = tmp_path / "log.db"
    run(path, api, durability, {"data": {"a": {"b": [1]}}}, deepen, deepen_more)
    stored = reload(path)
    assert stored[0]["data"] == {"a": {"b": [1, 2, 3]}, "c": {"d": 1}}
    if durability != "exit":
        assert stored[1]["data"] == {"a": {"b": [1, 2]}}
        assert stored[2]["data"] == {"a": {"b": [1]}}


def turn(values: Any) -> None:
    values.shape = (2, 3)


def read_as_integers(values: Any) -> None:
    values.dtype = np.dtype("int64")


SAME_BYTES: dict[str, Any] = {
    "shape": (np.arange(6.0), lambda values: values.reshape(2, 3)),
    "type": (np.zeros(4), lambda values: values.astype("int64")),
    "scalar": (np.float64(0), lambda value: np.int64(value)),
    "in a dict": ({"of": np.arange(6.0)}, lambda item: {"of": item["of"].reshape(3, 2)}),
    "in a tuple": ((1, np.zeros(4)), lambda item: (1, item[1].astype("int64"))),
    "bytes": ((1, b"ab"), lambda item: (1, bytearray(item[1]))),
    "array": (array("i", [0]), lambda values: array("f", values)),
    "shape, in place": (np.arange(6.0), turn),
    "type, in place": (np.arange(6.0), read_as_integers),
}
"""What a list or dict holds, and what makes of it something else that looks the same in memory."""


def shown(value: Any) -> str:
    """A value with its types."""
    if isinstance(value, dict | tuple):
        parts = value.values() if isinstance(value, dict) else value
        return f"{type(value).__name__}({', '.join(map(shown, parts))})"
    return f"{value!r} {getattr(value, 'dtype', '')} {getattr(value, 'shape', '')}"


@pytest.mark.parametrize("change", SAME_BYTES)
@pytest.mark.parametrize("more", [0, 40])
def test_arrays_of_another_type_or_shape_are_stored_where_their_bytes_are_the_same(
    tmp_path: Path, change: str, more: int
) -> None:
    first, make = SAME_BYTES[change]

    def work(state: Any) -> Any:
        items, data = state["items"], state["data"]
        at, key = make(items[0]), make(data["k"])
        if "in place" not in change:
            items, data = [at, *items[1:]], {**data, "k": key}
        return {"items": items, "data": data}

    given = {
        "items": [first, *range(more)],
        "data": {"k": first} | {str(n): n for n in range(more)},
    }
    given = copy.deepcopy(given)
    path = tmp_path / "log.db"
    result = run(path, "sync", "sync", given, work)
    with SqliteSaver(path) as saver:
        stored = saver.get_tuple(CONFIG).checkpoint["channel_values"]
    for values in (result, stored):
        assert len(values["items"]) == len(values["data"]) == more + 1
    assert shown(stored["items"][0]) == shown(result["items"][0]) != shown(first)
    assert shown(stored["data"]["k"]) == shown(result["data"]["k"]) != shown(first)
