"""The state of an agent: one schema of what its middleware and its caller ask for."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NotRequired, Required, TypeVar, cast, get_args, get_origin

from typing_extensions import TypedDict

from plait.agents.middleware.state import OmitFromSchema
from plait.common.reflection import is_annotated, resolved_annotations
from plait.errors import ConfigError

QUALIFIERS = (Required, NotRequired)


@dataclass(frozen=True)
class StateSchemas:
    """The schemas of an agent's graph.

    Args:
        state: All keys.
        input: The keys that a caller may give.
        output: The keys that a caller gets.
    """

    state: Any
    input: Any
    output: Any


def merged_schemas(schemas: Iterable[Any], response: Any = Any) -> StateSchemas:
    """One schema of several; of a key that two declare, the later one decides.

    Args:
        schemas: TypedDicts, pydantic classes or dataclasses.
        response: The type of `structured_response`, which a saver may have to store.

    Raises:
        ConfigError: Something is no schema, or no schema has `messages`.

    >>> from plait.agents.middleware.state import AgentState
    >>> sorted(merged_schemas([AgentState]).input.__annotations__)
    ['messages']
    """
    kinds = [get_origin(one) or one for one in schemas]
    for kind in kinds:
        if not isinstance(kind, type):
            raise _no_schema(kind)
    return _merged(tuple(dict.fromkeys(kinds)), response)


@lru_cache(maxsize=256)
def _merged(schemas: tuple[Any, ...], response: Any) -> StateSchemas:
    """Agents of one kind have the same classes, which are looked at once."""
    keys: dict[str, Any] = {}
    given: dict[str, Any] = {}
    taken: dict[str, Any] = {}
    for schema in schemas:
        for key, hint in _hints(schema).items():
            plain, omit = _unmarked(hint)
            if isinstance(_plain(plain), TypeVar):
                plain = NotRequired[response]
            keys[key] = plain
            _keep(given, key, plain, not omit.input)
            _keep(taken, key, plain, not omit.output)
    if "messages" not in keys:
        raise ConfigError(
            "The state of an agent needs the key 'messages'. Derive state_schema from AgentState."
        )
    make: Any = TypedDict  # the keys are known only here
    return StateSchemas(
        make("StateSchema", keys), make("InputSchema", given), make("OutputSchema", taken)
    )


def _keep(keys: dict[str, Any], key: str, hint: Any, wanted: bool) -> None:
    if wanted:
        keys[key] = hint
    else:
        keys.pop(key, None)


def _plain(hint: Any) -> Any:
    """A hint without what says whether its key is required."""
    return get_args(hint)[0] if get_origin(hint) in QUALIFIERS else hint


def _hints(schema: Any) -> dict[str, Any]:
    if not is_annotated(schema):
        raise _no_schema(schema)
    return resolved_annotations(schema)


def _no_schema(given: Any) -> ConfigError:
    return ConfigError(f"{given!r} is no state schema: give a class derived from AgentState.")


def _unmarked(hint: Any) -> tuple[Any, OmitFromSchema]:
    """A hint without the mark that keeps it out of the input or the output; and the mark.

    What remains is read by the graph: where no mark is a channel, the last one is the reducer.
    """
    origin = get_origin(hint)
    if origin in QUALIFIERS:
        plain, omit = _unmarked(get_args(hint)[0])
        return cast("Any", origin)[plain], omit
    if origin is not Annotated:
        return hint, OmitFromSchema(input=False, output=False)
    inner, *marks = get_args(hint)
    plain, omit = _unmarked(inner)
    for mark in marks:
        if isinstance(mark, OmitFromSchema):
            omit = mark
        else:
            plain = Annotated[plain, mark]
    return plain, omit


__all__ = ["StateSchemas", "merged_schemas"]
