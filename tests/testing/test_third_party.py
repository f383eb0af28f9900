"""The suites as a third party runs them: a failed promise says what was promised, and what came."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from contextlib import asynccontextmanager

from plait.checkpoint.memory import InMemorySaver
from plait.store.memory import InMemoryStore
from {module} import SaverConformance, StoreConformance


class Stripping(InMemorySaver):
    def get_next_version(self, current, channel):
        return "same"


class Hiding(InMemoryStore):
    def batch(self, ops):
        return [found[:1] if isinstance(found, list) else found for found in super().batch(ops)]


class TestMySaver(SaverConformance):
    @asynccontextmanager
    async def open(self):
        yield Stripping()


class TestMyStore(StoreConformance):
    @asynccontextmanager
    async def open(self):
        yield Hiding()
"""


@pytest.mark.parametrize("whole", [True, False], ids=["package", "modules"])
def test_a_failed_promise_shows_its_values_and_whose_methods_broke_it(
    tmp_path: Path, whole: bool
) -> None:
    program = PROGRAM.format(module="plait.testing")
    if not whole:
        program = program.replace(
            "from plait.testing import SaverConformance, StoreConformance",
            "from plait.testing.savers import SaverConformance\n"
            "from plait.testing.stores import StoreConformance",
        )
    (tmp_path / "test_mine.py").write_text(program)
    named = "versions_grow or what_was_deleted_is_gone or covers_a_namespace"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", named, "-q"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "assert ['same', 'sam" in ran.stdout
    assert "['a'] == ['a', 'a/b', 'a/b/c']" in ran.stdout
    assert "through the sync methods" in ran.stdout
    assert "2 failed, 1 passed" in ran.stdout
