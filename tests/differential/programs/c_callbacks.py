"""Callback events of a run of a graph: the run, its nodes, their path functions; metadata, tags."""

import operator
from inspect import iscoroutinefunction
from typing import Annotated, TypedDict

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    BaseCallbackHandler,
    dispatch_custom_event,
)
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt


class State(TypedDict):
    xs: Annotated[list, operator.add]


OWN_OF_TRACERS = ("ls_", "lc_")


class Recorder(BaseCallbackHandler):
    """Keeps what it hears. Metadata for tracers (`ls_...`) is each side's own affair."""

    run_inline = True

    def __init__(self):
        self.heard = []

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **rest):
        metadata = {
            k: v for k, v in (rest["metadata"] or {}).items() if not k.startswith(OWN_OF_TRACERS)
        }
        self.heard.append(
            ("start", rest.get("name"), run_id, parent_run_id, rest["tags"], metadata, inputs)
        )

    def on_chain_end(self, outputs, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("end", str(run_id), str(parent_run_id), rest["tags"], outputs))

    def on_chain_error(self, error, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("error", str(run_id), str(parent_run_id), type(error).__name__))

    def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("model", str(run_id), str(parent_run_id), rest["tags"], messages))

    def on_llm_end(self, response, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("model end", str(run_id), str(parent_run_id)))

    def on_custom_event(self, name, data, *, run_id, **rest):
        self.heard.append(("custom", name, data, str(run_id), rest["tags"]))

    @property
    def plain(self):
        return [tuple(str(x) if type(x).__name__ == "UUID" else x for x in h) for h in self.heard]


class AsyncRecorder(AsyncCallbackHandler):
    """The same for two events, in coroutines."""

    def __init__(self):
        self.heard = []

    async def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("start", rest.get("name"), str(run_id), str(parent_run_id)))

    async def on_chain_end(self, outputs, *, run_id, parent_run_id=None, **rest):
        self.heard.append(("end", str(run_id), str(parent_run_id), outputs))


def add(*names):
    return lambda state: {"xs": list(names)}


def to_c(state):
    return "c"


def to_end(state):
    return END


def graph_of(*pairs, **compiled):
    """Nodes one after the other."""
    builder = StateGraph(State)
    before = START
    for name, action in pairs:
        builder.add_node(name, action)
        builder.add_edge(before, name)
        before = name
    return builder.compile(**compiled)


def routed(**compiled):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_node("b", add("b"), metadata={"own": 1})
    builder.add_node("c", add("c"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_conditional_edges("b", to_c, ["c"])
    return builder.compile(**compiled)


def case_names_tags_and_metadata(env):
    recorder = Recorder()
    config = {
        "callbacks": [recorder],
        "configurable": {"thread_id": "1", "user": "ada"},
        "tags": ["t"],
        "metadata": {"k": 1},
        "run_name": "mine",
    }
    routed(checkpointer=env.saver()).invoke({"xs": ["in"]}, config)
    return recorder.plain


async def case_names_tags_and_metadata_async(env):
    recorder = Recorder()
    await routed(name="Named").ainvoke({"xs": []}, {"callbacks": [recorder], "tags": ["t", "u"]})
    return recorder.plain


async def case_async_handlers(env):
    recorder = AsyncRecorder()
    await routed().ainvoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.heard


class Dutiful(AsyncCallbackHandler):
    """Leaves each event to its base class, too, and fails the run if that fails."""

    raise_error = True

    def __init__(self):
        self.told = []

    async def on_chain_start(self, *args, **kwargs):
        await super().on_chain_start(*args, **kwargs)
        self.told.append("chain starts")

    async def on_chain_end(self, *args, **kwargs):
        await super().on_chain_end(*args, **kwargs)
        self.told.append("chain ends")

    async def on_llm_start(self, *args, **kwargs):
        await super().on_llm_start(*args, **kwargs)
        self.told.append("model starts")

    async def on_llm_new_token(self, *args, **kwargs):
        await super().on_llm_new_token(*args, **kwargs)
        self.told.append("token")

    async def on_llm_end(self, *args, **kwargs):
        await super().on_llm_end(*args, **kwargs)
        self.told.append("model ends")

    async def on_custom_event(self, name, *args, **kwargs):
        await super().on_custom_event(name, *args, **kwargs)
        self.told.append(name)

    async def on_chat_model_start(self, *args, **kwargs):
        await super().on_chat_model_start(*args, **kwargs)


async def case_async_handlers_that_call_their_base(env):
    def says(state):
        dispatch_custom_event("asks", 1)
        return {"xs": [model.invoke("x").content]}

    model = FakeListChatModel(responses=["ab"])
    builder = StateGraph(State).add_node("says", says).add_edge(START, "says")
    handlers = [Dutiful() for _ in range(3)]
    graph = builder.compile()
    graph.invoke({"xs": []}, {"callbacks": handlers[:1]})
    await graph.ainvoke({"xs": []}, {"callbacks": handlers[1:2]})
    _ = [chunk async for chunk in model.astream("x", {"callbacks": handlers[2:]})]
    base = AsyncCallbackHandler()
    quiet = [name for name in dir(base) if name.startswith("on_")]
    made = [name for name in quiet if iscoroutinefunction(getattr(base, name))]
    return [one.told for one in handlers], sorted({*made, "on_chat_model_start", "on_stream_event"})


def case_edges_count_as_steps(env):
    builder = StateGraph(State)
    for name in "abcd":
        builder.add_node(name, add(name))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "c")
    builder.add_edge(["b", "c"], "d")
    builder.add_conditional_edges("a", to_end)
    builder.add_conditional_edges("b", to_end)
    builder.add_conditional_edges("b", to_c, {"c": END})
    builder.add_edge("d", END)
    builder.add_conditional_edges("d", to_end)
    recorder = Recorder()
    builder.compile().invoke({"xs": []}, {"callbacks": [recorder], "max_concurrency": 1})
    return [(h[1], h[4]) for h in recorder.plain if h[0] == "start"]


def case_start_that_routes(env):
    def spread(state):
        return [Send("n", {"xs": [1]}), Send("n", {"xs": [2]})]

    builder = StateGraph(State)
    builder.add_node("n", lambda state: Command(update={"xs": ["n"]}, goto="m"))
    builder.add_node("m", add("m"))
    builder.add_conditional_edges(START, spread, ["n"])
    recorder = Recorder()
    builder.compile().invoke({"xs": []}, {"callbacks": [recorder], "max_concurrency": 1})
    return recorder.plain


def nested():
    inner = routed(name="Inner")
    builder = StateGraph(State)
    builder.add_node("sub", inner)
    builder.add_node("call", lambda state: {"xs": inner.invoke({"xs": []})["xs"][:1]})
    builder.add_edge(START, "sub")
    builder.add_edge("sub", "call")
    return builder.compile()


def case_nested_graphs(env):
    recorder = Recorder()
    nested().invoke({"xs": []}, {"callbacks": [recorder], "tags": ["t"]})
    return recorder.plain


async def case_nested_graphs_async(env):
    recorder = Recorder()
    await nested().ainvoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


def case_questions(env):
    recorder = Recorder()
    graph = graph_of(("ask", lambda s: {"xs": [interrupt("?")]}), checkpointer=env.saver())
    config = {"callbacks": [recorder], "configurable": {"thread_id": "1"}}
    graph.invoke({"xs": []}, config)
    graph.invoke(Command(resume="!"), config)
    return recorder.plain


def case_questions_of_a_nested_graph(env):
    recorder = Recorder()
    inner = graph_of(("ask", lambda s: {"xs": [interrupt("?")]}))
    graph = graph_of(("sub", inner), checkpointer=env.saver())
    graph.invoke({"xs": []}, {"callbacks": [recorder], "configurable": {"thread_id": "1"}})
    return recorder.plain


def fail(state):
    raise ValueError("no")


def case_errors(env):
    recorder = Recorder()
    error = env.error(lambda: graph_of(("bad", fail)).invoke({"xs": []}, {"callbacks": [recorder]}))
    return error, recorder.plain


async def case_errors_async(env):
    recorder = Recorder()
    graph = graph_of(("a", add("a")), ("bad", fail))
    error = await env.aerror(graph.ainvoke({"xs": []}, {"callbacks": [recorder]}))
    return error, recorder.plain


def case_retries(env):
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) < 3:
            raise ValueError(len(tries))
        return {"xs": tries}

    builder = StateGraph(State)
    policy = RetryPolicy(initial_interval=0.001, retry_on=ValueError)
    builder.add_node("flaky", flaky, retry_policy=policy)
    builder.add_edge(START, "flaky")
    recorder = Recorder()
    builder.compile().invoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


def case_command_for_the_parent(env):
    inner = graph_of(
        ("up", lambda s: Command(graph=Command.PARENT, update={"xs": ["p"]}, goto="z"))
    )
    builder = StateGraph(State)
    builder.add_node("sub", inner)
    builder.add_node("z", add("z"))
    builder.add_edge(START, "sub")
    recorder = Recorder()
    builder.compile().invoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


def case_runnables_as_nodes_and_paths(env):
    builder = StateGraph(State)
    builder.add_node("node", RunnableLambda(add("l"), name="inside"))
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", RunnableLambda(to_end, name="path"))
    recorder = Recorder()
    builder.compile().invoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


def case_sequence_as_a_node(env):
    recorder = Recorder()
    sequence = RunnableLambda(lambda s: s, name="one") | RunnableLambda(add("q"), name="two")
    graph_of(("seq", sequence)).invoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


async def case_async_path_function(env):
    async def path(state):
        return END

    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", path)
    recorder = Recorder()
    await builder.compile().ainvoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


def model(*texts, **fields):
    return GenericFakeChatModel(messages=iter([AIMessage(t) for t in texts]), **fields)


def case_models_inside_nodes_and_paths(env):
    one, two, three = model("a"), model("b", tags=["own"]), model("c")

    def with_config(state, config):
        one.invoke("x", config)
        two.invoke("y")
        return {"xs": ["n"]}

    def path(state):
        three.invoke("z")
        return END

    builder = StateGraph(State)
    builder.add_node("n", with_config)
    builder.add_edge(START, "n")
    builder.add_conditional_edges("n", path)
    recorder = Recorder()
    builder.compile().invoke({"xs": []}, {"callbacks": [recorder], "tags": ["t"]})
    return recorder.plain


async def case_models_inside_async_nodes(env):
    one, two = model("a"), model("b")

    async def node(state, config):
        await one.ainvoke("x", config)
        await two.ainvoke("y")
        return {"xs": ["n"]}

    recorder = Recorder()
    await graph_of(("n", node)).ainvoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


def case_runnables_inside_nodes(env):
    inner = RunnableLambda(lambda x: x, name="inner")

    def node(state):
        inner.invoke("x")
        return {"xs": ["n"]}

    recorder = Recorder()
    graph_of(("n", node)).invoke({"xs": []}, {"callbacks": [recorder]})
    return recorder.plain


def case_streams_are_told(env):
    recorder = Recorder()
    parts = list(routed().stream({"xs": []}, {"callbacks": [recorder]}, stream_mode="values"))
    return parts, recorder.plain


def case_closed_streams_are_told(env):
    recorder = Recorder()
    stream = graph_of(("a", add("a")), ("b", add("b"))).stream(
        {"xs": []}, {"callbacks": [recorder]}
    )
    first = next(iter(stream))
    stream.close()
    return first, recorder.plain


def case_breakpoints(env):
    recorder = Recorder()
    graph = graph_of(
        ("a", add("a")), ("b", add("b")), checkpointer=env.saver(), interrupt_before=["b"]
    )
    config = {"callbacks": [recorder], "configurable": {"thread_id": "1"}}
    graph.invoke({"xs": []}, config)
    graph.invoke(None, config)
    return recorder.plain


def case_recursion_limit(env):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "a")
    recorder = Recorder()
    config = {"callbacks": [recorder], "recursion_limit": 2}
    error = env.error(lambda: builder.compile().invoke({"xs": []}, config))
    return error, recorder.plain


def case_tasks(env):
    @task
    def double(n, by=2):
        return n * by

    @entrypoint()
    def work(n):
        return double(n).result() + double(n, by=3).result()

    recorder = Recorder()
    work.invoke(1, {"callbacks": [recorder], "run_name": "work"})
    return [(*h[:2], h[4], h[6]) if h[0] == "start" else h for h in recorder.plain]


def case_what_an_entrypoint_saves(env):
    @entrypoint(checkpointer=env.saver())
    def work(n):
        return entrypoint.final(value=n, save=[n])

    recorder = Recorder()
    config = {"callbacks": [recorder], "run_name": "work", "configurable": {"thread_id": "1"}}
    work.invoke(1, config)
    return [(*h[:2], h[4], h[6]) if h[0] == "start" else h for h in recorder.plain]


def case_config_of_a_node(env):
    seen = []

    def node(state, config):
        seen.append(sorted(k for k in config["metadata"] if not k.startswith(OWN_OF_TRACERS)))
        seen.append((config.get("tags"), config["callbacks"].tags, config.get("run_name")))
        seen.append([type(h).__name__ for h in config["callbacks"].handlers])

    config = {"callbacks": [Recorder()], "tags": ["q"], "run_name": "x"}
    graph_of(("n", node)).invoke({"xs": []}, config)
    return seen


def case_handlers_of_the_graph_and_the_call(env):
    of_graph, of_call = Recorder(), Recorder()
    graph = graph_of(("a", add("a"))).with_config(callbacks=[of_graph], tags=["g"])
    graph.invoke({"xs": []}, {"callbacks": [of_call], "tags": ["c"]})
    return of_graph.plain, of_call.plain


def case_metadata_for_tracers(env):
    seen = []

    class Keys(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, *, metadata=None, **rest):
            seen.append(sorted(metadata or {}))

    graph_of(("a", add("a"))).invoke({"xs": []}, {"callbacks": [Keys()]})
    return seen


def case_name_of_the_run_of_an_entrypoint(env):
    seen = []

    class Names(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, *, name=None, **rest):
            seen.append(name)

    @entrypoint()
    def work(n):
        return n

    work.invoke(1, {"callbacks": [Names()]})
    return seen
