"""A server of graphs on loopback, as far as `RemoteGraph` needs one: it runs a graph and tells it.

It speaks `POST [/threads/{id}]/runs/stream` with server-sent events; the clients of langgraph_sdk
talk to it over real sockets. `requests` is what it was asked, `left` is set when somebody hung up.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from plait.errors import GraphBubbleUp
from plait.types import Command, Interrupt

ON_THE_WIRE = {"messages-tuple": "messages"}


class GraphServer(ThreadingHTTPServer):
    """Serves one graph."""

    daemon_threads = True

    def __init__(self, graph: Any) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.graph = graph
        self.requests: list[dict[str, Any]] = []
        self.left = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Runs the graph for each request."""

    server: GraphServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append({**asked, "path": self.path, "key": self.headers["x-api-key"]})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            self.tell("metadata", {"run_id": "r1"})
            self.run(asked)
        except (BrokenPipeError, ConnectionResetError):
            self.server.left.set()
        except (Exception, GraphBubbleUp) as error:
            self.tell("error", {"error": type(error).__name__, "message": str(error)})

    def run(self, asked: dict[str, Any]) -> None:
        parts = self.path.split("/")
        configurable = {**asked.get("config", {}).get("configurable", {})}
        if parts[1] == "threads":
            configurable["thread_id"] = parts[2]
        command = asked.get("command")
        given = asked.get("input") if command is None else Command(resume=command["resume"])
        modes = [ON_THE_WIRE.get(mode, mode) for mode in asked["stream_mode"]]
        config = {**asked.get("config", {}), "configurable": configurable}
        for ns, mode, data in self.server.graph.stream(
            given,
            config,
            context=asked.get("context"),
            stream_mode=modes,
            interrupt_before=asked.get("interrupt_before"),
            subgraphs=True,
        ):
            if ns and not asked["stream_subgraphs"]:
                continue
            self.tell("|".join((mode, *ns)), data)

    def tell(self, event: str, data: Any) -> None:
        self.wfile.write(f"event: {event}\ndata: {json.dumps(data, default=plain)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        pass


def plain(value: Any) -> Any:
    """What a server makes of a value that JSON does not know."""
    if isinstance(value, Interrupt):
        return {"value": value.value, "id": value.id}
    return str(value) if isinstance(value, Exception) else value.model_dump()


@contextmanager
def served(graph: Any) -> Iterator[GraphServer]:
    """A server of a graph, for a while."""
    server = GraphServer(graph)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


__all__ = ["GraphServer", "served"]
