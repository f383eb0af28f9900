"""Owns the workloads of nested graphs and of time travel, with their floors of plain Python."""

import itertools
from collections import namedtuple
from typing import Any

import ormsgpack

from benchmarks.implementations import Implementation
from benchmarks.measure import Job
from benchmarks.programs import Count, Gathered, increment, work


def _work(state: Any) -> Any:
    return work({"i": state["n"]})


def subgraphs(impl: Implementation, count: int, *, saved: bool) -> Job:
    """A super-step of ``count`` nested graphs of two nodes, with or without InMemorySaver."""
    inner = impl.StateGraph(Gathered)
    inner.add_node("count", increment)
    inner.add_node("work", _work)
    inner.add_edge(impl.START, "count")
    inner.add_edge("count", "work")
    nested = inner.compile()
    builder = impl.StateGraph(Gathered)
    send = impl.Send

    def sub(given: Any) -> Any:
        return {"out": nested.invoke(given)["out"]}

    def spread(state: Any) -> Any:
        return [send("sub", {"n": i}) for i in range(count)]

    builder.add_node("sub", sub)
    builder.add_conditional_edges(impl.START, spread, ["sub"])
    saver = impl.InMemorySaver() if saved else None
    graph = builder.compile(checkpointer=saver)
    threads = itertools.count()

    def run() -> Any:
        thread = f"t{next(threads)}"
        config = {"configurable": {"thread_id": thread}}
        result = (
            graph.invoke({"n": 0}, config, durability="sync") if saved else graph.invoke({"n": 0})
        )
        return thread, result["out"]

    def audit(result: Any) -> Any:
        thread, out = result
        if saver is not None:
            saver.delete_thread(thread)
        return out

    return Job(run, audit)


def subgraphs_floor(count: int) -> Job:
    """Two function calls for each."""

    def run() -> list[int]:
        out: list[int] = []
        for i in range(count):
            state = {"n": i, **increment({"n": i})}
            out.extend(work({"i": state["n"]})["out"])
        return out

    return Job(run)


def _long_thread(impl: Implementation, steps: int) -> tuple[Any, dict[str, Any]]:
    def again(state: Any) -> str:
        return "tick" if state["n"] < steps else impl.END

    builder = impl.StateGraph(Count)
    builder.add_node("tick", increment)
    builder.add_edge(impl.START, "tick")
    builder.add_conditional_edges("tick", again, ["tick", impl.END])
    graph = builder.compile(checkpointer=impl.InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"n": 0}, {**config, "recursion_limit": steps + 10})
    return graph, config


def history(impl: Implementation, steps: int) -> Job:
    """The whole history of a thread of ``steps`` super-steps, looked at and not only listed."""
    graph, config = _long_thread(impl, steps)

    def run() -> list[Any]:
        return [
            (each.values, each.next, each.config, each.metadata)
            for each in graph.get_state_history(config)
        ]

    return Job(run, lambda found: [values for values, *_ in found])


_Task = namedtuple("_Task", "id name path error interrupts state result")
_Snapshot = namedtuple(
    "_Snapshot", "values next config metadata created_at parent_config tasks interrupts"
)


def history_floor(steps: int) -> Job:
    """As many snapshots, made of what is at hand: nothing is read, and nothing is decoded."""
    ids = [*map(str, range(steps + 3))]
    nexts, path = ("tick",), ("__pregel_pull", "tick")

    def config(id: str) -> dict[str, Any]:
        return {"configurable": {"thread_id": "1", "checkpoint_ns": "", "checkpoint_id": id}}

    def snapshot(n: int) -> _Snapshot:
        task = _Task(ids[n], "tick", path, None, (), None, {"n": n + 1})
        metadata = {"source": "loop", "step": n, "parents": {}}
        values = {"n": n} if n >= 0 else {}
        return _Snapshot(
            values, nexts, config(ids[n]), metadata, "then", config(ids[n - 1]), (task,), ()
        )

    def run() -> list[Any]:
        return [
            (each.values, each.next, each.config, each.metadata)
            for each in map(snapshot, range(steps, -2, -1))
        ]

    return Job(run, lambda found: [values for values, *_ in found])


def get_state(impl: Implementation, steps: int) -> Job:
    """``get_state`` at the end of such a thread, a tenth as often as it has super-steps."""
    graph, config = _long_thread(impl, steps)
    return Job(lambda: [graph.get_state(config).values for _ in range(steps // 10)])


def get_state_floor(steps: int) -> Job:
    """Decoding one state with ormsgpack, as often."""
    packed = ormsgpack.packb({"n": steps})
    return Job(lambda: [ormsgpack.unpackb(packed) for _ in range(steps // 10)])
