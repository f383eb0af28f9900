"""Random operations on both stores, against an oracle of a few lines of plain Python.

Labels, keys and filters are hostile on purpose: separators, wildcards, quotes, look-alikes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plait.store.base import BaseStore, InvalidNamespaceError
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore
from plait.testing.stores import HOSTILE

Place = tuple[tuple[str, ...], str]

label_parts = st.sampled_from(
    ["acme", "a", "b", "-corp", "%", "_", "'", '"', "|", "\\", "*", "é", " "]
)
labels = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(label_parts, min_size=1, max_size=3).map("".join),
    st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters=".\0"), min_size=1, max_size=3
    ),
)
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
keys = st.one_of(labels, st.sampled_from(["", ".", "\0", "k"]))
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["a", "b", "'", "1"])
)
fields = st.sampled_from(["x", "y", "a'b", 'q"', "$.x", "') OR 1=1 --"])
values = st.dictionaries(fields, scalars, max_size=3)
operators = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
conditions = st.one_of(scalars, st.dictionaries(operators, scalars, min_size=1, max_size=2))
filters = st.one_of(st.none(), st.dictionaries(fields, conditions, max_size=2))
puts = st.tuples(namespaces, keys, st.one_of(values, st.none()))


class Oracle:
    """A dict, and what the words of the documentation say."""

    def __init__(self, operations: list[tuple[tuple[str, ...], str, Any]]) -> None:
        self.items: dict[Place, Any] = {}
        for namespace, key, value in operations:
            self.items.pop((namespace, key), None)
            if value is not None:
                self.items[namespace, key] = value

    def search(self, prefix: tuple[str, ...], wanted: Any) -> list[Place]:
        return sorted(
            place
            for place, value in self.items.items()
            if place[0][: len(prefix)] == prefix
            and all(self.meets(value.get(key), part) for key, part in (wanted or {}).items())
        )

    @staticmethod
    def meets(found: Any, wanted: Any) -> bool:
        if not isinstance(wanted, dict):
            return found == wanted
        for operator, operand in wanted.items():
            if operator in ("$eq", "$ne"):
                if (found == operand) != (operator == "$eq"):
                    return False
                continue
            kinds = {type(found), type(operand)}
            if not (kinds <= {int, bool} or kinds == {str}):
                return False
            below, same = found < operand, found == operand
            if not {
                "$lt": below,
                "$lte": below or same,
                "$gt": not (below or same),
                "$gte": not below,
            }[operator]:
                return False
        return True

    def namespaces(self, prefix: tuple[str, ...]) -> list[tuple[str, ...]]:
        return sorted(
            {
                namespace
                for namespace, _ in self.items
                if len(namespace) >= len(prefix)
                and all(p in ("*", n) for p, n in zip(prefix, namespace, strict=False))
            }
        )


@contextmanager
def both() -> Iterator[list[BaseStore]]:
    with SqliteStore.from_conn_string(":memory:") as sqlite:
        yield [InMemoryStore(), sqlite]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(puts, max_size=12), st.lists(namespaces, max_size=2), filters, st.integers(0, 4))
def test_stores_do_what_the_oracle_says(
    operations: list[tuple[tuple[str, ...], str, Any]],
    others: list[tuple[str, ...]],
    wanted: Any,
    offset: int,
) -> None:
    oracle = Oracle(operations)
    prefixes = [(), *others, *(n for n, _, _ in operations), *(n[:1] for n, _, _ in operations)]
    with both() as stores:
        for store in stores:
            for namespace, key, value in operations:
                store.put(namespace, key, value)
            for namespace, key, _ in operations:
                item = store.get(namespace, key)
                assert (item and item.value) == oracle.items.get((namespace, key))
            for prefix in prefixes:
                expected = oracle.search(prefix, wanted)
                found = store.search(prefix, filter=wanted, limit=100)
                assert sorted((i.namespace, i.key) for i in found) == expected
                page = store.search(prefix, filter=wanted, limit=2, offset=offset)
                assert page == found[offset : offset + 2]
                assert store.list_namespaces(prefix=prefix) == oracle.namespaces(prefix)


@settings(deadline=None)
@given(st.text(max_size=5))
def test_a_label_is_either_kept_exactly_or_refused(label: str) -> None:
    possible = label != "" and not set(label) & {".", "\0"}
    try:
        label.encode()
    except UnicodeEncodeError:
        possible = False
    with both() as stores:
        for store in stores:
            if not possible:
                try:
                    store.put((label,), "k", {"v": 1})
                except InvalidNamespaceError:
                    assert store.list_namespaces() == []
                    continue
                raise AssertionError(f"{label!r} was not refused")
            if label != "langgraph":
                store.put((label,), "k", {"v": 1})
                assert store.list_namespaces() == [(label,)]
                assert [item.namespace for item in store.search((label,))] == [(label,)]
