"""Messages for a user interface."""

from typing import Annotated

from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph, add_messages
from langgraph.graph.ui import (
    AnyUIMessage,
    delete_ui_message,
    push_ui_message,
    ui_message_reducer,
)
from typing_extensions import TypedDict

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    ui: Annotated[list[AnyUIMessage], ui_message_reducer]
    other: Annotated[list[AnyUIMessage], ui_message_reducer]
    messages: Annotated[list, add_messages]


def made(node, saver=None):
    builder = StateGraph(State)
    builder.add_node("n", node)
    builder.add_edge(START, "n")
    return builder.compile(saver)


def parts_of(node, given=None):
    modes = ["custom", "values", "updates"]
    return list(made(node).stream(given or {"messages": []}, stream_mode=modes))


def shown(name, **props):
    return {"type": "ui", "id": name, "name": "chart", "props": props, "metadata": {}}


def removal(name):
    return {"type": "remove-ui", "id": name}


def case_pushed(env):
    def node(state):
        push_ui_message("chart", {"x": 1}, id="1", metadata={"m": 1})

    return parts_of(node)


def case_merged(env):
    def node(state):
        push_ui_message("chart", {"x": 1}, id="1")
        push_ui_message("chart", {"y": 2}, id="1", merge=True)

    return parts_of(node)


def case_deleted(env):
    def node(state):
        push_ui_message("chart", {"x": 1}, id="1")
        delete_ui_message("1")

    def other(state):
        return delete_ui_message("2", state_key="other") and {}

    return parts_of(node), parts_of(other, {"other": [shown("2")]})


def case_deletion_of_what_is_not_there(env):
    def node(state):
        delete_ui_message("9")

    return env.error(lambda: made(node).invoke({"messages": []}))


def case_beside_a_message(env):
    def node(state):
        message = AIMessage("hi", id="m1")
        push_ui_message("chart", {}, id="1", message=message)
        push_ui_message("chart", {}, id="2", message=AIMessage("no id"))
        return {"messages": [message]}

    return made(node).invoke({"messages": []})


def case_state_keys(env):
    def only_streamed(state):
        push_ui_message("chart", {}, id="1", state_key=None)

    def other(state):
        push_ui_message("chart", {}, id="1", state_key="other")

    return parts_of(only_streamed), parts_of(other)


def case_id_of_its_own(env):
    def node(state):
        message = push_ui_message("chart", {"x": 1})
        assert len(message["id"]) == 36
        return {}

    return [m["props"] for m in made(node).invoke({"messages": []})["ui"]]


def case_outside(env):
    return env.error(lambda: push_ui_message("c", {})), env.error(lambda: delete_ui_message("c"))


def case_stored(env):
    app = made(lambda state: push_ui_message("chart", {"x": 1}, id="1") and {}, env.saver())
    app.invoke({"messages": []}, CONFIG)
    app.invoke({"messages": []}, CONFIG)
    return app.get_state(CONFIG).values


async def case_async(env):
    async def node(state):
        push_ui_message("chart", {"x": 1}, id="1")

    parts = made(node).astream({"messages": []}, stream_mode=["custom", "updates"])
    return [part async for part in parts]


def case_reducer(env):
    first = shown("1", a=1, deep={"z": 1})
    merging = {**shown("1", b=1, deep={"y": 1}), "metadata": {"merge": True, "k": 1}}
    kept = [first]
    results = [
        ui_message_reducer(kept, [shown("2", b=1)]),
        ui_message_reducer(first, shown("2", b=1)),
        ui_message_reducer([first], [shown("1", b=1)]),
        ui_message_reducer([first], [merging]),
        ui_message_reducer([], [merging]),
        ui_message_reducer([first, shown("2")], [removal("1")]),
        ui_message_reducer([first], [removal("1"), shown("1", b=2)]),
        ui_message_reducer([], [shown("1", b=2), removal("1")]),
        ui_message_reducer([], [shown("1", b=2), shown("1", c=3)]),
        env.error(lambda: ui_message_reducer([first], [removal("9")])),
    ]
    return results, kept


def case_key_that_the_state_lacks(env):
    def node(state):
        push_ui_message("chart", {}, id="1", state_key="zzz")

    return env.error(lambda: made(node).invoke({"messages": []}))
