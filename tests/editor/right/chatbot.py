from typing import Annotated

from typing_extensions import TypedDict

from plait.graph import END, START, StateGraph
from plait.graph.message import add_messages


class State(TypedDict):
    messages: Annotated[list, add_messages]


graph_builder = StateGraph(State)


def chatbot(state: State):
    return {"messages": [("ai", "hi " + str(state["messages"][-1].content))]}


graph_builder.add_node("chatbot", chatbot)
graph_builder.add_edge(START, "chatbot")
graph_builder.add_edge("chatbot", END)
graph = graph_builder.compile()
for event in graph.stream({"messages": [{"role": "user", "content": "hey"}]}):
    for value in event.values():
        print("Assistant:", value["messages"][-1])
