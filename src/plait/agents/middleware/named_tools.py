"""The tools that an option of a middleware names."""

from collections.abc import Iterable
from typing import Any, cast

from plait.errors import ConfigTypeError


def names_of(tools: Any, option: str) -> frozenset[str]:
    """The names of tools, of which each is a tool or its name.

    Args:
        tools: The list.
        option: Where it was given.

    Raises:
        ConfigTypeError: It is no list, or something in it has no name. (A text would be taken for
            the names of its letters.)

    >>> sorted(names_of(["add", "echo"], "tools"))
    ['add', 'echo']
    """
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise ConfigTypeError(f"{option} is a list of tools or their names, not {tools!r:.200}.")
    names = [getattr(one, "name", one) for one in cast("Iterable[Any]", tools)]
    for name in names:
        if not isinstance(name, str):
            raise ConfigTypeError(
                f"{option} has {name!r:.200}, which is no tool and no name of one."
            )
    return frozenset(names)


__all__ = ["names_of"]
