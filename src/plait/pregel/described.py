"""What a compiled graph says about itself: its nodes, its channels, its schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from warnings import warn

from plait.engine.plan import Channel, GraphPlan, Reads, View
from plait.pregel.by_hand import Names, breakpoints
from plait.pregel.node import PregelNode
from plait.runnables.base import Runnable
from plait.warnings import LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from pydantic import BaseModel


class Described(Runnable[Any, Any]):
    """A compiled graph as far as it can be looked at; `Pregel` adds that it can be called."""

    plan: GraphPlan
    context_schema: Any
    _declared: Mapping[str, PregelNode] | None = None
    """The nodes of a graph made by hand."""

    # --- nodes and channels ----------------------------------------------------------------------

    @property
    def nodes(self) -> Mapping[str, PregelNode]:
        """Its nodes by name. `graph.nodes["x"].invoke(state)` runs the code of one alone."""
        if self._declared is not None:
            return self._declared
        return {name: PregelNode.of(node) for name, node in self.plan.nodes.items()}

    @property
    def channels(self) -> Mapping[str, Channel]:
        """Its channels by name, empty: what they hold is in a thread's state."""
        return self.plan.channels

    @property
    def trigger_to_nodes(self) -> Mapping[str, Sequence[str]]:
        """Channel to the nodes that a write of it lets run."""
        routes = {channel: (node,) for channel, node in self.plan.routes.items()}
        return {**self.plan.readers, **routes}

    @property
    def input_channels(self) -> str | list[str]:
        """The channel that takes the input, or those that take its keys."""
        taken = self.plan.input
        return taken if isinstance(taken, str) else list(taken)

    @property
    def output_channels(self) -> str | list[str]:
        """The channel whose value is the output, or those that are its keys."""
        return _listed(self.plan.output)

    @property
    def stream_channels(self) -> str | list[str]:
        """What streams of values and snapshots show."""
        return _listed(self.plan.stream)

    @property
    def stream_channels_asis(self) -> str | list[str]:
        """`stream_channels`, under the peer's name."""
        return self.stream_channels

    @property
    def stream_channels_list(self) -> list[str]:
        """`stream_channels`, as a list even if it is one."""
        shown = self.stream_channels
        return [shown] if isinstance(shown, str) else shown

    @property
    def interrupt_before_nodes(self) -> str | list[str]:
        """The nodes to stop before ("*": all)."""
        return _names(self.plan.interrupt_before)

    @interrupt_before_nodes.setter
    def interrupt_before_nodes(self, nodes: Names) -> None:
        self.plan = replace(self.plan, interrupt_before=breakpoints(nodes))

    @property
    def interrupt_after_nodes(self) -> str | list[str]:
        """The nodes to stop after ("*": all)."""
        return _names(self.plan.interrupt_after)

    @interrupt_after_nodes.setter
    def interrupt_after_nodes(self, nodes: Names) -> None:
        self.plan = replace(self.plan, interrupt_after=breakpoints(nodes))

    # --- types and schemas -----------------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """The type of the input where one channel takes it, else None."""
        taken = self.plan.input
        return self.plan.channels[taken].UpdateType if isinstance(taken, str) else None

    @property
    def OutputType(self) -> Any:
        """The type of the output where it is one channel's value, else None."""
        output = self.plan.output
        return self.plan.channels[output].ValueType if isinstance(output, str) else None

    def as_output(self, values: Any) -> Any:
        """What calls with `version="v2"` give of the output: an object, where it has a class."""
        return values

    def as_input(self, given: Any) -> Any:
        """What runs that are stored take of an input: an object whose class no schema names may
        not be stored itself."""
        return given

    def as_state(self, values: Any) -> Any:
        """What streams of `version="v2"` give of the state: an object, where it has a class."""
        return values

    def get_input_schema(self, config: Any = None) -> type[BaseModel]:
        """A pydantic model of the input (pydantic is loaded when this is asked)."""
        from plait.pregel import schemas

        return schemas.input_model(self)

    def get_output_schema(self, config: Any = None) -> type[BaseModel]:
        """A pydantic model of the output."""
        from plait.pregel import schemas

        return schemas.output_model(self)

    @property
    def input_schema(self) -> type[BaseModel]:
        """`get_input_schema()`."""
        return self.get_input_schema()

    @property
    def output_schema(self) -> type[BaseModel]:
        """`get_output_schema()`."""
        return self.get_output_schema()

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of the input."""
        return self.get_input_schema().model_json_schema()

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of the output."""
        return self.get_output_schema().model_json_schema()

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """The JSON schema of the run context (None: the graph declares none).

        Raises:
            InvalidGraphError: the context schema is neither a model, a TypedDict nor a dataclass.
        """
        from plait.pregel import schemas

        return schemas.context_json(self)

    def config_schema(self, *, include: Sequence[str] | None = None) -> type[BaseModel]:
        """A pydantic model of the config, as it was before there was a run context (deprecated).

        Args:
            include: entries of a RunnableConfig to show besides `configurable`.
        """
        warn(
            LangGraphDeprecatedSinceV10(
                "`config_schema` is deprecated. Use `get_context_jsonschema` for the relevant "
                "schema instead."
            ),
            stacklevel=2,
        )
        return self._config_model(include)

    def get_config_jsonschema(self, *, include: Sequence[str] | None = None) -> dict[str, Any]:
        """The JSON schema of `config_schema()` (deprecated)."""
        warn(
            LangGraphDeprecatedSinceV10(
                "`get_config_jsonschema` is deprecated. Use `get_context_jsonschema` instead."
            ),
            stacklevel=2,
        )
        return self._config_model(include).model_json_schema()

    def _config_model(self, include: Sequence[str] | None) -> type[BaseModel]:
        from plait.pregel import schemas

        return schemas.config_model(self, include or ())


def _listed(reads: Reads) -> str | list[str]:
    return list(reads.keys) if isinstance(reads, View) else reads


def _names(nodes: frozenset[str] | None) -> str | list[str]:
    return "*" if nodes is None else sorted(nodes)
