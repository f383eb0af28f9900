"""Authoring: graphs and the reducers of their state."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily
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


# Messages load when they are first used: graphs without them stay quick to import.
__getattr__ = lazily(__name__, _LAZY)


__all__ = [
    "END",
    "START",
    "MessageGraph",
    "MessagesState",
    "RenamedFrom",
    "StateGraph",
    "add_messages",
]
