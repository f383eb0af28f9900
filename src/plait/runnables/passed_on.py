"""The config of methods of a runnable that are called through what is wrapped around it.

A method takes a config if it has a parameter `config`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import FunctionType, MethodType
from typing import Any, cast

from plait.runnables.calling import accepts, code_of
from plait.runnables.config import RunnableConfig

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def is_method(value: Any) -> bool:
    """Whether it is a method: a field that holds a function or a class is handed out as it is."""
    return isinstance(_itself(value), MethodType)


def _itself(method: Any) -> Any:
    """A method without what was put around it here: one thing may be wrapped in another."""
    while isinstance(method, FunctionType) and hasattr(method, "__wrapped__"):
        method = cast("Any", method).__wrapped__
    return method


def given_config(
    method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> RunnableConfig | None:
    """The config among the arguments of a call; None if there is none."""
    place = _place(method)
    given = kwargs.get("config")
    if given is None and place is not None and place < len(args):
        given = args[place]
    return cast("RunnableConfig", given) if isinstance(given, Mapping) else None


def with_config_argument(
    method: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    config: RunnableConfig,
) -> Arguments:
    """The arguments of a call with this config in the place of the one that was given."""
    place = _place(method)
    if place is not None and place < len(args):
        return (*args[:place], config, *args[place + 1 :]), dict(kwargs)
    return tuple(args), {**kwargs, "config": config}


def under_config(
    method: Callable[..., Any], united: Callable[[RunnableConfig | None], RunnableConfig]
) -> Callable[..., Any]:
    """A method that takes a config, given what `united` makes of the one of each call.

    >>> class Greeter:
    ...     def greet(self, config=None):
    ...         return config
    >>> under_config(Greeter().greet, lambda config: {"tags": ["t"], **(config or {})})()
    {'tags': ['t']}
    """
    if not accepts(method, "config"):
        return method

    @wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        config = united(given_config(method, args, kwargs))
        args, kwargs = with_config_argument(method, args, kwargs, config)
        return method(*args, **kwargs)

    return called


def _place(method: Callable[..., Any]) -> int | None:
    """Where a method takes the config, if not by its name alone; `self` does not count."""
    code = code_of(_itself(method))
    names = code.co_varnames[1 : code.co_argcount] if code else ()
    return names.index("config") if "config" in names else None


__all__ = ["given_config", "is_method", "under_config", "with_config_argument"]
