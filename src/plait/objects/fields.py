"""Keyword construction from annotated fields, for classes that users derive from.

    class MyModel(BaseChatModel):
        model: str
        temperature: float = 0.0

    MyModel(model="x")

The fields of plait's classes are names only: values are taken as given. Defaults made with
pydantic's `Field` and `PrivateAttr` are understood (default, default_factory, alias), and its
`model_validator` is called (before and after), without importing pydantic. What the class of a
program declares is checked (`own_fields.py`).
"""

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

from plait.common.reflection import binds, own_annotations
from plait.errors import nearest
from plait.objects.model_face import ModelFace
from plait.objects.own_fields import OwnFields, annotation_of, is_own, refusal

if TYPE_CHECKING:
    from pydantic import Field, PrivateAttr

    from plait.objects.stand_in import StandIn

    @dataclass_transform(kw_only_default=True, field_specifiers=(Field, PrivateAttr))
    class _Declaring:
        """Tells type checkers what classes that derive from it are constructed with."""

else:
    _Declaring = object

_NOTHING: Any = object()


class LazyField:
    """A field whose value is made when somebody asks for it. Derive from it; define `__get__`."""


class AnnotatedFields(ModelFace, _Declaring):
    """Takes its annotated fields as keyword arguments.

    Raises:
        TypeError: A field without a default is missing, or a name is not a field.
        ValidationError: pydantic's: what the class of a program declares does not fit.
    """

    def __init_subclass__(cls, *, init: bool = True, **kwargs: Any) -> None:
        """Take a class in.

        Args:
            init: For type checkers: False lets classes that derive from this one hand fields of
                their own to `super().__init__`.
            kwargs: For other bases of the class.
        """
        super().__init_subclass__(**kwargs)
        for name in [n for n, value in vars(cls).items() if n[0] == "_" and _is_unset(value)]:
            delattr(cls, name)  # a private attribute without a value is none until it is set

    def __init__(self, **values: Any) -> None:
        kind = type(self)
        fields = _known(kind)
        checks = fields.checks
        values = checks.before(values) if checks else values
        if fields.is_checked and (values or not fields.is_complete):
            values = fields.own(kind).fitted(values)
        if fields.fit(values):
            vars(self).update(fields.filled(values))
        else:
            _set_each(self, fields, values)
        if fields.goes_on:
            self.model_post_init(None)
        if checks:
            checks.after(self)

    def model_post_init(self, context: Any, /) -> None:
        """What is left to do once the fields are set: define it, if there is something."""

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """An object made without its constructor: nothing is checked."""
        made = cls.__new__(cls)
        vars(made).update(_known(cls).filled(values))
        return made

    @classmethod
    def model_rebuild(cls, **ignored: Any) -> None:
        """Read the annotations again: names in them may have been defined since."""
        type.__setattr__(cls, "_known_fields", None)

    @classmethod
    def __plait_stand_in__(cls) -> "StandIn":
        return _known(cls).stand_in(cls)

    def shown_fields(self) -> list[str]:
        """What is not as by default, as `name=value`; dicts that each object has always show."""
        return [
            f"{name}={getattr(self, name)!r}"
            for name, default in fields_of(type(self)).items()
            if not name.startswith("_")
            and getattr(default, "repr", True) is not False  # of pydantic's Field
            and (isinstance(default, dict) or getattr(self, name, None) != _fixed(default))
        ]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            getattr(self, name, None) == getattr(other, name, None)
            for name in fields_of(type(self))
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def fields_of(kind: type) -> Mapping[str, Any]:
    """The annotated fields of a class and its bases, with their defaults. Kept: do not change it.

    Class variables and what a subclass defines as a method or property are no fields.
    """
    return _known(kind).defaults


def own_names(kind: type) -> list[str]:
    """The public fields that classes of programs declare."""
    return [name for name, its in _known(kind).declared.items() if is_own(its)]


def own_values(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """The values of the fields that classes of programs declare, made to fit, with defaults.

    Raises:
        ValidationError: pydantic's: one is missing, or does not fit.
    """
    fields = _known(kind)
    if not fields.is_checked:
        return {}
    own = fields.own(kind)
    return {n: its for n, its in own.fitted(values).items() if n in own.model.model_fields}


class _Fields:
    """The fields of a class, as they are while nobody sets attributes of the class anew."""

    def __init__(self, kind: type) -> None:
        found, annotating = _annotated(kind)
        self.names = tuple(found)
        self.seen = [getattr(kind, name, _NOTHING) for name in found]
        self.defaults = {
            name: default
            for name, (default, source) in found.items()
            if not binds(default) or (callable(default) and source is annotating[name])
        }
        self.declared = {
            name: annotating[name] for name in self.defaults if not name.startswith("_")
        }
        """Public fields, and the class that annotates each last."""
        self.told = {
            name: annotating[name]
            for name, (default, _) in found.items()
            if name in self.declared or isinstance(default, LazyField)
        }
        """What pydantic is told of: these, and fields whose values are made when they are read."""
        self.validators = _decorated(kind, "FieldValidatorDecoratorInfo", "ValidatorDecoratorInfo")
        self.is_checked = bool(self.validators) or any(map(is_own, self.declared.values()))
        whole = _decorated(kind, "ModelValidatorDecoratorInfo", "RootValidatorDecoratorInfo")
        self.checks = _Checks(kind, list(whole.values())) if whole else None
        self.extra = getattr(kind, "model_config", {}).get("extra")
        """What the class says of unknown names, as in pydantic: "allow", "ignore" or "forbid"."""
        own = getattr(kind, "model_post_init", None)
        self.goes_on = own is not AnnotatedFields.model_post_init
        aliased = any(getattr(one, "alias", None) is not None for one in self.defaults.values())
        self.is_plain = kind.__setattr__ in _PLAIN and not aliased
        """Whether setting a field does no more than that, and is done under its own name."""
        self.public = frozenset(self.declared)
        lacking = {name for name, default in self.defaults.items() if _lacks(default)}
        self.required = self.public & lacking
        self.start = {
            n: d for n, d in self.defaults.items() if n in self.public or n not in lacking
        }
        self.made = [
            (n, _maker(d)) for n, d in self.start.items() if n not in lacking and _is_made(d)
        ]
        fields = [its for name, its in self.defaults.items() if name in self.public]
        self.is_complete = not (self.required or any(hasattr(its, "get_default") for its in fields))
        """Whether there is nothing to check where no value is given."""
        self._own: OwnFields | None = None
        self._stand_in: StandIn | None = None

    def own(self, kind: type) -> OwnFields:
        """What checks the fields that classes of programs declare."""
        if self._own is None:
            self._own = OwnFields(kind, self.declared, self._given_defaults(), self.validators)
        return self._own

    def stand_in(self, kind: type[ModelFace]) -> "StandIn":
        """The model that stands for the class."""
        if self._stand_in is None:
            from plait.objects.stand_in import StandIn  # loads pydantic

            defaults = self._given_defaults()
            self._stand_in = StandIn(
                kind,
                {n: (annotation_of(its, n), defaults.get(n, ...)) for n, its in self.told.items()},
                _decorated(kind, "FieldSerializerDecoratorInfo", "ComputedFieldInfo"),
                frozenset(name for name, its in self.told.items() if is_own(its)),
                extra=self.extra == "allow",
            )
        return self._stand_in

    def _given_defaults(self) -> dict[str, Any]:
        """The defaults of all fields as pydantic takes them."""
        return {n: ... if its is _NOTHING else its for n, its in self.defaults.items()}

    def hold(self, kind: type) -> bool:
        """Whether the class still has the attributes that were seen."""
        now = map(getattr, repeat(kind), self.names, repeat(_NOTHING))
        return all(map(is_, now, self.seen))

    def fit(self, values: dict[str, Any]) -> bool:
        """Whether values can be taken as they are: none is missing, unknown or hidden."""
        given = values.keys()
        return self.is_plain and given <= self.public and given >= self.required

    def filled(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values of all fields, in their order; of those that fit."""
        held = {**self.start, **values}
        for name, make in self.made:
            if name not in values:
                held[name] = make()
        return held


def _annotated(kind: type) -> tuple[dict[str, tuple[Any, type]], dict[str, type]]:
    """By name: the default of a field and the class that gives it; the class that annotates it."""
    found: dict[str, tuple[Any, type]] = {}
    annotating: dict[str, type] = {}
    for base in reversed(kind.__mro__):
        for name, annotation in own_annotations(base).items():
            if "ClassVar" not in str(annotation) and not name.startswith("__"):
                found[name] = (_NOTHING, base)
                annotating[name] = base
        found.update({name: (its, base) for name, its in vars(base).items() if name in found})
    return found, annotating


def _set_each(made: Any, fields: _Fields, values: dict[str, Any]) -> None:
    """Set the fields one by one, with aliases; a value that does not fit is named."""
    for name, default in fields.defaults.items():
        alias = getattr(default, "alias", None)
        if alias is not None and alias in values:
            value = values.pop(alias)
        elif name in values and not name.startswith("_"):
            value = values.pop(name)
        else:
            value = _default(default)
            if value is _NOTHING and name.startswith("_"):
                continue
            if value is _NOTHING:
                raise TypeError(
                    f"{type(made).__name__} needs a value for {alias or name!r}: pass "
                    f"{alias or name}=... or give the field a default in the class."
                )
        setattr(made, name, value)
    if fields.extra == "allow":
        made.__dict__.update(values)
    elif values and fields.extra != "ignore":
        name = next(iter(values))
        known = [field for field in fields.defaults if not field.startswith("_")]
        raise TypeError(f"{type(made).__name__} has no field {name!r}. {nearest(name, known)}")


_Setter = TypeVar("_Setter", bound=Callable[..., None])
_PLAIN: set[Any] = {object.__setattr__}


def sets_plainly(setter: _Setter) -> _Setter:
    """Mark a `__setattr__` that does no more, while an object is made, than set the attribute."""
    _PLAIN.add(setter)
    return setter


def _known(kind: type) -> _Fields:
    known = kind.__dict__.get("_known_fields")
    if known is None or not known.hold(kind):
        known = _Fields(kind)
        type.__setattr__(kind, "_known_fields", known)  # it goes when the class goes
    return known


def _lacks(default: Any) -> bool:
    """Whether it is no default: a value has to be given."""
    if not hasattr(default, "get_default"):
        return default is _NOTHING
    required = getattr(default, "is_required", None)
    return required is not None and required()


def _is_unset(value: Any) -> bool:
    """Whether it is pydantic's `PrivateAttr()`."""
    if type(value).__name__ != "ModelPrivateAttr" or value.default_factory is not None:
        return False
    return type(value.default).__name__ == "PydanticUndefinedType"


def _is_made(default: Any) -> bool:
    """Whether each instance has its own: pydantic's Field and PrivateAttr, or a container."""
    return hasattr(default, "get_default") or isinstance(default, (list, dict, set))


def _maker(default: Any) -> Callable[[], Any]:
    """What makes such a default for one instance."""
    if type(default) in (list, dict, set):
        return default.copy
    if not hasattr(default, "get_default"):
        return partial(copy, default)
    factory = default.default_factory
    return factory if factory is not None else partial(copy, default.default)


def _fixed(default: Any) -> Any:
    """A default as the declaration has it; nothing is made."""
    return default.get_default() if hasattr(default, "get_default") else default


def _default(default: Any) -> Any:
    """A default for one instance: made anew where instances could share it."""
    if _lacks(default):
        return _NOTHING
    return _maker(default)() if _is_made(default) else default


def _decorated(kind: type, *infos: str) -> dict[str, Any]:
    """What a class and its bases declare with those of pydantic's decorators, by name."""
    return {
        name: value
        for base in reversed(kind.__mro__)
        for name, value in vars(base).items()
        if type(value).__name__ == "PydanticDescriptorProxy"
        and type(value.decorator_info).__name__ in infos
    }


class _Checks:
    """The validators of the whole that a class declares with pydantic's decorators."""

    def __init__(self, kind: type, proxies: list[Any]) -> None:
        self.kind = kind
        self.proxies = proxies
        for info in (proxy.decorator_info for proxy in proxies):
            if getattr(info, "mode", None) not in ("before", "after"):
                raise TypeError(
                    f"{kind.__name__}: only validators of the whole with mode 'before' or 'after' "
                    "are understood."
                )

    def before(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values as the validators leave them that come before construction."""
        for proxy in self._of("before"):
            values = self._call(values, proxy.wrapped.__get__(None, self.kind), values)
        return values

    def after(self, made: Any) -> None:
        """Let the validators check what was made."""
        for proxy in self._of("after"):
            self._call(made.__dict__, proxy.wrapped, made)

    def _of(self, mode: str) -> list[Any]:
        return [proxy for proxy in self.proxies if proxy.decorator_info.mode == mode]

    def _call(self, values: dict[str, Any], validator: Callable[[Any], Any], value: Any) -> Any:
        try:
            return validator(value)
        except (ValueError, AssertionError) as error:
            raise refusal(self.kind, values, error) from error
