"""Chain groups: several calls that handlers and tracers see as the children of one run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self
from uuid import UUID

from plait.callbacks.base import BaseCallbackManager
from plait.callbacks.context import unasked_handlers
from plait.callbacks.manager import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    CallbackManager,
    CallbackManagerForChainRun,
)


class CallbackManagerForChainGroup(CallbackManager):
    """The manager of the calls in a group; it can end the group's run.

    Args:
        handlers: Who hears the calls.
        parent_run_manager: That of the group's run.
        kwargs: As for every manager.
    """

    def __init__(
        self, handlers: list[Any], *args: Any, parent_run_manager: Any, **kwargs: Any
    ) -> None:
        super().__init__(handlers, *args, **kwargs)
        self.parent_run_manager: CallbackManagerForChainRun = parent_run_manager
        self.ended = False
        """Whether the group was told to have ended."""

    def copy(self) -> Self:
        """A manager of the same group, with containers of its own."""
        return _like(self, self)

    def merge(self, other: BaseCallbackManager) -> Self:
        """A manager of this group, with what `other` has besides."""
        return _like(self, CallbackManager.adopt(self).merge(other))

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """The group ended and gave `outputs`."""
        self.ended = True
        self.parent_run_manager.on_chain_end(outputs, **kwargs)

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """The group failed."""
        self.ended = True
        self.parent_run_manager.on_chain_error(error, **kwargs)


class AsyncCallbackManagerForChainGroup(AsyncCallbackManager):
    """The async twin of `CallbackManagerForChainGroup`."""

    def __init__(
        self, handlers: list[Any], *args: Any, parent_run_manager: Any, **kwargs: Any
    ) -> None:
        super().__init__(handlers, *args, **kwargs)
        self.parent_run_manager: AsyncCallbackManagerForChainRun = parent_run_manager
        self.ended = False
        """Whether the group was told to have ended."""

    def copy(self) -> Self:
        """A manager of the same group, with containers of its own."""
        return _like(self, self)

    def merge(self, other: BaseCallbackManager) -> Self:
        """A manager of this group, with what `other` has besides."""
        return _like(self, AsyncCallbackManager.adopt(self).merge(other))

    async def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """The group ended and gave `outputs`."""
        self.ended = True
        await self.parent_run_manager.on_chain_end(outputs, **kwargs)

    async def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """The group failed."""
        self.ended = True
        await self.parent_run_manager.on_chain_error(error, **kwargs)


@contextmanager
def trace_as_chain_group(
    group_name: str,
    callback_manager: CallbackManager | None = None,
    *,
    inputs: dict[str, Any] | None = None,
    run_id: UUID | None = None,
    tags: list[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **for_langsmith: Any,
) -> Generator[CallbackManagerForChainGroup, None, None]:
    """Let the calls in the `with` block be children of one run: hand them what this gives.

    Args:
        group_name: The name of that run.
        callback_manager: Who hears.
        inputs: What the group is said to be given.
        run_id: The id of its run; a new one by default.
        tags: Tags of the group and its calls.
        metadata: Metadata of the group and its calls.
        for_langsmith: Accepted (`project_name`, `example_id`, `address`); plait sends nothing.

    The run ends with the block, unless it was told to: `group.on_chain_end({"output": ...})`.

    >>> from plait.runnables import RunnableLambda
    >>> from plait.tracing import collect_runs
    >>> with collect_runs() as collected, trace_as_chain_group("both") as group:
    ...     for word in ("a", "b"):
    ...         _ = RunnableLambda(str.upper).invoke(word, {"callbacks": group})
    ...     group.on_chain_end({"output": "AB"})
    >>> both = collected.traced_runs[0]
    >>> both.name, [each.name for each in both.child_runs]
    ('both', ['upper', 'upper'])
    """
    del for_langsmith
    heard = [*unasked_handlers()] if callback_manager is None else callback_manager
    manager = CallbackManager.configure(heard, inheritable_tags=tags, inheritable_metadata=metadata)
    run = manager.on_chain_start({"name": group_name}, inputs or {}, run_id=run_id, name=group_name)
    group: CallbackManagerForChainGroup = _group(CallbackManagerForChainGroup, run)
    try:
        yield group
    except BaseException as error:
        if not group.ended:
            run.on_chain_error(error)
        raise
    if not group.ended:
        run.on_chain_end({})


@asynccontextmanager
async def atrace_as_chain_group(
    group_name: str,
    callback_manager: AsyncCallbackManager | None = None,
    *,
    inputs: dict[str, Any] | None = None,
    run_id: UUID | None = None,
    tags: list[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **for_langsmith: Any,
) -> AsyncGenerator[AsyncCallbackManagerForChainGroup, None]:
    """The async twin of `trace_as_chain_group`."""
    del for_langsmith
    heard = [*unasked_handlers()] if callback_manager is None else callback_manager
    manager = AsyncCallbackManager.configure(
        heard, inheritable_tags=tags, inheritable_metadata=metadata
    )
    run = await manager.on_chain_start(
        {"name": group_name}, inputs or {}, run_id=run_id, name=group_name
    )
    group: AsyncCallbackManagerForChainGroup = _group(AsyncCallbackManagerForChainGroup, run)
    try:
        yield group
    except BaseException as error:
        if not group.ended:
            await run.on_chain_error(error)
        raise
    if not group.ended:
        await run.on_chain_end({})


def _group(kind: Any, run: Any) -> Any:
    """The manager of the calls in the group whose run this is."""
    calls: BaseCallbackManager = run.get_child()
    return _made(kind, calls, run)


def _like(group: Any, manager: BaseCallbackManager) -> Any:
    """A manager of the same group with the handlers, tags and metadata of another."""
    return _made(type(group), manager, group.parent_run_manager)


def _made(kind: Any, manager: BaseCallbackManager, run: Any) -> Any:
    return kind(
        manager.handlers,
        manager.inheritable_handlers,
        manager.parent_run_id,
        parent_run_manager=run,
        tags=manager.tags,
        inheritable_tags=manager.inheritable_tags,
        metadata=manager.metadata,
        inheritable_metadata=manager.inheritable_metadata,
    )


__all__ = [
    "AsyncCallbackManagerForChainGroup",
    "CallbackManagerForChainGroup",
    "atrace_as_chain_group",
    "trace_as_chain_group",
]
