"""`astream_log`: patches of the log of every kind of run, what filters leave of it, its sums."""

from langchain_core.callbacks import adispatch_custom_event
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    AddableDict,
    RunnableGenerator,
    RunnableLambda,
    RunnablePassthrough,
)
from langchain_core.tools import tool
from langchain_core.tracers import RunLog, RunLogPatch
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

TIMES = ("start_time", "end_time")


def _plain(value):
    """Without what differs from run to run, and what models say of their packages."""
    if isinstance(value, dict):
        out = {k: _plain(v) for k, v in value.items() if k not in TIMES}
        if "metadata" in out and isinstance(out["metadata"], dict):
            out["metadata"] = {
                k: v
                for k, v in out["metadata"].items()
                if k not in ("lc_versions", "ls_integration")
            }
        return out
    return ("prompt", value.to_messages()) if hasattr(value, "to_messages") else value


def _ops(patch):
    return [
        (op["op"], op["path"], "time" if op["path"].endswith("_time") else _plain(op.get("value")))
        for op in patch.ops
    ]


async def _log(runnable, given, config=None, **options):
    return [
        (type(p).__name__, _ops(p)) async for p in runnable.astream_log(given, config, **options)
    ]


def same(x):
    return x


def inc(x):
    return x + 1


def model():
    return GenericFakeChatModel(messages=iter([AIMessage("a b"), AIMessage("c")]))


def chain():
    return ChatPromptTemplate.from_messages([("user", "{q}")]) | model() | StrOutputParser()


def spelled(*chunks):
    async def gen(_):
        for chunk in chunks:
            yield chunk

    return RunnableGenerator(gen)


async def case_one_run(env):
    return [
        await _log(RunnableLambda(inc), 1),
        await _log(RunnableLambda(inc).with_config(run_name="mine", tags=["t"]), 1),
        await _log(RunnableLambda(inc).with_retry(), 1),
    ]


async def case_chain(env):
    return await _log(chain(), {"q": "hi"}, {"tags": ["t"], "metadata": {"m": 1}})


async def case_state_after_each_patch(env):
    return [
        (type(log).__name__, _plain(log.state["final_output"]), sorted(log.state["logs"]))
        async for log in chain().astream_log({"q": "hi"}, diff=False)
    ]


async def case_last_state(env):
    logs = [log async for log in chain().astream_log({"q": "hi"}, diff=False)]
    state = logs[-1].state
    return [
        state["final_output"],
        state["streamed_output"],
        state["name"],
        state["type"],
        {
            name: (_plain(entry), sorted(entry), entry["end_time"] is not None)
            for name, entry in state["logs"].items()
        },
    ]


async def case_names_with_slashes(env):
    step = RunnableLambda(inc).with_config(run_name="a/b~c")
    patches = [patch async for patch in (step | inc).astream_log(1)]
    return [op["path"] for patch in patches for op in patch.ops if "a" in op["path"][6:9]]


async def case_runs_of_one_name(env):
    step = RunnableLambda(inc)
    return await _log(step | step | step, 1)


async def case_beside_each_other(env):
    both = RunnablePassthrough.assign(a=lambda d: d["x"] + 1) | RunnableLambda(same)
    # what runs beside each other is told in no certain order
    return sorted(repr([place for _, place, _ in ops]) for _, ops in await _log(both, {"x": 1}))


async def case_outputs_of_all_kinds(env):
    step = RunnableLambda(same)
    values = ["s", [1, 2], {"a": 1}, AIMessage("x"), None, (1, 2), 5.0, True]
    return [await _log(step | step, value) for value in values]


async def case_sums(env):
    message = AIMessageChunk
    return [
        await _log(spelled([1], [2], [3, 4]), 1),
        await _log(spelled(AddableDict(a="x"), AddableDict(b=1), AddableDict(a="y")), 1),
        await _log(spelled(message("a"), message("b")), 1),
        await _log(spelled(1, "a", None, "b"), 1),
        await _log(spelled(1, 2, 3), 1),
        await _log(spelled(), 1),
    ]


async def case_tools_and_retrievers(env):
    @tool
    def add(a: int) -> int:
        """Add."""
        return a + 1

    @tool
    def pair(a: int) -> dict:
        """Pair."""
        return {"a": a}

    class Archive(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document("x")]

    step = RunnableLambda(same)
    return [
        await _log(add | step, {"a": 1}),
        await _log(pair | step, {"a": 1}),
        await _log(add, {"a": 1}),
        await _log(step | Archive() | step, "q"),
        await _log(PromptTemplate.from_template("{q}") | step, {"q": "hi"}),
        await _log(step | model(), "hi"),
        await _log(model(), "hi"),
    ]


async def case_errors(env):
    def fail(_):
        raise KeyError("gone")

    @tool
    def bad(a: int) -> int:
        """Fail."""
        raise ValueError("bad")

    out = []
    for runnable, given in (
        (RunnableLambda(inc) | fail, 1),
        (bad | RunnableLambda(same), {"a": 1}),
        (RunnableLambda(fail), 1),
        (RunnableLambda(fail).with_fallbacks([RunnableLambda(inc)]), 1),
    ):
        seen = []

        async def read(runnable=runnable, given=given, seen=seen):
            async for patch in runnable.astream_log(given):
                seen.append(_ops(patch))

        out.append((await env.aerror(read()), seen))
    return out


async def case_filters(env):
    def steps():
        tagged = RunnableLambda(inc, name="tagged").with_config(tags=["t"])
        return RunnableLambda(inc) | tagged | RunnableLambda(inc, name="other") | inc

    return [
        await _log(steps(), 1, **option)
        for option in (
            {"include_names": ["other"]},
            {"include_tags": ["t"]},
            {"include_types": ["chain"]},
            {"include_types": ["llm"]},
            {"exclude_names": ["inc"]},
            {"exclude_tags": ["t"]},
            {"exclude_types": ["chain"]},
            {"include_names": ["tagged", "inc"], "exclude_tags": ["t"]},
            {"with_streamed_output_list": False},
        )
    ]


async def case_filters_of_models(env):
    return [
        await _log(chain(), {"q": "hi"}, include_types=["chat_model"]),
        await _log(chain(), {"q": "hi"}, include_types=["llm"]),
        await _log(chain(), {"q": "hi"}, exclude_types=["prompt", "parser"]),
    ]


async def case_custom_events_are_not_logged(env):
    async def tell(x):
        await adispatch_custom_event("e", 1)
        return x

    return await _log(RunnableLambda(tell) | RunnableLambda(same), 1)


async def case_arguments_of_the_caller(env):
    def add(x, by=1):
        return x + by

    return await _log(RunnableLambda(add).bind(by=5), 1)


async def case_a_consumer_that_leaves(env):
    async for patch in chain().astream_log({"q": "hi"}):
        return _ops(patch)


async def case_graph(env):
    class State(TypedDict):
        n: int

    builder = StateGraph(State).add_node("one", lambda s: {"n": s["n"] + 1}).add_edge(START, "one")
    logs = [log async for log in builder.compile().astream_log({"n": 1}, diff=False)]
    state = logs[-1].state
    return [state["final_output"], state["streamed_output"], sorted(state["logs"]), state["name"]]


def case_patches_add_up(env):
    first = RunLogPatch({"op": "replace", "path": "", "value": {"a": [], "b": None, "l": {}}})
    more = RunLogPatch(
        {"op": "add", "path": "/a/-", "value": 1},
        {"op": "replace", "path": "/b", "value": 3},
        {"op": "add", "path": "/l/x~1y", "value": {"z": [1, 2]}},
        {"op": "replace", "path": "/l/x~1y/z/0", "value": 7},
        {"op": "add", "path": "/l/x~1y/z/1", "value": 8},
        {"op": "remove", "path": "/l/x~1y/z/2"},
    )
    log = first + more
    again = log + more
    gone = log + RunLogPatch({"op": "remove", "path": "/b"})
    return [
        [type(each).__name__ for each in (first, log, again)],
        [each.state for each in (log, again, gone)],
        [len(each.ops) for each in (first, log, again)],
        repr(first),
        repr(log),
        repr(RunLogPatch()),
        [first == RunLogPatch(*first.ops), first == more, first == log, log == first, log == log],
        log == RunLog(*log.ops, state=log.state),
        [
            env.error(call)
            for call in (
                lambda: first + 1,
                lambda: log + log,
                lambda: first + log,
                lambda: hash(first),
                lambda: RunLog(),
            )
        ],
    ]
