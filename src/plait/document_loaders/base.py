"""What reads documents from somewhere: loaders, and parsers of blobs.

Names as LangChain documents them (`langchain_core.document_loaders.base`).
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Any

from plait.documents import Blob, Document
from plait.errors import ConfigError
from plait.runnables import run_in_executor


class BaseLoader(ABC):  # noqa: B024 - a subclass defines lazy_load or load, whichever it likes
    """Reads documents. A subclass defines `lazy_load` (or `load`, where all come at once).

    >>> class Lines(BaseLoader):
    ...     def lazy_load(self):
    ...         yield from (Document(line) for line in ["one", "two"])
    >>> [document.page_content for document in Lines().load()]
    ['one', 'two']
    """

    def load(self) -> list[Document]:
        """All documents."""
        return list(self.lazy_load())

    async def aload(self) -> list[Document]:
        """The async twin of `load`."""
        return [document async for document in self.alazy_load()]

    def load_and_split(self, text_splitter: Any = None) -> list[Document]:
        """All documents, cut into pieces by `text_splitter.split_documents`.

        Raises:
            ConfigError: There is no splitter: plait has none of its own.
        """
        if text_splitter is None:
            raise ConfigError(
                f"{type(self).__name__}.load_and_split() needs text_splitter=, an object with "
                "split_documents(), such as those of the package langchain-text-splitters."
            )
        return text_splitter.split_documents(self.load())

    def lazy_load(self) -> Iterator[Document]:
        """The documents, one by one.

        Raises:
            NotImplementedError: The class defines neither this nor `load`.
        """
        if type(self).load is BaseLoader.load:
            raise NotImplementedError(f"{type(self).__name__} must define lazy_load().")
        return iter(self.load())

    async def alazy_load(self) -> AsyncIterator[Document]:
        """The async twin of `lazy_load`; each document is asked for on a thread."""
        documents = await run_in_executor(None, self.lazy_load)
        ended = object()
        while True:
            document = await run_in_executor(None, next, documents, ended)
            if not isinstance(document, Document):
                return
            yield document


class BaseBlobParser(ABC):
    """Makes documents of the raw data of a blob."""

    @abstractmethod
    def lazy_parse(self, blob: Blob) -> Iterator[Document]:
        """The documents in a blob, one by one."""

    def parse(self, blob: Blob) -> list[Document]:
        """All documents in a blob."""
        return list(self.lazy_parse(blob))


class BlobLoader(ABC):
    """Reads blobs: raw data, which a parser makes documents of."""

    @abstractmethod
    def yield_blobs(self) -> Iterator[Blob]:
        """The blobs, one by one."""


__all__ = ["BaseBlobParser", "BaseLoader", "BlobLoader"]
