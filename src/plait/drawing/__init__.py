"""Pictures of graphs, drawn on this machine. Names load on first use.

- `graph`: what is drawn: `Graph` with its `Node`s and `Edge`s.
- `marks`: where a run went and where it stands, to be shown in any picture.
- `mermaid` (with `frontmatter`), `ascii`, `dot`: the graph as Mermaid text, as characters, and as
  SVG and PNG through Graphviz. The last two need the extra `plait[draw]`.
- `labels`: names as people read them. `options`: what callers may choose.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.drawing.graph import Edge, Graph, Node, is_uuid, node_data_json, node_data_str
    from plait.drawing.marks import Marks
    from plait.drawing.options import CurveStyle, LabelsDict, MermaidDrawMethod, NodeStyles

_HOMES = {
    "CurveStyle": "options",
    "Edge": "graph",
    "Graph": "graph",
    "LabelsDict": "options",
    "Marks": "marks",
    "MermaidDrawMethod": "options",
    "Node": "graph",
    "NodeStyles": "options",
    "is_uuid": "graph",
    "node_data_json": "graph",
    "node_data_str": "graph",
}


__getattr__ = lazily(__name__, _HOMES)


__all__ = [
    "CurveStyle",
    "Edge",
    "Graph",
    "LabelsDict",
    "Marks",
    "MermaidDrawMethod",
    "Node",
    "NodeStyles",
    "is_uuid",
    "node_data_json",
    "node_data_str",
]
