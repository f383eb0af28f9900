"""`Graph`: nodes and edges that can be looked at, changed, and drawn.

A node's id is its path: `research:find` is the node `find` in the box `research`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import UUID, uuid4

from plait.drawing.options import CurveStyle, MermaidDrawMethod, NodeStyles
from plait.errors import ConfigError

if TYPE_CHECKING:
    from plait.drawing.marks import Marks
    from plait.drawing.options import LabelsDict


class Node(NamedTuple):
    """A node: its id, its name, what it stands for, and what is known about it."""

    id: str
    name: str
    data: Any
    """A Runnable, a pydantic model, or None for a place that runs nothing."""
    metadata: dict[str, Any] | None

    def copy(self, *, id: str | None = None, name: str | None = None) -> Node:
        """The same node with another id or name."""
        return self._replace(id=id or self.id, name=name or self.name)


class Edge(NamedTuple):
    """An edge; `data` is its label, `conditional` whether a decision leads along it."""

    source: str
    target: str
    data: Any = None
    conditional: bool = False

    def copy(self, *, source: str | None = None, target: str | None = None) -> Edge:
        """The same edge between other nodes."""
        return self._replace(source=source or self.source, target=target or self.target)


@dataclass
class Graph:
    """A graph that can be drawn.

    Args:
        nodes: by id.
        edges: in the order in which Mermaid text lists them.
        marks: where a run went and stands; see `mark`.

    >>> graph = Graph()
    >>> ask, answer = graph.add_node(None, "ask"), graph.add_node(None, "answer")
    >>> graph.add_edge(ask, answer, "when it is clear", conditional=True).conditional
    True
    >>> graph.draw_mermaid(with_styles=False).split("\\n")[1].strip()
    'ask -. &nbsp;when it is clear&nbsp; .-> answer;'
    """

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: list[Edge] = field(default_factory=list[Edge])
    marks: Marks | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.nodes)

    # --- building --------------------------------------------------------------------------------

    def next_id(self) -> str:
        """A new id that no node has."""
        return uuid4().hex

    def add_node(
        self, data: Any, id: str | None = None, *, metadata: dict[str, Any] | None = None
    ) -> Node:
        """Add a node.

        Args:
            data: what it stands for: a Runnable, a pydantic model, or None.
            id: its id; without one it gets a unique one, and its data names it.
            metadata: shown below its name.

        Raises:
            ConfigError: the graph has a node of this id.
        """
        if id is not None and id in self.nodes:
            raise ConfigError(f"Node with id {id} already exists. Give this one another id.")
        id = id or self.next_id()
        node = Node(id, node_data_str(id, data), data, metadata)
        self.nodes[id] = node
        return node

    def remove_node(self, node: Node) -> None:
        """Remove a node and its edges."""
        del self.nodes[node.id]
        self.edges = [edge for edge in self.edges if node.id not in (edge.source, edge.target)]

    def add_edge(
        self, source: Node, target: Node, data: Any = None, conditional: bool = False
    ) -> Edge:
        """Add an edge between two nodes of the graph.

        Raises:
            ConfigError: one of them is not in it.
        """
        for role, node in (("Source", source), ("Target", target)):
            if node.id not in self.nodes:
                raise ConfigError(f"{role} node {node.id} not in graph. Add it first.")
        edge = Edge(source.id, target.id, data, conditional)
        self.edges.append(edge)
        return edge

    def extend(self, graph: Graph, *, prefix: str = "") -> tuple[Node | None, Node | None]:
        """Add another graph's nodes and edges, unconnected.

        Args:
            graph: the other graph.
            prefix: the box they go into; nodes without ids of their own need none.

        Returns:
            Its first and its last node, as they are now.
        """
        if all(is_uuid(id) for id in graph.nodes):
            prefix = ""

        def placed(id: str) -> str:
            return f"{prefix}:{id}" if prefix else id

        self.nodes |= {placed(id): node.copy(id=placed(id)) for id, node in graph.nodes.items()}
        self.edges += [
            edge.copy(source=placed(edge.source), target=placed(edge.target))
            for edge in graph.edges
        ]
        first, last = graph.first_node(), graph.last_node()
        return (
            first and first.copy(id=placed(first.id)),
            last and last.copy(id=placed(last.id)),
        )

    def reid(self) -> Graph:
        """The same graph with readable ids: names instead of unique numbers, where they have one.

        Nodes of one name are numbered.
        """
        names = [node.name if is_uuid(node.id) else node.id for node in self.nodes.values()]
        seen: dict[str, int] = {}
        ids: dict[str, str] = {}
        for node, name in zip(self.nodes.values(), names, strict=True):
            seen[name] = seen.get(name, 0) + 1
            shared = names.count(name) > 1
            ids[node.id] = f"{name}_{seen[name]}" if shared else name
        return Graph(
            {ids[id]: node.copy(id=ids[id]) for id, node in self.nodes.items()},
            [edge.copy(source=ids[edge.source], target=ids[edge.target]) for edge in self.edges],
            self.marks and self.marks.renamed(ids),
        )

    # --- its ends --------------------------------------------------------------------------------

    def first_node(self) -> Node | None:
        """The one node that no edge leads to; None if there is not exactly one."""
        return self._end(self.nodes.values(), {edge.target for edge in self.edges})

    def last_node(self) -> Node | None:
        """The one node that no edge leaves; None if there is not exactly one."""
        return self._end(self.nodes.values(), {edge.source for edge in self.edges})

    def trim_first_node(self) -> None:
        """Remove the first node if one edge leaves it and the graph then has a first node still."""
        first = self.first_node()
        if first is None or sum(edge.source == first.id for edge in self.edges) != 1:
            return
        rest = [node for node in self.nodes.values() if node.id != first.id]
        if self._end(rest, {e.target for e in self.edges if e.source != first.id}) is not None:
            self.remove_node(first)

    def trim_last_node(self) -> None:
        """Remove the last node if one edge leads to it and the graph then has a last node still."""
        last = self.last_node()
        if last is None or sum(edge.target == last.id for edge in self.edges) != 1:
            return
        rest = [node for node in self.nodes.values() if node.id != last.id]
        if self._end(rest, {e.source for e in self.edges if e.target != last.id}) is not None:
            self.remove_node(last)

    @staticmethod
    def _end(nodes: Iterable[Node], excluded: Collection[str]) -> Node | None:
        found = [node for node in nodes if node.id not in excluded]
        return found[0] if len(found) == 1 else None

    # --- a run in the picture --------------------------------------------------------------------

    def mark(
        self,
        path: Iterable[str | Collection[str]] = (),
        *,
        current: str | Collection[str] = (),
        failed: str | Collection[str] = (),
    ) -> Graph:
        """The same graph with a run marked in it; every kind of picture shows the marks.

        Args:
            path: the nodes that ran, in order; nodes that ran together as one list. In a graph
                drawn with `xray`, the name of a subgraph stands for all of it.
            current: the nodes that run next, or wait.
            failed: the nodes that failed.

        Raises:
            UnknownNodeError: the graph has no such node.
        """
        from plait.drawing.marks import marks_of

        return replace(self, marks=marks_of(self, path, current, failed))

    # --- drawing ---------------------------------------------------------------------------------

    def to_json(self, *, with_schemas: bool = False) -> dict[str, list[dict[str, Any]]]:
        """The graph as data that `json.dumps` takes (as far as its metadata and labels do).

        Args:
            with_schemas: with the JSON schemas of nodes that are pydantic models.
        """
        ids = {id: at if is_uuid(id) else id for at, id in enumerate(self.nodes)}
        nodes: list[dict[str, Any]] = []
        shown: dict[str, Any]
        for node in self.nodes.values():
            shown = {"id": ids[node.id], **node_data_json(node, with_schemas=with_schemas)}
            nodes.append(shown if node.metadata is None else shown | {"metadata": node.metadata})
        edges: list[dict[str, Any]] = []
        for edge in self.edges:
            shown = {"source": ids[edge.source], "target": ids[edge.target]}
            if edge.data is not None:
                shown["data"] = edge.data
            if edge.conditional:
                shown["conditional"] = True
            edges.append(shown)
        return {"nodes": nodes, "edges": edges}

    def draw_mermaid(
        self,
        *,
        with_styles: bool = True,
        curve_style: CurveStyle = CurveStyle.LINEAR,
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
        frontmatter_config: dict[str, Any] | None = None,
    ) -> str:
        """The graph as Mermaid text.

        Args:
            with_styles: with the nodes' labels and classes; else only the edges.
            curve_style: how edges are drawn.
            node_colors: the styles of nodes.
            wrap_label_n_words: labels of edges are broken after so many words.
            frontmatter_config: Mermaid's configuration, written before the text.
        """
        from plait.drawing.mermaid import mermaid

        return mermaid(
            self.reid(),
            with_styles,
            curve_style,
            node_colors or NodeStyles(),
            wrap_label_n_words,
            frontmatter_config,
        )

    def draw_ascii(self) -> str:
        """The graph as characters. Needs `plait[draw]`."""
        from plait.drawing.ascii import ascii_art

        return ascii_art(self)

    def print_ascii(self) -> None:
        """Print the graph as characters."""
        print(self.draw_ascii())

    def draw_svg(
        self,
        *,
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
        background_color: str = "white",
        padding: int = 10,
    ) -> str:
        """The graph as an SVG picture, drawn by Graphviz on this machine. Needs `plait[draw]`.

        Args:
            node_colors: the fills of nodes (`NodeStyles(default="fill:#fff")`).
            wrap_label_n_words: labels of edges are broken after so many words.
            background_color: a colour, or "transparent".
            padding: space around the graph, in pixels.
        """
        from plait.drawing.dot import Look, svg

        return svg(
            self, Look(node_colors, wrap_label_n_words, background_color or "white", padding)
        )

    def draw_mermaid_png(
        self,
        *,
        curve_style: CurveStyle = CurveStyle.LINEAR,
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
        output_file_path: str | Path | None = None,
        draw_method: MermaidDrawMethod = MermaidDrawMethod.API,
        background_color: str = "white",
        padding: int = 10,
        max_retries: int = 1,
        retry_delay: float = 1.0,
        frontmatter_config: dict[str, Any] | None = None,
        base_url: str | None = None,
        proxies: dict[str, str] | None = None,
    ) -> bytes:
        """The graph as a PNG picture: that of `draw_svg`, and as offline as it.

        LangGraph sends the graph to a web service, or to a browser. Here the arguments for that
        are taken and have nothing to do: `draw_method`, `max_retries`, `retry_delay`, `base_url`,
        `proxies`; so are those that only Mermaid knows: `curve_style`, `frontmatter_config`.

        Args:
            node_colors: the fills of nodes.
            wrap_label_n_words: labels of edges are broken after so many words.
            output_file_path: where the picture is written, too.
            background_color: a colour, or "transparent".
            padding: space around the graph, in pixels.

        Raises:
            ConfigError: there is no such `draw_method`.
        """
        if draw_method not in tuple(MermaidDrawMethod):
            names = ", ".join(method.value for method in MermaidDrawMethod)
            raise ConfigError(
                f"Invalid draw method: {draw_method}. Supported draw methods are: {names}"
            )
        from plait.drawing.dot import Look, png

        picture = png(
            self, Look(node_colors, wrap_label_n_words, background_color or "white", padding)
        )
        if output_file_path is not None:
            Path(output_file_path).write_bytes(picture)
        return picture

    def draw_png(
        self,
        output_file_path: str | Path | None = None,
        fontname: str | None = None,
        labels: LabelsDict | None = None,
    ) -> bytes | None:
        """The graph as a PNG picture.

        Args:
            output_file_path: where to write it; without one, it is returned.
            fontname: the font.
            labels: other texts for nodes and edges.
        """
        from plait.drawing.dot import Look, png

        picture = png(self, Look(fontname=fontname, labels=labels))
        if output_file_path is None:
            return picture
        Path(output_file_path).write_bytes(picture)
        return None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """How a notebook shows the graph."""
        from plait.drawing.notebook import mimebundle

        return mimebundle(self)

    def _repr_svg_(self) -> str | None:
        """The same, for programs that ask for SVG alone."""
        return self._repr_mimebundle_().get("image/svg+xml")


def is_uuid(value: str) -> bool:
    """Whether an id is a unique number: such a node is called by its name.

    >>> is_uuid("tools"), is_uuid(Graph().next_id())
    (False, True)
    """
    if len(value) < 32:
        return False
    try:
        UUID(value)
    except ValueError:
        return False
    return True


def node_data_str(id: str, data: Any) -> str:
    """The name of a node: its id, or, if that is a unique number, the name of its data."""
    if not is_uuid(id) or data is None:
        return id
    name: str = data.__name__ if isinstance(data, type) else data.get_name()
    return name.removeprefix("Runnable")


def node_data_json(node: Node, *, with_schemas: bool = False) -> dict[str, Any]:
    """What a node stands for, as `Graph.to_json` says it."""
    data, name = node.data, node_data_str(node.id, node.data)
    if data is None:
        return {}
    if isinstance(data, type):
        dump: Any = getattr(cast("Any", data), "model_json_schema", None)
        if dump is None:
            return {"type": "unknown", "data": name}
        schema = dump() if with_schemas else name
        return {"type": "schema", "data": schema}
    if hasattr(data, "invoke"):
        kind = cast("type[Any]", type(data))
        return {
            "type": "runnable",
            "data": {"id": [*kind.__module__.split("."), kind.__name__], "name": name},
        }
    return {"type": "unknown", "data": name}
