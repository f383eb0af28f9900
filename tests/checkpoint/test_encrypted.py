"""Values at rest are encrypted, keys rotate, and what is not right is refused."""

from __future__ import annotations

import json
import os
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel
from tests.swapped import Swapped

from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.requests import (
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
    ReadWrites,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde import envelope, place
from plait.checkpoint.serde.encrypted import AesGcmCipher, EncryptedSerializer
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, ConfigTypeError, CorruptCheckpointError
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}, "metadata": {"note": "top-secret"}}
OLD, NEW = {"1": b"k" * 32}, {"2": b"n" * 32}


def at(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


class Note(BaseModel):
    text: str


class State(TypedDict, total=False):
    items: Annotated[list[Any], lambda a, b: a + b]
    note: Note


def graph(saver: Any) -> Any:
    builder: Any = StateGraph(State)
    builder.add_node("a", lambda state: {"items": ["top-secret"], "note": Note(text="top-secret")})
    builder.add_node("ask", lambda state: {"items": [interrupt("top-secret?")]})
    builder.add_edge(START, "a").add_edge("a", "ask")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("api", ["sync", "async"])
async def test_nothing_readable_reaches_the_file_and_a_graphs_types_come_back(
    tmp_path: Path, api: str
) -> None:
    path = tmp_path / "threads.db"
    for given in ({"items": ["top-secret"]}, Command(resume="top-secret")):
        with SqliteSaver(path, serde=EncryptedSerializer.from_keys(OLD)) as saver:
            if api == "sync":
                done = graph(saver).invoke(given, CONFIG)
            else:
                done = await graph(saver).ainvoke(given, CONFIG)
    assert done == {"items": ["top-secret"] * 3, "note": Note(text="top-secret")}
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"items" in raw, "names of channels stay readable"
    assert b"secret" not in raw


def test_keys_rotate_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path, serde=EncryptedSerializer.from_keys(OLD)) as saver:
        graph(saver).invoke({"items": []}, CONFIG)
    with SqliteSaver(path, serde=EncryptedSerializer.from_keys({**OLD, **NEW})) as saver:
        graph(saver).invoke(Command(resume="yes"), CONFIG)
        assert graph(saver).get_state(CONFIG).values["items"] == ["top-secret", "yes"]
    for keys, reason in ((NEW, "aesgcm:1"), ({**NEW, "1": b"x" * 32}, "cannot be decrypted")):
        saver = SqliteSaver(path, serde=EncryptedSerializer.from_keys(keys))
        with saver, pytest.raises(CorruptCheckpointError, match=reason):
            graph(saver).get_state(CONFIG)


def test_a_copy_needs_the_newest_key_alone_and_what_was_pruned_all(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path, serde=EncryptedSerializer.from_keys(OLD)) as saver:
        graph(saver).invoke({"items": []}, CONFIG)
    with SqliteSaver(path, serde=EncryptedSerializer.from_keys({**OLD, **NEW})) as saver:
        saver.copy_thread("1", "2")
        saver.prune(["1"])
        history = [each.values for each in graph(saver).get_state_history(at("2"))]
    with SqliteSaver(path, serde=EncryptedSerializer.from_keys(NEW)) as saver:
        assert [each.values for each in graph(saver).get_state_history(at("2"))] == history
        done = graph(saver).invoke(Command(resume="yes"), at("2"))
        assert done["items"] == ["top-secret", "yes"]
        with pytest.raises(CorruptCheckpointError, match="aesgcm:1"):
            graph(saver).get_state(CONFIG)


@pytest.mark.parametrize("encrypted_first", [True, False])
def test_with_and_without_encryption_refuse_each_other(encrypted_first: bool) -> None:
    saver = InMemorySaver()
    serdes = [JsonPlusSerializer(), EncryptedSerializer.from_keys(OLD)]
    saver.serde = serdes[encrypted_first]
    graph(saver).invoke({"items": []}, CONFIG)
    saver.serde = serdes[not encrypted_first]
    with pytest.raises(CorruptCheckpointError):
        graph(saver).get_state(CONFIG)


def test_each_changed_bit_and_tag_is_refused() -> None:
    serde, chance = EncryptedSerializer.from_keys({**OLD, **NEW}), Random(1)
    tag, data = serde.dumps_typed({"n": [1, 2]})
    for _ in range(500):
        bad = bytearray(data)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        with pytest.raises(CorruptCheckpointError):
            serde.loads_typed((tag, bytes(bad)))
        with pytest.raises(CorruptCheckpointError):
            serde.loads_typed((tag, data[: chance.randrange(len(data))]))
    for wrong in ("plait", "plait+", "plait+aesgcm:1", "plait+aesgcm:9", "plait+rot13"):
        with pytest.raises(CorruptCheckpointError):
            serde.loads_typed((wrong, data))


def test_a_conversation_of_dicts_stays_linear() -> None:
    """Ciphertexts differ each time; what tells whether an item changed must not."""
    saver = InMemorySaver(serde=EncryptedSerializer.from_keys(OLD))
    builder: Any = StateGraph(State)
    builder.add_node("a", lambda state: {"items": [{"tags": {"x"}, "body": os.urandom(500)}]})
    app = builder.add_edge(START, "a").compile(checkpointer=saver)
    for _ in range(60):
        app.invoke({"items": []}, {"configurable": {"thread_id": "1"}})
    lane = saver.execute(ListLanes("1"))[0].lane
    records = saver.execute(ReadValues(lane, saver.execute(ListValues(lane))))
    assert sum(map(len, records)) < 60 * 500 * 3


def test_the_peers_names_of_making_one(monkeypatch: Any) -> None:
    made = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16)
    assert made.loads_typed(made.dumps_typed([1])) == [1]
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "k" * 32)
    assert EncryptedSerializer.from_pycryptodome_aes().dumps_typed(1)[0] == "plait+aesgcm:1"
    monkeypatch.setenv("PLAIT_AES_KEY", f"a={'00' * 32}, b={'11' * 32}")
    assert EncryptedSerializer.from_env().dumps_typed(1)[0] == "plait+aesgcm:b"
    for text in ("", "nonsense", "a=xyz", "a=00"):
        monkeypatch.setenv("PLAIT_AES_KEY", text)
        with pytest.raises(ConfigError):
            EncryptedSerializer.from_env()
    with pytest.raises(ConfigError, match="mode"):
        EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16, mode=1)
    with pytest.raises(ConfigError):
        EncryptedSerializer.from_keys({})


# --- bound to their place ------------------------------------------------------------------------


class NoAssociatedData:
    """A user's cipher with the peer's protocol: it takes no associated data."""

    def __init__(self) -> None:
        self.inner = AesGcmCipher(OLD)

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return self.inner.encrypt(plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return self.inner.decrypt(ciphername, ciphertext)


def places_of(saver: Any, thread: str) -> list[tuple[bytes, bytes]]:
    """(place, record) of every record of a thread."""
    found: list[tuple[bytes, bytes]] = []
    for lane in saver.execute(ListLanes(thread)):
        root = place(thread, lane.ns)
        for row in saver.execute(ReadCheckpoints(lane.lane)):
            at = unpack(row.id)
            found.append((root + place(at, ""), row.record))
            for each in saver.execute(ReadWrites(lane.lane, row.id)):
                found.append((root + place(at, f"writes:{unpack(each.task)}"), each.record))
        keys = saver.execute(ListValues(lane.lane))
        records = saver.execute(ReadValues(lane.lane, keys))
        for (channel, key), record in zip(keys, records, strict=True):
            found.append((root + place(unpack(key), channel), record))
    return found


@pytest.mark.parametrize("cipher", [AesGcmCipher(OLD), NoAssociatedData()])
def test_a_ciphertext_that_is_moved_with_a_digest_made_for_its_new_place_opens_nowhere(
    cipher: Any,
) -> None:
    """The digest of the envelope has no key: who writes to the database can make it anew."""
    saver = Swapped(serde=EncryptedSerializer(cipher))
    app = graph(saver)
    configs: list[Any] = [{"configurable": {"thread_id": name}} for name in "tu"]
    for config in configs:
        app.invoke({"items": [config["configurable"]["thread_id"]]}, config)

    def read() -> list[Any]:
        return [list(app.get_state_history(config)) for config in configs]

    right, moves = read(), 0
    records = [each for name in "tu" for each in places_of(saver, name)]
    for (here, record), (_, other) in permutations(records, 2):
        head, payload = other[:5], other[21:]
        saver.record, saver.instead = record, envelope.seal(head[4], here, payload)
        with pytest.raises(CorruptCheckpointError):
            read()
        moves += 1
    saver.record = b""
    assert moves > 100
    assert read() == right


def test_who_has_no_key_cannot_put_a_record_of_his_own_beside_encrypted_ones() -> None:
    saver = Swapped(serde=EncryptedSerializer.from_keys(OLD))
    app = graph(saver)
    app.invoke({"items": ["mine"]}, CONFIG)
    open_saver = InMemorySaver()
    graph(open_saver).invoke({"items": ["forged"]}, CONFIG)
    forged = dict(places_of(open_saver, "1"))
    here, saver.record = places_of(saver, "1")[-1]
    payload = next(iter(forged.values()))[21:]
    saver.instead = envelope.seal(saver.record[4] & ~envelope.ENCRYPTED, here, payload)
    with pytest.raises(CorruptCheckpointError, match="not encrypted as a whole"):
        list(app.get_state_history(CONFIG))


def test_encrypted_threads_can_be_copied_pruned_and_measured(tmp_path: Path) -> None:
    with SqliteSaver(tmp_path / "t.db", serde=EncryptedSerializer.from_keys(OLD)) as saver:
        app = graph(saver)
        app.invoke({"items": ["x"]}, CONFIG)
        saver.copy_thread("1", "2")
        copy: Any = {"configurable": {"thread_id": "2"}}
        assert app.get_state(copy).values == app.get_state(CONFIG).values
        app.invoke(Command(resume="y"), copy)
        saver.prune(["2"], keep_last=1)
        assert app.get_state(copy).values["items"] == ["x", "top-secret", "y"]
        assert saver.usage("1").by_channel["items"] > 0
    without = SqliteSaver(tmp_path / "t.db")
    with without, pytest.raises(CorruptCheckpointError, match="EncryptedSerializer"):
        graph(without).get_state(CONFIG)


def test_a_record_of_a_version_that_encrypted_single_values_is_refused_by_name() -> None:
    """Before 0.1.0 values were encrypted within a readable record, bound by its digest alone."""
    guard = EncryptedSerializer.from_keys(OLD).guard
    old = envelope.seal(8, place("t", "", "id", "items"), b"frame with ciphertext")
    at = envelope.guarded(place("t", "", "id", "items"), guard)
    with pytest.raises(CorruptCheckpointError, match=r"before 0\.1\.0"):
        envelope.unseal(at, old)
    with pytest.raises(CorruptCheckpointError, match="from_keys"):
        envelope.unseal(place("t"), envelope.seal(8, envelope.guarded(place("t"), guard), b""))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ab" * 32, "Pair 1"),
        ("1=" + "ab" * 32 + "," + "cd" * 32, "Pair 2"),
        ("1=" + "ab" * 31 + "zz", "Pair 1"),
        ("=" + "ab" * 32, "Pair 1"),
        ("1=", "Pair 1"),
        ("", "Pair 1"),
        ("1=" + "ab" * 32 + ",1=" + "cd" * 32, "under the id '1'"),
    ],
)
def test_keys_of_the_environment_that_are_none_are_not_shown(
    text: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIT_AES_KEY", text)
    with pytest.raises(ConfigError, match=says) as raised:
        EncryptedSerializer.from_env()
    assert "abab" not in str(raised.value)
    assert "cdcd" not in str(raised.value)


@pytest.mark.parametrize(
    "keys",
    [
        "sesame-sesame-16",
        b"sesame-sesame-16",
        [("1", b"sesame-sesame-16")],
        {"1": "sesame-sesame-16"},
        {1: b"sesame-sesame-16"},
        {b"sesame-sesame-16": "1"},
        {"sesame-sesame-16": b"1"},
        {"sesame:": b"sesame-sesame-16"},
        {"1": None},
        {"1": 16},
        {"": b"sesame-sesame-16"},
        {"\ud800": b"sesame-sesame-16"},
        {"sesame" * 50: b"sesame-sesame-16"},
    ],
)
def test_what_are_no_keys_is_refused_at_once_and_not_shown(keys: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        EncryptedSerializer.from_keys(keys)
    assert "sesame" not in str(raised.value)


@pytest.mark.parametrize("serde", [5, "x", EncryptedSerializer, object(), b"sesame" * 5])
def test_what_is_no_serializer_is_refused_before_anything_is_stored(serde: Any) -> None:
    with pytest.raises(ConfigTypeError, match="serde"):
        InMemorySaver(serde=serde)


def test_a_serializer_without_tags_is_one_to_every_saver() -> None:
    class Untagged:
        dumps = staticmethod(lambda value: json.dumps(value).encode())
        loads = staticmethod(json.loads)

    graph = StateGraph(dict).add_node("n", lambda state: {"x": 1}).add_edge(START, "n")
    serde: Any = Untagged()
    compiled = graph.compile(checkpointer=InMemorySaver(serde=serde))
    config: Any = {"configurable": {"thread_id": "t"}}
    compiled.invoke({"x": 0}, config)
    assert compiled.get_state(config).values == {"x": 1}
