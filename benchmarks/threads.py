"""Owns the workloads that read threads of every kind: a conversation, a list, a dict, many keys.

One super-step adds one item of 100 characters; what is read is looked at, and not only listed.
"""

import operator
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import ormsgpack
from typing_extensions import TypedDict

from benchmarks.implementations import Implementation
from benchmarks.measure import Job

KINDS = ("conversation", "list", "table", "wide")
TEXT = "x" * 100
CALLS = 20
"""How often `state` reads the head."""
_WIDE = 20


class Items(TypedDict):
    """A list that grows."""

    items: Annotated[list[Any], operator.add]


class Table(TypedDict):
    """A dict that grows."""

    items: Annotated[dict[str, Any], operator.or_]


Wide: Any = TypedDict("Wide", {"items": int, **{f"key{n}": str for n in range(_WIDE)}})


def _parts(impl: Implementation, kind: str) -> tuple[Any, Any, Any, Any]:
    """Schema, input, node, and how many super-steps were done."""
    if kind == "conversation":

        class Conversation(TypedDict):
            """Messages."""

            items: Annotated[list[Any], impl.add_messages]

        return Conversation, {"items": []}, lambda _: {"items": [impl.AIMessage(TEXT)]}, len
    if kind == "list":
        return Items, {"items": []}, lambda _: {"items": [TEXT]}, len
    if kind == "table":
        return Table, {"items": {}}, lambda s: {"items": {str(len(s["items"])): TEXT}}, len
    given = {"items": 0, **{f"key{n}": TEXT for n in range(_WIDE)}}
    return Wide, given, lambda s: {"items": s["items"] + 1}, lambda number: number


def _thread(
    impl: Implementation, steps: int, kind: str, saver: str, opened: ExitStack
) -> tuple[Any, Any]:
    schema, given, node, count = _parts(impl, kind)
    builder = impl.StateGraph(schema)
    builder.add_node("work", node)
    builder.add_edge(impl.START, "work")
    builder.add_conditional_edges(
        "work", lambda s: "work" if count(s["items"]) < steps else impl.END, ["work", impl.END]
    )
    graph = builder.compile(checkpointer=open_saver(impl, saver, opened))
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke(given, {**config, "recursion_limit": steps + 10})
    return graph, config


def open_saver(impl: Implementation, kind: str, opened: ExitStack) -> Any:
    """A saver in memory, or in a SQLite file that is deleted with what was opened."""
    if kind == "memory":
        return impl.InMemorySaver()
    path = opened.enter_context(TemporaryDirectory(prefix="plait-bench-"))
    return opened.enter_context(impl.saver(kind).from_conn_string(f"{path}/threads.db"))


def history(impl: Implementation, steps: int, *, kind: str, saver: str) -> Job:
    """The whole history of a thread."""
    opened = ExitStack()
    graph, config = _thread(impl, steps, kind, saver, opened)

    def run() -> list[Any]:
        return [
            (each.values, each.next, each.config, each.metadata)
            for each in graph.get_state_history(config)
        ]

    return Job(run, lambda found: [_told(values) for values, *_ in found], opened.close)


def walk(impl: Implementation, steps: int, *, saver: str, states: bool) -> Job:
    """The history of a conversation, one checkpoint after the other, none of which is kept.

    Args:
        states: whether each state is looked at, or only what runs next.
    """
    opened = ExitStack()
    graph, config = _thread(impl, steps, "conversation", saver, opened)

    def look(each: Any) -> tuple[Any, int]:
        return each.next, len(each.values.get("items", ())) if states else 0

    return Job(lambda: [*map(look, graph.get_state_history(config))], close=opened.close)


def walk_floor(steps: int, *, states: bool) -> Job:
    """As many configs, with lists of as many items for the states."""
    nexts = [(), *[("work",)] * steps, ("__start__",)]
    counts = [*range(steps, -1, -1), 0] if states else [0] * len(nexts)

    def look(following: tuple[str, ...], count: int) -> tuple[Any, int]:
        config = {"configurable": {"thread_id": "1", "checkpoint_id": count}}
        return (following, len([config] * count))

    return Job(lambda: [*map(look, nexts, counts)])


def state(impl: Implementation, steps: int, *, kind: str, saver: str) -> Job:
    """The head of a thread, `CALLS` times."""
    opened = ExitStack()
    graph, config = _thread(impl, steps, kind, saver, opened)
    return Job(
        lambda: [graph.get_state(config).values for _ in range(CALLS)],
        lambda found: [_told(values) for values in found],
        opened.close,
    )


def some(impl: Implementation, steps: int, *, how: str, saver: str) -> Job:
    """A few checkpoints of a thread with a list, or what its saver says of them, `CALLS` times."""
    opened = ExitStack()
    graph, config = _thread(impl, steps, "list", saver, opened)
    looks: dict[str, Callable[[], list[Any]]] = {
        "last": lambda: [s.values for s in graph.get_state_history(config, limit=1)],
        "found": lambda: [s.values for s in graph.get_state_history(config, filter={"step": 9})],
        "tuple": lambda: [graph.checkpointer.get_tuple(config).checkpoint["channel_values"]],
        "listed": lambda: [
            each.checkpoint["channel_values"] for each in graph.checkpointer.list(config, limit=9)
        ],
    }
    look = looks[how]
    return Job(
        lambda: [look() for _ in range(CALLS)],
        lambda found: [{"items": each["items"]} for values in found for each in values],
        opened.close,
    )


def crowd(
    impl: Implementation,
    threads: int,
    *,
    saver: str,
    limit: int | None = 10,
    wanted: dict[str, Any] | None = None,
) -> Job:
    """What a saver says of the newest checkpoints of all its many threads, `CALLS` times."""
    opened = ExitStack()
    graph, _ = _thread(impl, 3, "list", saver, opened)
    for number in range(threads):
        graph.invoke({"items": [str(number)]}, {"configurable": {"thread_id": f"of-{number}"}})
    kept = graph.checkpointer
    # The peer's saver in memory does not list threads by time: only how many are found is compared.
    return Job(
        lambda: [sum(1 for _ in kept.list(None, limit=limit, filter=wanted)) for _ in range(CALLS)],
        close=opened.close,
    )


def crowd_floor(threads: int, *, limit: int | None = 10, found: int | None = None) -> Job:
    """Decoding as many values with ormsgpack."""
    # Four checkpoints of each, and the five of the first thread.
    found = found or limit or 4 * threads + 5
    packed = [ormsgpack.packb({"items": [str(n), TEXT, TEXT]}) for n in range(found)]
    return Job(lambda: [sum(1 for _ in map(ormsgpack.unpackb, packed)) for _ in range(CALLS)])


def turns(impl: Implementation, messages: int, *, saver: str) -> Job:
    """A conversation that begins with so many messages: `CALLS` times somebody says something, and
    is answered. Each time the thread is read, and gone on with."""
    opened = ExitStack()
    schema, _, _, _ = _parts(impl, "conversation")
    builder = impl.StateGraph(schema)
    builder.add_node("answer", lambda s: {"items": [impl.AIMessage(TEXT)]})
    builder.add_edge(impl.START, "answer")
    graph = builder.compile(checkpointer=open_saver(impl, saver, opened))
    begins = {"items": [("user", TEXT)] * messages}
    fresh = count()

    def run() -> Any:
        config = {"configurable": {"thread_id": str(next(fresh))}}
        graph.invoke(begins, config)
        for _ in range(CALLS):
            told = graph.invoke({"items": [("user", TEXT)]}, config)
        return told

    return Job(run, _told, opened.close)


def long(impl: Implementation, messages: int, *, saver: str) -> Job:
    """The head of a conversation of long messages, `CALLS` times."""
    opened = ExitStack()
    schema, _, _, _ = _parts(impl, "conversation")
    builder = impl.StateGraph(schema)
    builder.add_node("say", lambda s: {"items": [impl.AIMessage(TEXT * 10)]})
    builder.add_edge(impl.START, "say")
    builder.add_conditional_edges(
        "say", lambda s: "say" if len(s["items"]) < messages else impl.END, ["say", impl.END]
    )
    graph = builder.compile(checkpointer=open_saver(impl, saver, opened))
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"items": []}, {**config, "recursion_limit": messages + 10})
    return Job(
        lambda: [graph.get_state(config).values for _ in range(CALLS)],
        lambda found: [_told(values) for values in found],
        opened.close,
    )


def long_floor(messages: int) -> Job:
    """Decoding as many messages with ormsgpack."""
    packed = ormsgpack.packb({"items": [TEXT * 10] * messages})
    return Job(lambda: [ormsgpack.unpackb(packed) for _ in range(CALLS)])


def turns_floor(messages: int) -> Job:
    """Decoding and encoding as many messages with ormsgpack."""

    def run() -> Any:
        items = [TEXT] * (messages + 1)
        for _ in range(CALLS):
            items = [*ormsgpack.unpackb(ormsgpack.packb(items)), TEXT, TEXT]
        return {"items": items}

    return Job(run)


def some_floor(steps: int, *, how: str) -> Job:
    """Decoding as many values with ormsgpack."""
    ends = {"found": [9], "listed": range(steps, steps - 9, -1)}.get(how, [steps])
    packed = [ormsgpack.packb(_values(n, "list")) for n in ends]
    return Job(lambda: [ormsgpack.unpackb(each) for each in packed * CALLS])


def _told(values: Any) -> Any:
    """Values as both sides say them: ids of messages are random."""
    items = values.get("items")
    if not isinstance(items, list):
        return values
    return {**values, "items": [getattr(each, "content", each) for each in items]}


def _values(steps: int, kind: str) -> Any:
    """What a thread holds after so many steps; -1: before its input."""
    if kind == "wide":
        return {"items": steps, **{f"key{n}": TEXT for n in range(_WIDE)}} if steps >= 0 else {}
    if kind == "table":
        return {"items": {str(n): TEXT for n in range(steps)}}
    return {"items": [TEXT] * steps}


def history_floor(steps: int, *, kind: str) -> Job:
    """Decoding as many values with ormsgpack."""
    packed = [ormsgpack.packb(_values(n, kind)) for n in range(steps, -2, -1)]
    return Job(lambda: [ormsgpack.unpackb(each) for each in packed])


def state_floor(steps: int, *, kind: str) -> Job:
    """Decoding one value with ormsgpack, as often."""
    packed = ormsgpack.packb(_values(steps, kind))
    return Job(lambda: [ormsgpack.unpackb(packed) for _ in range(CALLS)])
