"""What a graph reads of schemas and functions when it is built: each once, and the same as ever."""

import operator
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from unittest.mock import patch

import pytest
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from plait.graph import END, START, StateGraph
from plait.graph import schema as schemas
from plait.graph.routes import reached_nodes
from plait.managed import IsLastStep
from plait.pregel import binding


class State(TypedDict):
    number: int
    log: Annotated[list[str], operator.add]
    last: IsLastStep


class Part(TypedDict, total=False):
    number: int


def made_of(nodes: int) -> StateGraph[Any]:
    def step(state: State) -> Part:
        return {"number": state["number"] + 1}

    builder: StateGraph[Any] = StateGraph(State)
    for place in range(nodes):
        builder.add_node(f"n{place}", step)
        builder.add_edge(f"n{place - 1}" if place else START, f"n{place}")
    return builder


def calls_of(place: Any, name: str, work: Callable[[], object]) -> int:
    with patch.object(place, name, wraps=getattr(place, name)) as called:
        work()
    return called.call_count


@pytest.mark.parametrize("nodes", [1, 20])
def test_each_schema_is_read_once_for_a_graph_however_many_nodes_name_it(nodes: int) -> None:
    assert calls_of(schemas, "resolved_annotations", lambda: made_of(nodes).compile()) == 2
    builder = made_of(nodes)
    assert calls_of(schemas, "resolved_annotations", builder.compile) == 0


def test_the_signature_of_a_node_is_read_once() -> None:
    assert calls_of(binding, "parameters", lambda: made_of(20).compile()) == 20


def test_a_builtin_reducer_is_read_once_and_a_function_each_time() -> None:
    def add(left: list[int], right: list[int]) -> list[int]:
        return left + right

    keys: dict[str, Any] = {f"k{n}": Annotated[list[int], operator.concat] for n in range(30)}
    keys |= {f"f{n}": Annotated[list[int], add] for n in range(5)}
    schemas._of_builtin.cache_clear()
    assert calls_of(schemas.inspect, "signature", lambda: StateGraph(TypedDict("Wide", keys))) <= 6  # pyright: ignore


def test_a_schema_that_is_new_in_the_next_graph_is_seen() -> None:
    def built() -> Any:
        return StateGraph(State).add_node("a", lambda state: {}).add_edge(START, "a").compile()

    assert "extra" not in built().get_input_jsonschema()["properties"]
    with patch.dict(State.__annotations__, {"extra": int}):
        assert "extra" in built().builder.channels
    assert "extra" not in built().builder.channels


def test_the_nodes_that_are_told_keep_their_writes_and_managed_keys() -> None:
    builder = made_of(3)
    assert builder.nodes["n2"].writes == {"number"}
    plan = builder.compile().plan
    assert [key for key, _ in plan.nodes["n2"].managed] == ["last"]
    assert plan.nodes["n2"].reads.keys == ("number", "log")  # pyright: ignore


def reached_by_trying(builder: StateGraph[Any]) -> set[str]:
    """All nodes that can be reached, found by looking again until nothing is new."""
    reached = {START}
    while True:
        new = {end for start, end in builder.edges if start in reached}
        new |= {end for starts, end in builder.waiting_edges if set(starts) <= reached}
        for name in reached:
            for branch in builder.branches.get(name, {}).values():
                new |= set((branch.ends or {}).values())
        if new <= reached:
            return reached
        reached |= new


def test_what_is_reached_is_what_looking_again_and_again_finds() -> None:
    draw = random.Random(7)
    for _ in range(200):
        builder: StateGraph[Any] = StateGraph(State)
        names = [f"n{place}" for place in range(draw.randint(1, 9))]
        for name in names:
            builder.add_node(name, lambda state: {})
        builder.add_edge(START, draw.choice(names))
        for _ in range(draw.randint(0, 8)):
            builder.add_edge(draw.choice(names), draw.choice([*names, END]))
        for _ in range(draw.randint(0, 3)):
            starts = [draw.choice(names) for _ in range(draw.randint(1, 4))]
            builder.add_edge(starts, draw.choice(names))
        if draw.random() < 0.5:
            ends = draw.sample(names, draw.randint(1, len(names)))
            builder.add_conditional_edges(draw.choice(names), lambda state: END, ends)
        assert reached_nodes(builder) == reached_by_trying(builder)


def test_a_join_is_told_of_by_each_that_leads_to_it() -> None:
    builder = made_of(2)
    builder.add_node("c", lambda state: {})
    builder.add_edge(["n0", "n1"], "c")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nodes = builder.compile().plan.nodes
    assert [len(nodes[name].triggers) for name in ("n1", "c")] == [1, 2]


class Settled(BaseModel):
    model_config = ConfigDict(extra="ignore")
    kinds: ClassVar[list[str]] = []
    number: int = 0


@dataclass
class Plain:
    kinds: ClassVar[list[str]] = []
    number: int = 0


@pytest.mark.parametrize("schema", [Settled, Plain])
def test_what_belongs_to_the_class_is_no_key_of_the_state(schema: Any) -> None:
    graph = StateGraph(schema).add_node("a", lambda state: {}).add_edge(START, "a").compile()
    assert sorted(graph.channels) == ["__start__", "number"]


class Note(TypedDict):
    note: str


def seen_by_a_path(schema: Any, hint: Any) -> list[Any]:
    """What a path function is handed after a node that also wrote a key of another schema."""
    seen: list[Any] = []

    def path(state: Any) -> str:
        seen.append(state)
        return "b"

    path.__annotations__ = {"state": hint} if hint is not None else {}
    builder = StateGraph(schema).add_node("a", lambda state: {"number": 1, "note": "x"})
    builder.add_node("b", lambda state: {}, input_schema=Note).add_edge(START, "a")
    builder.add_conditional_edges("a", path, ["b"]).compile().invoke({"number": 0})
    return seen


def test_a_path_function_sees_what_its_node_wrote_as_the_schema_that_it_names() -> None:
    assert seen_by_a_path(Settled, None) == [Settled(number=1)]
    assert seen_by_a_path(Part, Part) == [{"number": 1}]
    assert seen_by_a_path(Part, None) == [{"number": 1, "note": "x"}]
