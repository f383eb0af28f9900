"""Agents and tools: what programs in the manner of tutorials brought up."""

from langchain.agents import create_agent
from langchain.agents.middleware import LLMToolSelectorMiddleware
from langchain_core.messages import AIMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent

from .scripted import Scripted, add, ai, call, model_of, mul


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


class Picking(Scripted):
    """Notes what its tools are called, whatever they are."""

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)


def case_a_scripted_model_picks_tools(env):
    picks = Picking(script=[ai(call("ToolSelectionResponse", tools=["mul"]))], seen=[])
    model = model_of("done")
    selector = LLMToolSelectorMiddleware(model=picks, max_tools=1)
    done = create_agent(model, [add, mul], middleware=[selector]).invoke({"messages": "hi"})
    (asked,) = [one["function"]["name"] for one in picks.seen[0][1]["tools"]]
    return asked, model.seen, done["messages"]


def case_calls_that_cannot_be_read(env):
    broken = {"name": "add", "args": "{", "id": "1", "error": None, "type": "invalid_tool_call"}
    beside = {**broken, "id": "2"}
    both = AIMessage("", tool_calls=[call("add", "3", a=1, b=2)], invalid_tool_calls=[beside])
    model = model_of(AIMessage("", invalid_tool_calls=[broken]), both, "done")
    agent = create_react_agent(model, [add], checkpointer=env.saver())
    thread = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": "hi"}, thread)
    return agent.invoke({"messages": "well?"}, thread)["messages"], model.seen


def case_models_with_the_tools_of_the_agent(env):
    found = []
    for make in (create_agent, create_react_agent):
        model = model_of("done")
        make(model.bind_tools([add]), [add]).invoke({"messages": "hi"})
        found.append([one["name"] for one in model.seen[0][1]["tools"]])
    return found


def case_models_with_other_tools_than_the_agent(env):
    model = model_of("done")

    def ask():
        create_agent(model.bind_tools([mul]), [add]).invoke({"messages": "hi"})

    return env.error(ask), model.seen
