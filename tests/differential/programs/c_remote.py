"""RemoteGraph over a client that records what it is asked and says what it is told to."""

from collections import namedtuple

from langgraph.graph import START, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.types import Command, StateUpdate
from typing_extensions import TypedDict

Event = namedtuple("Event", "event data id")

CHECKPOINT = {
    "thread_id": "t",
    "checkpoint_ns": "",
    "checkpoint_id": "c1",
    "checkpoint_map": {},
}
STATE = {
    "values": {"a": 1},
    "next": ["n"],
    "checkpoint": CHECKPOINT,
    "metadata": {"step": 1},
    "created_at": "2026-01-01T00:00:00+00:00",
    "parent_checkpoint": {**CHECKPOINT, "checkpoint_id": "c0"},
    "tasks": [
        {
            "id": "i",
            "name": "n",
            "error": None,
            "interrupts": [{"value": "q", "id": "qid"}],
            "checkpoint": None,
            "state": None,
            "result": None,
        },
        {
            "id": "j",
            "name": "m",
            "error": None,
            "interrupts": [],
            "checkpoint": {**CHECKPOINT, "checkpoint_ns": "m:1"},
            "state": None,
        },
    ],
    "interrupts": [{"value": "q", "id": "qid"}],
}
EVENTS = [
    ("metadata", {"run_id": "1"}),
    ("values", {"a": 1}),
    ("updates", {"n": {"a": 1}}),
    ("updates|sub:1", {"n": {"b": 1}}),
    ("values|sub:1", {"b": 1}),
    ("custom", "x"),
    ("messages", [{"content": "h", "type": "ai"}, {"m": 1}]),
]
QUESTION = [("values", {"a": 1}), ("updates", {"__interrupt__": [{"value": "q", "id": "i"}]})]
CONFIG = {
    "configurable": {"thread_id": "t", "user": "u", "fn": print},
    "tags": ["x"],
    "metadata": {"m": 1, "o": object(), "deep": {"l": (1, print)}},
    "recursion_limit": 7,
}


class Part:
    """One of a client's parts: runs, threads, assistants."""


class Client:
    """A sync client."""

    def __init__(self, events=EVENTS):
        self.asked = []
        self.events = [Event(*event, None) for event in events]
        self.runs, self.threads, self.assistants = Part(), Part(), Part()
        self.runs.stream = self.answers("stream", lambda: iter(self.events))
        self.threads.get_state = self.answers("get_state", lambda: STATE)
        self.threads.get_history = self.answers("get_history", lambda: [STATE, STATE])
        new = {"checkpoint": {**CHECKPOINT, "checkpoint_id": "c2"}}
        self.threads.update_state = self.answers("update_state", lambda: new)
        nodes = [
            {"id": "__start__", "type": "schema", "data": "__start__"},
            {"id": "n", "type": "runnable", "data": {"id": ["x"], "name": "N"}},
        ]
        drawn = {"nodes": nodes, "edges": [{"source": "__start__", "target": "n"}]}
        self.assistants.get_graph = self.answers("get_graph", lambda: drawn)

    def answers(self, name, answer):
        def call(**asked):
            self.asked.append((name, asked))
            return answer()

        return call


class AsyncClient(Client):
    """An async client."""

    def answers(self, name, answer):
        async def stream():
            for event in answer():
                yield event

        async def one():
            return answer()

        def call(**asked):
            self.asked.append((name, asked))
            return stream() if name == "stream" else one()

        return call


def remote(events=EVENTS, **given):
    client = Client(events)
    return RemoteGraph("helper", sync_client=client, **given), client


def plain(part):
    return (part.event, part.data) if hasattr(part, "event") else part


def asked_modes(asked):
    name, request = asked
    return name, {**request, "stream_mode": sorted(set(request["stream_mode"]))}


def case_streams(env):
    def streamed(**given):
        app, client = remote()
        return [plain(p) for p in app.stream({"q": 1}, CONFIG, **given)], asked_modes(
            client.asked[0]
        )

    return [
        streamed(),
        streamed(stream_mode="values"),
        streamed(stream_mode=["values", "updates"]),
        streamed(stream_mode=["messages", "custom"]),
        streamed(stream_mode="messages"),
        streamed(stream_mode=["values", "updates"], subgraphs=True),
        streamed(stream_mode="updates", subgraphs=True),
        streamed(stream_mode=["values", "updates"], version="v2"),
        streamed(stream_mode="values", version="v2", subgraphs=True),
        streamed(stream_mode="debug"),
        streamed(interrupt_before=["n"], interrupt_after="*", durability="exit"),
        streamed(context={"u": 1}, headers={"h": "1"}, params={"p": 1}),
    ]


def case_invoke(env):
    def invoked(given, config, events=EVENTS, **more):
        app, client = remote(events)
        return app.invoke(given, config, **more), asked_modes(client.asked[0])

    return [
        invoked({"q": 1}, CONFIG),
        invoked({"q": 1}, None),
        invoked({"q": 1}, {"configurable": {}}),
        invoked(None, CONFIG),
        invoked(Command(resume=5, goto="m", update={"z": 1}), CONFIG),
        invoked({"q": 1}, CONFIG, QUESTION),
        invoked({"q": 1}, CONFIG, ()),
        invoked({"q": 1}, CONFIG, version="v2"),
    ]


def case_run_from_a_checkpoint(env):
    app, client = remote()
    app.invoke(None, {"configurable": {"thread_id": "t", "checkpoint_id": "c1"}})
    return client.asked[0][1].get("checkpoint")


def case_errors(env):
    failing, _ = remote([("error", {"error": "E", "message": "m"})])
    nobody = RemoteGraph("helper")
    app, _ = remote()
    return [
        env.error(lambda: failing.invoke({}, CONFIG)),
        env.error(lambda: nobody.invoke({}, CONFIG)),
        env.error(lambda: nobody.get_state(CONFIG)),
        env.error(lambda: app.get_state({"configurable": {}})),
        env.error(lambda: app.bulk_update_state(CONFIG, [[StateUpdate({"a": 1}, "n")]])),
        issubclass(RemoteException, Exception),
    ]


def case_threads(env):
    app, client = remote()
    there = {"configurable": {"thread_id": "t", "checkpoint_id": "c1"}}
    results = [
        app.get_state(CONFIG),
        app.get_state(there, subgraphs=True),
        list(app.get_state_history(CONFIG, filter={"a": 1}, before=there, limit=3)),
        len(list(app.get_state_history(there))),
        app.update_state(CONFIG, {"a": 2}, as_node="n"),
        app.update_state(there, None),
    ]
    return results, client.asked


async def case_async(env):
    client = AsyncClient()
    app = RemoteGraph("helper", client=client)
    results = [
        [plain(p) async for p in app.astream({}, CONFIG, stream_mode=["values", "custom"])],
        await app.ainvoke({}, CONFIG),
        await app.aget_state(CONFIG),
        [s.values async for s in app.aget_state_history(CONFIG)],
        await app.aupdate_state(CONFIG, {"a": 1}),
        len((await app.aget_graph()).nodes),
        await env.aerror(RemoteGraph("helper").ainvoke({}, CONFIG)),
    ]
    return results, [name for name, _ in client.asked]


def case_picture(env):
    app, client = remote()
    drawn = app.get_graph(xray=2)
    nodes = {name: (node.id, node.name) for name, node in drawn.nodes.items()}
    return nodes, [tuple(edge) for edge in drawn.edges], client.asked


def case_attributes(env):
    app, _ = remote(config={"tags": ["a"], "configurable": {"k": 1}})
    other, _ = remote(name="other")
    return [
        (app.name, app.assistant_id, app.get_name(), other.name, other.get_name()),
        app.with_config(configurable={"thread_id": "9"}).config["configurable"],
        app.with_config({"tags": ["b"]}).config["tags"],
        app.copy({"name": "z"}).name,
    ]


CONFIGS = (
    {"tags": ["b", "a"]}, {"metadata": {"a": 1}}, {"recursion_limit": 25}, {"configurable": {}}, {},
)  # fmt: skip


def case_configs_of_a_graph(env):
    local = StateGraph(State).add_node("n", lambda state: state).add_edge(START, "n").compile()
    made = [app.with_config(config) for app in (remote()[0], local) for config in CONFIGS]
    return [(app.config, app.with_config(tags=["z"]).config) for app in made]


def case_inside_of_a_node(env):
    app, client = remote(name="far")
    graph = StateGraph(State).add_node("far", app).add_edge(START, "far").compile()
    return [sorted(graph.get_graph(xray=xray).nodes) for xray in (False, True)], client.asked


def told_with_the_state():
    """A question that the server tells with the state, too, as servers do."""
    asked = {"__interrupt__": [{"value": "q", "id": "i"}]}
    return [("values", {"a": 1}), ("updates", asked), ("values", {"a": 1, **asked})]


def case_questions_in_version_two(env):
    def app():
        return remote(told_with_the_state())[0]

    streamed = [
        list(app().stream({"q": 1}, CONFIG, stream_mode=mode, version="v2"))
        for mode in ("values", ["values", "updates"])
    ]
    return streamed, app().invoke({"q": 1}, CONFIG, version="v2"), app().invoke({"q": 1}, CONFIG)


def case_questions_that_come_with_no_state(env):
    app, _ = remote(QUESTION)
    return app.invoke({"q": 1}, CONFIG, version="v2").interrupts


def case_projections_of_a_run_with_a_context(env):
    app, _ = remote()
    return env.error(lambda: bool(app.stream_events({}, CONFIG, version="v3", context={"u": 1})))


def case_what_streams_of_version_three_refuse(env):
    app, _ = remote()
    return [
        env.error(lambda: app.stream_events({}, CONFIG)),
        env.error(lambda: RemoteGraph("helper").stream_events({}, CONFIG, version="v3").output),
    ]


class State(TypedDict, total=False):
    a: int


def case_as_a_node(env):
    app, client = remote(name="far")
    builder = StateGraph(State)
    builder.add_node("far", app)
    builder.add_edge(START, "far")
    graph = builder.compile()
    modes = ["values", "updates"]
    parts = list(graph.stream({"a": 0}, stream_mode=modes, subgraphs=True))
    shown = [([level.split(":")[0] for level in ns], mode, part) for ns, mode, part in parts]
    return shown, client.asked[0][1]["stream_subgraphs"], graph.invoke({"a": 0})


def case_question_of_a_node(env):
    app, _ = remote(QUESTION, name="far")
    builder = StateGraph(State)
    builder.add_node("far", app)
    builder.add_edge(START, "far")
    graph = builder.compile(env.saver())
    config = {"configurable": {"thread_id": "1"}}
    asked = graph.invoke({"a": 0}, config)["__interrupt__"]
    return [(i.value, i.id) for i in asked], graph.get_state(config).next


def case_questions_of_a_node(env):
    """Each waiting task of the remote run tells its question in a part of its own."""
    more = ("updates", {"__interrupt__": [{"value": "r", "id": "j"}]})
    app, _ = remote([*QUESTION, more], name="far")
    builder = StateGraph(State)
    builder.add_node("far", app)
    builder.add_edge(START, "far")
    graph = builder.compile(env.saver())
    asked = graph.invoke({"a": 0}, {"configurable": {"thread_id": "1"}})["__interrupt__"]
    return [i.value for i in asked]


def case_breakpoint_of_a_node(env):
    app, _ = remote([("values", {"a": 1}), ("updates", {"__interrupt__": []})], name="far")
    builder = StateGraph(State)
    builder.add_node("far", app)
    builder.add_edge(START, "far")
    graph = builder.compile(env.saver())
    config = {"configurable": {"thread_id": "1"}}
    return graph.invoke({"a": 0}, config), graph.get_state(config).next
