"""Mistakes of who answers, updates or resumes a thread."""

from operator import add
from typing import Annotated, Any, TypedDict

from plait.checkpoint.memory import InMemorySaver
from plait.errors import (
    ConfigError,
    InvalidUpdateError,
    MigrationError,
    MissingThreadIdError,
    UnknownCheckpointError,
    UnknownInterruptError,
    UnknownKeyWarning,
    UnknownNodeError,
)
from plait.graph import START, StateGraph
from plait.types import Command, Send, interrupt

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


@mistake(
    "An answer as a plain dict",
    UnknownKeyWarning,
    "'resume'",
    "Did you mean Command(resume=...)",
)
def answer_as_a_dict() -> None:
    saved(a=nothing).invoke({"text": "", "resume": "yes"}, THREAD)


@mistake(
    "A resume without a saver", ConfigError, "Command(resume=...)", "'LangGraph'", "checkpointer="
)
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


@mistake(
    "A Send that waits for a node that was renamed", UnknownNodeError, "'work'", "renamed_from"
)
def sent_to_a_node_that_is_gone() -> None:
    saver = InMemorySaver()

    def sending(name: str) -> Any:
        graph = StateGraph(State).add_node(name, ask)
        graph.add_conditional_edges(START, lambda state: [Send(name, {"n": 1})])
        return graph.compile(checkpointer=saver)

    sending("work").invoke({"text": ""}, THREAD)
    sending("works").invoke(Command(resume="yes"), THREAD)


def versioned(saver: InMemorySaver, version: int, migrate: Any) -> Any:
    """A graph whose state has a version, with one migration to it."""
    graph = StateGraph(State, version=version, migrations={version - 1: migrate})
    return graph.add_node("ask", nothing).add_edge(START, "ask").compile(checkpointer=saver)


@mistake(
    "A migration that fails", MigrationError, "'order-7'", "from version 1 to 2", "KeyError('none')"
)
def migration_fails() -> None:
    saver = InMemorySaver()
    graph_of(ask=nothing).compile(checkpointer=saver).invoke({"text": ""}, THREAD)
    versioned(saver, 2, lambda values: values["none"]).invoke({"text": ""}, THREAD)


@mistake("A thread older than every migration", MigrationError, "no migration from version 1")
def migration_missing() -> None:
    saver = InMemorySaver()
    graph_of(ask=nothing).compile(checkpointer=saver).invoke({"text": ""}, THREAD)
    versioned(saver, 3, dict).invoke({"text": ""}, THREAD)


@mistake("A thread that newer code has stored", MigrationError, "from version 2 to 1", "newer code")
def state_of_newer_code() -> None:
    saver = InMemorySaver()
    versioned(saver, 2, dict).invoke({"text": ""}, THREAD)
    graph_of(ask=nothing).compile(checkpointer=saver).invoke({"text": ""}, THREAD)


@mistake(
    "Two waiting nodes that are one today", MigrationError, "'ask' and 'check'", "called 'both'"
)
def two_nodes_became_one() -> None:
    saver = InMemorySaver()
    old = StateGraph(State)
    for name in ("ask", "check"):
        old.add_node(name, ask).add_edge(START, name)
    old.compile(checkpointer=saver).invoke({"text": ""}, THREAD)
    new = StateGraph(State).add_node("both", ask, renamed_from=["ask", "check"])
    new.add_edge(START, "both").compile(checkpointer=saver).invoke(None, THREAD)


@mistake("A finished task's write to a key that was removed", UnknownKeyWarning, "RenamedFrom")
def finished_write_to_a_key_that_is_gone() -> None:
    saver = InMemorySaver()

    def graph(schema: Any) -> Any:
        built = StateGraph(schema).add_node("ask", lambda state: ask(state)).add_edge(START, "ask")
        built.add_node("write", lambda state: {"text": "told"}).add_edge(START, "write")
        return built.compile(checkpointer=saver)

    class Fewer(TypedDict):
        items: Annotated[list[Any], add]

    graph(State).invoke({"items": []}, THREAD)
    graph(Fewer).invoke(Command(resume="yes"), THREAD)
