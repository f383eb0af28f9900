"""What a caller gives a pipeline, as values for the inputs of its first modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from plait.errors import InvalidInputError, nearest
from plait.pipeline.wiring import Entry

Values = Mapping[str, Any]


def by_module(pipeline: str, wanted: Mapping[str, Entry], given: Any) -> dict[str, Values]:
    """The values for each module that wants some, by input.

    Args:
        pipeline: its name, for errors.
        wanted: the modules that take values of the caller.
        given: for one module, its values or value; for several, a dict of these.

    Raises:
        InvalidInputError: a value is missing, or nothing takes it.
    """
    if len(wanted) == 1:
        ((name, entry),) = wanted.items()
        return {name: _by_key(pipeline, name, entry, {} if given is None else given)}
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise InvalidInputError(
            f"{pipeline} takes values for {list(wanted)}: pass a dict, {{module: value}} or "
            f"{{module: {{input: value}}}}, got {given!r:.200}."
        )
    values = cast("Values", given)
    for name in values:
        if name not in wanted:
            raise InvalidInputError(
                f"{pipeline} takes no value for {name!r}. {nearest(name, wanted)}"
            )
    return {
        name: _by_key(pipeline, name, entry, values.get(name, {})) for name, entry in wanted.items()
    }


def _by_key(pipeline: str, name: str, entry: Entry, given: Any) -> Values:
    """The values of one module: a dict by input, or its only required input as it is."""
    required, optional = entry.keys
    known = [*required, *optional]
    if not isinstance(given, Mapping):
        if len(required) != 1:
            raise InvalidInputError(
                f"Module {name!r} of {pipeline} takes {known}: pass a dict of them, got "
                f"{given!r:.200}."
            )
        return {required[0]: given}
    values = cast("Values", given)
    if entry.any_name and len(values) == 1:
        return {required[0]: next(iter(values.values()))}
    for key in values:
        if key not in entry.keys:
            raise InvalidInputError(
                f"{pipeline} takes no input {key!r} (module {name!r}). {nearest(key, known)}"
            )
    for key in required:
        if key not in values:
            raise InvalidInputError(
                f"{pipeline} needs a value for {key!r} (module {name!r}); got "
                f"{list(values) or 'nothing'}."
            )
    return values


__all__ = ["by_module"]
