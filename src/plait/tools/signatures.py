"""The parameters of tool functions: what the model supplies, and what the program injects."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin

from plait.common.reflection import known_annotations, resolved_annotations, signature
from plait.tools.injected import is_call_id, is_injected

FILTERED_ARGS = ("run_manager", "callbacks")
"""Parameters that never come from a model."""

MISSING: Any = inspect.Parameter.empty


class Parameter(NamedTuple):
    """One parameter of a function."""

    name: str
    annotation: Any
    """`MISSING` where there is none."""
    default: Any
    """`MISSING` where there is none."""
    spread: str
    """ "*" of `*args`, "**" of `**kwargs`, else ""."""

    @property
    def is_config(self) -> bool:
        """Whether it takes the config of the call."""
        kinds = (self.annotation, *get_args(self.annotation))
        return any(getattr(kind, "__name__", "") == "RunnableConfig" for kind in kinds)

    @property
    def is_runtime(self) -> bool:
        """Whether it takes the `Runtime` of the graph around."""
        kind = get_origin(self.annotation) or self.annotation
        return (
            isinstance(kind, type) and kind.__name__ == "Runtime" and "runtime" in kind.__module__
        )

    @property
    def is_injected(self) -> bool:
        """Whether the program fills it, by an annotation."""
        return is_injected(self.annotation)

    @property
    def is_call_id(self) -> bool:
        """Whether it gets the id of the tool call."""
        return is_call_id(self.annotation)

    @property
    def is_plain(self) -> bool:
        """Whether it is no wiring of plait's (injected ones are plain: callers fill them)."""
        return not (self.name in FILTERED_ARGS or self.is_config or self.is_runtime)


_SPREADS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def parameters(func: Callable[..., Any], *, lenient: bool = False) -> list[Parameter]:
    """The parameters of a function, with their annotations resolved.

    Args:
        lenient: Leave an annotation that names something that does not exist as it is written.

    Raises:
        AnnotationError: An annotation names something that does not exist.
        TypeError: `func` has no signature.
    """
    hints = _hints(func, known_annotations if lenient else resolved_annotations)
    return [
        Parameter(name, hints.get(name, MISSING), its.default, _SPREADS.get(its.kind, ""))
        for name, its in signature(func).parameters.items()
    ]


def written(func: Any) -> Any:
    """The function that somebody has named and documented: of a partial, what it calls."""
    while isinstance(func, partial):
        func = cast("partial[Any]", func).func
    return func


def _hints(func: Any, resolve: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    func = written(func)
    if isinstance(func, type):
        return _hints_of_class(func)
    if not hasattr(func, "__code__") and not inspect.ismethod(func):
        own = getattr(func, "__signature__", None)
        if isinstance(own, inspect.Signature):  # an object that says what it takes
            return {
                name: its.annotation
                for name, its in own.parameters.items()
                if its.annotation is not MISSING
            }
        wrapped = getattr(func, "__wrapped__", None)  # the signature is told of that
        func = cast("Any", type(func)).__call__ if wrapped is None else written(wrapped)
    return resolve(func)


def _hints_of_class(kind: type) -> dict[str, Any]:
    """The types of what a class is made from: of its fields, or of its constructor's parameters."""
    own: Any = kind.__init__
    if hasattr(kind, "__pydantic_fields__") or not hasattr(own, "__code__"):
        return resolved_annotations(kind)
    return resolved_annotations(own)


def string_mark(annotation: Any) -> str | None:
    """The description in `Annotated[int, "how many"]`, if there is one."""
    if get_origin(annotation) is not Annotated:
        return None
    return next((mark for mark in get_args(annotation)[1:] if isinstance(mark, str)), None)
