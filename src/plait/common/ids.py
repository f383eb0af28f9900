"""Where new ids come from: one hook, so that a run can be replayed byte for byte.

Message ids are made deep inside reducers, where no run is in sight. They ask `new_id`, which asks
the source that the current context carries (a simulated run, a test) and else makes a random UUID.
"""

from collections.abc import Callable
from contextvars import ContextVar
from os import register_at_fork
from random import Random

id_source: ContextVar[Callable[[], str] | None] = ContextVar("plait_id_source", default=None)
"""The id source of the current context; None means random."""

_chance = Random()
"""Not `random`'s own: a program that seeds that would make the same ids in each of its processes.
Nor the system: to ask it hands the GIL over, a switch of threads for each message of busy loops."""
register_at_fork(after_in_child=_chance.seed)
_TIME = 1 << 48
"""A UUID that sorts by time begins with so many values of it."""
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
"""A random digit as the one that says which kind of UUID it is."""


def new_id() -> str:
    """A new id in UUID form, from the context's source, else random (RFC 9562, version 4).

    >>> len(new_id())
    36
    """
    source = id_source.get()
    if source is not None:
        return source()
    h = f"{_chance.getrandbits(128):032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:]}"


def uuid_form(hex32: str) -> str:
    """32 hex digits in the 8-4-4-4-12 form."""
    return f"{hex32[:8]}-{hex32[8:12]}-{hex32[12:16]}-{hex32[16:20]}-{hex32[20:]}"


def following(id: str, other: str) -> str:
    """An id that sorts after another one, by what comes first in both: the time.

    Args:
        id: The id of which the rest is taken.
        other: The id before. One that is no UUID says nothing of time: then `id` stays as it is.

    >>> following("019a0000-0001-7000-8000-00000000000a", "019b0000-ffff-7000-8000-00000000000b")
    '019b0001-0000-7000-8000-00000000000a'
    """
    try:
        last = int(other[:8] + other[9:13], 16)
    except ValueError:
        return id
    time = f"{(last + 1) % _TIME:012x}"
    return f"{time[:8]}-{time[8:]}{id[13:]}"
