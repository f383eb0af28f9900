"""Rows 4 and 5: many processes at one thread, and owners that come back from the dead."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.durability.graphs import CONFIG, adder, chain
from tests.durability.savers import ShortLease

from plait.errors import RunError, ThreadBusyError
from plait.testing import fork
from plait.types import Command, interrupt

from .parts import Figure, Scene

SIZES = (2, 2, 8, 8, 32)
"""How many processes there are, by seeds."""


def few(seed: int) -> bool:
    """Whether a race is one of the quick ones: most have 2 processes, some 8."""
    return seed % len(SIZES) < 3


def races(seed: int, scene: Scene) -> Figure:
    """2, 8 or 32 processes, forked from this warmed one, answer one question at the same moment."""
    processes = SIZES[seed % len(SIZES)]
    effects = scene.folder / "effects"
    read, write = os.pipe()

    def graph_of(saver: Any) -> Any:
        def ask(state: Any) -> Any:
            answer = interrupt("?")
            with effects.open("a") as file:
                file.write(f"{answer}\n")
            return {"items": [answer]}

        return chain(saver, ("ask", ask), ("c", adder("c")))

    def work(name: str) -> Callable[[Callable[[str], Any]], None]:
        def answer(tell: Callable[[str], Any]) -> None:
            with scene.db.open(**few) as saver:
                graph = graph_of(saver)
                tell("ready")
                os.read(read, 1)
                try:
                    graph.invoke(Command(resume=name), CONFIG)
                    tell("ran")
                except RunError as error:
                    tell(type(error).__name__)

        return answer

    few: dict[str, Any] = {"max_connections": 1} if scene.db.kind == "postgres" else {}
    with scene.db.open() as saver:
        graph_of(saver).invoke({"items": []}, CONFIG)
    children = [fork(work(str(number))) for number in range(processes)]
    try:
        assert {child.hear() for child in children} == {"ready"}
        os.write(write, b"x" * processes)
        said = Counter(child.hear() for child in children)
        assert [child.wait() for child in children] == [0] * processes
    finally:
        for child in children:
            child.kill()
        os.close(read), os.close(write)
    assert said.pop("ran") == 1, said
    assert said.keys() <= {"ThreadBusyError", "UnknownInterruptError"}, said
    assert len(effects.read_text().split()) == 1
    return {"rounds": 1, "processes": processes, "ran twice": 0}


def zombies(seed: int, scene: Scene) -> Figure:
    """An owner is stopped past its lease, another run finishes, the owner goes on."""
    read, write = os.pipe()

    def first(tell: Callable[[str], Any]) -> None:
        def wait(state: Any) -> Any:
            tell("runs")
            os.read(read, 1)
            return {"items": ["b"]}

        with scene.db.open(ShortLease) as saver:
            graph = chain(saver, ("a", adder("a")), ("b", wait), ("c", adder("c")))
            try:
                graph.invoke({"items": []}, CONFIG)
            except ThreadBusyError:
                tell("refused")

    owner = fork(first)
    try:
        assert owner.hear() == "runs"
        owner.signal(signal.SIGSTOP)
        with scene.db.open(ShortLease, thread_busy="wait") as saver:
            graph = chain(saver, *((name, adder(name)) for name in "abc"))
            assert graph.invoke(None, CONFIG) == {"items": ["a", "b", "c"]}
            before = [each.config for each in graph.get_state_history(CONFIG)]
            os.write(write, b"x")
            owner.signal(signal.SIGCONT)
            assert owner.hear() == "refused"
            assert owner.wait() == 0
            assert [each.config for each in graph.get_state_history(CONFIG)] == before
    finally:
        owner.kill()
        os.close(read), os.close(write)
    return {"rounds": 1, "stale commits": 0}
