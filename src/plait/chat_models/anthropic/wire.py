"""The wire of Anthropic's messages: messages to it, answers and stream events from it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from plait.chat_models.results import ChatGeneration, ChatResult
from plait.chat_models.wire import (
    Block,
    Media,
    call_chunk,
    introduced,
    media_of,
    ordered,
    part_of,
    present,
    simplest,
    standard_blocks,
    stays_text,
    text_chunk,
    unsupported,
)
from plait.errors import InvalidInputError
from plait.messages import AIMessage, AIMessageChunk, subtract_usage
from plait.messages.calls import is_cut_off, read_args
from plait.messages.foreign import kind_of

PROVIDER = "anthropic"
UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
TOOL_USES = "tool_uses"
"""Where a message keeps what Anthropic says of its calls beside name and arguments, by their ids:
who called (a program that Anthropic runs), and from which set of tools."""
OWN_TYPES = (
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "document",
    "search_result",
)
USE_KEYS = ("type", "id", "name", "input")
CITED = {"cited_text": "cited_text", "url": "url", "title": "title", "document_title": "title"}


def to_wire(messages: Sequence[Any]) -> tuple[Any, list[Block]]:
    """`system` (None if there is none) and `messages` of a request.

    Neighbours of one role are united, as Anthropic wants turns to alternate; tool results are part
    of the user's turn.

    Raises:
        InvalidInputError: A system message stands after others, or a block has no form here.

    >>> from plait.messages import HumanMessage, SystemMessage
    >>> to_wire([SystemMessage("be kind"), HumanMessage("hi")])
    ('be kind', [{'role': 'user', 'content': 'hi'}])
    """
    system: list[Block] = []
    turns: list[Block] = []
    for message in messages:
        kind = kind_of(message)
        if kind == "system":
            if turns:
                raise InvalidInputError(
                    "Anthropic takes system messages only before all others; one came after "
                    f"{len(turns)} turns: {str(message.content)[:80]!r}. Move it to the front."
                )
            system += _parts(message.content)
        elif kind == "ai":
            _add(turns, "assistant", _said(message))
        elif kind == "tool":
            _add(turns, "user", [_result(message)])
        elif isinstance(message.content, str):
            _add(turns, "user", message.content)
        else:
            _add(turns, "user", _parts(message.content))
    return _lean(system) or None, turns


def _add(turns: list[Block], role: str, content: str | list[Block]) -> None:
    if role == "assistant" and not (content.strip() if isinstance(content, str) else content):
        return  # Claude says nothing at times, and is not given back that
    if not turns or turns[-1]["role"] != role:
        turns.append({"role": role, "content": content})
        return
    turns[-1]["content"] = [*_listed(turns[-1]["content"]), *_listed(content)]


def _listed(content: str | list[Block]) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _lean(blocks: list[Block]) -> str | list[Block]:
    bare = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    return blocks[0]["text"] if bare else blocks


def _parts(content: Any) -> list[Block]:
    """The blocks of what is not the model's own message; Anthropic's own forms stay as they are."""
    items: list[Any] = [content] if isinstance(content, str) else content
    made: list[Block] = []
    for item in items:
        block = cast("Block", item) if isinstance(item, dict) else {}
        if "source" in block or block.get("type") in OWN_TYPES:
            made.append(block)
        else:
            made += [_part(block) for block in standard_blocks([item])]
    return made


def _part(block: Block) -> Block:
    extras: Block = block.get("extras") or {}
    cached = block.get("cache_control") or extras.get("cache_control")
    made = _bare_part(block, extras)
    return {**made, "cache_control": cached} if cached else made


def _bare_part(block: Block, extras: Block) -> Block:
    if block["type"] == "text":
        cited = [write_citation(c) for c in block.get("annotations") or ()]
        text: Block = {"type": "text", "text": block["text"]}
        return {**text, "citations": cited} if cited else text
    if block["type"] == "non_standard":
        return block["value"]
    media = media_of(block)
    if media is None or media.kind in ("audio", "video"):
        raise unsupported("Anthropic", block, "Give it text, images or documents.")
    if media.kind == "image":
        return {"type": "image", "source": _source(media)}
    more = {k: extras[k] for k in ("citations", "context") if k in extras}
    source = _source(media)
    if media.kind == "text-plain" and "text" in block and media.base64 is None:
        source = {"type": "text", "media_type": "text/plain", "data": block["text"]}
    return {"type": "document", "source": source, **present(title=media.name), **more}


def _source(media: Media) -> Block:
    if media.file_id is not None:
        return {"type": "file", "file_id": media.file_id}
    if media.base64 is None:
        return {"type": "url", "url": media.url}
    default = "image/png" if media.kind == "image" else "application/pdf"
    mime = media.mime_type or default
    return {"type": "base64", "media_type": mime, "data": media.base64}


def _result(message: Any) -> Block:
    content = message.content
    made: Block = {
        "type": "tool_result",
        "tool_use_id": _fit(message.tool_call_id),
        "content": content if isinstance(content, str) else _parts(content),
    }
    return {**made, "is_error": True} if message.status == "error" else made


def _fit(call_id: str | None) -> str | None:
    """The id of a call as Anthropic takes it; another model may have given it (fallbacks)."""
    return call_id and UNFIT.sub("_", call_id)


def _said(message: Any) -> str | list[Block]:
    if isinstance(message.content, str) and not (message.tool_calls or message.invalid_tool_calls):
        return message.content
    uses: Block = message.additional_kwargs.get(TOOL_USES) or {}
    made = [_said_part(block, uses) for block in ordered(message, PROVIDER)]
    return [block for block in made if block]


def _said_part(block: Block, uses: Block) -> Block:
    """A block of the model's own message; thoughts of other models, and texts that say nothing,
    which Anthropic refuses, are left out."""
    extras: Block = block.get("extras") or {}
    match block["type"]:
        case "reasoning":
            if "signature" not in extras:
                return {}
            thought = {"type": "thinking", "thinking": block.get("reasoning", "")}
            return {**thought, "signature": extras["signature"]}
        case "tool_call":
            args = block["args"]
            given: Any = {"unreadable": args} if isinstance(args, str) else args
            call_id = _fit(block["id"])
            use = {"type": "tool_use", "id": call_id, "name": block["name"], "input": given}
            return {**use, **part_of(uses, str(block["id"]))}
        case "server_tool_call":
            call = {"id": block["id"], "name": block["name"], "input": block["args"]}
            return {"type": "server_tool_use", **call, **extras}
        case "server_tool_result":
            result = {"tool_use_id": block["tool_call_id"], "content": block.get("output")}
            return {"type": "web_search_tool_result", **result, **extras}
        case "text" if not block["text"].strip():
            return {}
        case _:
            return _part(block)


def read_block(block: Block, index: int) -> Block | None:
    """A content block in standard form; None for tool calls, which stand apart."""
    kind = str(block.get("type"))
    place: Block = {"index": index}
    if kind == "text":
        cited = [read_citation(c) for c in block.get("citations") or ()]
        more = {"annotations": cited} if cited else {}
        return {"type": "text", "text": block.get("text", ""), **more, **place}
    if kind == "thinking":
        signed = block.get("signature")
        more = {"extras": {"signature": signed}} if signed else {}
        return {"type": "reasoning", "reasoning": block.get("thinking", ""), **more, **place}
    if kind == "tool_use":
        return None
    if kind in ("server_tool_use", "mcp_tool_use"):
        call = {"id": block["id"], "name": block["name"], "args": part_of(block, "input")}
        beside = read_beside(block)
        extras = beside if kind == "server_tool_use" else {"type": kind, **beside}
        more = {"extras": extras} if extras else {}
        return {"type": "server_tool_call", **call, **more, **place}
    if kind.endswith("_tool_result"):
        output = block.get("content")
        failed = isinstance(output, dict) and "error_code" in output
        return {
            "type": "server_tool_result",
            "tool_call_id": block["tool_use_id"],
            "status": "error" if failed or block.get("is_error") else "success",
            "output": output,
            "extras": {"type": kind, **read_beside(block)},
            **place,
        }
    return {"type": "non_standard", "value": block, **place}


def read_beside(block: Block) -> Block:
    """What Anthropic says of a call or result beside what all providers say; it wants it back.

    >>> read_beside({"type": "mcp_tool_use", "name": "f", "server_name": "s", "caller": None})
    {'server_name': 's'}
    """
    known = (*USE_KEYS, "tool_use_id", "content")
    said = {key: value for key, value in block.items() if key not in known and value is not None}
    if said.get("caller") == {"type": "direct"}:
        del said["caller"]  # as if it said nothing
    return said


def read_citation(given: Block) -> Block:
    """A citation in standard form; the rest of what Anthropic says of it under `extras`."""
    cited: Block = {"type": "citation"}
    extras: Block = {}
    for key, value in given.items():
        if key in CITED and value is not None:
            cited[CITED[key]] = value
        elif value is not None:
            extras[key] = value
    return {**cited, "extras": extras} if extras else cited


def write_citation(cited: Block) -> Block:
    """A citation as Anthropic gave it."""
    extras: Block = cited.get("extras") or {}
    kind = str(extras.get("type", ""))
    title = "title" if kind.endswith("search_result_location") else "document_title"
    given = {key: cited[key] for key in ("cited_text", "url") if key in cited}
    rest = {key: value for key, value in extras.items() if key != "file_id"}  # not taken back
    return {**rest, **given, title: cited.get("title")}


def read_answer(answer: Block) -> ChatResult:
    """The message in an answer."""
    given: list[Block] = answer.get("content") or []
    blocks = [read_block(block, index) for index, block in enumerate(given)]
    calls: Any = [
        {"name": block["name"], "args": part_of(block, "input"), "id": block["id"]}
        for block in given
        if block["type"] == "tool_use"
    ]
    content = simplest([block for block in blocks if block is not None])
    fields: Any = {}
    if calls and given[-1]["type"] == "tool_use" and is_cut_off(answer):
        # Anthropic completes what has come of the arguments: nothing shows whether it is all.
        cut = calls.pop()
        cut = {**cut, "args": json.dumps(cut["args"]), "error": "The answer was cut off here."}
        fields["invalid_tool_calls"] = [cut]
    if calls:
        fields["tool_calls"] = calls
    if uses := {k: v for block in given if block["type"] == "tool_use" for k, v in _use(block)}:
        fields["additional_kwargs"] = {TOOL_USES: uses}
    message: Any = AIMessage(content, **fields)
    message.id = answer.get("id") or None
    message.usage_metadata = read_usage(answer.get("usage") or {})
    counted = _ran(answer.get("usage") or {})
    message.response_metadata = {**_introduction(answer), **_ending(answer), **counted}
    return ChatResult([ChatGeneration(message)])


def _use(block: Block) -> list[tuple[str, Block]]:
    """What is kept of a call beside name and arguments, if anything, with its id."""
    beside = read_beside(block)
    return [(block["id"], beside)] if beside else []


def _ran(usage: Block) -> Block:
    """How often Anthropic ran its own tools, which it charges for."""
    counts = {key: count for key, count in part_of(usage, "server_tool_use").items() if count}
    return {"server_tool_use": counts} if counts else {}


def _introduction(answer: Block) -> Block:
    return present(model_provider=PROVIDER, model_name=answer.get("model"), id=answer.get("id"))


def _ending(answer: Block) -> Block:
    names = ("stop_reason", "stop_sequence", "stop_details", "container", "context_management")
    return present(**{name: answer.get(name) for name in names})


def read_usage(usage: Block) -> Any:
    """Token counts in standard form; what the cache gave or took is input, too."""
    read = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    given = (usage.get("input_tokens") or 0) + read + written
    made = usage.get("output_tokens") or 0
    counts: Block = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    if read or written:
        # What is cached for an hour costs more than the rest, which is kept for minutes.
        hour = part_of(usage, "cache_creation").get("ephemeral_1h_input_tokens")
        kept = {"ephemeral_1h_input_tokens": hour} if hour else {}
        counts["input_token_details"] = {"cache_creation": written, "cache_read": read, **kept}
    if thought := part_of(usage, "output_tokens_details").get("thinking_tokens"):
        counts["output_token_details"] = {"reasoning": thought}
    return counts


class MessageReader:
    """Turns the events of one streamed message into chunks.

    Args:
        as_text: Whether bare text says all of a text block (nothing in the request may be cited),
            as long as there is no block beside it.
    """

    def __init__(self, as_text: bool = True) -> None:
        self._as_text = as_text
        self._ended = False
        self._id: str | None = None
        self._usage: Block = {}
        self._told: Block = {}
        self._server_calls: dict[int, tuple[Block, list[str]]] = {}

    def finished(self) -> bool:
        """Whether the last event came."""
        return self._ended

    def read(self, event: Block) -> AIMessageChunk | None:
        """The chunk of one event; None if it says nothing."""
        chunk = self._chunk(event)
        if chunk is None:
            return None
        self._as_text = self._as_text and stays_text(chunk)
        if self._id is not None:
            chunk.id = self._id
        if self._told:
            usage = read_usage({**self._usage, "output_tokens": 0})
            chunk, self._told = introduced(chunk, self._told, usage), {}
        return chunk

    def _chunk(self, event: Block) -> AIMessageChunk | None:
        match event.get("type"):
            case "message_start":
                answer: Block = event["message"]
                self._id = answer.get("id") or None
                self._usage = dict(answer.get("usage") or {})
                self._told = _introduction(answer)
            case "content_block_start":
                return self._opened(event["content_block"], event["index"])
            case "content_block_delta":
                return self._grown(event["delta"], event["index"])
            case "content_block_stop":
                return self._closed(event["index"])
            case "message_delta":
                counts: Block = event.get("usage") or {}
                told = {**_ending(event["delta"]), **_ending(event), **_ran(counts)}
                usage = self._counted(counts)
                return AIMessageChunk("", response_metadata=told, usage_metadata=usage)
            case "message_stop":
                self._ended = True
            case _:
                pass
        return None

    def _opened(self, block: Block, index: int) -> AIMessageChunk | None:
        kind = block["type"]
        if kind == "text":
            return text_chunk(block["text"], index, self._as_text) if block.get("text") else None
        if kind == "tool_use":
            args = json.dumps(block["input"]) if block.get("input") else ""
            chunk = call_chunk(
                index, args, name=block["name"], call_id=block["id"], as_text=self._as_text
            )
            if uses := dict(_use(block)):
                chunk.additional_kwargs = {TOOL_USES: uses}
            return chunk
        if kind in ("server_tool_use", "mcp_tool_use"):
            self._server_calls[index] = (block, [])
            return None
        read = read_block(block, index)
        return None if read is None else AIMessageChunk([read])

    def _grown(self, delta: Block, index: int) -> AIMessageChunk | None:
        match delta.get("type"):
            case "text_delta":
                return text_chunk(delta["text"], index, self._as_text)
            case "input_json_delta":
                if index in self._server_calls:
                    self._server_calls[index][1].append(delta["partial_json"])
                    return None
                return call_chunk(index, delta["partial_json"], as_text=self._as_text)
            case "thinking_delta":
                block = {"type": "reasoning", "reasoning": delta["thinking"], "index": index}
                return AIMessageChunk([block])
            case "signature_delta":
                signed = {"signature": delta["signature"]}
                return AIMessageChunk([{"type": "reasoning", "extras": signed, "index": index}])
            case "citations_delta":
                cited = [read_citation(delta["citation"])]
                block = {"type": "text", "text": "", "annotations": cited, "index": index}
                return AIMessageChunk([block])
            case _:
                return None

    def _closed(self, index: int) -> AIMessageChunk | None:
        """A call that Anthropic runs itself is given when it is whole."""
        if index not in self._server_calls:
            return None
        block, pieces = self._server_calls.pop(index)
        if text := "".join(pieces):
            args = read_args(text)
            block = {**block, "input": {"unreadable": args} if isinstance(args, str) else args}
        read = read_block(block, index)
        return None if read is None else AIMessageChunk([read])

    def _counted(self, usage: Block) -> Any:
        """What was counted since the start; Anthropic's counts are totals, chunks add up."""
        total = read_usage({**self._usage, **{k: v for k, v in usage.items() if v is not None}})
        return subtract_usage(total, read_usage({**self._usage, "output_tokens": 0}))
