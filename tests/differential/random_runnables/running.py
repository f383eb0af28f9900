"""Writes a random program from a family and a seed, runs it on both sides, and compares.

A family is a module of this folder with `lines(choose)`: the statements of one program, as text.
They may use every name of `prelude.py` and `telling.py`, and `look(call)` and `await alook(call)`
to note a result or an error. The text runs in a copy of their namespaces, once per side.

To run seeds, or to replay one with its program's text, before and after shrinking:
    python -m tests.differential.random_runnables.running [FAMILY ...] [--seeds 0:1000] [--text]
"""

import argparse
import asyncio
import contextlib
import gc
import importlib
import linecache
import logging
import random
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.differential.harness import Env, Side, load
from tests.differential.normal import ErrorInfo, difference, normalise

from .expected import is_expected
from .shrink import shrunk

FAMILIES = ("messages", "prompts", "parsers", "tool_parsers", "tools", "stores", "chains")
# As seen from the programs that the harness loads.
PRELUDES = ("../random_runnables/prelude", "../random_runnables/telling")
WIDTH = 400  # of what is told of a difference
SECONDS = 20  # A program that hangs is stopped and reported.


@dataclass(frozen=True)
class Found:
    """How the sides part on one program."""

    text: str
    kind: str  # shrinking keeps to it, so that one difference does not become another


def program(family: str, seed: int) -> str:
    """The text of the program of one seed."""
    module = importlib.import_module(f".{family}", __package__)
    lines = module.lines(random.Random(f"{family}:{seed}"))
    return "\n".join(["async def case(env, look, alook):", *(f"    {line}" for line in lines)])


def compared(text: str) -> Found | None:
    """Where plait's results of a program part from the peer's; None if nowhere."""
    oracle, ours = _run(text, "langgraph"), _run(text, "plait")
    kept = [(a, b) for a, b in zip(oracle, ours, strict=False) if not is_expected(a, b)]
    found = difference([a for a, _ in kept], [b for _, b in kept])
    if found is None:
        return None
    kinds = [v.get("$error") if isinstance(v, dict) else "" for v in (found.oracle, found.plait)]
    return Found(_cut(str(found)), f"errors {kinds}")


def _cut(told: str) -> str:
    return "\n".join(line[:WIDTH] for line in told.splitlines())


def _run(text: str, side: Side) -> list[Any]:
    """What a program noted on one side, as plain data."""
    module = types.ModuleType(f"{side}_programs_random")
    for prelude in PRELUDES:
        vars(module).update(vars(load(prelude, side)), __name__=module.__name__)
    sys.modules[module.__name__] = module  # types that the text declares are resolved through it
    where = f"<{module.__name__}>"
    # Schemas of lambdas are read from their source.
    linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    exec(compile(text, where, "exec"), vars(module))
    noted: list[Any] = []
    known = module.values_of_all
    with tempfile.TemporaryDirectory(prefix="plait-random-") as folder, _quiet(), _watched():
        env = Env(side, "memory", Path(folder))

        async def alook(awaitable: Any) -> None:
            noted.append(normalise(known(await env.aerror(awaitable))))

        def look(call: Any) -> None:
            noted.append(normalise(known(env.error(call))))

        try:
            asyncio.run(module.case(env, look, alook))
        except Exception as error:  # ends the program, on both sides or there is a difference
            noted.append(normalise(ErrorInfo.of(error)))
        finally:
            env.close()
    return noted


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    log = logging.getLogger("asyncio")  # tells of tasks that the peer forgot
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
            gc.collect(0)
    finally:
        log.setLevel(before)


@contextlib.contextmanager
def _watched() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"the program did not end within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def replay(family: str, seed: int) -> str:
    """The one command that plays a seed again, and shows its program."""
    module = "tests.differential.random_runnables.running"
    return f".venv/bin/python -m {module} {family} --seeds {seed}:{seed + 1} --text"


def failure(family: str, seed: int, *, shrink: bool = True) -> str | None:
    """What to print of a seed on which the sides differ: the difference, the program, a command.

    An oracle that races with itself is asked again: what it says once only is no difference.
    """
    text = program(family, seed)
    found = compared(text)
    if found is None or (found := compared(text)) is None:
        return None
    if shrink:
        text = shrunk(text, lambda t: (again := compared(t)) and again.kind == found.kind)
        found = compared(text) or found
    return f"{family}:{seed}: {found.text}\n\n{text}\n\nreplay: {replay(family, seed)}"


def main(arguments: list[str] | None = None) -> int:
    """The command line: prints every failing seed; 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.random_runnables.running")
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; none is all")
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument("--text", action="store_true", help="print each program before it runs")
    parser.add_argument("--stop", type=int, default=5, help="after so many failures of a family")
    options = parser.parse_args(arguments)
    first, end = map(int, options.seeds.split(":"))
    failures = 0
    for family in options.families or FAMILIES:
        count = 0
        for seed in range(first, end):
            if options.text:
                print(program(family, seed), end="\n\n")
            if told := failure(family, seed):
                count += 1
                print(told, end="\n\n", flush=True)
            if count >= options.stop:
                break
            if seed % 200 == 199:
                gc.collect()
        failures += count
        print(f"{family}: seeds {first} to {seed}, {count} differ", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
