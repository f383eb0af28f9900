"""Handlers that hear every run that starts inside a `with` block."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from plait.callbacks.context import (
    block_handlers,
    inherited_config,
    var_child_runnable_config,
)


@contextmanager
def listening(handler: Any) -> Generator[None, None, None]:
    """Let a handler hear every run that starts inside the `with` block."""
    from plait.callbacks.manager import CallbackManager  # nobody listening needs no manager

    around = inherited_config() or {}
    manager = CallbackManager.adopt(around.get("callbacks"))
    manager.add_handler(handler)
    heard = block_handlers.set((*block_handlers.get(), handler))
    inherited = var_child_runnable_config.set({**around, "callbacks": manager})
    try:
        yield
    finally:
        var_child_runnable_config.reset(inherited)
        block_handlers.reset(heard)


__all__ = ["listening"]
