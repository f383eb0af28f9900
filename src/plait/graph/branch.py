"""Conditional edges: a function of the state that says what runs next."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from plait.common.reflection import is_routine, signature
from plait.constants import END, ROUTE, START, TASKS
from plait.engine.plan import Writes
from plait.errors import (
    InvalidGraphError,
    InvalidNodeError,
    InvalidUpdateError,
    UnknownNodeError,
    nearest,
)
from plait.pregel.binding import Binding
from plait.types import Send

PathT = TypeVar("PathT", bound=Callable[..., Any])


def route(node: str) -> str:
    """The routing channel whose write lets `node` run."""
    return ROUTE + node


UNTOLD = "__plait_untold__"


def untold(path: PathT) -> PathT:
    """Marks a path function of which nobody who listens is to hear: it is no code of the user's."""
    setattr(path, UNTOLD, True)
    return path


class Branch:
    """One conditional edge.

    Args:
        source: the node after which it decides.
        path: a function of the state (or a Runnable).
        path_map: result to node, or the list of nodes it may name. None, or an empty one: the
            function's `Literal` return annotation, else any node.
        name: what it is called.
    """

    def __init__(
        self,
        source: str,
        path: Any,
        path_map: Mapping[Any, str] | Sequence[str] | None,
        name: str,
    ) -> None:
        self.source = source
        self.name = name
        self.binding = bind_path(path, name)
        self.is_untold = _is_runnable(path) or getattr(path, UNTOLD, False)
        """Whether who listens is not told of its calls: a Runnable tells of itself."""
        self.ends = _ends(path, path_map)
        self.reads_schema = _state_hint(path)

    def writes(self, result: Any, nodes: Mapping[str, Any]) -> Writes:
        """What the path function's result writes: routes and Sends.

        Raises:
            UnknownNodeError: it names a node that does not exist.
        """
        results = list(cast("Sequence[Any]", result)) if isinstance(result, (list, tuple)) else [
            result
        ]  # fmt: skip
        written: Writes = []
        for item in results:
            if type(item) is Send and item.node in nodes and item.node != START:
                written.append((TASKS, item))  # the ordinary one of many
                continue
            goal = item if isinstance(item, Send) or self.ends is None else self._end(item)
            if isinstance(goal, Send):
                written.append((TASKS, _checked_send(goal, nodes, self.source)))
            elif goal is None or goal == START:
                raise InvalidGraphError(
                    f"Branch {self.name!r} after {self.source!r} did not return a valid "
                    f"destination: {goal!r}. Return a node's name, END, a Send, or a list of them."
                )
            elif goal != END:
                written.append((route(checked(goal, nodes, self.source)), None))
        return written

    def _end(self, item: Any) -> Any:
        assert self.ends is not None
        try:
            return self.ends[item]
        except (KeyError, TypeError):
            raise UnknownRouteError(
                f"Branch {self.name!r} after {self.source!r} returned {item!r}, which its path_map "
                f"does not know. {nearest(item, self.ends)}"
            ) from None


class UnknownRouteError(UnknownNodeError, KeyError):
    """A path function returned something that its path_map does not know."""

    __str__ = UnknownNodeError.__str__


def _is_runnable(path: Any) -> bool:
    return not callable(path) and hasattr(path, "invoke")


def bind_path(path: Any, name: str) -> Binding:
    """How a path function, or a Runnable, is called."""
    if _is_runnable(path):

        def call_runnable(state: Any, config: Any) -> Any:
            return path.invoke(state, config)

        return Binding(call_runnable, name)
    if not callable(path):
        raise InvalidNodeError(f"A conditional edge needs a function of the state, got {path!r}.")
    return Binding(path, name)


def checked(node: Any, nodes: Mapping[str, Any], source: str) -> str:
    """`node`, if the graph has it. Raises UnknownNodeError."""
    if not isinstance(node, str) or node not in nodes:
        former = {old: name for name in nodes for old in getattr(nodes[name], "former", ())}
        raise UnknownNodeError(
            f"Node {source!r} routes to {node!r}, which the graph does not have. "
            + nearest(node, (name for name in nodes if name != START), former)
            + ("" if isinstance(node, str) else " A path_map says which node a value stands for.")
        )
    return node


def _checked_send(send: Send, nodes: Mapping[str, Any], source: str) -> Send:
    if send.node in (START, END):
        virtual = "END" if send.node == END else "START"
        raise InvalidUpdateError(
            f"Cannot send a packet to the {virtual} node (from {source!r}), which runs nothing. "
            "Leave the Send out, or name a node that was added."
        )
    checked(send.node, nodes, source)
    return send


def goto_writes(goto: Any, nodes: Mapping[str, Any], source: str) -> Writes:
    """What a Command's goto writes: one goal, or as many as a list, set or generator has."""
    goals = cast("Iterable[Any]", goto) if isinstance(goto, (list, tuple)) else _goals(goto)
    written: Writes = []
    for goal in goals:
        if isinstance(goal, Send):
            written.append((TASKS, _checked_send(goal, nodes, source)))
        elif goal != END:
            written.append((route(checked(goal, nodes, source)), None))
    return written


def _goals(goto: Any) -> Iterable[Any]:
    one = isinstance(goto, (str, bytes, Send)) or not isinstance(goto, Iterable)
    return cast("Iterable[Any]", (goto,) if one else goto)


def _ends(path: Any, path_map: Mapping[Any, str] | Sequence[str] | None) -> dict[Any, str] | None:
    if path_map and isinstance(path_map, Mapping):
        return dict(path_map)
    if path_map:
        return {name: name for name in path_map}
    named = literals(_return_hint(path))
    return {name: name for name in named} if named else None


def _function_of(path: Any) -> Any:
    if is_routine(path):
        return path
    inner = getattr(path, "func", None)  # partials and RunnableLambdas
    return inner if inner is not None else getattr(cast("Any", type(path)), "__call__", path)  # noqa: B004


def _hints_of(path: Any) -> dict[str, Any]:
    try:
        return get_type_hints(_function_of(path))
    except Exception:  # annotations are the user's; none that resolve means none
        return {}


def _return_hint(path: Any) -> Any:
    return _hints_of(path).get("return")


def _state_hint(path: Any) -> Any:
    """The annotation of the path function's first parameter."""
    function = _function_of(path)
    try:
        first = next(p for p in signature(function).parameters.values() if p.name != "self")
    except (StopIteration, TypeError, ValueError):
        return None
    return _hints_of(path).get(first.name)


def literals(hint: Any) -> tuple[str, ...]:
    """The strings of a `Literal`, also inside lists and unions.

    >>> literals(Literal["a", "b"]), literals(list[Literal["a"]])
    (('a', 'b'), ('a',))
    """
    if get_origin(hint) is Literal:
        return tuple(arg for arg in get_args(hint) if isinstance(arg, str))
    if get_origin(hint) in (list, typing.Union):
        return tuple(name for arg in get_args(hint) for name in literals(arg))
    return ()


__all__ = [
    "Branch",
    "UnknownRouteError",
    "bind_path",
    "checked",
    "goto_writes",
    "literals",
    "route",
]
