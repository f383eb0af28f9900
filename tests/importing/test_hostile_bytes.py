"""Databases made to attack: typed refusals or inert data, and nothing imported or executed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.checkpoint.serde import GLOBAL
from plait.errors import CorruptCheckpointError, StorageError, UnregisteredTypeError
from plait.importing.known import Known
from plait.importing.values import Decoder, read_tree

ROOT = Path(__file__).parents[2]


def load(tag: str, data: bytes) -> Any:
    return Decoder(Known(GLOBAL).build).value(read_tree(tag, data))


def test_attacks_of_published_advisories_import_and_execute_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.importing.attack", str(tmp_path), "5"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(ran.stdout)
    assert figures["threads"] > 500
    assert sum(figures["outcomes"].values()) == figures["threads"]
    assert figures["outcomes"].keys() == {"imported", "refused"}
    assert (figures["heard"], figures["imported"]) == ([], False)


@pytest.mark.parametrize("data", [
    {"lc": 1, "type": "secret", "id": ["PATH", "HOME"]},
    {"lc": 1, "type": "not_implemented", "id": ["os", "system"]},
    {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]},
    {"lc": 2, "type": "constructor", "id": ["builtins", "eval"], "args": ["1"]},
    {"lc": 2, "type": "constructor", "id": ["datetime", "datetime"], "method": "__class__",
     "args": [1]},
])  # fmt: skip
def test_json_constructors_of_anything_unknown_are_refused(data: Any) -> None:
    with pytest.raises(StorageError):
        load("json", json.dumps(data).encode())


def test_what_only_looks_like_an_object_within_msgpack_is_data() -> None:
    data = {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}}
    assert load("msgpack", ormsgpack.packb(data)) == data


def test_pickles_are_refused_with_what_to_do() -> None:
    with pytest.raises(UnregisteredTypeError, match="plait unpickles nothing"):
        load("pickle", b"\x80\x04N.")


def test_objects_nested_without_end_are_refused() -> None:
    data = ormsgpack.packb(1)
    for _ in range(500):
        data = ormsgpack.packb(ormsgpack.Ext(0, b"\x93\xa8builtins\xa3set" + b"\x91" + data))
    with pytest.raises(CorruptCheckpointError):
        load("msgpack", data)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["msgpack", "json", "pickle", "x"]))
def test_any_bytes_are_a_value_or_a_typed_error(data: bytes, tag: str) -> None:
    try:
        load(tag, data)
    except StorageError:
        pass


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 127), st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=9) | st.sampled_from(
        ["builtins", "set", "datetime", "timedelta", "re", "compile", "langgraph.types", "Send",
         "langchain_core.messages.human", "HumanMessage", "content", "fromisoformat"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner,
                                                                max_size=4)))  # fmt: skip
def test_any_object_is_a_value_or_a_typed_error(code: int, said: Any) -> None:
    try:
        load("msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(said))))
    except StorageError:
        pass
