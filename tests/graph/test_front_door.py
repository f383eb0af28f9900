"""`import plait` gives the common names and loads nothing until they are used."""

from __future__ import annotations

import subprocess
import sys

import plait


def test_every_name_of_the_front_door_is_there() -> None:
    assert all(getattr(plait, name) is not None for name in plait.__all__)


def test_import_loads_nothing_but_what_loads_the_rest() -> None:
    code = "import sys, plait; print([m for m in sys.modules if m.startswith('plait.')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['plait.common', 'plait.common.lazy']"
