"""`ValidationNode`: checks the arguments of tool calls against schemas and runs nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from plait.errors import ToolDefinitionError, ToolInputError
from plait.messages import ToolMessage
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig
from plait.tools import create_schema_from_function
from plait.tools.failures import is_validation_error

FormatError = Callable[[BaseException, Any, Any], str]


def _tell(error: BaseException, call: Any, schema: Any) -> str:
    del call, schema
    return f"{error!r}\n\nRespond after fixing all validation errors."


class ValidationNode(Runnable[Any, Any]):
    """Answers each tool call of the last AI message with its checked arguments, or what is wrong.

    For extraction: a model is asked again until its arguments fit, and no tool runs. A message
    that tells of an error has `additional_kwargs["is_error"]`.

    Args:
        schemas: Pydantic model classes, tools, or functions.
        format_error: What a model is told: a function of the error, the tool call and the schema.
        name: The name of the node.
        tags: Labels of the node.

    Raises:
        ToolDefinitionError: Something is none of these, or a tool has no pydantic schema.

    >>> from pydantic import create_model
    >>> from plait.messages import AIMessage
    >>> call = {"name": "Select", "args": {"number": "7"}, "id": "1"}
    >>> node = ValidationNode([create_model("Select", number=(int, ...))])
    >>> node.invoke([AIMessage("", tool_calls=[call])])
    [ToolMessage(content='{"number":7}', name='Select', tool_call_id='1')]
    """

    def __init__(
        self,
        schemas: Sequence[Any],
        *,
        format_error: FormatError | None = None,
        name: str = "validation",
        tags: list[str] | None = None,
    ) -> None:
        self.name = name
        self.tags = tags
        self._format_error = format_error or _tell
        self.schemas_by_name: dict[str, Any] = dict(map(_schema_of, schemas))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Check the tool calls.

        Raises:
            ToolInputError: The last message is no AI message, or calls a tool without a schema.
        """
        if isinstance(input, list):
            return self._answers(cast("list[Any]", input))
        messages = (
            cast("Mapping[str, Any]", input).get("messages")
            if isinstance(input, Mapping)
            else getattr(input, "messages", None)
        )
        return {"messages": self._answers(messages)}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The same: checking waits for nothing."""
        return self.invoke(input, config, **kwargs)

    def _answers(self, messages: Any) -> list[ToolMessage]:
        if not messages:
            raise ToolInputError(f"No message found in the input of node {self.name!r}.")
        if not hasattr(messages[-1], "tool_calls"):
            raise ToolInputError(
                f"The last message in the input of node {self.name!r} is not an AIMessage, but "
                f"{type(messages[-1]).__name__}."
            )
        return [self._answer(call) for call in messages[-1].tool_calls]

    def _answer(self, call: Any) -> ToolMessage:
        name, call_id = call["name"], cast("str", call["id"])
        schema = self.schemas_by_name.get(name)
        if schema is None:
            raise ToolInputError(
                f"Node {self.name!r} has no schema for the tool call {name!r}, only for "
                f"{', '.join(map(repr, self.schemas_by_name))}."
            )
        try:
            return ToolMessage(_validated(schema, call["args"]), name=name, tool_call_id=call_id)
        except Exception as error:
            if not is_validation_error(error):
                raise
            return ToolMessage(
                self._format_error(error, call, schema),
                name=name,
                tool_call_id=call_id,
                additional_kwargs={"is_error": True},
            )


def _validated(schema: Any, args: Any) -> str:
    """The checked arguments as JSON; of a schema of pydantic's first version, too."""
    if hasattr(schema, "model_validate"):
        return schema.model_validate(args).model_dump_json()
    return json.dumps(schema.validate(args).dict(), ensure_ascii=False)


def _schema_of(given: Any) -> tuple[str, Any]:
    if hasattr(given, "tool_call_schema"):
        schema = given.args_schema
        if not isinstance(schema, type):
            raise ToolDefinitionError(
                f"Tool {given.name!r} has no pydantic model as its args_schema, so a "
                "ValidationNode has nothing to check its arguments with."
            )
        return given.name, schema
    if isinstance(given, type) and hasattr(given, "parse_obj"):
        return given.__name__, given
    if callable(given) and not isinstance(given, type):
        return cast("Any", given).__name__, create_schema_from_function("Validation", given)
    raise ToolDefinitionError(
        f"A ValidationNode takes pydantic model classes, tools and functions, not {given!r}."
    )


__all__ = ["ValidationNode"]
