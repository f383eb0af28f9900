"""How a function of the user's gets its arguments: looked at once, when the graph is built.

The first positional parameter takes the state, whatever it is called. Others are found by name or
annotation: `config`, `runtime`, `writer`, `store`, `previous`. A first parameter `context` (without
an annotation, or annotated as RunContext) takes all of state, runtime and config; with `**state`
the state comes unpacked as well. `**kwargs` takes the extra keywords of the call.

A task's function takes what its caller gives it, and by name what its run provides.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, cast, get_origin

from plait.common.reflection import is_routine, signature
from plait.errors import InvalidNodeError, NodeError
from plait.scope import PROVIDED, Getter, Scope, current_scope
from plait.types import RunContext, StreamWriter

_BY_TYPE = {
    "RunnableConfig": "config",
    "Runtime": "runtime",
    "StreamWriter": "writer",
    "BaseStore": "store",
}


class Binding:
    """A function and how to call it with (state, scope)."""

    __slots__ = (
        "call",
        "first",
        "function",
        "is_async",
        "is_bare",
        "is_generator",
        "name",
        "takes_extras",
        "takes_state",
    )

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name
        plain = _unwrapped(function)
        self.is_async = inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain)
        self.is_generator = inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain)
        found = parameters(function)
        self.first = found[0].name if found else ""
        """The name of its first parameter, if it has one that Python tells of."""
        self.takes_extras = _takes_extras(found)
        call, self.takes_state = _caller(function, found, name)
        self.is_bare = call is None and not self.is_generator
        """Whether its result is that of `function(state)`, without anything else."""
        self.call: Callable[[Any, Scope], Any] = call or (lambda state, scope: function(state))


def _unwrapped(function: Any) -> Any:
    """The function behind partials and callable objects, to see whether it is async."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    if is_routine(function) or inspect.isclass(function):
        return function
    return getattr(cast("type[Any]", type(function)), "__call__", function)  # noqa: B004


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters of a callable, or None when Python does not tell (some builtins)."""
    try:
        return list(signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _caller(
    function: Callable[..., Any], found: list[inspect.Parameter] | None, name: str
) -> tuple[Callable[[Any, Scope], Any] | None, bool]:
    """A function of (state, scope) that calls `function` (None: with the state alone); whether it
    takes the state."""
    if found is None:
        return None, True
    positional = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_rest = any(p.kind is p.VAR_POSITIONAL for p in found)
    unpacks = next((p for p in found if p.kind is p.VAR_KEYWORD), None)
    first = positional[0] if positional else None
    if first is not None and (first.name in PROVIDED or _is_failure(first)) and _special(first):
        first = None  # node(config), node(runtime): no state wanted
    if first is not None and _is_context(first):
        return _with_context(function, found[1:], unpacks, name), True
    injected = _injected(function, [p for p in found if p is not first], name)
    if first is None and not takes_rest:
        return (
            lambda state, scope: function(**{key: get(scope) for key, get in injected.items()})
        ), False
    if unpacks is not None:

        def call_with_extras(state: Any, scope: Scope) -> Any:
            extra = scope.extras()
            return function(state, **{**extra, **{k: get(scope) for k, get in injected.items()}})

        return call_with_extras, True
    if not injected:
        return None, True
    if len(injected) == 1:
        ((key, get),) = injected.items()
        return (lambda state, scope: function(state, **{key: get(scope)})), True
    return (
        lambda state, scope: function(state, **{key: get(scope) for key, get in injected.items()})
    ), True


def _takes_extras(found: list[inspect.Parameter] | None) -> bool:
    """Whether the extra keywords of the call go to it: it has `**kwargs`, and no run context."""
    if not found or found[-1].kind is not inspect.Parameter.VAR_KEYWORD:
        return False
    return not _is_context(found[0])


def _is_context(first: inspect.Parameter) -> bool:
    annotation = first.annotation
    if isinstance(annotation, str):
        return annotation.split("[")[0].endswith("RunContext")
    if annotation is RunContext or get_origin(annotation) is RunContext:
        return True
    return first.name == "context" and annotation is inspect.Parameter.empty


def _with_context(
    function: Callable[..., Any],
    rest: list[inspect.Parameter],
    unpacks: inspect.Parameter | None,
    name: str,
) -> Callable[[Any, Scope], Any]:
    injected = _injected(function, rest, name)

    def call(state: Any, scope: Scope) -> Any:
        context: RunContext[Any] = RunContext(state, scope.runtime(), scope.config())
        given = {key: get(scope) for key, get in injected.items()}
        if unpacks is not None:
            keys = cast("dict[str, Any]", state if isinstance(state, dict) else vars(state))
            given = {**keys, **given}
        return function(context, **given)

    return call


def _special(parameter: inspect.Parameter) -> Getter | None:
    """What fills this parameter besides the state: by annotation, else by name."""
    annotation = parameter.annotation
    if annotation is not inspect.Parameter.empty:
        if _is_failure(parameter):
            return _failure
        text = annotation if isinstance(annotation, str) else _type_name(annotation)
        for type_name, key in _BY_TYPE.items():
            if _names(text, type_name):
                return PROVIDED[key]
        if parameter.name == "previous" or (parameter.name == "store" and "Store" in text):
            return PROVIDED[parameter.name]  # a store may be annotated by its own class
        return PROVIDED.get(parameter.name) if "Any" in text else None
    return PROVIDED.get(parameter.name)


def _given(parameter: inspect.Parameter) -> Getter | None:
    """What fills a parameter beside the state; a runtime by its name, whatever the annotation."""
    return _special(parameter) or (PROVIDED["runtime"] if parameter.name == "runtime" else None)


def _is_failure(parameter: inspect.Parameter) -> bool:
    """Whether an error handler is told here what it handles."""
    annotation = parameter.annotation
    return annotation is NodeError or (
        isinstance(annotation, str) and _names(annotation, "NodeError")
    )


def _failure(scope: Scope) -> NodeError:
    return scope.failure()


def _type_name(annotation: Any) -> str:
    if annotation == StreamWriter:
        return "StreamWriter"
    name = getattr(annotation, "__name__", None)
    if name is not None and get_origin(annotation) is None:
        return str(name)
    origin = get_origin(annotation)
    if origin is not None and hasattr(origin, "__name__"):
        inner = " ".join(_type_name(arg) for arg in getattr(annotation, "__args__", ()))
        return f"{origin.__name__}[{inner}]"
    return str(annotation)


def _names(text: str, type_name: str) -> bool:
    """Whether an annotation's text is `type_name`, qualified, generic, optional or not.

    >>> _names("RunnableConfig | None", "RunnableConfig"), _names("MyRuntime", "Runtime")
    (True, False)
    """
    for char in "[]|,":
        text = text.replace(char, " ")
    words = [word.rsplit(".", 1)[-1] for word in text.split()]
    if not words:
        return False
    optional = words[0] in ("Optional", "Union", "UnionType")
    return words[0] == type_name or (optional and type_name in words)


def _injected(
    function: Callable[..., Any], rest: list[inspect.Parameter], name: str
) -> dict[str, Getter]:
    getters: dict[str, Getter] = {}
    for parameter in rest:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        getter = _given(parameter)
        if getter is not None and parameter.kind is not parameter.POSITIONAL_ONLY:
            getters[parameter.name] = getter
        elif parameter.default is parameter.empty:
            raise InvalidNodeError(
                f"Nothing can fill parameter {parameter.name!r} of {name!r} "
                f"({getattr(function, '__qualname__', function)!s}). A node takes the state first "
                f"and then any of: {', '.join(PROVIDED)}; an error handler also what is annotated "
                "as NodeError. Give others a default or bind them with functools.partial."
            )
    return getters


def provided(function: Callable[..., Any]) -> Callable[..., Any]:
    """A task's function whose run gives it what its caller leaves out: `config`, `runtime`,
    `writer`, `store`, `previous`, by name, unless an annotation says something else (of a runtime,
    none does).

    Returns:
        `function` itself, if it asks for none of them.
    """
    found = parameters(function) or []
    positional = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    getters = {
        p.name: get
        for p in found
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and p.name in PROVIDED
        and (get := _given(p))
    }
    if not getters:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        scope = cast("Scope", current_scope.get())
        missing = getters.keys() - kwargs.keys() - set(positional[: len(args)])
        return function(*args, **kwargs, **{name: getters[name](scope) for name in missing})

    return call


def merged(chunks: Any) -> Any:
    """What a generator node amounts to: its chunks added up, dicts merged.

    >>> merged(iter(["a", "b"])), merged(iter([{"a": 1}, {"b": 2}]))
    ('ab', {'a': 1, 'b': 2})
    """
    result: Any = None
    for chunk in chunks:
        result = merge(result, chunk)
    return result


def merge(result: Any, chunk: Any) -> Any:
    """What was merged so far and one more chunk of a generator node."""
    if result is None:
        return chunk
    if isinstance(result, dict) and isinstance(chunk, dict):
        return {**cast("dict[Any, Any]", result), **cast("dict[Any, Any]", chunk)}
    try:
        return result + chunk
    except TypeError:
        return chunk
