"""`RunnableCallable`: a function as a node's code, where older LangGraph packages import it
(`langgraph.utils.runnable`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from typing import Any, cast

from plait.callbacks.context import var_child_runnable_config
from plait.errors import ConfigError
from plait.runnables.base import Runnable
from plait.runnables.calling import accepts
from plait.runnables.config import RunnableConfig, ensure_config, merge_configs
from plait.runnables.contexts import await_under
from plait.runnables.likes import RunnableLike
from plait.runnables.runs import acall_as_run, call_as_run
from plait.scope import PROVIDED, current_scope


class RunnableCallable(Runnable[Any, Any]):
    """A function as a runnable, that gets what the graph around it provides, and need not be told
    of. In programs of today a function is a node as it is, and a chain by `RunnableLambda`.

    Args:
        func: sync; None: it has only an async form.
        afunc: its async form; without one, async calls run `func` where they are.
        name: what it is called; by default what the function is.
        tags: tags of its runs.
        trace: whether handlers are told of its runs.
        recurse: whether a runnable that it returns is invoked with the same input.
        explode_args: whether its input is its arguments: `(args, kwargs)`.
        kwargs: arguments of each call, where the call names no others.

    Raises:
        ValueError: neither `func` nor `afunc`.
        TypeError: `func` is no function.

    >>> RunnableCallable(lambda number, *, times: number * times, times=3).invoke(2)
    6
    """

    def __init__(
        self,
        func: Callable[..., Any] | None,
        afunc: Callable[..., Awaitable[Any]] | None = None,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        trace: bool = True,
        recurse: bool = True,
        explode_args: bool = False,
        **kwargs: Any,
    ) -> None:
        if func is None and afunc is None:
            raise ValueError("At least one of func or afunc must be provided.")
        if func is not None and not callable(func):
            raise TypeError(f"{func!r} is not a callable object: func is a function, or None.")
        its_name = getattr(func or afunc, "__name__", None)
        self.name = name or (None if its_name == "<lambda>" else its_name)
        self.func = func
        self.afunc = afunc
        self.tags = tags
        self.kwargs = kwargs
        self.trace = trace
        self.recurse = recurse
        self.explode_args = explode_args
        self._provided = [key for key in PROVIDED if accepts(func or afunc, key)]

    def __repr__(self) -> str:
        shown = {"tags": self.tags, "recurse": self.recurse, "explode_args": self.explode_args}
        inner = ", ".join(f"{key}={value!r}" for key, value in shown.items())
        return f"{self.get_name()}({inner})"

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            TypeError: it has only an async form.
            ConfigError: it asks for what only a running graph provides, and none runs here.
        """
        func = self.func
        if func is None:
            raise TypeError(
                f'No synchronous function provided to "{self.get_name()}". Give it one as func, or '
                "use ainvoke or astream."
            )

        def work(config: RunnableConfig, run: Any) -> Any:
            args, named = self._arguments(input, config, kwargs)
            context = copy_context()
            context.run(var_child_runnable_config.set, config)
            output = context.run(func, *args, **named)
            if self.recurse and isinstance(output, Runnable):
                its_call: Any = cast("Any", output).invoke
                return context.run(its_call, input, config)
            return output

        config = self._own(config)
        if not self.trace:
            return work(config, None)
        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Await the async form; without one, `invoke`."""
        afunc = self.afunc
        if afunc is None:
            return self.invoke(input, config, **kwargs)

        async def work(config: RunnableConfig, run: Any) -> Any:
            args, named = self._arguments(input, config, kwargs)
            output = await await_under(config, afunc(*args, **named))
            if self.recurse and isinstance(output, Runnable):
                its_call: Any = cast("Any", output).ainvoke
                return await await_under(config, its_call(input, config))
            return output

        config = self._own(config)
        if not self.trace:
            return await work(config, None)
        return await acall_as_run(work, self.get_name(), input, config)

    def _own(self, config: RunnableConfig | None) -> RunnableConfig:
        """The config of one of its runs: with its tags."""
        whole = ensure_config(config)
        return merge_configs(whole, {"tags": list(self.tags)}) if self.tags else whole

    def _arguments(
        self, input: Any, config: RunnableConfig, kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        args: Sequence[Any] = (input,)
        named = {**self.kwargs, **kwargs}
        if self.explode_args:
            args, exploded = input
            named = {**self.kwargs, **exploded, **kwargs}
        for key in self._provided:
            if key not in named:
                named[key] = config if key == "config" else self._from_graph(key)
        return args, named

    def _from_graph(self, key: str) -> Any:
        scope = current_scope.get()
        if scope is not None:
            return PROVIDED[key](scope)
        if key == "writer":
            return _nowhere
        raise ConfigError(
            f"{self.get_name()} has a parameter {key!r}, which only a running graph provides: it "
            f"was called outside of one. Call it in a node, or pass {key}=... with the call."
        )


def _nowhere(chunk: Any) -> None:
    """What is written where no graph runs."""


__all__ = ["RunnableCallable", "RunnableLike"]
