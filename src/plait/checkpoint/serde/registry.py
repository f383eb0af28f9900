"""The closed registry: which classes may be stored, under which wire name, and how.

A wire name is "module:qualname" unless one was given. Decoding looks a name up here and nowhere
else: nothing is imported, no attribute path is walked, so bytes can name only what the program
registered. Each graph has a child of the global registry for the types that its schemas name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar, overload
from weakref import WeakSet

from plait.checkpoint.serde.own import own_class, own_name
from plait.checkpoint.serde.schema import named_types
from plait.checkpoint.serde.shapes import shape_of
from plait.engine.likeness import NAMED, home_of

C = TypeVar("C", bound=type)


_LONGEST = 1000
"""Bytes of a wire name: it stands beside every value of its class."""
_JOINT = 8
"""How many joint registries one keeps: graphs and savers are few, and used again and again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered class: how to take it apart and how to rebuild it."""

    name: str
    cls: type
    encode: Callable[[Any], Any]
    """Object to plain state (anything that can be stored)."""
    decode: Callable[[Any], Any]
    """Plain state to object, without `__init__` or validators."""


class Registry:
    """The types that may be stored; what it does not know, it asks of its parent.

    >>> from dataclasses import dataclass
    >>> registry = GLOBAL.child()
    >>> @registry.register
    ... @dataclass
    ... class Point:
    ...     x: int
    >>> registry.by_type(Point).cls is Point
    True
    """

    def __init__(self, parent: Registry | None = None, other: Registry | None = None) -> None:
        self.parent = parent
        self.scopes: tuple[Registry, ...] = (self, *_in_turn(parent, other))
        """Where a type is looked for, one after another."""
        self._joint: list[tuple[Registry, Registry]] = []
        """Of the last few others that this one was joined with, what came of it."""
        self._types: dict[type, Entry] = {}
        self._names: dict[str, Entry] = {}
        self._schemas: WeakSet[Any] = WeakSet()
        """What had its annotations looked through: a graph is called again and again."""
        self._listeners: WeakSet[Any] = WeakSet()
        self._children: WeakSet[Registry] = WeakSet()
        self.codec: Any = None
        """The codec that those share who store what this registry knows, once there is one."""
        for each in (parent, other):
            if each is not None:
                each._children.add(self)

    def beside(self, other: Registry) -> Registry:
        """A registry that knows what this one knows, and what another does."""
        if other in self.scopes:
            return self
        if self in other.scopes:
            return other
        for known, joint in self._joint:
            if known is other:
                return joint
        joint = Registry(self, other)
        self._joint = [(other, joint), *self._joint[: _JOINT - 1]]
        return joint

    def child(self) -> Registry:
        """A registry that inherits from this one; what it learns stays its own."""
        return Registry(self)

    @overload
    def register(self, cls: C, /) -> C: ...
    @overload
    def register(
        self,
        cls: C,
        /,
        *,
        name: str | None = None,
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ) -> C: ...
    @overload
    def register(
        self,
        cls: None = None,
        /,
        *,
        name: str | None = None,
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ) -> Callable[[C], C]: ...
    def register(
        self,
        cls: Any = None,
        /,
        *,
        name: str | None = None,
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Allow a class to be stored. Usable as a decorator, with or without arguments.

        Args:
            cls: The class: a pydantic model, dataclass, enum, named tuple, exception, or any class
                that keeps its state in attributes.
            name: The wire name, for a class that may move or that shares its name with another.
            encode: Object to anything that can be stored; by default the object's attributes.
            decode: What `encode` gave to an object; by default attributes are set, `__init__` and
                validators do not run.

        Returns:
            The class.

        Raises:
            TypeError: The class keeps its state where plait cannot see it; give both functions. Or
                what was given is no class, name or function.
            ValueError: The name is empty, too long, or no valid text.
        """
        if cls is None:

            def decorate(late: Any) -> Any:
                return self.register(late, name=name, encode=encode, decode=decode)

            return decorate
        if not isinstance(cls, type):
            raise TypeError(f"register() takes a class, not {cls!r}.")
        if (encode is None) != (decode is None):
            raise TypeError(f"Give both encode= and decode= for {cls.__qualname__}, or neither.")
        if encode is not None and not (callable(encode) and callable(decode)):
            raise TypeError(f"encode= and decode= of {cls.__qualname__} are functions.")
        if name is not None:
            _check_name(name)
        if encode is None or decode is None:
            encode, decode = shape_of(cls)
        entry = Entry(wire_name(cls) if name is None else name, cls, encode, decode)
        self._types[cls] = self._names[entry.name] = entry
        if name is not None:
            NAMED[cls] = name.replace(":", ".")
        self._changed()
        return cls

    def register_schema(self, tp: Any, names: Mapping[str, Any] | None = None) -> None:
        """Allow every storable class that a type annotation names, found recursively.

        Args:
            tp: An annotation, a state schema, or a function whose annotations count.
            names: Names for forward references besides those of the defining module.
        """
        if names is None and tp in self._schemas:
            return
        for cls in named_types(tp, names or {}):
            if self.by_type(cls) is None:
                try:
                    self.register(cls)
                except TypeError:  # its state cannot be seen: refused by name at the first write
                    continue
        if names is None and isinstance(tp, (type, FunctionType)):
            self._schemas.add(tp)

    def by_type(self, cls: type) -> Entry | None:
        """The entry of a class, or None if it may not be stored.

        A class whose wire name was taken over by another class is not known any more, since its
        values would come back as the other one.
        """
        for scope in self.scopes:
            entry = scope._types.get(cls)
            if entry is not None:
                return entry if self.by_name(entry.name) is entry else None
        name = own_name(cls)
        return None if name is None else _own_entry(name)

    def name_of(self, cls: type) -> str:
        """The wire name that a class was registered under, or that it would have."""
        entries = (scope._types.get(cls) for scope in self.scopes)
        return next((entry.name for entry in entries if entry is not None), wire_name(cls))

    def by_name(self, name: str) -> Entry | None:
        """The entry of a wire name, or None if nothing has this name."""
        for scope in self.scopes:
            entry = scope._names.get(name)
            if entry is not None:
                return entry
        return _own_entry(name)

    def find(self, module: str, name: str) -> type | None:
        """The registered class of this module whose plain name (not its qualified one) is `name`,
        or that was registered under both, "module:name".

        Other programs' bytes name classes so. None where there is no such class, or several.
        """
        for scope in self.scopes:
            entry = scope._names.get(f"{module}:{name}")
            if entry is not None and entry.name != wire_name(entry.cls):
                return entry.cls
        found = {
            cls
            for scope in self.scopes
            for cls in scope._types
            if cls.__module__ == module and cls.__name__ == name
        }
        return found.pop() if len(found) == 1 else None

    def listen(self, codec: Any) -> None:
        """Have `codec.forget()` called whenever a registration changes what it may have cached."""
        self._listeners.add(codec)

    def _changed(self) -> None:
        for codec in self._listeners:
            codec.forget()
        for registry in self._children:
            registry._changed()


def _check_name(name: Any) -> None:
    """Refuse a wire name that no record could hold."""
    if not isinstance(name, str):
        raise TypeError(f"name= is a text, not a value of type {type(name).__name__}.")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise ValueError(f"name={name!r} is no valid text.") from None
    if not 0 < size <= _LONGEST:
        raise ValueError(f"name= has {size} bytes: give a text of 1 to {_LONGEST}.")


def _in_turn(*registries: Registry | None) -> Iterator[Registry]:
    """All scopes of some registries; one that several have, such as the global, comes last."""
    scopes = [scope for each in registries if each is not None for scope in each.scopes]
    return (scope for at, scope in enumerate(scopes) if scope not in scopes[at + 1 :])


def wire_name(cls: type) -> str:
    """The default wire name of a class: "module:qualname"."""
    return f"{home_of(cls)}:{cls.__qualname__}"


_OWN: dict[str, Entry] = {}


def _own_entry(name: str) -> Entry | None:
    """The entry of a class of plait itself, made when first asked for."""
    entry = _OWN.get(name)
    if entry is None:
        cls = own_class(name)
        if cls is None:
            return None
        entry = _OWN[name] = Entry(name, cls, *shape_of(cls))
    return entry


GLOBAL = Registry()
"""What every graph may store."""

register = GLOBAL.register
"""Allow a class everywhere: `plait.checkpoint.serde.register(Thing)`, or as a decorator."""

known_types: ContextVar[Registry | None] = ContextVar("plait_known_types", default=None)
"""The types of the graph for which a saver calls its serializer; None: a program calls it."""
