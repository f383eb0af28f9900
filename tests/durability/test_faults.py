"""A saver that fails at any request: the caller hears of it, and the thread goes on after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.errors import StorageError
from plait.testing import FaultySaver, InjectedFailure
from plait.testing.processes import GAVE_UP
from plait.types import Command

from .graphs import CONFIG, adder, chain
from .savers import KINDS, new_place
from .workflow import CONFIG as KILL
from .workflow import EXPECTED, Journal, afinish, build, finish, next_input

MOST_POINTS = 400


def faulty(saver: Any, point: int, when: str) -> Any:
    """A saver whose request number `point` fails."""
    fault: Any = {"before": "raise", "after": "commit then raise"}.get(when, when)
    return FaultySaver(saver, at=point, fault=fault)


@contextmanager
def letting_go(saver: FaultySaver) -> Iterator[None]:
    """A request that hangs is let go on to its error, from another thread."""
    watch = Thread(target=lambda: saver.hanging.wait(GAVE_UP) and saver.release())
    watch.start()
    try:
        yield
    finally:
        saver.hanging.set()
        watch.join()


@pytest.fixture(params=["memory", *KINDS])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Opens a saver with a new and empty database, each time; says what kind it is."""
    kind = request.param
    server = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    numbers = count()

    @contextmanager
    def opened() -> Iterator[Any]:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        if kind == "memory":
            yield InMemorySaver()
        else:
            with new_place(kind, folder, server) as place, place.open() as saver:
                yield saver

    opened.kind = kind
    return opened


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("api", ["sync", "async"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_failing_request_reaches_the_caller_and_the_thread_goes_on(
    tmp_path: Path, fresh: Any, api: str, durability: str, when: str
) -> None:
    for point in count(1, 3 if fresh.kind == "postgres" else 1):
        assert point < MOST_POINTS
        place = f"replay: point {point} {when}, {fresh.kind} {api} {durability}"
        journal = Journal(tmp_path / f"journal-{when}-{point}")
        with fresh() as opened:
            saver = faulty(opened, point, when)
            graph = build(saver, journal, api)
            failed = goes_on(graph, api, durability)
            raised, saver.at = saver.failed, 0
            state = graph.get_state(KILL)
            assert failed == raised, f"the error reached nobody; {place}"
            assert next_input(state) is ..., place
            assert state.values == EXPECTED, place
            if durability == "sync":
                check_no_rerun(journal, place)
        if not raised:
            assert point > 10, "the saver was hardly used"
            return


@pytest.mark.parametrize("api", ["sync", "async"])
def test_request_that_hangs_and_fails_reaches_the_caller_and_the_thread_goes_on(
    tmp_path: Path, fresh: Any, api: str
) -> None:
    for point in count(1, 6 if fresh.kind == "postgres" else 2):
        place = f"replay: point {point} hangs, {fresh.kind} {api}"
        journal = Journal(tmp_path / f"journal-{point}")
        with fresh() as opened:
            saver = faulty(opened, point, "hang")
            graph = build(saver, journal, api)
            with letting_go(saver):
                failed = goes_on(graph, api, "sync")
            raised, saver.at = saver.failed, 0
            assert failed == raised, f"the error reached nobody; {place}"
            assert graph.get_state(KILL).values == EXPECTED, place
            check_no_rerun(journal, place)
        if not raised:
            assert point > 10, "the saver was hardly used"
            return


def goes_on(graph: Any, api: str, durability: str) -> bool:
    """Bring a thread to its end, once more after an error; whether there was one."""

    def go() -> None:
        if api == "async":
            asyncio.run(afinish(graph, durability))
        else:
            finish(graph, durability)

    try:
        go()
    except (InjectedFailure, StorageError):
        go()  # with the error still at hand, as `except` blocks have it
        return True
    return False


def check_no_rerun(journal: Journal, place: str) -> None:
    """Only tasks whose storing failed may have run twice: those of one request."""
    again = [words for words in journal.lines() if words[0] == "begin"]
    ids = [words[2] for words in again if words[1] != "ask"]
    assert len(ids) - len(set(ids)) <= 2, place  # max_concurrency is 2


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("name", ["stream", "astream"])
def test_failing_request_ends_a_stream_with_its_error(durability: str, name: str) -> None:
    outcomes: list[str] = []
    for point in count(1):
        saver = faulty(InMemorySaver(), point, "before")
        graph = chain(saver, *[(name, adder(name)) for name in "abc"])
        parts: list[Any] = []

        async def arun(graph: Any = graph, parts: list[Any] = parts) -> None:
            stream = graph.astream({"items": []}, CONFIG, durability=durability)
            async for part in stream:
                parts.append(part)

        try:
            if name == "astream":
                asyncio.run(arun())
            else:
                parts.extend(graph.stream({"items": []}, CONFIG, durability=durability))
            outcomes.append("ended")
        except InjectedFailure:
            outcomes.append("failed")
        assert (outcomes[-1] == "failed") == saver.failed
        if durability == "sync":
            told = parts[-1].get("items", []) if parts else []
            saver.at = 0
            stored = graph.get_state(CONFIG).values.get("items", [])
            assert told == stored[: len(told)], "told before it was stored"
        if not saver.failed:
            break
    assert outcomes.count("ended") == 1
    assert outcomes.count("failed") >= 3


def test_saver_that_never_recovers_fails_each_run_and_stores_a_prefix(saver: Any) -> None:
    graph = chain(saver, *[(name, adder(name)) for name in "abc"])
    real, calls = saver.execute, []

    def execute(request: Any) -> Any:
        calls.append(request)
        if len(calls) > 4:
            raise InjectedFailure("gone for good")
        return real(request)

    saver.execute = execute
    with pytest.raises(InjectedFailure):
        graph.invoke({"items": []}, CONFIG)
    with pytest.raises(InjectedFailure):
        graph.invoke(None, CONFIG)
    saver.execute = real
    assert graph.invoke(None, CONFIG) == {"items": ["a", "b", "c"]}


def test_update_state_that_fails_holds_no_thread(saver: Any) -> None:
    graph = chain(saver, *[(name, adder(name)) for name in "abc"])
    graph.invoke({"items": []}, CONFIG)
    real = saver.execute

    def execute(request: Any) -> Any:
        answer = real(request)
        if type(request).__name__ == "Transact":
            raise InjectedFailure("after it was stored")
        return answer

    saver.execute = execute
    with pytest.raises(InjectedFailure):
        graph.update_state(CONFIG, {"items": ["x"]})
    saver.execute = real
    assert graph.get_state(CONFIG).values["items"][-1] == "x"
    assert graph.invoke({"items": ["y"]}, CONFIG)["items"][-4:] == ["y", "a", "b", "c"]


def test_value_that_cannot_be_stored_fails_the_run_and_the_thread_goes_on(saver: Any) -> None:
    class Odd:
        pass

    values: list[Any] = [Odd()]
    graph = chain(
        saver, ("a", adder("a")), ("b", lambda _: {"items": [values.pop() if values else "b"]})
    )
    with pytest.raises(StorageError, match="Odd"):
        graph.invoke({"items": []}, CONFIG)
    assert graph.invoke(None, CONFIG) == {"items": ["a", "b"]}


def test_command_is_refused_before_anything_is_stored(saver: Any) -> None:
    graph = chain(saver, ("a", adder("a")))
    with pytest.raises(RuntimeError):
        graph.invoke(Command(resume="x"), CONFIG)
    assert graph.get_state(CONFIG).created_at is None
