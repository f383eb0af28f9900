"""SVG and PNG, laid out and drawn by Graphviz inside this process.

pygraphviz brings Graphviz along in its wheel: nothing is installed beside it, no program is
started, nothing leaves the machine. Names reach it escaped, so that they are text and never markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from plait.drawing.extra import missing
from plait.drawing.labels import box_of, facts, short_name, wrapped
from plait.drawing.layers import backward
from plait.drawing.options import LabelsDict, NodeStyles

if TYPE_CHECKING:
    from plait.drawing.graph import Graph, Node

_drawing = Lock()
"""Graphviz keeps global state: one picture at a time."""

_FONT = "Helvetica,Arial,sans-serif"
_LINE = 28
_LONGEST = 140
"""A name is broken into lines of so many characters, and cut after so many in all."""
_FACT = 60
_PIXELS_PER_INCH = 96
_SHARP = 192
"""Dots per inch of PNGs: twice what screens show, so that text stays crisp."""
_SCREEN = 1920 * 72 / _PIXELS_PER_INCH
_FLAT = 4
"""Pictures that are wider than so many points, and so many times as wide as high, lie on a side."""
_INK = {
    None: ("#8b80c9", "1", "#4a5568", "1"),
    "visited": ("#2f855a", "2", "#2f855a", "2"),
    "current": ("#d97706", "3", "#d97706", "2"),
    "failed": ("#c53030", "3", "#c53030", "2"),
}
"""Mark to the colour and width of a node's rim, and of edges."""
_FILLS = {"visited": "#d9f2e3", "current": "#fff3cd", "failed": "#fde2e1"}
_FACT_NAMES = {"__interrupt": "pauses", "__tools": "tools", "defer": "deferred"}


@dataclass
class Look:
    """What callers chose about a picture."""

    styles: NodeStyles | None = None
    words: int = 9
    background: str = "white"
    padding: int = 10
    fontname: str | None = None
    labels: LabelsDict | None = None


def svg(graph: Graph, look: Look) -> str:
    """See `Graph.draw_svg`."""
    return _readable(_drawn(graph, look, "svg"), graph)


def png(graph: Graph, look: Look) -> bytes:
    """See `Graph.draw_mermaid_png`."""
    return _drawn(graph, look, "png")


def _drawn(graph: Graph, look: Look, form: str) -> bytes:
    try:
        graphviz: Any = import_module("pygraphviz")
    except ImportError as error:
        raise missing("pygraphviz", f"Drawing a graph as {form.upper()}", error) from error
    with _drawing:
        picture: Any = graphviz.AGraph(directed=True, strict=False)
        _dress(picture, look, form)
        names = {id: f"n{at}" for at, id in enumerate(graph.nodes)}
        _add_nodes(picture, graph, look, names)
        _add_edges(picture, graph, look, names)
        _add_boxes(picture, graph, names)
        picture.layout(prog="dot")
        if _is_broad(picture):
            picture.graph_attr["rankdir"] = "LR"
            picture.layout(prog="dot")
        return picture.draw(format=form)


def _is_broad(picture: Any) -> bool:
    """Whether a picture that was laid out is wider than a screen, and flat: a wide fan-out."""
    left, low, right, high = map(float, picture.graph_attr["bb"].split(","))
    return right - left > _SCREEN and right - left > _FLAT * (high - low)


def _dress(picture: Any, look: Look, form: str) -> None:
    font = look.fontname or _FONT
    picture.graph_attr.update(
        rankdir="TB",
        nodesep="0.3",
        ranksep="0.42",
        pad=str(look.padding / _PIXELS_PER_INCH),
        bgcolor=look.background,
        fontname=font,
        fontsize="11",
        fontcolor="#4a5568",
        tooltip=" ",
    )
    if form == "png":
        picture.graph_attr["dpi"] = str(_SHARP)
    picture.node_attr.update(
        shape="box",
        style="rounded,filled",
        fontname=font,
        fontsize="12",
        fontcolor="#1a202c",
        height="0.38",
        margin="0.16,0.06",
    )
    picture.edge_attr.update(
        fontname=font, fontsize="10", fontcolor="#4a5568", arrowsize="0.7", tooltip=" "
    )


def _add_nodes(picture: Any, graph: Graph, look: Look, names: dict[str, str]) -> None:
    styles = look.styles or NodeStyles()
    first, last = graph.first_node(), graph.last_node()
    others = (look.labels or {}).get("nodes", {})
    for id, node in graph.nodes.items():
        mark = graph.marks.of(id) if graph.marks is not None else None
        is_end = (first is not None and id == first.id) or (last is not None and id == last.id)
        style = styles.default
        if is_end:
            style = styles.first if first is not None and id == first.id else styles.last
        rim, width, _, _ = _INK[mark]
        picture.add_node(
            names[id],
            label=_node_label(node, others.get(node.name, short_name(node))),
            fillcolor=_FILLS.get(mark or "") or _fill(style),
            color=rim,
            penwidth=width,
            tooltip=_text(id),
            id=names[id],
            **{"class": mark or "plain"},
            **({"margin": "0.22,0.06", "height": "0.32"} if is_end else {}),
        )


def _add_edges(picture: Any, graph: Graph, look: Look, names: dict[str, str]) -> None:
    others = (look.labels or {}).get("edges", {})
    backwards = backward(graph)
    for at, edge in enumerate(graph.edges):
        source, target = names[edge.source], names[edge.target]
        walked = graph.marks is not None and graph.marks.is_walked(edge)
        mark = None
        if walked and graph.marks is not None:
            mark = graph.marks.of(edge.target) or "visited"
            mark = "visited" if mark == "visited" else mark
        _, _, color, width = _INK[mark]
        chosen: dict[str, str] = {"color": color, "penwidth": width, "class": mark or "plain"}
        chosen["id"] = f"e{at}"
        if edge.conditional:
            chosen["style"] = "dashed"
        if edge.data is not None:
            label = others.get(str(edge.data), str(edge.data))
            chosen["label"] = _plain(wrapped(_text(label), look.words))
        if at in backwards:  # laid out upside down, so that loops lead up
            source, target = target, source
            chosen["dir"] = "back"
        picture.add_edge(source, target, key=str(at), **chosen)


def _add_boxes(picture: Any, graph: Graph, names: dict[str, str]) -> None:
    """A cluster for each box, outer ones first."""
    clusters: dict[tuple[str, ...], Any] = {(): picture}
    for at, path in enumerate(_boxes(graph)):
        inside = [names[id] for id in graph.nodes if box_of(id)[: len(path)] == path]
        mark = graph.marks.of(":".join(path)) if graph.marks is not None else None
        rim = _INK[mark][0] if mark else "#cbd5e0"
        clusters[path] = clusters[path[:-1]].add_subgraph(
            inside,
            name=f"cluster_{at}",
            id=f"b{at}",
            label=_plain(_cut(path[-1])),
            labeljust="l",
            style="rounded,filled",
            fillcolor="#fbfbfe" if len(path) % 2 else "#f3f3f9",
            color=rim,
            penwidth="2" if mark else "1",
            tooltip=_text(":".join(path)),
            margin="12",
        )


def _boxes(graph: Graph) -> list[tuple[str, ...]]:
    """The paths of all boxes, outer ones first."""
    paths = (box_of(id) for id in graph.nodes)
    return sorted(dict.fromkeys(p[: end + 1] for p in paths for end in range(len(p))), key=len)


def _node_label(node: Node, name: str) -> str:
    below = [
        f"{_FACT_NAMES.get(key, key)}" + ("" if value == "True" else f": {value}")
        for key, value in facts(node.metadata)
    ]
    label = _markup(_cut(name))
    if not below:
        return label
    small = "<BR/>".join(
        _escaped(line if len(line) <= _FACT else line[: _FACT - 1] + "…")
        for line in map(_text, below)
    )
    return f'{label[:-1]}<BR/><FONT POINT-SIZE="9" COLOR="#4a5568">{small}</FONT>>'


def _cut(name: str) -> list[str]:
    """A name in lines that fit a box, broken where its words end (spaces, underscores, dots)."""
    name = _text(name)
    if len(name) > _LONGEST:
        name = name[: _LONGEST - 1] + "…"
    lines: list[str] = []
    line = ""
    for part in re.findall(r"[^\s_.-]*[\s_.-]+|[^\s_.-]+", name) or [name]:
        for piece in (part[at : at + _LINE] for at in range(0, len(part), _LINE)):
            if line and len(line) + len(piece.rstrip()) > _LINE:
                lines.append(line)
                line = ""
            line += piece
    return [*lines, line]


def _markup(lines: Iterable[str]) -> str:
    """Graphviz's HTML-like text: what is in it is escaped, so no name is read as markup."""
    return "<" + "<BR/>".join(map(_escaped, lines)) + ">"


def _escaped(line: str) -> str:
    return html.escape(line.strip() or " ")


def _plain(lines: Iterable[str]) -> str:
    """Graphviz's plain text: spaces around it keep it from being read as the other kind."""
    texts = (line.strip().replace("&", "&amp;").replace("\\", "\\\\") for line in lines)
    return "\\n".join(f" {text} " for text in texts)


def _text(text: str) -> str:
    """A text without what XML cannot hold, and with white space as spaces."""
    shown = (char if char.isprintable() else " " if char.isspace() else "�" for char in text)
    return "".join(shown)


def _fill(style: str) -> str:
    """The fill of a Mermaid style, as far as Graphviz has colours like it."""
    found = dict(part.split(":", 1) for part in style.split(",") if ":" in part)
    if found.get("fill-opacity", "").strip() in ("0", "0.0"):
        return "transparent"
    fill = found.get("fill", "").strip()
    return fill if re.fullmatch(r"#[0-9a-fA-F]{6,8}|[a-zA-Z]+", fill) else _short_hex(fill)


def _short_hex(fill: str) -> str:
    if re.fullmatch(r"#[0-9a-fA-F]{3}", fill):
        return "#" + "".join(char * 2 for char in fill[1:])
    return "#f2f0ff"


_SVG = "http://www.w3.org/2000/svg"
_LINK = "http://www.w3.org/1999/xlink"


def _readable(picture: bytes, graph: Graph) -> str:
    """Graphviz's SVG as one element that a page can hold: titles are the nodes' ids."""
    root = ElementTree.fromstring(picture)
    for side in ("width", "height"):
        root.set(side, root.get(side, "").removesuffix("pt"))
    titles = {f"n{at}": id for at, id in enumerate(graph.nodes)}
    titles |= {f"b{at}": ":".join(path) for at, path in enumerate(_boxes(graph))}
    titles |= {f"e{at}": f"{e.source} → {e.target}" for at, e in enumerate(graph.edges)}
    for group in root.iter(f"{{{_SVG}}}g"):
        name = group.attrib.pop("id", "")  # a page may hold several pictures
        title = group.find(f"{{{_SVG}}}title")
        if title is not None:
            title.text = _text(titles.get(name, ""))
    for group in root.iter(f"{{{_SVG}}}g"):
        if (group.get("class") or "").startswith("node"):
            _centre(group)
    for parent in list(root.iter()):
        for link in [child for child in parent if child.tag == f"{{{_SVG}}}a"]:
            at = list(parent).index(link)  # a link without a target, made for its tooltip
            parent.remove(link)
            for offset, child in enumerate(link):
                parent.insert(at + offset, child)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _centre(node: ElementTree.Element) -> None:
    """Put the texts of a node in its middle, however wide the viewer's font makes them."""
    rim = next(node.iter(f"{{{_SVG}}}path"), None)
    xs = [float(x) for x in re.findall(r"(-?[\d.]+),", rim.get("d", ""))] if rim is not None else []
    for text in node.iter(f"{{{_SVG}}}text") if xs else ():
        text.set("x", f"{(min(xs) + max(xs)) / 2:.2f}")
        text.set("text-anchor", "middle")


__all__ = ["Look", "png", "svg"]
