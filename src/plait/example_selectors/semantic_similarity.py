"""The examples that are nearest to the input by their meaning: by the vectors of their texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from plait.errors import InvalidValueError
from plait.example_selectors.base import BaseExampleSelector
from plait.objects.model_face import ComparedFields
from plait.runnables.config import run_in_executor


class _BySearch(ComparedFields, BaseExampleSelector):
    """Examples in a vector store, as the metadata of their texts."""

    __plait_fields__ = (*("vectorstore", "k", "example_keys", "input_keys", "vectorstore_kwargs"),)

    def __init__(
        self,
        *,
        vectorstore: Any = None,
        examples: Sequence[dict[str, str]] = (),
        embeddings: Any = None,
        k: int = 4,
        input_keys: Sequence[str] | None = None,
        example_keys: Sequence[str] | None = None,
        vectorstore_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.vectorstore: Any = _OwnVectors(embeddings) if vectorstore is None else vectorstore
        self.k = k
        self.input_keys = input_keys
        self.example_keys = example_keys
        self.vectorstore_kwargs = vectorstore_kwargs or {}
        if examples:
            self.vectorstore.add_texts(
                [self._text(example) for example in examples], metadatas=list(examples)
            )

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
        vectorstore_kwargs: dict[str, Any] | None = None,
        **vectorstore_cls_kwargs: Any,
    ) -> Self:
        """A selector of these examples.

        Args:
            examples: What to choose from.
            embeddings: Makes vectors of texts.
            vectorstore_cls: The class of the vector store that keeps them; None: no store.
            k: How many are chosen.
            input_keys: The keys that are compared; by default all.
            example_keys: The keys of an example that are given out; by default all.
            vectorstore_kwargs: Further arguments of the store's search.
            vectorstore_cls_kwargs: Further arguments of the store.
        """
        given: dict[str, Any] = {
            "k": k,
            "input_keys": input_keys,
            "example_keys": example_keys,
            "vectorstore_kwargs": vectorstore_kwargs,
        }
        if vectorstore_cls is None:
            return cls(examples=examples, embeddings=embeddings, **given)
        texts = [_text_of(example, input_keys) for example in examples]
        store = vectorstore_cls.from_texts(
            texts, embeddings, metadatas=list(examples), **vectorstore_cls_kwargs
        )
        return cls(vectorstore=store, **given)

    @classmethod
    async def afrom_examples(
        cls, examples: Sequence[dict[str, str]], embeddings: Any, *args: Any, **kwargs: Any
    ) -> Self:
        """The async twin of `from_examples`."""
        return await run_in_executor(None, cls.from_examples, examples, embeddings, *args, **kwargs)

    def add_example(self, example: dict[str, str]) -> str:
        """One more example to choose from; returns its id."""
        return self.vectorstore.add_texts([self._text(example)], metadatas=[example])[0]

    async def aadd_example(self, example: dict[str, str]) -> str:
        """The async twin of `add_example`."""
        added = await self.vectorstore.aadd_texts([self._text(example)], metadatas=[example])
        return added[0]

    def _text(self, values: Mapping[str, str]) -> str:
        return _text_of(values, self.input_keys)

    def _shown(self, found: Sequence[Any]) -> list[dict[str, Any]]:
        """The examples behind what was found."""
        keys = self.example_keys
        examples = [cast("dict[str, Any]", each.metadata) for each in found]
        return [{k: v for k, v in one.items() if keys is None or k in keys} for one in examples]


class SemanticSimilarityExampleSelector(_BySearch):
    """The examples whose meaning is nearest to the input's, by the embeddings of their texts.

    Args:
        vectorstore: Where the examples are, as metadata of texts; by default in the selector.
        examples: What to choose from besides.
        embeddings: Makes vectors of texts (`embed_documents`, `embed_query`), where there is no
            vector store.
        k: How many are chosen.
        input_keys: The keys of an input that are compared; by default all.
        example_keys: The keys of an example that are given out; by default all.
        vectorstore_kwargs: Further arguments of the store's search.
    """

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The `k` nearest examples, the nearest first."""
        text, more = self._text(input_variables), self.vectorstore_kwargs
        return self._shown(self.vectorstore.similarity_search(text, k=self.k, **more))

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The async twin of `select_examples`."""
        text, more = self._text(input_variables), self.vectorstore_kwargs
        return self._shown(await self.vectorstore.asimilarity_search(text, k=self.k, **more))


class MaxMarginalRelevanceExampleSelector(_BySearch):
    """Examples that are near the input, and different from each other. It needs a vector store.

    Args:
        vectorstore: Where the examples are, as metadata of texts.
        k: How many are chosen.
        fetch_k: Among how many of the nearest.
        kwargs: As for `SemanticSimilarityExampleSelector`.
    """

    def __init__(self, *, vectorstore: Any, fetch_k: int = 20, **kwargs: Any) -> None:
        super().__init__(vectorstore=vectorstore, **kwargs)
        self.fetch_k = fetch_k

    @classmethod
    def from_examples(
        cls,
        examples: Sequence[dict[str, str]],
        embeddings: Any,
        vectorstore_cls: Any = None,
        k: int = 4,
        input_keys: Sequence[str] | None = None,
        fetch_k: int = 20,
        **kwargs: Any,
    ) -> Self:
        """A selector of these examples, kept in a store of `vectorstore_cls`."""
        if vectorstore_cls is None:
            raise InvalidValueError(
                f"{cls.__name__} needs a vector store that searches by relevance and difference: "
                "pass vectorstore_cls=InMemoryVectorStore, or another of yours."
            )
        made = super().from_examples(examples, embeddings, vectorstore_cls, k, input_keys, **kwargs)
        made.fetch_k = fetch_k
        return made

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """`k` examples, the nearest first."""
        search = self.vectorstore.max_marginal_relevance_search
        return self._shown(search(self._text(input_variables), **self._wanted()))

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The async twin of `select_examples`."""
        search = self.vectorstore.amax_marginal_relevance_search
        return self._shown(await search(self._text(input_variables), **self._wanted()))

    def _wanted(self) -> dict[str, Any]:
        return {"k": self.k, "fetch_k": self.fetch_k, **self.vectorstore_kwargs}


@dataclass(slots=True)
class _Found:
    """A text that was found: what it stands for."""

    metadata: dict[str, str]


class _OwnVectors:
    """What a selector without a vector store searches: the same calls, in memory."""

    def __init__(self, embeddings: Any) -> None:
        self._embeddings = embeddings
        self._vectors: list[list[float]] = []
        self._examples: list[dict[str, str]] = []

    def add_texts(self, texts: list[str], metadatas: list[dict[str, str]]) -> list[str]:
        """Keep examples with the vectors of their texts."""
        self._vectors.extend(self._embeddings.embed_documents(texts))
        self._examples.extend(metadatas)
        return [str(len(self._examples) - 1)]

    async def aadd_texts(self, texts: list[str], metadatas: list[dict[str, str]]) -> list[str]:
        """The async twin of `add_texts`."""
        return await run_in_executor(None, self.add_texts, texts, metadatas)

    def similarity_search(self, query: str, k: int) -> list[_Found]:
        """The nearest examples, the nearest first."""
        wanted = self._embeddings.embed_query(query)
        order = sorted(range(len(self._examples)), key=lambda i: -_cosine(wanted, self._vectors[i]))
        return [_Found(self._examples[index]) for index in order[:k]]

    async def asimilarity_search(self, query: str, k: int) -> list[_Found]:
        """The async twin of `similarity_search`."""
        return await run_in_executor(None, self.similarity_search, query, k)


def _text_of(values: Mapping[str, str], keys: Sequence[str] | None) -> str:
    """The text of an input or example by which it is compared: its values, by these keys."""
    return " ".join(sorted_values({k: v for k, v in values.items() if keys is None or k in keys}))


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
    "MaxMarginalRelevanceExampleSelector",
    "SemanticSimilarityExampleSelector",
    "sorted_values",
]
