"""A graph as characters: boxes in layers, `*` for edges, `.` for conditional ones.

grandalf places the boxes (a layered layout, after Sugiyama); here they are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import count, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from plait.drawing.extra import missing
from plait.errors import ConfigError

if TYPE_CHECKING:
    from plait.drawing.graph import Edge, Graph

_BOX_HEIGHT = 3
Point = tuple[float, float]


def ascii_art(graph: Graph) -> str:
    """See `Graph.draw_ascii`. Only what is connected with the first node is drawn.

    Raises:
        ConfigError: the graph is empty.
        MissingExtraError: grandalf is not installed.
    """
    if not graph:
        raise ConfigError("A graph without nodes cannot be drawn. Add one first.")
    texts = {id: _text(graph, id) for id in graph.nodes}
    boxes, lines = _placed(texts, graph.edges)
    xs = [x for _, (x, _), width in boxes for x in (x - width / 2, x + width / 2)]
    ys = [y for _, (_, y), _ in boxes for y in (y, y + _BOX_HEIGHT)]
    for points, _ in lines:
        xs += [x for x, _ in points]
        ys += [y for _, y in points]
    left, top = min(xs), min(ys)
    canvas = _Canvas(math.ceil(max(xs)) - math.floor(left) + 1, round(max(ys) - top))
    for points, conditional in lines:
        for one, other in pairwise(points):
            char = "." if conditional else "*"
            canvas.line(_cell(one, left, top), _cell(other, left, top), char)
    for id, (x, y), width in boxes:
        canvas.box(*_cell((x - width / 2, y), left, top), texts[id])
    return canvas.text()


def _text(graph: Graph, id: str) -> str:
    name = "".join(char if char.isprintable() else "?" for char in graph.nodes[id].name)
    mark = graph.marks.of(id) if graph.marks is not None else None
    return {"visited": f"{name} *", "current": f"> {name} <", "failed": f"! {name} !"}.get(
        mark or "", name
    )


def _cell(point: Point, left: float, top: float) -> tuple[int, int]:
    return round(point[0] - left), round(point[1] - top)


Boxes = list[tuple[str, Point, int]]
Lines = list[tuple[Sequence[Point], bool]]


def _placed(texts: dict[str, str], edges: Sequence[Edge]) -> tuple[Boxes, Lines]:
    """Where boxes are (id, middle of the upper side, width), and the lines between them."""
    try:
        graphs, layouts, routing = (
            cast("Any", import_module(f"grandalf.{part}"))
            for part in ("graphs", "layouts", "routing")
        )
    except ImportError as error:
        raise missing("grandalf", "draw_ascii()", error) from error

    a_vertex, a_line = _numbered(graphs.Vertex), _numbered(graphs.Edge)
    vertices: dict[str, Any] = {id: a_vertex(id) for id in texts}
    for id, vertex in vertices.items():
        vertex.view = _View(len(texts[id]) + 4)
    lines: list[Any] = []
    for edge in edges:
        if edge.source != edge.target:
            line = a_line(vertices[edge.source], vertices[edge.target], data=edge.conditional)
            line.view = routing.EdgeViewer()
            lines.append(line)
    component: Any = graphs.Graph(list(vertices.values()), lines).C[0]
    layout: Any = layouts.SugiyamaLayout(component)
    layout.init_all(roots=[v for v in component.sV if not v.e_in()], optimize=True)
    layout.xspace = min(vertex.view.w for vertex in vertices.values())
    layout.yspace = _BOX_HEIGHT
    layout.route_edge = routing.route_with_lines
    layout.draw()
    boxes: Boxes = [(v.data, v.view.xy, v.view.w) for v in component.sV]
    routes: Lines = [(line.view._pts, line.data) for line in component.sE]
    return boxes, routes


def _numbered(kind: Any) -> Any:
    """A class of grandalf's whose objects have numbers for hashes.

    It keeps them in sets: by their addresses, the same graph would look different in every run.
    """
    number = count()

    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        self.number = next(number)
        kind.__init__(self, *args, **kwargs)

    def its_hash(self: Any) -> int:
        return self.number

    return type(kind.__name__, (kind,), {"__init__": start, "__hash__": its_hash})


class _View:
    """How big a box is, as grandalf asks for it; it sets `xy`."""

    def __init__(self, width: int) -> None:
        self.w = width
        self.h = _BOX_HEIGHT
        self.xy: Point = (0.0, 0.0)


class _Canvas:
    """A grid of characters."""

    def __init__(self, columns: int, rows: int) -> None:
        self.rows = [[" "] * columns for _ in range(rows)]

    def text(self) -> str:
        return "\n".join("".join(row) for row in self.rows)

    def put(self, column: int, row: int, char: str) -> None:
        if 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row]):
            self.rows[row][column] = char

    def line(self, start: tuple[int, int], end: tuple[int, int], char: str) -> None:
        """A straight line, drawn cell by cell along its longer side."""
        for column, row in _straight(start, end):
            self.put(column, row, char)

    def box(self, column: int, row: int, text: str) -> None:
        """A box around a text, its upper left corner at a cell."""
        rim = f"+{'-' * len(text)}--+"
        for down, content in enumerate((rim, f"| {text} |", rim)):
            for along, char in enumerate(content):
                self.put(column + along, row + down, char)


def _straight(start: tuple[int, int], end: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """The cells of a line: of a steep one from the top, of others from the left, which decides
    where it bends."""
    is_steep = abs(end[1] - start[1]) > abs(end[0] - start[0])
    (x0, y0), (x1, y1) = sorted((start, end), key=itemgetter(1 if is_steep else 0))
    wide, high = x1 - x0, y1 - y0
    steps = max(abs(wide), abs(high))
    for step in range(steps + 1):
        part = step / steps if steps else 0
        yield x0 + round(wide * part), y0 + round(high * part)


__all__ = ["ascii_art"]
