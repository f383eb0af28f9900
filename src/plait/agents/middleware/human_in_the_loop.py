"""`HumanInTheLoopMiddleware`: a person decides about tool calls before they run.

What is asked and what an answer means is in `plait.tool_calling.approval`. Here it meets the agent:
the question is asked after the model (all calls of a message at once) or as each call starts, and a
decision holds for the call that it was made about. What was decided is kept in the agent's state by
the call's binding (id, tool and arguments), and looked up when the call is about to run.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, cast

from typing_extensions import TypedDict

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.options import check_texts
from plait.agents.middleware.state import AgentState, PrivateStateAttr, answered_calls
from plait.config import get_config
from plait.errors import ConfigError, InvalidDecisionError, ToolInputError, nearest
from plait.messages import ToolMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.injection import ToolRuntime, runtime_around
from plait.prebuilt.tool_node import ToolCallRequest
from plait.tool_calling.approval import (
    DEFAULT_PREFIX,
    Approval,
    Outcome,
    batched,
    binding_of,
    check_binding,
    decide,
    policies,
    read_decisions,
)
from plait.tool_calling.asking import ask
from plait.tool_calling.decisions import (
    Action,
    ActionRequest,
    ApproveDecision,
    Decision,
    DecisionType,
    EditDecision,
    HITLRequest,
    HITLResponse,
    InterruptOnConfig,
    RejectDecision,
    RespondDecision,
    ReviewConfig,
    ToolApprovalRequest,
)
from plait.types import Command

InterruptMode: TypeAlias = Literal["batched", "per_call"]
EDIT_NOTICE = (
    "Note: a human reviewer replaced this tool call before it ran. The call recorded in your "
    "message is the one you produced, not the one that executed. This was intentional and "
    "authorized. Do not re-issue your original call."
)


class Decided(TypedDict):
    """What a person has decided about the calls of one message of the model's."""

    message: str
    """The message's id."""
    calls: dict[str, dict[str, Action | None]]
    """By id and binding: the calls that may run, and what runs in their place (None: they do)."""


class ReviewedState(AgentState):
    """The state of an agent whose tool calls a person decides about."""

    hitl_edited_tool_calls: NotRequired[Annotated[dict[str, Action], PrivateStateAttr]]
    """By the ids of the model's calls: the actions that a person has put in their place."""
    hitl_decided_tool_calls: NotRequired[Annotated[Decided, PrivateStateAttr]]


@dataclass(frozen=True)
class Gate:
    """What becomes of a call that is about to run.

    Args:
        request: The call to run; None if it must not run.
        message: What the model is told instead.
        edited: What runs in the place of the model's call, if a person has changed it.
    """

    request: ToolCallRequest | None
    message: ToolMessage | None = None
    edited: Action | None = None


class HumanInTheLoopMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks a person about tool calls before they run. The agent needs a checkpointer.

    Args:
        interrupt_on: By the tool's name: True (ask; every decision is open), False (do not ask), or
            a dict of `allowed_decisions` ("approve", "edit", "reject", "respond") and, if you like,
            `description` (a text, or a function of the call, the state and the runtime),
            `args_schema` (shown to the person) and `when` (a function of the `ToolCallRequest`:
            whether this call needs a decision at all).
        description_prefix: Begins the description of calls whose policy gives none.
        edit_notice: What the model reads before the result of a call that a person has changed
            (None: nothing).
        interrupt_mode: "batched": one question about all calls of a message, answered by
            `{"decisions": [...]}` in their order. "per_call": one question for each call, as it
            starts, answered by one decision; calls that nobody is asked about run meanwhile.

    Raises:
        InvalidPolicyError: A policy opens no decision, or one that does not exist.
        ConfigError: There is no such mode.

    A call that has changed since it was decided about (by another middleware or `update_state`)
    is refused with `ApprovalMismatchError`. One that nobody was asked about, since a hook made it,
    is asked about when it is about to run.

    >>> HumanInTheLoopMiddleware({"refund": {"allowed_decisions": ["approve", "reject"]}}).name
    'HumanInTheLoopMiddleware'
    """

    state_schema = ReviewedState

    def __init__(
        self,
        interrupt_on: Mapping[str, bool | InterruptOnConfig],
        *,
        description_prefix: str = DEFAULT_PREFIX,
        edit_notice: str | None = EDIT_NOTICE,
        interrupt_mode: InterruptMode = "batched",
    ) -> None:
        if interrupt_mode not in ("batched", "per_call"):
            raise ConfigError(
                f"interrupt_mode must be 'batched' or 'per_call', not {interrupt_mode!r}."
            )
        check_texts(description_prefix=description_prefix, edit_notice=edit_notice)
        self.interrupt_on = policies(interrupt_on)
        self.description_prefix = description_prefix
        self.edit_notice = edit_notice
        self.interrupt_mode = interrupt_mode

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given."""
        return {"interrupt_on": self.interrupt_on}

    # --- after the model -------------------------------------------------------------------------

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Ask about the gated calls of the model's message, all at once.

        Not about those that another hook has answered, such as a limit: they will not run.

        Raises:
            InvalidDecisionError: The answer is none; the question stays open.
        """
        message = _last_message(state)
        if message is None or not message.tool_calls or self.interrupt_mode == "per_call":
            return None
        answered = answered_calls(state)
        gated = [
            call
            for call in message.tool_calls
            if call["name"] in self.interrupt_on and call["id"] not in answered
        ]
        before: Decided | None = state.get("hitl_decided_tool_calls")
        if not gated:
            is_over = before is None or before["message"] != message.id
            is_left = is_over and state.get("hitl_edited_tool_calls")
            return {"hitl_edited_tool_calls": {}} if is_left else None
        asked = [call for call in gated if self._is_wanted(_request(call, state, runtime))]
        decided = self._decisions(asked, state, runtime) if asked else []
        runs = [*zip(asked, decided, strict=True)]
        places = {*map(id, asked)}
        runs += [(call, Outcome(call)) for call in gated if id(call) not in places]
        now = _decided(message, runs, before)
        update: dict[str, Any] = {"hitl_decided_tool_calls": now}
        if asked:
            told = [one.message for one in decided if one.message is not None]
            update["messages"] = [message, *told]
        if asked or state.get("hitl_edited_tool_calls"):
            update["hitl_edited_tool_calls"] = _edits(now)
        return update

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The async twin of `after_model`."""
        return self.after_model(state, runtime)

    def _decisions(self, calls: Sequence[Any], state: Any, runtime: Any) -> list[Outcome]:
        """What a person decides about calls, in one question."""
        approvals = [self._approval(call, state, runtime) for call in calls]
        decisions = ask(batched(approvals), approvals, partial(_read_all, approvals))
        return [decide(one, said) for one, said in zip(approvals, decisions, strict=True)]

    def _approval(self, call: Any, state: Any, runtime: Any) -> Approval:
        policy = self.interrupt_on[call["name"]]
        prefix = self.description_prefix
        return Approval.of(call, policy, state=state, runtime=runtime, prefix=prefix)

    def _is_wanted(self, request: ToolCallRequest) -> bool:
        """Whether the call of a gated tool needs a decision."""
        when = self.interrupt_on[request.tool_call["name"]].get("when")
        return when is None or bool(when(request))

    # --- before a tool ---------------------------------------------------------------------------

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Any]) -> Any:
        """Run a call as it was decided; ask about it first, if nobody was asked yet.

        Raises:
            ApprovalMismatchError: The call is not the one that was decided about.
            InvalidDecisionError: A person has put a tool in its place that does not exist.
            ToolInputError: The call has no id, so no decision could be about it.
        """
        gate = self._gate(request)
        if gate.request is None:
            return gate.message
        with _put_in_place(gate):
            result = handler(gate.request)
        return self._noted(result, request, gate.edited)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """The async twin of `wrap_tool_call`."""
        gate = self._gate(request)
        if gate.request is None:
            return gate.message
        with _put_in_place(gate):
            result = await handler(gate.request)
        return self._noted(result, request, gate.edited)

    def _gate(self, request: ToolCallRequest) -> Gate:
        call = request.tool_call
        # What was decided after the model, another middleware of this kind may have asked about:
        # one that asks as a call starts does so all the same.
        alone = self.interrupt_mode == "per_call"
        known = None if alone else _decided_before(request.state, call)
        if known is not None:
            binding = binding_of(call)
            if binding not in known:
                if binding == _decided_around.get() or _is_put_in_place(call, known):
                    return Gate(request)
                check_binding(call, next(iter(known)))
            return _edited(request, known[binding])
        if call["name"] not in self.interrupt_on or not self._is_wanted(request):
            return Gate(request)
        outcome = self._asked_alone(request)
        if outcome.call is None:
            return Gate(None, outcome.message)
        return _edited(request, outcome.action)

    def _asked_alone(self, request: ToolCallRequest) -> Outcome:
        """What a person decides about one call, as it starts."""
        call = request.tool_call
        if call["id"] is None:
            raise ToolInputError(
                f"Tool call `{call['name']}` has no ID, so its result can't be matched to it, and "
                "no decision can be about it. Make sure that the chat model gives its calls ids."
            )
        runtime = runtime_around(request.runtime.config)
        if self.interrupt_mode == "batched":
            return self._decisions([call], request.state, runtime)[0]
        from plait.tool_calling.shapes import decision_shape  # loads pydantic

        approval = self._approval(call, request.state, runtime)
        read, shown = decision_shape(approval, request.tool)
        return decide(approval, ask(approval.request(), [approval], read, shown=shown))

    # --- after a tool ----------------------------------------------------------------------------

    def _noted(self, result: Any, request: ToolCallRequest, edited: Action | None) -> Any:
        """The result of a call; of an edited one, its answer begins with what really ran."""
        if edited is None or self.edit_notice is None:
            return result
        args = json.dumps(edited["args"], default=str)
        notice = f"{self.edit_notice} Executed instead: {edited['name']} with arguments {args}."
        return _with_notice(result, notice, request.tool_call["id"])


_decided_around: ContextVar[str | None] = ContextVar("plait_decided_around", default=None)
"""The binding of the call that a person has put in place, in a middleware around this one."""


@contextmanager
def _put_in_place(gate: Gate) -> Generator[None]:
    """Where a person has changed the call, middleware inside takes it for decided about."""
    if gate.request is None or gate.edited is None:
        yield
        return
    token = _decided_around.set(binding_of(gate.request.tool_call))
    try:
        yield
    finally:
        _decided_around.reset(token)


def _last_message(state: Any) -> Any:
    return next((one for one in reversed(state["messages"]) if kind_of(one) == "ai"), None)


def _read_all(approvals: Sequence[Approval], answer: Any) -> list[Decision]:
    return read_decisions(answer, approvals)


def _request(call: Any, state: Any, runtime: Any) -> ToolCallRequest:
    """A call that is not about to run yet, for the `when` of its policy."""
    around: ToolRuntime[Any, Any] = ToolRuntime(
        state=state,
        context=runtime.context,
        config=get_config(),
        stream_writer=runtime.stream_writer,
        tool_call_id=call["id"],
        store=runtime.store,
    )
    return ToolCallRequest(call, None, state, around)


def _decided(message: Any, runs: Sequence[tuple[Any, Outcome]], before: Decided | None) -> Decided:
    """What is decided now, and what other middleware has decided about the same message before.

    Of two decisions about one call the last one counts.
    """
    calls: dict[str, dict[str, Action | None]] = {}
    if before is not None and before["message"] == message.id:
        calls = {call_id: dict(known) for call_id, known in before["calls"].items()}
    for call, outcome in runs:
        known, binding = calls.setdefault(str(call["id"]), {}), binding_of(call)
        if outcome.call is None:
            known.pop(binding, None)
        else:
            known[binding] = outcome.action
    return Decided(message=message.id, calls={id: known for id, known in calls.items() if known})


def _edits(decided: Decided) -> dict[str, Action]:
    """By the ids of calls, what runs in their place."""
    pairs = ((id, action) for id, known in decided["calls"].items() for action in known.values())
    return {id: action for id, action in pairs if action is not None}


def _is_put_in_place(call: Any, known: Mapping[str, Action | None]) -> bool:
    """Whether a person has put this very call in the place of the one that was decided about."""
    edits = ({**call, **action} for action in known.values() if action is not None)
    return binding_of(call) in {binding_of(edited) for edited in edits}


def _decided_before(state: Any, call: Any) -> dict[str, Action | None] | None:
    """What was decided about a call of the model's last message; None: nothing."""
    decided: Decided | None = state.get("hitl_decided_tool_calls")
    message = None if decided is None else _last_message(state)
    if decided is None or message is None or message.id != decided["message"]:
        return None
    return decided["calls"].get(str(call["id"]))


def _edited(request: ToolCallRequest, action: Action | None) -> Gate:
    """The call with what a person has put in its place."""
    if action is None:
        return Gate(request)
    call = request.tool_call
    tools = {one.name: one for one in request.runtime.tools}
    if action["name"] not in tools:
        raise InvalidDecisionError(
            f"Reviewer edited tool call {call['id']!r} to {action['name']!r}, which is not an "
            f"available tool. {nearest(action['name'], tools)}"
        )
    changed = {**call, "name": action["name"], "args": action["args"]}
    return Gate(request.override(tool_call=changed, tool=tools[action["name"]]), edited=action)


def _with_notice(result: Any, notice: str, call_id: Any) -> Any:
    """The result, the notice before the content of the message that answers the call."""
    if isinstance(result, list):
        return [_with_notice(one, notice, call_id) for one in cast("list[Any]", result)]
    if isinstance(result, Command):
        update: Any = cast("Command[Any]", result).update
        if not isinstance(update, dict) or "messages" not in update:
            return cast("Any", result)
        messages = _with_notice(update["messages"], notice, call_id)
        return replace(cast("Any", result), update={**cast("Any", update), "messages": messages})
    if kind_of(result) != "tool" or result.tool_call_id != call_id:
        return result
    content = result.content
    if isinstance(content, list):
        content = [{"type": "text", "text": f"{notice}\n\nTool response:"}, *cast("Any", content)]
    else:
        content = f"{notice}\n\nTool response:\n{content}" if content else notice
    return result.model_copy(update={"content": content})


__all__ = [
    "Action",
    "ActionRequest",
    "ApproveDecision",
    "Decision",
    "DecisionType",
    "EditDecision",
    "HITLRequest",
    "HITLResponse",
    "HumanInTheLoopMiddleware",
    "InterruptOnConfig",
    "RejectDecision",
    "RespondDecision",
    "ReviewConfig",
    "ToolApprovalRequest",
]
