"""`RunnableBinding`: a runnable with keyword arguments, a config or types of its own."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from plait.objects.model_face import ComparedFields
from plait.runnables.base import Input, Output, Runnable, coerce_to_runnable
from plait.runnables.config import (
    RunnableConfig,
    get_config_list,
    merge_configs,
    with_entries,
)
from plait.runnables.passed_on import is_method, under_config

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.drawing import Graph
    from plait.runnables.fields import ConfigurableFieldSpec

Configs = RunnableConfig | Sequence[RunnableConfig] | None


class RunnableBindingBase(ComparedFields, Runnable[Input, Output]):
    """What all have in common that pass calls on to one runnable.

    Args:
        bound: The runnable.
        kwargs: Keyword arguments for each call; the call's own win.
        config: United with the caller's config (see `merge_configs`).
        config_factories: Called with the config of each call; their results are united with it.
        custom_input_type: In place of the runnable's, in schemas.
        custom_output_type: Likewise.
        name: The name that handlers see, where the binding has runs of its own.
    """

    __plait_fields__ = (
        *("name", "bound", "kwargs", "config", "config_factories"),
        *("custom_input_type", "custom_output_type"),
    )

    def __init__(
        self,
        bound: Any,
        *,
        kwargs: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        config_factories: Sequence[Callable[[RunnableConfig], RunnableConfig]] = (),
        custom_input_type: Any = None,
        custom_output_type: Any = None,
        name: str | None = None,
    ) -> None:
        self.bound: Runnable[Input, Output] = coerce_to_runnable(bound)
        self.kwargs: dict[str, Any] = dict(kwargs or {})
        self.config: RunnableConfig = dict(config or {})
        self.config_factories = list(config_factories)
        self.custom_input_type = custom_input_type
        self.custom_output_type = custom_output_type
        self.name = name

    def __getattr__(self, name: str) -> Any:
        # What the binding does not have is asked of the runnable itself (`model.bind(..).profile`).
        if name.startswith("_") or name == "bound":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self.bound, name)
        return under_config(value, self._united) if is_method(value) else value

    def _united(self, config: RunnableConfig | None) -> RunnableConfig:
        return merge_configs(self.config, config)

    def _changed(self, **changes: Any) -> Any:
        """The same with other arguments."""
        return type(self)(**{**self._arguments(), **changes})

    def _arguments(self) -> dict[str, Any]:
        return {
            "bound": self.bound,
            "kwargs": self.kwargs,
            "config": self.config,
            "config_factories": self.config_factories,
            "custom_input_type": self.custom_input_type,
            "custom_output_type": self.custom_output_type,
            "name": self.name,
        }

    # --- what it says about itself ---------------------------------------------------------------

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name of the bound runnable."""
        return self.bound.get_name(suffix, name=name or self.name)

    @property
    def InputType(self) -> Any:
        """The custom one, else that of the bound runnable."""
        return self.bound.InputType if self.custom_input_type is None else self.custom_input_type

    @property
    def OutputType(self) -> Any:
        """The custom one, else that of the bound runnable."""
        return self.bound.OutputType if self.custom_output_type is None else self.custom_output_type

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Of the custom type, else that of the bound runnable."""
        if self.custom_input_type is not None:
            return super().get_input_schema(config)
        return self.bound.get_input_schema(merge_configs(self.config, config))

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """Of the custom type, else that of the bound runnable."""
        if self.custom_output_type is not None:
            return super().get_output_schema(config)
        return self.bound.get_output_schema(merge_configs(self.config, config))

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in the bound runnable."""
        return self.bound.config_specs

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graph of the bound runnable."""
        return self.bound.get_graph(self._config(config))

    # --- calls -----------------------------------------------------------------------------------

    def _config(self, config: RunnableConfig | None) -> RunnableConfig:
        merged = merge_configs(self.config, config)
        if not self.config_factories:
            return merged
        return merge_configs(merged, *(factory(merged) for factory in self.config_factories))

    def _configs(self, config: Configs, count: int) -> Any:
        if self.config_factories:  # what they make (the handler of listeners) is for one run each
            return [self._config(one) for one in get_config_list(config, count)]
        if config is None or isinstance(config, Mapping):
            return self._config(config)
        return [self._config(one) for one in config]

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Invoke the bound runnable."""
        return self.bound.invoke(input, self._config(config), **{**self.kwargs, **kwargs})

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke the bound runnable."""
        return await self.bound.ainvoke(input, self._config(config), **{**self.kwargs, **kwargs})

    def batch(
        self,
        inputs: Sequence[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """Batch the bound runnable."""
        kwargs = {**self.kwargs, **kwargs, "return_exceptions": return_exceptions}
        return self.bound.batch(inputs, self._configs(config, len(inputs)), **kwargs)

    async def abatch(
        self,
        inputs: Sequence[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """Batch the bound runnable."""
        kwargs = {**self.kwargs, **kwargs, "return_exceptions": return_exceptions}
        return await self.bound.abatch(inputs, self._configs(config, len(inputs)), **kwargs)

    def batch_as_completed(
        self,
        inputs: Sequence[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> Iterator[tuple[int, Any]]:
        """Batch the bound runnable."""
        kwargs = {**self.kwargs, **kwargs, "return_exceptions": return_exceptions}
        return self.bound.batch_as_completed(inputs, self._configs(config, len(inputs)), **kwargs)

    def abatch_as_completed(
        self,
        inputs: Sequence[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> AsyncIterator[tuple[int, Any]]:
        """Batch the bound runnable."""
        kwargs = {**self.kwargs, **kwargs, "return_exceptions": return_exceptions}
        return self.bound.abatch_as_completed(inputs, self._configs(config, len(inputs)), **kwargs)

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Stream the bound runnable."""
        return self.bound.stream(input, self._config(config), **{**self.kwargs, **kwargs})

    def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Stream the bound runnable."""
        kwargs = {**self.kwargs, **kwargs}
        return self.bound.astream(input, self._config(config), **kwargs)

    def stream_events(
        self,
        input: Input,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v1", "v2", "v3"] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Those of the bound runnable; of "v2", if neither the call nor what is bound says more."""
        asked, given = self._version(version, kwargs)
        return self.bound.stream_events(input, self._config(config), version=asked, **given)

    def _version(self, version: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The version of the events that is asked for, and the other arguments."""
        given = {**self.kwargs, **kwargs}
        bound = given.pop("version", None)
        return version or bound or "v2", given

    def astream_events(
        self,
        input: Input,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v1", "v2", "v3"] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Those of `Runnable`; version "v3" of the bound runnable."""
        asked, given = self._version(version, kwargs)
        if asked != "v3":
            return super().astream_events(input, config, version=asked, **kwargs)
        bound = cast("Any", self.bound)
        return bound.astream_events(input, self._config(config), version=asked, **given)

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Transform with the bound runnable."""
        return self.bound.transform(input, self._config(config), **{**self.kwargs, **kwargs})

    def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Transform with the bound runnable."""
        kwargs = {**self.kwargs, **kwargs}
        return self.bound.atransform(input, self._config(config), **kwargs)


class RunnableBinding(RunnableBindingBase[Input, Output]):
    """A runnable with keyword arguments, a config or types of its own; further ones add to them.

    >>> from plait.runnables import RunnableLambda
    >>> RunnableLambda(lambda text, end: text + end).bind(end="!").invoke("hi")
    'hi!'
    """

    def bind(self, **kwargs: Any) -> Runnable[Input, Output]:
        """The same runnable with more keyword arguments."""
        return self._changed(kwargs={**self.kwargs, **kwargs})

    def with_config(
        self, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Runnable[Input, Output]:
        """The same runnable with more config."""
        return self._changed(config={**self.config, **with_entries(config, kwargs)})

    def with_types(
        self, *, input_type: Any = None, output_type: Any = None
    ) -> Runnable[Input, Output]:
        """The same runnable with other types in its schemas."""
        return self._changed(
            custom_input_type=self.custom_input_type if input_type is None else input_type,
            custom_output_type=self.custom_output_type if output_type is None else output_type,
        )

    def with_retry(self, **kwargs: Any) -> Runnable[Input, Output]:
        """The bound runnable, called again when it fails, with what is bound here."""
        return self._changed(bound=self.bound.with_retry(**kwargs))


__all__ = ["RunnableBinding", "RunnableBindingBase"]
