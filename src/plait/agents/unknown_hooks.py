"""Warns of what middleware defines that is nearly a hook, and says nothing."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any
from warnings import warn

from plait.errors import UnknownHookWarning
from plait.warnings import program_level

_KINDS = (
    *("before_agent", "before_model", "after_model", "after_agent"),
    *("wrap_model_call", "wrap_tool_call"),
)
_HOOKS = (*_KINDS, *(f"a{kind}" for kind in _KINDS))
_NAMES = (*_HOOKS, "state_schema")
"""What an agent looks for in the class of a middleware, under names that can be misspelled."""


def warn_of_unknown_hooks(middleware: Any) -> None:
    """Warn of each name that is nearly a hook's, and of hooks that only the object has.

    Args:
        middleware: The middleware, plait's or LangChain's.
    """
    for found, advice in _unknown(middleware):
        warn(
            f"Middleware {middleware.name!r} has {found!r}, which no agent looks at. {advice}",
            UnknownHookWarning,
            stacklevel=program_level(),
        )


def _unknown(middleware: Any) -> Iterator[tuple[str, str]]:
    classes: tuple[type, ...] = middleware.__class__.__mro__
    base = next(one for one in reversed(classes) if one.__name__ == "AgentMiddleware")
    defined = {name for one in classes[: classes.index(base)] for name in vars(one)}
    for name in sorted(defined - vars(base).keys()):
        near = None if name.startswith("_") else get_close_matches(name, _NAMES, n=1, cutoff=0.8)
        if near and near[0] not in defined:  # else it is a part of that hook
            yield name, f"Did you mean {near[0]!r}?"
    for name in _HOOKS:
        if name in getattr(middleware, "__dict__", ()) and name not in defined:
            yield name, "Hooks are methods of its class: define it there."


__all__ = ["warn_of_unknown_hooks"]
