"""Running a compiled graph: `Pregel` and what stands behind its calls.

- `main`: `Pregel`, the object that users call. `described`: what it says about itself.
- `node`: `NodeBuilder`; `by_hand`: from nodes and channels to a plan.
- `run`: one call of it: config, storage, driver, streams.
- `scope`: what code inside a task sees of the run.
- `binding`: how a node's function gets its arguments.
- `snapshots`: reading threads back. `updates`: writing to them by hand.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.pregel.main import Pregel
    from plait.pregel.node import ChannelWriteEntry, NodeBuilder

_HOMES = {
    "ChannelWriteEntry": "plait.pregel.node",
    "NodeBuilder": "plait.pregel.node",
    "Pregel": "plait.pregel.main",
}

__all__ = ["ChannelWriteEntry", "NodeBuilder", "Pregel"]


__getattr__ = lazily(__name__, _HOMES)
