"""Programs as users move them by import roots: what they print, and put into prompts."""

import json
import operator
from typing import Annotated, Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.channels import EphemeralValue, Topic
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import Field
from typing_extensions import TypedDict

CONFIG = {"configurable": {"thread_id": "1"}}


def merged(left, right):
    return {**(left or {}), **(right or {})}


class Notes(TypedDict, total=False):
    question: str
    plan: str
    facts: Annotated[dict | None, merged]
    passing: Annotated[str, EphemeralValue]
    found: Annotated[list, Topic(str)]
    docs: Annotated[list, operator.add]
    answer: str
    turns: int


def printing(seen, name, update):
    def node(state):
        seen.append((name, json.dumps(state)))
        return update

    return node


def notes(seen):
    """Each node writes a key that stands before those that were written until then."""
    builder = StateGraph(Notes)
    builder.add_node("answer", printing(seen, "answer", {"answer": "a", "passing": "by"}))
    builder.add_node("find", printing(seen, "find", {"docs": [1], "found": ["x"]}))
    builder.add_node("learn", printing(seen, "learn", {"facts": {"k": 1}, "passing": "again"}))
    builder.add_node("plan", printing(seen, "plan", {"plan": "p", "found": ["y", "z"]}))
    builder.add_node("end", printing(seen, "end", {"turns": 2}))

    def route(state):  # LangGraph shows a path function the keys that were just written first
        return "end" if "plan" in state else "plan"

    builder.add_edge(START, "answer").add_edge("answer", "find").add_edge("find", "learn")
    builder.add_conditional_edges("learn", route).add_conditional_edges("plan", route)
    return builder.add_edge("end", END)


def case_states_are_in_the_order_of_the_schema(env):
    seen = []
    graph = notes(seen).compile()
    parts = [
        list(part) for part in graph.stream({"turns": 1, "question": "q"}, stream_mode="values")
    ]
    return seen, parts, list(graph.invoke({"turns": 1, "question": "q"}))


def case_stored_states_are_in_the_order_of_the_schema(env):
    seen = []
    graph = notes(seen).compile(checkpointer=env.saver(), interrupt_before=["learn"])
    graph.invoke({"turns": 1, "question": "q"}, CONFIG)
    graph.update_state(CONFIG, {"plan": "other"})
    graph.invoke(None, CONFIG)
    graph.invoke(None, CONFIG)
    return seen, [list(state.values) for state in graph.get_state_history(CONFIG)]


def case_tasks_and_questions_show_the_order_of_the_schema(env):
    def ask(state):
        return {"plan": interrupt(json.dumps(state))}

    builder = StateGraph(Notes)
    builder.add_node("write", lambda state: {"answer": "a"})
    builder.add_node("beside", lambda state: {"facts": {"n": 2}})
    builder.add_node("ask", ask)
    builder.add_edge(START, "write").add_edge("write", "ask").add_edge("write", "beside")
    graph = builder.compile(checkpointer=env.saver())
    parts = graph.stream({"turns": 1, "question": "q"}, CONFIG, stream_mode=["tasks", "values"])
    inputs = [(part["name"], list(part["input"])) for mode, part in parts if "input" in part]
    state = graph.get_state(CONFIG)
    return sorted(inputs), list(state.values), [each.value for each in state.interrupts]


class Tables(BaseTool):
    """A tool as a class whose one argument has the name that a `Tool` gives its text."""

    name: str = "tables"
    description: str = "Lists tables."
    connection: Any = Field(exclude=True)

    def _run(self, tool_input: str = "", run_manager=None) -> str:
        return f"tables of {self.connection} {tool_input}"


def case_a_tool_class_with_an_argument_called_tool_input(env):
    tool = Tables(connection="db")
    return convert_to_openai_tool(tool), tool.args, tool.invoke({}), tool.invoke("now")
