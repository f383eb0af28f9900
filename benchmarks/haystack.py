"""Owns the workload of Haystack's component-style agent: one script, turn by turn, on both sides.

The peer here is haystack-ai itself. A generator without intelligence calls a tool in each turn.
"""

import logging
import os
from importlib import import_module
from typing import Any

from benchmarks.implementations import PLAIT, Implementation
from benchmarks.measure import Job, run_async

_MODULES = {
    "component": "haystack",
    "Agent": "haystack.components.agents",
    "ChatMessage": "haystack.dataclasses",
    "ToolCall": "haystack.dataclasses",
    "tool": "haystack.tools",
}


def _get(impl: Implementation, name: str) -> Any:
    """A name of the side that is measured."""
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
    home = "plait.haystack" if impl.name == PLAIT else _MODULES[name]
    return getattr(import_module(home), name)


def _generator(impl: Implementation, turns: int) -> Any:
    component, ChatMessage = _get(impl, "component"), _get(impl, "ChatMessage")
    ToolCall = _get(impl, "ToolCall")

    @component
    class Scripted:
        """Knows which turn it is by the messages it is shown."""

        def _reply(self, messages: list[Any]) -> dict[str, Any]:
            turn = len(messages) // 2
            if turn >= turns:
                return {"replies": [ChatMessage.from_assistant("done")]}
            call = ToolCall("add", {"a": turn, "b": 1}, str(turn))
            return {"replies": [ChatMessage.from_assistant(tool_calls=[call])]}

        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
            return self._reply(messages)

        @component.output_types(replies=list[ChatMessage])
        async def run_async(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
            return self._reply(messages)

    return Scripted()


def agent(impl: Implementation, turns: int, *, run_as_async: bool) -> Job:
    """An agent that calls one tool in each of `turns` turns, and then answers."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    ChatMessage = _get(impl, "ChatMessage")
    logging.getLogger("haystack").setLevel(logging.ERROR)
    made = _get(impl, "Agent")(
        chat_generator=_generator(impl, turns),
        tools=[_get(impl, "tool")(add)],
        max_agent_steps=turns + 1,
    )
    made.warm_up()
    asked = [ChatMessage.from_user("count")]

    def told(done: dict[str, Any]) -> list[Any]:
        return [message.to_dict() for message in done["messages"]]

    async def run_coroutine() -> dict[str, Any]:
        return await made.run_async(asked)

    if run_as_async:
        return Job(lambda: run_async(run_coroutine()), told)
    return Job(lambda: made.run(asked), told)


def floor(turns: int, *, run_as_async: bool) -> Job:
    """A loop that builds the same messages as plain data."""

    def part(role: str, content: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "meta": {}, "name": None, "content": [content]}

    def run() -> list[Any]:
        messages = [part("user", {"text": "count"})]
        for turn in range(turns):
            call = {"tool_name": "add", "arguments": {"a": turn, "b": 1}, "id": str(turn)}
            result = {"result": str(turn + 1), "origin": call, "error": False}
            messages.append(part("assistant", {"tool_call": call}))
            messages.append(part("tool", {"tool_call_result": result}))
        return [*messages, part("assistant", {"text": "done"})]

    async def run_coroutine() -> list[Any]:
        return run()

    return Job(lambda: run_async(run_coroutine())) if run_as_async else Job(run)
