"""`ComponentTool`: a component as a tool, whose schema comes from its `run`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, cleandoc, getdoc
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from pydantic import Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError

from plait.common.reflection import signature
from plait.errors import ToolDefinitionError
from plait.haystack.components import component_from_dict, component_to_dict, inputs_of
from plait.haystack.errors import SchemaGenerationError, reading, unresolved
from plait.haystack.registry import name_of
from plait.haystack.sockets import HaystackComponent
from plait.haystack.tools import Tool, read_outputs, write_outputs
from plait.utils.json_schema import without_titles


class ComponentTool(Tool):
    """A component as a tool: the model gives the arguments of its `run`, and is told its outputs.

    Args:
        component: The component.
        name: By default its class's, in snake case.
        description: By default its class's docstring.
        parameters: The JSON schema of the arguments, by default made of the types of `run` and
            what its docstring says of them (`:param name: ...`).
        outputs_to_string: See `Tool`.
        inputs_from_state: See `Tool`; the model does not see these parameters.
        outputs_to_state: See `Tool`.

    Raises:
        ToolDefinitionError: It is no component. (A ValueError.)
        SchemaGenerationError: A parameter has no type, or one without a JSON schema.

    >>> from plait.haystack import component
    >>> @component
    ... class Shouter:
    ...     "Says it loudly."
    ...     @component.output_types(text=str)
    ...     def run(self, text: str):
    ...         return {"text": text.upper()}
    >>> shouter = ComponentTool(Shouter())
    >>> shouter.name, shouter.invoke(text="hi")
    ('shouter', {'text': 'HI'})
    """

    def __init__(
        self,
        component: Any,
        name: str | None = None,
        description: str | None = None,
        parameters: dict[str, Any] | None = None,
        *,
        outputs_to_string: dict[str, Any] | None = None,
        inputs_from_state: dict[str, str] | None = None,
        outputs_to_state: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        kind = cast("type[Any]", type(component))
        if isinstance(component, type) or not callable(getattr(component, "run", None)):
            raise ToolDefinitionError(
                f"{component!r} is no component: give an object of a class with @component."
            )
        self.component = component
        own = isinstance(component, HaystackComponent)
        self._inputs = component.model_inputs() if own else inputs_of(component)
        self._given_parameters = parameters
        name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
        filled = set((inputs_from_state or {}).values())
        super().__init__(
            name=name,
            description=description or kind.__doc__ or name,
            parameters=parameters or self._schema(filled),
            function=self._run,
            outputs_to_string=outputs_to_string,
            inputs_from_state=inputs_from_state,
            outputs_to_state=outputs_to_state,
        )

    def warm_up(self) -> None:
        """Get the component ready, once."""
        warm_up = getattr(self.component, "warm_up", None)
        if callable(warm_up) and not self.__dict__.get("_is_warm"):
            warm_up()
            self._is_warm = True

    def parameter_names(self) -> tuple[str, ...]:
        """The parameters of the component's `run`, and its inputs."""
        return tuple(dict.fromkeys([*signature(self.component.run).parameters, *self._inputs]))

    @property
    def async_function(self) -> Any:
        """The component's `run_async`, if it has one."""
        return self._arun if callable(getattr(self.component, "run_async", None)) else None

    def _run(self, **given: Any) -> Any:
        return self.component.run(**self._taken(given))

    async def _arun(self, **given: Any) -> Any:
        return await self.component.run_async(**self._taken(given))

    def _taken(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the component's `run`, as objects of the types that it names."""
        return {
            key: _made(self._inputs[key].type, value) if key in self._inputs else value
            for key, value in given.items()
        }

    def _schema(self, filled: set[str]) -> dict[str, Any]:
        """The JSON schema of the parameters that the model fills."""
        said, of_each = _documented(self.component.run)
        wanted: dict[str, Any] = {}
        models: dict[type, Any] = {}
        for name, one in self._inputs.items():
            if name in filled:
                continue
            if one.type is Parameter.empty:
                raise SchemaGenerationError(
                    f"Parameter {name!r} of the run method of {type(self.component).__name__} has "
                    "no type. Models are told the type of each argument: annotate it."
                )
            if isinstance(one.type, str):
                raise SchemaGenerationError(
                    unresolved(type(self.component).__name__, name, one.type)
                )
            default = ... if one.default is Parameter.empty else one.default
            told = of_each.get(name, f"Input '{name}' for the component.")
            wanted[name] = (_described(one.type, models), Field(default=default, description=told))
        try:
            schema = create_model(type(self.component).__name__, **wanted).model_json_schema()
        except (PydanticUserError, TypeError) as error:
            raise SchemaGenerationError(
                "Failed to create JSON schema for the run method of Component "
                f"{type(self.component).__name__!r}: {error}"
            ) from error
        return without_titles({"description": said, **schema} if said else schema)

    # --- as plain data ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As plain data, in Haystack's form.

        Raises:
            SerializationError: The component, or a handler, has no such form.
        """
        data = {
            "component": component_to_dict(self.component, "component"),
            "name": self.name,
            "description": self.description,
            "parameters": self._given_parameters,
            "inputs_from_state": self.inputs_from_state,
            **write_outputs(self),
        }
        return {"type": name_of(type(self)), "data": data}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ComponentTool:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading(cls):
            init = read_outputs(data)
            init["component"] = component_from_dict(init.get("component"))
            return cls(**init)


def _documented(function: Any) -> tuple[str, dict[str, str]]:
    """The first line of a docstring, and what it says of each parameter."""
    text = getdoc(function) or ""
    said, *marked = re.split(r"(?m)^\s*:(?=\w)", text)
    found = (re.match(r"param\s+(?:\S+\s+)*?(\w+):\s*(.*)", one, re.DOTALL) for one in marked)
    told = {one[1]: cleandoc(one[2]).strip() for one in found if one}
    return said.strip().partition("\n")[0], {name: text for name, text in told.items() if text}


def _described(hint: Any, models: dict[type, Any]) -> Any:
    """A type whose dataclasses are models that describe their fields; one that is annotated says
    itself what it is."""
    if is_dataclass(hint):
        return _model_of(hint, models)
    origin: Any = get_origin(hint)
    args: tuple[Any, ...] = get_args(hint)
    if (
        origin in (None, Annotated)
        or not args
        or not any(isinstance(one, type) or get_origin(one) for one in args)
    ):
        return hint
    parts = tuple(_described(one, models) for one in args)
    if origin in (Union, UnionType):
        return cast("Any", Union)[parts]
    return origin[parts]


def _model_of(kind: Any, models: dict[type, Any]) -> Any:
    if kind in models:
        return models[kind]
    hints, of_each = get_type_hints(kind), _documented(kind)[1]
    described: dict[str, Any] = {}
    for one in fields(kind):
        default: Any = ... if one.default is MISSING else one.default
        if one.default_factory is not MISSING:
            default = one.default_factory()
        name = one.name.lstrip("_")  # as `from_dict` takes it
        told = of_each.get(one.name, f"Field '{name}' of '{kind.__name__}'.")
        described[name] = (
            _described(hints[one.name], models),
            Field(default=default, description=told),
        )
    models[kind] = create_model(kind.__name__, **described)
    return models[kind]


def _made(hint: Any, value: Any) -> Any:
    """What a parameter of this type is given where the model gave this."""
    if isinstance(hint, str):  # it names what does not exist: only the state fills it
        return value
    kinds = [hint, *get_args(hint)] if get_origin(hint) in (Union, UnionType) else [hint]
    for kind in kinds:
        if get_origin(kind) is list and isinstance(value, list):
            (inner,) = get_args(kind) or (Any,)
            if hasattr(inner, "from_dict"):
                return [_made(inner, one) for one in cast("list[Any]", value)]
        elif isinstance(value, dict) and hasattr(kind, "from_dict"):
            return kind.from_dict(value)
    return TypeAdapter(hint).validate_python(value)


__all__ = ["ComponentTool"]
