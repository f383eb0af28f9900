"""What messages promise beside being LangChain's: stamps, storage, pydantic, subclasses, copies."""

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count, pairwise
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import messages as lc
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from plait.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    InvalidMessageError,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    filter_messages,
    get_buffer_string,
    merge_message_runs,
    trim_messages,
)
from plait.messages.tokens import count_tokens_approximately

CALL = {"name": "f", "args": {"a": [1]}, "id": "1"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Scored(AIMessage):
    score: float = 0.5
    tags: list[str] = []  # noqa: RUF012 (as users write it)
    made: dict[str, int] = Field(default_factory=dict)


EVERY_KIND: list[BaseMessage] = [
    HumanMessage("x", id="1", name="n", extra=[1]),
    AIMessage("x", tool_calls=[CALL], response_metadata={"a": {"b": 1}}),
    SystemMessage(["a", {"type": "text", "text": "b"}]),
    ToolMessage("x", tool_call_id="1", artifact={"a": [1]}, status="error"),
    ChatMessage("x", role="r"),
    FunctionMessage("x", name="f"),
    RemoveMessage("1"),
    AIMessageChunk("x", tool_calls=[CALL]),
    HumanMessageChunk("x", additional_kwargs={"a": 1}),
    Scored("x", score=1, tags=["t"]),
    BaseMessage("x", type="note"),
]

CHANGES: list[Any] = [
    lambda m: setattr(m, "content", "changed"),
    lambda m: setattr(m, "content", m.content),
    lambda m: setattr(m, "id", "other"),
    lambda m: setattr(m, "name", "other"),
    lambda m: setattr(m, "anything", 1),
    lambda m: m.content[1].update(text="changed"),
    lambda m: m.content.append("more"),
    lambda m: m.additional_kwargs.update(z=9),
    lambda m: m.response_metadata.update(z=9),
    lambda m: m.tool_calls.append(CALL),
    lambda m: m.tool_calls[0]["args"]["a"].append(2),
    lambda m: m.artifact["a"].append(2),
    lambda m: m.tags.append("u"),
    lambda m: m.extra.append(2),
]


def takes(message: BaseMessage, change: Any) -> bool:
    """Whether this kind of message has the part that a change is about."""
    try:
        change(copy.deepcopy(message))
    except (AttributeError, TypeError, IndexError, KeyError):
        return False
    return True


CHANGED = [(m, n) for m in EVERY_KIND for n, c in enumerate(CHANGES) if takes(m, c)]


def test_every_change_is_one_that_some_message_takes() -> None:
    assert {n for _, n in CHANGED} == set(range(len(CHANGES)))


@pytest.mark.parametrize(("kind", "change"), CHANGED)
def test_stamp_changes_with_every_change_that_the_message_can_take(
    kind: BaseMessage, change: int
) -> None:
    message = copy.deepcopy(kind)
    before = message.__plait_stamp__()
    CHANGES[change](message)
    assert message.__plait_stamp__() != before
    assert hash(message.__plait_stamp__()) is not None


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda m: type(m).__name__)
def test_stamp_stays_while_the_message_is_only_read(message: BaseMessage) -> None:
    before = message.__plait_stamp__()
    message.model_dump()
    repr(message)
    assert message.text == message.text
    assert message.additional_kwargs is message.additional_kwargs
    assert message.__plait_stamp__() == before


EQUAL_BUT_OTHER: dict[str, tuple[Any, Any]] = {
    "decimals": (Decimal("1.0"), Decimal("1.00")),
    "zones": (NOON, NOON.astimezone(timezone(timedelta(hours=1)))),
    "buffers": (b"ab", bytearray(b"ab")),
    "shapes": (np.zeros(4), np.zeros((2, 2))),
    "types": (np.zeros(4), np.zeros(4, "int64")),
}


@pytest.mark.parametrize("kind", EQUAL_BUT_OTHER)
def test_stamp_tells_apart_what_is_equal_and_yet_something_else(kind: str) -> None:
    before, after = EQUAL_BUT_OTHER[kind]
    message = ToolMessage("x", tool_call_id="1", artifact={"of": [before]})
    stamp = message.__plait_stamp__()
    assert message.__plait_stamp__() == stamp
    message.artifact["of"][0] = after
    assert message.__plait_stamp__() != stamp


def test_stamp_never_repeats_for_an_object_that_nothing_is_known_about() -> None:
    class Opaque:
        __slots__ = ("x",)

    message = ToolMessage("x", tool_call_id="1", artifact=Opaque())
    assert message.__plait_stamp__() != message.__plait_stamp__()


def test_an_id_that_equals_any_text_makes_messages_equal() -> None:
    """As tests of users have them: LangGraph's own do."""

    class AnyText(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            return isinstance(other, str)

    expected = HumanMessage("hi")
    expected.id = AnyText()
    assert expected == HumanMessage("hi", id="1")
    assert HumanMessage("hi", id="2") == expected
    assert expected != HumanMessage("no", id="1")
    assert expected != HumanMessage("hi")


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda m: type(m).__name__)
def test_restored_state_equals_the_message_and_copies_share_nothing(message: BaseMessage) -> None:
    state = copy.deepcopy(message.__plait_state__())
    restored = type(message).__plait_restore__({**state, "unknown": 1})
    for other in (restored, copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert other == message
        assert repr(other) == repr(message)
        assert other.model_dump() == message.model_dump()
    shallow = copy.copy(message)
    shallow.additional_kwargs = {"z": 1}
    assert shallow != message


def test_state_names_only_what_differs_from_defaults() -> None:
    message = AIMessage("x")
    assert message.tool_calls == []
    assert message.__plait_state__() == {"content": "x"}


def test_restoring_runs_neither_init_nor_validation() -> None:
    class Loud(HumanMessage):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise AssertionError("ran")

    assert Loud.__plait_restore__({"content": 5}).content == 5


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4), st.text())
def test_dump_and_validate_are_inverse(extra: dict[str, Any], text: str) -> None:
    message = HumanMessage(text, additional_kwargs=extra)
    assert HumanMessage.model_validate(message.model_dump()) == message
    assert HumanMessage.model_validate_json(message.model_dump_json()) == message
    assert HumanMessage.__plait_restore__(message.__plait_state__()) == message


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_streamed_arguments_come_out_as_they_went_in(text: str, cuts: list[int]) -> None:
    whole = json.dumps({"q": text, "n": [1, {"x": None}]})
    edges = sorted({0, len(whole), *(c for c in cuts if c < len(whole))})
    total: Any = None
    for start, end in pairwise(edges):
        first = start == 0
        chunk = {"name": "f" if first else None, "args": whole[start:end], "index": 0}
        piece = AIMessageChunk("", tool_call_chunks=[{**chunk, "id": "1" if first else None}])
        total = piece if total is None else total + piece
    assert total.tool_calls[0]["args"] == json.loads(whole)


def test_adding_chunks_changes_neither() -> None:
    left = AIMessageChunk("a", additional_kwargs={"k": {"l": ["x"]}}, tool_calls=[CALL])
    before = copy.deepcopy(left)
    total = left + left
    assert left == before
    assert total.additional_kwargs == {"k": {"l": ["x", "x"]}}


class State(BaseModel):
    messages: list[AnyMessage]
    bare: list[BaseMessage] = []
    one: HumanMessage | None = None


def test_pydantic_state_takes_instances_dicts_and_foreign_messages() -> None:
    mine, foreign = Scored("x"), lc.HumanMessage("y")
    state = State(
        messages=[mine, foreign, {"type": "tool", "content": "r", "tool_call_id": "1"}],
        bare=[foreign, {"type": "ai", "content": "z"}],
        one={"content": "hi"},
    )
    assert state.messages[0] is mine
    assert state.messages[1] is foreign
    assert state.messages[2] == ToolMessage("r", tool_call_id="1")
    assert state.bare == [foreign, AIMessage("z")]
    assert state.one == HumanMessage("hi")
    dumped = state.model_dump()
    assert dumped["messages"][0] == mine.model_dump()
    assert State.model_validate(json.loads(state.model_dump_json())).messages[1] == HumanMessage(
        "y"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        ["text"],
        [{"content": "no type"}],
        [{"type": "human"}],
        [{"type": "nope", "content": ""}],
        [RemoveMessage("1")],
    ],
)
def test_pydantic_state_refuses_what_is_no_message(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        State(messages=wrong)


def test_json_schema_of_a_state_and_of_a_message() -> None:
    assert "messages" in State.model_json_schema()["properties"]
    assert TypeAdapter(HumanMessage).json_schema()["title"] == "HumanMessage"
    assert Scored.model_json_schema()["properties"]["score"]["type"] == "number"


def test_subclass_fields_have_defaults_of_their_own_and_are_checked() -> None:
    first, second = Scored("x"), Scored("x")
    first.tags.append("a")
    assert second.tags == []
    assert Scored("x", score="2").score == 2.0
    with pytest.raises(InvalidMessageError, match=r"Scored\.score"):
        Scored("x", score="high")
    assert Scored("x") == Scored("x", score=0.5)


def test_assignment_works_and_type_is_fixed() -> None:
    message = HumanMessage("x")
    message.content = "y"
    message.anything = {"a": 1}
    assert (message.content, message.anything) == ("y", {"a": 1})
    assert message.model_extra == {"anything": {"a": 1}}
    with pytest.raises(InvalidMessageError, match="type"):
        HumanMessage("x", type="ai")


def test_a_missing_field_is_named_with_the_call_that_gives_it() -> None:
    with pytest.raises(InvalidMessageError, match=r"ToolMessage\(\.\.\., tool_call_id=\.\.\.\)"):
        ToolMessage("x")


FOREIGN = [
    lc.SystemMessage("s"),
    lc.HumanMessage("a", id="1", name="bob"),
    lc.AIMessage("b", tool_calls=[{**CALL, "id": "1"}, {**CALL, "id": "2"}]),
    lc.ToolMessage("t", tool_call_id="1"),
    lc.HumanMessage("c"),
    lc.HumanMessage("d"),
]


def test_foreign_messages_are_kept_as_they_are() -> None:
    assert all(a is b for a, b in zip(convert_to_messages(FOREIGN), FOREIGN, strict=True))
    trimmed = trim_messages(FOREIGN, max_tokens=2, token_counter=len, include_system=True)
    assert trimmed == [FOREIGN[0], FOREIGN[5]]
    assert filter_messages(FOREIGN, include_types=[HumanMessage]) == [FOREIGN[1], *FOREIGN[4:]]
    assert get_buffer_string(FOREIGN) == lc.get_buffer_string(FOREIGN)


def test_foreign_messages_are_filtered_by_call_and_merged() -> None:
    mine = filter_messages(FOREIGN, exclude_tool_calls=["1"])
    theirs = lc.filter_messages(FOREIGN, exclude_tool_calls=["1"])
    assert mine == theirs
    merged = merge_message_runs(FOREIGN)
    assert merged[:4] == FOREIGN[:4]
    assert merged[4] == HumanMessage("c\nd")


def test_merging_changes_nothing_it_is_given() -> None:
    given = [HumanMessage("a", additional_kwargs={"k": "1"}), HumanMessage("b")]
    before = copy.deepcopy(given)
    merge_message_runs(given)
    assert given == before


async def test_called_without_messages_the_functions_wait_for_them() -> None:
    later = trim_messages(max_tokens=1, token_counter=len)
    assert later.invoke(["a", "b"]) == [HumanMessage("b")]
    assert await later.ainvoke(["a", "b"]) == [HumanMessage("b")]
    assert filter_messages(include_types=["ai"]).invoke(["a", ("ai", "b")]) == [AIMessage("b")]
    assert merge_message_runs(chunk_separator="").invoke(["a", "b"]) == [HumanMessage("ab")]


class Custom(AIMessage):
    type: str = "custom"
    note: str | None = None

    def __init__(self, content: str, **kwargs: Any) -> None:
        super().__init__(content=content, **kwargs)


def test_subclass_may_have_its_own_init_and_type() -> None:
    message = Custom("x", note="n")
    assert (message.type, message.note) == ("custom", "n")
    assert message.__plait_state__() == {"content": "x", "note": "n"}
    assert copy.deepcopy(message) == message


def test_deleting_an_extra_attribute_leaves_no_trace() -> None:
    message = HumanMessage("x", extra=1)
    del message.extra
    assert message == HumanMessage("x")
    assert repr(message) == repr(HumanMessage("x"))


class Numbered(AIMessage):
    numbers = count()
    number: int = Field(default_factory=lambda: next(Numbered.numbers))


class Loud(HumanMessage):
    def model_dump(self, **options: Any) -> dict[str, Any]:
        return super().model_dump(**options) | {"loud": True}


class Shouted(HumanMessage):
    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "shouted"


class Price(BaseModel):
    amount: int = 1


def in_everything(value: Any) -> list[BaseMessage]:
    return [
        *EVERY_KIND,
        Numbered("x"),
        Loud("x"),
        Shouted("x"),
        HumanMessage("x", extra={"in": value}),
        AIMessage([{"type": "text", "text": "x", "more": value}], additional_kwargs={"in": value}),
        ToolMessage("x", tool_call_id="1", artifact=value),
        ToolMessage("x", tool_call_id="1", artifact={"in": [value, (value,)]}),
    ]


@pytest.mark.parametrize("value", [1, "x", None, [], {"a": [{}]}, HumanMessage("y"), Price()])
def test_a_message_is_dumped_whole_as_it_is_field_by_field(value: Any) -> None:
    for message in in_everything(value):
        names = {name for name, _ in message}
        dumped = message.model_dump()
        assert list(dumped) == list(message.model_dump(include=names))
        assert dumped == message.model_dump(include=names)
        assert json.loads(message.model_dump_json()) == message.model_dump(mode="json")
        assert message.model_dump_json() == message.model_dump_json(include=names)


def test_dumps_share_nothing_with_the_message_and_each_other() -> None:
    for message in EVERY_KIND:
        before = copy.deepcopy(message)
        for value in message.model_dump().values():
            if isinstance(value, (list, dict)):
                value.clear()
        assert message == before
        assert message.model_dump() == before.model_dump()
        assert message.model_dump_json() == before.model_dump_json()


def test_a_dump_does_not_break_the_seal_of_a_message() -> None:
    message = AIMessage("x", id="1")
    message.__plait_stamp__()
    sealed = BaseMessage.__plait_changes__[0]
    message.model_dump()
    message.model_dump_json()
    count_tokens_approximately([message])
    assert BaseMessage.__plait_changes__[0] is sealed


def test_what_a_message_lacks_is_missed_by_its_dump() -> None:
    for dump in (ToolMessage.model_dump, ToolMessage.model_dump_json):
        with pytest.raises(AttributeError, match="tool_call_id"):
            dump(ToolMessage.model_construct(content="x"))


def a_conversation(seed: int) -> list[Any]:
    rng = Random(seed)
    made: list[Any] = [SystemMessage("s" * rng.randrange(9))] * rng.randrange(2)
    for n in range(rng.randrange(12)):
        text = "w\n" * rng.randrange(30)
        made.append(
            rng.choice(
                [
                    HumanMessage(text, name=rng.choice([None, "bob"])),
                    AIMessage(text, tool_calls=[CALL] * rng.randrange(3)),
                    AIMessage([{"type": "text", "text": text}, {"type": "image"}, "x"]),
                    ToolMessage(text, tool_call_id=f"c{n}"),
                    SystemMessage(text),
                    FunctionMessage(text, name="f"),
                    ChatMessage(text, role="r"),
                    lc.HumanMessage(text),
                    made[-1] if made else HumanMessage(text),
                ]
            )
        )
    return made


def as_foreign(messages: list[Any]) -> list[Any]:
    return [m if isinstance(m, lc.BaseMessage) else lc_message(m) for m in messages]


def lc_message(message: BaseMessage) -> lc.BaseMessage:
    return getattr(lc, type(message).__name__)(**message.model_dump())


@pytest.mark.parametrize("seed", range(60))
def test_functions_over_messages_give_what_those_of_langchain_give(seed: int) -> None:
    mine = a_conversation(seed)
    theirs = as_foreign(mine)
    counted = count_tokens_approximately(mine)
    assert counted == lc.utils.count_tokens_approximately(theirs)
    for limit in {0, counted // 3, counted // 2, counted}:
        for options in (
            {"strategy": "first"},
            {"strategy": "first", "end_on": "human"},
            {"include_system": True, "start_on": ("human", "tool")},
            {"allow_partial": True},
            {"end_on": ["ai", "tool"], "start_on": ["human"]},
        ):
            given = {"max_tokens": limit, **options}
            here = trim_messages(mine, token_counter=count_tokens_approximately, **given)
            there = lc.trim_messages(
                theirs, token_counter=lc.utils.count_tokens_approximately, **given
            )
            assert [m.content for m in here] == [m.content for m in there]
    for types in ("human", ["ai", "tool"], [HumanMessage, "system"], [lc.AIMessage]):
        kept = filter_messages(mine, include_types=types)
        gone = filter_messages(mine, exclude_types=types)
        assert sorted(map(id, [*kept, *gone])) == sorted(map(id, mine))
        if not isinstance(types, list) or HumanMessage not in types:
            there = lc.filter_messages(theirs, include_types=cast("Any", types))
            assert [m.content for m in kept] == [m.content for m in there]
    if not any(isinstance(m, lc.BaseMessage) for m in mine):
        merged = lc.merge_message_runs(theirs)
        assert [(m.type, m.content) for m in merge_message_runs(mine)] == [
            (m.type, m.content) for m in merged
        ]


def test_trimming_asks_a_counter_of_one_message_once_for_each() -> None:
    asked: list[str] = []

    def size(message: BaseMessage) -> int:
        asked.append(message.text)
        return len(message.text)

    texts = [str(n) for n in range(200)]
    kept = trim_messages(texts, max_tokens=100, token_counter=size)
    assert [m.text for m in kept] == texts[-33:]
    assert sorted(asked) == sorted(texts)


class _Asked(str):
    """An id that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Asked.compared += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("how", ["exclude_ids", "include_ids", "exclude_tool_calls"])
def test_filtering_by_ids_compares_each_message_once(how: str) -> None:
    """To look for each of n messages in a list of n ids would be n * n comparisons."""
    count = 60
    messages: list[Any] = []
    for n in range(count):
        call: Any = {"name": "t", "args": {}, "id": f"call-{n}"}
        messages += [AIMessage("", id=f"a{n}", tool_calls=[call])]
        messages += [ToolMessage("done", tool_call_id=_Asked(f"call-{n}"), id=f"t{n}")]
        messages[-1].id = _Asked(f"t{n}")
    prefix = "call-" if how == "exclude_tool_calls" else "t"
    _Asked.compared = 0
    kept = filter_messages(messages, **{how: [f"{prefix}{n}" for n in range(count)]})
    assert len(kept) == (0 if how == "exclude_tool_calls" else count)
    assert _Asked.compared <= 4 * count


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("a"),
        HumanMessage("a", id="1", name="Ann"),
        SystemMessage("a", id="1"),
        AIMessage("a", id="1", name="b"),
        ToolMessage("a", id="1", tool_call_id="c", status="error", artifact=1),
        RemoveMessage("1"),
    ],
)
def test_a_message_that_is_cast_is_one_that_is_restored(message: Any) -> None:
    cls, state = type(message), message.__plait_state__()
    mould = cls.__plait_mould__(state)
    one, other = cls.__plait_cast__([mould, mould])
    for made in (one, other):
        assert made == cls.__plait_restore__(state) == message
        assert made.__plait_state__() == state
    stamp = one.__plait_stamp__()
    one.content, one.name, one.additional_kwargs["more"] = "b", "changed", 1
    assert one.__plait_stamp__() != stamp
    assert other == message


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage(["a"], id="1"),
        HumanMessage("a", id="1", additional_kwargs={"b": 1}),
        HumanMessage("a", id="1", unknown=1),
        AIMessage("a", tool_calls=[{"name": "add", "args": {}, "id": "1"}]),
    ],
)
def test_what_may_change_in_place_is_not_cast(message: Any) -> None:
    assert type(message).__plait_mould__(message.__plait_state__()) is None
