"""Pickles as data: a machine that follows their opcodes, and calls and imports nothing.

LangGraph pickles what it cannot write otherwise, if it is told to (`pickle_fallback=True`). A
pickle is a program; what it wants to have called is noted here instead, as `Call`s, which go
through the same closed table as those of any other value.
"""

from __future__ import annotations

import codecs
import pickletools
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from plait.checkpoint.log.records import is_dict, is_list
from plait.errors import StorageError
from plait.importing.calls import Build, Call, damaged
from plait.importing.pickled_arrays import numpy_in

_PUSH = frozenset(
    [
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
        "UNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE",
        "BINUNICODE8",
        "BINBYTES",
        "SHORT_BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
    ]
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = frozenset({"PROTO", "FRAME", "STOP"})
for _codec in ("ascii", "latin-1", "raw-unicode-escape"):
    codecs.lookup(_codec)  # which texts of old pickles are in: loaded now, not when one comes
_LARGEST = 10_000_000
"""How many parts a value may have: a small pickle can name one part again and again."""


class Name(NamedTuple):
    """A class or function that a pickle names."""

    module: str
    name: str


class Made:
    """An object that a pickle wants to have made."""

    __slots__ = ("args", "items", "kwargs", "name", "pairs", "state")

    def __init__(self, name: Name, args: Any, kwargs: Any = None) -> None:
        self.name = name
        self.args: Any = args
        self.kwargs: Any = kwargs
        self.state: Any = None
        self.items: list[Any] = []
        self.pairs: list[tuple[Any, Any]] = []


class Part(NamedTuple):
    """A part of a pickle, whose objects are not made yet."""

    part: Any

    def value(self, build: Build) -> Any:
        """What it stands for.

        Args:
            build: Makes the objects in it.

        Raises:
            CorruptCheckpointError: It refers to itself, or does what data need not do.
            UnregisteredTypeError: It holds an object of a type that is not known.
        """
        with _told():
            return _Finishing(build).value(self.part)


def read_pickle(data: bytes) -> Part:
    """A pickle as a whole.

    Raises:
        CorruptCheckpointError: It is damaged, or does what data need not do.
    """
    machine = _Machine()
    with _told():
        for opcode, arg, _ in pickletools.genops(data):
            machine.do(opcode.name, arg)
        (top,) = machine.stack
        return Part(top)


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except StorageError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise damaged(error) from error


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._below: list[list[Any]] = []
        """The stacks below each mark."""
        self._memo: dict[int, Any] = {}

    def do(self, name: str, arg: Any) -> None:
        """Follow one opcode."""
        stack = self.stack
        if name in _PUSH:
            stack.append(arg)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            size = _TUPLES[name]
            items = tuple(stack[len(stack) - size :])
            del stack[len(stack) - size :]
            stack.append(items)
        elif name not in _NOTHING:
            step = getattr(self, f"_{name.lower()}", None)
            if step is None:
                raise damaged(f"it is pickled with {name}, which plain data have no use for")
            step(arg)

    def _take(self, size: int) -> list[Any]:
        taken = self.stack[len(self.stack) - size :]
        if len(taken) < size:
            raise damaged("the pickle takes more than it has")
        del self.stack[len(self.stack) - size :]
        return taken

    def _since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self._below.pop()
        return items

    # --- the stack and the memo ------------------------------------------------------------------

    def _mark(self, _: Any) -> None:
        self._below.append(self.stack)
        self.stack = []

    def _pop(self, _: Any) -> None:
        self._take(1)

    def _pop_mark(self, _: Any) -> None:
        self._since_mark()

    def _dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def _memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self.stack[-1]

    def _put(self, arg: Any) -> None:
        self._memo[int(arg)] = self.stack[-1]

    _binput = _long_binput = _put

    def _get(self, arg: Any) -> None:
        self.stack.append(self._memo[int(arg)])

    _binget = _long_binget = _get

    # --- containers ------------------------------------------------------------------------------

    def _empty_list(self, _: Any) -> None:
        self.stack.append([])

    def _empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def _empty_set(self, _: Any) -> None:
        self.stack.append(set())

    def _list(self, _: Any) -> None:
        items = self._since_mark()
        self.stack.append(items)

    def _tuple(self, _: Any) -> None:
        items = tuple(self._since_mark())
        self.stack.append(items)

    def _frozenset(self, _: Any) -> None:
        items = frozenset(self._since_mark())
        self.stack.append(items)

    def _dict(self, _: Any) -> None:
        flat = self._since_mark()
        self.stack.append(dict(zip(flat[::2], flat[1::2], strict=True)))

    def _append(self, _: Any) -> None:
        self._extend(self._take(1))

    def _appends(self, _: Any) -> None:
        self._extend(self._since_mark())

    def _extend(self, items: list[Any]) -> None:
        onto = self.stack[-1]
        (onto.items if isinstance(onto, Made) else onto).extend(items)

    def _setitem(self, _: Any) -> None:
        self._update(self._take(2))

    def _setitems(self, _: Any) -> None:
        self._update(self._since_mark())

    def _update(self, flat: list[Any]) -> None:
        onto, pairs = self.stack[-1], list(zip(flat[::2], flat[1::2], strict=True))
        if isinstance(onto, Made):
            onto.pairs.extend(pairs)
        else:
            onto.update(pairs)

    def _additems(self, _: Any) -> None:
        items = self._since_mark()
        self.stack[-1].update(items)

    # --- objects ---------------------------------------------------------------------------------

    def _global(self, arg: Any) -> None:
        module, _, name = str(arg).partition(" ")
        self.stack.append(Name(module, name))

    def _stack_global(self, _: Any) -> None:
        module, name = self._take(2)
        if not (type(module) is type(name) is str):
            raise damaged("the pickle names something without a name")
        self.stack.append(Name(module, name))

    def _reduce(self, _: Any) -> None:
        name, args = self._take(2)
        if name in (("copyreg", "_reconstructor"), ("copyreg", "__newobj__")):
            own = name[1] == "__newobj__"
            name, args = args[0], args[1:] if own else ()
        self._make(name, args)

    def _newobj(self, _: Any) -> None:
        self._make(*self._take(2))

    def _newobj_ex(self, _: Any) -> None:
        self._make(*self._take(3))

    def _make(self, name: Any, args: Any, kwargs: Any = None) -> None:
        if not (isinstance(name, Name) and isinstance(args, tuple)):
            raise damaged("the pickle makes something of nothing")
        self.stack.append(Made(name, args, kwargs))

    def _build(self, _: Any) -> None:
        (state,) = self._take(1)
        self.stack[-1].state = state


class _Finishing:
    """What the machine has put together, as values; each part once, however often it is named."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._done: dict[int, tuple[Any, Any, int]] = {}
        """Part to itself (so that no other one gets its id), its value, and how large that is."""
        self._open: set[int] = set()

    def value(self, part: Any) -> Any:
        """The value of a part."""
        return self._value(part)[0]

    def _value(self, part: Any) -> tuple[Any, int]:
        if not isinstance(part, (list, dict, tuple, set, frozenset, Made)):
            return part, 1
        key = id(cast("object", part))
        if key in self._done:
            return self._done[key][1:]
        if key in self._open:
            raise damaged("the pickled value contains itself")
        self._open.add(key)
        value, size = self._whole(part)
        if size > _LARGEST:
            raise damaged("the pickled value is too large")
        self._open.discard(key)
        self._done[key] = (part, value, size)
        return value, size

    def _all(self, parts: Any) -> tuple[list[Any], int]:
        found = [self._value(part) for part in parts]
        return [value for value, _ in found], 1 + sum(size for _, size in found)

    def _whole(self, part: Any) -> tuple[Any, int]:
        if isinstance(part, Made):
            return self._object(part)
        if isinstance(part, Name):
            raise damaged(f"{part.module}.{part.name} itself was pickled, which is no data")
        if is_dict(part):
            keys, size = self._all(part)
            values, more = self._all(part.values())
            return dict(zip(keys, values, strict=True)), size + more
        values, size = self._all(part)
        return (values if is_list(part) else type(part)(values)), size

    def _object(self, part: Made) -> tuple[Any, int]:
        found = numpy_in(*part.name, part.args, part.state)
        if found is not None:
            array = self._build(found.array)
            return (array[()] if found.alone else array), 1
        args, size = self._all(part.args)
        state, more = self._value(part.state)
        items, again = self._all(part.items)
        kwargs, fourth = self._value(part.kwargs)
        call = Call(*part.name, tuple(args), {**(kwargs or {}), **_fields(state)})
        value = self._build(call)
        if items or part.pairs:
            pairs = [(self.value(key), self.value(each)) for key, each in part.pairs]
            _fill(value, items, pairs)
        return value, size + more + again + fourth + len(part.pairs)


def _fill(value: object, items: list[Any], pairs: list[tuple[Any, Any]]) -> None:
    """Put into an object what a pickle appends to it, or sets in it."""
    if (items and not isinstance(value, (list, deque))) or (pairs and not isinstance(value, dict)):
        raise damaged("the pickle fills what is no container")
    container = cast("Any", value)
    if items:
        container.extend(items)
    if pairs:
        container.update(pairs)


def _fields(state: Any) -> dict[str, Any]:
    """The attributes in what an object says its state is."""
    if type(state) is tuple:  # attributes, and what is in slots
        attributes, slots = cast("tuple[Any, Any]", state)
        return {**_fields(attributes), **_fields(slots)}
    if state is None:
        return {}
    if not is_dict(state):
        raise damaged("an object's state is no mapping")
    if "__pydantic_fields_set__" in state:  # a model of pydantic's
        return {**_fields(state.get("__dict__")), **_fields(state.get("__pydantic_extra__"))}
    if not all(type(key) is str for key in state):
        raise damaged("an attribute has no name")
    return state


__all__ = ["Part", "read_pickle"]
