"""What every graph can do, here or on a server: `Pregel` and `RemoteGraph` both have it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Set
from typing import Any, Protocol, runtime_checkable

Config = Any
StreamChunk = tuple[tuple[str, ...], str, Any]
"""Namespace, mode, payload."""


@runtime_checkable
class PregelProtocol(Protocol):
    """The methods of a graph, for annotations and `isinstance`."""

    def with_config(self, config: Config = None, **kwargs: Any) -> Any: ...
    def get_graph(self, config: Config = None, *, xray: int | bool = False) -> Any: ...
    async def aget_graph(self, config: Config = None, *, xray: int | bool = False) -> Any: ...
    def get_state(self, config: Config, *, subgraphs: bool = False) -> Any: ...
    async def aget_state(self, config: Config, *, subgraphs: bool = False) -> Any: ...
    def get_state_history(self, config: Config, **kwargs: Any) -> Iterator[Any]: ...
    def aget_state_history(self, config: Config, **kwargs: Any) -> AsyncIterator[Any]: ...
    def bulk_update_state(self, config: Config, updates: Any) -> Any: ...
    async def abulk_update_state(self, config: Config, updates: Any) -> Any: ...
    def update_state(self, config: Config, values: Any, as_node: str | None = None) -> Any: ...
    async def aupdate_state(
        self, config: Config, values: Any, as_node: str | None = None
    ) -> Any: ...
    def stream(self, input: Any, config: Config = None, **kwargs: Any) -> Iterator[Any]: ...
    def astream(self, input: Any, config: Config = None, **kwargs: Any) -> AsyncIterator[Any]: ...
    def invoke(self, input: Any, config: Config = None, **kwargs: Any) -> Any: ...
    async def ainvoke(self, input: Any, config: Config = None, **kwargs: Any) -> Any: ...


class StreamProtocol:
    """A function that takes parts of a stream, and the modes that it wants.

    >>> told = []
    >>> StreamProtocol(told.append, {"custom"})(((), "custom", "hi"))
    >>> told
    [((), 'custom', 'hi')]
    """

    __slots__ = ("_tell", "modes")

    def __init__(self, __call__: Callable[[StreamChunk], None], modes: Set[str]) -> None:
        self._tell = __call__
        self.modes = modes

    def __call__(self, chunk: StreamChunk) -> None:
        self._tell(chunk)


__all__ = ["PregelProtocol", "StreamProtocol"]
