"""Haystack's Agent in whole stories: desks of agents, breakpoints over several processes, files."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import asyncio
from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.components.agents.state import State
from haystack.components.tools import ToolInvoker
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import ChatMessage, ImageContent, StreamingChunk, ToolCall
from haystack.tools import ComponentTool, Toolset, create_tool_from_function, tool

say = ChatMessage.from_assistant
user = ChatMessage.from_user


@component
class Scripted:
    def __init__(self, *replies):
        self.replies = list(replies)
        self.seen = []

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        tools: Any = None,
        streaming_callback: Any = None,
        **kwargs: Any,
    ):
        self.seen.append(([m.text or "" for m in messages], kwargs))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if streaming_callback:
            streaming_callback(StreamingChunk(reply.text or "-", index=0, start=True))
        return {"replies": [reply]}


def call(name, call_id="1", **arguments):
    return say(tool_calls=[ToolCall(name, arguments, call_id)])


def calls(*given):
    return say(tool_calls=[ToolCall(name, args, str(n)) for n, (name, args) in enumerate(given)])


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def shown(result):
    return [
        (
            m.role.value,
            m.text,
            [(c.tool_name, c.arguments) for c in m.tool_calls],
            [r.result for r in m.tool_call_results],
        )
        for m in result["messages"]
    ]


def desk(*replies, tools=(add,), **kwargs):
    return Agent(chat_generator=Scripted(*replies), tools=[*tools], **kwargs)


def case_an_agent_over_turns_by_hand(env):
    agent = desk(
        call("add", a=1, b=2), say("3"), call("add", a=3, b=4), say("7"), system_prompt="S"
    )
    history, sizes = [], []
    for text in ("one", "two"):
        result = agent.run([*history, user(text)])
        history = result["messages"]
        sizes.append(len(history))
    return sizes, shown(result), result["last_message"].text


def case_a_notebook_that_tools_share(env):
    def note(text: str, notes: list[str]) -> dict:
        """Note."""
        return {"notes": [f"{len(notes or [])}:{text}"], "told": f"noted {text}"}

    noting = create_tool_from_function(
        note,
        inputs_from_state={"notes": "notes"},
        outputs_to_state={"notes": {"source": "notes"}},
    )
    agent = desk(
        calls(("note", {"text": "a"}), ("note", {"text": "b"})),
        call("note", "9", text="c"),
        say("done"),
        tools=[noting],
        state_schema={"notes": {"type": list[str]}},
    )
    result = agent.run([user("hi")], notes=["old"])
    return shown(result), result["notes"]


def plus(old, new):
    return (old or 0) + new


def most(old, new):
    return max(old or 0, new)


def case_state_with_handlers_of_all_kinds(env):
    def count(n: int) -> dict:
        """Count."""
        return {"n": n, "best": n, "all": {"last": n}}

    counting = create_tool_from_function(
        count,
        outputs_to_state={
            "total": {"source": "n", "handler": plus},
            "best": {"source": "best"},
            "whole": {},
        },
    )
    schema = {
        "total": {"type": int},
        "best": {"type": int, "handler": most},
        "whole": {"type": dict},
    }
    agent = desk(
        call("count", n=3), call("count", "2", n=1), say("x"), tools=[counting], state_schema=schema
    )
    result = env.error(lambda: agent.run([user("hi")]))
    return result[0] if isinstance(result, tuple) else result, isinstance(result, tuple) and [
        result[1].get(k) for k in schema
    ]


def case_an_agent_asks_an_agent(env):
    inner = desk(call("add", a=1, b=2), say("It is 3."), system_prompt="You add.")
    asking = ComponentTool(
        inner, name="ask", description="Ask.", outputs_to_string={"source": "last_message"}
    )
    outer = desk(
        call("ask", messages=[{"role": "user", "content": [{"text": "1+2"}]}]),
        say("3"),
        tools=[asking],
    )
    result = env.error(lambda: shown(outer.run([user("hi")])))
    return result


def case_a_failure_is_resumed(env):
    agent = desk(call("add", a=1, b=2), ValueError("down"))
    try:
        agent.run([user("hi")])
    except PipelineRuntimeError as failed:
        snapshot = failed.pipeline_snapshot.agent_snapshot
        told = (
            failed.component_name,
            str(failed).splitlines()[:2],
            type(failed.__cause__).__name__,
        )
    return told, shown(desk(say("up")).run([], snapshot=snapshot))


def case_a_tool_fails_and_the_model_mends_it(env):
    @tool
    def div(a: int, b: int) -> float:
        """Divide."""
        return a / b

    agent = desk(
        call("div", a=1, b=0),
        call("div", "2", a="x", b=1),
        call("dvi", "3"),
        call("div", "4", a=1, b=2),
        say("0.5"),
        tools=[div],
    )
    result = agent.run([user("hi")])
    return [(m.role.value, [r.error for r in m.tool_call_results]) for m in result["messages"]]


def case_prompts_of_a_run(env):
    generator = Scripted(say("a"), say("b"))
    agent = Agent(chat_generator=generator, system_prompt="S")
    first = env.error(lambda: shown(agent.run([user("x")])))
    second = env.error(lambda: shown(agent.run([user("y")], system_prompt="T")))
    return first, second, generator.seen


def case_exits_by_a_tool_with_a_result(env):
    @tool
    def finish(answer: str) -> str:
        """Finish."""
        return answer.upper()

    agent = desk(
        calls(("finish", {"answer": "x"}), ("add", {"a": 1, "b": 2})),
        say("never"),
        tools=[add, finish],
        exit_conditions=["finish"],
    )
    result = agent.run([user("hi")])
    return shown(result)


async def case_many_runs_at_once(env):
    async def one(n):
        agent = desk(call("add", a=n, b=n), say(f"{2 * n}"))
        return shown(await agent.run_async([user(str(n))]))

    return await asyncio.gather(*(one(n) for n in range(5)))


def case_streams_to_several_ears(env):
    heard = []

    def hear(chunk):
        heard.append(
            (
                chunk.content,
                chunk.start,
                chunk.index,
                chunk.tool_call_result and chunk.tool_call_result.result,
                chunk.component_info and chunk.component_info.name,
            )
        )

    agent = desk(call("add", a=1, b=2), say("3"))
    agent.run([user("hi")], streaming_callback=hear)
    return heard


def case_images_in_questions(env):
    png = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
        "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    message = ChatMessage.from_user(
        content_parts=["look", ImageContent(png, "image/png", detail="low")]
    )
    agent = desk(say("a dot"))
    result = agent.run([message])
    return [(m.role.value, m.texts, len(m.images)) for m in result["messages"]], message.to_dict()


def case_a_state_by_hand(env):
    state = State({"n": {"type": int}, "log": {"type": list[str]}}, {"n": 1})
    state.set("log", ["a"])
    state.set("log", "b")
    state.set("n", 5)
    state.set("n", 7, handler_override=lambda old, new: old * new)
    return (
        state.get("log"),
        state.get("n"),
        state.has("x"),
        state.get("x", "none"),
        sorted(state.data),
        env.error(lambda: state.set("x", 1)),
    )


def case_an_invoker_by_hand(env):
    invoker = ToolInvoker([add], raise_on_failure=False)
    result = invoker.run([user("x"), calls(("add", {"a": 1, "b": 2}), ("nope", {}))])
    return [
        (m.role.value, [(r.result, r.error) for r in m.tool_call_results])
        for m in result["tool_messages"]
    ], sorted(result)


def case_toolsets_that_are_joined(env):
    @tool
    def mul(a: int, b: int) -> int:
        """Multiply."""
        return a * b

    both = Toolset([add]) + Toolset([mul])
    agent = Agent(chat_generator=Scripted(call("mul", a=2, b=3), say("6")), tools=both)
    return (
        [t.name for t in both],
        "add" in both,
        len(both),
        shown(agent.run([user("hi")])),
        env.error(lambda: both.add(add)),
    )
