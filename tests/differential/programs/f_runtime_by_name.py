"""Arguments of tools that are called `runtime`, as adapters of other protocols declare them."""

from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}


def told(runtime):
    return f"{type(runtime).__name__} {getattr(runtime, 'tool_call_id', None)}"


def called(made, **args):
    graph = StateGraph(MessagesState).add_node("tools", ToolNode([made])).add_edge(START, "tools")
    call = {"name": made.name, "args": args, "id": "1"}
    out = graph.compile().invoke({"messages": [AIMessage("", tool_calls=[call])]})
    return out["messages"][-1].content


def both(made):
    return called(made, x=1), called(made, x=1, runtime="given")


def case_marked_as_injected(env):
    @tool
    def look(x: int, runtime: Annotated[object | None, InjectedToolArg()] = None) -> str:
        """Look at it."""
        return told(runtime)

    return both(look)


def case_annotated_as_anything(env):
    @tool
    def look(x: int, runtime: Any = None) -> str:
        """Look at it."""
        return told(runtime)

    return both(look)


def case_beside_a_schema_of_ones_own(env):
    def look(x: int, runtime: Annotated[object | None, InjectedToolArg()] = None):
        return told(runtime)

    return both(StructuredTool(name="look", description="Look.", args_schema=SCHEMA, func=look))


async def case_of_an_adapter(env):
    async def call(runtime: Annotated[object | None, InjectedToolArg()] = None, **arguments: Any):
        return f"{told(runtime)} {sorted(arguments)}"

    made = StructuredTool(name="look", description="Look.", args_schema=SCHEMA, coroutine=call)
    graph = StateGraph(MessagesState).add_node("tools", ToolNode([made])).add_edge(START, "tools")
    calls = [{"name": "look", "args": {"x": 1}, "id": "1"}]
    out = await graph.compile().ainvoke({"messages": [AIMessage("", tool_calls=calls)]})
    return out["messages"][-1].content
