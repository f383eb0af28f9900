"""`Abstract`: bases that leave methods to their subclasses, and say so when one is made."""

from __future__ import annotations

from typing import Any


class Abstract:
    """A base some of whose methods (those marked by `abc.abstractmethod`) a subclass must define.

    As with `abc.ABC`, an object of a class that lacks one is a TypeError that names it. There is no
    metaclass: with `ABCMeta`, every `isinstance` of such a class costs several times as much.

    >>> from abc import abstractmethod
    >>> class Shape(Abstract):
    ...     @abstractmethod
    ...     def area(self): ...
    >>> class Square(Shape):
    ...     pass
    >>> Square()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: Can't instantiate abstract class Square with...area...
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name for name, value in vars(cls).items() if _is_abstract(value)}
        inherited = {name for base in cls.__bases__ for name in _left_by(base)}
        left = own | {name for name in inherited if _is_abstract(getattr(cls, name, None))}
        cls.__abstractmethods__ = frozenset(left)


def _left_by(base: type[Any]) -> frozenset[str]:
    return getattr(base, "__abstractmethods__", frozenset())


def _is_abstract(value: Any) -> bool:
    return getattr(value, "__isabstractmethod__", False) is True


__all__ = ["Abstract"]
