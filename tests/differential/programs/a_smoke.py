"""The smallest graph there is, with and without a saver."""

from operator import add
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


class State(TypedDict):
    items: Annotated[list[int], add]


def _graph():
    graph = StateGraph(State)
    graph.add_node("one", lambda state: {"items": [len(state["items"])]})
    graph.add_edge(START, "one")
    graph.add_edge("one", END)
    return graph


def case_one_node(env):
    return _graph().compile().invoke({"items": [7]})


def case_one_node_saved(env):
    app = _graph().compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    return [app.invoke({"items": [7]}, config), app.get_state(config)]


async def case_one_node_async_saved(env):
    config = {"configurable": {"thread_id": "1"}}
    async with env.asaver() as saver:
        app = _graph().compile(checkpointer=saver)
        return [
            await app.ainvoke({"items": [7]}, config),
            [s async for s in app.aget_state_history(config)],
        ]


def case_error_of_bad_edge(env):
    def build():
        graph = _graph()
        graph.add_edge("one", "nowhere")
        graph.compile()

    return env.error(build)


def case_message_ids(env):
    graph = StateGraph(MessagesState)
    graph.add_node("say", lambda state: {"messages": [AIMessage("hi")]})
    graph.add_edge(START, "say")
    return graph.compile().invoke({"messages": [("user", "hello")]})
