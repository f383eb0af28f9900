"""RemoteGraph: streams of version "v3", from a server on loopback that speaks both protocols.

LangGraph's graph starts a run by a command and hears its events beside it; plait's reads the answer
to the request that starts it. A program that reads the run does not see the difference.
"""

import json
import operator
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph

THREAD = {"configurable": {"thread_id": "11111111-1111-1111-1111-111111111111"}}


class Server(ThreadingHTTPServer):
    """Serves one graph, and keeps the events of its run."""

    daemon_threads = True

    def __init__(self, graph):
        super().__init__(("127.0.0.1", 0), Handler)
        self.graph, self.events, self.state = graph, [], None
        self.changed = threading.Condition()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def add(self, method, data, namespace=()):
        params = {"namespace": list(namespace), "timestamp": 0, "data": data}
        with self.changed:
            seq = len(self.events) + 1
            event = {"type": "event", "event_id": str(seq), "seq": seq, "method": method}
            self.events.append({**event, "params": params})
            self.changed.notify_all()

    def run(self, asked):
        """A run that was started by a command."""
        try:
            run = self.graph.stream_events(asked["input"], asked["config"], version="v3")
            for event in run:
                params, data = event["params"], event["params"]["data"]
                data = data[0] if event["method"] == "messages" else data
                self.add(event["method"], data, params["namespace"])
            self.state = run.output
            self.add("lifecycle", {"event": "completed"})
        except Exception as error:
            self.add("lifecycle", {"event": "failed", "error": str(error)})


class Handler(BaseHTTPRequestHandler):
    """Answers both protocols."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        thread = {"checkpoint": {"thread_id": "t"}, "next": [], "tasks": [], "metadata": {}}
        self.answer({**thread, "values": self.server.state})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            if self.path.endswith("/commands"):
                run = threading.Thread(target=self.server.run, args=(asked["params"],), daemon=True)
                run.start()
                self.answer({"type": "success", "id": asked["id"], "result": {"run_id": "r"}})
            elif self.path.endswith("/stream/events"):
                self.begin("text/event-stream")
                self.tell_events(asked["channels"])
            else:
                self.begin("text/event-stream")
                self.tell_run(asked)
        except OSError:
            pass  # the reader has left

    def answer(self, value):
        self.begin("application/json")
        self.wfile.write(json.dumps(value, default=plain).encode())

    def begin(self, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()

    def tell(self, name, data):
        self.wfile.write(f"event: {name}\ndata: {json.dumps(data, default=plain)}\n\n".encode())
        self.wfile.flush()

    def tell_events(self, channels):
        events, told = self.server.events, 0
        while True:
            with self.server.changed:
                self.server.changed.wait_for(lambda: len(events) > told)
            event = events[told]
            told += 1
            if event["method"] in channels:
                self.tell("message", event)
            if event["method"] == "lifecycle":
                return  # the run is over

    def tell_run(self, asked):
        try:
            for ns, mode, data in self.server.graph.stream(
                asked["input"],
                {**asked.get("config", {}), **THREAD},
                stream_mode=[m.removesuffix("-tuple") for m in asked["stream_mode"]],
                subgraphs=True,
            ):
                self.tell("|".join((mode, *ns)), data)
        except Exception as error:
            self.tell("error", {"error": type(error).__name__, "message": str(error)})


def plain(value):
    """What a server makes of a value that JSON does not know."""
    return value.model_dump() if hasattr(value, "model_dump") else str(value)


@contextmanager
def served(graph):
    server = Server(graph)
    try:
        yield RemoteGraph("helper", url=f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()


class Numbers(TypedDict):
    n: Annotated[list, operator.add]


def one_node(schema, code):
    builder = StateGraph(schema)
    builder.add_node("node", code)
    builder.add_edge(START, "node")
    return builder.compile()


def counting():
    return one_node(Numbers, lambda state: {"n": [1]})


def talking():
    model = GenericFakeChatModel(messages=iter([AIMessage("One two.", id="1")]))
    return one_node(MessagesState, lambda state: {"messages": [model.invoke("go")]})


def failing():
    def boom(state):
        raise ValueError("boom")

    return one_node(Numbers, boom)


def case_output(env):
    with (
        served(counting()) as app,
        app.stream_events({"n": [0]}, THREAD, version="v3") as run,
    ):
        return run.output


async def case_output_async(env):
    with served(counting()) as app:
        async with await app.astream_events({"n": [0]}, THREAD, version="v3") as run:
            return await run.output()


def case_messages(env):
    with (
        served(talking()) as app,
        app.stream_events({"messages": []}, THREAD, version="v3") as run,
    ):
        return [str(message.text) for message in run.messages]


async def case_messages_async(env):
    with served(talking()) as app:
        async with await app.astream_events({"messages": []}, THREAD, version="v3") as run:
            messages = [message async for message in run.messages]
            return [await message.text for message in messages]


def case_several_projections(env):
    with (
        served(talking()) as app,
        app.stream_events({"messages": []}, THREAD, version="v3") as run,
    ):
        return [name for name, _ in run.interleave("values", "messages")]


def case_a_run_that_fails(env):
    with (
        served(failing()) as app,
        app.stream_events({"n": []}, THREAD, version="v3") as run,
    ):
        return env.error(lambda: run.output)


async def case_a_run_that_fails_async(env):
    with served(failing()) as app:
        async with await app.astream_events({"n": []}, THREAD, version="v3") as run:
            return await env.aerror(run.output())
