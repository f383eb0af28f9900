"""Entrypoints over several runs: memory, history, nesting, streams, questions, retries."""

import asyncio
import warnings
from dataclasses import dataclass
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.cache.memory import InMemoryCache
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import CachePolicy, Command, RetryPolicy, StreamWriter, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}
FAST = {"initial_interval": 0.001, "backoff_factor": 1.0, "jitter": False}


class AppError(Exception):
    """An error of the program's own."""


class State(TypedDict, total=False):
    """A state of a number and a text."""

    n: int
    said: str


class Context(TypedDict, total=False):
    """What a run is told."""

    who: str


@task
def double(x):
    return x * 2


@task
async def adouble(x):
    return x * 2


def case_previous_and_final_over_runs(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x, *, previous=None):
        return entrypoint.final(value=previous, save=[*(previous or []), x])

    said = [flow.invoke(x, CONFIG) for x in (1, 2, 3)]
    history = [(s.values, s.next, s.metadata["step"]) for s in flow.get_state_history(CONFIG)]
    return said, history


async def case_previous_async(env):
    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(x, *, previous=None):
            return (previous or 0) + x

        said = [await flow.ainvoke(x, CONFIG) for x in (1, 2, 3)]
        return said, [s.values async for s in flow.aget_state_history(CONFIG)]


def case_previous_without_a_saver(env):
    @entrypoint()
    def flow(x, *, previous=None):
        return [x, previous]

    return [flow.invoke(x) for x in (1, 2)]


def case_previous_of_an_earlier_checkpoint(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x, *, previous=None):
        return (previous or 0) + x

    for x in (1, 2, 3):
        flow.invoke(x, CONFIG)
    second = next(s for s in flow.get_state_history(CONFIG) if s.values == 3)
    return flow.invoke(100, second.config), flow.get_state(CONFIG).values


def case_injected(env):
    @entrypoint(checkpointer=env.saver(), context_schema=Context)
    def flow(x, *, config: RunnableConfig, runtime: Runtime[Context], writer: StreamWriter):
        writer({"from": "entrypoint"})
        return [
            x,
            config["configurable"]["thread_id"],
            runtime.context["who"],
            runtime.previous,
            get_runtime().context["who"],
        ]

    parts = list(flow.stream(1, CONFIG, context={"who": "me"}, stream_mode=["custom", "updates"]))
    return parts, flow.invoke(2, CONFIG, context={"who": "you"})


class Kept:
    """Its method is a task."""

    @task
    def look(self, x, config: RunnableConfig):
        return [x, config["configurable"]["thread_id"]]


def case_what_a_run_provides_to_tasks(env):
    @task
    def asks(x, config: RunnableConfig, *, runtime: Runtime[Context], writer, store=None):
        writer({"from": x})
        return [
            x,
            {k: config["configurable"].get(k) for k in ("thread_id", "user")},
            config["tags"],
            config["metadata"]["k"],
            runtime.context["who"],
            store.get(("a",), "k").value,
        ]

    @task
    def alone(config):
        return config["configurable"]["thread_id"]

    @task
    def many(*args, config: RunnableConfig):
        return [*args, config["configurable"]["thread_id"]]

    @task
    def other(x, config: str = "own", store: dict | None = None, previous=3):
        return [x, config, store, previous]

    store = env.store()
    store.put(("a",), "k", {"kept": 1})

    @entrypoint(checkpointer=env.saver(), store=store, context_schema=Context)
    def flow(x):
        return [
            *(asks(x).result(), alone().result()),
            alone(config={"configurable": {"thread_id": "given"}}).result(),
            *(many(1, 2, 3).result(), other(1).result(), other(1, "two").result()),
            Kept.look(Kept(), x).result(),
        ]

    config = {"configurable": {"thread_id": "1", "user": "u"}, "tags": ["t"], "metadata": {"k": 2}}
    return list(flow.stream(1, config, context={"who": "me"}, stream_mode=["custom", "tasks"]))


async def case_what_a_run_provides_to_async_tasks(env):
    @task
    async def asks(x, *, config: RunnableConfig, writer: StreamWriter):
        writer(x)
        return [x, config["configurable"]["thread_id"]]

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(x):
            return [await asks(x), await asks(x, config={"configurable": {"thread_id": "given"}})]

        return [p async for p in flow.astream(1, CONFIG, stream_mode=["custom", "updates"])]


def case_what_a_run_provides_is_no_part_of_a_call(env):
    """The arguments of a call: what listeners are told, and what a cache goes by."""
    ran = []

    @task(cache_policy=CachePolicy(key_func=lambda *args, **kwargs: repr((args, kwargs))))
    def asks(x, *, config: RunnableConfig):
        ran.append(x)
        return config["configurable"]["thread_id"]

    @entrypoint(checkpointer=env.saver(), cache=InMemoryCache())
    def flow(x):
        return asks(x).result()

    said = [flow.invoke(1, {"configurable": {"thread_id": t}}) for t in ("a", "b")]
    return said, ran


def case_streams_in_each_mode(env):
    @task
    def say(x):
        get_stream_writer()(f"saying {x}")
        return x

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [say("a").result(), say("b").result()]

    found = {}
    for mode in ("values", "updates", "custom", "tasks", "checkpoints", "debug"):
        config = {"configurable": {"thread_id": mode}}
        found[mode] = list(flow.stream(1, config, stream_mode=mode))
    both = {"configurable": {"thread_id": "both"}}
    found["both"] = list(flow.stream(1, both, stream_mode=["custom", "updates", "values"]))
    return found


async def case_streams_in_each_mode_async(env):
    @task
    async def say(x, writer: StreamWriter = None):
        return x

    @entrypoint()
    async def flow(x, writer: StreamWriter):
        writer("begun")
        return [await say("a"), await say("b")]

    return {
        mode: [part async for part in flow.astream(1, stream_mode=mode)]
        for mode in ("values", "updates", "custom", "tasks")
    }


def case_update_state_of_an_entrypoint(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x, *, previous=None):
        return [x, previous]

    flow.invoke(1, CONFIG)
    return env.error(lambda: flow.update_state(CONFIG, "changed")), flow.get_state(CONFIG).values


def case_state_while_it_waits(env):
    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [double(x).result(), interrupt("q1"), interrupt("q2")]

    flow.invoke(1, CONFIG)
    first = flow.get_state(CONFIG)
    flow.invoke(Command(resume="a"), CONFIG)
    second = flow.get_state(CONFIG)
    last = flow.invoke(Command(resume="b"), CONFIG)
    steps = [(s.metadata["step"], s.values) for s in flow.get_state_history(CONFIG)]
    return first.tasks, first.next, second.interrupts, last, steps


def case_question_by_id(env):
    @task
    def ask(name):
        return interrupt(name)

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        first, second = ask("one"), ask("two")
        return [first.result(), second.result()]

    asked = flow.invoke(1, CONFIG)
    rounds = 0
    while "__interrupt__" in asked:
        rounds += 1
        answers = {i.id: f"answer to {i.value}" for i in flow.get_state(CONFIG).interrupts}
        asked = flow.invoke(Command(resume=answers), CONFIG)
        if not isinstance(asked, dict):
            break
    return asked


def case_question_in_a_loop(env):
    seen = []

    @task
    def work(n):
        seen.append(n)
        return n

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        total = []
        for n in range(3):
            total.append(work(n).result())
            total.append(interrupt(f"q{n}"))
        return total

    flow.invoke(1, CONFIG)
    for answer in ("a", "b", "c"):
        last = flow.invoke(Command(resume=answer), CONFIG)
    return last, seen


def case_entrypoint_in_a_node(env):
    @entrypoint()
    def inner(x):
        return double(x).result() + 1

    def node(state):
        return {"n": inner.invoke(state["n"])}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=env.saver()).invoke({"n": 3}, CONFIG)


def case_graph_in_an_entrypoint(env):
    def node(state):
        return {"n": double(state["n"]).result()}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile()

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [graph.invoke({"n": x}), graph.invoke({"n": x + 1})]

    return flow.invoke(1, CONFIG)


def case_graph_in_a_task(env):
    seen = []

    def node(state):
        seen.append("node")
        return {"said": interrupt("well?")}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile()

    @task
    def run(n):
        seen.append("task")
        return graph.invoke({"n": n})

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return run(x).result()

    first = flow.invoke(1, CONFIG)
    return first["__interrupt__"][0].value, flow.invoke(Command(resume="yes"), CONFIG), seen


def case_entrypoint_in_an_entrypoint(env):
    seen = []

    @task
    def work(x):
        seen.append(x)
        return x + 1

    @entrypoint()
    def inner(x):
        return [work(x).result(), interrupt("inner?")]

    @entrypoint(checkpointer=env.saver())
    def outer(x):
        return [work(x * 10).result(), inner.invoke(x)]

    outer.invoke(1, CONFIG)
    return outer.invoke(Command(resume="yes"), CONFIG), seen


async def case_entrypoint_in_an_entrypoint_async(env):
    @entrypoint()
    async def inner(x):
        return [await adouble(x), interrupt("inner?")]

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def outer(x):
            return [await adouble(x * 10), await inner.ainvoke(x)]

        await outer.ainvoke(1, CONFIG)
        return await outer.ainvoke(Command(resume="yes"), CONFIG)


def case_questions_of_tasks_in_tasks(env):
    @task
    def ask(name):
        return interrupt(name)

    @task
    def middle(name):
        return [double(1).result(), ask(f"{name} inner").result(), interrupt(f"{name} own")]

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [double(x).result(), middle("first").result(), middle("second").result()]

    asked = flow.invoke(1, CONFIG)
    questions = []
    while isinstance(asked, dict):
        pending = flow.get_state(CONFIG).interrupts
        questions.append([each.value for each in pending])
        answers = {each.id: f"answer to {each.value}" for each in pending}
        asked = flow.invoke(Command(resume=answers), CONFIG)
    return asked, questions


def case_other_arguments_on_replay(env):
    seen = []

    @task
    def charge(amount):
        seen.append(amount)
        return f"charged {amount}"

    amounts = iter([5, 6])

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [charge(next(amounts)).result(), interrupt("ok?")]

    flow.invoke(1, CONFIG)
    return env.error(lambda: flow.invoke(Command(resume="yes"), CONFIG)), seen


def case_calls_of_a_retried_caller(env):
    seen = []

    @task
    def work(x):
        seen.append(x)
        return x

    @entrypoint(retry_policy=RetryPolicy(**FAST, retry_on=AppError))
    def flow(x):
        done = [work(1).result(), work(2).result()]
        if len(seen) < 3 and not hasattr(flow, "tried"):
            flow.tried = True
            raise AppError("again")
        return done

    return flow.invoke(1), seen


def case_error_that_nobody_asks_for(env):
    @task
    def refuses():
        raise AppError("no")

    @entrypoint()
    def flow(x):
        refuses()
        return "r"

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        result = flow.invoke(1)
    return result, [str(each.category.__name__) for each in heard]


def case_question_that_nobody_waits_for(env):
    @task
    def ask():
        return interrupt("well?")

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        ask()
        return "r"

    first = flow.invoke(1, CONFIG)
    return isinstance(first, dict), flow.invoke(Command(resume="yes"), CONFIG)


def case_failed_run_goes_on(env):
    seen = []

    @task
    def good(x):
        seen.append(x)
        return x

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        first = good("a").result()
        if seen.count("tried") < 2:
            seen.append("tried")
            raise AppError("not yet")
        return [first, good("b").result()]

    errors = [env.error(lambda: flow.invoke(1, CONFIG))]
    errors.append(env.error(lambda: flow.invoke(None, CONFIG)))
    return errors, flow.invoke(None, CONFIG), seen


def case_caught_failure_then_a_question(env):
    seen = []

    @task
    def shaky():
        seen.append("shaky")
        raise AppError("always")

    @task
    def instead():
        seen.append("instead")
        return "i"

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        try:
            got = shaky().result()
        except AppError:
            got = instead().result()
        return [got, interrupt("q")]

    flow.invoke(1, CONFIG)
    return flow.invoke(Command(resume="A"), CONFIG), seen


def case_caught_failure_that_is_none_the_next_time(env):
    seen = []

    @task
    def shaky():
        seen.append("shaky")
        if seen.count("shaky") == 1:
            raise AppError("once")
        return "fine"

    @task
    def instead(n):
        seen.append(f"instead {n}")
        return n

    @task
    def after(n):
        seen.append(f"after {n}")
        return n

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        try:
            got = shaky().result()
        except AppError:
            got = instead(1).result()
        last = after(got).result() if got == "fine" else interrupt("q")
        return [got, last]

    flow.invoke(1, CONFIG)
    return flow.invoke(Command(resume="A"), CONFIG)[0], seen[:3]


def case_task_retry_then_question(env):
    seen = []

    @task(retry_policy=[RetryPolicy(**FAST, max_attempts=3, retry_on=AppError)])
    def shaky(x):
        seen.append(x)
        if len(seen) < 3:
            raise AppError("again")
        return x

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [shaky(x).result(), interrupt("q")]

    flow.invoke(1, CONFIG)
    return flow.invoke(Command(resume="A"), CONFIG), seen


async def case_parallel_tasks_then_question_async(env):
    seen = []

    @task
    async def work(x):
        await asyncio.sleep(0)
        seen.append(x)
        return x

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(xs):
            done = await asyncio.gather(*[work(x) for x in xs])
            return [done, interrupt("q")]

        await flow.ainvoke([1, 2, 3], CONFIG)
        return await flow.ainvoke(Command(resume="A"), CONFIG), sorted(seen)


def case_replay_of_a_finished_run(env):
    seen = []

    @task
    def work(x):
        seen.append(x)
        return x

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return work(x).result()

    flow.invoke(1, CONFIG)
    first = next(s for s in flow.get_state_history(CONFIG) if s.next)
    return flow.invoke(None, first.config), seen


def case_batch(env):
    @entrypoint()
    def flow(x):
        return double(x).result()

    return flow.batch([1, 2, 3])


def case_equal_calls_are_interchangeable(env):
    seen = []

    @task
    def work(x):
        seen.append(x)
        return len(seen)

    @entrypoint(checkpointer=env.saver())
    def flow(x):
        return [work("same").result(), work("same").result(), interrupt("q")]

    flow.invoke(1, CONFIG)
    return flow.invoke(Command(resume="A"), CONFIG), seen


def case_namespaces_of_what_tasks_stream(env):
    inner = StateGraph(State).add_node("say", lambda state: get_stream_writer()("inner"))
    inner = inner.add_edge(START, "say").compile()

    @task
    def tells(x):
        get_stream_writer()("task")
        inner.invoke({"n": x})
        return x

    @entrypoint()
    def workflow(x):
        return tells(x).result()

    parts = workflow.stream(1, stream_mode=["custom", "updates"], subgraphs=True)
    return [([level.split(":")[0] for level in namespace], *rest) for namespace, *rest in parts]


# --- models as inputs, results and what is saved --------------------------------------------------


class Order(BaseModel):
    n: int


class Bill(BaseModel):
    total: int


@dataclass
class Ledger:
    bills: int


@task
def priced(order: Order) -> Bill:
    return Bill(total=order.n * 10)


@task
def checked(n: int) -> int:
    return priced(Order(n=n)).result().total


def billing(env):
    """A workflow as another process would make it: a new one over the same database."""

    @entrypoint(checkpointer=env.saver())
    def bill(order: Order, *, previous: Ledger | None = None) -> entrypoint.final[Bill, Ledger]:
        ready = priced(order).result()
        total = checked(order.n).result()
        if not interrupt({"total": ready.total}):
            total = 0
        before = previous.bills if previous else 0
        return entrypoint.final(value=Bill(total=total), save=Ledger(bills=before + 1))

    return bill


def case_models_of_workflows_and_tasks(env):
    billing(env).invoke(Order(n=2), CONFIG)
    first = billing(env).invoke(Command(resume=True), CONFIG)
    billing(env).invoke(Order(n=3), CONFIG)
    second = list(billing(env).stream(Command(resume=False), CONFIG))
    return first, second, billing(env).get_state(CONFIG).values


def case_models_of_tasks_in_a_node(env):
    def node(state: State):
        total = priced(Order(n=state["n"])).result().total
        return {"said": f"{total} {interrupt('sure?')}"}

    def graph():
        builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
        return builder.compile(checkpointer=env.saver())

    graph().invoke({"n": 4}, CONFIG)
    return graph().invoke(Command(resume="yes"), CONFIG)
