"""Keeping a conversation within a number of tokens."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter
from math import ceil
from typing import Any, Literal, cast

from plait.common.reflection import signature
from plait.messages.convert import convert_to_messages
from plait.messages.foreign import kind_of, type_test
from plait.messages.later import later
from plait.messages.tokens import approximate_size, count_tokens_approximately

Counter = Callable[[list[Any]], int]
Splitter = Callable[[str], list[str]]


def trim_messages(
    messages: Any = None,
    *,
    max_tokens: int,
    token_counter: Any,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Any = None,
    start_on: Any = None,
    include_system: bool = False,
    text_splitter: Any = None,
) -> Any:
    """The first or last messages that fit into `max_tokens`.

    Args:
        messages: Message-like values; without them a Runnable is returned, for a chain.
        max_tokens: The most that the result may count.
        token_counter: A function of a list of messages or of one message, `len`, "approximate", or
            a model with `get_num_tokens_from_messages`.
        strategy: Keep the "last" or the "first" messages.
        allow_partial: Keep part of the message that no longer fits as a whole.
        end_on: Type (or types) of the last message; later ones are dropped.
        start_on: Type (or types) of the first message ("last" only).
        include_system: Always keep a system message at the beginning ("last" only).
        text_splitter: Splits a text into parts that can be kept; the default splits lines.
    Returns:
        A new list of the messages that fit.
    Raises:
        ValueError: the arguments do not go together.

    >>> [m.text for m in trim_messages(["a", "b", "c"], max_tokens=2, token_counter=len)]
    ['b', 'c']
    """
    if strategy not in ("first", "last"):
        raise ValueError(f"Unrecognized {strategy=}. Supported strategies are 'last' and 'first'.")
    if strategy == "first" and start_on:
        raise ValueError("start_on parameter is only valid with strategy='last'")
    if strategy == "first" and include_system:
        raise ValueError("include_system parameter is only valid with strategy='last'")
    if messages is None:
        return later(trim_messages, {k: v for k, v in locals().items() if k != "messages"})
    count = counter_of(token_counter)
    split = splitter_of(text_splitter) if allow_partial else None
    given = convert_to_messages(messages)
    if strategy == "first":
        return drop_after(keep_first(given, max_tokens, count, split), end_on)
    rest = drop_after(given, end_on)
    system = rest[:1] if include_system and rest and kind_of(rest[0]) == "system" else []
    rest = rest[len(system) :]
    left = max(0, max_tokens - count(system)) if system else max_tokens
    kept = keep_last(rest, left, count, split)
    if start_on:
        starts = type_test(start_on)
        first = next((n for n, message in enumerate(kept) if starts(message)), len(kept))
        kept = kept[first:]
    return system + kept


def drop_after(messages: list[Any], end_on: Any) -> list[Any]:
    """The messages up to the last one of a type."""
    kept = messages[:]
    if end_on:
        ends = type_test(end_on)
        while kept and not ends(kept[-1]):
            kept.pop()
    return kept


def most(n: int, fits: Callable[[int], bool]) -> int:
    """The greatest k in 0..n that fits, if smaller ones fit too; found by halving."""
    if fits(n):
        return n
    low, high = 0, n - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def keep_first(
    messages: list[Any], tokens: int, count: Counter, split: Splitter | None
) -> list[Any]:
    """The first messages that fit, and part of the next if `split` is given."""
    n = most(len(messages), lambda k: count(messages[:k]) <= tokens)
    kept = messages[:n]
    if split is not None and n < len(messages):
        kept += part_of(
            messages[n], lambda m: count([*messages[:n], m]) <= tokens, split, last=False
        )
    return kept


def keep_last(
    messages: list[Any], tokens: int, count: Counter, split: Splitter | None
) -> list[Any]:
    """The last messages that fit, and part of the one before if `split` is given."""
    size = len(messages)
    n = most(size, lambda k: count(messages[size - k :]) <= tokens)
    kept = messages[size - n :]
    if split is not None and n < size:

        def fits(part: Any) -> bool:
            return count([part, *kept]) <= tokens

        return part_of(messages[size - n - 1], fits, split, last=True) + kept
    return kept


def part_of(message: Any, fits: Callable[[Any], bool], split: Splitter, *, last: bool) -> list[Any]:
    """The largest part of a message that fits: some of its blocks, else some of a text's parts."""

    def end(parts: list[Any], k: int) -> list[Any]:
        return parts[len(parts) - k :] if last else parts[:k]

    def with_content(content: Any) -> Any:
        return message.model_copy(update={"content": content})

    content = message.content
    if isinstance(content, list):
        blocks = cast("list[Any]", content)
        for k in range(len(blocks) - 1, 0, -1):
            partial_message = with_content(end(blocks, k))
            if fits(partial_message):
                return [partial_message]
        content = text_of(blocks[-1 if last else 0]) if blocks else ""
    if not content:
        return []
    pieces = split(cast("str", content))
    for k in range(len(pieces), 0, -1):  # all of them may fit, without the other blocks
        partial_message = with_content("".join(end(pieces, k)))
        if fits(partial_message):
            return [partial_message]
    return []


def text_of(block: Any) -> str:
    """The text of a block of content; of any other than text, nothing."""
    if isinstance(block, str):
        return block
    return block.get("text", "") if block.get("type") == "text" else ""


def splitter_of(given: Any) -> Splitter:
    """The text splitter: a function, an object with `split_text`, or by lines."""
    if given is None:
        return lambda text: [*(line + "\n" for line in text.split("\n")[:-1]), text.split("\n")[-1]]
    return getattr(given, "split_text", given)


def counter_of(given: Any) -> Counter:
    """A function that counts the tokens of a list, from what `trim_messages` accepts."""
    if isinstance(given, str):
        if given != "approximate":
            raise ValueError(
                f"Invalid token_counter shortcut '{given}'. Available shortcuts: 'approximate'."
            )
        given = count_tokens_approximately
    if given is count_tokens_approximately:
        sizes = Sizes(approximate_size)
        return lambda messages: ceil(sizes.sum(messages))
    of_model = getattr(given, "get_num_tokens_from_messages", None)
    if callable(of_model):
        return cast("Counter", of_model)
    if not callable(given):
        raise ValueError(
            "'token_counter' expected to be a model that implements "
            f"'get_num_tokens_from_messages()' or a function. Received object of type "
            f"{type(given)}."
        )
    if takes_one_message(given):
        return Sizes(cast("Callable[[Any], int]", given)).sum
    return cast("Counter", given)


class Sizes:
    """The sizes of messages, each measured once though many lists hold it.

    Args:
        measure: The size of a message.
    """

    def __init__(self, measure: Callable[[Any], Any]) -> None:
        self._measure = measure
        self._known: dict[int, Any] = {}
        """Sizes by `id` of the message."""
        self._held: list[Any] = []
        """The messages, so that no other gets the `id` of one."""

    def sum(self, messages: list[Any]) -> Any:
        """The size of all of them."""
        size_of = self._known.__getitem__
        try:
            return sum(map(size_of, map(id, messages)))
        except KeyError:
            self._learn(messages)
        return sum(map(size_of, map(id, messages)))

    def _learn(self, messages: list[Any]) -> None:
        known = self._known
        new = [message for message in messages if id(message) not in known]
        self._held += new
        known.update(zip(map(id, new), map(self._measure, new), strict=True))


def takes_one_message(function: Any) -> bool:
    """Whether the first parameter of a counter is annotated as a single message."""
    try:
        parameters = list(signature(function).parameters.values())
    except (ValueError, TypeError):
        return False
    annotation = parameters[0].annotation if parameters else Parameter.empty
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.endswith("Message") and "[" not in name
