"""How an agent's model answers in the form of a schema: by calling a tool, or by its provider.

A schema is a pydantic class, a dataclass, a TypedDict or a JSON schema. Instances of the first two
come out, and checked dicts of a TypedDict; the dict that answers a JSON schema is not checked.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
)

from typing_extensions import TypeVar, is_typeddict

from plait.agents.native_schemas import holds_to_schemas
from plait.errors import ConfigError, ModelError
from plait.messages import AIMessage
from plait.tools.structured import StructuredTool

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SchemaT = TypeVar("SchemaT", default=Any)
SchemaKind = Literal["pydantic", "dataclass", "typeddict", "json_schema"]
ErrorHandler: TypeAlias = (
    bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], str]
)
"""See `ToolStrategy`."""


class StructuredOutputError(ModelError):
    """A model's answer is not in the form that was asked for."""

    is_retryable = True
    ai_message: AIMessage
    """The answer."""


class MultipleStructuredOutputsError(StructuredOutputError):
    """A model gave several structured responses in one message.

    Args:
        tool_names: The tools that it called for them.
        ai_message: The message.
    """

    def __init__(self, tool_names: list[str], ai_message: AIMessage) -> None:
        self.tool_names = tool_names
        self.ai_message = ai_message
        super().__init__(
            f"Model incorrectly returned multiple structured responses ({', '.join(tool_names)}) "
            "when only one is expected."
        )


class StructuredOutputValidationError(StructuredOutputError):
    """A model's structured response does not fit its schema.

    Args:
        tool_name: The name of the schema.
        source: What is wrong.
        ai_message: The message with the response.
    """

    def __init__(self, tool_name: str, source: Exception, ai_message: AIMessage) -> None:
        self.tool_name = tool_name
        self.source = source
        self.ai_message = ai_message
        super().__init__(f"Failed to parse structured output for tool '{tool_name}': {source}.")


@dataclass(init=False)
class SchemaSpec(Generic[SchemaT]):
    """One schema, in all its forms.

    Args:
        schema: The schema, as it was given.
        strict: Whether the provider is to hold the model to it.

    Raises:
        ConfigError: It is no schema.
    """

    schema: Any
    name: str
    """What a model is told that it is called."""
    description: str
    schema_kind: SchemaKind
    json_schema: dict[str, Any]
    strict: bool | None = None

    def __init__(self, schema: Any, *, strict: bool | None = None) -> None:
        self.schema = schema
        self.schema_kind = _kind_of(schema)
        self._adapter: TypeAdapter[Any] | None = None
        if self.schema_kind == "json_schema":
            self.json_schema = cast("dict[str, Any]", schema)
            self.name = str(self.json_schema.get("title", UNNAMED))
        else:
            self._adapter = _adapter(schema)
            self.json_schema = self._adapter.json_schema()
            self.name = schema.__name__
        self.description = self.json_schema.get("description", "")
        self.strict = strict

    def parse(self, data: Any) -> Any:
        """A value of the schema, from plain data.

        Raises:
            ValueError: The data does not fit.
        """
        if self._adapter is None:
            return data
        try:
            return self._adapter.validate_python(data)
        except ValueError as error:  # what pydantic's ValidationError is
            raise ValueError(f"Failed to parse data to {self.name}: {error}") from error


UNNAMED = "response_format"
"""The name of a JSON schema without a title."""


@dataclass(init=False)
class ToolStrategy(Generic[SchemaT]):
    """The model answers by calling a tool whose arguments are the response.

    Args:
        schema: The schema; or a union of several, of which the model chooses one (of JSON schemas:
            `{"oneOf": [...]}`).
        tool_message_content: What the model is told when it has answered (by default the response).
        handle_errors: Which errors the model is told, to try again. True: all. A text: all, as this
            text. Exception classes: those. A function of the error: all, as what it returns. False:
            none, they are raised.

    Raises:
        ConfigError: There is something else than a schema, or two schemas have one name.
    """

    schema: Any
    schema_specs: list[SchemaSpec[Any]]
    tool_message_content: str | None
    handle_errors: ErrorHandler

    def __init__(
        self,
        schema: Any,
        *,
        tool_message_content: str | None = None,
        handle_errors: ErrorHandler = True,
    ) -> None:
        self.schema = schema
        self.tool_message_content = tool_message_content
        self.handle_errors = handle_errors
        self.schema_specs = [SchemaSpec(one) for one in _variants(schema)]
        names = [one.name for one in self.schema_specs]
        if len({*names}) < len(names):
            raise ConfigError(
                f"Two schemas of a ToolStrategy have one name ({', '.join(names)}), and a model "
                "tells them apart by name. Give each JSON schema a title."
            )

    def told(self, error: Exception) -> str | None:
        """What the model is told of an error; None: it is not told, so raise the error."""
        handler = self.handle_errors
        if isinstance(handler, str):
            return handler
        if handler is True or _is_kind(handler, error):
            return f"Error: {error}\n Please fix your mistakes."
        if isinstance(handler, (bool, tuple, type)):
            return None
        return handler(error)


@dataclass(init=False)
class ProviderStrategy(Generic[SchemaT]):
    """The model's provider holds its answer to the schema; the response is read from the text.

    Args:
        schema: The schema.
        strict: Whether the provider is asked to be strict, if it makes a difference.

    Raises:
        ConfigError: It is no schema.
    """

    schema: Any
    schema_spec: SchemaSpec[Any]

    def __init__(self, schema: Any, *, strict: bool | None = None) -> None:
        self.schema = schema
        self.schema_spec = SchemaSpec(schema, strict=strict)

    def to_model_kwargs(self) -> dict[str, Any]:
        """The arguments to bind to the model."""
        described: dict[str, Any] = {
            "name": self.schema_spec.name,
            "schema": self.schema_spec.json_schema,
        }
        if self.schema_spec.strict:
            described["strict"] = True
        return {"response_format": {"type": "json_schema", "json_schema": described}}


class AutoStrategy(Generic[SchemaT]):
    """A `ProviderStrategy` where the model's provider can do it, else a `ToolStrategy`.

    Args:
        schema: The schema.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def __repr__(self) -> str:
        return f"AutoStrategy(schema={self.schema!r})"


ResponseFormat: TypeAlias = (
    ToolStrategy[SchemaT] | ProviderStrategy[SchemaT] | AutoStrategy[SchemaT]
)
"""What `create_agent(response_format=...)` takes, besides a bare schema."""


@dataclass
class OutputToolBinding(Generic[SchemaT]):
    """A schema as a tool that a model may call."""

    schema: Any
    schema_kind: SchemaKind
    tool: Any
    spec: SchemaSpec[Any] = field(repr=False)

    @classmethod
    def from_schema_spec(cls, schema_spec: SchemaSpec[Any]) -> "OutputToolBinding[SchemaT]":
        """The tool of a schema."""
        tool = StructuredTool(
            name=schema_spec.name,
            description=schema_spec.description,
            args_schema=schema_spec.json_schema,
        )
        return cls(schema_spec.schema, schema_spec.schema_kind, tool, schema_spec)

    def parse(self, tool_args: dict[str, Any]) -> Any:
        """The response, from the arguments of the call.

        Raises:
            ValueError: They do not fit the schema.
        """
        return self.spec.parse(tool_args)


@dataclass
class ProviderStrategyBinding(Generic[SchemaT]):
    """Reads a response from the text of a message."""

    schema: Any
    schema_kind: SchemaKind
    spec: SchemaSpec[Any] = field(repr=False)

    @classmethod
    def from_schema_spec(cls, schema_spec: SchemaSpec[Any]) -> "ProviderStrategyBinding[SchemaT]":
        """The reader of a schema's responses."""
        return cls(schema_spec.schema, schema_spec.schema_kind, schema_spec)

    def parse(self, response: AIMessage) -> Any:
        """The response.

        Raises:
            ValueError: The model refused; the text is no JSON, or does not fit the schema.
        """
        if refusal := response.additional_kwargs.get("refusal"):
            raise ValueError(f"The model refused to answer: {refusal}")
        try:
            data = json.loads(_text_of(response.content))
        except json.JSONDecodeError as error:
            is_cut = response.response_metadata.get("finish_reason") == "length"
            why = ". The answer was cut off by its limit: raise max_tokens" if is_cut else ""
            raise ValueError(
                f"Native structured output expected valid JSON for {self.spec.name}, but parsing "
                f"failed: {error}{why}"
            ) from error
        return self.spec.parse(data)


def _text_of(content: Any) -> str:
    """The text of a message: of its blocks, also of those that hold it as their content."""
    if isinstance(content, str):
        return content
    parts: list[Any] = []
    for block in cast("list[Any]", content):
        known = cast("dict[str, Any]", block) if isinstance(block, dict) else {"text": block}
        parts.append(known.get("text", known.get("content")))
    return "".join(part for part in parts if isinstance(part, str))


def own_strategy(given: Any) -> Any:
    """A strategy of LangChain's as plait's; anything else as it is."""
    kind = given.__class__
    if kind.__module__ != "langchain.agents.structured_output":
        return given
    if kind.__name__ == "ToolStrategy":
        told, errors = given.tool_message_content, given.handle_errors
        return ToolStrategy(given.schema, tool_message_content=told, handle_errors=errors)
    if kind.__name__ == "ProviderStrategy":
        return ProviderStrategy(given.schema, strict=given.schema_spec.strict)
    return AutoStrategy(given.schema) if kind.__name__ == "AutoStrategy" else given


def strategy_for(response_format: Any, model: Any, tools: Sequence[Any] = ()) -> Any:
    """The strategy that a response format means for a model.

    Args:
        response_format: A strategy, or None.
        model: A chat model: whether its provider can do it, its `profile` says, or its name.
        tools: What else the model is given; some providers take either.
    """
    if not isinstance(response_format, AutoStrategy):
        return response_format
    schema = cast("AutoStrategy[Any]", response_format).schema
    fits = len(list(_variants(schema))) == 1 and holds_to_schemas(model, tools)
    return ProviderStrategy(schema) if fits else ToolStrategy(schema)


def _kind_of(schema: Any) -> SchemaKind:
    if isinstance(schema, dict):
        return "json_schema"
    if isinstance(schema, type):
        kind = cast("type[Any]", schema)
        if hasattr(kind, "model_validate"):
            return "pydantic"
        if is_dataclass(kind):
            return "dataclass"
        if is_typeddict(kind):
            return "typeddict"
    raise ConfigError(
        f"Unsupported schema type: {schema!r}. A response_format is a pydantic class, a dataclass, "
        "a TypedDict, a JSON schema, or a strategy with one of these."
    )


def _variants(schema: Any) -> Iterator[Any]:
    """The schemas of a union; a schema itself."""
    if get_origin(schema) in (Union, UnionType):
        for one in get_args(schema):
            yield from _variants(one)
    elif isinstance(schema, dict) and "oneOf" in schema:
        for one in cast("dict[str, Any]", schema)["oneOf"]:
            yield from _variants(one)
    else:
        yield schema


def _adapter(schema: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # heavy, and only structured responses need it

    return TypeAdapter(schema)


def _is_kind(handler: Any, error: Exception) -> bool:
    kinds = cast("tuple[Any, ...]", handler if isinstance(handler, tuple) else (handler,))
    return all(isinstance(one, type) for one in kinds) and isinstance(error, kinds)


__all__ = [
    "AutoStrategy",
    "MultipleStructuredOutputsError",
    "OutputToolBinding",
    "ProviderStrategy",
    "ProviderStrategyBinding",
    "ResponseFormat",
    "SchemaKind",
    "SchemaSpec",
    "StructuredOutputError",
    "StructuredOutputValidationError",
    "ToolStrategy",
    "own_strategy",
    "strategy_for",
]
