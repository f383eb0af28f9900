"""Parsers of function calls, the form that OpenAI's models had before tool calls.

Newer models call tools: read those with the parsers of `openai_tools`.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from plait.chat_models.results import ChatGeneration
from plait.errors import InvalidValueError
from plait.exceptions import OutputParserException
from plait.messages.partial_json import parse_partial_json
from plait.output_parsers.base import BaseGenerationOutputParser
from plait.output_parsers.json_text import changes
from plait.output_parsers.transform import BaseCumulativeTransformOutputParser


class UnexpectedCallError(OutputParserException, KeyError, TypeError):
    """A model called a function that is not known, or left out an argument that is asked for."""

    __str__ = Exception.__str__  # KeyError shows the repr of its message


class OutputFunctionsParser(BaseGenerationOutputParser[Any], init=False):
    """The function call of a message: its arguments as they were written.

    Args:
        args_only: Only the arguments; else a dict of `name` and `arguments`.

    >>> from plait.messages import AIMessage
    >>> call = {"name": "add", "arguments": '{"a": 1}'}
    >>> OutputFunctionsParser().invoke(AIMessage("", additional_kwargs={"function_call": call}))
    '{"a": 1}'
    """

    args_only: bool = True

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The call of the first candidate.

        Raises:
            OutputParserException: It is no message, or has no function call.
        """
        call = _call_of(self, result)
        return call["arguments"] if self.args_only else dict(call)


class JsonOutputFunctionsParser(BaseCumulativeTransformOutputParser[Any]):
    """The function call of a message, its arguments read as JSON.

    Args:
        strict: Control characters in texts are an error.
        args_only: Only the arguments; else a dict of `name` and `arguments`.
        diff: A stream gives JSON patches.

    >>> from plait.messages import AIMessage
    >>> call = {"name": "add", "arguments": '{"a": 1}'}
    >>> JsonOutputFunctionsParser().invoke(AIMessage("", additional_kwargs={"function_call": call}))
    {'a': 1}
    """

    strict: bool = False
    args_only: bool = True

    @property
    def _type(self) -> str:
        return "json_functions"

    def _diff(self, prev: Any, next: Any) -> list[dict[str, Any]]:
        return changes(prev, next)

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The call of the only candidate; if `partial`, as far as it came (None: no call yet).

        Raises:
            OutputParserException: It is no message, has no function call, or one whose arguments
                are no JSON; or there are several candidates.
        """
        if len(result) != 1:
            raise OutputParserException(
                f"{self.get_name()} expects one candidate, received {len(result)}."
            )
        if partial:
            return self._so_far(result[0])
        call = _call_of(self, result)
        try:
            arguments = json.loads(call["arguments"], strict=self.strict)
        except (json.JSONDecodeError, RecursionError, TypeError) as error:
            raise OutputParserException(
                f"The arguments of a call of {call.get('name')!r} are no JSON: "
                f"{_shown(call['arguments'])} ({error})",
                llm_output=call["arguments"],
            ) from error
        return self._given(call, arguments)

    def _so_far(self, generation: Any) -> Any:
        message = _message_of(self, generation)
        call: Mapping[str, Any] | None = message.additional_kwargs.get("function_call")
        if call is None:
            return None
        try:
            arguments = parse_partial_json(call.get("arguments") or "")
        except json.JSONDecodeError:
            return None
        return self._given(call, arguments, partial=True)

    def _given(self, call: Mapping[str, Any], arguments: Any, *, partial: bool = False) -> Any:
        """What is given for a call; None for nothing yet."""
        return arguments if self.args_only else {**call, "arguments": arguments}

    def parse(self, text: str) -> Any:
        """Refused: a text has no function call.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Function calls are in messages, not in texts. Use invoke().")


class JsonKeyOutputFunctionsParser(JsonOutputFunctionsParser):
    """One argument of the function call of a message.

    Args:
        key_name: The argument's name.
        values: The fields of `JsonOutputFunctionsParser`.
    """

    key_name: str

    def _given(self, call: Mapping[str, Any], arguments: Any, *, partial: bool = False) -> Any:
        given = super()._given(call, arguments)
        if isinstance(given, dict) and (partial or self.key_name in given):
            return cast("dict[str, Any]", given).get(self.key_name)
        if partial:
            return None
        raise UnexpectedCallError(
            f"The call of {call.get('name')!r} has no {self.key_name!r}: {_shown(given)}"
        )


class PydanticOutputFunctionsParser(OutputFunctionsParser):
    """The arguments of the function call of a message, as an instance of a pydantic model.

    Args:
        pydantic_schema: The model; or the models by the names of their functions.
        args_only: Whether the name of the function says nothing; by default as it is for one model.

    Raises:
        InvalidValueError: `args_only` where the name of the function chooses the model.
    """

    pydantic_schema: Any
    args_only: bool = True

    def __init__(self, **values: Any) -> None:
        several = isinstance(values.get("pydantic_schema"), Mapping)
        super().__init__(**{"args_only": not several, **values})
        if several and self.args_only:
            raise InvalidValueError(
                "args_only=True with models by the names of functions: the name is needed to "
                "choose one. Leave args_only out, or give one model."
            )

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """An instance of the model.

        Raises:
            OutputParserException: There is no function call, or one of an unknown function.
            ValidationError: The arguments are not what the model expects.
        """
        call = _call_of(self, result)
        model = self._model(call)
        arguments = call["arguments"]
        read = getattr(model, "model_validate_json", None) or model.parse_raw  # pydantic 1
        try:
            return read(arguments)
        except ValueError as error:
            called = f"a call of {call.get('name')!r}"
            error.add_note(f"These were the arguments of {called}: {_shown(arguments)}.")
            raise

    def _model(self, call: Mapping[str, Any]) -> Any:
        if not isinstance(self.pydantic_schema, Mapping):
            return self.pydantic_schema
        models = cast("Mapping[str, Any]", self.pydantic_schema)
        name = str(call.get("name"))
        if name not in models:
            known = ", ".join(repr(one) for one in models)
            raise UnexpectedCallError(f"The model called {name!r}. Known functions: {known}.")
        return models[name]


class PydanticAttrOutputFunctionsParser(PydanticOutputFunctionsParser):
    """One attribute of what `PydanticOutputFunctionsParser` gives.

    Args:
        attr_name: The attribute's name.
        values: The fields of `PydanticOutputFunctionsParser`.
    """

    attr_name: str

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The attribute of the instance."""
        return getattr(super().parse_result(result), self.attr_name)


def _call_of(parser: Any, result: list[Any]) -> Mapping[str, Any]:
    message = _message_of(parser, result[0])
    call = message.additional_kwargs.get("function_call")
    if call is None:
        raise OutputParserException(
            f"{parser.get_name()} found no additional_kwargs['function_call'] in the message. Tool "
            "calls are read by the parsers of plait.output_parsers.openai_tools.",
            llm_output=str(message.content),
        )
    return call


def _message_of(parser: Any, generation: Any) -> Any:
    if not isinstance(generation, ChatGeneration):
        raise OutputParserException(
            f"{parser.get_name()} expects a message of a chat model; received the text "
            f"{_shown(generation.text)}.",
            llm_output=generation.text,
        )
    return generation.message


def _shown(value: Any) -> str:
    return repr(value)[:200]


__all__ = [
    "JsonKeyOutputFunctionsParser",
    "JsonOutputFunctionsParser",
    "OutputFunctionsParser",
    "PydanticAttrOutputFunctionsParser",
    "PydanticOutputFunctionsParser",
    "UnexpectedCallError",
]
