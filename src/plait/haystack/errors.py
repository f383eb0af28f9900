"""Errors of components, under Haystack's names."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from plait.errors import (
    GraphError,
    InvalidInputError,
    InvalidValueError,
    RunError,
    StorageError,
    ToolDefinitionError,
)

if TYPE_CHECKING:
    from plait.haystack.breakpoints import AgentSnapshot, PipelineSnapshot


class ComponentError(GraphError, TypeError):
    """A class cannot be a component, or a component was given something else than data."""


class NoGeneratorError(InvalidInputError, AttributeError):
    """What an agent is to ask is no chat generator, and no chat model."""


class SerializationError(GraphError):
    """Something cannot be written as plain data."""


class DeserializationError(StorageError):
    """Plain data is damaged, or names something that the registry does not know."""


_UNTOLD = frozenset({AttributeError, KeyError, TypeError, ValueError})
"""What Python raises of data that is not what it should be; ours are of other classes."""


@contextmanager
def reading(
    kind: type, raises: Callable[[str], Exception] = DeserializationError
) -> Generator[None]:
    """Read an object of a class from plain data; say so if the data does not fit.

    Raises:
        DeserializationError: It does not (or what `raises` makes of it).

    >>> with reading(dict):
    ...     {}["a"]
    Traceback (most recent call last):
    plait.haystack.errors.DeserializationError: The data is not that of dict: KeyError('a')
    """
    try:
        yield
    except Exception as error:
        if type(error) not in _UNTOLD:
            raise
        text = f"The data is not that of {kind.__name__}: {error!r:.300}"
        raise raises(text) from error


def reading_part(kind: type) -> AbstractContextManager[None]:
    """The same for what messages, chunks and breakpoints are made of.

    Raises:
        InvalidValueError: The data does not fit.

    >>> with reading_part(dict):
    ...     {}["a"]
    Traceback (most recent call last):
    plait.errors.InvalidValueError: The data is not that of dict: KeyError('a')
    """
    return reading(kind, InvalidValueError)


class PipelineInvalidPipelineSnapshotError(StorageError):
    """A snapshot does not say what a run needs to go on from it."""


class SchemaGenerationError(ToolDefinitionError):
    """A function's parameters have no JSON schema."""


def unresolved(owner: str, parameter: str, hint: str) -> str:
    """What is wrong with a parameter whose type names what does not exist."""
    return (
        f"Failed to create JSON schema for {owner!r}: the type of its parameter {parameter!r}, "
        f"{hint!r}, cannot be resolved. It must exist in the module (not only under TYPE_CHECKING, "
        "nor only inside a function); or let the state fill the parameter (inputs_from_state=)."
    )


class ToolInvocationError(RunError):
    """A tool's function failed.

    Args:
        message: What happened.
        tool_name: Which tool.
    """

    def __init__(self, message: str, tool_name: str) -> None:
        super().__init__(message)
        self.tool_name = tool_name


class ToolInvokerError(RunError):
    """A tool call could not be answered."""


class ToolNotFoundException(ToolInvokerError):
    """The model calls a tool that there is not."""

    def __init__(self, tool_name: str, available_tools: list[str]) -> None:
        known = ", ".join(available_tools)
        super().__init__(f"Tool '{tool_name}' not found. Available tools: {known}")


class ToolOutputMergeError(ToolInvokerError):
    """A tool's result cannot be put into the state."""

    @classmethod
    def from_exception(cls, tool_name: str, error: Exception) -> ToolOutputMergeError:
        """The error of a tool whose result could not be merged, since `error` was raised.

        >>> str(ToolOutputMergeError.from_exception("search", ValueError("no")))
        'Failed to merge tool outputs from tool search into State: no'
        """
        return cls(f"Failed to merge tool outputs from tool {tool_name} into State: {error}")


class StringConversionError(ToolOutputMergeError):
    """A tool's result cannot be turned into text for the model. (Raised, Haystack's invoker calls
    it a `ToolOutputMergeError`.)"""

    def __init__(self, tool_name: str, conversion_function: str, error: Exception) -> None:
        super().__init__(
            f"Failed to convert tool result from tool {tool_name} using '{conversion_function}'. "
            f"Error: {error}"
        )


class PipelineRuntimeError(RunError):
    """A component of an agent failed. What it raised is the `__cause__`.

    Args:
        component_name: "chat_generator" or "tool_invoker".
        component_type: Its class.
        message: What happened.
        pipeline_snapshot: The agent right before it, to resume from; None if it cannot be written.
        pipeline_snapshot_file_path: Where that was written.
    """

    def __init__(
        self,
        component_name: str | None,
        component_type: type | None,
        message: str,
        pipeline_snapshot: PipelineSnapshot | None = None,
        *,
        pipeline_snapshot_file_path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.component_name = component_name
        self.component_type = component_type
        self.pipeline_snapshot = pipeline_snapshot
        self.pipeline_snapshot_file_path = pipeline_snapshot_file_path

    @classmethod
    def from_exception(
        cls, component_name: str, component_type: type, error: Exception
    ) -> PipelineRuntimeError:
        """The error of a component that failed; raise it `from` what the component raised.

        >>> PipelineRuntimeError.from_exception("ranker", dict, ValueError("no")).component_name
        'ranker'
        """
        text = _text("failed to run", component_name, component_type, f"Error: {error}")
        return cls(component_name, component_type, text)

    @classmethod
    def from_invalid_output(
        cls, component_name: str, component_type: type, output: Any
    ) -> PipelineRuntimeError:
        """The error of a component that gave something else than a dict."""
        more = (
            f"Expected a dictionary, but got {type(output).__name__} instead.\n"
            "Check the component's output and ensure it is a valid dictionary."
        )
        text = _text("returned an invalid output", component_name, component_type, more)
        return cls(component_name, component_type, text)


def _text(happened: str, component_name: str, component_type: type, more: str) -> str:
    return (
        f"The following component {happened}:\nComponent name: '{component_name}'\n"
        f"Component type: '{component_type.__name__}'\n{more}"
    )


class BreakpointException(RunError):
    """A run has come to a breakpoint.

    Args:
        message: Which one.
        component: Before which component it stands.
        pipeline_snapshot: Where it stands, to inspect, edit and resume from.
        pipeline_snapshot_file_path: The file that holds it, if one was asked for.
    """

    def __init__(
        self,
        message: str,
        component: str | None = None,
        pipeline_snapshot: PipelineSnapshot | None = None,
        pipeline_snapshot_file_path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.component = component
        self.pipeline_snapshot = pipeline_snapshot
        self.pipeline_snapshot_file_path = pipeline_snapshot_file_path

    @property
    def inputs(self) -> dict[str, Any] | None:
        """What the agent's components are about to be given, as plain data."""
        agent = self._agent
        return None if agent is None else agent.component_inputs

    @property
    def results(self) -> dict[str, Any] | None:
        """The agent's state, as plain data."""
        agent = self._agent
        return None if agent is None else agent.results

    @property
    def _agent(self) -> AgentSnapshot | None:
        return None if self.pipeline_snapshot is None else self.pipeline_snapshot.agent_snapshot


__all__ = [
    "BreakpointException",
    "ComponentError",
    "DeserializationError",
    "PipelineInvalidPipelineSnapshotError",
    "PipelineRuntimeError",
    "SchemaGenerationError",
    "SerializationError",
    "StringConversionError",
    "ToolInvocationError",
    "ToolInvokerError",
    "ToolNotFoundException",
    "ToolOutputMergeError",
    "reading",
    "reading_part",
    "unresolved",
]
