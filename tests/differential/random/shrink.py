"""Makes a program smaller while it still shows something; what is smaller of one that is data.

`shrink_text.py` says what is smaller of a program that is text.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .dice import Spec

P = TypeVar("P")
Path = tuple[Any, ...]
TRIES = 300


def shrink(
    program: P,
    smaller: Callable[[P], Iterator[P]],
    shows: Callable[[P], Any],
    tries: int = TRIES,
) -> P:
    """The smallest program found by taking out one part after the other.

    Args:
        program: one that shows what matters.
        smaller: gives every program with one part less, the largest part first.
        shows: tells whether another still shows it.
        tries: how many programs are tried at most.
    """
    while True:
        for found in smaller(program):
            tries -= 1
            if tries < 0:
                return program
            if shows(found):
                program = found
                break
        else:
            return program


@dataclass(frozen=True)
class Parts:
    """What can be taken out of a program that is data: items of lists, and values of keys."""

    emptied: bool = False
    """Whether a key keeps something plain (nothing, an empty list, no) instead of going."""
    kept: frozenset[str] = frozenset()
    """Keys that never go."""
    whole: frozenset[str] = frozenset()
    """Keys whose values are left as they are, or go as a whole."""

    def smaller(self, program: Spec) -> Iterator[Spec]:
        """Every program with one part less, the largest part first."""
        for path, value in sorted(self._places(program, ()), key=lambda at: -len(repr(at[1]))):
            if isinstance(path[-1], int) or not (self.emptied or path[-1] in self.kept):
                yield _changed(program, path, _take)
            for plain in (None, [], False) if self.emptied else ():
                if _may_be(value, plain):
                    yield _changed(program, path, partial(_put, plain))

    def _places(self, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        if path:
            yield path, value
        if path and path[-1] in self.whole:
            return
        if isinstance(value, dict):
            items: Any = value.items()
        else:
            items = reversed([*enumerate(value)]) if isinstance(value, list) else ()
        for key, item in items:
            yield from self._places(item, (*path, key))


def _may_be(value: Any, plain: Any) -> bool:
    if value == plain or value is None:
        return False
    if plain is None:
        return not isinstance(value, bool)
    return isinstance(value, type(plain))


def _take(owner: Any, key: Any) -> None:
    del owner[key]


def _put(value: Any, owner: Any, key: Any) -> None:
    owner[key] = value


def _changed(program: Spec, path: Path, change: Callable[[Any, Any], Any]) -> Spec:
    program = copy.deepcopy(program)
    owner: Any = program
    for key in path[:-1]:
        owner = owner[key]
    change(owner, path[-1])
    return program
