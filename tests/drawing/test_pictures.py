"""SVG and PNG: drawn on this machine, well formed, and true to the graph."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.drawing import Graph, NodeStyles
from plait.errors import MissingExtraError
from plait.graph import END, START, StateGraph

from .graphs import DESK, agent, builder, chain, paper, service_desk

SVG = "{http://www.w3.org/2000/svg}"
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"

HOSTILE = [
    "<script>alert(1)</script>",
    "</text></svg>",
    "<b>bold</b>",
    "&amp; &lt; &",
    "]]>",
    "\"quotes\" and 'more'",
    r"back\slash \n \N \G \l",
    "ünïcödé 日本語 🙂",
    "a\nb\tc",
    "nul\x00esc\x1b",
    "{record|port}",
    "%s %d",
    " ",
]


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a picture must not open a socket")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def titles(svg: str) -> set[str]:
    return {title.text or "" for title in ElementTree.fromstring(svg).iter(f"{SVG}title")}


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(PNG_MAGIC)
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def by_hand(*names: str, label: str | None = None) -> Graph:
    graph = Graph()
    nodes = [graph.add_node(None, name) for name in names]
    for one, other in pairwise(nodes):
        graph.add_edge(one, other, label)
    return graph


@pytest.mark.usefixtures("no_sockets")
def test_every_kind_of_picture_is_drawn_with_sockets_blocked(tmp_path: Path) -> None:
    graph = paper().compile().get_graph(xray=True)
    assert "<svg" in graph.draw_svg()
    assert graph.draw_mermaid_png().startswith(PNG_MAGIC)
    assert graph.draw_png(str(tmp_path / "graph.png")) is None
    assert (tmp_path / "graph.png").read_bytes().startswith(PNG_MAGIC)
    assert "publish" in graph.draw_ascii()
    assert "publish" in graph.draw_mermaid()


def test_svg_shows_every_node_and_label() -> None:
    svg = service_desk().compile().get_graph().draw_svg()
    assert titles(svg) >= {*DESK, "__start__", "__end__", "classify → billing"}
    assert set(DESK) <= set(texts(svg))
    assert {"refund asked", "stuck", "good"} <= {text.strip() for text in texts(svg)}


def test_conditional_edges_are_dashed_and_others_are_not() -> None:
    root = ElementTree.fromstring(agent().get_graph().draw_svg())
    dashed: dict[str, bool] = {}
    for group in root.iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title")
        if (group.get("class") or "").startswith("edge") and title:
            path = next(group.iter(f"{SVG}path"))
            dashed[title] = path.get("stroke-dasharray") is not None
    assert dashed == {
        "__start__ → agent": False,
        "agent → __end__": True,
        "agent → tools": True,
        "tools → agent": False,
    }


def test_subgraphs_are_boxes() -> None:
    svg = paper().compile().get_graph(xray=True).draw_svg()
    boxes = {
        group.findtext(f"{SVG}title"): (group.findtext(f".//{SVG}text") or "").strip()
        for group in ElementTree.fromstring(svg).iter(f"{SVG}g")
        if group.get("class") == "cluster"
    }
    assert boxes == {"research": "research", "write": "write"}


def test_boxes_nest_as_the_graphs_do() -> None:
    graph = by_hand("a:in:x", "a:in:y", "b:in:x")
    assert titles(graph.draw_svg()) >= {"a", "a:in", "b", "b:in", "a:in:x", "b:in:x"}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_and_nothing_else(name: str) -> None:
    graph = by_hand("first", name, "last", label=name)
    box = Graph()
    box.extend(by_hand("inside", "it"), prefix=name.replace(":", ""))
    for one in (graph, box):
        svg = one.draw_svg()
        tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
        assert tags <= {"svg", "g", "title", "path", "polygon", "text", "ellipse", "polyline"}
        assert one.draw_mermaid_png().startswith(PNG_MAGIC)
        assert one.draw_mermaid()
        assert one.draw_ascii()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a & b", "日本語"])
def test_a_hostile_name_is_shown_as_it_is(name: str) -> None:
    assert name in "".join(texts(by_hand("first", name).draw_svg()))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=40), min_size=2, max_size=4, unique=True))
def test_any_names_make_a_well_formed_picture(names: list[str]) -> None:
    graph = by_hand(*names, label=names[-1])
    assert ElementTree.fromstring(graph.draw_svg()).tag == f"{SVG}svg"
    assert graph.draw_ascii()
    assert "<script" not in graph.draw_mermaid()


def test_a_very_long_name_is_broken_into_lines_and_told_in_full_as_title() -> None:
    name = "a_name_that_" + "goes_on_and_" * 40 + "ends"
    svg = by_hand("first", name).draw_svg()
    assert name in titles(svg)
    assert max(map(len, texts(svg))) <= 30
    assert any(text.endswith("…") for text in texts(svg))


def test_what_is_known_of_a_node_is_shown_below_its_name() -> None:
    graph = Graph()
    known = {"__interrupt": "before", "__tools": ["find", "send"], "defer": True, "owner": "me"}
    graph.add_node(None, "review", metadata=known)
    shown = ["review", "pauses: before", "tools: find, send", "deferred", "owner: me"]
    assert texts(graph.draw_svg()) == shown


def test_a_long_name_is_broken_between_its_words() -> None:
    graph = by_hand("ModelCallLimitMiddleware.before_model", "HumanInTheLoopMiddleware.after_model")
    assert texts(graph.draw_svg()) == [
        *("ModelCallLimitMiddleware.", "before_model"),
        *("HumanInTheLoopMiddleware.", "after_model"),
    ]


def test_a_picture_of_thirty_nodes_is_higher_than_a_screen_and_not_wider_than_two() -> None:
    width, height = size_of(service_desk().compile().get_graph().draw_mermaid_png())
    assert width < 2 * 1920
    assert 1000 < height < 4 * 1080


def test_many_nodes_beside_each_other_are_drawn_one_below_the_other() -> None:
    workers = [f"worker_{n}" for n in range(28)]
    fan = builder(["split", *workers, "join"], [(START, "split"), (workers, "join")])
    for worker in workers:
        fan.add_edge("split", worker)
    graph = fan.compile().get_graph()
    width, height = size_of(graph.draw_mermaid_png())
    assert width < 1920
    assert height < 4 * 1080
    assert titles(graph.draw_svg()) >= {f"split → {worker}" for worker in workers}


def test_edges_of_loops_lead_back_up() -> None:
    from plait.drawing.layers import backward

    graph = service_desk().compile().get_graph()
    back = {(graph.edges[at].source, graph.edges[at].target) for at in backward(graph)}
    checks = ("check_tone", "check_facts", "check_policy")
    assert back == {("diagnose", "reproduce"), *(("rewrite", check) for check in checks)}


def test_options_of_pictures_are_followed() -> None:
    graph = chain("one", "two").get_graph()
    styles = NodeStyles(default="fill:#123456", first="fill:#abc", last="fill:red")
    svg = graph.draw_svg(node_colors=styles, background_color="transparent")
    assert "#123456" in svg
    assert "#aabbcc" in svg
    assert 'fill="red"' in svg
    narrow, wide = graph.draw_mermaid_png(padding=1), graph.draw_mermaid_png(padding=100)
    assert size_of(wide) > size_of(narrow)
    labels: Any = {"nodes": {"one": "Eins"}, "edges": {}}
    assert graph.draw_png(labels=labels) != graph.draw_png()


def test_a_png_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "graph.png"
    assert chain("one").get_graph().draw_mermaid_png(output_file_path=file) == file.read_bytes()


def test_the_same_graph_is_the_same_picture_in_every_process() -> None:
    code = (
        "from tests.drawing.graphs import *\n"
        "graph = paper().compile().get_graph(xray=True)\n"
        "import hashlib; text = graph.draw_svg() + graph.draw_ascii() + graph.draw_mermaid()\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_pictures_can_be_drawn_in_several_threads() -> None:
    graph = paper().compile().get_graph(xray=True)
    expected = graph.draw_svg()
    drawn: list[str] = []
    threads = [threading.Thread(target=lambda: drawn.append(graph.draw_svg())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == [expected] * 8


DRAWINGS: list[tuple[str, Callable[[Graph], object]]] = [
    ("pygraphviz", lambda graph: graph.draw_svg()),
    ("pygraphviz", lambda graph: graph.draw_png()),
    ("grandalf", lambda graph: graph.draw_ascii()),
]


@pytest.mark.parametrize(("package", "draw"), DRAWINGS)
def test_a_missing_library_is_named_with_what_to_install(
    package: str, draw: Callable[[Graph], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*plait\[draw\]"):
        draw(chain("one").get_graph())


def test_a_library_that_does_not_load_is_named_with_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacks = "libgobject-2.0.so.0: cannot open shared object file"
    (tmp_path / "pygraphviz.py").write_text(f"raise ImportError({lacks!r})")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pygraphviz", raising=False)
    with pytest.raises(MissingExtraError, match=r"does not load: libgobject.*apt-get install"):
        chain("one").get_graph().draw_svg()


def test_a_graph_is_built_and_run_without_loading_any_of_it() -> None:
    code = (
        "import sys, plait.graph\n"
        "from plait.graph import START, StateGraph\n"
        "app = StateGraph(dict).add_node('a', lambda s: s).add_edge(START, 'a').compile()\n"
        "app.invoke({'x': 1})\n"
        "print([n for n in sys.modules if n.split('.')[0] in ('pygraphviz', 'grandalf')\n"
        "       or n.startswith(('plait.drawing', 'plait.pregel.pictures', 'xml'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_xray_opens_all_graphs_and_a_number_so_many_levels() -> None:
    graph = chain("a")
    for name in ("b", "c"):
        graph = StateGraph(dict).add_node(name, graph).add_edge(START, name).compile()

    def nodes(xray: int | bool) -> set[str]:
        return set(graph.get_graph(xray=xray).nodes) - {START, END}

    assert [nodes(0), nodes(1), nodes(2)] == [{"c"}, {"c:b"}, {"c:b:a"}]
    assert (nodes(False), nodes(True)) == (nodes(0), nodes(2))
