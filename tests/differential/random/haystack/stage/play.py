"""Haystack agents of made programs, and what is done with them."""

import asyncio
import json
import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.core.errors import BreakpointException
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall
from haystack.dataclasses.breakpoints import (
    AgentBreakpoint,
    Breakpoint,
    PipelineSnapshot,
    ToolBreakpoint,
)
from haystack.tools import flatten_tools_or_toolsets

from .tools import schema_of, tools_of

HERE = __name__.rpartition(".")[0]
"""What the paths of this program's functions begin with."""


def message_of(spec):
    """A message of a script or an input."""
    meta = dict(spec.get("meta", {}))
    if spec["role"] == "user":
        return ChatMessage.from_user(spec["text"], meta=meta, name=spec.get("name"))
    if spec["role"] == "system":
        return ChatMessage.from_system(spec["text"])
    if spec["role"] == "tool":
        origin = ToolCall(*spec["origin"])
        return ChatMessage.from_tool(spec["text"], origin=origin, error=spec.get("error", False))
    calls = [
        ToolCall(one["name"], dict(one["args"]), one.get("id")) for one in spec.get("calls", [])
    ]
    return ChatMessage.from_assistant(
        spec.get("text"), meta=meta, tool_calls=calls or None, reasoning=spec.get("reasoning")
    )


@component
class Scripted:
    """Says what its script says, word by word where somebody listens."""

    def __init__(self, script):
        self.script = list(script)
        self.seen = []

    def _next(self, messages, tools, kwargs):
        shown = [one.tool_spec for one in flatten_tools_or_toolsets(tools)]
        self.seen.append(([one.to_dict() for one in messages], shown, kwargs))
        reply = self.script.pop(0) if self.script else {"role": "assistant", "text": "the end"}
        if "error" in reply:
            raise {"value": ValueError, "connection": ConnectionError}[reply["error"]]("broken")
        return [message_of(one) for one in reply.get("several", [reply])]

    def _chunks(self, reply):
        for n, word in enumerate((reply.text or "").split()):
            yield StreamingChunk(word, index=0, start=n == 0)

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        tools: Any = None,
        streaming_callback: Any = None,
        generation_kwargs: Any = None,
    ):
        replies = self._next(messages, tools, generation_kwargs)
        for chunk in self._chunks(replies[0]) if streaming_callback else ():
            streaming_callback(chunk)
        return {"replies": replies}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        tools: Any = None,
        streaming_callback: Any = None,
        generation_kwargs: Any = None,
    ):
        replies = self._next(messages, tools, generation_kwargs)
        for chunk in self._chunks(replies[0]) if streaming_callback else ():
            await streaming_callback(chunk)
        return {"replies": replies}


def agent_of(spec):
    """The agent of a program."""
    more = dict(spec.get("options", {}))
    if "state" in spec:
        more["state_schema"] = schema_of(spec["state"])
    tools = tools_of(spec["tools"], spec.get("as"))
    return Agent(chat_generator=Scripted(spec["script"]), tools=tools, **more)


def point_of(spec):
    """A breakpoint."""
    if spec["at"] == "tools":
        return AgentBreakpoint(
            "a", ToolBreakpoint("tool_invoker", spec["visit"], None, spec.get("tool"))
        )
    return AgentBreakpoint("a", Breakpoint("chat_generator", spec["visit"]))


HEARD: list = []
"""The chunks of the run that is going on: only a function without an object can be stored."""


def hear(chunk):
    HEARD.append(chunk)


async def ahear(chunk):
    HEARD.append(chunk)


class Player:
    """Does one action after another with an agent."""

    def __init__(self, spec, env):
        self.env = env
        self.agent = agent_of(spec)
        self.agent.warm_up()
        self.generator = self.agent.chat_generator
        self.snapshot = None
        self.last: list = []

    def play(self, action):
        HEARD.clear()
        if action["do"] == "schema":
            return sorted(self.agent.state_schema), []
        if action.get("async"):
            found = asyncio.run(self.env.aerror(self.arun(action)))
        else:
            found = self.env.error(lambda: self.run(action))
        return found, list(HEARD)

    def arguments(self, action):
        """What a run is given."""
        more = dict(action.get("given", {}))
        messages = [message_of(one) for one in action.get("messages", ())]
        if action.get("follow"):
            messages = [*self.last, *messages]
        if action.get("streamed"):
            more["streaming_callback"] = ahear if action.get("async") else hear
        if "tools" in action:
            names = action["tools"]
            given = names and isinstance(names[0], dict)
            more["tools"] = tools_of(names) if given else names
        if "stop" in action:
            more["break_point"] = point_of(action["stop"])
        if action.get("resume") and self.snapshot is not None:
            more["snapshot"] = PipelineSnapshot.from_dict(json.loads(self.snapshot)).agent_snapshot
        return messages, more

    def run(self, action):
        messages, more = self.arguments(action)
        try:
            return self.ended(self.agent.run(messages, **more))
        except BreakpointException as stopped:
            return self.stopped(stopped)

    async def arun(self, action):
        messages, more = self.arguments(action)
        try:
            return self.ended(await self.agent.run_async(messages, **more))
        except BreakpointException as stopped:
            return self.stopped(stopped)

    def ended(self, result):
        self.last = result["messages"]
        return result

    def stopped(self, error):
        """What a breakpoint tells; its snapshot is what another process would read."""
        self.snapshot = json.dumps(error.pipeline_snapshot.to_dict())
        told = json.loads(self.snapshot.replace(HERE, "here"))["agent_snapshot"]
        return str(error), error.component, told["component_visits"], told["component_inputs"]


def play(spec, env):
    """What came of a program: of making the agent, then of each action."""
    made = env.error(lambda: Player(spec, env))
    if not isinstance(made, tuple):
        return {"made": made}
    player = made[1]
    return {
        "played": [player.play(action) for action in spec["actions"]],
        "seen": player.generator.seen,
    }
