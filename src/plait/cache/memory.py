"""The cache in memory: for one process, and for as long as it lives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from plait.cache.base import BaseCache, FullKey, Namespace, ValueT
from plait.checkpoint.serde.base import SerializerProtocol
from plait.common.forks import renew_in_child

_SWEEP_FROM = 256
"""Entries below which nobody looks for expired ones that were never asked for again."""


class _Entry(NamedTuple):
    tag: str
    data: bytes
    expires: float | None


class InMemoryCache(BaseCache[ValueT]):
    """Keep values in a dict, as bytes: what a caller changes later does not change them.

    Args:
        serde: how values become bytes (None: plait's codec).
        clock: seconds on the clock by which values expire.

    >>> cache = InMemoryCache()
    >>> cache.set({(("double",), "2"): (4, None)})
    >>> cache.get([(("double",), "2"), (("double",), "3")])
    {(('double',), '2'): 4}
    """

    def __init__(
        self,
        *,
        serde: SerializerProtocol | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(serde=serde)
        self._clock = clock
        self._entries: dict[Namespace, dict[str, _Entry]] = {}
        self._size = 0
        self._sweep_at = _SWEEP_FROM
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """In a forked child: the lock's holder does not exist here."""
        self._lock = Lock()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        now = self._clock()
        found: dict[FullKey, _Entry] = {}
        with self._lock:
            for ns, key in keys:
                entry = self._entries.get(ns, {}).get(key)
                if entry is not None and (entry.expires is None or now < entry.expires):
                    found[ns, key] = entry
        loads = self.serde.loads_typed
        return {full: loads((entry.tag, entry.data)) for full, entry in found.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        return self.get(keys)

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        now = self._clock()
        made = {
            full: _Entry(*self.serde.dumps_typed(value), None if ttl is None else now + ttl)
            for full, (value, ttl) in pairs.items()
        }
        with self._lock:
            for (ns, key), entry in made.items():
                entries = self._entries.setdefault(ns, {})
                self._size += key not in entries
                entries[key] = entry
            if self._size >= self._sweep_at:
                self._sweep(now)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        self.set(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock:
            for ns in list(self._entries) if namespaces is None else namespaces:
                self._size -= len(self._entries.pop(ns, ()))

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        self.clear(namespaces)

    def _sweep(self, now: float) -> None:
        """Drop what has expired; again when what is left has doubled."""
        for ns, entries in list(self._entries.items()):
            kept = {k: e for k, e in entries.items() if e.expires is None or now < e.expires}
            self._size += len(kept) - len(entries)
            if kept:
                self._entries[ns] = kept
            else:
                del self._entries[ns]
        self._sweep_at = max(_SWEEP_FROM, 2 * self._size)


__all__ = ["InMemoryCache"]
