"""A Ctrl-C at each point where Python looks for one: no luck, and no signals."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_COROUTINE, CO_GENERATOR
from types import FrameType
from typing import Any

LOOKS = "call", "c_return"
"""When Python looks for signals: as a function is entered, and after a call of C."""


class _Stop:
    """Raises a Ctrl-C at the nth point of the files below a path."""

    def __init__(self, nth: int, room: str) -> None:
        self._left = nth
        self._room = room
        self.where = ""

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if self.where or event not in LOOKS or not code.co_filename.startswith(self._room):
            return
        entered = event == "call"
        if code.co_flags & CO_GENERATOR or (entered and _goes_on(frame)):
            return  # it may be entered to be closed: nothing is looked for
        self._left -= 1
        if self._left < 0:
            self.where = f"{code.co_qualname}:{frame.f_lineno}, {event}"
            raise KeyboardInterrupt


def _goes_on(frame: FrameType) -> bool:
    """Whether a coroutine is entered where it waited."""
    code = frame.f_code
    return bool(code.co_flags & CO_COROUTINE) and frame.f_lineno > code.co_firstlineno


def stopped(nth: int, room: str, work: Callable[[], Any]) -> tuple[str, BaseException | None]:
    """Where in `room` the nth Ctrl-C came, if there was such a point, and what `work` raised."""
    stop, before, raised = _Stop(nth, room), sys.getprofile(), None
    with no_collection():
        sys.setprofile(stop)
        try:
            work()
        except BaseException as error:
            raised = error
        finally:
            sys.setprofile(before)
    return stop.where, raised


@contextmanager
def no_collection() -> Iterator[None]:
    """Garbage that others left is not collected meanwhile: what that runs is not looked at."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
