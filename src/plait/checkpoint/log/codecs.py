"""Which codec a saver's values go through: plait's, or one over a serializer given by the user.

A serializer with a `guard` encrypts: the codec is that of the serializer inside it, and its records
are encrypted as a whole (see `serde.envelope`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import ormsgpack

from plait.checkpoint.base import SerializerProtocol
from plait.checkpoint.serde import Codec, Guard, Recipes, Registry
from plait.checkpoint.serde.codec import noted
from plait.errors import CorruptCheckpointError, StorageError


class TypedCodec(Codec):
    """A codec over a serializer that gives (tag, bytes)."""

    embeds = False

    def __init__(self, serde: SerializerProtocol, registry: Registry | None = None) -> None:
        super().__init__(registry)
        self._serde = serde

    def dumps(self, value: Any) -> bytes:
        """Encode a value and keep the serializer's tag with it."""
        return ormsgpack.packb(self._serde.dumps_typed(value))

    def dumps_packed(self, value: Any, packed: bytes, suspects: list[Any]) -> bytes:
        """As `dumps`: the serializer's bytes are others."""
        return self.dumps(value)

    def comparable(self, value: Any) -> bytes:
        """Plain bytes where plait's codec can: those of a serializer may differ each time."""
        try:
            return super().dumps(value)
        except StorageError:
            return self.dumps(value)

    def loads(self, data: bytes) -> Any:
        """Decode what `dumps` gave."""
        try:
            tag, body = cast("tuple[str, bytes]", ormsgpack.unpackb(data))
        except (ValueError, TypeError) as error:
            raise CorruptCheckpointError(
                "A stored value was not written with this saver's serializer. Open the database "
                "with the serializer that wrote it."
            ) from error
        return self._serde.loads_typed((tag, body))

    def loads_all(self, parts: Sequence[bytes]) -> list[Any]:
        """Decode many values."""
        return [self.loads(part) for part in parts]

    loads_each = loads_all

    def remember(self, parts: Sequence[bytes], recipes: Recipes) -> tuple[list[Any], list[int]]:
        """Decode many lists, and note how their items are made once more."""
        return noted(self.loads_all(parts), recipes, self.recipe)


def codec_for(serde: SerializerProtocol, registry: Registry | None) -> Codec:
    """The codec of a saver.

    Args:
        serde: The saver's serializer.
        registry: The types of one graph, where the serializer is plait's own or stands on it.
    """
    guard: Guard | None = getattr(serde, "guard", None)
    if guard is not None:
        inner: SerializerProtocol = cast("Any", serde).serde
        own = getattr(inner, "codec", None)
        if isinstance(own, Codec):
            codec = Codec(own.registry if registry is None else registry)
        else:
            codec = TypedCodec(inner, registry)
        codec.guard = guard
        return codec
    own = getattr(serde, "codec", None)
    if isinstance(own, Codec):
        if registry is None:
            return own
        if registry.codec is None:
            registry.codec = Codec(registry)
        return registry.codec
    return TypedCodec(serde, registry)
