"""`Tool` and `Toolset`: what an agent's model may call, and how it is tied to the agent's state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from inspect import iscoroutinefunction
from typing import Any, TypeAlias, cast

from plait.common.reflection import signature
from plait.errors import ToolDefinitionError, bubbles_up
from plait.haystack.errors import DeserializationError, ToolInvocationError, reading
from plait.haystack.registry import lookup_class, lookup_function, name_of, remember
from plait.haystack.schema_check import wrong_in_schema


@dataclass
class Tool:
    """A function that a model may call.

    Args:
        name: What the model calls it.
        description: What the model reads.
        parameters: The JSON schema of the arguments.
        function: The code, sync or async; it is called with keyword arguments.
        outputs_to_string: How the model is told the result: `{"source": key of the result,
            "handler": function to text}`, both optional.
        inputs_from_state: Keys of the state to the parameters that they fill, where the model
            leaves them out. None: parameters are filled from keys of the same name.
        outputs_to_state: Keys of the state to what goes there: `{"source": key of the result,
            "handler": how to merge it}`, both optional.

    Raises:
        ToolDefinitionError: `parameters` is no schema, or an output is not described so.

    >>> add = Tool("add", "Add.", {"type": "object"}, lambda a, b: a + b)
    >>> add.invoke(a=1, b=2)
    3
    """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    outputs_to_string: dict[str, Any] | None = None
    inputs_from_state: dict[str, str] | None = None
    outputs_to_state: dict[str, dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        _check_parameters(self.name, self.parameters)
        remember(self.function)
        if self.outputs_to_string is not None:
            self._check_output("outputs_to_string", self.outputs_to_string)
        for key, config in (self.outputs_to_state or {}).items():
            self._check_output(f"outputs_to_state[{key!r}]", config)

    def _check_output(self, where: str, config: Any) -> None:
        if not isinstance(config, dict):
            raise ToolDefinitionError(f"{where} of tool {self.name!r} must be a dict: {config!r}")
        given = cast("dict[str, Any]", config)
        if "source" in given and not isinstance(given["source"], str):
            raise ToolDefinitionError(
                f"The source in {where} of tool {self.name!r} must be a key of the result, as a "
                f"text, not {given['source']!r}. Leave it out for the whole result."
            )
        if "handler" in given:
            if not callable(given["handler"]):
                raise ToolDefinitionError(
                    f"The handler in {where} of tool {self.name!r} must be callable: "
                    f"{given['handler']!r}"
                )
            remember(given["handler"])

    @property
    def tool_spec(self) -> dict[str, Any]:
        """What the model is shown."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }

    def warm_up(self) -> None:
        """Get ready: a subclass opens its connections here. Called more than once."""

    def invoke(self, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            ToolInvocationError: It failed.
        """
        try:
            return self.function(**kwargs)
        except Exception as error:
            if bubbles_up(error):  # a question to a person, on its way up
                raise
            raise self.failed(error, kwargs) from error

    @property
    def async_function(self) -> Callable[..., Any] | None:
        """What is awaited where that can be; None: the function runs on a thread."""
        return self.function if iscoroutinefunction(self.function) else None

    def failed(self, error: Exception, arguments: Mapping[str, Any]) -> ToolInvocationError:
        """The error of a call whose function raised one."""
        return ToolInvocationError(
            f"Failed to invoke Tool `{self.name}` with parameters {arguments}. Error: {error}",
            self.name,
        )

    def parameter_names(self) -> tuple[str, ...]:
        """The parameters of the function, in their order."""
        function: Any = self.function
        known = _parameters if isinstance(function, Hashable) else _parameters.__wrapped__
        return known(function)

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            SerializationError: The function or a handler has no name.
        """
        data: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        data["function"] = name_of(self.function)
        return {"type": name_of(type(self)), "data": {**data, **write_outputs(self)}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tool:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading(cls):
            init = read_outputs(data)
            init["function"] = lookup_function(init.get("function"))
            return cls(**init)


@lru_cache(maxsize=1024)
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(signature(function).parameters)
    except ValueError:  # a builtin that does not say what it takes
        return ()


def _check_parameters(name: str, parameters: Any) -> None:
    """Check that a tool's parameters are a JSON schema.

    Raises:
        ToolDefinitionError: They are not.
    """
    wrong = wrong_in_schema(parameters) if isinstance(parameters, dict) else "parameters is no dict"
    if wrong is not None:
        raise ToolDefinitionError(
            f"The parameters of tool {name!r} are no JSON schema, since {wrong}: "
            f"{parameters!r:.200}. Give {{'type': 'object', 'properties': {{...}}}}."
        )


def write_outputs(tool: Tool) -> dict[str, Any]:
    """Where the outputs of a tool go, as plain data.

    Raises:
        SerializationError: A handler has no name.
    """
    to_string, to_state = tool.outputs_to_string, tool.outputs_to_state
    return {
        "outputs_to_string": None if to_string is None else _named(to_string),
        "outputs_to_state": None
        if to_state is None
        else {key: _named(config) for key, config in to_state.items()},
    }


def read_outputs(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a serialized tool is made of, with the handlers that `write_outputs` wrote.

    Raises:
        DeserializationError: It is damaged, or a handler is not registered.
    """
    init = dict(_inner(data, "tool"))
    if init.get("outputs_to_string") is not None:
        init["outputs_to_string"] = _resolved(init["outputs_to_string"])
    if init.get("outputs_to_state") is not None:
        init["outputs_to_state"] = {
            key: _resolved(config) for key, config in init["outputs_to_state"].items()
        }
    return init


def _named(config: Mapping[str, Any]) -> dict[str, Any]:
    written = dict(config)
    if "handler" in written:
        written["handler"] = name_of(written["handler"])
    return written


def _resolved(config: Mapping[str, Any]) -> dict[str, Any]:
    read = dict(config)
    if "handler" in read:
        read["handler"] = lookup_function(read["handler"])
    return read


def _inner(data: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    if not isinstance(data.get("data"), Mapping):
        raise DeserializationError(f"A serialized {what} has 'type' and 'data': {data!r:.200}")
    return data["data"]


@dataclass
class Toolset:
    """Tools that go together. Derive from it to make them from something else, such as a server.

    Raises:
        ToolDefinitionError: Two have the same name, or something is no tool.
    """

    tools: list[Tool] = field(default_factory=list[Tool])

    def __post_init__(self) -> None:
        if isinstance(self.tools, Tool):
            raise ToolDefinitionError("Toolset takes a list of tools: Toolset([tool]).")
        check_names(self.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __getitem__(self, index: int) -> Tool:
        return self.tools[index]

    def __contains__(self, item: Any) -> bool:
        if isinstance(item, str):
            return any(tool.name == item for tool in self.tools)
        return isinstance(item, Tool) and item in self.tools

    def __add__(self, other: Any) -> Toolset:
        if isinstance(other, Tool):
            return Toolset([*self.tools, other])
        if isinstance(other, (list, Toolset)):
            return Toolset([*self.tools, *cast("Iterable[Tool]", other)])
        raise ToolDefinitionError(f"Cannot add {type(other).__name__} to Toolset.")

    def warm_up(self) -> None:
        """Get ready: a subclass opens what its tools share here. Called more than once."""

    def add(self, tool: Tool | Toolset) -> None:
        """Add a tool, or the tools of another set.

        Raises:
            ToolDefinitionError: It is neither, or a name is taken.
        """
        if not isinstance(cast("Any", tool), (Tool, Toolset)):
            raise ToolDefinitionError(f"Expected Tool or Toolset, got {type(tool).__name__}.")
        more = [tool] if isinstance(tool, Tool) else list(tool)
        check_names([*self.tools, *more])
        self.tools.extend(more)

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            SerializationError: A tool has no such form.
        """
        return {"type": name_of(type(self)), "data": {"tools": [t.to_dict() for t in self.tools]}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Toolset:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading(cls):
            return cls([read_one(tool) for tool in _inner(data, "toolset").get("tools", ())])


ToolsType: TypeAlias = Sequence[Tool | Toolset] | Toolset
"""Tools as components take them."""


def check_names(tools: Iterable[Tool]) -> None:
    """Check that these are tools, and no two have the same name.

    Raises:
        ToolDefinitionError: Something is no tool, or two have the same name.
    """
    tools = list(tools)
    for one in tools:
        if not isinstance(cast("Any", one), Tool):
            raise ToolDefinitionError(
                f"Expected tools, each a Tool, and got {one!r:.100}. The tools of a Toolset are "
                "added to another with +."
            )
    names = [tool.name for tool in tools]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ToolDefinitionError(f"Duplicate tool names found: {twice}")


def flatten_tools_or_toolsets(tools: ToolsType | None) -> list[Tool]:
    """All tools, those of sets too.

    Raises:
        ToolDefinitionError: Something is no tool.
    """
    if tools is not None and not isinstance(cast("Any", tools), (list, tuple, Toolset)):
        raise ToolDefinitionError(f"tools is a list of tools and toolsets, or one, not {tools!r}.")
    flat: list[Tool] = []
    for one in tools or ():
        if not isinstance(cast("Any", one), (Tool, Toolset)):
            raise ToolDefinitionError(f"{one!r} is no Tool and no Toolset.")
        flat.extend([one] if isinstance(one, Tool) else one)
    return flat


def warm_up_tools(tools: ToolsType | None = None) -> None:
    """Get tools and sets of tools ready."""
    for one in [tools] if isinstance(tools, Toolset) else tools or ():
        one.warm_up()
        if isinstance(one, Toolset):
            for tool in one:
                tool.warm_up()


def serialize_tools_or_toolset(tools: ToolsType | None) -> Any:
    """Tools as plain data.

    Raises:
        SerializationError: One has no such form.
    """
    if tools is None or isinstance(tools, Toolset):
        return None if tools is None else tools.to_dict()
    return [tool.to_dict() for tool in tools]


def read_tools(data: Any) -> Any:
    """The tools that `serialize_tools_or_toolset` wrote.

    Raises:
        DeserializationError: The data is damaged, or names something that is not registered.
    """
    if data is None or isinstance(data, Mapping):
        return None if data is None else read_one(cast("Any", data))
    if not isinstance(data, list):
        raise DeserializationError(f"Serialized tools are a list or a toolset, not {data!r:.100}.")
    return [read_one(tool) for tool in cast("list[Any]", data)]


def deserialize_tools_or_toolset_inplace(data: dict[str, Any], key: str = "tools") -> None:
    """Read the tools under a key of serialized data, and put them there.

    Args:
        data: What a component is made with again.
        key: Where its tools are.

    Raises:
        DeserializationError: The data is damaged, or names something that is not registered.
    """
    if key in data:
        data[key] = read_tools(data[key])


def write_parameters(
    tools: ToolsType | None, streaming_callback: Callable[..., Any] | None
) -> dict[str, Any]:
    """Tools and a streaming callback as plain data, under the names that `read_parameters` reads.

    Raises:
        SerializationError: One has no such form.
    """
    return {
        "tools": serialize_tools_or_toolset(tools),
        "streaming_callback": None if streaming_callback is None else name_of(streaming_callback),
    }


def read_parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a component is made with again, where that may be tools and a streaming callback.

    Raises:
        DeserializationError: The data is damaged, or names something that is not registered.
    """
    init = dict(data.get("init_parameters", {}))
    deserialize_tools_or_toolset_inplace(init)
    if init.get("streaming_callback") is not None:
        init["streaming_callback"] = lookup_function(init["streaming_callback"])
    return init


def read_one(data: Any) -> Any:
    """One tool or toolset of plain data.

    Raises:
        DeserializationError: The data is damaged, or names something that is not registered.
    """
    if not isinstance(data, Mapping) or "type" not in data:
        raise DeserializationError(f"A serialized tool has 'type' and 'data': {data!r:.200}")
    data = cast("Mapping[str, Any]", data)
    kind = lookup_class(data.get("type"))
    if not issubclass(kind, (Tool, Toolset)):
        raise DeserializationError(f"The data names {data.get('type')!r} as a tool; it is none.")
    return kind.from_dict(data)


__all__ = [
    "Tool",
    "ToolsType",
    "Toolset",
    "check_names",
    "deserialize_tools_or_toolset_inplace",
    "flatten_tools_or_toolsets",
    "read_one",
    "read_outputs",
    "read_parameters",
    "read_tools",
    "serialize_tools_or_toolset",
    "warm_up_tools",
    "write_outputs",
    "write_parameters",
]
