"""Tools inside the nodes of a graph: questions, commands, journaled steps, configs."""

from typing import Annotated

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.config import get_stream_writer
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


@tool
def ask(what: str) -> str:
    """Ask a person, twice."""
    return f"{interrupt(what)} and {interrupt(what + ' again')}"


@tool
async def aask(what: str) -> str:
    """Ask a person."""
    return f"{interrupt(what)}"


def calls(*made):
    asked = [{"name": n, "args": a, "id": str(i)} for i, (n, a) in enumerate(made)]
    return {"messages": [AIMessage("", tool_calls=asked)]}


def graph_of(tools, saver):
    known = {one.name: one for one in tools}

    def act(state):
        return {"messages": [known[c["name"]].invoke(c) for c in state["messages"][-1].tool_calls]}

    return StateGraph(MessagesState).add_node(act).add_edge(START, "act").compile(saver)


def agraph_of(tools, saver):
    known = {one.name: one for one in tools}

    async def act(state):
        made = state["messages"][-1].tool_calls
        return {"messages": [await known[c["name"]].ainvoke(c) for c in made]}

    return StateGraph(MessagesState).add_node(act).add_edge(START, "act").compile(saver)


def said(state):
    asked = [one.value for one in state.get("__interrupt__", ())]
    return asked, [(m.content, m.tool_call_id) for m in state["messages"] if m.type == "tool"]


def case_questions_of_a_tool(env):
    graph = graph_of([ask], env.saver())
    return [
        said(graph.invoke(calls(("ask", {"what": "name"})), CONFIG)),
        said(graph.invoke(Command(resume="Ada"), CONFIG)),
        said(graph.invoke(Command(resume="Lovelace"), CONFIG)),
    ]


def case_questions_of_two_calls_in_turn(env):
    graph = graph_of([ask], env.saver())
    found = [said(graph.invoke(calls(("ask", {"what": "a"}), ("ask", {"what": "b"})), CONFIG))]
    return found + [said(graph.invoke(Command(resume=n), CONFIG)) for n in range(4)]


async def case_questions_of_an_async_tool(env):
    async with env.asaver() as saver:
        graph = agraph_of([aask], saver)
        return [
            said(await graph.ainvoke(calls(("aask", {"what": "name"})), CONFIG)),
            said(await graph.ainvoke(Command(resume="Ada"), CONFIG)),
        ]


def case_a_step_of_a_tool_runs_once(env):
    effects = []

    @task
    def pay(amount):
        effects.append(amount)
        return f"paid {amount}"

    @tool
    def order(amount: int) -> str:
        """Order."""
        return f"{pay(amount).result()}, {interrupt('ship?')}"

    graph = graph_of([order], env.saver())
    graph.invoke(calls(("order", {"amount": 5})), CONFIG)
    return said(graph.invoke(Command(resume="shipped"), CONFIG)), effects


def case_config_and_stream_of_a_tool(env):
    @tool
    def look(x: int, config: RunnableConfig) -> str:
        """Look."""
        get_stream_writer()(f"looking at {x}")
        return f"{config['configurable']['thread_id']} {config['metadata']['langgraph_node']}"

    graph = graph_of([look], env.saver())
    parts = graph.stream(calls(("look", {"x": 1})), CONFIG, stream_mode="custom")
    return list(parts), said(graph.get_state(CONFIG).values)


def case_a_command_from_a_tool(env):
    @tool
    def go(id: Annotated[str, InjectedToolCallId]):
        """Go."""
        return Command(update={"messages": [ToolMessage("gone", tool_call_id=id)]})

    def act(state):
        return go.invoke({**state["messages"][-1].tool_calls[0], "type": "tool_call"})

    graph = StateGraph(MessagesState).add_node(act).add_edge(START, "act").compile()
    return said(graph.invoke(calls(("go", {}))))


def case_an_error_of_a_tool_fails_the_node(env):
    @tool
    def fail(x: int):
        """Fail."""
        raise ValueError(x)

    graph = graph_of([fail], env.saver())
    return (
        env.error(lambda: graph.invoke(calls(("fail", {"x": 1})), CONFIG)),
        graph.get_state(CONFIG).next,
    )
