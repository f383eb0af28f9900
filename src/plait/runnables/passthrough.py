"""`RunnablePassthrough`: gives its input on, after letting a function see it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plait.runnables.base import Input, Runnable
from plait.runnables.config import RunnableConfig
from plait.runnables.functions import acall_function, call_function, is_async
from plait.runnables.runs import acall_as_run, call_as_run

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun


class RunnablePassthrough(Runnable[Input, Input]):
    """Gives its input on unchanged.

    Args:
        func: Called with the input, for its effect.
        afunc: Its async form.
        name: The name that handlers see.

    >>> RunnablePassthrough(print).invoke("hi")
    hi
    'hi'
    """

    def __init__(
        self,
        func: Callable[..., Any] | None = None,
        afunc: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name
        if func is not None and is_async(func):
            func, afunc = None, func
        self.func, self.afunc = func, afunc

    def __repr__(self) -> str:
        return "RunnablePassthrough()"

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Input:
        """The input."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Input:
            if self.func is not None:
                call_function(self.func, input, config, run, kwargs)
            return input

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Input:
        """The input."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Input:
            if self.func is not None or self.afunc is not None:
                await acall_function(self.func, self.afunc, input, config, run, kwargs)
            return input

        return await acall_as_run(work, self.get_name(), input, config)
