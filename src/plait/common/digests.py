"""Hashes of plain data, made in C: equal ones mean equal data of equal types."""

from __future__ import annotations

import marshal
import re
from typing import Any

_VERSION = 0
"""Writes neither references nor interning flags, so equal data gives equal bytes."""
_BYTES = re.compile(rb"s(?=(...\0))", re.DOTALL)
"""What `marshal` puts before bytes, and before whatever else is a buffer: a mark, and the size."""
_SIZES = 1 << 24
"""From here on, a size may have no zero at its end."""


def plain_hash(value: Any) -> int | None:
    """A hash of what plain data holds, for this process; None where there may be more than that.

    Arrays, of numpy too, and bytearrays are more: `marshal` takes them for bytes, whatever their
    type and shape. So are bytes, since it does not tell them apart.

    >>> plain_hash({"a": [1]}) == plain_hash({"a": [1]})
    True
    >>> plain_hash({"a": [1]}) == plain_hash({"a": [True]})
    False
    >>> plain_hash([bytearray(b"a")])
    """
    try:
        data = marshal.dumps(value, _VERSION)
    except ValueError:
        return None
    return None if _may_hold_buffer(data) else hash(data)


def _may_hold_buffer(data: bytes) -> bool:
    size = len(data)
    if size >= _SIZES:
        return True
    for found in _BYTES.finditer(data):
        if found.end() + 4 + int.from_bytes(found[1], "little") <= size:
            return True
    return False
