"""Values to bytes and back (skeleton)."""

from typing import Any

import ormsgpack

from plait.checkpoint.serde.registry import GLOBAL, Registry
from plait.errors import CorruptCheckpointError


class Codec:
    """Encode and decode with the types of a registry."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = registry or GLOBAL

    def dumps(self, value: Any) -> bytes:
        """Encode."""
        return ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)

    def loads(self, data: bytes) -> Any:
        """Decode."""
        try:
            return ormsgpack.unpackb(data, option=ormsgpack.OPT_NON_STR_KEYS)
        except ValueError as error:
            raise CorruptCheckpointError(str(error)) from error
