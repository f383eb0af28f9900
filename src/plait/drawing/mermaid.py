"""Mermaid text: nodes, edges, and boxes for subgraphs.

Names are data: whatever Mermaid would read as syntax, or a browser as HTML, is written as an
entity. Ids are escaped to letters, digits, `-` and `_`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plait.drawing.frontmatter import frontmatter
from plait.drawing.labels import box_of, facts, short_name, wrapped

if TYPE_CHECKING:
    from plait.drawing.graph import Edge, Graph, Node
    from plait.drawing.options import CurveStyle, NodeStyles

_MARKDOWN = "*_`"
_ENTITIES = {char: f"#{ord(char)};" for char in "#<>()[]{}|"} | {'"': "#quot;"}
_LINE_BREAK = "&nbsp<br>&nbsp"

_MARKS = {
    "visited": "fill:#d9f2e3,stroke:#2f855a,stroke-width:2px",
    "current": "fill:#fff3cd,stroke:#d97706,stroke-width:3px",
    "failed": "fill:#fde2e1,stroke:#c53030,stroke-width:3px",
}
_WALKED = "stroke:#2f855a,stroke-width:3px"


def mermaid(
    graph: Graph,
    with_styles: bool,
    curve: CurveStyle,
    styles: NodeStyles,
    words: int,
    config: dict[str, Any] | None,
) -> str:
    """See `Graph.draw_mermaid`. The graph has readable ids (`reid`)."""
    text = _Text(graph, with_styles, words)
    lines = ["graph TD;", *text.box((), 1)]
    if with_styles:
        lines = [frontmatter(config or {}, curve.value), *lines]
        lines += [
            f"\tclassDef {name} {style}"
            for name, style in (
                ("default", styles.default),
                ("first", styles.first),
                ("last", styles.last),
            )
        ]
        lines += text.marks()
    return "\n".join([*lines, ""])


class _Text:
    """One graph being written."""

    def __init__(self, graph: Graph, with_styles: bool, words: int) -> None:
        self.graph = graph
        self.with_styles = with_styles
        self.words = words
        first, last = graph.first_node(), graph.last_node()
        self.first = first and first.id
        self.last = last and last.id
        self.written: list[Edge] = []
        """The edges in the order of the text: Mermaid styles them by their number."""
        self.places = [(edge, common_box(edge)) for edge in graph.edges]
        self.boxes = list(
            dict.fromkeys(
                [
                    *(
                        place[: depth + 1]
                        for _, place in self.places
                        for depth in range(len(place))
                    ),
                    *(
                        box_of(id)[: depth + 1]
                        for id in graph.nodes
                        for depth in range(len(box_of(id)))
                    ),
                ]
            )
        )

    def box(self, path: tuple[str, ...], depth: int) -> Iterator[str]:
        """What a box holds: nodes, edges, then loops and inner boxes as edges first name them."""
        if self.with_styles:
            for id, node in self.graph.nodes.items():
                if box_of(id) == path:
                    yield f"\t{self._node(node)}"
        loops: dict[str, list[Edge]] = {}
        order: dict[str | tuple[str, ...], None] = {}
        for edge, place in self.places:
            if place == path and edge.source != edge.target:
                yield self._edge(edge)
            elif place == path:
                loops.setdefault(edge.source, []).append(edge)
                order[edge.source] = None
            elif place[: len(path)] == path:
                order[place[: len(path) + 1]] = None
        for box in self.boxes:
            if box[:-1] == path:
                order[box] = None
        for item in order:
            if isinstance(item, str):
                yield from map(self._edge, loops[item])
            else:
                yield from self._inner(item, depth)

    def _inner(self, path: tuple[str, ...], depth: int) -> Iterator[str]:
        lines = list(self.box(path, depth + 1))
        if lines:
            yield f"\tsubgraph {self._box_title(path)}"
            yield from lines
            yield "\tend"

    def _box_title(self, path: tuple[str, ...]) -> str:
        name = path[-1]
        unique = sum(box[-1] == name for box in self.boxes) == 1 and name not in self.graph.nodes
        if unique and escaped_id(name) == name:
            return name
        return f"{escaped_id(':'.join((*path, '')))}[{_label(name)}]"

    def _node(self, node: Node) -> str:
        name = short_name(node)
        label = _label(name)
        if name and name[0] in _MARKDOWN and name[-1] in _MARKDOWN:
            label = f"<p>{label}</p>"  # else Mermaid reads it as emphasis
        known = [f"{_escaped(key)} = {_escaped(value)}" for key, value in facts(node.metadata)]
        if known:
            label += "<hr/><small><em>" + "\n".join(known) + "</em></small>"
        if node.id in (self.first, self.last):
            end = "first" if node.id == self.first else "last"
            return f"{escaped_id(node.id)}([{label}]):::{end}"
        return f"{escaped_id(node.id)}({label})"

    def _edge(self, edge: Edge) -> str:
        self.written.append(edge)
        arrow = "-.->" if edge.conditional else "-->"
        if edge.data is not None:
            text = _LINE_BREAK.join(map(_escaped, wrapped(str(edge.data), self.words)))
            text = f"&nbsp;{text}&nbsp;"
            arrow = f"-. {text} .->" if edge.conditional else f"-- {text} -->"
        return f"\t{escaped_id(edge.source)} {arrow} {escaped_id(edge.target)};"

    def marks(self) -> Iterator[str]:
        """The classes of marked nodes and boxes, and the style of walked edges."""
        marks = self.graph.marks
        if marks is None:
            return
        ids: dict[str, str] = {id: escaped_id(id) for id in self.graph.nodes}
        ids |= {":".join(box): self._box_title(box).partition("[")[0] for box in self.boxes}
        for mark, style in _MARKS.items():
            named = [name for id, name in ids.items() if marks.of(id) == mark]
            if named:
                yield f"\tclassDef {mark} {style}"
                yield f"\tclass {','.join(named)} {mark}"
        numbers = [str(n) for n, edge in enumerate(self.written) if marks.is_walked(edge)]
        if numbers:
            yield f"\tlinkStyle {','.join(numbers)} {_WALKED}"


def common_box(edge: Edge) -> tuple[str, ...]:
    """The innermost box that holds both ends of an edge."""
    shared: list[str] = []
    for one, other in zip(box_of(edge.source), box_of(edge.target), strict=False):
        if one != other:
            break
        shared.append(one)
    return tuple(shared)


def escaped_id(id: str) -> str:
    r"""An id in letters, digits, `-` and `_`; others as their number in hexadecimal.

    >>> print(escaped_id("research:find"), escaped_id("end"))
    research\3afind \65nd
    """
    if id == "end":
        return r"\65nd"  # Mermaid's keyword
    return "".join(
        char if (char.isascii() and char.isalnum()) or char in "-_" else f"\\{ord(char):x}"
        for char in id
    )


def _label(text: str) -> str:
    return '"end"' if text == "end" else _escaped(text)


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(char, char) for char in text)


__all__ = ["common_box", "escaped_id", "mermaid"]
