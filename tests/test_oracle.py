"""Half-read streams of the oracle are closed by who played them, not by whoever comes later."""

import gc
from collections.abc import Iterator
from pathlib import Path
from threading import get_ident

from tests.oracle import asks_an_oracle, collected_here


def test_what_is_left_half_read_is_closed_at_the_end_by_the_same_thread():
    closed: list[int] = []

    def stream() -> Iterator[int]:
        try:
            yield 1
        finally:
            closed.append(get_ident())

    with collected_here():
        left: list[object] = [stream()]
        next(left[0])  # type: ignore[call-overload]
        left.append(left)
        del left
        _ = [[n] for n in range(100_000)]  # would have the collector run by itself
        assert closed == []
    assert closed == [get_ident()]
    assert gc.isenabled()


def test_files_that_import_an_oracle_are_known():
    here = Path(__file__).parent
    assert asks_an_oracle(here / "callbacks" / "test_callbacks.py")
    assert not asks_an_oracle(Path(__file__))
