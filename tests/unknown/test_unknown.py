"""Nodes and tasks that must not be repeated, killed while they run: the policy decides, once."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.config import get_config
from plait.errors import (
    ConfigError,
    GraphDrained,
    InvalidAnswerError,
    InvalidNodeError,
    InvalidUpdateError,
    NodeTimeoutError,
)
from plait.func import entrypoint, task
from plait.graph import END, START, StateGraph
from plait.runtime import RunControl
from plait.testing import fork
from plait.types import Command, RetryPolicy, UnknownOutcome, interrupt
from plait.typing import MISSING

CONFIG: Any = {"configurable": {"thread_id": "1"}}
FLAVORS = ("sync", "async")


class Till:
    """Charges that outlive processes: one line each. Kills its process right after the first."""

    def __init__(self, place: Path, *, before: bool = False) -> None:
        self.file = place / "charges"
        self.fatal = place / "fatal"
        self.before = before
        self.fatal.touch()

    def charge(self, state: Any) -> Any:
        if self.before:
            self._die()
        with self.file.open("a") as charges:
            charges.write("charged\n")
        self._die()
        return {"receipt": "fresh"}

    def _die(self) -> None:
        if self.fatal.exists():
            self.fatal.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    @property
    def charges(self) -> int:
        return len(self.file.read_text().split()) if self.file.exists() else 0


def build(saver: Any, till: Till, policy: Any, flavor: str) -> Any:
    async def acharge(state: Any) -> Any:
        return till.charge(state)

    builder = StateGraph(dict)
    builder.add_node("pack", lambda state: {**state, "packed": True})
    builder.add_node("charge", acharge if flavor == "async" else till.charge, on_unknown=policy)
    builder.add_edge(START, "pack")
    builder.add_edge("pack", "charge")
    return builder.compile(checkpointer=saver)


def run(graph: Any, given: Any, flavor: str, **options: Any) -> Any:
    if flavor == "async":
        return asyncio.run(graph.ainvoke(given, CONFIG, **options))
    return graph.invoke(given, CONFIG, **options)


def dies(place: Path, till: Till, policy: Any, flavor: str, given: Any, **options: Any) -> None:
    """A process that runs the graph, and is killed while it charges."""
    pid = os.fork()
    if not pid:
        try:
            saver = SqliteSaver(place / "log.db")
            run(build(saver, till, policy, flavor), given, flavor, **options)
        finally:
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == -signal.SIGKILL


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_killed_charge_asks_instead_of_charging_twice(
    tmp_path: Path, flavor: str, durability: str
) -> None:
    till = Till(tmp_path)
    dies(tmp_path, till, "ask", flavor, {"item": 1}, durability=durability)
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver, till, "ask", flavor)
        for _ in range(2):  # asking again does not run it either
            (question,) = run(graph, None, flavor)["__interrupt__"]
            assert question.value["unknown_outcome"] == "charge"
            assert question.value["attempt"] == 1
            assert len(question.value["input_digest"]) == 16
        assert [task.interrupts for task in graph.get_state(CONFIG).tasks] == [(question,)]
        end = run(graph, Command(resume={"done": {"receipt": "found"}}), flavor)
    assert end == {"receipt": "found"}
    assert till.charges == 1


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("as_node", [None, "pack", "__input__"])
def test_an_update_does_not_forget_that_nobody_knows(
    tmp_path: Path, as_node: Any, asked: bool
) -> None:
    till = Till(tmp_path)
    dies(tmp_path, till, "ask", "sync", {"item": 1})
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver, till, "ask", "sync")
        if asked:
            graph.invoke(None, CONFIG)
        for at in (CONFIG, graph.get_state(CONFIG).config):
            with pytest.raises(InvalidUpdateError, match=r"Node 'charge' .* would be repeated"):
                graph.update_state(at, {"item": 2}, as_node=as_node)
        graph.invoke(None, CONFIG)
        end = graph.invoke(Command(resume={"done": {"receipt": "found"}}), CONFIG)
    assert end == {"receipt": "found"}
    assert till.charges == 1


@pytest.mark.parametrize("as_node", ["charge", END])
def test_an_update_may_say_what_became_of_it_or_end_the_run(tmp_path: Path, as_node: str) -> None:
    till = Till(tmp_path)
    dies(tmp_path, till, "ask", "sync", {"item": 1})
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver, till, "ask", "sync")
        graph.update_state(CONFIG, None if as_node == END else {"receipt": "x"}, as_node=as_node)
        assert graph.get_state(CONFIG).next == ()
        graph.invoke(None, CONFIG)
    assert till.charges == 1


def test_an_update_does_not_forget_a_step_of_which_nobody_knows(tmp_path: Path) -> None:
    till = Till(tmp_path)

    def build(saver: Any) -> Any:
        step = task(lambda: till.charge(None), name="charge", on_unknown="ask")
        builder = StateGraph(dict).add_node("work", lambda state: step().result())
        return builder.add_edge(START, "work").compile(checkpointer=saver)

    def work(_: Any) -> None:
        build(SqliteSaver(tmp_path / "log.db")).invoke({}, CONFIG)

    assert fork(work).wait() == -signal.SIGKILL
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver)
        with pytest.raises(InvalidUpdateError, match="Node 'work' "):
            graph.update_state(CONFIG, {"item": 2})
        (question,) = graph.invoke(None, CONFIG)["__interrupt__"]
        assert question.value["unknown_outcome"] == "charge"
        graph.invoke(Command(resume={"done": {"receipt": "found"}}), CONFIG)
    assert till.charges == 1


def test_the_answer_that_it_was_given_before_it_was_cut_off_stays(tmp_path: Path) -> None:
    till = Till(tmp_path)

    def build(saver: Any) -> Any:
        def charge(state: Any) -> Any:
            by = interrupt("who pays?")
            return {**till.charge(state), "by": by}

        builder = StateGraph(dict).add_node("charge", charge, on_unknown="ask")
        return builder.add_edge(START, "charge").compile(checkpointer=saver)

    def work(_: Any) -> None:
        graph = build(SqliteSaver(tmp_path / "log.db"))
        graph.invoke({}, CONFIG)
        graph.invoke(Command(resume="Ada"), CONFIG)

    assert fork(work).wait() == -signal.SIGKILL
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver)
        (question,) = graph.invoke(None, CONFIG)["__interrupt__"]
        assert question.value["unknown_outcome"] == "charge"
        assert graph.invoke(Command(resume="run_again"), CONFIG) == {
            "receipt": "fresh",
            "by": "Ada",
        }
    assert till.charges == 2


def test_a_graph_inside_that_was_drained_leaves_nothing_unknown() -> None:
    control, ran = RunControl(), list[str]()

    def first(state: Any) -> Any:
        ran.append("first")
        control.request_drain("deploy")
        return {"first": True}

    def second(state: Any) -> Any:
        ran.append("second")
        return {**state, "second": True}

    inner = StateGraph(dict).add_sequence([first, second]).add_edge(START, "first").compile()
    builder = StateGraph(dict).add_node("work", lambda _: inner.invoke({}), on_unknown="ask")
    graph = builder.add_edge(START, "work").compile(checkpointer=InMemorySaver())
    with pytest.raises(GraphDrained):
        graph.invoke({}, CONFIG, control=control)
    assert graph.invoke(None, CONFIG) == {"first": True, "second": True}
    assert ran == ["first", "second"]


def around_a_charge(saver: Any, till: Till, kind: str) -> Any:
    inner: Any = StateGraph(dict).add_node("charge", till.charge, on_unknown="ask")
    inner = inner.add_edge(START, "charge").compile(checkpointer=kind == "memory" or None)
    first = StateGraph(dict).add_node("a", lambda state: state).add_edge(START, "a").compile()
    if kind == "deep":
        inner = StateGraph(dict).add_node("middle", inner).add_edge(START, "middle").compile()

    def second(state: Any) -> Any:
        first.invoke(state)
        return inner.invoke(state)

    builder = StateGraph(dict).add_node("inside", second if kind == "called second" else inner)
    return builder.add_edge(START, "inside").compile(checkpointer=saver)


@pytest.mark.parametrize("kind", ["node", "deep", "memory", "called second"])
def test_an_update_does_not_forget_what_nobody_knows_of_a_graph_inside(
    tmp_path: Path, kind: str
) -> None:
    till = Till(tmp_path)

    def work(_: Any) -> None:
        around_a_charge(SqliteSaver(tmp_path / "log.db"), till, kind).invoke({"item": 1}, CONFIG)

    assert fork(work).wait() == -signal.SIGKILL
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = around_a_charge(saver, till, kind)
        for _ in range(2):
            with pytest.raises(InvalidUpdateError, match=r"inside node 'inside' .* be repeated"):
                graph.update_state(CONFIG, {"item": 2})
            graph.invoke(None, CONFIG)
        end = graph.invoke(Command(resume={"done": {"receipt": "found"}}), CONFIG)
        graph.update_state(CONFIG, {"item": 3})
    assert end == {"receipt": "found"}
    assert till.charges == 1


@pytest.mark.parametrize("as_node", ["inside", END])
def test_an_update_may_say_what_became_of_a_graph_inside(tmp_path: Path, as_node: str) -> None:
    till = Till(tmp_path)

    def work(_: Any) -> None:
        around_a_charge(SqliteSaver(tmp_path / "log.db"), till, "node").invoke({"item": 1}, CONFIG)

    assert fork(work).wait() == -signal.SIGKILL
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = around_a_charge(saver, till, "node")
        graph.update_state(CONFIG, None if as_node == END else {"receipt": "x"}, as_node=as_node)
        assert graph.get_state(CONFIG).next == ()
    assert till.charges == 1


def test_an_update_may_come_where_a_node_took_the_unknown_for_an_answer() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def careless(state: Any) -> Any:
        with pytest.raises(NodeTimeoutError):
            await task(forever, on_unknown="ask", timeout=0.01)()
        return {"gave": "up"}

    builder = StateGraph(dict).add_node("careless", careless)
    builder.add_node("waits", lambda state: {"answer": interrupt("?")})
    builder.add_edge(START, "careless").add_edge(START, "waits")
    graph = builder.compile(checkpointer=InMemorySaver())
    asyncio.run(graph.ainvoke({}, CONFIG))
    graph.update_state(CONFIG, {"by": "hand"}, as_node="waits")
    assert graph.get_state(CONFIG).next == ()


def test_a_guarded_node_may_write_to_its_own_thread() -> None:
    def work(state: Any) -> Any:
        graph.update_state(CONFIG, {"by": "hand"}, as_node="note")
        return {"by": "itself"}

    builder = StateGraph(dict).add_node("work", work, on_unknown="ask")
    builder.add_node("note", lambda state: {"by": "note"})
    builder.add_edge(START, "note").add_edge("note", "work")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert graph.invoke({}, CONFIG) == {"by": "itself"}


@pytest.mark.parametrize("flavor", FLAVORS)
def test_run_again_is_on_record_before_it_runs(tmp_path: Path, flavor: str) -> None:
    till = Till(tmp_path, before=True)
    dies(tmp_path, till, "ask", flavor, {"item": 1})
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver, till, "ask", flavor)
        assert run(graph, None, flavor)["__interrupt__"]
    till.fatal.touch()
    dies(tmp_path, till, "ask", flavor, Command(resume="run_again"))  # killed a second time
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver, till, "ask", flavor)
        (question,) = run(graph, None, flavor)["__interrupt__"]
        assert question.value["attempt"] == 2, "the first answer does not hold for this start"
        assert till.charges == 0
        assert run(graph, Command(resume="run_again"), flavor) == {"receipt": "fresh"}
    assert till.charges == 1


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("done", [True, False])
def test_a_function_looks_what_became_of_it(tmp_path: Path, flavor: str, done: bool) -> None:
    till = Till(tmp_path, before=not done)
    seen: list[UnknownOutcome] = []

    def look(outcome: UnknownOutcome) -> Any:
        seen.append(outcome)
        assert get_config()["configurable"]["thread_id"] == "1"
        return {"receipt": "found"} if till.charges else MISSING

    dies(tmp_path, till, look, flavor, {"item": 1})
    with SqliteSaver(tmp_path / "log.db") as saver:
        end = run(build(saver, till, look, flavor), None, flavor)
    assert end == {"receipt": "found" if done else "fresh"}
    assert till.charges == 1
    assert [(each.node, each.attempt) for each in seen] == [("charge", 1)]
    assert seen[0].input == {"item": 1, "packed": True}


@pytest.mark.parametrize("policy", [None, "retry"])
def test_without_a_guard_it_simply_runs_again(tmp_path: Path, policy: Any) -> None:
    till = Till(tmp_path)
    dies(tmp_path, till, policy, "sync", {"item": 1})
    with SqliteSaver(tmp_path / "log.db") as saver:
        assert run(build(saver, till, policy, "sync"), None, "sync") == {"receipt": "fresh"}
    assert till.charges == 2


@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_task_inside_an_entrypoint_is_guarded_too(tmp_path: Path, flavor: str) -> None:
    till = Till(tmp_path)

    def workflow_on(saver: Any) -> Any:
        if flavor == "async":

            @task(on_unknown="ask")
            async def acharge(amount: int) -> Any:
                return till.charge(amount)["receipt"]

            @entrypoint(checkpointer=saver)
            async def aworkflow(amount: int) -> Any:
                return [await acharge(amount), "sent"]

            return aworkflow

        @task(on_unknown="ask")
        def charge(amount: int) -> Any:
            return till.charge(amount)["receipt"]

        @entrypoint(checkpointer=saver)
        def workflow(amount: int) -> Any:
            return [charge(amount).result(), "sent"]

        return workflow

    pid = os.fork()
    if not pid:
        run(workflow_on(SqliteSaver(tmp_path / "log.db")), 5, flavor)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    with SqliteSaver(tmp_path / "log.db") as saver:
        workflow = workflow_on(saver)
        (question,) = run(workflow, None, flavor)["__interrupt__"]
        assert question.value["unknown_outcome"].endswith("charge")
        assert run(workflow, Command(resume={"done": "found"}), flavor) == ["found", "sent"]
    assert till.charges == 1


def test_an_answer_that_says_nothing_is_refused_and_the_question_stays(tmp_path: Path) -> None:
    till = Till(tmp_path)
    dies(tmp_path, till, "ask", "sync", {"item": 1})
    with SqliteSaver(tmp_path / "log.db") as saver:
        graph = build(saver, till, "ask", "sync")
        graph.invoke(None, CONFIG)
        with pytest.raises(InvalidAnswerError, match="run_again"):
            graph.invoke(Command(resume="yes"), CONFIG)
        assert graph.invoke(None, CONFIG)["__interrupt__"]
        assert graph.invoke(Command(resume={"done": None}), CONFIG) is not None
    assert till.charges == 1


# --- in one process ------------------------------------------------------------------------------


def one_node(code: Any, **policies: Any) -> Any:
    builder = StateGraph(dict)
    builder.add_node("work", code, **policies)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=InMemorySaver())


def test_an_error_is_an_outcome_and_is_tried_again() -> None:
    calls: list[int] = []

    def fails(state: Any) -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError
        return {"calls": len(calls)}

    once = one_node(fails, on_unknown="ask")
    with pytest.raises(ConnectionError):
        once.invoke({}, CONFIG)
    with pytest.raises(ConnectionError):
        once.invoke(None, CONFIG)
    assert once.invoke(None, CONFIG) == {"calls": 3}
    calls.clear()
    policy = RetryPolicy(initial_interval=0.0, jitter=False)
    assert one_node(fails, on_unknown="ask", retry_policy=policy).invoke({}, CONFIG) == {"calls": 3}


async def test_an_error_beside_another_failure_is_an_outcome_too() -> None:
    async def fails(state: Any) -> Any:
        raise ConnectionError

    builder = StateGraph(dict)
    for name in ("a", "b"):
        builder.add_node(name, fails, on_unknown="ask").add_edge(START, name)
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    for given in ({}, None):
        with pytest.raises(ConnectionError):
            await graph.ainvoke(given, CONFIG)
    assert [task.interrupts for task in graph.get_state(CONFIG).tasks] == [(), ()]


async def test_a_timeout_leaves_the_outcome_unknown() -> None:
    calls: list[int] = []

    async def hangs(state: Any) -> Any:
        calls.append(1)
        await asyncio.Event().wait()

    policy = RetryPolicy(initial_interval=0.0, retry_on=NodeTimeoutError)
    graph = one_node(hangs, on_unknown="ask", timeout=0.01, retry_policy=policy)
    with pytest.raises(NodeTimeoutError):
        await graph.ainvoke({}, CONFIG)
    assert calls == [1], "it is not tried again blindly"
    assert (await graph.ainvoke(None, CONFIG))["__interrupt__"]
    assert calls == [1]


async def test_a_cancelled_run_leaves_the_outcome_unknown() -> None:
    began = asyncio.Event()

    async def hangs(state: Any) -> Any:
        began.set()
        await asyncio.Event().wait()

    graph = one_node(hangs, on_unknown=lambda outcome: {"attempt": outcome.attempt})
    running = asyncio.create_task(graph.ainvoke({}, CONFIG))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await graph.ainvoke(None, CONFIG) == {"attempt": 1}


def test_its_own_questions_are_no_unknown_outcome() -> None:
    calls: list[int] = []

    def asks(state: Any) -> Any:
        calls.append(1)
        return {"said": interrupt("well?")}

    graph = one_node(asks, on_unknown="ask")
    (question,) = graph.invoke({}, CONFIG)["__interrupt__"]
    assert question.value == "well?"
    assert graph.invoke(Command(resume="fine"), CONFIG) == {"said": "fine"}
    assert len(calls) == 2


def test_a_verify_function_that_fails_is_asked_again() -> None:
    looks: list[int] = []

    def look(outcome: UnknownOutcome) -> Any:
        looks.append(1)
        if len(looks) == 1:
            raise ConnectionError("the bank is closed")
        return {"found": True}

    async def slow(state: Any) -> Any:
        await asyncio.Event().wait()

    graph = one_node(slow, on_unknown=look, timeout=0.01)
    with pytest.raises(NodeTimeoutError):
        asyncio.run(graph.ainvoke({}, CONFIG))
    with pytest.raises(ConnectionError):
        asyncio.run(graph.ainvoke(None, CONFIG))
    assert asyncio.run(graph.ainvoke(None, CONFIG)) == {"found": True}


def test_without_a_stored_start_there_is_no_guard() -> None:
    graph = one_node(lambda state: {"done": True}, on_unknown="ask")
    with pytest.raises(ConfigError, match="durability"):
        graph.invoke({}, CONFIG, durability="exit")
    plain = StateGraph(dict).add_node("work", lambda state: {"done": True}, on_unknown="ask")
    assert plain.add_edge(START, "work").compile().invoke({}) == {"done": True}


def test_a_policy_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidNodeError, match="Did you mean 'ask'"):
        StateGraph(dict).add_node("work", lambda state: state, on_unknown="aks")

    async def look(outcome: UnknownOutcome) -> Any:
        return MISSING

    with pytest.raises(InvalidNodeError, match="is async"):
        one_node(lambda state: state, on_unknown=look)
    inner = one_node(lambda state: state)
    with pytest.raises(InvalidNodeError, match="is a graph"):
        one_node(inner, on_unknown="ask")


def test_a_default_of_the_graph_holds_and_nodes_may_say_otherwise() -> None:
    builder = StateGraph(dict).set_node_defaults(on_unknown="ask")
    builder.add_node("a", lambda state: state).add_node(
        "b", lambda state: state, on_unknown="retry"
    )
    builder.add_edge(START, "a").add_edge("a", "b")
    nodes = builder.compile().plan.nodes
    assert (nodes["a"].guarded, nodes["b"].guarded) == (True, False)
