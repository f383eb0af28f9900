"""`Runnable`: anything that takes an input and a config and gives an output, and how two compose.

A subclass defines `invoke`; the rest follows, and each can be overridden. Importing this module
loads no asyncio and no threads: those who need them load them.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from plait.runnables.config import (
    RunnableConfig,
    get_config_list,
    merge_configs,
    run_in_executor,
)
from plait.runnables.runs import (
    acall_as_run,
    astream_as_run,
    call_as_run,
    child_config,
    stream_as_run,
)

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
    from plait.drawing import Graph
    from plait.runnables.event_stream import StreamEvent

Input = TypeVar("Input")
Output = TypeVar("Output")
Other = TypeVar("Other")


class Runnable(Generic[Input, Output]):
    """Base of everything that can be invoked, streamed, batched and composed with `|`.

    >>> class Double(Runnable[int, int]):
    ...     def invoke(self, input, config=None, **kwargs):
    ...         return input * 2
    >>> (Double() | Double()).invoke(1), Double().batch([1, 2])
    (4, [2, 4])
    """

    __slots__ = ()

    name: str | None = None
    """The name that handlers see; None means that `get_name` finds one."""

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name of the runnable: the given one, its own, else its class's.

        `suffix` is appended in the style of the name (`FooInput`, `foo_input`).
        """
        base = name or self.name or type(self).__name__
        if not suffix:
            return base
        return base + suffix.title() if base[0].isupper() else f"{base}_{suffix.lower()}"

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into one output."""
        raise NotImplementedError(f"{type(self).__name__} must define invoke().")

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Turn one input into one output without blocking the loop: `invoke`, on a thread."""
        return await run_in_executor(config, self.invoke, input, config, **kwargs)

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Yield the output in chunks as they come; here in one."""
        yield self.invoke(input, config, **kwargs)

    async def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Yield the output in chunks as they come; here in one."""
        yield await self.ainvoke(input, config, **kwargs)

    async def astream_events(
        self,
        input: Input,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v1", "v2"] = "v2",
        include_names: Sequence[str] | None = None,
        include_types: Sequence[str] | None = None,
        include_tags: Sequence[str] | None = None,
        exclude_names: Sequence[str] | None = None,
        exclude_types: Sequence[str] | None = None,
        exclude_tags: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> "AsyncIterator[StreamEvent]":
        """Stream what happens inside: each run's start, chunks and end, and custom events.

        Args:
            input: The input.
            config: The config.
            version: "v2"; "v1" leaves out custom events and the ids of the runs around.
            include_names: Only events of runs with one of these names, or which another `include`
                argument names.
            include_types: Likewise by type: "chain", "chat_model", "llm", "tool", "retriever".
            include_tags: Likewise by tag.
            exclude_names: No events of runs with one of these names.
            exclude_types: No events of runs of one of these types.
            exclude_tags: No events of runs with one of these tags.
            kwargs: Passed on to `astream`.

        Yields:
            Dicts of event, name, run_id, parent_ids, tags, metadata and data.

        Raises:
            NotImplementedError: An unknown version.

        >>> import asyncio
        >>> from plait.runnables import RunnableLambda
        >>> async def names():
        ...     shout = RunnableLambda(str.upper, name="shout")
        ...     return [event["event"] async for event in shout.astream_events("hi")]
        >>> asyncio.run(names())
        ['on_chain_start', 'on_chain_stream', 'on_chain_end']
        """
        from plait.runnables.event_stream import Filter, astream_events  # loads asyncio

        wanted = Filter(
            include_names, include_types, include_tags, exclude_names, exclude_types, exclude_tags
        )
        events = astream_events(self, input, config, version=version, wanted=wanted, **kwargs)
        try:
            async for event in events:
                yield event
        finally:
            await cast("Any", events).aclose()

    def batch(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """Invoke with many inputs at once, on threads; outputs in the order of the inputs.

        Args:
            inputs: What to invoke with.
            config: One for all, or one for each. Its `max_concurrency` bounds the threads.
            return_exceptions: Put exceptions among the outputs instead of raising the first.
            kwargs: Passed on to each `invoke`.
        """
        if not inputs:
            return []
        configs = get_config_list(config, len(inputs))
        if len(inputs) == 1 and not return_exceptions:
            return [self.invoke(inputs[0], configs[0], **kwargs)]
        from plait.runnables.batching import run_all  # loads threading and asyncio

        calls = [
            partial(self.invoke, one, its_config, **kwargs)
            for one, its_config in zip(inputs, configs, strict=True)
        ]
        limit = configs[0].get("max_concurrency")
        return cast("list[Output]", run_all(calls, limit, return_exceptions))

    async def abatch(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """The async twin of `batch`; all at once unless the config has a `max_concurrency`."""
        if not inputs:
            return []
        from plait.runnables.batching import arun_all  # loads threading and asyncio

        configs = get_config_list(config, len(inputs))
        calls = [
            partial(self.ainvoke, one, its_config, **kwargs)
            for one, its_config in zip(inputs, configs, strict=True)
        ]
        limit = configs[0].get("max_concurrency")
        return cast("list[Output]", await arun_all(calls, limit, return_exceptions))

    def with_config(
        self, config: RunnableConfig | None = None, **kwargs: Any
    ) -> "Runnable[Input, Output]":
        """This runnable with a config of its own, united with the caller's on each call.

        >>> Runnable().with_config(tags=["a"]).config["tags"]
        ['a']
        """
        return RunnableBinding(self, config=cast("RunnableConfig", {**(config or {}), **kwargs}))

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """What is inside, as a graph that can be drawn.

        >>> print(Runnable().get_graph().draw_mermaid(with_styles=False).count("-->"))
        2
        """
        from plait.runnables.pictures import alone  # only what is drawn needs it

        return alone(self, config)

    def bind(self, **kwargs: Any) -> "Runnable[Input, Output]":
        """This runnable with keyword arguments of its own."""
        return RunnableBinding(self, kwargs=kwargs)

    def pipe(self, *others: Any, name: str | None = None) -> "Runnable[Input, Any]":
        """This runnable, then the others: each gets the output of the one before."""
        return RunnableSequence(self, *others, name=name)

    def __or__(
        self, other: "Runnable[Any, Other] | Callable[[Any], Other]"
    ) -> "Runnable[Input, Other]":
        return RunnableSequence(self, other)

    def __ror__(
        self, other: "Runnable[Other, Any] | Callable[[Other], Any]"
    ) -> "Runnable[Other, Output]":
        return RunnableSequence(other, self)


class RunnableBinding(Runnable[Input, Output]):
    """A runnable with keyword arguments and a config that every call gets.

    Args:
        bound: The runnable.
        kwargs: Keyword arguments for each call; the call's own win.
        config: United with the caller's config (see `merge_configs`).
    """

    def __init__(
        self,
        bound: Runnable[Input, Output],
        *,
        kwargs: Mapping[str, Any] | None = None,
        config: RunnableConfig | None = None,
    ) -> None:
        self.bound = bound
        self.kwargs = dict(kwargs or {})
        self.config: RunnableConfig = config or {}

    def __getattr__(self, name: str) -> Any:
        # What the binding does not have is asked of the runnable itself (`model.bind(..).profile`).
        if name.startswith("_") or name == "bound":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.bound, name)

    def __repr__(self) -> str:
        return f"RunnableBinding({self.bound!r}, kwargs={self.kwargs!r}, config={self.config!r})"

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name of the bound runnable."""
        return self.bound.get_name(suffix, name=name)

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graph of the bound runnable."""
        return self.bound.get_graph(merge_configs(self.config, config))

    def bind(self, **kwargs: Any) -> Runnable[Input, Output]:
        """The same runnable with more keyword arguments."""
        return RunnableBinding(self.bound, kwargs={**self.kwargs, **kwargs}, config=self.config)

    def with_config(
        self, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Runnable[Input, Output]:
        """The same runnable with more config."""
        own = {**self.config, **(config or {}), **kwargs}
        return RunnableBinding(self.bound, kwargs=self.kwargs, config=cast("RunnableConfig", own))

    def _config(self, config: RunnableConfig | None) -> RunnableConfig | None:
        return merge_configs(self.config, config) if self.config else config

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Invoke the bound runnable."""
        return self.bound.invoke(input, self._config(config), **{**self.kwargs, **kwargs})

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke the bound runnable."""
        return await self.bound.ainvoke(input, self._config(config), **{**self.kwargs, **kwargs})

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Stream the bound runnable."""
        yield from self.bound.stream(input, self._config(config), **{**self.kwargs, **kwargs})

    async def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Stream the bound runnable."""
        kwargs = {**self.kwargs, **kwargs}
        async for chunk in self.bound.astream(input, self._config(config), **kwargs):
            yield chunk


class RunnableSequence(Runnable[Input, Output]):
    """Runnables one after the other; each gets the output of the one before.

    Args:
        steps: Two or more runnables or functions; sequences among them are flattened.
        name: The name that handlers see.

    Raises:
        ValueError: There are fewer than two steps.

    >>> RunnableSequence(str.strip, str.upper).invoke(" hi ")
    'HI'
    """

    def __init__(self, *steps: Any, name: str | None = None) -> None:
        self.name = name
        self.steps: list[Runnable[Any, Any]] = []
        for step in map(coerce_to_runnable, steps):
            unnamed = isinstance(step, RunnableSequence) and step.name is None
            self.steps.extend(cast("Any", step).steps if unnamed else [step])
        if len(self.steps) < 2:
            raise ValueError(f"RunnableSequence must have at least 2 steps, got {len(self.steps)}.")

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.steps))

    def get_graph(self, config: RunnableConfig | None = None) -> "Graph":
        """The graphs of the steps, one after the other.

        Raises:
            ConfigError: a step that is a graph has no one way in.
        """
        from plait.runnables.pictures import in_sequence  # only what is drawn needs it

        return in_sequence(self.steps, config)

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Invoke step after step; `kwargs` go to the first."""

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Any:
            return self._run_steps(self.steps, input, config, run, kwargs)

        return call_as_run(work, self.get_name(), input, config)

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke step after step; `kwargs` go to the first."""

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> Any:
            return await self._arun_steps(self.steps, input, config, run, kwargs)

        return await acall_as_run(work, self.get_name(), input, config)

    def stream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Invoke all steps but the last, and stream that one."""
        *before, last = self.steps

        def work(config: RunnableConfig, run: "CallbackManagerForChainRun | None") -> Iterator[Any]:
            value = self._run_steps(before, input, config, run, kwargs)
            yield from last.stream(value, child_config(config, run, _tag(len(before))))

        return stream_as_run(work, self.get_name(), input, config)

    async def astream(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Invoke all steps but the last, and stream that one."""
        *before, last = self.steps

        async def work(
            config: RunnableConfig, run: "AsyncCallbackManagerForChainRun | None"
        ) -> AsyncIterator[Any]:
            value = await self._arun_steps(before, input, config, run, kwargs)
            its_config = child_config(config, run, _tag(len(before)))
            async for chunk in last.astream(value, its_config):
                yield chunk

        async for chunk in astream_as_run(work, self.get_name(), input, config):
            yield chunk

    def _run_steps(
        self,
        steps: Sequence[Runnable[Any, Any]],
        value: Any,
        config: RunnableConfig,
        run: Any,
        kwargs: dict[str, Any],
    ) -> Any:
        for index, step in enumerate(steps):
            value = step.invoke(value, child_config(config, run, _tag(index)), **kwargs)
            kwargs = {}
        return value

    async def _arun_steps(
        self,
        steps: Sequence[Runnable[Any, Any]],
        value: Any,
        config: RunnableConfig,
        run: Any,
        kwargs: dict[str, Any],
    ) -> Any:
        for index, step in enumerate(steps):
            value = await step.ainvoke(value, child_config(config, run, _tag(index)), **kwargs)
            kwargs = {}
        return value


def _tag(index: int) -> str:
    return f"seq:step:{index + 1}"


def coerce_to_runnable(thing: Any) -> Runnable[Any, Any]:
    """A runnable from a runnable (of another library too) or a function.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(thing, Runnable):
        return cast("Runnable[Any, Any]", thing)
    if callable(getattr(thing, "invoke", None)) and callable(getattr(thing, "ainvoke", None)):
        return cast("Runnable[Any, Any]", thing)
    if callable(thing):
        from plait.runnables.functions import RunnableLambda  # that module builds on this one

        return RunnableLambda(thing)
    raise TypeError(
        f"Expected a Runnable or a callable, got {type(thing).__name__}: {thing!r}. "
        "Wrap it in a function that takes the input and returns the output."
    )
