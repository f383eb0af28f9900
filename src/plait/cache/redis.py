"""The cache in Redis: shared by machines. The client is yours, sync or async."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from plait.cache.base import BaseCache, FullKey, Namespace, ValueT
from plait.checkpoint.serde.base import SerializerProtocol
from plait.errors import ConfigError


class RedisCache(BaseCache[ValueT]):
    """Keep values in Redis, which drops them by itself when they expire.

    Args:
        redis: a client, such as `redis.Redis(...)`, or an async one (`redis.asyncio.Redis(...)`),
            which then serves the async calls only.
        serde: how values become bytes (None: plait's codec).
        prefix: what all keys begin with; caches with other prefixes do not see each other.
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

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        if not keys:
            return {}
        return self._values(keys, self._sync().mget([self._name(full) for full in keys]))

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        if not keys:
            return {}
        if not self._is_async:
            return await _in_thread(self.get, keys)
        return self._values(keys, await self.redis.mget([self._name(full) for full in keys]))

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        if pairs:
            self._sync()
            self._pipeline(pairs).execute()

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        if not pairs:
            return
        pipeline = self._pipeline(pairs)
        if self._is_async:
            await pipeline.execute()
        else:
            await _in_thread(pipeline.execute)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        client = self._sync()
        for pattern in self._patterns(namespaces):
            names = list(client.scan_iter(match=pattern))
            if names:
                client.delete(*names)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        if not self._is_async:
            await _in_thread(self.clear, namespaces)
            return
        for pattern in self._patterns(namespaces):
            names = [name async for name in self.redis.scan_iter(match=pattern)]
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
            elif ttl > 0:
                pipeline.set(self._name(full), body, px=max(1, int(ttl * 1000)))
            else:
                pipeline.delete(self._name(full))
        return pipeline

    def _values(self, keys: Sequence[FullKey], bodies: Iterable[Any]) -> dict[FullKey, ValueT]:
        found: dict[FullKey, ValueT] = {}
        for full, body in zip(keys, bodies, strict=True):
            if body is not None:
                tag, _, data = cast("bytes", body).partition(b":")
                found[full] = self.serde.loads_typed((tag.decode(), data))
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


async def _in_thread(function: Any, *args: Any) -> Any:
    from asyncio import to_thread  # asyncio is running: it is loaded

    return await to_thread(function, *args)


__all__ = ["RedisCache"]
