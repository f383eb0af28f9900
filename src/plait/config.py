"""Reach the run from anywhere inside a node: its config, store and stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.errors import ConfigError
from plait.scope import Scope, current_scope

if TYPE_CHECKING:
    from plait.messages import AIMessageChunk
    from plait.runnables.config import RunnableConfig
    from plait.store.base import BaseStore
    from plait.types import StreamWriter


def _scope() -> Scope:
    scope = current_scope.get()
    if scope is None:
        raise ConfigError(
            "Called get_config outside of a runnable context: this code runs in no node, tool or "
            "task of a graph."
        )
    return scope


def get_config() -> RunnableConfig:
    """The config of the task that runs here.

    Raises:
        ConfigError: called outside of a running graph.
    """
    return _scope().config()


def get_store() -> BaseStore:
    """The store that the graph was compiled with (None, whatever the type says, if with none).

    Raises:
        ConfigError: called outside of a running graph.
    """
    return cast("BaseStore", _scope().runtime().store)


def get_stream_writer() -> StreamWriter:
    """A function that writes one chunk to the `custom` stream.

    Raises:
        ConfigError: called outside of a running graph.
    """
    return _scope().write_custom


def emit_token(
    token: str | AIMessageChunk,
    *,
    id: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> AIMessageChunk:
    """Send a token to the `messages` stream, from any SDK: call it for each piece that arrives.

    The pieces of one message have one id. A message of that id which the node returns afterwards is
    not told again. In a sync node the call blocks while the consumer of the stream is far behind.

    Args:
        token: a piece of text, or a chunk (of plait or langchain_core).
        id: the id of the message it is a piece of. None: the chunk's own, else one that stands
            for the message of this task; name ids when a node streams several messages.
        tags: tags in the metadata; with "nostream" among them nothing is sent.
        metadata: more entries for the metadata.

    Returns:
        The chunk as it was sent. Chunks add up: the sum has the message's id.

    Raises:
        ConfigError: called outside of a running graph.

    >>> from plait.graph import START, MessagesState, StateGraph
    >>> def talk(state: MessagesState):
    ...     answer = emit_token("Hello ") + emit_token("world")
    ...     return {"messages": [answer]}
    >>> graph = StateGraph(MessagesState).add_node(talk).add_edge(START, "talk").compile()
    >>> [m.text for m, _ in graph.stream({"messages": []}, stream_mode="messages")]
    ['Hello ', 'world']
    """
    return _scope().emit_token(token, id, tags, metadata or {})


async def aemit_token(
    token: str | AIMessageChunk,
    *,
    id: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> AIMessageChunk:
    """`emit_token`, then wait while the consumer of the stream is far behind.

    An async node is suspended at its awaits anyway; tasks that it creates itself are held back only
    where they await this.
    """
    chunk = emit_token(token, id=id, tags=tags, metadata=metadata)
    await _scope().room()
    return chunk


__all__ = ["aemit_token", "emit_token", "get_config", "get_store", "get_stream_writer"]
