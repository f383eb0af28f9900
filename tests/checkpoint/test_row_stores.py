"""Row stores answer as plain dicts would, however they keep their rows."""

from pathlib import Path

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver

from .row_stores import play


@pytest.mark.parametrize("seed", range(40))
def test_rows_in_memory_are_those_of_plain_dicts(seed: int) -> None:
    play(InMemorySaver().execute, seed, 60)


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_a_file_are_those_of_plain_dicts(seed: int, tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        play(saver.execute, seed, 60)
