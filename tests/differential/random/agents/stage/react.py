"""Agents by create_react_agent, alone and as nodes of a graph around them."""

import inspect
import operator
from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import interrupt
from typing_extensions import TypedDict

from .actions import Player
from .models import model_of
from .structures import CONTEXTS, FORMS, STATES, ContextDict
from .tools import Broken, tool_of


def messages_in(state):
    return state["messages"] if isinstance(state, dict) else state.messages


def prompt_of(form):
    """A prompt in one of its forms."""
    if form is None or form == "text":
        return form and "Be kind."
    if form == "message":
        return SystemMessage("Be brief.")
    if form == "function":
        return lambda state: [SystemMessage(f"{len(messages_in(state))}"), *messages_in(state)]
    if form == "config":
        return lambda state, config: [
            ("system", str(config["configurable"].get("thread_id"))),
            *messages_in(state),
        ]
    if form == "runnable":
        return RunnableLambda(lambda state: messages_in(state)[-2:])

    async def later(state):
        return [SystemMessage("later"), *messages_in(state)]

    return later


def before_of(form):
    """A pre_model_hook in one of its forms."""
    hooks: dict[str, Any] = {
        "input": lambda state: {"llm_input_messages": messages_in(state)[-1:]},
        "replace": lambda state: {
            "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages_in(state)[-3:]]
        },
        "append": lambda state: {"messages": [HumanMessage("by a hook", id="hook")]},
        "note": lambda state: {"notes": ["before"], "llm_input_messages": messages_in(state)},
        "nothing": lambda state: {},
        "ask": lambda state: {"messages": [HumanMessage(str(interrupt("go on?")), id="asked")]},
    }
    return hooks[form]


def after_of(form):
    """A post_model_hook in one of its forms."""

    def drop(state):
        last = messages_in(state)[-1]
        return {"messages": [AIMessage("instead", id=last.id)]}

    def reject(state):
        last = messages_in(state)[-1]
        if not last.tool_calls:
            return {}
        said = [{"role": "tool", "content": "no", "tool_call_id": last.tool_calls[0]["id"]}]
        return {"messages": said}

    hooks: dict[str, Any] = {
        "drop": drop,
        "reject": reject,
        "note": lambda state: {"notes": ["after"]},
        "nothing": lambda state: {},
        "human": lambda state: {"messages": [HumanMessage("more")]},
        "ask": lambda state: {"notes": [interrupt("fine?")]},
    }
    return hooks[form]


def handler_of(form):
    """A form of `handle_tool_errors`."""
    if form == "callable":
        return lambda error: f"caught {error}"
    if form == "typed":

        def typed(error: ValueError) -> str:
            return f"typed {error}"

        return typed
    if form == "union":

        def union(error: TimeoutError | Broken) -> str:
            return f"union {error}"

        return union
    kinds = {"class": ValueError, "classes": (ValueError, KeyError)}
    return kinds.get(form, form) if isinstance(form, str) else form


def response_of(form):
    """A form of `response_format`."""
    if isinstance(form, dict):
        return (form["prompt"], FORMS[form["schema"]])
    return FORMS[form]


def options_of(spec):
    """The keyword arguments that both ways of building an agent share."""
    found: dict[str, Any] = {}
    if spec.get("state"):
        found["state_schema"] = STATES[spec["state"]]
    if spec.get("context"):
        found["context_schema"] = CONTEXTS[spec["context"]["schema"]]
    for key in ("interrupt_before", "interrupt_after", "name"):
        if key in spec:
            found[key] = spec[key]
    return found


def context_of(spec):
    given = (spec.get("context") or {}).get("given")
    return given if not isinstance(given, dict) else dict(given)


def react_of(spec, env, log):
    """The agent of a program."""
    model = model_of(spec["model"], log)
    tools: Any = [*(tool_of(one) for one in spec["tools"]), *spec.get("more_tools", [])]
    if "handle_tool_errors" in spec:
        tools = ToolNode(tools, handle_tool_errors=handler_of(spec["handle_tool_errors"]))
    more = options_of(spec)
    if spec.get("prompt"):
        more["prompt"] = prompt_of(spec["prompt"])
    if spec.get("response_format"):
        more["response_format"] = response_of(spec["response_format"])
    if spec.get("before"):
        more["pre_model_hook"] = before_of(spec["before"])
    if spec.get("after"):
        more["post_model_hook"] = after_of(spec["after"])
    if "version" in spec:
        more["version"] = spec["version"]
    if spec.get("saver") and not spec.get("parent"):
        more["checkpointer"] = env.saver()
    if spec.get("store"):
        more["store"] = env.store()
    if "repair_history" in inspect.signature(create_react_agent).parameters:
        more["repair_history"] = False  # what plait does otherwise is a documented difference
    return create_react_agent(picked(model, spec), tools, **more)


def picked(model, spec):
    """The model as it is, bound before, or picked in each turn."""
    form, tools = spec["model"].get("form"), [tool_of(one) for one in spec["tools"]]
    if form == "bound":
        return model.bind_tools(tools)
    if form == "function":
        return lambda state, runtime: model.bind_tools(tools) if tools else model
    if form == "async":

        async def pick(state, runtime):
            return model.bind_tools(tools) if tools else model

        return pick
    return model


class Around(TypedDict):
    messages: Annotated[list, add_messages]
    notes: Annotated[list, operator.add]


def around(agent, spec, env):
    """A graph with the agent as a node, called by a node, or as it is."""
    form = spec["parent"]
    builder = StateGraph(Around, context_schema=ContextDict if spec.get("context") else None)
    if form == "called":
        builder.add_node("agent", lambda state: {"messages": agent.invoke(state)["messages"][-1:]})
    else:
        builder.add_node("agent", agent)
    builder.add_node("after", lambda state: {"notes": [f"after {len(state['messages'])}"]})
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "after" if form == "chain" else END)
    builder.add_edge("after", END)
    more = {"checkpointer": env.saver()} if spec.get("saver") else {}
    return builder.compile(**more, store=env.store() if spec.get("store") else None)


def untold_of(spec):
    """Which events only one side tells ("Runs inside an agent", "Events of branches and
    fallbacks")."""

    def is_untold(event, node):
        if event["name"] == "should_continue":
            return "after" in spec
        if event["name"] == "generate_structured_response":  # once as the node, once inside of it
            return not any(tag.startswith("graph:step") for tag in event["tags"])
        chunk_of_node = event["event"] == "on_chain_stream" and event["name"] == node
        return chunk_of_node and spec.get("parent") == "called"

    return is_untold


def play(spec, env):
    """What came of a program: of building the agent, then of each action."""
    log: list = []
    built = env.error(lambda: react_of(spec, env, log))
    if not isinstance(built, tuple):
        return {"built": built}
    graph = built[1]
    if spec.get("parent"):
        graph = around(graph, spec, env)
    player = Player(graph, env, context_of(spec), untold_of(spec))
    return {"played": player.play(spec["actions"]), "seen": log}
