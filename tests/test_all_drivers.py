"""The shape of the engine, proved on one program under all three drivers.

A sync (or async) entrypoint calls two parallel tasks; one invokes a subgraph that interrupts; both
write custom chunks, which must arrive while their writers still run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.config import get_stream_writer
from plait.drivers.sim import simulate
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}
SECONDS = 20.0
"""After this a gate gives up, and the test fails."""
EXPECTED = {"plain": "PLAIN(essay)", "asked": "essay: yes"}
ANSWERED = ["plain begins", "child asks", "child was told yes"]


class Ask(TypedDict, total=False):
    """The state of the graph inside a task."""

    topic: str
    verdict: str


class Gates:
    """Chunk by chunk: opened by the consumer when the chunk arrives, awaited by its writer."""

    def __init__(self) -> None:
        self.arrived: dict[str, Event] = {}
        self.in_order: list[str] = []

    def expect(self, chunk: str) -> Event:
        return self.arrived.setdefault(chunk, Event())

    def open(self, chunk: str) -> None:
        self.in_order.append(chunk)
        self.expect(chunk).set()

    def write(self, chunk: str) -> None:
        """Write a chunk from inside a task; return when its consumer has it."""
        gate = self.expect(chunk)
        get_stream_writer()(chunk)
        assert gate.wait(SECONDS), f"{chunk!r} did not arrive while its writer ran"

    async def awrite(self, chunk: str) -> None:
        gate = self.expect(chunk)
        get_stream_writer()(chunk)
        async with asyncio.timeout(SECONDS):
            while not gate.is_set():
                await asyncio.sleep(0)


def sync_program(gates: Gates) -> Any:
    """The program in sync functions."""

    def ask(state: Ask) -> Ask:
        gates.write("child asks")
        verdict = interrupt({"about": state["topic"]})
        gates.write(f"child was told {verdict}")
        return {"verdict": verdict}

    builder: Any = StateGraph(Ask)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    child = builder.compile()

    @task
    def plain(topic: str) -> str:
        gates.write("plain begins")
        return f"PLAIN({topic})"

    @task
    def asked(topic: str) -> str:
        return f"{topic}: {child.invoke({'topic': topic})['verdict']}"

    @entrypoint(checkpointer=InMemorySaver())
    def write_about(topic: str) -> dict[str, str]:
        first, second = plain(topic), asked(topic)
        return {"plain": first.result(), "asked": second.result()}

    return write_about


def async_program(gates: Gates, write: Callable[[str], Any]) -> Any:
    """The program in async functions."""

    async def ask(state: Ask) -> Ask:
        await write("child asks")
        verdict = interrupt({"about": state["topic"]})
        await write(f"child was told {verdict}")
        return {"verdict": verdict}

    builder: Any = StateGraph(Ask)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    child = builder.compile()

    @task
    async def plain(topic: str) -> str:
        await write("plain begins")
        return f"PLAIN({topic})"

    @task
    async def asked(topic: str) -> str:
        return f"{topic}: {(await child.ainvoke({'topic': topic}))['verdict']}"

    @entrypoint(checkpointer=InMemorySaver())
    async def write_about(topic: str) -> dict[str, str]:
        first, second = plain(topic), asked(topic)
        return {"plain": await first, "asked": await second}

    return write_about


MODES = ["custom", "updates"]


def chunk_of(part: Any, gates: Gates) -> None:
    ns, mode, payload = part
    if mode == "custom":
        assert bool(ns) == payload.startswith("child"), f"{payload!r} came from {ns}"
        gates.open(payload)


def question_of(parts: list[Any]) -> str:
    """The id of the one question of the root's stream."""
    (asked,) = [
        question
        for ns, mode, payload in parts
        if mode == "updates" and not ns and "__interrupt__" in payload
        for question in payload["__interrupt__"]
    ]
    assert asked.value == {"about": "essay"}
    return asked.id


def check_first(gates: Gates, parts: list[Any]) -> Command[Any]:
    assert sorted(gates.in_order) == ["child asks", "plain begins"]
    return Command(resume={question_of(parts): "yes"})


def check_second(gates: Gates, graph: Any) -> None:
    assert sorted(set(gates.in_order)) == sorted(ANSWERED)
    assert gates.in_order.count("plain begins") == 1, "an acknowledged task ran again"
    state = graph.get_state(CONFIG)
    assert state.values == EXPECTED
    assert state.next == ()
    assert state.interrupts == ()


def test_tasks_ask_and_tell_while_they_run_with_threads() -> None:
    gates = Gates()
    graph = sync_program(gates)

    def play(given: Any) -> list[Any]:
        parts: list[Any] = []
        for part in graph.stream(given, CONFIG, stream_mode=MODES, subgraphs=True):
            chunk_of(part, gates)
            parts.append(part)
        return parts

    answer = check_first(gates, play("essay"))
    play(answer)
    check_second(gates, graph)


async def test_tasks_ask_and_tell_while_they_run_with_asyncio() -> None:
    gates = Gates()
    graph = async_program(gates, gates.awrite)

    async def play(given: Any) -> list[Any]:
        parts: list[Any] = []
        async for part in graph.astream(given, CONFIG, stream_mode=MODES, subgraphs=True):
            chunk_of(part, gates)
            parts.append(part)
        return parts

    answer = check_first(gates, await play("essay"))
    await play(answer)
    check_second(gates, graph)


@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize("seed", range(25))
def test_tasks_ask_and_tell_while_they_run_in_a_simulation(flavor: Any, seed: int) -> None:
    gates = Gates()

    async def write(chunk: str) -> None:
        get_stream_writer()(chunk)
        assert gates.expect(chunk).is_set(), f"{chunk!r} did not arrive while its writer ran"

    def write_now(chunk: str) -> None:
        get_stream_writer()(chunk)
        assert gates.expect(chunk).is_set(), f"{chunk!r} did not arrive while its writer ran"

    if flavor == "sync":
        gates.write = write_now  # type: ignore[method-assign]
        graph = sync_program(gates)
    else:
        graph = async_program(gates, write)

    def play(given: Any) -> list[Any]:
        return simulate(
            graph,
            given,
            CONFIG,
            seed=seed,
            flavor=flavor,
            stream_mode=MODES,
            subgraphs=True,
            listen=lambda part: chunk_of(part, gates),
        ).parts

    answer = check_first(gates, play("essay"))
    play(answer)
    check_second(gates, graph)
