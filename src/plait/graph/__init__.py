"""Authoring: graphs and the reducers of their state."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plait.constants import END, START
from plait.graph.renames import RenamedFrom
from plait.graph.state import StateGraph

if TYPE_CHECKING:
    from plait.graph.message import MessagesState, add_messages
    from plait.graph.message_graph import MessageGraph

_LAZY = {
    "MessageGraph": "plait.graph.message_graph",
    "MessagesState": "plait.graph.message",
    "add_messages": "plait.graph.message",
}


def __getattr__(name: str) -> Any:
    # Messages load when they are first used: graphs without them stay quick to import.
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "END",
    "START",
    "MessageGraph",
    "MessagesState",
    "RenamedFrom",
    "StateGraph",
    "add_messages",
]
