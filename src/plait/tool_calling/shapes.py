"""The answer to a question about one call as a schema: which decisions, and what an edit may say.

Imported where such a question is asked: it loads pydantic.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, cast

from pydantic import Discriminator, TypeAdapter, WithJsonSchema
from typing_extensions import TypedDict

from plait.tool_calling.approval import Approval
from plait.tool_calling.decisions import (
    ApproveDecision,
    Decision,
    DecisionType,
    RejectDecision,
    RespondDecision,
)

_PLAIN: dict[str, Any] = {
    "approve": ApproveDecision,
    "reject": RejectDecision,
    "respond": RespondDecision,
}


def decision_shape(
    approval: Approval, tool: Any = None
) -> tuple[Callable[[Any], Decision], dict[str, Any]]:
    """How the answer about one call is checked, and its JSON schema.

    An edit may not switch the tool, and its arguments must fit the tool's.

    Args:
        approval: The call.
        tool: Its tool; without one an edit may have any arguments.

    Returns:
        A function that returns an answer as it was sent, or raises pydantic's ValidationError,
        and the schema.

    >>> call = {"name": "rm", "args": {}, "id": "1"}
    >>> one = Approval(call, {"allowed_decisions": ["approve"]}, "Remove it?")
    >>> read, shown = decision_shape(one)
    >>> read({"type": "approve"}), shown["required"]
    ({'type': 'approve'}, ['type'])
    """
    schema = None if tool is None else tool.tool_call_schema
    if isinstance(schema, dict):  # shown, not enforced: the tool does not either
        shown = WithJsonSchema(cast("dict[str, Any]", schema))
        adapter, told = _made(
            approval.name, tuple(approval.allowed), Annotated[dict[str, Any], shown]
        )
    else:
        args = schema if isinstance(schema, type) else dict[str, Any]
        adapter, told = _kept(approval.name, tuple(approval.allowed), args)

    def read(answer: Any) -> Decision:
        adapter.validate_python(answer)
        return cast("Decision", answer)  # as sent: the tool itself reads its arguments

    return read, told


def _made(
    name: str, allowed: tuple[DecisionType, ...], args: Any
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    kinds = [_edit(name, args) if each == "edit" else _PLAIN[each] for each in allowed]
    shape: Any = kinds[0]
    if len(kinds) > 1:
        shape = Annotated[Union[tuple(kinds)], Discriminator("type")]  # noqa: UP007
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    return adapter, adapter.json_schema()


_kept = lru_cache(maxsize=256)(_made)


def _edit(name: str, args: Any) -> Any:
    """An `EditDecision` of one tool."""
    action: Any = _keys("EditedAction", name=Literal[name], args=args)  # pyright: ignore[reportArgumentType]
    return _keys("EditDecision", type=Literal["edit"], edited_action=action)


def _keys(title: str, /, **kinds: Any) -> Any:
    make: Any = TypedDict  # of kinds that are only known now
    return make(title, kinds)


__all__ = ["decision_shape"]
