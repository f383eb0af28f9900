"""The hooks of an agent as nodes, and the edges between all of its nodes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, get_args

from plait.agents.hooks import HookKind, HookNode, Middleware, jumps_of, with_hook
from plait.agents.middleware.tracing import policy_of
from plait.agents.responses import Responses
from plait.agents.routes import Routes
from plait.constants import END, START
from plait.errors import ConfigError
from plait.graph.state import StateGraph
from plait.prebuilt.tool_node import ToolNode

KINDS: tuple[HookKind, ...] = get_args(HookKind)


class Wiring:
    """The way through one agent.

    Args:
        builder: The graph, which has its nodes "model" and "tools".
        middleware: The middleware of the agent.
        node: The node for tools, if there is one.
        responses: The structured responses of the agent.
    """

    def __init__(
        self,
        builder: StateGraph[Any],
        middleware: Sequence[Middleware],
        node: ToolNode | None,
        responses: Responses,
    ) -> None:
        self._builder = builder
        self._middleware = middleware
        self._answers_calls = bool(responses.format or with_hook(middleware, "wrap_model_call"))
        self._order = {kind: self._in_order(kind) for kind in KINDS}
        known = {} if node is None else node.tools_by_name
        direct = (name for name, one in known.items() if getattr(one, "return_direct", False))
        self._routes = Routes(
            turn=self._first("before_model", "model"),
            finish=self._first("after_agent", END),
            has_tools=node is not None,
            direct=frozenset(direct),
            known=frozenset(known),
            answers=frozenset(responses.tools),
        )

    def connect(self) -> None:
        """Add the nodes of the hooks, and all edges.

        Raises:
            ConfigError: A hook may jump to tools, and there are none.
        """
        routes = self._routes
        nexts = {kind: dict(self._nexts(kind)) for kind in KINDS}
        for one in self._middleware:
            for kind in KINDS:
                if (name := _name(one, kind)) in nexts[kind]:
                    self._add_hook(one, kind, name, nexts[kind][name])
        self._builder.add_edge(START, self._first("before_agent", routes.turn))
        if self._order["after_model"]:
            self._builder.add_edge("model", self._order["after_model"][0])
        if self._routed:
            ends = ["tools", routes.finish] if routes.has_tools else [routes.turn, routes.finish]
            if routes.has_tools and (self._answers_calls or self._last != "model"):
                ends.append(routes.turn)  # the calls of the model may have been answered
            path = routes.after_model if self._last == "model" else routes.after_hook
            self._builder.add_conditional_edges(self._last, path, ends)
        elif self._last == "model":
            self._builder.add_edge("model", routes.finish)
        if routes.has_tools:
            may_end = routes.direct or routes.answers
            ends = [routes.turn, routes.finish] if may_end else [routes.turn]
            self._builder.add_conditional_edges("tools", routes.after_tools, ends)

    @property
    def _last(self) -> str:
        """The last node of a turn of the model."""
        return self._order["after_model"][-1] if self._order["after_model"] else "model"

    @property
    def _routed(self) -> bool:
        """Whether a turn may lead elsewhere than to the end."""
        return self._routes.has_tools or bool(self._routes.answers)

    def _in_order(self, kind: HookKind) -> list[str]:
        """The nodes of a kind of hook, as they run: after hooks in reverse."""
        nodes = [_name(one, kind) for one in with_hook(self._middleware, kind)]
        return nodes if kind.startswith("before") else nodes[::-1]

    def _first(self, kind: HookKind, otherwise: str) -> str:
        return self._order[kind][0] if self._order[kind] else otherwise

    def _nexts(self, kind: HookKind) -> Iterator[tuple[str, str]]:
        """The nodes of a kind of hook, each with the one it leads to if it does not jump."""
        routes = self._routes
        ends = {
            "before_agent": routes.turn,
            "before_model": "model",
            "after_model": routes.finish,
            "after_agent": END,
        }
        return pairwise([*self._order[kind], ends[kind]])

    def _add_hook(self, one: Middleware, kind: HookKind, name: str, then: str) -> None:
        """The node of a hook and, unless a turn of the model ends with it, its edges."""
        jumps = self._routes.jumps()
        if kind == "after_agent":
            jumps["end"] = END
        if name == self._last and self._routed:
            hook = HookNode(one, kind, jumps)
            self._builder.add_node(name, hook, trace_policy=policy_of(one))
            return
        declared = self._declared(one, kind, jumps)
        free = {jump for jump, target in jumps.items() if target == then}
        if kind.startswith("before"):
            free.add("model")  # where it goes anyway
        hook = HookNode(one, kind, {*declared, *free})
        self._builder.add_node(name, hook, trace_policy=policy_of(one))
        targets = {jump: to for jump, to in declared.items() if to != name}
        if not declared:
            self._builder.add_edge(name, then)
            return
        ends = list(dict.fromkeys([then, *targets.values()]))
        self._builder.add_conditional_edges(name, self._routes.jump(targets, then), ends)

    def _declared(
        self, one: Middleware, kind: HookKind, jumps: Mapping[str, str]
    ) -> dict[str, str]:
        """Where a hook may jump: names of places, and their nodes."""
        declared = jumps_of(one, kind)
        for jump in declared:
            if jump not in jumps:
                raise ConfigError(
                    f"{_name(one, kind)} may jump to {jump!r} (can_jump_to), but the agent has no "
                    f"such place. It has: {', '.join(map(repr, jumps))}."
                )
        return {jump: jumps[jump] for jump in declared}


def _name(one: Middleware, kind: HookKind) -> str:
    return f"{one.name}.{kind}"


__all__ = ["Wiring"]
