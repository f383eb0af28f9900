"""ChatAnthropic over a real wire: the official SDK and a server on loopback."""

import json
from functools import reduce
from operator import add
from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from plait.agents import create_agent
from plait.agents.middleware import ProviderToolSearchMiddleware, after_model
from plait.chat_models import init_chat_model
from plait.errors import (
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
from plait.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from plait.tools import tool

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
RICH = [
    {"type": "thinking", "thinking": "hm, hm", "signature": "SIGNED"},
    {"type": "redacted_thinking", "data": "SECRET"},
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [
        {"type": "web_search_result", "url": "https://x", "title": "X", "encrypted_content": "E"}]},
    {"type": "text", "text": "see here", "citations": [
        {"type": "web_search_result_location", "url": "https://x", "title": "X",
         "encrypted_index": "I", "cited_text": "here"}]},
    {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
    {"type": "tool_use", "id": "t2", "name": "now", "input": {}},
]  # fmt: skip
HELLO = {"type": "text", "text": "hello"}


def answer_of(content, **rest):
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 3,
             "cache_creation_input_tokens": 2}  # fmt: skip
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test-1",
            "content": content, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
            **rest}  # fmt: skip


def events_of(answer):
    """The events that stream an answer: texts and arguments in two halves."""
    opened = {**answer, "content": [], "stop_reason": None,
              "usage": {**answer["usage"], "output_tokens": 1}}  # fmt: skip
    yield {"type": "message_start", "message": opened}
    for index, block in enumerate(answer["content"]):
        start, deltas = dict(block), []
        match block["type"]:
            case "text":
                start["text"] = ""
                start.pop("citations", None)
                deltas = [("text_delta", "text", half) for half in halves(block["text"])]
                deltas += [("citations_delta", "citation", c) for c in block.get("citations", ())]
            case "thinking":
                start |= {"thinking": "", "signature": ""}
                deltas = [("thinking_delta", "thinking", h) for h in halves(block["thinking"])]
                deltas.append(("signature_delta", "signature", block["signature"]))
            case "tool_use" | "server_tool_use":
                start["input"] = {}
                text = json.dumps(block["input"]) if block["input"] else ""
                deltas = [("input_json_delta", "partial_json", half) for half in halves(text)]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for kind, key, value in deltas:
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": kind, key: value}}  # fmt: skip
        yield {"type": "content_block_stop", "index": index}
        yield {"type": "ping"}
    ended = {key: answer[key] for key in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": ended,
           "usage": {"output_tokens": answer["usage"]["output_tokens"]}}  # fmt: skip
    yield {"type": "message_stop"}


def halves(text):
    return text[: len(text) // 2], text[len(text) // 2 :]


@pytest.fixture
def model(wire):
    return init_chat_model("anthropic:claude-test", base_url=wire.url, api_key="k", max_retries=0)


def same(whole, streamed):
    for name in ("content", "tool_calls", "invalid_tool_calls", "usage_metadata", "id",
                 "additional_kwargs", "response_metadata"):  # fmt: skip
        assert getattr(whole, name) == getattr(streamed, name), name


async def test_a_text_is_asked_and_answered_sync_and_async(model, wire):
    asked = [SystemMessage("be kind"), HumanMessage("hi"), HumanMessage("there"),
             AIMessage("yes?"), HumanMessage("go on")]  # fmt: skip
    for _ in range(2):
        wire.answer(answer_of([{"type": "text", "text": "hello"}]))
    first = model.bind(temperature=0.5).invoke(asked, stop=["END"])
    assert wire.last == {
        "model": "claude-test", "max_tokens": 4096, "system": "be kind", "temperature": 0.5,
        "stop_sequences": ["END"],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"},
                                         {"type": "text", "text": "there"}]},
            {"role": "assistant", "content": "yes?"},
            {"role": "user", "content": "go on"},
        ],
    }  # fmt: skip
    assert wire.requests[0].path == "/v1/messages"
    headers = wire.requests[0].headers  # older SDKs send the former
    assert headers.get("x-api-key", headers.get("authorization")) in ("k", "Bearer k")
    assert await model.ainvoke(asked) == first
    assert (first.content, first.id) == ("hello", "msg_1")
    assert first.usage_metadata == {
        "input_tokens": 10, "output_tokens": 7, "total_tokens": 17,
        "input_token_details": {"cache_creation": 2, "cache_read": 3},
    }  # fmt: skip
    assert first.response_metadata == {
        "model_provider": "anthropic", "model_name": "claude-test-1", "id": "msg_1",
        "stop_reason": "end_turn",
    }  # fmt: skip


async def test_an_answer_comes_and_goes_back_without_loss_and_in_order(model, wire):
    wire.answer(answer_of(RICH, stop_reason="tool_use"))
    answer = model.invoke("hi")
    assert answer.text == "see here"
    (cited,) = answer.content_blocks[4]["annotations"]
    assert (cited["type"], cited["url"], cited["title"]) == ("citation", "https://x", "X")
    assert [call["id"] for call in answer.tool_calls] == ["t1", "t2"]
    kinds = [block["type"] for block in answer.content_blocks]
    assert kinds == ["reasoning", "non_standard", "server_tool_call", "server_tool_result", "text",
                     "tool_call", "tool_call"]  # fmt: skip
    wire.answer(answer_of([{"type": "text", "text": "done"}]))
    model.invoke([
        HumanMessage("hi"), answer, ToolMessage("2", tool_call_id="t1"),
        ToolMessage("broken", tool_call_id="t2", status="error"), HumanMessage("so?"),
    ])  # fmt: skip
    sent = wire.last["messages"]
    assert sent[1] == {"role": "assistant", "content": RICH}
    assert sent[2] == {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "2"},
        {"type": "tool_result", "tool_use_id": "t2", "content": "broken", "is_error": True},
        {"type": "text", "text": "so?"},
    ]}  # fmt: skip


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("content", [RICH, [HELLO, *RICH[-2:]], [RICH[0], HELLO, HELLO, RICH[-1]]])
async def test_a_stream_adds_up_to_the_whole_answer(model, wire, way, content):
    asked = model.bind_tools([SEARCH]) if content is RICH else model
    whole = answer_of(content, stop_reason="tool_use")
    wire.stream(list(events_of(whole)), named=True)
    if way == "sync":
        chunks = list(asked.stream("hi"))
    else:
        chunks = [chunk async for chunk in asked.astream("hi")]
    wire.answer(whole)
    same(asked.invoke("hi"), reduce(add, chunks))


async def test_what_says_nothing_of_the_models_own_is_not_given_back(model, wire):
    wire.answer(answer_of([{"type": "text", "text": "ok"}]))
    thought = AIMessage([{"type": "reasoning", "reasoning": "another model's"}])
    empty = AIMessage([{"type": "text", "text": " "}])
    model.invoke([HumanMessage("a"), AIMessage(" "), HumanMessage("b"), thought, empty])
    (turn,) = wire.last["messages"]
    assert [part["text"] for part in turn["content"]] == ["a", "b"]


async def test_ids_of_calls_that_another_model_made_go_in_as_anthropic_takes_them(model, wire):
    wire.answer(answer_of([{"type": "text", "text": "ok"}]))
    call = {"name": "add", "args": {}, "id": "functions.add:0"}
    said = AIMessage("", tool_calls=[call]), ToolMessage("1", tool_call_id="functions.add:0")
    model.invoke([HumanMessage("hi"), *said])
    _, called, answered = wire.last["messages"]
    assert called["content"][0]["id"] == answered["content"][0]["tool_use_id"] == "functions_add_0"


async def test_marks_beside_the_data_of_a_block_survive_its_standard_form(model, wire):
    mark = {"cache_control": {"type": "ephemeral"}}
    source = {"type": "base64", "media_type": "application/pdf", "data": "BB"}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,CC"}, **mark}
    document = {"type": "document", "source": source, "title": "t", **mark}
    sent = [
        {"type": "image", "source": {**source, "media_type": "image/png", "data": "CC"}, **mark},
        document,
    ]
    given = HumanMessage([image, document])
    for content in (given.content, given.content_blocks):
        wire.answer(answer_of([{"type": "text", "text": "ok"}]))
        model.invoke([HumanMessage(content)])
        assert wire.last["messages"][0]["content"] == sent


async def test_what_says_who_ran_a_call_and_where_goes_back(model, wire):
    program = {"type": "code_execution_20250825", "tool_id": "srv_1"}
    said = [
        {"type": "server_tool_use", "id": "srv_1", "name": "code_execution",
         "input": {"code": "f()"}},
        {"type": "tool_use", "id": "t1", "name": "add", "input": {}, "caller": program},
        {"type": "tool_use", "id": "t2", "name": "add", "input": {}, "caller": {"type": "direct"}},
        {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": True,
         "content": [{"type": "text", "text": "no"}]},
        {"type": "text", "text": "so", "citations": [
            {"type": "char_location", "cited_text": "a", "document_index": 0,
             "document_title": None, "file_id": "f1", "start_char_index": 0, "end_char_index": 1}]},
    ]  # fmt: skip
    answer = answer_of(said, stop_reason="tool_use")
    wire.answer(answer)
    whole = model.invoke("hi")
    wire.stream(list(events_of(answer)), named=True)
    streamed = reduce(add, model.bind_tools([SEARCH]).stream("hi"))
    same(whole, streamed)
    del said[2]["caller"], said[5]["citations"][0]["file_id"]  # the one says nothing, and the
    for message in (whole, streamed):  # other is not taken back
        wire.answer(answer_of([]))
        model.invoke([HumanMessage("hi"), message])
        assert wire.last["messages"][1]["content"] == said


async def test_a_turn_that_is_paused_goes_on_where_it_was(model, wire):
    call = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
    wire.answer(answer_of([{"type": "text", "text": "I look"}, call], stop_reason="pause_turn"))
    wire.answer(answer_of([{"type": "text", "text": "found"}]))
    agent = create_agent(model, [SEARCH], middleware=[go_on])
    messages = agent.invoke({"messages": "hi"})["messages"]
    assert messages[-1].text == "found"
    assert wire.last["messages"][1:] == [
        {"role": "assistant", "content": [{"type": "text", "text": "I look"}, call]}
    ]


@after_model(can_jump_to=["model"])
def go_on(state, runtime):
    if state["messages"][-1].response_metadata.get("stop_reason") == "pause_turn":
        return {"jump_to": "model"}
    return None


async def test_media_and_cache_marks_go_in_in_anthropics_form(model, wire):
    wire.answer(answer_of([{"type": "text", "text": "ok"}]))
    model.invoke([HumanMessage([
        {"type": "image", "url": "https://x/y.png"},
        {"type": "image", "base64": "AA", "mime_type": "image/png",
         "cache_control": {"type": "ephemeral"}},
        {"type": "file", "base64": "BB", "mime_type": "application/pdf", "filename": "a.pdf",
         "extras": {"citations": {"enabled": True}}},
        {"type": "file", "file_id": "file_1"},
        {"type": "text-plain", "text": "plain", "mime_type": "text/plain"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,CC"}},
        {"type": "document", "source": {"type": "text", "data": "d", "media_type": "text/plain"}},
    ])])  # fmt: skip
    assert wire.last["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "image", "cache_control": {"type": "ephemeral"},
         "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        {"type": "document", "title": "a.pdf", "citations": {"enabled": True},
         "source": {"type": "base64", "media_type": "application/pdf", "data": "BB"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document",
         "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "CC"}},
        {"type": "document", "source": {"type": "text", "data": "d", "media_type": "text/plain"}},
    ]  # fmt: skip
    with pytest.raises(InvalidInputError, match="Anthropic takes no 'audio' block"):
        model.invoke([HumanMessage([{"type": "audio", "base64": "A", "mime_type": "audio/wav"}])])
    with pytest.raises(InvalidInputError, match="before all others"):
        model.invoke([HumanMessage("hi"), SystemMessage("late")])


class Person(BaseModel):
    """A person."""

    name: str


async def test_structured_output_by_schema_and_by_tool(model, wire):
    wire.answer(answer_of([{"type": "text", "text": '{"name": "Ann"}'}]))
    assert model.with_structured_output(Person).invoke("hi") == Person(name="Ann")
    form = wire.last["output_config"]["format"]
    assert (form["type"], form["schema"]["additionalProperties"]) == ("json_schema", False)
    call = {"type": "tool_use", "id": "t1", "name": "Person", "input": {"name": "Bo"}}
    wire.answer(answer_of([call]))
    by_tool = model.with_structured_output(Person, method="function_calling")
    assert await by_tool.ainvoke("hi") == Person(name="Bo")
    assert wire.last["tool_choice"] == {"type": "tool", "name": "Person"}
    assert wire.last["tools"][0]["description"] == "A person."
    old = init_chat_model("anthropic:claude-3-haiku", base_url=wire.url, api_key="k")
    wire.answer(answer_of([call]))
    assert old.with_structured_output(Person).invoke("hi") == Person(name="Bo")


class Traveller(BaseModel):
    """A traveller."""

    age: int = Field(ge=0, description="In years.")
    home: "Place | None" = Field(description="Where from.")
    seen: "list[Beach | Town]" = Field(min_length=2)


class Place(BaseModel):
    """A place."""

    code: str = Field(pattern="[A-Z]+")


class Beach(BaseModel):
    kind: Literal["beach"]


class Town(BaseModel):
    kind: Literal["town"]


async def test_limits_that_anthropic_refuses_in_a_schema_are_told_in_words(model, wire):
    made = {"age": 3, "home": {"code": "OSL"}, "seen": [{"kind": "town"}] * 2}
    wire.answer(answer_of([{"type": "text", "text": json.dumps(made)}]))
    effort = model.bind(output_config={"effort": "low"})
    form = {"type": "json_schema", "json_schema": {"schema": Traveller.model_json_schema()}}
    effort.invoke("hi", response_format=form)
    config = wire.last["output_config"]
    assert config["effort"] == "low"
    sent = config["format"]["schema"]
    assert sent["properties"]["age"] == {
        "description": "In years. (minimum: 0)", "title": "Age", "type": "integer",
    }  # fmt: skip
    assert sent["properties"]["seen"]["description"] == "(minItems: 2)"
    assert sent["$defs"]["Place"]["properties"]["code"]["description"] == "(pattern: [A-Z]+)"
    wire.answer(answer_of([{"type": "text", "text": json.dumps({**made, "age": -1})}]))
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        model.with_structured_output(Traveller).invoke("hi")


async def test_a_schema_with_an_open_object_is_asked_for_by_a_tool(model, wire):
    class Counts(BaseModel):
        counts: dict[str, int]

    call = {"type": "tool_use", "id": "t1", "name": "Counts", "input": {"counts": {"a": 1}}}
    wire.answer(answer_of([call], stop_reason="tool_use"))
    assert model.with_structured_output(Counts).invoke("hi") == Counts(counts={"a": 1})
    assert wire.last["tool_choice"] == {"type": "tool", "name": "Counts"}


async def test_what_is_charged_is_counted_whole_and_streamed(model, wire):
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_creation_input_tokens": 6,
             "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 4},
             "output_tokens_details": {"thinking_tokens": 3},
             "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0}}  # fmt: skip
    answer = answer_of([{"type": "text", "text": "ok"}], usage=usage)
    wire.answer(answer)
    whole = model.invoke("hi")
    assert whole.usage_metadata == {
        "input_tokens": 11, "output_tokens": 7, "total_tokens": 18,
        "input_token_details": {
            "cache_creation": 6, "cache_read": 0, "ephemeral_1h_input_tokens": 4},
        "output_token_details": {"reasoning": 3},
    }  # fmt: skip
    assert whole.response_metadata["server_tool_use"] == {"web_search_requests": 2}
    events = list(events_of(answer))
    for key in ("output_tokens_details", "server_tool_use"):
        del events[0]["message"]["usage"][key]
        events[-2]["usage"][key] = usage[key]
    wire.stream(events, named=True)
    same(whole, reduce(add, model.stream("hi")))


async def test_betas_and_what_they_bring_go_in(wire, recwarn):
    servers = [{"type": "url", "url": "https://x/mcp", "name": "s"}]
    model = init_chat_model(
        "anthropic:claude-test", base_url=wire.url, api_key="k", betas=["mcp", "more"],
        mcp_servers=servers,
    )  # fmt: skip
    call = {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": "s", "input": {}}
    wire.answer(answer_of([call]))
    model.bind(extra_headers={"x-mine": "1"}).invoke("hi")
    assert wire.last["mcp_servers"] == servers
    headers = wire.requests[-1].headers
    assert (headers["anthropic-beta"], headers["x-mine"]) == ("mcp,more", "1")
    assert not recwarn.list  # of the SDK, about blocks that it does not know


async def test_tool_choices_take_anthropics_form(model, wire):
    def add(a: int) -> int:
        """Adds."""
        return a

    for wanted, form in (("any", {"type": "any"}), ("auto", {"type": "auto"}),
                         ("add", {"type": "tool", "name": "add"})):  # fmt: skip
        wire.answer(answer_of([]))
        model.bind_tools([add], tool_choice=wanted, parallel_tool_calls=False).invoke("hi")
        assert wire.last["tool_choice"] == {**form, "disable_parallel_tool_use": True}
    assert wire.last["tools"][0]["input_schema"]["properties"]["a"] == {"type": "integer"}
    wire.answer(answer_of([]))
    model.bind_tools([add], tool_choice="none", parallel_tool_calls=False).invoke("hi")
    assert wire.last["tool_choice"] == {"type": "none"}


async def test_extras_of_tools_that_anthropic_knows_go_in(model, wire):
    @tool(extras={"cache_control": {"type": "ephemeral"}, "another's": 1})
    def add(a: int) -> int:
        """Adds."""
        return a

    @tool
    def find(key: str) -> str:
        """Finds."""
        return key

    wire.answer(answer_of([{"type": "text", "text": "ok"}]))
    search = ProviderToolSearchMiddleware(searchable_tools=["find"])
    agent = create_agent(model, [add, find], middleware=[search])
    await agent.ainvoke({"messages": "hi"})
    first, second, third = wire.last["tools"]
    assert first["cache_control"] == {"type": "ephemeral"}
    assert not {"another's", "defer_loading"} & set(first)
    assert (second["name"], second["defer_loading"]) == ("find", True)
    assert third["type"] == "tool_search_tool_bm25_20251119"


ERRORS = [
    (401, "authentication_error", ModelAuthenticationError),
    (403, "permission_error", ModelPermissionDeniedError),
    (404, "not_found_error", ModelNotFoundError),
    (413, "request_too_large", ContextOverflowError),
    (400, "invalid_request_error", ModelInvalidRequestError),
    (429, "rate_limit_error", ModelRateLimitError),
    (500, "api_error", ModelAPIError),
    (529, "overloaded_error", ModelAPIError),
]


@pytest.mark.parametrize(("status", "name", "kind"), ERRORS)
async def test_errors_keep_their_kind_and_their_cause(model, wire, status, name, kind):
    import anthropic

    body = {"type": "error", "error": {"type": name, "message": "no"}}
    wire.fail(status, body, {"request-id": "req_1"})
    wire.fail(status, body)
    with pytest.raises(kind) as caught:
        model.invoke("hi")
    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, anthropic.APIStatusError)
    assert (caught.value.status, caught.value.request_id) == (status, "req_1")
    with pytest.raises(kind):
        await model.ainvoke("hi")


async def test_errors_in_the_middle_of_a_stream_keep_their_kind(model, wire):
    events = list(events_of(answer_of([{"type": "text", "text": "hello"}])))[:4]
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    wire.stream([*events, failed], named=True)
    seen = []
    with pytest.raises(ModelAPIError, match="busy"):
        seen.extend(c.content for c in model.stream("hi"))
    for how in ({"broken": True}, {}):
        wire.stream(events, named=True, **how)
        with pytest.raises(ModelConnectionError):
            async for _ in model.astream("hi"):
                pass


async def test_too_long_a_prompt_is_told_by_the_words_of_the_error(model, wire):
    error = {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}
    wire.fail(400, {"type": "error", "error": error})
    with pytest.raises(ContextOverflowError, match="trim_messages"):
        model.invoke("hi")


async def test_a_silent_server_times_out(wire):
    model = init_chat_model(
        "anthropic:m", base_url=wire.url, api_key="k", max_retries=0, timeout=0.2
    )
    wire.silence()
    with pytest.raises(ModelTimeoutError):
        await model.ainvoke("hi")


async def test_a_call_at_which_an_answer_was_cut_off_does_not_run(model, wire):
    ran = []

    @tool
    def pay(euro: int = 7) -> str:
        """Pay."""
        ran.append(euro)
        return "paid"

    whole = {"type": "tool_use", "id": "t1", "name": "pay", "input": {"euro": 1}}
    cut = {"type": "tool_use", "id": "t2", "name": "pay", "input": {}}
    agent = create_agent(model, [pay])
    answer = answer_of([whole, cut], stop_reason="max_tokens")
    done = answer_of([{"type": "text", "text": "done"}])
    wire.answer(answer)
    wire.answer(done)
    invoked = agent.invoke({"messages": "q"})["messages"][1]
    wire.stream(list(events_of(answer)), named=True)
    wire.stream(list(events_of(done)), named=True)
    told = [*agent.stream({"messages": "q"}, stream_mode=["messages", "values"])]
    streamed = next(reversed([part for mode, part in told if mode == "values"]))["messages"][1]
    assert ran == [1, 1]
    for message in (invoked, streamed):
        assert [c["id"] for c in message.tool_calls] == ["t1"]
        assert [c["id"] for c in message.invalid_tool_calls] == ["t2"]


async def test_a_call_of_a_servers_tool_that_is_cut_off_ends_no_stream(model, wire):
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    events = list(events_of(answer_of([call], stop_reason="max_tokens")))
    del events[3]  # the second half of the arguments
    wire.stream(events, named=True)
    answer = reduce(add, model.stream("q"))
    assert answer.content[0]["args"] == {"unreadable": '{"query'}
    assert answer.response_metadata["stop_reason"] == "max_tokens"
