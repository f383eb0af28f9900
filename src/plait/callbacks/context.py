"""The config that children of the running code inherit, and whether anybody listens to it.

Kept apart and free of imports: every run asks these two questions, most runs need nothing more.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from plait.scope import current_scope

var_child_runnable_config: ContextVar[Mapping[str, Any] | None] = ContextVar(
    "child_runnable_config", default=None
)
"""The config of the code that runs now; what it invokes without a config inherits this one."""


block_handlers: ContextVar[tuple[Any, ...]] = ContextVar("plait_block_handlers", default=())
"""Handlers that hear all runs of a `with` block, whatever callbacks these are given."""

everywhere: list[Mapping[str, Any]] = []
"""The config that runs inherit where nothing else is inherited: with the handler of `set_debug`."""

COPIED_TO_METADATA = ("model", "checkpoint_ns")
"""Entries of `configurable` that are metadata of the runs inside too."""


def inherited_config() -> Mapping[str, Any] | None:
    """The config of the run around the calling code; None outside any run.

    A task of a graph puts its config into the context only if somebody listens; else it is made
    when it is asked for here.
    """
    config = var_child_runnable_config.get()
    if config is None:
        scope = current_scope.get()
        if scope is not None:
            return scope.config()
        if everywhere:
            return everywhere[0]
    return config


def unasked_handlers() -> Sequence[Any]:
    """Who hears runs besides the callbacks that these are given."""
    unasked = block_handlers.get()
    return (*everywhere[0]["callbacks"], *unasked) if everywhere else unasked


def has_listeners(config: Mapping[str, Any] | None) -> bool:
    """Whether a run under `config` has anybody to tell; if not, make no manager and no run id.

    Reads `config["callbacks"]`: None, a list of handlers, or a manager (ours or langchain_core's).

    >>> has_listeners({}), has_listeners({"callbacks": []}), has_listeners({"callbacks": [print]})
    (False, False, True)
    """
    callbacks = config.get("callbacks") if config else None
    if not callbacks:
        return False
    if isinstance(callbacks, (list, tuple)):
        return True
    return bool(callbacks.handlers)
