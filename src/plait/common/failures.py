"""Errors of users: as text, and with notes, whatever their classes make of that.

A `__str__` that reads an attribute which was never set, or a frozen dataclass that takes no note,
raises an error of its own: that must not stand in the place of the one which is told.
"""

from __future__ import annotations

from collections.abc import Callable


def said(error: BaseException) -> str:
    """Its message."""
    return _by(str, error)


def shown(error: BaseException) -> str:
    """Its `repr`."""
    return _by(repr, error)


def note(error: BaseException, text: str) -> None:
    """Add a note to it, once."""
    try:
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)
    except Exception:  # a class that sets no attributes: it goes on without
        return


def _by(form: Callable[[BaseException], str], error: BaseException) -> str:
    try:
        return form(error)
    except Exception as broken:
        own = type(error).__name__
        return f"<{form.__name__}() of this {own} raised {type(broken).__name__}>"
