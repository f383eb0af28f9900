"""Whether something is a pydantic model, and what pydantic there is; it is loaded only where that
is asked, or if the program has loaded it."""

import sys
from collections.abc import Callable
from typing import Any


def is_basemodel_subclass(cls: type[Any]) -> bool:
    """Whether it is a class of pydantic models.

    >>> is_basemodel_subclass(int)
    False
    """
    return isinstance(cls, type) and issubclass(cls, _bases())  # pyright: ignore[reportUnnecessaryIsInstance]


def is_basemodel_instance(obj: Any) -> bool:
    """Whether it is an object of a pydantic model."""
    return isinstance(obj, _bases())


def _bases() -> tuple[Any, ...]:
    """The bases of models: pydantic's, and that of its first version."""
    modules = (sys.modules.get(name) for name in ("pydantic", "pydantic.v1"))
    return tuple(module.BaseModel for module in modules if module is not None)


def get_pydantic_field_names(pydantic_cls: Any) -> set[str]:
    """The names of a model's fields, and their aliases.

    >>> from pydantic import BaseModel, Field
    >>> class Page(BaseModel):
    ...     size: int = Field(alias="pageSize")
    >>> sorted(get_pydantic_field_names(Page))
    ['pageSize', 'size']
    """
    is_first = not hasattr(pydantic_cls, "model_fields")  # of pydantic's first version
    fields: dict[str, Any] = pydantic_cls.__fields__ if is_first else pydantic_cls.model_fields
    return {*fields, *(info.alias for info in fields.values() if info.alias)}


def pre_init(func: Callable[[Any, dict[str, Any]], Any]) -> Any:
    """Have a function of a model's class see what the model is made of, defaults included.

    >>> from pydantic import BaseModel
    >>> class Page(BaseModel):
    ...     size: int = 10
    ...     title: str = ""
    ...     @pre_init
    ...     def name_it(cls, values):
    ...         return {**values, "title": f"{values['size']} lines"}
    >>> Page().title
    '10 lines'
    """
    from pydantic import model_validator  # only models are checked

    def before(cls: Any, given: dict[str, Any]) -> Any:
        values = dict(given)
        by_name = cls.model_config.get("populate_by_name", False)
        for name, info in cls.model_fields.items():
            if name in values:
                continue
            if info.alias in values:
                if by_name:  # the function may ask for it by its name
                    values[name] = values.pop(info.alias)
            elif not info.is_required():
                values[name] = info.get_default(call_default_factory=True)
        return func(cls, values)

    as_method: Any = classmethod(before)
    return model_validator(mode="before")(as_method)


def __getattr__(name: str) -> Any:
    if name not in ("PydanticBaseModel", "TypeBaseModel"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pydantic import BaseModel  # only who asks for these

    return BaseModel if name == "PydanticBaseModel" else type[BaseModel]


__all__ = ["get_pydantic_field_names", "is_basemodel_instance", "is_basemodel_subclass", "pre_init"]
