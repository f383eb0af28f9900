"""A saver in memory notes commits and makes their rows later: the same rows, byte for byte."""

from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.checkpoint.log.requests import (
    ListValues,
    ReadCheckpoints,
    ReadLane,
    ReadValues,
    ReadWrites,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.constants import TASKS
from plait.errors import UnregisteredTypeError
from plait.messages import AIMessage, HumanMessage
from plait.types import Send

STEPS = 25
SEEDS = range(60)


def rows_of(saver: Any) -> tuple[Any, ...]:
    """Everything that a saver holds of thread "t"."""
    lane = saver.execute(ReadLane("t", ""))
    number = lane.lane
    checkpoints = saver.execute(ReadCheckpoints(number))
    keys = sorted(saver.execute(ListValues(number)))
    writes = [
        (row.checkpoint, row.task, row.path, bytes(row.record))
        for checkpoint in checkpoints
        for row in saver.execute(ReadWrites(number, checkpoint.id))
    ]
    values = [bytes(record) for record in saver.execute(ReadValues(number, keys))]
    return lane.head, [(*row[:2], bytes(row.record)) for row in checkpoints], keys, values, writes


def _id(number: int) -> str:
    return str(UUID(int=number + (1 << 120)))


class Program:
    """Commits of one run, the same for every saver, with values that change in place in between."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.said: list[Any] = []
        self.table: dict[str, Any] = {}
        self.notes: list[Any] = []
        self.kept: list[Any] = []

    def commits(self) -> Any:
        """Each with what tasks wrote before it, and then a change of what was handed over."""
        parent = None
        for number in range(STEPS):
            changed = dict(self.changes(number))
            frontier: dict[str, Any] = {"next": ["a"], "last": ("b",)}
            if self.random.random() < 0.3:
                frontier["sends"] = [Send("a", {"said": [*self.said[-1:]]})]
            facts: dict[str, Any] = {"source": "loop", "step": number, "parents": {}}
            if self.random.random() < 0.2:
                facts["mine"] = {"more": [number]}
            removed = ["flag"] if "flag" not in changed and self.random.random() < 0.3 else []
            sent = [(TASKS, send) for send in frontier.get("sends", ())]
            steered = [("b:a", None), *sent]
            writes = [
                TaskWrites(parent, _id(1000 + number), "path", [*changed.items(), *steered])
                for _ in range(parent is not None)
            ]
            yield (
                NewCheckpoint(_id(number), parent, 1e9 + number, facts, frontier, changed, removed),
                writes,
            )
            parent = _id(number)
            self.change()

    def changes(self, number: int) -> Any:
        chance = self.random.random
        if chance() < 0.7:
            calls = [{"name": "f", "args": {"n": number}, "id": str(number)}]
            fresh = [HumanMessage(f"text {number}" * 9), AIMessage("", tool_calls=calls)]
            self.said = [*self.said, *fresh[: self.random.randrange(1, 3)]]
            yield "said", self.said
        if chance() < 0.4:
            self.table[f"key {number}"] = {"n": [number] * 20}
            yield "table", self.table
        if chance() < 0.4:
            yield "flag", self.random.choice([number, "text", None, [number], {"a": number}])
        if chance() < 0.3:
            self.notes = [{"note": number}] * self.random.randrange(4)
            yield "notes", self.notes
        if chance() < 0.2:
            yield "long", "x" * self.random.randrange(300)

    def change(self) -> None:
        """Change in place what was committed: only what comes later may show it."""
        if self.said and self.random.random() < 0.5:
            self.random.choice(self.said).content += "!"
        for message in self.said:
            if isinstance(message, AIMessage) and self.random.random() < 0.1:
                message.tool_calls[0]["args"]["n"] = -1
        if self.notes and self.random.random() < 0.3:
            self.notes[0]["note"] = "other"


def _run(saver: Any, seed: int, *, together: bool) -> None:
    """All commits of a program; `together`: all are handed over before the first is stored."""
    session = saver.open_session("t")
    saver.run(session.claim())
    plans: list[Any] = []
    for checkpoint, writes in Program(seed).commits():
        plan = session.commit(checkpoint, writes)
        if together:
            plans.append(plan)
        else:
            saver.run(plan)
    for plan in plans:
        saver.run(plan)
    saver.run(session.release())


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_in_memory_are_those_of_a_database(seed: int, together: bool, tmp_path: Path) -> None:
    memory = InMemorySaver()
    _run(memory, seed, together=together)
    with SqliteSaver(tmp_path / "threads.db") as database:
        _run(database, seed, together=together)
        assert rows_of(memory) == rows_of(database)


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_in_between_changes_nothing(seed: int) -> None:
    """Rows that are made early are those that are made late."""
    late, early = InMemorySaver(), InMemorySaver()
    _run(late, seed, together=False)
    session = early.open_session("t")
    early.run(session.claim())
    random = Random(seed)
    for checkpoint, writes in Program(seed).commits():
        early.run(session.commit(checkpoint, writes))
        if random.random() < 0.4:
            rows_of(early)
    early.run(session.release())
    assert rows_of(early) == rows_of(late)


def test_what_cannot_be_stored_is_told_at_its_commit_and_the_run_can_go_on() -> None:
    saver = InMemorySaver()
    session = saver.open_session("t")
    saver.run(session.claim())

    def commit(number: int, parent: int | None, value: Any) -> None:
        facts = {"source": "loop", "step": number, "parents": {}}
        above = None if parent is None else _id(parent)
        saver.run(
            session.commit(
                NewCheckpoint(_id(number), above, 1e9, facts, {"next": []}, {"said": value})
            )
        )

    commit(0, None, [HumanMessage("one")])
    with pytest.raises(UnregisteredTypeError, match="Key 'said'"):
        commit(1, 0, [HumanMessage("one"), object()])
    commit(2, 0, [HumanMessage("one"), HumanMessage("two")])
    saver.run(session.release())
    snapshot = saver.run(saver.open_session("t").load())
    assert snapshot is not None
    assert [message.content for message in snapshot.values["said"]] == ["one", "two"]
    assert len(saver.execute(ReadCheckpoints(1))) == 2
