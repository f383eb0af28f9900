"""Recognising `Overwrite`, in its object form and in its wire form."""

from __future__ import annotations

from typing import Any, cast

from plait.types import Overwrite

MAY_OVERWRITE = frozenset({Overwrite, dict})
"""The types of values that might say "replace what is there"."""
_KEY = "__overwrite__"


def overwritten(update: Any) -> tuple[bool, Any]:
    """Whether `update` replaces the value, and with what.

    >>> overwritten(Overwrite(3)), overwritten({"__overwrite__": 3}), overwritten(3)
    ((True, 3), (True, 3), (False, None))
    """
    if type(update) is Overwrite:
        return True, update.value
    if type(update) is dict and _KEY in update and len(cast(dict[str, Any], update)) == 1:
        return True, cast(dict[str, Any], update)[_KEY]
    return False, None
