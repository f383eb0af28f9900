"""Breakpoints and snapshots of Haystack's Agent."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import copy
import json
from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.core.errors import BreakpointException
from haystack.core.pipeline.breakpoint import load_pipeline_snapshot
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall
from haystack.dataclasses.breakpoints import (
    AgentBreakpoint,
    AgentSnapshot,
    Breakpoint,
    PipelineSnapshot,
    PipelineState,
    ToolBreakpoint,
)
from haystack.tools import ComponentTool, Tool, tool

say = ChatMessage.from_assistant
user = ChatMessage.from_user
SCHEMA = {"n": {"type": int}, "l": {"type": list[str]}}


@component
class Scripted:
    def __init__(self, *replies):
        self.replies = list(replies)
        self.seen = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None):
        self.seen.append(len(messages))
        return {"replies": [self.replies.pop(0)]}


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def mul(a: int, b: int) -> int:
    """Multiply."""
    return a * b


def hear(chunk):
    pass


def call(name, call_id="1", **arguments):
    return say(tool_calls=[ToolCall(name, arguments, call_id)])


def script():
    return call("add", "1", a=1, b=2), call("mul", "2", a=3, b=4), say("done")


def agent(*replies, **kwargs):
    kwargs = {"tools": [add, mul], "state_schema": SCHEMA, "system_prompt": "S", **kwargs}
    return Agent(chat_generator=Scripted(*replies), **kwargs)


def before_generator(visit=0):
    return AgentBreakpoint("helper", Breakpoint("chat_generator", visit))


def before_tools(visit=0, name=None, path=None):
    return AgentBreakpoint("helper", ToolBreakpoint("tool_invoker", visit, path, name))


def stop(point, *replies, **kwargs):
    """Where a run stops, as the error that says so; else what it gives."""
    it = agent(*(replies or script()), **kwargs)
    try:
        return it.run([user("hi")], break_point=point, n=4)
    except BreakpointException as error:
        return error


def plain(value):
    return json.loads(json.dumps(value).replace(__name__, "program"))


def described(error):
    if not isinstance(error, BreakpointException):
        return error
    return (
        str(error),
        error.component,
        error.pipeline_snapshot_file_path,
        plain(error.inputs),
        plain(error.results),
        plain(error.pipeline_snapshot.to_dict()),
    )


def taken(point):
    """A snapshot as another process would read it."""
    data = json.loads(json.dumps(stop(point).pipeline_snapshot.to_dict()))
    return PipelineSnapshot.from_dict(data).agent_snapshot


def case_points(env):
    points = [before_generator(2), before_tools(1, "add", "/tmp"), before_tools()]
    return [
        (
            point,
            point.to_dict(),
            AgentBreakpoint.from_dict(point.to_dict()) == point,
            str(point.break_point),
        )
        for point in points
    ]


def case_points_that_are_none(env):
    return (
        env.error(lambda: AgentBreakpoint("a", Breakpoint("nope"))),
        env.error(lambda: AgentBreakpoint("a", ToolBreakpoint("chat_generator"))),
        env.error(lambda: AgentBreakpoint("a", Breakpoint("tool_invoker"))),
    )


def case_before_the_first_question(env):
    return described(stop(before_generator()))


def case_before_the_second_question(env):
    return described(stop(before_generator(1)))


def case_before_the_first_tool(env):
    return described(stop(before_tools()))


def case_before_the_second_tool(env):
    return described(stop(before_tools(1, "mul")))


def case_visits_that_never_come(env):
    return stop(before_generator(9)), stop(before_tools(9))


def case_tool_that_is_not_called_then(env):
    return stop(before_tools(0, "mul"))


def case_one_of_parallel_calls(env):
    both = say(
        tool_calls=[ToolCall("add", {"a": 1, "b": 1}, "1"), ToolCall("mul", {"a": 1, "b": 1}, "2")]
    )
    error = stop(before_tools(0, "mul"), both, say("x"))
    return str(error), error.pipeline_snapshot.agent_snapshot.component_visits


def case_answer_without_tools(env):
    return stop(before_tools(), say("at once"))


def case_tool_that_the_agent_lacks(env):
    return env.error(lambda: stop(before_tools(0, "nope")))


def case_agent_without_tools(env):
    return (
        described(stop(before_generator(), say("x"), tools=None)),
        stop(before_tools(), say("x"), tools=None),
    )


def case_streaming_callback_in_a_snapshot(env):
    it = agent(*script())
    try:
        it.run([user("hi")], break_point=before_tools(), streaming_callback=hear)
    except BreakpointException as error:
        return plain(error.inputs)


def case_lambdas_in_a_snapshot(env):
    it = agent(*script())
    return env.error(
        lambda: it.run([user("hi")], break_point=before_tools(), streaming_callback=lambda c: None)
    )


def case_resumed_at_the_generator(env):
    it = agent(*script())
    return it.run([], snapshot=taken(before_generator())), it.chat_generator.seen


def case_resumed_at_the_second_question(env):
    it = agent(*script()[1:])
    return it.run([], snapshot=taken(before_generator(1))), it.chat_generator.seen


def case_resumed_at_the_tools(env):
    it = agent(say("done"))
    return it.run([], snapshot=taken(before_tools(1))), it.chat_generator.seen


def case_resumed_messages_and_values_are_those_of_the_snapshot(env):
    it = agent(say("done"))
    done = it.run([user("other")], snapshot=taken(before_tools(1)), n=9, system_prompt="new")
    return done, it.chat_generator.seen


def case_resumed_with_the_state_edited(env):
    data = taken(before_tools(1)).to_dict()
    state = data["component_inputs"]["tool_invoker"]["serialized_data"]["state"]
    values = state["data"]["serialized_data"]
    values["n"] = 77
    values["messages"][-1]["content"][0]["tool_call"]["arguments"] = {"a": 30, "b": 4}
    it = agent(say("done"))
    return it.run([], snapshot=AgentSnapshot.from_dict(data)), it.chat_generator.seen


def case_resumed_with_the_visits_changed(env):
    found = []
    for point in (before_generator(), before_generator(1), before_tools(), before_tools(1)):
        for visits in (0, 3):
            snapshot = taken(point)
            snapshot.component_visits = {"chat_generator": visits, "tool_invoker": visits}
            it = agent(say("done"), max_agent_steps=5)
            found.append((it.run([], snapshot=snapshot), it.chat_generator.seen))
    return found


def resumed_with_last(*more):
    """What a run gives that goes on with other messages than the call that it has stopped at."""
    data = taken(before_tools()).to_dict()
    state = data["component_inputs"]["tool_invoker"]["serialized_data"]["state"]
    messages = state["data"]["serialized_data"]["messages"]
    messages[-1:] = [message.to_dict() for message in more]
    it = agent(say("done"))
    return it.run([], snapshot=AgentSnapshot.from_dict(data)), it.chat_generator.seen


def case_resumed_with_an_answer_of_ones_own(env):
    return resumed_with_last(say("no need"))


def case_resumed_with_another_question(env):
    return resumed_with_last(), resumed_with_last(user("stop that"))


def case_resumed_until_the_next_point(env):
    it = agent(call("add", "9", a=1, b=1), say("done"))
    try:
        return it.run([], snapshot=taken(before_tools()), break_point=before_tools(1))
    except BreakpointException as error:
        return described(error), it.chat_generator.seen


def case_resumed_at_the_same_point(env):
    it = agent(say("done"))
    return env.error(lambda: it.run([], snapshot=taken(before_tools()), break_point=before_tools()))


def case_resumed_without_the_tool(env):
    it = agent(say("done"), tools=[mul])
    return it.run([], snapshot=taken(before_tools()))


def case_resumed_with_few_steps(env):
    it = agent(call("add", "9", a=1, b=1), say("done"), max_agent_steps=2)
    return it.run([], snapshot=taken(before_tools(1))), it.chat_generator.seen


def case_resumed_with_an_exit_condition(env):
    it = agent(say("never"), exit_conditions=["mul"])
    return it.run([], snapshot=taken(before_tools(1)))


def case_resumed_twice(env):
    snapshot = taken(before_tools(1))
    before = copy.deepcopy(snapshot.to_dict())
    first = agent(say("done")).run([], snapshot=snapshot)
    return first, snapshot.to_dict() == before


def case_snapshot_written_and_back(env):
    data = json.loads(json.dumps(stop(before_tools(1)).pipeline_snapshot.to_dict()))
    agents = data["agent_snapshot"]
    return (
        PipelineSnapshot.from_dict(data).to_dict() == data,
        AgentSnapshot.from_dict(agents).to_dict() == agents,
        AgentSnapshot.from_dict(agents).break_point,
        AgentSnapshot.from_dict(agents).component_visits,
    )


def case_snapshot_in_a_file(env):
    error = stop(before_tools(1, None, str(env.tmp_path / "deep")))
    (path,) = (env.tmp_path / "deep").iterdir()
    loaded = load_pipeline_snapshot(path)
    return (
        error.pipeline_snapshot_file_path == str(path),
        path.name.startswith("helper_tool_invoker_"),
        loaded == error.pipeline_snapshot,
        agent(say("done")).run([], snapshot=loaded.agent_snapshot),
    )


def case_breakpoints_of_damaged_data(env):
    return [
        env.error(lambda: kind.from_dict(data))
        for kind in (Breakpoint, ToolBreakpoint, AgentBreakpoint, PipelineState)
        for data in (None, 5, "x", [])
    ] + [
        env.error(lambda: kind.from_dict({"zz": 1}))
        for kind in (Breakpoint, ToolBreakpoint, PipelineState)
    ]


def case_files_that_are_none(env):
    bad = env.tmp_path / "bad.json"
    bad.write_text("{")
    return (
        env.error(lambda: load_pipeline_snapshot(env.tmp_path / "nope.json")),
        env.error(lambda: load_pipeline_snapshot(bad)),
    )


def case_error_of_the_generator(env):
    it = agent(call("add", "1", a=1, b=2))
    try:
        it.run([user("hi")])
    except Exception as error:
        snapshot = error.pipeline_snapshot.agent_snapshot
        return (
            error.component_name,
            dict(snapshot.component_visits),
            plain(snapshot.component_inputs["tool_invoker"]["serialized_data"]["state"]),
            agent(say("mended")).run([], snapshot=snapshot),
        )


def case_error_of_an_agent_with_lambdas(env):
    schema = {"type": "object", "properties": {}}
    unnamed = Tool("unnamed", "d", schema, lambda: 1)
    return env.error(lambda: agent(tools=[unnamed]).run([user("hi")]))


HEARD = []


def keep(chunk):
    HEARD.append(chunk.content)


@component
class Told:
    """Tells whoever listens that it was asked."""

    def __init__(self, *replies):
        self.replies = list(replies)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None):
        if streaming_callback:
            streaming_callback(StreamingChunk("told"))
        return {"replies": [self.replies.pop(0)]}


def case_resumed_with_the_callback_of_the_stopped_run(env):
    it = Agent(chat_generator=Told(*script()), tools=[add, mul])
    try:
        it.run([user("hi")], break_point=before_generator(1), streaming_callback=keep)
    except BreakpointException as stopped:
        HEARD.clear()
        it.run([user("hi")], snapshot=stopped.pipeline_snapshot.agent_snapshot)
    return HEARD.copy()


@component
class Loud:
    """Shouts."""

    @component.output_types(loud=str)
    def run(self, text: str):
        return {"loud": text.upper()}


def case_resumed_with_tools_of_several_classes(env):
    tools = [ComponentTool(Loud(), name="loud", description="Shout."), add, mul]
    stopped = stop(before_generator(1), tools=tools)
    it = agent(say("done"), tools=tools)
    return env.error(lambda: it.run([], snapshot=stopped.pipeline_snapshot.agent_snapshot))


def case_points_at_tools_of_one_run(env):
    it = agent(*script(), tools=[add])
    return [
        env.error(lambda n=n: it.run([user("hi")], tools=[mul], break_point=before_tools(9, n)))
        for n in ("add", "mul")
    ]
