"""Mistakes of who answers, updates or resumes a thread."""

from typing import Any

from plait.checkpoint.memory import InMemorySaver
from plait.errors import (
    InvalidUpdateError,
    MissingThreadIdError,
    UnknownCheckpointError,
    UnknownInterruptError,
    UnknownNodeError,
)
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

from .table import THREAD, State, graph_of, mistake, saved


def nothing(state: State) -> None:
    return None


def ask(state: State) -> dict[str, Any]:
    return {"items": [interrupt("sure?")]}


def waiting(*names: str) -> Any:
    """A thread that waits for an answer of each node."""
    graph = StateGraph(State)
    for name in names:
        graph.add_node(name, ask).add_edge(START, name)
    compiled = graph.compile(checkpointer=InMemorySaver())
    compiled.invoke({"text": ""}, THREAD)
    return compiled


@mistake("A resume without a saver", RuntimeError, "Command(resume=...)", "checkpointer")
def resume_without_saver() -> None:
    graph_of(a=nothing).compile().invoke(Command(resume="yes"))


@mistake("An answer to a thread that asked nothing", UnknownInterruptError, "'order-7'")
def answer_without_question() -> None:
    graph = saved(a=nothing)
    graph.invoke({"text": ""}, THREAD)
    graph.invoke(Command(resume="yes"), THREAD)


@mistake("An answer to an interrupt that does not exist", UnknownInterruptError, "'order-7'")
def answer_to_unknown_interrupt() -> None:
    waiting("ask").invoke(Command(resume={"0" * 32: "yes"}), THREAD)


@mistake("A second answer to an interrupt", UnknownInterruptError, "'order-7'")
def second_answer() -> None:
    graph = waiting("ask")
    answer = {graph.get_state(THREAD).interrupts[0].id: "yes"}
    graph.invoke(Command(resume=answer), THREAD)
    graph.invoke(Command(resume=answer), THREAD)


@mistake("One answer while several interrupts wait", UnknownInterruptError, "2", "{")
def ambiguous_answer() -> None:
    waiting("ask", "check").invoke(Command(resume="yes"), THREAD)


@mistake(
    "`update_state` as a node that does not exist", InvalidUpdateError, "aks", "Did you mean 'ask'?"
)
def update_as_unknown_node() -> None:
    waiting("ask").update_state(THREAD, {"text": "x"}, as_node="aks")


@mistake(
    "`update_state` without `as_node` after parallel nodes", InvalidUpdateError, "as_node", "a, b"
)
def ambiguous_update() -> None:
    graph = StateGraph(State)
    for name in ("a", "b"):
        graph.add_node(name, nothing).add_edge(START, name)
    compiled = graph.compile(checkpointer=InMemorySaver())
    compiled.invoke({"text": ""}, THREAD)
    compiled.update_state(THREAD, {"text": "x"})


@mistake(
    "`update_state` of a checkpoint that does not exist",
    UnknownCheckpointError,
    "'1f0'",
    "'order-7'",
)
def update_of_unknown_checkpoint() -> None:
    config: Any = {"configurable": {"thread_id": "order-7", "checkpoint_id": "1f0"}}
    waiting("ask").update_state(config, {"text": "x"})


@mistake("`get_state` without a thread id", MissingThreadIdError, "thread_id")
def get_state_without_thread() -> None:
    saved(a=nothing).get_state({"configurable": {}})


@mistake("`get_state` of a graph without a saver", ValueError, "checkpointer")
def get_state_without_saver() -> None:
    graph_of(a=nothing).compile().get_state(THREAD)


@mistake(
    "A resume after the waiting node was renamed",
    UnknownNodeError,
    "'ask'",
    "'order-7'",
    "Did you mean 'asks'?",
)
def node_gone_at_resume() -> None:
    saver = InMemorySaver()
    graph_of(ask=ask).compile(checkpointer=saver).invoke({"text": ""}, THREAD)
    graph_of(asks=ask).compile(checkpointer=saver).invoke(Command(resume="yes"), THREAD)
