"""Results of nodes in a cache: under which keys, and as which bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from math import isnan
from typing import TYPE_CHECKING, Any, cast
from warnings import warn

from plait.common.failures import note
from plait.engine.likeness import home_of
from plait.engine.plan import GraphPlan, Writes
from plait.engine.tasks import Task
from plait.errors import (
    InvalidInputError,
    InvalidNodeError,
    StorageError,
    UnreadableCacheWarning,
    UnregisteredTypeError,
    UnusedCachePolicyWarning,
)
from plait.policies import CachePolicy, default_cache_key
from plait.warnings import program_level

if TYPE_CHECKING:
    from plait.cache.base import BaseCache, FullKey, Namespace
    from plait.checkpoint.serde import Codec

_ROOT = "plait:writes"


def namespace_of(code: Any) -> Namespace:
    """Whose results are cached together: those of one piece of code, with what is bound to it.

    >>> namespace_of(namespace_of)
    ('plait:writes', 'plait.pregel.caching.namespace_of')
    """
    bound: list[str] = []
    while isinstance(code, partial):
        bound.append(_digest_of(cast("partial[Any]", code)))
        code = cast("partial[Any]", code).func
    if isinstance(plan := getattr(code, "plan", None), GraphPlan):
        bound.append(plan.fingerprint)
    named = code if hasattr(code, "__qualname__") else cast("type[Any]", type(code))
    return (_ROOT, f"{home_of(named)}.{named.__qualname__}", *bound)


def _digest_of(code: partial[Any]) -> str:
    """What stands for the arguments of a partial, as far as they are data."""
    digest = blake2b(digest_size=8)
    for named in [*enumerate(code.args), *sorted(code.keywords.items())]:
        with suppress(UnregisteredTypeError):
            digest.update(default_cache_key(*named))
    return digest.hexdigest()


def checked_cache_policy(policy: CachePolicy | None) -> CachePolicy | None:
    """A cache policy as an author gives it; the peer's is one, too.

    Raises:
        InvalidNodeError: it is none.
    """
    if policy is None:
        return policy
    if callable(getattr(policy, "key_func", None)) and hasattr(policy, "ttl"):
        if not _is_ttl(policy.ttl):
            raise InvalidNodeError(
                f"The ttl of a CachePolicy is a number of seconds, or None, got {policy.ttl!r:.80}."
            )
        return policy
    raise InvalidNodeError(
        f"cache_policy is a CachePolicy, got {policy!r}. Write CachePolicy(ttl=60)."
    )


def _is_ttl(given: Any) -> bool:
    if given is None:
        return True
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return False
    try:
        return not isnan(given)
    except OverflowError:
        return False


def warn_of_missing_cache(plan: GraphPlan, cache: Any, remedy: str) -> None:
    """Say, where the caller was called, that nodes have a cache policy and the graph no cache."""
    if cache is not None:
        return
    idle = [name for name, node in plan.nodes.items() if node.cache is not None]
    if idle:
        tell_of_missing_cache(plan.name, ", ".join(map(repr, idle)), remedy, 3)


def tell_of_missing_cache(graph: str, idle: str, remedy: str, stacklevel: int) -> None:
    """Say that the cache policy of something has no effect in a graph."""
    warn(
        f"Graph {graph!r} has no cache, so the cache policy of {idle} has no effect. {remedy}, or "
        "leave the policy out.",
        UnusedCachePolicyWarning,
        stacklevel=stacklevel + 1,
    )


class CachedResults:
    """What a run has cached, and may look up. Drivers use it for `ReadCache` and `WriteCache`.

    Values are encoded here, by the codec of the graph: a cache sees bytes, whatever it is.
    """

    def __init__(self, cache: BaseCache[bytes], codec: Codec) -> None:
        self._cache = cache
        self._codec = codec
        self._keys: dict[Task, FullKey] = {}
        """Of tasks that were looked up in vain: their key, as of before they ran."""

    def read(self, tasks: Sequence[Task]) -> dict[Task, Writes]:
        """The writes of those tasks whose results are cached."""
        keys = self._keys_of(tasks)
        return self._found(keys, self._cache.get(_once(keys.values())))

    async def aread(self, tasks: Sequence[Task]) -> dict[Task, Writes]:
        """`read`, without blocking the event loop."""
        keys = self._keys_of(tasks)
        return self._found(keys, await self._cache.aget(_once(keys.values())))

    def write(self, tasks: Sequence[Task]) -> None:
        """Keep what tasks wrote that were looked up in vain."""
        self._cache.set(self._pairs(tasks))

    async def awrite(self, tasks: Sequence[Task]) -> None:
        """`write`, without blocking the event loop."""
        await self._cache.aset(self._pairs(tasks))

    def _keys_of(self, tasks: Sequence[Task]) -> dict[Task, FullKey]:
        return {task: self._key(task) for task in tasks}

    def _key(self, task: Task) -> FullKey:
        plan = task.node.cache
        assert plan is not None
        args: tuple[Any, ...] = (task.input,)
        kwargs: dict[str, Any] = {}
        if task.parent is not None:
            args, kwargs = task.input
        function = plan.policy.key_func
        try:
            if function is default_cache_key:
                made: str | bytes = self._codec.dumps([list(args), kwargs])
            else:
                made = function(*args, **kwargs)
            data = _bytes_of(made)
        except Exception as error:
            note(
                error,
                f"While making the cache key of {task.name!r} from its input. Another key_func of "
                "its CachePolicy may make it of less.",
            )
            raise
        return plan.namespace, blake2b(data, digest_size=16).hexdigest()

    def _found(self, keys: dict[Task, FullKey], stored: dict[FullKey, bytes]) -> dict[Task, Writes]:
        found: dict[Task, Writes] = {}
        for task, key in keys.items():
            writes = self._decoded(task, stored[key]) if key in stored else None
            if writes is None:
                self._keys[task] = key
            else:
                found[task] = writes
        return found

    def _decoded(self, task: Task, data: bytes) -> Writes | None:
        try:
            return [(channel, value) for channel, value in self._codec.loads(data)]
        except (StorageError, TypeError, ValueError) as error:
            warn(
                f"A cached result of {task.name!r} cannot be read ({error}); the node runs, and "
                "its new result takes the place. To drop all at once: graph.clear_cache().",
                UnreadableCacheWarning,
                stacklevel=program_level(),
            )
            return None

    def _pairs(self, tasks: Sequence[Task]) -> dict[FullKey, tuple[bytes, int | None]]:
        pairs: dict[FullKey, tuple[bytes, int | None]] = {}
        for task in tasks:
            assert task.node.cache is not None
            ttl = task.node.cache.policy.ttl
            pairs[self._keys.pop(task)] = (self._codec.dumps(list(task.writes)), ttl)
        return pairs


def _bytes_of(made: Any) -> bytes:
    """A key that a key_func made, as bytes.

    Raises:
        InvalidInputError: it is neither text nor bytes. (`bytes` would make as many zeros of a
            number, and the same of a list and a tuple.)
    """
    if isinstance(made, str):
        return made.encode("utf-8", "surrogatepass")
    if isinstance(made, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", made))
    raise InvalidInputError(
        f"A cache key is text or bytes, and the key_func gave a value of type "
        f"{type(made).__name__}. Write repr(...) around it."
    )


def _once(keys: Iterable[FullKey]) -> list[FullKey]:
    return list(dict.fromkeys(keys))


__all__ = ["CachedResults", "namespace_of"]
