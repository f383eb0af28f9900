"""Handlers that libraries register once, to hear what runs wherever their context variable says."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from plait.callbacks.context import everywhere
from plait.errors import ConfigError


def register_configure_hook(
    context_var: ContextVar[Any],
    inheritable: bool,
    handle_class: Callable[[], Any] | None = None,
    env_var: str | None = None,
) -> None:
    """Let the handler in a context variable hear every run that starts while it is there.

    Libraries that trace call it when they are imported, and set the variable for a block of code.

    Args:
        context_var: Holds the handler, or None.
        inheritable: Accepted for compatibility: runs inside others see the variable as well.
        handle_class: Makes the handler where the variable has none and `env_var` says so.
        env_var: An environment variable; anything but "", "0" and "false" asks for a handler of
            `handle_class`.

    Raises:
        ConfigError: `env_var` without `handle_class` (also a ValueError).

    >>> from plait.runnables import RunnableLambda
    >>> from plait.tracing import RunCollectorCallbackHandler
    >>> collecting = ContextVar("collecting", default=None)
    >>> register_configure_hook(collecting, True)
    >>> token = collecting.set(RunCollectorCallbackHandler())
    >>> _ = RunnableLambda(len).invoke("four")
    >>> [run.name for run in collecting.get().traced_runs]
    ['len']
    >>> collecting.reset(token)
    """
    del inheritable
    if env_var is not None and handle_class is None:
        raise ConfigError(
            f"env_var={env_var!r} asks for a handler, and nothing makes one: give handle_class, "
            "the handler's class."
        )
    made: list[Any] = []

    def handler() -> Any:
        found = context_var.get()
        if found is None and env_var is not None and _is_on(env_var):
            if not made and handle_class is not None:
                made.append(handle_class())
            found = made[0]
        return found

    everywhere.append(handler)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0", "false", "False")


__all__ = ["register_configure_hook"]
