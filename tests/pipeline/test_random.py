"""Pipelines drawn from seeds give what a few lines of Python make of the same modules and links."""

import asyncio
import random
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.pipeline import FnComponent, InputComponent, Link, QueryPipeline
from plait.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class Drawn:
    """A pipeline of a seed, some of whose modules ask a person, or fail at first."""

    def __init__(self, seed: int, kind: str) -> None:
        self.dice = random.Random(f"{kind} {seed}")
        self.kind = kind
        self.ran: list[str] = []
        self.failed: set[str] = set()
        self.required: dict[str, list[str]] = {}
        self.special: set[str] = set()
        self.links: list[Link] = []
        modules: dict[str, Any] = {"in": InputComponent()}
        for at in range(self.dice.randint(3, 9)):
            modules[f"m{at}"] = self._module(at)
        saver = None if kind == "plain" else InMemorySaver()
        bound = self.dice.choice([None, 1, 2])
        self.pipeline = QueryPipeline(
            None, modules, self.links, max_concurrency=bound, checkpointer=saver
        )

    def _module(self, at: int) -> FnComponent:
        name = f"m{at}"
        required = [f"r{n}" for n in range(self.dice.randint(1, 3))]
        optional = [f"o{n}" for n in range(self.dice.randint(0, 2))] if at else []
        if self.dice.random() < 0.3:
            self.special.add(name)
        linked = [*required, *(key for key in optional if self.dice.random() < 0.6)]
        self.links += [self._link(at, key) for key in linked]
        self.required[name] = required

        def run(**given: str) -> str:
            self.ran.append(name)
            return self._said(name, given)

        async def arun(**given: str) -> str:
            await asyncio.sleep(0)
            return run(**given)

        form = arun if self.dice.random() < 0.5 else None
        return FnComponent(run, form, req_params=required, opt_params=optional)

    def _link(self, at: int, key: str) -> Link:
        if at == 0:
            return Link("in", "m0", "text", key)
        condition = change = None
        if self.dice.random() < 0.25:
            letter = self.dice.choice("0123456789(,!")

            def condition(text: str) -> bool:
                return text.count(letter) % 2 == 0

        if self.dice.random() < 0.25:

            def change(text: str) -> str:
                return text[-12:]

        return Link(f"m{self.dice.randrange(at)}", f"m{at}", None, key, condition, change)

    def _said(self, name: str, given: dict[str, str], answer: str | None = None) -> str:
        """What a module gives; it asks or fails first, unless the answer is there."""
        answered = ""
        if name in self.special and self.kind == "asks":
            answered = f"!{interrupt(name) if answer is None else answer}"
        if name in self.special - self.failed and self.kind == "fails" and answer is None:
            self.failed.add(name)
            raise RuntimeError(name)
        return f"{name}{answered}({','.join(f'{key}={given[key]}' for key in sorted(given))})"

    def expected(self, text: str) -> tuple[Any, list[str]]:
        """The output, and which modules run, in their order."""
        made: dict[str, str] = {}
        for name, required in self.required.items():
            given: dict[str, str] = {}
            for link in self.links:
                value = text if link.src == "in" else made.get(link.src)
                if link.dest != name or value is None:
                    continue
                if link.condition_fn is None or link.condition_fn(value):
                    given[str(link.dest_key)] = link.input_fn(value) if link.input_fn else value
            if all(key in given for key in required):
                made[name] = self._said(name, given, f"A{name}")
        passed = {link.src for link in self.links if link.dest in made}
        last = {name: value for name, value in made.items() if name not in passed}
        several = {name: {"output": value} for name, value in last.items()}
        return (next(iter(last.values())) if len(last) == 1 else several), [*made]

    def go_on(self, result: Any) -> Any:
        """What a run is told next that has stopped: some of its answers; None after an error."""
        if result is None:
            return None
        asked = [(one.id, f"A{one.value}") for one in result["__interrupt__"]]
        return Command(resume=dict(self.dice.sample(asked, self.dice.randint(1, len(asked)))))


def played(drawn: Drawn, text: str, is_async: bool) -> Any:
    """What a pipeline gives in the end."""
    given: Any = text
    while True:
        result = None
        try:
            if is_async:
                result = asyncio.run(drawn.pipeline.ainvoke(given, THREAD))
            else:
                result = drawn.pipeline.invoke(given, THREAD)
        except RuntimeError:
            assert drawn.kind == "fails"
        if result is not None and not (isinstance(result, dict) and "__interrupt__" in result):
            return result
        given = drawn.go_on(result)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", ["plain", "asks", "fails"])
def test_what_is_drawn_gives_what_it_must_turn_by_turn(kind: str, is_async: bool):
    for seed in range(40):
        drawn = Drawn(seed, kind)
        for text in ("one", "another"):
            drawn.ran.clear()
            drawn.failed.clear()
            output, ran = drawn.expected(text)
            assert played(drawn, text, is_async) == output, f"seed {seed}"
            assert set(drawn.ran) == set(ran), f"seed {seed}"
            if kind == "plain":
                assert sorted(drawn.ran) == sorted(ran), f"seed {seed}"
            if kind == "fails" and not is_async:  # siblings of a failed one are cancelled there
                again = sorted([*ran, *drawn.failed])
                assert sorted(drawn.ran) == again, f"seed {seed}"
