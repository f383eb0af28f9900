"""How user functions are looked at and called: the arguments they ask for, the config of children.

Functions are read by their code objects: `inspect` costs more to import than this package.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import copy_context
from functools import partial
from types import CodeType
from typing import Any, cast

from plait.callbacks.context import var_child_runnable_config
from plait.runnables.addable import add_all
from plait.runnables.config import RunnableConfig, patch_config, run_in_executor
from plait.runnables.contexts import Chunks, held_under

_VARPOSITIONAL, _VARKEYWORDS = 0x04, 0x08
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


def code_of(func: Any) -> CodeType | None:
    """The code that a call of `func` runs: of a function, method, partial or callable object."""
    while isinstance(func, partial):
        func = cast("partial[Any]", func).func
    func = getattr(func, "__func__", func)
    if not hasattr(func, "__code__"):
        func = cast("Any", type(func)).__call__
    return getattr(func, "__code__", None)


def is_async(func: Any) -> bool:
    """Whether a call of `func` gives a coroutine or an async generator."""
    code = code_of(func)
    return code is not None and bool(code.co_flags & (_COROUTINE | _ASYNC_GENERATOR))


def is_generator(func: Any) -> bool:
    """Whether a call of `func` gives a generator: a runnable streams what it yields."""
    code = code_of(func)
    return code is not None and bool(code.co_flags & _GENERATOR)


def is_async_generator(func: Any) -> bool:
    """Whether a call of `func` gives an async generator."""
    code = code_of(func)
    return code is not None and bool(code.co_flags & _ASYNC_GENERATOR)


def accepts(func: Any, name: str) -> bool:
    """Whether `func` names a parameter `name` (a decorator's `**kwargs` passes it on).

    >>> accepts(lambda x, config: x, "config"), accepts(lambda x, **kwargs: x, "config")
    (True, False)
    """
    code = code_of(func)
    if code and name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return True
    wrapped = getattr(func, "__wrapped__", None)
    passes_on = code is None or bool(code.co_flags & _VARKEYWORDS)
    return wrapped is not None and passes_on and accepts(wrapped, name)


def takes_nothing(func: Any) -> bool:
    """Whether `func` has no parameters.

    >>> takes_nothing(lambda: 1), takes_nothing(lambda *args: 1), takes_nothing(lambda x: x)
    (True, False, False)
    """
    code = code_of(func)
    if code is None or isinstance(func, partial):  # what it fills in is not known here
        return False
    stars = bool(code.co_flags & (_VARPOSITIONAL | _VARKEYWORDS))
    return not stars and code.co_argcount + code.co_kwonlyargcount == _own_arguments(func)


def takes_keyword(func: Any, name: str) -> bool:
    """Whether a call of `func` may give it an argument by this name, as far as one can tell."""
    code = code_of(func)
    return code is None or bool(code.co_flags & _VARKEYWORDS) or accepts(func, name)


def _own_arguments(func: Any) -> int:
    """How many arguments Python itself fills in: the `self` of a method or a callable object."""
    is_function = hasattr(func, "__code__") and not hasattr(func, "__self__")
    return 0 if is_function else 1


def call_function(
    func: Callable[..., Any],
    input: Any,
    config: RunnableConfig,
    run: Any,
    kwargs: Mapping[str, Any],
) -> Any:
    """Call a user's function in a context of its own, with `config` as what children inherit.

    It also gets the arguments it asks for by name. Of a generator function
    the `Chunks` come back.
    """
    context = copy_context()
    context.run(var_child_runnable_config.set, config)
    output = context.run(func, input, **arguments_asked_for(func, config, run, kwargs))
    if is_generator(func):
        return Chunks(output, context)
    return output


async def acall_function(
    func: Callable[..., Any] | None,
    afunc: Callable[..., Any] | None,
    input: Any,
    config: RunnableConfig,
    run: Any,
    kwargs: Mapping[str, Any],
) -> Any:
    """The async twin: awaits `afunc`, else calls `func` on a thread and adds up its chunks."""
    if afunc is None:
        assert func is not None
        sync_run = None if run is None else run.get_sync()

        def call() -> Any:
            output = call_function(func, input, config, sync_run, kwargs)
            return add_all(output) if isinstance(output, Chunks) else output

        return await run_in_executor(config, call)
    output = afunc(input, **arguments_asked_for(afunc, config, run, kwargs))
    if isinstance(output, AsyncIterator):
        return held_under(cast("AsyncIterator[Any]", output), config)
    token = var_child_runnable_config.set(config)
    try:
        return await output
    finally:
        var_child_runnable_config.reset(token)


def arguments_asked_for(
    func: Any, config: RunnableConfig, run: Any, kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The keyword arguments of a call: the caller's, and what the function asks for by name."""
    out = dict(kwargs)
    if accepts(func, "config"):
        out["config"] = patch_config(config)  # its own: it may change it
    if accepts(func, "run_manager"):
        out["run_manager"] = _unheard(func) if run is None else run
    return out


def _unheard(func: Any) -> Any:
    from plait.callbacks import manager  # loads asyncio; rarely needed

    if is_async(func):
        return manager.AsyncCallbackManagerForChainRun.get_noop_manager()
    return manager.CallbackManagerForChainRun.get_noop_manager()
