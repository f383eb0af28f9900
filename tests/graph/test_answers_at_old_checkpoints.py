"""Other answers at a checkpoint whose questions were answered: they reach what it asks."""

import operator
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, StateGraph
from plait.types import Command, interrupt


class State(TypedDict):
    answers: Annotated[list[Any], operator.add]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("by_id", [False, True])
def test_another_answer_reaches_the_last_question_and_those_before_keep_theirs(
    count: int, by_id: bool
) -> None:
    def ask(state: State) -> Any:
        return {"answers": [interrupt(f"question {number}") for number in range(count)]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"answers": []}, config)
    for number in range(count):
        graph.invoke(Command(resume=number), config)
    old = next(s for s in graph.get_state_history(config) if s.next == ("ask",))
    assert [asked.value for asked in old.interrupts] == [f"question {count - 1}"]
    kept = [*range(count - 1)]
    for other in ("x", "y"):
        answer = {old.interrupts[0].id: other} if by_id else other
        given = graph.invoke(Command(resume=answer), old.config)
        assert given == {"answers": [*kept, other]}
