"""Handlers: what a user subclasses to hear the events of a run.

Event names and arguments are the field's, so that handlers written for langchain_core work here
unchanged, and need not derive from these classes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID


class BaseCallbackHandler:
    """Hears the events of runs. Override the methods of those you care about.

    Every event gets `run_id` and `parent_run_id`; start events also get `tags`, `metadata` and
    `name`. Class attributes steer delivery:

    - `raise_error`: an exception of the handler fails the run; else it is logged.
    - `run_inline`: an async manager calls the handler on the event loop, in order with the run,
      instead of on a thread.
    - `wants_tokens`: a chat model that can stream does so even when it is only invoked, so that
      the handler hears each token (`on_llm_new_token`).
    - `ignore_*`: the events of that kind are not delivered.

    >>> class Names(BaseCallbackHandler):
    ...     def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
    ...         print("start", name)
    >>> from plait.runnables import RunnableLambda
    >>> RunnableLambda(str.upper, name="shout").invoke("hi", {"callbacks": [Names()]})
    start shout
    'HI'
    """

    raise_error: bool = False
    run_inline: bool = False
    wants_tokens: bool = False
    ignore_llm: bool = False
    ignore_chat_model: bool = False
    ignore_chain: bool = False
    ignore_agent: bool = False
    ignore_retriever: bool = False
    ignore_retry: bool = False
    ignore_custom_event: bool = False

    # --- chains: runnables, graphs and their nodes ---

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: "UUID",
        parent_run_id: "UUID | None" = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A chain starts with `inputs`."""

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

    # --- models ---

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

    # --- tools and retrievers ---

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

    # --- everything else ---

    def on_agent_action(
        self, action: Any, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """An agent chose `action`."""

    def on_agent_finish(
        self, finish: Any, *, run_id: "UUID", parent_run_id: "UUID | None" = None, **kwargs: Any
    ) -> Any:
        """An agent is done."""

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


class TokenListener(BaseCallbackHandler):
    """A handler that wants tokens: models that can stream do so, langchain_core's too.

    Besides the other events it may define `on_chain_stream(chunk, *, run_id, ...)`: a run yielded a
    chunk of its output.
    """

    wants_tokens = True

    def tap_output_iter(self, run_id: "UUID", output: Any) -> Any:
        """What langchain_core knows such a handler by; the output goes on as it is."""
        return output

    def tap_output_aiter(self, run_id: "UUID", output: Any) -> Any:
        """The async twin of `tap_output_iter`."""
        return output


class AsyncCallbackHandler(BaseCallbackHandler):
    """A handler whose events are coroutines: override any method with `async def`.

    A sync run awaits them too, on an event loop of its own.
    """
