"""`RunnableGenerator`: a function from an iterator of chunks to an iterator of chunks."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from plait.runnables.base import Input, Output
from plait.runnables.calling import arguments_asked_for, is_async_generator
from plait.runnables.config import RunnableConfig
from plait.runnables.stream_runs import atransform_as_run, transform_as_run
from plait.runnables.transforming import Transforming

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun


class RunnableGenerator(Transforming[Input, Output]):
    """A generator function that takes chunks as they come, and yields chunks: a custom parser.

    Args:
        transform: Takes an iterator. If async, it is `atransform`, and only async calls work.
        atransform: Its async form.
        name: The name that handlers see; by default the function's.

    Raises:
        TypeError: `transform` is no generator function.

    >>> def words(chunks):
    ...     for chunk in chunks:
    ...         yield from chunk.split()
    >>> list(RunnableGenerator(words).stream("a b"))
    ['a', 'b']
    """

    def __init__(
        self,
        transform: Callable[..., Any],
        atransform: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        if is_async_generator(transform):
            self._transform, self._atransform = None, transform
        elif callable(transform):
            self._transform, self._atransform = transform, atransform
        else:
            raise TypeError(
                f"Expected a generator function for `transform`, got {type(transform).__name__}."
            )
        self.name = name or getattr(transform, "__name__", None)

    def __repr__(self) -> str:
        return f"RunnableGenerator({self.name})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunnableGenerator):
            return False
        return self._functions() == cast("RunnableGenerator[Any, Any]", other)._functions()

    __hash__ = object.__hash__

    def _functions(self) -> tuple[Any, Any]:
        return self._transform, self._atransform

    @property
    def InputType(self) -> Any:
        """What the iterator that the function takes is annotated to give."""
        from plait.runnables.schemas import parameter_type, type_inside  # loads inspect

        return type_inside(parameter_type(self._transform or self._atransform))

    @property
    def OutputType(self) -> Any:
        """What the function is annotated to yield."""
        from plait.runnables.schemas import returned_type  # loads inspect

        return returned_type(self._transform or self._atransform)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """The sum of the chunks.

        Raises:
            TypeError: They do not add, as dicts do not.
        """
        total: Any = None
        for chunk in self.stream(input, config, **kwargs):
            total = self._added(total, chunk)
        return total

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """The async twin of `invoke`."""
        total: Any = None
        async for chunk in self.astream(input, config, **kwargs):
            total = self._added(total, chunk)
        return total

    def _added(self, total: Any, chunk: Any) -> Any:
        if total is None:
            return chunk
        try:
            return total + chunk
        except TypeError as error:
            raise TypeError(
                f"The chunks of {self.get_name()} do not add up to one output: after a "
                f"{type(total).__name__} came a {type(chunk).__name__}, and {error}. Yield chunks "
                "that add, such as texts, lists or AddableDict, or take them by `stream`."
            ) from error

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """What the function yields.

        Raises:
            NotImplementedError: The function is async: use `atransform` or `astream`.
        """
        func = self._transform
        if func is None:
            raise NotImplementedError(
                f"{self.get_name()} is an async generator function. Use `astream` or `ainvoke`."
            )

        def work(
            chunks: Iterator[Any], config: RunnableConfig, run: "CallbackManagerForChainRun | None"
        ) -> Iterator[Any]:
            return func(chunks, **arguments_asked_for(func, config, run, kwargs))

        return transform_as_run(work, self.get_name(), input, config)

    def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """What the async function yields.

        Raises:
            NotImplementedError: There is none.
        """
        func = self._atransform
        if func is None:
            raise NotImplementedError(
                f"{self.get_name()} is a sync generator function, which would block the event "
                "loop. Pass an async one as `atransform`."
            )

        def work(
            chunks: AsyncIterator[Any],
            config: RunnableConfig,
            run: "AsyncCallbackManagerForChainRun | None",
        ) -> AsyncIterator[Any]:
            return func(chunks, **arguments_asked_for(func, config, run, kwargs))

        return atransform_as_run(work, self.get_name(), input, config)
