"""Runnables that `configurable` entries of the config change: in a field, or altogether."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from plait.errors import ConfigError, InvalidValueError
from plait.objects.model_face import ComparedFields
from plait.runnables.base import Input, Output, Runnable, coerce_to_runnable
from plait.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_config_list,
    merge_configs,
    with_entries,
)
from plait.runnables.fields import (
    AnyConfigurableField,
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    ConfigurableFieldSpec,
    get_unique_config_specs,
)
from plait.runnables.passed_on import given_config, is_method, with_config_argument

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.drawing import Graph

Prepared = tuple[Runnable[Any, Any], RunnableConfig]


class DynamicRunnable(ComparedFields, Runnable[Input, Output]):
    """A runnable that is made anew for each call, from its config.

    Args:
        default: What runs if nothing is configured.
        config: United with the caller's config.
        name: The name of the whole.
    """

    __plait_fields__ = ("name", "default", "config")

    def __init__(
        self, default: Any, *, config: Mapping[str, Any] | None = None, name: str | None = None
    ) -> None:
        self.default: Runnable[Input, Output] = coerce_to_runnable(default)
        self.config: RunnableConfig | None = dict(config) if config else None
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("default", "config"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self.default, name)
        return self._method(name, value) if is_method(value) else value

    def _method(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of the default, called on what the config makes of it."""

        @wraps(method)
        def called(*args: Any, **kwargs: Any) -> Any:
            given = given_config(method, args, kwargs)
            if given is None and not self.config:
                return method(*args, **kwargs)
            runnable, config = self.prepare(given)
            if given is not None:
                args, kwargs = with_config_argument(method, args, kwargs, config)
            return getattr(runnable, name)(*args, **kwargs)

        return called

    def _arguments(self) -> dict[str, Any]:
        return {"default": self.default, "config": self.config, "name": self.name}

    def _made(self, config: RunnableConfig) -> Prepared:
        """What runs under `config`, and the config that it runs under."""
        raise NotImplementedError

    def prepare(self, config: RunnableConfig | None = None) -> Prepared:
        """What runs under `config`, and the config that it runs under."""
        runnable: Runnable[Any, Any] = self
        config = merge_configs(self.config, config) if self.config else ensure_config(config)
        while isinstance(runnable, DynamicRunnable):
            its = cast("DynamicRunnable[Any, Any]", runnable)
            runnable, config = its._made(merge_configs(its.config, config))
        return runnable, ensure_config(config)

    def with_config(
        self, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Runnable[Input, Output]:
        """The same with more config."""
        own = merge_configs(self.config, with_entries(config, kwargs))
        arguments: dict[str, Any] = {**self._arguments(), "config": own}
        return type(self)(**arguments)

    # --- what it says about itself ---------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """That of the default."""
        return self.default.InputType

    @property
    def OutputType(self) -> Any:
        """That of the default."""
        return self.default.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """That of what runs under `config`."""
        runnable, config = self.prepare(config)
        return runnable.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """That of what runs under `config`."""
        runnable, config = self.prepare(config)
        return runnable.get_output_schema(config)

    def get_graph(self, config: RunnableConfig | None = None) -> Graph:
        """That of what runs under `config`."""
        runnable, config = self.prepare(config)
        return runnable.get_graph(config)

    # --- calls -----------------------------------------------------------------------------------

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Invoke what the config makes."""
        runnable, config = self.prepare(config)
        return runnable.invoke(input, config, **kwargs)

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke what the config makes."""
        runnable, config = self.prepare(config)
        return await runnable.ainvoke(input, config, **kwargs)

    def batch(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """The batch of what the configs make, if that is the same for all inputs."""
        kwargs["return_exceptions"] = return_exceptions
        prepared = [self.prepare(one) for one in get_config_list(config, len(inputs))]
        if prepared and all(runnable is self.default for runnable, _ in prepared):
            return self.default.batch(inputs, [its for _, its in prepared], **kwargs)
        return super().batch(inputs, config, **kwargs)

    async def abatch(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """The batch of what the configs make, if that is the same for all inputs."""
        kwargs["return_exceptions"] = return_exceptions
        prepared = [self.prepare(one) for one in get_config_list(config, len(inputs))]
        if prepared and all(runnable is self.default for runnable, _ in prepared):
            return await self.default.abatch(inputs, [its for _, its in prepared], **kwargs)
        return await super().abatch(inputs, config, **kwargs)

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Stream what the config makes."""
        runnable, config = self.prepare(config)
        return runnable.stream(input, config, **kwargs)

    def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Stream what the config makes."""
        runnable, config = self.prepare(config)
        return runnable.astream(input, config, **kwargs)

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Transform with what the config makes."""
        runnable, config = self.prepare(config)
        return runnable.transform(input, config, **kwargs)

    def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Transform with what the config makes."""
        runnable, config = self.prepare(config)
        return runnable.atransform(input, config, **kwargs)


class RunnableConfigurableFields(DynamicRunnable[Input, Output]):
    """A runnable with fields that entries of `configurable` change.

    Args:
        default: The runnable.
        fields: Field name to what configures it.
        config: United with the caller's config.
        name: The name of the whole.
    """

    __plait_fields__ = (*DynamicRunnable.__plait_fields__, "fields")

    def __init__(
        self, default: Any, fields: Mapping[str, AnyConfigurableField], **rest: Any
    ) -> None:
        super().__init__(default, **rest)
        self.fields = dict(fields)

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "fields": self.fields}

    def configurable_fields(self, **fields: Any) -> Runnable[Input, Output]:
        """The same with more fields."""
        return with_fields(self.default, {**self.fields, **fields}, self.config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The fields, and what can be configured in the runnable."""
        own = [self._spec(name, field) for name, field in self.fields.items()]
        return get_unique_config_specs([*own, *self.default.config_specs])

    def _spec(self, name: str, field: AnyConfigurableField) -> ConfigurableFieldSpec:
        if not isinstance(field, ConfigurableField):
            return option_spec(field)
        known = fields_of(self.default)[name]
        return ConfigurableFieldSpec(
            id=field.id,
            name=field.name,
            description=field.description or getattr(known, "description", None),
            annotation=field.annotation or getattr(known, "annotation", Any),
            default=getattr(self.default, name),
            is_shared=field.is_shared,
        )

    def _made(self, config: RunnableConfig) -> Prepared:
        given = config.get("configurable", {})
        changes: dict[str, Any] = {}
        for name, field in self.fields.items():
            if isinstance(field, ConfigurableField):
                if field.id in given:
                    changes[name] = given[field.id]
            elif isinstance(field, ConfigurableFieldSingleOption):
                changes[name] = _option(field, given.get(field.id, field.default))
            else:
                asked = given.get(field.id, field.default)
                changes[name] = [_option(field, one) for one in asked]
        if not changes:
            return self.default, config
        its = self.default
        arguments = {name: getattr(its, name) for name in fields_of(its) if hasattr(its, name)}
        return type(its)(**{**arguments, **changes}), config


def with_fields(
    runnable: Runnable[Any, Any], fields: Mapping[str, Any], config: Any = None
) -> RunnableConfigurableFields[Any, Any]:
    """`runnable` with configurable fields.

    Raises:
        ValueError: It has no such field.
        InvalidValueError: What is to configure a field is no configurable field.
    """
    known = fields_of(runnable)
    for name, field in fields.items():
        if name not in known:
            raise ValueError(
                f"Configuration key {name} not found in {runnable}: available keys are "
                f"{', '.join(known) or '(none)'}"
            )
        if not isinstance(field, AnyConfigurableField):
            raise InvalidValueError(
                f"The field {name!r} of {type(runnable).__name__} cannot be configured by "
                f"{field!r}. Pass ConfigurableField(id={name!r})."
            )
    return RunnableConfigurableFields(runnable, fields, config=config)


def fields_of(runnable: Any) -> Mapping[str, Any]:
    """The fields of a runnable, as pydantic's models tell theirs."""
    known = getattr(cast("Any", type(runnable)), "model_fields", None)
    return cast("Mapping[str, Any]", known) if isinstance(known, Mapping) else {}


class RunnableConfigurableAlternatives(DynamicRunnable[Input, Output]):
    """A runnable, or another that an entry of `configurable` names.

    Args:
        which: The field whose value is the name.
        default: What runs if none is named.
        alternatives: The others by name, or functions that make them.
        default_key: The name of the default.
        prefix_keys: Put `which==name/` before the keys of what can be configured inside.
        config: United with the caller's config.
        name: The name of the whole.

    Raises:
        InvalidValueError: `which` is no `ConfigurableField`, or an alternative nothing to run.
    """

    __plait_fields__ = (
        *DynamicRunnable.__plait_fields__,
        *("which", "alternatives", "default_key", "prefix_keys"),
    )

    def __init__(
        self,
        which: ConfigurableField,
        default: Any,
        alternatives: Mapping[str, Any],
        *,
        default_key: str = "default",
        prefix_keys: bool = False,
        **rest: Any,
    ) -> None:
        super().__init__(default, **rest)
        _check_choice(which, alternatives)
        self.which = which
        self.alternatives = dict(alternatives)
        self.default_key = default_key
        self.prefix_keys = prefix_keys

    def _arguments(self) -> dict[str, Any]:
        return {
            **super()._arguments(),
            "which": self.which,
            "alternatives": self.alternatives,
            "default_key": self.default_key,
            "prefix_keys": self.prefix_keys,
        }

    def configurable_fields(self, **fields: Any) -> Runnable[Input, Output]:
        """The same, with configurable fields of the default."""
        changed = self.default.configurable_fields(**fields)
        arguments: dict[str, Any] = {**self._arguments(), "default": changed}
        return type(self)(**arguments)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The choice, and what can be configured in those that can be chosen."""
        names = [*self.alternatives, self.default_key]
        which = ConfigurableFieldSpec(
            id=self.which.id,
            name=self.which.name,
            description=self.which.description,
            annotation=_enum(self.which.name or self.which.id, names),
            default=self.default_key,
            is_shared=self.which.is_shared,
        )
        specs = self._inside(self.default, self.default_key)
        for name, alternative in self.alternatives.items():
            if isinstance(alternative, Runnable):
                specs += self._inside(cast("Runnable[Any, Any]", alternative), name)
        return get_unique_config_specs([which, *specs])

    def _inside(self, runnable: Runnable[Any, Any], name: str) -> list[ConfigurableFieldSpec]:
        specs = runnable.config_specs
        if not self.prefix_keys:
            return list(specs)
        prefix = self._prefix(name)
        return [s if s.is_shared else s._replace(id=prefix + s.id) for s in specs]

    def _prefix(self, name: str) -> str:
        return f"{self.which.id}=={name}/"

    def _made(self, config: RunnableConfig) -> Prepared:
        given = config.get("configurable", {})
        name = str(getattr(chosen := given.get(self.which.id, self.default_key), "value", chosen))
        if self.prefix_keys:
            prefix = self._prefix(name)
            stripped = {key.removeprefix(prefix): value for key, value in given.items()}
            config = {**config, "configurable": stripped}
        if name == self.default_key:
            return self.default, config
        if name not in self.alternatives:
            known = ", ".join([self.default_key, *self.alternatives])
            raise ValueError(
                f"Unknown alternative: {name!r}, asked for by configurable[{self.which.id!r}]. "
                f"Known: {known}."
            )
        alternative = self.alternatives[name]
        if isinstance(alternative, Runnable) or hasattr(alternative, "invoke"):
            return cast("Runnable[Any, Any]", alternative), config
        return cast("Callable[[], Runnable[Any, Any]]", alternative)(), config


def _check_choice(which: Any, alternatives: Mapping[str, Any]) -> None:
    if not isinstance(which, ConfigurableField):
        raise InvalidValueError(
            f"An alternative is chosen by a ConfigurableField, not by {which!r}. "
            "Pass ConfigurableField(id='...')."
        )
    for name, alternative in alternatives.items():
        if not (hasattr(alternative, "invoke") or callable(alternative)):
            raise InvalidValueError(
                f"The alternative {name!r} is {alternative!r}: pass a runnable, or a function that "
                "makes one."
            )


def option_spec(
    field: ConfigurableFieldSingleOption | ConfigurableFieldMultiOption,
) -> ConfigurableFieldSpec:
    """The spec of a field with named values."""
    names = _enum(field.name or field.id, list(field.options))
    is_single = isinstance(field, ConfigurableFieldSingleOption)
    return ConfigurableFieldSpec(
        id=field.id,
        name=field.name,
        description=field.description,
        annotation=names if is_single else Sequence[names],
        default=field.default if is_single else list(field.default),
        is_shared=field.is_shared,
    )


class UnknownOptionError(ConfigError, KeyError):
    """A config chooses an option that a configurable field does not have."""

    __str__ = Exception.__str__  # that of KeyError puts the text in quotes


def _option(field: ConfigurableFieldSingleOption | ConfigurableFieldMultiOption, name: Any) -> Any:
    key = getattr(name, "value", name)
    if key not in field.options:
        raise UnknownOptionError(
            f"configurable[{field.id!r}] is {key!r}, which is none of {', '.join(field.options)}."
        )
    return field.options[key]


_enums: dict[tuple[str, tuple[str, ...]], Any] = {}


def _enum(name: str, values: Sequence[str]) -> Any:
    """One enum for one name and its values, so that equal specs are equal."""
    key = (name, tuple(values))
    if key not in _enums:
        _enums[key] = Enum(name, {value: value for value in values}, type=str)
    return _enums[key]


__all__ = [
    "DynamicRunnable",
    "RunnableConfigurableAlternatives",
    "RunnableConfigurableFields",
    "fields_of",
    "with_fields",
]
