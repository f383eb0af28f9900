"""`AIMessage`: what a model says, with its tool calls; `AIMessageChunk`: a streamed piece of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, cast

from plait.common.lazy import lazily
from plait.messages.base import BaseMessage, BaseMessageChunk, put_content, put_id
from plait.messages.calls import (
    check_invalid_tool_calls,
    check_tool_call_chunks,
    check_tool_calls,
    read_chunks,
    read_openai_calls,
    read_openai_chunks,
    tool_call_chunk,
    whole_calls,
)
from plait.messages.fields import ANY_JSON, Field, reject
from plait.messages.merge import merge_lists
from plait.messages.usage import add_usage, check_usage, subtract_usage

if TYPE_CHECKING:
    from plait.messages.content import (
        InputTokenDetails,
        InvalidToolCall,
        OutputTokenDetails,
        ToolCall,
        ToolCallChunk,
        UsageMetadata,
    )

# Ids that LangChain makes up: for a run, and for anything. A provider's own id is better.
LC_AUTO_PREFIX = "lc_"
LC_ID_PREFIX = "lc_run-"

LIST_JSON: dict[str, Any] = {"items": {"type": "object"}, "type": "array"}


class AIMessage(BaseMessage):
    """What a model says.

    Args:
        tool_calls: The calls that the model asks for.
        invalid_tool_calls: Calls whose arguments could not be read.
        usage_metadata: Token counts of the call.

    >>> AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}]).tool_calls
    [{'name': 'add', 'args': {'a': 1}, 'id': '1', 'type': 'tool_call'}]
    """

    __slots__ = ()
    type: Literal["ai"] = "ai"  # pyright: ignore[reportIncompatibleVariableOverride]
    tool_calls: list[ToolCall] = Field(  # pyright: ignore[reportAssignmentType]
        "tool_calls", factory=list, check=check_tool_calls, json=LIST_JSON
    )
    invalid_tool_calls: list[InvalidToolCall] = Field(  # pyright: ignore[reportAssignmentType]
        "invalid_tool_calls", factory=list, check=check_invalid_tool_calls, json=LIST_JSON
    )
    usage_metadata: UsageMetadata | None = Field(  # pyright: ignore[reportAssignmentType]
        "usage_metadata", check=check_usage, json=ANY_JSON
    )

    @classmethod
    def __plait_from_blocks__(cls, blocks: list[Any], given: dict[str, Any]) -> dict[str, Any]:
        calls = [b for b in blocks if b.get("type") == "tool_call"]
        if not calls or "tool_calls" in given:
            return given
        picked = [{k: call.get(k) for k in ("name", "args", "id")} for call in calls]
        return {**given, "tool_calls": picked}

    def __plait_filled__(self, given: dict[str, Any]) -> None:
        if "additional_kwargs" in given:
            self.__plait_read_openai__()

    def __plait_read_openai__(self) -> None:
        """Fills in the calls that a provider left in `additional_kwargs["tool_calls"]`."""
        raw = self.additional_kwargs.get("tool_calls")
        if raw and not self.tool_calls and not self.invalid_tool_calls:
            calls, invalid = read_openai_calls(raw)
            object.__setattr__(self, "tool_calls", calls)
            object.__setattr__(self, "invalid_tool_calls", check_invalid_tool_calls("", invalid))

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """Fields that are written even when they are empty."""
        return {"tool_calls": self.tool_calls, "invalid_tool_calls": self.invalid_tool_calls}

    def pretty_repr(self, html: bool = False) -> str:
        """A readable form with a title line and the tool calls."""
        lines: list[str] = []
        for title, calls in (
            ("Tool Calls:", self.tool_calls),
            ("Invalid Tool Calls:", self.invalid_tool_calls),
        ):
            if calls:
                lines.append(title)
            for call in calls:
                lines.extend(call_lines(cast("dict[str, Any]", call)))
        shown = super().pretty_repr(html).strip()  # a message that only calls tools says nothing
        return (shown + "\n" + "\n".join(lines)).strip()


def call_lines(call: dict[str, Any]) -> list[str]:
    """The lines of one call in `pretty_repr`."""
    lines = [f"  {call.get('name', 'Tool')} ({call.get('id')})", f" Call ID: {call.get('id')}"]
    if call.get("error"):
        lines.append(f"  Error: {call.get('error')}")
    lines.append("  Args:")
    args = call.get("args")
    if isinstance(args, dict):
        lines.extend(f"    {k}: {v}" for k, v in cast("dict[str, Any]", args).items())
    else:
        lines.append(f"    {args}")
    return lines


def _check_position(where: str, value: Any) -> Any:
    if value not in (None, "last"):
        raise reject(where, "'last' or None", value)
    return value


class AIMessageChunk(AIMessage, BaseMessageChunk):
    """A streamed piece of an `AIMessage`.

    Args:
        tool_call_chunks: Pieces of tool calls; `tool_calls` and `invalid_tool_calls` are what they
            amount to so far.
        chunk_position: "last" on the last piece of a stream.

    >>> one = AIMessageChunk("", tool_call_chunks=[
    ...     {"name": "add", "args": '{"a": ', "id": "1", "index": 0}])
    >>> two = AIMessageChunk("", tool_call_chunks=[
    ...     {"name": None, "args": '1}', "id": None, "index": 0}])
    >>> (one + two).tool_calls
    [{'name': 'add', 'args': {'a': 1}, 'id': '1', 'type': 'tool_call'}]
    """

    __slots__ = ()
    type: Literal["AIMessageChunk"] = "AIMessageChunk"  # pyright: ignore[reportIncompatibleVariableOverride]
    tool_call_chunks: list[ToolCallChunk] = Field(  # pyright: ignore[reportAssignmentType]
        "tool_call_chunks", factory=list, check=check_tool_call_chunks, json=LIST_JSON
    )
    chunk_position: Literal["last"] | None = Field(  # pyright: ignore[reportAssignmentType]
        "chunk_position", check=_check_position
    )

    def __plait_filled__(self, given: dict[str, Any]) -> None:
        super().__plait_filled__(given)
        self.init_tool_calls()

    def __plait_read_openai__(self) -> None:
        """As pieces: each may be a part of a call, which those with its index make whole."""
        raw = self.additional_kwargs.get("tool_calls")
        if raw and not (self.tool_call_chunks or self.tool_calls or self.invalid_tool_calls):
            object.__setattr__(self, "tool_call_chunks", read_openai_chunks(raw))

    def init_tool_calls(self) -> AIMessageChunk:
        """Brings `tool_calls` and `tool_call_chunks` in line; the chunks win.

        In the last piece of a stream of standard blocks (`output_version` "v1"), the calls in the
        content are whole, too.
        """
        chunks = self.tool_call_chunks
        if chunks:
            calls, invalid = read_chunks(chunks)
            object.__setattr__(self, "tool_calls", calls)
            object.__setattr__(self, "invalid_tool_calls", invalid)
        elif self.tool_calls or self.invalid_tool_calls:
            made = [
                tool_call_chunk(name=c["name"], args=json.dumps(c["args"]), id=c["id"])
                for c in self.tool_calls
            ]
            made += [
                tool_call_chunk(name=c["name"], args=c["args"], id=c["id"])
                for c in self.invalid_tool_calls
            ]
            object.__setattr__(self, "tool_call_chunks", made)
        is_standard = self.response_metadata.get("output_version") == "v1"
        if self.chunk_position == "last" and is_standard and isinstance(self.content, list):
            put_content(self, whole_calls(self.content, self.tool_calls))
        return self

    def __plait_combine__(self, made: Any, rare: dict[str, Any], pieces: list[Any]) -> None:
        ids: list[str | None] = []
        chunks: list[Any] | None = None
        for piece in pieces:
            if not isinstance(piece, AIMessageChunk):
                continue
            ids.append(piece.id)
            kept = piece.__plait_rare__
            new = kept.get("tool_call_chunks") if kept else None
            if chunks is None:  # the chunks of one piece are different calls, whatever they say
                chunks = list(new or ())
            elif new:
                chunks = merge_lists(chunks, new)
            if not kept:
                continue
            usage = kept.get("usage_metadata")
            if usage:
                rare["usage_metadata"] = add_usage(rare.get("usage_metadata"), usage)
            if kept.get("chunk_position") == "last":
                rare["chunk_position"] = "last"
        put_id(made, best_id(ids))
        if chunks:
            rare["tool_call_chunks"] = chunks
        if chunks or rare.get("chunk_position") == "last":
            made.init_tool_calls()


def add_ai_message_chunks(left: AIMessageChunk, *others: AIMessageChunk) -> AIMessageChunk:
    """The sum of several chunks."""
    return left.__plait_merge__(list(others))


def best_id(ids: list[str | None]) -> str | None:
    """A provider's own id, else one made for a run, else any.

    >>> best_id(["lc_1", "lc_run-2", "msg_3"])
    'msg_3'
    """
    if ids and ids[0] and not ids[0].startswith(LC_AUTO_PREFIX):
        return ids[0]
    known = [i for i in ids if i]
    own = [i for i in known if not i.startswith(LC_AUTO_PREFIX)]
    of_runs = [i for i in known if i.startswith(LC_ID_PREFIX)]
    return next(iter(own or of_runs or known), None)


_SHAPES = ("InputTokenDetails", "OutputTokenDetails", "UsageMetadata")
__getattr__ = lazily(__name__, dict.fromkeys(_SHAPES, "plait.messages.content"))

__all__ = [
    "LC_AUTO_PREFIX",
    "LC_ID_PREFIX",
    "AIMessage",
    "AIMessageChunk",
    "InputTokenDetails",
    "OutputTokenDetails",
    "UsageMetadata",
    "add_ai_message_chunks",
    "add_usage",
    "subtract_usage",
]
