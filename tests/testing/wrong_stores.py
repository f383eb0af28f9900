"""Stores that each get one thing wrong, by the promise of the conformance suite that they break.

Those of `ANSWERS` change what a right store answers, those of `ASKED` what it is asked to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unicodedata import normalize

from plait.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore

GOT = "test_what_was_put_is_got"
KEYS = "test_keys_are_any_text"
PAGES = "test_pages_are_parts_of_one_order"
LISTED = "test_namespaces_are_listed_in_order"
COVERS = "test_a_search_covers_a_namespace_and_what_is_below"
RANKS = "test_a_query_ranks_items_by_how_similar_they_are"
SCORES = "test_a_score_tells_of_an_item_and_not_of_what_is_found_with_it"
NOW = "test_an_item_is_found_by_what_it_says_now"
LIVES = "test_a_read_begins_the_life_of_an_item_anew_where_it_is_asked_to"
EXPIRES = "test_items_expire_or_a_ttl_is_refused"


class Hooked:
    """What a wrong store overrides, around the `batch` and `abatch` of a right one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kept: dict[Any, Any] = {}

    def asked(self, op: Any) -> Any:
        """What it does when it is asked for an operation."""
        return op

    def answer(self, op: Any, result: Any) -> Any:
        """What it answers where a right store has a result."""
        return result

    def batch(self, ops: Any) -> Any:
        asked = list(ops)
        given = super().batch([self.asked(op) for op in asked])  # type: ignore[misc]
        return [self.answer(*each) for each in zip(asked, given, strict=True)]

    async def abatch(self, ops: Any) -> Any:
        asked = list(ops)
        given = await super().abatch([self.asked(op) for op in asked])  # type: ignore[misc]
        return [self.answer(*each) for each in zip(asked, given, strict=True)]


class Store(Hooked, InMemoryStore):
    """A right store in memory."""


class Expiring(Hooked, SqliteStore):
    """A right store whose items may expire."""


# --- what is answered ----------------------------------------------------------------------------


def found_by_reference(store: Store, op: Any, result: Any) -> Any:
    if type(op) is PutOp:
        store.kept.pop((op.namespace, op.key), None)
    for item in result if type(op) is SearchOp else ():
        item.value = store.kept.setdefault((item.namespace, item.key), item.value)
    return result


def made_anew(store: Store, op: Any, result: Any) -> Any:
    if type(op) is GetOp and result is not None:
        result.created_at = result.updated_at
    return result


def never_updated(store: Store, op: Any, result: Any) -> Any:
    if type(op) is GetOp and result is not None:
        result.updated_at = result.created_at
    return result


def ranked(change: Callable[[list[Any]], list[Any]]) -> Callable[..., Any]:
    """Changes what searches with a query answer."""

    def answer(store: Store, op: Any, result: Any) -> Any:
        asks = type(op) is SearchOp and op.query is not None
        return change(result) if asks else result

    return answer


def scored(score: Callable[[int, float, list[Any]], float | None]) -> Callable[..., Any]:
    """Changes the score of each item that has one: by its place, its score, and all items."""

    def change(found: list[Any]) -> list[Any]:
        scores = [score(n, item.score, found) if item.score is not None else None
                  for n, item in enumerate(found)]  # fmt: skip
        for item, each in zip(found, scores, strict=True):
            item.score = each
        return found

    return ranked(change)


def scored_unasked(store: Store, op: Any, result: Any) -> Any:
    if type(op) is SearchOp and op.query is None:
        for item in result:
            item.score = 0.0
    return result


def filtered_last(store: Store, op: Any, result: Any) -> Any:
    if type(op) is SearchOp and op.query is not None and op.filter:
        [page] = InMemoryStore.batch(store, [op._replace(filter=None)])
        kept = {item.key for item in result}
        return [item for item in page if item.key in kept]  # type: ignore[union-attr]
    return result


def deleted_still_found(store: Store, op: Any, result: Any) -> Any:
    if type(op) is PutOp:
        store.kept[op.namespace, op.key] = op.value
    if type(op) is SearchOp:
        for item in result:
            store.kept["last", item.namespace, item.key] = item
        if op.query is not None:
            gone = [key for key, value in store.kept.items() if key[0] != "last" and value is None]
            result += [store.kept["last", *key] for key in gone if ("last", *key) in store.kept]
    return result


def _joined(store: Store, op: Any, result: Any) -> Any:
    for item in result if type(op) is SearchOp else ():
        item.namespace = (".".join(item.namespace),)
    return result


ANSWERS: dict[str, tuple[Callable[..., Any], str]] = {
    "namespaces of found items are joined": (_joined, COVERS),
    "found by reference": (found_by_reference,
                           "test_what_the_caller_changes_afterwards_is_not_stored"),
    "made anew": (made_anew, "test_an_item_tells_when_it_was_made_and_when_it_was_last_put"),
    "never updated": (never_updated,
                      "test_an_item_tells_when_it_was_made_and_when_it_was_last_put"),
    "no scores": (scored(lambda n, score, found: None), RANKS),
    "one score for all": (scored(lambda n, score, found: 1.0), RANKS),
    "places for scores": (scored(lambda n, score, found: 1 / (n + 1)), RANKS),
    "distances for scores": (scored(lambda n, score, found: 1 - score), RANKS),
    "scores of a page": (scored(lambda n, score, found: score / (found[0].score or 1)), SCORES),
    "scores without a query": (scored_unasked, SCORES),
    "worst first": (ranked(lambda found: found[::-1]), RANKS),
    "newest first": (ranked(lambda found: sorted(found, key=lambda item: item.updated_at)), RANKS),
    "unindexed first": (ranked(lambda found: sorted(found, key=lambda i: i.score is not None)),
                        RANKS),
    "unindexed left out": (ranked(lambda found: [i for i in found if i.score is not None]), RANKS),
    "filtered after the page": (filtered_last, SCORES),
    "deleted items found": (deleted_still_found, NOW),
}  # fmt: skip

# --- what is done --------------------------------------------------------------------------------


def searches(**wrong: Any) -> Callable[..., Any]:
    """Changes what searches with a query ask for."""

    def asked(store: Store, op: Any) -> Any:
        return op._replace(**wrong) if type(op) is SearchOp and op.query is not None else op

    return asked


def puts(index: Callable[[Any], Any]) -> Callable[..., Any]:
    """Changes how what is put is indexed."""
    return lambda store, op: op._replace(index=index(op.index)) if type(op) is PutOp else op


def old_texts_stay(store: Store, op: Any) -> Any:
    if type(op) is not PutOp or op.value is None or op.index is not None:
        return op
    text = " ".join([store.kept.get((op.namespace, op.key), ""), str(op.value.get("text", ""))])
    store.kept[op.namespace, op.key] = text
    return op._replace(value={**op.value, "all": text}, index=["all"])


def stores(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Each value of what is put is changed."""

    def asked(store: Store, op: Any) -> Any:
        if type(op) is not PutOp or op.value is None:
            return op
        return op._replace(value={key: change(value) for key, value in op.value.items()})

    return asked


def keyed(change: Callable[[str], str]) -> Callable[..., Any]:
    """Keys are changed."""

    def asked(store: Store, op: Any) -> Any:
        named = type(op) in (PutOp, GetOp) and isinstance(op.key, str)
        return op._replace(key=change(op.key)) if named else op

    return asked


def _nothing_put(store: Store, op: Any) -> Any:
    return op._replace(value=op.value or None) if type(op) is PutOp else op


def _one_condition(store: Store, op: Any) -> Any:
    if type(op) is not ListNamespacesOp or not op.match_conditions:
        return op
    return op._replace(match_conditions=op.match_conditions[:1])


def _at_most(store: Store, op: Any) -> Any:
    return op._replace(limit=min(op.limit, 100)) if type(op) is SearchOp else op


ASKED: dict[str, tuple[Callable[..., Any], str]] = {
    "cuts long texts": (stores(lambda v: v[:65_535] if isinstance(v, str) else v), GOT),
    "normalises texts": (stores(lambda v: normalize("NFC", v) if isinstance(v, str) else v), GOT),
    "strips texts": (stores(lambda v: v.strip() if isinstance(v, str) else v), GOT),
    "makes integers of whole floats": (stores(lambda v: int(v) if v == 2.0 else v), GOT),
    "makes floats of large integers": (stores(lambda v: float(v) if v == 2**60 else v), GOT),
    "makes numbers of truth": (stores(lambda v: int(v) if v is True else v), GOT),
    "deletes what is empty": (_nothing_put, GOT),
    "folds keys": (keyed(str.casefold), KEYS),
    "normalises keys": (keyed(lambda key: normalize("NFC", key)), KEYS),
    "cuts keys": (keyed(lambda key: key[:1000]), KEYS),
    "finds a hundred at most": (_at_most, PAGES),
    "lists namespaces that fit one condition": (_one_condition, LISTED),
    "ranks everywhere": (searches(namespace_prefix=()), RANKS),
    "ranks one page only": (searches(offset=0), SCORES),
    "ranks without a filter": (searches(filter=None), SCORES),
    "indexes what it must not": (puts(lambda index: None if index is False else index), RANKS),
    "indexes no paths of a call": (puts(lambda index: index and None), NOW),
    "indexes nothing": (puts(lambda index: False), RANKS),
    "indexes once": (old_texts_stay, NOW),
}


def lives(get: bool | None, search: bool | None) -> Callable[..., Any]:
    """Has reads begin a life anew or not, whatever they ask (None: as they ask)."""

    def asked(store: Expiring, op: Any) -> Any:
        wrong = {GetOp: get, SearchOp: search}.get(type(op))
        return op if wrong is None else op._replace(refresh_ttl=wrong)

    return asked


def never_for_ever(store: Expiring, op: Any) -> Any:
    """An item that once expires does so, though it is put again to stay."""
    if type(op) is PutOp and op.value is not None:
        ttl = store.kept[op.namespace, op.key] = op.ttl or store.kept.get((op.namespace, op.key))
        return op._replace(ttl=ttl)
    return op


def first_life_only(store: Expiring, op: Any) -> Any:
    if type(op) is PutOp and op.value is not None:
        return op._replace(ttl=store.kept.setdefault((op.namespace, op.key), op.ttl))
    return op


EXPIRY: dict[str, tuple[Callable[..., Any], str]] = {
    "no read prolongs": (lives(False, False), LIVES),
    "each read prolongs": (lives(True, True), LIVES),
    "gets do not prolong": (lives(False, None), LIVES),
    "searches do not prolong": (lives(None, False), LIVES),
    "gets always prolong": (lives(True, None), LIVES),
    "searches always prolong": (lives(None, True), LIVES),
    "never for ever": (never_for_ever, EXPIRES),
    "the first life only": (first_life_only, EXPIRES),
    "nothing expires": (lambda store, op: op._replace(ttl=None) if type(op) is PutOp else op,
                        EXPIRES),
}  # fmt: skip
