"""`RemoteGraph`: a graph that runs on a server, called as if it were here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from warnings import warn

from plait.common.closing import aclose
from plait.errors import ConfigError, NotSupportedError, PlaitWarning
from plait.pregel import wire
from plait.pregel.configs import config_with, one_input
from plait.pregel.streamed import Streamed, tool_calls
from plait.pregel.wire import Reception, RemoteException
from plait.runnables.config import ConfigLike, RunnableConfig, merge_configs
from plait.types import Command, GraphOutput, StateSnapshot

if TYPE_CHECKING:
    from plait.drawing import Graph
    from plait.stream.mux import StreamMux

Headers = Mapping[str, str] | None
Nodes = Sequence[str] | Literal["*"] | None


class RemoteGraph(Streamed):
    """A graph on a server that speaks LangGraph's API, with the methods of a compiled graph.

    It can be called, and be a node of another graph: its stream then is part of that graph's, and
    its questions are that graph's.

    Args:
        assistant_id: the assistant, or the name of the graph, on the server.
        url: the server's; clients are then made by `langgraph_sdk`, which must be installed.
        api_key: for clients made of `url`.
        headers: sent with each request of clients made of `url`.
        client: an async client to use; anything with the methods of `langgraph_sdk`'s.
        sync_client: a sync client to use.
        config: what each call's config is added to.
        name: the name as a node (default: the assistant).
        distributed_tracing: not supported.

    Raises:
        NotSupportedError: `distributed_tracing` is asked for, or `url` without `langgraph_sdk`.
    """

    stream_transformers = (tool_calls,)

    def __init__(
        self,
        assistant_id: str,
        /,
        *,
        url: str | None = None,
        api_key: str | None = None,
        headers: dict[str, str] | None = None,
        client: Any = None,
        sync_client: Any = None,
        config: ConfigLike | None = None,
        name: str | None = None,
        distributed_tracing: bool = False,
    ) -> None:
        if distributed_tracing:
            raise NotSupportedError(
                f"Remote graph {assistant_id!r} asks for distributed_tracing=, which this version "
                "of plait does not support: send what traces it in headers=."
            )
        self.assistant_id = assistant_id
        self.name = assistant_id if name is None else name
        self.config = config
        self.distributed_tracing = distributed_tracing
        self.client, self.sync_client = client, sync_client
        if url is not None:
            sdk = _sdk()
            given: dict[str, Any] = {"url": url, "api_key": api_key, "headers": headers}
            self.client = client or sdk.get_client(**given)
            self.sync_client = sync_client or sdk.get_sync_client(**given)

    def copy(self, update: dict[str, Any]) -> Self:
        """The same graph with some attributes replaced."""
        new = copy(self)
        for key, value in update.items():
            setattr(new, key, value)
        return new

    def with_config(self, config: ConfigLike | None = None, **kwargs: Any) -> Self:
        """The same graph with a config that later calls add to."""
        merged = config_with(cast("Any", self.config), cast("Any", config), kwargs)
        return self.copy({"config": merged})

    # --- running ---------------------------------------------------------------------------------

    def stream(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        interrupt_before: Nodes = None,
        interrupt_after: Nodes = None,
        subgraphs: bool = False,
        headers: Headers = None,
        params: Any = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Run the graph and yield what happens (see `Pregel.stream`).

        Args:
            headers: sent with the request.
            params: query parameters of the request.
            kwargs: further arguments of the client's `runs.stream`; `input_state=` is `input`
                under an older name.

        Raises:
            RemoteException: the server reports an error.
            ConfigError: there is no sync client, or the input is given twice.
        """
        reception = Reception(stream_mode, subgraphs=subgraphs, version=version)
        given = one_input(input, kwargs)
        request = self._request(
            given, config, context, reception, interrupt_before, interrupt_after
        )
        request |= {"headers": headers, "params": params, **kwargs}
        for part in self._sync_client().runs.stream(**request):
            yield from reception.heard(part.event, part.data)
        yield from reception.ended()

    async def astream(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        interrupt_before: Nodes = None,
        interrupt_after: Nodes = None,
        subgraphs: bool = False,
        headers: Headers = None,
        params: Any = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """`stream` in an event loop, over the async client."""
        reception = Reception(stream_mode, subgraphs=subgraphs, version=version)
        given = one_input(input, kwargs)
        request = self._request(
            given, config, context, reception, interrupt_before, interrupt_after
        )
        request |= {"headers": headers, "params": params, **kwargs}
        parts = self._async_client().runs.stream(**request)
        try:
            async for part in parts:
                for told in reception.heard(part.event, part.data):
                    yield told
        finally:
            await aclose(parts)
        for told in reception.ended():
            yield told

    def _asked(self, mux: StreamMux, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        # Nobody else drives the run: the server stops it when the reader leaves.
        return {"on_disconnect": "cancel", **super()._asked(mux, kwargs)}

    def invoke(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        interrupt_before: Nodes = None,
        interrupt_after: Nodes = None,
        headers: Headers = None,
        params: Any = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Any:
        """Run the graph to its end, or to where it waits, and return its state."""
        last: Any = None
        for part in self.stream(
            input,
            config,
            context=context,
            stream_mode="values",
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            headers=headers,
            params=params,
            version=version,
            **kwargs,
        ):
            last = part
        return self._result(last, version)

    async def ainvoke(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: Any = None,
        interrupt_before: Nodes = None,
        interrupt_after: Nodes = None,
        headers: Headers = None,
        params: Any = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Any:
        """`invoke` in an event loop, over the async client."""
        last: Any = None
        async for part in self.astream(
            input,
            config,
            context=context,
            stream_mode="values",
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            headers=headers,
            params=params,
            version=version,
            **kwargs,
        ):
            last = part
        return self._result(last, version)

    def _request(
        self,
        input: Any,
        config: ConfigLike | None,
        context: Any,
        reception: Reception,
        before: Nodes,
        after: Nodes,
    ) -> dict[str, Any]:
        """The arguments of the client's `runs.stream`."""
        merged = merge_configs(self.config, config)
        command = cast("Command[Any]", input) if isinstance(input, Command) else None
        checkpoint = wire.address(merged)
        configurable: dict[str, Any] = merged.get("configurable") or {}
        request: dict[str, Any] = {
            "thread_id": configurable.get("thread_id"),
            "assistant_id": self.assistant_id,
            "input": None if command is not None else input,
            "command": None if command is None else wire.sent_command(command),
            "config": wire.sent_config(merged),
            "context": context,
            "stream_mode": reception.modes,
            "interrupt_before": before,
            "interrupt_after": after,
            "stream_subgraphs": reception.subgraphs,
            "if_not_exists": "create",
        }
        if checkpoint is not None and "checkpoint_id" in checkpoint:
            request["checkpoint"] = checkpoint
        return request

    def _result(self, last: Any, version: str) -> Any:
        if last is None:
            warn(
                f"Remote graph {self.name!r} ended without telling a state; None is returned.",
                PlaitWarning,
                stacklevel=3,
            )
            return None
        return GraphOutput(last["data"], last["interrupts"]) if version == "v2" else last

    # --- threads ---------------------------------------------------------------------------------

    def get_state(
        self,
        config: ConfigLike,
        *,
        subgraphs: bool = False,
        headers: Headers = None,
        params: Any = None,
    ) -> StateSnapshot:
        """The thread as it stands (see `Pregel.get_state`)."""
        request = self._state_request(config, headers, params, subgraphs=subgraphs)
        return wire.snapshot_of(self._sync_client().threads.get_state(**request))

    async def aget_state(
        self,
        config: ConfigLike,
        *,
        subgraphs: bool = False,
        headers: Headers = None,
        params: Any = None,
    ) -> StateSnapshot:
        """`get_state` in an event loop, over the async client."""
        request = self._state_request(config, headers, params, subgraphs=subgraphs)
        return wire.snapshot_of(await self._async_client().threads.get_state(**request))

    def get_state_history(
        self,
        config: ConfigLike,
        *,
        filter: dict[str, Any] | None = None,
        before: ConfigLike | None = None,
        limit: int | None = None,
        headers: Headers = None,
        params: Any = None,
    ) -> Iterator[StateSnapshot]:
        """The checkpoints of a thread, newest first (see `Pregel.get_state_history`)."""
        request = self._history_request(config, filter, before, limit, headers, params)
        for state in self._sync_client().threads.get_history(**request):
            yield wire.snapshot_of(state)

    async def aget_state_history(
        self,
        config: ConfigLike,
        *,
        filter: dict[str, Any] | None = None,
        before: ConfigLike | None = None,
        limit: int | None = None,
        headers: Headers = None,
        params: Any = None,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` in an event loop, over the async client."""
        request = self._history_request(config, filter, before, limit, headers, params)
        for state in await self._async_client().threads.get_history(**request):
            yield wire.snapshot_of(state)

    def update_state(
        self,
        config: ConfigLike,
        values: Any,
        as_node: str | None = None,
        *,
        headers: Headers = None,
        params: Any = None,
    ) -> RunnableConfig:
        """Write to a thread as if a node had (see `Pregel.update_state`)."""
        request = self._state_request(config, headers, params, values=values, as_node=as_node)
        return wire.config_of(self._sync_client().threads.update_state(**request)["checkpoint"])

    async def aupdate_state(
        self,
        config: ConfigLike,
        values: Any,
        as_node: str | None = None,
        *,
        headers: Headers = None,
        params: Any = None,
    ) -> RunnableConfig:
        """`update_state` in an event loop, over the async client."""
        request = self._state_request(config, headers, params, values=values, as_node=as_node)
        answer = await self._async_client().threads.update_state(**request)
        return wire.config_of(answer["checkpoint"])

    def bulk_update_state(self, config: ConfigLike, updates: Any) -> RunnableConfig:
        """Servers have no such call.

        Raises:
            NotSupportedError: always; `update_state` writes one super-step.
        """
        raise NotSupportedError(
            f"Remote graph {self.name!r} cannot write several super-steps at once: the API of "
            "servers has no such call. Call update_state() for each."
        )

    async def abulk_update_state(self, config: ConfigLike, updates: Any) -> RunnableConfig:
        """See `bulk_update_state`."""
        return self.bulk_update_state(config, updates)

    def _state_request(
        self, config: ConfigLike, headers: Headers, params: Any, **more: Any
    ) -> dict[str, Any]:
        merged = merge_configs(self.config, config)
        return {
            "thread_id": wire.thread_of(merged),
            "checkpoint": wire.address(merged),
            "headers": headers,
            "params": params,
            **more,
        }

    def _history_request(
        self,
        config: ConfigLike,
        filter: dict[str, Any] | None,
        before: ConfigLike | None,
        limit: int | None,
        headers: Headers,
        params: Any,
    ) -> dict[str, Any]:
        return self._state_request(
            config,
            headers,
            params,
            limit=10 if limit is None else limit,
            before=wire.address(before),
            metadata=filter,
        )

    # --- pictures --------------------------------------------------------------------------------

    def get_graph(
        self,
        config: ConfigLike | None = None,
        *,
        xray: int | bool = False,
        headers: Headers = None,
        params: Any = None,
    ) -> Graph:
        """The graph as the server draws it (see `Pregel.get_graph`)."""
        request = {"xray": xray, "headers": headers, "params": params}
        client = self._sync_client()
        return _drawn(client.assistants.get_graph(assistant_id=self.assistant_id, **request))

    async def aget_graph(
        self,
        config: ConfigLike | None = None,
        *,
        xray: int | bool = False,
        headers: Headers = None,
        params: Any = None,
    ) -> Graph:
        """`get_graph` in an event loop, over the async client."""
        request = {"xray": xray, "headers": headers, "params": params}
        client = self._async_client()
        return _drawn(await client.assistants.get_graph(assistant_id=self.assistant_id, **request))

    # --- clients ---------------------------------------------------------------------------------

    def _sync_client(self) -> Any:
        if self.sync_client is None:
            raise ConfigError(
                f"Sync client is not initialized: remote graph {self.name!r} was made with "
                "neither `url` nor `sync_client`."
            )
        return self.sync_client

    def _async_client(self) -> Any:
        if self.client is None:
            raise ConfigError(
                f"Async client is not initialized: remote graph {self.name!r} was made with "
                "neither `url` nor `client`."
            )
        return self.client


def _sdk() -> Any:
    try:
        import langgraph_sdk  # only programs that call servers by url need it
    except ImportError:
        raise NotSupportedError(
            "RemoteGraph(url=...) needs a client of the server's API: `pip install langgraph-sdk`, "
            "or pass one as client= and sync_client=."
        ) from None
    return langgraph_sdk


def _drawn(told: Mapping[str, Any]) -> Graph:
    from plait.drawing import Edge, Graph, Node  # only pictures need it

    nodes: dict[str, Node] = {}
    for node in told["nodes"]:
        name, data = str(node["id"]), node.get("data")
        known = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        nodes[name] = Node(name, known.get("name") or name, data, node.get("metadata"))
    edges = [
        Edge(str(e["source"]), str(e["target"]), e.get("data"), bool(e.get("conditional")))
        for e in told["edges"]
    ]
    return Graph(nodes, edges)


__all__ = ["RemoteException", "RemoteGraph"]
