"""What can be a node, which arguments it takes, and what it may return."""

import asyncio
import contextvars
import functools
from operator import add
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, RetryPolicy, StreamWriter

SPOT = contextvars.ContextVar("spot", default="unset")


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def one(*args, **options):
    """A compiled graph of one node."""
    graph = StateGraph(State)
    graph.add_node(*args, **options)
    graph.add_edge(START, next(iter(graph.nodes)))
    return graph.compile()


def named_function(state):
    return {"log": ["named"]}


class Caller:
    def __call__(self, state):
        return {"log": ["called", state.get("n")]}

    def method(self, state):
        return {"log": ["method", state.get("n")]}

    @staticmethod
    def static(state):
        return {"log": ["static"]}

    @classmethod
    def made(cls, state):
        return {"log": [cls.__name__]}


class AsyncCaller:
    async def __call__(self, state):
        await asyncio.sleep(0)
        return {"log": ["async called"]}


def case_names_are_inferred(env):
    graph = StateGraph(State)
    graph.add_node(named_function)
    graph.add_node(Caller().method)
    graph.add_node(Caller.static)
    graph.add_node(Caller.made)
    graph.add_node(RunnableLambda(named_function, name="runnable"))
    return list(graph.nodes)


def case_names_of_lambda_and_object(env):
    graph = StateGraph(State)
    return [
        env.error(lambda: list(graph.add_node(lambda s: s).nodes)),
        env.error(lambda: list(StateGraph(State).add_node(Caller()).nodes)),
        env.error(
            lambda: list(StateGraph(State).add_node(functools.partial(named_function)).nodes)
        ),
        env.error(lambda: list(StateGraph(State).add_node(RunnableLambda(lambda s: s)).nodes)),
        env.error(lambda: list(StateGraph(State).add_node(RunnableLambda(named_function)).nodes)),
    ]


def case_lambda(env):
    return one("n", lambda s: {"n": s["n"] + 1}).invoke({"n": 1})


def case_partial(env):
    def node(state, config, by):
        return {"n": state["n"] * by, "log": [config["configurable"].get("x")]}

    app = one("n", functools.partial(node, by=3))
    return app.invoke({"n": 2}, {"configurable": {"x": 1}})


def case_partial_of_first_argument(env):
    return one("n", functools.partial(lambda tag, state: {"log": [tag, state["n"]]}, "t")).invoke(
        {"n": 2}
    )


def case_methods_and_objects(env):
    nodes = [Caller(), Caller().method, Caller.static, Caller.made]
    return [one("n", node).invoke({"n": 1}) for node in nodes]


def case_decorated_function(env):
    def traced(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return {"log": ["traced", *function(*args, **kwargs)["log"]]}

        return inner

    graph = StateGraph(State)
    graph.add_node(traced(named_function))
    graph.add_edge(START, "named_function")
    return graph.compile().invoke({})


def case_runnable(env):
    chain = RunnableLambda(lambda s: s["n"] + 1) | RunnableLambda(lambda n: {"n": n})
    return one("n", chain).invoke({"n": 1})


async def case_runnable_async(env):
    async def step(state):
        return {"n": state["n"] + 1}

    return await one("n", RunnableLambda(step)).ainvoke({"n": 1})


async def case_async_nodes(env):
    async def node(state):
        await asyncio.sleep(0)
        return {"n": state["n"] + 1}

    return [await one("n", node).ainvoke({"n": 1}), await one("n", AsyncCaller()).ainvoke({"n": 1})]


async def case_sync_node_in_async_run(env):
    return await one("n", lambda s: {"n": s["n"] + 1}).ainvoke({"n": 1})


def case_async_node_in_sync_run(env):
    async def node(state):
        return {"n": 1}

    return env.error(lambda: one("n", node).invoke({"n": 1}))


async def case_runnable_with_both_forms(env):
    async def slow(state):
        return {"log": ["async"]}

    app = one("n", RunnableLambda(lambda s: {"log": ["sync"]}, afunc=slow))
    return [app.invoke({}), await app.ainvoke({})]


def case_config_is_injected(env):
    def node(state, config: RunnableConfig):
        return {"log": [config["configurable"]["x"], config["tags"], config["metadata"]["m"]]}

    config = {"configurable": {"x": 1}, "tags": ["t"], "metadata": {"m": 2}}
    return one("n", node).invoke({}, config)


def case_config_metadata_of_a_task(env):
    def node(state, config: RunnableConfig):
        metadata = dict(config["metadata"])
        keys = ["langgraph_step", "langgraph_node", "langgraph_triggers", "langgraph_path"]
        return {"log": [{k: metadata.get(k) for k in keys}]}

    return one("n", node, metadata={"own": 1}).invoke({})


def case_node_metadata_reaches_config(env):
    def node(state, config: RunnableConfig):
        return {"log": [config["metadata"].get("own")]}

    return one("n", node, metadata={"own": 1}).invoke({})


def case_config_by_name_without_annotation(env):
    def node(state, config):
        return {"log": [config["configurable"]["x"]]}

    def keyword(state, *, config):
        return {"log": [config["configurable"]["x"]]}

    def optional(state, config: RunnableConfig | None = None):
        return {"log": [config is not None]}

    config = {"configurable": {"x": 1}}
    return [one("n", f).invoke({}, config) for f in (node, keyword, optional)]


def case_free_name_of_the_state_parameter(env):
    def node(anything: State, config: RunnableConfig):
        return {"log": [anything["n"]]}

    def positional(s, /):
        return {"log": [s["n"]]}

    return [one("n", f).invoke({"n": 3}) for f in (node, positional)]


def case_writer_is_injected(env):
    def node(state, writer: StreamWriter):
        writer({"a": 1})
        writer("b")
        return {"n": 1}

    def keyword(state, *, writer):
        writer("kw")
        return {"n": 2}

    return [list(one("n", f).stream({}, stream_mode="custom")) for f in (node, keyword)]


def case_writer_is_silent_without_custom_mode(env):
    def node(state, writer: StreamWriter):
        return {"log": [writer("nobody hears")]}

    return one("n", node).invoke({})


def case_all_injected_at_once(env):
    def node(state, *, config, writer, store, runtime):
        writer("w")
        return {"log": [config["configurable"]["x"], store is None, runtime.store is None]}

    app = one("n", node)
    return list(app.stream({}, {"configurable": {"x": 1}}, stream_mode=["custom", "updates"]))


def case_extra_parameter_with_default(env):
    def node(state, extra="default"):
        return {"log": [extra]}

    return one("n", node).invoke({})


def case_extra_parameter_without_default(env):
    def node(state, extra):
        return {"log": [extra]}

    return env.error(lambda: one("n", node).invoke({}))


def case_node_returns_none(env):
    return [
        one("n", lambda s: None).invoke({"n": 1}),
        list(one("n", lambda s: None).stream({"n": 1})),
    ]


def case_node_returns_empty_dict(env):
    return [one("n", lambda s: {}).invoke({"n": 1}), list(one("n", lambda s: {}).stream({"n": 1}))]


def case_node_returns_whole_state(env):
    return one("n", lambda s: s).invoke({"n": 1, "log": [1]})


def case_bad_returns(env):
    return [
        env.error(lambda v=v: one("n", lambda s: v).invoke({"n": 1}))
        for v in (1, "text", [1], True)
    ]


def case_list_of_updates(env):
    app = one("n", lambda s: [{"log": [1]}, {"log": [2], "n": 5}])
    return env.error(lambda: app.invoke({"n": 1}))


def case_list_writing_one_key_twice(env):
    return env.error(lambda: one("n", lambda s: [{"n": 1}, {"n": 2}]).invoke({"n": 0}))


def case_tuples_update(env):
    return env.error(lambda: one("n", lambda s: [("n", 4), ("log", ["x"])]).invoke({"n": 1}))


def case_generator_node(env):
    def node(state):
        yield {"log": [1]}
        yield {"log": [2]}

    return env.error(lambda: one("n", node).invoke({"n": 1}))


def case_context_variables_reach_nodes(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: {"log": [("a", SPOT.get())]})
    graph.add_node("b", lambda s: {"log": [("b", SPOT.get())]})
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    token = SPOT.set("caller")
    try:
        return graph.compile().invoke({})
    finally:
        SPOT.reset(token)


def case_context_variables_do_not_leak_out(env):
    def node(state):
        SPOT.set("inside")
        return {"log": [SPOT.get()]}

    result = one("n", node).invoke({})
    return [result, SPOT.get()]


async def case_context_variables_async(env):
    async def node(state):
        seen = SPOT.get()
        SPOT.set("inside")
        return {"log": [seen]}

    SPOT.set("caller")
    return [await one("n", node).ainvoke({}), SPOT.get()]


async def case_context_variables_of_sync_node_in_async_run(env):
    SPOT.set("caller")
    return await one("n", lambda s: {"log": [SPOT.get()]}).ainvoke({})


def case_first_parameter_called_context(env):
    def node(context):
        return {"n": context["n"] + 1, "log": [sorted(context), "n" in context, context.get("no")]}

    return one("a", node).invoke({"n": 1})


def case_whole_context_returned(env):
    return env.error(lambda: one("a", lambda context: context).invoke({"n": 1, "log": ["x"]}))


def case_var_keyword_node(env):
    def node(state, **kwargs: Any):
        return {"log": [sorted(kwargs)]}

    return one("n", node).invoke({"n": 1})


def case_class_as_node(env):
    class Made(dict):
        def __init__(self, state):
            super().__init__(log=["made"])

    return env.error(lambda: one("n", Made).invoke({}))


def case_async_generator_of_updates(env):
    async def node(state):
        yield {"log": [1]}

    return env.error(lambda: one("n", node).invoke({}))


async def awaits(state):
    return {"log": ["awaited"]}


def described():
    builder = StateGraph(State).add_node(awaits, timeout=3)
    builder.add_node("ways", RunnableLambda(named_function), retry_policy=[RetryPolicy()])
    return builder.add_node(
        named_function,
        retry_policy=RetryPolicy(max_attempts=2),
        cache_policy=CachePolicy(ttl=3),
        metadata={"a": 1},
        defer=True,
        destinations=("ways",),
    )


def case_what_a_builder_says_of_its_nodes(env):
    return [
        (node.retry_policy, node.cache_policy is None, node.timeout, node.metadata, node.defer)
        for node in described().nodes.values()
    ]


async def case_nodes_of_a_builder_run_alone(env):
    nodes = described().nodes
    return [await node.runnable.ainvoke({"log": []}) for node in nodes.values()], [
        nodes[name].runnable.invoke({"log": []}) for name in ("ways", "named_function")
    ]


def case_nodes_of_a_builder_in_another(env):
    other, nodes = StateGraph(State), described().nodes
    for name in ("ways", "named_function"):
        node = nodes[name]
        other.add_node(name, node.runnable, retry_policy=node.retry_policy)
    return other.add_edge(START, "named_function").compile().invoke({"log": []})
