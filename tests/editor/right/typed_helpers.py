from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from plait.chat_models import BaseChatModel
from plait.checkpoint.base import (
    BaseCheckpointSaver,
)
from plait.checkpoint.memory import InMemorySaver
from plait.graph import END, START, MessagesState, StateGraph
from plait.graph.state import CompiledStateGraph
from plait.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolCall
from plait.prebuilt import ToolNode
from plait.pregel import Pregel
from plait.runnables import Runnable, RunnableConfig
from plait.testing import ScriptedChatModel
from plait.tools import BaseTool, tool
from plait.types import Interrupt, StateSnapshot, StreamMode


class State(MessagesState):
    documents: list[str]
    loops: int


@tool
def search(query: str, limit: int = 3) -> list[str]:
    """Search."""
    return [query] * limit


def build(
    model: BaseChatModel, tools: Sequence[BaseTool], saver: BaseCheckpointSaver | None = None
) -> CompiledStateGraph:
    bound = model.bind_tools(tools)

    def agent(state: State) -> dict[str, list[BaseMessage]]:
        return {"messages": [bound.invoke(state["messages"])]}

    def route(state: State) -> Literal["tools", "__end__"]:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(State)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route)
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=saver)


def run(graph: CompiledStateGraph, text: str, thread: str) -> str:
    config: RunnableConfig = {
        "configurable": {"thread_id": thread},
        "recursion_limit": 20,
        "tags": ["x"],
    }
    result = graph.invoke({"messages": [HumanMessage(text)]}, config=config)
    messages: list[AnyMessage] = result["messages"]
    return messages[-1].text


def stream(graph: CompiledStateGraph, modes: list[StreamMode]) -> Iterator[Any]:
    yield from graph.stream({"messages": "x"}, stream_mode=modes, durability="async")


def history(graph: Pregel, config: RunnableConfig) -> list[StateSnapshot]:
    return list(graph.get_state_history(config, limit=5))


model = ScriptedChatModel(
    [AIMessage("", tool_calls=[ToolCall(name="search", args={"query": "a"}, id="1")]), "done"]
)
graph = build(model, [search], InMemorySaver())
print(run(graph, "hi", "1"))
snapshot = graph.get_state({"configurable": {"thread_id": "1"}})
pending: tuple[Interrupt, ...] = snapshot.interrupts
assert snapshot.created_at is not None
assert snapshot.metadata is not None
print(snapshot.metadata["step"], snapshot.values["messages"][0].content)
as_runnable: Runnable = graph
chat: BaseChatModel = model
