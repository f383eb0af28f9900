"""Haystack's Agent in async calls."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import warnings
from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.components.tools import ToolInvoker
from haystack.core.errors import BreakpointException
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall
from haystack.dataclasses.breakpoints import AgentBreakpoint, Breakpoint, ToolBreakpoint
from haystack.tools import ComponentTool, create_tool_from_function, tool

say = ChatMessage.from_assistant
user = ChatMessage.from_user


@component
class Both:
    """Async where it is awaited; its sync form fails."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.seen = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None):
        raise RuntimeError("the sync form was called")

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ):
        self.seen.append(len(messages))
        reply = self.replies.pop(0)
        if streaming_callback:
            for word in (reply.text or "").split():
                await streaming_callback(StreamingChunk(word))
        return {"replies": [reply]}


@component
class SyncOnly:
    def __init__(self, *replies):
        self.replies = list(replies)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None):
        return {"replies": [self.replies.pop(0)]}


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def boom(x: str) -> str:
    """Fail."""
    raise ValueError("boom " + x)


def call(name, call_id="1", **arguments):
    return say(tool_calls=[ToolCall(name, arguments, call_id)])


def agent(*replies, **kwargs):
    made = Agent(chat_generator=Both(*replies), **kwargs)
    made.warm_up()
    return made


async def case_tool_then_answer(env):
    it = agent(call("add", a=1, b=2), say("3"), tools=[add])
    return await it.run_async([user("1 + 2?")]), it.chat_generator.seen


async def case_generator_that_is_sync(env):
    it = Agent(chat_generator=SyncOnly(call("add", a=1, b=2), say("3")), tools=[add])
    it.warm_up()
    return await it.run_async([user("1 + 2?")])


async def case_parallel_calls(env):
    calls = [ToolCall("add", {"a": n, "b": 1}, str(n)) for n in range(6)]
    it = agent(say("all", tool_calls=calls), say("done"), tools=[add])
    return await it.run_async([user("hi")])


async def case_streaming(env):
    heard = []

    async def hear(chunk):
        heard.append(chunk)

    it = agent(call("add", a=1, b=2), say("done now"), tools=[add])
    await it.run_async([user("hi")], streaming_callback=hear)
    return heard


async def case_sync_callback_in_an_async_run(env):
    it = agent(say("x"), tools=[add])
    return await env.aerror(it.run_async([user("hi")], streaming_callback=print))


async def case_sync_callback_of_the_agent(env):
    it = agent(say("x"), streaming_callback=print)
    return await env.aerror(it.run_async([user("hi")]))


async def case_tool_error_is_told(env):
    it = agent(call("boom", x="1"), say("sorry"), tools=[boom])
    return await it.run_async([user("hi")])


async def case_tool_error_is_raised(env):
    it = agent(call("boom", x="1"), tools=[boom], raise_on_tool_invocation_failure=True)
    return await env.aerror(it.run_async([user("hi")]))


async def case_generator_that_fails(env):
    return await env.aerror(agent(tools=[add]).run_async([user("hi")]))


async def case_exit_by_a_tool(env):
    it = agent(call("add", a=1, b=2), say("never"), tools=[add], exit_conditions=["add"])
    return await it.run_async([user("hi")])


async def case_max_agent_steps(env):
    it = agent(*(call("add", str(n), a=n, b=1) for n in range(9)), tools=[add], max_agent_steps=2)
    return await it.run_async([user("hi")])


async def case_state(env):
    def search(query: str, repo: str):
        """Search."""
        return {"docs": [query, repo]}

    searching = create_tool_from_function(
        search,
        inputs_from_state={"repository": "repo"},
        outputs_to_state={"documents": {"source": "docs"}},
    )
    schema = {"repository": {"type": str}, "documents": {"type": list[str]}}
    it = agent(
        call("search", query="a"),
        call("search", query="b"),
        say("x"),
        tools=[searching],
        state_schema=schema,
    )
    return await it.run_async([user("hi")], repository="mine", system_prompt="S")


async def case_breakpoint_at_the_generator(env):
    it = agent(call("add", a=1, b=2), say("done"), tools=[add])
    point = AgentBreakpoint("helper", Breakpoint("chat_generator", 1))
    return await env.aerror(it.run_async([user("hi")], break_point=point)), it.chat_generator.seen


async def case_resumed_at_the_tools(env):
    it = agent(call("add", a=1, b=2), say("done"), tools=[add])
    point = AgentBreakpoint("helper", ToolBreakpoint("tool_invoker", 0, tool_name="add"))
    try:
        await it.run_async([user("hi")], break_point=point)
    except BreakpointException as error:
        snapshot = error.pipeline_snapshot.agent_snapshot
        return await it.run_async([], snapshot=snapshot), it.chat_generator.seen


async def case_invoker(env):
    invoker = ToolInvoker([add, boom], raise_on_failure=False)
    done = await invoker.run_async([call("add", a=1, b=2), call("boom", x="1")])
    return done["tool_messages"], done["state"].data


async def case_warm_up(env):
    @component
    class Cold:
        def warm_up(self):
            pass

        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools: Any = None):
            return {"replies": [say("warm")]}

    it = Agent(chat_generator=Cold())
    before = await env.aerror(it.run_async([user("hi")]))
    it.warm_up()
    return before, await it.run_async([user("hi")])


async def case_async_callback_of_a_sync_generator(env):
    @component
    class Telling:
        def __init__(self):
            self.replies = [call("add", a=1, b=2), say("done now")]

        @component.output_types(replies=list[ChatMessage])
        def run(
            self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
        ):
            reply = self.replies.pop(0)
            for word in (reply.text or "").split():
                coroutine = streaming_callback(StreamingChunk(word))
                if coroutine is not None:
                    coroutine.close()  # so that nobody warns of it
            return {"replies": [reply]}

    heard = []

    async def hear(chunk):
        heard.append(chunk.content or chunk.finish_reason)

    it = Agent(chat_generator=Telling(), tools=[add])
    await it.run_async([user("hi")], streaming_callback=hear)
    return heard


async def case_async_tool(env):
    async def later(x: str):
        """Later."""
        return "later " + x

    it = agent(call("later", x="1"), say("x"), tools=[create_tool_from_function(later)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer never awaits it
        done = await it.run_async([user("hi")])
    return done["messages"][2].tool_call_result.result.partition(" at ")[0]


async def case_callbacks_that_are_handed_to_tools(env):
    def tell(text: str, streaming_callback: Any = None) -> str:
        """Tell."""
        coroutine = streaming_callback(StreamingChunk(text))
        if coroutine is not None:
            coroutine.close()  # so that nobody warns of it
        return text

    heard = []

    async def hear(chunk):
        heard.append(chunk.content or chunk.finish_reason)

    expert = Agent(chat_generator=Both(say("three strands")), tools=[add])
    question = user("how many?").to_dict()
    it = agent(
        call("tell", text="so"),
        call("expert", messages=[question]),
        say("done now"),
        tools=[create_tool_from_function(tell), ComponentTool(expert, "expert", "Knows.")],
        tool_invoker_kwargs={"enable_streaming_callback_passthrough": True},
    )
    await it.run_async([user("hi")], streaming_callback=hear)
    return heard
