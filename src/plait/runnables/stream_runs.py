"""One run of a runnable that yields its output, and maybe takes its input, in chunks.

The streaming half of `runs`: as there, nobody listening costs nothing.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from plait.callbacks.context import has_listeners, inherited_config
from plait.callbacks.inside import achunks_inside, chunks_inside
from plait.common.closing import aclose
from plait.runnables.addable import add_chunks
from plait.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
)
from plait.runnables.contexts import held_under, made_under
from plait.runnables.runs import unnamed

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun

T = TypeVar("T")


def stream_as_run(
    work: Callable[[RunnableConfig, "CallbackManagerForChainRun | None"], Iterator[T]],
    name: str,
    input: Any,
    config: Mapping[str, Any] | None,
    add: Callable[[Any, T], Any] = add_chunks,
) -> Iterator[T]:
    """`call_as_run` for work that yields its output in chunks; the run's output is their sum, or
    what `add` makes of the output so far (at first None) and each chunk."""
    config = ensure_config(config)
    if not has_listeners(config):
        config = unnamed(config)
        yield from made_under(config, work(config, None))
        return
    manager = get_callback_manager_for_config(config)
    run = manager.on_chain_start(
        None, input, config.get("run_id"), name=config.get("run_name") or name
    )
    output: Any = None
    inner = patch_config(config, callbacks=run.get_child())
    try:
        for chunk in made_under(inner, chunks_inside(run, work(inner, run))):
            output = add(output, chunk)
            run.tell("on_chain_stream", "ignore_chain", chunk)
            yield chunk
    except GeneratorExit:
        run.on_chain_end(output)
        raise
    except BaseException as error:
        run.on_chain_error(error)
        raise
    run.on_chain_end(output)


async def astream_as_run(
    work: Callable[[RunnableConfig, "AsyncCallbackManagerForChainRun | None"], AsyncIterator[T]],
    name: str,
    input: Any,
    config: Mapping[str, Any] | None,
    add: Callable[[Any, T], Any] = add_chunks,
) -> AsyncIterator[T]:
    """The async twin of `stream_as_run`."""
    config = ensure_config(config)
    if not has_listeners(config):
        config = unnamed(config)
        chunks = held_under(work(config, None), config)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await aclose(chunks)
        return
    manager = get_async_callback_manager_for_config(config)
    run = await manager.on_chain_start(
        None, input, config.get("run_id"), name=config.get("run_name") or name
    )
    output: Any = None
    inner = patch_config(config, callbacks=run.get_child())
    chunks = held_under(achunks_inside(run, work(inner, run)), inner)
    try:
        async for chunk in chunks:
            output = add(output, chunk)
            await run.tell("on_chain_stream", "ignore_chain", chunk)
            yield chunk
    except GeneratorExit:
        await run.on_chain_end(output)
        raise
    except BaseException as error:
        await run.on_chain_error(error)
        raise
    finally:
        await aclose(chunks)
    await run.on_chain_end(output)


def transform_as_run(
    work: Callable[
        [Iterator[Any], RunnableConfig, "CallbackManagerForChainRun | None"], Iterator[T]
    ],
    name: str,
    inputs: Iterator[Any],
    config: Mapping[str, Any] | None,
    run_type: str | None = None,
) -> Iterator[T]:
    """`stream_as_run` for work that takes its input in chunks too.

    Handlers hear of the start when the first chunk has come (`{"input": ""}` stands for what is
    not known yet), and get the sum of the input with the end.
    """
    if is_inherited(config):
        return work(inputs, config, None)
    return _transform(work, name, inputs, config, run_type)


def _transform(
    work: Callable[
        [Iterator[Any], RunnableConfig, "CallbackManagerForChainRun | None"], Iterator[T]
    ],
    name: str,
    inputs: Iterator[Any],
    config: Mapping[str, Any] | None,
    run_type: str | None,
) -> Iterator[T]:
    config = ensure_config(config)
    if not has_listeners(config):
        config = unnamed(config)
        yield from made_under(config, work(inputs, config, None))
        return
    heard = _Heard(inputs)
    manager = get_callback_manager_for_config(config)
    run = manager.on_chain_start(
        None,
        {"input": ""},
        config.get("run_id"),
        run_type=run_type,
        name=config.get("run_name") or name,
    )
    output: Any = None
    inner = patch_config(config, callbacks=run.get_child())
    try:
        for chunk in made_under(inner, chunks_inside(run, work(heard, inner, run))):
            output = add_chunks(output, chunk)
            run.tell("on_chain_stream", "ignore_chain", chunk)
            yield chunk
    except GeneratorExit:
        run.on_chain_end(output, inputs=heard.total)
        raise
    except BaseException as error:
        run.on_chain_error(error, inputs=heard.total)
        raise
    run.on_chain_end(output, inputs=heard.total)


def atransform_as_run(
    work: Callable[
        [AsyncIterator[Any], RunnableConfig, "AsyncCallbackManagerForChainRun | None"],
        AsyncIterator[T],
    ],
    name: str,
    inputs: AsyncIterator[Any],
    config: Mapping[str, Any] | None,
    run_type: str | None = None,
) -> AsyncIterator[T]:
    """The async twin of `transform_as_run`."""
    if is_inherited(config):
        return work(inputs, config, None)
    return _atransform(work, name, inputs, config, run_type)


async def _atransform(
    work: Callable[
        [AsyncIterator[Any], RunnableConfig, "AsyncCallbackManagerForChainRun | None"],
        AsyncIterator[T],
    ],
    name: str,
    inputs: AsyncIterator[Any],
    config: Mapping[str, Any] | None,
    run_type: str | None,
) -> AsyncIterator[T]:
    config = ensure_config(config)
    if not has_listeners(config):
        config = unnamed(config)
        chunks = held_under(work(inputs, config, None), config)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await aclose(chunks)
        return
    heard = await _AsyncHeard(inputs).begun()
    manager = get_async_callback_manager_for_config(config)
    run = await manager.on_chain_start(
        None,
        {"input": ""},
        config.get("run_id"),
        run_type=run_type,
        name=config.get("run_name") or name,
    )
    output: Any = None
    inner = patch_config(config, callbacks=run.get_child())
    chunks = held_under(achunks_inside(run, work(heard, inner, run)), inner)
    try:
        async for chunk in chunks:
            output = add_chunks(output, chunk)
            await run.tell("on_chain_stream", "ignore_chain", chunk)
            yield chunk
    except GeneratorExit:
        await run.on_chain_end(output, inputs=heard.total)
        raise
    except BaseException as error:
        await run.on_chain_error(error, inputs=heard.total)
        raise
    finally:
        await aclose(chunks)
    await run.on_chain_end(output, inputs=heard.total)


async def one_chunk(input: T) -> AsyncIterator[T]:
    """An input that comes whole, as a stream."""
    yield input


def is_inherited(config: Mapping[str, Any] | None) -> TypeGuard[RunnableConfig]:
    """Whether `config` is the very one that the code around runs under, and nobody listens.

    So it is with a step of a chain: its chunks are made in the right context already.
    """
    return config is not None and config is inherited_config() and not has_listeners(config)


class _Heard:
    """Chunks of an input, and the sum of those that have come. The first is fetched at once."""

    def __init__(self, chunks: Iterator[Any]) -> None:
        self._chunks = chunks
        self._first = list(islice(chunks, 1))
        self.total: Any = self._first[0] if self._first else None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._first:
            return self._first.pop()
        chunk = next(self._chunks)
        self.total = add_chunks(self.total, chunk)
        return chunk


class _AsyncHeard:
    """The async twin of `_Heard`; await `begun` for the first chunk."""

    def __init__(self, chunks: AsyncIterator[Any]) -> None:
        self._chunks = chunks
        self._first: list[Any] = []
        self.total: Any = None

    async def begun(self) -> "_AsyncHeard":
        async for chunk in self._chunks:
            self._first, self.total = [chunk], chunk
            break
        return self

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._first:
            return self._first.pop()
        chunk = await anext(self._chunks)
        self.total = add_chunks(self.total, chunk)
        return chunk
