"""Reading a long list again, or what the saver wrote itself, costs what is new, and gives what a
saver that never read it gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from plait.checkpoint.base import new_checkpoint_id
from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.recent import LONG, Kept, Recent
from plait.checkpoint.log.requests import ReadLane, ReadValues, ReadVersions
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import GLOBAL, Recipes
from plait.checkpoint.sqlite import SqliteSaver
from plait.engine.records import given
from plait.errors import CorruptCheckpointError, UnregisteredTypeError
from plait.messages import AIMessage, HumanMessage, ToolMessage

MANY = 3 * LONG


class WatchedMemory(InMemorySaver):
    """Counts the rows of values that it reads."""

    rows = 0

    def execute(self, request: Any) -> Any:
        answer = super().execute(request)
        if isinstance(request, ReadVersions | ReadValues):
            self.rows += len(answer)
        return answer


class Watched(SqliteSaver):
    """Counts the rows of values that it reads; its disk is broken where a version is `damaged`."""

    rows = 0
    damaged: bytes | None = None

    def execute(self, request: Any) -> Any:
        answer = super().execute(request)
        if isinstance(request, ReadVersions):
            self.rows += len(answer)
            return [row._replace(record=self.read(row.id, row.record)) for row in answer]
        if isinstance(request, ReadValues):
            self.rows += len(answer)
            pairs = zip(request.keys, answer, strict=True)
            return [self.read(id, record) for (_, id), record in pairs]
        return answer

    def read(self, id: bytes, record: bytes) -> bytes:
        return record if id != self.damaged else record[:-1] + bytes([record[-1] ^ 1])

    def loaded(self, id: str | None = None, registry: Any = None) -> Any:
        """The messages of a thread, and how many rows that took."""
        before = self.rows
        snapshot = self.run(self.open_session("t", registry=registry).load(id))
        return snapshot.values["messages"], self.rows - before


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def saver(path: Path) -> Iterator[Watched]:
    with Watched(path) as saver:
        yield saver


def message(number: int) -> Any:
    text = f"message {number} " * 20
    if number % 3 == 0:
        return HumanMessage(text, id=str(number))
    if number % 3 == 1:
        call = {"name": "add", "args": {"a": [number]}, "id": f"c{number}"}
        return AIMessage(text, id=str(number), tool_calls=[call])
    return ToolMessage(text, id=str(number), tool_call_id=f"c{number}")


def commit(
    saver: Any, lists: list[list[Any]], at: str | None = None, registry: Any = None
) -> list[str]:
    """Commit lists of messages one after the other, from a checkpoint (None: the head)."""
    session = saver.open_session("t", registry=registry)
    loaded = saver.run(session.load(at))
    parent, ids = loaded.id if loaded else None, []
    for messages in lists:
        new = NewCheckpoint(new_checkpoint_id(), parent, 0.0, {}, {}, {"messages": messages})
        saver.run(session.commit(new, claim=not ids))
        ids.append(parent := new.id)
    saver.run(session.release())
    return ids


def grown(messages: list[Any], number: int) -> list[list[Any]]:
    """A list as it grows, message by message."""
    more = [message(len(messages) + n) for n in range(number)]
    return [[*messages, *more[: n + 1]] for n in range(number)]


def elsewhere(path: Path, lists: list[list[Any]], at: str | None = None) -> list[str]:
    """The same in another process, as far as savers can tell."""
    with SqliteSaver(path) as other:
        return commit(other, lists, at)


def fresh(path: Path, id: str | None = None) -> Any:
    with Watched(path) as other:
        return other.loaded(id)[0]


def test_a_second_load_reads_one_row_and_a_later_one_what_is_new(
    path: Path, saver: Watched
) -> None:
    messages = grown([], MANY)
    elsewhere(path, messages)
    first, many = saver.loaded()
    assert many >= MANY
    again, one = saver.loaded()
    assert (again, one) == (first, 1)
    elsewhere(path, grown(messages[-1], 3))
    after, few = saver.loaded()
    assert after == fresh(path)
    assert len(after) == MANY + 3
    assert few == 4  # the three new ones, and the one they stand on: is it still what it was?
    assert saver.loaded()[1] == 1


def test_what_a_run_wrote_is_not_read_by_the_next(path: Path, saver: Watched) -> None:
    messages = grown([], MANY)
    commit(saver, messages)
    assert saver.loaded() == (fresh(path), 1)
    for _ in range(3):  # with and without a load of its own before
        longer = grown(saver.loaded()[0], 2)
        commit(saver, longer)
        commit(saver, grown(longer[-1], 2))
        assert saver.loaded() == (fresh(path), 1)
    elsewhere(path, grown(fresh(path), 2))
    assert saver.loaded()[0] == fresh(path)


def test_a_list_that_began_with_many_items_is_not_read_again(path: Path, saver: Watched) -> None:
    """However few pieces it lies in."""
    begun = [message(n) for n in range(100)]
    commit(saver, [begun])
    commit(saver, grown(begun, 1))
    read, rows = saver.loaded()
    assert rows == 1
    assert read == [*begun, message(100)] == fresh(path)


def test_long_messages_in_memory_are_taken_apart_once() -> None:
    saver = WatchedMemory()
    messages = grown([], MANY)
    for each in messages[-1]:
        each.content *= 20
    commit(saver, messages)
    counts: list[int] = []
    for _ in range(3):
        before = saver.rows
        snapshot = saver.run(saver.open_session("t").load())
        assert snapshot is not None
        read = snapshot.values["messages"]
        assert read == messages[-1]
        read[0].content = read[1].tool_calls[0]["args"]["a"] = "another"
        counts.append(saver.rows - before)
    assert counts[1:] == [1, 1]
    assert counts[0] >= MANY


def test_a_list_that_is_larger_than_all_room_is_not_kept(path: Path, saver: Watched) -> None:
    saver._recent.room = 5_000
    commit(saver, grown([], MANY))
    assert saver.loaded()[1] >= MANY
    assert saver.loaded()[1] >= MANY


def test_a_list_that_was_edited_is_read_once_more(path: Path, saver: Watched) -> None:
    messages = grown([], MANY)
    commit(saver, messages)
    edited = [*messages[-1][:5], *messages[-1][7:], message(MANY)]
    commit(saver, [edited, [*edited, message(MANY + 1)]])
    assert saver.loaded()[0] == fresh(path) == [*edited, message(MANY + 1)]
    assert saver.loaded()[1] == 1


def test_nothing_is_kept_of_what_was_never_stored(path: Path, saver: Watched) -> None:
    messages = grown([], MANY)
    commit(saver, messages)
    session = saver.open_session("t")
    parent = saver.run(session.load()).id
    longer = [*messages[-1], message(MANY)]
    new = NewCheckpoint(new_checkpoint_id(), parent, 0.0, {}, {}, {"messages": longer})
    plan = session.commit(new, claim=True)
    next(plan)
    with pytest.raises(OSError, match="disk"):
        plan.throw(OSError("the disk is gone"))
    saver.run(session.release())
    assert saver.loaded()[0] == fresh(path) == messages[-1]


def test_a_fork_is_kept_as_the_branch_it_is(path: Path, saver: Watched) -> None:
    ids = commit(saver, grown([], MANY))
    old, _ = saver.loaded(ids[LONG])
    commit(saver, [[*old, message(900)]], at=ids[LONG])
    assert saver.loaded()[0] == fresh(path) == [*old, message(900)]
    assert saver.loaded(ids[-1])[0] == fresh(path, ids[-1])


def test_what_a_program_does_to_loaded_messages_is_not_seen_by_the_next_load(
    path: Path, saver: Watched
) -> None:
    elsewhere(path, grown([], MANY))
    for _ in range(3):
        loaded, _ = saver.loaded()
        assert loaded == fresh(path)
        for each in loaded:
            each.content = "changed"
            each.additional_kwargs["more"] = 1
        loaded[1].tool_calls[0]["args"]["a"].append("changed")
        loaded[2].tool_call_id = "changed"
        loaded.clear()


def test_random_edits_forks_and_old_checkpoints_read_as_on_a_saver_that_never_read_them(
    path: Path, saver: Watched
) -> None:
    random = Random(7)
    ids = elsewhere(path, grown([], MANY))
    messages = fresh(path)
    for step in range(40):
        at = random.choice(ids) if random.random() < 0.3 else None
        if at is not None:
            messages = fresh(path, at)
        edited = [*messages]
        for _ in range(random.randint(0, 2)):
            place = random.randrange(len(edited))
            if random.random() < 0.5:
                del edited[place]
            else:
                edited[place] = AIMessage(f"edited in step {step} " * 10, id=edited[place].id)
        edited.append(message(1000 + step))
        if random.random() < 0.5:
            ids += elsewhere(path, [edited], at)
        else:
            ids += commit(saver, [edited], at)
        messages = edited
        asked = random.choice([None, None, random.choice(ids)])
        assert saver.loaded(asked)[0] == fresh(path, asked)


def test_a_run_that_went_on_from_a_kept_list_stores_only_what_is_new(
    path: Path, saver: Watched
) -> None:
    elsewhere(path, grown([], MANY))
    saver.loaded()
    for _ in range(3):  # each loads anew, from what is kept
        messages, _ = saver.loaded()
        commit(saver, [[*messages, message(len(messages))]])
    assert len(fresh(path)) == MANY + 3
    lane = saver.execute(ReadLane("t", "")).lane
    rows = saver.execute(ReadVersions(lane, "messages"))
    assert len(rows) == MANY + 3
    assert max(len(row.record) for row in rows) < 1000


@pytest.mark.parametrize("back", [0, 1, 2])
def test_a_damaged_record_is_noticed_though_its_list_is_kept(
    path: Path, saver: Watched, back: int
) -> None:
    messages = grown([], MANY)
    ids = elsewhere(path, messages)
    saver.loaded()
    ids += elsewhere(path, grown(messages[-1], 2))
    saver.damaged = pack(ids[-1 - back])
    with pytest.raises(CorruptCheckpointError, match="damaged"):
        saver.loaded()
    saver.damaged = None
    assert saver.loaded()[0] == fresh(path)


def test_nothing_is_kept_of_a_deleted_or_pruned_thread(path: Path, saver: Watched) -> None:
    elsewhere(path, grown([], MANY))
    saver.loaded()
    saver.prune(["t"], strategy="keep_latest")
    messages, many = saver.loaded()
    assert messages == fresh(path)
    assert many > 1
    assert saver.loaded()[1] == 1
    saver.delete_thread("t")
    elsewhere(path, [[*messages, message(5)]])
    assert saver.loaded()[0] == [*messages, message(5)] == fresh(path)


class Note(AIMessage):
    """A message class of a user's."""


def test_another_registry_makes_its_own_objects_of_a_kept_list(path: Path, saver: Watched) -> None:
    class Other(AIMessage):
        pass

    ours, theirs = GLOBAL.child(), GLOBAL.child()
    ours.register(Note, name="note")
    theirs.register(Other, name="note")
    notes = [Note(f"note {n} " * 20, id=str(n)) for n in range(MANY)]
    commit(saver, [notes[: n + 1] for n in range(MANY)], registry=ours)
    for _ in range(2):
        for registry, kind in ((ours, Note), (theirs, Other)):
            loaded, _ = saver.loaded(registry=registry)
            assert [type(each) for each in loaded] == [kind] * MANY
            assert [each.content for each in loaded] == [each.content for each in notes]
        with pytest.raises(UnregisteredTypeError, match="note"):
            given(saver.loaded(registry=GLOBAL.child())[0])
    assert saver.loaded(registry=theirs)[1] == 1


def test_what_was_not_used_for_long_goes_when_there_is_no_room() -> None:
    def kept(size: int) -> Kept:
        return Kept(b"id", b"", b"id", 0, Recipes(), [], size, size)

    recent = Recent(room=100)
    recent.keep(1, "a", kept(40))
    recent.keep(2, "b", kept(40))
    assert recent.find(1, "a")
    recent.keep(3, "c", kept(40))
    assert recent.find(2, "b") is None
    assert recent.find(1, "a")
    assert recent.find(3, "c")
    recent.keep(4, "d", kept(101))
    assert recent.find(4, "d") is None
    recent.drop(3)
    assert recent.find(3, "c") is None
