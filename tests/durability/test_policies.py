"""What a run does when another one owns its thread: reject, wait, take over, or run beside it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import monotonic, time
from typing import Any

import pytest

from plait.checkpoint.log.requests import Done, ReadLane, Transact
from plait.checkpoint.memory import InMemorySaver
from plait.errors import ConfigError, EmptyInputError, InvalidUpdateError, ThreadBusyError
from plait.testing.processes import GAVE_UP, Child

from .graphs import CONFIG, abc, adder, chain, fan
from .savers import AfterReadingWrites, Place, ShortLease

Start = Callable[..., Child]


def asking(policy: str) -> Any:
    """The config of a call that says what to do on a busy thread."""
    return {"configurable": {**CONFIG["configurable"], "thread_busy": policy}}


class Owner:
    """A run that stands inside its node `b` until it is let go."""

    def __init__(self, saver: Any) -> None:
        self.inside, self.gate = Event(), Event()
        self._pool = ThreadPoolExecutor(1)

        def wait(state: Any) -> dict[str, Any]:
            self.inside.set()
            assert self.gate.wait(GAVE_UP)
            return {"items": ["b"]}

        self.graph = chain(saver, ("a", adder("a")), ("b", wait), ("c", adder("c")))
        self.run = self._pool.submit(self.graph.invoke, {"items": []}, CONFIG)
        assert self.inside.wait(GAVE_UP)

    def finish(self) -> Any:
        """Let it go; what it came to."""
        self.gate.set()
        return self.run.result(GAVE_UP)


@pytest.fixture
def owner(saver: Any) -> Iterator[Owner]:
    owner = Owner(saver)
    yield owner
    owner.gate.set()


def test_reject_is_the_default_and_names_the_choices(saver: Any, owner: Owner) -> None:
    with pytest.raises(ThreadBusyError, match=r"thread_busy=.*wait.*takeover.*allow"):
        abc(saver).invoke({"items": ["x"]}, CONFIG)
    assert owner.finish() == {"items": ["a", "b", "c"]}


def test_wait_starts_from_what_the_other_run_left(saver: Any, owner: Owner) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(abc(saver).invoke, {"items": ["x"]}, asking("wait"))
        assert not waiting.done()
        assert owner.finish() == {"items": ["a", "b", "c"]}
        assert waiting.result(GAVE_UP)["items"] == ["a", "b", "c", "x", "a", "b", "c"]


def test_update_state_waits_too(saver: Any, owner: Owner) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(abc(saver).update_state, asking("wait"), {"items": ["x"]}, "c")
        owner.finish()
        waiting.result(GAVE_UP)
    assert abc(saver).get_state(CONFIG).values["items"] == ["a", "b", "c", "x"]


async def test_async_run_that_waits_does_not_hold_up_the_loop(saver: Any) -> None:
    inside, gate = asyncio.Event(), asyncio.Event()

    async def b(state: Any) -> dict[str, Any]:
        inside.set()
        await gate.wait()
        return {"items": ["b"]}

    first = asyncio.create_task(chain(saver, ("b", b)).ainvoke({"items": []}, CONFIG))
    await inside.wait()
    second = asyncio.create_task(abc(saver).ainvoke({"items": ["x"]}, asking("wait")))
    await asyncio.sleep(0)
    gate.set()
    assert await first == {"items": ["b"]}
    assert await second == {"items": ["b", "x", "a", "b", "c"]}


def test_takeover_goes_on_and_the_old_owner_stores_nothing_more(saver: Any, owner: Owner) -> None:
    done = abc(saver).invoke(None, asking("takeover"))
    assert done == {"items": ["a", "b", "c"]}
    before = [each.config for each in abc(saver).get_state_history(CONFIG)]
    with pytest.raises(ThreadBusyError):
        owner.finish()
    assert [each.config for each in abc(saver).get_state_history(CONFIG)] == before


def test_allow_runs_both_as_the_peer_does(saver: Any, owner: Owner) -> None:
    beside = abc(saver).invoke({"items": ["x"]}, asking("allow"))
    assert beside["items"] == ["a", "x", "a", "b", "c"]
    assert owner.finish() == {"items": ["a", "b", "c"]}


def test_the_saver_says_it_for_all_calls_and_a_call_for_itself(db: Place) -> None:
    with db.open(thread_busy="takeover") as saver:
        owner = Owner(saver)
        with pytest.raises(ThreadBusyError):
            abc(saver).invoke(None, asking("reject"))
        assert abc(saver).invoke(None, CONFIG) == {"items": ["a", "b", "c"]}
        with pytest.raises(ThreadBusyError):
            owner.finish()


def test_an_unknown_policy_is_an_error_before_anything_is_read() -> None:
    saver = InMemorySaver()
    with pytest.raises(ConfigError, match="takeover"):
        abc(saver).invoke({"items": []}, asking("take over"))
    with pytest.raises(ConfigError, match="wait"):
        InMemorySaver(thread_busy="wai")  # type: ignore[arg-type]


def test_the_policy_is_not_stored_with_the_checkpoint(saver: Any) -> None:
    graph = abc(saver)
    graph.invoke({"items": []}, asking("wait"))
    told = [each.metadata for each in graph.get_state_history(CONFIG)]
    assert len(told) == 5
    assert all("thread_busy" not in each for each in told)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("policy", ["wait", "takeover"])
def test_a_run_that_fails_before_its_first_step_gives_the_thread_back(
    saver: Any, policy: str, durability: str
) -> None:
    graph = abc(saver)
    with pytest.raises(EmptyInputError):
        graph.invoke(None, asking(policy), durability=durability)
    with pytest.raises(InvalidUpdateError, match="nowhere"):
        graph.update_state(asking(policy), {"items": []}, as_node="nowhere")
    other = saver.open_session("1")
    saver.run(other.claim())
    saver.run(other.release())
    assert graph.invoke({"items": []}, CONFIG)["items"] == ["a", "b", "c"]


@pytest.mark.parametrize("number", [2, 8])
def test_of_processes_that_wait_each_runs_once_on_what_the_others_left(
    db: Place, start: Start, number: int
) -> None:
    def work(tell: Callable[[str], None]) -> None:
        with db.open(thread_busy="wait") as saver:
            abc(saver).invoke({"items": ["x"]}, CONFIG)

    children = [start(work) for _ in range(number)]
    assert [child.wait() for child in children] == [0] * number
    with db.open() as saver:
        state = abc(saver).get_state(CONFIG)
        assert state.values["items"] == ["x", "a", "b", "c"] * number
        steps = [each.metadata["step"] for each in abc(saver).get_state_history(CONFIG)]
        assert len(steps) == len(set(steps)) == number * 5


# --- a frozen owner that comes back between another's load and claim ------------------------------


class FrozenBeforeStoring(ShortLease):
    """Stops its own process right before it stores the writes of a task that finished early."""

    tell: Callable[[str], None]

    def execute(self, request: Any) -> Any:
        early = type(request) is Transact and request.writes and request.head is None
        if early:
            os.kill(os.getpid(), signal.SIGSTOP)
        answer = super().execute(request)
        if early:
            self.tell("acknowledged" if type(answer) is Done else "refused")
        return answer


def test_a_frozen_owner_acknowledges_nothing_once_another_run_has_loaded(
    db: Place, tmp_path: Path, start: Start
) -> None:
    """Its outcome moves neither head nor fence, so a claim after the load would not notice it."""
    effects = tmp_path / "effects"

    def graph_of(saver: Any) -> Any:
        def quick(state: Any) -> dict[str, Any]:
            with effects.open("a") as file:
                file.write("quick\n")
            return {"items": ["quick"]}

        def slow(state: Any) -> dict[str, Any]:
            Event().wait(0.2)
            return {"items": ["slow"]}

        return fan(saver, ("quick", quick), ("slow", slow))

    def first(tell: Callable[[str], None]) -> None:
        try:
            saver = db.open(FrozenBeforeStoring)
            saver.tell = tell
            graph_of(saver).invoke({"items": []}, CONFIG)
        except ThreadBusyError:
            tell("lost")

    owner = start(first)
    os.waitid(os.P_PID, owner.pid, os.WSTOPPED | os.WNOWAIT)
    deadline = monotonic() + GAVE_UP
    with db.open() as saver:
        while (row := saver.execute(ReadLane("1", ""))).lease + 0.05 > (row.clock or time()):
            assert monotonic() < deadline
            Event().wait(0.02)
    said: list[str] = []

    def wake() -> None:
        owner.signal(signal.SIGCONT)
        said.append(owner.hear())

    with db.open(AfterReadingWrites, ShortLease) as late:
        late.act = wake
        assert graph_of(late).invoke(None, CONFIG) == {"items": ["quick", "slow", "last"]}
    assert said == ["refused"]
    assert owner.hear() == "lost"
    assert effects.read_text().split() == ["quick", "quick"], "in flight, so it ran again"
