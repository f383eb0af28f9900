"""What lists cost that are reordered, partly changed, or new at each step; and that they come back
as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest

from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.log.records import WHOLE
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.versions import ListVersion
from plait.checkpoint.log.writing import encode_version
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import Codec, pack_each

COUNT = 600
Step: TypeAlias = "Callable[[list[Any], int], list[Any]]"


def notes(start: int = 0) -> list[Any]:
    return [{"id": n + start, "text": "a note"} for n in range(COUNT)]


def changed(items: list[Any], step: int, every: int) -> list[Any]:
    """New notes in every so many places."""
    return [{"id": step} if n % every == 0 else item for n, item in enumerate(items)]


def changed_in_place(items: list[Any], places: Iterable[int], step: int) -> list[Any]:
    """Other notes in the same objects."""
    for n in places:
        items[n]["text"] = f"{step} of {n}"
    return items


def now_many_now_few(items: list[Any], step: int) -> list[Any]:
    """Nearly all in place, then few; one of them holds more than plain data; some are new."""
    random = Random(step)
    count = COUNT if step % 4 == 3 else 5
    changed_in_place(items, random.sample(range(len(items)), count), step)
    items[step * 50]["id"] = (step,)
    if step % 3 == 2:
        items = [dict(item) if random.random() < 0.5 else item for item in items]
    return [*items, {"id": step}]


STEPS: dict[str, Step] = {
    "new": lambda items, step: notes((step + 1) * COUNT),
    "reversed": lambda items, step: items[::-1],
    "every second": lambda items, step: changed(items, step, 2),
    "every fortieth": lambda items, step: changed(items, step, 40),
    "last to the front": lambda items, step: [items[-1], *items[:-1]],
    "halves swapped": lambda items, step: items[COUNT // 2 :] + items[: COUNT // 2],
    "new, then a window": lambda items, step: (
        notes((step + 1) * COUNT) if step < 6 else [*map(dict, items[1:]), {"id": step}]
    ),
    "floats": lambda items, step: [n * 0.5 + step for n in range(COUNT)],
    "zeros": lambda items, step: [0.0 if (n + step) % 3 else -0.0 for n in range(COUNT)],
    "held bytes": lambda items, step: [{"data": bytearray([step, n & 255])} for n in range(COUNT)],
    "shuffled": lambda items, step: Random(step).sample(items, len(items)),
    "one in place": lambda items, step: changed_in_place(items, [step * 41 % COUNT], step),
    "every fortieth in place": lambda items, step: changed_in_place(
        items, range(0, COUNT, 40), step
    ),
    "every second in place": lambda items, step: changed_in_place(items, range(0, COUNT, 2), step),
    "now many, now few": lambda items, step: now_many_now_few(items, step),
    "changed in place": lambda items, step: (items[step].update(seen=step), items[::-1])[1],
}


def written(step: Step, count: int = 12) -> list[int]:
    """How many bytes each version of a list takes."""
    codec, items, sizes = Codec(), notes(), list[int]()
    encoded = encode_version(codec, None, items, b"-" * 16)
    assert encoded is not None
    for number in range(count):
        items = step(items, number)
        version = encoded.version
        encoded = encode_version(codec, version, items, number.to_bytes(16, "big"))
        assert encoded is not None
        sizes.append(len(encoded.payload))
    return sizes


@pytest.mark.parametrize("name", STEPS)
def test_what_is_read_back_is_what_was_committed(name: str) -> None:
    saver, codec = InMemorySaver(), Codec()
    session = saver.open_session("1")
    items, parent, expected = notes(), None, dict[str, bytes]()
    for step in range(12):
        id = f"{step:08x}-0000-6000-8000-000000000000"
        made = NewCheckpoint(
            id=id, parent_id=parent, ts="", changed={"items": items}, removed=(), metadata={},
            frontier={},
        )  # fmt: skip
        saver.run(session.commit(made))
        expected[id], parent = codec.dumps(items), id
        items = STEPS[name](items, step)
    for id, data in expected.items():
        found = saver.run(saver.open_session("1").load(id))
        assert found is not None
        assert codec.dumps(found.values["items"]) == data, id


@pytest.mark.parametrize("name", ["last to the front", "halves swapped"])
def test_of_items_that_moved_only_these_are_stored(name: str) -> None:
    whole = len(Codec().dumps(notes()))
    most = {"last to the front": whole // 20, "halves swapped": whole * 6 // 10}[name]
    sizes = written(STEPS[name])
    assert sorted(sizes)[len(sizes) * 3 // 4] < most  # now and then all is written anew


@pytest.mark.parametrize("name", ["one in place", "every fortieth in place"])
def test_of_items_that_changed_in_place_only_these_are_stored(name: str) -> None:
    sizes = written(STEPS[name])
    most = {"one in place": 100, "every fortieth in place": 900}[name]
    assert sorted(sizes)[len(sizes) * 3 // 4] < most


@pytest.mark.parametrize("name", ["every second", "every second in place"])
def test_where_half_of_many_small_items_changed_no_crumbs_are_kept(name: str) -> None:
    """All is written anew, which takes less than twice what changed, and is one piece to read."""
    codec, items = Codec(), notes()
    encoded = encode_version(codec, None, items, b"-" * 16)
    for number in range(4):
        assert encoded is not None
        items = STEPS[name](items, number)
        encoded = encode_version(codec, encoded.version, items, number.to_bytes(16, "big"))
        assert encoded is not None
        assert isinstance(encoded.version, ListVersion)
        assert (encoded.kind, len(encoded.version.runs)) == (WHOLE, 1)


def test_one_item_that_changed_in_place_is_looked_for_among_few() -> None:
    items = notes()
    seen = Seen(items, Codec())
    items[333]["text"] = "another"
    looked: list[Any] = []

    def look(values: list[Any]) -> list[bytes]:
        looked.extend(values)
        return pack_each(values)

    with patch("plait.checkpoint.log.loose.pack_each", look):
        assert seen.altered() == {id(items[333])}
    assert 0 < len(looked) <= 64


def test_a_list_that_was_all_new_is_looked_at_again() -> None:
    """So a workload that changes its ways costs no more than twice what it must."""
    sizes = written(STEPS["new, then a window"], 30)
    assert max(sizes[12:]) < sizes[0] // 20
