"""What a black box would not let you do: a tool first, a person between steps, another model each.

Each of the three in each face of the loop: middleware, a graph of one's own, the executor.
"""

from typing import Any

import pytest
from tests.agents.scripted import THREAD, call, calls

from plait.agents import (
    AgentAction,
    AgentExecutor,
    BaseSingleActionAgent,
    RunnableAgent,
    create_agent,
    create_react_agent,
    prompts,
)
from plait.agents.middleware import AgentMiddleware, dynamic_prompt, wrap_model_call
from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import ToolNode
from plait.prebuilt import create_react_agent as react_graph
from plait.testing.models import ScriptedChatModel
from plait.tools import tool

USER: Any = {"messages": [("user", "cats?")]}
LOOKED: list[str] = []


@pytest.fixture(autouse=True)
def nothing_looked_up() -> None:
    LOOKED.clear()


@tool
def search(query: str) -> str:
    """Search."""
    LOOKED.append(query)
    return f"found {query}"


SEARCHING = calls(call("search", query="cats"))


def texts(state: Any) -> list[str]:
    return [one.text for one in state["messages"]]


# --- a tool that must be called first ------------------------------------------------------------


def test_middleware_makes_the_model_call_a_tool_first() -> None:
    class SearchFirst(AgentMiddleware):
        """Until there is a result, the model has to search."""

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            if not any(one.type == "tool" for one in request.messages):
                request = request.override(tool_choice="search")
            return handler(request)

    model = ScriptedChatModel([SEARCHING, "meow"])
    agent = create_agent(model, [search], middleware=[SearchFirst()])
    assert texts(agent.invoke(USER))[-1] == "meow"
    assert [one.kwargs.get("tool_choice") for one in model.calls] == ["search", None]


def test_a_graph_calls_a_tool_before_it_asks_the_model() -> None:
    def look(state: MessagesState) -> Any:
        asked = state["messages"][-1].text
        return {"messages": [AIMessage("", tool_calls=[call("search", query=asked)])]}

    model = ScriptedChatModel(["meow"])
    graph = StateGraph(MessagesState)
    graph.add_node("look", look).add_node("tools", ToolNode([search]))
    graph.add_node("agent", react_graph(model, [search]))
    graph.add_edge(START, "look").add_edge("look", "tools").add_edge("tools", "agent")
    assert texts(graph.compile().invoke(USER)) == ["cats?", "", "found cats?", "meow"]
    assert [one.text for one in model.calls[0].messages] == ["cats?", "", "found cats?"]


def test_an_agent_of_the_executor_calls_a_tool_before_it_plans() -> None:
    class SearchFirst(BaseSingleActionAgent):
        """Searches for the question, then lets another agent go on."""

        inner: Any

        @property
        def input_keys(self) -> list[str]:
            return ["input"]

        def plan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> Any:
            if not intermediate_steps:
                return AgentAction("search", kwargs["input"], "I always look first.")
            return self.inner.plan(intermediate_steps, callbacks, **kwargs)

        async def aplan(self, intermediate_steps: Any, callbacks: Any = None, **kwargs: Any) -> Any:
            return self.plan(intermediate_steps, callbacks, **kwargs)

    model = ScriptedChatModel(["Final Answer: meow"])
    inner = RunnableAgent(runnable=create_react_agent(model, [search], prompts.REACT))
    executor = AgentExecutor(agent=SearchFirst(inner=inner), tools=[search])
    assert executor.invoke("cats")["output"] == "meow"
    assert "I always look first.\nObservation: found cats" in model.calls[0].messages[0].text


# --- a person between steps ----------------------------------------------------------------------


def test_a_person_looks_at_the_call_and_changes_it_before_it_runs() -> None:
    agent = react_graph(
        ScriptedChatModel([SEARCHING, "woof"]),
        [search],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
        version="v1",
    )
    agent.invoke(USER, THREAD)
    asked = agent.get_state(THREAD).values["messages"][-1]
    better = asked.model_copy(update={"tool_calls": [call("search", query="dogs")]})
    agent.update_state(THREAD, {"messages": [better]})
    assert texts(agent.invoke(None, THREAD))[-2:] == ["found dogs", "woof"]


def test_a_person_stops_an_executor_before_a_tool_runs() -> None:
    agent = create_react_agent(
        ScriptedChatModel(["Action: search\nAction Input: cats", "Final Answer: meow"]),
        [search],
        prompts.REACT,
    )
    executor = AgentExecutor(
        agent=agent, tools=[search], checkpointer=InMemorySaver(), interrupt_before=["tools"]
    )
    executor.invoke({"input": "cats?"}, THREAD)
    assert LOOKED == []
    assert executor.graph.get_state(THREAD).values["actions"][0].tool_input == "cats"
    assert executor.invoke(None, THREAD)["output"] == "meow"
    assert LOOKED == ["cats"]


# --- another model or prompt per step ------------------------------------------------------------


def test_middleware_takes_another_model_for_the_last_word() -> None:
    quick, careful = ScriptedChatModel([SEARCHING]), ScriptedChatModel(["meow, carefully"])

    @wrap_model_call
    def careful_at_last(request: Any, handler: Any) -> Any:
        has_results = request.messages[-1].type == "tool"
        return handler(request.override(model=careful) if has_results else request)

    agent = create_agent(quick, [search], middleware=[careful_at_last])
    assert texts(agent.invoke(USER))[-1] == "meow, carefully"


def test_a_function_picks_the_model_of_each_step() -> None:
    quick, careful = ScriptedChatModel([SEARCHING]), ScriptedChatModel(["meow, carefully"])

    def pick(state: Any, runtime: Any) -> Any:
        model = careful if state["messages"][-1].type == "tool" else quick
        return model.bind_tools([search])

    assert texts(react_graph(pick, [search]).invoke(USER))[-1] == "meow, carefully"


def test_each_step_has_a_prompt_of_its_own() -> None:
    @dynamic_prompt
    def stage(request: Any) -> str:
        return "Sum up." if request.messages[-1].type == "tool" else "Search."

    model = ScriptedChatModel([SEARCHING, "meow"])
    create_agent(model, [search], middleware=[stage]).invoke(USER)
    assert [one.messages[0].text for one in model.calls] == ["Search.", "Sum up."]
