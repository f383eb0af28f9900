"""The fingerprint of a graph: 16 hex digits in each checkpoint that say which graph made it."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any


def fingerprint_of(
    nodes: Mapping[str, Any], channels: Mapping[str, Any], edges: object, version: int
) -> str:
    """What changes whenever the shape of a graph does, and never with the code of its nodes.

    Args:
        nodes: the nodes' plans: names, triggers, whether deferred, and the graphs that they are.
        channels: the keys of the state (and the joins), each by the kind of its channel.
        edges: anything with a stable `repr` that says where nodes may lead.
        version: the version of the state's schema.
    """
    shape = (
        [
            (name, node.triggers, node.defer, getattr(node.subgraph, "plan", None) and
             node.subgraph.plan.fingerprint)
            for name, node in sorted(nodes.items())
        ],
        sorted((name, type(channel).__name__) for name, channel in channels.items()),
        edges,
        version,
    )  # fmt: skip
    return blake2b(repr(shape).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
