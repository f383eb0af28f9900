from typing import Annotated, Any

from typing_extensions import NotRequired, TypedDict

from plait.checkpoint.memory import InMemorySaver
from plait.graph import END, START, StateGraph
from plait.graph.message import REMOVE_ALL_MESSAGES, add_messages
from plait.messages import (
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    trim_messages,
)
from plait.messages.utils import count_tokens_approximately
from plait.testing import ScriptedChatModel


def merge(left: dict | None, right: dict | None) -> dict:
    return {**(left or {}), **(right or {})}


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    summary: NotRequired[str]
    meta: Annotated[dict[str, Any], merge]


model = ScriptedChatModel(["one", "two", "three", "four"])


def call(state: State):
    summary = state.get("summary", "")
    if summary:
        messages = [SystemMessage(content=summary)] + state["messages"]
    else:
        messages = state["messages"]
    trimmed = trim_messages(
        messages,
        strategy="last",
        token_counter=count_tokens_approximately,
        max_tokens=128,
        start_on="human",
        end_on=("human", "tool"),
    )
    return {"messages": [model.invoke(trimmed)], "meta": {"n": 1}}


def should(state: State):
    if len(state["messages"]) > 2:
        return "summarize"
    return END


def summarize(state: State):
    messages = state["messages"] + [HumanMessage(content="Summarize")]
    response = model.invoke(messages)
    deleted = [RemoveMessage(id=m.id) for m in state["messages"][:-2] if m.id]
    return {"summary": response.content, "messages": deleted}


b = StateGraph(State)
b.add_node("conversation", call)
b.add_node(summarize)
b.add_edge(START, "conversation")
b.add_conditional_edges("conversation", should)
b.add_edge("summarize", END)
app = b.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "4"}}
for event in app.stream({"messages": [HumanMessage("hi")]}, config, stream_mode="updates"):
    for k, v in event.items():
        for m in v["messages"]:
            m.pretty_print()
values = app.get_state(config).values
print(values["messages"])
first: BaseMessage = values["messages"][0]
app.update_state(config, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
