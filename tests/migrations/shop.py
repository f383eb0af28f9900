"""A program before and after a change, as `plait check-deploy` loads it."""

from operator import add
from typing import Annotated, Any, TypedDict

from plait import START, RenamedFrom, StateGraph, interrupt


class Old(TypedDict, total=False):
    log: Annotated[list[str], add]
    total: str


class New(TypedDict, total=False):
    events: Annotated[list[str], add, RenamedFrom("log")]
    total: int


def ask(state: Any) -> Any:
    return {"log": [interrupt("ship it?")]}


def approve(state: Any) -> Any:
    return {"events": [interrupt("ship it?")]}


def pack(state: Any) -> Any:
    return None


def old() -> StateGraph[Any]:
    """The graph that made the threads."""
    builder = StateGraph(Old).add_node("pack", pack).add_node("ask", ask).add_node("check", ask)
    builder.add_conditional_edges(START, lambda state: state["log"][0], ["pack", "ask", "check"])
    return builder


def to_numbers(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "total": int(values.get("total", "0"))}


def _new() -> StateGraph[Any]:
    builder = StateGraph(New, version=2, migrations={1: to_numbers})
    builder.add_node("pack", pack).add_node("approve", approve, renamed_from="ask")
    builder.add_node("checks", approve)
    builder.add_conditional_edges(START, lambda state: "pack", ["pack", "approve", "checks"])
    return builder


same = old()
"""Nothing has changed."""
new = _new().compile()
"""Keys and a node renamed, the state migrated; one node renamed without saying so."""
