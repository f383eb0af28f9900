"""How notebooks show a graph: the best form that what is installed can draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.errors import MissingExtraError

if TYPE_CHECKING:
    from plait.drawing.graph import Graph


def mimebundle(graph: Graph) -> dict[str, str]:
    """SVG where it can be drawn, and always the Mermaid text, which JupyterLab renders itself."""
    shown = {"text/vnd.mermaid": graph.draw_mermaid()}
    try:
        shown["image/svg+xml"] = graph.draw_svg()
    except MissingExtraError:
        pass  # the text is shown instead
    return shown


__all__ = ["mimebundle"]
