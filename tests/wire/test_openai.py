"""ChatOpenAI over a real wire: the official SDK, a server on loopback, both APIs."""

import json
from functools import reduce
from operator import add
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from plait.agents import create_agent
from plait.agents.middleware import ProviderToolSearchMiddleware
from plait.chat_models import init_chat_model
from plait.errors import (
    ContentFilteredError,
    ContextOverflowError,
    InvalidInputError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from plait.exceptions import OutputParserException
from plait.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
)
from plait.tools import tool

from . import openai_script as script


@pytest.fixture
def model(wire):
    return init_chat_model(
        "openai:gpt-test", base_url=f"{wire.url}/v1", api_key="k", max_retries=0, temperature=0.5
    )


async def heard(stream, seen):
    async for chunk in stream:
        seen.append(chunk)


@tool("add")
def add_none() -> str:
    """Add nothing."""
    return "0"


def same(whole, streamed):
    """What an invoked and a streamed answer must agree on."""
    for name in ("content", "tool_calls", "invalid_tool_calls", "usage_metadata",
                 "additional_kwargs", "response_metadata"):  # fmt: skip
        assert getattr(whole, name) == getattr(streamed, name), name


async def both_ways(model, wire, reply, ask="hi"):
    """The answer by invoke and ainvoke, which must be the same."""
    wire.answer(reply)
    wire.answer(reply)
    first, second = model.invoke(ask), await model.ainvoke(ask)
    if isinstance(first, AIMessage):
        same(first, second)
    else:
        assert first == second
    assert wire.requests[-1].body == wire.requests[-2].body
    return first


async def test_a_text_is_asked_and_answered_sync_and_async(model, wire):
    answer = await both_ways(
        model, wire, script.completion({"content": "hello"}),
        [SystemMessage("be kind"), HumanMessage("hi"), AIMessage("yes?"), HumanMessage("go on")],
    )  # fmt: skip
    assert wire.requests[0].path == "/v1/chat/completions"
    assert wire.requests[0].headers["authorization"] == "Bearer k"
    assert wire.last == {
        "model": "gpt-test",
        "temperature": 0.5,
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "yes?"},
            {"role": "user", "content": "go on"},
        ],
    }
    assert (answer.content, answer.response_metadata["id"]) == ("hello", "chatcmpl-1")
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.response_metadata["model_name"] == "gpt-test-1"
    assert answer.usage_metadata == {
        "input_tokens": 5, "output_tokens": 7, "total_tokens": 12,
        "input_token_details": {"audio": 0, "cache_read": 2},
        "output_token_details": {"audio": 0, "reasoning": 3,
                                 "accepted_prediction": 4, "rejected_prediction": 0},
    }  # fmt: skip


async def test_a_model_that_streams_does_so_where_it_is_asked_for_a_whole_answer(wire):
    settings = {"base_url": f"{wire.url}/v1", "api_key": "k", "max_retries": 0}
    model = init_chat_model("openai:gpt-test", streaming=True, **settings)
    wire.chat(script.texts("it is", " late"))
    wire.chat(script.texts("it is", " later"))
    assert model.invoke("hi").text == "it is late"
    assert (await model.ainvoke("hi")).text == "it is later"
    assert [request.body["stream"] for request in wire.requests] == [True, True]
    wire.answer(script.completion({"content": "whole"}))
    assert model.invoke("hi", stream=False).text == "whole"
    assert "stream" not in wire.last
    never = init_chat_model("openai:gpt-test", streaming=False, **settings)
    wire.answer(script.completion({"content": "whole"}))
    assert [chunk.text for chunk in never.stream("hi")] == ["whole"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_server_whose_completions_have_one_id_loses_no_answer_of_a_thread(
    model, wire, streamed
) -> None:
    asked = [script.call("now", "{}", "c1")]
    if streamed:
        wire.chat([script.chunk(script.call_delta(0, "now", "{}", "c1")),
                   script.chunk({}, "tool_calls")])  # fmt: skip
        wire.chat(script.texts("it is", " late"))
    else:
        wire.answer(script.completion({"tool_calls": asked}, "tool_calls"))
        wire.answer(script.completion({"content": "it is late"}))
    now = tool("now", description="The time.")(lambda: "23:59")
    agent = create_agent(model, [now])
    given = {"messages": [HumanMessage("hi")]}
    if streamed:
        *_, state = (part for kind, part in agent.stream(given, stream_mode=["messages", "values"])
                     if kind == "values")  # fmt: skip
    else:
        state = agent.invoke(given)
    told = [(message.type, message.text) for message in state["messages"]]
    assert told == [("human", "hi"), ("ai", ""), ("tool", "23:59"), ("ai", "it is late")]
    answers = [message for message in state["messages"] if message.type == "ai"]
    assert {message.response_metadata["id"] for message in answers} == {"chatcmpl-1"}
    assert len({message.id for message in answers}) == 2


async def test_parallel_calls_and_unreadable_ones_come_and_go_back_as_they_were(model, wire):
    calls = [script.call("add", '{"a": 1}', "c1"), script.call("add", '{"a": ', "c2"),
             script.call("now", "{}", "c3")]  # fmt: skip
    answer = await both_ways(model, wire, script.completion({"tool_calls": calls}, "tool_calls"))
    assert [c["id"] for c in answer.tool_calls] == ["c1", "c3"]
    assert [(c["id"], c["args"]) for c in answer.invalid_tool_calls] == [("c2", '{"a": ')]
    wire.answer(script.completion({"content": "3"}))
    model.invoke([HumanMessage("hi"), answer, ToolMessage("2", tool_call_id="c1")])
    sent = wire.last["messages"]
    assert sorted(sent[1]["tool_calls"], key=lambda c: c["id"]) == calls
    assert sent[1]["content"] is None
    assert sent[2] == {"role": "tool", "tool_call_id": "c1", "content": "2"}


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_stream_adds_up_to_the_whole_answer(model, wire, way):
    events = [
        script.chunk({"role": "assistant", "content": ""}),
        script.chunk({"content": "let me "}),
        script.chunk({"content": "see"}),
        script.chunk(script.call_delta(0, "add", "", "c1")),
        script.chunk(script.call_delta(0, arguments='{"a"')),
        script.chunk(script.call_delta(1, "now", "{}", "c2")),
        script.chunk(script.call_delta(0, arguments=": 1}")),
        script.chunk({}, "tool_calls"),
        script.chunk(usage=script.USAGE),
    ]
    wire.chat(events)
    if way == "sync":
        chunks = list(model.stream("hi"))
    else:
        chunks = [chunk async for chunk in model.astream("hi")]
    assert wire.last["stream"] is True
    assert wire.last["stream_options"] == {"include_usage": True}
    whole = script.completion(
        {"content": "let me see",
         "tool_calls": [script.call("add", '{"a": 1}', "c1"), script.call("now", "{}", "c2")]},
        "tool_calls",
    )  # fmt: skip
    wire.answer(whole)
    same(model.invoke("hi"), reduce(add, chunks))
    assert chunks[-1].chunk_position == "last"


async def test_names_with_spaces_go_in_as_openai_takes_them(model, wire):
    wire.answer(script.completion({"content": "ok"}))
    said = AIMessage("hi", name="Math Expert"), ToolMessage("1", tool_call_id="1", name="a <b>")
    model.invoke([HumanMessage("hi", name="Ann Lee"), *said])
    assert [one.get("name") for one in wire.last["messages"][:2]] == ["Ann_Lee", "Math_Expert"]
    assert " " not in str(wire.last["messages"][2].get("name"))


async def test_media_go_in_in_openais_form(model, wire):
    wire.answer(script.completion({"content": "ok"}))
    model.invoke([HumanMessage([
        {"type": "text", "text": "look"},
        {"type": "image", "url": "https://x/y.png"},
        {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        {"type": "audio", "base64": "BBBB", "mime_type": "audio/wav"},
        {"type": "file", "base64": "CC", "mime_type": "application/pdf", "filename": "a.pdf"},
        {"type": "file", "file_id": "file-1"},
        {"type": "image_url", "image_url": {"url": "https://x/z.png", "detail": "low"}},
    ])])  # fmt: skip
    assert wire.last["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "BBBB", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,CC",
                                  "filename": "a.pdf"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "image_url", "image_url": {"url": "https://x/z.png", "detail": "low"}},
    ]  # fmt: skip


async def test_refusals_citations_reasoning_and_audio_of_an_answer_are_kept(model, wire):
    cited = {"type": "url_citation", "url_citation": {"url": "https://x", "title": "X",
             "start_index": 0, "end_index": 2}}  # fmt: skip
    answer = await both_ways(model, wire, script.completion({
        "content": "hi", "annotations": [cited], "reasoning_content": "hm",
        "audio": {"id": "audio_1", "data": "AA", "expires_at": 9, "transcript": "hi"},
    }))  # fmt: skip
    assert answer.text == "hi"
    assert answer.content[0]["annotations"] == [
        {"type": "citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 2}
    ]
    assert answer.content_blocks[0] == {"type": "reasoning", "reasoning": "hm"}
    wire.answer(script.completion({"refusal": "no"}))
    refused = model.invoke([answer, HumanMessage("?")])
    assert wire.last["messages"][0]["audio"] == {"id": "audio_1"}
    assert refused.additional_kwargs == {"refusal": "no"}


class Person(BaseModel):
    """A person."""

    name: str
    age: int = 0


async def test_structured_output_by_schema_tool_and_json_mode(model, wire):
    for method, said in (
        ("json_schema", {"content": '{"name": "Ann", "age": 3}'}),
        ("json_mode", {"content": '```json\n{"name": "Ann", "age": 3}\n```'}),
        ("function_calling",
         {"tool_calls": [script.call("Person", '{"name": "Ann", "age": 3}', "c1")]}),
    ):  # fmt: skip
        answer = await both_ways(
            model.with_structured_output(Person, method=method), wire, script.completion(said)
        )
        assert answer == Person(name="Ann", age=3)
        asked = wire.last
        if method == "json_schema":
            form = asked["response_format"]["json_schema"]
            assert (form["name"], form["strict"]) == ("Person", True)
            assert form["schema"]["required"] == ["name", "age"]
            assert form["schema"]["additionalProperties"] is False
        elif method == "json_mode":
            assert asked["response_format"] == {"type": "json_object"}
        else:
            assert asked["tool_choice"] == {"type": "function", "function": {"name": "Person"}}
            assert asked["tools"][0]["function"]["description"] == "A person."


async def test_a_form_that_does_not_fit_is_told_or_raised(model, wire):
    wire.answer(script.completion({"content": '{"name": "An'}))
    asked = model.with_structured_output(Person)
    with pytest.raises(OutputParserException, match=r'Person.*\{"name": "An'):
        asked.invoke("hi")
    wire.answer(script.completion({"content": '{"name": 3}'}))
    told = model.with_structured_output(Person, include_raw=True).invoke("hi")
    assert told["raw"].content == '{"name": 3}'
    assert told["parsed"] is None
    assert "valid string" in str(told["parsing_error"])
    wire.answer(script.completion({"refusal": "I will not."}))
    with pytest.raises(OutputParserException, match="I will not"):
        asked.invoke("hi")


async def test_a_dict_in_a_form_grows_while_it_streams(model, wire):
    schema = {"title": "P", "type": "object", "properties": {"a": {"type": "string"}}}
    wire.chat(script.texts('{"a"', ': "x', 'y"}'))
    grown = list(model.with_structured_output(schema).stream("hi"))
    assert grown[-1] == {"a": "xy"}
    assert {"a": "x"} in grown


async def test_tools_of_all_kinds_and_their_choice_go_in(model, wire):
    def add(a: int, b: int = 2) -> int:
        """Adds."""
        return a + b

    wire.answer(script.completion({"content": "x"}))
    bound = model.bind_tools([add, Person], tool_choice="any", parallel_tool_calls=False)
    bound.invoke("hi", stop=["END"])
    names = [tool["function"]["name"] for tool in wire.last["tools"]]
    assert names == ["add", "Person"]
    assert wire.last["tools"][0]["function"]["parameters"]["required"] == ["a"]
    assert (wire.last["tool_choice"], wire.last["parallel_tool_calls"]) == ("required", False)
    assert wire.last["stop"] == ["END"]
    with pytest.raises(ValueError, match="no tool that was given"):
        model.bind_tools([add], tool_choice="sub")


ERRORS = [
    (401, {"code": "invalid_api_key"}, ModelAuthenticationError),
    (403, {}, ModelPermissionDeniedError),
    (404, {"code": "model_not_found"}, ModelNotFoundError),
    (400, {"code": "context_length_exceeded"}, ContextOverflowError),
    (400, {"message": "This model's maximum context length is 8 tokens."}, ContextOverflowError),
    (400, {"code": "content_filter"}, ContentFilteredError),
    (400, {"type": "invalid_request_error"}, ModelInvalidRequestError),
    (429, {"code": "rate_limit_exceeded"}, ModelRateLimitError),
    (429, {"code": "insufficient_quota"}, ModelRateLimitError),
    (500, {}, ModelAPIError),
    (503, {}, ModelAPIError),
]


@pytest.mark.parametrize(("status", "error", "kind"), ERRORS)
async def test_errors_keep_their_kind_and_their_cause(model, wire, status, error, kind):
    import openai

    headers = {"retry-after": "7", "x-request-id": "req_1"}
    for _ in range(3):
        wire.fail(status, {"error": {"message": "no", **error}}, headers)
    calls = (lambda: model.invoke("hi"), lambda: list(model.stream("hi")))
    for ask in calls:
        with pytest.raises(kind) as caught:
            ask()
        assert type(caught.value) is kind
        assert isinstance(caught.value.__cause__, openai.APIStatusError)
        told = (caught.value.status, caught.value.retry_after, caught.value.request_id)
        assert told == (status, 7.0, "req_1")
        assert caught.value.provider == "openai"
    with pytest.raises(kind):
        await model.ainvoke("hi")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"detail": [{"loc": ["body", "tools"], "msg": "too many"}]}, "'msg': 'too many'"),
        ({"error": "only a text"}, "only a text"),
        ("<html>a gateway</html>", "a gateway"),
    ],
)
def test_what_a_server_says_in_a_form_of_its_own_is_told(model, wire, body, told):
    wire.fail(500, body)
    with pytest.raises(ModelAPIError) as caught:
        model.invoke("hi")
    assert told in str(caught.value)
    assert "Ask again later" in str(caught.value)
    wire.fail(422, {"error": "This prompt is too long"})
    with pytest.raises(ContextOverflowError):
        model.invoke("hi")


async def test_a_request_that_failed_for_no_fault_of_its_own_is_repeated(wire):
    model = init_chat_model("openai:m", base_url=wire.url, api_key="k", max_retries=1)
    wire.fail(503, {"error": {"message": "busy"}}, {"retry-after-ms": "1"})
    wire.answer(script.completion({"content": "at last"}))
    assert model.invoke("hi").content == "at last"
    assert len(wire.requests) == 2


async def test_a_silent_server_and_a_slow_stream_time_out(wire):
    model = init_chat_model("openai:m", base_url=wire.url, api_key="k", max_retries=0, timeout=0.2)
    wire.silence()
    with pytest.raises(ModelTimeoutError):
        model.invoke("hi")
    wire.chat(script.texts("one"), hold={2: wire.ended})
    seen = []
    with pytest.raises(ModelTimeoutError):
        seen.extend(model.stream("hi"))
    wire.chat(script.texts("one"), hold={2: wire.ended})
    with pytest.raises(ModelTimeoutError):
        await heard(model.astream("hi"), seen)
    assert "one" in [chunk.content for chunk in seen]


async def test_a_stream_that_breaks_off_is_an_error_and_never_a_short_answer(model, wire):
    for ending in ({"broken": True}, {"done": None}):
        wire.chat(script.texts("one", "two")[:-2], **ending)
        seen = []
        with pytest.raises(ModelConnectionError):
            seen.extend(model.stream("hi"))
        assert "".join(chunk.content for chunk in seen) == "onetwo"
        wire.chat(script.texts("one", "two")[:-2], **ending)
        with pytest.raises(ModelConnectionError):
            await heard(model.astream("hi"), [])


async def test_a_page_that_is_no_api_is_told_as_such(model, wire):
    for page in ("<html>It works!</html>", None):
        wire.answer(page)
        with pytest.raises(ModelError, match="is not the provider's API") as caught:
            model.invoke("hi")
        assert wire.url in str(caught.value)
        wire.answer(page)
        with pytest.raises(ModelError, match="Look at base_url"):
            await model.ainvoke("hi")


async def test_arguments_that_a_server_sends_as_an_object_are_read(model, wire, recwarn):
    call = script.call("add", {"a": 1}, "c1")
    answer = await both_ways(model, wire, script.completion({"tool_calls": [call]}, "tool_calls"))
    wire.chat([script.chunk(script.call_delta(0, "add", {"a": 1}, "c1")), script.chunk({}, "stop")])
    streamed = reduce(add, model.stream("hi"))
    assert answer.tool_calls == streamed.tool_calls
    assert [(call["id"], call["args"]) for call in answer.tool_calls] == [("c1", {"a": 1})]
    assert not [one for one in recwarn.list if "Pydantic" in str(one.message)]


async def test_a_server_that_says_a_tools_name_with_each_piece_means_one_name(model, wire):
    pieces = [("add", '{"a"', "c1"), ("add", ": 1}", "c1")]
    wire.chat([*(script.chunk(script.call_delta(0, *each)) for each in pieces),
               script.chunk(script.call_delta(1, "add", "{}", "c2")),
               script.chunk({}, "tool_calls")])  # fmt: skip
    calls = reduce(add, model.stream("hi")).tool_calls
    assert [(c["name"], c["args"], c["id"]) for c in calls] == [
        ("add", {"a": 1}, "c1"), ("add", {}, "c2")]  # fmt: skip


async def test_a_server_that_counts_in_each_event_is_not_added_up(model, wire):
    counts = [{"prompt_tokens": 5, "completion_tokens": n, "total_tokens": 5 + n} for n in (1, 2)]
    wire.chat([script.chunk({"content": "a"}, usage=counts[0]),
               script.chunk({"content": "b"}, usage=counts[1]),
               script.chunk({}, "stop", usage=counts[1])])  # fmt: skip
    whole = reduce(add, model.stream("hi"))
    assert whole.usage_metadata == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}


async def test_a_server_whose_calls_have_no_ids_gets_them_answered(model, wire):
    called = script.completion({"tool_calls": [script.call("add", "{}", None)]}, "tool_calls")
    wire.answer(called)
    wire.answer(script.completion({"content": "done"}))
    create_agent(model, [add_none]).invoke({"messages": "hi"})
    asked, answered = wire.last["messages"][1:]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    wire.chat([script.chunk(script.call_delta(0, "add", '{"a"')),
               script.chunk(script.call_delta(0, "", ": 1}")),
               script.chunk(script.call_delta(1, "add", "{}")),
               script.chunk({}, "tool_calls")])  # fmt: skip
    first, second = reduce(add, model.stream("hi")).tool_calls
    assert (first["args"], second["args"]) == ({"a": 1}, {})
    assert len({first["id"], second["id"], None}) == 3


async def test_the_call_of_a_custom_tool_is_kept_with_its_text(model, wire):
    call = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls -l"}}
    answer = await both_ways(model, wire, script.completion({"tool_calls": [call]}, "tool_calls"))
    wire.chat([script.chunk({"tool_calls": [{"index": 0, **call}]}), script.chunk({}, "stop")])
    streamed = reduce(add, model.stream("hi"))
    for (found,) in (answer.invalid_tool_calls, streamed.invalid_tool_calls):
        assert (found["name"], found["args"], found["id"]) == ("run", "ls -l", "c1")


async def test_no_server_is_a_connection_error(wire):
    model = init_chat_model("openai:m", base_url="http://127.0.0.1:1", api_key="k", max_retries=0)
    with pytest.raises(ModelConnectionError):
        model.invoke("hi")
    with pytest.raises(ModelConnectionError):
        await model.ainvoke("hi")


# --- the responses API ---

RICH = [
    script.thought_item("first", "second", encrypted_content="SEAL"),
    script.call_item("add", '{"a": 1}', "c1"),
    {"type": "web_search_call", "id": "ws_1", "status": "completed",
     "action": {"type": "search", "query": "q"}},
    script.text_item("see here", [{"type": "url_citation", "url": "https://x", "title": "X",
                                   "start_index": 0, "end_index": 3}]),
    script.call_item("add", '{"a": ', "c2"),
]  # fmt: skip


@pytest.fixture
def responses(wire):
    return init_chat_model(
        "openai:gpt-test", base_url=f"{wire.url}/v1", api_key="k", max_retries=0,
        use_responses_api=True, max_tokens=50,
    )  # fmt: skip


async def test_a_response_comes_and_goes_back_without_loss_and_in_order(responses, wire):
    asked = responses.bind_tools([{"type": "web_search"}])
    answer = await both_ways(asked, wire, script.response(RICH))
    assert wire.requests[0].path == "/v1/responses"
    assert wire.last["max_output_tokens"] == 50
    assert wire.last["input"] == [{"type": "message", "role": "user", "content": "hi"}]
    assert answer.text == "see here"
    assert [c["id"] for c in answer.tool_calls] == ["c1"]
    assert [c["args"] for c in answer.invalid_tool_calls] == ['{"a": ']
    assert answer.usage_metadata["output_token_details"] == {"reasoning": 3}
    wire.answer(script.response([script.text_item("done")]))
    done = asked.invoke([HumanMessage("hi"), answer, ToolMessage("2", tool_call_id="c1")])
    assert done.content == "done"
    sent = wire.last["input"]
    assert [item["type"] for item in sent] == [
        "message", "reasoning", "function_call", "web_search_call", "message", "function_call",
        "function_call_output",
    ]  # fmt: skip
    assert (sent[1]["id"], sent[1]["encrypted_content"]) == ("rs_1", "SEAL")
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'}
    assert sent[2] == call
    assert answer.response_metadata["id"] == "resp_1"
    assert [part["text"] for part in sent[1]["summary"]] == ["first", "second"]
    assert sent[3] == RICH[2]
    assert sent[4]["content"][0] == RICH[3]["content"][0]
    assert sent[5]["arguments"] == '{"a": '
    assert sent[6] == {"type": "function_call_output", "call_id": "c1", "output": "2"}


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("searches", [True, False])
async def test_a_streamed_response_adds_up_to_the_whole(responses, wire, way, searches):
    asked = responses.bind_tools([{"type": "web_search"}]) if searches else responses
    items = RICH[:-1] if searches else [RICH[0], script.text_item("hello"), RICH[1]]
    wire.stream(script.numbered(script.response_events(script.response(items))), named=True)
    if way == "sync":
        chunks = list(asked.stream("hi"))
    else:
        chunks = [chunk async for chunk in asked.astream("hi")]
    wire.answer(script.response(items))
    same(asked.invoke("hi"), reduce(add, chunks))


async def test_a_refusal_of_the_responses_api_is_kept_whole_and_streamed(responses, wire):
    said = {**script.text_item(""), "content": [{"type": "refusal", "refusal": "I may not."}]}
    whole = script.response([said])
    wire.answer(whole)
    answer = responses.invoke("hi")
    started = {"type": "response.created", "response": script.response([], "in_progress")}
    pieces = [{"type": "response.refusal.delta", "delta": part, "output_index": 0, "item_id": "m",
               "content_index": 0} for part in ("I may ", "not.")]  # fmt: skip
    ended = {"type": "response.completed", "response": whole}
    wire.stream(script.numbered([started, *pieces, ended]), named=True)
    same(answer, reduce(add, responses.stream("hi")))
    wire.answer(script.response([script.text_item("ok")]))
    responses.invoke([HumanMessage("hi"), answer])
    (part,) = wire.last["input"][1]["content"]
    assert part == {"type": "refusal", "refusal": "I may not."}


async def test_a_failed_response_is_an_error_whole_and_streamed(responses, wire):
    failed = script.response([], "failed", error={"code": "server_error", "message": "oh"})
    wire.answer(failed)
    with pytest.raises(ModelAPIError, match="oh"):
        responses.invoke("hi")
    wire.stream(script.numbered([{"type": "response.failed", "response": failed}]), named=True)
    with pytest.raises(ModelAPIError, match="oh"):
        list(responses.stream("hi"))
    started = {"type": "response.created", "response": script.response([], "in_progress")}
    error = {"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None}
    wire.stream(script.numbered([started, error]), named=True)
    with pytest.raises(ModelRateLimitError, match="openai:gpt-test-1 failed: slow"):
        list(responses.stream("hi"))
    wire.stream(script.numbered([started]), named=True)
    with pytest.raises(ModelError, match="broke off"):
        list(responses.stream("hi"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", ModelRateLimitError),
        ("context_length_exceeded", ContextOverflowError),
        (None, ModelAPIError),
        ("vector_store_timeout", ModelError),
    ],
)
def test_a_failed_response_says_what_kind_of_error_it_is(responses, wire, code, kind):
    failed = script.response([], "failed", error={"code": code, "message": "no"})
    wire.answer(failed)
    with pytest.raises(ModelError, match="no") as caught:
        responses.invoke("hi")
    assert type(caught.value) is kind


async def test_what_only_the_responses_api_can_do_goes_there(model, wire):
    for ask in (
        lambda: model.invoke("hi", reasoning={"effort": "low"}),
        lambda: model.bind_tools([{"type": "web_search"}]).invoke("hi"),
    ):
        wire.answer(script.response([script.text_item("ok")]))
        assert ask().content == "ok"
        assert wire.requests[-1].path == "/v1/responses"


async def test_structured_output_and_tools_take_the_flat_form_of_responses(responses, wire):
    wire.answer(script.response([script.text_item('{"name": "Ann", "age": 1}')]))
    assert responses.with_structured_output(Person).invoke("hi") == Person(name="Ann", age=1)
    form = wire.last["text"]["format"]
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "Person", True)
    wire.answer(script.response([script.call_item("Person", '{"name": "Bo"}', "c1")]))
    made = responses.with_structured_output(Person, method="function_calling").invoke("hi")
    assert made == Person(name="Bo")
    assert wire.last["tools"][0]["name"] == "Person"
    assert wire.last["tool_choice"] == {"type": "function", "name": "Person"}


async def test_the_phase_of_a_text_and_the_call_of_a_custom_tool_go_back(responses, wire):
    custom = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "code",
              "input": "print(1)", "status": "completed"}  # fmt: skip
    said = {**script.text_item("I look first"), "phase": "commentary"}
    whole = script.response([script.thought_item("hm"), said, custom])
    wire.answer(whole)
    answer = responses.invoke("hi")
    wire.stream(script.numbered(script.response_events(whole)), named=True)
    same(answer, reduce(add, responses.stream("hi")))
    wire.answer(script.response([script.text_item("done")]))
    responses.invoke([HumanMessage("hi"), answer, ToolMessage("1", tool_call_id="c2")])
    _, thought, text, call, result = wire.last["input"]
    assert (thought["type"], text["phase"], call) == ("reasoning", "commentary", custom)
    assert result == {"type": "custom_tool_call_output", "call_id": "c2", "output": "1"}


async def test_what_the_responses_api_has_not_is_refused_and_never_left_out(responses, wire):
    for ask in (
        lambda: responses.invoke("hi", stop=["END"]),
        lambda: responses.bind(seed=3, n=1).invoke("hi"),
    ):
        with pytest.raises(InvalidInputError, match=r"has no (stop|seed)\."):
            ask()
    assert wire.requests == []
    wire.answer(script.response([script.text_item("ok")]))
    responses.invoke("hi", max_completion_tokens=7)
    assert wire.last["max_output_tokens"] == 7


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Owner(BaseModel):
    pet: Cat | Dog = Field(discriminator="kind")
    first: Cat = Field(description="The first one.")
    friend: "Owner | None" = None


async def test_a_schema_of_unions_and_classes_is_one_that_strict_mode_takes(model, wire):
    cat = {"kind": "cat"}
    value = {"pet": cat, "first": cat, "friend": {"pet": {"kind": "dog"}, "first": cat}}
    wire.answer(script.completion({"content": json.dumps(value)}))
    assert model.with_structured_output(Owner).invoke("hi") == Owner(**value)
    form = wire.last["response_format"]["json_schema"]
    assert form["strict"]
    schema = form["schema"]
    assert schema["type"] == "object"  # the root is no reference
    assert schema["properties"]["pet"] == {
        "anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "title": "Pet",
    }  # fmt: skip
    # Nothing stands beside a reference.
    first = {"description": "The first one.", "anyOf": [{"$ref": "#/$defs/Cat"}]}
    assert schema["properties"]["first"] == first


async def test_deferred_tools_go_in_with_the_search_of_openai(model, wire):
    @tool
    def find(key: str) -> str:
        """Finds."""
        return key

    wire.answer(script.response([script.text_item("ok")]))
    search = ProviderToolSearchMiddleware(searchable_tools=[find])
    agent = create_agent(model, [find], middleware=[search])
    await agent.ainvoke({"messages": "hi"})
    deferred, its = wire.last["tools"]
    assert (deferred["name"], deferred["defer_loading"]) == ("find", True)
    assert its == {"type": "tool_search"}
    assert wire.requests[-1].path == "/v1/responses"


@pytest.mark.parametrize("variable", ["OPENAI_API_BASE", "OPENAI_BASE_URL"])
async def test_the_environment_names_another_server(wire, monkeypatch, variable):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")  # the other variable wins
    monkeypatch.setenv(variable, f"{wire.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    model = init_chat_model("openai:moonshot-v1-8k", max_retries=0, max_tokens=5)
    answer = await both_ways(model, wire, script.completion({"content": "ha"}))
    assert answer.content == "ha"
    assert wire.last["max_tokens"] == 5  # as such servers call it
    named = init_chat_model("openai:m", base_url="http://127.0.0.1:1/v1", max_retries=0)
    with pytest.raises(ModelConnectionError):
        named.invoke("hi")


class Half(BaseModel):
    """An amount."""

    euro: int


def piece(name=None, args=None, **rest):
    function = {k: v for k, v in (("name", name), ("arguments", args)) if v is not None}
    return {"function": function, **rest}


BADLY_NUMBERED = {
    "one number": [
        [piece("pay", "", id="a", index=0)], [piece(args='{"euro": 1}', index=0)],
        [piece("pay", "", id="b", index=0)], [piece(args='{"euro": 2}', index=0)],
    ],
    "no number": [
        [piece("pay", "", id="a")], [piece(args='{"euro":')], [piece(args=" 1}")],
        [piece("pay", "", id="b", index=None)], [piece(args='{"euro": 2}', index=None)],
    ],
    "no number, both at once": [
        [piece("pay", '{"euro":', id="a"), piece("pay", '{"euro":', id="b")],
        [piece(args=" 2}", id="b"), piece(args="", id="a")], [piece(args=" 1}", id="a")],
    ],
    "neither number nor id": [[piece("pay", '{"euro": 1}')], [piece("pay", '{"euro": 2}')]],
    "an empty id": [[piece("pay", '{"euro": 1}', id="")], [piece("pay", '{"euro": 2}', id="")]],
    "name and id with each piece": [
        [piece("pay", '{"euro":', id="a", index=0)], [piece("pay", " 1}", id="a", index=0)],
        [piece("pay", '{"euro":', id="b", index=1)], [piece("pay", " 2}", id="b", index=1)],
    ],
    "the name with each piece": [
        [piece("pay", "", index=0)], [piece("pay", '{"euro": 1', index=0)],
        [piece("pay", "}", index=0)], [piece("pay", "", index=0)],
        [piece("pay", '{"euro": 2', index=0)], [piece("pay", "}", index=0)],
    ],
    "numbers in turns": [
        [piece("pay", "", id="a", index=1), piece("pay", "", id="b", index=2)],
        [piece(args='{"euro": ', index=1)], [piece(args='{"euro": ', index=2)],
        [piece(args="1}", index=1), piece(args="2}", index=2)],
    ],
}  # fmt: skip


@pytest.mark.parametrize("way", BADLY_NUMBERED)
async def test_calls_that_a_server_numbers_in_its_own_way_are_told_apart(model, wire, way):
    pieces = [script.chunk({"tool_calls": calls}) for calls in BADLY_NUMBERED[way]]
    wire.chat([*pieces, script.chunk({}, "tool_calls")])
    answer = reduce(add, model.stream("pay"))
    assert [(c["name"], c["args"]) for c in answer.tool_calls] == [
        ("pay", {"euro": 1}), ("pay", {"euro": 2}),
    ]  # fmt: skip
    assert not answer.invalid_tool_calls
    assert len({c["id"] for c in answer.tool_calls if c["id"]}) == 2


async def test_of_several_candidates_a_stream_gives_the_first(model, wire):
    def of(index, text, finish=None):
        delta = {"content": text} if text else {}
        choice = {"index": index, "delta": delta, "finish_reason": finish}
        return {**script.chunk(), "choices": [choice]}

    events = [of(0, "A"), of(1, "X"), of(1, "Y"), of(0, "B"), of(1, None, "length")]
    wire.chat([*events, of(0, None, "stop")])
    answer = reduce(add, model.bind(n=2).stream("q"))
    assert (answer.content, answer.response_metadata["finish_reason"]) == ("AB", "stop")
    wire.chat(events)
    with pytest.raises(ModelConnectionError, match="broke off"):
        list(model.bind(n=2).stream("q"))


async def test_an_answer_without_a_choice_is_a_problem_of_the_server(model, wire):
    wire.answer({"error": {"message": "the model is gone", "code": 502}})
    with pytest.raises(ModelAPIError, match="the model is gone"):
        model.invoke("q")


@pytest.mark.parametrize("args", ["", '{"a": 1'])
@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_a_call_that_is_cut_off_does_not_run(model, wire, args, finish):
    ran = []

    @tool
    def clear(path: str = "/") -> str:
        """Clear a folder."""
        ran.append(path)
        return "cleared"

    called = script.completion({"tool_calls": [script.call("clear", args, "c1")]}, finish)
    streamed = [
        script.chunk(script.call_delta(0, "clear", "", "c1")),
        script.chunk(script.call_delta(0, arguments=args)),
        script.chunk({}, finish),
    ]
    agent = create_agent(model, [clear])
    wire.answer(called)
    ended = [agent.invoke({"messages": "q"})["messages"][-1]]
    for mode in ("messages", "values"):
        wire.chat(streamed) if mode == "messages" else wire.answer(called)
        *_, last = agent.stream({"messages": "q"}, stream_mode=[mode, "values"])
        ended.append(last[1]["messages"][-1])
    wire.chat(streamed)
    ended.append(message_chunk_to_message(reduce(add, model.stream("q"))))
    assert not ran
    for message in ended:
        assert not message.tool_calls
        assert [(c["name"], c["args"]) for c in message.invalid_tool_calls] == [("clear", args)]


@pytest.mark.parametrize("form", ["class", "dict"])
@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
async def test_half_of_an_answer_in_a_form_is_never_taken_for_the_whole(model, wire, form, method):
    schema = Half if form == "class" else Half.model_json_schema()
    text = '{"euro": 10'
    if method == "json_schema":
        delta, message = {"content": text}, {"content": text}
    else:
        delta = script.call_delta(0, "Half", text, "c1")
        message = {"tool_calls": [script.call("Half", text, "c1")]}
    events = [script.chunk(delta), script.chunk({}, "length")]
    asked = model.with_structured_output(schema, method=method)
    wire.answer(script.completion(message, "length"))
    wire.answer(script.completion(message, "length"))
    wire.chat(events)
    wire.chat(events)
    with pytest.raises(OutputParserException, match="max_tokens"):
        asked.invoke("q")
    with pytest.raises(OutputParserException, match="max_tokens"):
        await asked.ainvoke("q")
    with pytest.raises(OutputParserException, match="max_tokens"):
        list(asked.stream("q"))
    with pytest.raises(OutputParserException, match="max_tokens"):
        await heard(asked.astream("q"), [])
    told = model.with_structured_output(schema, method=method, include_raw=True)
    wire.answer(script.completion(message, "length"))
    wire.chat(events)
    for found in (told.invoke("q"), *told.stream("q")):
        assert found["parsed"] is None
        assert isinstance(found["parsing_error"], OutputParserException)
