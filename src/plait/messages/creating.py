"""Content blocks made by functions, with an id of their own where none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plait.common.ids import new_id
from plait.errors import InvalidValueError

if TYPE_CHECKING:
    from plait.messages import content


def create_text_block(
    text: str,
    *,
    id: str | None = None,
    annotations: list[Any] | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.TextContentBlock:
    """A block of text.

    Args:
        text: The text.
        id: The block's; a new one by default.
        annotations: Citations, and annotations of providers.
        index: Its place in a stream.
        extras: What else a provider is told; None says nothing.

    >>> create_text_block("Hi", id="1", tone="warm")
    {'type': 'text', 'text': 'Hi', 'id': '1', 'extras': {'tone': 'warm'}}
    """
    return _made("text", {"text": text}, id, extras, annotations=annotations, index=index)


def create_image_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.ImageContentBlock:
    """An image, by its url, its data or the id of a file.

    Raises:
        InvalidValueError: None of the three is given.
    """
    where = _where("image", url, base64, file_id)
    return _made("image", {}, id, extras, **where, mime_type=mime_type, index=index)


def create_video_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.VideoContentBlock:
    """A video, by its url, its data (with `mime_type`) or the id of a file.

    Raises:
        InvalidValueError: None of the three is given, or data without its type.
    """
    where = _where("video", url, base64, file_id, mime_type)
    return _made("video", {}, id, extras, **where, mime_type=mime_type, index=index)


def create_audio_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.AudioContentBlock:
    """Sound, by its url, its data (with `mime_type`) or the id of a file.

    Raises:
        InvalidValueError: None of the three is given, or data without its type.
    """
    where = _where("audio", url, base64, file_id, mime_type)
    return _made("audio", {}, id, extras, **where, mime_type=mime_type, index=index)


def create_file_block(
    *,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.FileContentBlock:
    """A file (a PDF, ...), by its url, its data (with `mime_type`) or its id.

    Raises:
        InvalidValueError: None of the three is given, or data without its type.
    """
    where = _where("file", url, base64, file_id, mime_type)
    return _made("file", {}, id, extras, **where, mime_type=mime_type, index=index)


def create_plaintext_block(
    text: str | None = None,
    url: str | None = None,
    base64: str | None = None,
    file_id: str | None = None,
    title: str | None = None,
    context: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.PlainTextContentBlock:
    """A document of plain text, by its text or where it is."""
    return _made(
        "text-plain",
        {"mime_type": "text/plain"},
        id,
        extras,
        text=text,
        url=url,
        base64=base64,
        file_id=file_id,
        title=title,
        context=context,
        index=index,
    )


def create_tool_call(
    name: str,
    args: dict[str, Any],
    *,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.ToolCall:
    """A call of a tool."""
    return _made("tool_call", {"name": name, "args": args}, id, extras, index=index)


def create_reasoning_block(
    reasoning: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **extras: Any,
) -> content.ReasoningContentBlock:
    """What a model thought."""
    return _made("reasoning", {"reasoning": reasoning or ""}, id, extras, index=index)


def create_citation(
    *,
    url: str | None = None,
    title: str | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    cited_text: str | None = None,
    id: str | None = None,
    **extras: Any,
) -> content.Citation:
    """Where a text comes from: an annotation of a block of text."""
    return _made(
        "citation",
        {},
        id,
        extras,
        url=url,
        title=title,
        start_index=start_index,
        end_index=end_index,
        cited_text=cited_text,
    )


def create_non_standard_block(
    value: dict[str, Any], *, id: str | None = None, index: int | str | None = None
) -> content.NonStandardContentBlock:
    """A provider's own block, as it is."""
    return _made("non_standard", {"value": value}, id, {}, index=index)


def _made(
    kind: str, needed: dict[str, Any], id: str | None, extras: dict[str, Any], **more: Any
) -> Any:
    """A block of what is needed, its id, and what else was given."""
    block = {"type": kind, **needed, "id": id or f"lc_{new_id()}"}
    block.update({key: value for key, value in more.items() if value is not None})
    said = {key: value for key, value in extras.items() if value is not None}
    return {**block, "extras": said} if said else block


def _where(
    kind: str,
    url: str | None,
    base64: str | None,
    file_id: str | None,
    mime_type: str | None = "unknown",
) -> dict[str, str | None]:
    """Where the data of a block is."""
    if not any((url, base64, file_id)):
        raise InvalidValueError(f"A block of type {kind!r} needs url=, base64= or file_id=.")
    if base64 and not mime_type:
        raise InvalidValueError(
            f"A block of type {kind!r} with base64= needs mime_type= too, for example 'audio/wav'."
        )
    return {"url": url, "base64": base64, "file_id": file_id}


__all__ = [
    "create_audio_block",
    "create_citation",
    "create_file_block",
    "create_image_block",
    "create_non_standard_block",
    "create_plaintext_block",
    "create_reasoning_block",
    "create_text_block",
    "create_tool_call",
    "create_video_block",
]
