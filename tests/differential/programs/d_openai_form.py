"""Messages in OpenAI's form, byte for byte: the order of keys, and how arguments are written."""

import enum
import json
import math

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    """A text of a class of its own."""


ARGUMENTS = [
    {},
    {"query": "q", "top": 3},
    {"a": True, "b": None, "c": 1.5, "d": math.nan, "e": -math.inf, "f": 10**30},
    {"é": 'ü\u2028\n"\\\x00\x7f', "lone": "\ud800"},
    {"a": [1, {"b": (1, 2)}, []], "c": {"d": {}}},
    {1: 2, None: 1, False: 3, 1.5: 4},
    {"x": Level.LOW},
    {Name("k"): Name("v")},
    "text",
    ["a", 1],
    None,
]


def _called(args):
    message = AIMessage("x")
    message.tool_calls = [{"name": "f", "args": args, "id": "1", "type": "tool_call"}]
    return message


def _written(messages, **options):
    return json.dumps(convert_to_openai_messages(messages, **options))


def case_arguments(env):
    return [_written([_called(args)]) for args in ARGUMENTS]


def case_arguments_beside_blocks(env):
    blocks = HumanMessage([{"type": "text", "text": "hi"}])
    return [_written([blocks, _called(args)]) for args in ARGUMENTS]


def case_arguments_in_a_circle(env):
    circle = {}
    circle["self"] = circle
    return [env.error(lambda args=args: _written([_called(args)])) for args in (circle, {"a": {1}})]


def case_calls_without_parts(env):
    message = AIMessage("x")
    message.tool_calls = [{"name": "f", "args": {}}]
    return env.error(lambda: _written([message]))


def case_order_of_keys(env):
    call = {"name": "f", "args": {"a": "b"}, "id": "1"}
    messages = [
        SystemMessage("s", name="sys"),
        HumanMessage("h", name="bob", id="1"),
        AIMessage("", name="ai", tool_calls=[call, {**call, "id": "2"}]),
        AIMessage("plain", response_metadata={"model": "m"}, additional_kwargs={}),
        ToolMessage("t", tool_call_id="1", name="f"),
        ToolMessage("", tool_call_id="2", status="error", artifact={"a": 1}),
        AIMessage("bye", name=""),
    ]
    return [
        _written(messages),
        _written(messages, include_id=True),
        _written(messages, text_format="block"),
        _written([*messages, ("user", "pair")]),
        _written(tuple(messages)),
        [_written(message) for message in messages],
    ]


def case_refusals_and_chunks(env):
    refused = AIMessage("", additional_kwargs={"refusal": "no"})
    chunk = AIMessageChunk(
        "a", tool_call_chunks=[{"name": "f", "args": '{"a": 1}', "id": "1", "index": 0}]
    )
    return [_written([HumanMessage("h"), refused]), _written([HumanMessage("h"), chunk])]
