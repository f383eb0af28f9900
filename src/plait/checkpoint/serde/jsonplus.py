"""`JsonPlusSerializer`: the name that programs import, over plait's codec."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.serde.codec import Codec
from plait.checkpoint.serde.registry import GLOBAL, Registry, known_types
from plait.errors import CorruptCheckpointError, PlaitWarning

if TYPE_CHECKING:
    from typing import Self

TAG = "plait"
"""The tag of values written here."""


class JsonPlusSerializer:
    """Tagged bytes over plait's codec. Nothing it reads is ever executed or imported.

    Args:
        pickle_fallback: Accepted for old programs, with a warning: plait never pickles. Register
            the types instead.
        allowed_json_modules: Accepted for old programs; there is nothing to allow.
        allowed_msgpack_modules: Classes that may be stored, or (module, name) pairs of loaded ones.
        codec: The codec to use; by default one over the global registry.

    >>> serde = JsonPlusSerializer()
    >>> serde.loads_typed(serde.dumps_typed({"a": (1, {2})}))
    {'a': (1, {2})}
    """

    def __init__(
        self,
        *,
        pickle_fallback: bool = False,
        allowed_json_modules: object = None,
        allowed_msgpack_modules: object = None,
        codec: Codec | None = None,
    ) -> None:
        if pickle_fallback:
            warnings.warn(
                "pickle_fallback=True has no effect: plait never pickles. Register the types that "
                "you store: plait.checkpoint.serde.register(mymodule.Thing).",
                PlaitWarning,
                stacklevel=2,
            )
        self.codec = codec or Codec(GLOBAL)
        if isinstance(allowed_msgpack_modules, Iterable):
            registry = self.codec.registry.child()
            _allow(registry, cast("Iterable[Any]", allowed_msgpack_modules))
            self.codec = Codec(registry)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[Any]) -> Self:
        """A copy that also knows these classes, or (module, name) pairs of loaded ones; the
        serializer itself if there are none."""
        extra = [*extra_allowlist]
        if not extra:
            return self
        clone = copy(self)
        registry = self.codec.registry.child()
        _allow(registry, extra)
        clone.codec = Codec(registry)
        return clone

    def _codec_at_hand(self) -> Codec:
        """The codec; where a saver asks for a graph, one that knows the graph's types, too."""
        registry = known_types.get()
        return self.codec if registry is None else self.codec.knowing(registry)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value as (tag, bytes).

        Raises:
            UnregisteredTypeError: The value contains an object of an unregistered type.
        """
        return TAG, self._codec_at_hand().dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of (tag, bytes).

        Raises:
            CorruptCheckpointError: The bytes are damaged, or of a format that plait does not read.
        """
        tag, raw = data
        if tag == TAG:
            return self._codec_at_hand().loads(raw)
        if tag == "null":
            return None
        if tag == "bytes":
            return bytes(raw)
        if tag == "bytearray":
            return bytearray(raw)
        raise CorruptCheckpointError(
            f"A stored value has the format {tag!r}, which plait does not read; it was written by "
            "another program, such as LangGraph. Start a new thread, or migrate the old one."
        )


def types_of(serde: object) -> Registry:
    """The types that a serializer knows, if it is plait's or encrypts what plait's gives."""
    while serde is not None:
        codec = getattr(serde, "codec", None)
        if isinstance(codec, Codec):
            return codec.registry
        serde = getattr(serde, "serde", None)
    return GLOBAL


def _allow(registry: Registry, allowed: Iterable[Any]) -> None:
    """Register classes given as themselves, or as (module, name) pairs whose module is loaded, and
    those that the annotations of these name: a model comes with the models inside it."""
    for item in allowed:
        found = item if isinstance(item, type) else _loaded(item)
        if isinstance(found, type):
            if registry.by_type(cast("type[Any]", found)) is None:
                registry.register(cast("type[Any]", found))
            registry.register_schema(found)


def _loaded(path: Any) -> Any:
    module, *names = path
    found: Any = sys.modules.get(module)
    for name in names:
        found = getattr(found, name, None)
    return found
