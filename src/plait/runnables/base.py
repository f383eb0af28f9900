"""`Runnable`: anything that takes an input and a config and gives an output, and how two compose.

A subclass defines `invoke`; the rest follows, and each can be overridden. Importing this module
loads no asyncio, no threads and no pydantic: those who need them load them. What methods return
(sequences, bindings, ...) is in modules of its own, which build on this one.
"""

import sys
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, cast, overload

from plait.callbacks.context import has_listeners
from plait.objects.abstract import Abstract
from plait.runnables.addable import add_all
from plait.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_config_list,
    run_in_executor,
    with_entries,
)
from plait.runnables.contexts import await_under, call_under
from plait.runnables.described import Described
from plait.runnables.known import is_runnable
from plait.runnables.own_runs import OwnRuns
from plait.runnables.runs import unnamed

if TYPE_CHECKING:
    from pydantic import BaseModel

    from plait.runnables.event_stream import StreamEvent
    from plait.runnables.fallbacks import RunnableWithFallbacks
    from plait.runnables.likes import FunctionOf, Guest
    from plait.runnables.retry import ExponentialJitterParams
    from plait.runnables.run_log import RunLogPatch

if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    Input = WithDefault("Input", default=Any, contravariant=True)
    Output = WithDefault("Output", default=Any, covariant=True)
    Other = WithDefault("Other", default=Any)
    Item = WithDefault("Item", default=Any)
else:  # typing_extensions is slow to import, and only type checkers ask for the defaults
    Input = TypeVar("Input")
    Output = TypeVar("Output")
    Other = TypeVar("Other")
    Item = TypeVar("Item")

_PEER = "langchain_core.runnables.base"
_known_to_peer: list[Any] = []


class Runnable(Described, OwnRuns, Abstract, Generic[Input, Output]):
    """Base of everything that can be invoked, streamed, batched and composed with `|`.

    >>> class Double(Runnable[int, int]):
    ...     def invoke(self, input, config=None, **kwargs):
    ...         return input * 2
    >>> (Double() | Double()).invoke(1), Double().batch([1, 2])
    (4, [2, 4])
    """

    __slots__ = ()

    name: str | None
    """The name that handlers see; without one, or if it is None, `get_name` finds one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if not _known_to_peer and _PEER in sys.modules:
            # langchain_core's own composition (`theirs | ours`) asks for instances of its class.
            _known_to_peer.append(cast("Any", sys.modules[_PEER]).Runnable.register(Runnable))
        return super().__new__(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for changed, shortcut in (("invoke", "run_unheard"), ("ainvoke", "arun_unheard")):
            if changed in cls.__dict__ and shortcut not in cls.__dict__:
                setattr(cls, shortcut, getattr(Runnable, shortcut))

    # --- calls -----------------------------------------------------------------------------------

    @abstractmethod
    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Turn one input into one output."""

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Turn one input into one output without blocking the loop: `invoke`, on a thread."""
        return await run_in_executor(config, self.invoke, input, config, **kwargs)

    def run_unheard(self, input: Input, config: RunnableConfig) -> Output:
        """`invoke` under a complete config to which nobody listens, and which stays as it is.

        For runnables that call others; a shortcut that the library's own classes take.
        """
        return call_under(config, self.invoke, input, config)

    async def arun_unheard(self, input: Input, config: RunnableConfig) -> Output:
        """The async twin of `run_unheard`."""
        return await await_under(config, self.ainvoke(input, config))

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

    def transform(
        self, input: Iterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Output]:
        """Yield output for an input that comes in chunks; here `stream`, once all have come."""
        chunks = list(input)
        if chunks:
            yield from self.stream(add_all(iter(chunks)), config, **kwargs)

    async def atransform(
        self, input: AsyncIterator[Input], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Output]:
        """Yield output for an input that comes in chunks; here `astream`, once all have come."""
        chunks = [chunk async for chunk in input]
        if chunks:
            async for chunk in self.astream(add_all(iter(chunks)), config, **kwargs):
                yield chunk

    def astream_events(
        self,
        input: Input,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
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
            version: "v2"; "v1" leaves out custom events and the ids of the runs around; "v3" is for
                graphs and chat models.
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
        if version == "v3":
            return cast("Any", self._no_projections())  # awaited, as it is where there are any
        return astream_events(self, input, config, version=version, wanted=wanted, **kwargs)

    async def _no_projections(self) -> Any:
        raise NotImplementedError(
            f"{self.get_name()!r} has no streams of version 'v3': only graphs and chat models have."
        )

    def astream_log(
        self,
        input: Input,
        config: RunnableConfig | None = None,
        *,
        diff: bool = True,
        with_streamed_output_list: bool = True,
        include_names: Sequence[str] | None = None,
        include_types: Sequence[str] | None = None,
        include_tags: Sequence[str] | None = None,
        exclude_names: Sequence[str] | None = None,
        exclude_types: Sequence[str] | None = None,
        exclude_tags: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> "AsyncIterator[RunLogPatch]":
        """Stream a log of what happens inside, as patches; `astream_events` is its successor.

        Args:
            input: The input.
            config: The config.
            diff: Yield what each step changes; else a `RunLog`, the whole `state`, after each.
            with_streamed_output_list: List the chunks of the outermost run.
            include_names: Only log runs with one of these names, or which another `include`
                argument names.
            include_types: Likewise by type: "chain", "prompt", "parser", "llm", "tool",
                "retriever".
            include_tags: Likewise by tag.
            exclude_names: Log no runs with one of these names.
            exclude_types: Log no runs of one of these types.
            exclude_tags: Log no runs with one of these tags.
            kwargs: Passed on to `astream`.

        Yields:
            `RunLogPatch`es; their sum is a `RunLog`.

        >>> import asyncio
        >>> from plait.runnables import RunnableLambda
        >>> async def outputs():
        ...     shout = RunnableLambda(str.upper, name="shout")
        ...     logs = [log async for log in shout.astream_log("hi", diff=False)]
        ...     return logs[-1].state["final_output"]
        >>> asyncio.run(outputs())
        'HI'
        """
        from plait.runnables.event_stream import Filter  # loads asyncio
        from plait.runnables.log_stream import astream_log

        wanted = Filter(
            include_names, include_types, include_tags, exclude_names, exclude_types, exclude_tags
        )
        return astream_log(
            self,
            input,
            config,
            diff=diff,
            with_streamed_output_list=with_streamed_output_list,
            wanted=wanted,
            **kwargs,
        )

    def stream_events(
        self,
        input: Input,
        config: RunnableConfig | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        **kwargs: Any,
    ) -> Any:
        """Stream what happens inside, in sync code; graphs do, in version "v3".

        Raises:
            NotImplementedError: always, here.
        """
        raise NotImplementedError(
            f"{self.get_name()!r} has no stream_events(version={version!r}): use "
            'astream_events() for versions "v1" and "v2", a graph or a chat model for "v3".'
        )

    # --- many calls ------------------------------------------------------------------------------

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
        calls, limit = self._calls_for(inputs, config, kwargs)
        if len(calls) == 1 and not return_exceptions:
            return [calls[0]()]
        return _load("batching").run_all(calls, limit, return_exceptions)

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
        calls, limit = self._acalls_for(inputs, config, kwargs)
        return await _load("batching").arun_all(calls, limit, return_exceptions)

    @overload
    def batch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: Literal[False] = False,
        **kwargs: Any,
    ) -> Iterator[tuple[int, Output]]: ...
    @overload
    def batch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool,
        **kwargs: Any,
    ) -> Iterator[tuple[int, Output | Exception]]: ...
    def batch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> Iterator[tuple[int, Output | Exception]]:
        """`batch`, yielding (index of the input, output) as soon as each is there."""
        if inputs:
            calls, limit = self._calls_for(inputs, config, kwargs)
            yield from _load("batching").run_as_completed(calls, limit, return_exceptions)

    @overload
    def abatch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: Literal[False] = False,
        **kwargs: Any,
    ) -> AsyncIterator[tuple[int, Output]]: ...
    @overload
    def abatch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool,
        **kwargs: Any,
    ) -> AsyncIterator[tuple[int, Output | Exception]]: ...
    async def abatch_as_completed(
        self,
        inputs: Sequence[Input],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> AsyncIterator[tuple[int, Output | Exception]]:
        """The async twin of `batch_as_completed`."""
        if not inputs:
            return
        calls, limit = self._acalls_for(inputs, config, kwargs)
        done = _load("batching").arun_as_completed(calls, limit, return_exceptions)
        try:
            async for index_and_output in done:
                yield index_and_output
        finally:
            await done.aclose()

    def _calls_for(
        self, inputs: Sequence[Input], config: Any, kwargs: dict[str, Any]
    ) -> tuple[list[Callable[[], Output]], int | None]:
        """One call for each input, and how many may run at once."""
        if not kwargs and (config is None or isinstance(config, Mapping)):
            shared = ensure_config(cast("Any", config))
            if not has_listeners(shared):
                limit = shared.get("max_concurrency")
                shared = unnamed(shared)
                return [partial(self.run_unheard, one, shared) for one in inputs], limit
        configs = get_config_list(cast("Any", config), len(inputs))
        pairs = zip(inputs, configs, strict=True)
        calls = [partial(self.invoke, one, its_config, **kwargs) for one, its_config in pairs]
        return calls, configs[0].get("max_concurrency")

    def _acalls_for(
        self, inputs: Sequence[Input], config: Any, kwargs: dict[str, Any]
    ) -> tuple[list[Callable[[], Awaitable[Output]]], int | None]:
        configs = get_config_list(config, len(inputs))
        pairs = zip(inputs, configs, strict=True)
        calls = [partial(self.ainvoke, one, its_config, **kwargs) for one, its_config in pairs]
        return [*calls], configs[0].get("max_concurrency")

    # --- composition -----------------------------------------------------------------------------

    @overload
    def __or__(self, other: "Runnable[Any, Other]") -> "Runnable[Input, Other]": ...
    @overload
    def __or__(self, other: "Mapping[str, Any]") -> "Runnable[Input, dict[str, Any]]": ...
    @overload
    def __or__(self, other: "FunctionOf[Any, Other]") -> "Runnable[Input, Other]": ...
    @overload
    def __or__(self, other: "Guest") -> "Runnable[Input, Any]": ...
    def __or__(self, other: Any) -> "Runnable[Input, Any]":
        return _sequence(self, other)

    def __ror__(self, other: Any) -> "Runnable[Any, Output]":
        return _sequence(other, self)

    def __rshift__(self, other: Any) -> "Runnable[Input, Any]":
        return _sequence(self, other)

    def __rrshift__(self, other: Any) -> "Runnable[Any, Output]":
        return _sequence(other, self)

    def pipe(self, *others: Any, name: str | None = None) -> "Runnable[Input, Any]":
        """This runnable, then the others: each gets the output of the one before."""
        return _sequence(self, *others, name=name)

    def pick(self, keys: str | list[str]) -> "Runnable[Input, Any]":
        """This runnable, then of its output (a dict) one value, or the dict of some keys.

        >>> from plait.runnables import RunnablePassthrough
        >>> RunnablePassthrough().pick("a").invoke({"a": 1, "b": 2})
        1
        """
        return self | _load("passthrough").RunnablePick(keys)

    def assign(self, **kwargs: Any) -> "Runnable[Input, dict[str, Any]]":
        """This runnable, then its output (a dict) with more keys, computed from it.

        >>> from plait.runnables import RunnablePassthrough
        >>> RunnablePassthrough().assign(b=lambda given: given["a"] + 1).invoke({"a": 1})
        {'a': 1, 'b': 2}
        """
        mapper = _load("parallel").RunnableParallel(kwargs)
        return self | _load("passthrough").RunnableAssign(mapper)

    def map(self) -> "Runnable[Sequence[Input], list[Output]]":
        """This runnable for each item of a list.

        >>> from plait.runnables import RunnableLambda
        >>> RunnableLambda(len).map().invoke(["a", "bc"])
        [1, 2]
        """
        return _load("each").RunnableEach(self)

    # --- the same, otherwise ---------------------------------------------------------------------

    def bind(self, **kwargs: Any) -> "Runnable[Input, Output]":
        """This runnable with keyword arguments of its own."""
        return _load("binding").RunnableBinding(bound=self, kwargs=kwargs)

    def with_config(
        self, config: RunnableConfig | None = None, **kwargs: Any
    ) -> "Runnable[Input, Output]":
        """This runnable with a config of its own, united with the caller's on each call.

        Raises:
            ConfigTypeError: `config` is no dict.

        >>> from plait.runnables import RunnablePassthrough
        >>> RunnablePassthrough().with_config(tags=["a"]).config["tags"]
        ['a']
        """
        return _load("binding").RunnableBinding(bound=self, config=with_entries(config, kwargs))

    def with_types(
        self, *, input_type: Any = None, output_type: Any = None
    ) -> "Runnable[Input, Output]":
        """This runnable with other types in its schemas."""
        return _load("binding").RunnableBinding(
            bound=self, custom_input_type=input_type, custom_output_type=output_type
        )

    def with_listeners(
        self,
        *,
        on_start: Callable[..., None] | None = None,
        on_end: Callable[..., None] | None = None,
        on_error: Callable[..., None] | None = None,
    ) -> "Runnable[Input, Output]":
        """This runnable, telling functions of each of its runs.

        Args:
            on_start: Called with the `Run`, and the config if it takes two arguments.
            on_end: Likewise; `run.outputs` is there.
            on_error: Likewise; `run.error` is there.
        """
        return _load("listeners").listened_to(self, on_start, on_end, on_error, is_async=False)

    def with_alisteners(
        self,
        *,
        on_start: Callable[..., Awaitable[None]] | None = None,
        on_end: Callable[..., Awaitable[None]] | None = None,
        on_error: Callable[..., Awaitable[None]] | None = None,
    ) -> "Runnable[Input, Output]":
        """`with_listeners` for async functions."""
        return _load("listeners").listened_to(self, on_start, on_end, on_error, is_async=True)

    def with_retry(
        self,
        *,
        retry_if_exception_type: "tuple[type[BaseException], ...] | Callable[[BaseException], bool]" = (  # noqa: E501
            Exception,
        ),
        wait_exponential_jitter: bool = True,
        exponential_jitter_params: "ExponentialJitterParams | None" = None,
        stop_after_attempt: int = 3,
    ) -> "Runnable[Input, Output]":
        """This runnable, called again when it fails (not when it is streamed).

        Args:
            retry_if_exception_type: The errors after which it is called again.
            wait_exponential_jitter: Wait in between, each time longer, with some chance.
            exponential_jitter_params: `initial`, `max`, `exp_base` and `jitter` of that wait.
            stop_after_attempt: How many calls there are at most.
        """
        return _load("retry").RunnableRetry(
            bound=self,
            retry_exception_types=retry_if_exception_type,
            wait_exponential_jitter=wait_exponential_jitter,
            exponential_jitter_params=exponential_jitter_params,
            max_attempt_number=stop_after_attempt,
        )

    def with_fallbacks(
        self,
        fallbacks: "Sequence[Runnable[Input, Output]]",
        *,
        exceptions_to_handle: tuple[type[BaseException], ...] = (Exception,),
        exception_key: str | None = None,
    ) -> "RunnableWithFallbacks[Input, Output]":
        """This runnable, and others in its place when it fails.

        Args:
            fallbacks: Tried in order.
            exceptions_to_handle: The errors after which the next one is tried.
            exception_key: The key of the input (a dict) under which the next one gets the error.

        >>> from plait.runnables import RunnableLambda
        >>> RunnableLambda(int).with_fallbacks([RunnableLambda(len)]).invoke("one")
        3
        """
        return _load("fallbacks").RunnableWithFallbacks(
            runnable=self,
            fallbacks=fallbacks,
            exceptions_to_handle=exceptions_to_handle,
            exception_key=exception_key,
        )

    def configurable_fields(self, **fields: Any) -> "Runnable[Input, Output]":
        """This runnable, with fields that `configurable` entries of a config change.

        Args:
            fields: Field name to its `ConfigurableField`.

        Raises:
            ValueError: It has no such field.
        """
        return _load("configurable").with_fields(self, fields)

    def configurable_alternatives(
        self,
        which: Any,
        *,
        default_key: str = "default",
        prefix_keys: bool = False,
        **alternatives: Any,
    ) -> "Runnable[Input, Output]":
        """This runnable, or another that an entry of `configurable` names.

        Args:
            which: The `ConfigurableField` whose value is the name.
            default_key: The name of this runnable.
            prefix_keys: Put `which==name/` before the keys of what can be configured inside.
            alternatives: The others by name, or functions that make them.
        """
        return _load("configurable").RunnableConfigurableAlternatives(
            which=which,
            default=self,
            alternatives=alternatives,
            default_key=default_key,
            prefix_keys=prefix_keys,
        )

    def as_tool(
        self,
        args_schema: "type[BaseModel] | None" = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> Any:
        """This runnable as a tool (`plait.tools`) that a model can call.

        Args:
            args_schema: A pydantic class of its arguments; by default that of its input.
            name: The tool's name; by default the runnable's.
            description: What the model reads of it.
            arg_types: Argument name to type, for a runnable whose input says nothing.
        """
        tools: Any = import_module("plait.tools")  # a floor above
        return tools.convert_runnable_to_tool(
            self, args_schema, name=name, description=description, arg_types=arg_types
        )


def _load(module: str) -> Any:
    """A module that builds on this one."""
    return import_module(f"plait.runnables.{module}")


def _sequence(*steps: Any, name: str | None = None) -> Any:
    return _load("sequence").RunnableSequence(*steps, name=name)


def coerce_to_runnable(thing: Any) -> Runnable[Any, Any]:
    """A runnable from a runnable (of another library too), a function, a generator or a dict.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(thing, Runnable):
        return cast("Runnable[Any, Any]", thing)
    if is_runnable(thing):
        if _PEER not in sys.modules:
            return cast("Runnable[Any, Any]", thing)
        return import_module("plait.chat_models.peers").adopted(thing)
    if isinstance(thing, dict):
        return _load("parallel").RunnableParallel(thing)
    if callable(thing):
        calling = _load("calling")
        if calling.is_generator(thing) or calling.is_async_generator(thing):
            return _load("generators").RunnableGenerator(thing)
        return _load("functions").RunnableLambda(thing)
    raise TypeError(
        f"Expected a Runnable, callable or dict. Instead got an unsupported type: {type(thing)}. "
        "Wrap it in a function that takes the input and returns the output."
    )


def __getattr__(name: str) -> Any:
    """The classes that langchain_core.runnables.base has beside this one."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("plait.runnables"), name)
