"""A graph may store what its schemas name: found through any annotation, nothing beyond."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
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

import pytest
from pydantic import BaseModel

from plait.checkpoint.serde import Codec, Registry
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
