"""Callbacks of graphs: runs that stop and go on; what tracers record of nodes."""

import operator
from importlib import import_module
from typing import Annotated, Any, TypedDict
from uuid import UUID

from langchain_core.runnables import RunnableLambda
from langgraph.callbacks import (
    GraphCallbackHandler,
    GraphInterruptEvent,
    GraphResumeEvent,
    get_async_graph_callback_manager_for_config,
    get_sync_graph_callback_manager_for_config,
)
from langgraph.graph import START, StateGraph
from langgraph.types import Command, TracePolicy, interrupt

BaseTracer: Any = import_module("langchain_core.tracers").BaseTracer  # the peer's, on both sides
THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    n: Annotated[list, operator.add]


class Log(GraphCallbackHandler):
    """Notes what it hears, and whose runs begin."""

    def __init__(self):
        self.heard = []
        self.runs = []

    def on_chain_start(self, serialized, inputs, *, run_id, **kwargs):
        self.runs.append(run_id)

    def on_interrupt(self, event):
        self.heard.append(("interrupt", self.runs.index(event.run_id), about(event)))

    def on_resume(self, event):
        self.heard.append(("resume", self.runs.index(event.run_id), about(event)))


class AsyncLog(GraphCallbackHandler):
    def __init__(self):
        self.heard = []

    async def on_interrupt(self, event):
        self.heard.append(("interrupt", about(event)))

    async def on_resume(self, event):
        self.heard.append(("resume", about(event)))


def about(event):
    asked = getattr(event, "interrupts", None)
    return type(event).__name__, event.status, event.checkpoint_id, event.checkpoint_ns, asked


def ask(state):
    return {"n": [interrupt("how many?")]}


def one(state):
    return {"n": [1]}


def two(state):
    return {"n": [2]}


def chain(*nodes, **compiled):
    builder = StateGraph(State)
    before = START
    for node in nodes:
        name, code = node if isinstance(node, tuple) else (node.__name__, node)
        builder.add_node(name, code)
        builder.add_edge(before, name)
        before = name
    return builder.compile(**compiled)


def heard(graph, *inputs, **kwargs):
    """What a handler hears of calls on one thread, with the checkpoints after each."""
    log, found = Log(), []
    for given in inputs:
        log.runs, log.heard = [], []
        graph.invoke(given, {**THREAD, "callbacks": [log]}, **kwargs)
        now = graph.get_state(THREAD).config["configurable"]["checkpoint_id"]
        found.append((log.heard, now))
    return found


def case_questions(env):
    graph = chain(one, ask, two, checkpointer=env.saver())
    return heard(graph, {"n": []}, None, Command(resume=1), {"n": [3]}, Command(goto="two"))


def case_questions_of_nested_runs(env):
    graph = chain(("sub", chain(("deep", chain(ask)))), checkpointer=env.saver())
    return heard(graph, {"n": []}, Command(resume=1))


def case_several_questions(env):
    """The peer lists them as they come: they are told apart by what they ask."""
    builder = StateGraph(State)
    for name in ("a", "b"):
        builder.add_node(name, lambda state, name=name: {"n": [interrupt(name)]})
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=env.saver())

    def events(given):
        log = Log()
        graph.invoke(given, {**THREAD, "callbacks": [log]})
        return [
            (kind, run, told[:4], sorted(question.value for question in told[4] or ()))
            for kind, run, told in log.heard
        ]

    first = events({"n": []})
    of_a = next(each.id for each in graph.get_state(THREAD).interrupts if each.value == "a")
    return first, events(Command(resume={of_a: 1})), events(Command(resume=2))


def case_breakpoints(env):
    before = chain(one, two, checkpointer=env.saver(), interrupt_before=["two"])
    after = chain(one, two, checkpointer=env.saver("other"), interrupt_after=["one"])
    every = chain(one, two, checkpointer=env.saver("third"), interrupt_after="*")
    return [heard(graph, {"n": []}, None) for graph in (before, after, every)]


def case_runs_that_failed_go_on(env):
    fails = [1]

    def flaky(state):
        if fails:
            fails.pop()
            raise ValueError("flaky")
        return {"n": [1]}

    graph = chain(one, flaky, checkpointer=env.saver())
    return env.error(lambda: graph.invoke({"n": []}, THREAD)), heard(graph, None, None)


def case_a_replay(env):
    graph = chain(one, two, checkpointer=env.saver())
    graph.invoke({"n": []}, THREAD)
    old = list(graph.get_state_history(THREAD))[1].config
    log = Log()
    graph.invoke(None, {**old, "callbacks": [log]})
    return old, log.heard


def case_a_question_on_no_thread(env):
    """The peer gives the id of a checkpoint that is nowhere."""
    log = Log()
    chain(one, ask).invoke({"n": []}, {"callbacks": [log]})
    return [each[2][2] != "" for each in log.heard]


def case_handlers_that_fail(env):
    class Fails(GraphCallbackHandler):
        def on_interrupt(self, event):
            raise KeyError("handler")

    class Raises(Fails):
        raise_error = True

    found = []
    for handler in (Fails(), Raises()):
        graph = chain(ask)
        found.append(env.error(lambda h=handler, g=graph: g.invoke({"n": []}, {"callbacks": [h]})))
    return [found[0][0], found[1]]


def case_handlers_of_other_classes(env):
    """They are not told, whatever methods they have."""
    told = []

    class Other(BaseTracer):
        def _persist_run(self, run):
            pass

        def on_interrupt(self, event):
            told.append(event)

    chain(ask).invoke({"n": []}, {"callbacks": [Other()]})
    return told


async def case_async(env):
    async with env.asaver() as saver:
        graph = chain(one, ask, checkpointer=saver)
        logs = AsyncLog(), Log()
        config = {**THREAD, "callbacks": list(logs)}
        await graph.ainvoke({"n": []}, config)
        async for _ in graph.astream(Command(resume=1), config):
            pass
        return [log.heard for log in logs]


def case_async_handlers_of_sync_runs(env):
    log = AsyncLog()
    graph = chain(ask, checkpointer=env.saver())
    config = {**THREAD, "callbacks": [log]}
    graph.invoke({"n": []}, config)
    graph.invoke(Command(resume=1), config)
    return log.heard


async def case_managers(env):
    log, alog = AsyncLog(), AsyncLog()
    run_id = UUID(int=7)
    other = GraphResumeEvent(None, "pending", "c", ("ns",))
    stop = GraphInterruptEvent(run_id, "interrupt_before", "c", (), ())
    config = {"callbacks": [alog, RunnableLambda(one)]}
    manager = get_async_graph_callback_manager_for_config({"callbacks": [alog]}, run_id=run_id)
    await manager.on_resume(other)
    await manager.on_interrupt(stop)
    sync = get_sync_graph_callback_manager_for_config({"callbacks": [log]})
    sync.on_resume(other)
    return log.heard, alog.heard, manager.run_id, len(manager.handlers), sync.run_id, len(config)


# --- what tracers record ------------------------------------------------------------


class Tracer(BaseTracer):
    def __init__(self):
        super().__init__()
        self.seen = []

    def _persist_run(self, run):
        pass

    def _on_run_create(self, run):
        self.seen.append(("start", run.name, dict(run.inputs)))

    def _on_run_update(self, run):
        self.seen.append(("end", run.name, dict(run.inputs), run.outputs))


class Plain(GraphCallbackHandler):
    def __init__(self):
        self.seen = []

    def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
        self.seen.append(("start", name, dict(inputs)))

    def on_chain_end(self, outputs, **kwargs):
        self.seen.append(("end", dict(outputs)))


def traced(policy, node=one):
    builder = StateGraph(State)
    builder.add_node("node", node, trace_policy=policy)
    builder.add_edge(START, "node")
    return builder.compile()


def recorded(graph):
    tracer, plain = Tracer(), Plain()
    result = graph.invoke({"n": [5]}, {"callbacks": [tracer, plain]})
    return result, tracer.seen, plain.seen


SHORT = {
    "process_inputs": lambda given: {"items": len(given["n"])},
    "process_outputs": lambda given: {"made": len(given["n"])},
}


def case_trace_policies(env):
    return recorded(traced(TracePolicy(**SHORT)))


def case_trace_policies_of_one_side(env):
    found = [recorded(traced(TracePolicy(**{side: code}))) for side, code in SHORT.items()]
    return found, recorded(traced(TracePolicy()))


async def case_trace_policies_async(env):
    async def node(state):
        return {"n": [1]}

    tracer = Tracer()
    result = await traced(TracePolicy(**SHORT), node).ainvoke({"n": [5]}, {"callbacks": [tracer]})
    return result, tracer.seen


def case_trace_policies_of_nested_runs(env):
    return recorded(traced(TracePolicy(**SHORT), chain(one)))


def case_trace_policies_that_fail(env):
    def fails(value):
        raise KeyError("policy")

    return recorded(traced(TracePolicy(process_inputs=fails, process_outputs=fails)))


def case_a_trace_policy_that_is_none(env):
    """The peer takes it, and the node fails."""
    return env.error(lambda: traced("everything"))


async def case_events_of_a_traced_node(env):
    events = traced(TracePolicy(**SHORT)).astream_events({"n": [5]})
    return [(e["event"], e["name"], e["data"]) async for e in events]
