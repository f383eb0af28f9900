"""Puts a random program on one side: its modules, and what it is played in."""

import contextlib
import functools
import hashlib
import linecache
import logging
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.differential.harness import Env, cleared_away, watchdog
from tests.differential.loading import Side, fill

SECONDS = 20  # A program takes milliseconds; one that hangs is a difference.


@functools.cache
def stage(family: str, name: str, side: Side) -> types.ModuleType:
    """A module of the folder `stage` of some families, for one side.

    It may import those that were asked for before it, with a dot.
    """
    path = Path(__file__).parent / family / "stage" / f"{name}.py"
    package = _package(family, side)
    module = types.ModuleType(f"{package}.{name}")
    module.__file__, module.__package__ = str(path), package
    return fill(module, path.read_text(), side, str(path))


@functools.cache
def _package(family: str, side: Side) -> str:
    """The package that holds the stage's modules of one side."""
    package = types.ModuleType(f"{side}_programs_of_{family}")
    package.__path__ = []  # its modules are put into sys.modules: nothing is searched for
    sys.modules[package.__name__] = package
    return package.__name__


@contextlib.contextmanager
def written(
    text: str, side: Side, names: Mapping[str, Any] | None = None, *, readable: bool = False
) -> Iterator[types.ModuleType]:
    """The module of a program that is text, for one side.

    Args:
        text: the program.
        side: where its imports lead.
        names: what it may use besides.
        readable: whether `inspect` finds its source: schemas of lambdas are read from it.
    """
    name = f"{side}_programs_random_{hashlib.sha1(text.encode()).hexdigest()[:8]}"
    module, where = types.ModuleType(name), f"<{name}>"
    vars(module).update(names or {}, __name__=name, __package__=None)
    if readable:
        linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    try:
        yield fill(module, text, side, where)
    finally:
        sys.modules.pop(name, None)
        linecache.cache.pop(where, None)


class Hangs(BaseException):
    """A program did not end. No `except Exception` of a program or a player holds it up."""


@contextlib.contextmanager
def playing(side: Side, kind: str = "memory", seconds: int = SECONDS) -> Iterator[Env]:
    """What a program is given, under the watchdog; nothing that it does is told in logs.

    Raises:
        TimeoutError: the program did not end in time, whatever it catches.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix="plait-random-") as folder,
            _quiet(),
            cleared_away(side),  # what the peer forgot tells of itself when it is collected
            contextlib.closing(Env(side, kind, Path(folder))) as env,
            watchdog(seconds, Hangs),
        ):
            yield env
    except Hangs as hangs:
        raise TimeoutError(f"on {side}: {hangs}") from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence: what goes wrong in a program does so on purpose."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
