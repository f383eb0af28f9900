"""The cache in Redis: shared by machines. The client is yours, sync or async."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote
from warnings import warn

from plait.cache.base import BaseCache, FullKey, Namespace, ValueT
from plait.checkpoint.serde.base import SerializerProtocol
from plait.errors import (
    ConfigError,
    StorageError,
    UnavailableCacheWarning,
    UnreadableCacheWarning,
)
from plait.warnings import program_level


class RedisCache(BaseCache[ValueT]):
    """Keep values in Redis, which drops them by itself when they expire.

    While Redis does not answer, nothing is found and nothing is kept: runs go on, with an
    `UnavailableCacheWarning`. What was to be cleared would still be served, so `clear` raises.

    Args:
        redis: a client, such as `redis.Redis(...)`, or an async one (`redis.asyncio.Redis(...)`),
            which then serves the async calls only. Any object will do that has `mget`, `pipeline`,
            `delete`, and `scan_iter` or `keys`.
        serde: how values become bytes (None: plait's codec).
        prefix: what all keys begin with; caches with other prefixes do not see each other.

    Raises:
        ConfigError: the client decodes what it reads (`decode_responses=True`).
    """

    def __init__(
        self,
        redis: Any,
        *,
        serde: SerializerProtocol | None = None,
        prefix: str = "plait:cache:",
    ) -> None:
        super().__init__(serde=serde)
        self.redis = redis
        self.prefix = prefix
        self._is_async = inspect.iscoroutinefunction(getattr(redis, "execute_command", None))
        encoder = getattr(redis, "get_encoder", None)
        if encoder is not None and getattr(encoder(), "decode_responses", False):
            raise ConfigError(
                "This Redis client decodes what it reads (decode_responses=True), and cached "
                "values are bytes: no text. Give RedisCache a client of its own, without it."
            )

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        if not keys:
            return {}
        client = self._sync()
        try:
            bodies = client.mget([self._name(full) for full in keys])
        except Exception as error:
            return _unanswered(error)
        return self._values(keys, bodies)

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        if not keys:
            return {}
        if not self._is_async:
            return await _in_thread(self.get, keys)
        try:
            bodies = await self.redis.mget([self._name(full) for full in keys])
        except Exception as error:
            return _unanswered(error)
        return self._values(keys, bodies)

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        if not pairs:
            return
        self._sync()
        pipeline = self._pipeline(pairs)
        try:
            pipeline.execute()
        except Exception as error:
            _unanswered(error)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        if not pairs:
            return
        if not self._is_async:
            await _in_thread(self.set, pairs)
            return
        pipeline = self._pipeline(pairs)
        try:
            await pipeline.execute()
        except Exception as error:
            _unanswered(error)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        client = self._sync()
        for pattern in self._patterns(namespaces):
            scan = getattr(client, "scan_iter", None)  # in pages: keys() would block the server
            names = list(client.keys(pattern) if scan is None else scan(match=pattern))
            if names:
                client.delete(*names)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        if not self._is_async:
            await _in_thread(self.clear, namespaces)
            return
        for pattern in self._patterns(namespaces):
            scan = getattr(self.redis, "scan_iter", None)
            if scan is None:
                names = await self.redis.keys(pattern)
            else:
                names = [name async for name in scan(match=pattern)]
            if names:
                await self.redis.delete(*names)

    def _sync(self) -> Any:
        if self._is_async:
            raise ConfigError(
                "This RedisCache has an async client, so it serves async runs only (ainvoke, "
                "astream). For invoke and stream, give it a sync client: redis.Redis(...)."
            )
        return self.redis

    def _pipeline(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> Any:
        pipeline = self.redis.pipeline()
        for full, (value, ttl) in pairs.items():
            tag, data = self.serde.dumps_typed(value)
            body = tag.encode() + b":" + data
            if ttl is None:
                pipeline.set(self._name(full), body)
            elif ttl <= 0:
                pipeline.delete(self._name(full))
            else:
                _keep_for(ttl, pipeline, self._name(full), body)
        return pipeline

    def _values(self, keys: Sequence[FullKey], bodies: Iterable[Any]) -> dict[FullKey, ValueT]:
        found: dict[FullKey, ValueT] = {}
        for full, body in zip(keys, bodies, strict=True):
            if body is None:
                continue
            try:
                tag, _, data = body.partition(b":")
                found[full] = self.serde.loads_typed((tag.decode(), data))
            except (StorageError, NotImplementedError, TypeError, ValueError) as error:
                warn(
                    f"The cached value {self._name(full)!r} in Redis cannot be read ({error}); it "
                    "is taken for a miss, and what is computed anew takes its place.",
                    UnreadableCacheWarning,
                    stacklevel=program_level(),
                )
        return found

    # The parts of a name are quoted, so that neither ":" nor the wildcards of a pattern can come
    # from a node's name; two colons end the namespace, so that ("a",) does not contain ("a", "b").

    def _name(self, full: FullKey) -> str:
        ns, key = full
        return f"{self.prefix}{_joined(ns)}::{quote(key, safe='')}"

    def _patterns(self, namespaces: Sequence[Namespace] | None) -> list[str]:
        prefix = "".join(f"\\{char}" if char in "*?[]\\" else char for char in self.prefix)
        if namespaces is None:
            return [f"{prefix}*"]
        return [f"{prefix}{_joined(ns)}::*" for ns in namespaces]


def _joined(ns: Namespace) -> str:
    return ":".join(quote(part, safe="") for part in ns)


def _keep_for(seconds: float, pipeline: Any, name: str, body: bytes) -> None:
    try:
        pipeline.set(name, body, px=max(1, int(seconds * 1000)))
    except TypeError:  # a client of one's own, whose `set` takes no time
        pipeline.setex(name, max(1, int(seconds)), body)


def _unanswered(error: Exception) -> dict[Any, Any]:
    """What is found, and kept, while Redis does not answer: nothing."""
    warn(
        f"Redis did not answer ({type(error).__name__}: {error}): nothing is taken from the cache, "
        "nor kept there; what it would have spared is done again.",
        UnavailableCacheWarning,
        stacklevel=program_level(),
    )
    return {}


async def _in_thread(function: Any, *args: Any) -> Any:
    from asyncio import to_thread  # asyncio is running: it is loaded

    return await to_thread(function, *args)


__all__ = ["RedisCache"]
