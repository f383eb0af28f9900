"""Example selectors: which examples go into a few-shot prompt, for a given input."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast


class BaseExampleSelector:
    """Chooses examples for an input. A subclass defines `select_examples` and `add_example`."""

    def add_example(self, example: dict[str, str]) -> Any:
        """One more example to choose from."""
        raise NotImplementedError(f"{type(self).__name__} must define add_example().")

    async def aadd_example(self, example: dict[str, str]) -> Any:
        """The async twin of `add_example`."""
        return self.add_example(example)

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The examples for this input."""
        raise NotImplementedError(f"{type(self).__name__} must define select_examples().")

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The async twin of `select_examples`."""
        return self.select_examples(input_variables)


def words_in(text: str) -> int:
    """How many words and lines a text has: the usual length of an example.

    >>> words_in("two words")
    2
    """
    return len(re.split("\n| ", text))


class LengthBasedExampleSelector(BaseExampleSelector):
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


class SemanticSimilarityExampleSelector(BaseExampleSelector):
    """The examples whose meaning is nearest to the input's, by the embeddings of their texts.

    Args:
        examples: What to choose from.
        embeddings: Makes vectors of texts (`embed_documents`, `embed_query`).
        k: How many are chosen.
        input_keys: The keys of an input that are compared; by default all.
        example_keys: The keys of an example that are given out; by default all.
    """

    def __init__(
        self,
        *,
        examples: Sequence[dict[str, str]],
        embeddings: Any,
        k: int = 4,
        input_keys: Sequence[str] | None = None,
        example_keys: Sequence[str] | None = None,
    ) -> None:
        self.embeddings = embeddings
        self.k = k
        self.input_keys = input_keys
        self.example_keys = example_keys
        self.examples = list(examples)
        texts = [self._text(example) for example in self.examples]
        self._vectors: list[list[float]] = embeddings.embed_documents(texts) if texts else []

    @classmethod
    def from_examples(
        cls,
        examples: Sequence[dict[str, str]],
        embeddings: Any,
        vectorstore_cls: Any = None,
        k: int = 4,
        input_keys: Sequence[str] | None = None,
        *,
        example_keys: Sequence[str] | None = None,
    ) -> "SemanticSimilarityExampleSelector":
        """As the constructor; `vectorstore_cls` is accepted for compatibility."""
        return cls(
            examples=examples,
            embeddings=embeddings,
            k=k,
            input_keys=input_keys,
            example_keys=example_keys,
        )

    def add_example(self, example: dict[str, str]) -> None:
        """One more example to choose from."""
        self._vectors.extend(self.embeddings.embed_documents([self._text(example)]))
        self.examples.append(example)

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The `k` nearest examples, the nearest first."""
        wanted = self.embeddings.embed_query(self._text(input_variables))
        order = sorted(range(len(self.examples)), key=lambda i: -_cosine(wanted, self._vectors[i]))
        keys = self.example_keys
        nearest = (self.examples[index] for index in order[: self.k])
        return [{k: v for k, v in one.items() if keys is None or k in keys} for one in nearest]

    def _text(self, values: Mapping[str, str]) -> str:
        keys = self.input_keys
        return " ".join(
            sorted_values({k: v for k, v in values.items() if keys is None or k in keys})
        )


def sorted_values(values: Mapping[str, str]) -> list[Any]:
    """The values of a dict in the order of its keys.

    >>> sorted_values({"b": 1, "a": 2})
    [2, 1]
    """
    return [values[key] for key in sorted(values)]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    both = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5
    return cast("float", both / lengths) if lengths else 0.0


__all__ = [
    "BaseExampleSelector",
    "LengthBasedExampleSelector",
    "SemanticSimilarityExampleSelector",
    "sorted_values",
]
