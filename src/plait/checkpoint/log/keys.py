"""Ids as the storage keeps them: the 16 bytes of a UUID instead of its 36 characters.

A step's rows name ids several times (row, index, parent, task), so half a kilobyte per step hangs
on this. Order is kept: packed UUIDs sort as their text does, which time-ordered checkpoint ids
need. An id that is no canonical UUID is kept as text behind a marker byte.
"""

from binascii import hexlify
from collections.abc import Sequence
from functools import lru_cache
from struct import Struct

from plait.errors import CorruptCheckpointError

UUID = 16
"""How long a packed UUID is."""
UUID_TEXT = 36
"""And its text."""
_GROUPS = Struct("8s4s4s4s12s")
_TEXT = b"\xff"


@lru_cache(maxsize=64)  # a step packs the same few ids several times
def pack(text: str) -> bytes:
    """The stored form of an id.

    >>> unpack(pack("1ef4f797-8335-6428-8001-8a1503f9b875"))
    '1ef4f797-8335-6428-8001-8a1503f9b875'
    >>> unpack(pack("my-id"))
    'my-id'
    """
    if len(text) == 36 and text[8:24:5] == "----":
        bare = text.replace("-", "")
        try:
            raw = bytes.fromhex(bare)
        except ValueError:
            raw = b""
        if len(raw) == 16 and raw.hex() == bare:
            return raw
    raw = _TEXT + text.encode("utf-8", "surrogatepass")
    return raw + b"\0" if _needs_end(raw) else raw


def _needs_end(raw: bytes) -> bool:
    """Whether a zero byte goes behind a text: 16 bytes always mean a UUID, and a text that goes on
    with zeros after its 16 bytes is not one of 16 bytes with that zero."""
    return len(raw) >= UUID and not raw[UUID:].strip(b"\0")


@lru_cache(maxsize=512)  # a page of a history names each of its ids several times
def unpack(key: bytes) -> str:
    """The id behind a stored key.

    Raises:
        CorruptCheckpointError: `key` was never made by `pack`.
    """
    if len(key) == 16:
        h = key.hex()
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
    if key[:1] != _TEXT:
        raise CorruptCheckpointError(f"A stored id is damaged: {key[:40]!r}.")
    raw = key[1:-1] if _needs_end(key) else key[1:]
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise CorruptCheckpointError(f"A stored id is damaged: {key[:40]!r}.") from error


def unpack_all(keys: Sequence[bytes]) -> list[bytes]:
    """The texts, in ASCII, of ids that are packed UUIDs.

    >>> unpack_all([pack("1ef4f797-8335-6428-8001-8a1503f9b875")])
    [b'1ef4f797-8335-6428-8001-8a1503f9b875']
    """
    return [b"-".join(groups) for groups in _GROUPS.iter_unpack(hexlify(b"".join(keys)))]


def texts_of(keys: Sequence[bytes]) -> list[str]:
    """The ids behind stored keys, as `unpack` says them: most often packed UUIDs, of which many are
    unpacked together.

    >>> texts_of([pack("1ef4f797-8335-6428-8001-8a1503f9b875"), pack("my-id")])
    ['1ef4f797-8335-6428-8001-8a1503f9b875', 'my-id']
    """
    if {*map(len, keys)} == {UUID}:
        return [*map(bytes.decode, unpack_all(keys))]
    return [*map(unpack, keys)]
