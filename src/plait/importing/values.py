"""LangGraph's bytes as data: msgpack with extensions, JSON with constructors, pickles.

An extension names a class and what to call it with. Here it is decoded to a `Call`, which is only
looked up in the closed table of `known`. Values decode in two steps: to a tree, whose objects are
still `Call`s or undecoded extensions, and from there to objects. Equal extensions of one thread
become one object, so that a list that grew is seen to have grown.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, TypeAlias, cast

import ormsgpack

from plait.checkpoint.log.records import is_dict, is_list
from plait.errors import UnregisteredTypeError
from plait.importing.calls import Array, Build, Call, damaged
from plait.importing.pickles import Part, read_pickle

Tree: TypeAlias = Any
"""Plain data with `Raw` and `Call` in it, or a `Stored` value as a whole."""

MAX_DEPTH = 100
"""How deep extensions may be nested within each other."""

_OPTIONS = ormsgpack.OPT_NON_STR_KEYS
_ARRAY, _DELTA = 6, 7
_END = b"\x9d-plait-end-\x9d"
_END_PACKED: bytes = ormsgpack.packb(_END)


class Stored(NamedTuple):
    """A value that is not decoded yet: the format's tag, and the bytes."""

    tag: str
    data: bytes


class Raw(NamedTuple):
    """An extension that is not decoded yet."""

    code: int
    data: bytes


class Pickled(NamedTuple):
    """A pickle that is not read yet."""

    data: bytes


def read_tree(tag: str, data: bytes) -> Tree:
    """The tree of stored (tag, bytes).

    Raises:
        CorruptCheckpointError: The bytes are damaged.
        UnregisteredTypeError: The value was encrypted.
    """
    if tag == "msgpack":
        return _unpack(data)
    if tag in ("null", "empty"):
        return None
    if tag == "bytes":
        return bytes(data)
    if tag == "bytearray":
        return bytearray(data)
    if tag == "json":
        try:
            return json.loads(data, object_hook=_constructor)
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged(error) from error
    if tag == "pickle":
        return Pickled(bytes(data))
    if "+" in tag:
        raise UnregisteredTypeError(
            f"the value is encrypted ({tag!r}). Decrypt the thread with LangGraph first: copy it "
            "to a saver without EncryptedSerializer"
        )
    raise damaged(f"unknown format {tag!r:.80}")


def read_checkpoint(tag: str, data: bytes) -> Tree:
    """The tree of a checkpoint that was stored as a whole. LangGraph pickles all of it for the sake
    of one value; the others, and what is no value, need not know of that.

    Raises:
        CorruptCheckpointError: The bytes are damaged.
        UnregisteredTypeError: It was encrypted.
    """
    tree = read_tree(tag, data)
    if not isinstance(tree, Pickled):
        return tree
    whole = read_pickle(tree.data)
    held = whole.part.pop("channel_values", None) if is_dict(whole.part) else None
    try:
        found = whole.value(_none_expected)
    except RecursionError:
        raise damaged("nested too deeply") from None
    if is_dict(held):
        found["channel_values"] = {name: Part(part) for name, part in held.items()}
    return found


def _none_expected(call: Call | Array) -> Any:
    raise damaged("an object where a checkpoint has none")


def _unpack(data: bytes) -> Tree:
    """A tree from msgpack. What follows the value is an error, which ormsgpack does not see."""
    try:
        value, end = ormsgpack.unpackb(b"\x92" + data + _END_PACKED, ext_hook=Raw, option=_OPTIONS)
    except (ValueError, TypeError) as error:
        raise damaged(error) from error
    if end != _END:
        raise damaged("something follows the value")
    return value


class Decoder:
    """Trees to values, for one thread.

    Args:
        build: Makes the objects.
    """

    def __init__(self, build: Build) -> None:
        self._build = build
        self._made: dict[Raw, Any] = {}
        self._used: dict[Raw, Any] = {}

    def turn(self) -> None:
        """Forget the objects that were not used since the last turn."""
        self._made, self._used = self._used, {}

    def value(self, tree: Tree) -> Any:
        """The value of a tree.

        Raises:
            CorruptCheckpointError: It is damaged, or nested too deeply.
            UnregisteredTypeError: It holds an object of a type that is not known.
        """
        try:
            return self._value(read_tree(*tree) if isinstance(tree, Stored) else tree, 0)
        except RecursionError:
            raise damaged("nested too deeply") from None

    def _value(self, tree: Tree, depth: int) -> Any:
        if is_list(tree):
            return [self._value(item, depth) for item in tree]
        if is_dict(tree):
            return {self._value(k, depth): self._value(item, depth) for k, item in tree.items()}
        if isinstance(tree, Raw):
            return self._extension(tree, depth)
        if isinstance(tree, Call):
            return self._called(tree, depth)
        if isinstance(tree, Pickled):
            return read_pickle(tree.data).value(self._build)
        if isinstance(tree, Part):
            return tree.value(self._build)
        if isinstance(tree, tuple):  # a key of a dict
            return tuple(self._value(item, depth) for item in cast("tuple[Any, ...]", tree))
        return tree

    def _extension(self, raw: Raw, depth: int) -> Any:
        if raw in self._used:
            return self._used[raw]
        if raw in self._made:
            made = self._made[raw]
        else:
            if depth >= MAX_DEPTH:
                raise damaged("nested too deeply")
            made = self._called(_call(raw), depth + 1)
        self._used[raw] = made
        return made

    def _called(self, call: Call | Array, depth: int) -> Any:
        if type(call) is Call:
            args = tuple(self._value(arg, depth) for arg in call.args)
            kwargs = {key: self._value(arg, depth) for key, arg in call.kwargs.items()}
            call = call._replace(args=args, kwargs=kwargs)
        return self._build(call)


def _call(raw: Raw) -> Call | Array:
    """What an extension says."""
    parts = _unpack(raw.data)
    if raw.code == _DELTA:
        return Call("langgraph.checkpoint.serde.types", "_DeltaSnapshot", (parts,), {})
    if not is_list(parts) or len(parts) < 3:
        raise damaged("an object does not say what it is")
    if raw.code == _ARRAY and len(parts) == 4:
        return Array(*parts)
    module, name, given = parts[:3]
    method = parts[3] if len(parts) > 3 else None
    if not (type(module) is type(name) is str and (method is None or type(method) is str)):
        raise damaged("an object does not say what it is")
    if raw.code in (0, 3):
        return Call(module, name, (given,), {}, method)
    if raw.code == 1 and is_list(given):
        return Call(module, name, tuple(given), {})
    if raw.code in (2, 4, 5) and is_dict(given) and all(type(key) is str for key in given):
        return Call(module, name, (), given)
    if raw.code == 5:  # a pydantic RootModel, of anything
        return Call(module, name, (given,), {})
    raise damaged(f"an object of form {raw.code} that is not known")


def _constructor(found: dict[str, Any]) -> Any:
    """A JSON object; one that says it is a constructor call becomes a `Call`."""
    if "lc" not in found or "type" not in found:
        return found
    path: Any = found.get("id")
    args: Any = found.get("args") or []
    kwargs: Any = found.get("kwargs") or {}
    if not (is_list(path) and len(path) > 1 and all(type(part) is str for part in path)):
        raise damaged("an object does not say what it is")
    if not (is_list(args) and is_dict(kwargs)):
        raise damaged("an object does not say what it is")
    module, name = path[:-1], path[-1]
    if found["type"] != "constructor":
        raise UnregisteredTypeError(
            f"{'.'.join(module)}.{name} was stored as {found['type']!r:.80}, not as data: there is "
            "nothing to rebuild it from. Remove it from the thread in the old program"
        )
    method = found.get("method")
    made = Call(".".join(module), name, tuple(args), kwargs)
    return made._replace(method=method) if type(method) is str else made


__all__ = ["Decoder", "Pickled", "Raw", "Stored", "Tree", "read_checkpoint", "read_tree"]
