"""Agents and tools: what programs in the manner of tutorials brought up."""

from langchain.agents import create_agent
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent

from .scripted import add, ai, call, model_of


def agents_in_nodes():
    """One agent that is a node of its name, one that a node of its name calls."""
    one = create_agent(model_of(ai(call("add", a=1, b=2)), "three"), [add], name="one")
    two = create_react_agent(model_of("two says"), [], name="two").with_config(metadata={"a": 1})
    three = create_agent(model_of("three says"), [], name="of another name")
    builder = StateGraph(MessagesState).add_node("one", one).add_node("three", three)
    builder.add_node("two", lambda state: {"messages": two.invoke(state)["messages"][-1:]})
    builder.add_edge(START, "one").add_edge("one", "two").add_edge("two", "three")
    return builder.compile()


def told(part):
    message, about = part
    kept = ("langgraph_node", "langgraph_step", "lc_agent_name", "a")
    return message.type, message.content, {key: about[key] for key in kept if key in about}


def case_messages_of_agents_named_as_their_nodes(env):
    graph, turn = agents_in_nodes(), {"messages": [("user", "hi")]}
    plain = [told(part) for part in graph.stream(turn, stream_mode="messages")]
    graph = agents_in_nodes()
    deep = graph.stream(turn, stream_mode="messages", subgraphs=True)
    return plain, [(len(ns), told(part)) for ns, part in deep]


async def case_messages_of_agents_named_as_their_nodes_async(env):
    graph, turn = agents_in_nodes(), {"messages": [("user", "hi")]}
    return [told(part) async for part in graph.astream(turn, stream_mode="messages")]


def case_handlers_of_tool_errors_that_say_nothing(env):
    def fail(a: int) -> int:
        """Fail."""
        raise ValueError("no")

    heard = []
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([fail], handle_tool_errors=lambda e: heard.append(str(e))))
    builder.add_edge(START, "tools")
    done = builder.compile().invoke({"messages": [ai(call("fail", a=1))]})
    return heard, done["messages"]
