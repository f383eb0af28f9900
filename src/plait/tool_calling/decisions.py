"""The shapes of approvals: what a person is shown of tool calls, and what a person may decide.

They are LangChain 1.x's (`langchain.agents.middleware.human_in_the_loop`); what they mean is in
`approval`.
"""

from collections.abc import Callable
from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

DecisionType: TypeAlias = Literal["approve", "edit", "reject", "respond"]

DECISIONS: tuple[DecisionType, ...] = ("approve", "edit", "reject", "respond")
"""All of them, in the order in which they are offered."""


class Action(TypedDict):
    """What would be done: a tool's name and its arguments."""

    name: str
    args: dict[str, Any]


class ActionRequest(TypedDict):
    """One action that waits for a decision."""

    name: str
    args: dict[str, Any]
    description: NotRequired[str]


class ReviewConfig(TypedDict):
    """Which decisions are open for an action."""

    action_name: str
    allowed_decisions: list[DecisionType]
    args_schema: NotRequired[dict[str, Any]]
    """The JSON schema of the arguments, for whoever draws a form to edit them."""


class HITLRequest(TypedDict):
    """One question about all gated calls of a message; the two lists go together by position."""

    action_requests: list[ActionRequest]
    review_configs: list[ReviewConfig]


class ToolApprovalRequest(TypedDict):
    """One question about one gated call."""

    type: Literal["tool_approval"]
    tool_call_id: str
    name: str
    args: dict[str, Any]
    description: str


class ApproveDecision(TypedDict):
    """Run the call as it is."""

    type: Literal["approve"]


class EditDecision(TypedDict):
    """Run another action in the call's place."""

    type: Literal["edit"]
    edited_action: Action


class RejectDecision(TypedDict):
    """Do not run the call; the model is told that it was refused, and why."""

    type: Literal["reject"]
    message: NotRequired[str]


class RespondDecision(TypedDict):
    """Do not run the call; the model gets this text as the tool's result."""

    type: Literal["respond"]
    message: str


Decision: TypeAlias = ApproveDecision | EditDecision | RejectDecision | RespondDecision


class HITLResponse(TypedDict):
    """The answer to a `HITLRequest`: one decision for each action, in its order."""

    decisions: list[Decision]


class InterruptOnConfig(TypedDict):
    """The policy for one tool: whether a person is asked, and what the person may decide."""

    allowed_decisions: list[DecisionType]
    description: NotRequired[str | Callable[[Any, Any, Any], str]]
    """What the person reads: a text, or a function of (tool call, state, runtime)."""
    args_schema: NotRequired[dict[str, Any]]
    when: NotRequired[Callable[[Any], bool]]
    """Given the `ToolCallRequest`: whether this call needs a decision at all."""


__all__ = [
    "DECISIONS",
    "Action",
    "ActionRequest",
    "ApproveDecision",
    "Decision",
    "DecisionType",
    "EditDecision",
    "HITLRequest",
    "HITLResponse",
    "InterruptOnConfig",
    "RejectDecision",
    "RespondDecision",
    "ReviewConfig",
    "ToolApprovalRequest",
]
