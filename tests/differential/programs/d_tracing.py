"""Runs that are collected, handlers of `with` blocks, and the settings of the whole program."""

import asyncio
import contextlib
import io

from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.documents import Document
from langchain_core.globals import (
    get_debug,
    get_llm_cache,
    get_verbose,
    set_debug,
    set_llm_cache,
    set_verbose,
)
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.context import collect_runs
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.graph import START, StateGraph

ID = "11111111-1111-1111-1111-111111111111"


@tool
def add(a: int) -> int:
    """Add."""
    return a + 1


class Found(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]


def boom(x):
    raise ValueError("b")


def counted():
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    told = {"model_name": "m"}
    said = [AIMessage("hi", usage_metadata=usage, response_metadata=told) for _ in range(3)]
    return GenericFakeChatModel(messages=iter(said))


def shown(run):
    error = run.error and run.error.split("Traceback")[0]
    about = (run.name, run.run_type, run.inputs, error, run.tags, run.end_time is not None)
    return about, [shown(inner) for inner in run.child_runs]


def case_chains(env):
    chain = RunnableLambda(lambda x: x, name="f") | RunnableLambda(len, name="g")
    with collect_runs() as collected:
        chain.invoke("x", {"tags": ["t"], "metadata": {"m": 1}, "run_name": "named"})
        add.invoke({"a": 1})
        env.error(lambda: RunnableLambda(boom).invoke(1))
        list(RunnableLambda(lambda x: x + 1).stream(1))
    add.invoke({"a": 1})
    runs = collected.traced_runs
    return [(shown(run), run.outputs) for run in runs], runs[0].extra["metadata"], collected.name


def case_models_and_retrievers(env):
    with collect_runs() as collected:
        FakeListChatModel(responses=["r"]).invoke("q")
        Found().invoke("q")
    model, retriever = collected.traced_runs
    said = model.outputs["generations"][0][0]
    return (
        shown(model),
        (said["text"], said["type"], said["message"]["kwargs"]["content"]),
        shown(retriever),
        [one.page_content for one in retriever.outputs["documents"]],
    )


def case_graphs(env):
    def node(state):
        return {"a": add.invoke({"a": state["a"]})}

    graph = StateGraph(dict).add_node("n", node).add_edge(START, "n").compile()
    with collect_runs() as collected:
        graph.invoke({"a": 1})
        graph.invoke({"a": 5}, {"callbacks": [BaseCallbackHandler()]})
    return [
        (
            run.name,
            run.inputs,
            run.outputs,
            [(c.name, c.child_runs[0].name) for c in run.child_runs],
        )
        for run in collected.traced_runs
    ]


async def case_async_calls(env):
    with collect_runs() as collected:
        await add.ainvoke({"a": 1})
        await asyncio.gather(add.ainvoke({"a": 2}), add.ainvoke({"a": 3}))
    return sorted(run.outputs["output"] for run in collected.traced_runs)


def case_inside_a_run(env):
    def inner(x):
        with collect_runs() as collected:
            add.invoke({"a": 1})
        return [run.name for run in collected.traced_runs]

    plain = RunnableLambda(inner)
    return plain.invoke(1), plain.invoke(1, {"callbacks": [BaseCallbackHandler()]}), inner(1)


def case_blocks_inside_blocks(env):
    with collect_runs() as outer:
        add.invoke({"a": 1})
        with collect_runs() as inner:
            add.invoke({"a": 2})
            add.invoke({"a": 3}, {"callbacks": []})
        add.invoke({"a": 4})
    return [[run.outputs for run in one.traced_runs] for one in (outer, inner)]


def case_collectors_as_callbacks(env):
    collector = RunCollectorCallbackHandler(example_id=ID)
    RunnableLambda(lambda x: add.invoke({"a": x})).invoke(1, {"callbacks": [collector]})
    (run,) = collector.traced_runs
    return str(run.reference_example_id), [inner.name for inner in run.child_runs]


def case_usage_beside_other_callbacks(env):
    with get_usage_metadata_callback() as counter:
        counted().invoke("x", {"callbacks": [BaseCallbackHandler()]})
        counted().invoke("x")
        chain = RunnableLambda(lambda x: counted().invoke(x))
        chain.invoke("x", {"callbacks": [BaseCallbackHandler()]})
    return counter.usage_metadata


def case_settings(env):
    found = [get_debug(), get_verbose(), get_llm_cache()]
    cache = InMemoryCache()
    set_debug(False)
    set_verbose(True)
    set_llm_cache(cache)
    found += [get_debug(), get_verbose(), get_llm_cache() is cache]
    set_verbose(False)
    set_llm_cache(None)
    return [*found, get_verbose(), get_llm_cache()]


def case_debugging(env):

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        set_debug(True)
        seen = get_debug()
        RunnableLambda(lambda x: x, name="told").invoke(1)
        set_debug(False)
        RunnableLambda(lambda x: x, name="untold").invoke(1)
    both = out.getvalue() + err.getvalue()
    return seen, "told" in both, "untold" in both, get_debug()


def case_what_debugging_prints(env):

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        set_debug(True)
        RunnableLambda(lambda x: x, name="told").invoke(1)
        set_debug(False)
    return out.getvalue()
