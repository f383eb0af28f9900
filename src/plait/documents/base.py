"""`Document`: a piece of text with metadata; what filters and rewrites documents."""

import json
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal, Self, cast

from plait.errors import InvalidInputError
from plait.fields import AnnotatedFields, own_values
from plait.lazy import lazily
from plait.runnables.config import run_in_executor


@dataclass(slots=True, kw_only=True)
class BaseMedia:
    """Something with an id and metadata."""

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
        InvalidInputError: `page_content` is no text, or `metadata` no dict.

    >>> Document("plait is durable", metadata={"source": "README"})
    Document(metadata={'source': 'README'}, page_content='plait is durable')
    """

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
            raise InvalidInputError(
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

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The document as a dict."""
        return {
            "id": self.id,
            "metadata": deepcopy(self.metadata),
            "page_content": self.page_content,
            "type": self.type,
            **deepcopy(self._own()),
        }

    def model_dump_json(self, **options: Any) -> str:
        """The document as JSON."""
        return json.dumps(self.model_dump(), ensure_ascii=False, separators=(",", ":"))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values."""
        made = deepcopy(self) if deep else copy(self)
        for name, value in (update or {}).items():
            setattr(made, name, value)
        return made

    @classmethod
    def model_validate(cls, value: Any, **options: Any) -> Self:
        """A document from a dict, or the document itself.

        Raises:
            InvalidInputError: it is neither.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            return cls(**cast("Mapping[str, Any]", value))
        raise InvalidInputError(f"Not a Document, nor a dict of one: {type(value).__name__}.")

    @classmethod
    def model_json_schema(cls, **options: Any) -> dict[str, Any]:
        """The JSON schema of a document."""
        from pydantic import TypeAdapter  # loaded by who asks

        return TypeAdapter(cls).json_schema()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Documents as fields of pydantic models: objects are taken as they are, dicts are read."""
        from pydantic_core import core_schema  # loaded by who asks

        fields = {
            "id": core_schema.typed_dict_field(
                core_schema.nullable_schema(core_schema.str_schema()), required=False
            ),
            "metadata": core_schema.typed_dict_field(core_schema.dict_schema(), required=False),
            "page_content": core_schema.typed_dict_field(core_schema.str_schema()),
            "type": core_schema.typed_dict_field(
                core_schema.literal_schema(["Document"]), required=False
            ),
        }
        read = core_schema.no_info_after_validator_function(
            cls.model_validate, core_schema.typed_dict_schema(fields, cls_name="Document")
        )
        return core_schema.json_or_python_schema(
            json_schema=read,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), read]),
            serialization=core_schema.plain_serializer_function_ser_schema(cls.model_dump),
        )


# The peer's path of it.
__getattr__ = lazily(__name__, {"Blob": "plait.documents.blob"})


class BaseDocumentTransformer:
    """Makes documents of documents. Derive from it and define `transform_documents`."""

    def transform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """The new documents."""
        raise NotImplementedError(f"{type(self).__name__} must define transform_documents().")

    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """The async twin; here on a thread."""
        return await run_in_executor(None, self.transform_documents, documents, **kwargs)


class BaseDocumentCompressor(AnnotatedFields, init=False):
    """Picks and shortens documents for a query. Derive from it and define `compress_documents`."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """What remains of the documents."""
        raise NotImplementedError(f"{type(self).__name__} must define compress_documents().")

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """The async twin; here on a thread."""
        return await run_in_executor(None, self.compress_documents, documents, query, callbacks)
