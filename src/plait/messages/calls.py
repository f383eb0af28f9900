"""Tool calls as plain dicts: their constructors, checks, and readers of what models send.

The typed dicts that describe them are in `content.py`; they are needed for annotations only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.messages.errors import InvalidMessageError
from plait.messages.fields import check_dict, check_optional_str, check_str, reject
from plait.messages.partial_json import parse_partial_json

if TYPE_CHECKING:
    from plait.messages.content import InvalidToolCall, ToolCall, ToolCallChunk

CALL_KEYS = frozenset(("name", "args", "id", "type"))
MISSING: Any = object()


def tool_call(*, name: str, args: dict[str, Any], id: str | None) -> ToolCall:
    """A request of a model to call a tool.

    >>> tool_call(name="add", args={"a": 1}, id="1")
    {'name': 'add', 'args': {'a': 1}, 'id': '1', 'type': 'tool_call'}
    """
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def tool_call_chunk(
    *,
    name: str | None = None,
    args: str | None = None,
    id: str | None = None,
    index: int | None = None,
) -> ToolCallChunk:
    """A piece of a streamed tool call; `args` is JSON that may be cut off."""
    return {"name": name, "args": args, "id": id, "index": index, "type": "tool_call_chunk"}


def invalid_tool_call(
    *,
    name: str | None = None,
    args: str | None = None,
    id: str | None = None,
    error: str | None = None,
) -> InvalidToolCall:
    """A tool call whose arguments could not be read."""
    return {"name": name, "args": args, "id": id, "error": error, "type": "invalid_tool_call"}


def check_list(where: str, value: Any) -> list[Any]:
    """A list (or tuple), copied."""
    if not isinstance(value, (list, tuple)):
        raise reject(where, "a list", value)
    return list(cast("list[Any]", value))


def check_tool_calls(where: str, value: Any) -> list[ToolCall]:
    """A list of tool calls, each with name, args and id."""
    checked: list[ToolCall] = []
    for given in value if value.__class__ is list else check_list(where, value):
        try:
            name, args, call_id = given["name"], given["args"], given["id"]
        except (KeyError, TypeError):
            name = args = call_id = MISSING
        if (
            name.__class__ is str
            and args.__class__ is dict
            and (call_id.__class__ is str or call_id is None)
            and len(given) == 3 + ("type" in given)
        ):
            checked.append({"name": name, "args": args.copy(), "id": call_id, "type": "tool_call"})
        else:
            checked.append(check_tool_call(f"{where}[{len(checked)}]", given))
    return checked


def check_tool_call(where: str, value: Any) -> ToolCall:
    """A tool call of values that need a closer look, or an error that says what is wrong."""
    call = check_dict(where, value)
    missing = [k for k in ("name", "args", "id") if k not in call]
    unknown = sorted(call.keys() - CALL_KEYS)
    if missing or unknown:
        raise InvalidMessageError(
            f"{where}: a tool call has the keys name, args and id (None if unknown); "
            f"missing: {missing}, unknown: {unknown}."
        )
    return tool_call(
        name=check_str(f"{where}.name", call["name"]),
        args=check_dict(f"{where}.args", call["args"]),
        id=check_optional_str(f"{where}.id", call["id"]),
    )


def check_invalid_tool_calls(where: str, value: Any) -> list[InvalidToolCall]:
    """A list of invalid tool calls; missing keys become None."""
    checked: list[InvalidToolCall] = []
    for n, given in enumerate(check_list(where, value)):
        call = check_dict(f"{where}[{n}]", given)
        rest = {k: v for k, v in call.items() if k in ("index", "extras")}
        base: Any = {
            "type": "invalid_tool_call",
            "id": call.get("id"),
            "name": call.get("name"),
            "args": call.get("args"),
            "error": call.get("error"),
        }
        checked.append(base | rest)
    return checked


def check_tool_call_chunks(where: str, value: Any) -> list[ToolCallChunk]:
    """A list of tool call chunks; missing keys become None."""
    checked: list[ToolCallChunk] = []
    for n, given in enumerate(check_list(where, value)):
        chunk = check_dict(f"{where}[{n}]", given)
        index: Any = chunk.get("index")
        if index is not None and str(index).isdigit():
            index = int(index)
        checked.append(
            tool_call_chunk(
                name=check_optional_str(f"{where}[{n}].name", chunk.get("name")),
                args=check_optional_str(f"{where}[{n}].args", chunk.get("args")),
                id=check_optional_str(f"{where}[{n}].id", chunk.get("id")),
                index=index,
            )
        )
    return checked


def read_openai_calls(raw: Any) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """The tool calls of an OpenAI response; `function.arguments` is the text of a JSON object."""
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for given in cast("list[Any]", raw) if isinstance(raw, list) else []:
        call: dict[str, Any] = cast("Any", given) if isinstance(given, dict) else {}
        function = call.get("function")
        if not isinstance(function, dict):
            continue
        described = cast("dict[str, Any]", function)
        name, text, call_id = described.get("name"), described.get("arguments"), call.get("id")
        try:
            args: Any = json.loads(text or "") or {}
        except (json.JSONDecodeError, TypeError):
            args = None
        if isinstance(args, dict):
            parsed = cast("dict[str, Any]", args)
            calls.append(tool_call(name=name or "", args=parsed, id=call_id))
        else:
            invalid.append(invalid_tool_call(name=name, args=text, id=call_id))
    return calls, invalid


def read_openai_chunks(raw: Any) -> list[ToolCallChunk]:
    """The pieces of tool calls in a chunk of OpenAI's: their arguments may be cut anywhere."""
    pieces: list[ToolCallChunk] = []
    for given in cast("list[Any]", raw) if isinstance(raw, list) else []:
        call: dict[str, Any] = cast("Any", given) if isinstance(given, dict) else {}
        function = call.get("function")
        if isinstance(function, dict):
            said = cast("dict[str, Any]", function)
            piece: dict[str, Any] = {
                "name": said.get("name"),
                "args": said.get("arguments"),
                "id": call.get("id"),
                "index": call.get("index"),
            }
            pieces += check_tool_call_chunks("additional_kwargs.tool_calls", [piece])
    return pieces


def whole_calls(content: list[Any], calls: list[ToolCall]) -> list[Any]:
    """Standard blocks with whole calls in the place of what was streamed of them."""
    by_id = {call["id"]: call for call in calls}
    return [
        _whole(cast("dict[str, Any]", block), by_id) if isinstance(block, dict) else block
        for block in content
    ]


def _whole(block: dict[str, Any], by_id: dict[str | None, ToolCall]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "tool_call_chunk" and block.get("id") in by_id:
        call = by_id[block.get("id")]
        more = {key: block[key] for key in ("extras",) if key in block}
        named = {"name": call["name"], "args": call["args"], "id": call["id"]}
        return {"type": "tool_call", **named, **more}
    if kind == "server_tool_call_chunk":
        try:
            args: Any = json.loads(block.get("args") or "{}")
        except (json.JSONDecodeError, TypeError):
            return block
        return {**block, "type": "server_tool_call", "args": args}
    return block


def read_chunks(
    chunks: list[ToolCallChunk],
) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """The tool calls that chunks amount to so far; what is no JSON object is invalid."""
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for chunk in chunks:
        text = chunk["args"]
        try:
            args: Any = parse_partial_json(text) if text else {}
        except json.JSONDecodeError:
            args = None
        if isinstance(args, dict):
            parsed = cast("dict[str, Any]", args)
            calls.append(tool_call(name=chunk["name"] or "", args=parsed, id=chunk["id"]))
        else:
            invalid.append(invalid_tool_call(name=chunk["name"], args=text, id=chunk["id"]))
    return calls, invalid


def read_args(text: Any) -> dict[str, Any] | str:
    """The arguments of a call from JSON; what is no JSON object stays text, with nothing lost.

    Line breaks may stand in its texts as they are: models write code so.

    >>> read_args('{"a": 1}'), read_args("{"), read_args(""), read_args("null"), read_args([1])
    ({'a': 1}, '{', {}, {}, '[1]')
    >>> read_args('{"code": "a' + chr(10) + 'b"}')["code"].split()
    ['a', 'b']
    """
    if not text:
        return {}
    if isinstance(text, dict):  # some servers send the object itself
        return cast("dict[str, Any]", text)
    if not isinstance(text, str):
        return json.dumps(text)
    try:
        args = json.loads(text, strict=False)
    except (json.JSONDecodeError, RecursionError):
        return text
    if args is None:
        return {}
    return cast("dict[str, Any]", args) if isinstance(args, dict) else text


CUT_OFF = frozenset(
    ("length", "max_tokens", "model_context_window_exceeded", "content_filter", "refusal")
)
"""Reasons of providers for which an answer ends before its end."""
ENDS_EARLY = "An answer cut off by a limit ends early: raise max_tokens."
"""What to do about arguments, or JSON, that cannot be read."""


def is_cut_off(told: Mapping[str, Any]) -> bool:
    """Whether an answer was ended by a limit or a filter, by what its provider told of it.

    >>> is_cut_off({"finish_reason": "length"}), is_cut_off({"stop_reason": "tool_use"})
    (True, False)
    """
    ended = told.get("finish_reason") or told.get("stop_reason")
    return told.get("status") == "incomplete" or (isinstance(ended, str) and ended in CUT_OFF)


def split_calls(
    pieces: Sequence[Any], told: Mapping[str, Any]
) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """The calls of an answer that has ended, and those that are cut off or no JSON objects.

    Args:
        pieces: Name, id and args of each, the args as they came.
        told: What the provider told of the answer: where it says that the answer was cut off, a
            last call that has no arguments yet has not got to them.

    >>> split_calls([{"name": "pay", "args": "", "id": "1"}], {})[0]
    [{'name': 'pay', 'args': {}, 'id': '1', 'type': 'tool_call'}]
    >>> split_calls([{"name": "pay", "args": "", "id": "1"}], {"finish_reason": "length"})[0]
    []
    """
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for left, piece in zip(range(len(pieces) - 1, -1, -1), pieces, strict=True):
        name, given, call_id = piece["name"], piece["args"], piece["id"]
        args = read_args(given)
        if not (given or left) and is_cut_off(told):
            error = "The answer was cut off before the arguments."
        elif isinstance(args, str):
            error = "The arguments are no JSON object."
        else:
            calls.append(tool_call(name=name or "", args=args, id=call_id))
            continue
        text = args if isinstance(args, str) else given
        invalid.append(invalid_tool_call(name=name, args=text, id=call_id, error=error))
    return calls, invalid
