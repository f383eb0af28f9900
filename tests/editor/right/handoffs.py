from typing import Annotated, Literal

from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, ToolMessage
from plait.prebuilt import InjectedState, create_react_agent
from plait.testing import ScriptedChatModel
from plait.tools import InjectedToolCallId, tool
from plait.types import Command


def make_handoff_tool(*, agent_name: str):
    name = f"transfer_to_{agent_name}"

    @tool(name, description="Transfer")
    def handoff(
        state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command:
        return Command(
            goto=agent_name,
            graph=Command.PARENT,
            update={
                "messages": state["messages"]
                + [ToolMessage("ok", name=name, tool_call_id=tool_call_id)]
            },
        )

    return handoff


flight = create_react_agent(
    ScriptedChatModel(
        [AIMessage("", tool_calls=[{"name": "transfer_to_hotel", "args": {}, "id": "1"}])]
    ),
    [make_handoff_tool(agent_name="hotel")],
    name="flight",
)
hotel = create_react_agent(
    ScriptedChatModel(["booked"]),
    [make_handoff_tool(agent_name="flight")],
    name="hotel",
    prompt="You book",
)
multi = (
    StateGraph(MessagesState)
    .add_node(flight, destinations=("hotel",))
    .add_node(hotel)
    .add_edge(START, "flight")
    .compile()
)
for chunk in multi.stream({"messages": [("user", "x")]}, subgraphs=True):
    print(chunk)


def human(state: MessagesState) -> Command[Literal["flight", "hotel"]]:
    last = state["messages"][-1]
    return Command(goto="flight" if last.name == "flight" else "hotel")
