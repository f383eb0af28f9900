"""Managers: they start runs, and hand back a run manager that tells how the run goes on.

Each run manager of a chain, tool or retriever makes the manager of its children (`get_child`).
Make a manager only if `has_listeners` says that somebody hears. The sync and async classes differ
in one word; what they share is in `base` (handlers, tags, metadata) and `events`.
"""

from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from plait.callbacks.base import BaseCallbackManager
from plait.callbacks.dispatch import ahandle_event as ahandle_event
from plait.callbacks.dispatch import handle_event as handle_event
from plait.callbacks.events import AsyncRunManager as AsyncRunManager
from plait.callbacks.events import BaseRunManager as BaseRunManager
from plait.callbacks.events import ChainEvents, LLMEvents, RetrieverEvents, ToolEvents
from plait.callbacks.events import RunManager as RunManager
from plait.common.lazy import lazily

M = TypeVar("M", bound=BaseCallbackManager)
R = TypeVar("R", bound=BaseRunManager[Any])


# --- the managers of runs -------------------------------------------------------------------------


class CallbackManagerForLLMRun(RunManager, LLMEvents[None]):
    """Tells of a model's run."""


class ParentRunManager(RunManager):
    """A run that has children."""

    def get_child(self, tag: str | None = None) -> "CallbackManager":
        """The manager of this run's children; `tag` marks only the next one."""
        return _child(CallbackManager, self, tag)


class CallbackManagerForChainRun(ParentRunManager, ChainEvents[None]):
    """Tells of a chain's run."""


class CallbackManagerForToolRun(ParentRunManager, ToolEvents[None]):
    """Tells of a tool's run."""


class CallbackManagerForRetrieverRun(ParentRunManager, RetrieverEvents[None]):
    """Tells of a retriever's run."""


class AsyncCallbackManagerForLLMRun(AsyncRunManager, LLMEvents[Awaitable[None]]):
    """Tells of a model's run."""

    def get_sync(self) -> CallbackManagerForLLMRun:
        """The same run's manager for sync code."""
        return _recast(CallbackManagerForLLMRun, self)


class AsyncParentRunManager(AsyncRunManager):
    """A run that has children."""

    def get_child(self, tag: str | None = None) -> "AsyncCallbackManager":
        """The manager of this run's children; `tag` marks only the next one."""
        return _child(AsyncCallbackManager, self, tag)


class AsyncCallbackManagerForChainRun(AsyncParentRunManager, ChainEvents[Awaitable[None]]):
    """Tells of a chain's run."""

    def get_sync(self) -> CallbackManagerForChainRun:
        """The same run's manager for sync code."""
        return _recast(CallbackManagerForChainRun, self)


class AsyncCallbackManagerForToolRun(AsyncParentRunManager, ToolEvents[Awaitable[None]]):
    """Tells of a tool's run."""

    def get_sync(self) -> CallbackManagerForToolRun:
        """The same run's manager for sync code."""
        return _recast(CallbackManagerForToolRun, self)


class AsyncCallbackManagerForRetrieverRun(AsyncParentRunManager, RetrieverEvents[Awaitable[None]]):
    """Tells of a retriever's run."""

    def get_sync(self) -> CallbackManagerForRetrieverRun:
        """The same run's manager for sync code."""
        return _recast(CallbackManagerForRetrieverRun, self)


# --- the managers that start runs -----------------------------------------------------------------


class CallbackManager(BaseCallbackManager):
    """Starts runs from sync code.

    Each `on_*_start` takes an optional `run_id`, tells the handlers, and returns the run's manager;
    further keywords (`name=`, ...) reach the handlers as they are.
    """

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> CallbackManagerForChainRun:
        """A chain starts with `inputs`."""
        run = CallbackManagerForChainRun(**self.run_fields(run_id))
        start = ("on_chain_start", "ignore_chain")
        run.tell(*start, serialized, inputs, metadata=run.metadata, **kwargs)
        return run

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> list[CallbackManagerForLLMRun]:
        """A chat model is asked with one or more lists of messages; each is a run of its own."""
        start = ("on_chat_model_start", "ignore_chat_model")
        return self._ask(start, serialized, messages, run_id, kwargs)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> list[CallbackManagerForLLMRun]:
        """A text model is asked with one or more prompts; each is a run of its own."""
        start = ("on_llm_start", "ignore_llm")
        return self._ask(start, serialized, prompts, run_id, kwargs)

    def _ask(
        self,
        start: tuple[str, str],
        serialized: dict[str, Any],
        asked: Sequence[Any],
        run_id: UUID | None,
        told: dict[str, Any],
    ) -> list[CallbackManagerForLLMRun]:
        """A run for each of what a model is asked in one call; the first has `run_id`."""
        runs: list[CallbackManagerForLLMRun] = []
        for one in asked:
            run = CallbackManagerForLLMRun(**self.run_fields(run_id))
            run.tell(*start, serialized, [one], metadata=run.metadata, **told)
            runs.append(run)
            run_id = None
        return runs

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> CallbackManagerForToolRun:
        """A tool is called. `parent_run_id` is accepted for compatibility; the manager knows it."""
        run = CallbackManagerForToolRun(**self.run_fields(run_id))
        start = ("on_tool_start", "ignore_agent")
        run.tell(
            *start, serialized or {}, input_str, inputs=inputs, metadata=run.metadata, **kwargs
        )
        return run

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> CallbackManagerForRetrieverRun:
        """A retriever is asked. `parent_run_id` is accepted for compatibility."""
        run = CallbackManagerForRetrieverRun(**self.run_fields(run_id))
        start = ("on_retriever_start", "ignore_retriever")
        run.tell(*start, serialized, query, metadata=run.metadata, **kwargs)
        return run

    def on_custom_event(
        self, name: str, data: Any, run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """User code dispatched an event of its own, inside run `run_id`."""
        where = {"run_id": self.run_fields(run_id)["run_id"], "tags": self.tags}
        handle_event(
            self.handlers,
            "on_custom_event",
            "ignore_custom_event",
            name,
            data,
            **where,
            metadata=self.metadata,
            **kwargs,
        )


class AsyncCallbackManager(BaseCallbackManager):
    """Starts runs from async code.

    Each `on_*_start` takes an optional `run_id`, tells the handlers, and returns the run's manager;
    further keywords (`name=`, ...) reach the handlers as they are.
    """

    is_async = True

    async def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> AsyncCallbackManagerForChainRun:
        """A chain starts with `inputs`."""
        run = AsyncCallbackManagerForChainRun(**self.run_fields(run_id))
        start = ("on_chain_start", "ignore_chain")
        await run.tell(*start, serialized, inputs, metadata=run.metadata, **kwargs)
        return run

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """A chat model is asked with one or more lists of messages; each is a run of its own."""
        start = ("on_chat_model_start", "ignore_chat_model")
        return await self._ask(start, serialized, messages, run_id, kwargs)

    async def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """A text model is asked with one or more prompts; each is a run of its own."""
        start = ("on_llm_start", "ignore_llm")
        return await self._ask(start, serialized, prompts, run_id, kwargs)

    async def _ask(
        self,
        start: tuple[str, str],
        serialized: dict[str, Any],
        asked: Sequence[Any],
        run_id: UUID | None,
        told: dict[str, Any],
    ) -> list[AsyncCallbackManagerForLLMRun]:
        """A run for each of what a model is asked in one call; the first has `run_id`."""
        runs: list[AsyncCallbackManagerForLLMRun] = []
        for one in asked:
            run = AsyncCallbackManagerForLLMRun(**self.run_fields(run_id))
            await run.tell(*start, serialized, [one], metadata=run.metadata, **told)
            runs.append(run)
            run_id = None
        return runs

    async def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncCallbackManagerForToolRun:
        """A tool is called. `parent_run_id` is accepted for compatibility; the manager knows it."""
        run = AsyncCallbackManagerForToolRun(**self.run_fields(run_id))
        start = ("on_tool_start", "ignore_agent")
        await run.tell(
            *start, serialized or {}, input_str, inputs=inputs, metadata=run.metadata, **kwargs
        )
        return run

    async def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        run_id: UUID | None = None,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> AsyncCallbackManagerForRetrieverRun:
        """A retriever is asked. `parent_run_id` is accepted for compatibility."""
        run = AsyncCallbackManagerForRetrieverRun(**self.run_fields(run_id))
        start = ("on_retriever_start", "ignore_retriever")
        await run.tell(*start, serialized, query, metadata=run.metadata, **kwargs)
        return run

    async def on_custom_event(
        self, name: str, data: Any, run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """User code dispatched an event of its own, inside run `run_id`."""
        where = {"run_id": self.run_fields(run_id)["run_id"], "tags": self.tags}
        await ahandle_event(
            self.handlers,
            "on_custom_event",
            "ignore_custom_event",
            name,
            data,
            **where,
            metadata=self.metadata,
            **kwargs,
        )


def _child(kind: type[M], run: BaseRunManager[Any], tag: str | None) -> M:
    manager = kind(
        run.inheritable_handlers,
        run.inheritable_handlers,
        parent_run_id=run.run_id,
        tags=run.inheritable_tags,
        inheritable_tags=run.inheritable_tags,
        metadata=run.inheritable_metadata,
        inheritable_metadata=run.inheritable_metadata,
    )
    if tag is not None:
        manager.add_tags([tag], inherit=False)
    return manager


def _recast(kind: type[R], run: BaseRunManager[Any]) -> R:
    return kind(
        run_id=run.run_id,
        handlers=run.handlers,
        inheritable_handlers=run.inheritable_handlers,
        parent_run_id=run.parent_run_id,
        tags=run.tags,
        inheritable_tags=run.inheritable_tags,
        metadata=run.metadata,
        inheritable_metadata=run.inheritable_metadata,
    )


# The peer's paths of them.
_EVENTS = ("adispatch_custom_event", "dispatch_custom_event")
_GROUPS = (
    "AsyncCallbackManagerForChainGroup",
    "CallbackManagerForChainGroup",
    "atrace_as_chain_group",
    "trace_as_chain_group",
)
__getattr__ = lazily(
    __name__,
    dict.fromkeys(_EVENTS, "plait.callbacks.custom")
    | dict.fromkeys(_GROUPS, "plait.callbacks.groups")
    | {"RunManager": "plait.callbacks.events"},
)
