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


@contextmanager
def served(message, finish="stop"):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    data = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()

    class Served(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
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
