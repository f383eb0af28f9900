"""A super-step whose tasks all finished, but which was never committed, is not the end."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

from plait.checkpoint.base.port import TaskWrites
from plait.graph import START, StateGraph

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    items: Annotated[list[str], add]


def test_thread_between_its_tasks_and_their_commit_shows_what_runs_next(saver: Any) -> None:
    ran: list[str] = []

    def node(name: str) -> Any:
        def run(state: State) -> dict[str, list[str]]:
            ran.append(name)
            return {"items": [name]}

        return run

    builder = StateGraph(State)
    for name in ("a", "b", "c"):
        builder.add_node(name, node(name))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("a", "c").add_edge("b", "c")
    graph = builder.compile(checkpointer=saver, interrupt_before=["a"])
    graph.invoke({"items": []}, CONFIG)
    stopped = graph.get_state(CONFIG)
    session = saver.open_session("t")
    at = stopped.config["configurable"]["checkpoint_id"]
    done = [
        TaskWrites(at, task.id, task.name, [("items", [task.name]), ("branch:to:c", None)])
        for task in stopped.tasks
    ]
    saver.run(session.save_writes(done, claim=True, release=True))

    state = graph.get_state(CONFIG)
    assert (state.next, state.values) == (("c",), {"items": ["a", "b"]})
    assert graph.invoke(None, CONFIG) == {"items": ["a", "b", "c"]}
    assert ran == ["c"], "acknowledged tasks ran again"
