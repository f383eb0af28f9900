"""Parsers of tool calls: as dicts, of one tool, or as instances of pydantic models."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from plait.chat_models.results import ChatGeneration
from plait.exceptions import OutputParserException
from plait.messages import invalid_tool_call, tool_call
from plait.messages.partial_json import parse_partial_json
from plait.output_parsers.transform import BaseCumulativeTransformOutputParser


def parse_tool_call(
    raw_tool_call: Mapping[str, Any],
    *,
    partial: bool = False,
    strict: bool = False,
    return_id: bool = True,
) -> dict[str, Any] | None:
    """A tool call from OpenAI's form of it.

    Args:
        raw_tool_call: `{"id": ..., "function": {"name": ..., "arguments": <JSON>}}`.
        partial: The arguments may be cut off; None if they cannot be read at all.
        strict: Control characters in texts are an error.
        return_id: Keep the id.

    Raises:
        OutputParserException: The arguments are no JSON.
    """
    function: Mapping[str, Any] | None = raw_tool_call.get("function")
    if function is None:
        return None
    arguments = function["arguments"]
    args: Any
    try:
        if partial:
            args = parse_partial_json(arguments)
        else:
            args = json.loads(arguments, strict=strict) if arguments else {}
    except (json.JSONDecodeError, RecursionError, TypeError) as error:
        if partial:
            return None
        raise OutputParserException(
            f"Function {function['name']} arguments:\n\n{arguments}\n\nare not valid JSON. "
            f"Received {type(error).__name__} {error}"
        ) from error
    call: Any = tool_call(
        name=function["name"] or "",
        args=args or {},
        id=raw_tool_call.get("id") if return_id else None,
    )
    return call


def make_invalid_tool_call(
    raw_tool_call: Mapping[str, Any], error_msg: str | None
) -> dict[str, Any]:
    """The invalid tool call of a call whose arguments could not be read."""
    function = raw_tool_call["function"]
    call: Any = invalid_tool_call(
        name=function["name"],
        args=function["arguments"],
        id=raw_tool_call.get("id"),
        error=error_msg,
    )
    return call


def parse_tool_calls(
    raw_tool_calls: Sequence[Mapping[str, Any]],
    *,
    partial: bool = False,
    strict: bool = False,
    return_id: bool = True,
) -> list[dict[str, Any]]:
    """`parse_tool_call` of each.

    Raises:
        OutputParserException: The arguments of some are no JSON; it tells of all of them.
    """
    calls: list[dict[str, Any]] = []
    wrong: list[str] = []
    for raw in raw_tool_calls:
        try:
            call = parse_tool_call(raw, partial=partial, strict=strict, return_id=return_id)
        except OutputParserException as error:
            wrong.append(str(error))
            continue
        if call is not None:
            calls.append(call)
    if wrong:
        raise OutputParserException("\n\n".join(wrong))
    return calls


class JsonOutputToolsParser(BaseCumulativeTransformOutputParser[Any]):
    """The tool calls of a message, as dicts of `type` (the tool's name) and `args`.

    Args:
        strict: Control characters in texts are an error.
        return_id: Add each call's `id`.
        first_tool_only: Only the first call, not in a list.

    >>> from plait.messages import AIMessage
    >>> message = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}])
    >>> JsonOutputToolsParser().invoke(message)
    [{'args': {'a': 1}, 'type': 'add'}]
    """

    strict: bool = False
    return_id: bool = False
    first_tool_only: bool = False

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The tool calls of the first candidate.

        Raises:
            OutputParserException: It is no message, or the arguments of a call are no JSON.
        """
        calls = self._calls(result[0], partial)
        return (calls[0] if calls else []) if self.first_tool_only else calls

    def _calls(self, generation: Any, partial: bool) -> list[dict[str, Any]]:
        if not isinstance(generation, ChatGeneration):
            raise OutputParserException(
                f"{self.get_name()} expects a message of a chat model; received the text "
                f"{generation.text[:200]!r}.",
                llm_output=generation.text,
            )
        message = generation.message
        found: list[Any] = list(getattr(message, "tool_calls", ()))
        if not found and message.additional_kwargs.get("tool_calls"):
            raw = message.additional_kwargs["tool_calls"]
            found = parse_tool_calls(raw, partial=partial, strict=self.strict)
        return [
            {
                "args": call["args"],
                **({"id": call.get("id")} if self.return_id else {}),
                "type": call["name"],
            }
            for call in found
        ]

    def parse(self, text: str) -> Any:
        """Refused: a text has no tool calls.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Tool calls are in messages, not in texts. Use invoke().")


class JsonOutputKeyToolsParser(JsonOutputToolsParser):
    """The calls of one tool.

    Args:
        key_name: The tool's name.
        values: The fields of `JsonOutputToolsParser`. Without `return_id`, of each call only its
            arguments are given.
    """

    key_name: str

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The calls of the tool."""
        calls: list[Any] = [
            call if self.return_id else call["args"]
            for call in self._calls(result[0], partial)
            if call["type"] == self.key_name
        ]
        return (calls[0] if calls else None) if self.first_tool_only else calls


class PydanticToolsParser(JsonOutputToolsParser):
    """The tool calls of a message, as instances of pydantic models.

    Args:
        tools: The models; a tool's name is its model's, or the `title` of its config.
        values: The fields of `JsonOutputToolsParser`.
    """

    tools: list[Any]

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The instances; if `partial`, those that are valid so far.

        Raises:
            OutputParserException: A tool is unknown.
            ValidationError: The arguments of a call are not what its model expects.
        """
        calls = self._calls(result[0], partial)
        calls = calls[:1] if self.first_tool_only else calls
        instances = [self._instance(call, partial) for call in calls]
        valid = [instance for instance in instances if instance is not None]
        return (valid[0] if valid else None) if self.first_tool_only else valid

    def _instance(self, call: Mapping[str, Any], partial: bool) -> Any:
        model = self._model(call["type"], partial)
        if model is None:
            return None
        try:
            return model(**call["args"])
        except ValueError as error:  # a ValidationError of either version of pydantic
            if partial:
                return None
            received = json.dumps(call["args"], ensure_ascii=False, default=repr)
            error.add_note(f"These were the arguments of a call of {call['type']!r}: {received}.")
            raise

    def _model(self, name: str, partial: bool) -> Any:
        for tool in self.tools:
            config = cast("Mapping[str, Any]", getattr(tool, "model_config", {}))
            if name in (tool.__name__, config.get("title")):
                return tool
        if partial and any(tool.__name__.startswith(name) for tool in self.tools):
            return None  # a stream is in the middle of the name
        known = ", ".join(tool.__name__ for tool in self.tools)
        raise OutputParserException(f"Unknown tool type: {name!r}. Available tools: {known}")


__all__ = [
    "JsonOutputKeyToolsParser",
    "JsonOutputToolsParser",
    "PydanticToolsParser",
    "make_invalid_tool_call",
    "parse_tool_call",
    "parse_tool_calls",
]
