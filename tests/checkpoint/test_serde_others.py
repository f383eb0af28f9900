"""Values of langchain_core (messages, documents) and of numpy. Neither is ever imported."""

import subprocess
import sys
from typing import Any

import pytest

from plait.checkpoint.serde import Codec
from plait.errors import CorruptCheckpointError, UnregisteredTypeError

READ = """
import sys
sys.modules["langchain_core"] = None  # an import of it would fail
from plait.checkpoint.serde import Codec
from plait.documents import Document
from plait.messages import AIMessage, HumanMessage
found = Codec().loads(bytes.fromhex(sys.stdin.read()))
assert "langchain_core.messages" not in sys.modules
assert type(found[0]) is HumanMessage and found[0].content == "hi" and found[0].id == "1"
assert type(found[1]) is AIMessage and found[1].tool_calls[0]["args"] == {"a": 1}
assert found[2] == Document("text", metadata={"page": 1}, id="2")
"""


def test_messages_and_documents_of_langchain_come_back_as_they_were() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    documents = pytest.importorskip("langchain_core.documents")
    call = {"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}
    values: list[Any] = [
        messages.HumanMessage("hi", id="1"),
        messages.AIMessage("yes", tool_calls=[call], response_metadata={"m": 1}),
        messages.ToolMessage("out", tool_call_id="c", artifact=(1, 2)),
        messages.SystemMessage([{"type": "text", "text": "be brief"}]),
        messages.AIMessageChunk("to", id="2"),
        messages.RemoveMessage("1"),
        documents.Document("text", metadata={"page": 1}, id="2"),
    ]
    codec = Codec()
    found = codec.loads(codec.dumps(values))
    assert found == values
    assert [type(m) for m in found] == [type(m) for m in values]
    assert [m.model_dump() for m in found] == [m.model_dump() for m in values]


def test_messages_and_documents_of_langchain_are_read_as_plaits_where_it_is_not_loaded() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    call = {"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}
    documents = pytest.importorskip("langchain_core.documents")
    data = Codec().dumps(
        [
            messages.HumanMessage("hi", id="1"),
            messages.AIMessage("", tool_calls=[call]),
            documents.Document("text", metadata={"page": 1}, id="2"),
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", READ], input=data.hex(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_arrays_and_scalars_come_back_exactly() -> None:
    np = pytest.importorskip("numpy")
    record = np.dtype([("a", "<i4"), ("b", "<f8", (2,))])
    values: list[Any] = [
        np.arange(6).reshape(2, 3), np.zeros((0, 3), "f4"), np.array(5), np.array(["x", "yy"]),
        np.asfortranarray(np.ones((2, 3))), np.array([1, 2], ">i2"), np.array([True]),
        np.array([(1, (2.0, 3.0))], record), np.array(["2026-01-01"], "M8[D]"), np.arange(6)[::2],
        np.float32(1.5), np.int64(-1), np.bool_(True), np.datetime64("2026-01-01"),
    ]  # fmt: skip
    codec = Codec()
    for value in values:
        found = codec.loads(codec.dumps({"v": value}))["v"]
        assert type(found) is type(value)
        assert found.dtype == value.dtype
        assert found.shape == value.shape
        assert np.array_equal(found, value)
    back = codec.loads(codec.dumps(values[0]))
    back[0, 0] = 9  # writable, and its own
    assert values[0][0, 0] == 0


def test_arrays_of_objects_are_refused() -> None:
    np = pytest.importorskip("numpy")
    with pytest.raises(UnregisteredTypeError, match="dtype object"):
        Codec().dumps([np.array([object()], dtype=object)])


def test_bytes_that_claim_an_array_of_objects_are_refused() -> None:
    np = pytest.importorskip("numpy")
    codec = Codec()
    array = codec.dumps(np.zeros(1, "f8"))
    with pytest.raises((CorruptCheckpointError, UnregisteredTypeError)):
        codec.loads(array.replace(b"<f8", b"|O8"))
