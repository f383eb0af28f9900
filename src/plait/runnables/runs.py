"""One run of a runnable: tell those who listen, hand the work its child config, pass the result on.

Nobody listening is the common case and costs no manager, no run id and no event.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from plait.callbacks.context import has_listeners
from plait.callbacks.inside import inside
from plait.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
)
from plait.runnables.contexts import await_under, call_under

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun

T = TypeVar("T")


def call_as_run(
    work: Callable[[RunnableConfig, "CallbackManagerForChainRun | None"], T],
    name: str,
    input: Any,
    config: Mapping[str, Any] | None,
    run_type: str | None = None,
    serialized: dict[str, Any] | None = None,
) -> T:
    """`work(child_config, run)`, with start, end or error told to the config's handlers.

    `run` is None when nobody listens; `child_config` is what the work's own calls run under.
    """
    config = ensure_config(config)
    if not has_listeners(config):
        return work(unnamed(config), None)
    manager = get_callback_manager_for_config(config)
    run = manager.on_chain_start(
        serialized,
        input,
        config.get("run_id"),
        run_type=run_type,
        name=config.get("run_name") or name,
    )
    try:
        with inside(run):
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
    run_type: str | None = None,
    serialized: dict[str, Any] | None = None,
) -> T:
    """The async twin of `call_as_run`."""
    config = ensure_config(config)
    if not has_listeners(config):
        return await work(unnamed(config), None)
    manager = get_async_callback_manager_for_config(config)
    run = await manager.on_chain_start(
        serialized,
        input,
        config.get("run_id"),
        run_type=run_type,
        name=config.get("run_name") or name,
    )
    try:
        with inside(run):
            output = await work(patch_config(config, callbacks=run.get_child()), run)
    except BaseException as error:
        await run.on_chain_error(error)
        raise
    await run.on_chain_end(output)
    return output


def child_config(config: RunnableConfig, run: Any, tag: str | None) -> RunnableConfig:
    """The config of one child of `run` (see `call_as_run`), marked with `tag` if anybody hears."""
    return config if run is None else patch_config(config, callbacks=run.get_child(tag))


def call_child(
    child: Any,
    input: Any,
    config: RunnableConfig,
    run: Any,
    tag: str | None,
    kwargs: Mapping[str, Any],
) -> Any:
    """Invoke a child of `run` (see `call_as_run`), which inherits the config in any case."""
    if run is None and not kwargs:
        return child_call(child)(input, config)
    its_config = child_config(config, run, tag)
    return call_under(its_config, child.invoke, input, its_config, **kwargs)


async def acall_child(
    child: Any,
    input: Any,
    config: RunnableConfig,
    run: Any,
    tag: str | None,
    kwargs: Mapping[str, Any],
) -> Any:
    """The async twin of `call_child`."""
    if run is None and not kwargs:
        its_call = getattr(child, "arun_unheard", child.ainvoke)
        return await its_call(input, config)
    its_config = child_config(config, run, tag)
    return await await_under(its_config, child.ainvoke(input, its_config, **kwargs))


def child_call(child: Any) -> Callable[[Any, RunnableConfig], Any]:
    """How to call a child when nobody listens; a runnable of another library has one way."""
    return getattr(child, "run_unheard", None) or child.invoke


def unnamed(config: RunnableConfig) -> RunnableConfig:
    """`config` without what is one run's own: its name and id."""
    config.pop("run_name", None)
    config.pop("run_id", None)
    return config
