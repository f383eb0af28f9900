from typing import Annotated

from pydantic import BaseModel

from plait.checkpoint.memory import InMemorySaver
from plait.messages import AIMessage, AnyMessage, ToolMessage
from plait.prebuilt import InjectedState, InjectedStore, ToolRuntime, create_react_agent
from plait.prebuilt.chat_agent_executor import AgentState
from plait.runnables import RunnableConfig
from plait.store.base import BaseStore
from plait.store.memory import InMemoryStore
from plait.testing import ScriptedChatModel
from plait.tools import InjectedToolCallId, tool
from plait.types import Command


class CustomState(AgentState):
    user_name: str


@tool
def get_name(state: Annotated[CustomState, InjectedState]) -> str:
    """Get the user's name."""
    return state["user_name"]


@tool
def update_user_info(
    tool_call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig
) -> Command:
    """Look up and update user info."""
    return Command(
        update={"user_name": "x", "messages": [ToolMessage("done", tool_call_id=tool_call_id)]}
    )


@tool
def remember(text: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Remember."""
    store.put(("m",), "k", {"text": text})
    return "ok"


@tool
def with_runtime(x: int, runtime: ToolRuntime) -> str:
    """With runtime."""
    return f"{x} {runtime.tool_call_id} {runtime.state['messages'][-1]}"


@tool("weather", return_direct=True)
async def weather(city: str, unit: str = "C") -> str:
    """Weather."""
    return city


def prompt(state: CustomState, config: RunnableConfig) -> list[AnyMessage]:
    return [AIMessage("You are " + state["user_name"])] + state["messages"]


class Answer(BaseModel):
    text: str


agent = create_react_agent(
    model=ScriptedChatModel(
        [AIMessage("", tool_calls=[{"name": "get_name", "args": {}, "id": "1"}]), "hi", "ho"]
    ),
    tools=[get_name, update_user_info, remember, with_runtime, weather],
    state_schema=CustomState,
    prompt=prompt,
    checkpointer=InMemorySaver(),
    store=InMemoryStore(),
)
config: RunnableConfig = {"configurable": {"thread_id": "1"}}
r = agent.invoke({"messages": [{"role": "user", "content": "hi"}], "user_name": "John"}, config)
print(r["messages"][-1].content)
for token, metadata in agent.stream({"messages": "x"}, config, stream_mode="messages"):
    print(token, metadata["langgraph_node"])
print(weather.name, weather.args, get_name.description)
