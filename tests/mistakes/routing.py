"""Mistakes of a node or a path function that says what runs next."""

from typing import Any

from plait.errors import (
    InvalidGraphError,
    InvalidUpdateError,
    ParentCommand,
    UnknownNodeError,
)
from plait.graph import END
from plait.types import Command, Send

from .table import State, graph_of, mistake


def nothing(state: State) -> None:
    return None


def routed(path: Any) -> Any:
    graph = graph_of(ask=nothing, approve=nothing)
    return graph.add_conditional_edges("ask", path).compile().invoke({"text": ""})


@mistake(
    "`Command(goto=...)` to a node that does not exist",
    UnknownNodeError,
    "'ask'",
    "'aprove'",
    "Did you mean 'approve'?",
)
def goto_unknown_node() -> None:
    def ask(state: State) -> Any:
        return Command(goto="aprove")

    graph_of(ask=ask, approve=nothing).compile().invoke({"text": ""})


@mistake(
    "A path function that returns a node that does not exist",
    UnknownNodeError,
    "'ask'",
    "'aprove'",
    "Did you mean 'approve'?",
)
def path_to_unknown_node() -> None:
    routed(lambda state: "aprove")


@mistake(
    "A path function that returns what its `path_map` does not know",
    UnknownNodeError,
    "'ask'",
    "'yess'",
    "Did you mean 'yes'?",
)
def path_outside_of_its_map() -> None:
    def path(state: State) -> str:
        return "yess"

    graph = graph_of(ask=nothing, approve=nothing)
    graph.add_conditional_edges("ask", path, {"yes": "approve"}).compile().invoke({"text": ""})


@mistake("A path function that returns nothing", InvalidGraphError, "'ask'", "None", "END")
def path_to_nothing() -> None:
    routed(lambda state: None)


@mistake(
    "`Send` to a node that does not exist",
    UnknownNodeError,
    "'ask'",
    "'aprove'",
    "Did you mean 'approve'?",
)
def send_to_unknown_node() -> None:
    routed(lambda state: [Send("aprove", {"text": "a"})])


@mistake("`Send` to END", InvalidUpdateError, "END", "'ask'")
def send_to_end() -> None:
    routed(lambda state: [Send(END, {})])


@mistake(
    "`Command(graph=...)` with the name of a graph",
    InvalidUpdateError,
    "'ask'",
    "'outer'",
    "Command.PARENT",
)
def command_for_a_named_graph() -> None:
    graph_of(ask=lambda state: Command(graph="outer", goto="x")).compile().invoke({"text": ""})


@mistake("`Command.PARENT` in a graph that has no parent", ParentCommand, "'approve'")
def parent_command_at_the_root() -> None:
    def ask(state: State) -> Any:
        return Command(graph=Command.PARENT, goto="approve")

    graph_of(ask=ask).compile().invoke({"text": ""})


@mistake("`Command(goto=...)` to a function", UnknownNodeError, "'ask'", "'approve', its name")
def goto_a_function() -> None:
    def approve(state: State) -> None:
        return None

    goal: Any = approve
    graph_of(ask=lambda state: Command(goto=goal), approve=approve).compile().invoke({"text": ""})


@mistake(
    "A path function that returns a value without a `path_map`",
    UnknownNodeError,
    "'ask'",
    "True",
    "path_map",
)
def path_of_values_without_a_map() -> None:
    routed(lambda state: True)
