"""A provider on loopback: a real HTTP server that answers as scripted, and records what it heard.

The official SDKs talk to it over real sockets. A test queues replies in the provider's own wire
form; each request takes the next one:

    wire.answer({...})                         a JSON body
    wire.stream([{...}, ...])                  server-sent events (see `Stream` for how they end)
    wire.fail(429, {"error": {...}}, {"retry-after": "7"})

`wire.requests` is what came: path, headers, and the JSON body.
"""

import json
import socket
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """A whole answer."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Stream:
    """A streamed answer.

    `named` sends the event's type as its name, as Anthropic and the responses API do; `done` is a
    last line that is no JSON; `broken` cuts the connection instead of ending the stream; `hold` is
    waited for before the event of that number, and `heard` is set when all before it are sent.
    """

    events: list[Any]
    named: bool = False
    done: str | None = None
    broken: bool = False
    hold: dict[int, threading.Event] = field(default_factory=dict)


@dataclass
class Silence:
    """No answer until `until` is set."""

    until: threading.Event


@dataclass
class Request:
    """What came."""

    path: str
    headers: dict[str, str]
    body: Any


class Wire:
    """The server, its script and its record."""

    def __init__(self) -> None:
        self.replies: deque[Any] = deque()
        self.requests: list[Request] = []
        self.ended = threading.Event()
        wire = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                wire._serve(self)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # --- the script ---

    def answer(self, body: Any) -> None:
        self.replies.append(Reply(body))

    def fail(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.replies.append(Reply(body, status, headers or {}))

    def stream(self, events: list[Any], **how: Any) -> Stream:
        self.replies.append(Stream(events, **how))
        return self.replies[-1]

    def chat(self, chunks: list[Any], **how: Any) -> Stream:
        """A stream of chat completions."""
        return self.stream(chunks, **{"done": "[DONE]", **how})

    def silence(self) -> None:
        """Never answers while the test runs."""
        self.replies.append(Silence(self.ended))

    @property
    def last(self) -> Any:
        """The body of the last request."""
        return self.requests[-1].body

    # --- serving ---

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("content-length") or 0)
        body = json.loads(handler.rfile.read(length) or b"null")
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append(Request(handler.path, headers, body))
        missing = Reply({"error": {"message": "The script has no reply left."}}, 418)
        reply = self.replies.popleft() if self.replies else missing
        try:
            match reply:
                case Reply():
                    self._send(handler, reply)
                case Stream():
                    self._send_stream(handler, reply)
                case Silence():
                    reply.until.wait()
                    handler.close_connection = True
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True  # the client has gone: some tests want it to

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        data = json.dumps(reply.body).encode()
        handler.send_response(reply.status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def _send_stream(self, handler: BaseHTTPRequestHandler, reply: Stream) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for index, event in enumerate(reply.events):
            if index in reply.hold:
                reply.hold[index].wait()
            name = f"event: {event['type']}\n" if reply.named else ""
            self._chunk(handler, f"{name}data: {json.dumps(event)}\n\n")
        if reply.broken:
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        if reply.done is not None:
            self._chunk(handler, f"data: {reply.done}\n\n")
        handler.wfile.write(b"0\r\n\r\n")

    def _chunk(self, handler: BaseHTTPRequestHandler, text: str) -> None:
        data = text.encode()
        handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        handler.wfile.flush()
