"""Runtime, context, store and writer: what a run carries to its nodes."""

from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime, get_runtime
from pydantic import BaseModel


class State(TypedDict, total=False):
    log: Annotated[list, add]


@dataclass
class Ctx:
    user: str
    level: int = 1


def app_of(node, schema=None, **options):
    graph = StateGraph(State, context_schema=schema)
    graph.add_node("n", node)
    graph.add_edge(START, "n")
    return graph.compile(**options)


def show_context(state, runtime: Runtime[Ctx]):
    return {"log": [type(runtime.context).__name__, runtime.context]}


def case_context_instance(env):
    return app_of(show_context, Ctx).invoke({}, context=Ctx("ann", 3))


def case_context_dict_is_coerced_to_dataclass(env):
    app = app_of(show_context, Ctx)
    return [
        app.invoke({}, context={"user": "ann"}),
        env.error(lambda: app.invoke({}, context={"user": "a", "unknown": 1})),
        env.error(lambda: app.invoke({}, context={})),
    ]


def case_context_pydantic(env):
    class Model(BaseModel):
        user: str
        level: int = 0

    app = app_of(show_context, Model)
    return [
        app.invoke({}, context={"user": "ann", "level": "3"}),
        env.error(lambda: app.invoke({}, context={"level": 3})),
    ]


def case_context_typed_dict(env):
    class Typed(TypedDict):
        user: str

    return app_of(show_context, Typed).invoke({}, context={"user": "ann", "other": 1})


def case_context_missing(env):
    return app_of(lambda s, runtime: {"log": [runtime.context]}, Ctx).invoke({})


def case_context_without_schema(env):
    return env.error(lambda: app_of(show_context).invoke({}, context={"user": "ann"}))


def case_runtime_by_name_and_by_annotation(env):
    def named(state, runtime):
        return {"log": [runtime.context.user]}

    def keyword(state, *, runtime: Runtime[Ctx]):
        return {"log": [runtime.context.user]}

    def with_config(state, config: RunnableConfig, runtime: Runtime[Ctx]):
        return {"log": [config["configurable"]["x"], runtime.context.user]}

    def swapped(state, runtime: Runtime[Ctx], config: RunnableConfig):
        return {"log": [config["configurable"]["x"], runtime.context.user]}

    config = {"configurable": {"x": 1}}
    nodes = (named, keyword, with_config, swapped)
    return [app_of(n, Ctx).invoke({}, config, context=Ctx("ann")) for n in nodes]


def case_get_runtime(env):
    def node(state):
        return {"log": [get_runtime(Ctx).context.user, get_runtime().context.level]}

    return app_of(node, Ctx).invoke({}, context=Ctx("ann"))


def case_get_runtime_outside(env):
    return [env.error(get_runtime), env.error(get_config), env.error(get_store)]


def case_get_config_and_writer(env):
    def node(state):
        get_stream_writer()({"x": get_config()["configurable"]["x"]})
        return {"log": ["done"]}

    config = {"configurable": {"x": 1}}
    return list(app_of(node).stream({}, config, stream_mode=["custom", "updates"]))


def case_runtime_stream_writer(env):
    def node(state, runtime: Runtime):
        runtime.stream_writer("hello")
        return {}

    return list(app_of(node).stream({}, stream_mode="custom"))


async def case_context_async(env):
    async def node(state, runtime: Runtime[Ctx]):
        return {"log": [runtime.context.user, get_runtime(Ctx).context.user]}

    return await app_of(node, Ctx).ainvoke({}, context={"user": "ann"})


def case_context_reaches_a_subgraph(env):
    child = app_of(show_context, Ctx)
    graph = StateGraph(State, context_schema=Ctx)
    graph.add_node("child", child)
    graph.add_edge(START, "child")
    return graph.compile().invoke({}, context={"user": "ann"})


def case_context_in_conditional_edges(env):
    def path(state, runtime: Runtime[Ctx]):
        return runtime.context.user

    graph = StateGraph(State, context_schema=Ctx)
    for name in ("ann", "bob"):
        graph.add_node(name, lambda s, name=name: {"log": [name]})
    graph.add_conditional_edges(START, path, ["ann", "bob"])
    app = graph.compile()
    return [app.invoke({}, context=Ctx(user)) for user in ("bob", "ann")]


def case_runtime_defaults(env):
    def node(state, runtime: Runtime):
        return {"log": [runtime.context, runtime.store, runtime.previous]}

    return app_of(node).invoke({})


def case_runtime_override_and_merge(env):
    base = Runtime(context=Ctx("ann"), store=None)
    return [
        base.override(context=Ctx("bob")).context,
        base.merge(Runtime(context=None)).context,
        Runtime(context=None).merge(base).context,
    ]


def case_execution_info(env):
    def node(state, runtime: Runtime):
        info = runtime.execution_info
        return {"log": [info.node_attempt, info.thread_id, bool(info.task_id)]}

    return app_of(node).invoke({})


def case_config_of_invoke_is_merged(env):
    def node(state, config: RunnableConfig):
        return {
            "log": [
                config["configurable"].get("a"),
                config["configurable"].get("b"),
                config["tags"],
            ]
        }

    app = app_of(node).with_config({"configurable": {"a": 1}, "tags": ["t"]})
    return [
        app.invoke({}),
        app.invoke({}, {"configurable": {"b": 2}, "tags": ["u"]}),
        app.invoke({}, {"configurable": {"a": 3}}),
    ]


def case_with_config_keywords(env):
    def node(state, config: RunnableConfig):
        return {"log": [config["tags"], config["recursion_limit"]]}

    return app_of(node).with_config(tags=["x"], recursion_limit=7).invoke({})


def case_config_keys_seen_by_a_node(env):
    def node(state, config: RunnableConfig):
        kept = ["tags", "metadata", "callbacks", "recursion_limit", "configurable"]
        return {"log": [k for k in kept if k in config]}

    return app_of(node).invoke({})


def case_config_metadata_from_configurable(env):
    def node(state, config: RunnableConfig):
        metadata = config["metadata"]
        return {
            "log": [{k: v for k, v in metadata.items() if k in ("user", "secret", "deep", "m")}]
        }

    config = {
        "configurable": {"user": "ann", "__secret": 1, "deep": {"x": 1}},
        "metadata": {"m": 1},
    }
    return app_of(node).invoke({}, config)


def case_a_runtime_is_given_by_name_whatever_its_annotation(env):
    class Mine:
        """No runtime."""

    def node(state, runtime: Mine):
        return {"log": [type(runtime).__name__]}

    def nobody_knows(state, *, runtime: "Nowhere" = None):  # noqa: F821
        return {"log": [type(runtime).__name__]}

    class Callable:
        def __call__(self, state, runtime: dict | None = None):
            return {"log": [type(runtime).__name__]}

    def bound(word, state, runtime: Mine):
        return {"log": [word, type(runtime).__name__]}

    @task
    def step(word, runtime: Mine = None):
        return [word, type(runtime).__name__]

    @entrypoint()
    def flow(word, *, runtime: Mine):
        return [type(runtime).__name__, step(word).result(), step(word, runtime=5).result()]

    def route(state, runtime: Mine):
        return END if type(runtime).__name__ == "Runtime" else "n"

    routed = StateGraph(State).add_node("n", node).add_edge(START, "n")
    routed.add_conditional_edges("n", route)
    nodes = [node, nobody_knows, Callable(), partial(bound, "partial")]
    return [app_of(each).invoke({}) for each in nodes] + [
        flow.invoke("a"),
        routed.compile().invoke({}),
    ]
