"""A Ctrl-C at any line of the codec arrives, though ormsgpack drops what its hooks raise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from tests.ctrl_c import stopped

from plait.checkpoint import serde
from plait.checkpoint.serde import Codec, Registry
from plait.errors import CorruptCheckpointError, UnregisteredTypeError

ROOM = str(Path(serde.__file__).parent)


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


def assert_stoppable(codec: Codec, work: Callable[[], Any]) -> int:
    """Each Ctrl-C is raised, and leaves nothing behind; returns how many points there were."""
    nth = 0
    while True:
        where, raised = stopped(nth, ROOM, work)
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
