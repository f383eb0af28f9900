"""Bytes: the closed registry of types, the codec, and the envelope of stored records.

Register a type of yours in one line, `plait.checkpoint.serde.register(Thing)`, or as a decorator.
Types that a graph's schemas name are registered for that graph by themselves.
"""

from plait.checkpoint.serde.codec import MAX_DEPTH, Codec, may_hold_buffer, pack_each, pack_plain
from plait.checkpoint.serde.envelope import (
    COMPRESSED,
    ENCRYPTED,
    Guard,
    guarded,
    peek,
    place,
    proof,
    seal,
    unseal,
    unseal_all,
    unseal_each,
)
from plait.checkpoint.serde.failures import RemoteError
from plait.checkpoint.serde.recipes import KeyedRecipes, Recipes
from plait.checkpoint.serde.refusals import UnstorableValueError, held_in
from plait.checkpoint.serde.registry import GLOBAL, Registry, register
from plait.checkpoint.serde.shapes import Parts, parts_of

__all__ = [
    "COMPRESSED",
    "ENCRYPTED",
    "GLOBAL",
    "MAX_DEPTH",
    "Codec",
    "Guard",
    "KeyedRecipes",
    "Parts",
    "Recipes",
    "Registry",
    "RemoteError",
    "UnstorableValueError",
    "guarded",
    "held_in",
    "may_hold_buffer",
    "pack_each",
    "pack_plain",
    "parts_of",
    "peek",
    "place",
    "proof",
    "register",
    "seal",
    "unseal",
    "unseal_all",
    "unseal_each",
]
