"""Owns the workloads: each is one function that builds a graph from whichever root it is given.

Every program returns a ``Job`` whose graph is compiled already, so compiling is never timed. An
async program has async nodes and async path functions: neither side then pays for threads.
"""

import itertools
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from benchmarks.implementations import Implementation
from benchmarks.measure import Job, run_async

Node = Callable[[Any], Any]
STREAMS_PER_RUN = 10


class Count(TypedDict):
    """State of the loops and sequences."""

    n: int


class Gathered(TypedDict):
    """State of the fan-outs."""

    n: int
    out: Annotated[list[int], operator.add]


def wide_input(keys: int) -> dict[str, int]:
    """A value for each of the many keys of the wide state; ``k0`` is the one that is written."""
    return {f"k{i}": 0 for i in range(keys)}


def increment(state: Any) -> dict[str, int]:
    """The counter node."""
    return {"n": state["n"] + 1}


def increment_first(state: Any) -> dict[str, int]:
    """The counter node of the wide state."""
    return {"k0": state["k0"] + 1}


def work(task: Any) -> dict[str, list[int]]:
    """One trivial task of a fan-out."""
    return {"out": [task["i"]]}


def asynchronous_twin(function: Node) -> Node:
    """The same function as a coroutine function, so that the body is written once."""

    async def twin(state: Any) -> Any:
        return function(state)

    twin.__name__ = function.__name__
    return twin


def same(function: Node) -> Node:
    """The function itself: the synchronous counterpart of ``asynchronous_twin``."""
    return function


def _call(graph: Any, given: Any, *, run_as_async: bool, **options: Any) -> Any:
    if run_as_async:
        return run_async(graph.ainvoke(given, **options))
    return graph.invoke(given, **options)


def _counting_graph(
    impl: Implementation,
    steps: int,
    *,
    nodes: tuple[str, ...] = ("tick",),
    twin: Callable[[Node], Node] = same,
    schema: Any = Count,
    key: str = "n",
    node: Node = increment,
    saver: Any = None,
) -> Any:
    """A cycle of counter nodes that ends once ``key`` has reached ``steps``."""
    first, last, end = nodes[0], nodes[-1], impl.END

    def again(state: Any) -> str:
        return first if state[key] < steps else end

    builder = impl.StateGraph(schema)
    for name in nodes:
        builder.add_node(name, twin(node))
    builder.add_edge(impl.START, first)
    for before, after in itertools.pairwise(nodes):
        builder.add_edge(before, after)
    builder.add_conditional_edges(last, twin(again), [first, end])
    return builder.compile(checkpointer=saver)


def loop(
    impl: Implementation,
    steps: int,
    *,
    run_as_async: bool,
    nodes: tuple[str, ...] = ("tick",),
    sync_nodes: bool = False,
) -> Job:
    """A counter that goes back to itself for ``steps`` super-steps, without a saver.

    Args:
        impl: whose graph.
        steps: super-steps.
        run_as_async: ``ainvoke`` instead of ``invoke``.
        nodes: the nodes of the cycle.
        sync_nodes: keep plain functions as nodes in an async run (they run off the event loop).
    """
    twin = asynchronous_twin if run_as_async and not sync_nodes else same
    graph = _counting_graph(impl, steps, nodes=nodes, twin=twin)
    config = {"recursion_limit": steps + 10}
    return Job(lambda: _call(graph, {"n": 0}, run_as_async=run_as_async, config=config))


def wide(impl: Implementation, steps: int, *, run_as_async: bool, keys: int = 1_000) -> Job:
    """The loop over a state of ``keys`` keys, all of them set, one of them written per step."""
    schema: Any = TypedDict("Wide", dict.fromkeys(wide_input(keys), int))  # pyright: ignore
    twin = asynchronous_twin if run_as_async else same
    graph = _counting_graph(impl, steps, twin=twin, schema=schema, key="k0", node=increment_first)
    given = wide_input(keys)
    config = {"recursion_limit": steps + 10}
    return Job(lambda: _call(graph, given, run_as_async=run_as_async, config=config))


def saved_loop(impl: Implementation, steps: int, *, run_as_async: bool) -> Job:
    """The loop with InMemorySaver and ``durability="sync"``; every round is a new thread.

    The audit counts the checkpoints that the thread has, then deletes the thread.
    """
    twin = asynchronous_twin if run_as_async else same
    saver = impl.InMemorySaver()
    graph = _counting_graph(impl, steps, twin=twin, saver=saver)
    threads = itertools.count()

    def run() -> tuple[str, Any]:
        thread = f"t{next(threads)}"
        config = {"recursion_limit": steps + 10, "configurable": {"thread_id": thread}}
        options = {"config": config, "durability": "sync"}
        return thread, _call(graph, {"n": 0}, run_as_async=run_as_async, **options)

    def audit(result: tuple[str, Any]) -> tuple[Any, int]:
        thread, state = result
        checkpoints = sum(1 for _ in saver.list({"configurable": {"thread_id": thread}}))
        saver.delete_thread(thread)
        return state, checkpoints

    return Job(run, audit)


def _chain(impl: Implementation, length: int, twin: Callable[[Node], Node]) -> Any:
    names = [f"n{i}" for i in range(length)]
    builder = impl.StateGraph(Count)
    for name in names:
        builder.add_node(name, twin(increment))
    builder.add_edge(impl.START, names[0])
    for before, after in itertools.pairwise(names):
        builder.add_edge(before, after)
    builder.add_edge(names[-1], impl.END)
    return builder.compile()


def sequence(impl: Implementation, length: int, *, run_as_async: bool) -> Job:
    """A straight line of ``length`` nodes."""
    graph = _chain(impl, length, asynchronous_twin if run_as_async else same)
    config = {"recursion_limit": length + 10}
    return Job(lambda: _call(graph, {"n": 0}, run_as_async=run_as_async, config=config))


def fanout(impl: Implementation, tasks: int, *, run_as_async: bool) -> Job:
    """Map-reduce: ``tasks`` trivial tasks by ``Send``, their results added up in one list."""
    twin = asynchronous_twin if run_as_async else same
    send = impl.Send

    def scatter(state: Any) -> list[Any]:
        return [send("work", {"i": i}) for i in range(state["n"])]

    builder = impl.StateGraph(Gathered)
    builder.add_node("work", twin(work))
    builder.add_conditional_edges(impl.START, twin(scatter), ["work"])
    builder.add_edge("work", impl.END)
    graph = builder.compile()
    return Job(lambda: _call(graph, {"n": tasks, "out": []}, run_as_async=run_as_async))


def first_event(
    impl: Implementation, length: int, *, run_as_async: bool, mode: str = "updates"
) -> Job:
    """From the call of ``stream`` to its first event, on a straight line of ``length`` nodes.

    One run opens ``STREAMS_PER_RUN`` streams, since a single one is over before the caches that
    the collection of garbage has emptied are warm. The audit closes them, outside the time.
    """
    graph = _chain(impl, length, asynchronous_twin if run_as_async else same)
    return first_events_of(
        graph.astream if run_as_async else graph.stream, mode, run_as_async=run_as_async
    )


def first_events_of(stream: Callable[..., Any], mode: str, *, run_as_async: bool) -> Job:
    """The job of ``first_event`` over anything that has the signature of ``stream``."""

    def run() -> list[tuple[Any, Any]]:
        opened: list[tuple[Any, Any]] = []
        for _ in range(STREAMS_PER_RUN):
            events = stream({"n": 0}, stream_mode=mode)
            opened.append((events, next(events)))
        return opened

    def audit(opened: list[tuple[Any, Any]]) -> list[Any]:
        for events, _ in opened:
            events.close()
        return [first for _, first in opened]

    async def run_coroutines() -> list[tuple[Any, Any]]:
        opened: list[tuple[Any, Any]] = []
        for _ in range(STREAMS_PER_RUN):
            events = stream({"n": 0}, stream_mode=mode)
            opened.append((events, await anext(events)))
        return opened

    async def close(opened: list[tuple[Any, Any]]) -> list[Any]:
        for events, _ in opened:
            await events.aclose()
        return [first for _, first in opened]

    if run_as_async:
        return Job(lambda: run_async(run_coroutines()), lambda opened: run_async(close(opened)))
    return Job(run, audit)
