"""What a serializer is: the protocol that savers' `serde=` follows."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from plait.errors import ConfigTypeError

H = TypeVar("H")


@runtime_checkable
class SerializerProtocol(Protocol):
    """Turns values into tagged bytes and back."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value as (tag, bytes); the tag names the format."""
        ...

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of (tag, bytes)."""
        ...


@runtime_checkable
class UntypedSerializerProtocol(Protocol):
    """Turns values into bytes and back, without a tag."""

    def dumps(self, obj: Any) -> bytes:
        """The value as bytes."""
        ...

    def loads(self, data: bytes) -> Any:
        """The value of bytes."""
        ...


class SerializerCompat(SerializerProtocol):
    """A serializer without tags as one with them: the tag is the name of the value's class."""

    def __init__(self, serde: UntypedSerializerProtocol) -> None:
        self.serde = serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return type(obj).__name__, self.serde.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self.serde.loads(data[1])


def maybe_add_typed_methods(
    serde: SerializerProtocol | UntypedSerializerProtocol,
) -> SerializerProtocol:
    """A serializer with tags: the given one, or one over it."""
    return serde if isinstance(serde, SerializerProtocol) else SerializerCompat(serde)


def checked_serde(serde: Any) -> SerializerProtocol:
    """A serializer that a saver is given, with tags.

    Raises:
        ConfigTypeError: It is none.
    """
    is_one = isinstance(serde, (SerializerProtocol, UntypedSerializerProtocol))
    if isinstance(serde, type) or not is_one:
        kind = cast("type[Any]", serde if isinstance(serde, type) else type(serde))
        given = f"the class {kind.__name__}" if serde is kind else f"of type {kind.__name__}"
        raise ConfigTypeError(
            f"serde= is {given}, which serializes nothing: pass an object with dumps_typed() and "
            "loads_typed(), such as an EncryptedSerializer."
        )
    return maybe_add_typed_methods(serde)


def allowing(holder: H, extra_allowlist: Iterable[Any]) -> H:
    """A shallow copy of what has a serializer, whose serializer also knows these classes; the thing
    itself where there are none, or its serializer knows types by itself."""
    held: Any = holder
    widen = getattr(held.serde, "with_msgpack_allowlist", None)
    serde = held.serde if widen is None else widen(extra_allowlist)
    if serde is held.serde:
        return holder
    clone = copy(held)
    clone.serde = serde
    return cast("H", clone)


class CipherProtocol(Protocol):
    """Encrypts and decrypts bytes, under a cipher's name.

    Use an authenticated cipher. Both methods may take a second argument, `bound: bytes`: associated
    data, without which the ciphertext must not decrypt. Where they do not, plait encrypts a digest
    of it along with the plaintext.
    """

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """The cipher's name and the ciphertext."""
        ...

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """The plaintext of what the named cipher encrypted."""
        ...
