"""One live owner per thread, over real processes: refused, taken over, fenced."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest

from plait.errors import RunError, ThreadBusyError, UnknownInterruptError
from plait.testing.processes import GAVE_UP, Child
from plait.types import Command, interrupt

from .graphs import CONFIG, adder, chain, fan
from .savers import AfterReadingWrites, OneWay, Place, ShortLease

Start = Callable[..., Child]


class Gate:
    """A pipe that a process waits at until another opens it; both are forked from one parent."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def wait(self) -> None:
        os.read(self._read, 1)

    def open(self) -> None:
        os.write(self._write, b"x" * 16)


def waiting_graph(saver: Any, tell: Callable[[str], None], gate: Gate) -> Any:
    """`a`, then `b` which says that it runs and waits at the gate, then `c`."""

    def wait(state: Any) -> dict[str, Any]:
        tell("b runs")
        gate.wait()
        return {"items": ["b"]}

    return chain(saver, ("a", adder("a")), ("b", wait), ("c", adder("c")))


def quick_graph(saver: Any) -> Any:
    """The same graph, with a `b` that does not wait."""
    return chain(saver, *((name, adder(name)) for name in "abc"))


def test_second_process_is_refused_while_the_first_lives(db: Place, start: Start) -> None:
    gate = Gate()

    def first(tell: Callable[[str], None]) -> None:
        with db.open() as saver:
            tell(str(waiting_graph(saver, tell, gate).invoke({"items": []}, CONFIG)["items"]))

    owner = start(first)
    assert owner.hear() == "b runs"
    with db.open() as saver:
        graph = quick_graph(saver)
        with pytest.raises(ThreadBusyError, match=f"process {owner.pid}"):
            graph.invoke(None, CONFIG)
        with pytest.raises(ThreadBusyError):
            graph.invoke({"items": ["other"]}, CONFIG)
        with pytest.raises(ThreadBusyError):
            graph.update_state(CONFIG, {"items": ["other"]})
        with pytest.raises(ThreadBusyError):
            saver.delete_thread("1")
        state = graph.get_state(CONFIG)
        assert (state.values, state.next) == ({"items": ["a"]}, ("b",)), "reading never claims"
        assert len([*graph.get_state_history(CONFIG)]) == 3
        gate.open()
        assert owner.hear() == "['a', 'b', 'c']", "the owner was not disturbed"
        assert owner.wait() == 0
        assert graph.invoke({"items": ["next"]}, CONFIG)["items"][-4:] == ["next", "a", "b", "c"]


@pytest.mark.parametrize("reaped", [True, False])
def test_killed_owner_is_taken_over_at_once(db: Place, start: Start, reaped: bool) -> None:
    gate = Gate()

    def first(tell: Callable[[str], None]) -> None:
        with db.open() as saver:
            waiting_graph(saver, tell, gate).invoke({"items": []}, CONFIG)

    owner = start(first)
    assert owner.hear() == "b runs"
    owner.signal(signal.SIGKILL)
    if reaped:
        owner.wait()
    else:
        os.waitid(os.P_PID, owner.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    with db.open() as saver:
        assert quick_graph(saver).invoke(None, CONFIG) == {"items": ["a", "b", "c"]}
    assert db.owner() is None


def test_frozen_owner_is_taken_over_after_its_lease_and_fenced_when_it_wakes(
    db: Place, start: Start
) -> None:
    gate = Gate()

    def first(tell: Callable[[str], None]) -> None:
        with db.open(ShortLease) as saver:
            try:
                waiting_graph(saver, tell, gate).invoke({"items": []}, CONFIG)
            except ThreadBusyError as error:
                tell("refused" if "taken over" in str(error) else str(error))

    owner = start(first)
    assert owner.hear() == "b runs"
    owner.signal(signal.SIGSTOP)
    with db.open(ShortLease) as saver:
        graph = quick_graph(saver)
        result, deadline = None, monotonic() + GAVE_UP
        while result is None:
            assert monotonic() < deadline
            try:
                result = graph.invoke(None, CONFIG)
            except ThreadBusyError:
                Event().wait(0.05)
        assert result == {"items": ["a", "b", "c"]}
        before = [snapshot.config for snapshot in graph.get_state_history(CONFIG)]
        gate.open()
        owner.signal(signal.SIGCONT)
        assert owner.hear() == "refused"
        assert owner.wait() == 0
        assert [snapshot.config for snapshot in graph.get_state_history(CONFIG)] == before
        assert graph.get_state(CONFIG).values == {"items": ["a", "b", "c"]}


def test_living_owner_keeps_a_short_lease_while_its_node_blocks(db: Place, start: Start) -> None:
    gate = Gate()

    def first(tell: Callable[[str], None]) -> None:
        with db.open(ShortLease) as saver:
            tell(str(waiting_graph(saver, tell, gate).invoke({"items": []}, CONFIG)["items"]))

    owner = start(first)
    assert owner.hear() == "b runs"
    with db.open(ShortLease) as saver:
        graph = quick_graph(saver)
        began = monotonic()
        while monotonic() < began + 4 * ShortLease.lease:
            with pytest.raises(ThreadBusyError):
                graph.invoke(None, CONFIG)
            Event().wait(0.05)
    gate.open()
    assert owner.hear() == "['a', 'b', 'c']"


def test_nested_runs_leave_the_claim_with_the_run_around_them(db: Place) -> None:
    owners: list[str | None] = []
    with db.open() as saver:
        inner = chain(None, ("i", adder("i")))
        same_thread = chain(saver, ("i", adder("i")))

        def node(state: Any) -> dict[str, Any]:
            owners.append(db.owner())
            inner.invoke({"items": []})
            owners.append(db.owner())
            same_thread.invoke({"items": []}, CONFIG)
            owners.append(db.owner())
            graph.update_state(CONFIG, {"items": []}, as_node="a")
            owners.append(db.owner())
            return {"items": ["node"]}

        graph = chain(saver, ("a", adder("a")), ("node", node), ("inner", inner), ("c", adder("c")))
        graph.invoke({"items": []}, CONFIG)
    assert owners[0] is not None
    assert len(set(owners)) == 1
    assert db.owner() is None


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_run_cancelled_while_a_write_is_under_way_gives_the_thread_back(
    db: Place, nth: int
) -> None:
    with db.open(Blocking) as saver:
        graph = quick_graph(saver)
        saver.block = nth
        run = asyncio.create_task(graph.ainvoke({"items": []}, CONFIG))
        await asyncio.to_thread(saver.entered.wait, GAVE_UP)
        run.cancel()
        await asyncio.sleep(0)
        saver.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert db.owner() is None
        assert (await graph.ainvoke(None, CONFIG)) == {"items": ["a", "b", "c"]}


class Blocking(OneWay):
    """Stands still in the middle of the nth transaction."""

    block = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.entered, self.gate = Event(), Event()

    def execute(self, request: Any) -> Any:
        if type(request).__name__ == "Transact":
            self.block -= 1
            if self.block == 0:
                self.entered.set()
                assert self.gate.wait(GAVE_UP)
        return super().execute(request)


def test_question_asked_in_one_process_is_answered_in_another(db: Place, start: Start) -> None:

    def graph_of(saver: Any) -> Any:
        ask = ("ask", lambda state: {"items": [interrupt({"q": "go on?"})]})
        return chain(saver, ("a", adder("a")), ask, ("c", adder("c")))

    def first(tell: Callable[[str], None]) -> None:
        with db.open() as saver:
            tell(graph_of(saver).invoke({"items": []}, CONFIG)["__interrupt__"][0].id)

    asker = start(first)
    id = asker.hear()
    assert asker.wait() == 0
    with db.open() as saver:
        graph = graph_of(saver)
        asked = graph.get_state(CONFIG).interrupts
        assert [(q.id, q.value) for q in asked] == [(id, {"q": "go on?"})]
        answered = graph.invoke(Command(resume={id: "yes"}), CONFIG)
        assert answered == {"items": ["a", "yes", "c"]}
        with pytest.raises(UnknownInterruptError):
            graph.invoke(Command(resume={id: "no"}), CONFIG)


@pytest.mark.parametrize("round", range(5))
def test_of_two_processes_that_answer_at_once_exactly_one_wins(
    db: Place, tmp_path: Path, start: Start, round: int
) -> None:
    gate, effects = Gate(), tmp_path / "effects"

    def graph_of(saver: Any) -> Any:
        def ask(state: Any) -> dict[str, Any]:
            answer = interrupt("?")
            with effects.open("a") as file:
                file.write(f"{answer}\n")
            return {"items": [answer]}

        return chain(saver, ("ask", ask), ("c", adder("c")))

    with db.open() as saver:
        graph_of(saver).invoke({"items": []}, CONFIG)

    def answer(name: str) -> Callable[[Callable[[str], None]], None]:
        def work(tell: Callable[[str], None]) -> None:
            with db.open() as saver:
                graph = graph_of(saver)
                tell("ready")
                gate.wait()
                try:
                    tell(f"won {graph.invoke(Command(resume=name), CONFIG)['items']}")
                except RunError as error:
                    tell(type(error).__name__)

        return work

    children = [start(answer(name)) for name in ("x", "y")]
    assert [child.hear() for child in children] == ["ready", "ready"]
    gate.open()
    said = sorted(child.hear() for child in children)
    assert said[0] in ("ThreadBusyError", "UnknownInterruptError")
    assert said[1] in ("won ['x', 'c']", "won ['y', 'c']")
    assert effects.read_text().split() == [said[1][6]]


def test_answer_after_another_answer_that_did_not_move_the_head_is_refused(
    db: Place,
) -> None:
    """The loser read the questions before the winner stored its answer, and claims after it."""
    ran: list[Any] = []

    def ask(name: str) -> Any:
        def node(state: Any) -> dict[str, Any]:
            answer = interrupt(name)
            ran.append((name, answer))
            return {"items": [answer]}

        return node

    with db.open() as saver, db.open(Interposing) as late:
        graph = fan(saver, ("p", ask("p?")), ("q", ask("q?")))
        asked = graph.invoke({"items": []}, CONFIG)["__interrupt__"]
        p = next(question.id for question in asked if question.value == "p?")
        late.before_first_write = lambda: graph.invoke(Command(resume={p: "first"}), CONFIG)
        other = fan(late, ("p", ask("p?")), ("q", ask("q?")))
        with pytest.raises(ThreadBusyError):
            other.invoke(Command(resume={p: "second"}), CONFIG)
        assert ran == [("p?", "first")]
        q = graph.get_state(CONFIG).interrupts
        assert [question.value for question in q] == ["q?"]
        done = graph.invoke(Command(resume={q[0].id: "third"}), CONFIG)
        assert done == {"items": ["first", "third", "last"]}


class Interposing(OneWay):
    """Lets something happen between what a run reads and what it writes first."""

    before_first_write: Callable[[], Any] | None = None

    def execute(self, request: Any) -> Any:
        if type(request).__name__ == "Transact" and self.before_first_write is not None:
            act, self.before_first_write = self.before_first_write, None
            act()
        return super().execute(request)


def test_task_stored_by_an_owner_that_dies_while_another_loads_does_not_run_again(
    db: Place, tmp_path: Path, start: Start
) -> None:
    gate, effects = Gate(), tmp_path / "effects"

    def graph_of(saver: Any, wait: Callable[[], None]) -> Any:
        def quick(state: Any) -> dict[str, Any]:
            with effects.open("a") as file:
                file.write("quick\n")
            return {"items": ["quick"]}

        def slow(state: Any) -> dict[str, Any]:
            wait()
            return {"items": ["slow"]}

        return fan(saver, ("quick", quick), ("slow", slow))

    def first(tell: Callable[[str], None]) -> None:
        def die_when_told() -> None:
            tell("slow runs")
            gate.wait()
            Event().wait(GAVE_UP)

        dying = db.open(DyingOnceStored)
        dying.gate = gate
        graph_of(dying, die_when_told).invoke({"items": []}, CONFIG)

    owner = start(first)
    assert owner.hear() == "slow runs"

    def owner_stores_and_dies() -> None:
        gate.open()
        owner.wait()

    with db.open(AfterReadingWrites, OneWay) as late:
        late.act = owner_stores_and_dies
        graph = graph_of(late, lambda: None)
        with pytest.raises(ThreadBusyError):
            graph.invoke(None, CONFIG)
        assert graph.invoke(None, CONFIG) == {"items": ["quick", "slow", "last"]}
    assert effects.read_text().split() == ["quick"]


class DyingOnceStored(OneWay):
    """Waits at a gate before it stores the writes of a task that finished early; then dies."""

    gate: Gate

    def execute(self, request: Any) -> Any:
        early = type(request).__name__ == "Transact" and request.writes and request.head is None
        if early:
            self.gate.wait()
        answer = super().execute(request)
        if early:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer
