"""Mistakes in what is written to the state."""

from typing import Any

from pydantic import BaseModel, ValidationError

from plait.checkpoint.memory import InMemorySaver
from plait.errors import (
    InvalidUpdateError,
    UnknownKeyWarning,
    UnregisteredTypeError,
)
from plait.func import task
from plait.graph import START, MessagesState, StateGraph
from plait.graph.message import push_message
from plait.messages import AIMessage, HumanMessage
from plait.types import Command, Overwrite, Send

from .table import THREAD, State, graph_of, mistake, saved


def nothing(state: State) -> None:
    return None


class Opaque:
    """A class that nobody registered."""


def side_by_side(**updates: Any) -> Any:
    graph = StateGraph(State)
    for name, update in updates.items():
        graph.add_node(name, lambda state, update=update: update).add_edge(START, name)
    return graph.compile().invoke({"text": ""})


@mistake(
    "A node that writes a key that no schema knows",
    UnknownKeyWarning,
    "'a'",
    "'txt'",
    "Did you mean 'text'?",
)
def unknown_key_of_a_node() -> None:
    graph_of(a=lambda state: {"txt": "x"}).compile().invoke({"text": ""})


@mistake(
    "An input with a key that no schema knows",
    UnknownKeyWarning,
    "'txt'",
    "State",
    "Did you mean 'text'?",
)
def unknown_key_of_an_input() -> None:
    graph_of(a=nothing).compile().invoke({"txt": "x", "text": ""})


@mistake(
    "A node that returns a message, not the key for it",
    UnknownKeyWarning,
    "AIMessage",
    "'answer'",
    "it is dropped",
    "Did you mean 'messages'?",
)
def object_without_keys_of_a_node() -> None:
    talk = StateGraph(MessagesState).add_node("answer", lambda state: AIMessage("hello"))
    talk.add_edge(START, "answer").compile().invoke({"messages": "hi"})


@mistake(
    "An input that is a message, not the key for it",
    UnknownKeyWarning,
    "HumanMessage",
    "the input",
    "it is dropped",
)
def object_without_keys_as_input() -> None:
    talk = StateGraph(MessagesState).add_node("answer", nothing).add_edge(START, "answer")
    talk.compile().invoke(HumanMessage("hi"))


@mistake(
    "`update_state` with a key that no schema knows",
    UnknownKeyWarning,
    "'a'",
    "'txt'",
    "Did you mean 'text'?",
)
def unknown_key_of_an_update() -> None:
    graph = saved(a=nothing)
    graph.invoke({"text": ""}, THREAD)
    graph.update_state(THREAD, {"txt": "x"})


@mistake("A node that returns no update", InvalidUpdateError, "'a'", "'done'", "Return a dict")
def node_returns_a_string() -> None:
    graph_of(a=lambda state: "done").compile().invoke({"text": ""})


@mistake("A `Command` whose update is none", InvalidUpdateError, "'a'", "5")
def command_with_bad_update() -> None:
    graph_of(a=lambda state: Command(update=5)).compile().invoke({"text": ""})


@mistake(
    "Two parallel nodes that write one key without a reducer",
    InvalidUpdateError,
    "'text'",
    "reducer",
)
def two_writes_of_one_key() -> None:
    side_by_side(a={"text": "a"}, b={"text": "b"})


@mistake(
    "Two `Overwrite`s of one key in one super-step", InvalidUpdateError, "'items'", "Overwrite"
)
def two_overwrites() -> None:
    side_by_side(a={"items": Overwrite(["a"])}, b={"items": Overwrite(["b"])})


@mistake(
    "A value of a type that is not registered, with a saver",
    UnregisteredTypeError,
    "Opaque",
    "register",
)
def unregistered_type() -> None:
    saved(a=lambda state: {"items": [Opaque()]}).invoke({"text": ""}, THREAD)


@mistake("An input that does not fit its pydantic schema", ValidationError, "Order", "amount")
def input_that_does_not_fit() -> None:
    class Order(BaseModel):
        amount: int

    graph = StateGraph(Order).add_node("a", nothing).add_edge(START, "a")
    graph.compile().invoke({"amount": "many"})


@mistake("`push_message` of a message without an id", ValueError, "id", "AIMessage")
def pushed_without_an_id() -> None:
    graph_of(a=lambda state: push_message(AIMessage("hi"))).compile().invoke({"text": ""})


@mistake("`push_message` to a state without messages", InvalidUpdateError, "'a'", "'messages'")
def pushed_to_unknown_key() -> None:
    graph_of(a=lambda state: push_message(AIMessage("hi", id="1"))).compile().invoke({"text": ""})


@mistake("A sync function that returns what nobody awaits", InvalidUpdateError, "'a'", "async")
def coroutine_that_nobody_awaits() -> None:
    async def work() -> None:
        return None

    made = work()
    try:
        graph_of(a=lambda state: made).compile().invoke({"text": ""})
    finally:
        made.close()


@mistake("A function in a stored state", UnregisteredTypeError, "'items'", "'order-7'", "no data")
def function_in_a_stored_state() -> None:
    saved(a=lambda state: {"items": [nothing]}).invoke({"text": ""}, THREAD)


@mistake(
    "A `Send` of what cannot be stored",
    UnregisteredTypeError,
    "What runs next",
    "'order-7'",
    "['sends'][0]",
    "register",
)
def send_of_what_cannot_be_stored() -> None:
    graph = graph_of(a=nothing).add_node("b", nothing)
    graph.add_conditional_edges("a", lambda state: [Send("b", {"text": Opaque()})], ["b"])
    graph.compile(checkpointer=InMemorySaver()).invoke({"text": ""}, THREAD)


@mistake(
    "Metadata that cannot be stored", UnregisteredTypeError, "The metadata", "'order-7'", "['who']"
)
def metadata_that_cannot_be_stored() -> None:
    saved(a=nothing).invoke({"text": ""}, {**THREAD, "metadata": {"who": Opaque()}})


@mistake("The future of a task in a stored state", UnregisteredTypeError, "'items'", ".result()")
def future_in_a_stored_state() -> None:
    saved(a=lambda state: {"items": [double(1)]}).invoke({"text": ""}, THREAD)


@task
def double(number: int) -> int:
    return 2 * number
