"""What a runtime tells of the task and of the server, and runtimes that servers bring."""

from types import SimpleNamespace

from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.runtime import ExecutionInfo, Runtime, ServerInfo, get_runtime
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    a: str


class User:
    is_authenticated = True
    display_name = "Me"
    identity = "me"
    permissions = ("read",)

    def __getitem__(self, key):
        return getattr(self, key)

    def __contains__(self, key):
        return hasattr(self, key)

    def __iter__(self):
        return iter(("identity",))


def seen_by_a_node(look, configurable=None, context=None, store=None, **config):
    seen = []

    def node(state, runtime: Runtime):
        seen.append(look(runtime))

    builder = StateGraph(State)
    builder.add_node("n", node)
    builder.add_edge(START, "n")
    given = {**config, "configurable": configurable or {}}
    builder.compile(store=store).invoke({"a": "x"}, given, context=context)
    return seen[0]


def case_server_info(env):
    def told(**configurable):
        info = seen_by_a_node(lambda runtime: runtime.server_info, configurable)
        return info and (info.assistant_id, info.graph_id, info.user and info.user.identity)

    return [
        told(),
        told(assistant_id="a", graph_id="g"),
        told(assistant_id="a"),
        told(graph_id="g"),
        told(assistant_id=5, graph_id=7),
        told(assistant_id="a", langgraph_auth_user={"identity": "me"}),
        told(assistant_id="a", langgraph_auth_user=User()),
        told(langgraph_auth_user=User()),
    ]


def case_execution_info(env):
    def told(runtime):
        info = runtime.execution_info
        same = get_runtime().execution_info == info
        return info.thread_id, info.run_id, info.node_attempt, len(info.task_id), same

    run_id = "6f1a3c2e-1111-2222-3333-444455556666"
    return seen_by_a_node(told), seen_by_a_node(told, {"thread_id": "t"}, run_id=run_id)


def case_patches(env):
    info = ExecutionInfo("c", "n", "t")
    runtime = Runtime(execution_info=info)
    return [
        runtime.patch_execution_info(node_attempt=2).execution_info.node_attempt,
        info.patch(run_id="z").run_id,
        env.error(lambda: Runtime().patch_execution_info(node_attempt=2)),
        env.error(lambda: info.patch(other=1)),
    ]


def case_runtimes_of_foreign_classes(env):
    def told(runtime, **more):
        look = lambda r: (r.context, r.store, r.server_info, r.previous)  # noqa: E731
        return seen_by_a_node(look, {"__pregel_runtime": runtime}, **more)

    foreign = SimpleNamespace(context=1, store=None)
    return [
        told(foreign),
        told(foreign, context=2),
        told(SimpleNamespace(context=1, store="s", previous=7, execution_info="e")),
        told(Runtime(context=4, server_info=ServerInfo("a", "g"))),
    ]


def case_class_of_the_runtime(env):
    foreign = SimpleNamespace(context=1, store=None)
    look = lambda runtime: type(runtime).__name__  # noqa: E731
    return seen_by_a_node(look, {"__pregel_runtime": foreign})


def case_entrypoint(env):
    @entrypoint()
    def flow(x, runtime: Runtime):
        return runtime.server_info.assistant_id, runtime.context

    given = {"__pregel_runtime": SimpleNamespace(context=1, store=None), "assistant_id": "a"}
    return flow.invoke(1, {"configurable": given})


def case_runtime_itself(env):
    whole = Runtime(context=1, previous=2, server_info=ServerInfo("a", "b"))
    merged = whole.merge(Runtime(context=3))
    return [
        (merged.context, merged.previous, merged.server_info.graph_id),
        whole.override(context=5).context,
        (Runtime().drain_requested, Runtime().drain_reason, Runtime().control),
        Runtime() == Runtime(),
        ServerInfo("a", "b").user,
    ]
