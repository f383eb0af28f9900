"""The events of runs, grouped by what runs: what `BaseCallbackHandler` is made of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

SILENT = "__plait_silent__"
"""Marks events of a base class that do nothing: they need not be called."""


class LLMManagerMixin:
    """What is told of a model's run after its start."""

    def on_llm_new_token(
        self,
        token: Any,
        *,
        chunk: Any = None,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A model streamed a token: a text, or a list of content blocks (`Any`, so that handlers
        of models that only stream text may say `str`). `chunk` is the whole generation chunk."""

    def on_stream_event(
        self,
        event: dict[str, Any],
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A model that is streamed by `stream_events(version="v3")` tells of its message: that it
        began, of a piece of a content block, or that a block or the message is complete."""

    def on_llm_end(
        self, response: Any, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """A model answered; `response` is an `LLMResult`."""

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        **kwargs: Any,
    ) -> Any:
        """A model failed; `kwargs["response"]` holds what had been streamed."""


class ChainManagerMixin:
    """What is told of a chain's run after its start: of a runnable, a graph, a node."""

    def on_chain_end(
        self, outputs: Any, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """A chain ended and gave `outputs`."""

    def on_chain_error(
        self,
        error: BaseException,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        **kwargs: Any,
    ) -> Any:
        """A chain failed."""

    def on_agent_action(
        self, action: Any, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """An agent chose `action`."""

    def on_agent_finish(
        self, finish: Any, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """An agent is done."""


class ToolManagerMixin:
    """What is told of a tool's run after its start."""

    def on_tool_end(
        self, output: Any, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """A tool returned `output`."""

    def on_tool_error(
        self,
        error: BaseException,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        **kwargs: Any,
    ) -> Any:
        """A tool failed."""


class RetrieverManagerMixin:
    """What is told of a retriever's run after its start."""

    def on_retriever_end(
        self,
        documents: Sequence[Any],
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        **kwargs: Any,
    ) -> Any:
        """A retriever found `documents`."""

    def on_retriever_error(
        self,
        error: BaseException,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        **kwargs: Any,
    ) -> Any:
        """A retriever failed."""


class CallbackManagerMixin:
    """The starts of runs."""

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A chain starts with `inputs`. `serialized` may be None."""

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A chat model is asked. A handler that leaves this out gets `on_llm_start` instead."""
        raise NotImplementedError(
            f"{type(self).__name__} does not implement on_chat_model_start; "
            "on_llm_start is called instead."
        )

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A text model is asked (or a chat model, with its messages as text)."""

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A tool is called with `inputs` (`input_str` is the same as text)."""

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A retriever is asked for `query`."""


class RunManagerMixin:
    """What is told of any run."""

    def on_text(
        self, text: str, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """A run says something for people to read."""

    def on_retry(
        self,
        retry_state: Any,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        **kwargs: Any,
    ) -> Any:
        """A run is tried again."""

    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: "UUID",
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """User code dispatched an event of its own."""


__all__ = [
    "CallbackManagerMixin",
    "ChainManagerMixin",
    "LLMManagerMixin",
    "RetrieverManagerMixin",
    "RunManagerMixin",
    "ToolManagerMixin",
]
