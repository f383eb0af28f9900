"""ChatGoogle over a real wire: the official SDK and a server on loopback."""

import re
from functools import reduce
from operator import add

import pytest
from google.genai import types
from pydantic import BaseModel

from plait.chat_models import init_chat_model
from plait.errors import (
    ContentFilteredError,
    ContextOverflowError,
    InvalidInputError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from plait.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
)

RICH = [
    {"text": "hm", "thought": True, "thoughtSignature": "CAkK"},
    {"text": "let me see", "thoughtSignature": "AQID"},
    {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}, "thoughtSignature": "BAUG"},
    {"functionCall": {"id": "c2", "name": "now", "args": {}}},
    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    {"executableCode": {"language": "PYTHON", "code": "1+1"}},
]
USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 4, "thoughtsTokenCount": 3,
         "totalTokenCount": 12, "cachedContentTokenCount": 2}  # fmt: skip


def answer_of(parts, finish="STOP", **rest):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"responseId": "r1", "modelVersion": "gemini-test-1", "candidates": [candidate],
            "usageMetadata": USAGE, **rest}  # fmt: skip


def snake(value):
    """A body with all keys in one spelling: Google takes both, and the SDK sends a mixture."""
    if isinstance(value, dict):
        return {re.sub("([A-Z])", r"_\1", k).lower(): snake(v) for k, v in value.items()}
    return [snake(v) for v in value] if isinstance(value, list) else value


def streamed(parts):
    """An answer, a part at a time, with counts that grow."""
    for part in parts:
        early = {"promptTokenCount": 5, "totalTokenCount": 5}
        yield answer_of([part], None, usageMetadata=early)
    yield answer_of([], "STOP")


@pytest.fixture
def model(wire):
    return init_chat_model("google:gemini-test", base_url=wire.url, api_key="k", max_retries=0)


async def test_a_text_is_asked_and_answered_sync_and_async(wire):
    model = init_chat_model(
        "google_genai:gemini-test", base_url=wire.url, api_key="k", max_retries=0,
        temperature=0.5, max_tokens=9, thinking_budget=0,
    )  # fmt: skip
    asked = [SystemMessage("be kind"), HumanMessage("hi"), AIMessage("yes?"), HumanMessage("go")]
    for _ in range(2):
        wire.answer(answer_of([{"text": "hello"}]))
    first = model.invoke(asked, stop=["END"])
    assert await model.ainvoke(asked) == first
    assert wire.requests[0].path.endswith("/models/gemini-test:generateContent")
    assert wire.requests[0].headers["x-goog-api-key"] == "k"
    body = wire.requests[0].body
    assert body["systemInstruction"]["parts"] == [{"text": "be kind"}]
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "yes?"}]},
        {"role": "user", "parts": [{"text": "go"}]},
    ]
    config = body["generationConfig"]
    assert (config["temperature"], config["maxOutputTokens"]) == (0.5, 9)
    assert config["stopSequences"] == ["END"]
    assert snake(config["thinkingConfig"]) == {"thinking_budget": 0}
    assert (first.content, first.id) == ("hello", "r1")
    assert first.response_metadata["finish_reason"] == "STOP"
    assert first.usage_metadata == {
        "input_tokens": 5, "output_tokens": 7, "total_tokens": 12,
        "input_token_details": {"cache_read": 2}, "output_token_details": {"reasoning": 3},
    }  # fmt: skip


async def test_an_answer_comes_and_goes_back_without_loss_and_in_order(model, wire):
    wire.answer(answer_of(RICH))
    answer = model.invoke("hi")
    assert answer.text == "let me see"
    assert [call["id"] for call in answer.tool_calls] == ["c1", "c2"]
    wire.answer(answer_of([{"text": "done"}]))
    results = [ToolMessage("2", tool_call_id="c1"),
               ToolMessage("no", tool_call_id="c2", status="error")]  # fmt: skip
    model.invoke([HumanMessage("hi"), answer, *results])
    sent = wire.last["contents"]
    assert snake(sent[1]["parts"]) == snake(RICH)
    assert [part["functionResponse"] for part in sent[2]["parts"]] == [
        {"id": "c1", "name": "add", "response": {"output": "2"}},
        {"id": "c2", "name": "now", "response": {"error": "no"}},
    ]
    with pytest.raises(InvalidInputError, match="name of the tool"):
        model.invoke([ToolMessage("2", tool_call_id="unknown")])


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_stream_adds_up_to_the_whole_answer(model, wire, way):
    one, two, picture = {"text": "one "}, {"text": "two"}, RICH[4]
    joined, draws = {"text": "one two"}, model.bind(response_modalities=["TEXT", "IMAGE"])
    for asked, parts, answer in (
        (model, RICH, RICH),
        (model, [one, two], [joined]),
        (model, [RICH[0], one, two], [RICH[0], joined]),
        (draws, [one, two, picture], [joined, picture]),
    ):
        wire.stream(list(streamed(parts)))
        if way == "sync":
            chunks = list(asked.stream("hi"))
        else:
            chunks = [chunk async for chunk in asked.astream("hi")]
        total = reduce(add, chunks)
        wire.answer(answer_of(answer))
        whole = model.invoke("hi")
        for name in ("content", "tool_calls", "usage_metadata", "id", "additional_kwargs",
                     "response_metadata"):  # fmt: skip
            assert getattr(whole, name) == getattr(total, name), name


async def test_a_call_without_an_id_gets_one(model, wire):
    wire.answer(answer_of([{"functionCall": {"name": "add", "args": {"a": 1}}}] * 2))
    one, two = model.invoke("hi").tool_calls
    assert one["id"]
    assert one["id"] != two["id"]


async def test_media_go_in_in_googles_form(model, wire):
    wire.answer(answer_of([{"text": "ok"}]))
    model.invoke([HumanMessage([
        {"type": "text", "text": "look"},
        {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        {"type": "video", "url": "https://x/y.mp4", "mime_type": "video/mp4"},
        {"type": "audio", "base64": "BBBB", "mime_type": "audio/wav"},
        {"type": "file", "file_id": "files/1", "mime_type": "application/pdf"},
        {"type": "text-plain", "text": "plain", "mime_type": "text/plain"},
    ])])  # fmt: skip
    assert snake(wire.last["contents"][0]["parts"]) == [
        {"text": "look"},
        {"inline_data": {"data": "AAAA", "mime_type": "image/png"}},
        {"file_data": {"file_uri": "https://x/y.mp4", "mime_type": "video/mp4"}},
        {"inline_data": {"data": "BBBB", "mime_type": "audio/wav"}},
        {"file_data": {"file_uri": "files/1", "mime_type": "application/pdf"}},
        {"text": "plain"},
    ]


class Person(BaseModel):
    """A person."""

    name: str


async def test_structured_output_by_schema_and_by_tool(model, wire):
    wire.answer(answer_of([{"text": '{"name": "Ann"}'}]))
    assert model.with_structured_output(Person).invoke("hi") == Person(name="Ann")
    config = wire.last["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["name"]
    wire.answer(answer_of([{"functionCall": {"name": "Person", "args": {"name": "Bo"}}}]))
    by_tool = model.with_structured_output(Person, method="function_calling")
    assert await by_tool.ainvoke("hi") == Person(name="Bo")
    # Which of the two spellings that Google takes is sent is the SDK's choice.
    (chosen,) = wire.last["toolConfig"].values()
    names = chosen.get("allowedFunctionNames", chosen.get("allowed_function_names"))
    assert (chosen["mode"], names) == ("ANY", ["Person"])
    (declared,) = wire.last["tools"][0]["functionDeclarations"]
    assert (declared["name"], declared["description"]) == ("Person", "A person.")


async def test_googles_own_tools_go_in_as_they_are(model, wire):
    wire.answer(answer_of([{"text": "ok"}], groundingMetadata=None))
    model.bind_tools([{"google_search": {}}, Person]).invoke("hi")
    assert {"googleSearch": {}} in wire.last["tools"]


async def test_a_blocked_prompt_and_grounding_are_told(model, wire):
    wire.answer({"responseId": "r1", "modelVersion": "g", "promptFeedback":
                 {"blockReason": "SAFETY"}})  # fmt: skip
    with pytest.raises(ContentFilteredError, match="SAFETY"):
        model.invoke("hi")
    grounded = answer_of([{"text": "ok"}])
    grounded["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["q"]}
    wire.answer(grounded)
    told = model.invoke("hi").response_metadata
    assert told["grounding_metadata"] == {"web_search_queries": ["q"]}


ERRORS = [
    (400, "INVALID_ARGUMENT", "no", ModelInvalidRequestError),
    (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum", ContextOverflowError),
    (401, "UNAUTHENTICATED", "no", ModelAuthenticationError),
    (403, "PERMISSION_DENIED", "no", ModelPermissionDeniedError),
    (404, "NOT_FOUND", "no", ModelNotFoundError),
    (429, "RESOURCE_EXHAUSTED", "no", ModelRateLimitError),
    (500, "INTERNAL", "no", ModelAPIError),
    (503, "UNAVAILABLE", "no", ModelAPIError),
    (504, "DEADLINE_EXCEEDED", "no", ModelTimeoutError),
]


@pytest.mark.parametrize(("status", "name", "text", "kind"), ERRORS)
async def test_errors_keep_their_kind_and_their_cause(model, wire, status, name, text, kind):
    from google.genai.errors import APIError

    body = {"error": {"code": status, "status": name, "message": text}}
    for _ in range(3):
        wire.fail(status, body)
    with pytest.raises(kind) as caught:
        model.invoke("hi")
    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, APIError)
    assert caught.value.status == status
    with pytest.raises(kind):
        await model.ainvoke("hi")
    with pytest.raises(kind):
        list(model.stream("hi"))


async def test_a_wrong_key_is_told_apart_from_other_bad_requests(model, wire):
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    wire.fail(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not "
                              "valid.", "details": details}})  # fmt: skip
    with pytest.raises(ModelAuthenticationError):
        model.invoke("hi")


async def test_a_silent_server_and_a_broken_stream_are_errors(wire):
    model = init_chat_model("google:m", base_url=wire.url, api_key="k", max_retries=0, timeout=0.3)
    wire.silence()
    with pytest.raises(ModelTimeoutError):
        model.invoke("hi")
    for how in ({"broken": True}, {}):
        wire.stream([answer_of([{"text": "one"}], None)], **how)
        with pytest.raises(ModelConnectionError):
            list(model.stream("hi"))


async def test_of_several_candidates_a_stream_gives_the_first(model, wire):
    def of(index, text, finish=None):
        event = answer_of([{"text": text}], finish)
        event["candidates"][0]["index"] = index
        return event

    wire.stream([of(0, "A"), of(1, "X"), of(0, "B", "STOP"), of(1, "Y", "STOP")])
    answer = reduce(add, model.stream("q"))
    assert (answer.content, answer.response_metadata["finish_reason"]) == ("AB", "STOP")


def called(**call):
    return answer_of([{"functionCall": call}], None)


needs_pieces = pytest.mark.skipif(
    not hasattr(types, "PartialArg"), reason="this SDK cannot ask for arguments piece by piece"
)


def piece(path, kind, value, goes_on=False):
    return {"jsonPath": path, f"{kind}Value": value, **({"willContinue": True} if goes_on else {})}


@needs_pieces
@pytest.mark.parametrize("way", ["sync", "async"])
async def test_arguments_that_come_piece_by_piece_are_put_together(model, wire, way):
    more = {"willContinue": True}
    wire.stream([
        called(name="plan", id="c1", **more),
        called(partialArgs=[piece("$.city", "string", "Os", goes_on=True)], **more),
        called(partialArgs=[piece("$.city", "string", "lo")], **more),
        called(partialArgs=[piece("$.days[1]['at noon']", "number", 3),
                            piece("$.days[0]", "null", "NULL_VALUE"),
                            piece("$.sure", "bool", False), piece("$.share", "number", 0.5)],
               **more),
        called(),
        called(name="now", args={}),
        answer_of([], "STOP"),
    ])  # fmt: skip
    if way == "sync":
        chunks = list(model.stream("hi"))
    else:
        chunks = [chunk async for chunk in model.astream("hi")]
    plan, now = reduce(add, chunks).tool_calls
    assert chunks[0].tool_call_chunks[0]["name"] == "plan"
    assert (plan["name"], plan["id"], now["name"], now["args"]) == ("plan", "c1", "now", {})
    assert plan["args"] == {
        "city": "Oslo", "days": [None, {"at noon": 3}], "sure": False, "share": 0.5
    }  # fmt: skip
    assert type(plan["args"]["days"][1]["at noon"]) is int


@needs_pieces
async def test_a_call_that_is_cut_off_between_its_pieces_does_not_run(model, wire):
    wire.stream([
        called(name="pay", id="c1", willContinue=True),
        called(partialArgs=[piece("$.to", "string", "Ann")], willContinue=True),
        answer_of([], "MAX_TOKENS"),
    ])  # fmt: skip
    answer = message_chunk_to_message(reduce(add, model.stream("hi")))
    assert answer.tool_calls == []
    (call,) = answer.invalid_tool_calls
    assert (call["name"], call["id"]) == ("pay", "c1")


async def test_an_answer_without_a_candidate_is_a_problem_of_the_server(model, wire):
    wire.answer({"responseId": "r1", "modelVersion": "g", "usageMetadata": USAGE})
    with pytest.raises(ModelAPIError, match="without a candidate"):
        model.invoke("hi")


async def test_a_call_may_set_what_the_model_sets_by_the_same_names(model, wire):
    for _ in range(2):
        wire.answer(answer_of([{"text": "ok"}]))
    model.bind(max_tokens=5, thinking_budget=0).invoke("hi", n=1, model="gemini-other")
    config = wire.last["generationConfig"]
    assert (config["maxOutputTokens"], config["candidateCount"]) == (5, 1)
    assert snake(config["thinkingConfig"]) == {"thinking_budget": 0}
    assert "/models/gemini-other:" in wire.requests[-1].path
    model.invoke("hi", max_output_tokens=6)
    assert wire.last["generationConfig"] == {"maxOutputTokens": 6}
