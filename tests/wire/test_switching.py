"""A conversation that one provider's model began goes on with another's, over real wires."""

import json

import pytest

from plait.chat_models import init_chat_model
from plait.messages import HumanMessage, ToolMessage

from . import openai_script as script
from . import test_anthropic as anthropic
from . import test_google as google
from . import test_openai as openai

RESPONSES = {"use_responses_api": True}
BEGUN = {
    "anthropic": ({}, anthropic.answer_of(anthropic.RICH)),
    "google": ({}, google.answer_of([{"functionCall": {"name": "add", "args": {"a": 1}}},
                                     *google.RICH[:2], *google.RICH[-1:]])),
    "openai": (RESPONSES, script.response(openai.RICH[:-1])),
}  # fmt: skip
DONE = {
    "anthropic": ({}, anthropic.answer_of([])),
    "google": ({}, google.answer_of([{"text": "ok"}])),
    "openai": ({}, script.completion({"content": "ok"})),
    "responses": (RESPONSES, script.response([script.text_item("ok")])),
}
SAID = {"anthropic": "see here", "google": "let me see", "openai": "see here"}


def model(name, wire, more):
    base = f"{wire.url}/v1" if name.startswith("openai") else wire.url
    return init_chat_model(name, base_url=base, api_key="k", max_retries=0, **more)


@pytest.mark.parametrize(
    ("first", "second"),
    [(first, second) for first in BEGUN for second in DONE if BEGUN[first][0] or first != second],
)
def test_another_provider_is_shown_texts_and_calls_and_nothing_that_it_refuses(first, second, wire):
    more, begun = BEGUN[first]
    wire.answer(begun)
    answer = model(f"{first}:m", wire, more).invoke("hi")
    results = [ToolMessage("2", tool_call_id=call["id"]) for call in answer.tool_calls]
    more, done = DONE[second]
    wire.answer(done)
    name = "openai:m" if second == "responses" else f"{second}:m"
    model(name, wire, more).invoke([HumanMessage("hi"), answer, *results])
    sent = json.dumps(wire.last)
    assert SAID[first] in sent
    if (first, second) != ("openai", "responses"):
        for own in ("web_search", "redacted", "executable", "url_citation", "search_result"):
            assert own not in sent
    for call in answer.tool_calls:
        assert sent.count(json.dumps(call["id"])) == 2  # the call, and its answer
        assert len(call["id"]) <= 40  # OpenAI takes no longer one
