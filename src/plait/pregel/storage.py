"""From a graph's saver and a caller's config to a session and its plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.base.serving import is_native, is_plaits
from plait.constants import CONFIG_KEY_CHECKPOINTER
from plait.drivers.base import PlanRunner, Storage
from plait.errors import ConfigError, MissingThreadIdError

if TYPE_CHECKING:
    from plait.checkpoint.base.foreign import ForeignRunner
    from plait.checkpoint.base.port import Reading
    from plait.checkpoint.serde import Registry
    from plait.pregel.main import Pregel


def thread_of(configurable: Mapping[str, Any]) -> str:
    """The thread id of a config.

    Raises:
        MissingThreadIdError: there is none.
        ConfigError: its `thread_ttl` is no time that the thread could be kept.
    """
    thread_id = configurable.get("thread_id")
    if thread_id is None:
        raise MissingThreadIdError(
            "Checkpointer requires one or more of the following 'configurable' keys: thread_id. "
            'Pass config={"configurable": {"thread_id": "..."}} to say which conversation this is.'
        )
    if "thread_ttl" in configurable:
        from plait.checkpoint.log.asked import ttl_of

        ttl_of(configurable["thread_ttl"], "thread_ttl")
    return str(thread_id)


def saver_of(graph: Pregel, configurable: Mapping[str, Any]) -> Any:
    """The saver that a graph was compiled with, unless a config names another one."""
    return configurable.get(CONFIG_KEY_CHECKPOINTER) or graph.checkpointer


def checkpoint_id_of(configurable: Mapping[str, Any]) -> str | None:
    """The checkpoint that a config addresses (`thread_ts` is its old name)."""
    return configurable.get("checkpoint_id") or configurable.get("thread_ts")


def asked_checkpoint(configurable: Mapping[str, Any]) -> tuple[str | None, Mapping[str, str]]:
    """The checkpoint that a root run shall start from, and those of the graphs inside it.

    Raises:
        ConfigError: a checkpoint of a nested graph, without those around it.
    """
    asked = checkpoint_id_of(configurable)
    ns = configurable.get("checkpoint_ns")
    if asked is None or not ns:
        return asked, {}
    places: Mapping[str, str] = configurable.get("checkpoint_map") or {}
    if "" not in places:
        raise ConfigError(
            f"The config names checkpoint {asked!r} of the nested graph at {ns!r}, but not the "
            "checkpoints around it. Pass a snapshot's whole config (with its checkpoint_map)."
        )
    return places[""], {**{at: id for at, id in places.items() if at}, ns: asked}


def open_reading(
    graph: Pregel, configurable: Mapping[str, Any], ns: str
) -> tuple[PlanRunner, Reading]:
    """What runs plans on the config's thread, and one of its lanes to look at."""
    saver = saver_of(graph, configurable)
    open_it = getattr(cast("type[Any]", type(saver)), "open_reading", None)
    if open_it is None or not is_native(saver):
        storage = open_storage(graph, configurable, ns=ns)
        return storage.saver, storage.session
    policy = configurable.get("thread_busy")
    thread_id = thread_of(configurable)
    return saver, open_it(saver, thread_id, ns, registry=graph.registry(), policy=policy)


def open_storage(
    graph: Pregel, configurable: Mapping[str, Any], durability: str = "sync", ns: str = ""
) -> Storage:
    """The storage of a root run, or of a reader, on the config's thread."""
    saver = saver_of(graph, configurable)
    thread_id = thread_of(configurable)
    registry = graph.registry()
    if is_native(saver):
        policy = configurable.get("thread_busy")
        session = saver.open_session(thread_id, ns, registry=registry, policy=policy)
        return Storage(saver, session, durability)
    runner = _by_port(saver, registry)
    session = runner.open_session(thread_id, ns, {"configurable": dict(configurable)})
    return Storage(runner, session, durability)


def _by_port(saver: Any, registry: Registry | None) -> ForeignRunner:
    """What runs plans of a saver by LangGraph's port. Few programs have such savers."""
    if is_plaits(saver):
        from plait.checkpoint.base.derived import DerivedRunner

        return DerivedRunner(saver, registry)
    from plait.checkpoint.base.foreign import ForeignRunner
    from plait.checkpoint.serde import Codec

    return ForeignRunner(saver, None if registry is None else Codec(registry))
