"""A Ctrl-C at any line of the codec arrives, though ormsgpack drops what its hooks raise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from inspect import CO_GENERATOR
from pathlib import Path
from types import FrameType
from typing import Any

import ormsgpack
import pytest

from plait.checkpoint import serde
from plait.checkpoint.serde import Codec, Registry
from plait.errors import CorruptCheckpointError, UnregisteredTypeError

ROOM = str(Path(serde.__file__).parent)
LOOKS = "call", "c_return"
"""When Python looks for signals: as a function is entered, and after a call of C."""


class Unknown:
    """No codec knows it."""


GOOD: Any = {"a": [timedelta(3), (1, {2.0})], "b": (timedelta(4),)}
VALUES: dict[str, Any] = {
    "plain": {"a": [1]},
    "objects": GOOD,
    "numbers as keys": {"a": (timedelta(3),), 1: timedelta(4)},
    "surrogates": [timedelta(3), "\ud800"],
    "buffers": [timedelta(3), bytearray(b"x")],
}
DAMAGED: dict[str, bytes] = {
    "cut": Codec().dumps(GOOD)[:-1],
    "unknown extension": ormsgpack.packb([ormsgpack.Ext(111, b"x")]),
    "unknown extension below": ormsgpack.packb(
        ormsgpack.Ext(1, ormsgpack.packb([ormsgpack.Ext(111, b"x")]))
    ),
}


class Stop:
    """Raises a Ctrl-C at the nth point of the codec where Python looks for one."""

    def __init__(self, nth: int) -> None:
        self.left = nth
        self.where = ""

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if self.where or event not in LOOKS or not code.co_filename.startswith(ROOM):
            return
        if code.co_flags & CO_GENERATOR:  # it may be entered to be closed: nothing is looked for
            return
        self.left -= 1
        if self.left < 0:
            self.where = f"{code.co_qualname}:{frame.f_lineno}, {event}"
            raise KeyboardInterrupt


def stopped(nth: int, work: Callable[[], Any]) -> tuple[str, BaseException | None]:
    """Where a Ctrl-C came, if at all, and what `work` raised."""
    stop, before, raised = Stop(nth), sys.getprofile(), None
    sys.setprofile(stop)
    try:
        work()
    except BaseException as error:
        raised = error
    finally:
        sys.setprofile(before)
    return stop.where, raised


def assert_stoppable(codec: Codec, work: Callable[[], Any]) -> int:
    """Each Ctrl-C is raised, and leaves nothing behind; returns how many points there were."""
    nth = 0
    while True:
        where, raised = stopped(nth, work)
        if not where:
            return nth
        assert isinstance(raised, KeyboardInterrupt), (where, raised)
        with pytest.raises(CorruptCheckpointError, match="ValueError"):
            codec.loads(DAMAGED["cut"])
        assert codec.loads(codec.dumps(GOOD)) == GOOD
        assert codec.loads(codec.dumps({1: (2,)})) == {1: (2,)}
        nth += 1


@pytest.mark.parametrize("name", VALUES)
def test_a_ctrl_c_at_any_point_of_encoding_and_decoding_is_raised(name: str) -> None:
    codec, value = Codec(), VALUES[name]
    data = codec.dumps(value)
    codec.loads(data)  # what is made once is made
    assert assert_stoppable(codec, lambda: codec.dumps(value)) > 2
    assert assert_stoppable(codec, lambda: codec.loads(data)) > 2


def test_a_ctrl_c_at_any_point_of_a_refusal_to_encode_is_raised() -> None:
    codec = Codec(Registry(None))
    for value in ([Unknown()], [(timedelta(3), [Unknown()])]):
        with pytest.raises(UnregisteredTypeError):
            codec.dumps(value)
        assert assert_stoppable(codec, lambda value=value: codec.dumps(value)) > 4


@pytest.mark.parametrize("name", DAMAGED)
def test_a_ctrl_c_at_any_point_of_a_refusal_to_decode_is_raised(name: str) -> None:
    codec, data = Codec(), DAMAGED[name]
    with pytest.raises(CorruptCheckpointError):
        codec.loads(data)
    assert assert_stoppable(codec, lambda: codec.loads(data)) > 2
