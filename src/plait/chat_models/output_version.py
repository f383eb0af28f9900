"""`output_version`: answers as text, or (`"v1"`) as the standard blocks of `content_blocks`."""

import os
from collections.abc import Callable
from typing import Any

from plait.chat_models.results import ChatGenerationChunk, ChatResult

STANDARD = "v1"


def is_standard(version: str | None) -> bool:
    """Whether answers come as standard blocks; the environment says so if the model does not."""
    return (version or os.environ.get("LC_OUTPUT_VERSION")) == STANDARD


def in_version(result: ChatResult, version: str | None) -> ChatResult:
    """An answer in the form that is asked for."""
    if is_standard(version):
        for generation in result.generations:
            generation.message = _in_blocks(generation.message)
    return result


def chunks_in_version(version: str | None) -> Callable[[ChatGenerationChunk], None]:
    """What brings the chunks of one stream into the form that is asked for, one after the other.

    Blocks without an index get one that rises when a block of another type begins, so that chunks
    add up to whole blocks.
    """
    if not is_standard(version):
        return _as_it_is
    kind, index = "", -1

    def form(chunk: ChatGenerationChunk) -> None:
        nonlocal kind, index
        chunk.message = _in_blocks(chunk.message)
        for block in chunk.message.content:
            if block["type"] != kind:
                kind, index = block["type"], index + 1
            block.setdefault("index", index)

    return form


def _as_it_is(chunk: ChatGenerationChunk) -> None:
    return None


def _in_blocks(message: Any) -> Any:
    if message.response_metadata.get("output_version") == STANDARD:
        return message
    about = {**message.response_metadata, "output_version": STANDARD}
    blocks = [dict(block) for block in message.content_blocks]
    return message.model_copy(update={"content": blocks, "response_metadata": about})
