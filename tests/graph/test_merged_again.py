"""A list that messages are merged into twice: the second merge gives what the first would give."""

from random import Random
from typing import Any

import pytest

from plait.graph.message import BASES, RECENT, RECENT_LIMIT, REMOVE_ALL_MESSAGES, add_messages
from plait.messages import AIMessage, HumanMessage, RemoveMessage


def forget() -> None:
    """What was kept of earlier merges is gone."""
    RECENT.clear()
    BASES.clear()


def merged(left: list[Any], right: Any) -> list[Any]:
    """A merge, compared with one that nothing is known to."""
    known, bases = RECENT.copy(), BASES.copy()
    forget()
    expected: Any
    try:
        expected = add_messages([*left], [*right] if isinstance(right, list) else right)
    except ValueError as error:
        expected = str(error)
    forget()
    RECENT.update(known)
    BASES.update(bases)
    found: Any
    try:
        found = add_messages(left, right)
    except ValueError as error:
        found = str(error)
        assert found == expected
        return left
    assert found == expected
    assert found is not left
    return found


def spoil(chance: Random, left: list[Any], right: Any, result: list[Any]) -> None:
    """Do what a program may do between two merges."""
    everything = [left, result, *([right] if isinstance(right, list) else [])]
    victim = chance.choice(everything)
    match chance.randrange(6):
        case 0:
            victim.append(AIMessage("more", id=f"more {chance.random()}"))
        case 1 if victim:
            victim.pop(chance.randrange(len(victim)))
        case 2 if victim:
            chance.choice(victim).id = f"other {chance.random()}"
        case 3 if victim:
            place = chance.randrange(len(victim))
            victim[place] = victim[place].model_copy()
        case 4 if victim:
            chance.choice(victim).content = "edited"
        case _:
            victim.reverse()


def update(chance: Random, left: list[Any]) -> Any:
    """Something to merge."""
    ids = [m.id for m in left] or ["none"]
    made: list[Any] = [
        AIMessage("new", id=chance.choice([*ids, f"{chance.random()}"]))
        for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))
    ]
    if chance.random() < 0.15:
        made.insert(chance.randrange(len(made) + 1), RemoveMessage(chance.choice(ids)))
    if chance.random() < 0.05:
        made.insert(chance.randrange(len(made) + 1), RemoveMessage(REMOVE_ALL_MESSAGES))
    return made[0] if len(made) == 1 and chance.random() < 0.3 else made


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_in_between(seed: int) -> None:
    chance = Random(seed)
    forget()
    left: list[Any] = [HumanMessage("hi", id="0")]
    for _ in range(60):
        right = update(chance, left)
        result = merged(left, right)
        for _ in range(chance.choice([0, 1, 1, 2])):
            if chance.random() < 0.4:
                spoil(chance, left, right, result)
            result = merged(left, right)
        if chance.random() < 0.9:
            left = result
        assert len(RECENT) <= RECENT_LIMIT


def test_the_second_result_is_a_list_of_its_own() -> None:
    forget()
    left, right = [HumanMessage("hi", id="0")], [AIMessage("ha", id="1")]
    first = add_messages(left, right)
    first.append(AIMessage("by a path function", id="2"))
    second = add_messages(left, right)
    assert [m.id for m in second] == ["0", "1"]
    assert [m.id for m in add_messages(second, AIMessage("on", id="3"))] == ["0", "1", "3"]


def test_what_replaced_a_message_once_does_not_come_into_another_result() -> None:
    forget()
    left = [HumanMessage("hi", id="0")]
    again = HumanMessage("hi", id="0")
    assert add_messages(left, [again, AIMessage("ha", id="1")])[0] is again
    assert add_messages(left, AIMessage("ho", id="2"))[0] is left[0]
