"""What is found to differ between two lists turns the old one into the new one, exactly."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.splices import splices
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import Codec, Registry


class Model(BaseModel):
    """A model of plain data, or of more."""

    number: int
    tags: list[str] = []
    more: Any = None


class Open(BaseModel, extra="allow"):
    """A model that takes more fields than it names."""

    _hidden: int = 0
    number: int = 0


@dataclass
class Data:
    """A dataclass."""

    number: int
    tags: list[str]


class Stored:
    """Stored as its own `encode` says, not by its attributes."""

    def __init__(self) -> None:
        self.held = ["out of sight"]
        self.kept = {"number": 0}


REGISTRY = Registry()
for _cls in (Model, Open, Data):
    REGISTRY.register(_cls)
REGISTRY.register(Stored, encode=lambda it: it.kept["number"], decode=lambda state: Stored())
CODEC = Codec(REGISTRY)

BIG = 1 << 70
VALUES: dict[str, list[Any]] = {
    "floats": [0.0, -0.0, 1.5, 2.5, math.nan, math.inf],
    "ints": [0, 1, 300, 301, 302, BIG],
    "texts": ["", "a", "b", "long text", "\ud800"],
    "mixed": [0, False, 1, True, 1.0, None, "a", b"a", -0.0, 0.0],
    "odd": [0, 1.0, BIG, "\ud800", datetime(2026, 1, 1), datetime(2026, 1, 2)],
    "dicts": [{"a": 1}, {"a": True}, {"a": 1.0}, {"b": [1]}, {"b": [1, {"c": 2}]}],
    "models": [Model(number=1), Model(number=2, tags=["x"]), Model(number=2, more=(1, 2))],
    "all": [1, True, "a", 1.5, {"a": 1}, [1], (1, [2]), Model(number=1), Data(1, ["x"]), {3: 4}],
}
lists = st.lists(st.integers(0, 9), max_size=12)


def rewritten(old: list[Any], new: list[Any], limit: int = 99) -> list[Any] | None:
    """The new list, as a reader makes it."""
    before = deepcopy(old)
    found = splices(Seen(old, CODEC), new, CODEC, limit)
    if found is None:
        return None
    out: list[Any] = []
    place = 0
    for start, deleted, first, last in found:
        out += before[place:start] + new[first:last]
        place = start + deleted
    return out + before[place:]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(VALUES)), lists, lists, st.booleans(), st.integers(0, 12))
def test_what_differs_makes_the_new_list_of_the_old(
    name: str, old: list[int], new: list[int], anew: bool, limit: int
) -> None:
    values = VALUES[name]
    before = [values[i % len(values)] for i in old]
    now = [values[i % len(values)] for i in new]
    if anew:
        now = deepcopy(now)
    made = rewritten(before, now, limit)
    assert made is None or CODEC.dumps(made) == CODEC.dumps(now)
    assert made is not None or limit < len(old)


def test_of_a_list_turned_round_no_single_item_is_kept() -> None:
    """To look for the one item that could stay, and to store its place, costs more than it."""
    codec, items = Codec(), [*range(100)]
    assert splices(Seen(items, codec), items[::-1], codec, 99) is None
    turned = [*items[50:], *items[:50]]
    found = splices(Seen(items, codec), turned, codec, 99)
    assert found is not None
    assert sum(each.last - each.first for each in found) == 50


def test_a_window_and_an_edit_are_one_splice_or_two() -> None:
    for name, values in VALUES.items():
        old = [values[i % len(values)] for i in range(20)]
        seen = Seen(old, CODEC)
        assert [s[1] for s in splices(seen, [*old[1:], "new"], CODEC, 99) or ()] == [1, 0], name
        edited = splices(seen, [*old[:9], "new", *old[10:]], CODEC, 99)
        assert edited == [(9, 1, 9, 10)], name


@pytest.mark.parametrize("name", VALUES)
def test_a_list_of_the_same_contents_in_new_objects_is_the_same(name: str) -> None:
    old = VALUES[name]
    assert splices(Seen(old, CODEC), deepcopy(old), CODEC, 1) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_long_list_that_was_made_anew_is_compared_by_content(seed: int) -> None:
    random = Random(seed)
    old = [{"id": n, "text": "t"} for n in range(3000)]
    new = deepcopy(old)
    place = random.randrange(1, 2999)
    new[place] = {"id": -1}
    assert splices(Seen(old, CODEC), new, CODEC, 99) == [(place, 1, place, place + 1)]
    new = [each | {"id": -each["id"] - 1} for each in new]
    made = rewritten(old, new)
    assert made is None or made == new


CHANGES: dict[str, tuple[Any, Any]] = {
    "field": (lambda: Model(number=1), lambda it: setattr(it, "number", 2)),
    "in a field": (lambda: Model(number=1), lambda it: it.tags.append("x")),
    "type in a field": (lambda: Model(number=1), lambda it: setattr(it, "number", True)),
    "set fields": (lambda: Model(number=1), lambda it: it.__pydantic_fields_set__.add("tags")),
    "no plain data any more": (lambda: Model(number=1), lambda it: setattr(it, "more", (1,))),
    "no plain data": (lambda: Model(number=1, more=(1,)), lambda it: it.tags.append("x")),
    "extra": (lambda: Open(), lambda it: setattr(it, "added", 1)),
    "private": (lambda: Open(), lambda it: setattr(it, "_hidden", 1)),
    "dataclass": (lambda: Data(1, []), lambda it: it.tags.append("x")),
    "new attribute": (lambda: Data(1, []), lambda it: setattr(it, "added", 1)),
    "own encode": (Stored, lambda it: it.kept.update(number=1)),
    "dict": (lambda: {"a": [1]}, lambda it: it["a"].append(1)),
    "dict of more": (lambda: {"a": [1], "b": (1,)}, lambda it: it["a"].append(1)),
    "dict that becomes more": (lambda: {"a": [1]}, lambda it: it["a"].append((1,))),
    "order": (lambda: {"a": 1, "b": 2}, lambda it: it.update(a=it.pop("a"))),
}


@pytest.mark.parametrize("beside", ["same", "other", "immutable"])
@pytest.mark.parametrize("how", CHANGES)
def test_a_change_in_place_is_found_and_nothing_else(how: str, beside: str) -> None:
    make, change = CHANGES[how]
    others = {"same": make, "other": lambda: {"x": object}, "immutable": uuid4}[beside]
    old = [others() for _ in range(5)]
    old[2] = make()
    seen = Seen(old, CODEC)
    assert seen.grow(old)
    assert seen.altered() == set()
    change(old[2])
    assert not seen.grow(old)
    assert seen.altered() == {id(old[2])}
    assert splices(seen, [*old], CODEC, 9) == [(2, 1, 2, 3)]
    assert splices(seen, old[1:], CODEC, 9) == [(0, 1, 0, 0), (2, 1, 1, 2)]


def test_what_only_encode_reads_is_what_counts() -> None:
    """Another attribute is no change."""
    old = [Stored()]
    seen = Seen(old, CODEC)
    old[0].held.append("more")
    assert seen.grow(old)


@pytest.mark.parametrize("seed", range(30))
def test_models_are_stored_as_they_were_at_each_commit(seed: int) -> None:
    random = Random(seed)
    saver = InMemorySaver()
    session = saver.open_session("1", registry=REGISTRY)
    items: list[Any] = [Model(number=n) for n in range(4)]
    parent: str | None = None
    expected: list[bytes] = []

    def some(n: int) -> Any:
        return random.choice([Model(number=n), Data(n, ["x" * 80]), Open(number=n), {"n": n}, n])

    for step in range(25):
        for _ in range(random.randrange(3)):
            act = random.choice(["append", "change", "window", "replace", "rebuild", "shuffle"])
            if act == "append":
                items = [*items, some(step)]
            elif act == "change":
                item = random.choice(items)
                if isinstance(item, Model | Data):
                    item.tags.append(str(step))
                elif isinstance(item, dict):
                    item[str(step)] = step
            elif act == "window":
                items = [*items[-8:], some(step)]
            elif act == "replace":
                items[random.randrange(len(items))] = some(step)
            elif act == "rebuild":
                items = deepcopy(items)
            else:
                random.shuffle(items)
        id = f"{step:08x}-0000-6000-8000-000000000000"
        made = NewCheckpoint(
            id=id, parent_id=parent, ts="", changed={"items": items}, removed=(), metadata={},
            frontier={},
        )  # fmt: skip
        saver.run(session.commit(made))
        expected.append(CODEC.dumps(items))
        parent = id
    for step, data in enumerate(expected):
        id = f"{step:08x}-0000-6000-8000-000000000000"
        found = saver.run(saver.open_session("1", registry=REGISTRY).load(id))
        assert found is not None
        assert CODEC.dumps(found.values["items"]) == data, f"step {step} of seed {seed}"


def test_old_models_are_not_encoded_again_when_one_is_added() -> None:
    """They are looked at in C, all at once."""

    class Counting(Codec):
        asked = 0

        def comparable(self, value: Any) -> bytes:
            self.asked += 1
            return super().comparable(value)

    codec = Counting(REGISTRY)
    items: list[Any] = [Model(number=n) for n in range(50)]
    seen = Seen(items, codec)
    assert seen.grow([*items, Model(number=50)])
    assert codec.asked == 0
    assert seen.grow([*seen.items, Model(number=51, more=(1,))])
    assert codec.asked == 1
