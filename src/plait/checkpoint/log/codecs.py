"""Which codec a saver's values go through: plait's, or one over a serializer given by the user.

A serializer with a `guard` encrypts: the codec is that of the serializer inside it, and its records
are encrypted as a whole (see `serde.envelope`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import ormsgpack

from plait.checkpoint.base import SerializerProtocol
from plait.checkpoint.serde import Codec, Guard, Recipes, Registry
from plait.checkpoint.serde.codec import noted
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.checkpoint.serde.registry import known_types
from plait.errors import CorruptCheckpointError, StorageError


class TypedCodec(Codec):
    """A codec over a serializer that gives (tag, bytes)."""

    embeds = False

    def __init__(self, serde: SerializerProtocol, registry: Registry | None = None) -> None:
        super().__init__(registry)
        self._serde = serde

    def dumps(self, value: Any) -> bytes:
        """Encode a value and keep the serializer's tag with it."""
        return ormsgpack.packb(self._asked(self._serde.dumps_typed, value))

    def _asked(self, method: Callable[[Any], Any], given: Any) -> Any:
        """What a method of the serializer returns. Where that is plait's, or stands on it, it finds
        the types of the graph in the context."""
        token = known_types.set(self.registry)
        try:
            return method(given)
        finally:
            known_types.reset(token)

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
        return self._asked(self._serde.loads_typed, (tag, body))

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
    if guard is not None and not _is_changed(serde):
        inner: SerializerProtocol = cast("Any", serde).serde
        own = _own_codec(inner)
        if own is None:
            codec = TypedCodec(inner, registry)
        else:
            codec = Codec(own.registry if registry is None else registry.beside(own.registry))
        codec.guard = guard
        return codec
    own = _own_codec(serde)
    if own is None:
        return TypedCodec(serde, registry)
    return own if registry is None else own.knowing(registry)


def _own_codec(serde: SerializerProtocol) -> Codec | None:
    """plait's codec, if all that the serializer does is to call it."""
    own = None if _is_changed(serde) else getattr(serde, "codec", None)
    return own if isinstance(own, Codec) else None


def _is_changed(serde: SerializerProtocol) -> bool:
    """Whether a serializer derives from one of plait's, and does more than that (or an object had
    its methods replaced): a class that adds encryption, say, is to be called for every value."""
    for base in (JsonPlusSerializer, EncryptedSerializer):
        if isinstance(serde, base):
            dumps, loads = serde.dumps_typed, serde.loads_typed
            return (
                getattr(dumps, "__func__", None) is not base.dumps_typed
                or getattr(loads, "__func__", None) is not base.loads_typed
            )
    return False
