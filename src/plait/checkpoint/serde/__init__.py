"""Bytes: the closed registry of types, the codec, and the envelope of stored records."""

from plait.checkpoint.serde.codec import Codec
from plait.checkpoint.serde.envelope import COMPRESSED, ENCRYPTED, place, seal, unseal
from plait.checkpoint.serde.registry import GLOBAL, Registry, register

__all__ = [
    "COMPRESSED",
    "ENCRYPTED",
    "GLOBAL",
    "Codec",
    "Registry",
    "place",
    "register",
    "seal",
    "unseal",
]
