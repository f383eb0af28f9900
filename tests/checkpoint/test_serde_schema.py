"""A graph may store what its schemas name: found through any annotation, nothing beyond."""

from __future__ import annotations

import operator
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from time import struct_time
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
)

import attrs
import pytest
from pydantic import (
    AnyUrl,
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    HttpUrl,
    PostgresDsn,
    Secret,
    SecretStr,
)
from pydantic_core import Url

from plait.checkpoint.serde import Codec, Registry
from plait.errors import CorruptCheckpointError, UnregisteredTypeError
from plait.messages import AnyMessage, HumanMessage

T = TypeVar("T")


class Kind(Enum):
    A = "a"


class Leaf(BaseModel):
    kind: Kind


class Node(BaseModel):
    leaves: list[Leaf]
    next: Node | None = None


@dataclass
class Part:
    nodes: dict[str, tuple[Node, ...]]


@dataclass
class SpecialPart(Part):
    note: str = ""


class Row(NamedTuple):
    part: Part


class Plain:
    pass


class Page(BaseModel):
    url: HttpUrl
    base: PostgresDsn | None = None
    key: SecretStr | None = None
    number: Secret[int] | None = None
    size: ByteSize = ByteSize(0)


class OwnUrl(AnyUrl):
    """A URL class of the program's."""


class LocalHuman(HumanMessage):
    pass


@dataclass
class Box(Generic[T]):
    item: T


class Nested(TypedDict, total=False):
    row: NotRequired[Row]


class State(Nested):
    log: Annotated[list[str], operator.add]
    plain: Plain


Rows = NewType("Rows", Row)


def found(tp: Any, **names: Any) -> set[type]:
    registry = Registry(None)
    registry.register_schema(tp, names)
    everything = (Kind, Leaf, Node, Part, SpecialPart, Row, Plain, Box, LocalHuman)
    return {cls for cls in everything if registry.by_type(cls) is not None}


TREE = {Kind, Leaf, Node, Part, SpecialPart}


@pytest.mark.parametrize(
    ("tp", "expected"),
    [
        (State, {*TREE, Row}),
        (Part, TREE),
        (Leaf, {Leaf, Kind}),
        (Annotated[list[Leaf], operator.add], {Leaf, Kind}),
        (Optional[Row], {*TREE, Row}),  # noqa: UP045
        (Leaf | None, {Leaf, Kind}),
        (Mapping[str, Sequence[deque[Kind]]], {Kind}),
        (Box[Leaf], {Box, Leaf, Kind}),
        (Literal[Kind.A], {Kind}),
        (Rows, {*TREE, Row}),
        (type[Leaf], {Leaf, Kind}),
        (list[AnyMessage], {LocalHuman}),
        (int | str, set()),
        (Plain, set()),
        (Any, set()),
    ],
)
def test_types_are_found_through_annotations(tp: Any, expected: set[type]) -> None:
    assert found(tp) == expected


def test_types_are_found_through_signatures_of_functions() -> None:
    def tool(a: Leaf, b: list[Row]) -> Box[int] | None: ...

    assert found(tool) == {*TREE, Row, Box}


def test_forward_references_resolve_with_names_given_and_else_are_passed_over() -> None:
    @dataclass
    class Inner:
        x: int

    class Local(TypedDict):
        inner: list[Inner]
        leaf: Leaf
        missing: Nowhere  # noqa: F821 # pyright: ignore

    registry = Registry(None)
    registry.register_schema(Local, {"Inner": Inner})
    assert registry.by_type(Inner) is not None
    assert registry.by_type(Leaf) is not None
    assert found(Local) == {Leaf, Kind}


def test_what_a_schema_names_can_be_stored_and_read_back() -> None:
    registry = Registry(None)
    registry.register_schema(State)
    codec = Codec(registry)
    state = {"row": Row(SpecialPart({"a": (Node(leaves=[Leaf(kind=Kind.A)]),)}, note="n"))}
    back = codec.loads(codec.dumps(state))
    assert back == state
    assert type(back["row"].part) is SpecialPart


def test_generic_models_are_found_with_their_arguments() -> None:
    class Page(BaseModel, Generic[T]):
        items: list[T]

    registry = Registry(None)
    registry.register_schema(Page[Leaf])
    value = Page[Leaf](items=[Leaf(kind=Kind.A)])
    codec = Codec(registry)
    assert codec.loads(codec.dumps(value)) == value


def round_trip(schema: Any, value: Any) -> Any:
    registry = Registry()
    registry.register_schema(schema)
    codec = Codec(registry)
    return codec.loads(codec.dumps(value))


# --- Types of pydantic's own ----------------------------------------------------------------------


def test_urls_secrets_and_sizes_of_models_are_stored_where_schemas_name_them() -> None:
    page = Page(
        url="http://a/b?c=d#e",  # type: ignore[arg-type]
        base="postgres://u:p@h1,h2/d",  # type: ignore[arg-type]
        key="k",  # type: ignore[arg-type]
        number=3,  # type: ignore[arg-type]
        size="3MB",  # type: ignore[arg-type]
    )
    with pytest.raises(UnregisteredTypeError):
        Codec(Registry()).dumps(page)
    back = round_trip(Page, page)
    assert (back, type(back.url), type(back.base)) == (page, HttpUrl, PostgresDsn)
    assert (back.key.get_secret_value(), back.url.host, back.size) == ("k", "a", 3_000_000)
    assert round_trip(SecretStr, page.key) == page.key
    assert round_trip(Annotated[HttpUrl, "home"], page.url) == page.url


def test_a_url_that_pydantic_keeps_without_a_slash_stays_so() -> None:
    try:
        kept = Url("http://a", preserve_empty_path=True)  # pyright: ignore[reportCallIssue]
    except TypeError:
        pytest.skip("this pydantic cannot")
    url = HttpUrl("http://b")
    url._url = kept
    assert str(round_trip(HttpUrl, url)) == "http://a"


def test_urls_of_the_programs_own_come_back_as_such() -> None:
    registry = Registry()
    registry.register(OwnUrl)
    codec = Codec(registry)
    back = codec.loads(codec.dumps([OwnUrl("x://y")]))[0]
    assert (back, type(back)) == (OwnUrl("x://y"), OwnUrl)


def test_text_that_is_no_url_is_damage() -> None:
    forger = Registry()
    forger.register(
        HttpUrl, name="pydantic.networks:HttpUrl", encode=lambda url: "no url", decode=str
    )
    registry = Registry()
    registry.register_schema(HttpUrl)
    with pytest.raises(CorruptCheckpointError):
        Codec(registry).loads(Codec(forger).dumps(HttpUrl("http://a")))


# --- attrs, and enums of more than plain values ---------------------------------------------------


@attrs.define
class Parcel:
    weight: float
    labels: list[str] = attrs.field(factory=list)


@attrs.frozen
class Van:
    parcels: tuple[Parcel, ...]
    at: Kind = Kind.A


class Stop(Enum):
    HOME = Leaf(kind=Kind.A)
    SHOP = (1, 2)


def test_classes_of_attrs_are_stored_where_schemas_name_them() -> None:
    van = Van((Parcel(1.5, ["big"]),))
    with pytest.raises(UnregisteredTypeError, match="Name the type in the graph's state schema"):
        Codec(Registry()).dumps(van)
    assert round_trip(Van | None, van) == van


def test_fields_that_an_attrs_class_got_since_have_their_defaults() -> None:
    older = Registry()
    older.register(attrs.make_class("Parcel", ["weight"]), name=f"{__name__}:Parcel")
    older_class: Any = next(iter(older._types))
    data = Codec(older).dumps(older_class(2.0))
    registry = Registry()
    registry.register(Parcel)
    assert Codec(registry).loads(data) == Parcel(2.0)


@pytest.mark.parametrize("stop", Stop)
def test_an_enum_brings_the_classes_of_its_values(stop: Stop) -> None:
    assert round_trip(Stop, stop) is stop


# --- Classes built on the language's own, and on those of others ----------------------------------


class Email(str):
    pass


class Settings(dict[str, Any]):
    pass


class Path(list[Kind]):
    pass


class Extended(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Leaf] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]


@dataclass(slots=True, frozen=True)
class Nothing:
    pass


@pytest.mark.parametrize(
    "value",
    [
        *(Email("a@b"), Settings(a=1), Path([Kind.A]), Nothing()),
        Extended.model_validate({"x": Leaf(kind=Kind.A)}),
    ],
)
def test_what_is_built_on_text_or_containers_or_holds_nothing_is_stored(value: Any) -> None:
    back = round_trip(type(value), value)
    assert (type(back), back) == (type(value), value)


class Readings(array):  # pyright: ignore[reportMissingTypeArgument]
    pass


@pytest.mark.parametrize("cls", [array, partial, struct_time, Readings, object])
def test_what_is_made_in_c_needs_functions_that_take_it_apart(cls: type) -> None:
    with pytest.raises(TypeError, match="both encode= and decode="):
        Registry().register(cls)


def test_the_refusal_of_what_is_made_in_c_shows_that_both_functions_are_needed() -> None:
    lines = {
        memoryview(b""): r"register\(builtins.memoryview, encode=..., decode=",
        NotImplemented: r"register\(type\(value\), encode=..., decode=...\), with such a value",
    }
    for value, line in lines.items():
        with pytest.raises(UnregisteredTypeError, match=line):
            Codec(Registry()).dumps(value)


# --- Generic classes ------------------------------------------------------------------------------


class Things(list[T]):
    pass


def test_what_an_object_notes_of_its_type_argument_is_not_stored() -> None:
    back = round_trip(Box[int], Box[int](1))
    assert (back, vars(back)) == (Box(1), {"item": 1})
    registry = Registry()
    registry.register(Things)
    codec = Codec(registry)
    things = codec.loads(codec.dumps(Things[int]([1])))
    assert (things, type(things), vars(things)) == ([1], Things, {})
