"""Plans that were put off and are done together."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from plait.checkpoint.base import run_plan
from plait.checkpoint.log.joined import joined
from plait.checkpoint.log.requests import ReadLane, Together, Transact


def writes(name: str, heard: list[Any]) -> Generator[Any, Any, str]:
    """A plan that sends one transaction."""
    try:
        heard.append((name, (yield Transact(name, ""))))
    except ValueError:
        heard.append((name, "failed"))
        raise
    return name


def reads(name: str, heard: list[Any]) -> Generator[Any, Any, str]:
    """A plan that reads before its transaction."""
    heard.append((name, (yield ReadLane(name, ""))))
    return (yield from writes(name, heard))


def silent() -> Generator[Any, Any, str]:
    """A plan that asks for nothing."""
    return "silent"
    yield


class Storage:
    """Answers with what it was asked for; fails at a request that holds `fails`."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.asked: list[Any] = []

    def execute(self, request: Any) -> Any:
        """Do one request."""
        parts = request.requests if type(request) is Together else [request]
        names = [part.thread_id for part in parts]
        self.asked.append((type(request).__name__, names))
        if self.fails in names:
            raise ValueError(self.fails)
        done = [f"did {name}" for name in names]
        return done if type(request) is Together else done[0]


def test_transactions_in_a_row_are_one_and_each_plan_hears_its_own_answer() -> None:
    storage, heard = Storage(), []
    plans = [silent(), writes("a", heard), writes("b", heard), writes("c", heard)]
    assert run_plan(joined(plans), storage.execute) == "c"
    assert storage.asked == [("Together", ["a", "b", "c"])]
    assert heard == [("a", "did a"), ("b", "did b"), ("c", "did c")]


def test_a_plan_that_reads_finds_what_came_before_it_done() -> None:
    storage, heard = Storage(), []
    plans = [writes("a", heard), writes("b", heard), reads("c", heard), writes("d", heard)]
    assert run_plan(joined(plans), storage.execute) == "d"
    assert storage.asked == [
        ("Together", ["a", "b"]), ("ReadLane", ["c"]), ("Transact", ["c"]), ("Transact", ["d"]),
    ]  # fmt: skip


@pytest.mark.parametrize("fails", ["a", "b", "c"])
def test_after_an_error_nothing_more_is_done(fails: str) -> None:
    storage, heard = Storage(fails), []
    plans = [writes("a", heard), writes("b", heard), reads("c", heard), writes("d", heard)]
    with pytest.raises(ValueError, match=fails):
        run_plan(joined(plans), storage.execute)
    assert ("a", "failed") in heard or fails == "c", "who asked first hears of it"
    assert all("d" not in names for _, names in storage.asked)


def test_a_plan_that_refuses_its_answer_ends_it() -> None:
    def refuses() -> Generator[Any, Any, None]:
        yield Transact("r", "")
        raise LookupError("refused")

    storage, heard = Storage(), []
    with pytest.raises(LookupError, match="refused"):
        run_plan(joined([refuses(), reads("c", heard)]), storage.execute)
    assert heard == []


def test_the_result_of_the_last_plan_is_that_of_all() -> None:
    storage, heard = Storage(), []
    assert run_plan(joined([writes("a", heard), silent()]), storage.execute) == "silent"
    assert run_plan(joined([]), storage.execute) is None
