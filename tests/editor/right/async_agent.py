import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from pydantic import BaseModel
from typing_extensions import NotRequired

from plait.agents import AgentState, create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    ModelRequest,
    ModelResponse,
    after_agent,
)
from plait.messages import AIMessageChunk, HumanMessage, SystemMessage
from plait.runtime import Runtime
from plait.testing import ScriptedChatModel
from plait.tools import ToolRuntime, tool


class Ctx(BaseModel):
    tier: str = "free"


class MyState(AgentState):
    seen: NotRequired[int]


class Log(AgentMiddleware[MyState, Ctx]):
    state_schema = MyState

    async def abefore_model(self, state: MyState, runtime: Runtime[Ctx]) -> dict[str, Any] | None:
        return {"seen": state.get("seen", 0) + 1}

    async def awrap_model_call(
        self,
        request: ModelRequest[Ctx],
        handler: Callable[[ModelRequest[Ctx]], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        if request.runtime.context.tier == "pro":
            request = request.override(system_message=SystemMessage("pro"))
        response = await handler(request)
        print(response.result[0].content)
        return response


@tool
async def lookup(key: str, runtime: ToolRuntime[Ctx, MyState]) -> str:
    """Look up."""
    writer = runtime.stream_writer
    writer(f"looking {key}")
    if runtime.store:
        await runtime.store.aput(("a",), key, {"v": 1})
    return f"{runtime.context.tier} {runtime.state.get('seen')}"


@after_agent
async def bye(state: AgentState, runtime: Runtime[Ctx]) -> dict[str, Any] | None:
    print(state["messages"][-1].content)
    return None


agent = create_agent(
    ScriptedChatModel(["x", "y", "z"]),
    [lookup],
    middleware=[Log(), bye],
    context_schema=Ctx,
    state_schema=MyState,
)


async def tokens(text: str) -> AsyncGenerator[str, None]:
    async for chunk, meta in agent.astream(
        {"messages": [HumanMessage(text)]}, stream_mode="messages", context=Ctx(tier="pro")
    ):
        if isinstance(chunk, AIMessageChunk):
            yield chunk.text


async def main() -> None:
    async for t in tokens("hi"):
        print(t)
    result = await agent.ainvoke(
        {"messages": [{"role": "user", "content": "hi"}], "seen": 3}, context=Ctx()
    )
    print(result["seen"], result["messages"][-1].text)
    async for event in agent.astream_events({"messages": "x"}, version="v2", context=Ctx()):
        if event["event"] == "on_chat_model_stream":
            print(event["data"]["chunk"].content)


asyncio.run(main())
