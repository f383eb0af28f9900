"""Structured responses of an agent: which strategies it knows, and how answers are read."""

from collections.abc import Mapping, Sequence
from typing import Any, Union, cast

from plait.agents.middleware.requests import ModelResponse
from plait.agents.structured_output import (
    AutoStrategy,
    MultipleStructuredOutputsError,
    OutputToolBinding,
    ProviderStrategy,
    ProviderStrategyBinding,
    StructuredOutputError,
    StructuredOutputValidationError,
    ToolStrategy,
    own_strategy,
    strategy_for,
)
from plait.errors import ConfigError
from plait.messages import ToolMessage
from plait.messages.calls import ENDS_EARLY


class Responses:
    """The structured responses of one agent.

    Args:
        response_format: A strategy, a schema, or None.

    Raises:
        ConfigError: It is none of these.
    """

    def __init__(self, response_format: Any) -> None:
        response_format = _strategy_of(response_format)
        self.format: Any = response_format
        """The strategy of the agent."""
        specs: list[Any] = []
        if isinstance(response_format, AutoStrategy):
            specs = ToolStrategy(cast("AutoStrategy[Any]", response_format).schema).schema_specs
        elif isinstance(response_format, ToolStrategy):
            specs = cast("ToolStrategy[Any]", response_format).schema_specs
        self.tools: Mapping[str, OutputToolBinding[Any]] = {
            one.name: OutputToolBinding.from_schema_spec(one) for one in specs
        }
        """The tools by which a model can answer."""

    def type(self) -> Any:
        """The type of the responses."""
        if isinstance(self.format, ProviderStrategy):
            schemas = [cast("ProviderStrategy[Any]", self.format).schema_spec]
        else:
            schemas = [one.spec for one in self.tools.values()]
        kinds = [dict if one.schema_kind == "json_schema" else one.schema for one in schemas]
        return Union[(*kinds, None)] if kinds else Any

    def strategy(self, given: Any, model: Any, tools: Sequence[Any]) -> Any:
        """The strategy of a request, decided for its model and the tools that it is given.

        Raises:
            ConfigError: It is none, or has a tool that the agent does not know.
        """
        strategy = strategy_for(_strategy_of(given), model, tools)
        if isinstance(strategy, ToolStrategy):
            for spec in cast("ToolStrategy[Any]", strategy).schema_specs:
                if spec.name not in self.tools:
                    raise ConfigError(
                        f"The request's ToolStrategy has the tool {spec.name!r}, which is not of "
                        "the agent's response_format. Give create_agent a ToolStrategy of a union "
                        "of all schemas that middleware chooses from."
                    )
        return cast("Any", strategy)

    def tools_of(self, strategy: Any) -> list[Any]:
        """The tools by which the model is to answer."""
        if not isinstance(strategy, ToolStrategy):
            return []
        specs = cast("ToolStrategy[Any]", strategy).schema_specs
        return [self.tools[one.name].tool for one in specs]

    def provider_kwargs(self, strategy: Any) -> dict[str, Any]:
        """What is bound to the model if its provider is to hold it to a schema."""
        return strategy.to_model_kwargs() if isinstance(strategy, ProviderStrategy) else {}

    def read(self, message: Any, strategy: Any) -> ModelResponse[Any]:
        """The response that a message of the model's amounts to.

        Raises:
            StructuredOutputError: It does not fit, and the strategy does not tell the model so.
        """
        if isinstance(strategy, ToolStrategy):
            return self._called(message, cast("ToolStrategy[Any]", strategy))
        if isinstance(strategy, ProviderStrategy) and not message.tool_calls:
            spec = cast("ProviderStrategy[Any]", strategy).schema_spec
            try:
                value = ProviderStrategyBinding.from_schema_spec(spec).parse(message)
            except ValueError as error:
                raise StructuredOutputValidationError(spec.name, error, message) from error
            return ModelResponse([message], value)
        return ModelResponse([message])

    def _called(self, message: Any, strategy: ToolStrategy[Any]) -> ModelResponse[Any]:
        """The response of a message that answers by calling a tool; its call is answered too."""
        names = {one.name for one in strategy.schema_specs}
        calls = [one for one in message.tool_calls if one["name"] in names]
        if not calls:  # nothing can answer a call without an id
            unread = [one for one in message.invalid_tool_calls if one["id"] is not None]
            calls = [one for one in unread if one["name"] in names]
        if not calls:
            return ModelResponse([message])
        try:
            if len(calls) > 1:
                raise MultipleStructuredOutputsError([one["name"] for one in calls], message)
            value = self._parsed(calls[0], message)
        except StructuredOutputError as error:
            told = strategy.told(error)
            if told is None:
                raise
            return ModelResponse([message, *(_answer(one, told) for one in calls)])
        told = strategy.tool_message_content or f"Returning structured response: {value}"
        return ModelResponse([message, _answer(calls[0], told)], value)

    def _parsed(self, call: Any, message: Any) -> Any:
        try:
            if not isinstance(call["args"], dict):
                raise ValueError(f"{call['args']!r:.300} cannot be read. {ENDS_EARLY}")
            return self.tools[call["name"]].parse(call["args"])
        except ValueError as error:
            raise StructuredOutputValidationError(call["name"], error, message) from error


def _strategy_of(given: Any) -> Any:
    """A response format as a strategy: a schema is left to the model's provider where it can be."""
    given = own_strategy(given)
    strategies = (ToolStrategy, ProviderStrategy, AutoStrategy)
    if given in strategies:
        name = cast("type[Any]", given).__name__
        raise ConfigError(
            f"response_format={name} is a class, without a schema. Write {name}(YourSchema)."
        )
    if given is None or isinstance(given, strategies):
        return cast("Any", given)
    return AutoStrategy(given)


def _answer(call: Any, told: str) -> ToolMessage:
    read = call.get("type") != "invalid_tool_call"
    status = "success" if read else "error"
    return ToolMessage(told, tool_call_id=call["id"], name=call["name"], status=status)


__all__ = ["Responses"]
