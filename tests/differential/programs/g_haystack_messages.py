"""Haystack's messages, the parts of their content, and streamed pieces."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import base64
import contextlib
import io
import threading
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer

from haystack.components.generators.utils import print_streaming_chunk
from haystack.dataclasses import (
    ChatMessage,
    ChatRole,
    ComponentInfo,
    ImageContent,
    ReasoningContent,
    StreamingChunk,
    TextContent,
    ToolCall,
    ToolCallDelta,
    ToolCallResult,
    select_streaming_callback,
)
from haystack.dataclasses.breakpoints import AgentBreakpoint

say, user = ChatMessage.from_assistant, ChatMessage.from_user
CALL = ToolCall("t", {"a": "é"}, "i")
PNG = base64.b64encode(bytes.fromhex("89504e470d0a1a0a0000000d49484452")).decode()


def all_kinds():
    return [
        user("x", meta={"a": 1}, name="n"),
        user(""),
        user(content_parts=["a", TextContent("b"), ImageContent(PNG, mime_type="image/png")]),
        ChatMessage.from_system("s"),
        say("x", tool_calls=[CALL], reasoning="why", name="nn"),
        say(tool_calls=[CALL]),
        say(reasoning=ReasoningContent("why", {"k": 1})),
        say(),
        ChatMessage.from_tool("r", CALL, error=True, meta={"z": 1}),
    ]


def case_made_as_once(env):
    given = ({"role": "user", "content": "x"}, {"content": "x"}, {"name": "x", "_content": []}, {})
    return [env.error(lambda made=made: ChatMessage(**made)) for made in given]


def case_made(env):
    return all_kinds()


def case_as_data_and_back(env):
    return [(m.to_dict(), ChatMessage.from_dict(m.to_dict()) == m) for m in all_kinds()]


def case_properties(env):
    return [
        (
            m.role,
            m.meta,
            m.name,
            m.texts,
            m.text,
            m.tool_calls,
            m.tool_call,
            m.tool_call_results,
            m.tool_call_result,
            m.images,
            m.image,
            m.reasonings,
            m.reasoning,
            len(m),
            m.is_from("assistant"),
            m.is_from(ChatRole.USER),
        )
        for m in all_kinds()
    ]


def case_users_messages_that_are_none(env):
    return [
        env.error(lambda: user()),
        env.error(lambda: user("x", content_parts=["a"])),
        env.error(lambda: user(content_parts=[5])),
        env.error(lambda: user(content_parts=[])),
        env.error(lambda: say("x", reasoning=5)),
        env.error(lambda: user("x").is_from("nope")),
    ]


def case_data_of_other_forms(env):
    return [
        ChatMessage.from_dict({"role": "user", "content": "hello"}),
        ChatMessage.from_dict({"role": "user", "content": [{"text": "hello"}]}),
        ChatMessage.from_dict(
            {"_role": "user", "_content": [{"text": "x"}], "_meta": {"a": 1}, "_name": None}
        ),
    ]


def case_data_that_is_none(env):
    return [
        env.error(lambda: ChatMessage.from_dict(data))
        for data in (
            {},
            {"role": "user"},
            {"role": "nope", "content": "x"},
            {"role": "user", "content": [{"nope": 1}]},
            {"role": "user", "content": 5},
        )
    ]


def case_equal_and_unhashable(env):
    return user("x") == user("x"), user("x") == say("x"), env.error(lambda: hash(user("x")))


def case_roles(env):
    return (
        [role.value for role in ChatRole],
        ChatRole.from_str("tool"),
        str(ChatRole.USER),
        ChatRole.USER == "user",
        env.error(lambda: ChatRole.from_str("nope")),
    )


def case_openai_format(env):
    made = all_kinds()
    return [env.error(m.to_openai_dict_format) for m in made]


def case_openai_format_of_calls_without_ids(env):
    asked = say(tool_calls=[ToolCall("t", {})])
    told = ChatMessage.from_tool("r", ToolCall("t", {}))
    return [
        env.error(asked.to_openai_dict_format),
        env.error(told.to_openai_dict_format),
        asked.to_openai_dict_format(require_tool_call_ids=False),
        told.to_openai_dict_format(require_tool_call_ids=False),
    ]


def case_from_openai_format(env):
    function = {"name": "t", "arguments": '{"a": 1}'}
    return [
        ChatMessage.from_openai_dict_format(data)
        for data in (
            {"role": "user", "content": "x", "name": "n"},
            {"role": "system", "content": "x"},
            {"role": "developer", "content": "x"},
            {"role": "assistant", "content": "x"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "type": "function", "function": function}],
            },
            {"role": "tool", "content": "r", "tool_call_id": "1"},
            {"role": "tool", "content": "r"},
        )
    ]


def case_openai_format_that_is_none(env):
    return [
        env.error(lambda: ChatMessage.from_openai_dict_format(data))
        for data in (
            {"role": "nope", "content": "x"},
            {"content": "x"},
            {"role": "user"},
            {"role": "assistant"},
            {"role": "tool"},
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function"}]},
            {"role": "user", "content": ""},
            {"role": "user", "content": []},
            {"role": "tool", "content": "", "tool_call_id": "1"},
        )
    ]


def case_openai_format_of_parts_in_their_order(env):
    low = ImageContent(PNG, mime_type="image/png", detail="low")
    high = ImageContent(PNG, mime_type="image/png")
    return [
        user(content_parts=parts).to_openai_dict_format()
        for parts in ([low, "then"], ["one", high, "two", low], ["a", "b"], [high])
    ]


def case_openai_format_of_several_results(env):
    one, two = (ToolCallResult(text, CALL, False) for text in ("a", "b"))
    return [
        env.error(ChatMessage(ChatRole.TOOL, parts).to_openai_dict_format)
        for parts in ([one, two], [one, TextContent("x")], [TextContent("x"), one], [one])
    ]


def case_lists_of_parts_in_openai_format(env):
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    return [
        env.error(lambda: ChatMessage.from_openai_dict_format({"role": "user", "content": parts}))
        for parts in ([{"type": "text", "text": "look"}, image], [image])
    ]


def case_images(env):
    jpeg = base64.b64encode(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00").decode()
    gif = base64.b64encode(b"GIF89a" + b"\0" * 20).decode()
    webp = base64.b64encode(b"RIFF\x00\x00\x00\x00WEBPVP8 ").decode()
    whole = ImageContent(PNG, detail="low", meta={"a": 1})
    return (
        [ImageContent(data).mime_type for data in (PNG, jpeg, gif, webp)],
        whole,
        whole.to_dict(),
        ImageContent.from_dict(whole.to_dict()) == whole,
        ImageContent("!!", validation=False),
        env.error(lambda: ImageContent("!!!")),
        env.error(lambda: ImageContent("aGk=", mime_type="text/plain")),
    )


def case_image_of_unknown_kind(env):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ImageContent("aGk=")


def case_image_of_a_file(env):
    path = env.tmp_path / "a.png"
    path.write_bytes(base64.b64decode(PNG))
    image = ImageContent.from_file_path(path, detail="low", meta={"x": 1})
    del image.meta["file_path"]
    return image


def case_an_image_is_shown(env):
    """Pillow is not installed; what it then shows, nobody could compare."""
    return env.error(lambda: ImageContent(PNG).show())


class Served(BaseHTTPRequestHandler):
    """Serves an image, and something else."""

    def do_GET(self):
        body, kind = (b"text", "text/plain") if "text" in self.path else (b"GIF89a", "image/gif")
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def case_image_at_an_address(env):
    with HTTPServer(("127.0.0.1", 0), Served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        image = ImageContent.from_url(f"{url}/a.gif", detail="low", meta={"x": 1})
        refused = env.error(lambda: ImageContent.from_url(f"{url}/text", retry_attempts=0))
        server.shutdown()
    image.meta["url"] = image.meta["url"].rpartition("/")[2]
    return image, refused


def chunks():
    return [
        StreamingChunk("hi", start=True, index=0, meta={"a": 1}),
        StreamingChunk(" there", component_info=ComponentInfo("t", "n")),
        StreamingChunk("", finish_reason="stop"),
        StreamingChunk("", tool_calls=[ToolCallDelta(0, "t", None, "i")], index=0, start=True),
        StreamingChunk("", tool_calls=[ToolCallDelta(0, None, '{"a"')], index=0),
        StreamingChunk("", tool_calls=[ToolCallDelta(1, "t2", '{"a"')], index=1, start=True),
        StreamingChunk("", finish_reason="tool_calls"),
        StreamingChunk("", tool_call_result=ToolCallResult("r", CALL, False), index=0, start=True),
        StreamingChunk("", finish_reason="tool_call_results"),
        StreamingChunk("", reasoning=ReasoningContent("think"), index=0, start=True),
        StreamingChunk("", reasoning=ReasoningContent(" more"), index=0),
    ]


def case_pieces(env):
    return [(c, c.to_dict(), StreamingChunk.from_dict(c.to_dict()) == c) for c in chunks()]


def case_printed(env):
    printed = []
    for chunk in chunks():
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print_streaming_chunk(chunk)
        printed.append(out.getvalue())
    return printed


def case_pieces_that_are_none(env):
    thought, delta = ReasoningContent("r"), ToolCallDelta(0)
    return [
        env.error(lambda: StreamingChunk("x", reasoning=thought, index=0)),
        env.error(lambda: StreamingChunk("", reasoning=thought, tool_calls=[delta], index=0)),
        env.error(lambda: StreamingChunk("", reasoning=thought)),
        env.error(lambda: StreamingChunk("", tool_calls=[delta])),
        env.error(lambda: StreamingChunk("", tool_call_result=ToolCallResult("r", CALL, False))),
        env.error(lambda: StreamingChunk.from_dict({})),
    ]


def case_parts_as_data(env):
    parts = [TextContent("x"), CALL,
             ToolCallResult("r", CALL, True), ReasoningContent("r", {"a": 1}),
             ToolCallDelta(0, "t"), ComponentInfo("t", "n")]  # fmt: skip
    return [(p, p.to_dict(), type(p).from_dict(p.to_dict()) == p) for p in parts]


def case_parts_of_damaged_data(env):
    kinds = (TextContent, ToolCall, ReasoningContent, ToolCallDelta, ComponentInfo)
    found = [
        env.error(lambda: kind.from_dict(data))
        for kind in kinds
        for data in (None, 5, "x", [], {}, {"zz": 1})
    ]
    chunk = StreamingChunk("", index=0, tool_calls=[ToolCallDelta(0)]).to_dict()
    damages = (
        *({"tool_calls": calls} for calls in ([5], "x", [{"zz": 1}], [{}])),
        *({"component_info": info} for info in (5, "x", [1], {"zz": 1})),
        *({"tool_calls": None, "reasoning": thought} for thought in (5, "x", {"zz": 1})),
        *({"tool_calls": None, "tool_call_result": result} for result in (5, {"zz": 1})),
        {"index": None},
        {"content": "x"},
    )
    found += [env.error(lambda: StreamingChunk.from_dict({**chunk, **d})) for d in damages]
    return found + [env.error(lambda: StreamingChunk.from_dict(d)) for d in ("x", [], [1], {})]


def case_damaged_data_that_python_tells_of(env):
    return [
        env.error(lambda: AgentBreakpoint.from_dict({})),
        env.error(lambda: AgentBreakpoint.from_dict({"break_point": {"component_name": "a"}})),
        env.error(lambda: ChatMessage.from_dict("x")),
        env.error(lambda: ToolCallResult.from_dict([])),
    ]


def case_callbacks_are_selected(env):
    def first(chunk):
        pass

    def second(chunk):
        pass

    async def third(chunk):
        pass

    return [
        select_streaming_callback(None, None, requires_async=False),
        select_streaming_callback(first, None, requires_async=False),
        select_streaming_callback(first, second, requires_async=False),
        select_streaming_callback(None, third, requires_async=True),
        env.error(lambda: select_streaming_callback(third, None, requires_async=False)),
        env.error(lambda: select_streaming_callback(None, first, requires_async=True)),
    ]
