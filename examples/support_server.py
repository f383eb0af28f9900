"""The support agent behind HTTP: any number of servers over one database, none of them special.

    POST /threads/ID/messages   {"text": "..."}             a customer writes
    GET  /threads/ID                                        what was said, and what waits
    POST /threads/ID/answers    {QUESTION: {"type": ...}}   a person answers questions

A server holds nothing between two requests. Each answer is the conversation: `says` is the agent's
last message, `questions` are those that wait, by id. What cannot be done has the error's name:
409 for an answer that comes too late and for a thread that another server is working on, 422 for
one that does not fit its question, which stays open, 400 for a request that is none, 502 for a
model that fails.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from plait.errors import InvalidAnswerError, ModelError, ThreadBusyError, UnknownInterruptError
from plait.types import Command

REFUSALS: dict[type[Exception], int] = {
    UnknownInterruptError: 409,
    ThreadBusyError: 409,
    InvalidAnswerError: 422,
    ModelError: 502,
}


def serve(agent: Any, port: int) -> None:
    """Serve until the process ends; tells its address on stdout first."""
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler_of(agent))
    except OSError as error:
        raise OSError(f"No server at port {port}: {error.strerror}. 0 takes a free one.") from error
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


def write(agent: Any, thread: str, text: str) -> None:
    """A customer writes."""
    agent.invoke({"messages": [{"role": "user", "content": text}]}, config_of(thread))


def answer(agent: Any, thread: str, answers: dict[str, Any]) -> None:
    """A person answers questions, by their ids."""
    agent.invoke(Command(resume=answers), config_of(thread))


def conversation(agent: Any, thread: str) -> dict[str, Any]:
    """A thread as it stands."""
    state = agent.get_state(config_of(thread))
    said = state.values.get("messages", [])
    return {
        "says": said[-1].text if said and said[-1].type == "ai" else "",
        "questions": {question.id: question.value for question in state.interrupts},
    }


def config_of(thread: str) -> Any:
    """The config of a conversation."""
    return {"configurable": {"thread_id": thread}}


def handler_of(agent: Any) -> type[BaseHTTPRequestHandler]:
    """What answers the requests about the conversations of an agent."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._do(None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"] or 0))
            try:
                self._do(json.loads(body))
            except json.JSONDecodeError as error:
                self._send(400, {"error": "BadRequest", "message": f"no JSON: {error}"})

        def _do(self, body: Any) -> None:
            match self.path.split("/")[1:], body:
                case ["threads", thread], None:
                    action = None
                case ["threads", thread, "messages"], {"text": str(text)}:
                    action = write, text
                case ["threads", thread, "answers"], dict(answers):
                    action = answer, answers
                case ["threads", _, "messages" | "answers" as what], _:
                    self._send(400, {"error": "BadRequest", "message": f"no {what}: {body!r:.80}"})
                    return
                case _:
                    self._send(404, {"error": "NotFound", "message": self.path})
                    return
            try:
                if action is not None:
                    action[0](agent, thread, action[1])
                self._send(200, conversation(agent, thread))
            except tuple(REFUSALS) as error:
                status = next(code for kind, code in REFUSALS.items() if isinstance(error, kind))
                self._send(status, {"error": type(error).__name__, "message": str(error)})

        def _send(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
