"""What a module of a pipeline is: a function from named inputs to named outputs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, cast, get_type_hints

from plait.common.reflection import signature
from plait.errors import (
    InvalidGraphError,
    InvalidInputError,
    InvalidNodeError,
    InvalidOutputsError,
    InvalidValueError,
    nearest,
)
from plait.objects.fields import AnnotatedFields
from plait.runnables.config import run_in_executor

OUTPUT = "output"
"""The only output of most components."""


class InputKeys(NamedTuple):
    """The inputs of a component.

    >>> InputKeys.of(["nodes"], ["query_str"])
    InputKeys(required=('nodes',), optional=('query_str',))
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @classmethod
    def of(cls, required: Iterable[str] = (), optional: Iterable[str] = ()) -> InputKeys:
        """From any collections of names, in the order of what is ordered and sorted otherwise."""
        return cls(in_order(required), in_order(optional))

    @classmethod
    def from_keys(
        cls, required_keys: Iterable[str], optional_keys: Iterable[str] | None = None
    ) -> InputKeys:
        """The same as `of`, as a component that names its keys itself writes it.

        >>> InputKeys.from_keys({"nodes"}).required_keys
        {'nodes'}
        """
        return cls.of(required_keys, optional_keys or ())

    def __contains__(self, key: object) -> bool:
        return key in self.required or key in self.optional

    @property
    def required_keys(self) -> set[str]:
        """The inputs that it cannot do without."""
        return set(self.required)

    @property
    def optional_keys(self) -> set[str]:
        """The inputs that it can do without."""
        return set(self.optional)

    def all(self) -> set[str]:
        """All inputs."""
        return self.required_keys | self.optional_keys


class OutputKeys(tuple[str, ...]):
    """The outputs of a component.

    >>> OutputKeys.from_keys(["nodes"]), OutputKeys.from_keys(["nodes"]).required_keys
    (('nodes',), {'nodes'})
    """

    __slots__ = ()

    @classmethod
    def from_keys(cls, required_keys: Iterable[str]) -> OutputKeys:
        """From any collection of names."""
        return cls(in_order(required_keys))

    @property
    def required_keys(self) -> set[str]:
        """The outputs that it always gives: all."""
        return set(self)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names in their own order, or sorted where they have none.

    >>> in_order({"b", "a"}), in_order(["b", "a"])
    (('a', 'b'), ('b', 'a'))
    """
    return tuple(sorted(names) if isinstance(names, (set, frozenset)) else names)


class QueryComponent:
    """A module of a pipeline. Derive from `CustomQueryComponent` to write one."""

    partial_dict: Mapping[str, Any] = {}
    """Values of inputs that need no link (see `partial`)."""

    takes_any: ClassVar[bool] = False
    """Whether it takes inputs under any name, besides those of `input_keys`."""

    @property
    def input_keys(self) -> InputKeys:
        """What it takes."""
        raise NotImplementedError(f"{type(self).__name__} must define input_keys.")

    @property
    def output_keys(self) -> OutputKeys:
        """What it gives."""
        return OutputKeys((OUTPUT,))

    @property
    def free_input_keys(self) -> InputKeys:
        """What it takes that no partial value fills."""
        required, optional = self.input_keys
        return InputKeys(
            tuple(key for key in required if key not in self.partial_dict),
            tuple(key for key in optional if key not in self.partial_dict),
        )

    @property
    def free_req_input_keys(self) -> set[str]:
        """What it cannot do without and no partial value fills."""
        return self.free_input_keys.required_keys

    @property
    def output_types(self) -> Mapping[str, Any]:
        """The types of outputs as far as they are known: a checkpoint may then store them."""
        return {}

    def graphs(self) -> list[Any]:
        """The compiled graphs that it runs."""
        return []

    def partial(self, **values: Any) -> Self:
        """Give some of its inputs values, so that they need no link.

        Returns:
            The component itself.

        Raises:
            InvalidValueError: it has no such input.

        >>> FnComponent(lambda text, times: text * times).partial(times=2).run_component(text="hi")
        {'output': 'hihi'}
        """
        for key in values:
            if not self.takes_any and key not in self.input_keys:
                raise self._unknown_input(key)
        # A new dict: pipelines that were built see that it is another one.
        self.partial_dict = {**self.partial_dict, **values}
        return self

    def run_component(self, **inputs: Any) -> dict[str, Any]:
        """Turn inputs into outputs, by name.

        Raises:
            InvalidValueError: an input is missing or unknown.
            InvalidOutputsError: the outputs are not those that it declares.
        """
        given = self._checked_inputs(inputs)
        return self._checked_outputs(self._run_component(**given))

    async def arun_component(self, **inputs: Any) -> dict[str, Any]:
        """The async twin of `run_component`."""
        given = self._checked_inputs(inputs)
        return self._checked_outputs(await self._arun_component(**given))

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} must define _run_component().")

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        return await run_in_executor(None, self._run_component, **inputs)

    def _validate_component_inputs(self, input: dict[str, Any]) -> dict[str, Any]:
        """Check or change the inputs before each run."""
        return input

    def _validate_component_outputs(self, output: dict[str, Any]) -> dict[str, Any]:
        """Check or change the outputs after each run."""
        return output

    def _checked_inputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs with the partial values; one that is given counts before a partial value."""
        given = {**self.partial_dict, **inputs}
        if not self.takes_any:
            keys = self.input_keys
            for key in given:
                if key not in keys:
                    raise self._unknown_input(key)
            for key in keys.required:
                if key not in given:
                    raise InvalidValueError(
                        f"{type(self).__name__} needs a value for its input {key!r}; got "
                        f"{list(given) or 'nothing'}."
                    )
        return self._validate_component_inputs(given)

    def _unknown_input(self, key: str) -> InvalidValueError:
        known = [*self.input_keys.required, *self.input_keys.optional]
        return InvalidValueError(
            f"{type(self).__name__} has no input {key!r}. {nearest(key, known)}"
        )

    def _checked_outputs(self, outputs: Any) -> dict[str, Any]:
        if not self.takes_any:
            refuse_other_outputs(f"{type(self).__name__}", outputs, self.output_keys)
        return self._validate_component_outputs(outputs)


def refuse_other_outputs(name: str, outputs: Any, declared: Collection[str]) -> None:
    """See that a component gave what it declares.

    Raises:
        InvalidOutputsError: it did not.
    """
    if not isinstance(outputs, dict):
        raise InvalidOutputsError(
            f"{name} must return a dict of its outputs {list(declared)}, got {outputs!r:.200}."
        )
    given = cast("dict[str, Any]", outputs)
    for key in given:
        if key not in declared:
            raise InvalidOutputsError(
                f"{name} returned an output {key!r} that it does not declare. "
                f"{nearest(key, declared)}"
            )
    for key in declared:
        if key not in given:
            raise InvalidOutputsError(
                f"{name} did not return its output {key!r}, only {list(given)}."
            )


def refuse_no_count(component: object, name: str, value: Any) -> None:
    """See that an argument of a component is a number from 1 on.

    Raises:
        InvalidGraphError: it is not.
    """
    if not isinstance(value, int) or value < 1:
        raise InvalidGraphError(
            f"{name} of a {type(component).__name__} is a number from 1 on, not {value!r:.100}."
        )


class CustomQueryComponent(AnnotatedFields, QueryComponent):
    """The base of components of your own; annotated fields are its keyword arguments.

    Define `_input_keys`, `_output_keys` (by default `{"output"}`) and `_run_component`; where they
    help, `_optional_input_keys`, `_arun_component`, and `_validate_component_inputs` or
    `_validate_component_outputs`, which may also change what they are given.

    >>> class Repeat(CustomQueryComponent):
    ...     times: int = 2
    ...
    ...     @property
    ...     def _input_keys(self):
    ...         return {"text"}
    ...
    ...     def _run_component(self, **inputs):
    ...         return {"output": inputs["text"] * self.times}
    >>> Repeat(times=3).run_component(text="ha")
    {'output': 'hahaha'}
    """

    @property
    def _input_keys(self) -> Collection[str]:
        raise NotImplementedError(f"{type(self).__name__} must define _input_keys.")

    @property
    def _optional_input_keys(self) -> Collection[str]:
        return ()

    @property
    def _output_keys(self) -> Collection[str]:
        return (OUTPUT,)

    @property
    def input_keys(self) -> InputKeys:
        return InputKeys.of(self._input_keys, self._optional_input_keys)

    @property
    def output_keys(self) -> OutputKeys:
        return OutputKeys.from_keys(self._output_keys)


class InputComponent(QueryComponent):
    """Where values come in: what it is given is what it gives.

    Links that leave it say which values there are: those that name a `src_key` name them. If none
    does, it takes one value, under any name.

    Args:
        partial_dict: values for those that the caller leaves out (see `partial`).
    """

    takes_any = True

    def __init__(self, *, partial_dict: Mapping[str, Any] | None = None) -> None:
        self.partial_dict = dict(partial_dict or {})

    @property
    def input_keys(self) -> InputKeys:
        return InputKeys()

    @property
    def output_keys(self) -> OutputKeys:
        return OutputKeys()

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        return inputs

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        return inputs


class FnComponent(QueryComponent):
    """A function as a component: its parameters are the inputs, what it returns is the output.

    Args:
        fn: the function; an async one serves async runs alone.
        async_fn: its async form; without one, async runs call `fn` on a thread.
        req_params: the names of required inputs (default: parameters without a default value).
        opt_params: the names of optional inputs (default: parameters with one).
        output_key: the name of the output.
        partial_dict: values of inputs that need no link (see `partial`).

    Raises:
        InvalidNodeError: it is no function.

    >>> FnComponent(lambda a, b=1: a + b).run_component(a=1)
    {'output': 2}
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        async_fn: Callable[..., Awaitable[Any]] | None = None,
        req_params: Iterable[str] | None = None,
        opt_params: Iterable[str] | None = None,
        output_key: str = OUTPUT,
        *,
        partial_dict: Mapping[str, Any] | None = None,
    ) -> None:
        if not callable(fn):
            raise InvalidNodeError(f"FnComponent takes a function, not {fn!r:.200}.")
        if inspect.iscoroutinefunction(fn):
            self.fn, self.async_fn = None, async_fn or fn
        else:
            self.fn, self.async_fn = fn, async_fn
        self.name = getattr(fn, "__name__", type(fn).__name__)
        self.output_key = output_key
        found, self._by_position = _parameters(fn)
        required = found.required if req_params is None else in_order(req_params)
        optional = found.optional if opt_params is None else in_order(opt_params)
        self._keys = InputKeys(required, tuple(key for key in optional if key not in required))
        self._returned = _returned(fn)
        self.partial(**(partial_dict or {}))

    @property
    def input_keys(self) -> InputKeys:
        return self._keys

    @property
    def output_keys(self) -> OutputKeys:
        return OutputKeys((self.output_key,))

    @property
    def output_types(self) -> Mapping[str, Any]:
        return {} if self._returned is None else {self.output_key: self._returned}

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        if self.fn is None:
            raise InvalidInputError(
                f"Function {self.name!r} is async: run the pipeline with arun() or ainvoke(), or "
                "give FnComponent the sync function as well."
            )
        return {self.output_key: self.fn(*self._taken(inputs), **inputs)}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        if self.async_fn is None:
            return await run_in_executor(None, self._run_component, **inputs)
        return {self.output_key: await self.async_fn(*self._taken(inputs), **inputs)}

    def _taken(self, inputs: dict[str, Any]) -> list[Any]:
        """The values of parameters that take no name, taken out of the inputs."""
        return [inputs.pop(name) for name in self._by_position if name in inputs]


FunctionComponent = FnComponent
"""Another name of `FnComponent`."""


class ArgPackComponent(QueryComponent):
    """Packs what it is given, under any names, into a list, in the order of the links.

    Args:
        convert_fn: what each value is put through first.
        partial_dict: values that come first, without a link (see `partial`).

    >>> ArgPackComponent(convert_fn=str).run_component(a=1, b=2)
    {'output': ['1', '2']}
    """

    takes_any = True

    def __init__(
        self,
        convert_fn: Callable[[Any], Any] | None = None,
        *,
        partial_dict: Mapping[str, Any] | None = None,
    ) -> None:
        self.convert_fn = convert_fn
        self.partial_dict = dict(partial_dict or {})

    @property
    def input_keys(self) -> InputKeys:
        return InputKeys()

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        convert = self.convert_fn
        values = list(inputs.values())
        return {OUTPUT: values if convert is None else [convert(one) for one in values]}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        return self._run_component(**inputs)


def _parameters(fn: Callable[..., Any]) -> tuple[InputKeys, tuple[str, ...]]:
    """The inputs of a function, and those of them that it takes by position only.

    The first of these (of `str.upper` or `len`) is called `input`.
    """
    try:
        found = signature(fn).parameters.values()
    except (TypeError, ValueError):  # some builtins do not tell
        return InputKeys(("input",)), ("input",)
    named = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    nameless = [p.name for p in named if p.kind is p.POSITIONAL_ONLY]
    called = dict.fromkeys(nameless[:1], "input")
    keys = InputKeys(
        tuple(called.get(p.name, p.name) for p in named if p.default is p.empty),
        tuple(called.get(p.name, p.name) for p in named if p.default is not p.empty),
    )
    return keys, tuple(called.get(name, name) for name in nameless)


def _returned(fn: Any) -> Any:
    """The annotation of what a function returns, if there is one that can be read."""
    try:
        return get_type_hints(fn).get("return")
    except Exception:  # annotations are the user's; none that resolve means none
        return None


__all__ = [
    "OUTPUT",
    "ArgPackComponent",
    "CustomQueryComponent",
    "FnComponent",
    "FunctionComponent",
    "InputComponent",
    "InputKeys",
    "OutputKeys",
    "QueryComponent",
    "in_order",
    "refuse_no_count",
    "refuse_other_outputs",
]
