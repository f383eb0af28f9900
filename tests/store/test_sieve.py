"""The sieve of the SQLite store: it may let through too much, and never too little."""

from __future__ import annotations

import sqlite3
import struct
from enum import StrEnum
from fractions import Fraction
from itertools import count
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.checkpoint.serde import Codec, register, seal
from plait.errors import CorruptCheckpointError
from plait.store.base import GetOp, SearchOp
from plait.store.base.filters import judge_of
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore
from plait.store.sqlite.sieve import may_hold, sieve_of

HEAD, DIGEST, KIND = seal(48, b"", b"")[:5], 16, 48


@register
class Colour(StrEnum):
    RED = "red"


keys = st.sampled_from(["k", "kk", "", "a.b", "(", "é", "\udc80", "k\0"])
numbers = st.one_of(
    st.integers(-130, 260),
    st.sampled_from([2**15, 2**16, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, 2**70, -(2**63)]),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 2.0**64, float("inf")]),
    st.booleans(),
)
scalars = st.one_of(
    st.none(),
    numbers,
    st.sampled_from(["", "red", "k", "x" * 31, "x" * 32, "x" * 255, "x" * 256, "\udc80", "\n(é"]),
    st.sampled_from([Colour.RED, Fraction(1), b"red", "x" * 70000]),
)
parts = st.one_of(
    scalars, st.dictionaries(keys, scalars, max_size=2), st.tuples(scalars), st.lists(scalars)
)
names = st.one_of(keys, st.sampled_from([1, None]))  # a dict with these is stored another way
named = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
operators = st.dictionaries(named, st.one_of(scalars, numbers), min_size=1)
filters = st.dictionaries(keys, st.one_of(scalars, operators), min_size=1, max_size=2)


@settings(max_examples=1500, deadline=None)
@given(st.dictionaries(names, parts, max_size=4), filters, st.data())
def test_what_meets_a_filter_is_never_sifted_out(
    value: dict[Any, Any], wanted: dict[str, Any], data: st.DataObject
) -> None:
    known = [key for key in wanted if key in value]
    if known and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(known))
        same = value[key]
        wanted[key] = data.draw(
            st.sampled_from([same, {"$eq": same}, {"$gte": same}, {"$lte": same, "$gt": -1e9}])
        )
    pattern = sieve_of(wanted, HEAD, DIGEST)
    judge = judge_of(wanted)
    assert judge is not None
    codec = Codec()
    data_ = codec.dumps(value)
    if pattern is not None and judge(codec.loads(data_)):
        assert may_hold(pattern, seal(KIND, b"p", data_))


@pytest.mark.parametrize(
    ("form", "head"), [(">f", 0xCA), (">d", 0xCB), (">B", 0xCC), (">Q", 0xCF), (">q", 0xD3)]
)
def test_every_way_to_write_a_number_is_let_through(form: str, head: int) -> None:
    packed = b"\x81\xa1k" + bytes([head]) + struct.pack(form, 1)
    for wanted in (1, 1.0, True):
        pattern = sieve_of({"k": wanted}, HEAD, DIGEST)
        assert pattern is not None
        assert ormsgpack.unpackb(packed) == {"k": wanted}
        assert may_hold(pattern, seal(KIND, b"", packed))


@pytest.mark.parametrize(("low", "high"), [(5, 9), (-3, 300), (65_000, 70_000.5), (-0.5, 0.5)])
def test_numbers_far_from_a_range_are_sifted_out(low: float, high: float) -> None:
    pattern = sieve_of({"number": {"$gte": low, "$lt": high}}, HEAD, DIGEST)
    assert pattern is not None
    for number in (*range(-400, 400), 64_000, 66_000, 80_000, 1 << 40, -1e9, -0.2, 0.2, 1e300):
        record = seal(KIND, b"", ormsgpack.packb({"number": number}))
        if low <= number < high:
            assert may_hold(pattern, record)
        elif not low - 1 <= number <= high + 1:
            assert not may_hold(pattern, record)


def test_what_cannot_meet_a_filter_is_sifted_out() -> None:
    codec = Codec()
    pattern = sieve_of({"k": "yes", "n": 3}, HEAD, DIGEST)
    assert pattern is not None
    for value, may in [
        ({"k": "yes", "n": 3}, True),
        ({"k": "yes", "n": 3.0}, True),
        ({"k": "yes", "n": 4}, False),
        ({"k": "no", "n": 3}, False),
        ({"n": 3}, False),
        ({}, False),
    ]:
        assert may_hold(pattern, seal(KIND, b"", codec.dumps(value))) is may
    assert sieve_of({"k": None}, HEAD, DIGEST) is None
    assert sieve_of({"a.b": 1}, HEAD, DIGEST) is None
    assert sieve_of({"k": {"$gt": "a"}}, HEAD, DIGEST) is None


def test_a_foreign_record_is_told_by_a_filtered_search_too() -> None:
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    with SqliteStore(conn) as store:
        store.put(("u",), "a", {"k": "other"})
        assert store.search((), filter={"k": "yes"}) == []
        for damaged in (b"", b"foreign", "text"):
            conn.execute("UPDATE items SET value = ?", (damaged,))
            with pytest.raises((CorruptCheckpointError, TypeError)):
                store.search((), filter={"k": "yes"})
    conn.close()


def test_a_filtered_search_looks_no_further_than_its_page() -> None:
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    looked: list[Any] = []
    conn.create_function("may_hold", 2, lambda _, record: looked.append(record) or True)
    with SqliteStore(conn) as store:
        for n in range(300):
            store.put(("u",), str(n), {"n": n})
        found = store.search((), filter={"n": {"$gte": 100}}, limit=5)
    conn.close()
    assert [item.key for item in found] == [str(n) for n in range(299, 294, -1)]
    assert len(looked) <= 64


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(keys, scalars), max_size=8), filters, st.integers(0, 3))
def test_filtered_pages_are_cut_from_the_filtered_whole(
    pairs: list[tuple[str, Any]], wanted: dict[str, Any], offset: int
) -> None:
    memory = InMemoryStore()
    with SqliteStore(":memory:") as store:
        for at, (key, part) in enumerate(pairs):
            for each in (memory, store):
                each.put(("u", str(at % 3)), str(at), {key: part})
        whole = store.search((), filter=wanted, limit=-1)
        assert {i.key for i in whole} == {i.key for i in memory.search((), filter=wanted, limit=-1)}
        assert [i.updated_at for i in whole] == sorted((i.updated_at for i in whole), reverse=True)
        page = store.search((), filter=wanted, limit=2, offset=offset)
        assert page == whole[offset : offset + 2]


def test_a_batch_of_reads_sees_one_moment(tmp_path: Any) -> None:
    path = tmp_path / "items.db"
    with SqliteStore(path) as store, SqliteStore(path) as other:
        store.put(("u",), "a", {"n": 0})

        class Late(SearchOp):
            """An operation in whose turn somebody else writes."""

            @property
            def limit(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
                other.put(("u",), "a", {"n": next(fresh)})
                return 10

        fresh = count(1)
        ops: Any = [GetOp(("u",), "a"), Late(("u",))]
        results: Any = store.batch(ops)
        (found,) = results[1]
        assert results[0].value == found.value
        assert store.search(("u",))[0].value["n"] > found.value["n"]
