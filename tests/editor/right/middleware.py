from collections.abc import Callable
from typing import Any

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    before_model,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from plait.messages import ToolMessage
from plait.prebuilt.tool_node import ToolCallRequest
from plait.runtime import Runtime
from plait.testing import ScriptedChatModel
from plait.tools import tool
from plait.types import Command


@tool
def search(query: str) -> str:
    """Search for information."""
    return f"Results for: {query}"


@before_model
def log(state: AgentState, runtime: Runtime) -> dict[str, Any] | None:
    print(len(state["messages"]))
    return None


@wrap_model_call
def retry(request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
    for attempt in range(3):
        try:
            return handler(request)
        except Exception as e:
            if attempt == 2:
                raise
            print(e)
    raise RuntimeError


@wrap_tool_call
def guard(
    request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command]
) -> ToolMessage | Command:
    try:
        return handler(request)
    except Exception as e:
        return ToolMessage(content=f"Tool error: {e}", tool_call_id=request.tool_call["id"])


@dynamic_prompt
def prompt(request: ModelRequest) -> str:
    return f"You are {len(request.messages)}"


class Counter(AgentState):
    count: int


class CountMiddleware(AgentMiddleware[Counter]):
    state_schema = Counter

    def before_model(self, state: Counter, runtime: Runtime) -> dict[str, Any] | None:
        return {"count": state.get("count", 0) + 1}

    def after_model(self, state: Counter, runtime: Runtime) -> dict[str, Any] | None:
        return None


model = ScriptedChatModel(["hi", "ho", "hu"])
agent = create_agent(
    model,
    tools=[search],
    middleware=[log, retry, guard, prompt, CountMiddleware()],
    system_prompt="Be brief",
)
result = agent.invoke({"messages": [{"role": "user", "content": "hi"}]})
print(result["messages"][-1].content)

for chunk in agent.stream({"messages": [("user", "hi")]}, stream_mode="updates"):
    print(chunk)
