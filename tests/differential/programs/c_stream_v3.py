"""Streams of version "v3": projections, nested runs, messages, transformers; sync and async."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph, add_messages
from langgraph.prebuilt import ToolCallTransformer, ToolNode, ToolRuntime
from langgraph.stream import (
    CheckpointsTransformer,
    CustomTransformer,
    DebugTransformer,
    StreamChannel,
    StreamTransformer,
    TasksTransformer,
    UpdatesTransformer,
)
from langgraph.types import Command, RetryPolicy, Send, interrupt


class State(TypedDict):
    messages: Annotated[list, add_messages]
    n: Annotated[list, operator.add]


def one(state):
    return {"n": [1]}


def two(state):
    get_stream_writer()({"custom": 2})
    return {"n": [2]}


async def aone(state):
    return {"n": [1]}


async def atwo(state):
    get_stream_writer()({"custom": 2})
    return {"n": [2]}


def ask(state):
    return {"n": [interrupt("how many?")]}


def boom(state):
    raise ValueError("boom")


def chain(*nodes, **compiled):
    """A graph of nodes in a row: functions, or pairs of name and node."""
    builder = StateGraph(State)
    before = START
    for node in nodes:
        name, code = node if isinstance(node, tuple) else (node.__name__, node)
        builder.add_node(name, code)
        builder.add_edge(before, name)
        before = name
    return builder.compile(**compiled)


def start(graph, config=None, given=None, **kwargs):
    return graph.stream_events(given or {"n": []}, config, version="v3", **kwargs)


async def astart(graph, config=None, given=None, **kwargs):
    return await graph.astream_events(given or {"n": []}, config, version="v3", **kwargs)


def told(event):
    """An event without its time, and without what each side tells tracers."""
    assert event["type"] == "event", event
    params = event["params"]
    assert isinstance(params["timestamp"], int)
    data = params["data"]
    if event["method"] == "messages":
        said, about = data
        data = said, {k: v for k, v in about.items() if k.startswith("langgraph_")}
        assert "run_id" in about or not isinstance(said, dict)
    return event.get("seq"), event["method"], params["namespace"], params.get("interrupts"), data


def states(values):
    return [value["n"] for value in values]


async def collected(stream):
    return [item async for item in stream]


THREAD = {"configurable": {"thread_id": "1"}}


# --- runs ------------------------------------------------------------


def case_events_of_a_run(env):
    return [told(event) for event in start(chain(one, two))]


async def case_events_of_a_run_async(env):
    return [told(event) async for event in await astart(chain(aone, atwo))]


def case_events_of_nested_runs(env):
    inner = chain(one)
    graph = chain(one, ("mid", chain(("inner", inner), two)))
    run = start(graph, transformers=[CustomTransformer])
    return [told(event) for event in run], run.output


async def case_events_of_nested_runs_async(env):
    graph = chain(aone, ("mid", chain(("inner", chain(aone)), atwo)))
    run = await astart(graph, transformers=[CustomTransformer])
    return [told(event) async for event in run], await run.output()


def case_nothing_runs_before_it_is_read(env):
    ran = []

    def note(state):
        ran.append(1)
        return {"n": [1]}

    run = start(chain(note))
    before = list(ran)
    return before, run.output, run.output, ran, run.interrupted, run.interrupts


def case_projections_of_a_run(env):
    run = start(chain(one))
    return sorted(run.extensions), run.extensions["values"] is run.values


def case_values(env):
    run = start(chain(one, two))
    values = states(run.values)
    return values, env.error(lambda: list(run.values)), list(run.messages), list(run.lifecycle)


def case_each_mode(env):
    kinds = {
        "updates": UpdatesTransformer,
        "custom": CustomTransformer,
        "tasks": TasksTransformer,
        "checkpoints": CheckpointsTransformer,
        "debug": DebugTransformer,
    }
    found = {}
    for name, kind in kinds.items():
        graph = chain(one, ("sub", chain(two)), two, checkpointer=env.saver())
        config = {"configurable": {"thread_id": name}}
        found[name] = list(getattr(start(graph, config, transformers=[kind]), name))
    return found


async def case_each_mode_async(env):
    found = {}
    for name, kind in {"updates": UpdatesTransformer, "custom": CustomTransformer}.items():
        run = await astart(chain(aone, atwo), transformers=[kind])
        found[name] = await collected(getattr(run, name))
    return found


def case_a_projection_without_its_transformer(env):
    run = start(chain(one))
    return env.error(lambda: run.updates), env.error(lambda: run.nothing_like_it)


def case_tee(env):
    run = start(chain(one, two))
    left, right = run.values.tee()
    first = next(left)["n"]
    return first, states(right), states(left), env.error(lambda: run.values.tee(0))


async def case_atee(env):
    run = await astart(chain(aone, atwo))
    left, right = run.values.atee(2)
    return states(await collected(left)), states(await collected(right))


def case_interleave(env):
    run = start(chain(one, ("sub", chain(one)), two))
    first = list(run.interleave("values", "lifecycle"))
    again = start(chain(one, two))
    pairs = again.interleave("values", "messages")
    head = next(pairs)
    busy = env.error(lambda: list(again.values))
    pairs.close()
    rest = states(again.values)
    return first, head, busy, rest, env.error(lambda: list(run.interleave("nothing")))


def case_stopped_runs(env):
    ran = []

    def note(state):
        ran.append(len(state["n"]))
        return {"n": [0]}

    graph = chain(("a", note), ("b", note), ("c", note))
    run = start(graph)
    values = iter(run.values)
    head = [next(values)["n"], next(values)["n"]]
    run.abort()
    run.abort()
    with start(graph) as left:
        for _ in left.values:
            break
    return head, states(values), run.output, run.interrupted, left.output, ran


async def case_stopped_runs_async(env):
    seen = []

    async def forever(state):
        seen.append("began")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    graph = chain(aone, forever)
    run = await astart(graph)
    async for value in run.values:
        if value["n"]:
            break
    waiting = asyncio.create_task(run.output())
    while not seen:
        await asyncio.sleep(0)
    await run.abort()
    async with await astart(graph) as left:
        async for _ in left.values:
            break
    return await waiting, await run.output(), await left.output(), seen


async def case_consumers_at_once(env):
    run = await astart(chain(aone, ("sub", chain(aone)), atwo))

    async def nested():
        return [(s.graph_name, states(await collected(s.values))) async for s in run.subgraphs]

    found = await asyncio.gather(
        collected(run.values), collected(run.lifecycle), nested(), run.output()
    )
    return found, await run.interrupted(), await run.interrupts()


def case_wrong_arguments(env):
    graph = chain(one)
    return [
        env.error(lambda: start(graph, stream_mode="values")),
        env.error(lambda: start(graph, subgraphs=True)),
        env.error(lambda: graph.stream_events({"n": []})),
        env.error(lambda: graph.stream_events({"n": []}, version="v1")),
    ]


async def case_wrong_arguments_async(env):
    graph = chain(aone)
    run = await astart(graph)
    return [
        await env.aerror(astart(graph, stream_mode="values")),
        env.error(lambda: list(run.values)),
        env.error(lambda: list(run)),
    ]


async def case_version_2_is_the_default(env):
    return [event["event"] async for event in chain(aone).astream_events({"n": []})]


def case_entrypoints(env):
    @entrypoint()
    def double(n):
        get_stream_writer()("doubling")
        return n * 2

    run = start(double, given=4, transformers=[CustomTransformer])
    return [told(event) for event in run], run.output


def case_a_run_inside_a_node(env):
    inner = chain(one, two)
    seen = []

    def node(state):
        run = start(inner, given={"n": [7]})
        seen.append(states(run.values))
        seen.append(run.output)
        return {"n": [5]}

    return start(chain(node)).output, seen


def case_two_runs_inside_a_node(env):
    """The peer reads the second under the namespace of the first, and finds nothing."""
    inner = chain(one)
    seen = []

    def node(state):
        seen.append(start(inner, given={"n": [7]}).output)
        seen.append(start(inner, given={"n": [8]}).output)
        return {"n": [5]}

    chain(node).invoke({"n": []})
    return seen


async def case_transformers_of_version_2(env):
    """The peer takes no notice of them."""
    events = chain(aone).astream_events({"n": []}, transformers=[Watcher])
    return [event["event"] async for event in events]


# --- questions and errors ------------------------------------------------------------


def case_questions(env):
    graph = chain(one, ask, checkpointer=env.saver())
    run = start(graph, THREAD)
    events = [told(event) for event in run]
    asked = run.interrupted, run.interrupts, run.output
    done = start(graph, THREAD, Command(resume=5))
    return events, asked, done.interrupted, done.interrupts, done.output


async def case_questions_async(env):
    async with env.asaver() as saver:
        graph = chain(aone, ask, checkpointer=saver)
        run = await astart(graph, THREAD)
        asked = await run.interrupted(), await run.interrupts(), await run.output()
        done = await astart(graph, THREAD, Command(resume=5))
        return asked, await done.output()


def case_questions_of_nested_runs(env):
    graph = chain(("sub", chain(ask)), checkpointer=env.saver())
    events = [told(event) for event in start(graph, THREAD)]
    found = []
    for nested in start(graph, {"configurable": {"thread_id": "2"}}).subgraphs:
        found += [nested.status, nested.output, nested.status, nested.interrupts, nested.error]
    return events, found


def case_breakpoints(env):
    graph = chain(one, two, checkpointer=env.saver())
    run = start(graph, THREAD, interrupt_before=["two"])
    return run.output, run.interrupted, run.interrupts, start(graph, THREAD).output


def case_errors(env):
    graph = chain(one, boom)
    run = start(graph)
    events = []

    def read():
        for event in run:
            events.append(told(event))

    return (
        env.error(read),
        events,
        env.error(lambda: run.output),
        env.error(lambda: run.interrupted),
        env.error(lambda: list(run.values)),
    )


async def case_errors_async(env):
    run = await astart(chain(aone, boom))
    return [
        await env.aerror(collected(run.values)),
        await env.aerror(run.output()),
        await env.aerror(collected(run.lifecycle)),
    ]


def case_errors_of_nested_runs(env):
    graph = chain(("sub", chain(boom)))
    run = start(graph)
    found, events = [], []

    def read():
        for nested in run.subgraphs:
            found.append(nested.status)
            found.append(env.error(lambda: list(nested.values)))
            found.append((nested.status, nested.error))
            found.append(env.error(lambda: nested.output))

    def follow():
        for payload in start(graph).lifecycle:
            events.append(payload)

    return env.error(read), found, env.error(follow), events


def case_retried_nested_runs(env):
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) < 2:
            raise ValueError("flaky")
        return {"n": [1]}

    builder = StateGraph(State)
    policy = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ValueError)
    builder.add_node("sub", chain(flaky), retry_policy=policy)
    builder.add_edge(START, "sub")
    return list(start(builder.compile()).lifecycle)


# --- nested runs ------------------------------------------------------------


def case_nested_runs(env):
    graph = chain(one, ("mid", chain(("inner", chain(one)), two)))
    found = []
    for mid in start(graph, transformers=[CustomTransformer]).subgraphs:
        found.append((mid.path, mid.graph_name, mid.trigger_call_id, mid.status, mid.error))
        for inner in mid.subgraphs:
            found.append((inner.path, inner.graph_name, states(inner.values), inner.status))
        found.append((states(mid.values), mid.status, mid.output, list(mid.custom)))
    return found


async def case_nested_runs_async(env):
    graph = chain(aone, ("mid", chain(("inner", chain(aone)), atwo)))
    found = []
    async for mid in (await astart(graph, transformers=[CustomTransformer])).subgraphs:
        found.append((mid.path, mid.graph_name, mid.trigger_call_id, mid.status, mid.error))
        async for inner in mid.subgraphs:
            values = states(await collected(inner.values))
            found.append((inner.path, inner.graph_name, values, inner.status))
        found.append((mid.status, await mid.output(), await mid.interrupted()))
    return found


def case_events_of_one_nested_run(env):
    graph = chain(one, ("mid", chain(("inner", chain(one)), two)))
    found = []
    for mid in start(graph).subgraphs:
        for event in mid:
            params = event["params"]
            found.append((event["method"], params["namespace"], params["data"]))
    return found


def case_nested_runs_that_nobody_reads(env):
    run = start(chain(("sub", chain(one)), two))
    nested = list(run.subgraphs)
    return [(s.status, list(s.values), s.output) for s in nested], run.output


def case_a_nested_run_that_is_left(env):
    run = start(chain(("sub", chain(one, two)), two))
    for nested in run.subgraphs:
        nested.abort()
    return run.output


def case_graphs_called_in_a_node(env):
    inner = chain(one)

    def calls(state):
        inner.invoke({"n": []})
        inner.invoke({"n": [7]})
        return {"n": [4]}

    run = start(chain(calls))
    events = [told(event) for event in run]
    nested = start(chain(calls)).subgraphs
    return events, [(s.graph_name, states(s.values), s.status) for s in nested]


# --- messages ------------------------------------------------------------


class Model(BaseChatModel):
    """Says its pieces; fails at one that is an error."""

    pieces: list[Any]

    @property
    def _llm_type(self):
        return "pieces"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("at once"))])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield ChatGenerationChunk(message=AIMessageChunk(**piece))


def call_piece(name, args, id, index):
    chunk = {"name": name, "args": args, "id": id, "index": index}
    return {"content": "", "tool_call_chunks": [chunk]}


END_PIECE = {
    "content": "",
    "usage_metadata": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    "response_metadata": {"finish_reason": "stop", "model_name": "pieces"},
    "chunk_position": "last",
}
WORDS = [{"content": "Hel"}, {"content": "lo"}, END_PIECE]
CALLS = [
    {"content": "I call"},
    call_piece("f", '{"a"', "c1", 0),
    call_piece(None, ": 1}", None, 0),
    call_piece("g", "{}", "c2", 1),
    END_PIECE,
]
THOUGHTS = [
    {"content": [{"type": "reasoning", "reasoning": "thi", "index": 0}]},
    {"content": [{"type": "reasoning", "reasoning": "nk", "index": 0}]},
    {"content": [{"type": "text", "text": "ans", "index": 1}]},
    {"content": [{"type": "text", "text": "wer", "index": 1}]},
]
UNFINISHED = [call_piece("f", '{"a"', "c1", 0)]


def asking(pieces):
    model = Model(pieces=pieces)

    def node(state):
        return {"messages": [model.invoke("hi")]}

    return chain(node)


def said_events(run):
    return [told(event) for event in run if event["method"] == "messages"]


def read(stream):
    """All that can be read of a message."""
    return (
        (stream.node, stream.namespace, stream.message_id, stream.done),
        (list(stream.text), str(stream.text), list(stream.reasoning), str(stream.reasoning)),
        (list(stream.tool_calls), stream.tool_calls.get()),
        [event["event"] for event in stream],
        (stream.output, stream.done),
    )


def case_events_of_messages(env):
    found = {}
    for name, pieces in {"w": WORDS, "c": CALLS, "t": THOUGHTS, "u": UNFINISHED}.items():
        found[name] = [(seq, data) for seq, *_, data in said_events(start(asking(pieces)))]
    return found


def case_messages_of_models(env):
    found = {}
    for name, pieces in {"w": WORDS, "c": CALLS, "t": THOUGHTS, "u": UNFINISHED}.items():
        found[name] = [read(stream) for stream in start(asking(pieces)).messages]
    return found


async def case_messages_of_models_async(env):
    model = Model(pieces=CALLS)

    async def node(state):
        return {"messages": [await model.ainvoke("hi")]}

    found = []
    async for stream in (await astart(chain(node))).messages:
        found.append([piece async for piece in stream.text])
        found.append((await stream.text, await stream.reasoning, await stream.tool_calls))
        found.append([piece async for piece in stream.tool_calls])
        found.append((await stream.output, await stream, stream.done))
        found.append([event["event"] async for event in stream])
    return found


def case_texts_are_read_while_they_come(env):
    run = start(asking(WORDS))
    stream = next(iter(run.messages))
    pieces = iter(stream.text)
    early = next(pieces), stream.done, stream.output_message
    return early, list(pieces), list(pieces), stream.done, run.output["messages"][-1].text


def case_messages_that_nodes_return(env):
    def node(state):
        call = {"name": "f", "args": {"a": 1}, "id": "c1"}
        usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        blocks = [{"type": "image", "url": "http://x"}, {"type": "text", "text": "see"}]
        return {
            "messages": [
                AIMessage("whole", id="1"),
                HumanMessage("person", id="2"),
                ToolMessage("tool", tool_call_id="x", id="3"),
                SystemMessage("system", id="4"),
                AIMessage(
                    "calls",
                    id="5",
                    tool_calls=[call],
                    usage_metadata=usage,
                    response_metadata={"model": "m"},
                ),
                AIMessage(blocks, id="6"),
                AIMessage("", id="7"),
            ]
        }

    events = said_events(start(chain(node)))
    return events, [(list(s), read(s)) for s in start(chain(node)).messages]


def case_messages_that_do_not_come_in_pieces(env):
    class Whole(Model):
        _stream = BaseChatModel._stream

    def node(state):
        return {"messages": [Whole(pieces=[]).invoke("hi")]}

    found = [data for *_, data in said_events(start(chain(node)))]
    return found, [(list(s.text), s.output) for s in start(chain(node)).messages]


def case_models_that_fail(env):
    pieces = [{"content": "par"}, ValueError("gone")]
    run = start(asking(pieces))
    found = []

    def follow():
        for stream in run.messages:
            found.append(env.error(lambda: list(stream.text)))
            found.append(env.error(lambda: stream.output))
            found.append(env.error(lambda: str(stream.text)))
            found.append(stream.done)

    return env.error(follow), found


def case_models_that_fail_and_are_caught(env):
    model = Model(pieces=[{"content": "par"}, ValueError("gone")])

    def node(state):
        try:
            model.invoke("hi")
        except ValueError:
            return {"messages": [AIMessage("instead", id="i")]}

    run = start(chain(node))
    return [(list(s.text), env.error(lambda s=s: s.output)) for s in run.messages]


def case_two_models_in_a_node(env):
    def node(state):
        return {"messages": [Model(pieces=WORDS).invoke("x"), Model(pieces=THOUGHTS).invoke("x")]}

    return [(s.node, str(s.text), str(s.reasoning)) for s in start(chain(node)).messages]


def case_messages_of_nested_runs(env):
    graph = chain(one, ("sub", asking(WORDS)))
    outer = [str(s.text) for s in start(graph).messages]
    inner = [[str(m.text) for m in s.messages] for s in start(graph).subgraphs]
    return outer, inner


def case_state_of_a_streamed_model(env):
    """The peer asks models in another way when their messages are streamed."""
    return start(asking(WORDS)).output["messages"][-1].content


def case_models_that_are_streamed_in_a_node(env):
    """The peer tells the sum when the node returns it."""

    def node(state):
        whole = None
        for chunk in Model(pieces=WORDS).stream("hi"):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    return [str(s.text) for s in start(chain(node)).messages]


class Hears(BaseCallbackHandler):
    """Notes the events of models."""

    def __init__(self):
        self.told = []

    def on_stream_event(self, event, **kwargs):
        self.told.append(event["event"])


def case_events_that_handlers_hear_of_a_model_in_a_node(env):
    hears = Hears()
    graph = chain(lambda state: {"messages": [Model(pieces=WORDS).invoke("hi")]})
    _ = graph.stream_events({"n": []}, {"callbacks": [hears]}, version="v3").output
    return hears.told


# --- tools ------------------------------------------------------------


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def slow(a: int, runtime: ToolRuntime) -> str:
    """Gives parts."""
    runtime.emit_output_delta("half")
    runtime.emit_output_delta("whole")
    return "done"


@tool
def bad(a: int) -> int:
    """Fails."""
    raise ValueError("bad tool")


@tool
def asks(a: int) -> str:
    """Asks."""
    return interrupt("may I?")


def calling(name, args, handle=True, **compiled):
    def ai(state):
        return {"messages": [AIMessage("", tool_calls=[{"name": name, "args": args, "id": "c1"}])]}

    node = ToolNode([add, slow, bad, asks], handle_tool_errors=handle)
    return chain(ai, ("tools", node), transformers=[ToolCallTransformer], **compiled)


def call_of(stream, deltas):
    about = stream.tool_name, stream.tool_call_id, stream.input
    return about, deltas, stream.output, stream.error, stream.completed


def case_tool_calls(env):
    found = []
    for name, args in (("add", {"a": 1, "b": 2}), ("slow", {"a": 1}), ("bad", {"a": 1})):
        run = start(calling(name, args))
        found += [call_of(s, list(s.output_deltas)) for s in run.tool_calls]
    return found, sorted(run.extensions)


async def case_tool_calls_async(env):
    run = await astart(calling("slow", {"a": 1}))
    return [call_of(s, await collected(s.output_deltas)) async for s in run.tool_calls]


def case_tool_calls_that_fail_the_run(env):
    run = start(calling("bad", {"a": 1}, handle=False))
    found = []

    def follow():
        for stream in run.tool_calls:
            found.append(env.error(lambda: list(stream.output_deltas)))
            found.append((stream.error, stream.completed))

    return env.error(follow), found


def case_tool_calls_that_ask(env):
    run = start(calling("asks", {"a": 1}, checkpointer=env.saver()), THREAD)
    calls = list(run.tool_calls)
    return [call_of(s, []) for s in calls], run.interrupted


def case_events_of_tools(env):
    run = start(calling("slow", {"a": 1}))
    return [told(event)[3:] for event in run if event["method"] == "tools"][:3]


# --- transformers ------------------------------------------------------------


class Watcher(StreamTransformer):
    """Tells each event on a channel with a name, and counts on one without."""

    required_stream_modes = ("updates", "custom")

    def __init__(self, scope=()):
        super().__init__(scope)
        self.named = StreamChannel("watched")
        self.nameless = StreamChannel()
        self.log = []

    def init(self):
        return {"named": self.named, "nameless": self.nameless, "log": self.log}

    def process(self, event):
        self.log.append((event["method"], "seq" in event))
        self.named.push((event["method"], event["params"]["namespace"]))
        self.nameless.push(len(self.log))
        return event["method"] != "updates"

    def finalize(self):
        self.log.append("finalize")
        self.named.push("end")

    def fail(self, err):
        self.log.append(repr(err))


class NativeWatcher(Watcher):
    _native = True
    required_stream_modes = ()


def case_a_transformer(env):
    graph = chain(one, two)
    run = start(graph, transformers=[Watcher])
    events = [told(event) for event in run]
    return (
        events,
        run.extensions["log"],
        sorted(run.extensions),
        hasattr(run, "named"),
        list(start(graph, transformers=[Watcher]).extensions["named"]),
        list(start(graph, transformers=[Watcher]).extensions["nameless"]),
    )


def case_a_native_transformer(env):
    run = start(chain(one, two), transformers=[NativeWatcher])
    events = [told(event) for event in run]
    return events, run.log


def case_transformers_of_a_graph(env):
    graph = chain(one, two, transformers=[lambda scope: Watcher(scope)])
    run = start(graph, transformers=[UpdatesTransformer])
    found = sorted(run.extensions), list(run.updates)
    return found, graph.invoke({"n": []}), list(graph.stream({"n": []}))


def case_scopes_of_transformers(env):
    made = []

    class Scoped(StreamTransformer):
        def init(self):
            made.append(self.scope)
            return {"scope": self.scope}

        def process(self, event):
            return True

    run = start(chain(("mid", chain(("inner", chain(one))))), transformers=[Scoped])
    nested = [s.extensions["scope"] for s in run.subgraphs]
    return nested, made


def case_a_transformer_that_fails(env):
    class Fails(StreamTransformer):
        def init(self):
            return {}

        def process(self, event):
            raise KeyError("bad")

    run = start(chain(one), transformers=[Fails])
    return env.error(lambda: run.output), env.error(lambda: list(run.values))


def case_transformers_of_runs_that_fail(env):
    run = start(chain(boom), transformers=[Watcher])
    return env.error(lambda: run.output), run.extensions["log"]


def case_transformers_that_change_events(env):
    class Change(StreamTransformer):
        def init(self):
            return {}

        def process(self, event):
            if event["method"] == "values":
                event["params"]["data"] = {"n": ["changed"]}
            return True

    class Before(Change):
        before_builtins = True

    found = []
    for kind in (Change, Before):
        run = start(chain(one), transformers=[kind])
        found.append((states(run.values), run.output))
    return found


def case_transformers_that_drop_events(env):
    class Drop(StreamTransformer):
        before_builtins = True

        def init(self):
            return {}

        def process(self, event):
            return False

    graph = chain(one)
    run = start(graph, transformers=[Drop])
    return list(start(graph, transformers=[Drop])), states(run.values), run.output


def case_wrong_transformers(env):
    class Taken(StreamTransformer):
        def init(self):
            return {"values": StreamChannel()}

        def process(self, event):
            return True

    class NoDict(Taken):
        def init(self):
            return None

    class Unable(StreamTransformer):
        def init(self):
            return {}

    class NeedsLoop(Taken):
        requires_async = True

        def init(self):
            return {}

    class Async(StreamTransformer):
        def init(self):
            return {}

        async def aprocess(self, event):
            return True

    class Schedules(Unable):
        def process(self, event):
            work = asyncio.sleep(0)
            try:
                self.schedule(work)
            finally:
                work.close()
            return True

    graph = chain(one)
    kinds = (Taken, NoDict, NeedsLoop, Async, object, Watcher())
    found = [env.error(lambda kind=kind: start(graph, transformers=[kind])) for kind in kinds]
    found += [
        env.error(lambda kind=kind: start(graph, transformers=[kind]).output)
        for kind in (Unable, Schedules)
    ]
    return found, env.error(lambda: start(graph, transformers=[Watcher, Watcher]))


def case_channels_outside_of_a_run(env):
    channel = StreamChannel("mine")
    channel.push(1)
    channel.close()
    return [
        channel.name,
        StreamChannel().name,
        env.error(lambda: channel.push(2)),
        env.error(lambda: list(channel)),
        env.error(lambda: channel.tee()),
        env.error(lambda: StreamChannel(maxlen=0)),
        StreamChannel(maxlen=3).name,
    ]


async def case_async_transformers(env):
    class Slow(StreamTransformer):
        required_stream_modes = ("updates",)

        def __init__(self, scope=()):
            super().__init__(scope)
            self.channel = StreamChannel("slow")
            self.log = []

        def init(self):
            return {"slow": self.channel, "log": self.log}

        async def aprocess(self, event):
            await asyncio.sleep(0)
            self.channel.push(event["method"])
            return True

        async def afinalize(self):
            self.log.append("end")

        async def afail(self, err):
            self.log.append(repr(err))

    run = await astart(chain(aone, atwo), transformers=[Slow])
    failed = await astart(chain(boom), transformers=[Slow])
    return (
        await collected(run.extensions["slow"]),
        run.extensions["log"],
        await env.aerror(failed.output()),
        failed.extensions["log"],
    )


async def case_scheduled_work(env):
    class Schedules(StreamTransformer):
        requires_async = True

        def __init__(self, scope=()):
            super().__init__(scope)
            self.log = []

        def init(self):
            return {"log": self.log}

        def process(self, event):
            self.schedule(self.note(event["method"]))
            return True

        async def note(self, method):
            for _ in range(3):
                await asyncio.sleep(0)
            self.log.append(method)

        def finalize(self):
            self.log.append("end")

    run = await astart(chain(aone), transformers=[Schedules])
    await run.output()
    return run.extensions["log"]


async def case_scheduled_work_that_fails(env):
    return await failing_work(env, of_state=[1], turns=200)


async def case_scheduled_work_that_fails_early(env):
    """The peer looks only at work that still runs at the end."""
    return await failing_work(env, of_state=[], turns=1)


async def failing_work(env, of_state, turns):
    """Runs whose transformer schedules work when a state is told; it fails some turns later."""

    class Fails(StreamTransformer):
        on_error = "raise"

        def init(self):
            return {}

        async def aprocess(self, event):
            if event["method"] == "values" and event["params"]["data"]["n"] == of_state:
                self.schedule(self.work(), on_error=self.on_error)
            return True

        async def work(self):
            for _ in range(turns):
                await asyncio.sleep(0)
            raise KeyError("scheduled")

    class Logs(Fails):
        on_error = "log"

    found = []
    for kind in (Fails, Logs):
        run = await astart(chain(aone), transformers=[kind])
        found.append(await env.aerror(run.output()))
    return found


def case_messages_of_a_run_inside_a_node(env):
    inner = asking(WORDS)
    seen = []

    def node(state):
        seen.append([str(s.text) for s in start(inner).messages])
        return {"n": [1]}

    graph = chain(node)
    graph.invoke({"n": []})
    outer = [str(s.text) for s in start(graph).messages]
    nested = [[str(m.text) for m in s.messages] for s in start(graph).subgraphs]
    return seen, outer, nested


def case_a_plain_stream_inside_a_node(env):
    inner = chain(one, two)

    def node(state):
        return {"n": [len(list(inner.stream({"n": []}, stream_mode="values")))]}

    run = start(chain(node))
    return states(run.values), [s.status for s in start(chain(node)).subgraphs]


def case_static_config_and_context(env):
    seen = []

    def node(state, config):
        seen.append((config["tags"], config["metadata"]["who"]))
        return {"n": [1]}

    graph = chain(node).with_config(tags=["always"])
    run = start(graph, {"tags": ["now"], "metadata": {"who": "me"}})
    return run.output, seen


def case_output_keys(env):
    return start(chain(one), output_keys=["n"]).output, start(chain(one), output_keys="n").output


async def case_parallel_nested_runs(env):
    inner = chain(aone, atwo)
    builder = StateGraph(State)
    builder.add_node("sub", inner)
    builder.add_conditional_edges(
        START, lambda s: [Send("sub", {"n": [i]}) for i in range(3)], ["sub"]
    )
    run = await astart(builder.compile())
    readers = []
    async for nested in run.subgraphs:
        readers.append(asyncio.create_task(collected(nested.values)))
    found = sorted(states(values) for values in await asyncio.gather(*readers))
    return found, await run.output()
