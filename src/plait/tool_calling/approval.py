"""Approvals of tool calls: who is asked what, what an answer means, and what it holds for.

One owner for all faces: the decorators of this package and the agents' middleware build their
questions here and read the answers here. Nothing in this module does anything: `asking` asks.

An approval holds for one tool call: its id, the tool's name and the arguments. `binding_of` puts
the three into one short text; where it differs from that of the call a person was asked about, the
answer does not count (`Approval.check`).

The way of a call:

    policies(interrupt_on)            the configuration, checked once
    Approval(call, policy, text)      one call that waits
    batched(approvals)                what the person is shown, all calls at once
      or approval.request()           or each call alone
    read_decisions(answer, approvals) what the person says, checked
      or read_decision(answer, approval)
    decide(approval, decision)        an Outcome: the call to run, or the message in its place
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any, cast
from warnings import warn

from plait.errors import (
    ApprovalMismatchError,
    InvalidDecisionError,
    InvalidPolicyError,
    UnknownKeyWarning,
)
from plait.messages import ToolMessage
from plait.messages.content import ToolCall
from plait.tool_calling.decisions import (
    DECISIONS,
    Action,
    ActionRequest,
    Decision,
    DecisionType,
    HITLRequest,
    InterruptOnConfig,
    ReviewConfig,
    ToolApprovalRequest,
)
from plait.warnings import program_level

DEFAULT_PREFIX = "Tool execution requires approval"


# --- policies ------------------------------------------------------------------------------------


def policies(interrupt_on: Mapping[str, bool | InterruptOnConfig]) -> dict[str, InterruptOnConfig]:
    """The policy of each tool that a person is asked about.

    Args:
        interrupt_on: By the tool's name: True (ask, every decision is open), False (do not ask),
            or what exactly is open.

    Returns:
        Only the tools whose calls are gated.

    Raises:
        InvalidPolicyError: A policy opens no decision, or one that does not exist, or says
            something else that is none.

    >>> policies({"refund": True, "search": False})
    {'refund': {'allowed_decisions': ['approve', 'edit', 'reject', 'respond']}}
    """
    if not isinstance(interrupt_on, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidPolicyError(
            f"interrupt_on is a dict of policies by the name of their tool, such as "
            f'{{"refund": True}}; got {interrupt_on!r}.'
        )
    gated: dict[str, InterruptOnConfig] = {}
    for tool, policy in interrupt_on.items():
        if not isinstance(tool, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            name = getattr(tool, "name", "...")
            raise InvalidPolicyError(
                f"interrupt_on has {tool!r:.200} as a key: write the tool's name, {name!r}."
            )
        if policy is True:
            gated[tool] = InterruptOnConfig(allowed_decisions=list(DECISIONS))
        elif policy is not False:
            gated[tool] = _checked(tool, policy)
    return gated


def _checked(tool: str, policy: Any) -> InterruptOnConfig:
    allowed = as_mapping(policy).get("allowed_decisions")
    if not allowed or isinstance(allowed, str):
        raise InvalidPolicyError(
            f"The policy of tool {tool!r} opens no decision, so nobody could answer: {policy!r}. "
            f"Give it 'allowed_decisions', a list of some of {list(DECISIONS)}, or write True."
        )
    unknown = [each for each in allowed if each not in DECISIONS]
    if unknown:
        raise InvalidPolicyError(
            f"The policy of tool {tool!r} allows {unknown[0]!r}, which is no decision. There are "
            f"{list(DECISIONS)}."
        )
    _check_finer(tool, policy)
    return cast("InterruptOnConfig", policy)


def _check_finer(tool: str, policy: Mapping[str, Any]) -> None:
    """What else a policy may say, and keys that are nearly such a one."""
    about, when = policy.get("description"), policy.get("when")
    if not (about is None or isinstance(about, str) or callable(about)):
        raise InvalidPolicyError(
            f"'description' in the policy of tool {tool!r} is a text, or a function of (call, "
            f"state, runtime); got {about!r:.200}."
        )
    if when is not None and not callable(when):
        raise InvalidPolicyError(
            f"'when' in the policy of tool {tool!r} is a function of the request; got "
            f"{when!r:.200}. Leave it out to ask about every call, and write False in the place of "
            "the policy to ask about none."
        )
    schema = policy.get("args_schema", {})
    if not isinstance(schema, Mapping):
        raise InvalidPolicyError(
            f"'args_schema' in the policy of tool {tool!r} is a JSON schema, a dict; got "
            f"{schema!r:.200}. That of a pydantic model is Model.model_json_schema()."
        )
    for key in policy.keys() - InterruptOnConfig.__annotations__.keys():
        if near := get_close_matches(str(key), InterruptOnConfig.__annotations__, n=1):
            warn(
                f"The policy of tool {tool!r} has key {key!r}, which says nothing. Did you mean "
                f"{near[0]!r}?",
                UnknownKeyWarning,
                stacklevel=program_level(),
            )


# --- one call that waits -------------------------------------------------------------------------


def binding_of(call: Mapping[str, Any]) -> str:
    """What an approval of this call is bound to: its id, the tool's name and the arguments.

    Args:
        call: Name, args and id. The order of the arguments does not matter.

    Returns:
        32 hex digits, the same in every process.

    >>> call = {"name": "refund", "args": {"order": 7, "euro": 20}, "id": "c1"}
    >>> binding_of(call) == binding_of({**call, "args": {"euro": 20, "order": 7}})
    True
    >>> binding_of(call) == binding_of({**call, "args": {"order": 7, "euro": 2000}})
    False
    """
    told = [call.get("id"), call["name"], plain(call["args"])]
    text = json.dumps(told, sort_keys=True, default=repr)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def plain(value: Any) -> Any:
    """Arguments as plain data, so that they can be stored, shown and compared.

    >>> plain({"a": (1, 2), "b": {"c": b"x"}})
    {'a': [1, 2], 'b': {'c': b'x'}}
    """
    if isinstance(value, Mapping):
        its = cast("Mapping[Any, Any]", value)
        return {key: plain(each) for key, each in its.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in cast("Sequence[Any]", value)]
    if isinstance(value, (set, frozenset)):  # in an order that is the same in every process
        return sorted(map(plain, cast("set[Any]", value)), key=repr)
    dump = getattr(value, "model_dump", None)  # a pydantic model, without importing pydantic
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else value


def as_mapping(value: Any) -> Mapping[str, Any]:
    """What somebody sent as a mapping; an empty one if it is none."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Approval:
    """One tool call that waits for a decision, and the policy that it waits under.

    >>> call = {"name": "refund", "args": {"euro": 20}, "id": "c1", "type": "tool_call"}
    >>> approval = Approval(call, policies({"refund": True})["refund"], "Refund?")
    >>> approval.action_request()
    {'name': 'refund', 'args': {'euro': 20}, 'description': 'Refund?'}
    """

    call: Mapping[str, Any]
    policy: InterruptOnConfig
    description: str

    @classmethod
    def of(
        cls,
        call: Mapping[str, Any],
        policy: InterruptOnConfig,
        *,
        state: Any = None,
        runtime: Any = None,
        prefix: str = DEFAULT_PREFIX,
    ) -> "Approval":
        """An approval with the description that its policy gives, or one of `prefix` and the call.

        >>> Approval.of({"name": "rm", "args": {}, "id": "1"}, {"allowed_decisions": ["approve"]})
        ... # doctest: +ELLIPSIS
        Approval(... description='Tool execution requires approval\\n\\nTool: rm\\nArgs: {}')
        """
        about = policy.get("description")
        if about is None:
            about = f"{prefix}\n\nTool: {call['name']}\nArgs: {call['args']}"
        elif callable(about):
            about = about(call, state, runtime)
        return cls(call, policy, about)

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call["name"]

    @property
    def allowed(self) -> list[DecisionType]:
        """The decisions that are open."""
        return self.policy["allowed_decisions"]

    @property
    def binding(self) -> str:
        """What the answer holds for."""
        return binding_of(self.call)

    def action_request(self) -> ActionRequest:
        """The call, as the person is shown it."""
        return ActionRequest(
            name=self.name, args=plain(self.call["args"]), description=self.description
        )

    def review_config(self) -> ReviewConfig:
        """What the person may do."""
        config = ReviewConfig(action_name=self.name, allowed_decisions=list(self.allowed))
        if "args_schema" in self.policy:
            config["args_schema"] = self.policy["args_schema"]
        return config

    def request(self) -> ToolApprovalRequest:
        """The question about this call alone."""
        return ToolApprovalRequest(
            type="tool_approval",
            tool_call_id=self.call["id"],
            name=self.name,
            args=plain(self.call["args"]),
            description=self.description,
        )

    def check(self, call: Mapping[str, Any]) -> None:
        """Refuse a call that is not the one that was asked about.

        Raises:
            ApprovalMismatchError: Its id, tool or arguments differ.
        """
        check_binding(call, self.binding)


def check_binding(call: Mapping[str, Any], approved: str) -> None:
    """Refuse to run a call that is not the one that was approved.

    Args:
        call: The call about to run.
        approved: `binding_of` the call that a person has approved, or of the one that a person
            has put in its place.

    Raises:
        ApprovalMismatchError: They differ.

    >>> call = {"name": "refund", "args": {"euro": 20}, "id": "c1"}
    >>> check_binding({**call, "args": {"euro": 2000}}, binding_of(call))
    Traceback (most recent call last):
    plait.errors.ApprovalMismatchError: Tool call 'c1' is about to run refund({'euro': 2000}), ...
    """
    if binding_of(call) != approved:
        raise ApprovalMismatchError(
            f"Tool call {call.get('id')!r} is about to run {call['name']}({call['args']!r}), but "
            "the approval was given to another tool or other arguments. Something has changed the "
            "call since: a node, an interceptor or update_state. Ask again. (A review of your own "
            "that changes calls goes behind the middleware that asks: later in its list.)",
            tool=call["name"],
            tool_call_id=call.get("id"),
        )


# --- questions and answers -----------------------------------------------------------------------


def batched(approvals: Sequence[Approval]) -> HITLRequest:
    """One question about several calls."""
    return HITLRequest(
        action_requests=[each.action_request() for each in approvals],
        review_configs=[each.review_config() for each in approvals],
    )


def read_decisions(answer: Any, approvals: Sequence[Approval]) -> list[Decision]:
    """The decisions in the answer to a `batched` question.

    Args:
        answer: `{"decisions": [...]}`, one for each approval, in their order.
        approvals: What was asked.

    Raises:
        InvalidDecisionError: It has another form, another number of decisions, or one that is
            not open.

    >>> one = Approval({"name": "rm", "args": {}, "id": "1"}, {"allowed_decisions": ["reject"]}, "")
    >>> read_decisions({"decisions": [{"type": "reject"}]}, [one])
    [{'type': 'reject'}]
    """
    decisions = as_mapping(answer).get("decisions")
    if not isinstance(decisions, (list, tuple)):
        raise InvalidDecisionError(
            "The answer to a question about tool calls is {'decisions': [...]}, with one decision "
            f"for each call, not {answer!r}."
        )
    given = cast("Sequence[Any]", decisions)
    if len(given) != len(approvals):
        names = ", ".join(each.name for each in approvals)
        raise InvalidDecisionError(
            f"There are {len(given)} decisions for {len(approvals)} calls ({names}). Give one for "
            "each, in their order."
        )
    return [read_decision(each, approval) for each, approval in zip(given, approvals, strict=True)]


def read_decision(answer: Any, approval: Approval) -> Decision:
    """The decision about one call.

    Raises:
        InvalidDecisionError: It is none, or not one that the policy opens.
    """
    said = as_mapping(answer)
    kind = said.get("type")
    if kind not in approval.allowed:
        raise InvalidDecisionError(
            f"{answer!r} decides nothing about tool {approval.name!r}. Its policy opens "
            f"{approval.allowed}: answer with a dict whose 'type' is one of them."
        )
    if kind == "edit" and not _is_action(said.get("edited_action")):
        raise InvalidDecisionError(
            f"The edit of a call of {approval.name!r} needs 'edited_action': "
            f"{{'name': ..., 'args': {{...}}}}, not {said.get('edited_action')!r}."
        )
    if kind == "respond" and "message" not in said:
        raise InvalidDecisionError(
            f"The response in place of {approval.name!r} needs a 'message', the result that the "
            "model gets."
        )
    return cast("Decision", answer)


def _is_action(value: Any) -> bool:
    action = as_mapping(value)
    return isinstance(action.get("name"), str) and isinstance(action.get("args"), Mapping)


# --- what comes of a decision --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one call: it runs, as it is or edited, or a message takes its place."""

    call: ToolCall | None
    """The call to run; None if it must not run."""
    message: ToolMessage | None = None
    """What the model is told instead."""
    edited: bool = False
    """Whether `call` is not what the model wrote."""

    @property
    def action(self) -> Action | None:
        """The action of an edited call."""
        if self.call is None or not self.edited:
            return None
        return Action(name=self.call["name"], args=self.call["args"])


def decide(approval: Approval, decision: Decision) -> Outcome:
    """What becomes of a call after this decision.

    Args:
        approval: The call that waited.
        decision: As `read_decision` has checked it.

    >>> call = {"name": "refund", "args": {"euro": 20}, "id": "c1", "type": "tool_call"}
    >>> approval = Approval(call, policies({"refund": True})["refund"], "")
    >>> decide(approval, {"type": "reject", "message": "too late"}).message.content
    'User rejected the tool call for `refund` with reason: too late'
    >>> edit = {"name": "refund", "args": {"euro": 5}}
    >>> decide(approval, {"type": "edit", "edited_action": edit}).call["args"]
    {'euro': 5}
    """
    call = approval.call
    if decision["type"] == "approve":
        return Outcome(cast("ToolCall", call))
    if decision["type"] == "edit":
        action = decision["edited_action"]
        edited = ToolCall(
            type="tool_call", name=action["name"], args=dict(action["args"]), id=call["id"]
        )
        return Outcome(edited, edited=True)
    rejected = decision["type"] == "reject"
    text = decision.get("message") if rejected else decision["message"]
    return Outcome(
        None,
        ToolMessage(
            _refusal(call, text) if rejected else cast("str", text),
            name=call["name"],
            tool_call_id=call["id"],
            status="error" if rejected else "success",
        ),
    )


def _refusal(call: Mapping[str, Any], reason: str | None) -> str:
    if reason:
        return f"User rejected the tool call for `{call['name']}` with reason: {reason}"
    return (
        f"User rejected the tool call for `{call['name']}` with id {call['id']}. The tool was not "
        "executed. Do not retry this tool call unless the user explicitly requests it."
    )


__all__ = [
    "DEFAULT_PREFIX",
    "Approval",
    "Outcome",
    "as_mapping",
    "batched",
    "binding_of",
    "check_binding",
    "decide",
    "plain",
    "policies",
    "read_decision",
    "read_decisions",
]
