"""Small graphs that the tests of ordinary programs share."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from plait.graph import START, StateGraph

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class Items(TypedDict, total=False):
    """A list that grows."""

    items: Annotated[list[Any], operator.add]


def adder(name: str) -> Any:
    """A sync node that adds its name."""

    def node(state: Items) -> dict[str, Any]:
        return {"items": [name]}

    return node


def async_adder(name: str) -> Any:
    """An async node that adds its name."""

    async def node(state: Items) -> dict[str, Any]:
        return {"items": [name]}

    return node


def chain(saver: Any, *nodes: tuple[str, Any], **options: Any) -> Any:
    """Nodes one after the other."""
    builder: Any = StateGraph(Items)
    for name, node in nodes:
        builder.add_node(name, node)
    builder.add_edge(START, nodes[0][0])
    for (first, _), (then, _) in pairwise(nodes):
        builder.add_edge(first, then)
    return builder.compile(checkpointer=saver, **options)


def line(saver: Any) -> Any:
    """Two nodes, "a" and then "b"."""
    return chain(saver, ("a", adder("a")), ("b", adder("b")))


def config(thread: object) -> Any:
    """The config of a thread."""
    return {"configurable": {"thread_id": str(thread)}}


def fan(saver: Any, *nodes: tuple[str, Any], **options: Any) -> Any:
    """Nodes beside each other, then `last`."""
    builder: Any = StateGraph(Items)
    for name, node in nodes:
        builder.add_node(name, node)
        builder.add_edge(START, name)
    builder.add_node("last", adder("last"))
    builder.add_edge([name for name, _ in nodes], "last")
    return builder.compile(checkpointer=saver, **options)


def abc(saver: Any, **options: Any) -> Any:
    """Three nodes that add "a", "b" and "c"."""
    return chain(saver, *[(name, adder(name)) for name in "abc"], **options)
