"""A `Send` stands twice in a commit, in what its task wrote and in what the checkpoint leads to: it
is encoded once, and read from both places."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import Registry
from plait.checkpoint.sqlite import SqliteSaver
from plait.constants import TASKS
from plait.types import Send

FIRST, SECOND, TASK = (str(UUID(int=n + (1 << 120))) for n in range(3))


class Parcel:
    """Counts how often it was encoded."""

    encoded = 0

    def __init__(self, said: str) -> None:
        self.said = said

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parcel) and self.said == other.said

    def __hash__(self) -> int:
        return hash(self.said)


def encode(parcel: Parcel) -> str:
    Parcel.encoded += 1
    return parcel.said


class Pickled:
    """A serializer that is none of plait's."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "pickle", pickle.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return pickle.loads(data[1])


def commit(saver: Any, sends: list[Send], facts: dict[str, Any]) -> Any:
    """The first checkpoint and one that leads to Sends; returns the session."""
    registry = Registry()
    registry.register(Parcel, encode=encode, decode=Parcel)
    session = saver.open_session("t", registry=registry)
    first = NewCheckpoint(FIRST, None, 1e9, {}, {"next": ["a"]}, {"n": 1})
    saver.run(session.commit(first, claim=True))
    Parcel.encoded = 0
    frontier = {"sends": sends, "last": ["a"]}
    second = NewCheckpoint(SECOND, FIRST, 1e9 + 1, facts, frontier, {"n": 2})
    wrote = TaskWrites(FIRST, TASK, "a", [("n", 2), *((TASKS, send) for send in sends)])
    saver.run(session.commit(second, [wrote], release=True))
    return saver.open_session("t", registry=registry)


def in_sqlite(serde: Any = None) -> SqliteSaver:
    return SqliteSaver(":memory:", serde=serde)


SAVERS: list[Callable[..., Any]] = [InMemorySaver, in_sqlite]


@pytest.mark.parametrize("make", SAVERS, ids=["memory", "sqlite"])
@pytest.mark.parametrize("serde", [None, Pickled()], ids=["own", "pickle"])
def test_send_is_read_back_from_the_checkpoint_and_from_its_task(make: Any, serde: Any) -> None:
    saver = make(serde=serde)
    sends = [Send("b", {"parcel": Parcel("one")}), Send("b", Parcel("two"))]
    session = commit(saver, sends, {"source": "loop"})
    assert saver.run(session.load()).frontier["sends"] == sends
    wrote = saver.run(session.load(FIRST)).writes
    assert [value for _, channel, value in wrote if channel == TASKS] == sends


@pytest.mark.parametrize("make", SAVERS, ids=["memory", "sqlite"])
def test_send_is_encoded_once(make: Any) -> None:
    commit(make(), [Send("b", Parcel("one")), Send("b", Parcel("two"))], {"source": "loop"})
    assert Parcel.encoded == 2


@pytest.mark.parametrize("make", SAVERS, ids=["memory", "sqlite"])
def test_send_beside_facts_that_msgpack_cannot_pack_by_itself(make: Any) -> None:
    saver = make()
    sends, facts = [Send("b", {1: "\udc80"})], {"who": "\udc80", "at": {2: ()}}
    found = saver.run(commit(saver, sends, facts).load())
    assert found.frontier["sends"] == sends
    assert found.metadata == facts
