"""What is left behind by LangGraph, which is the oracle of many tests here."""

from __future__ import annotations

import gc
import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def collected_here() -> Generator[None]:
    """The garbage of the block is collected at its end, by this thread, and not before.

    A half-read stream of LangGraph waits for threads when it is collected. The collector may do
    that inside of the start or the end of a thread, under the interpreter's own lock, for which
    such a wait then waits for ever (CPython 3.11): the gate hung so.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)  # all that was made meanwhile is of the youngest generation
        if was_on:
            gc.enable()


@cache
def asks_an_oracle(path: Path) -> bool:
    """Whether a file of tests imports LangGraph or LangChain."""
    imports = re.compile(r"^\s*(from|import) lang(graph|chain)", re.MULTILINE)
    return imports.search(path.read_text("utf-8")) is not None
