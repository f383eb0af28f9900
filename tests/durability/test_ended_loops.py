"""Event loops that end in the midst of runs, and runs that are dropped in them: what runs is
stopped, and no thread stays taken."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

from plait.callbacks import BaseCallbackHandler

from .graphs import CONFIG, Items, async_adder, chain, fan


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Python and event loops tell of errors that nobody could be given."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    return told


def run(told: list[Any], main: Callable[[], Any]) -> None:
    """`asyncio.run`, with what the loop tells."""

    async def heard() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context["message"]))
        await main()

    asyncio.run(heard())


class Slow:
    """A node that never ends by itself, and cleans up when it is stopped.

    Args:
        awaits: something is awaited meanwhile.
    """

    def __init__(self, *, awaits: bool) -> None:
        self.cleaned = 0
        self.begun = asyncio.Event()
        self.awaits = awaits

    async def __call__(self, state: Items) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            if self.awaits:
                await asyncio.sleep(0)
            self.cleaned += 1


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("listened", [False, True])
def test_a_loop_that_ends_stops_the_nodes_of_a_stream_that_is_not_read_to_its_end(
    saver: Any, told: list[Any], durability: str, listened: bool
) -> None:
    slow = Slow(awaits=True)
    graph = fan(saver, ("a", async_adder("a")), ("b", slow))
    config = {**CONFIG, "callbacks": [BaseCallbackHandler()]} if listened else CONFIG
    stream = graph.astream({"items": []}, config, durability=durability)

    async def main() -> None:
        async for _ in stream:
            await slow.begun.wait()
            break

    run(told, main)
    assert told == []
    assert slow.cleaned == 1


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_thread_is_free_again_when_the_loop_of_its_run_was_closed(
    saver: Any, told: list[Any], durability: str
) -> None:
    slow = Slow(awaits=False)  # Python tells of what awaits when it is collected
    graph = chain(saver, ("a", async_adder("a")), ("b", slow))
    loop = asyncio.new_event_loop()
    left = loop.create_task(graph.ainvoke({"items": []}, CONFIG, durability=durability))
    loop.run_until_complete(slow.begun.wait())
    loop.close()
    other = chain(saver, ("a", async_adder("a")), ("b", async_adder("b")))
    assert asyncio.run(other.ainvoke({"items": []}, CONFIG))["items"][-2:] == ["a", "b"]
    del left
    gc.collect()
    assert told == []
    assert slow.cleaned == 1


class Dropped:
    """Awaits something until it has begun, then closes it, as what collects garbage does."""

    def __init__(self, awaited: Any, begun: asyncio.Event) -> None:
        self.awaited, self.begun = awaited, begun

    def __await__(self) -> Any:
        steps = self.awaited.__await__()
        while not self.begun.is_set():
            yield steps.send(None)
        steps.close()


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("how", ["closed", "collected"])
def test_a_thread_is_free_again_when_its_run_is_dropped_while_the_loop_goes_on(
    saver: Any, told: list[Any], durability: str, how: str
) -> None:
    slow = Slow(awaits=False)
    graph = chain(saver, ("a", async_adder("a")), ("b", slow))
    other = chain(saver, ("a", async_adder("a")), ("b", async_adder("b")))

    async def main() -> None:
        run = graph.ainvoke({"items": []}, CONFIG, durability=durability)
        if how == "closed":
            # The loop's futures have nobody to wake: another task does it.
            running = asyncio.ensure_future(_awaited(Dropped(run, slow.begun)))
            await slow.begun.wait()
            running.cancel()
            await asyncio.wait([running])
        else:
            running = asyncio.ensure_future(run)
            await slow.begun.wait()
            await asyncio.sleep(0)
        del run, running
        gc.collect()
        assert slow.cleaned == 1
        assert (await other.ainvoke({"items": []}, CONFIG))["items"][-2:] == ["a", "b"]

    run(told, main)
    assert told in ([], ["Task was destroyed but it is pending!"])


async def _awaited(what: Any) -> None:
    await what


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_stream_whose_closing_is_cancelled_before_it_began_gives_the_thread_back(
    saver: Any, told: list[Any], durability: str
) -> None:
    graph = fan(saver, ("a", async_adder("a")), ("b", Slow(awaits=True)))
    other = fan(saver, ("a", async_adder("a")), ("b", async_adder("b")))

    async def main() -> None:
        stream = graph.astream({"items": []}, CONFIG, durability=durability, stream_mode="updates")
        await anext(stream)
        closing = asyncio.ensure_future(stream.aclose())
        closing.cancel()
        await asyncio.wait([closing])
        await other.ainvoke({"items": []}, CONFIG)

    run(told, main)
    assert told == []
