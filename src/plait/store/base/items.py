"""What goes into a store and comes out of it: items, operations, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar

from plait.embeddings import AEmbeddingsFunc, Embedder, EmbeddingsFunc

Namespace: TypeAlias = tuple[str, ...]
NamespacePath: TypeAlias = tuple[str | Literal["*"], ...]
"""A pattern of labels; "*" stands for any one label."""
NamespaceMatchType: TypeAlias = Literal["prefix", "suffix"]


AnyItem = TypeVar("AnyItem", bound="Item")


class NotProvided:
    """The type of `NOT_PROVIDED`: an argument that was not given, where None means something."""

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_PROVIDED = NotProvided()


class Item:
    """A value with its place and its times.

    Args:
        value: The value, a dict.
        key: Its key within the namespace.
        namespace: Its namespace.
        created_at: When the key was first put (a datetime, or a string in ISO format).
        updated_at: When the value was put.
    """

    __slots__ = ("created_at", "key", "namespace", "updated_at", "value")

    def __init__(
        self,
        *,
        value: dict[str, Any],
        key: str,
        namespace: Namespace,
        created_at: datetime | str,
        updated_at: datetime | str,
    ) -> None:
        self.value = value
        self.key = key
        self.namespace: Namespace = tuple(namespace)
        self.created_at = (
            created_at if isinstance(created_at, datetime) else datetime.fromisoformat(created_at)
        )
        self.updated_at = (
            updated_at if isinstance(updated_at, datetime) else datetime.fromisoformat(updated_at)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return False
        return (
            self.value == other.value
            and self.key == other.key
            and self.namespace == other.namespace
            and self.created_at == other.created_at
            and self.updated_at == other.updated_at
        )

    def __hash__(self) -> int:
        return hash((self.namespace, self.key))

    def dict(self) -> dict[str, Any]:
        """The item as plain data, times in ISO format."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.dict().items())
        return f"Item({fields})"


class SearchItem(Item):
    """An item that a search found.

    Args:
        score: How similar it is to the query, from -1 to 1 (None: there was no query, or the item
            is not indexed).
    """

    __slots__ = ("score",)

    def __init__(
        self,
        namespace: Namespace,
        key: str,
        value: dict[str, Any],
        created_at: datetime | str,
        updated_at: datetime | str,
        score: float | None = None,
    ) -> None:
        super().__init__(
            value=value,
            key=key,
            namespace=namespace,
            created_at=created_at,
            updated_at=updated_at,
        )
        self.score = score

    def dict(self) -> dict[str, Any]:
        """The item as plain data, with its score."""
        return {**super().dict(), "score": self.score}


def filled(
    item: AnyItem,
    value: dict[str, Any],
    key: str,
    namespace: Namespace,
    created_at: datetime,
    updated_at: datetime,
) -> AnyItem:
    """An empty item, with all but a score, and without the looks of `Item.__init__`."""
    item.value = value
    item.key = key
    item.namespace = namespace
    item.created_at = created_at
    item.updated_at = updated_at
    return item


class GetOp(NamedTuple):
    """Read one item."""

    namespace: Namespace
    key: str
    refresh_ttl: bool = True
    """Whether reading it begins its time to live anew."""


class SearchOp(NamedTuple):
    """Find items at and below a namespace."""

    namespace_prefix: Namespace
    filter: dict[str, Any] | None = None
    """What values must be like, key by key: equal, or as operators say (`{"n": {"$gt": 3}}`)."""
    limit: int = 10
    offset: int = 0
    query: str | None = None
    """Text to rank by similarity; ignored by stores without an index."""
    refresh_ttl: bool = True


class PutOp(NamedTuple):
    """Write one item, or delete it (`value=None`)."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    """Which paths of the value to index: None the store's own, False none."""
    ttl: float | None = None
    """Minutes to live; None: for ever."""


class MatchCondition(NamedTuple):
    """What a namespace must begin or end with."""

    match_type: NamespaceMatchType
    path: NamespacePath


class ListNamespacesOp(NamedTuple):
    """List namespaces that meet all conditions."""

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    """Cut namespaces after so many labels, and name each result once."""
    limit: int = 100
    offset: int = 0


Op: TypeAlias = GetOp | SearchOp | PutOp | ListNamespacesOp
Result: TypeAlias = Item | list[Item] | list[SearchItem] | list[Namespace] | None


class TTLConfig(TypedDict, total=False):
    """How long items live."""

    refresh_on_read: bool
    """Whether reading an item begins its time to live anew (default True)."""
    omit_expired: bool
    """Whether reads pass over items that have expired and were not swept yet (default False)."""
    default_ttl: float | None
    """Minutes to live for puts that do not say."""
    sweep_interval_minutes: int | None
    """How often the sweeper deletes what has expired (default 5)."""


class IndexConfig(TypedDict, total=False):
    """How a store embeds its items."""

    dims: int
    """The length of the vectors."""
    embed: Embedder | EmbeddingsFunc | AEmbeddingsFunc | str
    """What makes the vectors (see `plait.embeddings.ensure_embeddings`)."""
    fields: list[str] | str | None
    """Paths of the texts within a value, or one; ["$"], the whole value as JSON, when not given."""
    text_fields: list[str] | str | None
    """The same, where `fields` is not given."""
