"""A process that dies while an approved tool runs: who approved it is not taken to mean twice."""

import os
import signal
from pathlib import Path
from typing import Any

from plait.checkpoint.sqlite import SqliteSaver
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import ToolNode
from plait.testing.processes import fork
from plait.tool_calling import human_in_the_loop
from plait.tools import tool
from plait.types import Command

CONFIG: Any = {"configurable": {"thread_id": "1"}}
YES = {"type": "accept"}


def graph(place: Path, saver: Any, **declared: Any) -> Any:
    """An agent's tools node; `pay` kills its process the first time."""

    @human_in_the_loop
    @tool(**declared)
    def pay(euro: int) -> str:
        """Pay."""
        first = not (place / "paid").exists()
        with (place / "paid").open("a") as file:
            file.write(f"{euro}\n")
        if first:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {euro}"

    builder: Any = StateGraph(MessagesState).add_node("tools", ToolNode([pay]))
    return builder.add_edge(START, "tools").compile(checkpointer=saver)


def approve_and_die(place: Path, **declared: Any) -> None:
    def work(tell: Any) -> None:
        with SqliteSaver.from_conn_string(str(place / "db")) as saver:
            app = graph(place, saver, **declared)
            call: Any = {"name": "pay", "args": {"euro": 5}, "id": "c1"}
            app.invoke({"messages": [AIMessage("", id="ai", tool_calls=[call])]}, CONFIG)
            app.invoke(Command(resume=YES), CONFIG)

    assert fork(work).wait() == -signal.SIGKILL


def paid(place: Path) -> list[str]:
    return (place / "paid").read_text().split()


def test_an_approved_tool_of_unknown_outcome_is_asked_about_and_not_repeated(tmp_path):
    approve_and_die(tmp_path, on_unknown="ask")
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        app = graph(tmp_path, saver, on_unknown="ask")
        (question,) = app.invoke(None, CONFIG)["__interrupt__"]
        assert paid(tmp_path) == ["5"]
        done = app.invoke(Command(resume={question.id: {"done": "paid, says the bank"}}), CONFIG)
    assert done["messages"][-1].content == "paid, says the bank"
    assert paid(tmp_path) == ["5"]


def test_an_approval_survives_the_process_that_was_given_it(tmp_path):
    """The tool says nothing of unknown outcomes: it runs again, and nobody is asked again."""
    approve_and_die(tmp_path)
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        done = graph(tmp_path, saver).invoke(None, CONFIG)
    assert done["messages"][-1].content == "paid 5"
    assert paid(tmp_path) == ["5", "5"]
