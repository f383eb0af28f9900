"""`RunnableWithFallbacks`: other runnables in the place of one that fails."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from plait.common.closing import aclose
from plait.errors import InvalidValueError, bubbles_up
from plait.objects.model_face import ComparedFields
from plait.runnables.base import Input, Output, Runnable, coerce_to_runnable
from plait.runnables.config import RunnableConfig
from plait.runnables.runs import acall_as_run, acall_child, call_as_run, call_child, child_config
from plait.runnables.stream_runs import astream_as_run, stream_as_run

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.runnables.fields import ConfigurableFieldSpec


_NOTHING: Any = object()
"""What a stream without chunks begins with."""


class RunnableWithFallbacks(ComparedFields, Runnable[Input, Output]):
    """A runnable, and others that are tried in order when it fails.

    A stream that fails after its first chunk is not saved: the chunk has been seen. One that ends
    without a chunk counts as failed, unless only some errors are handled.

    Args:
        runnable: The first to try.
        fallbacks: The next ones.
        exceptions_to_handle: The errors after which the next one is tried.
        exception_key: The key of the input (a dict) under which the next one gets the error.
        name: The name that handlers see.

    >>> from plait.runnables import RunnableLambda
    >>> number = RunnableLambda(int).with_fallbacks([RunnableLambda(len)])
    >>> number.invoke("7"), number.invoke("seven")
    (7, 5)
    """

    __plait_fields__ = ("name", "runnable", "fallbacks", "exceptions_to_handle", "exception_key")

    def __init__(
        self,
        runnable: Any,
        fallbacks: Sequence[Any],
        *,
        exceptions_to_handle: tuple[type[BaseException], ...] = (Exception,),
        exception_key: str | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(cast("Any", fallbacks), Sequence):
            raise InvalidValueError(
                f"fallbacks={fallbacks!r:.200}: a list of what is tried when the first fails."
            )
        self.runnable: Runnable[Input, Output] = coerce_to_runnable(runnable)
        self.fallbacks: list[Runnable[Input, Output]] = [coerce_to_runnable(f) for f in fallbacks]
        self.exceptions_to_handle = exceptions_to_handle
        self.exception_key = exception_key
        self.name = name

    def __getattr__(self, name: str) -> Any:
        # Methods that give another runnable (`model.bind_tools(...)`) do so for each of them.
        if name.startswith("_") or name in ("runnable", "fallbacks"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self.runnable, name)
        if not callable(value):
            return value

        def for_each(*args: Any, **kwargs: Any) -> Any:
            changed = value(*args, **kwargs)
            if not isinstance(changed, Runnable):
                return changed
            others = [getattr(each, name)(*args, **kwargs) for each in self.fallbacks]
            return RunnableWithFallbacks(
                cast("Runnable[Any, Any]", changed),
                others,
                exceptions_to_handle=self.exceptions_to_handle,
                exception_key=self.exception_key,
                name=self.name,
            )

        return for_each

    @property
    def runnables(self) -> Iterator[Runnable[Input, Output]]:
        """All of them, in the order of trying."""
        yield self.runnable
        yield from self.fallbacks

    @property
    def InputType(self) -> Any:
        """That of the first."""
        return self.runnable.InputType

    @property
    def OutputType(self) -> Any:
        """That of the first."""
        return self.runnable.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """That of the first."""
        return self.runnable.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> "type[BaseModel]":
        """That of the first."""
        return self.runnable.get_output_schema(config)

    @property
    def config_specs(self) -> "list[ConfigurableFieldSpec]":
        """What can be configured in them."""
        from plait.runnables.fields import specs_of  # few programs configure

        return specs_of(self.runnables)

    # --- calls -----------------------------------------------------------------------------------

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Invoke one after the other, until one succeeds.

        Raises:
            BaseException: The first error, if all fail; at once, one that is not to be handled.
            ValueError: There is an exception key, but the input is no dict.
        """
        attempts = self._attempts(input)

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Any:
            for each, given in attempts:
                with attempts:
                    return call_child(each, given(), config, run, None, kwargs)
            raise attempts.first_error()

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke one after the other, until one succeeds. Raises as `invoke` does."""
        attempts = self._attempts(input)

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Any:
            for each, given in attempts:
                with attempts:
                    return await acall_child(each, given(), config, run, None, kwargs)
            raise attempts.first_error()

        return await acall_as_run(work, self.get_name(), input, config)

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Stream the first one that gives a chunk. Raises as `invoke` does, if one raised."""
        attempts = self._attempts(input)

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Iterator[Any]:
            for each, given in attempts:
                with attempts:
                    chunks = each.stream(given(), child_config(config, run, None), **kwargs)
                    begun = list(islice(chunks, 1))
                    if begun or not attempts.skips_empty:
                        break
            else:
                attempts.raise_any()
                return
            yield from begun
            yield from chunks

        return stream_as_run(work, self.get_name(), input, config)

    def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Stream the first one that gives a chunk. Raises as `invoke` does, if one raised."""
        attempts = self._attempts(input)

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> AsyncIterator[Any]:
            for each, given in attempts:
                with attempts:
                    chunks = each.astream(given(), child_config(config, run, None), **kwargs)
                    first = await anext(chunks, _NOTHING)
                    if first is not _NOTHING or not attempts.skips_empty:
                        break
            else:
                attempts.raise_any()
                return
            try:
                if first is not _NOTHING:
                    yield first
                async for chunk in chunks:
                    yield chunk
            finally:
                await aclose(chunks)

        return astream_as_run(work, self.get_name(), input, config)

    def _attempts(self, input: Any) -> "_Attempts":
        if self.exception_key is not None and not isinstance(input, dict):
            raise ValueError(
                "If 'exception_key' is specified then input must be a dictionary. "
                f"However found a type of {type(input)} for input"
            )
        return _Attempts(self, cast("Mapping[str, Any]", input))


class _Attempts:
    """The runnables to try; as a context manager it keeps errors that let the next one try."""

    def __init__(self, of: RunnableWithFallbacks[Any, Any], input: Any) -> None:
        self._of = of
        self._input = input
        self._errors: list[BaseException] = []

    def __iter__(self) -> Iterator[tuple[Runnable[Any, Any], Callable[[], Any]]]:
        for each in self._of.runnables:
            yield each, self._given

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> bool:
        if error is None or bubbles_up(error):
            return False  # a question, or a command for the graph around, is no failure
        if not isinstance(error, self._of.exceptions_to_handle):
            return False
        self._errors.append(error)
        return True

    def _given(self) -> Any:
        key = self._of.exception_key
        if key is None:
            return self._input
        return {**self._input, key: self._errors[-1]} if self._errors else self._input

    @property
    def skips_empty(self) -> bool:
        """Whether a stream without a chunk counts as one that failed: where any error does.

        A parser that finds nothing in a stream tells so by giving nothing; whole, it raises.
        """
        return issubclass(StopIteration, self._of.exceptions_to_handle)

    def first_error(self) -> BaseException:
        """What the first of them raised."""
        return self._errors[0]

    def raise_any(self) -> None:
        """Raise `first_error`, if one of them raised."""
        if self._errors:
            raise self.first_error()
