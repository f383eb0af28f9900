"""numpy arrays and scalars as dtype, shape and raw bytes. numpy is looked up, never imported."""

from __future__ import annotations

import re
import sys
from typing import Any

from ormsgpack import Ext

from plait.checkpoint.serde.plain import ARRAY, SCALAR, Encoder, Pack, Unpack
from plait.errors import CorruptCheckpointError, UnregisteredTypeError

_SIMPLE = re.compile(r"[<>|=][?a-zA-Z]\d{0,9}(\[\d{0,6}[a-zA-Z]{1,2}\])?")


def array_encoder(cls: type) -> Encoder | None:
    """The encoder of a numpy type, or None if it is not one."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if cls is numpy.ndarray:
        return _encode_array
    if cls.__module__ == "numpy" and issubclass(cls, numpy.generic) and cls is not numpy.object_:
        return _encode_scalar
    return None


def _encode_array(value: Any, pack: Pack) -> Ext:
    if value.dtype.hasobject:
        raise UnregisteredTypeError(
            "A numpy array of dtype object cannot be stored, since its items are arbitrary "
            "objects. Use a plain dtype, or keep a list in the state."
        )
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    state = [_describe(value.dtype), list(value.shape), order, value.tobytes(order)]
    return Ext(ARRAY, pack(state))


def _encode_scalar(value: Any, pack: Pack) -> Ext:
    return Ext(SCALAR, pack([_describe(value.dtype), value.tobytes()]))


def _describe(dtype: Any) -> Any:
    """A dtype as data: its string, or the fields of a structured one."""
    if dtype.names is None:
        if dtype.subdtype is not None or not _SIMPLE.fullmatch(dtype.str):
            raise UnregisteredTypeError(f"A numpy dtype {dtype!r} cannot be stored.")
        return dtype.str
    columns = [[n, _field(dtype.fields[n][0]), dtype.fields[n][1]] for n in dtype.names]
    return [columns, dtype.itemsize]


def _field(dtype: Any) -> Any:
    if dtype.subdtype is None:
        return [_describe(dtype), []]
    return [_describe(dtype.subdtype[0]), list(dtype.subdtype[1])]


def _dtype(numpy: Any, described: Any) -> Any:
    if isinstance(described, str):
        if not _SIMPLE.fullmatch(described) or "O" in described:
            raise CorruptCheckpointError(f"A stored numpy dtype {described!r} is not a plain one.")
        return numpy.dtype(described)
    columns, size = described
    return numpy.dtype(
        {
            "names": [name for name, _, _ in columns],
            "formats": [(_dtype(numpy, base), tuple(shape)) for _, (base, shape), _ in columns],
            "offsets": [offset for _, _, offset in columns],
            "itemsize": size,
        }
    )


def _numpy() -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        raise UnregisteredTypeError(
            "A stored value is a numpy array, and numpy is not loaded. Import numpy in the program "
            "that reads this thread."
        )
    return numpy


def decode_array(data: bytes, unpack: Unpack) -> Any:
    """A writable array from its dtype, shape, order and bytes."""
    described, shape, order, raw = unpack(data)
    numpy = _numpy()
    flat = numpy.frombuffer(bytearray(raw), dtype=_dtype(numpy, described))
    return flat.reshape(shape, order=order)


def decode_scalar(data: bytes, unpack: Unpack) -> Any:
    """A numpy scalar from its dtype and bytes."""
    described, raw = unpack(data)
    numpy = _numpy()
    return numpy.frombuffer(raw, dtype=_dtype(numpy, described))[0]
