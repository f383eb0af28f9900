"""What a model gives back: generations (an answer), chunks of them, and results that hold them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, cast

from plait.messages import message_chunk_to_message
from plait.messages.merge import merge_dicts
from plait.objects.model_face import ModelFace


class _Plain(ModelFace):
    """Compares and prints by its slots."""

    __slots__ = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, slot) for slot in self._shown())

    def _shown(self) -> tuple[str, ...]:
        return tuple(slot for kind in reversed(type(self).__mro__) for slot in _slots(kind))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == cast("_Plain", other)._values()

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._parts())})"

    def __str__(self) -> str:
        return " ".join(self._parts())

    def _parts(self) -> list[str]:
        """What is shown of it, as `name=value`."""
        return [f"{slot}={getattr(self, slot)!r}" for slot in self._shown()]


def _slots(kind: type) -> tuple[str, ...]:
    return cast("tuple[str, ...]", vars(kind).get("__slots__", ()))


class Generation(_Plain):
    """A text that a model gave, and what the provider said about it."""

    __plait_namespace__ = ("langchain", "schema", "output")

    __slots__ = ("generation_info", "text")
    __plait_fields__ = ("text", "generation_info", "type")
    text: str
    generation_info: dict[str, Any] | None
    type: str = "Generation"

    def __init__(self, text: str, generation_info: Mapping[str, Any] | None = None) -> None:
        self.text = text
        self.generation_info = None if generation_info is None else dict(generation_info)

    def _parts(self) -> list[str]:
        shown = ("text", "generation_info", *self._shown()[2:])
        return [
            f"{slot}={getattr(self, slot)!r}" for slot in shown if getattr(self, slot) is not None
        ]


class GenerationChunk(Generation):
    """A piece of a streamed text. Pieces add up.

    >>> (GenerationChunk("a") + GenerationChunk("b")).text
    'ab'
    """

    __slots__ = ()

    def __add__(self, other: "GenerationChunk") -> "GenerationChunk":
        if not isinstance(other, GenerationChunk):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        info = merge_dicts(self.generation_info or {}, other.generation_info or {})
        return GenerationChunk(self.text + other.text, info or None)


class ChatGeneration(Generation):
    """A message that a chat model gave; `text` is that of its content, whatever is given for it.

    >>> from plait.messages import AIMessage
    >>> ChatGeneration(message=AIMessage("hi")).text
    'hi'
    """

    __slots__ = ("message",)
    __plait_fields__ = ("text", "generation_info", "type", "message")
    type: str = "ChatGeneration"
    message: Any

    def __init__(
        self, message: Any, generation_info: Mapping[str, Any] | None = None, text: str = ""
    ) -> None:
        content = message.content  # made for each token: no call that can be spared
        self.text = content if content.__class__ is str else _text_in(content)
        self.generation_info = None if generation_info is None else dict(generation_info)
        self.message = message


def _text_in(content: Any) -> str:
    """The text in a content; a block that does not say its type, and has a text, is one."""
    if isinstance(content, str):
        return content
    return text_of(
        [
            {"type": "text", **block} if isinstance(block, dict) and "text" in block else block
            for block in content
        ]
    )


class ChatGenerationChunk(ChatGeneration):
    """A piece of a streamed message. Pieces add up."""

    __slots__ = ()
    type: str = "ChatGenerationChunk"

    def __add__(self, other: "ChatGenerationChunk | Sequence[ChatGenerationChunk]") -> Self:
        others = [other] if isinstance(other, ChatGenerationChunk) else other
        if not isinstance(others, (list, tuple)):
            return NotImplemented
        message, info = self.message, dict(self.generation_info or {})
        for chunk in others:
            message = message + chunk.message
            for key, value in (chunk.generation_info or {}).items():
                both_text = isinstance(value, str) and isinstance(info.get(key), str)
                info[key] = info[key] + value if both_text else value
        return type(self)(message=message, generation_info=info or None)


class ChatResult(_Plain):
    """What `_generate` returns: the candidates for an answer, and what the provider said of all."""

    __slots__ = ("generations", "llm_output")
    __plait_fields__ = __slots__
    generations: list[ChatGeneration]
    llm_output: dict[str, Any] | None

    def __init__(
        self,
        generations: Sequence[ChatGeneration],
        llm_output: Mapping[str, Any] | None = None,
    ) -> None:
        self.generations = list(generations)
        self.llm_output = None if llm_output is None else dict(llm_output)


class RunInfo(_Plain):
    """The id of the run that gave an answer."""

    __slots__ = ("run_id",)
    __plait_fields__ = __slots__
    run_id: Any

    def __init__(self, run_id: Any) -> None:
        self.run_id = run_id


class LLMResult(_Plain):
    """What handlers are given: the candidates of each prompt."""

    __slots__ = ("generations", "llm_output", "run")
    __plait_fields__ = (*__slots__, "type")
    generations: list[list[Generation]]
    llm_output: dict[str, Any] | None
    run: list[Any] | None
    type: str = "LLMResult"

    def __init__(
        self,
        generations: Sequence[Sequence[Generation]],
        llm_output: Mapping[str, Any] | None = None,
        run: list[Any] | None = None,
    ) -> None:
        self.generations = [list(candidates) for candidates in generations]
        self.llm_output = None if llm_output is None else dict(llm_output)
        self.run = run

    def flatten(self) -> "list[LLMResult]":
        """One result for each prompt. Tokens are counted in the first, so that sums are right."""
        told = self.llm_output
        later: dict[str, Any] | None = None if told is None else {**told, "token_usage": {}}
        return [
            LLMResult([candidates], later if place else told)
            for place, candidates in enumerate(self.generations)
        ]

    def _parts(self) -> list[str]:
        return [*super()._parts(), f"type={self.type!r}"]


def text_of(content: Any) -> str:
    """The text of a message's content; other blocks than text leave none.

    >>> text_of(["a", {"type": "text", "text": "b"}, {"type": "image", "url": "x"}])
    'ab'
    """
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in cast("Iterable[Any]", content):
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            fields = cast("dict[str, Any]", block)
            if fields.get("type") == "text":
                parts.append(fields.get("text", ""))
    return "".join(parts)


def add_up(chunks: Sequence[ChatGenerationChunk]) -> ChatGenerationChunk:
    """The sum of the chunks of one stream.

    Raises:
        ValueError: There are none.
    """
    if not chunks:
        raise ValueError("No generation chunks were returned")
    return chunks[0] + chunks[1:] if len(chunks) > 1 else chunks[0]


def result_of_stream(chunks: Sequence[ChatGenerationChunk]) -> ChatResult:
    """The result that the chunks of one stream add up to, with a whole message in it."""
    total = add_up(chunks)
    message = message_chunk_to_message(total.message)
    return ChatResult([ChatGeneration(message, total.generation_info)])
