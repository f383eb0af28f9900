"""The functional API: entrypoint and task, their results, questions, errors and memory."""

import asyncio
import time

from langgraph.func import entrypoint, task
from langgraph.types import Command, RetryPolicy, StreamWriter, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
FAST = {"initial_interval": 0.001, "backoff_factor": 1.0, "jitter": False}


class AppError(Exception):
    """An error of the program's own."""


@task
def double(x):
    return x * 2


@task
async def adouble(x):
    await asyncio.sleep(0)
    return x * 2


def case_entrypoint(env):
    @entrypoint()
    def flow(x):
        return x + 1

    return flow.invoke(1), list(flow.stream(1)), flow.invoke({"a": 1} and 5)


def case_entrypoint_with_a_saver(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return {"got": x}

    return flow.invoke(1, CONFIG), flow.get_state(CONFIG), list(flow.get_state_history(CONFIG))


async def case_entrypoint_async(env):
    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(x):
            return await adouble(x) + await adouble(x + 1)

        return await flow.ainvoke(1, CONFIG), await flow.aget_state(CONFIG)


def case_tasks(env):
    @entrypoint()
    def flow(xs):
        return [f.result() for f in [double(x) for x in xs]]

    return flow.invoke([1, 2, 3])


async def case_tasks_async(env):
    @entrypoint()
    async def flow(xs):
        return await asyncio.gather(*[adouble(x) for x in xs])

    return await flow.ainvoke([1, 2, 3])


async def case_sync_tasks_of_an_async_entrypoint(env):
    @entrypoint()
    async def flow(xs):
        return [await double(x) for x in xs]

    return await flow.ainvoke([1, 2])


def case_task_of_a_task(env):
    @task
    def outer(x):
        return double(x).result() + 1

    @entrypoint()
    def flow(x):
        return outer(x).result()

    return flow.invoke(3)


def case_task_streams(env):
    @entrypoint()
    def flow(x):
        return double(double(x).result()).result()

    return {
        "updates": list(flow.stream(1, stream_mode="updates")),
        "values": list(flow.stream(1, stream_mode="values")),
        "tasks": list(flow.stream(1, stream_mode="tasks")),
    }


async def case_task_streams_async(env):
    @entrypoint()
    async def flow(x):
        return await adouble(await adouble(x))

    return {
        mode: [part async for part in flow.astream(1, stream_mode=mode)]
        for mode in ("updates", "values", "tasks")
    }


def case_task_with_a_name(env):
    @task(name="renamed")
    def work(x):
        return x

    @entrypoint()
    def flow(x):
        return work(x).result()

    return list(flow.stream(1))


def case_task_arguments(env):
    @task
    def work(a, b=2, *rest, c=3, **others):
        return [a, b, list(rest), c, others]

    @entrypoint()
    def flow(x):
        return [work(1).result(), work(1, 5, 6, 7, c=8, d=9).result(), work(a=4, b=x).result()]

    return flow.invoke(0)


def case_writer_of_an_entrypoint(env):
    @entrypoint()
    def flow(x, writer: StreamWriter):
        writer("hello")
        return x

    return list(flow.stream(1, stream_mode=["custom", "updates"]))


def case_previous(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x, *, previous=None):
        return (previous or 0) + x

    return [flow.invoke(x, CONFIG) for x in (1, 2, 3)], flow.get_state(CONFIG).values


def case_b30_final(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x, *, previous=None) -> entrypoint.final[str, int]:
        total = (previous or 0) + x
        return entrypoint.final(value=f"said {x}, before {previous}", save=total)

    results = [flow.invoke(x, CONFIG) for x in (1, 2, 3)]
    return results, flow.get_state(CONFIG).values


def case_b30_final_schema(env):
    @entrypoint()
    def flow(x: int) -> entrypoint.final[str, int]:
        return entrypoint.final(value="v", save=1)

    return flow.get_output_jsonschema()["type"], flow.get_input_jsonschema()["type"]


def case_b29_generator_entrypoints(env):
    def generator():
        @entrypoint()
        def flow(x):
            yield x

    def async_generator():
        @entrypoint()
        async def flow(x):
            yield x

    return env.error(generator), env.error(async_generator)


def case_b31_caught_task_error(env):
    @task
    def bad():
        raise AppError("bad")

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        try:
            bad().result()
        except AppError as error:
            return f"caught {error}"

    return flow.invoke(1, CONFIG), flow.get_state(CONFIG).next


async def case_b31_caught_task_error_async(env):
    @task
    async def bad():
        raise AppError("bad")

    @entrypoint()
    async def flow(x):
        try:
            await bad()
        except AppError as error:
            return f"caught {error}"

    return await flow.ainvoke(1)


def case_uncaught_task_error(env):
    calls = []

    @task
    def good():
        calls.append("good")
        return 1

    @task
    def bad():
        calls.append("bad")
        if calls.count("bad") == 1:
            raise AppError("bad")
        return 2

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [good().result(), bad().result()]

    error = env.error(lambda: flow.invoke(1, CONFIG))
    return error, flow.get_state(CONFIG).next, flow.invoke(None, CONFIG), calls


def case_question_in_an_entrypoint(env):
    calls = []

    @task
    def work(x):
        calls.append(x)
        return x * 10

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        done = work(x).result()
        answer = interrupt({"done": done})
        return [done, answer]

    first = flow.invoke(1, CONFIG)
    stopped = flow.get_state(CONFIG)
    return first, stopped.next, stopped.interrupts, flow.invoke(Command(resume="A"), CONFIG), calls


async def case_question_in_an_entrypoint_async(env):
    calls = []

    @task
    async def work(x):
        calls.append(x)
        return x * 10

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(x):
            done = await work(x)
            return [done, interrupt({"done": done})]

        first = await flow.ainvoke(1, CONFIG)
        return first, await flow.ainvoke(Command(resume="A"), CONFIG), calls


def case_question_streams(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [double(x).result(), interrupt("q")]

    return (
        list(flow.stream(1, CONFIG, stream_mode="updates")),
        list(flow.stream(Command(resume="A"), CONFIG, stream_mode="updates")),
    )


def case_question_in_a_task(env):
    calls = []

    @task
    def before():
        calls.append("before")
        return "b"

    @task
    def ask(question):
        calls.append("ask")
        return interrupt(question)

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [before().result(), ask("q1").result(), ask("q2").result()]

    return (
        flow.invoke(1, CONFIG),
        flow.invoke(Command(resume="A"), CONFIG),
        flow.invoke(Command(resume="B"), CONFIG),
        calls,
    )


def case_b20_task_before_a_question_does_not_consume(env):
    @task
    def plain(x):
        return x

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        first = plain("one").result()
        answer = interrupt("q")
        second = plain("two").result()
        return [first, answer, second]

    flow.invoke(1, CONFIG)
    return flow.invoke(Command(resume="A"), CONFIG)


def case_b21_falsy_task_results_count(env):
    calls = []

    @task
    def work(value):
        calls.append(repr(value))
        return value

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        results = [work(v).result() for v in (None, 0, False, "", [], {})]
        return [results, interrupt("q")]

    flow.invoke(1, CONFIG)
    return flow.invoke(Command(resume="A"), CONFIG), calls


async def case_b21_falsy_task_results_count_async(env):
    calls = []

    @task
    async def work(value):
        calls.append(repr(value))
        return value

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(x):
            results = [await work(v) for v in (None, 0, False, "")]
            return [results, interrupt("q")]

        await flow.ainvoke(1, CONFIG)
        return await flow.ainvoke(Command(resume="A"), CONFIG), calls


def case_falsy_entrypoint_results(env):
    results = []
    for number, value in enumerate([None, 0, False, "", []]):

        @entrypoint(checkpointer=env.saver())
        def flow(x, value=value):
            return value

        config = {"configurable": {"thread_id": str(number)}}
        results.append((flow.invoke(1, config), flow.get_state(config).next))
    return results


def case_falsy_inputs(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return ["got", x]

    return [
        flow.invoke(value, {"configurable": {"thread_id": repr(value)}})
        for value in (0, "", False, [], {})
    ]


def case_parallel_questions_of_tasks(env):
    @task
    def ask(name):
        return interrupt(name)

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        futures = [ask("q1"), ask("q2")]
        return [f.result() for f in futures]

    flow.invoke(1, CONFIG)
    rounds = 0
    result = None
    while interrupts := flow.get_state(CONFIG).interrupts:
        rounds += 1
        result = flow.invoke(Command(resume={i.id: i.value.upper() for i in interrupts}), CONFIG)
    return result, rounds <= 2


def case_task_retry(env):
    calls = []

    @task(retry_policy=RetryPolicy(retry_on=AppError, **FAST))
    def flaky():
        calls.append(1)
        if len(calls) < 3:
            raise AppError("again")
        return len(calls)

    @entrypoint()
    def flow(x):
        return flaky().result()

    return flow.invoke(1)


def case_entrypoint_retry(env):
    calls = []

    @entrypoint(retry_policy=RetryPolicy(retry_on=AppError, **FAST))
    def flow(x):
        calls.append(x)
        if len(calls) < 3:
            raise AppError("again")
        return calls

    return flow.invoke(1)


def case_tasks_start_at_their_call(env):
    log = []

    @task
    def slow(name):
        log.append(f"start {name}")
        return name

    @entrypoint()
    def flow(x):
        first = slow("a")
        deadline = time.monotonic() + 20
        while "start a" not in log and time.monotonic() < deadline:
            time.sleep(0.001)
        log.append("before result")
        return first.result()

    return flow.invoke(1), log


def case_entrypoint_called_by_an_entrypoint(env):
    @entrypoint()
    def inner(x):
        return double(x).result()

    @entrypoint()
    def outer(x):
        return [inner.invoke(x), inner.invoke(x + 1)]

    return outer.invoke(1)


def case_task_outside_of_a_run(env):
    return env.error(lambda: double(1).result())


def case_entrypoint_without_parameters(env):
    def make():
        @entrypoint()
        def flow():
            return 1

    return env.error(make)


def case_second_run_on_a_thread_runs_tasks_again(env):
    calls = []

    @task
    def work(x):
        calls.append(x)
        return x

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return work(x).result()

    return flow.invoke(1, CONFIG), flow.invoke(1, CONFIG), calls


def case_names_of_tasks(env):
    named = task(name="other")(lambda x: x)
    return named.__name__, double.__name__


def case_savers_of_workflows_that_are_none(env):
    wrong = (3, -1, "memory", {}, [], dict)
    return [
        env.error(
            lambda given=given: entrypoint(checkpointer=given)(lambda x: x).invoke(1) and None
        )
        for given in wrong
    ]
