"""Errors of nodes: their way out, what is kept, retries, limits, cancellation."""

import asyncio
import operator
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import (
    EmptyInputError,
    GraphRecursionError,
    InvalidUpdateError,
    NodeCancelledError,
    ParentCommand,
)
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt

from .waiting import until

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}
FAST = {"initial_interval": 0.001, "backoff_factor": 1.0, "jitter": False}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class AppError(Exception):
    """An error of the program's own."""

    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


class Textless(Exception):
    """Its `__str__` reads what was never set."""

    def __str__(self):
        return self.message


class Shapeless(Exception):
    """Its `__repr__` fails."""

    def __repr__(self):
        return self.message


@dataclass(frozen=True)
class Frozen(Exception):
    """It takes no attributes, so no notes."""

    code: int


def add(value):
    return lambda state: {"items": [value]}


def fails(error):
    def node(state):
        raise error

    return node


def afails(error):
    async def node(state):
        raise error

    return node


def flaky(failures, error):
    """Fails so many times, then says at which attempt it worked."""
    calls = []

    def node(state):
        calls.append(1)
        if len(calls) <= failures:
            raise error
        return {"items": [f"attempt {len(calls)}"]}

    return node


def chain(saver, *nodes, **node_options):
    builder = StateGraph(State)
    for name, node in nodes:
        builder.add_node(name, node, **node_options)
    for (before, _), (after, _) in pairwise(nodes):
        builder.add_edge(before, after)
    builder.add_edge(START, nodes[0][0])
    return builder.compile(checkpointer=saver)


def parallel(saver, **nodes):
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    builder.add_node("z", add("z"))
    builder.add_edge(list(nodes), "z")
    return builder.compile(checkpointer=saver)


def wait_for_result(graph, name, config=CONFIG):
    """Blocks a node until the writes of its sibling are in the saver."""
    until(lambda: result_of(graph.get_state(config), name) is not None)


def result_of(snapshot, name):
    return next((t.result for t in snapshot.tasks if t.name == name), None)


def half_failing(saver, fixed):
    """`good` finishes, then `bad` fails until `fixed` is set; counts every call."""
    calls = []

    def good(state):
        calls.append("good")
        return {"items": ["good"]}

    def bad(state):
        calls.append("bad")
        if not fixed.is_set():
            wait_for_result(graph, "good")
            raise ValueError("bad")
        return {"items": ["bad"]}

    graph = parallel(saver, bad=bad, good=good)
    return graph, calls


def brief(graph):
    return [
        (s.metadata, s.next, s.values, [(t.name, t.error, t.result) for t in s.tasks])
        for s in graph.get_state_history(CONFIG)
    ]


def case_error_leaves_invoke(env):
    graph = chain(None, ("a", add("a")), ("boom", fails(AppError(7))))
    try:
        graph.invoke({"items": []})
    except AppError as error:
        return error.code, str(error)


async def case_error_leaves_ainvoke(env):
    graph = chain(None, ("a", add("a")), ("boom", afails(AppError(7))))
    try:
        await graph.ainvoke({"items": []})
    except AppError as error:
        return error.code, str(error)


def case_error_says_which_task(env):
    graph = chain(None, ("boom", fails(ValueError("x"))))
    try:
        graph.invoke({"items": []})
    except ValueError as error:
        return [note for note in error.__notes__ if "boom" in note] != []


def case_error_keeps_what_was_done(env):
    graph = chain(env.saver(), ("a", add("a")), ("boom", fails(ValueError("x"))), ("z", add("z")))
    error = env.error(lambda: graph.invoke({"items": ["i"]}, CONFIG))
    return error, graph.get_state(CONFIG), brief(graph)


async def case_error_keeps_what_was_done_async(env):
    async with env.asaver() as saver:
        graph = chain(saver, ("a", add("a")), ("boom", afails(ValueError("x"))))
        error = await env.aerror(graph.ainvoke({"items": ["i"]}, CONFIG))
        return error, await graph.aget_state(CONFIG)


def case_error_in_the_first_node(env):
    graph = chain(env.saver(), ("boom", fails(ValueError("x"))))
    error = env.error(lambda: graph.invoke({"items": ["i"]}, CONFIG))
    return error, graph.get_state(CONFIG), brief(graph)


def case_error_in_a_path_function(env):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_edge(START, "a")

    def path(state):
        raise AppError(1)

    builder.add_conditional_edges("a", path, [END])
    graph = builder.compile(checkpointer=env.saver())
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    return error, graph.get_state(CONFIG).values, graph.get_state(CONFIG).next


def case_error_in_a_reducer(env):
    class Strict(TypedDict):
        n: Annotated[int, lambda old, new: old + new if new >= 0 else 1 / 0]

    builder = StateGraph(Strict)
    builder.add_node("a", lambda s: {"n": -1})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    return env.error(lambda: graph.invoke({"n": 1}, CONFIG))


def case_run_goes_on_after_the_cause_is_gone(env):
    fixed = threading.Event()
    graph, calls = half_failing(env.saver(), fixed)
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    stopped = graph.get_state(CONFIG)
    fixed.set()
    return error, stopped, graph.invoke(None, CONFIG, **SYNC), sorted(calls), brief(graph)


def case_kept_writes_are_streamed_as_cached(env):
    fixed = threading.Event()
    graph, calls = half_failing(env.saver(), fixed)
    env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    fixed.set()
    return list(graph.stream(None, CONFIG, **SYNC, stream_mode=["updates", "values"])), sorted(
        calls
    )


def case_new_input_after_an_error(env):
    fixed = threading.Event()
    graph, calls = half_failing(env.saver(), fixed)
    env.error(lambda: graph.invoke({"items": ["1"]}, CONFIG, **SYNC))
    fixed.set()
    return graph.invoke({"items": ["2"]}, CONFIG, **SYNC), sorted(calls), brief(graph)


def case_update_after_an_error(env):
    fixed = threading.Event()
    graph, calls = half_failing(env.saver(), fixed)
    env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    fixed.set()
    graph.update_state(CONFIG, {"items": ["U"]})
    return graph.get_state(CONFIG), graph.invoke(None, CONFIG, **SYNC), sorted(calls)


async def case_kept_writes_async(env):
    fixed, done = asyncio.Event(), asyncio.Event()
    calls = []

    async def good(state):
        calls.append("good")
        return {"items": ["good"]}

    async def bad(state):
        calls.append("bad")
        if not fixed.is_set():
            await asyncio.wait_for(done.wait(), 20)
            raise ValueError("bad")
        return {"items": ["bad"]}

    async with env.asaver() as saver:
        graph = parallel(saver, bad=bad, good=good)

        async def run():
            async for part in graph.astream({"items": []}, CONFIG, stream_mode="updates"):
                if "good" in part:
                    done.set()

        error = await env.aerror(run())
        stopped = await graph.aget_state(CONFIG)
        fixed.set()
        return error, stopped, await graph.ainvoke(None, CONFIG), sorted(calls)


async def case_siblings_are_cancelled(env):
    started = asyncio.Event()
    log = []

    async def slow(state):
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    async def bad(state):
        await started.wait()
        raise AppError(1)

    graph = parallel(None, slow=slow, bad=bad)
    error = await env.aerror(graph.ainvoke({"items": []}))
    await asyncio.sleep(0)
    return error, log


async def case_caller_cancels(env):
    started = asyncio.Event()
    log = []

    async def slow(state):
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            log.append("node cancelled")
            raise

    async with env.asaver() as saver:
        graph = chain(saver, ("a", add("a")), ("slow", slow))
        task = asyncio.create_task(graph.ainvoke({"items": []}, CONFIG))
        await asyncio.wait_for(started.wait(), 20)
        task.cancel()
        error = await env.aerror(task)
        snapshot = await graph.aget_state(CONFIG)
        return error, log, snapshot.values, snapshot.next


async def case_run_goes_on_after_a_cancellation(env):
    started = asyncio.Event()
    patient = []

    async def slow(state):
        if patient:
            return {"items": ["slow"]}
        started.set()
        await asyncio.sleep(60)

    async with env.asaver() as saver:
        graph = chain(saver, ("a", add("a")), ("slow", slow))
        task = asyncio.create_task(graph.ainvoke({"items": []}, CONFIG))
        await asyncio.wait_for(started.wait(), 20)
        task.cancel()
        await env.aerror(task)
        patient.append(True)
        return await graph.ainvoke(None, CONFIG)


async def case_b37_cancelled_error_of_the_node(env):
    async def node(state):
        raise asyncio.CancelledError("mine")

    graph = chain(None, ("a", node))
    return await env.aerror(graph.ainvoke({"items": []}))


def case_both_fail(env):
    graph = parallel(None, a=fails(AppError(1)), b=fails(AppError(2)))
    return env.error(lambda: graph.invoke({"items": []}))


def case_question_beside_an_error(env):
    def ask(state):
        return {"items": [interrupt("q")]}

    def bad(state):
        until(lambda: graph.get_state(CONFIG).interrupts)
        raise AppError(1)

    graph = parallel(env.saver(), ask=ask, bad=bad)
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    snapshot = graph.get_state(CONFIG)
    return error, snapshot.next, [(t.name, t.error, t.interrupts) for t in snapshot.tasks]


def case_recursion_limit(env):
    graph = looping(env.saver())
    limited = {**CONFIG, "recursion_limit": 3}
    error = env.error(lambda: graph.invoke({"items": []}, limited))
    return error, graph.get_state(CONFIG), issubclass(GraphRecursionError, RecursionError)


def looping(saver):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: END if len(s["items"]) >= 6 else "a")
    return builder.compile(checkpointer=saver)


async def case_recursion_limit_async(env):
    async with env.asaver() as saver:
        graph = looping(saver)
        limited = {**CONFIG, "recursion_limit": 3}
        error = await env.aerror(graph.ainvoke({"items": []}, limited))
        return error, await graph.aget_state(CONFIG)


def case_run_goes_on_after_the_recursion_limit(env):
    graph = looping(env.saver())
    error = env.error(lambda: graph.invoke({"items": []}, {**CONFIG, "recursion_limit": 3}))
    return error, graph.invoke(None, CONFIG)


def case_recursion_limit_exactly_enough(env):
    graph = chain(None, ("a", add("a")), ("b", add("b")))
    return [
        env.error(lambda n=n: graph.invoke({"items": []}, {"recursion_limit": n}))
        for n in (1, 2, 3, 4)
    ]


def case_recursion_limit_of_nothing(env):
    graph = chain(None, ("a", add("a")))
    return [
        env.error(lambda n=n: graph.invoke({"items": []}, {"recursion_limit": n})) for n in (0, -1)
    ]


def case_stream_up_to_the_recursion_limit(env):
    graph = looping(None)
    parts = []

    def read():
        for part in graph.stream({"items": []}, {"recursion_limit": 3}, stream_mode="values"):
            parts.append(part)

    return env.error(read), parts


def case_invalid_update_of_two_nodes(env):
    graph = parallel(env.saver(), a=lambda s: {"x": 1}, b=lambda s: {"x": 2})
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    return error, brief(graph)


def case_invalid_return_values(env):
    return [
        env.error(lambda v=value: chain(None, ("a", lambda s: v)).invoke({"items": []}))
        for value in ("text", 7, [{"x": 1}], ["text"], {"x"})
    ]


def case_b07_parent_command_of_a_root_graph(env):
    graph = chain(None, ("a", lambda s: Command(graph=Command.PARENT, goto="z")))
    return env.error(lambda: graph.invoke({"items": []})), ParentCommand.__name__


async def case_b07_parent_command_of_a_root_graph_async(env):
    async def node(state):
        return Command(graph=Command.PARENT, goto="z")

    graph = chain(None, ("a", node))
    return await env.aerror(graph.ainvoke({"items": []}))


def case_b07_parent_command_with_a_step_timeout(env):
    graph = chain(None, ("a", lambda s: Command(graph=Command.PARENT, goto="z")))
    graph.step_timeout = 5
    return env.error(lambda: graph.invoke({"items": []}))


class ThirdParty(BaseCheckpointSaver):
    """A saver as somebody else would write it, on top of another; can be broken."""

    def __init__(self, inner, broken=None):
        super().__init__()
        self.inner = inner
        self.broken = broken

    def get_tuple(self, config):
        return self.inner.get_tuple(config)

    def list(self, config, *, filter=None, before=None, limit=None):
        return self.inner.list(config, filter=filter, before=before, limit=limit)

    def put(self, config, checkpoint, metadata, new_versions):
        if self.broken == "put":
            raise AppError(507)
        return self.inner.put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config, writes, task_id, task_path=""):
        if self.broken == "put_writes":
            raise AppError(508)
        self.inner.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id):
        self.inner.delete_thread(thread_id)


def case_b03_error_of_the_saver(env):
    found = []
    for durability in ("sync", "async", "exit"):
        saver = ThirdParty(InMemorySaver(), broken="put")
        graph = chain(saver, ("a", add("a")), ("b", add("b")))
        found.append(
            env.error(lambda g=graph, d=durability: g.invoke({"items": []}, CONFIG, durability=d))
        )
    return found


def case_b03_error_of_the_saver_in_put_writes(env):
    graph = parallel(ThirdParty(InMemorySaver(), broken="put_writes"), a=add("a"), b=add("b"))
    return env.error(lambda: graph.invoke({"items": []}, CONFIG, durability="sync"))


def case_saver_of_a_third_party(env):
    def ask(state):
        return {"items": [interrupt("q")]}

    saver = ThirdParty(InMemorySaver())
    graph = chain(saver, ("a", add("a")), ("ask", ask), ("z", add("z")))
    first = graph.invoke({"items": []}, CONFIG)
    stopped = graph.get_state(CONFIG)
    result = graph.invoke(Command(resume="A"), CONFIG)
    old = next(s for s in graph.get_state_history(CONFIG) if s.next == ("z",))
    graph.update_state(old.config, {"items": ["F"]})
    return first, stopped, result, graph.invoke(None, CONFIG), brief(graph)


def case_error_inside_a_subgraph(env):
    inner = StateGraph(State)
    inner.add_node("s1", add("s1"))
    inner.add_node("boom", fails(AppError(5)))
    inner.add_edge(START, "s1")
    inner.add_edge("s1", "boom")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=env.saver())
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    snapshot = graph.get_state(CONFIG)
    return error, snapshot.next, [(t.name, t.error) for t in snapshot.tasks]


def case_async_node_in_a_sync_run(env):
    async def node(state):
        return {"items": ["a"]}

    return env.error(lambda: chain(None, ("a", node)).invoke({"items": []}))


def case_fan_out_with_one_failure(env):
    calls = []

    def work(state):
        calls.append(state["x"])
        if state["x"] == 1 and calls.count(1) == 1:
            while True:
                results = [t.result for t in graph.get_state(CONFIG).tasks]
                if sum(r is not None for r in results) == 3:
                    raise AppError(1)
                time.sleep(0.005)
        return {"items": [state["x"]]}

    builder = StateGraph(State)
    builder.add_node("w", work)
    builder.add_conditional_edges(START, lambda s: [Send("w", {"x": i}) for i in range(4)], ["w"])
    graph = builder.compile(checkpointer=env.saver())
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    snapshot = graph.get_state(CONFIG)
    return error, snapshot, graph.invoke(None, CONFIG, **SYNC), sorted(calls)


# --- retries ---------------------------------------------------------------------------------


def tried(env, policy, error, failures=2):
    graph = chain(None, ("f", flaky(failures, error)), retry_policy=policy)
    return env.error(lambda: graph.invoke({"items": []}))


def case_retry_default_classes(env):
    errors = [
        ValueError("x"),
        TypeError("x"),
        KeyError("x"),
        IndexError("x"),
        ZeroDivisionError("x"),
        RuntimeError("x"),
        NameError("x"),
        ImportError("x"),
        SyntaxError("x"),
        ReferenceError("x"),
        OSError("x"),
        FileNotFoundError("x"),
        TimeoutError("x"),
        ConnectionError("x"),
        ConnectionResetError("x"),
        AssertionError("x"),
        AttributeError("x"),
        EOFError("x"),
        MemoryError("x"),
        AppError(1),
        Exception("x"),
    ]
    policy = RetryPolicy(**FAST)
    return [(type(e).__name__, tried(env, policy, e)) for e in errors]


def case_retry_on_a_class(env):
    policy = RetryPolicy(retry_on=ValueError, **FAST)
    return tried(env, policy, ValueError("x")), tried(env, policy, KeyError("x"))


def case_retry_on_a_subclass(env):
    policy = RetryPolicy(retry_on=LookupError, **FAST)
    return tried(env, policy, KeyError("x"))


def case_retry_on_several_classes(env):
    return [
        tried(env, RetryPolicy(retry_on=classes, **FAST), ValueError("x"))
        for classes in ((KeyError, ValueError), [KeyError, ValueError], (KeyError,))
    ]


def case_retry_on_a_callable(env):
    policy = RetryPolicy(retry_on=lambda error: getattr(error, "code", 0) == 503, **FAST)
    return tried(env, policy, AppError(503)), tried(env, policy, AppError(400))


def case_retry_max_attempts(env):
    return [
        tried(env, RetryPolicy(max_attempts=n, retry_on=ValueError, **FAST), ValueError("x"))
        for n in (1, 2, 3, 4)
    ]


def case_retry_policies_first_match_wins(env):
    def policies(*rows):
        return [RetryPolicy(retry_on=on, max_attempts=n, **FAST) for on, n in rows]

    return [
        tried(env, policies((KeyError, 2), (ValueError, 5)), ValueError("x"), 3),
        tried(env, policies((Exception, 2), (ValueError, 5)), ValueError("x"), 3),
        tried(env, policies((ValueError, 5), (Exception, 2)), ValueError("x"), 3),
        tried(env, policies((KeyError, 5), (TypeError, 5)), ValueError("x"), 1),
    ]


async def case_retry_async(env):
    calls = []

    async def node(state):
        calls.append(1)
        if len(calls) < 3:
            raise AppError(len(calls))
        return {"items": [len(calls)]}

    graph = chain(None, ("f", node), retry_policy=RetryPolicy(**FAST))
    return await graph.ainvoke({"items": []})


def case_retry_starts_from_clean_writes(env):
    calls = []

    def node(state, writer):
        calls.append(1)
        writer(f"attempt {len(calls)}")
        if len(calls) < 3:
            raise AppError(1)
        return {"items": [len(calls)]}

    graph = chain(None, ("f", node), retry_policy=RetryPolicy(**FAST))
    return list(graph.stream({"items": []}, stream_mode=["custom", "updates", "tasks"]))


def case_retry_does_not_touch_the_sibling(env):
    calls = []

    def sibling(state):
        calls.append("sibling")
        return {"items": ["sibling"]}

    builder = StateGraph(State)
    builder.add_node("f", flaky(2, AppError(1)), retry_policy=RetryPolicy(**FAST))
    builder.add_node("sibling", sibling)
    builder.add_edge(START, "f")
    builder.add_edge(START, "sibling")
    return builder.compile().invoke({"items": []}), calls


def case_retry_does_not_catch_a_question(env):
    calls = []

    def node(state):
        calls.append(1)
        return {"items": [interrupt("q")]}

    policy = RetryPolicy(retry_on=Exception, max_attempts=5, **FAST)
    graph = chain(env.saver(), ("f", node), retry_policy=policy)
    first = graph.invoke({"items": []}, CONFIG)
    return first, graph.invoke(Command(resume="A"), CONFIG), len(calls)


def case_retry_after_an_answer(env):
    calls = []

    def node(state):
        answer = interrupt("q")
        calls.append(answer)
        if len(calls) < 3:
            raise AppError(1)
        return {"items": [answer]}

    graph = chain(env.saver(), ("f", node), retry_policy=RetryPolicy(**FAST))
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(resume="A"), CONFIG), calls


def case_retry_sees_in_place_changes(env):
    calls = []

    def node(state):
        calls.append(list(state["items"]))
        if len(calls) < 2:
            raise AppError(1)
        return {"x": len(calls)}

    graph = chain(None, ("f", node), retry_policy=RetryPolicy(**FAST))
    return graph.invoke({"items": ["i"]}), calls


def case_retry_exhausted_is_saved_as_error(env):
    policy = RetryPolicy(max_attempts=2, **FAST)
    graph = chain(env.saver(), ("f", flaky(9, AppError(1))), retry_policy=policy)
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    return error, graph.get_state(CONFIG)


def case_retry_policy_defaults(env):
    policy = RetryPolicy()
    return (
        policy.initial_interval,
        policy.backoff_factor,
        policy.max_interval,
        policy.max_attempts,
        policy.jitter,
        RetryPolicy(max_attempts=4)._replace(jitter=False).jitter,
    )


def case_families_of_errors(env):
    errors = (EmptyInputError, GraphRecursionError, InvalidUpdateError, NodeCancelledError)
    return (
        [issubclass(e, Exception) for e in errors],
        issubclass(GraphRecursionError, RecursionError),
        issubclass(NodeCancelledError, asyncio.CancelledError),
    )


def class_raised(call):
    """Its name alone: the error may have no text."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return None


def case_errors_that_have_no_text(env):
    told = []
    for number, error in enumerate((Textless(), Shapeless())):
        config = {"configurable": {"thread_id": str(number)}}
        graph = chain(env.saver(), ("a", add("a")), ("f", fails(error)))
        outer = chain(None, ("in", chain(None, ("f", fails(error)))))
        told += [
            class_raised(lambda graph=graph, config=config: graph.invoke({"items": []}, config)),
            [snapshot.next for snapshot in graph.get_state_history(config)],
            class_raised(lambda outer=outer: outer.invoke({"items": []})),
            class_raised(
                lambda outer=outer: list(outer.stream({"items": []}, stream_mode="tasks"))
            ),
        ]
    return told


async def case_errors_that_have_no_text_async(env):
    told = []
    for error in (Textless(), Shapeless()):
        try:
            await chain(None, ("f", afails(error))).ainvoke({"items": []})
        except Exception as raised:
            told.append(type(raised).__name__)
    return told


def case_retried_errors_that_have_no_text(env):
    policy = RetryPolicy(max_attempts=2, **FAST)
    graph = chain(None, ("f", fails(Textless())), retry_policy=policy)
    return class_raised(lambda: graph.invoke({"items": []}))


def case_errors_that_take_no_note(env):
    graph = chain(env.saver(), ("a", add("a")), ("f", fails(Frozen(1))))
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    return error, graph.get_state(CONFIG).next
