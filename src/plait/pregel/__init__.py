"""Running a compiled graph: `Pregel` and what stands behind its calls.

- `main`: `Pregel`, the object that users call.
- `run`: one call of it: config, storage, driver, streams.
- `scope`: what code inside a task sees of the run.
- `binding`: how a node's function gets its arguments.
- `snapshots`: reading threads back. `updates`: writing to them by hand.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.pregel.main import Pregel

__all__ = ["Pregel"]


def __getattr__(name: str) -> Any:
    if name == "Pregel":
        from plait.pregel.main import Pregel

        return Pregel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
