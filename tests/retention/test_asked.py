"""What nobody can mean is refused, in one way by all savers, and nothing is deleted for it."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from plait.checkpoint.base import empty_checkpoint
from plait.errors import ConfigError, ConfigTypeError, MissingThreadIdError

from .test_retention import Tender, chat, tender, thread

__all__ = ["tender"]

NAN = float("nan")


def held(tender: Tender) -> list[str]:
    return [found.config["configurable"]["checkpoint_id"] for found in tender.saver.list(None)]


@pytest.mark.parametrize(
    ("method", "given", "options"),
    [
        ("prune", "ab", {}),
        ("prune", None, {}),
        ("prune", [None], {}),
        ("prune", [b"a"], {}),
        ("prune", [["a"]], {}),
        *(("prune", ["a"], {"keep_last": each}) for each in (False, True, -1, 1.0, NAN, "1")),
        *(
            ("prune", ["a"], {"keep_last": 0, "older_than": each})
            for each in (5, NAN, date(2099, 1, 1), timedelta(days=-1), timedelta.max, "soon", b"")
        ),
        ("delete_for_runs", "r", {}),
        ("delete_for_runs", [None], {}),
        ("delete_for_runs", None, {}),
        ("delete_for_runs", [["r"]], {}),
        ("delete_thread", None, {}),
        ("delete_thread", ["a"], {}),
        ("delete_thread", thread("a"), {}),
        ("usage", None, {}),
        *(("sweep", None, {"ttl": each}) for each in (-1, False, NAN, "0", timedelta(0))),
        *(("sweep", None, {"ttl": 0, "now": each}) for each in (0, date(2099, 1, 1), "soon")),
    ],
)
def test_nothing_is_deleted_for_what_nobody_can_mean(
    tender: Tender, method: str, given: Any, options: dict[str, Any]
) -> None:
    for name in ("a", "b"):
        chat(tender.saver).invoke({"items": [1]}, thread(name))
    before = held(tender)
    arguments = () if method == "sweep" else (given,)
    with pytest.raises(ConfigError):
        getattr(tender, method)(*arguments, **options)
    assert held(tender) == before


def test_an_id_that_is_no_text_names_the_thread_that_runs_made_of_it(tender: Tender) -> None:
    uuid = UUID(int=7)
    for given in (5, uuid):
        chat(tender.saver).invoke({"items": [1]}, thread(given))  # pyright: ignore
    assert tender.usage(5).checkpoints == 3
    tender.copy_thread(uuid, 6)
    tender.prune(each for each in [5])
    assert [len([*tender.saver.list(thread(name))]) for name in ("5", "6", str(uuid))] == [1, 3, 3]
    tender.delete_thread(uuid)
    tender.delete_thread(5)
    assert {found.config["configurable"]["thread_id"] for found in tender.saver.list(None)} == {"6"}


def test_runs_are_found_by_ids_that_are_no_text(tender: Tender) -> None:
    uuid = UUID(int=7)
    chat(tender.saver).invoke({"items": [1]}, {**thread("a"), "metadata": {"run_id": str(uuid)}})
    chat(tender.saver).invoke({"items": [1]}, thread("b"))
    odd: Any = {"source": "loop", "step": 1, "run_id": 7}  # as a program may put it
    tender.saver.put(thread("c", checkpoint_ns=""), empty_checkpoint(), odd, {})
    tender.delete_for_runs([uuid, "7"])
    assert {found.config["configurable"]["thread_id"] for found in tender.saver.list(None)} == {"b"}


def test_a_time_to_live_may_be_longer_than_any_calendar(tender: Tender) -> None:
    for each in (float("inf"), 1e300, 10**400):
        chat(tender.saver).invoke({"items": [1]}, thread("a", thread_ttl=each))
        assert tender.sweep(ttl=each).deleted == []
    assert tender.sweep(ttl=0, now=datetime(2999, 1, 1)).deleted == []


@pytest.mark.parametrize("ttl", [-1, NAN, "60", timedelta(1), True])
def test_a_run_cannot_ask_for_a_time_to_live_that_is_none(tender: Tender, ttl: Any) -> None:
    with pytest.raises(ConfigError, match="thread_ttl"):
        chat(tender.saver).invoke({"items": [1]}, thread("a", thread_ttl=ttl))


@pytest.mark.parametrize("ttl", [-1, NAN, "60"])
def test_one_that_was_stored_all_the_same_holds_up_no_sweep(tender: Tender, ttl: Any) -> None:
    for name in ("a", "b"):
        chat(tender.saver).invoke({"items": [1]}, thread(name))
    newest = tender.saver.get_tuple(thread("a"))
    metadata = {**newest.metadata, "thread_ttl": ttl}
    tender.saver.put(newest.config, {**newest.checkpoint, "id": "z"}, metadata, {})
    assert tender.sweep().deleted == []
    assert tender.sweep(ttl=0).deleted == ["a", "b"]


@pytest.mark.parametrize("limit", [1.0, NAN, "1", []])
def test_a_limit_is_a_whole_number(tender: Tender, limit: Any) -> None:
    with pytest.raises(ConfigTypeError, match="limit"):
        list(tender.saver.list(thread(), limit=limit))


def test_a_limit_may_be_larger_than_any_table(tender: Tender) -> None:
    chat(tender.saver).invoke({"items": [1]}, thread())
    assert len([*tender.saver.list(thread(), limit=10**30)]) == 3


@pytest.mark.parametrize("odd", ["x", 5, {"configurable": None}])
def test_what_is_no_config_is_named(tender: Tender, odd: Any) -> None:
    with pytest.raises(ConfigTypeError, match="config"):
        tender.saver.get_tuple(odd)
    with pytest.raises(ConfigTypeError, match="config"):
        list(tender.saver.list(odd))
    with pytest.raises(ConfigTypeError, match="before"):
        list(tender.saver.list(thread(), before=odd))


def test_a_missing_thread_id_is_told_as_runs_tell_it(tender: Tender) -> None:
    with pytest.raises(MissingThreadIdError):
        tender.delete_thread(None)
