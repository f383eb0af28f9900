"""Where items are: which labels and keys may be used, how namespaces sort as bytes and match."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from plait.errors import InvalidNamespaceError, InvalidStoreOpError
from plait.store.base.items import (
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Namespace,
    Op,
    PutOp,
    SearchOp,
)

RESERVED = "langgraph"
"""The root label that no item may be put below."""
_MOST = (1 << 62) - 1
"""No limit or offset is larger: twice as much is a number that databases hold."""
_Paged = TypeVar("_Paged", SearchOp, ListNamespacesOp)


def checked(namespace: Any) -> Namespace:
    """The namespace as a tuple of labels.

    Raises:
        InvalidNamespaceError: It is no sequence of labels, or a label is empty, no string, has a
            "." or a NUL in it, or cannot be written as UTF-8.
    """
    if namespace.__class__ is tuple:
        try:
            packed(namespace)  # looks at each label, once
        except TypeError:  # of a label without a hash, which is no text either
            packed.__wrapped__(namespace)
        return namespace
    if isinstance(namespace, str) or not isinstance(namespace, Sequence):
        label = f"({namespace!r},)" if isinstance(namespace, str) else "('users', user_id)"
        raise InvalidNamespaceError(
            f"A namespace is a tuple of labels, not {namespace!r}. Write {label}."
        )
    return checked(tuple(cast("Sequence[Any]", namespace)))


@lru_cache(maxsize=4096)  # programs come back to few namespaces, and a refusal is not kept
def packed(namespace: Namespace) -> bytes:
    """The namespace as bytes that sort as the tuple does, its descendants right behind it.

    Each label ends with a NUL, which no label can hold, so that ("acme",) is no prefix of
    ("acme-corp",).

    >>> packed(("acme", "users")).startswith(packed(("acme",)))
    True
    >>> packed(("acme-corp",)).startswith(packed(("acme",)))
    False
    """
    return b"".join([_packed_label(label, namespace) for label in namespace])


def unpacked(data: bytes) -> Namespace:
    """The namespace of `packed` bytes."""
    return tuple(data.decode("utf-8").split("\0")[:-1])


known = lru_cache(maxsize=1024)(unpacked)
"""Of items that were found, many are in one namespace."""


def _packed_label(label: Any, namespace: Namespace) -> bytes:
    if not isinstance(label, str):
        raise InvalidNamespaceError(
            f"Labels of a namespace are strings, but {label!r} in {namespace!r} is of type "
            f"{type(label).__name__}."
        )
    for bad, name in (("", "be empty"), (".", "hold a period"), ("\0", "hold a NUL")):
        if label == bad or (bad and bad in label):
            raise InvalidNamespaceError(
                f"Label {label!r} of namespace {namespace!r} may not {name}."
            )
    try:
        return label.encode("utf-8") + b"\0"
    except UnicodeEncodeError as error:
        raise InvalidNamespaceError(
            f"Label {label!r} of namespace {namespace!r} is no valid text ({error.reason})."
        ) from error


def checked_key(key: Any) -> str:
    """A key as text.

    Raises:
        InvalidStoreOpError: It is None, or no valid text.
    """
    if key is None:
        raise InvalidStoreOpError("A key is a string, not None.")
    text = key if key.__class__ is str else str(key)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidStoreOpError(f"Key {text!r} is no valid text ({error.reason}).") from error
    return text


def checked_for_put(namespace: Any) -> Namespace:
    """Like `checked`, and neither empty nor reserved."""
    namespace = checked(namespace)
    if not namespace:
        raise InvalidNamespaceError(
            "An item needs a namespace of at least one label, such as ('users', user_id)."
        )
    if namespace[0] == RESERVED:
        raise InvalidNamespaceError(
            f"The root label {RESERVED!r} of namespace {namespace!r} is reserved. Use another one."
        )
    return namespace


def validate_op_namespace(op: Op) -> None:
    """Check the labels of whatever namespaces an operation names.

    Raises:
        InvalidNamespaceError: A label may not be used.
    """
    if isinstance(op, GetOp | PutOp):
        checked(op.namespace)
    elif isinstance(op, SearchOp):
        checked(op.namespace_prefix)
    else:
        for condition in op.match_conditions or ():
            checked(condition.path)


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Whether a namespace begins or ends as a condition says.

    >>> matches(("users", "1", "notes"), MatchCondition("prefix", ("users", "*")))
    True
    >>> matches(("acme-corp",), MatchCondition("prefix", ("acme",)))
    False
    """
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    return all(label in ("*", found) for label, found in zip(path, part, strict=True))


def literal_prefix(op: ListNamespacesOp) -> Namespace:
    """The longest prefix without wildcards that every result must have."""
    found: Namespace = ()
    for condition in op.match_conditions or ():
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            literal = path[: path.index("*")] if "*" in path else path
            found = max(found, literal, key=len)
    return found


def enough(op: ListNamespacesOp) -> int:
    """How many namespaces with its literal prefix an operation needs, in order (-1: all)."""
    conditions = op.match_conditions or ()
    if op.max_depth is not None or any(
        c.match_type != "prefix" or "*" in c.path for c in conditions
    ):
        return -1
    return op.offset + op.limit if op.limit >= 0 else -1


def listing(op: ListNamespacesOp, namespaces: list[Namespace]) -> list[Namespace]:
    """What an operation lists of all namespaces, which come in order.

    Raises:
        InvalidStoreOpError: An unknown kind of condition, or a negative offset or depth.
    """
    for condition in op.match_conditions or ():
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidStoreOpError(
                f"Namespaces are matched by 'prefix' or 'suffix', not {condition.match_type!r}."
            )
    if op.max_depth is not None:
        if not isinstance(cast("Any", op.max_depth), int):
            raise InvalidStoreOpError(f"max_depth is {op.max_depth!r}: a whole number, or None.")
        if op.max_depth < 0:
            raise InvalidStoreOpError(f"max_depth is {op.max_depth}; it cannot be negative.")
    found = namespaces
    for condition in op.match_conditions or ():
        found = _meeting(found, MatchCondition(condition.match_type, tuple(condition.path)))
    if op.max_depth is not None:
        depth = op.max_depth
        found = list(dict.fromkeys([n[:depth] for n in found]))
    return page(found, op.limit, op.offset)


def _meeting(namespaces: list[Namespace], condition: MatchCondition) -> list[Namespace]:
    """The namespaces that meet a condition."""
    kind, path = condition
    if not path:
        return namespaces
    if "*" in path:
        return [n for n in namespaces if matches(n, condition)]
    size = len(path)
    if kind == "prefix":
        return [n for n in namespaces if n[:size] == path]
    return [n for n in namespaces if n[-size:] == path]


def page(found: list[Any], limit: int, offset: int) -> list[Any]:
    """A slice of results; a negative limit is none."""
    return found[offset:] if limit < 0 else found[offset : offset + limit]


def paged(op: _Paged) -> _Paged:
    """An operation whose limit and offset are numbers that every database can hold.

    Raises:
        InvalidStoreOpError: They are no whole numbers, or the offset is negative.
    """
    limit, offset = op.limit, op.offset
    if limit.__class__ is int and offset.__class__ is int and 0 <= offset < _MOST > abs(limit):
        return op
    if not (isinstance(limit, int) and isinstance(offset, int) and offset >= 0):  # pyright: ignore
        raise InvalidStoreOpError(
            f"limit={limit!r}, offset={offset!r}: both are whole numbers, the offset not negative; "
            "a limit of -1 means all."
        )
    return op._replace(limit=max(-1, min(int(limit), _MOST)), offset=min(int(offset), _MOST))
