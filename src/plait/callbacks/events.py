"""The events that can be told of a run that has started, once for sync and async.

`Told` is what telling gives: None when it is done on return, an awaitable when it must be awaited.
"""

from collections.abc import Awaitable, Sequence
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from plait.callbacks.dispatch import ahandle_event, handle_event
from plait.common.ids import new_id

Told = TypeVar("Told")


class BaseRunManager(Generic[Told]):
    """Tells of one run. Made by a callback manager when the run starts."""

    def __init__(
        self,
        *,
        run_id: UUID,
        handlers: list[Any],
        inheritable_handlers: list[Any],
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        inheritable_tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inheritable_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.run_id = run_id
        self.handlers = handlers
        self.inheritable_handlers = inheritable_handlers
        self.parent_run_id = parent_run_id
        self.tags = tags or []
        self.inheritable_tags = inheritable_tags or []
        self.metadata = metadata or {}
        self.inheritable_metadata = inheritable_metadata or {}

    @classmethod
    def get_noop_manager(cls) -> Self:
        """A manager that nobody hears, for code that needs one."""
        return cls(run_id=UUID(new_id()), handlers=[], inheritable_handlers=[])

    def tell(self, event: str, ignored_by: str | None, *args: Any, **kwargs: Any) -> Told:
        """Deliver any event of this run to its handlers."""
        raise NotImplementedError(f"{type(self).__name__} is neither sync nor async.")

    def on_text(self, text: str, **kwargs: Any) -> Told:
        """Say something for people to read."""
        return self.tell("on_text", None, text, **kwargs)

    def on_retry(self, retry_state: Any, **kwargs: Any) -> Told:
        """The run is tried again."""
        return self.tell("on_retry", "ignore_retry", retry_state, **kwargs)


class RunManager(BaseRunManager[None]):
    """Tells before it returns."""

    def tell(self, event: str, ignored_by: str | None, *args: Any, **kwargs: Any) -> None:
        """Deliver any event of this run to its handlers."""
        ids = {"run_id": self.run_id, "parent_run_id": self.parent_run_id, "tags": self.tags}
        handle_event(self.handlers, event, ignored_by, *args, **ids, **kwargs)


class AsyncRunManager(BaseRunManager[Awaitable[None]]):
    """Tells when awaited."""

    def tell(
        self, event: str, ignored_by: str | None, *args: Any, **kwargs: Any
    ) -> Awaitable[None]:
        """Deliver any event of this run to its handlers."""
        ids = {"run_id": self.run_id, "parent_run_id": self.parent_run_id, "tags": self.tags}
        return ahandle_event(self.handlers, event, ignored_by, *args, **ids, **kwargs)


class ChainEvents(BaseRunManager[Told]):
    """How a chain's run goes on."""

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> Told:
        """The chain ended and gave `outputs`."""
        return self.tell("on_chain_end", "ignore_chain", outputs, **kwargs)

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> Told:
        """The chain failed."""
        return self.tell("on_chain_error", "ignore_chain", error, **kwargs)

    def on_agent_action(self, action: Any, **kwargs: Any) -> Told:
        """The agent chose `action`."""
        return self.tell("on_agent_action", "ignore_agent", action, **kwargs)

    def on_agent_finish(self, finish: Any, **kwargs: Any) -> Told:
        """The agent is done."""
        return self.tell("on_agent_finish", "ignore_agent", finish, **kwargs)


class LLMEvents(BaseRunManager[Told]):
    """How a model's run goes on."""

    def on_llm_new_token(
        self, token: str | list[str | dict[str, Any]], *, chunk: Any = None, **kwargs: Any
    ) -> Told:
        """The model streamed a token; `chunk` is the whole generation chunk."""
        return self.tell("on_llm_new_token", "ignore_llm", token, chunk=chunk, **kwargs)

    def on_stream_event(self, event: dict[str, Any], **kwargs: Any) -> Told:
        """The model told of its message, in a stream of version "v3"."""
        return self.tell("on_stream_event", "ignore_llm", event, **kwargs)

    def on_llm_end(self, response: Any, **kwargs: Any) -> Told:
        """The model answered; `response` is an `LLMResult`."""
        return self.tell("on_llm_end", "ignore_llm", response, **kwargs)

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> Told:
        """The model failed."""
        return self.tell("on_llm_error", "ignore_llm", error, **kwargs)


class ToolEvents(BaseRunManager[Told]):
    """How a tool's run goes on."""

    def on_tool_end(self, output: Any, **kwargs: Any) -> Told:
        """The tool returned `output`."""
        return self.tell("on_tool_end", "ignore_agent", output, **kwargs)

    def on_tool_error(self, error: BaseException, **kwargs: Any) -> Told:
        """The tool failed."""
        return self.tell("on_tool_error", "ignore_agent", error, **kwargs)


class RetrieverEvents(BaseRunManager[Told]):
    """How a retriever's run goes on."""

    def on_retriever_end(self, documents: Sequence[Any], **kwargs: Any) -> Told:
        """The retriever found `documents`."""
        return self.tell("on_retriever_end", "ignore_retriever", documents, **kwargs)

    def on_retriever_error(self, error: BaseException, **kwargs: Any) -> Told:
        """The retriever failed."""
        return self.tell("on_retriever_error", "ignore_retriever", error, **kwargs)
