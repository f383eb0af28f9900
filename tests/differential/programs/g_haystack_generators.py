"""Haystack's generator of OpenAI over a wire: what becomes of answers, how it is written."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ.setdefault("OPENAI_API_KEY", "no key")

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool, Toolset
from haystack.utils import Secret
from pydantic import BaseModel


class Answer(BaseModel):
    city: str
    sure: bool


def one(a: int = 0) -> int:
    return a


def tool_of(name="one"):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    return Tool(name=name, description="d", parameters=schema, function=one)


USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def served(message, finish="stop"):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return serving(json.dumps({**answer, "choices": [choice], "usage": USAGE}))


def served_in_pieces(*choices, asked=None, usage=None):
    """A stream of choices, each a delta and a reason to finish."""
    piece = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    pieces = [
        {**piece, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in choices
    ]
    if usage is not None:
        pieces.append({**piece, "choices": [], "usage": usage})
    lines = [*map(json.dumps, pieces), "[DONE]"]
    return serving("".join(f"data: {line}\n\n" for line in lines), "text/event-stream", asked=asked)


@contextmanager
def serving(answer, kind="application/json", status=200, asked=None):
    data = answer.encode()

    class Served(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if asked is not None:
                asked.append(json.loads(body))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Served) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def replies(url, **kwargs):
    key = Secret.from_token("k")
    made = OpenAIChatGenerator(key, "m", api_base_url=url, max_retries=0, **kwargs)
    done = made.run([ChatMessage.from_user("Where?")])["replies"]
    return [
        (r.text, [call.to_dict() for call in r.tool_calls], r.meta["finish_reason"]) for r in done
    ]


def calling(arguments):
    return {
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "one", "arguments": arguments}}
        ],
    }


def case_answers(env):
    found = []
    for finish in ("stop", "length", "content_filter"):
        with served({"content": "Delft"}, finish) as url:
            found.append(replies(url))
    return found


def case_an_answer_in_the_form_of_a_class(env):
    with served({"content": '{"city": "Delft", "sure": true}'}) as url:
        return replies(url, generation_kwargs={"response_format": Answer})


def case_calls(env):
    found = []
    for arguments in ('{"a": 1}', "{}", '{"a": 1'):
        with served(calling(arguments), "tool_calls") as url:
            found.append(replies(url, tools=[tool_of()]))
    return found


def case_calls_without_arguments(env):
    with served(calling(""), "tool_calls") as url:
        return replies(url, tools=[tool_of()])


def case_answers_without_a_text(env):
    with served({"content": None}) as url:
        return replies(url)


def case_empty_answers(env):
    with served({"content": ""}) as url:
        return replies(url)


WORDS = [
    ({"role": "assistant", "content": ""}, None),
    ({"content": "Del"}, None),
    ({"content": "ft"}, None),
    ({}, "stop"),
]


def streamed(url, **kwargs):
    """What a callback hears, and the answer that comes of it."""
    heard = []
    key = Secret.from_token("k")
    made = OpenAIChatGenerator(
        key, "m", heard.append, api_base_url=url, max_retries=0, generation_kwargs=kwargs
    )
    (reply,) = made.run([ChatMessage.from_user("Where?")], tools=[tool_of()])["replies"]
    pieces = [
        (one.content, [call.to_dict() for call in one.tool_calls or ()], one.finish_reason)
        for one in heard
        if one.content or one.tool_calls or one.finish_reason
    ]
    counted = [one.meta["usage"]["total_tokens"] for one in heard if one.meta["usage"]]
    return pieces, counted, reply.text, reply.tool_calls, reply.meta["finish_reason"]


def case_answers_in_pieces(env):
    asked = []
    with served_in_pieces(*WORDS, asked=asked) as url:
        return streamed(url), ["stream_options" in one for one in asked]


def case_answers_in_pieces_that_are_counted(env):
    asked = []
    with served_in_pieces(*WORDS, asked=asked, usage=USAGE) as url:
        found = streamed(url, stream_options={"include_usage": True})
        return found, [one["stream_options"] for one in asked]


def case_calls_in_pieces(env):
    def of(text, index=0, **more):
        function = {"arguments": text, **({"name": "one"} if more else {})}
        return {"tool_calls": [{"index": index, "function": function, **more}]}, None

    first, second = of("", id="1", type="function"), of("", 1, id="2", type="function")
    rest = of('{"a": 2}', 1), ({}, "tool_calls")
    with served_in_pieces(first, of('{"a"'), of(": 1}"), second, *rest) as url:
        return streamed(url)


def case_usage_that_nobody_has_told(env):
    with served_in_pieces(*WORDS) as url:
        made = OpenAIChatGenerator(
            Secret.from_token("k"), "m", lambda piece: None, api_base_url=url, max_retries=0
        )
        return made.run([ChatMessage.from_user("Where?")])["replies"][0].meta["usage"]


def case_errors_of_the_server(env):
    found = []
    for status in (400, 401, 404, 429, 500):
        with serving('{"error": {"message": "no"}}', status=status) as url:
            found.append(env.error(lambda url=url: replies(url)))
    return found


def case_a_client_with_a_header_of_its_own(env):
    with served({"content": "Delft"}) as url:
        return env.error(lambda: replies(url, http_client_kwargs={"headers": {"x-a": "b"}}))


def case_form_of_a_class_written_and_back(env):
    form = {"response_format": Answer, "temperature": 0.5}
    data = json.loads(json.dumps(OpenAIChatGenerator(generation_kwargs=form).to_dict()))
    written = data["init_parameters"]["generation_kwargs"]
    schema = written["response_format"].pop("json_schema")
    back = OpenAIChatGenerator.from_dict(data).generation_kwargs
    return written, schema["name"], schema["strict"], sorted(schema["schema"]["properties"]), back


def case_tools_of_one_name(env):
    twice = [tool_of(), Toolset([tool_of()])]
    made = OpenAIChatGenerator(tools=[tool_of()])
    return (
        env.error(lambda: OpenAIChatGenerator(tools=twice)),
        env.error(lambda: made.run([ChatMessage.from_user("Where?")], tools=twice)),
        env.error(lambda: OpenAIChatGenerator(tools=["one"])),
    )
