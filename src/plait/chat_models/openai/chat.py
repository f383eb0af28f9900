"""The wire of OpenAI's chat completions: messages to it, answers and streamed deltas from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from plait.chat_models.openai.pieces import CallPieces, called
from plait.chat_models.results import ChatGeneration, ChatResult
from plait.chat_models.wire import (
    Block,
    args_text,
    calls_of,
    made_id,
    ordered,
    present,
)
from plait.errors import ModelAPIError
from plait.messages import AIMessage, AIMessageChunk, subtract_usage
from plait.messages.foreign import kind_of
from plait.messages.openai import convert_to_openai_messages

PROVIDER = "openai"
UNFIT = re.compile(r"[\s<|\\/>]+")


def to_wire(messages: Sequence[Any]) -> list[Block]:
    """Messages as the `messages` of a request.

    >>> from plait.messages import HumanMessage
    >>> to_wire([HumanMessage("hi")])
    [{'role': 'user', 'content': 'hi'}]
    """
    made: list[Block] = []
    for message in messages:
        kind = kind_of(message)
        if kind == "ai":
            made.append(_assistant(message))
        elif isinstance(message.content, str) and kind == "human" and not message.name:
            made.append({"role": "user", "content": message.content})
        else:
            made += convert_to_openai_messages([message], pass_through_unknown_blocks=False)
            if name := made[-1].get("name"):
                made[-1]["name"] = _fit(name)
    return made


def _fit(name: str) -> str:
    """A name as OpenAI takes it: agents and people may have spaces in theirs."""
    return UNFIT.sub("_", name)


def _assistant(message: Any) -> Block:
    """What the model said: text, calls (unreadable ones as they came), refusal, its own audio."""
    said = message.additional_kwargs
    head = present(role="assistant", name=_fit(message.name) if message.name else None)
    texts: list[str] = []
    calls: list[Block] = []
    for block in ordered(message, PROVIDER):
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "tool_call":
                function = {"name": block["name"], "arguments": args_text(block)}
                calls.append({"id": block["id"], "type": "function", "function": function})
            case _:
                pass  # reasoning and other providers' blocks: this wire takes none back
    head["content"] = "".join(texts) if texts or not (calls or said) else None
    if calls:
        head["tool_calls"] = calls
    for key in ("refusal", "function_call"):
        if said.get(key) is not None:
            head[key] = said[key]
    if isinstance(said.get("audio"), dict):
        head["audio"] = {"id": said["audio"].get("id")}
    return head


def read_answer(answer: Block) -> ChatResult:
    """The candidates in a completion.

    Raises:
        ModelAPIError: It has none: some servers say so that they failed.

    The id of the completion is told beside the messages and is none of theirs: not all servers take
    care that no two answers have the same, and of two messages with one id a thread keeps the last.
    """
    told = present(
        model_provider=PROVIDER,
        model_name=answer.get("model"),
        id=answer.get("id"),
        system_fingerprint=answer.get("system_fingerprint"),
        service_tier=answer.get("service_tier"),
    )
    usage = read_usage(answer.get("usage"))
    generations: list[ChatGeneration] = []
    for choice in answer.get("choices") or ():
        ended = present(finish_reason=choice.get("finish_reason"), logprobs=choice.get("logprobs"))
        message = read_message(choice.get("message") or {}, ended)
        message.response_metadata = {**told, **ended}
        message.usage_metadata = usage
        generations.append(ChatGeneration(message))
    if not generations:
        model = answer.get("model")
        raise ModelAPIError(
            f"The server answered without a choice: {answer!r:.300}. Ask again later.",
            provider=PROVIDER,
            model=model,
        )
    return ChatResult(generations)


def read_message(said: Block, ended: Block) -> Any:
    """The message in a choice, of which the server told how it ended."""
    calls = [
        {
            "name": part.get("name"),
            "args": part.get("arguments"),
            "id": call.get("id") or made_id(),
        }
        for call in said.get("tool_calls") or ()
        if (part := called(call))
    ]
    content: Any = said.get("content") or ""
    if said.get("annotations"):
        cited = [read_annotation(a) for a in said["annotations"]]
        content = [{"type": "text", "text": content, "annotations": cited}]
    kept = _beside(said)
    fields: Any = {"additional_kwargs": kept} if kept else {}
    return AIMessage(content, **calls_of(calls, ended), **fields)


def _beside(said: Block) -> Block:
    """What a message or delta holds beside content and calls."""
    return present(
        refusal=said.get("refusal"),
        audio=said.get("audio"),
        function_call=said.get("function_call"),
        reasoning_content=said.get("reasoning_content") or said.get("reasoning") or None,
    )


def read_annotation(annotation: Block) -> Block:
    """A citation in standard form; the rest of what OpenAI says of it under `extras`."""
    kind = annotation.get("type")
    inner = annotation.get("url_citation")
    given: Block = cast("Block", inner) if isinstance(inner, dict) else annotation
    known = ("url", "title", "start_index", "end_index")
    cited: Block = {"type": "citation", **{key: given[key] for key in known if key in given}}
    rest = {k: v for k, v in given.items() if k not in known and k != "type"}
    if kind != "url_citation":
        rest["kind"] = kind
    return {**cited, "extras": rest} if rest else cited


def write_annotation(cited: Block) -> Block:
    """A citation as OpenAI's responses API takes it back."""
    extras: Block = dict(cited.get("extras") or {})
    kind = extras.pop("kind", "url_citation")
    known = ("url", "title", "start_index", "end_index")
    return {"type": kind, **{key: cited[key] for key in known if key in cited}, **extras}


def read_usage(usage: Block | None) -> Any:
    """Token counts in standard form."""
    if not usage:
        return None
    given, made = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    details: Block = usage.get("prompt_tokens_details") or {}
    made_of: Block = usage.get("completion_tokens_details") or {}
    inputs = present(audio=details.get("audio_tokens"), cache_read=details.get("cached_tokens"))
    outputs = present(
        audio=made_of.get("audio_tokens"),
        reasoning=made_of.get("reasoning_tokens"),
        accepted_prediction=made_of.get("accepted_prediction_tokens"),
        rejected_prediction=made_of.get("rejected_prediction_tokens"),
    )
    return {
        "input_tokens": given,
        "output_tokens": made,
        "total_tokens": usage.get("total_tokens") or given + made,
        **({"input_token_details": inputs} if inputs else {}),
        **({"output_token_details": outputs} if outputs else {}),
    }


class ChatReader:
    """Turns the events of one streamed completion into chunks."""

    def __init__(self) -> None:
        self._introduced = False
        self._ended = False
        self._counted: Any = None
        self._pieces = CallPieces()

    def finished(self) -> bool:
        """Whether a finish reason came."""
        return self._ended

    def read(self, event: Block) -> AIMessageChunk | None:
        """The chunk of one event; None if it says nothing."""
        # Of several candidates, a stream gives the first: their pieces come mixed.
        choices = [one for one in event.get("choices") or () if not one.get("index")]
        fields: Block = {"response_metadata": {}}
        if not self._introduced:
            self._introduced = True
            fields["response_metadata"] = present(
                model_provider=PROVIDER,
                model_name=event.get("model"),
                id=event.get("id"),
                system_fingerprint=event.get("system_fingerprint"),
            )
        content: Any = ""
        if choices:
            delta: Block = choices[0].get("delta") or {}
            content = delta.get("content") or ""
            if delta.get("annotations"):
                cited = [read_annotation(a) for a in delta["annotations"]]
                content = [{"type": "text", "text": content, "index": 0, "annotations": cited}]
            fields |= self._delta(delta)
            fields["response_metadata"] |= present(
                finish_reason=choices[0].get("finish_reason"), logprobs=choices[0].get("logprobs")
            )
            self._ended = self._ended or choices[0].get("finish_reason") is not None
        if usage := self._news(read_usage(event.get("usage"))):
            fields["usage_metadata"] = usage
        fields = {key: value for key, value in fields.items() if value}
        if not content and not fields:
            return None
        return AIMessageChunk(content, **fields)

    def _news(self, usage: Any) -> Any:
        """What a count says beyond the one before: some servers count in each event, and chunks
        are added up."""
        if not usage or self._counted is None:
            self._counted = usage or self._counted
            return usage
        news, self._counted = subtract_usage(usage, self._counted), usage
        return news if news["total_tokens"] else None

    def _delta(self, delta: Block) -> Block:
        given: list[Block] = delta.get("tool_calls") or []
        pieces = [self._pieces.read(call, n) for n, call in enumerate(given)]
        return {"tool_call_chunks": pieces, "additional_kwargs": _beside(delta)}


__all__ = ["ChatReader", "read_annotation", "read_answer", "read_usage", "to_wire"]
