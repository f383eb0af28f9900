"""The envelope of a stored record: what it is, which format, and proof that it belongs here.

    magic "plt" (3) | version (1) | kind (1) | digest (16) | payload

- **version**: the format of the envelope. A newer one is refused by name.
- **kind**: the low six bits say what the payload is (the log numbers its own kinds, 0 to 63).
  Bit 0x40 (`COMPRESSED`) says that the payload is compressed; whoever opens a record reads it from
  the kind. Bit 0x80 (`ENCRYPTED`) says that it is encrypted (AEAD, bound to the same place); it is
  set and taken off here.
- **digest**: keyed by nothing, so it proves integrity and place, not authorship. It is BLAKE2b-128
  over version, kind, the length-prefixed place, and payload: a record copied to another thread,
  namespace, checkpoint or channel does not open there.

Whoever can write to the database can make that digest anew. Where a `Guard` stands at a place, the
payload is encrypted, and its authenticity depends on the key and on what the digest covers: moved
elsewhere, it opens for nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Protocol

from plait.errors import CorruptCheckpointError

MAGIC = b"plt"
VERSION = 1
ENCRYPTED = 0x80
"""The bit of `kind` that marks an encrypted payload."""
COMPRESSED = 0x40
"""The bit of `kind` that marks a compressed payload."""

_DIGEST = 16
_HEAD = len(MAGIC) + 2
_OVERHEAD = _HEAD + _DIGEST
_START = MAGIC + bytes([VERSION])
_HEADS = [_START + bytes([kind]) for kind in range(256)]


class Guard(Protocol):
    """Encrypts the payloads of records, and binds them to what they belong to."""

    def close(self, payload: bytes, bound: bytes) -> bytes:
        """The payload, encrypted; only `open` with the same `bound` gives it back."""
        ...

    def open(self, payload: bytes, bound: bytes) -> bytes:
        """The payload of what `close` gave. Raises CorruptCheckpointError."""
        ...


class Guarded(bytes):
    """A place at which a guard stands, as it does at all places below."""

    guard: Guard

    def __add__(self, more: Any, /) -> bytes:
        return guarded(bytes.__add__(self, more), self.guard)


def guarded(place: bytes, guard: Guard | None) -> bytes:
    """The place, with a guard at it where there is one."""
    if guard is None:
        return place
    made = Guarded(place)
    made.guard = guard
    return made


def place(*parts: str) -> bytes:
    """The bytes that identify where a record lives, such as thread, namespace and channel.

    Each part is prefixed by its length, so that different parts never give the same bytes.

    >>> place("t", "") != place("", "t")
    True
    """
    if len(parts) != 1:
        return b"".join(map(place, parts))
    raw = parts[0].encode("utf-8", "surrogatepass")
    size = len(raw)
    return (_LENGTHS[size] if size < 256 else size.to_bytes(4, "big")) + raw


_LENGTHS = [length.to_bytes(4, "big") for length in range(256)]
"""Those of most parts: to look one up costs less than to make it."""
_LONG_LENGTHS = [length.to_bytes(8, "big") for length in range(256)]
"""Those of most places."""


_BEGUN = blake2b(digest_size=_DIGEST, person=b"plait")
"""To copy it costs less than to make one."""


def _digest(head: bytes, where: bytes, payload: bytes) -> bytes:
    digest = _BEGUN.copy()
    size = len(where)
    length = _LONG_LENGTHS[size] if size < 256 else size.to_bytes(8, "big")
    digest.update(b"".join((head, length, where, payload)))
    return digest.digest()


def seal(kind: int, place: bytes, payload: bytes) -> bytes:
    """Wrap a payload into a record that only opens at `place`.

    Args:
        kind: What the payload is, 0 to 255 (see the module's head for the two flag bits).
        place: Where the record will live, from `place()`.
        payload: The bytes to keep.

    Returns:
        The record.

    >>> unseal(place("t", "ns"), seal(3, place("t", "ns"), b"data"))
    (3, b'data')
    """
    if type(place) is Guarded:
        kind |= ENCRYPTED
        payload = place.guard.close(payload, _HEADS[kind] + bytes(place))
    head = _HEADS[kind]
    return b"".join((head, _digest(head, place, payload), payload))


def unseal(place: bytes, record: bytes) -> tuple[int, bytes]:
    """Open a record that was sealed at `place`.

    Returns:
        (kind, payload).

    Raises:
        CorruptCheckpointError: The record is truncated, foreign, of a newer version, damaged, or
            was written for another place; it is encrypted, and nobody here has the key, or it is
            not, and everything here is. The message says which.
    """
    head = record[:_HEAD]
    if head[:4] == _START and record[_HEAD:_OVERHEAD] == _digest(
        head, place, payload := record[_OVERHEAD:]
    ):
        kind = head[4]
        if kind & ENCRYPTED or type(place) is Guarded:
            return kind & ~ENCRYPTED, _opened(head, place, payload)
        return kind, payload
    raise CorruptCheckpointError(_why(record))


def unseal_all(
    kind: int, before: bytes, names: Sequence[bytes], after: bytes, records: Sequence[bytes]
) -> list[bytes | None]:
    """Open many records of one kind, at the price of their digests.

    Args:
        kind: what they should be.
        before: their places up to where they differ; no guard stands there.
        names: where they differ, each of the same length.
        after: the rest of their places.
        records: the records.

    Returns:
        The payloads; None where a record is another thing, or `unseal` complains of it.

    >>> record = seal(3, place("t", "ns"), b"data")
    >>> unseal_all(3, place("t"), [place("ns")], b"", [record])
    [b'data']
    """
    head = _HEADS[kind]
    length = len(before) + len(after) + (len(names[0]) if names else 0)
    empty = _BEGUN.copy()
    empty.update(b"".join((head, length.to_bytes(8, "big"), before)))
    payloads: list[bytes | None] = []
    for name, record in zip(names, records, strict=True):
        payload = record[_OVERHEAD:]
        digest = empty.copy()
        digest.update(b"".join((name, after, payload)))
        payloads.append(payload if record[:_OVERHEAD] == head + digest.digest() else None)
    return payloads


def unseal_each(kind: int, places: Sequence[bytes], records: Sequence[bytes]) -> list[bytes | None]:
    """Like `unseal_all`, of records at places of any length; no guard stands there.

    >>> record = seal(3, place("t", "ns"), b"data")
    >>> unseal_each(3, [place("t", "ns"), place("other")], [record, record])
    [b'data', None]
    """
    head = _HEADS[kind]
    begun = _BEGUN.copy()
    begun.update(head)
    payloads: list[bytes | None] = []
    for where, record in zip(places, records, strict=True):
        size, payload = len(where), record[_OVERHEAD:]
        length = _LONG_LENGTHS[size] if size < 256 else size.to_bytes(8, "big")
        digest = begun.copy()
        digest.update(b"".join((length, where, payload)))
        payloads.append(payload if record[:_OVERHEAD] == head + digest.digest() else None)
    return payloads


def proof(record: bytes) -> bytes:
    """What tells a record from all others: its kind, and its digest over all that it says."""
    return record[:_OVERHEAD]


def _opened(head: bytes, place: bytes, payload: bytes) -> bytes:
    """The payload of an encrypted record. What is not encrypted has no place beside such."""
    if type(place) is not Guarded:
        raise CorruptCheckpointError(
            "A stored record is encrypted. Open the database with the EncryptedSerializer that "
            "wrote it: SqliteSaver(path, serde=EncryptedSerializer.from_keys({...})); on the "
            "command line, set PLAIT_AES_KEY, or name the graph that has this saver (--graph)."
        )
    if not head[4] & ENCRYPTED:
        raise CorruptCheckpointError(
            "A stored record is not encrypted as a whole and bound to its place, and this saver "
            "reads nothing else. It was stored before encryption was turned on, by a development "
            "version of plait before 0.1.0, or put there by somebody. Read it with the saver that "
            "wrote it, or start a new thread."
        )
    return place.guard.open(payload, head + bytes(place))


def peek(record: bytes) -> bytes:
    """The payload of a record, without the proof of `unseal`: to search among many, before those
    that are used are unsealed.

    Raises:
        CorruptCheckpointError: The record is truncated, foreign, or of a newer version.
    """
    if record[:4] == _START and len(record) >= _OVERHEAD:
        return record[_OVERHEAD:]
    raise CorruptCheckpointError(_why(record))


def _why(record: bytes) -> str:
    """Why a record was refused, for the error message."""
    if not record:
        return "A stored record is empty (truncated). Restore the database from a backup."
    if not record.startswith(MAGIC[: len(record)]):
        return (
            f"A stored record was not written by plait: it starts with {record[:4]!r}, not with "
            f"{MAGIC!r}. Is this another program's database or table?"
        )
    if len(record) < _OVERHEAD:
        return (
            f"A stored record is truncated: {len(record)} bytes, at least {_OVERHEAD} expected. "
            "Restore the database from a backup."
        )
    if record[3] > VERSION:
        return (
            f"A stored record has format version {record[3]}; this plait reads up to {VERSION}. "
            "It was written by a newer plait (upgrade), or it is damaged."
        )
    return (
        "A stored record is damaged, truncated, or was moved here from another thread, namespace, "
        "checkpoint or channel: its digest does not match. Restore the database from a backup."
    )
