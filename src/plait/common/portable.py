"""Errors that can be copied, and sent from one process to another, with all that they say.

Python makes an error anew by calling its class with `args`, which is what its constructor handed
on: where the class asks for more, the copy fails. From a worker of a process pool such an error
does not come back as itself: the pool ends as broken, and with it every other call.
"""

from __future__ import annotations

from typing import Any


class Portable:
    """A base of errors whose classes have constructors of their own."""

    __slots__ = ()

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return _made, (type(self), self.args), self.__dict__


def _made(cls: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """An error without its constructor; its attributes come after."""
    error = cls.__new__(cls, *args)
    error.args = args
    return error


__all__ = ["Portable"]
