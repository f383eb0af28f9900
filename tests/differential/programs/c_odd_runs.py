"""Runs in odd forms: what is streamed at a resume, contexts, parameters, updates, histories."""

import asyncio
import functools
import operator
import threading
from collections import UserDict
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.managed import IsLastStep, RemainingSteps
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, StateUpdate, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Two(TypedDict, total=False):
    x: int
    y: int


def on(thread):
    return {"configurable": {"thread_id": str(thread)}}


def chain(*nodes, schema=State, context_schema=None, **options):
    builder = StateGraph(schema, context_schema=context_schema)
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(**options)


def add(value):
    return lambda state: {"items": [value]}


def told(history):
    return [(s.metadata["source"], s.metadata["step"], s.next, s.values) for s in history]


# --- what a resumed run tells first ---------------------------------------------------------------


def case_a_resume_tells_the_state_though_nothing_is_set(env):
    found = []
    for schema, given in ((Two, {"x": 1}), (int, 5), (Annotated[list, operator.add], [1])):
        graph = chain(lambda s: interrupt("q") and None, schema=schema, checkpointer=env.saver())
        config = on(schema)
        found.append(list(graph.stream(given, config, stream_mode="values")))
        if schema is Two:
            for keys in ("x", ["x"], "y", ["y"]):
                stream = graph.stream(None, config, stream_mode="values", output_keys=keys)
                found.append(list(stream))
        found.append(list(graph.stream(Command(resume=1), config, stream_mode="values")))
    return found


def case_a_resumed_entrypoint_tells_that_it_has_no_result(env):
    @entrypoint(checkpointer=env.saver())
    def flow(given):
        return interrupt("q")

    found = []
    for mode in ("values", ["values", "updates"]):
        inputs = (1, None, Command(resume=4), 2)
        found.append([list(flow.stream(one, on(mode), stream_mode=mode)) for one in inputs])
    return found


def case_an_entrypoint_with_a_graph_that_asks(env):
    @task
    def plus(x):
        return x + 1

    graph = chain(lambda s: {"items": [interrupt("inside")]})

    @entrypoint(checkpointer=env.saver())
    def flow(x, *, previous=None, writer=None):
        writer(("start", previous))
        inside = graph.invoke({"items": [plus(x).result()]})
        return entrypoint.final(value=[inside, interrupt("top")], save=(previous or 0) + 1)

    options = {"stream_mode": ["updates", "custom", "values"], "subgraphs": True}
    inputs = (1, Command(resume="S"), Command(resume="T"), 5)
    return [list(flow.stream(one, CONFIG, durability="sync", **options)) for one in inputs]


def case_none_that_is_written(env):
    found = []
    for node in (lambda s: {"x": None}, lambda s: {"y": None}, lambda s: {}):
        for keys in (None, "x", ["x"], "y"):
            options = {"output_keys": keys} if keys else {}
            graph = chain(node, schema=Two)
            for given in ({"x": 1}, {"x": None}):
                found.append(list(graph.stream(given, stream_mode="values", **options)))
                found.append(graph.invoke(given, **options))
    return found


# --- contexts -------------------------------------------------------------------------------------


@dataclass
class Context:
    user: str
    n: int = 5


class Model(BaseModel):
    user: str
    n: int = 5


class Dict(TypedDict, total=False):
    user: str
    n: int


def seen_context(state, runtime: Runtime):
    context = runtime.context
    user = context if isinstance(context, dict) else getattr(context, "user", None)
    return {"items": [type(context).__name__, user, getattr(context, "n", None)]}


def case_contexts_are_coerced(env):
    found = []
    full, odd = {"user": "a", "n": "7"}, {"user": "a", "zzz": 1}
    for schema in (Context, Model, Dict, None):
        graph = chain(seen_context, context_schema=schema)
        for given in (full, odd, {"user": 1}, Context("i"), Model(user="p"), None, "text", 5):
            found.append(env.error(lambda g=graph, c=given: g.invoke({"items": []}, context=c)))
    return found


def case_an_empty_context(env):
    schemas = (Context, Model, Dict, None)
    graphs = [chain(seen_context, context_schema=schema) for schema in schemas]
    return [env.error(lambda g=g: g.invoke({"items": []}, context={})) for g in graphs]


def case_the_context_of_the_call_that_resumes(env):
    def node(state, runtime: Runtime):
        return {"items": [runtime.context, interrupt("q"), runtime.context]}

    graph = chain(node, context_schema=Dict, checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG, context={"user": "first"})
    return graph.invoke(Command(resume="A"), CONFIG, context={"user": "second"})


def case_contexts_of_nested_calls(env):
    def node(state, runtime: Runtime):
        return {"items": [runtime.context]}

    inner = chain(node, context_schema=Dict)

    def call(state):
        other = inner.invoke({"items": []}, context={"user": "other"})
        return {"items": inner.invoke({"items": []})["items"] + other["items"]}

    graph = chain(node, inner, call, context_schema=Dict, checkpointer=env.saver())
    options = {"stream_mode": "updates", "subgraphs": True}
    return list(graph.stream({"items": []}, CONFIG, context={"user": "o"}, **options))


# --- nodes ----------------------------------------------------------------------------------------


class Methods:
    def method(self, state, *, config):
        return {"items": [type(config).__name__]}

    @classmethod
    def of_the_class(cls, state):
        return {"items": ["class"]}

    @staticmethod
    def static(state):
        return {"items": ["static"]}

    async def asynchronous(self, state, *, writer):
        return {"items": [callable(writer)]}

    def __call__(self, state, store=None):
        return {"items": [store]}


async def case_kinds_of_callables(env):
    methods = Methods()
    nodes = [
        *(methods.method, methods.of_the_class, methods.static, methods),
        functools.partial(lambda state, k: {"items": [k]}, k=2),
        functools.partial(methods.method),
        RunnableLambda(lambda state: {"items": ["lambda"]}),
    ]
    found = [env.error(lambda n=n: chain(n).invoke({"items": []})) for n in nodes]
    for node in [*nodes, methods.asynchronous, functools.partial(methods.asynchronous)]:
        found.append(await env.aerror(chain(node).ainvoke({"items": []})))
    return found


def kinds(*nodes):
    return [(node.__name__, chain(node).invoke({"items": []})) for node in nodes]


def case_kinds_of_parameters(env):
    def positional(state, /):
        return {"items": ["positional"]}

    def keywords(state, *, writer, store=None):
        return {"items": [callable(writer), store]}

    def default(state, config=None):
        return {"items": [type(config).__name__]}

    def optional(state, config: RunnableConfig | None = None):
        return {"items": [type(config).__name__]}

    def text(state, config: "RunnableConfig"):
        return {"items": [type(config).__name__]}

    def generic(state, runtime: Runtime[Context]):
        return {"items": [type(runtime).__name__]}

    def bare(state, runtime):
        return {"items": [type(runtime).__name__]}

    def defaults(state, previous=None, store="default", writer=None):
        return {"items": [previous, store, callable(writer)]}

    return kinds(positional, keywords, default, optional, text, generic, bare, defaults)


def case_parameters_known_by_their_annotation(env):
    def config(state, settings: RunnableConfig):
        return {"items": [type(settings).__name__]}

    def runtime(state, rt: Runtime):
        return {"items": [type(rt).__name__]}

    return [env.error(lambda n=n: kinds(n)) for n in (config, runtime)]


def case_managed_values_and_limits(env):
    class Managed(TypedDict, total=False):
        items: Annotated[list, operator.add]
        last: IsLastStep
        left: RemainingSteps

    def node(state):
        return {"items": [(state["last"], state["left"])]}

    graph = chain(node, chain(node, node, schema=Managed), node, schema=Managed)
    limits = [{"recursion_limit": limit} for limit in (10, 4, 3, 2, 1, 0, -1, True)]
    return [env.error(lambda c=c: graph.invoke({"items": []}, c)) for c in limits]


def case_limits_by_with_config(env):
    builder = StateGraph(State)
    builder.add_node("a", lambda s: {"x": s["x"] + 1})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: "a" if s["x"] < 10 else END)
    graph = builder.compile(checkpointer=env.saver())
    low = graph.with_config(recursion_limit=3)
    outer = chain(builder.compile().with_config(recursion_limit=3))
    return (
        env.error(lambda: low.invoke({"x": 0}, CONFIG)),
        graph.get_state(CONFIG).values,
        env.error(lambda: low.invoke({"x": 0}, {**CONFIG, "recursion_limit": 50})),
        env.error(lambda: outer.invoke({"x": 0})),
        env.error(lambda: outer.invoke({"x": 0}, {"recursion_limit": 30})),
    )


async def case_configs_of_a_subgraph_and_of_the_call(env):
    def node(state, config):
        keys = ("tags", "max_concurrency", "run_name")
        metadata = {key: config["metadata"].get(key) for key in ("m", "o")}
        configurable = {key: config["configurable"].get(key) for key in ("a", "b", "c")}
        return {"items": [[config.get(key) for key in keys], metadata, configurable]}

    own = {
        "tags": ["own"],
        "metadata": {"m": "own", "o": 1},
        "max_concurrency": 2,
        "configurable": {"a": "own", "b": "own"},
        "run_name": "mine",
    }
    call = {
        "tags": ["call"],
        "metadata": {"m": "call"},
        "max_concurrency": 3,
        "configurable": {"a": "call", "c": "call"},
    }
    graph = chain(chain(node).with_config(own), chain(chain(node).with_config(own)))
    given = {"items": []}
    sync = [graph.invoke(given, config) for config in (None, call)]
    return sync, [await graph.ainvoke(given, config) for config in (None, call)]


def case_forms_of_configs(env):
    def node(state, config):
        own = ("langgraph", "ls_", "lc_", "checkpoint", "__")
        metadata = sorted(key for key in config["metadata"] if not key.startswith(own))
        limits = config.get("recursion_limit"), config.get("max_concurrency")
        return {"items": [config.get("tags"), metadata, config.get("run_name"), limits]}

    graph = chain(node)
    configs = (
        *(None, {}, {"tags": ["t"]}, {"metadata": {"m": 1}}, {"run_name": "r"}, {"foo": 1}),
        {"configurable": {"a": 1, "b": "x", "c": [1]}},
        {"recursion_limit": 7, "max_concurrency": 3},
    )
    layered = graph.with_config({"tags": ["a"]}).with_config(tags=["b"], metadata={"z": 1})
    found = [graph.invoke({"items": []}, config) for config in configs]
    return found, layered.invoke({"items": []}, {"tags": ["c"]})


# --- threads, histories, updates ------------------------------------------------------------------


def case_ids_of_threads(env):
    graph = chain(add("a"), checkpointer=env.saver())
    ids = (1, 1.5, "", True, ("a",), "1")
    configs = [{"configurable": {"thread_id": thread}} for thread in ids]
    found = [env.error(lambda c=c: graph.invoke({"items": []}, c)) for c in configs]
    return found, [told(graph.get_state_history(config)) for config in configs]


def case_none_as_the_id_of_a_thread(env):
    graph = chain(add("a"), checkpointer=env.saver())
    nobody = {"configurable": {"thread_id": None}}
    return [env.error(lambda: graph.invoke({"items": []}, nobody)) for _ in range(2)]


def case_an_id_of_a_thread_that_is_no_text(env):
    graph = chain(add("a"), checkpointer=env.saver())
    half = {"configurable": {"thread_id": "half: \udc80"}}
    return [
        env.error(lambda: graph.invoke({"items": []}, half)),
        env.error(lambda: graph.get_state(half)),
    ]


def case_filters_of_a_history(env):
    graph = chain(add("a"), add("b"), add("c"), checkpointer=env.saver())
    for turn in range(3):
        config = {"configurable": {"thread_id": "1", "user": f"u{turn}"}, "metadata": {"k": turn}}
        graph.invoke({"items": [turn]}, config)
    graph.update_state(CONFIG, {"items": ["up"]})
    middle = list(graph.get_state_history(CONFIG))[5].config
    options = (
        *({"limit": 2}, {"limit": 0}, {"before": middle}),
        *({"filter": {"source": "input"}}, {"filter": {"source": "loop", "step": 1}}),
        *({"filter": {"k": 1}}, {"filter": {"user": "u2"}}, {"filter": {"nope": 1}}),
        *({"filter": {}}, {"filter": {"source": "update"}}, {"filter": {"step": None}}),
        {"before": middle, "limit": 2, "filter": {"source": "loop"}},
    )
    found = [env.error(lambda o=o: told(graph.get_state_history(CONFIG, **o))) for o in options]
    return found, told(graph.get_state_history(middle)), told(graph.get_state_history(on("no")))


def case_a_deleted_thread(env):
    saver = env.saver()
    graph = chain(add("a"), chain(add("b")), checkpointer=saver)
    for thread in (1, 2):
        graph.invoke({"items": []}, on(thread))
    saver.delete_thread("1")
    saver.delete_thread("never")
    left = [told(graph.get_state_history(on(thread))) for thread in (1, 2)]
    return left, graph.get_state(CONFIG), graph.invoke({"items": []}, CONFIG)


UPDATES = (
    *(({"items": ["u"]}, None), (None, None), ({}, None), ({"items": ["u"]}, "__start__")),
    *((Command(update={"items": ["c"]}), "n0"), (Command(goto="n1"), "n0")),
    *(([{"items": ["l"]}], "n0"), ([("items", ["t"])], "n0"), ({"items": ["u"]}, "n1")),
    *(({"items": ["u"]}, END), ({"items": ["u"]}, "zz"), ("text", "n0"), (5, "n0")),
)


def case_forms_of_updates(env):
    found = []
    for number, (values, node) in enumerate(UPDATES):
        graph = chain(add("a"), add("b"), add("c"), checkpointer=env.saver())
        config = on(number)
        graph.invoke({"items": []}, config, interrupt_before=["n1"])
        found.append(env.error(lambda: bool(graph.update_state(config, values, as_node=node))))
        found.append(told(graph.get_state_history(config))[:2])
        found.append(env.error(lambda: graph.invoke(None, config)))
    return found


def case_updates_of_new_threads(env):
    found = []
    for node in (None, "n0", "n1", START, END):
        graph = chain(add("a"), add("b"), checkpointer=env.saver())
        config, values = on(node), {"items": ["u"]}
        found.append(env.error(lambda: bool(graph.update_state(config, values, as_node=node))))
        found.append(told(graph.get_state_history(config)))
        found.append(env.error(lambda: graph.invoke(None, config)))
    return found


def case_updates_in_bulk(env):
    graph = chain(add("a"), add("b"), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    first = [StateUpdate({"items": ["1"]}, "n0"), StateUpdate({"items": ["2"]}, "n1")]
    graph.bulk_update_state(CONFIG, [first, [StateUpdate({"items": ["3"]}, "n1")]])
    wrong = ([], [[]])
    return told(graph.get_state_history(CONFIG)), [
        env.error(lambda w=w: graph.bulk_update_state(CONFIG, w)) for w in wrong
    ]


def case_a_fan_out_replayed_and_changed(env):
    builder = StateGraph(State)
    builder.add_node("plan", lambda s: {"x": s.get("x", 2)})
    builder.add_node("w", lambda s: {"items": [s["i"]]})
    builder.add_node("sum", lambda s: {"items": [sum(s["items"])]})
    builder.add_edge(START, "plan")
    path = lambda s: [Send("w", {"i": i}) for i in range(s["x"])]  # noqa: E731
    builder.add_conditional_edges("plan", path, ["w"])
    builder.add_edge("w", "sum")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"items": [], "x": 2}, CONFIG)
    states = list(graph.get_state_history(CONFIG))
    before = next(s for s in states if s.next == ("plan",))
    planned = next(s for s in states if s.next and s.next[0] == "w")
    found = [graph.invoke(None, before.config)]
    for values, node in (({"x": 4}, "plan"), ({"items": [100]}, "w"), (None, "__copy__")):
        fork = graph.update_state(planned.config, values, as_node=node)
        found.append(graph.invoke(None, fork))
    return found, [s.next for s in graph.get_state_history(CONFIG)]


# --- states that do not fit -----------------------------------------------------------------------


class Fits(BaseModel):
    n: int
    items: Annotated[list, operator.add] = []


def case_a_state_that_does_not_fit_is_shown_and_mended(env):
    nodes = (lambda s: {"n": "x"}, lambda s: {"items": [s.n]})
    graph = chain(*nodes, schema=Fits, checkpointer=env.saver())
    failed = env.error(lambda: graph.invoke({"n": 3}, CONFIG))
    shown = env.error(lambda: graph.get_state(CONFIG).values)
    mended = env.error(lambda: bool(graph.update_state(CONFIG, {"n": 4})))
    return failed, shown, mended, env.error(lambda: graph.invoke(None, CONFIG))


def case_what_is_next_after_a_step_that_could_not_end(env):
    fails = [True]

    def reducer(old, new):
        if fails and new == ["bad"]:
            raise ValueError("no")
        return old + new

    class Reduced(TypedDict):
        items: Annotated[list, reducer]

    graph = chain(add("bad"), add("ok"), schema=Reduced, checkpointer=env.saver())
    failed = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    fails.clear()
    state = graph.get_state(CONFIG)
    return failed, state.values, state.next, graph.invoke(None, CONFIG)


def case_limits_that_are_none(env):
    graph = chain(add("a"), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    configs = ({**CONFIG, "max_concurrency": -1}, {**CONFIG, "max_concurrency": 0})
    found = [env.error(lambda c=c: graph.invoke({"items": []}, c)) for c in configs]
    return found, env.error(lambda: len(list(graph.get_state_history(CONFIG, limit=-1))))


def case_configs_that_are_none(env):
    graph = StateGraph(MessagesState).add_node("node", lambda state: {})
    graph = graph.add_edge(START, "node").compile()
    given = (
        *([], [1], 5, "x", {"configurable": 5}, {"metadata": 5}, {"tags": 5}),
        *({"callbacks": 5}, {"recursion_limit": "x"}),
    )
    return [env.error(lambda c=c: graph.invoke({"messages": []}, c)) for c in given]


def case_a_text_as_tags(env):
    graph = StateGraph(MessagesState).add_node("node", lambda state: {})
    graph = graph.add_edge(START, "node").compile()
    return env.error(lambda: graph.invoke({"messages": []}, {"tags": "abc"}))


async def case_a_cancelled_run_whose_thread_still_works(env):
    begun, release, ran = threading.Event(), threading.Event(), []

    def works(state):
        ran.append(1)
        begun.set()
        assert release.wait(30)
        return {"messages": ["done"]}

    async with env.asaver() as saver:
        graph = StateGraph(MessagesState).add_node("works", works).add_edge(START, "works")
        graph = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}}
        running = asyncio.create_task(graph.ainvoke({"messages": ["do it"]}, config))
        await asyncio.to_thread(begun.wait, 30)
        running.cancel()
        await asyncio.sleep(0)
        release.set()
        await env.aerror(running)
        result = await graph.ainvoke(None, config)
        return [message.content for message in result["messages"]], len(ran)


def case_inputs_that_are_none_and_cannot_be_stored(env):
    def refused(graph):
        inputs = (UserDict(items=[1]), MappingProxyType({"items": [1]}), object(), dict)
        return [env.error(lambda given=given: graph.invoke(given, on("1"))) for given in inputs]

    plain = chain(add(1), checkpointer=env.saver())
    builder = StateGraph(State)
    builder.add_node("n", add(1))
    builder.add_conditional_edges(START, lambda state: "n")
    deciding = builder.compile(checkpointer=env.saver("deciding"))
    return refused(plain), refused(deciding), plain.invoke({"items": [0]}, on("1"))
