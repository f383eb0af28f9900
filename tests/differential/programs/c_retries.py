"""Retry policies: lists of them, what they match, and what they leave alone."""

import operator
from typing import Annotated, TypedDict

from langgraph.errors import GraphRecursionError
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


class AppError(Exception):
    """An error of the program's own."""


class SubError(AppError):
    """A kind of it."""


def fast(**options):
    return RetryPolicy(initial_interval=0.001, backoff_factor=1.0, jitter=False, **options)


def failing(errors):
    """A node that raises these errors, one per attempt, and then returns."""
    attempts = []

    def node(state):
        attempts.append(1)
        if len(attempts) <= len(errors):
            raise errors[len(attempts) - 1]
        return {"items": [len(attempts)]}

    return node, attempts


def outcome(env, errors, policy):
    node, attempts = failing(errors)
    builder = StateGraph(State).add_node("node", node, retry_policy=policy)
    graph = builder.add_edge(START, "node").compile()
    return env.error(lambda: graph.invoke({"items": []})), len(attempts)


def case_forms_of_retry_on(env):
    forms = [
        AppError,
        (AppError, KeyError),
        [KeyError],
        lambda e: isinstance(e, SubError),
        SubError,
    ]
    return [outcome(env, [SubError()], fast(retry_on=form)) for form in forms]


def case_default_retry_on(env):
    errors = [
        AppError(),
        ConnectionError(),
        TimeoutError(),
        OSError(),
        ValueError(),
        KeyError(),
        TypeError(),
        RuntimeError(),
        ZeroDivisionError(),
        RecursionError(),
        StopIteration(),
        NotImplementedError(),
        EOFError(),
        AssertionError(),
        GraphRecursionError(),
    ]
    return [outcome(env, [error], fast()) for error in errors]


def case_first_matching_policy_decides(env):
    once = fast(retry_on=SubError, max_attempts=1)
    often = fast(retry_on=AppError, max_attempts=4)
    return [
        outcome(env, [SubError()], [once, often]),
        outcome(env, [SubError()], [often, once]),
        outcome(env, [AppError(), AppError()], [once, often]),
    ]


def case_attempts_count_over_all_policies(env):
    policies = [fast(retry_on=KeyError, max_attempts=2), fast(retry_on=AppError, max_attempts=3)]
    return [
        outcome(env, [KeyError(), AppError()], policies),
        outcome(env, [AppError(), KeyError()], policies),
        outcome(env, [AppError(), AppError(), AppError()], policies),
    ]


def case_empty_list(env):
    return outcome(env, [AppError()], [])


def case_retry_on_that_fails(env):
    def broken(error):
        raise LookupError("broken")

    return outcome(env, [AppError()], fast(retry_on=broken))


def case_invalid_retry_on(env):
    return outcome(env, [AppError()], fast(retry_on=5))


def case_defaults_of_a_graph(env):
    first, first_attempts = failing([AppError()])
    second, second_attempts = failing([AppError()])
    builder = StateGraph(State)
    builder.add_node("a", first)
    builder.add_node("b", second, retry_policy=fast(max_attempts=1))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.set_node_defaults(retry_policy=fast())
    graph = builder.compile()
    error = env.error(lambda: graph.invoke({"items": []}))
    return error, len(first_attempts), len(second_attempts)


def case_defaults_do_not_reach_into_subgraphs(env):
    node, attempts = failing([AppError()])
    inner = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    outer = StateGraph(State).set_node_defaults(retry_policy=fast(max_attempts=1))
    outer = outer.add_node("inner", inner).add_edge(START, "inner")
    return env.error(lambda: outer.compile().invoke({"items": []})), len(attempts)


def retried_inside(errors, saver=None, config=None):
    """A graph of two nodes, of which the second fails, that is retried as a node."""
    node, attempts = failing(errors)
    ran = []

    def before(state):
        ran.append(1)
        return {"items": ["before"]}

    inner = StateGraph(State).add_sequence([("before", before), ("node", node)])
    inner = inner.add_edge(START, "before").compile()
    outer = StateGraph(State).add_node("inner", inner, retry_policy=fast())
    outer = outer.add_edge(START, "inner").compile(checkpointer=saver)
    return outer.invoke({"items": []}, config), len(ran), len(attempts)


def case_subgraph_is_retried_as_a_whole(env):
    return retried_inside([AppError()])


def case_subgraph_of_a_stored_thread_is_retried(env):
    config = {"configurable": {"thread_id": "1"}}
    return retried_inside([AppError(), AppError()], env.saver(), config)


def case_siblings_run_once(env):
    node, attempts = failing([AppError(), AppError()])
    ran = []

    def sibling(state):
        ran.append(1)
        return {"items": ["sibling"]}

    builder = StateGraph(State)
    builder.add_node("node", node, retry_policy=fast())
    builder.add_node("sibling", sibling)
    builder.add_edge(START, "node")
    builder.add_edge(START, "sibling")
    return builder.compile().invoke({"items": []}), len(attempts), len(ran)


def case_sends_are_retried_each(env):
    seen = []

    def node(state):
        seen.append(state["n"])
        if seen.count(state["n"]) <= state["n"]:
            raise AppError
        return {"items": [state["n"]]}

    builder = StateGraph(State).add_node("node", node, retry_policy=fast(max_attempts=4))

    def fan(state):
        return [Send("node", {"n": n}) for n in range(3)]

    builder.add_conditional_edges(START, fan, ["node"])
    return builder.compile().invoke({"items": []}), sorted(seen)


def case_questions_are_not_retried(env):
    attempts = []

    def node(state):
        attempts.append(1)
        answer = interrupt("q")
        if len(attempts) < 4:
            raise AppError
        return {"items": [answer]}

    builder = StateGraph(State).add_node("node", node, retry_policy=fast(max_attempts=5))
    graph = builder.add_edge(START, "node").compile(checkpointer=env.saver())
    asked = graph.invoke({"items": []}, CONFIG)
    return asked, graph.invoke(Command(resume="A"), CONFIG), len(attempts)


def case_attempt_numbers(env):
    seen = []

    def node(state, runtime: Runtime):
        info = runtime.execution_info
        seen.append((info.node_attempt, info.node_first_attempt_time is not None, info.task_id))
        if len(seen) < 3:
            raise AppError
        return {}

    builder = StateGraph(State).add_node("node", node, retry_policy=fast())
    builder.add_edge(START, "node").compile().invoke({"items": []})
    return [(number, known) for number, known, _ in seen], len({task_id for *_, task_id in seen})


def case_resumed_run_starts_counting_anew(env):
    node, attempts = failing([AppError()] * 5)
    builder = StateGraph(State).add_node("node", node, retry_policy=fast(max_attempts=3))
    graph = builder.add_edge(START, "node").compile(checkpointer=env.saver())
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    return error, graph.invoke(None, CONFIG), len(attempts)


def case_tasks(env):
    attempts = []

    @task(retry_policy=[fast(retry_on=KeyError), fast(retry_on=AppError)])
    def work():
        attempts.append(1)
        if len(attempts) < 3:
            raise AppError
        return len(attempts)

    @entrypoint(checkpointer=env.saver())
    def workflow(given):
        return work().result()

    return workflow.invoke(1, CONFIG), len(attempts)


async def case_async_tasks(env):
    attempts = []

    @task(retry_policy=fast())
    async def work():
        attempts.append(1)
        if len(attempts) < 3:
            raise AppError
        return len(attempts)

    @entrypoint()
    async def workflow(given):
        return await work()

    return await workflow.ainvoke(1), len(attempts)


def case_workflows(env):
    attempts = []

    @entrypoint(retry_policy=fast())
    def workflow(given):
        attempts.append(1)
        if len(attempts) < 3:
            raise AppError
        return len(attempts)

    return workflow.invoke(1), len(attempts)


async def case_async_node(env):
    attempts = []

    async def node(state):
        attempts.append(1)
        if len(attempts) < 3:
            raise AppError
        return {"items": [len(attempts)]}

    builder = StateGraph(State).add_node("node", node, retry_policy=fast())
    return await builder.add_edge(START, "node").compile().ainvoke({"items": []}), len(attempts)


def case_failed_attempts_in_streams(env):
    node, _ = failing([AppError()])
    builder = StateGraph(State).add_node("node", node, retry_policy=fast())
    graph = builder.add_edge(START, "node").compile()
    return list(graph.stream({"items": []}, stream_mode=["updates", "tasks"]))
