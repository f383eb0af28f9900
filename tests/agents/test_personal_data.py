"""Personal data is found and hidden: what is hidden stays hidden, and nothing else changes."""

import re
import subprocess
import sys
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.agents import create_agent
from plait.agents.middleware import PIIDetectionError, PIIMiddleware, RedactionRule
from plait.agents.middleware.redaction import DETECTORS, apply_strategy, detect_credit_card
from plait.checkpoint.memory import InMemorySaver
from plait.errors import ConfigError
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.testing import ScriptedChatModel

NAMES = sorted(DETECTORS)
ALPHABET = "ab1.@-_%: /+\n"
PIECES = [
    *("ann@x.org", "4111 1111 1111 1111", "10.0.0.1", "2001:db8::1", "https://x.org/a?b=c"),
    *("00:1A:2B:3C:4D:5E", "www.x.org", "378282246310005", " and ", ", ", "é", "\n"),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(ALPHABET, max_size=6)).map("".join)


@given(texts, st.sampled_from(NAMES))
def test_matches_say_where_they_are(text: str, name: str):
    for match in DETECTORS[name](text):
        assert text[match["start"] : match["end"]] == match["value"]
        assert match["type"] == name


@given(texts, st.sampled_from(NAMES), st.sampled_from(["redact", "mask", "hash"]))
def test_what_is_found_is_gone_and_the_rest_is_as_it_was(text: str, name: str, strategy: Any):
    matches = DETECTORS[name](text)
    hidden = apply_strategy(text, matches, strategy)
    ends = [0, *(match["end"] for match in matches)]
    starts = [*(match["start"] for match in matches), len(text)]
    place = 0
    for part in (text[end:start] for end, start in zip(ends, starts, strict=True)):
        place = hidden.index(part, place) + len(part)
    if strategy == "redact":
        assert hidden.count(f"[REDACTED_{name.upper()}]") == len(matches)


@given(texts, st.sampled_from(NAMES))
def test_hiding_twice_changes_nothing(text: str, name: str):
    rule = RedactionRule(name).resolve()
    once, _ = rule.apply(text)
    assert rule.apply(once)[0] == once


SPELT_OUT = {
    "email": [r"\b[\w.%+-]+@(?:[^\W_]|[.-])+\.[^\W\d_]{2,}\b"],
    "ip": [
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
        r"(?<![\w:.])[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*[0-9A-Fa-f:](?![\w:])",
    ],
    "url": [
        r"(?i)https?://(?![/?#])[^\s<>\"{}|\\^`\[\]]+"
        r"|\bwww\.[a-z0-9.-]*[a-z0-9](?:/\S*)?|\b[a-z0-9][a-z0-9.-]*\.[a-z0-9]+/\S*"
    ],
}
"""What is found, as plain patterns: they would look at a long text of such signs for hours."""


def is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


@settings(max_examples=1000)
@given(texts, st.sampled_from(sorted(SPELT_OUT)))
def test_detectors_find_what_their_patterns_say(text: str, name: str):
    said = [match.span() for one in SPELT_OUT[name] for match in re.finditer(one, text)]
    found = [(match["start"], match["end"]) for match in DETECTORS[name](text)]
    assert found == sorted(one for one in said if name != "ip" or is_address(text[slice(*one)]))


@pytest.mark.parametrize("name", NAMES)
def test_a_long_text_of_signs_that_could_be_personal_does_not_stop_an_agent(name: str):
    signs = ["a.", "1.", "a-", "ab:", ":", "a@", "a.b@", "a@b.", "_a.", "www.-", "a./", "::a."]
    program = f"""
from plait.agents.middleware.redaction import DETECTORS
for sign in {signs}:
    DETECTORS[{name!r}](sign * 99_999)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@given(st.integers(0, 10**15 - 1), st.sampled_from(["", " ", "-"]))
def test_a_number_with_its_check_digit_is_a_card_and_with_another_is_none(n: int, gap: str):
    digits = [int(char) for char in f"{n:015}"]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[::2]]
    check = -(sum(doubled) + sum(digits[1::2])) % 10
    for last, found in ((check, 1), ((check + 1) % 10, 0)):
        number = f"{n:015}{last}"
        shown = gap.join(number[at : at + 4] for at in range(0, 16, 4))
        assert len(detect_credit_card(f"card {shown}.")) == found


@pytest.mark.parametrize(
    ("kind", "value", "masked"),
    [
        ("email", "ann@mail.x.org", "ann@****.org"),
        ("credit_card", "378282246310005", "***********0005"),
        ("credit_card", "3782 822463 10005", "**** **** *** 0005"),
        ("ip", "2001:db8::17", "*:17"),
        ("mac_address", "00-1a-2b-3c-4d-5e", "**-**-**-**-**-5e"),
    ],
)
def test_a_mask_leaves_what_people_know_it_by(kind: str, value: str, masked: str):
    assert apply_strategy(value, DETECTORS[kind](value), "mask") == masked


def test_times_and_versions_are_no_addresses():
    assert DETECTORS["ip"]("at 10:30:00, version 1.2.3, C++ std::vector") == []


def test_overlapping_matches_of_an_own_detector_hide_all_they_cover():
    def detect(text: str) -> Any:
        return [{"start": 2, "end": 6}, {"start": 4, "end": 8}, {"start": 3, "end": 4}]

    rule = RedactionRule("part", detector=detect).resolve()
    assert rule.apply("0123456789")[0] == "01[REDACTED_PART]89"


def test_an_unknown_strategy_or_type_is_told_at_once():
    with pytest.raises(ConfigError, match="Did you mean 'redact'"):
        PIIMiddleware("email", strategy="redakt")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="detector="):
        PIIMiddleware("e-mail")
    with pytest.raises(re.error):
        PIIMiddleware("key", detector="(")


def test_all_messages_of_a_turn_are_hidden_from_the_model_and_from_the_thread():
    model = ScriptedChatModel(["noted", "noted too"])
    agent = create_agent(model, middleware=[PIIMiddleware("email")], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "a@x.org"), ("user", "b@x.org")]}, config)
    agent.invoke({"messages": [("user", "c@x.org")]}, config)
    kept = [message.text for message in agent.get_state(config).values["messages"]]
    assert kept == ["[REDACTED_EMAIL]"] * 2 + ["noted", "[REDACTED_EMAIL]", "noted too"]
    assert not any("@" in message.text for call in model.calls for message in call.messages)


def test_a_refused_message_never_reaches_the_model():
    model = ScriptedChatModel([])
    agent = create_agent(model, middleware=[PIIMiddleware("email", strategy="block")])
    with pytest.raises(PIIDetectionError) as caught:
        agent.invoke({"messages": [("user", "a@x.org and b@x.org")]})
    assert [match["value"] for match in caught.value.matches] == ["a@x.org", "b@x.org"]
    assert "a@x.org" not in str(caught.value)  # errors end up in logs
    assert model.calls == []


def test_the_messages_of_the_caller_stay_as_they_are():
    given = [HumanMessage([{"type": "text", "text": "a@x.org"}, {"type": "image", "url": "x"}])]
    update = PIIMiddleware("email").before_model({"messages": given}, None)  # type: ignore[arg-type]
    assert given[0].content[0] == {"type": "text", "text": "a@x.org"}
    assert update is not None
    assert update["messages"][0].content[1] == {"type": "image", "url": "x"}


def test_arguments_of_tool_calls_are_left_to_the_tools():
    call = {"name": "send", "args": {"to": "a@x.org"}, "id": "1", "type": "tool_call"}
    said = AIMessage("to a@x.org", tool_calls=[call])
    middleware = PIIMiddleware("email", apply_to_output=True)
    update = middleware.after_model({"messages": [said]}, None)  # type: ignore[arg-type]
    assert update is not None
    assert update["messages"][0].tool_calls[0]["args"] == {"to": "a@x.org"}
    assert update["messages"][0].text == "to [REDACTED_EMAIL]"


def test_results_of_earlier_tools_are_not_read_again():
    seen: list[str] = []

    def detect(text: str) -> Any:
        seen.append(text)
        return []

    middleware = PIIMiddleware("x", detector=detect, apply_to_tool_results=True)
    history = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}]),
        ToolMessage("old", tool_call_id="1"),
        AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "2"}]),
        ToolMessage("new", tool_call_id="2"),
    ]
    middleware.before_model({"messages": history}, None)  # type: ignore[arg-type]
    assert seen == ["q", "new"]


def test_messages_of_langchain_are_hidden_too():
    theirs = pytest.importorskip("langchain_core.messages")
    model = ScriptedChatModel(["noted"])
    agent = create_agent(model, middleware=[PIIMiddleware("email")])
    result = agent.invoke({"messages": [theirs.HumanMessage("I am a@x.org")]})
    assert result["messages"][0].content == "I am [REDACTED_EMAIL]"
    assert model.calls[0].messages[0].content == "I am [REDACTED_EMAIL]"
