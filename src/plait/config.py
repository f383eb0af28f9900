"""Reach the run from anywhere inside a node: its config, store and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plait.errors import ConfigError
from plait.scope import Scope, current_scope

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig
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


def get_store() -> Any:
    """The store that the graph was compiled with (None: none).

    Raises:
        ConfigError: called outside of a running graph.
    """
    return _scope().runtime().store


def get_stream_writer() -> StreamWriter:
    """A function that writes one chunk to the `custom` stream.

    Raises:
        ConfigError: called outside of a running graph.
    """
    return _scope().write_custom


__all__ = ["get_config", "get_store", "get_stream_writer"]
