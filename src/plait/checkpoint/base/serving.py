"""What a run tells a saver that is derived from plait's, while it goes through the saver's methods.

Graphs store through `open_session`. A class derived from a saver of plait's that overrides a method
of LangGraph's port (`put`, say) means graphs to call it; so they go through that port (`derived`).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from plait.checkpoint.serde import Registry

PORT_METHODS = frozenset(
    f"{twin}{name}" for name in ("put", "put_writes", "get_tuple", "list") for twin in ("", "a")
)
"""What graphs call of a saver of LangGraph's."""


class Serving(NamedTuple):
    """On whose behalf a method of the port is called."""

    registry: Registry | None
    """The types that may be stored."""
    merge: bool
    """Whether writes of a task replace only the channels that they name."""


serving: ContextVar[Serving | None] = ContextVar("plait_serving", default=None)
"""The run that calls a method of the port; None: a program does."""


def is_native(saver: Any) -> bool:
    """Whether graphs store through the saver's `open_session`.

    Its class says so: an object that passes on to another what it has not itself is not that one.
    """
    return is_plaits(saver) and not getattr(saver, "overridden", None)


def is_plaits(saver: Any) -> bool:
    """Whether a saver's class has the native port."""
    return hasattr(cast("type[Any]", type(saver)), "open_session")
