"""Retries, errors of tasks and what is left of their siblings."""

import asyncio
import threading
from operator import add
from typing import Annotated, TypedDict

from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import RetryPolicy


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


class Flaky:
    """A node that fails a number of times, then succeeds; counts its attempts."""

    def __init__(self, fails, error=ConnectionError):
        self.fails, self.error, self.attempts = fails, error, 0

    def __call__(self, state):
        self.attempts += 1
        if self.attempts <= self.fails:
            raise self.error(f"attempt {self.attempts}")
        return {"log": [self.attempts]}


def fast(**options):
    return RetryPolicy(initial_interval=0.001, max_interval=0.002, jitter=False, **options)


def attempt(env, node, policy):
    graph = StateGraph(State)
    graph.add_node("n", node, retry_policy=policy)
    graph.add_edge(START, "n")
    return [env.error(lambda: graph.compile().invoke({})), node.attempts]


def case_retries_until_success(env):
    return attempt(env, Flaky(2), fast())


def case_gives_up_after_max_attempts(env):
    return [attempt(env, Flaky(9), fast(max_attempts=n)) for n in (1, 2, 4)]


def case_no_policy_no_retry(env):
    return attempt(env, Flaky(1), None)


def case_default_retry_on(env):
    errors = [ConnectionError, ValueError, TypeError, RuntimeError, OSError, KeyError, TimeoutError]
    errors += [ZeroDivisionError, ImportError, NameError, SyntaxError, StopIteration, Exception]
    return [attempt(env, Flaky(1, error), fast()) for error in errors]


def case_retry_on_class(env):
    policy = fast(retry_on=ValueError)
    return [attempt(env, Flaky(1, error), policy) for error in (ValueError, UnicodeError, KeyError)]


def case_retry_on_several_classes(env):
    policy = fast(retry_on=(ValueError, KeyError))
    return [attempt(env, Flaky(1, error), policy) for error in (ValueError, KeyError, TypeError)]


def case_retry_on_function(env):
    policy = fast(retry_on=lambda error: "attempt 1" in str(error))
    return [attempt(env, Flaky(fails), policy) for fails in (1, 2)]


def case_retry_on_what_is_no_error(env):
    return [
        env.error(lambda on=on: attempt(env, Flaky(0), fast(retry_on=on)))
        for on in ("ConnectionError", {ConnectionError}, None, ["ConnectionError"])
    ]


def case_first_matching_policy_wins(env):
    policies = [fast(retry_on=KeyError, max_attempts=2), fast(retry_on=Exception, max_attempts=4)]
    return [attempt(env, Flaky(9, error), policies) for error in (KeyError, ValueError)]


def case_zero_and_negative_attempts(env):
    return [attempt(env, Flaky(9), fast(max_attempts=n)) for n in (0, -1)]


def case_retry_drops_writes_of_failed_attempts(env):
    class Writer(Flaky):
        def __call__(self, state):
            self.attempts += 1
            if self.attempts == 1:
                raise ConnectionError
            return {"log": ["once"], "n": len(state["log"])}

    return attempt(env, Writer(1), fast())


async def case_retries_async(env):
    attempts = []

    async def node(state):
        attempts.append(1)
        await asyncio.sleep(0)
        if len(attempts) < 3:
            raise ConnectionError
        return {"log": [len(attempts)]}

    graph = StateGraph(State)
    graph.add_node("n", node, retry_policy=fast())
    graph.add_edge(START, "n")
    return await graph.compile().ainvoke({})


def case_node_defaults_of_the_graph(env):
    node, other = Flaky(9), Flaky(9)
    graph = StateGraph(State)
    graph.set_node_defaults(retry_policy=fast(max_attempts=2))
    graph.add_node("n", node)
    graph.add_node("other", other, retry_policy=fast(max_attempts=5))
    graph.add_edge(START, "n")
    first = env.error(lambda: graph.compile().invoke({}))
    graph = StateGraph(State)
    graph.set_node_defaults(retry_policy=fast(max_attempts=2))
    graph.add_node("other", other, retry_policy=fast(max_attempts=5))
    graph.add_edge(START, "other")
    return [first, node.attempts, env.error(lambda: graph.compile().invoke({})), other.attempts]


def case_a_node_that_is_never_tried_again_whatever_the_defaults(env):
    node = Flaky(9)
    graph = StateGraph(State).set_node_defaults(retry_policy=fast(max_attempts=2))
    graph.add_node("n", node, retry_policy=[]).add_edge(START, "n")
    return env.error(lambda: graph.compile().invoke({})), node.attempts


def case_retry_policy_fields(env):
    return [
        RetryPolicy()._asdict().keys() - {"retry_on"},
        RetryPolicy()[:5],
        RetryPolicy(max_attempts=9)[3],
    ]


def failing(error):
    def node(state):
        raise error

    return node


def side_by_side(**nodes):
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
    return graph


def case_error_reaches_the_caller_unchanged(env):
    error = ValueError("mine")
    try:
        side_by_side(a=failing(error)).compile().invoke({})
    except ValueError as caught:
        return [caught is error, str(caught), caught.args]


def case_custom_error_class(env):
    class Mine(Exception):
        pass

    return env.error(lambda: side_by_side(a=failing(Mine())).compile().invoke({}))


def case_error_in_one_of_parallel_tasks(env):
    app = side_by_side(a=lambda s: {"log": ["a"]}, b=failing(ValueError("b"))).compile()
    return env.error(lambda: app.invoke({}))


def case_run_resumes_after_an_error(env):
    ran = []

    def bad(state):
        ran.append("bad")
        if len(ran) == 1:
            raise ValueError("first time")
        return {"log": ["bad"]}

    # Whether `good` had finished when `bad` failed is a race: only the end is compared.
    app = side_by_side(good=lambda s: {"log": ["good"]}, bad=bad).compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    first = env.error(lambda: app.invoke({}, config))
    return [first, "bad" in app.get_state(config).next, app.invoke(None, config), ran]


def case_error_is_seen_in_the_state(env):
    app = side_by_side(a=failing(ValueError("mine"))).compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    first = env.error(lambda: app.invoke({"n": 1}, config))
    state = app.get_state(config)
    return [first, state.next, state.values, [(t.name, t.error is not None) for t in state.tasks]]


def case_error_after_streamed_parts(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: {"log": ["a"]})
    graph.add_node("b", failing(KeyError("k")))
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    seen = []

    def consume():
        for part in graph.compile().stream({}):
            seen.append(part)

    return [env.error(consume), seen]


async def case_error_cancels_async_siblings(env):
    fate = []

    async def slow(state):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            fate.append("cancelled")
            raise

    async def bad(state):
        await asyncio.sleep(0.01)
        raise ValueError("b")

    app = side_by_side(slow=slow, bad=bad).compile()
    return [await env.aerror(app.ainvoke({})), fate]


async def case_caller_cancels_the_run(env):
    fate, started = [], asyncio.Event()

    async def slow(state):
        started.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            fate.append("cancelled")
            raise

    run = asyncio.create_task(side_by_side(slow=slow).compile().ainvoke({}))
    await started.wait()
    run.cancel()
    return [await env.aerror(run), fate]


def case_recursion_limit(env):
    graph = StateGraph(State)
    graph.add_node("n", lambda s: {"n": s.get("n", 0) + 1})
    graph.add_edge(START, "n")
    graph.add_conditional_edges("n", lambda s: "n" if s["n"] < 5 else END)
    app = graph.compile()
    limits = (1, 3, 4, 5, 6)
    seen = [env.error(lambda m=m: app.invoke({}, {"recursion_limit": m})) for m in limits]
    return [*seen, issubclass(GraphRecursionError, RecursionError)]


def case_recursion_limit_keeps_progress(env):
    graph = StateGraph(State)
    graph.add_node("n", lambda s: {"n": s["n"] + 1})
    graph.add_edge(START, "n")
    graph.add_conditional_edges("n", lambda s: "n" if s["n"] < 5 else END)
    app = graph.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 2}
    first = env.error(lambda: app.invoke({"n": 0}, config))
    return [first, app.get_state(config).values, app.invoke(None, {**config, "recursion_limit": 9})]


def case_bad_recursion_limit(env):
    app = side_by_side(a=lambda s: {"n": 1}).compile()
    return [env.error(lambda n=n: app.invoke({}, {"recursion_limit": n})) for n in (0, -1)]


async def case_recursion_limit_async(env):
    graph = StateGraph(State)
    graph.add_node("n", lambda s: {"n": 1})
    graph.add_edge(START, "n")
    graph.add_edge("n", "n")
    return await env.aerror(graph.compile().ainvoke({}, {"recursion_limit": 3}))


def case_default_recursion_limit_is_generous(env):
    graph = StateGraph(State)
    graph.add_node("n", lambda s: {"n": s["n"] + 1})
    graph.add_edge(START, "n")
    graph.add_conditional_edges("n", lambda s: "n" if s["n"] < 200 else END)
    return env.error(lambda: graph.compile().invoke({"n": 0}))


def case_node_attempt_is_counted(env):
    seen = []

    def node(state, runtime: Runtime):
        seen.append(runtime.execution_info.node_attempt)
        if len(seen) < 3:
            raise ConnectionError
        return {"log": list(seen)}

    graph = StateGraph(State)
    graph.add_node("n", node, retry_policy=fast())
    graph.add_edge(START, "n")
    return graph.compile().invoke({})


async def case_cancelled_error_of_user_code(env):
    async def node(state):
        raise asyncio.CancelledError

    return await env.aerror(side_by_side(n=node).compile().ainvoke({}))


async def case_cancelled_error_of_user_code_is_not_retried(env):
    seen = []

    async def node(state):
        seen.append("node")
        raise asyncio.CancelledError

    async def handler(state):
        return {"log": [len(seen)]}

    def graph_of(node, **options):
        graph = StateGraph(State)
        graph.add_node("n", node, retry_policy=fast(retry_on=lambda error: True), **options)
        return graph.add_edge(START, "n").compile()

    alone, handled = graph_of(node), graph_of(node, error_handler=handler)
    around = StateGraph(State)
    around.add_node("n", alone, retry_policy=fast()).add_edge(START, "n")
    return [
        await env.aerror(alone.ainvoke({})),
        await handled.ainvoke({}),
        await env.aerror(around.compile().ainvoke({})),
        len(seen),
    ]


def case_cancelled_error_of_sync_code_is_not_retried(env):
    def node(state):
        node.attempts += 1
        raise asyncio.CancelledError

    node.attempts = 0
    return attempt(env, node, fast(retry_on=Exception))


def case_step_timeout(env):
    release = threading.Event()
    app = side_by_side(a=lambda s: release.wait(20) and None, b=lambda s: {"log": ["b"]}).compile()
    app.step_timeout = 0.05
    timer = threading.Timer(0.5, release.set)
    timer.start()
    try:
        return env.error(lambda: app.invoke({}))
    finally:
        release.set()
        timer.cancel()


async def case_step_timeout_async(env):
    async def slow(state):
        await asyncio.sleep(20)

    app = side_by_side(slow=slow).compile()
    app.step_timeout = 0.05
    return await env.aerror(app.ainvoke({}))


def case_interrupting_keyboard_is_not_retried(env):
    node = Flaky(1, KeyboardInterrupt)
    graph = StateGraph(State)
    graph.add_node("n", node, retry_policy=fast(retry_on=Exception))
    graph.add_edge(START, "n")
    try:
        graph.compile().invoke({})
    except KeyboardInterrupt:
        return ["interrupted", node.attempts]
