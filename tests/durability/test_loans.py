"""What a nested graph is handed is stored where it already is: linear bytes, the same values."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import ormsgpack
import pytest

from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.records import BORROWED, read_borrowed
from plait.checkpoint.log.requests import (
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
    ReadWrites,
    Transact,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import place, seal, unseal
from plait.engine.records import snapshot_of
from plait.errors import CorruptCheckpointError
from plait.graph import END, START, MessagesState, StateGraph
from plait.messages import AIMessage, BaseMessage, HumanMessage
from plait.types import Command, Overwrite, interrupt

LONG = 600
CONFIG: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000}


def _text(name: str, number: int) -> str:
    return f"{name} {number} ".ljust(LONG, "x")


def conversation(saver: Any, turns: int, *, change: Random | None = None, ask: bool = False) -> Any:
    """A loop over a nested graph with another one inside; each adds a message.

    Args:
        saver: where.
        turns: how many times around.
        change: now and then changes messages in place, before the nested graph sees them.
        ask: the innermost node asks somebody.
    """

    def say(name: str) -> Any:
        def node(state: Any) -> Any:
            messages = state["messages"]
            if change is not None and change.random() < 0.3:
                change.choice(messages).content += " changed"
                for call in getattr(change.choice(messages), "tool_calls", ()):
                    call["args"]["n"] = -1
            if ask and name == "deep":
                interrupt("go on?")
            calls = [{"name": "f", "args": {"n": len(messages)}, "id": "1"}]
            return {"messages": [AIMessage(_text(name, len(messages)), tool_calls=calls)]}

        return node

    deep = StateGraph(MessagesState).add_node("deep", say("deep"))
    deep.add_edge(START, "deep").add_edge("deep", END)
    inner = StateGraph(MessagesState).add_node("first", say("first"))
    inner.add_node("more", deep.compile()).add_edge(START, "first")
    inner.add_edge("first", "more").add_edge("more", END)
    compiled = inner.compile()

    def call(state: Any) -> Any:
        if change is not None:  # after what is around has stored it
            state["messages"][0].content += "!"
            state["messages"][-1].tool_calls[0]["args"]["m"] = 1
        return compiled.invoke(state)

    outer = StateGraph(MessagesState).add_node("user", say("user"))
    outer.add_node("inner", call).add_edge(START, "user").add_edge("user", "inner")
    outer.add_conditional_edges(
        "inner", lambda state: "user" if len(state["messages"]) < 3 * turns else END
    )
    return outer.compile(checkpointer=saver)


def _begin() -> Any:
    return {"messages": [HumanMessage(_text("begin", 0))]}


def _records(saver: Any, thread_id: str = "1") -> Iterator[tuple[Any, str, bytes, int, bytes]]:
    """(lane, channel, version, kind, payload) of all versions of a thread."""
    for lane in saver.execute(ListLanes(thread_id)):
        keys = saver.execute(ListValues(lane.lane))
        for (channel, key), record in zip(
            keys, saver.execute(ReadValues(lane.lane, keys)), strict=True
        ):
            yield lane, channel, key, record[4], bytes(record)


def _shown(graph: Any, thread_id: str = "1") -> dict[str, list[Any]]:
    """The whole history of every namespace, as it reads."""
    saver = graph.checkpointer
    shown: dict[str, list[Any]] = {}
    for lane in saver.execute(ListLanes(thread_id)):
        session = saver.open_session(thread_id, lane.ns)
        shown[lane.ns] = [
            (each.id, each.values, sorted(map(repr, each.writes)))
            for page in session.history()
            for each in map(snapshot_of, saver.run(page))
        ]
    return shown


def test_bytes_grow_with_the_conversation_not_with_its_square(saver: Any) -> None:
    sizes: list[int] = []
    for n, turns in enumerate((10, 20)):
        config: Any = {**CONFIG, "configurable": {"thread_id": str(n)}}
        conversation(saver, turns).invoke(_begin(), config)
        sizes.append(sum(len(each[4]) for each in _records(saver, str(n))))
    assert sizes[1] < 2.3 * sizes[0]
    assert sizes[1] < 4 * LONG * 3 * 20


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("changes", [False, True])
def test_histories_read_as_if_everything_were_stored_whole(
    saver: Any, changes: bool, durability: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    for thread_id in ("borrowing", "whole"):
        config: Any = {**CONFIG, "configurable": {"thread_id": thread_id}}
        graph = conversation(saver, 6, change=Random(5) if changes else None)
        graph.invoke(_begin(), config, durability=durability)
        history = [*_shown(graph, thread_id).values()]
        read.append([[_bare(values) for _, values, _ in lane] for lane in history])
        kinds = {kind for _, _, _, kind, _ in _records(saver, thread_id)}
        if thread_id == "whole" or durability == "sync":
            assert (BORROWED in kinds) == (thread_id == "borrowing")
        monkeypatch.setattr("plait.checkpoint.log.encoding.WORTH", 1 << 60)
    assert read[0] == read[1]


def _bare(values: Any) -> Any:
    """Values without the ids that differ from run to run."""
    if isinstance(values, dict):
        return {name.split(":")[0]: _bare(value) for name, value in values.items()}
    if isinstance(values, list):
        return [_bare(value) for value in values]
    if isinstance(values, BaseMessage):
        return values.content, getattr(values, "tool_calls", [])
    return values


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_of_a_pruned_thread_reads_as_before(saver: Any, seed: int) -> None:
    random = Random(seed)
    graph = conversation(saver, 7, change=Random(seed))
    graph.invoke(_begin(), CONFIG)
    before = _shown(graph)
    for keep in sorted({random.randrange(1, 20) for _ in range(3)}, reverse=True):
        saver.prune(["1"], keep_last=keep)
        after = _shown(graph)
        assert len(after[""]) == min(keep, len(before[""]))
        for ns, states in after.items():
            old = {id: rest for id, *rest in before[ns]}
            assert all(old[id] == rest for id, *rest in states)
    graph.invoke(_begin(), CONFIG)
    saver.copy_thread("1", "2")
    assert _shown(graph, "2") == _shown(graph)


def test_pruning_leaves_nothing_that_nobody_needs(saver: Any) -> None:
    graph = conversation(saver, 8)
    graph.invoke(_begin(), CONFIG)
    saver.prune(["1"], keep_last=1)
    once = sorted(each[1:3] for each in _records(saver))
    saver.prune(["1"], keep_last=1)
    assert sorted(each[1:3] for each in _records(saver)) == once
    assert len(once) < 8 * 4


def test_a_memory_keeps_what_it_borrowed_when_the_list_around_it_begins_anew(saver: Any) -> None:
    inner: Any = StateGraph(MessagesState)
    inner.add_node("say", lambda state: {"messages": [AIMessage("said")]})
    remembers = inner.add_edge(START, "say").compile(checkpointer=True)
    outer: Any = StateGraph(MessagesState).add_node("inner", remembers)
    outer.add_node("anew", lambda state: {"messages": Overwrite([AIMessage("anew")])})
    outer.add_edge(START, "inner").add_edge("inner", "anew")
    graph = outer.compile(checkpointer=saver)
    long = [HumanMessage(_text("long", number)) for number in range(12)]
    for given in (long, [HumanMessage("short")]):
        graph.invoke({"messages": given}, CONFIG)
    assert any(kind == BORROWED for _, _, _, kind, _ in _records(saver))
    memory: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": "inner"}}
    before = graph.get_state(memory).values["messages"]
    assert [message.content for message in before[:12]] == [message.content for message in long]
    saver.prune(["1"])
    assert graph.get_state(memory).values["messages"] == before
    graph.invoke({"messages": [HumanMessage("more")]}, CONFIG)
    assert graph.get_state(memory).values["messages"][: len(before)] == before


def _side_by_side(saver: Any, turns: int) -> Any:
    """Two nested graphs in each super-step: one is stored before the other ends."""
    inner = StateGraph(MessagesState).add_node(
        "say", lambda state: {"messages": [AIMessage(_text("say", len(state["messages"])))]}
    )
    inner.add_edge(START, "say").add_edge("say", END)
    outer = StateGraph(MessagesState).add_node("user", lambda state: {"messages": []})
    outer.add_node("one", inner.compile()).add_node("two", inner.compile())
    outer.add_edge(START, "user").add_edge("user", "one").add_edge("user", "two")
    outer.add_node("both", lambda state: {})
    outer.add_edge(["one", "two"], "both").add_conditional_edges(
        "both", lambda state: "user" if len(state["messages"]) < 2 * turns else END
    )
    return outer.compile(checkpointer=saver)


def test_lists_that_parallel_tasks_return_cost_what_is_new(saver: Any) -> None:
    graph = _side_by_side(saver, 16)
    graph.invoke(_begin(), CONFIG)
    writes = [
        row
        for lane in saver.execute(ListLanes("1"))
        for checkpoint in saver.execute(ReadCheckpoints(lane.lane))
        for row in saver.execute(ReadWrites(lane.lane, checkpoint.id))
    ]
    assert max(len(row.record) for row in writes) < 3 * len(_text("say", 0))
    wrote = [text for _, values, text in _shown(graph)[""] if "both" not in str(values)]
    assert sum("say" in line for text in wrote for line in text) == 2 * 16
    saver.prune(["1"], keep_last=3)
    again = _shown(graph)[""]
    assert len(again) == 3


def test_an_answer_hours_later_finds_what_was_borrowed(saver: Any) -> None:
    conversation(saver, 2, ask=True).invoke(_begin(), CONFIG)
    assert any(kind == BORROWED for _, _, _, kind, _ in _records(saver))
    graph = conversation(saver, 2, ask=True)
    inside = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    said = graph.get_state(CONFIG).values["messages"]
    assert [m.content for m in inside.values["messages"]][: len(said)] == [m.content for m in said]
    while graph.get_state(CONFIG).next:
        graph.invoke(Command(resume="yes"), CONFIG)
    texts = [message.content for message in graph.get_state(CONFIG).values["messages"]]
    assert [text.split()[0] for text in texts] == ["begin", *["user", "first", "deep"] * 2]


def _rewrite(saver: Any, lane: Any, channel: str, key: bytes, kind: int, payload: bytes) -> None:
    """Put another record in the place of one, as somebody with access to the database could."""
    where = place(lane.thread_id, lane.ns) + place(unpack(key), channel)
    batch = Transact(lane.thread_id, lane.ns)
    batch.values = [(channel, key, seal(kind, where, payload))]
    saver.execute(batch)


def _borrowing(saver: InMemorySaver) -> tuple[Any, str, bytes, bytes]:
    lane, channel, key, _, record = next(
        each for each in _records(saver) if each[3] == BORROWED and each[1] == "messages"
    )
    where = place(lane.thread_id, lane.ns) + place(unpack(key), channel)
    return lane, channel, key, unseal(where, record)[1]


def test_a_loan_that_leads_nowhere_is_told_with_its_place() -> None:
    saver = InMemorySaver()
    graph = conversation(saver, 2)
    graph.invoke(_begin(), CONFIG)
    lane, channel, key, payload = _borrowing(saver)
    body, (loan,) = read_borrowed(payload)
    wrong = [
        loan._replace(ns="gone:1"),
        loan._replace(ns=lane.ns, version=key),  # itself
        loan._replace(ns=f"{lane.ns}|in:1"),
        loan._replace(channel="other"),
        loan._replace(version=b"0" * 16),
        loan._replace(key="name"),
    ]
    for each in wrong:
        changed = ormsgpack.packb([body, [list(each)]])
        _rewrite(saver, lane, channel, key, BORROWED, changed)
        with pytest.raises(CorruptCheckpointError):
            _shown(graph)


def test_every_mutated_byte_of_a_loan_is_refused_or_inert() -> None:
    saver = InMemorySaver()
    graph = conversation(saver, 2)
    graph.invoke(_begin(), CONFIG)
    lane, channel, key, payload = _borrowing(saver)
    refused = 0
    for at in range(len(payload)):
        for flip in (0x01, 0x80, 0xFF):
            mutated = bytearray(payload)
            mutated[at] ^= flip
            _rewrite(saver, lane, channel, key, BORROWED, bytes(mutated))
            try:
                _shown(graph)
            except CorruptCheckpointError:
                refused += 1
    assert refused > len(payload)
