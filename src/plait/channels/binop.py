"""`BinaryOperatorAggregate`: folds every update into the value with a reducer."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Sequence
from operator import add
from typing import Any, get_origin

from plait.channels.base import Held
from plait.channels.overwrite import MAY_OVERWRITE, overwritten
from plait.common.failures import note
from plait.errors import InvalidUpdateError
from plait.typing import MISSING

_NOT: tuple[bool, Any] = (False, None)
"""What `overwritten` says of an ordinary update."""
_CONCRETE: dict[Any, type] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Collection: list,
    collections.abc.Iterable: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}


def initial_value(typ: Any) -> Any:
    """The value a reducer starts from: the type called without arguments, else MISSING.

    >>> initial_value(list[int]), initial_value(int), initial_value(Sequence[str])
    ([], 0, [])
    """
    return _empty(_concrete(typ))


def _concrete(typ: Any) -> Any:
    """What to call for an empty value of a declared type."""
    while hasattr(typ, "__metadata__"):  # Annotated[...]
        typ = typ.__origin__
    while hasattr(typ, "__origin__") and getattr(typ, "__name__", "") in _QUALIFIERS:
        typ = typ.__args__[0]
    plain: Any = get_origin(typ) or typ
    return _CONCRETE.get(plain, plain)


def _empty(plain: Any) -> Any:
    try:
        return plain()
    except Exception:  # any type may refuse to be called without arguments
        return MISSING


_QUALIFIERS = frozenset({"Required", "NotRequired", "ReadOnly"})


class BinaryOperatorAggregate(Held):
    """Holds `reducer(value, update)` over all updates, in the deterministic order of tasks.

    Args:
        typ: the declared type; called without arguments it gives the value to start from.
        operator: the reducer, a function of (value, update).
    """

    __slots__ = ("_empty_of", "operator")
    step_scoped = False

    def __init__(self, typ: Any, operator: Callable[[Any, Any], Any]) -> None:
        super().__init__(typ)
        self.operator = operator
        self._empty_of = typ, _concrete(typ)
        """A type, and what to call for an empty value of it."""
        self.value = _empty(self._empty_of[1])

    def __eq__(self, value: object) -> bool:
        if not isinstance(value, BinaryOperatorAggregate):
            return False
        names = {getattr(op, "__name__", "") for op in (self.operator, value.operator)}
        return names == {"<lambda>"} or value.operator == self.operator

    def from_checkpoint(self, checkpoint: Any) -> Held:
        if checkpoint is not MISSING:
            return self.holding(checkpoint)
        if self._empty_of[0] is not self.typ:  # its type was told later
            self._empty_of = self.typ, _concrete(self.typ)
        return self.holding(_empty(self._empty_of[1]))

    def holding(self, value: Any) -> Held:
        if type(self) is not BinaryOperatorAggregate:
            return super().holding(value)
        new = object.__new__(BinaryOperatorAggregate)  # as the general way does, slot by slot
        new.typ, new.key, new.value = self.typ, self.key, value
        new.operator, new._empty_of = self.operator, self._empty_of
        return new

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        current = self.value
        operator = self.operator
        replaced = False
        owned = False
        for update in values:
            found, inner = overwritten(update) if type(update) in MAY_OVERWRITE else _NOT
            if found:
                if replaced:
                    raise InvalidUpdateError(
                        f"Key {self.key!r} received two Overwrite values in one super-step. Only "
                        "one task of a step may overwrite a key."
                    )
                replaced, current = True, inner
            elif replaced:
                continue
            elif current is MISSING:
                current = update
            elif owned and type(update) is list:
                # `add` of lists copies the whole list each time: a fan-out would be quadratic.
                # From the second update on, the list is ours alone and may grow in place.
                current.extend(update)
            else:
                owned = operator is add and type(current) is list and type(update) is list
                try:
                    current = operator(current, update)
                except Exception as error:  # it is the user's: all is said again
                    note(error, self._failed(current, update))
                    raise
        self.value = current
        return True

    def _failed(self, current: Any, update: Any) -> str:
        reducer = getattr(self.operator, "__name__", repr(self.operator))
        return (
            f"Key {self.key!r}: its reducer ({reducer}) could not take the update {update!r:.100} "
            f"({type(update).__name__}) into a value of type {type(current).__name__}. What is "
            "written to the key must be what the reducer takes."
        )
