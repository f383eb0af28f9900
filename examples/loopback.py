"""Scripted answers: an OpenAI-compatible server on this machine, so that examples need no key.

Nothing in here thinks. An example brings a script, a function that says what a model would say to
the messages it is shown, and the server sends that over a real socket, in OpenAI's wire form,
streamed or whole. The example itself talks to it through the real openai SDK, and does not know:

    def script(asked: Asked) -> Reply:
        if asked.results:
            return f"It is {asked.results[-1]}."
        return [Call("now", {"city": "Delft"})]

    with chat_model(None, script) as model:             # scripted
        ...
    with chat_model("openai:gpt-5", script) as model:   # a real one; the script is not used
        ...

A script sees the whole conversation and keeps nothing, so any process may go on with any thread.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any, TypeAlias
from uuid import uuid4

from plait.chat_models import init_chat_model

NAME = "scripted-answers"
"""What the model is called, wherever a model's name is shown."""


@dataclass(frozen=True)
class Call:
    """A tool call that a script makes."""

    name: str
    args: dict[str, Any]


Reply: TypeAlias = str | dict[str, Any] | Sequence[Call]
"""What a script says: a text, an object (sent as JSON, for structured answers), or tool calls."""


@dataclass(frozen=True)
class Asked:
    """One request, as a script sees it."""

    messages: list[dict[str, Any]]
    """The whole conversation, in OpenAI's form."""
    tools: list[str]
    """The names of the tools that may be called."""
    schema: dict[str, Any] | None
    """The JSON schema that the answer must have."""

    @property
    def system(self) -> str:
        """The system prompt."""
        return next((m["content"] for m in self.messages if m["role"] == "system"), "")

    @property
    def user(self) -> str:
        """What the user said last."""
        return next((m["content"] for m in reversed(self.messages) if m["role"] == "user"), "")

    @property
    def results(self) -> list[str]:
        """What the tools have answered since the user spoke last."""
        found: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "user":
                break
            if message["role"] == "tool":
                found.insert(0, message["content"])
        return found


Script: TypeAlias = Callable[[Asked], Reply]


def model_option(parser: argparse.ArgumentParser) -> None:
    """Let the command line choose a real model."""
    parser.add_argument(
        "--model", metavar="PROVIDER:NAME", help="a real model; without it: scripted answers"
    )


@contextmanager
def chat_model(name: str | None, script: Script) -> Generator[Any]:
    """A chat model: the real one of this name, else one that the script speaks for.

    Args:
        name: "provider:name", or None.
        script: What is said to what.

    Raises:
        SystemExit: There is no openai SDK to ask the script through.
    """
    if name is not None:
        yield init_chat_model(name)
        return
    if find_spec("openai") is None:
        sys.exit("The script is asked through the openai SDK. Install it: pip install openai")
    print(f"[{NAME}: no model, a script speaks; --model PROVIDER:NAME for one]", file=sys.stderr)
    with serve(script) as url:
        yield init_chat_model(f"openai:{NAME}", base_url=url, api_key="none needed", max_retries=0)


@contextmanager
def serve(script: Script) -> Generator[str]:
    """Speak OpenAI's chat completions on a free port of this machine; gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                message = _message(script(_asked(body)))
            except Exception as error:  # whoever runs the example sees what its script did
                self._send({"error": {"message": f"The script failed: {error!r}"}}, status=500)
                return
            if body.get("stream"):
                self._stream(_chunks(message))
            else:
                self._send(_whole(message))

        def _send(self, body: Any, status: int = 200) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, events: Iterator[Any]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in events:
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass  # an example's output is its own

    return Handler


# --- OpenAI's wire form --------------------------------------------------------------------------


def _asked(body: dict[str, Any]) -> Asked:
    form: dict[str, Any] = body.get("response_format") or {}
    return Asked(
        [{**message, "content": _text(message.get("content"))} for message in body["messages"]],
        [tool["function"]["name"] for tool in body.get("tools") or ()],
        form.get("json_schema", {}).get("schema"),
    )


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _message(reply: Reply) -> dict[str, Any]:
    if isinstance(reply, dict):
        reply = json.dumps(reply)
    if isinstance(reply, str):
        return {"role": "assistant", "content": reply}
    calls = [
        {
            "id": f"call_{uuid4().hex[:8]}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.args)},
        }
        for call in reply
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _why(message: dict[str, Any]) -> str:
    return "tool_calls" if "tool_calls" in message else "stop"


def _whole(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": _why(message), "logprobs": None}
    return {**_head("chat.completion", _new_id()), "choices": [choice], "usage": _usage(message)}


def _chunks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message in pieces: word by word, or call by call."""
    head = _head("chat.completion.chunk", _new_id())

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**head, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for word in re.findall(r"\s*\S+\s*$|\s*\S+", message["content"] or ""):
        yield chunk({"content": word})
    for index, call in enumerate(message.get("tool_calls", ())):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, _why(message))
    yield {**head, "choices": [], "usage": _usage(message)}


def _new_id() -> str:
    return f"chatcmpl-{uuid4().hex[:12]}"


def _head(kind: str, id: str) -> dict[str, Any]:
    return {"id": id, "object": kind, "created": 0, "model": NAME}


def _usage(message: dict[str, Any]) -> dict[str, int]:
    said = len((message["content"] or "").split())
    return {"prompt_tokens": 0, "completion_tokens": said, "total_tokens": said}
