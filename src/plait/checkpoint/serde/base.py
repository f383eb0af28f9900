"""What a serializer is: the protocol that savers' `serde=` follows."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SerializerProtocol(Protocol):
    """Turns values into tagged bytes and back."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value as (tag, bytes); the tag names the format."""
        ...

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of (tag, bytes)."""
        ...
