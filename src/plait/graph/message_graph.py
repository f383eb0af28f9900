"""`MessageGraph`: a graph whose whole state is one list of messages."""

from __future__ import annotations

from typing import Annotated, Any
from warnings import warn

from plait.graph.message import add_messages
from plait.graph.state import StateGraph
from plait.messages import AnyMessage
from plait.warnings import LangGraphDeprecatedSinceV10


class MessageGraph(StateGraph[Any]):
    """A `StateGraph` over a list of messages; nodes take the list and return messages.

    >>> graph = MessageGraph()
    >>> graph = graph.add_node("echo", lambda messages: ("ai", messages[-1].content))
    >>> compiled = graph.add_edge("__start__", "echo").compile()
    >>> [m.content for m in compiled.invoke([("human", "hi")])]
    ['hi', 'hi']
    """

    def __init__(self) -> None:
        warn(
            LangGraphDeprecatedSinceV10(
                "MessageGraph is deprecated. Please use StateGraph with a `messages` key instead."
            ),
            stacklevel=2,
        )
        super().__init__(Annotated[list[AnyMessage], add_messages])  # type: ignore[arg-type]
