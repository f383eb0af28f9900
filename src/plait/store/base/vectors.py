"""Vectors at rest and in use: packed float32, and cosine similarity by numpy or in plain Python."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import dist, hypot, inf, isnan
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

from plait.errors import InvalidStoreOpError, nearest

K = TypeVar("K", bound=Hashable)
Distance: TypeAlias = Literal["cosine", "l2", "inner_product"]
"""What tells how similar two vectors are."""
_DISTANCES: tuple[Distance, ...] = get_args(Distance)


def pack(vector: Iterable[float]) -> bytes:
    """A vector as little-endian float32, the form that sqlite-vec reads, too."""
    if vector.__class__ is list:
        floats = cast("list[float]", vector)
        try:
            return _packer(len(floats))(*floats)
        except (OverflowError, struct.error):  # beyond float32, or no numbers
            pass
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


@lru_cache(maxsize=32)
def _packer(count: int) -> Callable[..., bytes]:
    """What packs a list of so many numbers: in half of the time that an array takes."""
    return struct.Struct(f"<{count}f").pack


def unpack(data: bytes) -> array[float]:
    """The numbers of a packed vector."""
    numbers = array("f", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def distance_of(index: Mapping[str, Any] | None) -> Distance:
    """The `distance_type` of an index.

    Raises:
        InvalidStoreOpError: There is no such one.
    """
    named: Any = (index or {}).get("distance_type") or "cosine"
    if named not in _DISTANCES:
        raise InvalidStoreOpError(
            f"distance_type={named!r} of the index is unknown. {nearest(str(named), _DISTANCES)}"
        )
    return named


def best_scores(
    query: bytes, owned: Sequence[tuple[K, bytes]], distance: Distance = "cosine"
) -> dict[K, float]:
    """Of each owner's vectors, the score of the one most similar to the query.

    By cosine, a vector of zeros, or with a NaN in it, is similar to nothing (0.0).

    Raises:
        InvalidStoreOpError: A vector has another length than the query's.
    """
    vectors = [vector for _, vector in owned]
    scores = cosines(query, vectors) if distance == "cosine" else _plain(query, vectors, distance)
    best: dict[K, float] = {}
    for (owner, _), score in zip(owned, scores, strict=True):
        if score > best.get(owner, -inf):
            best[owner] = score
    return best


def _plain(query: bytes, vectors: Sequence[bytes], distance: Distance) -> list[float]:
    """How similar vectors are by their distance (negative) or their inner product."""
    _check_lengths(query, vectors)
    wanted = unpack(query)
    if distance == "l2":
        return [-dist(wanted, unpack(vector)) for vector in vectors]
    return [sum(a * b for a, b in zip(wanted, unpack(vector), strict=True)) for vector in vectors]


def _check_lengths(query: bytes, vectors: Sequence[bytes]) -> None:
    for vector in vectors:
        if len(vector) != len(query):
            raise InvalidStoreOpError(
                f"The query has {len(query) // 4} dimensions, stored vectors have "
                f"{len(vector) // 4}: the items were embedded by another model. Put them again."
            )


def cosines(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    """The cosine similarity of each vector to the query; 0.0 where there is none: one of both is
    all zeros, or holds what is no finite number.

    Raises:
        InvalidStoreOpError: A vector has another length than the query's.
    """
    _check_lengths(query, vectors)
    numpy = _numpy()
    if numpy is None:
        return _plain_cosines(query, vectors)
    if not vectors:
        return []
    wanted = numpy.frombuffer(query, "<f4").astype("f8")
    rows = numpy.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1).astype("f8")
    with numpy.errstate(invalid="ignore"):
        norms = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows)) * numpy.sqrt(wanted @ wanted)
        dots = rows @ wanted
        scores = numpy.divide(dots, norms, out=numpy.zeros_like(dots), where=norms > 0)
    return numpy.nan_to_num(scores).tolist()


def _plain_cosines(query: bytes, vectors: Sequence[bytes]) -> list[float]:
    wanted = unpack(query)
    norm = hypot(*wanted)
    scores: list[float] = []
    for data in vectors:
        vector = unpack(data)
        norms = norm * hypot(*vector)
        dot = sum(a * b for a, b in zip(wanted, vector, strict=True))
        score = dot / norms if norms else 0.0
        scores.append(0.0 if isnan(score) else score)
    return scores


@cache
def _numpy() -> Any:
    try:
        import numpy
    except ImportError:  # the extra `vectors` is not installed: slower, same scores
        return None
    return numpy
