"""Events that user code names itself, sent to whoever listens to the run it is part of."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from plait.callbacks.base import BaseCallbackManager
from plait.callbacks.context import COPIED_TO_METADATA, has_listeners, inherited_config
from plait.callbacks.manager import AsyncCallbackManager, CallbackManager


def dispatch_custom_event(name: str, data: Any, *, config: Mapping[str, Any] | None = None) -> None:
    """Send `on_custom_event(name, data)` to the handlers of the current run.

    Args:
        name: The event's name; any string.
        data: What it carries.
        config: The run's config; by default that of the context.

    Raises:
        RuntimeError: Outside a run.
    """
    config = _config_of_run(config)
    if has_listeners(config):
        manager = CallbackManager.of_config(config)
        manager.on_custom_event(name, data, run_id=_run_id(manager))


async def adispatch_custom_event(
    name: str, data: Any, *, config: Mapping[str, Any] | None = None
) -> None:
    """The async twin of `dispatch_custom_event`."""
    config = _config_of_run(config)
    if has_listeners(config):
        manager = AsyncCallbackManager.of_config(config)
        await manager.on_custom_event(name, data, run_id=_run_id(manager))


def _config_of_run(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = config if config is not None else inherited_config()
    if found is None:
        raise RuntimeError(_OUTSIDE)
    place: Mapping[str, Any] = found.get("configurable") or {}
    copied = {key: place[key] for key in COPIED_TO_METADATA if isinstance(place.get(key), str)}
    return {**found, "metadata": {**copied, **(found.get("metadata") or {})}}


def _run_id(manager: BaseCallbackManager) -> UUID | None:
    """The run that an event is told of; any, where it is a task's that only its timeout hears."""
    heard_by_its_limit = any(getattr(each, "hears_no_run", False) for each in manager.handlers)
    if manager.parent_run_id is None and not heard_by_its_limit:
        raise RuntimeError(_OUTSIDE)
    return manager.parent_run_id


_OUTSIDE = (
    "A custom event can only be dispatched inside a run (a node, a tool, a RunnableLambda), and no "
    "run is active here. Inside a run, pass its `config` (a thread you started needs that)."
)
