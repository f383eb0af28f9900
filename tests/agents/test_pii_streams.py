"""What `PIIMiddleware` lets streams of version "v3" tell, however a model parts what it says."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.agents import create_agent
from plait.agents.middleware import PIIDetectionError, PIIMiddleware, RedactionRule
from plait.agents.middleware.pii_streams import Growing
from plait.chat_models import BaseChatModel
from plait.graph import START, StateGraph
from plait.graph.message import MessagesState
from plait.messages import AIMessage, AIMessageChunk
from plait.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

WORDS = st.sampled_from(["to ", "ann@x.org", "4111 1111 1111 1111", ", ", "a.b", "@", "x", "\n"])
TEXTS = st.lists(WORDS, max_size=30).map("".join)
RULES = [RedactionRule(kind).resolve() for kind in ("email", "credit_card")]


def parted(text: str, sizes: list[int]) -> list[str]:
    """A text in pieces of these sizes, and the rest."""
    pieces: list[str] = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pii_type)
@given(text=TEXTS, sizes=st.lists(st.integers(0, 12), max_size=40))
def test_what_is_told_of_a_growing_text_begins_the_rewritten_text(
    rule: Any, text: str, sizes: list[int]
):
    growing = Growing(rule)
    told = "".join(growing.add(piece) for piece in parted(text, sizes))
    assert rule.apply(text)[0].startswith(told)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pii_type)
def test_a_long_text_is_told_but_for_its_end(rule: Any):
    growing = Growing(rule)
    pieces = ["ann@x.org and 4111 1111 1111 1111, "] * 50
    told = "".join(map(growing.add, pieces))
    assert len(told) > len(rule.apply("".join(pieces))[0]) - 200


class Saying(BaseChatModel):
    """Says texts in pieces."""

    pieces: list[str]

    @property
    def _llm_type(self) -> str:
        return "saying"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(self.pieces)))])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        for piece in self.pieces:
            yield ChatGenerationChunk(message=AIMessageChunk(piece))


TEXT = "Write to ann@x.org, " + "or call us, " * 30 + "or to bob@y.org."
HIDDEN = re.sub(r"\w+@\w\.org", "[REDACTED_EMAIL]", TEXT)


def test_what_is_kept_back_is_given_when_the_text_is_complete():
    agent = create_agent(
        Saying(pieces=parted(TEXT, [11, 3, 3, 200])),
        middleware=[PIIMiddleware("email", apply_to_output=True)],
    )
    run = agent.stream_events({"messages": "hi"}, version="v3")
    said = [(list(message.text), message.output.text) for message in run.messages]
    assert [("".join(pieces), whole) for pieces, whole in said] == [(HIDDEN, HIDDEN)]
    assert len([piece for piece in said[0][0] if piece]) > 1  # it was not told at once


def test_two_of_them_hide_what_each_is_for():
    said = "Mail ann@x.org or pay with 4111 1111 1111 1111. "
    agent = create_agent(
        Saying(pieces=[said[:10], said[10:40], said[40:], "and so on, " * 20]),
        middleware=[
            PIIMiddleware("email", apply_to_output=True),
            PIIMiddleware("credit_card", apply_to_output=True, strategy="mask"),
        ],
    )
    run = agent.stream_events({"messages": "hi"}, version="v3")
    (text,) = ["".join(message.text) for message in run.messages]
    assert text.startswith("Mail [REDACTED_EMAIL] or pay with **** **** **** 1111. and so on, ")
    assert text.endswith("and so on, ")


def test_an_agent_inside_a_tool_of_one_that_hides_is_told_hidden_too():
    inner = create_agent(Saying(pieces=["It is ann@", "x.org"]), name="inner")

    def delegate(state: MessagesState) -> Any:
        return {"messages": inner.invoke({"messages": "who?"})["messages"][-1:]}

    builder = StateGraph(MessagesState).add_node("ask", delegate).add_edge(START, "ask")
    hide = PIIMiddleware("email", apply_to_output=True)
    graph = builder.compile(transformers=list(hide.transformers))
    told = [str(event) for event in graph.stream_events({"messages": []}, version="v3")]
    assert any("[REDACTED_EMAIL]" in event for event in told)
    assert not any("ann@" in event for event in told)


class Asking(BaseChatModel):
    """Calls a tool, and says an address with its result."""

    @property
    def _llm_type(self) -> str:
        return "asking"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        call = {"name": "look", "args": {}, "id": "1"}
        said = AIMessage("It is ann@x.org.")
        if messages[-1].type == "human":
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def told_by(tool_gives: str, **options: Any) -> str:
    """All that a stream of an agent tells."""

    def look() -> str:
        """Looks something up."""
        return tool_gives

    agent = create_agent(Asking(), [look], middleware=[PIIMiddleware("email", **options)])
    return " ".join(map(str, agent.stream_events({"messages": "hi"}, version="v3")))


@pytest.mark.parametrize("checks", ["apply_to_output", "apply_to_tool_results"])
def test_a_rewriting_one_hides_the_words_of_all_whatever_it_checks(checks: str):
    told = told_by("Found bob@y.org.", **{checks: True})
    assert "Found [REDACTED_EMAIL]" in told
    assert "It is [REDACTED_EMAIL]" in told
    assert "ann@" not in told
    assert "bob@" not in told


def test_a_blocking_one_leaves_what_it_does_not_check():
    told = told_by("Found nobody.", strategy="block", apply_to_tool_results=True)
    assert "It is ann@x.org." in told
    with pytest.raises(PIIDetectionError):
        told_by("Found bob@y.org.", strategy="block", apply_to_tool_results=True)
    with pytest.raises(PIIDetectionError):
        told_by("Found nobody.", strategy="block", apply_to_output=True)
