"""What is on disk at each moment, in each mode of durability, seen over a second connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from plait.checkpoint.log.requests import Together, Transact, parts_of
from plait.errors import ConfigError
from plait.types import interrupt

from .graphs import CONFIG, adder, chain, fan
from .savers import OneWay, Place

GAVE_UP = 30.0


class Look:
    """A second connection to the same database, with the same graph."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver
        self.graph: Any = None

    def items(self) -> Any:
        """The state as stored now (None: no checkpoint)."""
        state = self.graph.get_state(CONFIG)
        return state.values.get("items", []) if state.created_at else None


@pytest.fixture
def look(db: Place) -> Iterator[Look]:
    with db.open() as saver:
        yield Look(saver)


def watching(look: Look) -> tuple[Any, list[Any]]:
    """Three nodes that note what is stored while they run."""
    seen: list[Any] = []

    def node(name: str) -> Any:
        def run(state: Any) -> dict[str, Any]:
            seen.append(look.items())
            return {"items": [name]}

        return run

    nodes = [(name, node(name)) for name in "abc"]
    look.graph = chain(look.saver, *nodes)
    return nodes, seen


async def call(graph: Any, api: str, given: Any, **options: Any) -> Any:
    """One run by the sync or the async API."""
    if api == "async":
        return await graph.ainvoke(given, CONFIG, **options)
    return graph.invoke(given, CONFIG, **options)


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_sync_stores_each_step_before_the_next_begins(
    db: Place, look: Look, api: str
) -> None:
    nodes, seen = watching(look)
    with db.open() as saver:
        await call(chain(saver, *nodes), api, {"items": ["x"]}, durability="sync")
    assert seen == [["x"], ["x", "a"], ["x", "a", "b"]]
    assert look.items() == ["x", "a", "b", "c"]


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_default_is_sync(db: Place, look: Look, api: str) -> None:
    nodes, seen = watching(look)
    with db.open() as saver:
        await call(chain(saver, *nodes), api, {"items": ["x"]})
    assert seen == [["x"], ["x", "a"], ["x", "a", "b"]]


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_exit_stores_nothing_until_the_end(db: Place, look: Look, api: str) -> None:
    nodes, seen = watching(look)
    with db.open() as saver:
        graph = chain(saver, *nodes)
        await call(graph, api, {"items": ["x"]}, durability="exit")
        assert seen == [None, None, None]
        assert look.items() == ["x", "a", "b", "c"]
        assert len([*graph.get_state_history(CONFIG)]) == 1
        seen.clear()
        await call(graph, api, {"items": ["y"]}, durability="exit")
        assert seen == [["x", "a", "b", "c"]] * 3
        assert len([*graph.get_state_history(CONFIG)]) == 2


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_exit_stores_what_there_is_when_the_run_fails_or_asks(db: Place, api: str) -> None:
    strikes = [1]

    def fail(state: Any) -> dict[str, Any]:
        if strikes:
            strikes.pop()
            raise ValueError("once")
        return {"items": ["b"]}

    def ask(state: Any) -> dict[str, Any]:
        return {"items": [interrupt("?")]}

    with db.open() as saver:
        graph = chain(saver, ("a", lambda _: {"items": ["a"]}), ("b", fail), ("c", ask))
        with pytest.raises(ValueError, match="once"):
            await call(graph, api, {"items": []}, durability="exit")
        state = graph.get_state(CONFIG)
        assert (state.values, state.next) == ({"items": ["a"]}, ("b",))
        result = await call(graph, api, None, durability="exit")
        assert result["__interrupt__"][0].value == "?"
        state = graph.get_state(CONFIG)
        assert (state.values, state.next) == ({"items": ["a", "b"]}, ("c",))
        assert [question.value for question in state.interrupts] == ["?"]


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_async_stores_what_was_done_while_a_later_step_takes_its_time(
    db: Place, look: Look, api: str
) -> None:
    until = monotonic() + GAVE_UP

    def stored() -> bool:
        assert monotonic() < until, "nobody stores what waits"
        return look.items() == ["x", "a"]

    def waits(state: Any) -> dict[str, Any]:
        while not stored():
            sleep(0.01)
        return {"items": ["b"]}

    async def awaits(state: Any) -> dict[str, Any]:
        while not stored():
            await asyncio.sleep(0.01)
        return {"items": ["b"]}

    nodes = [("a", lambda _: {"items": ["a"]}), ("b", awaits if api == "async" else waits)]
    look.graph = chain(look.saver, *nodes)
    with db.open() as saver:
        result = await call(chain(saver, *nodes), api, {"items": ["x"]}, durability="async")
    assert result["items"] == ["x", "a", "b"]


class Counting(OneWay):
    """Counts the transactions."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.transactions = 0

    def execute(self, request: Any) -> Any:
        self.transactions += type(request) in (Transact, Together)
        return super().execute(request)


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_async_stores_steps_in_quick_succession_together(
    db: Place, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plait.drivers.writer.LINGER", GAVE_UP)
    monkeypatch.setattr("plait.drivers.aio_writer.LINGER", GAVE_UP)
    names = [f"n{n:02}" for n in range(20)]
    nodes = [(name, lambda _, name=name: {"items": [name]}) for name in names]
    with db.open(Counting) as saver:
        graph = chain(saver, *nodes)
        await call(graph, api, {"items": []}, durability="async")
        assert saver.transactions == 2, "the claim with the input, and all steps at the end"
        assert graph.get_state(CONFIG).values["items"] == names
        assert len([*graph.get_state_history(CONFIG)]) == len(names) + 2


class Gated(OneWay):
    """Transactions after the first wait at a gate; what was done is noted."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.gate = Event()
        self.arrived = 0
        self.done = 0

    def execute(self, request: Any) -> Any:
        if type(request) not in (Transact, Together):
            return super().execute(request)
        self.arrived += 1
        if self.arrived > 1:
            assert self.gate.wait(GAVE_UP)
        answer = super().execute(request)
        self.done += 1
        return answer


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_async_runs_ahead_of_its_storage_by_a_bounded_number_of_writes(
    db: Place, look: Look, api: str
) -> None:
    """The gate opens when the run stands still: so it is bounded, and got no further."""
    steps = 200
    ran: list[int] = []

    def node(n: int) -> Any:
        def run(state: Any) -> dict[str, Any]:
            ran.append(n)
            return {"items": [n]}

        async def arun(state: Any) -> dict[str, Any]:
            return run(state)

        return arun if api == "async" else run

    with db.open(Gated) as saver:
        graph = chain(saver, *[(f"n{n:03}", node(n)) for n in range(steps)])
        if api == "async":
            task = asyncio.create_task(call(graph, api, {"items": []}, durability="async"))
        else:
            task = asyncio.create_task(
                asyncio.to_thread(graph.invoke, {"items": []}, CONFIG, durability="async")
            )
        before = -1
        while before != len(ran) or before < 30:
            assert not task.done()
            before = len(ran)
            await asyncio.sleep(0.2)
        assert before <= 70, "ahead, but not by more than the queue holds"
        assert saver.done == 1
        look.graph = chain(look.saver, *[(f"n{n:03}", node(n)) for n in range(steps)])
        assert look.items() == [], "on disk is the input: a prefix"
        saver.gate.set()
        assert (await task)["items"] == [*range(steps)]
        assert look.items() == [*range(steps)], "stored when the call returns"
    assert ran == [*range(steps)]


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_async_stores_values_as_they_were_when_the_step_ended(db: Place, api: str) -> None:
    """The program mutates a value while its commit is still queued."""
    shared: list[str] = ["early"]

    async def first(state: Any) -> dict[str, Any]:
        return {"items": [shared]}

    async def then(state: Any) -> dict[str, Any]:
        shared.append("late")
        saver.gate.set()
        return {"items": ["then"]}

    def sync(node: Any) -> Any:
        return lambda state: asyncio.run(node(state))

    with db.open(Gated) as saver:
        nodes = [("first", first), ("then", then)]
        if api == "sync":
            nodes = [(name, sync(node)) for name, node in nodes]
        graph = chain(saver, *nodes)
        if api == "async":
            await graph.ainvoke({"items": []}, CONFIG, durability="async")
        else:
            await asyncio.to_thread(graph.invoke, {"items": []}, CONFIG, durability="async")
        stored = [s.values.get("items") for s in graph.get_state_history(CONFIG)]
    assert stored[1] == [["early"]], "what was true when the step ended"
    assert stored[0] == [["early", "late"], "then"]


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_writes_of_finished_branches_are_stored_while_others_run(
    db: Place, look: Look, api: str
) -> None:
    seen: list[Any] = []

    def quick(state: Any) -> dict[str, Any]:
        return {"items": ["quick"]}

    def slow(state: Any) -> dict[str, Any]:
        for _ in range(int(GAVE_UP / 0.01)):
            done = [task.name for task in look.graph.get_state(CONFIG).tasks if task.result]
            if done:
                seen.append(done)
                break
            Event().wait(0.01)
        return {"items": ["slow"]}

    nodes = [("quick", quick), ("slow", slow)]
    look.graph = fan(look.saver, *nodes)
    with db.open() as saver:
        result = await call(fan(saver, *nodes), api, {"items": []})
    assert result == {"items": ["quick", "slow", "last"]}
    assert seen == [["quick"]]


def test_unknown_mode_is_refused(db: Place) -> None:
    with db.open() as saver:
        graph = chain(saver, ("a", lambda _: {"items": ["a"]}))
        with pytest.raises(ConfigError, match="sync"):
            graph.invoke({"items": []}, CONFIG, durability="synk")
        assert graph.get_state(CONFIG).created_at is None


class Ordered(OneWay):
    """Notes which checkpoints were stored, in order, of all lanes."""

    stored: list[bytes]

    def execute(self, request: Any) -> Any:
        """Do a request, and note it."""
        whole: Any = super()
        answer = whole.execute(request)
        for part in parts_of(request):
            if type(part) is Transact:
                self.stored += [id for id, _, _ in part.checkpoints]
        return answer


@pytest.mark.parametrize("inside", ["sync", "async"])
@pytest.mark.parametrize("api", ["sync", "async"])
async def test_async_stores_no_step_of_a_nested_graph_before_the_steps_around_it(
    db: Place, api: str, inside: str
) -> None:
    names = [(name, adder(name)) for name in "ab"]
    inner = chain(True, *names)

    async def acall(state: Any) -> Any:
        await inner.ainvoke({"items": []})

    def call_inside(state: Any) -> Any:
        if inside == "sync":
            inner.invoke({"items": []})
        else:
            asyncio.run(acall(state))

    node = acall if (api, inside) == ("async", "async") else call_inside
    with db.open(Ordered) as saver:
        saver.stored = []
        graph = chain(saver, ("first", adder("first")), ("calls", node), ("last", adder("last")))
        if api == "async":
            await graph.ainvoke({"items": []}, CONFIG, durability="async")
        else:
            await asyncio.to_thread(graph.invoke, {"items": []}, CONFIG, durability="async")
        assert len(saver.stored) == 5 + 4
        assert saver.stored == sorted(saver.stored)
