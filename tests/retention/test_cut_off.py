"""Retention that dies on the way: the thread works, and doing it again finishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from plait.checkpoint.log import copying, deleting, retention
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, ThreadBusyError
from plait.types import Command

from .test_retention import chat, lanes, nesting, thread

MOST = 200


@pytest.fixture(params=["memory", "sqlite"])
def fresh(request: Any, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    with ExitStack() as opened:

        def make() -> Any:
            if request.param == "memory":
                return InMemorySaver()
            if request.param == "sqlite":
                path = tmp_path / f"{uuid4()}.db"
                return opened.enter_context(SqliteSaver(path))
            url = request.getfixturevalue("postgres_url")
            saver = opened.enter_context(PostgresSaver.from_conn_string(url))
            saver.setup()
            for thread_id in ("t", "copy"):
                saver.delete_thread(thread_id)
            return saver

        yield make


def cut_off(saver: Any, plan: Any, requests: int) -> bool:
    """Do so many requests of a plan and no more, as a process that dies; whether it had more."""
    answer = None
    for _ in range(requests):
        try:
            request = plan.send(answer)
        except StopIteration:
            return False
        answer = saver.execute(request)
    plan.close()
    return True


def grown(saver: Any) -> Any:
    graph = nesting(saver)
    for n in range(3):
        graph.invoke({"items": []}, thread())
        graph.invoke(Command(resume=n), thread())
    graph.invoke({"items": []}, thread())
    return graph


def lending(saver: Any) -> Any:
    """A graph whose inner lane borrows a long list from the outer one."""
    graph = nesting(saver)
    for n in range(3):
        graph.invoke({"items": ["x" * 5_000]}, thread())
        graph.invoke(Command(resume=n), thread())
    return graph


def forget_claims(saver: Any) -> None:
    """What held claims is gone, as when its process is."""
    session = saver.open_session("t", policy="takeover")
    saver.run(session.claim())
    saver.run(session.release())


def test_a_prune_that_dies_anywhere_leaves_a_thread_that_goes_on(fresh: Any) -> None:
    for requests in range(1, MOST):
        saver = fresh()
        graph = grown(saver)
        values = graph.get_state(thread()).values
        rule = retention.Rule.of("keep_latest", None, None)
        more = cut_off(saver, retention.prune(saver.open_session("t"), rule), requests)
        forget_claims(saver)
        assert graph.get_state(thread()).values == values, requests
        assert len(list(graph.get_state_history(thread()))) >= 1, requests
        saver.prune(["t"])
        assert len(lanes(saver)) == 2, requests
        assert len(list(graph.get_state_history(thread()))) == 1
        assert graph.invoke(Command(resume="on"), thread())["items"][-1] == "on", requests
        if not more:
            assert requests > 10
            return
    raise AssertionError("it does not end")


def test_a_delete_that_dies_anywhere_deletes_everything_or_nothing(fresh: Any) -> None:
    for requests in range(1, MOST):
        saver = fresh()
        graph = grown(saver)
        before = lanes(saver)
        more = cut_off(saver, deleting.delete_thread(saver.open_session("t")), requests)
        assert lanes(saver) in (before, []), requests
        if lanes(saver):
            forget_claims(saver)
            assert graph.invoke(Command(resume="on"), thread())["items"][-1] == "on", requests
        saver.delete_thread("t")
        assert lanes(saver) == []
        if not more:
            return
    raise AssertionError("it does not end")


def test_a_copy_that_dies_anywhere_is_finished_by_the_next(fresh: Any) -> None:
    for requests in range(1, MOST):
        saver = fresh()
        graph = grown(saver)
        codec, values = saver.open_session("t").codec, graph.get_state(thread()).values
        target = saver.open_session("copy")
        more = cut_off(saver, copying.copy_thread(codec, "t", target, None), requests)
        if not graph.get_state(thread("copy")).values:
            again = saver.open_session("copy", policy="takeover")
            saver.run(copying.copy_thread(codec, "t", again, None))
        assert graph.get_state(thread("copy")).values == values, requests
        assert len(lanes(saver, "copy")) == len(lanes(saver))
        assert graph.invoke(Command(resume="on"), thread("copy"))["items"][-1] == "on", requests
        if not more:
            assert requests > 10
            return
    raise AssertionError("it does not end")


@pytest.mark.parametrize("meanwhile", ["prune", "delete"])
def test_a_copy_of_lanes_that_borrow_is_whole_or_given_up(fresh: Any, meanwhile: str) -> None:
    for requests in range(1, MOST):
        saver = fresh()
        graph = lending(saver)
        history = [each.values for each in graph.get_state_history(thread())]
        plan = copying.copy_thread(
            saver.open_session("t").codec, "t", saver.open_session("copy"), None
        )
        answer, ended = None, False
        for n in range(MOST):
            if n == requests and meanwhile == "prune":
                saver.prune(["t"])
            elif n == requests:
                saver.delete_thread("t")
            try:
                answer = saver.execute(plan.send(answer))
            except StopIteration:
                ended = n <= requests
                assert len(list(saver.list(thread("copy")))) > 0
                found = [each.values for each in graph.get_state_history(thread("copy"))]
                assert found in (history, history[:1]), requests
                break
            except (ThreadBusyError, ConfigError):
                assert lanes(saver, "copy") == [], requests
                break
        if ended:
            return
    raise AssertionError("it does not end")


@pytest.mark.parametrize("fresh", ["memory", "sqlite", "postgres"], indirect=True)
def test_a_copy_on_its_way_is_listed_whole_or_not_at_all(fresh: Any) -> None:
    saver = fresh()
    graph = lending(saver)

    def seen(thread_id: str, found: Any) -> list[tuple[str, str, Any]]:
        return [
            (each.config["configurable"]["checkpoint_ns"], each.checkpoint["id"], each.checkpoint)
            for each in found
            if each.config["configurable"]["thread_id"] == thread_id
        ]

    source = seen("t", saver.list(thread()))
    history = [each.values for each in graph.get_state_history(thread())]
    for requests in range(1, MOST):
        codec, target = saver.open_session("t").codec, saver.open_session("copy")
        more = cut_off(saver, copying.copy_thread(codec, "t", target, None), requests)
        listed = list(saver.list(None))
        assert seen("t", listed) == source, requests
        copied = seen("copy", listed)
        spaces = {ns for ns, _, _ in copied}
        assert copied == [each for each in source if each[0] in spaces], requests
        assert copied == seen("copy", saver.list(thread("copy"))), requests
        found = [each.values for each in graph.get_state_history(thread("copy"))]
        assert found in ([], history), requests
        if not more:
            assert copied == source
            return
        saver.run(deleting.delete_thread(saver.open_session("copy", policy="takeover")))
    raise AssertionError("it does not end")


def test_a_source_that_goes_on_while_it_is_copied_gives_a_copy_that_works(fresh: Any) -> None:
    for requests in range(1, MOST):
        saver = fresh()
        graph = chat(saver)
        graph.invoke({"items": ["a"]}, thread())
        plan = copying.copy_thread(
            saver.open_session("t").codec, "t", saver.open_session("copy"), None
        )
        answer, ended = None, False
        for n in range(MOST):
            if n == requests:
                graph.invoke({"items": ["b"]}, thread())
            try:
                answer = saver.execute(plan.send(answer))
            except StopIteration:
                ended = n <= requests
                break
        copied = graph.get_state(thread("copy")).values["items"]
        assert copied in (["a", "re: a"], ["a", "re: a", "b", "re: b"]), requests
        assert graph.invoke({"items": ["c"]}, thread("copy"))["items"] == [*copied, "c", "re: c"]
        if ended:
            return
    raise AssertionError("it does not end")


def test_a_source_that_is_pruned_while_it_is_copied_leaves_no_half_copy(fresh: Any) -> None:
    outcomes: set[str] = set()
    for requests in range(1, 30):
        saver = fresh()
        graph = chat(saver)
        for n in range(3):
            graph.invoke({"items": [n]}, thread())
        plan = copying.copy_thread(
            saver.open_session("t").codec, "t", saver.open_session("copy"), None
        )
        answer: Any = None
        for n in range(MOST):
            if n == requests:
                saver.delete_thread("t")
            try:
                answer = saver.execute(plan.send(answer))
            except StopIteration:
                outcomes.add("copied")
                break
            except Exception as error:
                outcomes.add(type(error).__name__)
                assert lanes(saver, "copy") == []
                break
        if lanes(saver, "copy"):
            state = graph.get_state(thread("copy")).values
            assert not state or state["items"][:2] == [0, "re: 0"], (requests, state)
    assert "copied" in outcomes


def test_a_thread_that_a_run_makes_under_a_copy_stays_as_the_run_left_it(fresh: Any) -> None:
    refused = 0
    for requests in range(1, MOST):
        saver = fresh()
        graph = chat(saver)
        graph.invoke({"items": ["a"]}, thread())
        plan = copying.copy_thread(
            saver.open_session("t").codec, "t", saver.open_session("copy"), None
        )
        answer = None
        try:
            for _ in range(requests):
                answer = saver.execute(plan.send(answer))
            graph.invoke({"items": ["own"]}, thread("copy"))
            while True:
                answer = saver.execute(plan.send(answer))
        except ConfigError:
            refused += 1
            assert graph.get_state(thread("copy")).values["items"] == ["own", "re: own"], requests
        except (ThreadBusyError, StopIteration):  # the copy had the thread first
            assert refused
            return
    raise AssertionError("the copy never has the thread")
