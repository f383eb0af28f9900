"""Written objects: what is made again, and what hostile data cannot do."""

import json

import langchain_core.load as peer
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import messages as theirs
from pydantic import Field

from plait import messages
from plait.load import Serializable, dumpd, dumps, load, loads

MESSAGES = [
    messages.HumanMessage("hi", id="1"),
    messages.AIMessage(
        "", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}]
    ),
    messages.AIMessage(
        "ok", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    ),
    messages.SystemMessage([{"type": "text", "text": "be kind"}]),
    messages.ToolMessage("done", tool_call_id="c", artifact=[1], status="error"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.type)
def test_a_message_comes_back_as_it_was(message):
    assert loads(dumps(message)) == message


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.type)
def test_the_peer_reads_our_messages_and_we_read_the_peers(message):
    read = peer.loads(dumps(message))
    assert type(read) is getattr(theirs, type(message).__name__)
    assert loads(peer.dumps(read)) == message


class Point(Serializable):
    x: int
    key: str = "secret"

    @classmethod
    def is_lc_serializable(cls):
        return True

    @property
    def lc_secrets(self):
        return {"key": "POINT_KEY"}


class Follows(Serializable):
    """Its second number is the first, where nothing else was said."""

    first: int = 0
    second: int = Field(default_factory=lambda data: data["first"])

    @classmethod
    def is_lc_serializable(cls):
        return True


def test_classes_that_are_allowed_are_made_and_secrets_stay_outside():
    text = dumps(Point(x=1, key="hush"))
    assert "hush" not in text
    point = loads(text, allowed_objects=[Point], secrets_map={"POINT_KEY": "given"})
    assert (point.x, point.key) == (1, "given")


def test_defaults_that_follow_other_fields_are_left_out_where_they_say_nothing():
    assert dumpd(Follows())["kwargs"] == {}
    assert dumpd(Follows(first=3, second=0))["kwargs"] == {"first": 3, "second": 0}


def test_secrets_are_read_from_the_environment_only_if_asked(monkeypatch):
    monkeypatch.setenv("POINT_KEY", "leaked")
    secret = {"lc": 1, "type": "secret", "id": ["POINT_KEY"]}
    assert load(secret) is None
    assert load(secret, secrets_from_env=True) == "leaked"


@pytest.mark.parametrize(
    "name", [["os", "system"], ["subprocess", "Popen"], ["__main__", "Point"], []]
)
def test_data_that_names_code_makes_nothing(name):
    data = {"lc": 1, "type": "constructor", "id": name, "kwargs": {"command": "touch /tmp/pwned"}}
    with pytest.raises(ValueError, match="not allowed"):
        loads(json.dumps({"deep": [data]}))


def test_what_cannot_be_written_is_described_and_not_made():
    described = dumpd({"thing": object()})
    assert described["thing"]["type"] == "not_implemented"
    with pytest.raises(NotImplementedError, match="could not be written"):
        load(described)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["lc", "type", "id", "kwargs", "a", "__lc_escaped__"]) | st.text(),
            inner,
        )
    ),
)


@given(JSON)
def test_users_data_comes_back_as_data_whatever_it_looks_like(data):
    assert loads(dumps(data)) == data


@given(st.sampled_from(["constructor", "secret", "not_implemented"]), JSON, JSON)
def test_dicts_that_look_like_written_objects_stay_dicts(kind, its_id, kwargs):
    data = {"lc": 1, "type": kind, "id": its_id, "kwargs": kwargs}
    assert loads(dumps([data])) == [data]
