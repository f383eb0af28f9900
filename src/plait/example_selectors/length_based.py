"""As many examples as fit beside the input."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from plait.example_selectors.base import BaseExampleSelector
from plait.objects.model_face import ComparedFields


def words_in(text: str) -> int:
    """How many words and lines a text has: the usual length of an example.

    >>> words_in("two words")
    2
    """
    return len(re.split("\n| ", text))


class LengthBasedExampleSelector(ComparedFields, BaseExampleSelector):
    """As many examples, from the first on, as fit beside the input.

    Args:
        examples: What to choose from.
        example_prompt: How an example becomes text.
        get_text_length: How long a text is; by default in words.
        max_length: How long examples and input are together at most.

    >>> from plait.prompts import PromptTemplate
    >>> shown = PromptTemplate.from_template("{q} {a}")
    >>> pairs = [{"q": "hot", "a": "cold"}, {"q": "big", "a": "small"}]
    >>> chosen = LengthBasedExampleSelector(examples=pairs, example_prompt=shown, max_length=4)
    >>> chosen.select_examples({"input": "two words"})
    [{'q': 'hot', 'a': 'cold'}]
    """

    __plait_fields__ = (
        *("examples", "example_prompt", "get_text_length", "max_length", "example_text_lengths"),
    )

    def __init__(
        self,
        *,
        examples: Sequence[dict[str, Any]],
        example_prompt: Any,
        get_text_length: Callable[[str], int] = words_in,
        max_length: int = 2048,
    ) -> None:
        self.examples: list[dict[str, Any]] = []
        self.example_text_lengths: list[int] = []
        self.example_prompt = example_prompt
        self.get_text_length = get_text_length
        self.max_length = max_length
        for example in examples:
            self.add_example(example)

    def add_example(self, example: dict[str, str]) -> None:
        """One more example to choose from."""
        text = self.example_prompt.format(**example)
        self.examples.append(example)
        self.example_text_lengths.append(self.get_text_length(text))

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The examples that fit beside this input."""
        room = self.max_length - self.get_text_length(" ".join(input_variables.values()))
        chosen: list[dict[str, Any]] = []
        for example, length in zip(self.examples, self.example_text_lengths, strict=True):
            room -= length
            if room < 0:
                break
            chosen.append(example)
        return chosen


__all__ = ["LengthBasedExampleSelector", "words_in"]
