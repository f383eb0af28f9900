"""Values to bytes and back: msgpack with typed extensions over a closed registry.

The fast path leaves the walk to ormsgpack, which calls back for every object that is not exactly
None, bool, int, float, str, bytes, list, or dict with text keys. What it cannot do (other keys,
lone surrogates), what it would get wrong (bytearray), and every error go the careful way, a walk in
Python that knows the path to each value.

Nested objects are packed within their extension, level by level; each level has its own hook, so
that depth is bounded without counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timezone
from functools import partial
from gc import get_referents
from itertools import chain, islice, repeat
from os import urandom
from typing import Any, NamedTuple, cast

import ormsgpack
from ormsgpack import Ext, Fragment

from plait.checkpoint.serde.arrays import array_encoder, decode_array, decode_scalar
from plait.checkpoint.serde.envelope import Guard
from plait.checkpoint.serde.failures import encode_error, error_decoder
from plait.checkpoint.serde.frames import decode_pandas, pandas_encoder
from plait.checkpoint.serde.hooks import HookErrors
from plait.checkpoint.serde.langchain import langchain_decoder, langchain_name
from plait.checkpoint.serde.plain import (
    ARRAY,
    CLASS,
    DECODERS,
    ENCODERS,
    EXCEPTION,
    MAP,
    OBJECT,
    PANDAS,
    SCALAR,
    TEXT,
    Decoder,
    Encoder,
    Pack,
    Unpack,
)
from plait.checkpoint.serde.recipes import PACKED, Recipes, simple_recipe
from plait.checkpoint.serde.refusals import (
    AsKey,
    Path,
    damaged,
    namesake,
    no_room,
    placed,
    too_deep,
    unfit,
    unknown_name,
    unregistered,
)
from plait.checkpoint.serde.registry import GLOBAL, Registry
from plait.checkpoint.serde.schema import is_storable
from plait.checkpoint.serde.shapes import shape_of
from plait.errors import StorageError, UnregisteredTypeError

MAX_DEPTH = 100
"""How deep objects (tuples, dataclasses, sets, ...) may be nested within each other."""

_NIL = b"\xc0"
_OPTIONS = (
    ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_TOGETHER = 16
"""How many values are decoded at a time: what is copied should stay near to the processor."""
_packb, _unpackb = ormsgpack.packb, ormsgpack.unpackb
_FIRST_ITEM = {b"\xdc": 3, b"\xdd": 5}
"""Where the first item of a list stands that is no short one, by its first byte, in msgpack."""
_EXTENSIONS = frozenset({b"\xc7", b"\xc8", b"\xc9", b"\xd4", b"\xd5", b"\xd6", b"\xd7", b"\xd8"})
"""The bytes that extensions begin with there."""
_BUFFERS = frozenset({bytearray, memoryview})
_PLAIN = frozenset({type(None), bool, int, float, str, bytes, list, dict})
_HOLDERS = frozenset({list, dict})
_values_of = dict[str, Any].values
_ATOMS = frozenset({type(None), bool, float, bytes, Fragment})
_CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (bool, bytes, complex, dict, float, frozenset, int, list, object, set, str, tuple)
}

# ormsgpack reads one value and ignores what follows. Every message is read as the first item of a
# pair whose second item follows it at once; no bytes can know what that is.
_END = urandom(8)
_END_PACKED: bytes = _packb(_END)


def noted(
    lists: Sequence[Any], recipes: Recipes, recipe: Callable[[Any], tuple[Any, Any]]
) -> tuple[list[Any], list[int]]:
    """All items of lists, how many each has, and into `recipes` how they are made again."""
    items: list[Any] = []
    for each in lists:
        if type(each) is not list:
            raise damaged("no list")
        items += each
    recipes.add_each(items, recipe)
    return items, [*map(len, lists)]


class _Taken(NamedTuple):
    """Lists of objects, taken apart: of all objects, one after another."""

    counts: list[int]
    """How many of them each list has."""
    names: list[bytes]
    decoders: list[Callable[[Any], Any]]
    states: list[Any]
    """What they are made of."""
    packed: list[bytes]
    """Name and state as they are stored."""


def pack_plain(value: Any) -> bytes:
    """Plain data as msgpack: equal bytes mean equal data (a bytearray counts as bytes).

    Raises:
        TypeError: There is more in it than None, bool, int, float, str, bytes, list, and dict with
            text keys.

    >>> pack_plain([1]) == pack_plain([True])
    False
    """
    return _packb(value, None, _OPTIONS)


def pack_each(values: Iterable[Any]) -> list[bytes]:
    """Each value as `pack_plain` packs it.

    Raises:
        TypeError: One is no plain data.

    >>> pack_each([1, [True]]) == [pack_plain(1), pack_plain([True])]
    True
    """
    return [*map(_packb, values, repeat(None), repeat(_OPTIONS))]


def may_hold_buffer(packed: bytes) -> bool:
    """Whether there may be bytes in what was packed: or a bytearray, which is packed as such."""
    # Numbers, for `b"\xc4" in packed` makes and drops an exception before it looks.
    return 0xC4 in packed or 0xC5 in packed or 0xC6 in packed


class Codec:
    """Encode and decode values whose types a registry knows.

    >>> codec = Codec()
    >>> codec.loads(codec.dumps({"at": (1, 2.0), 3: {"x"}}))
    {'at': (1, 2.0), 3: {'x'}}
    """

    embeds = True
    """Whether what `dumps` gave of a value may stand in a value, as a `Fragment`, in its place."""
    guard: Guard | None = None
    """What encrypts the records around what is encoded here."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = GLOBAL if registry is None else registry
        self.registry.listen(self)
        self._failed = HookErrors()
        self.encoders: dict[type, Encoder] = dict(ENCODERS)
        self.objects: dict[bytes, Callable[[Any], Any]] = {}
        self._casts: dict[Callable[[Any], Any], type[Any]] = {}
        """By decoder, classes whose objects are cast (see `BaseMessage.__plait_mould__`)."""
        self.decoders: dict[int, Decoder] = {
            **DECODERS,
            OBJECT: self._decode_object,
            CLASS: self._decode_class,
            EXCEPTION: error_decoder(self._known_error),
            ARRAY: decode_array,
            SCALAR: decode_scalar,
            PANDAS: decode_pandas,
        }
        self._pack = self._packer(0)
        self._unpack = self._unpacker(0)
        self._unpack_state = self._unpacker(1)

    def knowing(self, registry: Registry) -> Codec:
        """The codec of a registry that knows what this codec's does, too; one for all who ask."""
        joint = registry.beside(self.registry)
        if joint is self.registry:
            return self
        if joint.codec is None:
            joint.codec = Codec(joint)
        return joint.codec

    def dumps(self, value: Any) -> bytes:
        """Encode a value.

        Raises:
            UnregisteredTypeError: The value contains an object of a type that is not registered;
                the message names the type, its place in the value, and the line that registers it.
            UnstorableValueError: The value is nested too deeply, or contains itself.
        """
        try:
            return self._pack(value) if value is not None else _NIL
        except BaseException:
            self._failed.noted = None  # a Ctrl-C may have come before it was taken
            raise

    def dumps_packed(self, value: Any, packed: bytes, suspects: list[Any]) -> bytes:
        """As `dumps`, of a value that `pack_plain` packed so: nothing is encoded again.

        Args:
            value: The value.
            packed: What it was packed to.
            suspects: Those parts of it of which it `may_hold_buffer`.
        """
        return self._careful(value, 0) if suspects and _has_buffer(suspects) else packed

    def comparable(self, value: Any) -> bytes:
        """Bytes that tell whether a value has changed; they are never stored."""
        return self.dumps(value)

    def loads(self, data: bytes) -> Any:
        """Decode what `dumps` gave.

        Raises:
            CorruptCheckpointError: The bytes are damaged.
            UnregisteredTypeError: They name a type that is not registered here.
        """
        try:
            return self._unpack(data)
        except BaseException:
            self._failed.noted = None  # a Ctrl-C may have come before it was taken
            raise

    def loads_all(self, parts: Sequence[bytes]) -> list[Any]:
        """Decode many values: as `loads` of each, at a lower price where they are lists of objects
        of classes that are registered, such as messages.
        """
        values: list[Any] = []
        for some in _batches(parts):
            values += self._objects(some) or self.loads_together(some)
        return values

    def _objects(self, parts: Sequence[bytes]) -> list[list[Any]] | None:
        """Lists of registered objects; None where something else is there, or damaged."""
        if not _may_hold_objects(parts[0]):
            return None
        try:
            taken = self._taken_apart(parts)
            made = iter([d(s) for d, s in zip(taken.decoders, taken.states, strict=True)])
            return [list(islice(made, count)) for count in taken.counts]
        except Exception:
            return None

    def remember(self, parts: Sequence[bytes], recipes: Recipes) -> tuple[list[Any], list[int]]:
        """Decode many lists, and note how their items are made once more.

        Args:
            parts: What `dumps` gave of each list.
            recipes: Where it is noted.

        Returns:
            All items, and how many of them each list has.

        Raises:
            CorruptCheckpointError: The bytes are damaged, or a value is no list.
        """
        items: list[Any] = []
        counts: list[int] = []
        for some in _batches(parts):
            if _may_hold_objects(some[0]):
                try:
                    taken = self._taken_apart(some)
                    fresh = self._recipes_of(taken)
                    items += fresh.made(partial(_loose, taken, fresh))
                except Exception:  # something else is there, or damaged
                    pass
                else:
                    counts += taken.counts
                    recipes.makers.update(zip(taken.names, taken.decoders, strict=True))
                    recipes.hows += fresh.hows
                    recipes.whats += fresh.whats
                    continue
            some_items, some_counts = noted(self.loads_together(some), recipes, self.recipe)
            items += some_items
            counts += some_counts
        return items, counts

    def _recipes_of(self, taken: _Taken) -> Recipes:
        """How objects that were taken apart are made."""
        fresh = Recipes()
        for decode, state, data in zip(taken.decoders, taken.states, taken.packed, strict=True):
            cls = self._casts.get(decode)
            mould = None if cls is None else cls.__plait_mould__(state)
            if cls is None or mould is None:
                fresh.add(PACKED, _packb(Ext(OBJECT, data)))
            else:
                fresh.add(cls.__plait_cast__, mould)
        return fresh

    def recipe(self, value: Any) -> tuple[Any, Any]:
        """How a value that was decoded here is made once more (see `Recipes`)."""
        return simple_recipe(value) or (PACKED, self.dumps(value))

    def agrees(self, recipes: Recipes) -> bool:
        """Whether what recipes rely on is what this codec makes of the same names."""
        try:
            return all(self._decoder(name) == decode for name, decode in recipes.makers.items())
        except UnregisteredTypeError:
            return False

    def loads_each(self, parts: Sequence[bytes]) -> list[Any]:
        """Decode many values, as if they were one list."""
        count = len(parts).to_bytes(4, "big")
        return self.loads_all([b"".join((b"\xdd", count, *parts))])[0]

    def loads_together(self, parts: Sequence[bytes]) -> list[Any]:
        """Decode many values at once, or, to say which of them is damaged, one by one."""
        if len(parts) > 1:
            try:
                return self._unpack(b"".join((b"\xdd", len(parts).to_bytes(4, "big"), *parts)))
            except Exception:
                pass
        self._failed.noted = None
        return [self.loads(part) for part in parts]

    def forget(self) -> None:
        """Drop what was looked up in the registry, after a change there."""
        self.encoders = dict(ENCODERS)
        self.objects = {}
        self._casts = {}
        self._pack = self._packer(0)

    # --- Encoding --------------------------------------------------------------------------------

    def _packer(self, depth: int) -> Pack:
        """The function that packs values at one level of nested objects."""
        encoders, failed = self.encoders, self._failed
        inner: Pack | None = None

        def hook(value: Any) -> Ext | str:
            nonlocal inner
            try:
                if inner is None:
                    inner = self._packer(depth + 1) if depth < MAX_DEPTH else _refuse
                encode = encoders.get(type(value))  # pyright: ignore[reportUnknownArgumentType]
                if encode is None:
                    encode = self._resolve(cast("type[Any]", type(value)))
                return encode(value, inner)
            except BaseException as error:  # ormsgpack would hide which one
                failed.noted = error
                raise

        def pack(value: Any) -> bytes:
            try:
                data = _packb(value, hook, _OPTIONS)
            except TypeError as error:
                self._tell_stop(error, value, hook)
                return self._careful(value, depth)
            # Numbers, for `b"\xc4" in data` makes and drops an exception before it looks.
            if (0xC4 in data or 0xC5 in data or 0xC6 in data) and _has_buffer(value):
                return self._careful(value, depth)
            return data

        return pack

    def _tell_stop(self, error: TypeError, value: Any, hook: Callable[[Any], Any]) -> None:
        """Raise what stopped a hook, unless it was an error: the careful way tells it better."""
        cause = self._failed.taken(error, lambda: _packb(value, hook, _OPTIONS))
        if not isinstance(cause, Exception):
            raise cause

    def _careful(self, value: Any, depth: int) -> bytes:
        """Pack by a walk in Python: slow, complete, with the path in every error."""
        try:
            return _packb(self._plain(value, None, depth), None, _OPTIONS)
        except RecursionError:
            raise too_deep(MAX_DEPTH) from None
        except TypeError as error:
            if str(error) == "Recursion limit reached":
                raise too_deep(MAX_DEPTH) from None
            raise

    def _plain(self, value: Any, path: Path, depth: int) -> Any:
        """The same value made of what ormsgpack packs exactly."""
        cls = cast("type[Any]", type(value))
        if cls in _ATOMS or (cls is int and -(1 << 63) <= value < 1 << 64):
            return value
        if cls is str:
            return _text(value)
        if cls is list:
            return [self._plain(item, (path, i), depth) for i, item in enumerate(value)]
        if cls is dict:
            return self._plain_dict(value, path, depth)

        def pack(state: Any) -> bytes:
            if depth >= MAX_DEPTH:
                raise too_deep(MAX_DEPTH)
            return _packb(self._plain(state, path, depth + 1), None, _OPTIONS)

        try:
            encode = self.encoders.get(cls) or self._resolve(cls)
            return encode(value, pack)
        except UnregisteredTypeError as error:
            raise placed(error, path) from None

    def _plain_dict(self, value: dict[Any, Any], path: Path, depth: int) -> Any:
        if all(type(key) is str and type(_text(key)) is str for key in value):
            return {k: self._plain(v, (path, k), depth) for k, v in value.items()}
        if depth >= MAX_DEPTH:
            raise too_deep(MAX_DEPTH)
        data = _of_plain([*chain.from_iterable(value.items())])
        if data is not None:
            return Ext(MAP, data)
        flat: list[Any] = []
        for key, item in value.items():
            flat.append(self._plain(key, (path, AsKey(key)), depth + 1))
            flat.append(self._plain(item, (path, key), depth + 1))
        return Ext(MAP, _packb(flat, None, _OPTIONS))

    def _resolve(self, cls: type[Any]) -> Encoder:
        """Find and keep the encoder of a type that was not met before."""
        entry = self.registry.by_type(cls)
        if entry is not None:
            found: Encoder | None = _object_encoder(entry.name, entry.encode)
        elif (name := langchain_name(cls)) is not None:
            found = _object_encoder(name, shape_of(cls)[0])
        elif issubclass(cls, type):
            found = self._encode_class
        elif issubclass(cls, BaseException):
            found = encode_error
        elif cls.__name__ == "TextAccessor" and issubclass(cls, str):
            found = _text_of_message  # `message.text`, plait's or langchain_core's
        elif cls.__name__ == "TzInfo" and cls.__module__.startswith("pydantic_core"):
            found = ENCODERS[timezone]
        else:
            found = array_encoder(cls) or pandas_encoder(cls)
        if found is None:
            if self.registry.by_name(name := self.registry.name_of(cls)) is not None:
                raise namesake(cls, name)
            raise _unregistered(cls)
        self.encoders[cls] = found
        return found

    def _encode_class(self, value: Any, pack: Pack) -> Ext:
        if _CLASSES.get(value.__name__) is value:
            return Ext(CLASS, value.__name__.encode())
        entry = self.registry.by_type(value)
        if entry is None:
            raise _unregistered(value)
        return Ext(CLASS, entry.name.encode())

    # --- Decoding --------------------------------------------------------------------------------

    def _unpacker(self, depth: int) -> Unpack:
        """The function that unpacks bytes at one level of nested objects."""
        decoders, failed = self.decoders, self._failed
        inner: Unpack | None = None

        def hook(code: int, data: bytes) -> Any:
            nonlocal inner
            try:
                if inner is None:
                    inner = self._unpacker(depth + 1) if depth < MAX_DEPTH else _refuse_bytes
                return decoders[code](data, inner)
            except BaseException as error:  # ormsgpack would hide which one
                failed.noted = error
                raise

        def unpack(data: bytes) -> Any:
            packed = b"\x92" + data + _END_PACKED
            try:
                value, end = _unpackb(packed, ext_hook=hook)
            except ValueError as error:
                raise self._unreadable(error, packed, hook) from error
            if type(end) is not bytes or end != _END:  # an array does not compare
                raise damaged("something follows the value")
            return value

        return unpack

    def _taken_apart(self, parts: Sequence[bytes]) -> _Taken:
        """Lists of registered objects: what makes each, and of what. Complains of all others.

        A `slice` holds the number and the bytes of an extension as well as anything, and ormsgpack
        makes it without a step of Python.
        """
        count = len(parts).to_bytes(2, "big")
        packed = b"".join((b"\x92\xdc", count, *parts, _END_PACKED))
        lists, end = _unpackb(packed, ext_hook=slice)
        if end != _END:
            raise damaged("something follows the value")
        names: list[bytes] = []
        states: list[bytes] = []
        datas: list[bytes] = []
        for item in chain.from_iterable(lists):
            if item.start != OBJECT:
                raise damaged("no object")
            data: bytes = item.stop
            size = int.from_bytes(data[:2], "big") + 2
            names.append(data[2:size])
            states.append(data[size:])
            datas.append(data)
        decoders = [*map(self._decoder, names)]
        count = len(states).to_bytes(4, "big")
        decoded = self._unpack_state(b"".join((b"\xdd", count, *states)))
        return _Taken([*map(len, lists)], names, decoders, decoded, datas)

    def _unreadable(self, error: ValueError, packed: bytes, hook: Any) -> BaseException:
        """The typed error that stands for what went wrong in a hook or in ormsgpack."""
        cause = self._failed.taken(error, lambda: _unpackb(packed, ext_hook=hook))
        if isinstance(cause, RecursionError):  # bytes that are nested too deeply are refused
            return no_room()
        if isinstance(cause, StorageError | MemoryError) or not isinstance(cause, Exception):
            return cause
        return damaged(cause)

    def _decode_object(self, data: bytes, unpack: Unpack) -> Any:
        size = int.from_bytes(data[:2], "big") + 2
        name = data[2:size]
        decode, state = self._decoder(name), unpack(data[size:])
        try:
            return decode(state)
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise unfit(name.decode(), error) from error

    def _decoder(self, name: bytes) -> Callable[[Any], Any]:
        """What makes the objects of a wire name."""
        return self.objects.get(name) or self._named(name)

    def _named(self, name: bytes) -> Callable[[Any], Any]:
        text = name.decode()
        entry = self.registry.by_name(text)
        decode = entry.decode if entry is not None else langchain_decoder(text)
        if decode is None:
            raise unknown_name(text)
        if entry is not None:  # langchain_core may yet be loaded
            self.objects[name] = decode
            own = getattr(entry.cls, "__plait_restore__", None)
            if decode == own and hasattr(entry.cls, "__plait_mould__"):
                self._casts[decode] = entry.cls
        return decode

    def _known_error(self, name: str) -> type | None:
        entry = self.registry.by_name(name)
        return None if entry is None else entry.cls

    def _decode_class(self, data: bytes, unpack: Unpack) -> type:
        name = data.decode()
        if name in _CLASSES:
            return _CLASSES[name]
        entry = self.registry.by_name(name)
        if entry is None:
            raise unknown_name(name)
        return entry.cls


def _unregistered(cls: type[Any]) -> UnregisteredTypeError:
    try:
        shape_of(cls)
    except TypeError:
        return unregistered(cls, named=False, seen=False)
    return unregistered(cls, named=is_storable(cls), seen=True)


def _loose(taken: _Taken, recipes: Recipes, packed: Sequence[bytes]) -> list[Any]:
    """Those objects that recipes would decode again: here their states are at hand."""
    each = zip(recipes.hows, taken.decoders, taken.states, strict=True)
    return [decode(state) for how, decode, state in each if how is PACKED]


def _may_hold_objects(packed: bytes) -> bool:
    """Whether a packed list may be one of objects, as far as its first item tells."""
    first = _FIRST_ITEM.get(packed[:1], 1)
    return packed[first : first + 1] in _EXTENSIONS


def _batches(parts: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (parts[first : first + _TOGETHER] for first in range(0, len(parts), _TOGETHER))


def _text_of_message(value: Any, pack: Pack) -> str:
    """`message.text` as the str that it stands for."""
    return str(value)


def _object_encoder(name: str, encode: Callable[[Any], Any]) -> Encoder:
    raw = name.encode()
    prefix = len(raw).to_bytes(2, "big") + raw

    def encode_object(value: Any, pack: Pack) -> Ext:
        return Ext(OBJECT, prefix + pack(encode(value)))

    return encode_object


def _refuse(value: Any) -> bytes:
    raise too_deep(MAX_DEPTH)


def _refuse_bytes(data: bytes) -> Any:
    raise damaged("nested too deeply")


def _text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        return Ext(TEXT, value.encode("utf-8", "surrogatepass"))
    return value


def _of_plain(items: list[Any]) -> bytes | None:
    """Plain data as the walk packs it, in C; None where it may be more than that."""
    try:
        data = _packb(items, None, _OPTIONS)
    except TypeError:
        return None
    return None if may_hold_buffer(data) and _has_buffer(items) else data


def _has_buffer(value: Any) -> bool:
    """Whether ormsgpack packed a bytearray or memoryview here as if it were bytes."""
    level: list[Any] = [value]
    while level:
        kinds = {*map(type, level)}
        if not _BUFFERS.isdisjoint(kinds):
            return True
        if kinds.isdisjoint(_HOLDERS):
            return False
        if not kinds <= _PLAIN:  # objects are packed by hooks, and looked through there
            level = [each for each in level if type(each) in _PLAIN]
        if kinds == {dict}:
            level = [*chain.from_iterable(map(_values_of, level))]  # their keys are plain text
            continue
        level = get_referents(*level)  # what lists and dicts hold, in one step of C
    return False
