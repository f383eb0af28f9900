"""The wire of Gemini's generateContent: messages to it, answers and streamed parts from it.

A call's thought signature, which must come back with the call, is kept under
`additional_kwargs["thought_signatures"]` by the call's id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from plait.chat_models.google.partial import OpenCall
from plait.chat_models.results import ChatGeneration, ChatResult
from plait.chat_models.wire import (
    Block,
    made_id,
    media_of,
    ordered,
    part_of,
    present,
    simplest,
    standard_blocks,
    unsupported,
)
from plait.errors import ContentFilteredError, InvalidInputError, ModelAPIError
from plait.messages import AIMessage, AIMessageChunk
from plait.messages.foreign import kind_of

PROVIDER = "google"
SIGNATURES = "thought_signatures"
PLAIN_KEYS = {"text", "thought", "thought_signature"}


def to_wire(messages: Sequence[Any]) -> tuple[Block | None, list[Block]]:
    """`system_instruction` (None if there is none) and `contents` of a request.

    Raises:
        InvalidInputError: A tool result answers no call, or a block has no form here.

    >>> from plait.messages import HumanMessage
    >>> to_wire([HumanMessage("hi")])
    (None, [{'role': 'user', 'parts': [{'text': 'hi'}]}])
    """
    system: list[Block] = []
    turns: list[Block] = []
    names: dict[str | None, str] = {}
    for message in messages:
        kind = kind_of(message)
        if kind == "system":
            system += _parts(message.content)
        elif kind == "ai":
            names |= {call["id"]: call["name"] for call in message.tool_calls}
            _add(turns, "model", _said(message))
        elif kind == "tool":
            _add(turns, "user", _result(message, names))
        else:
            _add(turns, "user", _parts(message.content))
    return ({"parts": system} if system else None), turns


def _add(turns: list[Block], role: str, parts: list[Block]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1]["parts"] += parts
    elif parts:
        turns.append({"role": role, "parts": parts})


def _parts(content: Any) -> list[Block]:
    if isinstance(content, str):
        return [{"text": content}]
    return [_part(block) for block in standard_blocks(content)]


def _part(block: Block) -> Block:
    if block["type"] == "text":
        return {"text": block["text"]}
    if block["type"] == "non_standard":
        return block["value"]
    media = media_of(block)
    if media is None:
        raise unsupported("Gemini", block, "Give it text or media.")
    if media.kind == "text-plain" and media.base64 is None and "text" in block:
        return {"text": block["text"]}
    if media.base64 is not None:
        data = present(data=media.base64, mime_type=media.mime_type, display_name=media.name)
        return {"inline_data": data}
    where = media.url or media.file_id
    return {"file_data": present(file_uri=where, mime_type=media.mime_type)}


def _result(message: Any, names: Mapping[str | None, str]) -> list[Block]:
    """A function response, and the media of the result beside it."""
    name = message.name or names.get(message.tool_call_id)
    if name is None:
        raise InvalidInputError(
            f"Gemini wants the name of the tool that a result is from; no call before it has the id"
            f" {message.tool_call_id!r}. Keep the AI message with the call, or give the "
            "ToolMessage a name."
        )
    blocks = list(standard_blocks(message.content))
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    key = "error" if message.status == "error" else "output"
    answer = {"id": message.tool_call_id, "name": name, "response": {key: _value(text)}}
    media = [_part(block) for block in blocks if block["type"] != "text"]
    return [{"function_response": answer}, *media]


def _value(text: str) -> Any:
    """A result as data if it is a JSON object, else as its text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return cast("Any", value) if isinstance(value, dict) else text


def _said(message: Any) -> list[Block]:
    signatures: Block = message.additional_kwargs.get(SIGNATURES) or {}
    made: list[Block] = []
    for block in ordered(message, PROVIDER):
        extras: Block = block.get("extras") or {}
        match block["type"]:
            case "tool_call":
                args = block["args"]
                given: Any = {"unreadable": args} if isinstance(args, str) else args
                call = {"id": block["id"], "name": block["name"], "args": given}
                signed = present(thought_signature=signatures.get(str(block["id"])))
                made.append({"function_call": call, **signed})
            case "reasoning":
                signature = extras.get("thought_signature")
                if (
                    signature is not None
                    or message.response_metadata.get("model_provider") == PROVIDER
                ):
                    thought = {"text": block.get("reasoning", ""), "thought": True}
                    made.append({**thought, **present(thought_signature=signature)})
            case "text":
                signed = present(thought_signature=extras.get("thought_signature"))
                made.append({"text": block["text"], **signed})
            case _:
                made.append(_part(block))
    return made


def read_part(part: Block, index: int) -> Block:
    """A part that is no function call, in standard form."""
    signed = present(thought_signature=part.get("thought_signature"))
    more: Block = {"index": index, **({"extras": signed} if signed else {})}
    inline = part.get("inline_data")
    if inline is not None:
        kind = str(inline.get("mime_type") or "file").split("/")[0]
        kind = kind if kind in ("image", "audio", "video") else "file"
        data = {"base64": inline.get("data"), **present(mime_type=inline.get("mime_type"))}
        return {"type": kind, **data, **more}
    if "text" not in part or part.keys() - PLAIN_KEYS:
        return {"type": "non_standard", "value": part, "index": index}
    if part.get("thought"):
        return {"type": "reasoning", "reasoning": part["text"], **more}
    return {"type": "text", "text": part["text"], **more}


def read_call(part: Block) -> Block:
    """A function call; one without an id gets one, so that its result can name it."""
    call: Block = part["function_call"]
    made = {"name": call["name"], "args": part_of(call, "args")}
    return {**made, "id": call.get("id") or made_id()}


def read_answer(answer: Block) -> ChatResult:
    """The candidates in an answer.

    Raises:
        ContentFilteredError: The prompt was blocked.
        ModelAPIError: There are none, and no reason is given.
    """
    check(answer)
    if not answer.get("candidates"):
        raise ModelAPIError(
            f"Google answered without a candidate: {answer!r:.300}. Ask again later.",
            provider=PROVIDER,
            model=answer.get("model_version"),
        )
    generations: list[ChatGeneration] = []
    for candidate in answer["candidates"]:
        parts: list[Block] = part_of(candidate, "content").get("parts") or []
        blocks: list[Block] = []
        calls: list[Block] = []
        signatures: Block = {}
        for index, part in enumerate(parts):
            if "function_call" not in part:
                blocks.append(read_part(part, index))
                continue
            calls.append(read_call(part))
            if "thought_signature" in part:
                signatures[calls[-1]["id"]] = part["thought_signature"]
        fields: Block = {"additional_kwargs": {SIGNATURES: signatures}} if signatures else {}
        if calls:
            fields["tool_calls"] = calls
        message: Any = AIMessage(simplest(blocks), **fields)
        message.id = answer.get("response_id") if not generations else None
        message.usage_metadata = read_usage(answer.get("usage_metadata"))
        message.response_metadata = {**_introduction(answer), **_ending(candidate)}
        generations.append(ChatGeneration(message))
    return ChatResult(generations)


def check(answer: Block) -> None:
    """Raises if the prompt was blocked."""
    if answer.get("candidates"):
        return
    feedback: Block = answer.get("prompt_feedback") or {}
    if feedback:
        raise ContentFilteredError(
            f"google:{answer.get('model_version')} refused the prompt: "
            f"{feedback.get('block_reason')}. {feedback.get('block_reason_message') or ''}".strip(),
            provider=PROVIDER,
            model=answer.get("model_version"),
        )


def _introduction(answer: Block) -> Block:
    return present(
        model_provider=PROVIDER,
        model_name=answer.get("model_version"),
        id=answer.get("response_id"),
    )


def _ending(candidate: Block) -> Block:
    names = ("finish_reason", "finish_message", "safety_ratings", "citation_metadata")
    more = ("grounding_metadata", "url_context_metadata", "avg_logprobs", "logprobs_result")
    return present(**{name: candidate.get(name) for name in (*names, *more)})


def read_usage(usage: Block | None) -> Any:
    """Token counts in standard form; thoughts count as output."""
    if not usage:
        return None
    given = (usage.get("prompt_token_count") or 0) + (usage.get("tool_use_prompt_token_count") or 0)
    thoughts = usage.get("thoughts_token_count") or 0
    made = (usage.get("candidates_token_count") or 0) + thoughts
    counts: Block = {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": usage.get("total_token_count") or given + made,
    }
    if usage.get("cached_content_token_count"):
        counts["input_token_details"] = {"cache_read": usage["cached_content_token_count"]}
    if thoughts:
        counts["output_token_details"] = {"reasoning": thoughts}
    return counts


class PartReader:
    """Turns the pieces of one streamed answer into chunks.

    Pieces of text follow one another as parts of one kind; a part of another kind starts a new
    place in the answer.

    Args:
        as_text: Whether bare text says all of a text part (nothing in the request asks for parts of
            other kinds), as long as there is no part beside it.
    """

    def __init__(self, as_text: bool = True) -> None:
        self._as_text = as_text
        self._introduced = False
        self._ended = False
        self._place = -1
        self._kind: str | None = None
        self._usage: Any = None
        self._open: OpenCall | None = None

    def finished(self) -> bool:
        """Whether a finish reason came."""
        return self._ended

    def read(self, event: Block) -> AIMessageChunk | None:
        """The chunk of one piece; None if it says nothing."""
        check(event)
        fields: Block = {"response_metadata": {}}
        if not self._introduced:
            self._introduced = True
            fields["response_metadata"] = _introduction(event)
        # Of several candidates, a stream gives the first: their pieces come mixed.
        given: list[Block] = event.get("candidates") or []
        candidate = next((one for one in given if not one.get("index")), Block())
        content, calls, signatures = self._parts(part_of(candidate, "content").get("parts"))
        if candidate.get("finish_reason"):
            self._ended = True
            calls += self._left_open()
            fields["response_metadata"] |= _ending(candidate)
        usage = self._counted(read_usage(event.get("usage_metadata")))
        fields |= {"tool_call_chunks": calls, "usage_metadata": usage}
        fields["additional_kwargs"] = {SIGNATURES: signatures} if signatures else {}
        fields = {key: value for key, value in fields.items() if value}
        if not content and not fields:
            return None
        return AIMessageChunk(content, id=event.get("response_id"), **fields)

    def _parts(self, parts: Sequence[Block] | None) -> tuple[Any, list[Block], Block]:
        blocks: list[Block] = []
        calls: list[Block] = []
        signatures: Block = {}
        for part in parts or ():
            if "function_call" in part:
                calls += self._called(part, signatures)
                continue
            kind = read_part(part, 0)["type"]
            self._moved(kind)
            blocks.append(read_part(part, self._place))
        bare = len(blocks) == 1 and blocks[0]["type"] == "text" and "extras" not in blocks[0]
        if not blocks or (bare and self._as_text):
            return "".join(block["text"] for block in blocks), calls, signatures
        self._as_text = False
        return blocks, calls, signatures

    def _called(self, part: Block, signatures: Block) -> list[Block]:
        """The pieces of a part that begins a call, is one, or goes on with the one that is open."""
        given: Block = part["function_call"]
        left: list[Block] = []
        begun: Block = {}
        if given.get("name"):
            left = self._left_open()
            self._moved("call")
            call = read_call(part)
            begun = {**call, "args": "", "index": self._place}
            self._open = OpenCall(self._place, call["args"])
            if "thought_signature" in part:
                signatures[call["id"]] = part["thought_signature"]
        if self._open is not None:
            self._open.take(given.get("partial_args") or ())
        if given.get("will_continue"):
            return [*left, begun] if begun else left
        return left + [{**last, **begun, "args": last["args"]} for last in self._left_open(True)]

    def _left_open(self, is_whole: bool = False) -> list[Block]:
        """The arguments of the call that is open, if one is, as its last piece."""
        call, self._open = self._open, None
        if call is None:
            return []
        return [{"name": None, "args": call.text(is_whole), "id": None, "index": call.index}]

    def _moved(self, kind: str) -> None:
        """A part that does not go on with the text before it has a place of its own."""
        if kind != self._kind or kind not in ("text", "reasoning"):
            self._place += 1
        self._kind = kind

    def _counted(self, total: Any) -> Any:
        """What was counted since the last piece; Gemini's counts are totals, chunks add up."""
        if total is None:
            return None
        before: Block = self._usage or {}
        self._usage = total
        return _minus(total, before)


def _minus(total: Mapping[str, Any], before: Mapping[str, Any]) -> Any:
    left: Block = {}
    for key, value in total.items():
        known = before.get(key)
        if isinstance(value, dict):
            left[key] = _minus(cast("Block", value), cast("Block", known or {}))
        else:
            left[key] = value - (known or 0)
    return left
