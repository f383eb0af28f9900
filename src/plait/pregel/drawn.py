"""A compiled graph as a picture: `get_graph`, a thread's way through it, and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from plait.runnables.base import Runnable

if TYPE_CHECKING:
    from plait.drawing import Graph
    from plait.engine.plan import GraphPlan
    from plait.pregel.main import Pregel
    from plait.pregel.node import PregelNode
    from plait.pregel.outline import Outline
    from plait.runnables.config import ConfigLike


class Drawn(Runnable[Any, Any]):
    """A compiled graph as far as it can be drawn. Drawing is loaded when something is drawn."""

    plan: GraphPlan

    @property
    def nodes(self) -> Mapping[str, PregelNode]:
        """Its nodes by name."""
        raise NotImplementedError

    def outline(self) -> Outline:
        """What may follow what: for a graph over channels, who writes what triggers whom."""
        from plait.pregel.pictures import outline_of_channels

        return outline_of_channels(self)

    def get_graph(self, config: ConfigLike | None = None, *, xray: int | bool = False) -> Graph:
        """The graph to look at: nodes and edges that can be drawn.

        Args:
            config: accepted; the graph is the same for all.
            xray: True shows what is inside nodes that are graphs, a number so many levels of it.

        >>> from plait.graph import START, StateGraph
        >>> app = StateGraph(dict).add_node("greet", len).add_edge(START, "greet").compile()
        >>> [(edge.source, edge.target) for edge in app.get_graph().edges]
        [('__start__', 'greet'), ('greet', '__end__')]
        """
        from plait.pregel.pictures import drawable

        return drawable(self, xray)

    async def aget_graph(
        self, config: ConfigLike | None = None, *, xray: int | bool = False
    ) -> Graph:
        """`get_graph` for async code."""
        return self.get_graph(config, xray=xray)

    def get_thread_graph(self, config: ConfigLike, *, xray: int | bool = False) -> Graph:
        """The graph with the last run of a thread marked in it: where it went, where it stands.

        Args:
            config: names the thread, and with `checkpoint_id` one of its checkpoints.
            xray: as in `get_graph`; runs inside the graphs of waiting nodes are marked, too.

        Raises:
            ConfigError: the graph has no saver, or the config no thread id.
        """
        from plait.pregel.journey import journey

        return journey(cast("Pregel", self), config, xray)

    async def aget_thread_graph(self, config: ConfigLike, *, xray: int | bool = False) -> Graph:
        """`get_thread_graph` in an event loop."""
        from plait.pregel.journey import ajourney

        return await ajourney(cast("Pregel", self), config, xray)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """How a notebook shows the graph by itself."""
        from plait.drawing.notebook import mimebundle

        return {"text/plain": repr(self), **mimebundle(self.get_graph(xray=True))}

    def _repr_svg_(self) -> str | None:
        """The same, for programs that ask for SVG alone."""
        return self._repr_mimebundle_().get("image/svg+xml")
