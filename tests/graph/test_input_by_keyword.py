"""The input of a call, by its names (reference document 004 has `input_state`)."""

import asyncio
from typing import Any, TypedDict

import pytest

from plait.errors import ConfigError
from plait.graph import START, StateGraph


class State(TypedDict):
    n: int


def graph() -> Any:
    builder = StateGraph(State).add_node("more", lambda state: {"n": state["n"] + 1})
    return builder.add_edge(START, "more").compile()


@pytest.mark.parametrize("name", ["input", "input_state"])
def test_the_input_may_be_given_by_keyword(name: str) -> None:
    given: Any = {name: {"n": 1}}
    assert graph().invoke(**given) == {"n": 2}
    assert [*graph().stream(**given, stream_mode="values")] == [{"n": 1}, {"n": 2}]
    assert asyncio.run(graph().ainvoke(**given)) == {"n": 2}


def test_an_input_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="given twice"):
        graph().invoke({"n": 1}, input_state={"n": 2})
