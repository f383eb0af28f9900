"""Every kind of value that LangGraph's serializer writes, read back as data."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import pathlib
import pickle
import re
import uuid
import zoneinfo
from collections import deque
from dataclasses import dataclass
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import langchain_core.messages as theirs
import langgraph.types as peer_types
import numpy as np
import ormsgpack
import pytest
from langchain_core import outputs, prompt_values
from langchain_core.agents import AgentAction, AgentActionMessageLog, AgentFinish, AgentStep
from langchain_core.documents import Document
from langchain_core.documents.base import Blob
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import Item, SearchItem
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    computed_field,
    field_serializer,
)
from tests.differential.normal import Normaliser

from plait import messages, types
from plait.agents import actions
from plait.checkpoint.serde import GLOBAL
from plait.errors import CorruptCheckpointError, StorageError, UnregisteredTypeError
from plait.importing.known import Known
from plait.importing.values import Decoder, read_tree


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    y: int = 2


def load(tag: str, data: bytes, registry: Any = GLOBAL) -> Any:
    return Decoder(Known(registry).build).value(read_tree(tag, data))


PLAIN: list[Any] = [
    None, True, 1.5, "text", b"bytes", bytearray(b"x"), [1, [2]], {"a": {1: 2, (3, 4): 5}},
    {1, 2}, frozenset([1]), dt.datetime(2026, 1, 2, 3, 4, 5, 6),
    dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.date(2026, 1, 2), dt.time(1, 2, 3),
    dt.timedelta(1, 2, 3), dt.timezone(dt.timedelta(hours=2)), uuid.UUID(int=7),
    decimal.Decimal("1.50"), pathlib.Path("/a/b"), ipaddress.ip_address("1.2.3.4"),
    ipaddress.ip_network("10.0.0.0/8"), re.compile("a+", re.IGNORECASE), deque([1, 2]),
    zoneinfo.ZoneInfo("Europe/Rome"),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_plain_values_come_back_as_themselves(value: Any) -> None:
    back = load(*JsonPlusSerializer().dumps_typed(value))
    assert (back, type(back)) == (value, type(value))


USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
MESSAGES: list[Any] = [
    theirs.HumanMessage("hi", id="1", name="Ann"),
    theirs.HumanMessage([{"type": "text", "text": "x"}, {"type": "image_url", "image_url": "u"}]),
    theirs.AIMessage("yo", tool_calls=[{"name": "t", "args": {"k": {1, 2}}, "id": "c"}],
                     usage_metadata=USAGE, response_metadata={"model": "m"}),
    theirs.AIMessage("", invalid_tool_calls=[
        {"name": "t", "args": "{", "id": "c", "error": "e", "type": "invalid_tool_call"}]),
    theirs.AIMessageChunk("a", tool_call_chunks=[
        {"name": "t", "args": '{"a"', "id": "c", "index": 0, "type": "tool_call_chunk"}]),
    theirs.SystemMessage("be kind", additional_kwargs={"x": (1, 2)}),
    theirs.ToolMessage("found", tool_call_id="c", artifact={"rows": [1]}, status="error"),
    theirs.RemoveMessage(id="1"),
    theirs.ChatMessage("x", role="critic"),
    theirs.FunctionMessage("x", name="f"),
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_become_plaits_with_all_that_they_hold(message: Any) -> None:
    serde = JsonPlusSerializer()
    tag, data = serde.dumps_typed(message)
    back = load(tag, data)
    assert type(back) is getattr(messages, type(message).__name__)
    assert Normaliser().plain(back) == Normaliser().plain(serde.loads_typed((tag, data)))


def test_types_of_the_graph_become_plaits() -> None:
    serde = JsonPlusSerializer()
    send = load(*serde.dumps_typed(peer_types.Send("n", {"a": 1})))
    assert send == types.Send("n", {"a": 1})
    asked = load(*serde.dumps_typed(peer_types.Interrupt("well?", id="7")))
    assert (asked.value, asked.id) == ("well?", "7")
    told = load(*serde.dumps_typed(peer_types.Command(update={"a": 1}, goto="x", resume=2)))
    assert told == types.Command(update={"a": 1}, goto="x", resume=2)
    assert load(*serde.dumps_typed(peer_types.Overwrite([1]))) == types.Overwrite([1])
    task = peer_types.PregelTask("id", "n", ())
    assert load(*serde.dumps_typed(task)) == types.PregelTask("id", "n", [], interrupts=[])  # type: ignore[arg-type]


SAID = theirs.AIMessage("yes", tool_calls=[{"name": "t", "args": {"a": 1}, "id": "c"}])
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
MODELS: list[Any] = [
    Document("text", metadata={"a": 1}, id="d"),
    Blob(data=b"x", mimetype="text/plain"),
    AgentAction("t", {"a": 1}, "log"),
    AgentActionMessageLog(tool="t", tool_input="i", log="log", message_log=[SAID]),
    AgentFinish({"output": 1}, "log"),
    AgentStep(action=AgentAction("t", "i", "log"), observation="seen"),
    outputs.Generation(text="yes", generation_info={"a": 1}),
    outputs.GenerationChunk(text="yes"),
    outputs.ChatGeneration(message=SAID),
    outputs.ChatGenerationChunk(message=theirs.AIMessageChunk("ye")),
    outputs.ChatResult(generations=[outputs.ChatGeneration(message=SAID)], llm_output={"a": 1}),
    outputs.LLMResult(generations=[[outputs.ChatGeneration(message=SAID)]],
                      run=[outputs.RunInfo(run_id=uuid.UUID(int=3))]),
    prompt_values.StringPromptValue(text="x"),
    prompt_values.ChatPromptValue(messages=[SAID, theirs.HumanMessage("hi")]),
    prompt_values.ChatPromptValueConcrete(messages=[SAID]),
    prompt_values.ImagePromptValue(image_url={"url": "u"}),
    Item(value={"a": 1}, key="k", namespace=("a", "b"), created_at=NOW, updated_at=NOW),
    SearchItem(("a", "b"), "k", {"a": 1}, NOW, NOW, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_of_langchain_and_items_of_stores_become_plaits(model: Any) -> None:
    (back,) = load("pickle", pickle.dumps([model]))
    assert type(back).__module__.startswith("plait.")
    assert fields(back) == fields(model)
    back = load(*JsonPlusSerializer().dumps_typed(model))
    assert type(back).__module__.startswith("plait.")
    assert fields(back, stored=True) == fields(model, stored=True)
    assert load(*JsonPlusSerializer().dumps_typed({"key": [model]})) == {"key": [back]}
    assert GLOBAL.by_type(type(back)) is not None, "then it is refused when the thread is written"


def fields(model: Any, stored: bool = False) -> Any:
    """What a model of either side holds.

    Args:
        stored: leave out what LangGraph does not store: what a message that is declared as a
            `BaseMessage` has beside the fields of one.
    """
    name = type(model).__name__
    if isinstance(model, list | tuple):
        return [fields(item, stored) for item in model]
    if "Message" in name and hasattr(model, "content"):
        return name, model.content, None if stored else getattr(model, "tool_calls", None)
    names = FIELDS.get(name)
    if names is None:
        return model
    return name, {field: fields(getattr(model, field), stored) for field in names}


FIELDS: dict[str, list[str]] = {
    type(model).__name__: [
        field for field in (type(model).model_fields if isinstance(model, BaseModel)
                            else model.dict()) if field != "type"
    ]
    for model in [*MODELS, outputs.RunInfo(run_id=uuid.UUID(int=3))]
}  # fmt: skip


@pytest.mark.parametrize("package", ["langchain", "langchain_classic"])
def test_actions_of_the_older_agents_become_plaits(package: str) -> None:
    given = {"tool": "t", "tool_input": "i", "log": "l", "tool_call_id": "c",
             "message_log": [{"type": "ai", "content": "yes"}]}  # fmt: skip
    parts = [f"{package}.agents.output_parsers.tools", "ToolAgentAction", given, None]
    back = load("msgpack", ormsgpack.packb(ormsgpack.Ext(5, ormsgpack.packb(parts))))
    assert type(back) is actions.ToolAgentAction
    assert (back.tool_call_id, back.message_log) == ("c", [messages.AIMessage("yes")])


def test_a_model_within_another_that_is_of_no_known_type_is_damage() -> None:
    for inner in ({"type": "Send"}, {"type": 1}, {}):
        parts = ["langchain_core.outputs", "ChatGeneration", {"message": inner}, None]
        with pytest.raises(CorruptCheckpointError, match="a model of type"):
            load("msgpack", ormsgpack.packb(ormsgpack.Ext(5, ormsgpack.packb(parts))))


def test_arrays_come_back_with_their_type_and_shape() -> None:
    value = np.arange(6, dtype="<i4").reshape(2, 3)
    back = load(*JsonPlusSerializer().dumps_typed(value))
    assert back.dtype == value.dtype
    assert np.array_equal(back, value)


@pytest.mark.parametrize("value", [Colour.RED, Level.LOW, Point(1)], ids=repr)
def test_classes_of_the_program_come_back_once_they_are_registered(value: Any) -> None:
    tag, data = JsonPlusSerializer().dumps_typed(value)
    registry = GLOBAL.child()
    with pytest.raises(UnregisteredTypeError, match=rf"register\({type(value).__name__}\)"):
        load(tag, data, registry)
    registry.register(type(value))
    back = load(tag, data, registry)
    assert (back, type(back)) == (value, type(value))


class Pair(NamedTuple):
    x: int
    y: int


def test_a_class_that_was_renamed_is_found_by_the_name_that_it_is_registered_under() -> None:
    tag, data = JsonPlusSerializer().dumps_typed(Point(1, 3))
    registry = GLOBAL.child()
    with pytest.raises(UnregisteredTypeError, match=rf"name='{__name__}:Point'"):
        load(tag, data, registry)
    registry.register(Pair, name=f"{__name__}:Point")
    back = load(tag, data, registry)
    assert (back, type(back)) == (Pair(1, 3), Pair)


class Shop:
    class Point(NamedTuple):
        x: int
        y: int


def test_a_name_that_two_classes_share_is_that_of_neither_until_one_is_registered_under_it() -> (
    None
):
    data = ormsgpack.packb(ormsgpack.Ext(2, ormsgpack.packb([__name__, "Point", {"x": 1, "y": 2}])))
    registry = GLOBAL.child()
    registry.register(Point)
    registry.register(Shop.Point)
    with pytest.raises(UnregisteredTypeError, match=rf"name='{__name__}:Point'"):
        load("msgpack", data, registry)
    registry.register(Shop.Point, name=f"{__name__}:Point")
    assert type(load("msgpack", data, registry)) is Shop.Point


class Sign(Enum):
    PAIR = (1, (2, 3))


@pytest.mark.parametrize(
    "value", [{(1, 2), "a"}, frozenset({(1, (2, frozenset({(3,)})))}), Sign.PAIR], ids=repr
)
def test_tuples_that_the_peer_forgets_come_back_where_nothing_else_can_have_been(
    value: Any,
) -> None:
    serde = JsonPlusSerializer()
    tag, data = serde.dumps_typed(value)
    assert serde.loads_typed((tag, data)) != value, "then it remembers them"
    registry = GLOBAL.child()
    registry.register(Sign)
    assert load(tag, data, registry) == value


class Aliased(BaseModel):
    shown: int = Field(0, alias="hidden")
    inner: Aliased | None = Field(None, validation_alias=AliasChoices("other", "another"))


class Numbers(RootModel[list[int]]):
    pass


class Names(RootModel[dict[int, str]]):
    pass


@pytest.mark.parametrize(
    "value",
    [
        Aliased(hidden=3, other=Aliased(hidden=4)),  # type: ignore[call-arg]
        Numbers([1, 2]),
        Names({1: "one"}),
    ],
    ids=repr,
)
def test_models_with_aliases_or_without_fields_come_back(value: Any) -> None:
    registry = GLOBAL.child()
    tag, data = JsonPlusSerializer().dumps_typed(value)
    with pytest.raises(UnregisteredTypeError, match=rf"register\({type(value).__name__}\)"):
        load(tag, data, registry)
    registry.register(type(value))
    back = load(tag, data, registry)
    assert (back, type(back)) == (value, type(value))


class Square(BaseModel):
    model_config = ConfigDict(extra="forbid")
    side: int

    @computed_field
    @property
    def area(self) -> int:
        return self.side**2


class Circle(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["circle"] = "circle"
    radius: int


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    at: tuple[int, int]
    first: Circle | Square
    rooms: dict[str, list[Square]]


PLAN = Plan(at=(1, 2), first=Square(side=2), rooms={"a": [Square(side=1), Square(side=3)]})


@pytest.mark.parametrize("value", [Square(side=2), PLAN], ids=lambda each: type(each).__name__)
def test_models_that_compute_fields_and_are_strict_come_back(value: Any) -> None:
    registry = GLOBAL.child()
    registry.register_schema(type(value))
    back = load(*JsonPlusSerializer().dumps_typed(value), registry)
    assert (back, type(back)) == (value, type(value))


class Dated(BaseModel):
    day: dt.date
    word: str = Field("open sesame", exclude=True)

    @field_serializer("day")
    def _shown(self, day: dt.date) -> str:
        return day.strftime("%d/%m/%Y")


def test_a_model_that_does_not_take_what_it_dumps_is_named_and_nothing_in_it_shown() -> None:
    registry = GLOBAL.child()
    registry.register(Dated)
    tag, data = JsonPlusSerializer().dumps_typed(Dated(day=dt.date(2026, 11, 29)))
    with pytest.raises(CorruptCheckpointError, match=r"Dated does not take .*day: ") as caught:
        load(tag, data, registry)
    assert "29/11/2026" not in str(caught.value)
    odd = ormsgpack.Ext(5, ormsgpack.packb([__name__, "Square", {"side": 1, "other": 2}]))
    registry.register(Square)
    with pytest.raises(CorruptCheckpointError, match=r"Square does not take .*other: "):
        load("msgpack", ormsgpack.packb(odd), registry)


class Login(BaseModel):
    name: str
    password: SecretStr


@pytest.mark.parametrize("value", [SecretStr("sesame"), Login(name="Ali", password="sesame")])  # type: ignore[arg-type]
def test_secrets_come_back_where_schemas_name_them(value: Any) -> None:
    tag, data = JsonPlusSerializer().dumps_typed(value)
    registry = GLOBAL.child()
    with pytest.raises(UnregisteredTypeError):
        load(tag, data, registry)
    registry.register_schema(type(value))
    assert load(tag, data, registry) == value


def test_a_named_tuple_that_has_other_fields_by_now_keeps_those_of_the_same_names() -> None:
    class Person(NamedTuple):
        name: str
        nick: str
        mail: str

    tag, data = JsonPlusSerializer().dumps_typed(Person("Ada", "Countess", "ada@x"))

    class Person(NamedTuple):  # type: ignore[no-redef]
        phone: str = "none"
        mail: str = ""
        name: str = ""

    registry = GLOBAL.child()
    registry.register(Person)
    assert load(tag, data, registry) == Person(name="Ada", mail="ada@x")


def test_json_of_old_checkpoints_is_read_too() -> None:
    """LangGraph wrote JSON with constructor calls before it wrote msgpack."""
    human = b"""{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages",
        "HumanMessage"], "kwargs": {"content": "hi", "type": "human", "id": "1"}}"""
    assert load("json", b"[" + human + b", 1]") == [messages.HumanMessage("hi", id="1"), 1]
    moment = b"""{"lc": 2, "type": "constructor", "id": ["datetime", "datetime"],
        "method": "fromisoformat", "args": ["2026-01-02T03:04:05"]}"""
    assert load("json", moment) == dt.datetime(2026, 1, 2, 3, 4, 5)


# --- pickles --------------------------------------------------------------------------------------


class Basket:
    """A class that LangGraph can only pickle."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.things: list[Any] = [Point(1), Colour.RED]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Basket) and vars(other) == vars(self)


class Order(BaseModel):
    number: int
    parts: list[Order] = []


@dataclass(slots=True)
class Slotted:
    a: int
    b: Any = None


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    number: int


SHARED = ["same"]
OWN: list[Any] = [
    Basket("Ann"), {"b": [Basket("Bob"), {1, 2}]}, Order(number=1), Slotted(1, {2}),
    Order(number=1, parts=[Order(number=2)]), Loose(number=1, more=2),  # type: ignore[call-arg]
    [SHARED, SHARED], Fraction(-1, 3), Fraction(4),
]  # fmt: skip


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("value", [*PLAIN, *OWN], ids=lambda value: type(value).__name__)
def test_pickled_values_come_back_and_nothing_is_unpickled(value: Any, protocol: int) -> None:
    if isinstance(value, zoneinfo.ZoneInfo):
        pytest.skip("a ZoneInfo is pickled as a call of its class's own method")
    registry = GLOBAL.child()
    for cls in (Basket, Point, Colour, Order, Slotted, Loose):
        registry.register(cls)
    data = pickle.dumps(value, protocol)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pickle, "loads", None)
        back = load("pickle", data, registry)
    assert (back, type(back)) == (value, type(value))


def test_what_the_peers_fallback_pickled_is_refused_until_its_class_is_registered() -> None:
    tag, data = JsonPlusSerializer(pickle_fallback=True).dumps_typed({"basket": Basket("Ann")})
    assert tag == "pickle"
    registry = GLOBAL.child()
    with pytest.raises(UnregisteredTypeError, match=r"register\(Point\)"):
        load(tag, data, registry)
    for cls in (Basket, Point, Colour):
        registry.register(cls)
    assert load(tag, data, registry) == {"basket": Basket("Ann")}


def test_pickled_messages_become_plaits() -> None:
    back = load("pickle", pickle.dumps([theirs.HumanMessage("hi", id="1")]))
    assert back == [messages.HumanMessage("hi", id="1")]


ARRAYS: list[Any] = [
    np.int64(3), np.float32(1.5), np.bool_(True), np.str_("text"), np.complex128(1 + 2j),
    np.datetime64("2026-01-02"), np.timedelta64(15, "m"), np.datetime64("2026-01-02", "15m"),
    np.arange(3), np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(3, dtype=">i2"), np.array(["ab", "c"]), np.array(5), np.empty((0, 3)),
    np.array(["2026-01-02"], dtype="datetime64[D]"), np.arange(10)[::3],
]  # fmt: skip


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("value", ARRAYS, ids=repr)
def test_pickled_arrays_and_numbers_of_numpy_come_back(value: Any, protocol: int) -> None:
    (back,) = load("pickle", pickle.dumps([value], protocol))
    assert type(back) is type(value)
    assert (back.dtype, back.shape) == (value.dtype, value.shape)
    assert np.array_equal(back, value)


@pytest.mark.parametrize(
    "value",
    [
        np.array([Colour.RED], dtype=object),
        np.zeros(2, dtype=[("a", "i4")]),
        np.ma.array([1, 2], mask=[0, 1]),
        np.dtype("i8"),
    ],
    ids=repr,
)
def test_pickled_arrays_of_more_than_plain_numbers_are_refused(value: Any) -> None:
    with pytest.raises(StorageError):
        load("pickle", pickle.dumps(value))


def test_an_array_that_says_how_many_bytes_it_has_gets_none() -> None:
    parts = ormsgpack.packb(["<i8", [1], "C", 10**15])
    with pytest.raises(CorruptCheckpointError, match="without bytes"):
        load("msgpack", ormsgpack.packb(ormsgpack.Ext(6, parts)))
