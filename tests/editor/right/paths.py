"""Names by the paths at which programs are used to find them, beside those that plait documents."""

from typing import Annotated, Any, TypedDict

from plait.callbacks.manager import AsyncRunManager, BaseRunManager, RunManager
from plait.channels.base import BaseChannel, EmptyChannelError
from plait.graph import START, StateGraph
from plait.graph.message import AnyMessage, BaseMessage, add_messages
from plait.messages.base import merge_content
from plait.vectorstores import InMemoryVectorStore
from plait.vectorstores.base import VectorStoreRetriever


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def answer(state: State) -> dict[str, Any]:
    last: BaseMessage = state["messages"][-1]
    return {"messages": [("ai", merge_content(last.text, "!"))]}


graph = StateGraph(State).add_node(answer).add_edge(START, "answer").compile()
assert graph.invoke({"messages": [("user", "hi")]})["messages"][-1].content == "hi!"


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


retriever: VectorStoreRetriever = InMemoryVectorStore(embed).as_retriever()
assert retriever.invoke("anything") == []


def peek(channel: BaseChannel[Any, Any, Any]) -> Any:
    try:
        return channel.get()
    except EmptyChannelError:
        return None


managers: tuple[type[BaseRunManager[Any]], ...] = (RunManager, AsyncRunManager)
