"""What goes into a call of an agent's model, and what comes out of it, as middleware sees them."""

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias
from warnings import warn

from typing_extensions import TypeVar

from plait.agents.middleware.state import AgentState, ResponseT
from plait.errors import ConfigError
from plait.messages import AIMessage, BaseMessage, SystemMessage
from plait.messages.foreign import kind_of
from plait.runtime import Runtime
from plait.types import Command

ContextT = TypeVar("ContextT", default=None)
"""The type of the runtime's context."""


def system_message_of(prompt: Any) -> Any:
    """The system message that a prompt is: a text, content blocks, or such a message already.

    >>> system_message_of([{"type": "text", "text": "Be kind."}]).text
    'Be kind.'
    """
    return prompt if kind_of(prompt) == "system" else SystemMessage(prompt)


@dataclass(init=False)
class ModelRequest(Generic[ContextT]):
    """One call of the model, which middleware may change before it is made.

    A request is not changed in place: `override` gives a changed copy.

    Args:
        model: The chat model, without tools.
        messages: The conversation, without the system message.
        system_message: What is put before it (a text or content blocks become such a message).
        system_prompt: The same as a text or content blocks.
        tool_choice: Which tool the model has to call, in its provider's terms.
        tools: The tools that it may call: tools, and dicts of the provider's own.
        response_format: The strategy of the structured response, if there is to be one.
        state: The state of the agent.
        runtime: The runtime of the agent's node.
        model_settings: More arguments of the call, such as `temperature`.

    Raises:
        ConfigError: Both `system_message` and `system_prompt` are given.

    >>> request = ModelRequest(model=None, messages=[], system_prompt="Be kind.")
    >>> request.override(system_message=SystemMessage("Be brief.")).system_prompt
    'Be brief.'
    """

    model: Any
    messages: list[Any]
    system_message: SystemMessage | None
    tool_choice: Any
    tools: list[Any]
    response_format: Any
    state: AgentState[Any]
    runtime: Runtime[ContextT]
    model_settings: dict[str, Any]

    def __init__(
        self,
        *,
        model: Any,
        messages: list[Any],
        system_message: SystemMessage | str | list[Any] | None = None,
        system_prompt: str | list[Any] | None = None,
        tool_choice: Any = None,
        tools: list[Any] | None = None,
        response_format: Any = None,
        state: Any = None,
        runtime: Any = None,
        model_settings: dict[str, Any] | None = None,
    ) -> None:
        if system_prompt is not None:
            if system_message is not None:
                raise ConfigError(
                    "Cannot specify both system_prompt and system_message: give one of them."
                )
            system_message = SystemMessage(system_prompt)
        elif isinstance(system_message, str | list):
            system_message = SystemMessage(system_message)
        self.__dict__.update(
            model=model,
            messages=messages,
            system_message=system_message,
            tool_choice=tool_choice,
            tools=[] if tools is None else tools,
            response_format=response_format,
            state={"messages": []} if state is None else state,
            runtime=runtime,
            model_settings={} if model_settings is None else model_settings,
        )

    @property
    def system_prompt(self) -> str | None:
        """The text of the system message."""
        return None if self.system_message is None else self.system_message.text

    def override(self, **overrides: Any) -> "ModelRequest[ContextT]":
        """A copy with some arguments replaced.

        Args:
            **overrides: Arguments of `ModelRequest`, by name.

        Raises:
            ConfigError: Both `system_message` and `system_prompt` are given.
            TypeError: An argument is unknown.
        """
        given: dict[str, Any] = {**vars(self), **overrides}
        if "system_prompt" in overrides and "system_message" not in overrides:
            given["system_message"] = None
        return ModelRequest(**given)

    def __setattr__(self, name: str, value: Any) -> None:
        better = "system_message=SystemMessage(...)" if name == "system_prompt" else f"{name}=..."
        warn(
            f"Assigning to ModelRequest.{name} is deprecated: other middleware may hold the same "
            f"request. Use request.override({better}), which gives a changed copy.",
            DeprecationWarning,
            stacklevel=2,
        )
        if name == "system_prompt":
            name, value = "system_message", None if value is None else SystemMessage(value)
        self.__dict__[name] = value


@dataclass
class ModelResponse(Generic[ResponseT]):
    """What a call of the model gave.

    >>> ModelResponse([AIMessage("Hello.")]).structured_response is None
    True
    """

    result: list[BaseMessage]
    """The model's message; and, where it answered by a tool call, the ToolMessage to that."""
    structured_response: ResponseT | None = None
    """The answer in the form of the schema."""


@dataclass
class ExtendedModelResponse(Generic[ResponseT]):
    """What a call of the model gave, and an update of the state besides.

    The update is written after the model's, through the reducers of the state. If several
    middlewares give one, those of outer ones are written last.
    """

    model_response: ModelResponse[ResponseT]
    command: Command[Any] | None = None


ModelCallResult: TypeAlias = ModelResponse[ResponseT] | AIMessage | ExtendedModelResponse[ResponseT]
"""What `wrap_model_call` may return."""


__all__ = [
    "ContextT",
    "ExtendedModelResponse",
    "ModelCallResult",
    "ModelRequest",
    "ModelResponse",
    "system_message_of",
]
