"""Graphs that both LangGraph and plait build, so that one makes threads and the other goes on."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Event
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel

NAMES = {
    "graph": ("START", "MessagesState", "StateGraph"),
    "types": ("Command", "Send", "interrupt"),
    "func": ("entrypoint", "task"),
    "prebuilt": ("ToolNode",),
    "pregel": ("NodeBuilder", "Pregel"),
    "channels": ("EphemeralValue", "LastValue"),
}
MESSAGES = ("AIMessage", "HumanMessage", "ToolMessage")


def library(root: str, messages: str) -> Any:
    """The names that programs import, of one library."""
    homes = {f"{root}.{home}": names for home, names in NAMES.items()} | {messages: MESSAGES}
    found = {n: getattr(import_module(home), n) for home, names in homes.items() for n in names}
    return SimpleNamespace(**found)


LANGGRAPH = library("langgraph", "langchain_core.messages")
PLAIT = library("plait", "plait.messages")


@dataclass
class Order:
    """A class of the program's own."""

    number: int
    lines: list[str]


class Customer(BaseModel):
    """A model of the program's own, with one inside."""

    name: str
    friend: Customer | None = None


class Items(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


class Typed(Items, total=False):
    order: Order
    customer: Customer


def asker(lib: Any, saver: Any) -> Any:
    """Two parallel nodes, a join, two Sends, a subgraph that asks twice, and an end."""

    def ask(state: Any) -> Any:
        return {"items": [lib.interrupt({"first": len(state["items"])}), lib.interrupt("second")]}

    inner = lib.StateGraph(Items)
    inner.add_node("ask", ask)
    inner.add_edge(lib.START, "ask")
    builder = lib.StateGraph(Items)
    builder.add_node("a", lambda state: {"items": ["a"]})
    builder.add_node("b", lambda state: {"items": ["b"]})
    builder.add_node("sent", lambda state: {"items": [state["n"]]})
    builder.add_node("inner", inner.compile())
    builder.add_node("end", lambda state: {"items": ["end"]})
    builder.add_edge(lib.START, "a").add_edge(lib.START, "b").add_edge(["a", "b"], "inner")
    builder.add_conditional_edges("a", lambda state: [lib.Send("sent", {"n": n}) for n in (1, 2)])
    builder.add_edge("inner", "end")
    return builder.compile(checkpointer=saver)


def fan(lib: Any, saver: Any) -> Any:
    """Sends to a subgraph that asks, so that two questions wait; a deferred node at the end."""
    inner = lib.StateGraph(Items)
    inner.add_node("ask", lambda state: {"items": [lib.interrupt(state["items"][0])]})
    inner.add_edge(lib.START, "ask")
    builder = lib.StateGraph(Items)
    builder.add_node("go", lambda state: {"items": ["go"]})
    builder.add_node("child", inner.compile())
    builder.add_node("late", lambda state: {"items": ["late"]}, defer=True)
    builder.add_edge(lib.START, "go").add_edge("child", "late")
    sends = [lib.Send("child", {"items": [name]}) for name in ("x", "y")]
    builder.add_conditional_edges("go", lambda state: sends)
    return builder.compile(checkpointer=saver)


def own_and_inner(lib: Any, saver: Any) -> Any:
    """A node that calls a graph which asks, and then asks something itself."""
    inner = lib.StateGraph(Items)
    inner.add_node("ask", lambda state: {"items": [lib.interrupt("inner?")]})
    inner.add_edge(lib.START, "ask")
    asking = inner.compile()

    def both(state: Any) -> Any:
        found = asking.invoke({"items": []})
        return {"items": [*found["items"], lib.interrupt("own?")]}

    builder = lib.StateGraph(Items)
    builder.add_node("both", both)
    builder.add_edge(lib.START, "both")
    return builder.compile(checkpointer=saver)


def buys(lib: Any, saver: Any, order: Sequence[int] = ()) -> Any:
    """Two calls of a tool beside each other, in a subgraph, that both ask; they do so in an order
    of their numbers, where one is given."""
    asked = {number: Event() for number in order}

    def buy(number: int) -> str:
        """Buy something."""
        for before in order[: order.index(number)] if order else ():
            asked[before].wait()
        try:
            return f"{number} {lib.interrupt({'number': number, 'of': (1, 2)})}"
        finally:
            if order:
                asked[number].set()

    def call(state: Any) -> Any:
        calls = [{"name": "buy", "args": {"number": n}, "id": f"c{n}"} for n in (1, 2)]
        return {"messages": [lib.AIMessage("", id="a", tool_calls=calls)]}

    inner = lib.StateGraph(lib.MessagesState)
    inner.add_node("call", call).add_node("tools", lib.ToolNode([buy]))
    inner.add_edge(lib.START, "call").add_edge("call", "tools")
    builder = lib.StateGraph(lib.MessagesState).add_node("inner", inner.compile())
    return builder.add_edge(lib.START, "inner").compile(checkpointer=saver)


def fails(lib: Any, saver: Any) -> Any:
    """One node fails beside others that end well; one writes nothing."""

    def bad(state: Any) -> Any:
        if lib is LANGGRAPH:
            raise ValueError("boom")
        return {"items": ["mended"]}

    builder = lib.StateGraph(Items)
    builder.add_node("bad", bad)
    builder.add_node("good", lambda state: {"items": ["good"]})
    builder.add_node("quiet", lambda state: None)
    builder.add_node("late", lambda state: {"items": ["late"]}, defer=True)
    for name in ("bad", "good", "quiet"):
        builder.add_edge(lib.START, name).add_edge(name, "late")
    return builder.compile(checkpointer=saver)


def typed(lib: Any, saver: Any) -> Any:
    """Values of the program's own classes."""
    builder = lib.StateGraph(Typed)
    customer = Customer(name="Ann", friend=Customer(name="Bob"))
    builder.add_node("make", lambda state: {"order": Order(7, ["tea"]), "customer": customer})
    builder.add_edge(lib.START, "make")
    return builder.compile(checkpointer=saver)


def chat(lib: Any, saver: Any) -> Any:
    """A conversation: each turn answers with a tool call and its result."""

    def answer(state: Any) -> Any:
        number = len(state["messages"])
        call = {"name": "look", "args": {"n": number}, "id": f"c{number}"}
        return {
            "messages": [
                lib.AIMessage(f"answer {number} " * 10, id=f"a{number}", tool_calls=[call]),
                lib.ToolMessage("found", id=f"t{number}", tool_call_id=f"c{number}"),
            ]
        }

    builder = lib.StateGraph(lib.MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(lib.START, "answer")
    return builder.compile(checkpointer=saver)


def workflow(lib: Any, saver: Any) -> Any:
    """An entrypoint that keeps something for its next call, and asks."""

    @lib.task
    def square(number: int) -> int:
        return number * number

    @lib.entrypoint(checkpointer=saver)
    def total(number: int, *, previous: Any = None) -> Any:
        return square(number).result() + (previous or 0) + lib.interrupt("more?")

    return total


def asks_in_calls(lib: Any, saver: Any) -> Any:
    """An entrypoint that asks in calls beside each other, in calls one after the other that all ask
    the same, and by itself."""

    @lib.task
    def about(number: int) -> str:
        return f"{number} {lib.interrupt({'number': number})}"

    @lib.task
    def go_on() -> str:
        return lib.interrupt("on?")

    @lib.entrypoint(checkpointer=saver)
    def asking(numbers: int) -> list[str]:
        calls = [about(number) for number in range(numbers)]
        found = [call.result() for call in calls]
        return [*found, go_on().result(), go_on().result(), lib.interrupt("sure?")]

    return asking


def sends(lib: Any, saver: Any) -> Any:
    """Two Sends that ask."""
    builder = lib.StateGraph(Items)
    builder.add_node("ask", lambda state: {"items": [lib.interrupt(state["items"][0])]})
    to = [lib.Send("ask", {"items": [name]}) for name in ("x", "y")]
    return builder.add_conditional_edges(lib.START, lambda state: to).compile(checkpointer=saver)


def pluses(lib: Any, saver: Any) -> Any:
    """A join of nodes with a "+" in their names, which leads to a node that asks."""
    builder = lib.StateGraph(Items)
    for name in ("c++", "a+b", "d"):
        builder.add_node(name, lambda state, name=name: {"items": [name]})
        builder.add_edge(lib.START, name)
    builder.add_node("ask", lambda state: {"items": [lib.interrupt("sure?")]})
    builder.add_edge(["c++", "a+b", "d"], "ask")
    return builder.compile(checkpointer=saver, interrupt_before=["ask"])


def deltas(lib: Any, saver: Any, channel: Any = operator.add) -> Any:
    """Nodes in a row that add to a list, by a reducer or in a channel."""
    builder = lib.StateGraph(TypedDict("Listed", {"items": Annotated[list[Any], channel]}))
    builder.add_sequence([(name, lambda state, name=name: {"items": [name]}) for name in "abc"])
    return builder.add_edge(lib.START, "a").compile(checkpointer=saver)


def deltas_inside(lib: Any, saver: Any, channel: Any = operator.add, asks: str = "after") -> Any:
    """A graph with such a list inside, and a question after or in it."""
    inner = lib.StateGraph(TypedDict("Listed", {"items": Annotated[list[Any], channel]}))
    inner.add_node("a", lambda state: {"items": ["a"]})
    inner.add_node("b", lambda state: {"items": [lib.interrupt("?") if asks == "in" else "b"]})
    builder = lib.StateGraph(Items)
    builder.add_node("inner", inner.add_edge(lib.START, "a").add_edge("a", "b").compile())
    builder.add_node("after", lambda state: {"items": [lib.interrupt("sure?")]})
    builder.add_edge(lib.START, "inner").add_edge("inner", "after")
    return builder.compile(checkpointer=saver)


def asks_twice(lib: Any, saver: Any) -> Any:
    """A node that asks twice, beside one that asks once."""

    def twice(state: Any) -> Any:
        return {"items": [lib.interrupt("name?"), lib.interrupt("age?")]}

    builder = lib.StateGraph(Items)
    builder.add_node("twice", twice)
    builder.add_node("once", lambda state: {"items": [lib.interrupt("sure?")]})
    return builder.add_edge(lib.START, "twice").add_edge(lib.START, "once").compile(saver)


def fails_otherwise(lib: Any, saver: Any) -> Any:
    """Two nodes, of which one fails as often as it is run, each time with another error."""
    failures: list[int] = []

    def bad(state: Any) -> Any:
        failures.append(len(failures))
        raise ValueError(f"failure {len(failures)}")

    builder = lib.StateGraph(Items)
    builder.add_node("bad", bad)
    builder.add_node("good", lambda state: {"items": ["good"]})
    return builder.add_edge(lib.START, "bad").add_edge(lib.START, "good").compile(saver)


def by_hand(lib: Any, saver: Any) -> Any:
    """Two nodes of a Pregel that is made of channels, without a builder."""
    first = lib.NodeBuilder().subscribe_only("a").do(lambda number: number + 1).write_to("b")
    second = lib.NodeBuilder().subscribe_only("b").do(lambda number: number * 10).write_to("c")
    return lib.Pregel(
        nodes={"first": first, "second": second},
        channels={"a": lib.EphemeralValue(int), "b": lib.LastValue(int), "c": lib.LastValue(int)},
        input_channels="a",
        output_channels="c",
        checkpointer=saver,
    )
