"""TypedDict classes as schemas: `Annotated[type, default, description]` describes a key.

`...` as default means that there is none. Importing this module loads pydantic.
"""

from types import UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from plait.tools.docstrings import described_arguments
from plait.tools.shown import described, key_of


def model_of_typed_dict(kind: type) -> type[BaseModel]:
    """A model with the keys of a TypedDict, described by its annotations, else its docstring.

    >>> from typing import TypedDict
    >>> class Place(TypedDict):
    ...     '''A place.'''
    ...     name: Annotated[str, ..., "What it is called"]
    ...     near: Annotated[int, 5, "How near, in km"]
    >>> model_of_typed_dict(Place).model_json_schema()["required"]
    ['name']
    """
    return _model(kind.__name__, *_read(kind))


def json_of_typed_dict(kind: type) -> dict[str, Any]:
    """The JSON schema of `model_of_typed_dict`, without making the model again where it can be."""
    description, keys = _read(kind)
    key = key_of((kind.__name__, description), keys)
    return described(key, lambda: _model(kind.__name__, description, keys).model_json_schema())


def _read(kind: type) -> tuple[str, dict[str, tuple[Any, str | None]]]:
    """The description of a TypedDict, and the annotation and description of each key."""
    own = kind.__doc__ if kind.__doc__ != dict.__doc__ else None
    description, docs = described_arguments(own or "")
    hints = get_type_hints(kind, None, None, True)
    return description, {key: (hint, docs.get(key)) for key, hint in hints.items()}


def _model(name: str, description: str, keys: dict[str, tuple[Any, str | None]]) -> type[BaseModel]:
    fields = {key: _field(hint, doc) for key, (hint, doc) in keys.items()}
    return create_model(name, __doc__=description or None, **cast("Any", fields))


def _field(hint: Any, doc: str | None) -> tuple[Any, Any]:
    optional = False
    default: Any = ...
    while get_origin(hint) in (Required, NotRequired, Annotated):
        if get_origin(hint) is not Annotated:
            optional = get_origin(hint) is NotRequired
            hint = get_args(hint)[0]
            continue
        hint, *about = get_args(hint)
        info = next((mark for mark in about if isinstance(mark, FieldInfo)), None)
        if info is not None:
            return Annotated[_plain(hint), info], info.default if not info.is_required() else ...
        default = about[0] if about else ...
        doc = about[1] if len(about) > 1 and isinstance(about[1], str) else doc
    if default is None or (optional and default is ...):
        # Left out: the key need not be there, and there is no value to show for it.
        return _plain(hint), Field(default_factory=lambda: None, description=doc)
    return _plain(hint), Field(default, description=doc)


def _plain(hint: Any) -> Any:
    """The type without None in unions: a key that may be None is a key that may be left out."""
    if hasattr(hint, "__required_keys__"):
        return model_of_typed_dict(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kept = tuple(_plain(arg) for arg in args if arg is not type(None))
        return Union[kept]  # noqa: UP007 - of a tuple
    if origin in (list, set, dict, tuple):
        generic: Any = origin
        return generic[tuple(arg if arg is ... else _plain(arg) for arg in args)]
    return hint
