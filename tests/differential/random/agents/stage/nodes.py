"""ToolNodes and ValidationNodes in graphs of their own, without an agent around them."""

import operator
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AIMessage
from langchain_dev_utils.tool_calling import human_in_the_loop, human_in_the_loop_async
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, ValidationNode, tools_condition
from langgraph.types import Send
from typing_extensions import TypedDict

from .actions import Player
from .hooks import adriven, driven, tool_wrapper
from .react import handler_of
from .structures import Verdict, Weather
from .tools import add, tool_of


class State(TypedDict):
    messages: Annotated[list, add_messages]
    chat: Annotated[list, add_messages]
    notes: NotRequired[Annotated[list, operator.add]]


def wrappers_of(action):
    """The wrappers around tool calls that do what an action says."""
    steps = tool_wrapper("W", action)

    def wrap(request, handler):
        return driven(steps, request, handler)

    async def awrap(request, handler):
        return await adriven(steps, request, handler)

    return {"wrap_tool_call": wrap, "awrap_tool_call": awrap}


def reviewed_of(spec):
    """A tool; if its spec says so, one that asks a person before it runs."""
    made = tool_of(spec)
    if not spec.get("reviewed"):
        return made
    return (human_in_the_loop_async if spec.get("async") else human_in_the_loop)(made)


def node_of(spec):
    """The node of a program."""
    if spec["kind"] == "validation":
        known = {"Weather": Weather, "Verdict": Verdict, "add": add}
        schemas = [known[one] for one in spec["schemas"]]
        more: dict[str, Any] = {}
        if spec.get("format_error"):
            more["format_error"] = lambda error, call, schema: f"{call['name']} is wrong"
        return ValidationNode([*schemas, *(tool_of(one) for one in spec["tools"])], **more)
    more = {key: spec[key] for key in ("messages_key", "name", "tags") if key in spec}
    if "handle_tool_errors" in spec:
        more["handle_tool_errors"] = handler_of(spec["handle_tool_errors"])
    if "wrap" in spec:
        more.update(wrappers_of(spec["wrap"]))
    return ToolNode([reviewed_of(one) for one in spec["tools"]], **more)


def graph_of(spec, env):
    """A graph that hands the calls of a program to its node."""
    key = spec.get("messages_key", "messages")
    builder = StateGraph(State)
    calls = [dict(one, type="tool_call") for one in spec["calls"]]
    message = AIMessage(spec.get("text", ""), tool_calls=calls, id="ai")
    builder.add_node("model", lambda state: {key: [message]})
    builder.add_node("tools", node_of(spec))
    builder.add_node("after", lambda state: {"notes": [len(state[key])]})
    builder.add_edge(START, "model")
    if spec["by"] == "sends":

        def one_by_one(state):  # "Names of path functions that have none"
            return [Send("tools", [one]) for one in calls]

        builder.add_conditional_edges("model", one_by_one, ["tools"])
    elif spec["by"] == "condition" and key == "messages":
        builder.add_conditional_edges("model", tools_condition)
    else:
        builder.add_edge("model", "tools")
    builder.add_edge("tools", "after")
    builder.add_edge("after", END)
    more: dict[str, Any] = {"checkpointer": env.saver()} if spec.get("saver") else {}
    return builder.compile(**more, store=env.store() if spec.get("store") else None)


def play(spec, env):
    """What came of a program."""
    built = env.error(lambda: graph_of(spec, env))
    if not isinstance(built, tuple):
        return {"built": built}
    return {"played": Player(built[1], env).play(spec["actions"])}
