"""Renames and migrations do not ask more of a saver than LangGraph's port: here, its own saver."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver as PeersSaver

from plait import START, Command, RenamedFrom, StateGraph, interrupt

from .conftest import Caller

pytestmark = pytest.mark.filterwarnings("ignore::plait.errors.WeakDurabilityWarning")


class Old(TypedDict, total=False):
    log: Annotated[list[str], add]
    total: str


class New(TypedDict, total=False):
    events: Annotated[list[str], add, RenamedFrom("log")]
    total: int


def test_a_thread_in_a_third_partys_saver_goes_on_renamed_and_migrated(caller: Caller) -> None:
    saver, ran = PeersSaver(), list[str]()

    def graph(schema: Any, names: tuple[str, str], key: str, **more: Any) -> Any:
        def write(state: Any) -> Any:
            ran.append("write")
            return {"total": "5", key: ["written"]}

        builder = StateGraph(schema, **more)
        former = ("ask", "write") if more else ((), ())
        builder.add_node(names[0], lambda state: {key: [interrupt("?")]}, renamed_from=former[0])
        builder.add_node(names[1], write, renamed_from=former[1])
        builder.add_edge(START, names[0]).add_edge(START, names[1])
        return builder.compile(checkpointer=saver)

    old = graph(Old, ("ask", "write"), "log")
    asked = caller.invoke(old, {"log": ["in"], "total": "1"})["__interrupt__"]

    def to_number(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "total": int(values["total"])}

    new = graph(New, ("question", "tell"), "events", version=2, migrations={1: to_number})
    result = caller.invoke(new, Command(resume={asked[0].id: "yes"}))
    assert result == {"events": ["in", "yes", "written"], "total": 5}
    assert ran == ["write"]
    assert caller.state(new).values == result
