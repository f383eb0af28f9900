"""Objects of langgraph's that LangChain's tools deal in, recognised without importing it."""

from dataclasses import fields
from functools import lru_cache
from typing import Any, cast

from plait.types import Command, Send


def own_command(value: Any) -> Any:
    """A Command of langgraph's as plait's; anything else as it is."""
    if not _is_theirs(value.__class__, "Command"):
        return value
    goto: Any = value.goto
    several = isinstance(goto, (list, tuple))
    targets = [own_send(one) for one in cast("Any", goto)] if several else own_send(goto)
    return Command(graph=value.graph, update=value.update, resume=value.resume, goto=targets)


def own_send(value: Any) -> Any:
    """A Send of langgraph's as plait's; anything else as it is."""
    return Send(value.node, value.arg) if _is_theirs(value.__class__, "Send") else value


def is_their_runtime(kind: type[Any]) -> bool:
    """Whether a class is langgraph's ToolRuntime."""
    return _is_theirs(kind, "ToolRuntime")


def as_their_runtime(kind: type[Any], runtime: Any) -> Any:
    """A `ToolRuntime` of plait's as one of langgraph's, for a tool whose schema insists on it."""
    known = {one.name: getattr(runtime, one.name, None) for one in fields(kind)}
    return kind(**known)


@lru_cache(maxsize=1024)
def _is_theirs(kind: type[Any], name: str) -> bool:
    return any(
        base.__name__ == name and base.__module__.startswith("langgraph.") for base in kind.__mro__
    )


__all__ = ["as_their_runtime", "is_their_runtime", "own_command", "own_send"]
