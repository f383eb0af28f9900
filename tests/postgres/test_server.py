"""The server of the tests: a start of it that hangs costs seconds, not the gate, and what a test
leaves behind reaches no other one."""

import pytest
from tests.postgres.server import NoServer, Own, Server

from plait.checkpoint.postgres import PostgresSaver
from plait.errors import StorageUnavailableError

HANGS = """
import faulthandler, pathlib, sys, time
faulthandler.dump_traceback_later(float(sys.argv[2]) / 2)
tries = pathlib.Path({tries!r})
tries.write_text(tries.read_text() + ".")
if len(tries.read_text()) <= {times}:
    time.sleep(600)
print("the url", "the programs", "", sep="\\n")
"""


def program(tmp_path, times: int) -> str:
    tries = tmp_path / "tries"
    tries.write_text("")
    return HANGS.format(tries=str(tries), times=times)


def test_a_start_that_hangs_is_killed_told_and_tried_again(tmp_path):
    with pytest.warns(UserWarning, match=r"TimeoutExpired.*\n[^$]*1 tries left"):
        own = Own.start(tries=2, seconds=3, program=program(tmp_path, 1))
    assert own.url == "the url"
    assert own.user is None


def test_a_start_that_hangs_each_time_tells_where(tmp_path):
    with (
        pytest.warns(UserWarning, match="tries left"),
        pytest.raises(NoServer, match=r"(?s)line 7.*POSTGRES_URL"),
    ):
        Own.start(tries=2, seconds=1.5, program=program(tmp_path, 9))


def test_a_saver_that_outlives_its_database_makes_no_tables_for_later_ones(
    postgres_server: Server,
) -> None:
    with postgres_server.database() as url:
        late = PostgresSaver(url)
    with late, pytest.raises(StorageUnavailableError, match="search_path"):
        late.setup()
