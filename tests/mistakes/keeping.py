"""Mistakes of who waits for times, guards work from being repeated, and keeps threads."""

import asyncio
from datetime import datetime
from typing import Any

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.env import run_env
from plait.drivers.sim import SimEnv
from plait.errors import (
    ConfigError,
    InterruptTimeoutError,
    InvalidAnswerError,
    InvalidNodeError,
    NodeTimeoutError,
    RunDeadlineError,
    ThreadBusyError,
    UnusedQueryWarning,
)
from plait.graph import START, StateGraph
from plait.store.memory import InMemoryStore
from plait.timers import sleep, sleep_until
from plait.types import Command, interrupt

from .table import THREAD, State, graph_of, mistake, saved


def nothing(state: State) -> None:
    return None


@mistake("A search by a query in a store without an index", UnusedQueryWarning, "query", "index")
def query_without_index() -> None:
    store = InMemoryStore()
    store.put(("notes",), "1", {"text": "tea"})
    store.search(("notes",), query="coffee")


@mistake("`on_unknown` that is no policy", InvalidNodeError, "'aks'", "'ask'")
def unknown_policy() -> None:
    StateGraph(State).add_node("a", nothing, on_unknown="aks")  # type: ignore[arg-type]


@mistake("`on_unknown` of a node that is a graph", InvalidNodeError, "'a'", "nodes inside")
def policy_of_a_graph() -> None:
    inner = graph_of(b=nothing).compile()
    StateGraph(State).add_node("a", inner, on_unknown="ask").add_edge(START, "a").compile()


@mistake("An async `on_unknown` function for a sync node", InvalidNodeError, "async")
def async_policy() -> None:
    async def look(outcome: Any) -> Any:
        return None

    StateGraph(State).add_node("a", nothing, on_unknown=look).add_edge(START, "a").compile()


@mistake('`on_unknown` with `durability="exit"`', ConfigError, "'a'", "durability")
def guard_without_storage() -> None:
    graph = StateGraph(State).add_node("a", nothing, on_unknown="ask").add_edge(START, "a")
    graph.compile(checkpointer=InMemorySaver()).invoke({"text": ""}, THREAD, durability="exit")


@mistake("An answer that does not say what became of a task", InvalidAnswerError, "'run_again'")
def answer_that_says_nothing() -> None:
    async def hangs(state: State) -> None:
        await asyncio.Event().wait()

    builder = StateGraph(State).add_node("a", hangs, on_unknown="ask", timeout=0.01)
    graph = builder.add_edge(START, "a").compile(checkpointer=InMemorySaver())

    async def run() -> None:
        try:
            await graph.ainvoke({"text": ""}, THREAD)
        except NodeTimeoutError:
            await graph.ainvoke(None, THREAD)
        await graph.ainvoke(Command(resume="yes"), THREAD)

    asyncio.run(run())


@mistake("`interrupt(default=)` without a timeout", ConfigError, "timeout=")
def default_without_timeout() -> None:
    saved(a=lambda state: interrupt("sure?", default="no")).invoke({"text": ""}, THREAD)


@mistake("A time without a time zone", ConfigError, "time zone")
def time_without_zone() -> None:
    saved(a=lambda state: sleep_until(datetime(2030, 1, 1))).invoke({"text": ""}, THREAD)


@mistake("`sleep` in a graph without a saver", ConfigError, "'a'", "checkpointer")
def sleep_without_saver() -> None:
    graph_of(a=lambda state: sleep(1)).compile().invoke({"text": ""})


@mistake("A question that nobody answered in time", InterruptTimeoutError, "default=")
def nobody_answered() -> None:
    clock = SimEnv()
    token = run_env.set(clock)
    try:
        graph = saved(a=lambda state: interrupt("sure?", timeout=60))
        graph.invoke({"text": ""}, THREAD)
        clock.clock += 60
        graph.invoke(None, THREAD)
    finally:
        run_env.reset(token)


@mistake("A run that has passed its deadline", RunDeadlineError, "'order-7'", "deadline=")
def too_late() -> None:
    clock = SimEnv()
    token = run_env.set(clock)
    try:
        graph = saved(a=lambda state: interrupt("sure?"))
        graph.invoke({"text": ""}, THREAD, deadline=60)
        clock.clock += 61
        graph.invoke(None, THREAD)
    finally:
        run_env.reset(token)


@mistake("Deleting a thread that a run owns", ThreadBusyError, "'order-7'")
def delete_in_use() -> None:
    saver = InMemorySaver()
    StateGraph(State).add_node("a", nothing).add_edge(START, "a").compile(
        checkpointer=saver
    ).invoke({"text": ""}, THREAD)
    session = saver.open_session("order-7")
    saver.run(session.claim())
    saver.delete_thread("order-7")


@mistake("Copying a thread to one that exists", ConfigError, "'order-7'", "new thread id")
def copy_onto_another() -> None:
    saver = InMemorySaver()
    graph = StateGraph(State).add_node("a", nothing).add_edge(START, "a")
    graph.compile(checkpointer=saver).invoke({"text": ""}, THREAD)
    saver.copy_thread("order-7", "order-7")


@mistake("`prune(older_than=)` that is no time", ConfigError, "'yesterday'", "ISO 8601")
def no_time() -> None:
    InMemorySaver().prune(["order-7"], older_than="yesterday")
