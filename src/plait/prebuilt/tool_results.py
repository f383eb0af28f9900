"""What tools gave back, checked and in the form in which a node returns it."""

import json
from collections.abc import Sequence
from typing import Any, Literal, cast

from plait.common.reflection import is_unawaited
from plait.errors import ToolInputError
from plait.messages import RemoveMessage
from plait.messages.convert import convert_to_messages
from plait.messages.errors import MessageCoercionError
from plait.messages.foreign import is_message, kind_of
from plait.prebuilt.guests import own_command
from plait.tools.output import BLOCK_TYPES, as_text
from plait.types import Command, Send

Form = Literal["dict", "list", "tool_calls"]
"""What a ToolNode was given: a state, a list of messages, or tool calls."""

REMOVE_ALL = "__remove_all__"


def checked(result: Any, call: dict[str, Any], form: Form, messages_key: str) -> Any:
    """The result of one tool call, if the model will find an answer to its call in it.

    Args:
        result: A tool message, a `Command`, or a list of both.
        call: The tool call.
        form: What the node was given: an update must fit it.
        messages_key: The key of the state that holds the messages.

    Raises:
        ToolInputError: It has no answer, or several, or one to another call, or is nothing of the
            kind.
    """
    if isinstance(result, Command):
        return _checked_command(cast("Command[Any]", result), call, form, messages_key, True)
    if isinstance(result, list):
        several = [own_command(one) for one in cast("list[Any]", result)]
        return _checked_list(several, call, form, messages_key)
    if kind_of(result) == "tool":
        _check_answers(result, call, "The tool")
        content = msg_content_output(result.content)
        return (
            result if content is result.content else result.model_copy(update={"content": content})
        )
    command = own_command(result)
    if command is not result:
        return checked(command, call, form, messages_key)
    why = "" if call.get("id") is not None else " The call has no id that a message could answer."
    raise ToolInputError(
        f"Tool {call['name']!r} gave {type(result).__name__} for a tool call, where a ToolMessage "
        f"or a Command belongs.{why}"
    )


def intercepted(result: Any, call: dict[str, Any]) -> Any:
    """What an interceptor gave for a call, if it may be an answer to it.

    Raises:
        MessageCoercionError: It is a text, which would be a message of the user's, or nothing.
        ToolInputError: It is a ToolMessage that answers another call.
    """
    if kind_of(result) == "tool":
        _check_answers(result, call, "wrap_tool_call")
    unawaited = is_unawaited(result)
    if result is not None and not isinstance(result, str) and not unawaited:
        return result
    handed_on = "await handler(request)" if unawaited else "handler(request)"
    raise MessageCoercionError(
        f"wrap_tool_call gave {result!r:.100} for call {call['id']!r} of tool {call['name']!r}. "
        f"Return a ToolMessage, a Command, or what the tool gave: `return {handed_on}`."
    )


def _check_answers(message: Any, call: dict[str, Any], giver: str) -> None:
    """Refuse a ToolMessage that answers another call than the one it was given for."""
    given, wanted = message.tool_call_id, call.get("id")
    if wanted is not None and given != str(wanted):
        raise ToolInputError(
            f"{giver} gave a ToolMessage with the tool_call_id {given!r} for call {wanted!r} of "
            f"tool {call['name']!r}. Models refuse a call without an answer, and an answer without "
            f"a call: give it the tool_call_id {wanted!r}; a tool has the id of its call from a "
            "parameter `Annotated[str, InjectedToolCallId]`, or returns the content alone."
        )


def _checked_list(results: list[Any], call: dict[str, Any], form: Form, key: str) -> list[Any]:
    answers = 0
    for one in results:
        held = _messages_of(one, key) if isinstance(one, Command) else [one]
        answers += sum(1 for message in held if _answers(message, call))
    if answers != 1:
        raise ToolInputError(
            f"Tool {call['name']!r} returned a list with {answers} ToolMessages for its tool call "
            f"{call['id']!r}. It must have exactly one."
        )
    return [
        _checked_command(cast("Command[Any]", one), call, form, key, False)
        if isinstance(one, Command)
        else one
        for one in results
    ]


def _checked_command(
    command: Command[Any], call: dict[str, Any], form: Form, key: str, must_answer: bool
) -> Command[Any]:
    update: Any = command.update
    if isinstance(update, dict):
        if form == "list":
            raise ToolInputError(
                f"Tool {call['name']!r} returned a Command that updates a dict, but the ToolNode "
                "was given a list of messages. Return Command(update=[...])."
            )
    elif isinstance(update, list):
        if form != "list":
            raise ToolInputError(
                f"Tool {call['name']!r} returned a Command that updates a list of messages, but "
                f"the ToolNode was given a dict. Return Command(update={{{key!r}: [...]}})."
            )
    else:
        return command
    messages, found = _named(_messages_of(command, key), call)
    clears = len(messages) == 1 and _clears(messages[0])
    if must_answer and not found and not clears and command.graph is None:
        raise ToolInputError(
            f"Tool {call['name']!r} returned a Command without a ToolMessage for its tool call "
            f"{call['id']!r}. Models refuse a call without an answer: add "
            f"ToolMessage('done', tool_call_id={call['id']!r}) to the messages of its update."
        )
    if not found:
        return command
    changed = messages if isinstance(update, list) else {**cast("Any", update), key: messages}
    return Command(graph=command.graph, update=changed, resume=command.resume, goto=command.goto)


def _messages_of(command: Any, key: str) -> list[Any]:
    update = command.update
    if isinstance(update, dict):
        update = cast("dict[str, Any]", update).get(key, [])
    if update is None:
        return []
    return cast("list[Any]", update) if isinstance(update, list) else [update]


def _named(messages: list[Any], call: dict[str, Any]) -> tuple[list[Any], bool]:
    """The messages, the answer to `call` with the tool's name; and whether there is one."""
    named: list[Any] = []
    found = False
    for given, message in zip(messages, convert_to_messages(messages), strict=True):
        answers = _answers(message, call)
        found = found or answers
        if answers and is_message(given) and given.name != call["name"]:
            named.append(given.model_copy(update={"name": call["name"]}))
        else:
            named.append(given)
    return named, found


def _answers(message: Any, call: dict[str, Any]) -> bool:
    return is_message(message) and getattr(message, "tool_call_id", None) == call["id"]


def _clears(message: Any) -> bool:
    return isinstance(message, RemoveMessage) and message.id == REMOVE_ALL


def combined(results: Sequence[Any], form: Form, messages_key: str) -> Any:
    """The results of all calls as one: an update of the state, or a list with Commands in it."""
    flat: list[Any] = []
    for one in results:
        flat.extend(cast("list[Any]", one) if isinstance(one, list) else [one])
    if not any(isinstance(one, Command) for one in flat):
        return flat if form == "list" else {messages_key: flat}
    combined: list[Any] = []
    sends: list[Send] = []
    for one in flat:
        if not isinstance(one, Command):
            combined.append([one] if form == "list" else {messages_key: [one]})
        elif _only_sends(cast("Command[Any]", one)):
            sends.extend(cast("Any", one).goto)
        else:
            combined.append(one)
    if sends:
        combined.append(Command(graph=Command.PARENT, goto=sends))
    return combined


def _only_sends(command: Command[Any]) -> bool:
    """Whether a Command does nothing but start nodes of the parent graph."""
    goto: Any = command.goto
    return (
        command.graph == Command.PARENT
        and not command.update
        and isinstance(goto, list)
        and all(isinstance(one, Send) for one in cast("list[Any]", goto))
    )


def msg_content_output(output: Any) -> str | list[dict[str, Any]]:
    """What a tool returned as the content of a message: texts and lists of content blocks stay.

    >>> msg_content_output("a"), msg_content_output({"é": 1})
    ('a', '{"é": 1}')
    """
    if isinstance(output, str):
        return output
    if isinstance(output, list) and all(map(_is_block, cast("list[Any]", output))):
        return cast("list[Any]", output)
    try:
        return json.dumps(output, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return as_text(output)


def _is_block(item: Any) -> bool:
    return isinstance(item, dict) and cast("dict[Any, Any]", item).get("type") in BLOCK_TYPES


__all__ = ["Form", "checked", "combined", "msg_content_output"]
