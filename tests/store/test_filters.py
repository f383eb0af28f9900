"""Filters that hold more than JSON, and values that do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore

numpy: Any = pytest.importorskip("numpy")
pandas: Any = pytest.importorskip("pandas")

VALUE: dict[str, Any] = {
    "list": [1, 2],
    "n": 3,
    "text": "text",
    "array": numpy.array([1, 2]),
    "one": numpy.array([1]),
    "deep": {"in": [numpy.array([1, 2])]},
    "float": numpy.float32(1.1),
    "int": numpy.int64(5),
    "table": pandas.DataFrame({"a": [1, 2]}),
    "tables": [pandas.DataFrame({"a": [1, 2]})],
}
ONE, PAIR = numpy.int64(1), numpy.array([1, 2])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("filter", [
    {"list": {"$ne": ONE}},
    {"list": PAIR},
    {"list": {"$eq": PAIR}},
    {"list": [ONE, {"$gt": ONE}]},
    {"n": numpy.int64(3)},
    {"n": numpy.array(3)},
    {"n": {"$gt": ONE}},
    {"n": {"$gte": numpy.float32(3), "$lt": Fraction(7, 2)}},
    {"n": {"$ne": PAIR}},
    {"text": numpy.str_("text")},
    {"array": PAIR},
    {"array": [1, 2]},
    {"array": {"$eq": [1, 2]}},
    {"array": {"$ne": 1}},
    {"array": [1, {"$gt": 1}]},
    {"one": [1]},
    {"one": {"$ne": 1}},
    {"deep": {"in": [[1, 2]]}},
    {"deep": {"$eq": {"in": [PAIR]}}},
    {"deep.in": [PAIR]},
    {"float": 1.1},
    {"float": numpy.float32(1.1)},
    {"int": 5},
    {"int": {"$gt": 4, "$lt": numpy.int8(6)}},
    {"table": {"$ne": 1}},
    {"tables": {"$ne": [1]}},
], ids=repr)  # fmt: skip
def test_numbers_and_arrays_of_numpy_are_numbers_and_lists(filter: Any) -> None:
    assert found(filter) == [1, 1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("filter", [
    {"list": ONE},
    {"list": {"$eq": ONE}},
    {"list": {"$ne": PAIR}},
    {"list": {"$gt": ONE}},
    {"list": numpy.array([1, 2, 3])},
    {"n": numpy.array([3])},
    {"text": PAIR},
    {"text": {"$gt": ONE}},
    {"array": 1},
    {"array": ONE},
    {"array": [1]},
    {"array": {"$ne": [1, 2]}},
    {"array": {"$gt": 0}},
    {"one": 1},
    {"deep.in": 1},
    {"deep": {"in": [1]}},
    {"int": {"$gt": "4"}},
    {"table": 1},
    {"table": "a"},
    {"tables": {"$eq": [1]}},
], ids=repr)  # fmt: skip
def test_what_is_compared_item_by_item_is_not_equal_to_one_of_them(filter: Any) -> None:
    assert found(filter) == [0, 0]


def found(filter: Any) -> list[int]:
    """How many items each store finds."""
    with SqliteStore(":memory:") as sqlite:
        stores = (InMemoryStore(), sqlite)
        for store in stores:
            store.put(("a",), "k", VALUE)
        return [len(store.search(("a",), filter=filter)) for store in stores]
