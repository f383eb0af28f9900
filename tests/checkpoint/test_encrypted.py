"""Values at rest are encrypted, keys rotate, and what is not right is refused."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, CorruptCheckpointError
from plait.graph import START, StateGraph
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}, "metadata": {"note": "top-secret"}}
OLD, NEW = {"1": b"k" * 32}, {"2": b"n" * 32}


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
    from plait.checkpoint.log.requests import ListLanes, ListValues, ReadValues

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
