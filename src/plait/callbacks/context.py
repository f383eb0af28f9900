"""The config that children of the running code inherit, and whether anybody listens to it.

Kept apart and free of imports: every run asks these two questions, most runs need nothing more.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from plait.scope import current_scope

var_child_runnable_config: ContextVar[Mapping[str, Any] | None] = ContextVar(
    "child_runnable_config", default=None
)
"""The config of the code that runs now; what it invokes without a config inherits this one."""


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
    return config


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
