"""The fields that a program's own class declares, checked by pydantic as it checks its models.

plait's own classes take their fields as given, so that constructing them costs next to nothing. A
class that a program derives from one of them says more of its fields: types, bounds, validators.
What it is given is made to fit, or refused with pydantic's `ValidationError`, before it is set.
Pydantic is loaded at the first such construction.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, get_type_hints

from plait.common.reflection import own_annotations

if TYPE_CHECKING:
    from pydantic import BaseModel

_HOUSE = __name__.partition(".")[0]


def is_own(kind: type) -> bool:
    """Whether a class is a program's, and not one of plait's."""
    return kind.__module__.partition(".")[0] != _HOUSE


class OwnFields:
    """What a class says of its fields, if it or one between it and plait's is a program's.

    Args:
        kind: The class.
        declared: Its public fields, and which class annotates each.
        defaults: The defaults of its fields; `...` for those without one.
        validators: The `field_validator`s of the class by name, as pydantic's decorator leaves
            them. They may also be for fields that plait's classes declare.
    """

    def __init__(
        self,
        kind: type,
        declared: Mapping[str, type],
        defaults: Mapping[str, Any],
        validators: Mapping[str, Any],
    ) -> None:
        fields: dict[str, Any] = {
            name: (annotation_of(base, name), defaults[name])
            for name, base in declared.items()
            if is_own(base)
        }
        for validator in validators.values():
            for name in validator.decorator_info.fields:
                if name in declared and name not in fields:
                    fields[name] = (Any, defaults[name])
        bound = {name: _bound(validator, kind) for name, validator in validators.items()}
        told = {**getattr(kind, "model_config", {}), "extra": "ignore"}
        self.model = model_for(kind, fields, bound, **told)
        aliases = [_aliases(field) for field in self.model.model_fields.values()]
        self.names = {*fields, *chain.from_iterable(aliases)}

    def fitted(self, values: dict[str, Any]) -> dict[str, Any]:
        """Values by the names of their fields, with defaults, as the declarations make them.

        Raises:
            ValidationError: pydantic's: one is missing, or does not fit.
        """
        given = {key: value for key, value in values.items() if key in self.names}
        rest = {key: value for key, value in values.items() if key not in self.names}
        return {**rest, **vars(self.model.model_validate(given))}


def refusal(kind: type, values: Any, error: Exception) -> Exception:
    """The `ValidationError` that pydantic makes of an error of a validator of the whole."""
    from pydantic import ValidationError  # loaded: the validator is pydantic's

    how = "assertion_error" if isinstance(error, AssertionError) else "value_error"
    line: Any = {"type": how, "loc": (), "input": values, "ctx": {"error": error}}
    return ValidationError.from_exception_data(kind.__name__, [line])


def model_for(
    kind: type, fields: Mapping[str, Any], decorated: Mapping[str, Any], **told: Any
) -> "type[BaseModel]":
    """A model of pydantic's for a class.

    Args:
        kind: The class.
        fields: Annotation and default of each field.
        decorated: What pydantic's decorators made of functions of the class, by name.
        told: The model's config, beside what all such models have.
    """
    from pydantic import create_model  # only classes of programs need it

    told.update(arbitrary_types_allowed=True, populate_by_name=True, protected_namespaces=())
    make: Callable[..., type[BaseModel]] = create_model
    with warnings.catch_warnings():
        # A field may be named as a method of pydantic's: nobody calls the methods of this model.
        warnings.filterwarnings("ignore", "Field name .* shadows an attribute")
        return make(kind.__name__, __config__=told, __validators__=dict(decorated), **fields)


def _bound(validator: Any, kind: type) -> Any:
    """A validator as the class's own: its `cls` is that class, not the model that checks."""
    return replace(validator, wrapped=staticmethod(validator.wrapped.__get__(None, kind)))


def annotation_of(base: type, name: str) -> Any:
    """What a class annotates, its text read in the module; Any where a name is not to be found."""
    holder = type(name, (), {"__annotations__": {name: own_annotations(base)[name]}})
    module = vars(sys.modules.get(base.__module__, object))
    try:
        found = get_type_hints(holder, dict(module), dict(vars(base)), include_extras=True)
    except NameError:  # a class of a function, or one that only type checkers import
        return Any
    return found[name]


def _aliases(field: Any) -> list[str]:
    """The other names under which a field is given."""
    alias = field.validation_alias or field.alias
    return [one for one in getattr(alias, "choices", [alias]) if isinstance(one, str)]
