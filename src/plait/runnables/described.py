"""`Described`: what a runnable says of itself: its name, its types and schemas, what is inside.

The modules that answer are loaded when somebody asks: they need pydantic, or draw.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from plait.runnables.config import RunnableConfig

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.drawing import Graph
    from plait.runnables.fields import ConfigurableFieldSpec


class Described:
    """The side of a `Runnable` that is asked about it, rather than called."""

    __slots__ = ()

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name of the runnable: the given one, its own, else its class's.

        `suffix` is appended in the style of the name (`FooInput`, `foo_input`).
        """
        base = name or getattr(self, "name", None) or type(self).__name__.partition("[")[0]
        if not suffix:
            return base
        return base + suffix.title() if base[0].isupper() else f"{base}_{suffix.lower()}"

    @property
    def InputType(self) -> Any:
        """The type of the input, read from the class's type arguments."""
        return _schemas().type_argument(self, "InputType")

    @property
    def OutputType(self) -> Any:
        """The type of the output, read from the class's type arguments."""
        return _schemas().type_argument(self, "OutputType")

    @property
    def input_schema(self) -> "type[BaseModel]":
        """A pydantic model of the input."""
        return self.get_input_schema()

    @property
    def output_schema(self) -> "type[BaseModel]":
        """A pydantic model of the output."""
        return self.get_output_schema()

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A pydantic model of the input, under a config."""
        return _schemas().model_of(self, "Input", self.InputType)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """A pydantic model of the output, under a config."""
        return _schemas().model_of(self, "Output", self.OutputType)

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """The JSON schema of the input."""
        return self.get_input_schema(config).model_json_schema()

    def get_output_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """The JSON schema of the output."""
        return self.get_output_schema(config).model_json_schema()

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured by `configurable` entries of the config."""
        return []

    def config_schema(self, *, include: Sequence[str] | None = None) -> "type[BaseModel]":
        """A pydantic model of the config that it takes, with the named other keys of a config."""
        return _schemas().config_model(self, include)

    def get_config_jsonschema(self, *, include: Sequence[str] | None = None) -> dict[str, Any]:
        """The JSON schema of the config that it takes."""
        return self.config_schema(include=include).model_json_schema()

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """What is inside, as a graph that can be drawn.

        >>> from plait.runnables import RunnableLambda
        >>> print(RunnableLambda(len).get_graph().draw_mermaid(with_styles=False).count("-->"))
        2
        """
        return _pictures().alone(self, config)

    def get_prompts(self, config: RunnableConfig | None = None) -> list[Any]:
        """The prompt templates inside."""
        return _pictures().prompts_in(self, config)


def _schemas() -> Any:
    return import_module("plait.runnables.schemas")


def _pictures() -> Any:
    return import_module("plait.runnables.pictures")
