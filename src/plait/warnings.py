"""Warnings of older spellings, under the names that programs filter by, and how they are told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any
from warnings import warn

from plait.common.portable import Portable
from plait.common.reflection import signature
from plait.errors import nearest


class LangGraphDeprecationWarning(Portable, DeprecationWarning):
    """An older spelling was used: it works, and will be gone.

    Args:
        message: what is old, and what to write instead.
        since: the version of the peer that deprecated it.
        expected_removal: the version that removes it (by default the next major one).

    >>> str(LangGraphDeprecationWarning("`a` is deprecated.", since=(0, 7)))
    '`a` is deprecated. Deprecated in LangGraph V0.7 to be removed in V1.0.'
    """

    def __init__(
        self,
        message: str,
        *args: object,
        since: tuple[int, int],
        expected_removal: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message, *args)
        self.message = message.rstrip(".")
        self.since = since
        self.expected_removal = expected_removal or (since[0] + 1, 0)

    def __str__(self) -> str:
        (major, minor), (removed, point) = self.since, self.expected_removal
        return (
            f"{self.message}. Deprecated in LangGraph V{major}.{minor} to be removed in "
            f"V{removed}.{point}."
        )


class LangGraphDeprecatedSinceV05(LangGraphDeprecationWarning):
    """Deprecated since LangGraph 0.5."""

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(0, 5), expected_removal=(2, 0))


class LangGraphDeprecatedSinceV10(LangGraphDeprecationWarning):
    """Deprecated since LangGraph 1.0."""

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(1, 0), expected_removal=(2, 0))


class LangGraphDeprecatedSinceV11(LangGraphDeprecationWarning):
    """Deprecated since LangGraph 1.1."""

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(1, 1), expected_removal=(3, 0))


class BetaWarning(DeprecationWarning):
    """Something was used that the peer calls experimental: it may change with the peer.

    >>> issubclass(BetaWarning, DeprecationWarning)
    True
    """


RENAMED: dict[str, tuple[str, Callable[[str], LangGraphDeprecationWarning]]] = {
    "checkpoint_during": ("durability", LangGraphDeprecatedSinceV10),
    "config_schema": ("context_schema", LangGraphDeprecatedSinceV10),
    "config_type": ("context_schema", LangGraphDeprecatedSinceV10),
    "input": ("input_schema", LangGraphDeprecatedSinceV05),
    "output": ("output_schema", LangGraphDeprecatedSinceV05),
    "retry": ("retry_policy", LangGraphDeprecatedSinceV05),
}
"""Older keyword: its new name, and what warns of it."""


_RUNNERS = ("asyncio", "concurrent", "threading")
"""What runs a task of an event loop, or a thread."""


def program_level() -> int:
    """The `stacklevel` by which the caller's warning points at the program, however deep in plait
    the caller is; at the caller itself if it runs where the program is not on the stack."""
    level, frame = 0, inspect.currentframe()
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package != "plait":
            return 1 if package in _RUNNERS else level
        level, frame = level + 1, frame.f_back
    return 1


def warn_renamed(old: str, *, stacklevel: int = 2) -> None:
    """Warn that an older keyword was used.

    Args:
        old: a key of `RENAMED`.
        stacklevel: 2 points at the caller of the caller of this function.
    """
    new, category = RENAMED[old]
    warn(
        category(f"`{old}` is deprecated and will be removed. Please use `{new}` instead."),
        stacklevel=stacklevel + 1,
    )


def take_renamed(
    who: str,
    older: Mapping[str, Any],
    accepted: tuple[str, ...],
    of: Callable[..., Any] | None = None,
    **given: Any,
) -> dict[str, Any]:
    """The arguments of a call, with those given by their older names.

    Args:
        who: the function that was called.
        older: its left-over keywords.
        accepted: the older names that it knows.
        of: the function itself, for the names that it knows (default: those of `given`).
        given: the arguments under their new names; one that was given wins over its older name.

    Raises:
        TypeError: a keyword that nobody knows.

    >>> take_renamed("f()", {}, ("retry",), retry_policy=1)
    {'retry_policy': 1}
    """
    for old, value in older.items():
        if old not in accepted:
            names = given if of is None else _names_of(of)
            raise TypeError(
                f"{who} got an unexpected keyword argument {old!r}. {nearest(old, names)}"
            )
        warn_renamed(old, stacklevel=3)
        new = RENAMED[old][0]
        if given[new] is None:
            given[new] = value
    return given


def _names_of(function: Callable[..., Any]) -> list[str]:
    """The keywords of a function."""
    parameters = signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]


__all__ = [
    "BetaWarning",
    "LangGraphDeprecatedSinceV05",
    "LangGraphDeprecatedSinceV10",
    "LangGraphDeprecatedSinceV11",
    "LangGraphDeprecationWarning",
]
