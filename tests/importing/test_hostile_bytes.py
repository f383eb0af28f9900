"""Databases made to attack: typed refusals or inert data, and nothing imported or executed."""

from __future__ import annotations

import io
import json
import operator
import os
import pickle
import pickletools
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.sqlite import SqliteSaver as PeerSaver

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import GLOBAL
from plait.errors import CorruptCheckpointError, StorageError
from plait.importing import import_langgraph
from plait.importing.known import Known
from plait.importing.values import Decoder, read_tree

from . import apps

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


class Runs:
    """Its pickle runs a command."""

    def __reduce__(self) -> Any:
        return os.system, ("true",)


def laughs() -> Any:
    """A small pickle of an enormous value."""
    value: Any = ["ha"] * 10
    for _ in range(30):
        value = [value] * 10
    return value


def itself() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


PICKLES: list[Any] = [Runs(), [{"a": Runs()}], os.system, laughs(), itself(), {"f": operator.add},
                      operator.attrgetter("a"), object(), range(3), io.BytesIO]  # fmt: skip


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("value", PICKLES, ids=lambda value: type(value).__name__)
def test_pickles_of_more_than_data_are_refused(value: Any, protocol: int) -> None:
    with pytest.raises(StorageError):
        load("pickle", pickle.dumps(value, protocol))


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


OPCODES = bytes(ord(opcode.code) for opcode in pickletools.opcodes)
SOME = [b"\x01", b"cos\nsystem\n", b"cbuiltins\nset\n", b"\x8c\x01a", b"K\x07", b"(", b"q\x00"]
PIECES = st.sampled_from([*(bytes([code]) for code in OPCODES), *SOME])


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=25))
def test_any_opcodes_are_a_value_or_a_typed_error(pieces: list[bytes]) -> None:
    try:
        load("pickle", b"".join(pieces) + b".")
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


CELLS: list[Any] = [None, 7, -1.5, "", "text", b"", b"\xff\xfe", "[]", b"\x80", "9" * 50]


def test_any_cell_of_a_database_changed_to_anything_is_a_value_or_a_typed_error(
    tmp_path: Path,
) -> None:
    path, chance, outcomes = tmp_path / "langgraph.db", Random(5), Counter[str]()
    with PeerSaver.from_conn_string(str(path)) as saver:
        graph = apps.asker(apps.LANGGRAPH, saver)
        graph.invoke({"items": []}, {"configurable": {"thread_id": "t"}})
    conn = sqlite3.connect(path, isolation_level=None)
    for _ in range(250):
        conn.execute("BEGIN")
        table = chance.choice(["checkpoints", "writes"])
        names = [row[1] for row in conn.execute(f"PRAGMA table_info({table})")]
        ids = [row[0] for row in conn.execute(f"SELECT rowid FROM {table}")]
        name, id = chance.choice(names), chance.choice(ids)
        (old,) = conn.execute(f"SELECT {name} FROM {table} WHERE rowid = ?", (id,)).fetchone()
        new = chance.choice(CELLS)
        if isinstance(old, bytes) and old and chance.random() < 0.7:
            at = chance.randrange(len(old))
            new = old[:at] + chance.randbytes(chance.randrange(3)) + old[at + 1 :]
        try:
            conn.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (new, id))
            if chance.random() < 0.1:
                conn.execute(f"UPDATE {table} SET {name} = CAST(x'FF41' AS TEXT) "
                             "WHERE rowid = ?", (id,))  # fmt: skip
        except sqlite3.IntegrityError:
            conn.execute("ROLLBACK")
            continue
        conn.execute("COMMIT")
        try:
            report = import_langgraph(path, dry_run=True)
            outcomes.update(each.outcome for each in report.threads)
        except StorageError as error:
            outcomes[type(error).__name__] += 1
        conn.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (old, id))
    conn.close()
    assert outcomes.keys() <= {"imported", "refused", "StorageUnavailableError"}, outcomes
    assert outcomes["imported"] > 30
    assert outcomes["refused"] > 30


@pytest.mark.parametrize("how", ["zeros", "noise", "flips"])
def test_a_damaged_page_of_a_file_refuses_the_threads_that_lie_there_and_no_other(
    tmp_path: Path, how: str
) -> None:
    path, dice, kept = tmp_path / "langgraph.db", Random(7), Counter[str]()
    with PeerSaver.from_conn_string(str(path)) as peer:
        graph = apps.asker(apps.LANGGRAPH, peer)
        for number in range(16):
            at: Any = {"configurable": {"thread_id": f"t{number:02}"}}
            graph.invoke({"items": ["in" * 200]}, at)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode = DELETE")
        ((size,),) = conn.execute("PRAGMA page_size").fetchall()
    whole = path.read_bytes()
    right = outcomes(path)
    assert {outcome for outcome, _, _ in right.values()} == {"imported"}
    for start in range(size, len(whole), size):
        page = bytearray(whole[start : start + size])
        if how == "flips":
            for _ in range(20):
                page[dice.randrange(size)] ^= 1 << dice.randrange(8)
        else:
            page[:] = bytes(size) if how == "zeros" else dice.randbytes(size)
        path.write_bytes(whole[:start] + page + whole[start + size :])
        try:
            found = outcomes(path)
        except StorageError:
            kept["nothing was read"] += 1
            continue
        assert {outcome for outcome, _, _ in found.values()} <= {"imported", "refused"}
        for name, each in found.items():
            kept[each[0]] += 1
            assert how == "flips" or each[0] == "refused" or each == right[name], (start, name)
    assert kept["refused"] > 10
    assert kept["imported"] > 3 * kept["refused"]
    assert kept["nothing was read"] < 10


def outcomes(path: Path) -> dict[str, tuple[str, int, Any]]:
    """What became of each thread of a file, how many checkpoints of it, and its last values."""
    saver = InMemorySaver()
    report = import_langgraph(path, saver)
    graph = apps.asker(apps.PLAIT, saver)
    return {
        each.thread_id: (
            each.outcome,
            each.checkpoints,
            None if each.outcome == "refused" else graph.get_state(
                {"configurable": {"thread_id": each.thread_id}}).values,
        )
        for each in report.threads
    }  # fmt: skip
