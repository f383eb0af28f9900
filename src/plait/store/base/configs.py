"""What a store is told when it is made, checked: its `index` and its `ttl`.

A key that nobody reads would be a setting that somebody believes in. Keys with two underscores in
front are what LangGraph's stores add to the `index_config` that they hand out.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import TIMEOUT_MAX
from typing import Any, cast

from plait.errors import ConfigError, ConfigTypeError, nearest
from plait.store.base.items import IndexConfig, TTLConfig

_OF_POSTGRES = ("ann_index_config", "distance_type")
"""What LangGraph's Postgres store knows besides; one config may serve several stores."""


def check_index(config: Any) -> None:
    """Refuse an `index` that is none.

    Raises:
        ConfigError: It is no dict, or has a key that no store reads.
    """
    _check_keys("index", config, (*IndexConfig.__annotations__, *_OF_POSTGRES))


def check_ttl(config: Any) -> None:
    """Refuse a `ttl` that is none.

    Raises:
        ConfigError: It is no dict, has a key that no store reads, or an interval that is none.
    """
    _check_keys("ttl", config, TTLConfig.__annotations__)
    check_interval(config.get("sweep_interval_minutes"))


def check_interval(minutes: Any) -> None:
    """Refuse what is no time from one sweep to the next; None and 0 stand for the default.

    Raises:
        ConfigError: It is no number, less than 0, or more than a thread can wait for.
    """
    if minutes is None:
        return
    number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
    if not (number and 0 <= minutes <= TIMEOUT_MAX / 60):
        raise ConfigError(
            f"sweep_interval_minutes={minutes!r}: a number of minutes above 0, or None for the "
            "default. A store whose sweeper is not started sweeps when sweep_ttl() is called."
        )


def _check_keys(what: str, config: Any, known: Mapping[str, Any] | tuple[str, ...]) -> None:
    if not isinstance(config, Mapping):
        example = "{'default_ttl': 60}" if what == "ttl" else "{'dims': 3, 'embed': embed}"
        raise ConfigTypeError(f"{what}={config!r} of a store: give a dict, such as {example}.")
    for key in cast("Mapping[Any, Any]", config):
        if key not in known and not str(key).startswith("__"):
            raise ConfigError(
                f"Unknown key {key!r} in {what}= of a store. {nearest(key, known)} "
                "A key that nobody reads has no effect: mend it, or leave it out."
            )
