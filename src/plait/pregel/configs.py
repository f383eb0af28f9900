"""The config of a run: what the call, the graph and the task around it say, as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast
from warnings import warn

from plait.callbacks.context import (
    everywhere,
    no_config,
    no_entry,
    unasked_handlers,
    var_child_runnable_config,
)
from plait.errors import ConfigError, ConfigTypeError, UnknownKeyWarning
from plait.runnables.config import (
    DEFAULT_RECURSION_LIMIT,
    KNOWN_KEYS,
    complete,
    ensure_config,
    merge_configs,
)
from plait.scope import current_scope
from plait.warnings import program_level

if TYPE_CHECKING:
    from plait.pregel.scope import TaskScope

Config = Mapping[str, Any]


def one_input(given: Any, extras: dict[str, Any]) -> Any:
    """The input of a call, taken out of its further keywords if it stands there as `input_state`
    (an older spelling, of reference documents).

    Raises:
        ConfigError: it is given under both names.
    """
    state = extras.pop("input_state", None)
    if state is None:
        return given
    if given is not None:
        raise ConfigError(
            "The input was given twice: as `input` and as `input_state`. Leave one of them out."
        )
    return state


def run_config(graph: Config | None, call: Config | None) -> dict[str, Any]:
    """The complete config of a run.

    Tags, metadata and configurable unite, the later winning: of the task or runnable around the
    call, of the graph (`with_config`), of the call. Of other keys, the last that says something
    wins. There is no recursion limit unless one of them names one.

    Raises:
        ConfigError: the recursion limit is no positive number.
    """
    check_config(call)
    task = _task_config()
    nearest = _nearest(task)
    around = None if nearest is call else nearest
    own = merge_configs(graph, call) if graph and call else (call or graph)
    out = ensure_config(around, own)
    said = [cast("dict[str, Any]", config) for config in (around, graph, call) if config]
    out["metadata"] = _united("metadata", said)  # without what runnables add to it
    if len(said) > 1:
        # Its tags come first, even if it is the call's.
        out["tags"] = united_tags(nearest, *said)
        out["configurable"] = {**out["configurable"], **_united("configurable", map(_filed, said))}
    limit = limit_of(task, _named_limit(around), graph, call)
    if limit is None:
        del out["recursion_limit"]
    else:
        out["recursion_limit"] = limit
    return out


def config_with(*given: Config | None) -> dict[str, Any]:
    """The config of a graph after `with_config`: tags in the order in which they were given, and
    nothing of which nobody says anything.

    Raises:
        ConfigError: one of them is none, or has an entry that is none.
    """
    for one in given:
        check_config(one)
    out = merge_configs(*given)
    out["tags"] = united_tags(*given)
    limit = limit_of(*given)
    if limit is not None:
        out["recursion_limit"] = limit
    return {key: value for key, value in out.items() if value or key not in ("tags", "metadata")}


def _filed(config: dict[str, Any]) -> dict[str, Any]:
    """A config with the keys that none knows among its `configurable`."""
    strays = config.keys() - KNOWN_KEYS
    if not strays:
        return config
    given = {key: config[key] for key in strays if config[key] is not None}
    return {"configurable": {**(config.get("configurable") or {}), **given}}


def _united(key: str, configs: Iterable[Config]) -> dict[str, Any]:
    united: dict[str, Any] = {}
    for one in configs:
        united.update(one.get(key) or {})
    return united


PLACE = (
    *("thread_id", "checkpoint_id", "checkpoint_ns", "task_id", "run_id"),
    *("assistant_id", "graph_id"),
)
"""Entries of `configurable` that are metadata of what runs."""


def told_metadata(config: Config, configurable: Config) -> dict[str, Any]:
    """The metadata that handlers, nodes and streamed messages are told of a run: those of its
    config, and where it runs."""
    told: dict[str, Any] = {**(config.get("metadata") or {})}
    for key in PLACE:
        if value := configurable.get(key):
            told.setdefault(key, value)
    return told


def united_tags(*configs: Config | None) -> list[str]:
    """The tags of some configs, each once, in the order in which they were given."""
    return list(dict.fromkeys(tag for one in configs if one for tag in one.get("tags") or ()))


def is_plain(parent: TaskScope | None) -> bool:
    """Whether a call that brings no config has one that `inherited` can tell at any later time.

    Args:
        parent: the task around the call.
    """
    if var_child_runnable_config.get() is not None or (everywhere and unasked_handlers()):
        return False
    if parent is None:
        return current_scope.get() is None
    return parent.is_untold()


def inherited(parent: TaskScope | None) -> dict[str, Any]:
    """What `run_config` says of a run that nobody gave a config, where that is plain."""
    around = None if parent is None else parent.run.task_config(parent.task)
    out = complete(around)
    out["metadata"] = _united("metadata", () if around is None else (around,))
    if around is None or "recursion_limit" not in around:
        del out["recursion_limit"]
    return out


def check_config(config: Any) -> None:
    """Raise ConfigError where a config is none, or one of its entries that steer a run; warn of a
    key that is likely misspelled."""
    if config is None:
        return
    if not isinstance(config, Mapping):
        raise no_config(config)
    known = cast("Config", config)
    if known.keys() - KNOWN_KEYS:
        _warn_of_near_misses(known)
    configurable = known.get("configurable")
    if configurable is not None and not isinstance(configurable, Mapping):
        raise no_entry("configurable", configurable)
    width = known.get("max_concurrency")
    if width is not None and (not isinstance(width, int) or width < 1):
        raise ConfigError(f"max_concurrency is a number of tasks from 1 on, got {width!r}.")


def _warn_of_near_misses(config: Config) -> None:
    """An unknown key goes to `configurable` (see `ensure_config`), unless it is likely a slip."""
    for key in config.keys() - KNOWN_KEYS:
        if close := get_close_matches(str(key), KNOWN_KEYS, n=1, cutoff=0.8):
            warn(
                f"A config has no key {key!r}; it is taken as an entry of `configurable`. Did you "
                f"mean {close[0]!r}? If not, write {{'configurable': {{{key!r}: ...}}}}.",
                UnknownKeyWarning,
                stacklevel=program_level(),
            )


def _task_config() -> Config | None:
    """The config of the task around this call, which a nested run inherits."""
    scope = current_scope.get()
    return None if scope is None else scope.config()


def _nearest(task: Config | None) -> Config | None:
    """The config of the runnable around this call, where one runs inside the task or outside of
    any; else that of the task."""
    return var_child_runnable_config.get() or task


def _named_limit(around: Config | None) -> Config | None:
    """A config, unless its limit is the one that runnables have where nobody named one."""
    is_named = around is not None and around.get("recursion_limit") != DEFAULT_RECURSION_LIMIT
    return around if is_named else None


def limit_of(*configs: Config | None) -> int | None:
    """The recursion limit of the last config that names one.

    Raises:
        ConfigError: it is no positive number.
    """
    for config in reversed(configs):
        if config and (limit := config.get("recursion_limit")) is not None:
            if isinstance(limit, float) and limit.is_integer():
                limit = int(limit)  # from JSON, say
            if not isinstance(limit, int):
                raise ConfigTypeError(f"recursion_limit is a whole number, got {limit!r}.")
            if limit < 1:
                raise ConfigError(f"recursion_limit must be at least 1, got {limit!r}.")
            return limit
    return None
