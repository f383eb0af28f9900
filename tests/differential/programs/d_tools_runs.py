"""Runs of tools: async code, the events that handlers hear, the config that children inherit."""

import asyncio
from typing import Annotated

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
    tool,
)


def call(name="t", id="1", **args):
    return {"type": "tool_call", "id": id, "name": name, "args": args}


def shown(message):
    if not isinstance(message, ToolMessage):
        return message
    return (message.content, message.name, message.tool_call_id, message.status, message.artifact)


class Told(BaseCallbackHandler):
    def __init__(self):
        self.events = []

    def hear(self, event, said, kw):
        known = {k: kw.get(k) for k in ("tags", "metadata", "inputs", "name", "tool_call_id")}
        self.events.append((event, said, known, kw.get("parent_run_id") is not None))

    def on_tool_start(self, serialized, input_str, **kw):
        self.hear("start", (serialized, input_str), kw)

    def on_tool_end(self, output, **kw):
        self.hear("end", shown(output), kw)

    def on_tool_error(self, error, **kw):
        self.hear("error", type(error).__name__, kw)

    def on_chain_start(self, serialized, inputs, **kw):
        self.hear("chain", inputs, kw)


class ATold(AsyncCallbackHandler):
    def __init__(self):
        self.events = []

    async def on_tool_start(self, serialized, input_str, **kw):
        self.events.append(("start", input_str, kw["inputs"]))

    async def on_tool_end(self, output, **kw):
        self.events.append(("end", shown(output)))

    async def on_tool_error(self, error, **kw):
        self.events.append(("error", type(error).__name__))


@tool
def work(
    x: int,
    secret: Annotated[str, InjectedToolArg] = "s",
    id: Annotated[str, InjectedToolCallId] = "zz",
):
    """Work."""
    if x == 0:
        raise ToolException("zero")
    if x < 0:
        raise ValueError("negative")
    return {"x": RunnableLambda(lambda v: v, name="inner").invoke(x)}


@tool
async def awork(x: int):
    """Work."""
    if x == 0:
        raise ToolException("zero")
    return await RunnableLambda(lambda v: v, name="inner").ainvoke(x)


def config(handler):
    return {"callbacks": [handler], "tags": ["t"], "metadata": {"m": 1}, "run_name": "named"}


def case_events_of_calls(env):
    told = Told()
    results = [
        env.error(lambda x=x: shown(work.invoke(call(x=x, secret="q"), config(told))))
        for x in (1, 0, -1, "x")
    ]
    return results, told.events


def case_events_of_text_and_run(env):
    @tool
    def echo(text: str):
        """Echo."""
        return text

    told = Told()
    echo.invoke("hi", config(told))
    echo.run("hi", callbacks=[told], tags=["a"], metadata={"q": 1}, run_name="Z")
    echo.invoke({"text": "hi"}, {"callbacks": [told]})
    return told.events


def case_own_callbacks_tags_and_metadata(env):
    told = Told()
    own = StructuredTool.from_function(
        work.func, name="own", callbacks=[told], tags=["mine"], metadata={"own": 1}
    )
    own.invoke(call(x=1))
    own.invoke(call(x=1), {"tags": ["t"], "metadata": {"m": 1}})
    return told.events


async def case_events_of_async_calls(env):
    told, atold = Told(), ATold()
    both = {"callbacks": [told, atold], "tags": ["t"]}
    results = [await env.aerror(awork.ainvoke(call(x=x), both)) for x in (1, 0, "x")]
    return [shown(r) for r in results[:1]], results[1:], told.events, atold.events


async def case_sync_code_in_async_calls(env):
    told = Told()
    results = [shown(await work.ainvoke(call(x=x), {"callbacks": [told]})) for x in (1, 2)]
    return results, told.events


async def case_both_kinds_of_code(env):
    def sync(x: int):
        """Sync."""
        return ["sync", x]

    async def aio(x: int):
        return ["async", x]

    both = StructuredTool.from_function(sync, aio)
    only = StructuredTool.from_function(coroutine=awork.coroutine)
    return (
        both.invoke({"x": 1}),
        await both.ainvoke({"x": 1}),
        only.name,
        env.error(lambda: only.invoke({"x": 1})),
        await only.ainvoke({"x": 1}),
        shown(await only.arun({"x": 1}, tool_call_id="8")),
    )


async def case_async_classes(env):
    class Sync(BaseTool):
        name: str = "sync"
        description: str = "Sync."

        def _run(self, a: int, run_manager=None):
            return [a, type(run_manager).__name__]

    class Both(Sync):
        async def _arun(self, a: int, run_manager=None):
            return ["async", a, type(run_manager).__name__]

    told = {"callbacks": [Told()]}
    return (
        await Sync().ainvoke({"a": 1}, told),
        Sync().invoke({"a": 1}, told),
        await Both().ainvoke({"a": 1}, told),
        await asyncio.gather(*(Both().ainvoke({"a": n}, told) for n in range(3))),
    )


async def case_simple_tools(env):
    async def aone(x):
        return x + "?"

    only = Tool("n", None, "d", coroutine=aone)
    both = Tool("n", lambda x: x + "!", "d", coroutine=aone)
    plain = Tool("n", lambda x: x + "!", "d")
    return (
        await only.ainvoke("x"),
        env.error(lambda: only.invoke("x")),
        both.invoke("x"),
        await both.ainvoke("x"),
        await plain.ainvoke("x"),
    )


async def case_handled_errors(env):
    @tool
    async def fail(a: int):
        """Fail."""
        raise ToolException("boom")

    fail.handle_tool_error = lambda e: f"handled {e}"
    fail.handle_validation_error = "invalid"
    told = ATold()
    heard = {"callbacks": [told]}
    return (
        shown(await fail.ainvoke(call(a=1), heard)),
        shown(await fail.ainvoke(call(a="x"), heard)),
        await fail.ainvoke({"a": 1}),
        told.events,
    )


async def case_artifacts(env):
    @tool(response_format="content_and_artifact")
    async def both(a: int):
        """Both."""
        return "content", a

    return shown(await both.ainvoke(call(a=1))), await both.ainvoke({"a": 1})


def case_config_of_children(env):
    seen = []

    @tool
    def outer(x: int, config: RunnableConfig):
        """Outer."""
        look = RunnableLambda(lambda _, config: seen.append((config["tags"], config["metadata"])))
        look.invoke(x)
        return [config["tags"], config["metadata"], config["configurable"]]

    given = {"tags": ["t"], "metadata": {"m": 1}, "configurable": {"k": 2}}
    return outer.invoke({"x": 1}, given), seen


def case_name_of_a_run_in_the_config_of_a_tool(env):
    names = []

    class Names(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, **kw):
            names.append(kw.get("name"))

    @tool
    def outer(x: int, config: RunnableConfig):
        """Outer."""
        RunnableLambda(lambda _: None).with_config(run_name="inner").invoke(x, config)
        return config.get("run_name")

    return outer.invoke({"x": 1}, {"run_name": "mine", "callbacks": [Names()]}), names


async def case_streamed_events(env):
    kinds = []
    async for event in awork.astream_events({"x": 1}, version="v2"):
        if event["event"].startswith("on_tool"):
            kinds.append((event["event"], event["name"], event["data"]))
    return kinds
