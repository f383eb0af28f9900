"""Streams of version "v3": runs whose events are projected into typed channels.

`graph.stream_events(input, version="v3")` gives a `GraphRunStream`; `transformers=` of that call,
or of `compile`, add projections of your own.
"""

from __future__ import annotations

from plait.stream.base import ProtocolEvent, StreamTransformer
from plait.stream.run_stream import (
    AsyncGraphRunStream,
    AsyncSubgraphRunStream,
    GraphRunStream,
    SubgraphRunStream,
    SubgraphStatus,
)
from plait.stream.stream_channel import StreamChannel
from plait.stream.transformers import (
    CheckpointsTransformer,
    CustomTransformer,
    DebugTransformer,
    LifecyclePayload,
    LifecycleTransformer,
    SubgraphTransformer,
    TasksTransformer,
    UpdatesTransformer,
)

__all__ = [
    "AsyncGraphRunStream",
    "AsyncSubgraphRunStream",
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "GraphRunStream",
    "LifecyclePayload",
    "LifecycleTransformer",
    "ProtocolEvent",
    "StreamChannel",
    "StreamTransformer",
    "SubgraphRunStream",
    "SubgraphStatus",
    "SubgraphTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
]
