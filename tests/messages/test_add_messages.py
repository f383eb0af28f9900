"""`add_messages`: the peer's results, for any sequence of calls, without touching the left side."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import messages as lc
from langgraph.graph.message import add_messages as peer_add

import plait.messages as ours
from plait.common.ids import id_source
from plait.graph.message import REMOVE_ALL_MESSAGES, MessagesState, add_messages
from plait.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage

steps = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["HumanMessage", "AIMessage", "AIMessageChunk", "RemoveMessage"]),
            st.sampled_from(["1", "2", "3", "4", REMOVE_ALL_MESSAGES]),
        ),
        max_size=4,
    ),
    max_size=5,
)


def play(root: Any, add: Any, program: list[list[tuple[str, str]]]) -> Any:
    """The dumps after each step of a program, or the error that ended it."""
    messages: list[Any] = []
    seen: list[Any] = []
    for number, step in enumerate(program):
        new = [
            root.RemoveMessage(id=i)
            if name == "RemoveMessage"
            else getattr(root, name)(f"{number}.{n}", id=i)
            for n, (name, i) in enumerate(step)
        ]
        before = list(messages)
        try:
            merged = add(messages, new)
        except ValueError:
            return [*seen, "ValueError"]
        assert len(messages) == len(before)
        assert all(a is b for a, b in zip(messages, before, strict=True))
        messages = merged
        seen.append([(type(m).__name__, m.model_dump()) for m in messages])
    return seen


@given(steps)
def test_any_program_gives_what_the_peer_gives(program: list[list[tuple[str, str]]]) -> None:
    assert play(ours, add_messages, program) == play(lc, peer_add, program)


@given(steps)
def test_foreign_messages_give_what_the_peer_gives(program: list[list[tuple[str, str]]]) -> None:
    assert play(lc, add_messages, program) == play(lc, peer_add, program)


def test_two_continuations_of_one_list_do_not_see_each_other() -> None:
    base = add_messages([], [HumanMessage("a", id="1")])
    left = add_messages(base, [HumanMessage("b", id="2")])
    right = add_messages(base, [HumanMessage("c", id="3")])
    assert [m.id for m in add_messages(left, [HumanMessage("B", id="2")])] == ["1", "2"]
    assert [m.id for m in add_messages(right, [HumanMessage("d", id="2")])] == ["1", "3", "2"]
    assert [m.id for m in base] == ["1"]


def test_a_list_or_an_id_changed_in_place_is_seen() -> None:
    state = add_messages([], [HumanMessage("a", id="1"), HumanMessage("b", id="2")])
    state[0].id = "9"
    assert [m.text for m in add_messages(state, [HumanMessage("A", id="9")])] == ["A", "b"]
    state = add_messages([], [HumanMessage("a", id="1"), HumanMessage("b", id="2")])
    state.reverse()
    assert [m.text for m in add_messages(state, [HumanMessage("A", id="1")])] == ["b", "A"]
    state.append({"role": "user", "content": "dict"})
    assert add_messages(state, [])[-1].text == "dict"


def test_ids_are_given_to_the_objects_themselves_from_the_id_source() -> None:
    numbers = iter(range(9))
    token = id_source.set(lambda: f"id-{next(numbers)}")
    try:
        left, right = HumanMessage("a"), AIMessage("b")
        merged = add_messages([left], right)
    finally:
        id_source.reset(token)
    assert merged[0] is left
    assert merged[1] is right
    assert {left.id, right.id} == {"id-0", "id-1"}


def test_a_chunk_becomes_a_message_and_is_left_alone() -> None:
    chunk = AIMessageChunk("x", chunk_position="last")
    before = copy.deepcopy(chunk)
    (message,) = add_messages([], [chunk])
    assert type(message) is AIMessage
    assert chunk == before


def test_removing_an_unknown_id_says_which() -> None:
    with pytest.raises(ValueError, match="'9'"):
        add_messages([], [RemoveMessage("9")])


def test_curried_form_reduces_with_its_format() -> None:
    reducer = add_messages(format="langchain-openai")
    image = {"type": "base64", "media_type": "image/jpeg", "data": "1234"}
    (message,) = reducer([], HumanMessage([{"type": "image", "source": image}]))
    assert message.content[0]["image_url"]["url"] == "data:image/jpeg;base64,1234"


def test_a_mixed_list_keeps_foreign_messages() -> None:
    foreign = lc.HumanMessage("a", id="1")
    merged = add_messages([foreign], [HumanMessage("b", id="2")])
    assert merged[0] is foreign
    foreign.id = "7"
    assert [m.id for m in add_messages(merged, [HumanMessage("A", id="7")])] == ["7", "2"]


def test_messages_state_is_a_typed_dict_of_reduced_messages() -> None:
    annotation = MessagesState.__annotations__["messages"]
    assert add_messages in annotation.__metadata__


def test_threads_that_grow_their_own_lists_do_not_disturb_each_other() -> None:
    def grow(name: int) -> list[Any]:
        messages: list[Any] = []
        for n in range(100):
            messages = add_messages(messages, [HumanMessage("x", id=f"{name}-{n}")])
        return [m.id for m in messages]

    with ThreadPoolExecutor(12) as pool:
        for name, ids in enumerate(pool.map(grow, range(12))):
            assert ids == [f"{name}-{n}" for n in range(100)]


def test_a_message_of_langchain_that_got_another_id_is_found_by_it() -> None:
    first = add_messages([HumanMessage("q", id="0")], [AIMessage("a", id="1")])
    second = add_messages(first, [lc.AIMessage("theirs", id="2")])
    second[2].id = "3"
    merged = add_messages(second, [AIMessage("ours", id="3")])
    assert [message.content for message in merged] == ["q", "a", "ours"]
