"""What is a runnable, plait's or another's."""

from __future__ import annotations

from typing import Any


def is_runnable(value: Any) -> bool:
    """Whether it is a Runnable, plait's or another's, by its class: a `Mock` has any attribute that
    it is asked for.

    >>> from unittest.mock import Mock
    >>> is_runnable(Mock()), is_runnable(len)
    (False, False)
    """
    kind = value.__class__
    return hasattr(kind, "invoke") and hasattr(kind, "ainvoke")


__all__ = ["is_runnable"]
