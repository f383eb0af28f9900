"""Haystack's OpenAIChatGenerator and plait's, over a real wire: same answers, same agent."""

import pytest
from haystack.components.generators.chat import OpenAIChatGenerator as Theirs
from haystack.dataclasses import ChatMessage as TheirMessage
from haystack.utils import Secret as TheirSecret
from pydantic import BaseModel

from plait.errors import InvalidValueError
from plait.haystack import Agent, ChatMessage, OpenAIChatGenerator, Secret, State, tool

from . import openai_script as script

TIMES = ("received_at", "completion_start_time")


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def ours(wire, **kwargs):
    given = {"api_key": Secret.from_token("k"), "model": "m", "max_retries": 0, **kwargs}
    return OpenAIChatGenerator(api_base_url=f"{wire.url}/v1", **given)


def theirs(wire, **kwargs):
    given = {"api_key": TheirSecret.from_token("k"), "model": "m", "max_retries": 0, **kwargs}
    return Theirs(api_base_url=f"{wire.url}/v1", **given)


def known(value):
    """What is there, without what the wire did not say and without times."""
    if isinstance(value, dict):
        kept = {k: known(v) for k, v in value.items() if k not in TIMES}
        return {k: v for k, v in kept.items() if v is not None}
    return [known(item) for item in value] if isinstance(value, list) else value


def answers():
    calling = {"tool_calls": [script.call("add", '{"a": 1, "b": 2}', "c1")]}
    return [script.completion({"content": "hello"}), script.completion(calling, "tool_calls")]


def streams():
    return [
        script.texts("one ", "two"),
        [
            script.chunk({"role": "assistant", "content": None}),
            script.chunk(script.call_delta(0, "add", "", "c1")),
            script.chunk(script.call_delta(0, arguments='{"a": 1,')),
            script.chunk(script.call_delta(0, arguments=' "b": 2}')),
            script.chunk(script.call_delta(1, "add", '{"a": 3, "b": 4}', "c2")),
            script.chunk({}, "tool_calls"),
            script.chunk(usage=script.USAGE),
        ],
        [
            script.chunk(script.call_delta(0, "add", '{"a": 3, "b": 4}', "c1")),
            script.chunk(script.call_delta(1, "add", '{"a": 1, "b": 2', "c2")),
            script.chunk({}, "length"),
            script.chunk(usage=script.USAGE),
        ],
    ]


@pytest.mark.parametrize("index", [0, 1])
async def test_both_generators_give_the_same_replies(wire, index):
    for _ in range(3):
        wire.answer(answers()[index])
    expected = theirs(wire).run([TheirMessage.from_user("hi")])["replies"]
    generator = ours(wire)
    messages = [ChatMessage.from_user("hi")]
    for replies in (generator.run(messages), await generator.run_async(messages)):
        assert [known(r.to_dict()) for r in replies["replies"]] == [
            known(r.to_dict()) for r in expected
        ]


@pytest.mark.parametrize("index", [0, 1, 2])
async def test_both_generators_stream_the_same_pieces(wire, index):
    for _ in range(3):
        wire.chat(streams()[index])
    expected, heard, later = [], [], []

    async def hear(chunk):
        later.append(chunk)

    reply = theirs(wire).run([TheirMessage.from_user("hi")], streaming_callback=expected.append)
    generator = ours(wire)
    messages = [ChatMessage.from_user("hi")]
    own = generator.run(messages, streaming_callback=heard.append)
    await generator.run_async(messages, streaming_callback=hear)
    assert known(own["replies"][0].to_dict()) == known(reply["replies"][0].to_dict())
    assert pieces(heard) == pieces(later) == pieces(expected)
    assert [c.finish_reason for c in heard if c.finish_reason] == [
        c.finish_reason for c in expected if c.finish_reason
    ]


def pieces(chunks):
    """What is said, without pieces that say nothing."""
    said = [
        (c.content, c.index, c.start, [known(call.to_dict()) for call in c.tool_calls or ()])
        for c in chunks
    ]
    return [piece for piece in said if piece[0] or piece[3]]


async def test_several_candidates_are_several_replies(wire):
    answer = script.completion({"content": "a"})
    second = {"index": 1, "message": {"role": "assistant", "content": "b"}}
    answer["choices"].append({**answer["choices"][0], **second})
    for _ in range(2):
        wire.answer(answer)
    generator, messages = ours(wire, generation_kwargs={"n": 2}), [ChatMessage.from_user("hi")]
    for done in (generator.run(messages), await generator.run_async(messages)):
        assert [(r.text, r.meta["index"]) for r in done["replies"]] == [("a", 0), ("b", 1)]
    assert wire.last["n"] == 2


def test_tools_and_arguments_go_out_as_haystack_sends_them(wire):
    for _ in range(2):
        wire.answer(answers()[0])
    from haystack.tools import create_tool_from_function

    theirs(wire, generation_kwargs={"temperature": 0.5}).run(
        [TheirMessage.from_user("hi")],
        tools=[create_tool_from_function(add.function)],
        tools_strict=True,
    )
    expected = wire.last
    generator = ours(wire, generation_kwargs={"temperature": 0.1}, tools_strict=True)
    messages = [ChatMessage.from_user("hi")]
    generator.run(messages, tools=[add], generation_kwargs={"temperature": 0.5})
    assert wire.last["tools"] == expected["tools"]
    assert wire.last["temperature"] == expected["temperature"]
    assert wire.last["messages"] == expected["messages"]


class Person(BaseModel):
    """A person."""

    name: str
    age: int


async def test_an_answer_in_the_form_of_a_class(wire):
    for _ in range(3):
        wire.answer(script.completion({"content": '{"name": "Ann", "age": 3}'}))
    form = {"response_format": Person}
    expected = theirs(wire).run([TheirMessage.from_user("who?")], generation_kwargs=form)
    sent = wire.last["response_format"]
    generator, messages = ours(wire), [ChatMessage.from_user("who?")]
    own = generator.run(messages, generation_kwargs=form)
    assert own["replies"][0].text == expected["replies"][0].text
    assert wire.last["response_format"]["type"] == sent["type"] == "json_schema"
    shown, meant = wire.last["response_format"]["json_schema"], sent["json_schema"]
    assert (shown["name"], shown["strict"]) == (meant["name"], meant["strict"])
    assert shown["schema"]["properties"].keys() == meant["schema"]["properties"].keys()
    assert shown["schema"]["required"] == meant["schema"]["required"]
    later = await generator.run_async(messages, generation_kwargs=form)
    assert later["replies"][0].text == own["replies"][0].text


async def test_several_candidates_are_not_streamed(wire):
    async def hear(chunk):
        pass

    generator, messages = ours(wire, generation_kwargs={"n": 2}), [ChatMessage.from_user("hi")]
    with pytest.raises(InvalidValueError, match="n out"):
        generator.run(messages, streaming_callback=print)
    with pytest.raises(InvalidValueError, match="n out"):
        await generator.run_async(messages, streaming_callback=hear)


def test_arguments_that_are_no_json_are_left_out_and_said(wire, caplog):
    broken = {"tool_calls": [script.call("add", '{"a": 1', "c1")]}
    wire.answer(script.completion(broken, "tool_calls"))
    done = ours(wire).run([ChatMessage.from_user("hi")], tools=[add])
    assert done["replies"][0].tool_calls == []
    assert "no JSON" in caplog.text


def test_an_image_goes_out(wire):
    from plait.haystack import ImageContent

    wire.answer(answers()[0])
    image = ImageContent("aGk=", mime_type="image/png")
    ours(wire).run([ChatMessage.from_user(content_parts=["look", image])])
    (message,) = wire.last["messages"]
    assert message["content"][0] == {"type": "text", "text": "look"}
    assert message["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="


def conversation(message, call, image):
    """One of all kinds: parts in their order, names, results."""
    called = call("add", {"a": 1, "b": 2}, "c1")
    low = image("aGk=", mime_type="image/png", detail="low", validation=False)
    return [
        message.from_system("Be brief."),
        message.from_user(content_parts=["look", low, "then", "add"], name="Ann"),
        message.from_assistant("so", name="Bob"),
        message.from_assistant(tool_calls=[called]),
        message.from_tool("3", called),
    ]


def test_a_conversation_goes_out_as_haystack_sends_it(wire):
    from haystack import dataclasses as their

    from plait import haystack as own

    for _ in range(2):
        wire.answer(answers()[0])
    theirs(wire).run(conversation(their.ChatMessage, their.ToolCall, their.ImageContent))
    expected = wire.last["messages"]
    ours(wire).run(conversation(own.ChatMessage, own.ToolCall, own.ImageContent))
    sent = [
        {**one, "name": None} if one["role"] == "tool" else one for one in wire.last["messages"]
    ]
    assert known(sent) == known(expected)


async def test_strict_tools_of_one_call(wire):
    for _ in range(3):
        wire.answer(answers()[0])
    messages = [ChatMessage.from_user("hi")]
    ours(wire).run(messages, tools=[add], tools_strict=True)
    assert wire.last["tools"][0]["function"]["strict"] is True
    generator = ours(wire, tools=[add], tools_strict=True)
    generator.run(messages, tools_strict=False)
    assert "strict" not in wire.last["tools"][0]["function"]
    assert generator.tools_strict is True
    await ours(wire).run_async(messages, tools=[add], tools_strict=True)
    assert wire.last["tools"][0]["function"]["strict"] is True


def test_several_results_in_one_message_all_go_out(wire):
    from plait.haystack import ChatRole, ToolCall, ToolCallResult

    wire.answer(answers()[0])
    calls = [ToolCall("add", {}, "c1"), ToolCall("add", {}, "c2")]
    results = [ToolCallResult(call.id, call, False) for call in calls]
    asked = ChatMessage.from_assistant(tool_calls=calls)
    ours(wire).run([asked, ChatMessage(ChatRole.TOOL, results)])
    assert [one.get("tool_call_id") for one in wire.last["messages"]] == [None, "c1", "c2"]


@pytest.mark.parametrize("make", [ours, theirs], ids=["ours", "theirs"])
def test_an_agent_runs_on_either_generator(wire, make):
    wire.answer(answers()[1])
    wire.answer(script.completion({"content": "3"}))
    agent = Agent(chat_generator=make(wire), tools=[add])
    agent.warm_up()
    done = agent.run([ChatMessage.from_user("1 + 2?")])
    assert [m.role.value for m in done["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert done["last_message"].text == "3"
    assert done["last_message"].meta["usage"]["total_tokens"] == 12
    assert [m["role"] for m in wire.last["messages"]] == ["user", "assistant", "tool"]
    told = wire.last["messages"][2]
    assert (told["role"], told["tool_call_id"], told["content"]) == ("tool", "c1", "3")
    assert wire.last["tools"][0]["function"]["name"] == "add"


@pytest.mark.parametrize("make", [ours, theirs], ids=["ours", "theirs"])
async def test_an_async_agent_streams_on_either_generator(wire, make):
    wire.chat(streams()[1])
    wire.chat(script.texts("all ", "done"))
    heard = []

    async def hear(chunk):
        heard.append(chunk)

    agent = Agent(chat_generator=make(wire), tools=[add])
    agent.warm_up()
    done = await agent.run_async([ChatMessage.from_user("add")], streaming_callback=hear)
    assert done["last_message"].text == "all done"
    results = [c.tool_call_result.result for c in heard if c.tool_call_result]
    assert results == ["3", "7"]
    assert "".join(c.content for c in heard) == "all done"


def test_an_agent_s_messages_and_tools_may_be_haystacks(wire):
    from haystack.tools import Toolset as TheirToolset
    from haystack.tools import create_tool_from_function

    wire.answer(answers()[1])
    wire.answer(script.completion({"content": "3"}))
    tools = TheirToolset([create_tool_from_function(add.function)])
    agent = Agent(chat_generator=ours(wire), tools=tools)
    done = agent.run([TheirMessage.from_user("1 + 2?")])
    assert isinstance(done["messages"][0], TheirMessage), "as they were given"
    assert done["messages"][2].tool_call_result.result == "3"


def test_the_state_of_an_agent_may_be_written_with_what_a_model_said(wire):
    wire.answer(answers()[1])
    wire.answer(script.completion({"content": "3"}))
    done = Agent(chat_generator=ours(wire), tools=[add]).run([ChatMessage.from_user("1 + 2?")])
    back = State.from_dict(State({}, {"messages": done["messages"]}).to_dict())
    assert back.get("messages") == done["messages"]
