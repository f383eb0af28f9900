"""An answer that is none is told to whoever gave it, whatever handles errors in between."""

import asyncio
import operator
import threading
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator
from typing_extensions import TypedDict

from plait.agents import create_agent
from plait.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
    wrap_model_call,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import NodeError
from plait.graph import START, MessagesState, StateGraph
from plait.haystack import Tool
from plait.messages import AIMessage
from plait.prebuilt import ToolNode
from plait.runnables import RunnableLambda
from plait.testing.models import ScriptedChatModel
from plait.tools import tool
from plait.types import Command, RetryPolicy, Send, interrupt

USER: Any = {"messages": [("user", "hi")]}
THREAD: Any = {"configurable": {"thread_id": "1"}}
APPROVE = {"type": "approve"}
PER_CALL = HumanInTheLoopMiddleware({"sign": True}, interrupt_mode="per_call")
BY_THE_TOOL = HumanInTheLoopMiddleware({})


@tool
def sign(name: str) -> str:
    """Sign."""
    return f"{name} signs"


@tool
def ask(name: str) -> str:
    """Ask."""
    return f"{name}: {interrupt(name, response_schema=bool)}"


@wrap_model_call
def may_i(request: Any, handler: Any) -> Any:
    interrupt("May I?", response_schema=bool)
    return handler(request)


def calling(name: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"name": "Ann"}, "id": "1"}])


def told(error: Exception, request: Any) -> str:
    return "told to the model"


@pytest.mark.parametrize(
    ("middleware", "called", "answer", "result"),
    [
        ([ToolErrorMiddleware(told), PER_CALL], "sign", APPROVE, "Ann signs"),
        ([ToolRetryMiddleware(initial_delay=0), PER_CALL], "sign", APPROVE, "Ann signs"),
        ([ToolErrorMiddleware(told)], "ask", True, "Ann: True"),
        ([ToolRetryMiddleware(initial_delay=0)], "ask", True, "Ann: True"),
        ([ModelFallbackMiddleware(ScriptedChatModel(["No."])), may_i], "sign", True, "Ann signs"),
        ([ModelRetryMiddleware(initial_delay=0), may_i], "sign", True, "Ann signs"),
    ],
    ids=["told", "retried", "tool told", "tool retried", "fallback", "model retried"],
)
def test_middleware_that_handles_errors_lets_a_wrong_answer_pass(
    middleware: Any, called: str, answer: Any, result: str
):
    model = ScriptedChatModel([calling(called), "Done."])
    agent = create_agent(model, [sign, ask], middleware=middleware, checkpointer=InMemorySaver())
    agent.invoke(USER, THREAD)
    for _ in range(2):
        with pytest.raises(ValueError, match="validation error"):
            agent.invoke(Command(resume="nonsense"), THREAD)
        assert len(agent.get_state(THREAD).interrupts) == 1, "the question stays open"

    after = agent.invoke(Command(resume=answer), THREAD)
    while "__interrupt__" in after:  # before the model's second turn
        after = agent.invoke(Command(resume=answer), THREAD)
    assert after["messages"][2].content == result


def test_a_tool_that_tells_of_wrong_arguments_does_not_tell_of_a_wrong_answer():
    careful = ask.model_copy(update={"handle_validation_error": True})
    model = ScriptedChatModel([calling("ask"), "Done."])
    agent = create_agent(model, [careful], checkpointer=InMemorySaver())
    agent.invoke(USER, THREAD)
    with pytest.raises(ValueError, match="validation error"):
        agent.invoke(Command(resume="nonsense"), THREAD)
    assert agent.invoke(Command(resume=True), THREAD)["messages"][2].content == "Ann: True"


def asks(state: Any) -> Any:
    return {"said": interrupt("?", response_schema=bool)}


def handle(state: Any, error: NodeError) -> Any:
    return {"said": "handled"}


def other(state: Any) -> Any:
    return {"said": "other"}


def by_haystack(state: Any) -> Any:
    empty = {"type": "object", "properties": {}}
    asking = Tool("ask", "Ask.", empty, lambda: interrupt("?", response_schema=bool))
    return {"said": asking.invoke()}


@pytest.mark.parametrize(
    ("node", "more"),
    [
        (asks, {"error_handler": handle}),
        (RunnableLambda(asks).with_retry(wait_exponential_jitter=False), {}),
        (RunnableLambda(asks).with_fallbacks([RunnableLambda(other)]), {}),
        (by_haystack, {}),
    ],
    ids=["handler", "with_retry", "with_fallbacks", "haystack"],
)
def test_what_handles_errors_in_a_graph_lets_a_wrong_answer_pass(node: Any, more: Any):
    builder = StateGraph(dict).add_node("asks", node, **more).add_edge(START, "asks")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({}, THREAD)
    with pytest.raises(ValueError, match="validation error"):
        graph.invoke(Command(resume="nonsense"), THREAD)
    assert len(graph.get_state(THREAD).interrupts) == 1
    assert graph.invoke(Command(resume=True), THREAD)["said"] is True


def test_a_wrong_answer_is_not_tried_again():
    runs: list[Any] = []

    def node(state: Any) -> Any:
        runs.append(state)
        return asks(state)

    always = RetryPolicy(max_attempts=3, initial_interval=0, jitter=False, retry_on=Exception)
    builder = StateGraph(dict).add_node("node", node, retry_policy=always).add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({}, THREAD)
    with pytest.raises(ValueError, match="validation error"):
        graph.invoke(Command(resume="nonsense"), THREAD)
    assert len(runs) == 2, "once to ask, once with the wrong answer"


def test_each_question_whose_answer_was_wrong_is_open_again():
    calls = [{"name": "sign", "args": {"name": one}, "id": one} for one in ("Ann", "Bo", "Cy")]
    model = ScriptedChatModel([AIMessage("", tool_calls=calls), "Done."])
    agent = create_agent(model, [sign], middleware=[PER_CALL], checkpointer=InMemorySaver())
    asked = agent.invoke(USER, THREAD)["__interrupt__"]
    ids = {one.value["tool_call_id"]: one.id for one in asked}
    with pytest.raises(ValueError, match="validation error"):
        agent.invoke(Command(resume={ids["Ann"]: "what?", ids["Bo"]: "why?"}), THREAD)
    assert len(agent.get_state(THREAD).interrupts) == 3

    for left, name in enumerate(("Bo", "Cy", "Ann"), 1):
        result = agent.invoke(Command(resume={ids[name]: APPROVE}), THREAD)
        assert len(result.get("__interrupt__", ())) == 3 - left
    assert [one.content for one in result["messages"][2:5]] == [f"{one} signs" for one in ids]


class Team(TypedDict):
    said: Annotated[list[str], operator.add]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("fails", ["a", "c"])
def test_a_question_is_open_again_whatever_fails_beside_it(inside: bool, fails: str):
    def node(name: str) -> Any:
        said = interrupt(name, response_schema=Annotated[bool, BeforeValidator(note)])
        if name in broken:
            refused.wait(30)
            raise RuntimeError(name)
        return {"said": [f"{name}: {said}"]}

    def note(answer: Any) -> Any:
        if answer == "what?":
            refused.set()
        return answer

    broken, refused = {fails}, threading.Event()
    builder = StateGraph(Team).add_node("node", node)
    builder.add_conditional_edges(START, lambda state: [Send("node", n) for n in "abc"], ["node"])
    graph: Any = builder.compile(checkpointer=None if inside else InMemorySaver())
    if inside:
        around = StateGraph(Team).add_node("graph", graph).add_edge(START, "graph")
        graph = around.compile(checkpointer=InMemorySaver())
    ids = {one.value: one.id for one in graph.invoke({"said": []}, THREAD)["__interrupt__"]}
    with pytest.raises((RuntimeError, ValueError)):
        graph.invoke(Command(resume={ids["b"]: "what?", ids[fails]: True}), THREAD)
    broken.clear()
    assert ids["b"] in {one.id for one in graph.get_state(THREAD).interrupts}

    rest = {id: True for name, id in ids.items() if name != fails}
    result = graph.invoke(Command(resume=rest), THREAD)
    assert result["said"] == ["a: True", "b: True", "c: True"]


def test_of_several_questions_of_one_task_each_wrong_answer_leaves_one_open():
    calls = [{"name": "ask", "args": {"name": one}, "id": one} for one in ("Ann", "Bo", "Cy")]
    builder = StateGraph(MessagesState).add_node("tools", ToolNode([ask])).add_edge(START, "tools")
    graph = builder.compile(checkpointer=InMemorySaver())
    asked = graph.invoke({"messages": [AIMessage("", tool_calls=calls)]}, THREAD)["__interrupt__"]
    ids = {one.value: one.id for one in asked}
    with pytest.raises(ValueError, match="validation error"):
        graph.invoke(Command(resume={ids["Ann"]: "what?", ids["Bo"]: "why?"}), THREAD)
    assert {one.id for one in graph.get_state(THREAD).interrupts} == {*ids.values()}

    for name in ("Bo", "Cy", "Ann"):
        result = graph.invoke(Command(resume={ids[name]: True}), THREAD)
    assert [one.content for one in result["messages"][1:]] == ["Ann: True", "Bo: True", "Cy: True"]


REVIEWED = HumanInTheLoopMiddleware({"sign": True})
TOGETHER = {"decisions": [APPROVE]}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("saver", [InMemorySaver, SqliteSaver])
@pytest.mark.parametrize("deep", [False, True], ids=["agents", "agents of agents"])
@pytest.mark.parametrize(
    ("middleware", "answer"), [(REVIEWED, TOGETHER), (PER_CALL, APPROVE), (None, True)]
)
def test_of_several_agents_in_one_task_each_wrong_answer_leaves_a_question_open(
    middleware: Any, answer: Any, deep: bool, saver: Any, is_async: bool, tmp_path: Path
):
    signed: list[str] = []

    @tool
    def sign(name: str) -> str:
        """Sign."""
        assert middleware or interrupt(name, response_schema=bool)
        signed.append(name)
        return f"{name} signs"

    def agent_of(name: str, ask: Any = sign) -> Any:
        calls = [{"name": ask.name, "args": {"name": name}, "id": f"of {name}"}]
        model = ScriptedChatModel([AIMessage("", tool_calls=calls), f"{name} is done."])
        reviewed = ask is sign and middleware is not None
        return create_agent(model, [ask], middleware=[middleware] if reviewed else [])

    def asking(agents: dict[str, Any]) -> Any:
        @tool
        def delegate(name: str) -> str:
            """Delegate."""
            return str(agents[name].invoke(USER)["messages"][-1].content)

        @tool("delegate")
        async def adelegate(name: str) -> str:
            """Delegate."""
            return str((await agents[name].ainvoke(USER))["messages"][-1].content)

        return adelegate if is_async else delegate

    names = ("Ann", "Bo", "Cy", "Di")
    delegate = asking({name: agent_of(name) for name in names})
    if deep:
        delegate = asking({name: agent_of(name, delegate) for name in names})
    builder = StateGraph(MessagesState).add_node("tools", ToolNode([delegate]))
    kept = saver() if saver is InMemorySaver else saver(str(tmp_path / "threads.db"))
    graph = builder.add_edge(START, "tools").compile(checkpointer=kept)

    def invoke(given: Any) -> Any:
        return (
            asyncio.run(graph.ainvoke(given, THREAD)) if is_async else graph.invoke(given, THREAD)
        )

    calls = [{"name": "delegate", "args": {"name": name}, "id": name} for name in names]
    asked = invoke({"messages": [AIMessage("", tool_calls=calls)]})["__interrupt__"]
    ids = {name: one.id for name, one in zip(names, asked, strict=True)}
    wrong = {ids["Ann"]: "what?", ids["Bo"]: "why?", ids["Cy"]: "who?"}
    for given in (wrong, {**wrong, ids["Di"]: answer}):
        with pytest.raises(ValueError, match=r"validation error|one decision for each call"):
            invoke(Command(resume=given))
        assert {one.id for one in graph.get_state(THREAD).interrupts} >= {*wrong}
    assert signed == ["Di"], "only what was approved runs"

    for name in ("Bo", "Cy", "Ann"):
        result = invoke(Command(resume={ids[name]: answer}))
    assert signed == ["Di", "Bo", "Cy", "Ann"]
    assert [one.content for one in result["messages"][1:]] == [f"{name} is done." for name in names]
