"""Durable timers: what waits for a time goes on at the next call after it, in any process."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from math import inf, nan
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, InterruptTimeoutError, UnknownInterruptError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.timers import TimedInterrupt, sleep, sleep_until, text_of
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture(params=["sync", "async"])
def call(request: Any) -> Any:
    """`invoke`, or `ainvoke` in a loop of its own."""

    def run(graph: Any, given: Any, **options: Any) -> Any:
        if request.param == "async":
            return asyncio.run(graph.ainvoke(given, CONFIG, **options))
        return graph.invoke(given, CONFIG, **options)

    return run


def one_node(code: Any, saver: Any = None) -> Any:
    builder = StateGraph(dict).add_node("work", code).add_edge(START, "work")
    return builder.compile(checkpointer=InMemorySaver() if saver is None else saver)


def test_a_question_answers_itself_with_its_default(env: Any, call: Any) -> None:
    graph = one_node(lambda state: {"said": interrupt("ok?", timeout=60, default="no")})
    (question,) = call(graph, {})["__interrupt__"]
    assert isinstance(question, TimedInterrupt)
    assert (question.value, question.due, question.default) == ("ok?", env.now() + 60, "no")
    env.clock += 59
    (again,) = call(graph, None)["__interrupt__"]
    assert again == question, "the time is counted from the first time it was asked"
    env.clock += 1
    assert call(graph, None) == {"said": "no"}


@pytest.mark.parametrize(
    ("day", "fold", "hours"),
    [((2027, 3, 28), 0, 2.5), ((2027, 10, 31), 0, 2.5), ((2027, 10, 31), 1, 3.5)],
    ids=["in the gap", "the first of two", "the second of two"],
)
def test_a_time_of_day_is_kept_where_clocks_are_set(
    env: Any, call: Any, day: Any, fold: int, hours: float
) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start, until = datetime(*day, tzinfo=berlin), datetime(*day, 2, 30, tzinfo=berlin, fold=fold)

    def code(state: Any) -> Any:
        sleep_until(until)
        return {"woke": True}

    graph = one_node(code)
    env.clock += start.timestamp() - env.now()
    (waits,) = call(graph, {})["__interrupt__"]
    assert waits.at == start.astimezone(UTC) + timedelta(hours=hours)
    env.clock += hours * 3600 - 1
    assert call(graph, None)["__interrupt__"] == [waits]
    env.clock += 1
    assert call(graph, None) == {"woke": True}


def test_an_answer_in_time_wins_and_a_late_one_is_refused(env: Any, call: Any) -> None:
    def code(state: Any) -> Any:
        return {"said": interrupt("ok?", timeout=60, default="no"), "then": interrupt("sure?")}

    graph = one_node(code)
    (question,) = call(graph, {})["__interrupt__"]
    env.clock += 30
    call(graph, Command(resume="yes"))
    env.clock += 60
    assert call(graph, Command(resume="sure")) == {"said": "yes", "then": "sure"}

    graph = one_node(code)
    (question,) = call(graph, {})["__interrupt__"]
    env.clock += 61
    with pytest.raises(UnknownInterruptError, match="by its timeout"):
        call(graph, Command(resume={question.id: "yes"}))
    (other,) = call(graph, None)["__interrupt__"]
    assert other.value == "sure?"
    assert call(graph, Command(resume="sure")) == {"said": "no", "then": "sure"}


class Dies(BaseException):
    """What ends a process in the middle of a node."""


def test_an_answer_in_time_stays_when_the_time_comes_before_the_node_has_ended(
    env: Any, call: Any
) -> None:
    deaths = [Dies()]

    def code(state: Any) -> Any:
        said = interrupt("ok?", timeout=60, default="no")
        if deaths:
            raise deaths.pop()
        return {"said": said}

    graph = one_node(code)
    call(graph, {})
    with pytest.raises(Dies):
        call(graph, Command(resume="yes"))
    env.clock += 60
    assert call(graph, None) == {"said": "yes"}


def test_a_time_that_comes_leaves_the_answers_of_before_and_is_told_once(
    env: Any, call: Any, tmp_path: Path
) -> None:
    deaths: list[Dies] = []

    def code(state: Any) -> Any:
        said = [interrupt("name?"), interrupt("ok?", timeout=60, default="no")]
        if deaths:
            raise deaths.pop()
        return {"said": said}

    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = one_node(code, saver)
        call(graph, {})
        (question,) = call(graph, Command(resume="Ann"))["__interrupt__"]
        env.clock += 60
        deaths.append(Dies())
        with pytest.raises(Dies):
            call(graph, None)
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = one_node(code, saver)
        assert graph.get_state(CONFIG).interrupts == (), "its time has answered it"
        with pytest.raises(UnknownInterruptError):
            call(graph, Command(resume={question.id: "yes"}))
        assert call(graph, None) == {"said": ["Ann", "no"]}


def test_at_an_old_checkpoint_the_question_may_be_answered_after_its_time(
    env: Any, call: Any
) -> None:
    graph = one_node(lambda state: {"said": interrupt("ok?", timeout=60, default="no")})
    call(graph, {})
    asked = graph.get_state(CONFIG).config
    env.clock += 61
    assert call(graph, {})["__interrupt__"], "a new run, which asks anew"
    assert graph.invoke(Command(resume="yes"), asked) == {"said": "yes"}


def test_without_a_default_the_node_is_told(env: Any, call: Any) -> None:
    def code(state: Any) -> Any:
        try:
            return {"said": interrupt("ok?", timeout=timedelta(minutes=1))}
        except InterruptTimeoutError:
            return {"said": "nothing"}

    graph = one_node(code)
    call(graph, {})
    env.clock += 60
    assert call(graph, None) == {"said": "nothing"}


class Verdict(BaseModel):
    ok: bool


def asks_for(schema: Any, default: Any) -> Any:
    def code(state: Any) -> Any:
        said = interrupt("ok?", timeout=60, default=default, response_schema=schema)
        return {"said": repr(said)}

    return code


@pytest.mark.parametrize(
    ("default", "said"), [(None, "None"), ({"ok": False}, "Verdict(ok=False)"), ("?", "")]
)
def test_the_default_of_a_typed_question_is_none_or_fits_the_type(
    env: Any, call: Any, default: Any, said: str
) -> None:
    graph = one_node(asks_for(Verdict, default))
    if not said:
        with pytest.raises(ConfigError, match="response_schema"):
            call(graph, {})
        return
    call(graph, {})
    with pytest.raises(ValidationError):
        call(graph, Command(resume={"no": "verdict"}))
    env.clock += 60
    assert call(graph, None) == {"said": said}


def test_a_default_that_fits_no_more_is_still_the_answer(env: Any, call: Any) -> None:
    saver = InMemorySaver()
    call(one_node(asks_for(Verdict, {"ok": True}), saver), {})
    env.clock += 60
    assert call(one_node(asks_for(bool, False), saver), None) == {"said": "{'ok': True}"}


@pytest.mark.parametrize("until", [False, True])
def test_a_node_sleeps_and_goes_on_at_its_time(env: Any, call: Any, until: bool) -> None:
    wakes = datetime.fromtimestamp(env.now() + 3600, UTC)

    def code(state: Any) -> Any:
        sleep_until(wakes) if until else sleep(3600)
        return {"woke": True}

    graph = one_node(code)
    (waits,) = call(graph, {})["__interrupt__"]
    assert waits.value == {"sleep_until": wakes.isoformat()}
    assert graph.get_state(CONFIG).next == ("work",)
    env.clock += 3599
    (still,) = call(graph, None)["__interrupt__"]
    assert still == waits
    with pytest.raises(UnknownInterruptError):
        call(graph, Command(resume="wake up"))
    env.clock += 1
    assert call(graph, None) == {"woke": True}


def test_a_time_that_has_come_is_not_waited_for(env: Any, call: Any) -> None:
    graph = one_node(lambda state: {"woke": sleep_until(env.now() - 1) is None})
    assert call(graph, {}) == {"woke": True}


def test_a_bare_answer_reaches_the_question_beside_a_sleeper(env: Any, call: Any) -> None:
    def sleeper(state: Any) -> Any:
        sleep(10)

    builder = StateGraph(dict).add_node("sleeper", sleeper)
    builder.add_node("asker", lambda state: {"said": interrupt("ok?")})
    builder.add_edge(START, "sleeper").add_edge(START, "asker")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert len(call(graph, {})["__interrupt__"]) == 2
    (waits,) = call(graph, Command(resume="yes"))["__interrupt__"]
    assert waits.sleeps
    env.clock += 10
    assert call(graph, None) == {"said": "yes"}


def test_sleeps_in_a_row_each_take_their_time_and_tasks_are_not_repeated(env: Any) -> None:
    sent: list[float] = []

    @task
    def remind(day: int) -> float:
        sent.append(env.now())
        return env.now()

    @entrypoint(checkpointer=InMemorySaver())
    def reminders(days: int) -> list[float]:
        times: list[float] = []
        for day in range(days):
            times.append(remind(day).result())
            sleep(timedelta(days=1))
        return times

    start = env.now()
    graph: Any = reminders
    given: Any = 3
    for _ in range(3):
        assert "__interrupt__" in graph.invoke(given, CONFIG)
        given = None
        env.clock += 86_400
    assert graph.invoke(None, CONFIG) == sent == [start, start + 86_400, start + 2 * 86_400]


def test_a_sleep_inside_a_subgraph_ends_the_run_around_it(env: Any, call: Any) -> None:
    def inner(state: Any) -> Any:
        sleep(60)
        return {"said": interrupt("ok?", timeout=60, default="no")}

    nested = StateGraph(dict).add_node("inner", inner).add_edge(START, "inner").compile()
    graph = one_node(nested)
    assert call(graph, {})["__interrupt__"][0].sleeps
    env.clock += 60
    (question,) = call(graph, None)["__interrupt__"]
    assert (question.value, question.due) == ("ok?", env.now() + 60)
    env.clock += 60
    assert call(graph, None) == {"said": "no"}


def test_timers_survive_the_process(env: Any, tmp_path: Path, call: Any) -> None:
    def code(state: Any) -> Any:
        sleep(60)
        return {"said": interrupt("ok?", timeout=60)}

    with SqliteSaver(tmp_path / "log.db") as saver:
        call(one_node(code, saver), {})
    env.clock += 60
    with SqliteSaver(tmp_path / "log.db") as saver:
        (question,) = call(one_node(code, saver), None)["__interrupt__"]
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = one_node(code, saver)
        assert graph.get_state(CONFIG).interrupts == (question,)
        env.clock += 60
        with pytest.raises(InterruptTimeoutError):
            call(graph, None)


@pytest.mark.parametrize("beyond", [inf, 1e12, timedelta.max])
def test_a_time_beyond_the_calendar_is_waited_for_like_any_other(
    env: Any, call: Any, beyond: Any
) -> None:
    graph = one_node(lambda state: {"said": sleep(beyond)})
    (waits,) = call(graph, {})["__interrupt__"]
    assert waits.value == {"sleep_until": "9999-12-31T23:59:59+00:00"}
    graph = one_node(lambda state: {"said": interrupt("ok?", timeout=beyond)})
    (asked,) = call(graph, {})["__interrupt__"]
    assert asked.at.year == 9999
    assert call(graph, Command(resume="yes")) == {"said": "yes"}


@pytest.mark.parametrize("wait", [sleep, lambda until: interrupt("ok?", timeout=until)])
def test_a_number_that_no_float_holds_is_waited_for_too(env: Any, wait: Any) -> None:
    graph = one_node(lambda state: wait(10**400))
    (asked,) = graph.invoke({}, CONFIG)["__interrupt__"]
    assert asked.at.year == 9999


def test_any_time_that_has_passed_is_not_waited_for(env: Any) -> None:
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=10)))
    for past in (-inf, -(10**400), early):
        assert one_node(lambda state, past=past: {"x": sleep_until(past)}).invoke({}, CONFIG)


def test_what_is_no_time_is_refused(env: Any) -> None:
    for code in (
        lambda state: interrupt("ok?", timeout=0),
        lambda state: interrupt("ok?", timeout=True),
        lambda state: interrupt("ok?", timeout="soon"),
        lambda state: interrupt("ok?", default="no"),
        lambda state: sleep(-1),
        lambda state: sleep_until(datetime(2026, 1, 1)),
        *(
            lambda state, odd=odd: sleep_until(odd)
            for odd in (nan, True, None, "2099-01-01", timedelta(1), datetime.now(UTC).date())
        ),
    ):
        with pytest.raises(ConfigError):
            one_node(code).invoke({}, CONFIG)
    with pytest.raises(ConfigError, match="outside of a running graph"):
        sleep(1)
    plain = StateGraph(dict).add_node("work", lambda state: sleep(1)).add_edge(START, "work")
    with pytest.raises(ConfigError, match="checkpointer"):
        plain.compile().invoke({})


@given(st.floats(-2e9, 4e9) | st.integers(-(10**9), 4 * 10**9).map(lambda n: n + 0.9999999))
def test_a_time_reads_as_datetime_writes_it(epoch: float):
    assert text_of(epoch) == datetime.fromtimestamp(epoch, UTC).isoformat(timespec="microseconds")
