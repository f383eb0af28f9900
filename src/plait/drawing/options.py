"""What callers may choose about a picture: curves, colours, labels."""

from dataclasses import dataclass
from enum import Enum
from typing import TypedDict


class CurveStyle(Enum):
    """How Mermaid draws edges."""

    BASIS = "basis"
    BUMP_X = "bumpX"
    BUMP_Y = "bumpY"
    CARDINAL = "cardinal"
    CATMULL_ROM = "catmullRom"
    LINEAR = "linear"
    MONOTONE_X = "monotoneX"
    MONOTONE_Y = "monotoneY"
    NATURAL = "natural"
    STEP = "step"
    STEP_AFTER = "stepAfter"
    STEP_BEFORE = "stepBefore"


class MermaidDrawMethod(Enum):
    """Who renders Mermaid text in LangGraph. plait takes each name, and draws by itself."""

    PYPPETEER = "pyppeteer"
    API = "api"


@dataclass
class NodeStyles:
    """The styles of nodes, as Mermaid's `classDef` takes them.

    Attributes:
        default: most nodes.
        first: where the graph starts.
        last: where it ends.
    """

    default: str = "fill:#f2f0ff,line-height:1.2"
    first: str = "fill-opacity:0"
    last: str = "fill:#bfb6fc"


class LabelsDict(TypedDict):
    """Other texts for nodes and edges, by the names and labels that the graph has."""

    nodes: dict[str, str]
    edges: dict[str, str]
