"""Loaders of documents to derive from (`langchain_core.document_loaders`)."""

from plait.document_loaders.base import BaseBlobParser, BaseLoader, BlobLoader
from plait.documents import Blob

__all__ = ["BaseBlobParser", "BaseLoader", "Blob", "BlobLoader"]
