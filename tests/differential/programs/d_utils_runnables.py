"""What packages take from `langgraph.utils.runnable` and `langchain_core.runnables.utils`."""

import asyncio
import contextvars
from operator import itemgetter
from typing import Annotated, TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.utils import (
    accepts_context,
    asyncio_accepts_context,
    coro_with_context,
    get_function_first_arg_dict_keys,
    get_function_nonlocals,
    get_lambda_source,
    indent_lines_after_first,
)
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.utils.runnable import RunnableCallable


class Hears(BaseCallbackHandler):
    def __init__(self):
        self.told = []

    def on_chain_start(self, serialized, inputs, *, name=None, tags=None, **kwargs):
        self.told.append(("start", name, inputs, tags))

    def on_chain_end(self, outputs, **kwargs):
        self.told.append(("end", outputs))

    def on_chain_error(self, error, **kwargs):
        self.told.append(("error", type(error).__name__))


def plus_one(x):
    return x + 1


async def plus_two(x):
    return x + 2


def case_calls(env):
    callable_ = RunnableCallable(plus_one)
    return (
        callable_.invoke(1),
        callable_.batch([1, 2]),
        list(callable_.stream(1)),
        (callable_ | RunnableLambda(plus_one)).invoke(1),
        (callable_.name, callable_.get_name()),
        RunnableCallable(lambda x: x).name,
        RunnableCallable(plus_one, name="other").get_name(),
    )


def case_what_is_told(env):
    def told(**kwargs):
        hears = Hears()
        RunnableCallable(plus_one, **kwargs).invoke(1, {"callbacks": [hears], "tags": ["call"]})
        return hears.told

    return told(), told(trace=False), told(tags=["own"], name="named")


def case_what_is_told_of_errors(env):
    def fails(x):
        raise KeyError(x)

    hears = Hears()
    error = env.error(lambda: RunnableCallable(fails).invoke(1, {"callbacks": [hears]}))
    return error, hears.told


def case_returned_runnables(env):
    def gives(x):
        return RunnableLambda(plus_one)

    return (
        RunnableCallable(gives).invoke(1),
        isinstance(RunnableCallable(gives, recurse=False).invoke(1), RunnableLambda),
    )


def case_arguments(env):
    def pair(a, b=0):
        return a, b

    return (
        RunnableCallable(pair, explode_args=True).invoke(((1,), {"b": 2})),
        RunnableCallable(pair, b=7).invoke(1),
        RunnableCallable(pair, b=7).invoke(1, None, b=8),
        RunnableCallable(lambda x, config: sorted(config)).invoke(1),
        RunnableCallable(lambda x, *, config: config["tags"]).invoke(1, {"tags": ["t"]}),
        RunnableCallable(lambda x, *, writer: writer(x)).invoke(1),
    )


def case_arguments_of_no_graph(env):
    return (
        env.error(lambda: RunnableCallable(lambda x, *, store: store).invoke(1)),
        env.error(lambda: RunnableCallable(lambda x, *, runtime: runtime).invoke(1)),
    )


def case_callables_that_are_none(env):
    return (
        env.error(lambda: RunnableCallable(None)),
        env.error(lambda: RunnableCallable(5)),
        env.error(lambda: RunnableCallable(None, plus_two).invoke(1)),
    )


async def case_async_forms(env):
    return (
        await RunnableCallable(None, plus_two).ainvoke(1),
        await RunnableCallable(plus_one, plus_two).ainvoke(1),
        await RunnableCallable(plus_one).ainvoke(1),
        [part async for part in RunnableCallable(plus_one, plus_two).astream(1)],
        await RunnableCallable(None, plus_two, name="n").abatch([1, 2]),
    )


class State(TypedDict):
    n: int
    log: Annotated[list, lambda old, new: old + new]


def case_nodes(env):
    def node(state, *, store, writer, runtime, config):
        writer("written")
        store.put(("n",), "k", {"n": state["n"]})
        return {"log": [runtime.context["user"], config["metadata"]["langgraph_node"]]}

    def path(state, config):
        return "b" if state["n"] else END

    builder = StateGraph(State, context_schema=dict)
    builder.add_node("a", RunnableCallable(node))
    builder.add_node("b", RunnableCallable(lambda state: {"n": 0}, trace=False))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", RunnableCallable(path), ["b", END])
    store = InMemoryStore()
    graph = builder.compile(store=store)
    hears = Hears()
    parts = list(
        graph.stream(
            {"n": 1, "log": []},
            {"callbacks": [hears]},
            context={"user": "ada"},
            stream_mode=["custom", "updates"],
        )
    )
    return parts, store.get(("n",), "k").value, [(each[0], each[1]) for each in hears.told]


async def case_nodes_of_async_runs(env):
    async def node(state, *, writer, config):
        writer("written")
        return {"log": [config["metadata"]["langgraph_node"]]}

    builder = StateGraph(State)
    builder.add_node("a", RunnableCallable(None, node, name="named"))
    builder.add_edge(START, "a")
    graph = builder.compile()
    modes = ["custom", "updates"]
    return [part async for part in graph.astream({"n": 1, "log": []}, stream_mode=modes)]


def case_texts_of_functions(env):
    reads = lambda x: x["a"] + x.get("b")  # noqa: E731
    held = {"a": 1}

    def holds(x):
        return held["a"] + held["a"] + x

    def names(x):
        return len(State.__name__), x.name

    return (
        get_lambda_source(reads),
        [get_lambda_source(one) for one in (plus_one, len, itemgetter("a"), object())],
        get_function_first_arg_dict_keys(reads),
        [get_function_first_arg_dict_keys(one) for one in (plus_one, len, itemgetter("a"))],
        indent_lines_after_first("a\nb\n\nc", "xx: "),
        [sorted(map(str, get_function_nonlocals(one))) for one in (holds, names, len, plus_one)],
    )


async def case_contexts(env):
    held = contextvars.ContextVar("held", default=0)
    context = contextvars.copy_context()
    context.run(held.set, 7)

    async def get():
        return held.get()

    return (
        await coro_with_context(get(), context),
        await coro_with_context(get(), context, create_task=True),
        held.get(),
        asyncio_accepts_context(),
        [accepts_context(one) for one in (asyncio.create_task, len, lambda context: 1)],
    )
