"""The wire of OpenAI's responses API: messages to items, items and stream events to messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from plait.chat_models.failures import kind_of_failure
from plait.chat_models.openai.chat import PROVIDER, read_annotation, write_annotation
from plait.chat_models.results import ChatGeneration, ChatResult
from plait.chat_models.wire import (
    Block,
    args_text,
    call_chunk,
    calls_of,
    introduced,
    ordered,
    part_of,
    present,
    simplest,
    standard_blocks,
    stays_text,
    text_chunk,
    unsupported,
)
from plait.errors import ModelAPIError
from plait.messages import AIMessage, AIMessageChunk
from plait.messages.blocks import is_data_content_block
from plait.messages.foreign import kind_of
from plait.messages.openai import convert_to_openai_data_block
from plait.messages.tokens import role_of


def to_items(messages: Sequence[Any]) -> list[Block]:
    """Messages as the `input` of a request."""
    made: list[Block] = []
    custom: set[str] = set()
    for message in messages:
        kind = kind_of(message)
        if kind == "ai":
            said = _said(message)
            custom |= {item["call_id"] for item in said if item["type"] == "custom_tool_call"}
            made += said
        elif kind == "tool":
            call_id, output = message.tool_call_id, _parts(message.content)
            which = "custom_tool_call_output" if call_id in custom else "function_call_output"
            made.append({"type": which, "call_id": call_id, "output": output})
        else:
            content = _parts(message.content)
            made.append({"type": "message", "role": role_of(message), "content": content})
    return made


def _parts(content: Any) -> str | list[Block]:
    """The content of what is not the model's own message."""
    return content if isinstance(content, str) else [_part(b) for b in standard_blocks(content)]


def _part(block: Block) -> Block:
    if block["type"] == "text":
        return {"type": "input_text", "text": block["text"]}
    if block["type"] == "image" and "file_id" in block:
        return {"type": "input_image", "file_id": block["file_id"]}
    if block["type"] in ("image", "file") and is_data_content_block(block):
        made = convert_to_openai_data_block(block, "responses")
        detail = part_of(block, "extras").get("detail")
        return {**made, "detail": detail} if detail else made
    if block["type"] == "non_standard":
        return block["value"]
    raise unsupported("OpenAI's responses API", block, "Give it text, images or files.")


def _said(message: Any) -> list[Block]:
    """The items of what the model said, in its order."""
    items: list[Block] = []
    if refusal := message.additional_kwargs.get("refusal"):
        items.append(_output({"type": "refusal", "refusal": refusal}))
    for block in ordered(message, PROVIDER):
        match block["type"]:
            case "text":
                cited = [write_annotation(a) for a in block.get("annotations") or ()]
                part = {"type": "output_text", "text": block["text"], "annotations": cited}
                phase = part_of(block, "extras").get("phase")
                items.append({**_output(part), **present(phase=phase)})
            case "reasoning":
                items.append(_thought(block))
            case "tool_call":
                call = {"call_id": block["id"], "name": block["name"]}
                items.append({"type": "function_call", **call, "arguments": args_text(block)})
            case "non_standard":
                items.append(block["value"])
            case _:
                raise unsupported("OpenAI's responses API", block, "Leave it out of the message.")
    return [item for item in items if item]


def _output(part: Block) -> Block:
    return {"type": "message", "role": "assistant", "content": [part]}


def _thought(block: Block) -> Block:
    """A reasoning item; one that is not OpenAI's own (without an id) is left out."""
    extras: Block = block.get("extras") or {}
    if not str(block.get("id") or "").startswith("rs_"):
        return {}
    texts = extras.get("summary") or ([block["reasoning"]] if block.get("reasoning") else [])
    summary = [{"type": "summary_text", "text": text} for text in texts]
    rest = {k: v for k, v in extras.items() if k in ("encrypted_content", "content")}
    return {"type": "reasoning", "id": block["id"], "summary": summary, **rest}


def read_answer(answer: Block) -> ChatResult:
    """The message in a response.

    Raises:
        ModelError: The response failed.
    """
    check(answer)
    blocks: list[Block] = []
    calls: list[Block] = []
    kept: Block = {}
    items: list[Block] = answer.get("output") or []
    for index, item in enumerate(items):
        match item.get("type"):
            case "message":
                for part in item.get("content") or ():
                    if part.get("type") == "refusal":
                        kept["refusal"] = part["refusal"]
                    else:
                        blocks.append({**_text_block(part, index), **_phase(item)})
            case "function_call":
                args, call_id = item.get("arguments"), item.get("call_id")
                calls.append({"name": item["name"], "args": args, "id": call_id})
            case "reasoning":
                blocks.append({**_reasoning(item), "index": index})
            case _:
                blocks.append({"type": "non_standard", "value": item, "index": index})
    fields: Block = {"additional_kwargs": kept} if kept else {}
    message: Any = AIMessage(simplest(blocks), **calls_of(calls, answer), **fields)
    message.id = answer.get("id") or None
    message.usage_metadata = read_usage(answer.get("usage"))
    message.response_metadata = {**_introduction(answer), **_ending(answer)}
    return ChatResult([ChatGeneration(message)])


def check(answer: Block) -> None:
    """Raises for a response that failed."""
    error: Any = answer.get("error")
    if answer.get("status") == "failed" or error:
        said: Block = cast("Block", error) if isinstance(error, dict) else {}
        code, text = said.get("code"), said.get("message") or "no reason was given"
        kind = ModelAPIError if code is None else kind_of_failure(None, (code,), text)
        raise kind(
            f"openai:{answer.get('model')} failed: {text} "
            f"(code {code!r}, response {answer.get('id')!r}).",
            provider=PROVIDER,
            model=answer.get("model"),
        )


def _text_block(part: Block, index: int) -> Block:
    cited = [read_annotation(a) for a in part.get("annotations") or ()]
    block: Block = {"type": "text", "text": part.get("text", ""), "index": index}
    return {**block, "annotations": cited} if cited else block


def _phase(item: Block) -> Block:
    """Whether a text is said on the way or is the answer; OpenAI wants that back."""
    phase = item.get("phase")
    return {"extras": {"phase": phase}} if phase else {}


def _reasoning(item: Block) -> Block:
    """A reasoning item as a block: its summaries as text; apart, too, if there are several."""
    texts = [part.get("text", "") for part in item.get("summary") or ()]
    extras = present(encrypted_content=item.get("encrypted_content"), content=item.get("content"))
    if len(texts) > 1:
        extras["summary"] = texts
    block = {"type": "reasoning", "id": item.get("id"), "reasoning": "\n\n".join(texts)}
    return {**block, "extras": extras} if extras else block


def _introduction(answer: Block) -> Block:
    return present(model_provider=PROVIDER, model_name=answer.get("model"), id=answer.get("id"))


def _ending(answer: Block) -> Block:
    return present(
        status=answer.get("status"),
        incomplete_details=answer.get("incomplete_details"),
        service_tier=answer.get("service_tier"),
    )


def read_usage(usage: Block | None) -> Any:
    """Token counts in standard form."""
    if not usage:
        return None
    inputs = present(cache_read=part_of(usage, "input_tokens_details").get("cached_tokens"))
    made_of: Block = usage.get("output_tokens_details") or {}
    outputs = present(reasoning=made_of.get("reasoning_tokens"))
    counts = {key: usage.get(key) or 0 for key in ("input_tokens", "output_tokens", "total_tokens")}
    return {
        **counts,
        **({"input_token_details": inputs} if inputs else {}),
        **({"output_token_details": outputs} if outputs else {}),
    }


class ResponseReader:
    """Turns the events of one streamed response into chunks.

    Args:
        as_text: Whether bare text says all of a text item (no tool of OpenAI's may cite), as long
            as there is no item beside it.
    """

    def __init__(self, as_text: bool = True) -> None:
        self._as_text = as_text
        self._ended = False
        self._id: str | None = None
        self._model: Any = None
        self._told: Block = {}

    def finished(self) -> bool:
        """Whether the last event came."""
        return self._ended

    def read(self, event: Block) -> AIMessageChunk | None:
        """The chunk of one event; None if it says nothing."""
        chunk = self._chunk(event.get("type", ""), event, event.get("output_index", 0))
        if chunk is None:
            return None
        self._as_text = self._as_text and stays_text(chunk)
        if self._id is not None:
            chunk.id = self._id
        told, self._told = self._told, {}
        return introduced(chunk, told, None) if told else chunk

    def _chunk(self, kind: str, event: Block, index: int) -> AIMessageChunk | None:
        match kind:
            case "response.created":
                self._id = event["response"].get("id")
                self._model = event["response"].get("model")
                self._told = _introduction(event["response"])
            case "response.output_text.delta":
                return text_chunk(event["delta"], index, self._as_text)
            case "response.output_text.annotation.added":
                cited = [read_annotation(event["annotation"])]
                block = {"type": "text", "text": "", "index": index, "annotations": cited}
                return AIMessageChunk([block])
            case "response.refusal.delta":
                return AIMessageChunk("", additional_kwargs={"refusal": event["delta"]})
            case "response.function_call_arguments.delta":
                return call_chunk(index, event["delta"], as_text=self._as_text)
            case "response.reasoning_summary_text.delta":
                return self._thought(index, event["delta"])
            case "response.reasoning_summary_part.added":
                return self._thought(index, "\n\n") if event.get("summary_index") else None
            case "response.output_item.added":
                return self._added(event["item"], index)
            case "response.output_item.done":
                return self._done(event["item"], index)
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._last(event["response"])
            case "error":
                check({"error": event, "id": self._id, "model": self._model})
            case _:
                pass
        return None

    def _thought(self, index: int, text: str) -> AIMessageChunk:
        return AIMessageChunk([{"type": "reasoning", "reasoning": text, "index": index}])

    def _added(self, item: Block, index: int) -> AIMessageChunk | None:
        if item.get("type") == "function_call":
            args, call_id = item.get("arguments") or "", item.get("call_id")
            return call_chunk(
                index, args, name=item["name"], call_id=call_id, as_text=self._as_text
            )
        if item.get("type") == "reasoning":
            block = {"type": "reasoning", "id": item.get("id"), "reasoning": "", "index": index}
            return AIMessageChunk([block])
        if phase := _phase(item):
            return AIMessageChunk([{"type": "text", "text": "", "index": index, **phase}])
        return None

    def _done(self, item: Block, index: int) -> AIMessageChunk | None:
        """What only the whole item says: sealed reasoning; calls that OpenAI ran itself."""
        if item.get("type") in ("message", "function_call"):
            return None
        if item.get("type") == "reasoning":
            extras = _reasoning(item).get("extras")
            block: Block = {"type": "reasoning", "index": index, "extras": extras}
            return AIMessageChunk([block]) if extras else None
        return AIMessageChunk([{"type": "non_standard", "value": item, "index": index}])

    def _last(self, answer: Block) -> AIMessageChunk:
        check(answer)
        self._ended = True
        usage = read_usage(answer.get("usage"))
        fields = {"usage_metadata": usage} if usage else {}
        return AIMessageChunk("", response_metadata=_ending(answer), **fields)
