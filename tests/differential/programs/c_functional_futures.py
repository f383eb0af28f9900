"""Futures of tasks: waiting, errors, callbacks; tasks made of many kinds of callables."""

import asyncio
import concurrent.futures
import contextvars
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
FAST = {"initial_interval": 0.001, "backoff_factor": 1.0, "jitter": False}


class AppError(Exception):
    """An error of the program's own."""


class State(TypedDict, total=False):
    """A state of one number and a list."""

    n: int
    out: list


@task
def double(x):
    return x * 2


@task
def fail(x):
    raise AppError(x)


@task
async def adouble(x):
    await asyncio.sleep(0)
    return x * 2


@task
async def afail(x):
    raise AppError(x)


def case_sync_future(env):
    @entrypoint()
    def flow(x):
        heard = []
        future = double(x)
        future.add_done_callback(lambda done: heard.append(done.result()))
        result = future.result(timeout=30)
        late = []
        future.add_done_callback(lambda done: late.append(done.done()))
        return {
            "result": result,
            "done": future.done(),
            "running": future.running(),
            "cancelled": future.cancelled(),
            "cancel": future.cancel(),
            "exception": future.exception(),
            "heard": heard,
            "late": late,
            "is_future": isinstance(future, concurrent.futures.Future),
        }

    return flow.invoke(2)


def case_sync_future_of_a_failure(env):
    @entrypoint()
    def flow(x):
        future = fail(x)
        found = future.exception(timeout=30)
        try:
            future.result()
        except AppError as error:
            return [type(found).__name__, found.args, found is error]

    return flow.invoke("a")


def case_waiting_for_several(env):
    @entrypoint()
    def flow(xs):
        futures = [double(x) for x in xs]
        done, rest = concurrent.futures.wait(futures, timeout=30)
        ordered = sorted(f.result() for f in concurrent.futures.as_completed(futures, timeout=30))
        return [len(done), len(rest), ordered]

    return flow.invoke([3, 1, 2])


def case_first_exception(env):
    @entrypoint()
    def flow(x):
        futures = [double(1), fail("a")]
        done, _ = concurrent.futures.wait(
            futures, timeout=30, return_when=concurrent.futures.FIRST_EXCEPTION
        )
        return futures[1] in done

    return flow.invoke(0)


def case_callback_wakes_the_caller(env):
    @entrypoint()
    def flow(x):
        rung = threading.Event()
        double(x).add_done_callback(lambda _: rung.set())
        return rung.wait(30)

    return flow.invoke(1)


def case_calls_from_threads_of_the_entrypoint(env):
    @entrypoint()
    def flow(xs):
        def work(x):
            return double(x).result(timeout=30)

        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(contextvars.copy_context().run, work, x) for x in xs]
            return [job.result() for job in jobs]

    return flow.invoke([1, 2, 3, 4])


def case_calls_from_threads_of_a_node(env):
    def node(state):
        def work(x):
            return double(x).result(timeout=30)

        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(contextvars.copy_context().run, work, x) for x in range(4)]
            return {"out": [job.result() for job in jobs]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=env.saver()).invoke({"n": 1}, CONFIG)


def case_result_taken_in_another_thread(env):
    @entrypoint()
    def flow(xs):
        futures = [double(x) for x in xs]
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda f: f.result(timeout=30), futures))

    return flow.invoke([1, 2, 3])


def case_retry_while_the_caller_waits_elsewhere(env):
    seen = []

    @task(retry_policy=RetryPolicy(**FAST, retry_on=AppError))
    def shaky(x):
        seen.append(x)
        if len(seen) < 3:
            raise AppError("again")
        return x

    @entrypoint()
    def flow(x):
        done, _ = concurrent.futures.wait([shaky(x)], timeout=30)
        return [f.result() for f in done]

    return flow.invoke(7), seen


async def case_async_future(env):
    @entrypoint()
    async def flow(x):
        future = adouble(x)
        heard = []
        future.add_done_callback(lambda done: heard.append(done.result()))
        result = await future
        await asyncio.sleep(0)
        return [result, future.done(), future.exception(), future.cancelled(), heard]

    return await flow.ainvoke(2)


async def case_async_waiting_for_several(env):
    @entrypoint()
    async def flow(xs):
        gathered = await asyncio.gather(*[adouble(x) for x in xs])
        done, rest = await asyncio.wait([adouble(x) for x in xs])
        completed = [await f for f in asyncio.as_completed([adouble(x) for x in xs])]
        mixed = await asyncio.gather(afail("a"), adouble(1), return_exceptions=True)
        limited = await asyncio.wait_for(adouble(9), 30)
        return {
            "gathered": gathered,
            "done": len(done),
            "rest": len(rest),
            "completed": sorted(completed),
            "mixed": [type(mixed[0]).__name__, mixed[1]],
            "limited": limited,
        }

    return await flow.ainvoke([1, 2, 3])


async def case_async_calls_from_asyncio_tasks(env):
    async def work(x):
        return await adouble(x) + await adouble(x)

    @entrypoint()
    async def flow(xs):
        return await asyncio.gather(*[asyncio.create_task(work(x)) for x in xs])

    return await flow.ainvoke([1, 2, 3])


async def case_async_sync_tasks(env):
    @entrypoint()
    async def flow(xs):
        return await asyncio.gather(*[double(x) for x in xs])

    return await flow.ainvoke([1, 2, 3])


async def case_async_failure_is_caught(env):
    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(x):
            try:
                await afail(x)
            except AppError as error:
                return f"caught {error}"

        return await flow.ainvoke("a", CONFIG)


def case_kinds_of_callables(env):
    class Machine:
        def __init__(self):
            self.k = 3

        def times(self, x):
            return self.k * x

        def __call__(self, x):
            return x + self.k

    class Static:
        @staticmethod
        @task
        def work(x):
            return x - 1

    kinds = {
        "bound": task(Machine().times),
        "callable": task(Machine()),
        "partial": task(functools.partial(pow, 3)),
        "lambda": task(lambda x: x),
        "builtin": task(abs),
        "named": task(name="zz")(Machine().times),
        "static": Static.work,
    }
    results = {}
    for kind, function in kinds.items():

        @entrypoint()
        def flow(x, function=function):
            return function(x).result()

        results[kind] = (flow.invoke(2), list(flow.stream(2)))
    return results


def case_arguments_that_cannot_be_hashed_or_stored(env):
    class Client:
        pass

    @task
    def work(client, options, *, tags):
        return [type(client).__name__, options, sorted(tags)]

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return work(Client(), {"a": [x]}, tags={"b", "c"}).result()

    return flow.invoke(1, CONFIG)


def case_tasks_of_tasks_of_tasks(env):
    @task
    def middle(x):
        return double(x).result() + double(x + 1).result()

    @task
    def top(x):
        return [middle(x).result(), middle(x + 10).result()]

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [top(x).result(), top(x + 100).result()]

    return flow.invoke(1, CONFIG)


def case_tasks_in_a_node(env):
    def node(state):
        return {"out": [f.result() for f in [double(state["n"]), double(5)]]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"n": 1}, CONFIG), graph.get_state(CONFIG)


def case_task_in_a_node_before_a_question(env):
    seen = []

    @task
    def charge(amount):
        seen.append(amount)
        return f"charged {amount}"

    def node(state):
        receipt = charge(state["n"]).result()
        return {"out": [receipt, interrupt("ok?")]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=env.saver())
    first = graph.invoke({"n": 5}, CONFIG)
    return first, graph.invoke(Command(resume="yes"), CONFIG), seen


async def case_task_in_an_async_node_before_a_question(env):
    seen = []

    @task
    async def charge(amount):
        seen.append(amount)
        return f"charged {amount}"

    async def node(state):
        receipt = await charge(state["n"])
        return {"out": [receipt, interrupt("ok?")]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    async with env.asaver() as saver:
        graph = builder.compile(checkpointer=saver)
        first = await graph.ainvoke({"n": 5}, CONFIG)
        return first, await graph.ainvoke(Command(resume="yes"), CONFIG), seen


def case_unawaited_task_is_done(env):
    seen = []

    @task
    def note(x):
        seen.append(x)

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        note(x)
        return "r"

    return flow.invoke(1, CONFIG), seen


def case_context_variables_reach_tasks(env):
    who = contextvars.ContextVar("who", default="nobody")

    @task
    def ask():
        return who.get()

    @entrypoint()
    def flow(x):
        first = ask()
        who.set("me")
        return [first.result(), ask().result()]

    return flow.invoke(1)


def case_async_tasks_in_a_sync_run(env):
    @task
    async def one():
        return 1

    @entrypoint()
    def flow(x):
        return one().result()

    async def alone(x):
        return x

    return env.error(lambda: flow.invoke(1)), env.error(lambda: entrypoint()(alone).invoke(1))


def case_async_tasks_in_a_sync_node_of_an_async_run(env):
    @task
    async def one():
        return 1

    graph = StateGraph(State).add_node("a", lambda state: {"n": one().result()})
    return asyncio.run(graph.add_edge(START, "a").compile().ainvoke({"n": 0}))


def case_call_after_the_end_of_a_run(env):
    contexts = []

    @entrypoint()
    def flow(x):
        contexts.append(contextvars.copy_context())

    flow.invoke(1)
    return env.error(lambda: contexts[0].run(lambda: double(1).result()))


def case_call_outside_of_a_run(env):
    return env.error(lambda: double(1))
