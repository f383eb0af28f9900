"""The JSON schema of a plain state is made once, and is that of pydantic each time."""

import operator
import random
from typing import Annotated, Any, Literal, NotRequired
from unittest.mock import patch

from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from plait.graph import START, StateGraph
from plait.pregel import schemas


class Part(BaseModel):
    size: int = 1


def keep(old: Any, new: Any) -> Any:
    return new


TYPES: list[Any] = [
    int,
    list[dict[str, int]],
    Annotated[list[str], operator.add],
    Annotated[int, keep],
    Annotated[int, Field(ge=1)],
    Annotated[str, "said"],
    NotRequired[int],
    NotRequired[Annotated[list[int], operator.add]],
    Literal["a", 1],
    Part,
    list[Part] | None,
]


def graph_of(schema: Any) -> Any:
    return StateGraph(schema).add_node("a", lambda state: {}).add_edge(START, "a").compile()


def test_whatever_its_keys_a_state_is_described_as_pydantic_does() -> None:
    draw = random.Random(5)
    for _ in range(150):
        fields = {key: draw.choice(TYPES) for key in draw.sample("abcde", draw.randint(1, 4))}
        kind: Any = TypedDict("State", fields, total=draw.random() < 0.7)  # pyright: ignore
        if draw.random() < 0.3:
            kind.__doc__ = draw.choice(["One.", "Two."])
        assert graph_of(kind).get_input_jsonschema() == TypeAdapter(kind).json_schema()


def test_a_plain_state_is_described_once_and_nobody_shares_the_result() -> None:
    class Plain(TypedDict):
        log: Annotated[list[str], operator.add]
        told_once: int

    with patch.object(schemas, "TypeAdapter", wraps=TypeAdapter) as adapter:
        shapes = [graph_of(Plain).get_output_jsonschema() for _ in range(10)]
        shapes[0]["properties"]["log"]["items"]["type"] = "number"
        assert graph_of(Plain).get_input_jsonschema() == shapes[1] != shapes[0]
    assert adapter.call_count == 1
