"""`BaseDocumentTransformer`, where LangChain has it."""

from plait.documents import BaseDocumentTransformer

__all__ = ["BaseDocumentTransformer"]
