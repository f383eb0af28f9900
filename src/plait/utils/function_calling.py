"""Tools in the forms of providers: anything like a tool to OpenAI's, Anthropic's, a JSON schema."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from plait.common.ids import new_id
from plait.errors import ToolDefinitionError
from plait.tools.guests import is_haystack_tool, takes_one_text
from plait.tools.shown import described, key_of
from plait.utils.json_schema import all_required, self_contained, without_titles

if TYPE_CHECKING:
    from plait.messages import BaseMessage

_SERVER_TOOLS = frozenset(
    (
        "apply_patch",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "file_search",
        "function",
        "image_generation",
        "mcp",
        "namespace",
        "tool_search",
    )
)
"""Tools that OpenAI runs itself: what they need is for OpenAI to read."""


def convert_to_openai_function(
    function: Mapping[str, Any] | type | Callable[..., Any] | Any, *, strict: bool | None = None
) -> dict[str, Any]:
    """Name, description and parameters, as OpenAI's function calling takes them.

    Args:
        function: A tool (plait's, langchain_core's or Haystack's), a function, a pydantic class, a
            TypedDict class, or a dict: an OpenAI function, a JSON schema with a title, or a tool in
            the form of Anthropic or Bedrock.
        strict: Whether the model must follow the schema to the letter; None leaves it open.

    Raises:
        ToolDefinitionError: It is none of these, or says the opposite about `strict` itself.

    >>> def add(a: int, b: int = 1) -> int:
    ...     '''Add.'''
    ...     return a + b
    >>> convert_to_openai_function(add)["parameters"]["required"]
    ['a']
    """
    converted = _converted(function)
    if strict is None:
        return converted
    if converted.get("strict", strict) != strict:
        raise ToolDefinitionError(
            f"Function {converted.get('name')!r} says strict={converted['strict']} itself, and "
            f"strict={strict} was asked for. Leave one of them out."
        )
    converted["strict"] = strict
    if strict and isinstance(converted.get("parameters"), dict):
        converted["parameters"] = {
            **all_required(converted["parameters"]),
            "additionalProperties": False,
        }
    return converted


def convert_to_openai_tool(
    tool: Mapping[str, Any] | type | Callable[..., Any] | Any, *, strict: bool | None = None
) -> dict[str, Any]:
    """A tool as OpenAI takes it: `{"type": "function", "function": ...}`.

    A dict that already is one, and tools that OpenAI runs itself, stay as they are.

    Raises:
        ToolDefinitionError: see `convert_to_openai_function`.
    """
    if isinstance(tool, Mapping):
        kind = cast("Mapping[str, Any]", tool).get("type")
        wrapped = kind == "function" and "function" in tool
        named = isinstance(kind, str) and (kind in _SERVER_TOOLS or kind.startswith("web_search"))
        if wrapped or named:
            return cast("dict[str, Any]", tool)
    function = convert_to_openai_function(cast("Any", tool), strict=strict)
    return {"type": "function", "function": function}


def convert_to_anthropic_tool(
    tool: Mapping[str, Any] | type | Callable[..., Any] | Any, *, strict: bool | None = None
) -> dict[str, Any]:
    """A tool as Anthropic takes it: name, description and `input_schema`.

    Raises:
        ToolDefinitionError: see `convert_to_openai_function`.

    >>> convert_to_anthropic_tool({"name": "now"})
    {'name': 'now', 'input_schema': {'type': 'object', 'properties': {}}}
    """
    if isinstance(tool, Mapping):
        given = cast("dict[str, Any]", tool)
        if "input_schema" in given or ("type" in given and "name" in given):
            return given
        tool = cast("Any", given["function"] if given.get("type") == "function" else given)
    function = convert_to_openai_function(cast("Any", tool), strict=strict)
    shape: Any = function.pop("parameters", None) or {"type": "object", "properties": {}}
    return {**function, "input_schema": shape}


def convert_to_json_schema(
    schema: Mapping[str, Any] | type | Callable[..., Any] | Any, *, strict: bool | None = None
) -> dict[str, Any]:
    """One JSON schema with the title and description of what `convert_to_openai_tool` takes.

    Raises:
        ToolDefinitionError: see `convert_to_openai_function`.
    """
    tool = convert_to_openai_tool(schema, strict=strict)
    function = tool.get("function")
    if not isinstance(function, dict) or "name" not in function:
        raise ToolDefinitionError(f"{tool!r} is no function, so it has no JSON schema.")
    its = cast("dict[str, Any]", function)
    described = {"description": its["description"]} if "description" in its else {}
    return {"title": its["name"], **described, **(its.get("parameters") or {})}


def _converted(function: Any) -> dict[str, Any]:
    if isinstance(function, Mapping):
        return _from_dict(cast("Mapping[str, Any]", function))
    if hasattr(function.__class__, "tool_call_schema"):
        return _from_tool(function)
    if is_haystack_tool(function):
        described = {"name": function.name, "description": function.description}
        return {**described, "parameters": dict(function.parameters)}
    if isinstance(function, type):
        if hasattr(function, "model_fields") or hasattr(function, "__fields__"):
            return _from_model(function)
        if hasattr(function, "__required_keys__"):
            from plait.utils.typed_dicts import json_of_typed_dict  # loads pydantic

            return _from_shape(json_of_typed_dict(function), function.__name__)
    if callable(function) and not hasattr(function, "invoke"):
        return _from_function(function)
    raise ToolDefinitionError(
        f"{function!r} cannot become a function for a model. Pass a tool, a function, a pydantic "
        "or TypedDict class, or a dict with a name or a title."
    )


def _from_dict(given: Mapping[str, Any]) -> dict[str, Any]:
    if "toolSpec" in given:
        spec = cast("dict[str, Any]", given["toolSpec"])
        given = {**spec, "input_schema": spec.get("inputSchema", {}).get("json")}
    if "name" in given and "input_schema" in given:
        named = {"name": given["name"], "parameters": given["input_schema"]}
        return {**named, **_some(given, "description")}
    if "name" in given:
        return _some(given, "name", "description", "parameters", "strict")
    if "title" in given:
        rest = {k: v for k, v in given.items() if k not in ("title", "description")}
        parameters = {"parameters": rest} if "properties" in rest else {}
        return {"name": given["title"], **_some(given, "description"), **parameters}
    raise ToolDefinitionError(
        f"{given!r} cannot become a function for a model: as a JSON schema it needs a 'title', as "
        "an OpenAI function a 'name'."
    )


def _some(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _from_model(model: type[Any]) -> dict[str, Any]:
    from plait.tools.schema import json_schema  # loads pydantic

    return _from_shape(json_schema(model), model.__name__)


def _from_shape(shape: dict[str, Any], called: str) -> dict[str, Any]:
    shape = self_contained(shape)
    name, description = shape.pop("title", called), shape.pop("description", "")
    return {"name": name, "description": description, "parameters": without_titles(shape)}


def _from_tool(tool: Any) -> dict[str, Any]:
    is_inferred = getattr(tool, "is_inferred", False)
    shape = getattr(tool, "shown_json_schema", None)
    if shape is None:  # a tool of langchain_core
        schema = tool.tool_call_schema
        from plait.tools.schema import json_schema  # loads pydantic

        shape = cast("Any", schema) if isinstance(schema, dict) else json_schema(schema)
    shape = self_contained(cast("dict[str, Any]", shape))
    shape.pop("title", None)
    description = tool.description or shape.get("description", "")
    shape.pop("description", None)
    schema: Any = () if is_inferred else tool.args_schema  # asking for it makes a model class
    if schema is None and takes_one_text(tool):
        only = {"__arg1": {"title": "__arg1", "type": "string"}}
        shape = {"properties": only, "required": ["__arg1"], "type": "object"}
    else:
        shape = without_titles(shape)
    return {"name": tool.name, "description": description, "parameters": shape}


def _from_function(function: Any) -> dict[str, Any]:
    from plait.tools.schema import arguments_of, json_schema, model_of  # loads pydantic

    name = getattr(function, "__name__", None) or type(function).__name__
    its, said, docs = arguments_of(
        function, filter_args=_bound_later(function), parse_docstring=True, include_injected=False
    )
    key = key_of((name, said), {one.name: (*one[1:], docs.get(one.name)) for one in its})
    shape = described(key, lambda: json_schema(model_of(name, its, said, docs)))
    return {**_from_shape(shape, name), "name": name}


def _bound_later(function: Any) -> tuple[str, ...]:
    """The `self` of a method that was taken from its class: no model supplies it."""
    owner = str(getattr(function, "__qualname__", "")).rpartition(".")[0]
    code = getattr(function, "__code__", None)
    if code is None or not owner or owner.endswith("<locals>"):
        return ()
    return tuple(name for name in code.co_varnames[:1] if name in ("self", "cls"))


def tool_example_to_messages(
    input: str,
    tool_calls: list[Any],
    tool_outputs: list[str] | None = None,
    *,
    ai_response: str | None = None,
) -> "list[BaseMessage]":
    """An example of extraction as messages: the text, the calls that a model makes, the results.

    Args:
        input: What the person says.
        tool_calls: Objects of pydantic classes, each a call of the tool that its class describes.
        tool_outputs: The results of the calls; by default that each was right.
        ai_response: What the model says at the end.

    Returns:
        The messages of the example.

    Raises:
        ValueError: There are not as many results as calls.
    """
    if tool_outputs and len(tool_outputs) != len(tool_calls):
        raise ValueError(
            f"{len(tool_outputs)} tool_outputs are no results of {len(tool_calls)} tool_calls: "
            "give one for each call, or leave them out."
        )
    from plait.messages import AIMessage, HumanMessage, ToolMessage  # only where it is asked for

    calls = [
        {"id": new_id(), "name": type(one).__name__, "args": one.model_dump(mode="json")}
        for one in tool_calls
    ]
    raw = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": one.model_dump_json()},
        }
        for call, one in zip(calls, tool_calls, strict=True)
    ]
    outputs = tool_outputs or ["You have correctly called this tool."] * len(calls)
    answer = AIMessage("", additional_kwargs={"tool_calls": raw}, tool_calls=cast("Any", calls))
    results = [
        ToolMessage(output, tool_call_id=call["id"])
        for output, call in zip(outputs, calls, strict=True)
    ]
    last = [] if ai_response is None else [AIMessage(ai_response)]
    return [HumanMessage(input), answer, *results, *last]
