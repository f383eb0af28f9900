"""The config that children of the running code inherit, and whether anybody listens to it.

Kept apart and free of imports: every run asks these two questions, most runs need nothing more.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from plait.common.forks import forget_in_child
from plait.scope import current_scope

Method = TypeVar("Method", bound=Callable[..., Any])

var_child_runnable_config: ContextVar[Mapping[str, Any] | None] = ContextVar(
    "child_runnable_config", default=None
)
"""The config of the code that runs now; what it invokes without a config inherits this one."""
forget_in_child(var_child_runnable_config)


block_handlers: ContextVar[tuple[Any, ...]] = ContextVar("plait_block_handlers", default=())
"""Handlers that hear all runs of a `with` block, whatever callbacks these are given."""

everywhere: list[Callable[[], Any]] = []
"""What gives a handler that hears every run of the program, or None where it has none just now."""

COPIED_TO_METADATA = ("model", "checkpoint_ns")
"""Entries of `configurable` that are metadata of the runs inside too."""


def inherited_config() -> Mapping[str, Any] | None:
    """The config of the run around the calling code; None outside any run.

    A task of a graph puts its config into the context only if somebody listens; else it is made
    when it is asked for here.
    """
    config = var_child_runnable_config.get()
    if config is None:
        scope = current_scope.get()
        if scope is not None:
            return scope.config()
        if everywhere and (handlers := _heard_everywhere()):
            return {"callbacks": handlers}
    return config


def _heard_everywhere() -> list[Any]:
    return [handler for ask in everywhere if (handler := ask()) is not None]


def finds_config(method: Method) -> Method:
    """Mark an `invoke` or `ainvoke` that finds the config of the code around it by itself.

    It may be handed None for that config, which is then made only if somebody asks for it. One
    that overrides the method is not marked, and is handed the config.
    """
    method.finds_config = True  # type: ignore[attr-defined]
    return method


def is_finding(method: Any) -> bool:
    """Whether a method bears the mark of `finds_config`."""
    return getattr(method, "finds_config", None) is True


def handed(config: Any, method: Any) -> Any:
    """What `method` is handed for a config that is the inherited one where it is None."""
    if config is None and not is_finding(method):
        return inherited_config()
    return config


def is_heard_here() -> bool:
    """Whether anybody is to be told of what the running code calls without a config."""
    if everywhere and _heard_everywhere():
        return True
    config = var_child_runnable_config.get()
    if config is None:
        scope = current_scope.get()
        if scope is not None:
            return not scope.is_untold() and has_listeners(scope.config())
        config = inherited_config()
    return has_listeners(config)


def unasked_handlers() -> Sequence[Any]:
    """Who hears runs besides the callbacks that these are given."""
    unasked = block_handlers.get()
    return (*_heard_everywhere(), *unasked) if everywhere else unasked


def has_listeners(config: Mapping[str, Any] | None) -> bool:
    """Whether a run under `config` has anybody to tell; if not, make no manager and no run id.

    Reads `config["callbacks"]`: None, a list of handlers, or a manager (ours or langchain_core's).

    >>> from plait.callbacks import BaseCallbackHandler
    >>> has_listeners({}), has_listeners({"callbacks": [BaseCallbackHandler()]})
    (False, True)
    """
    callbacks = config.get("callbacks") if config else None
    if not callbacks:
        return False
    if isinstance(callbacks, (list, tuple)):
        return True
    try:
        return bool(callbacks.handlers)
    except AttributeError:
        raise no_entry("callbacks", callbacks) from None


def can_hear(handler: Any) -> bool:
    """Whether this is a handler, or at least has a method like those of one.

    >>> can_hear(print), can_hear(type("Mine", (), {"on_tool_end": print}))
    (False, True)
    """
    return hasattr(handler, "ignore_chain") or any(name.startswith("on_") for name in dir(handler))


_FORMS = {
    "callbacks": "a list of handlers, such as [handler]",
    "configurable": 'a dict, such as {"thread_id": ...}',
    "metadata": 'a dict, such as {"user": ...}',
    "tags": 'a list of texts, such as ["nightly"]',
}


def no_entry(key: str, given: Any) -> Exception:
    """The error of an entry of a config that is of another type."""
    return _mistyped(f"{key} is {_FORMS[key]}; got {given!r}.")


def no_config(given: Any) -> Exception:
    """The error of what stands where a config belongs, and is none."""
    return _mistyped(
        f"A config is a dict, got {given!r}. To say which thread: "
        'config={"configurable": {"thread_id": ...}}.'
    )


def _mistyped(text: str) -> Exception:
    from plait.errors import ConfigTypeError  # rarely needed; this module loads nothing

    return ConfigTypeError(text)
