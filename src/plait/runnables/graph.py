"""The names of `langchain_core.runnables.graph`: graphs that can be drawn."""

from typing import TYPE_CHECKING, Any

import plait.drawing

if TYPE_CHECKING:
    from plait.drawing import (
        CurveStyle,
        Edge,
        Graph,
        LabelsDict,
        MermaidDrawMethod,
        Node,
        NodeStyles,
        is_uuid,
        node_data_json,
        node_data_str,
    )

__all__ = [
    "CurveStyle",
    "Edge",
    "Graph",
    "LabelsDict",
    "MermaidDrawMethod",
    "Node",
    "NodeStyles",
    "is_uuid",
    "node_data_json",
    "node_data_str",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(plait.drawing, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
