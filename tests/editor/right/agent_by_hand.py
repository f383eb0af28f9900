from typing import Literal

from plait.checkpoint.memory import MemorySaver
from plait.graph import END, START, MessagesState, StateGraph
from plait.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from plait.testing import ScriptedChatModel
from plait.tools import tool


@tool
def multiply(a: int, b: int) -> int:
    """Multiply a and b.

    Args:
        a: first int
        b: second int
    """
    return a * b


@tool
def add(a: int, b: int) -> int:
    """Adds a and b."""
    return a + b


tools = [add, multiply]
tools_by_name = {t.name: t for t in tools}
model = ScriptedChatModel(
    [
        AIMessage("", tool_calls=[{"name": "multiply", "args": {"a": 2, "b": 3}, "id": "1"}]),
        AIMessage("6"),
    ]
)
model_with_tools = model.bind_tools(tools)


def llm_call(state: MessagesState):
    """LLM decides whether to call a tool or not"""
    return {
        "messages": [
            model_with_tools.invoke(
                [SystemMessage(content="You are a helpful assistant.")] + state["messages"]
            )
        ]
    }


def tool_node(state: MessagesState):
    result = []
    for tool_call in state["messages"][-1].tool_calls:
        t = tools_by_name[tool_call["name"]]
        observation = t.invoke(tool_call["args"])
        result.append(ToolMessage(content=str(observation), tool_call_id=tool_call["id"]))
    return {"messages": result}


def should_continue(state: MessagesState) -> Literal["tool_node", "__end__"]:
    last_message = state["messages"][-1]
    if last_message.tool_calls:
        return "tool_node"
    return END


agent_builder = StateGraph(MessagesState)
agent_builder.add_node("llm_call", llm_call)
agent_builder.add_node("tool_node", tool_node)
agent_builder.add_edge(START, "llm_call")
agent_builder.add_conditional_edges("llm_call", should_continue, ["tool_node", END])
agent_builder.add_edge("tool_node", "llm_call")
agent = agent_builder.compile(checkpointer=MemorySaver())
messages = [HumanMessage(content="Multiply 2 and 3.")]
result = agent.invoke({"messages": messages}, {"configurable": {"thread_id": "1"}})
for m in result["messages"]:
    m.pretty_print()
