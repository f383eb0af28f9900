"""Blobs and what finds them, where LangChain has them."""

from plait.document_loaders.base import BlobLoader
from plait.documents import Blob

__all__ = ["Blob", "BlobLoader"]
