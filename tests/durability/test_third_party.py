"""LangGraph's own savers under plait's graphs: they work, and a warning says what is weaker."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from plait.errors import UnknownInterruptError, WeakDurabilityWarning
from plait.types import Command, interrupt

from .graphs import CONFIG, adder, async_adder, chain, fan
from .workflow import CONFIG as KILL
from .workflow import EXPECTED, Journal, build, finish


@pytest.fixture(params=["memory", "sqlite"])
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """LangGraph's savers, sync."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    conn = sqlite3.connect(tmp_path / "peer.db", check_same_thread=False)
    yield SqliteSaver(conn)
    conn.close()


@contextmanager
def warned() -> Iterator[None]:
    """Exactly one WeakDurabilityWarning inside."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    weak = [each for each in caught if issubclass(each.category, WeakDurabilityWarning)]
    assert len(weak) == 1


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_interrupt_and_resume(foreign: Any, durability: str) -> None:
    runs: list[str] = []

    def other(state: Any) -> dict[str, Any]:
        runs.append("other")
        return {"items": ["other"]}

    with warned():
        graph = fan(foreign, ("ask", lambda _: {"items": [interrupt("?")]}), ("other", other))
        asked = graph.invoke({"items": []}, CONFIG, durability=durability)
        assert asked["__interrupt__"][0].value == "?"
        state = graph.get_state(CONFIG)
        assert state.next == ("ask",)
        assert [question.value for question in state.interrupts] == ["?"]
        resumed = graph.invoke(Command(resume="yes"), CONFIG, durability=durability)
        assert resumed == {"items": ["yes", "other", "last"]}
        assert runs == ["other"], "an acknowledged task does not run again"
        with pytest.raises(UnknownInterruptError):
            graph.invoke(Command(resume="again"), CONFIG)


async def test_interrupt_and_resume_async(tmp_path: Path) -> None:
    async def ask(state: Any) -> dict[str, Any]:
        return {"items": [interrupt("?")]}

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "peer.db")) as saver:
        with warned():
            graph = fan(saver, ("ask", ask), ("other", async_adder("other")))
            assert (await graph.ainvoke({"items": []}, CONFIG))["__interrupt__"]
            resumed = await graph.ainvoke(Command(resume="yes"), CONFIG)
            assert resumed == {"items": ["yes", "other", "last"]}


@pytest.mark.filterwarnings("ignore::plait.errors.WeakDurabilityWarning")
def test_failed_run_goes_on_at_the_step_that_failed(foreign: Any) -> None:
    strikes = [1]

    def bad(state: Any) -> dict[str, Any]:
        if strikes:
            strikes.pop()
            raise ValueError("once")
        return {"items": ["bad"]}

    graph = chain(foreign, ("a", adder("a")), ("b", bad), ("c", adder("c")))
    with pytest.raises(ValueError, match="once"):
        graph.invoke({"items": []}, CONFIG)
    assert graph.get_state(CONFIG).next == ("b",)
    assert graph.invoke(None, CONFIG) == {"items": ["a", "bad", "c"]}
    history = [s.metadata["step"] for s in graph.get_state_history(CONFIG)]
    assert history == [3, 2, 1, 0, -1]


@pytest.mark.filterwarnings("ignore::plait.errors.WeakDurabilityWarning")
def test_update_state_and_fork(foreign: Any) -> None:
    graph = chain(foreign, *[(name, adder(name)) for name in "abc"])
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, {"items": ["by hand"]}, as_node="a")
    assert graph.invoke(None, CONFIG)["items"] == ["a", "b", "c", "by hand", "b", "c"]
    old = next(s for s in graph.get_state_history(CONFIG) if s.values.get("items") == ["a"])
    assert graph.invoke(None, old.config)["items"] == ["a", "b", "c"]
    assert graph.get_state(CONFIG).values["items"] == ["a", "b", "c"]


@pytest.mark.filterwarnings("ignore::plait.errors.WeakDurabilityWarning")
def test_pending_sends_survive_a_new_graph_object(foreign: Any, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    first = build(foreign, journal, "sync")
    first.invoke({"trail": []}, KILL, interrupt_before=["work"])
    again = build(foreign, journal, "sync")
    assert again.get_state(KILL).next == ("work",) * 6
    finish(again, "sync")
    assert again.get_state(KILL).values == EXPECTED
