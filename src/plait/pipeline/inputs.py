"""What a caller gives a pipeline, as values for the inputs of its first modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from plait.errors import InvalidValueError, nearest
from plait.pipeline.wiring import Entry

Values = Mapping[str, Any]


def by_module(pipeline: str, wanted: Mapping[str, Entry], given: Any) -> dict[str, Values]:
    """The values for each module that wants some, by input.

    Args:
        pipeline: its name, for errors.
        wanted: the modules that take values of the caller.
        given: for one module, its values or value; for several, a dict of these.

    Raises:
        InvalidValueError: a value is missing, or nothing takes it.
    """
    if len(wanted) == 1:
        ((name, entry),) = wanted.items()
        return {name: _by_key(pipeline, name, entry, {} if given is None else given)}
    return of_modules(pipeline, wanted, {} if given is None else given)


def of_modules(pipeline: str, wanted: Mapping[str, Entry], given: Any) -> dict[str, Values]:
    """The values for each module that wants some, by input, out of a dict by module.

    Raises:
        InvalidValueError: a value is missing, or nothing takes it.
    """
    if not isinstance(given, Mapping):
        raise InvalidValueError(
            f"{pipeline} takes values for {list(wanted)}: pass a dict, {{module: value}} or "
            f"{{module: {{input: value}}}}, got {given!r:.200}."
        )
    values = cast("Values", given)
    for name in values:
        if name not in wanted:
            raise InvalidValueError(
                f"{pipeline} takes no value for {name!r}. {nearest(name, wanted)}"
            )
    return {
        name: _by_key(pipeline, name, entry, values.get(name, {})) for name, entry in wanted.items()
    }


def apart(given: Mapping[str, Values]) -> list[dict[str, Values]]:
    """The values of each run of a batch, out of those whose inputs are lists.

    Raises:
        InvalidValueError: an input is no list, or they are not of one length.

    >>> apart({"a": {"x": [1, 2]}, "b": {"y": [3, 4]}})
    [{'a': {'x': 1}, 'b': {'y': 3}}, {'a': {'x': 2}, 'b': {'y': 4}}]
    """
    columns = {
        (name, key): value for name, by_key in given.items() for key, value in by_key.items()
    }
    for (name, key), value in columns.items():
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise InvalidValueError(
                f"With batch=True each input is a list of values; {key!r} (module {name!r}) is "
                f"{value!r:.200}."
            )
    sizes = {f"{name}.{key}": len(value) for (name, key), value in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InvalidValueError(f"The inputs of a batch must be of one length, got {sizes}.")
    return [
        {name: {key: by_key[key][at] for key in by_key} for name, by_key in given.items()}
        for at in range(next(iter(sizes.values()), 0))
    ]


def together(runs: Sequence[Mapping[str, Values]]) -> dict[str, dict[str, list[Any]]]:
    """The outputs of the runs of a batch, as lists.

    >>> together([{"a": {"x": 1}}, {"a": {"x": 2}}])
    {'a': {'x': [1, 2]}}
    """
    found: dict[str, dict[str, list[Any]]] = {}
    for outputs in runs:
        for name, by_key in outputs.items():
            for key, value in by_key.items():
                found.setdefault(name, {}).setdefault(key, []).append(value)
    return found


def _by_key(pipeline: str, name: str, entry: Entry, given: Any) -> Values:
    """The values of one module: a dict by input, or its only required input as it is."""
    required, optional = entry.keys
    known = [*required, *optional]
    if not isinstance(given, Mapping):
        if len(required) != 1:
            raise InvalidValueError(
                f"Module {name!r} of {pipeline} takes {known}: pass a dict of them, got "
                f"{given!r:.200}."
            )
        return {required[0]: given}
    values = cast("Values", given)
    if entry.any_name and len(values) == 1:
        return {required[0]: next(iter(values.values()))}
    for key in values:
        if key not in entry.keys:
            raise InvalidValueError(
                f"{pipeline} takes no input {key!r} (module {name!r}). {nearest(key, known)}"
            )
    for key in required:
        if key not in values:
            raise InvalidValueError(
                f"{pipeline} needs a value for {key!r} (module {name!r}); got "
                f"{list(values) or 'nothing'}."
            )
    return values


__all__ = ["apart", "by_module", "of_modules", "together"]
