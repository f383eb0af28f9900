"""Documents: pieces of text with metadata, and blobs of bytes that become them."""

from plait.documents.base import (
    BaseDocumentCompressor,
    BaseDocumentTransformer,
    BaseMedia,
    Document,
)
from plait.documents.blob import Blob

__all__ = ["BaseDocumentCompressor", "BaseDocumentTransformer", "BaseMedia", "Blob", "Document"]
