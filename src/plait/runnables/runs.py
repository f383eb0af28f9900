"""One run of a runnable: tell those who listen, hand the work its child config, pass the result on.

Nobody listening is the common case and costs no manager, no run id and no event.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from plait.callbacks.context import has_listeners
from plait.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
)

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun

T = TypeVar("T")


def call_as_run(
    work: Callable[[RunnableConfig, "CallbackManagerForChainRun | None"], T],
    name: str,
    input: Any,
    config: Mapping[str, Any] | None,
) -> T:
    """`work(child_config, run)`, with start, end or error told to the config's handlers.

    `run` is None when nobody listens; `child_config` is what the work's own calls run under.
    """
    config = ensure_config(config)
    if not has_listeners(config):
        return work(_unnamed(config), None)
    manager = get_callback_manager_for_config(config)
    run = manager.on_chain_start(
        None, input, config.get("run_id"), name=config.get("run_name") or name
    )
    try:
        output = work(patch_config(config, callbacks=run.get_child()), run)
    except BaseException as error:
        run.on_chain_error(error)
        raise
    run.on_chain_end(output)
    return output


async def acall_as_run(
    work: Callable[[RunnableConfig, "AsyncCallbackManagerForChainRun | None"], Awaitable[T]],
    name: str,
    input: Any,
    config: Mapping[str, Any] | None,
) -> T:
    """The async twin of `call_as_run`."""
    config = ensure_config(config)
    if not has_listeners(config):
        return await work(_unnamed(config), None)
    manager = get_async_callback_manager_for_config(config)
    run = await manager.on_chain_start(
        None, input, config.get("run_id"), name=config.get("run_name") or name
    )
    try:
        output = await work(patch_config(config, callbacks=run.get_child()), run)
    except BaseException as error:
        await run.on_chain_error(error)
        raise
    await run.on_chain_end(output)
    return output


def child_config(config: RunnableConfig, run: Any, tag: str) -> RunnableConfig:
    """The config of one child of `run` (see `call_as_run`), marked with `tag` if anybody hears."""
    return config if run is None else patch_config(config, callbacks=run.get_child(tag))


def _unnamed(config: RunnableConfig) -> RunnableConfig:
    config.pop("run_name", None)
    config.pop("run_id", None)
    return config


def stream_as_run(
    work: Callable[[RunnableConfig, "CallbackManagerForChainRun | None"], Iterator[T]],
    name: str,
    input: Any,
    config: Mapping[str, Any] | None,
) -> Iterator[T]:
    """`call_as_run` for work that yields its output in chunks; the run's output is their sum."""
    config = ensure_config(config)
    if not has_listeners(config):
        yield from work(_unnamed(config), None)
        return
    manager = get_callback_manager_for_config(config)
    run = manager.on_chain_start(
        None, input, config.get("run_id"), name=config.get("run_name") or name
    )
    output: Any = None
    try:
        for chunk in work(patch_config(config, callbacks=run.get_child()), run):
            output = add_chunks(output, chunk)
            run.tell("on_chain_stream", "ignore_chain", chunk)
            yield chunk
    except BaseException as error:
        run.on_chain_error(error)
        raise
    run.on_chain_end(output)


async def astream_as_run(
    work: Callable[[RunnableConfig, "AsyncCallbackManagerForChainRun | None"], AsyncIterator[T]],
    name: str,
    input: Any,
    config: Mapping[str, Any] | None,
) -> AsyncIterator[T]:
    """The async twin of `stream_as_run`."""
    config = ensure_config(config)
    if not has_listeners(config):
        async for chunk in work(_unnamed(config), None):
            yield chunk
        return
    manager = get_async_callback_manager_for_config(config)
    run = await manager.on_chain_start(
        None, input, config.get("run_id"), name=config.get("run_name") or name
    )
    output: Any = None
    try:
        async for chunk in work(patch_config(config, callbacks=run.get_child()), run):
            output = add_chunks(output, chunk)
            await run.tell("on_chain_stream", "ignore_chain", chunk)
            yield chunk
    except BaseException as error:
        await run.on_chain_error(error)
        raise
    await run.on_chain_end(output)


def add_chunks(total: Any, chunk: Any) -> Any:
    """`total + chunk`, or the chunk alone if there is no total yet or they do not add.

    >>> add_chunks(None, "a"), add_chunks("a", "b"), add_chunks("a", {"b": 1})
    ('a', 'ab', {'b': 1})
    """
    if total is None:
        return chunk
    try:
        return total + chunk
    except TypeError:
        return chunk
