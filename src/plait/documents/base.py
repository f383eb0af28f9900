"""`Document`: a piece of text with metadata; what filters and rewrites documents."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from plait.common.lazy import lazily
from plait.errors import InvalidValueError
from plait.objects.abstract import Abstract
from plait.objects.fields import AnnotatedFields, own_values
from plait.objects.model_face import ModelFace
from plait.runnables.config import run_in_executor


@dataclass(slots=True, kw_only=True)
class BaseMedia(ModelFace):
    """Something with an id and metadata."""

    __plait_fields__ = ("id", "metadata")

    id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True, repr=False, kw_only=True, init=False)
class Document(BaseMedia):
    """A piece of text with metadata.

    Args:
        page_content: The text.
        id: What a store knows it by, if anything; numbers become text.
        metadata: Facts about the text, such as its source.

    Raises:
        InvalidValueError: `page_content` is no text, or `metadata` no dict.

    >>> Document("plait is durable", metadata={"source": "README"})
    Document(metadata={'source': 'README'}, page_content='plait is durable')
    """

    __plait_namespace__ = ("langchain", "schema", "document")

    __plait_fields__ = ("id", "metadata", "page_content", "type")

    page_content: str
    type: Literal["Document"] = "Document"

    def __init__(
        self,
        page_content: str,
        *,
        id: Any = None,
        metadata: dict[str, Any] | None = None,
        **ignored: Any,
    ) -> None:
        metadata = {} if metadata is None else metadata
        if not isinstance(page_content, str) or not isinstance(metadata, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValueError(
                "A Document needs page_content as a str and metadata as a dict, not "
                f"{type(page_content).__name__} and {type(metadata).__name__}."
            )
        self.page_content = page_content
        self.metadata = metadata
        self.id = None if id is None else str(id)
        self.type = "Document"
        if type(self) is not Document:
            for name, value in own_values(type(self), ignored).items():
                setattr(self, name, value)

    def __repr__(self) -> str:
        known = "" if self.id is None else f"id={self.id!r}, "
        shown = f"{known}metadata={self.metadata!r}, page_content={self.page_content!r}"
        own = "".join(f", {name}={value!r}" for name, value in self._own().items())
        return f"{type(self).__name__}({shown}{own})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        its = cast("Document", other)
        mine = (self.id, self.metadata, self.page_content, self._own())
        return mine == (its.id, its.metadata, its.page_content, its._own())

    def _own(self) -> dict[str, Any]:
        """What a class of a program adds."""
        return getattr(self, "__dict__", {})

    def __str__(self) -> str:
        # Without the id: text of documents goes into prompts.
        about = f" metadata={self.metadata}" if self.metadata else ""
        return f"page_content='{self.page_content}'{about}"

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        return cls.model_json_schema()


# The peer's path of it.
__getattr__ = lazily(__name__, {"Blob": "plait.documents.blob"})


class BaseDocumentTransformer(Abstract):
    """Makes documents of documents. Derive from it and define `transform_documents`."""

    @abstractmethod
    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """The new documents."""

    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """The async twin; here on a thread."""
        return await run_in_executor(None, self.transform_documents, documents, **kwargs)


class BaseDocumentCompressor(Abstract, AnnotatedFields, init=False):
    """Picks and shortens documents for a query. Derive from it and define `compress_documents`."""

    @abstractmethod
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """What remains of the documents."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """The async twin; here on a thread."""
        return await run_in_executor(None, self.compress_documents, documents, query, callbacks)
