"""Lists that a nested graph was handed by the graph around it: stored as where they are.

A conversation that goes through a nested graph at every turn would else be stored once more each
time, as the input of that run. Only whole lists are borrowed, and only of a version that is stored,
while the list and everything in it is what it was then.
"""

from __future__ import annotations

from typing import Any, Protocol

from plait.checkpoint.log.records import BORROWED, Loan, is_dict, is_list, pack_frame
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.versions import Encoded, ListVersion, Version
from plait.checkpoint.serde import Codec
from plait.constants import NS_SEP


class Lender(Protocol):
    """The session of the graph around a nested one."""

    @property
    def ns(self) -> str: ...

    def stored_list(self, items: list[Any]) -> tuple[str, ListVersion] | None:
        """The channel and version that hold these very items, if that is stored."""
        ...


def is_outer(ns: str, inner: str) -> bool:
    """Whether a namespace lies around another one: only from such is borrowed.

    >>> is_outer("", "a:1"), is_outer("a:1", "a:1|b:2"), is_outer("a:1", "a:1")
    (True, True, False)
    """
    return inner != "" and (ns == "" or inner.startswith(ns + NS_SEP))


def borrowed(codec: Codec, value: Any, key: bytes, lender: Lender) -> Encoded | None:
    """The first version of a channel, or an input, where it holds lists that the lender has stored.

    Returns:
        None where it holds none.

    Raises:
        UnregisteredTypeError: Something beside them is of a type that the registry does not know.
    """
    if is_list(value):
        return _borrowed_list(codec, value, key, lender)
    return _borrowed_dict(codec, value, key, lender) if is_dict(value) else None


def _borrowed_list(codec: Codec, value: list[Any], key: bytes, lender: Lender) -> Encoded | None:
    found = _find(codec, value, lender)
    if found is None:
        return None
    channel, lent, seen = found
    runs = [(key, 0, len(value))]
    version = ListVersion(key, key, 0, seen, runs, lent.size, lent.size)
    loan = Loan(None, lender.ns, channel, lent.id)
    return _encoded(codec.dumps(None), [loan], version, value)


def _borrowed_dict(
    codec: Codec, value: dict[Any, Any], key: bytes, lender: Lender
) -> Encoded | None:
    loans: list[Loan] = []
    rest = value.copy()
    for name, held in value.items():
        if type(name) is str and is_list(held):
            found = _find(codec, held, lender)
            if found is not None:
                rest[name] = None
                loans.append(Loan(name, lender.ns, found[0], found[1].id))
    if not loans:
        return None
    return _encoded(codec.dumps(rest), loans, Version(key, key, 0), value)


def _find(codec: Codec, items: list[Any], lender: Lender) -> tuple[str, ListVersion, Seen] | None:
    found = lender.stored_list(items)
    if found is None:
        return None
    seen = Seen(items, codec)
    return (*found, seen) if seen.begins(found[1].seen) else None


def _encoded(body: bytes, loans: list[Loan], version: Version, value: Any) -> Encoded:
    payload = pack_frame((body, [*map(tuple, loans)]))
    return Encoded(BORROWED, payload, version, value, None, payload)


__all__ = ["Lender", "borrowed", "is_outer"]
