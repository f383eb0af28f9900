"""The journal of calls: what a `@task` did is not done twice, and never mistaken for another."""

from __future__ import annotations

import asyncio
import gc
import operator
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.charges import twice_charging

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.engine.likeness import likeness
from plait.errors import JournalMismatchError, UnheardErrorWarning, UnusedAnswerWarning
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.messages import HumanMessage
from plait.types import Command, RetryPolicy, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class Said(TypedDict, total=False):
    """A list that grows."""

    said: Annotated[list[str], operator.add]


def noting() -> tuple[list[str], Any, Any]:
    """A list, and two tasks that leave their words in it."""
    seen: list[str] = []

    @task
    def charge(what: Any) -> str:
        seen.append(f"charge {what}")
        return f"charged {what}"

    @task
    def refund(what: Any) -> str:
        seen.append(f"refund {what}")
        return f"refunded {what}"

    return seen, charge, refund


def asking(flow: Any, saver: Any = None) -> Any:
    """An entrypoint that was asked once."""
    workflow = entrypoint(checkpointer=saver or InMemorySaver())(flow)
    workflow.invoke(1, CONFIG)
    return workflow


def test_other_arguments_than_those_on_record_are_refused_before_the_call() -> None:
    seen, charge, _ = noting()
    amounts = iter([5, 6])

    def flow(x: int) -> Any:
        return [charge(next(amounts)).result(), interrupt("ok?")]

    workflow = asking(flow)
    with pytest.raises(JournalMismatchError, match="other arguments") as caught:
        workflow.invoke(Command(resume="yes"), CONFIG)
    assert seen == ["charge 5"]
    assert (caught.value.node, caught.value.recorded, caught.value.called) == (
        "flow",
        "charge",
        "charge",
    )
    for words in ("thread '1'", "call 1", "@task", "graph.invoke(None"):
        assert words in str(caught.value)


def test_another_function_than_the_one_on_record_is_refused_before_the_call() -> None:
    seen, charge, refund = noting()
    tasks = iter([charge, refund])

    def flow(x: int) -> Any:
        return [next(tasks)(1).result(), interrupt("ok?")]

    workflow = asking(flow)
    with pytest.raises(JournalMismatchError, match="called 'refund' where 'charge'"):
        workflow.invoke(Command(resume="yes"), CONFIG)
    assert seen == ["charge 1"]


def test_code_that_catches_the_mismatch_cannot_go_on() -> None:
    _, charge, _ = noting()
    amounts = iter([5, 6])

    def flow(x: int) -> Any:
        try:
            charge(next(amounts)).result()
        except JournalMismatchError:
            return "as if nothing had been"
        return interrupt("ok?")

    workflow = asking(flow)
    with pytest.raises(JournalMismatchError):
        workflow.invoke(Command(resume="yes"), CONFIG)


def test_a_mismatch_is_never_retried() -> None:
    seen, charge, _ = noting()
    amounts = iter([5, 6, 5])

    def flow(x: int) -> Any:
        return [charge(next(amounts)).result(), interrupt("ok?")]

    policy = RetryPolicy(initial_interval=0.0, retry_on=Exception)
    workflow = entrypoint(checkpointer=InMemorySaver(), retry_policy=policy)(flow)
    workflow.invoke(1, CONFIG)
    with pytest.raises(JournalMismatchError):
        workflow.invoke(Command(resume="yes"), CONFIG)
    assert seen == ["charge 5"]


def test_a_thread_with_a_mismatch_starts_over_from_its_checkpoint() -> None:
    seen, charge, _ = noting()
    amounts = iter([5, 6, 7])

    def flow(x: int) -> Any:
        return [charge(next(amounts)).result(), interrupt("ok?")]

    workflow = asking(flow)
    with pytest.raises(JournalMismatchError):
        workflow.invoke(Command(resume="yes"), CONFIG)
    assert "__interrupt__" in workflow.invoke(None, workflow.get_state(CONFIG).config)
    assert seen == ["charge 5", "charge 7"]


def test_calls_in_another_order_find_their_results() -> None:
    seen, charge, _ = noting()
    orders = iter([["a", "b", "c"], ["c", "a", "b"]])

    def flow(x: int) -> Any:
        done = {what: charge(what).result() for what in next(orders)}
        return [done, interrupt("ok?")]

    done, _ = asking(flow).invoke(Command(resume="yes"), CONFIG)
    assert done == {what: f"charged {what}" for what in "abc"}
    assert seen == ["charge a", "charge b", "charge c"]


def test_a_call_that_is_left_out_the_next_time_harms_nobody() -> None:
    seen, charge, _ = noting()
    calls = iter([["log", "a"], ["a"]])

    def flow(x: int) -> Any:
        return [[charge(what).result() for what in next(calls)], interrupt("ok?")]

    # "a" is on record, so that it is not refused in the place of "log".
    assert asking(flow).invoke(Command(resume="yes"), CONFIG)[0] == ["charged a"]
    assert seen == ["charge log", "charge a"]


def _result_of(charge: Any, what: str) -> str:
    return charge(what).result()


def racing(whats: list[str], charge: Any) -> list[str]:
    """Calls from threads of the code's own, in no order."""
    with ThreadPoolExecutor(3) as pool:
        calls = [partial(_result_of, charge, what) for what in whats]
        jobs = [pool.submit(copy_context().run, call) for call in calls]
        return [job.result() for job in jobs]


def test_calls_that_race_find_their_results() -> None:
    seen, charge, _ = noting()
    whats = ["a", "b", "c", "a"]

    def flow(x: int) -> Any:
        return [racing(whats, charge), interrupt("ok?")]

    done, _ = asking(flow).invoke(Command(resume="yes"), CONFIG)
    assert done == [f"charged {what}" for what in whats]
    assert sorted(seen) == ["charge a", "charge a", "charge b", "charge c"]


def test_a_racing_call_with_other_arguments_does_not_pass_in_silence() -> None:
    _, charge, _ = noting()
    whats = iter([["a", "b"], ["a", "z"]])

    def flow(x: int) -> Any:
        return [racing(next(whats), charge), interrupt("ok?")]

    workflow = asking(flow)
    with pytest.raises(JournalMismatchError, match="concurrent code"):
        workflow.invoke(Command(resume="yes"), CONFIG)


def test_asyncio_tasks_that_race_find_their_results() -> None:
    seen: list[str] = []
    twice = twice_charging(seen)

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(x: int) -> Any:
        return [await asyncio.gather(twice("a"), twice("b"), twice("a")), interrupt("ok?")]

    async def both() -> Any:
        await flow.ainvoke(1, CONFIG)
        return await flow.ainvoke(Command(resume="yes"), CONFIG)

    done, _ = asyncio.run(both())
    assert done == ["aaa!a!", "bbb!b!", "aaa!a!"]
    assert sorted(seen) == ["a", "a", "a!", "a!", "b", "b!"]


def test_a_failure_that_was_caught_and_is_none_the_next_time_may_change_the_way() -> None:
    seen, charge, refund = noting()

    @task
    def shaky() -> str:
        seen.append("shaky")
        if seen.count("shaky") == 1:
            raise ConnectionError("once")
        return "fine"

    def flow(x: int) -> Any:
        try:
            got = shaky().result()
        except ConnectionError:
            got = refund(1).result()
            interrupt("ok?")
        return [got, charge(2).result()]

    graph = asking(flow)
    with pytest.warns(UnusedAnswerWarning, match="has ended without asking it again"):
        assert graph.invoke(Command(resume="yes"), CONFIG) == ["fine", "charged 2"]
    assert seen == ["shaky", "refund 1", "shaky", "charge 2"]


def test_attempts_of_a_retried_caller_share_what_their_calls_did() -> None:
    seen, charge, _ = noting()
    tries: list[int] = []

    @entrypoint(retry_policy=RetryPolicy(initial_interval=0.0, retry_on=KeyError))
    def flow(x: int) -> Any:
        done = [charge("a").result(), charge("a").result(), charge("b").result()]
        tries.append(1)
        if len(tries) < 3:
            raise KeyError("again")
        return done

    assert flow.invoke(1) == ["charged a", "charged a", "charged b"]
    assert seen == ["charge a", "charge a", "charge b"]


def failing_beside(saver: Any, seen: list[str], dropped: bool) -> Any:
    """A node that calls a task without waiting for it, beside one that fails the first time."""
    failed, began = threading.Event(), threading.Event()

    @task
    def slow(what: str) -> None:
        began.set()
        failed.wait(30)
        seen.append(what)

    def calls(state: Said) -> Said:
        slow("done")
        return {"said": ["called"]}

    def fails(state: Said) -> Said:
        if not failed.is_set():
            if not dropped:
                began.wait(30)
            failed.set()
            raise ValueError("on purpose")
        return {"said": ["mended"]}

    builder: Any = StateGraph(Said)
    builder.add_node("calls", calls)
    builder.add_node("fails", fails)
    builder.add_edge(START, "calls")
    builder.add_edge(START, "fails")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("dropped", [True, False])
def test_a_call_that_nobody_waits_for_is_made_although_a_sibling_fails(dropped: bool) -> None:
    seen: list[str] = []
    graph = failing_beside(InMemorySaver(), seen, dropped)
    config = {**CONFIG, "max_concurrency": 2} if dropped else CONFIG
    with pytest.raises(ValueError, match="on purpose"):
        graph.invoke({}, config)
    before = list(seen)
    assert sorted(graph.invoke(None, config)["said"]) == ["called", "mended"]
    assert seen == ["done"]
    if not dropped:  # else the failure may come before or after the call finds a free place
        assert before == ["done"]


def test_a_question_that_nobody_waits_for_is_asked_and_answered() -> None:
    answers: list[str] = []

    @task
    def ask() -> None:
        answers.append(interrupt("well?"))

    @entrypoint(checkpointer=InMemorySaver())
    def flow(x: int) -> str:
        ask()
        return "r"

    asked = flow.invoke(1, CONFIG)
    assert [each.value for each in asked["__interrupt__"]] == ["well?"]
    assert flow.invoke(Command(resume="yes"), CONFIG) == "r"
    assert answers == ["yes"]


@task
def refuses() -> None:
    raise ConnectionError("no")


@task
async def arefuses() -> None:
    raise ConnectionError("no")


def test_an_error_that_nobody_asks_for_is_a_warning() -> None:
    @entrypoint()
    def flow(x: int) -> str:
        refuses()
        return "r"

    with pytest.warns(UnheardErrorWarning, match="'refuses' failed with ConnectionError"):
        assert flow.invoke(1) == "r"


def test_an_error_that_nobody_awaits_is_a_warning() -> None:
    @entrypoint()
    async def flow(x: int) -> str:
        arefuses()
        return "r"

    with pytest.warns(UnheardErrorWarning, match="'arefuses' failed"):
        assert asyncio.run(flow.ainvoke(1)) == "r"


def test_an_error_that_nobody_awaits_is_told_once() -> None:
    told: list[str] = []

    @entrypoint()
    async def flow(x: int) -> str:
        arefuses()
        return "r"

    async def runs() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(str(what)))
        await flow.ainvoke(1)
        await asyncio.sleep(0)  # the call lets go of its last callbacks
        gc.collect()

    with pytest.warns(UnheardErrorWarning) as warned:
        asyncio.run(runs())
    assert (len(warned), told) == (1, [])


@pytest.mark.filterwarnings("error")
def test_an_error_that_was_asked_for_is_no_warning() -> None:
    @entrypoint()
    def flow(x: int) -> str:
        call = refuses()
        return repr(call.exception())

    @entrypoint()
    async def aflow(x: int) -> list[str]:
        return [repr(e) for e in await asyncio.gather(arefuses(), return_exceptions=True)]

    assert flow.invoke(1) == "ConnectionError('no')"
    assert asyncio.run(aflow.ainvoke(1)) == ["ConnectionError('no')"]


@pytest.mark.parametrize("end", ["fails", "calls what fails", "is cancelled"])
def test_calls_that_were_stopped_with_their_run_are_no_error_that_nobody_asked_for(
    end: str,
) -> None:
    told: list[str] = []
    begun = asyncio.Event()

    @task
    async def slow() -> None:
        begun.set()
        await asyncio.Event().wait()

    @entrypoint()
    async def flow(x: int) -> None:
        call = slow()
        await begun.wait()
        if end == "fails":
            raise KeyError("flow")
        await (arefuses() if end == "calls what fails" else call)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["message"]))
        run = asyncio.create_task(flow.ainvoke(1))
        await begun.wait()
        if end == "is cancelled":
            run.cancel()
        await asyncio.wait([run])
        assert run.cancelled() or run.exception() is not None
        del run
        gc.collect()  # asyncio tells of an error when nobody can ask for it any more
        await asyncio.sleep(0)

    asyncio.run(main())
    assert told == []


def test_a_node_in_a_file_finds_its_calls_in_another_process_life(tmp_path: Any) -> None:
    seen, charge, _ = noting()

    def node(state: Said) -> Said:
        receipt = charge({"amount": 5, "to": ("me", {"a", "b"})}).result()
        return {"said": [receipt, interrupt("ok?")]}

    def graph(saver: Any) -> Any:
        builder: Any = StateGraph(Said)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        return builder.compile(checkpointer=saver)

    with SqliteSaver.from_conn_string(str(tmp_path / "log.db")) as saver:
        graph(saver).invoke({"said": []}, CONFIG)
    with SqliteSaver.from_conn_string(str(tmp_path / "log.db")) as saver:
        said = graph(saver).invoke(Command(resume="yes"), CONFIG)["said"]
    assert said[-1] == "yes"
    assert len(seen) == 1


SHOP = """
from dataclasses import dataclass

from plait.checkpoint.serde import register
from plait.checkpoint.sqlite import SqliteSaver
from plait.func import entrypoint, task
from plait.types import interrupt


@dataclass
class Order:
    euro: int


if __name__ != "__main__":
    register(Order, name="__main__:Order")


@task
def charge(order: Order) -> str:
    with open("effects", "a") as file:
        file.write(f"charged {order.euro}\\n")
    return f"{order.euro} euro"


@entrypoint(checkpointer=SqliteSaver("shop.db"))
def buy(order: Order) -> list:
    return [charge(order).result(), interrupt("Ship it?")]


thread = {"configurable": {"thread_id": "1"}}
if __name__ == "__main__":
    buy.invoke(Order(5), thread)
"""


def test_what_a_script_began_goes_on_where_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP, "utf-8")
    go_on = """if True:
        import plait, shop
        print(shop.buy.invoke(plait.Command(resume="yes"), shop.thread))
    """
    subprocess.run([sys.executable, "shop.py"], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-c", go_on], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout == "['5 euro', 'yes']\n"
    assert (tmp_path / "effects").read_text() == "charged 5\n"


WORKERS = """
import multiprocessing
from dataclasses import dataclass

from plait.checkpoint.sqlite import SqliteSaver
from plait.func import entrypoint, task
from plait.types import Command, interrupt


@dataclass
class Order:
    euro: int


@task
def charge(order: Order) -> Order:
    with open("effects", "a") as file:
        file.write(f"charged {order.euro}\\n")
    return order


@entrypoint(checkpointer=SqliteSaver("shop.db"))
def buy(order: Order) -> list:
    return [charge(order).result(), interrupt("Ship it?")]


def work(given):
    return repr(buy.invoke(given, {"configurable": {"thread_id": "1"}}))


if __name__ == "__main__":
    work(Order(5))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(work, [Command(resume="yes")]))
        pool.apply(work, [Order(6)])
    print(work(Command(resume="no")))
"""


def test_workers_of_multiprocessing_and_their_script_go_on_with_each_others_threads(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop.py").write_text(WORKERS, "utf-8")
    ran = subprocess.run(
        [sys.executable, "shop.py"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert ran.stdout == "[Order(euro=5), 'yes']\n[Order(euro=6), 'no']\n"
    assert (tmp_path / "effects").read_text() == "charged 5\ncharged 6\n"


@dataclass
class Point:
    """Two numbers."""

    x: int
    y: Any


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1, 2, 3}, {3, 2, 1}),
        (HumanMessage("hi"), HumanMessage("hi")),
        (Point(1, object()), Point(1, object())),
        (threading.Lock(), threading.Lock()),
    ],
)
def test_arguments_that_are_alike(one: Any, other: Any) -> None:
    assert likeness((one,), {}) == likeness((other,), {})
    assert likeness((), {"a": 1, "b": one}) == likeness((), {"b": other, "a": 1})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        ("1", 1),
        ("a", b"a"),
        ([1, [2]], [[1], 2]),
        ({"a": 1}, {"a": 2}),
        ({"a": None}, {}),
        (HumanMessage("hi"), HumanMessage("ho")),
        (Point(1, 2), Point(2, 1)),
        (["a,b"], ["a", "b"]),
        ("\ud800", "\ud801"),
    ],
)
def test_arguments_that_differ(one: Any, other: Any) -> None:
    assert likeness((one,), {}) != likeness((other,), {})


class Word(str):
    """Equal to plain text, and not the same."""


@pytest.mark.parametrize(
    ("many", "digest"),
    [
        ([*range(20)], "a9b513603ba0170f"),
        ([*"abcdefghij", 1.5, None, True, b"b"], "60aa56ecd5eddb75"),
        ([{"id": i, "%s": "text"} for i in range(9)], "8804672f716e8695"),
        ([{"t": i, "id": {"x": 0}} for i in range(9)], "89417739c463d594"),
        ({f"k{i}": i for i in range(20)}, "7e4bad780af9eb56"),
        ({i: [i] for i in range(20)}, "7c99e6eaa6d66649"),
        ((*range(9), (1, "a")), "88d96e572c5f529c"),
    ],
    ids=str,
)
def test_the_likeness_of_many_items_is_what_journals_have_on_record(many: Any, digest: str) -> None:
    assert likeness((many,), {}) == digest


KEYS = st.sampled_from(["a", "ab", "a'", 'a"', "a:", "%r", "%", "\\", Word("a"), "é"])
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
LEAVES = ATOMS | st.tuples(ATOMS) | st.just(Word("a"))
ROWS = st.lists(KEYS, max_size=4, unique=True).flatmap(
    lambda keys: st.lists(st.fixed_dictionaries(dict.fromkeys(keys, ATOMS)), max_size=12)
)


@given(ROWS | st.lists(LEAVES, max_size=12) | st.dictionaries(LEAVES, LEAVES, max_size=12))
def test_many_items_are_told_as_one_by_one(many: Any) -> None:
    together = likeness((many,), {})
    with patch("plait.engine.likeness._MANY", 1000):
        assert likeness((many,), {}) == together


def test_a_value_that_contains_itself_has_a_likeness() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert likeness((endless,), {}) == likeness((endless,), {})


def test_arguments_look_the_same_in_every_process() -> None:
    program = (
        "from plait.engine.likeness import likeness; from plait.messages import HumanMessage; "
        "print(likeness(({'b', 'a', 'c'}, HumanMessage('x'), object()), {'k': {'z': 1, 'y': 2}}))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
