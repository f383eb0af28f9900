"""Models on a real wire inside graphs: their tokens come through while they are being made."""

import asyncio
import threading

from plait.chat_models import init_chat_model
from plait.graph import END, START, MessagesState, StateGraph

from . import openai_script as script


def graph_of(node):
    graph = StateGraph(MessagesState).add_node("ask", node)
    return graph.add_edge(START, "ask").add_edge("ask", END).compile()


def model_of(wire):
    return init_chat_model("openai:m", base_url=wire.url, api_key="k", max_retries=0)


def test_tokens_of_a_model_in_a_node_come_through_the_graph_as_they_arrive(wire):
    model, gate = model_of(wire), threading.Event()

    def node(state):
        return {"messages": model.invoke(state["messages"])}

    wire.chat(script.texts("one ", "two"), hold={2: gate})
    seen = []
    for chunk, where in graph_of(node).stream({"messages": "hi"}, stream_mode="messages"):
        seen.append(chunk.content)
        assert (where["langgraph_node"], where["ls_model_name"]) == ("ask", "m")
        if chunk.content == "one ":
            gate.set()  # the second word is not sent before the first was seen
    assert "".join(seen) == "one two"


async def test_and_in_an_async_graph_with_two_models_at_once(wire):
    model = model_of(wire)

    async def node(state):
        answers = await asyncio.gather(model.ainvoke("a"), model.ainvoke("b"))
        return {"messages": answers}

    wire.chat(script.texts("one ", "two"))
    wire.chat(script.texts("one ", "two"))
    seen = []
    async for chunk, _ in graph_of(node).astream({"messages": "hi"}, stream_mode="messages"):
        seen.append(chunk.content)
    assert sorted(filter(None, seen)) == ["one ", "one ", "two", "two"]
