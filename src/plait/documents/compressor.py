"""`BaseDocumentCompressor`, where LangChain has it."""

from plait.documents import BaseDocumentCompressor

__all__ = ["BaseDocumentCompressor"]
