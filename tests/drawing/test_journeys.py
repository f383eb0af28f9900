"""A run in the picture: where it went, where it stands, where it failed."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.drawing import Graph
from plait.drawing.marks import Marks
from plait.errors import ConfigError, UnknownNodeError
from plait.graph import END, START, StateGraph
from plait.types import Command

from .graphs import State, ask, chain, node, service_desk, waiting

SVG = "{http://www.w3.org/2000/svg}"
THREAD: Any = {"configurable": {"thread_id": "1"}}


def marks(graph: Graph) -> Marks:
    assert graph.marks is not None
    return graph.marks


def test_path_and_position_are_marked_with_the_edges_between_them() -> None:
    graph = service_desk().compile().get_graph()
    searches = ["search_docs", "search_tickets", "search_code"]
    way = marks(
        graph.mark(
            ["receive", "classify", "technical", "reproduce", searches, "rank"], current="diagnose"
        )
    )
    assert way.visited == {"__start__", "receive", "classify", "technical", "reproduce", "rank"} | {
        *searches
    }
    assert way.current == {"diagnose"}
    assert ("classify", "technical") in way.walked
    assert ("classify", "billing") not in way.walked
    assert {("reproduce", name) for name in searches} <= way.walked
    assert {(name, "rank") for name in searches} <= way.walked
    assert ("rank", "diagnose") in way.walked


def test_marks_show_in_every_kind_of_picture() -> None:
    drawn = chain("one", "two", "three").get_graph()
    graph = drawn.mark(["one"], current=["two"], failed=["three"])
    classes = {
        group.findtext(f"{SVG}title"): group.get("class")
        for group in ElementTree.fromstring(graph.draw_svg()).iter(f"{SVG}g")
    }
    assert classes["one"] == "node visited"
    assert classes["two"] == "node current"
    assert classes["three"] == "node failed"
    assert classes["one → two"] == "edge current"
    assert classes["__start__ → one"] == "edge visited"
    text = graph.draw_mermaid()
    assert "\tclass __start__,one visited\n" in text
    assert "\tclass two current\n" in text
    assert "\tclass three failed\n" in text
    assert "\tlinkStyle 0,1" in text
    ascii_art = graph.draw_ascii()
    assert "| one * |" in ascii_art
    assert "| > two < |" in ascii_art
    assert "| ! three ! |" in ascii_art
    assert graph.draw_png() != drawn.draw_png()
    assert drawn.marks is None


def test_a_node_that_cannot_be_marked_is_named_with_the_nearest() -> None:
    graph = chain("approve").get_graph()
    with pytest.raises(UnknownNodeError, match=r"'aprove'.*Did you mean 'approve'"):
        graph.mark(["aprove"])


def test_a_box_stands_for_what_is_in_it_and_the_other_way_round() -> None:
    app = waiting().compile()
    opened, closed = app.get_graph(xray=True), app.get_graph()
    assert marks(opened.mark(["plan", "done"], current="inner")).current == {"inner"}
    way = marks(closed.mark(["plan", "done:p"], current="inner:ask"))
    assert way.visited == {"__start__", "plan", "done"}
    assert way.current == {"inner"}
    assert ("done", "inner") in way.walked


def test_a_waiting_thread_shows_where_it_went_and_where_it_waits() -> None:
    app = waiting().compile(checkpointer=InMemorySaver())
    app.invoke({"log": []}, THREAD)
    way = marks(app.get_thread_graph(THREAD))
    assert way.visited == {"__start__", "plan", "done", "side"}
    assert way.current == {"inner"}
    assert ("done", "inner") in way.walked
    assert ("side", "write") not in way.walked


def test_a_waiting_thread_shows_its_way_inside_subgraphs_with_xray() -> None:
    app = waiting().compile(checkpointer=InMemorySaver())
    app.invoke({"log": []}, THREAD)
    way = marks(app.get_thread_graph(THREAD, xray=True))
    assert {"inner:x", "done:p", "done:q"} <= way.visited
    assert "inner:ask" in way.current
    assert "inner:z" not in way.visited | way.current
    assert {("inner:x", "inner:ask"), ("done:p", "done:q")} <= way.walked


def test_a_finished_thread_ends_at_the_end() -> None:
    app = waiting().compile(checkpointer=InMemorySaver())
    app.invoke({"log": []}, THREAD)
    app.invoke(Command(resume="yes"), THREAD)
    way = marks(app.get_thread_graph(THREAD))
    assert way.visited == {"__start__", "plan", "done", "side", "inner", "write", END}
    assert way.current == frozenset()
    assert ("write", END) in way.walked


def test_only_the_last_run_of_a_thread_is_shown() -> None:
    def route(state: State) -> str:
        return "left" if len(state["log"]) < 2 else "right"

    graph = StateGraph(State).add_node("left", node).add_node("right", node)
    graph.add_conditional_edges(START, route, ["left", "right"])
    app = graph.compile(checkpointer=InMemorySaver())
    app.invoke({"log": ["a"]}, THREAD)
    assert marks(app.get_thread_graph(THREAD)).visited == {"__start__", "left", END}
    app.invoke({"log": ["b"]}, THREAD)
    assert marks(app.get_thread_graph(THREAD)).visited == {"__start__", "right", END}


def test_an_earlier_checkpoint_shows_the_way_up_to_it() -> None:
    app = chain("one", "two", "three").builder.compile(checkpointer=InMemorySaver())
    app.invoke({"log": []}, THREAD)
    before = next(s for s in app.get_state_history(THREAD) if s.next == ("two",))
    way = marks(app.get_thread_graph(before.config))
    assert (way.visited, way.current) == ({"__start__", "one"}, {"two"})


def test_a_failed_node_is_marked_as_failed() -> None:
    def fail(state: State) -> None:
        raise ValueError("no")

    graph = StateGraph(State).add_node("good", node).add_node("bad", fail)
    app = graph.add_edge(START, "good").add_edge("good", "bad").compile(InMemorySaver())
    with pytest.raises(ValueError, match="no"):
        app.invoke({"log": []}, THREAD)
    way = marks(app.get_thread_graph(THREAD))
    assert (way.visited, way.current, way.failed) == ({"__start__", "good"}, set(), {"bad"})


def test_an_error_handler_that_asks_is_where_the_thread_waits() -> None:
    def fail(state: State) -> None:
        raise ValueError("no")

    graph = StateGraph(State).add_node("bad", fail, error_handler=ask).add_edge(START, "bad")
    app = graph.compile(checkpointer=InMemorySaver())
    app.invoke({"log": []}, THREAD)
    way = marks(app.get_thread_graph(THREAD))
    assert (way.current, way.failed) == ({"__error_handler__bad"}, {"bad"})
    app.invoke(Command(resume="yes"), THREAD)
    assert "__error_handler__bad" in marks(app.get_thread_graph(THREAD)).visited


def test_a_thread_that_never_ran_marks_nothing() -> None:
    app = waiting().compile(checkpointer=InMemorySaver())
    assert marks(app.get_thread_graph(THREAD)) == Marks()


def test_a_graph_that_keeps_no_threads_says_so() -> None:
    with pytest.raises(ConfigError, match="keeps no threads"):
        waiting().compile().get_thread_graph(THREAD)


async def test_async_code_sees_the_same_way() -> None:
    app = waiting().compile(checkpointer=InMemorySaver())
    await app.ainvoke({"log": []}, THREAD)
    for xray in (False, True):
        found = await app.aget_thread_graph(THREAD, xray=xray)
        assert found.marks == app.get_thread_graph(THREAD, xray=xray).marks
        assert "inner" in marks(found).current
