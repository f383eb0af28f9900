"""What a chat model is asked with, and what its hooks gave, made complete: ids, what the provider
said, the end of a stream.
"""

from collections.abc import Sequence
from typing import Any, cast

from plait.chat_models.results import ChatGenerationChunk, ChatResult, LLMResult, add_up
from plait.errors import InvalidValueError
from plait.messages import AIMessageChunk, HumanMessage, convert_to_messages
from plait.messages.base import give_id

_FOR_TRACERS = ("ls_structured_output_format", "structured_output_format")
"""What `with_structured_output` of LangChain's integrations binds for those who look on."""


def for_provider(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments that are for the model itself: its provider refuses others."""
    if not any(name in kwargs for name in _FOR_TRACERS):
        return kwargs
    return {name: value for name, value in kwargs.items() if name not in _FOR_TRACERS}


def to_messages(input: Any) -> list[Any]:
    """The messages that a model is asked with: of a text, a sequence of messages, a prompt value.

    Raises:
        ValueError: It is none of these.
    """
    if input.__class__ is list:
        return convert_to_messages(input)
    if isinstance(input, str):
        return [HumanMessage(input)]
    if callable(getattr(input, "to_messages", None)):
        return list(input.to_messages())
    if isinstance(input, Sequence):
        return list(convert_to_messages(cast("Sequence[Any]", input)))
    raise ValueError(
        f"Invalid input type {type(input)}. Must be a PromptValue, str, or list of BaseMessages "
        "(put a single message into a list)."
    )


def message_of(result: ChatResult, run_id: Any) -> Any:
    """The answer: the first candidate's message. All get an id, and what the provider said."""
    if not getattr(result, "generations", None):
        raise InvalidValueError(
            f"_generate() of a chat model gave {result!r}, which has no answer. Return "
            "ChatResult(generations=[ChatGeneration(message=AIMessage(...))])."
        )
    shared = result.llm_output if len(result.generations) == 1 else None  # else it is of them all
    for index, generation in enumerate(result.generations):
        message = generation.message
        if message.id is None:
            give_id(message, f"lc_run--{run_id}-{index}")
        if shared or generation.generation_info:
            told = {**(shared or {}), **(generation.generation_info or {})}
            message.response_metadata = {**told, **message.response_metadata}
    return result.generations[0].message


def complete(chunk: ChatGenerationChunk, run_id: Any) -> None:
    """All chunks of a stream carry one id, and what the provider said of them."""
    try:
        message = chunk.message
    except AttributeError:
        raise InvalidValueError(
            f"_stream() of a chat model gave {chunk!r}. Yield "
            "ChatGenerationChunk(message=AIMessageChunk(...))."
        ) from None
    if message.id is None:
        give_id(message, f"lc_run--{run_id}")
    if chunk.generation_info:
        message.response_metadata = {**chunk.generation_info, **message.response_metadata}


def end_after(last: ChatGenerationChunk | None, run_id: Any) -> ChatGenerationChunk | None:
    """An empty chunk that marks the stream's end, unless the last one does."""
    if last is None:
        raise ValueError("No generation chunks were returned")
    if getattr(last.message, "chunk_position", None) == "last":
        return None
    empty: Any = [] if isinstance(last.message.content, list) else ""
    end = AIMessageChunk(content=empty, id=f"lc_run--{run_id}", chunk_position="last")
    return ChatGenerationChunk(message=end)


def so_far(seen: list[ChatGenerationChunk]) -> LLMResult:
    """What handlers are told of an answer that failed on its way."""
    return LLMResult([[add_up(seen)] if seen else []])


__all__ = ["complete", "end_after", "message_of", "so_far", "to_messages"]
