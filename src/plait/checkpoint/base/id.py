"""`uuid6`: ids of checkpoints as objects, under the peer's path."""

from __future__ import annotations

from uuid import UUID

from plait.checkpoint.base.model import new_checkpoint_id

_NODE = (1 << 48) - 1
_SEQUENCE = 0x3FFF


def uuid6(node: int | None = None, clock_seq: int | None = None) -> UUID:
    """A UUID of version 6 (RFC 9562): its text sorts by the time it was made.

    Args:
        node: The last 48 bits; by default random.
        clock_seq: The 14 bits before them; by default random.

    >>> made = uuid6(clock_seq=5)
    >>> made.version, made.clock_seq, str(made) < str(uuid6())
    (6, 5, True)
    """
    bits = UUID(new_checkpoint_id()).int
    if node is not None:
        bits = bits & ~_NODE | node & _NODE
    if clock_seq is not None:
        bits = bits & ~(_SEQUENCE << 48) | (clock_seq & _SEQUENCE) << 48
    return UUID(int=bits)


__all__ = ["UUID", "uuid6"]
