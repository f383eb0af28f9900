"""Mistakes of who puts a person between a tool call and its execution."""

from typing import Any, cast

from plait.agents import create_agent
from plait.agents.middleware import HumanInTheLoopMiddleware
from plait.chat_models.fake import FakeListChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.errors import (
    ApprovalMismatchError,
    ConfigError,
    InvalidDecisionError,
    InvalidPolicyError,
    ToolDefinitionError,
    UnknownInterruptError,
    UnknownToolWarning,
)
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.prebuilt import ToolNode
from plait.tool_calling import human_in_the_loop
from plait.tool_calling.approval import binding_of, check_binding, policies
from plait.types import Command

from .table import THREAD, mistake


@human_in_the_loop
def refund(euro: int) -> str:
    """Pay money back."""
    return f"refunded {euro}"


def waiting() -> tuple[Any, str]:
    """A thread that waits for a decision, and the question's id."""
    builder = StateGraph(MessagesState).add_node("tools", ToolNode([refund]))
    graph = builder.add_edge(START, "tools").compile(checkpointer=InMemorySaver())
    call: Any = {"name": "refund", "args": {"euro": 20}, "id": "c1"}
    result = graph.invoke({"messages": [AIMessage("", tool_calls=[call])]}, THREAD)
    return graph, result["__interrupt__"][0].id


@mistake("A policy that opens no decision", InvalidPolicyError, "'refund'", "'approve'")
def policy_without_decisions() -> None:
    policies({"refund": {"allowed_decisions": []}})


@mistake(
    "A policy for a tool that the agent does not have",
    UnknownToolWarning,
    "interrupt_on",
    "'refnd'",
    "Did you mean 'refund'?",
)
def policy_for_no_tool() -> None:
    people = HumanInTheLoopMiddleware({"refnd": True})
    create_agent(FakeListChatModel(responses=["x"]), [refund], middleware=[people])


@mistake("An answer that decides nothing about a tool call", InvalidDecisionError, "'accept'")
def answer_without_decision() -> None:
    graph, question = waiting()
    graph.invoke(Command(resume={question: "yes"}), THREAD)


@mistake("A second answer about a tool call", UnknownInterruptError, "answered before")
def second_answer() -> None:
    graph, question = waiting()
    graph.invoke(Command(resume={question: {"type": "accept"}}), THREAD)
    graph.invoke(Command(resume={question: {"type": "accept"}}), THREAD)


@mistake("A tool call that was changed after its approval", ApprovalMismatchError, "2000", "c1")
def changed_call() -> None:
    call = {"name": "refund", "args": {"euro": 20}, "id": "c1"}
    check_binding({**call, "args": {"euro": 2000}}, binding_of(call))


@mistake("A tool that asks, called where nothing can wait", ConfigError, "running graph")
def asking_outside() -> None:
    refund.invoke({"euro": 20})


@mistake("An async handler of `human_in_the_loop`", ToolDefinitionError, "human_in_the_loop_async")
def async_handler() -> None:
    async def handler(params: Any) -> Any: ...

    human_in_the_loop(handler=handler)


@mistake("A schema in a policy that is none", InvalidPolicyError, "'args_schema'", "'refund'")
def schema_in_a_policy_that_is_none() -> None:
    policies({"refund": {"allowed_decisions": ["edit"], "args_schema": cast("Any", 5)}})


@mistake("A list of tools for `interrupt_on`", InvalidPolicyError, "['refund']", '{"refund": True}')
def list_of_tools_to_ask_about() -> None:
    HumanInTheLoopMiddleware(interrupt_on=cast("Any", ["refund"]))
