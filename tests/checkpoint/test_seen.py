"""No change of a list is lost: of whatever is looked at without being stamped again."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

from plait.checkpoint.base.port import NewCheckpoint
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import Codec
from plait.messages import AIMessage, HumanMessage

CODEC = Codec()


def messages(count: int) -> list[Any]:
    """Messages that hold nothing mutable."""
    return [HumanMessage(f"text {n}", id=str(n)) for n in range(count)]


def change(message: Any, how: str) -> None:
    """Change a message in one of the ways in which programs do."""
    if how == "content":
        message.content += "!"
    elif how == "id":
        message.id = f"{message.id}x"
    elif how == "default":
        message.additional_kwargs["k"] = message.additional_kwargs.get("k", 0) + 1
    elif how == "blocks":
        message.content = [{"type": "text", "text": "a"}]
    elif how == "name":
        message.name = "somebody"
    else:
        message.added = how


HOWS = ["content", "id", "default", "blocks", "name", "extra"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_changed_message_is_noticed(how: str, place: int) -> None:
    items = messages(5)
    seen = Seen(items, CODEC)
    assert seen.grow(items)
    items.append(AIMessage("more", id="more"))
    assert seen.grow(items)
    change(items[place], how)
    assert not seen.grow(items)
    assert Seen(items, CODEC).stamps[place] != seen.stamps[place]


def test_a_message_and_a_dict_that_changed_are_both_noticed() -> None:
    """What changes first does not keep from looking at the rest."""
    items: list[Any] = [
        *messages(2),
        AIMessage([{"type": "text", "text": "a"}]),
        {"n": 1},
        {"n": 2},
    ]
    seen = Seen(items, CODEC)
    items[2].content[0]["text"] = "b"
    items[4]["n"] = 3
    assert not seen.grow(items)
    assert seen.altered() == {id(items[2]), id(items[4])}


def test_items_seen_again_are_compared_with_what_they_held_then() -> None:
    items: list[Any] = [{"n": n} for n in range(100)]
    seen = Seen(items, CODEC)
    items[50]["n"] = -1
    assert not seen.grow(items)
    assert seen.renew(items)
    assert seen.grow(items)
    items[50]["n"] = 50
    assert not seen.grow(items)
    assert seen.altered() == {id(items[50])}
    assert not seen.renew([*items[:-1], {"n": 99}])


def test_a_default_that_was_read_is_watched_from_then_on() -> None:
    """Who holds the dict can change it without telling."""
    items = messages(3)
    seen = Seen(items, CODEC)
    held = items[1].additional_kwargs
    seen = Seen(items, CODEC)
    assert seen.grow(items), "reading it is no change"
    held["k"] = 1
    assert not seen.grow(items)


def test_another_object_in_an_old_place_is_noticed() -> None:
    items = messages(3)
    seen = Seen(items, CODEC)
    items[1] = copy.copy(items[1])
    assert not seen.grow(items)


def calling(count: int) -> list[Any]:
    """Messages that hold what can be changed in place."""
    return [
        AIMessage("", id=str(n), tool_calls=[{"name": "f", "args": {"a": [n]}, "id": f"c{n}"}])
        for n in range(count)
    ]


IN_PLACE = {
    "args": lambda m: m.tool_calls[0]["args"]["a"].append(1),
    "name": lambda m: m.tool_calls[0].update(name="g"),
    "call": lambda m: m.tool_calls.clear(),
    "type": lambda m: m.tool_calls[0]["args"].update(a=[True]),
    "default": lambda m: m.additional_kwargs.update(k=1),
    "assigned": lambda m: setattr(m, "tool_calls", []),
    "object": lambda m: m.tool_calls[0]["args"].update(a=object()),
}


@pytest.mark.parametrize("how", IN_PLACE)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_a_message_holds_is_watched(how: str, place: int) -> None:
    items = calling(2)
    items[1].tool_calls[0]["args"]["a"] = [1]  # a list that "type" changes to an equal one
    seen = Seen(items, CODEC)
    items = [*items, *calling(3)[2:]]
    items[2].tool_calls[0]["args"]["a"] = [1]
    assert seen.grow(items)
    assert seen.grow(items)
    IN_PLACE[how](items[place])
    assert not seen.grow(items)


def test_fields_that_were_only_read_are_watched_from_then_on() -> None:
    items = calling(3)
    seen = Seen(items, CODEC)
    held = items[1].response_metadata
    assert seen.grow(items), "reading it is no change"
    held["k"] = 1
    assert not seen.grow(items)


class AlwaysEqual(HumanMessage):
    """Says of every message that it is the same."""

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("other", [AlwaysEqual("other", id="1"), copy.copy, "text", 1.0])
def test_an_object_that_only_says_that_it_is_equal_is_noticed(other: Any) -> None:
    items = messages(3)
    seen = Seen(items, CODEC)
    items[1] = other(items[1]) if callable(other) else other
    assert not seen.grow(items)


@pytest.mark.parametrize("value", [[1, 2.0, "x"], [{"a": [1]}], [1, {"b": 2}], [[1]]])
def test_other_lists_grow_too(value: list[Any]) -> None:
    seen = Seen(value, CODEC)
    grown = [*value, 7]
    assert seen.grow(grown)
    assert seen.items == grown
    assert seen.stamps == Seen(grown, CODEC).stamps
    if isinstance(value[-1], (dict, list)):
        value[-1].clear()
        assert not seen.grow(grown)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_stored_is_what_the_list_was_at_each_commit(seed: int) -> None:
    random = Random(seed)
    saver = InMemorySaver()
    session = saver.open_session("1")
    saver.run(session.claim())
    items: list[Any] = messages(4)
    held: list[Any] = []
    parent: str | None = None
    expected: list[list[dict[str, Any]]] = []
    for step in range(25):
        for _ in range(random.randrange(3)):
            act = random.choice(["append", "change", "hold", "held", "replace", "drop"])
            if act == "append":
                made = random.choice([HumanMessage, AIMessage])("new", id=f"n{step}")
                items = [*items, random.choice([made, *calling(1)])]
            elif act == "change":
                change(random.choice(items), random.choice(HOWS))
            elif act == "hold":
                held.append(random.choice(items).response_metadata)
            elif act == "held" and held:
                random.choice(held)[str(step)] = step
            elif act == "replace":
                items = [copy.copy(m) if random.random() < 0.2 else m for m in items]
            elif len(items) > 2:
                items = items[1:]
        id = f"{step:08x}-0000-6000-8000-000000000000"
        made = NewCheckpoint(
            id=id, parent_id=parent, ts="", changed={"messages": items}, removed=(),
            metadata={}, frontier={},
        )  # fmt: skip
        saver.run(session.commit(made))
        expected.append([m.__plait_state__() | {"type": m.type} for m in items])
        expected[-1] = copy.deepcopy(expected[-1])
        parent = id
    for step, states in enumerate(expected):
        id = f"{step:08x}-0000-6000-8000-000000000000"
        found = saver.run(saver.open_session("1").load(id))
        assert found is not None
        got = [m.__plait_state__() | {"type": m.type} for m in found.values["messages"]]
        assert got == states, f"step {step} of seed {seed}"


@pytest.mark.parametrize(
    ("item", "alter"),
    [
        ({"a": [1]}, lambda item: item["a"].append(2)),
        ([1, {"b": 2}], lambda item: item[1].update(b=3)),
        (HumanMessage("text"), lambda item: setattr(item, "content", "other")),
        (AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]),
         lambda item: item.tool_calls[0]["args"].update(n=1)),
        ({1, 2}, lambda item: item.add(3)),
    ],
)  # fmt: skip
def test_two_sightings_of_the_same_objects_are_alike_until_one_changes(
    item: Any, alter: Any
) -> None:
    items = ["text", 1, item]
    first = Seen([], CODEC)
    for length in (1, 2, 3):  # seen as it grew, and at once
        if not first.grow(items[:length]):
            first = Seen(items[:length], CODEC)
    for length in range(4):
        assert Seen(items[:length], CODEC).begins(first)
    alter(item)
    assert not Seen(items, CODEC).begins(first)
    assert Seen(items[:2], CODEC).begins(first)
