"""`BaseChatModel`: derive from it, define `_generate` (and `_stream`), and have a chat model.

It is a Runnable: messages in, an AIMessage out. Who listens through the config hears of start, each
token, end and error. A handler with `wants_tokens` makes an invoked model stream inside.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from plait.callbacks.context import has_listeners
from plait.fields import AnnotatedFields
from plait.chat_models.results import (
    ChatGenerationChunk,
    ChatResult,
    LLMResult,
    add_up,
    result_of_stream,
)
from plait.ids import new_id
from plait.messages import AIMessageChunk, HumanMessage, convert_to_messages
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config, run_in_executor

if TYPE_CHECKING:
    from plait.callbacks import (
        AsyncCallbackManagerForLLMRun,
        BaseCallbackManager,
        CallbackManagerForLLMRun,
    )

M = TypeVar("M", bound="BaseCallbackManager")


class BaseChatModel(AnnotatedFields, Runnable[Any, Any]):
    """A chat model. Annotated fields of a subclass are its keyword arguments.

    Define `_generate` and `_llm_type`; define `_stream` to stream; `_agenerate` and `_astream` to
    do either without a thread.

    Args:
        name: The name that handlers see.
        callbacks: Handlers that hear this model's own runs.
        tags: Tags of this model's runs.
        metadata: Metadata of this model's runs.
        disable_streaming: Never stream inside (`"tool_calling"`: not when called with tools).

    >>> from plait.chat_models import ChatGeneration
    >>> from plait.messages import AIMessage
    >>> class Echo(BaseChatModel):
    ...     suffix: str = "!"
    ...     def _generate(self, messages, stop=None, run_manager=None, **kwargs):
    ...         text = messages[-1].content + self.suffix
    ...         return ChatResult([ChatGeneration(AIMessage(text))])
    >>> Echo(suffix="?").invoke("hi").content
    'hi?'
    """

    name: str | None = None
    callbacks: Any = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    disable_streaming: bool | Literal["tool_calling"] = False

    # --- what a subclass defines ---

    @property
    def _llm_type(self) -> str:
        """What kind of model this is, for handlers."""
        return type(self).__name__

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        """What tells this model from others of its kind, for handlers."""
        return {}

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: "CallbackManagerForLLMRun | None" = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Answer the messages."""
        raise NotImplementedError(f"{type(self).__name__} must define _generate().")

    def _stream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: "CallbackManagerForLLMRun | None" = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        """Answer the messages in chunks. The caller tells handlers of each."""
        raise NotImplementedError(f"{type(self).__name__} does not stream.")

    async def _agenerate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: "AsyncCallbackManagerForLLMRun | None" = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Answer the messages; here `_generate`, on a thread."""
        manager = None if run_manager is None else run_manager.get_sync()
        return await run_in_executor(None, self._generate, messages, stop, manager, **kwargs)

    async def _astream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: "AsyncCallbackManagerForLLMRun | None" = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Answer the messages in chunks; here `_stream`, each chunk made on a thread."""
        manager = None if run_manager is None else run_manager.get_sync()
        chunks = iter(self._stream(messages, stop, manager, **kwargs))
        while (chunk := await run_in_executor(None, next, chunks, None)) is not None:
            yield chunk

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[Any, Any]:
        """This model with tools that it may call.

        Raises:
            NotImplementedError: The model has no tools.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not take tools. Define bind_tools() in it, usually as "
            "`return self.bind(tools=<the provider's form of them>)`."
        )

    # --- what a caller calls ---

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Answer a text, messages, or a prompt value with one AIMessage."""
        messages, config = to_messages(input), ensure_config(config)
        if not self._is_heard(config):
            result = self._generate(messages, stop=stop, **kwargs)
            return _message_of(result, config.get("run_id") or new_id())
        run = self._start(messages, config, stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            if self._streams_inside(run.handlers, kwargs, "_stream"):
                for chunk in self._chunks(messages, stop, run, run.run_id, kwargs):
                    seen.append(chunk)
                result = result_of_stream(seen)
            else:
                result = self._generate(messages, stop=stop, run_manager=run, **kwargs)
            message = _message_of(result, run.run_id)
        except BaseException as error:
            run.on_llm_error(error, response=_so_far(seen))
            raise
        run.on_llm_end(LLMResult([result.generations], result.llm_output))
        return message

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The async twin of `invoke`."""
        messages, config = to_messages(input), ensure_config(config)
        if not self._is_heard(config):
            result = await self._agenerate(messages, stop=stop, **kwargs)
            return _message_of(result, config.get("run_id") or new_id())
        run = await self._astart(messages, config, stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            if self._streams_inside(run.handlers, kwargs, "_astream", "_stream"):
                async for chunk in self._achunks(messages, stop, run, run.run_id, kwargs):
                    seen.append(chunk)
                result = result_of_stream(seen)
            else:
                result = await self._agenerate(messages, stop=stop, run_manager=run, **kwargs)
            message = _message_of(result, run.run_id)
        except BaseException as error:
            await run.on_llm_error(error, response=_so_far(seen))
            raise
        await run.on_llm_end(LLMResult([result.generations], result.llm_output))
        return message

    def stream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Yield the answer as AIMessageChunks; a model without `_stream` yields it whole."""
        if not self._can_stream(kwargs, "_stream"):
            yield self.invoke(input, config, stop=stop, **kwargs)
            return
        messages, config = to_messages(input), ensure_config(config)
        if not self._is_heard(config):
            run_id = config.get("run_id") or new_id()
            for chunk in self._chunks(messages, stop, None, run_id, kwargs):
                yield chunk.message
            return
        run = self._start(messages, config, stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            for chunk in self._chunks(messages, stop, run, run.run_id, kwargs):
                seen.append(chunk)
                yield chunk.message
        except BaseException as error:
            run.on_llm_error(error, response=_so_far(seen))
            raise
        run.on_llm_end(LLMResult([[add_up(seen)]]))

    async def astream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """The async twin of `stream`."""
        if not self._can_stream(kwargs, "_astream", "_stream"):
            yield await self.ainvoke(input, config, stop=stop, **kwargs)
            return
        messages, config = to_messages(input), ensure_config(config)
        if not self._is_heard(config):
            run_id = config.get("run_id") or new_id()
            async for chunk in self._achunks(messages, stop, None, run_id, kwargs):
                yield chunk.message
            return
        run = await self._astart(messages, config, stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            async for chunk in self._achunks(messages, stop, run, run.run_id, kwargs):
                seen.append(chunk)
                yield chunk.message
        except BaseException as error:
            await run.on_llm_error(error, response=_so_far(seen))
            raise
        await run.on_llm_end(LLMResult([[add_up(seen)]]))

    # --- inside ---

    def _chunks(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "CallbackManagerForLLMRun | None",
        run_id: Any,
        kwargs: dict[str, Any],
    ) -> Iterator[ChatGenerationChunk]:
        """The chunks of `_stream`, completed, each told to `run` before it is given on."""
        last = None
        for last in self._stream(messages, stop=stop, **kwargs):
            _complete(last, run_id)
            if run is not None:
                run.on_llm_new_token(last.message.content, chunk=last)
            yield last
        if (end := _end_after(last, run_id)) is not None:
            if run is not None:
                run.on_llm_new_token("", chunk=end)
            yield end

    async def _achunks(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "AsyncCallbackManagerForLLMRun | None",
        run_id: Any,
        kwargs: dict[str, Any],
    ) -> AsyncIterator[ChatGenerationChunk]:
        """The async twin of `_chunks`."""
        last = None
        async for last in self._astream(messages, stop=stop, **kwargs):
            _complete(last, run_id)
            if run is not None:
                await run.on_llm_new_token(last.message.content, chunk=last)
            yield last
        if (end := _end_after(last, run_id)) is not None:
            if run is not None:
                await run.on_llm_new_token("", chunk=end)
            yield end

    def _can_stream(self, kwargs: Mapping[str, Any], *hooks: str) -> bool:
        if self.disable_streaming is True:
            return False
        if self.disable_streaming == "tool_calling" and kwargs.get("tools"):
            return False
        return any(getattr(type(self), hook) is not vars(BaseChatModel)[hook] for hook in hooks)

    def _streams_inside(
        self, handlers: Sequence[Any], kwargs: Mapping[str, Any], *hooks: str
    ) -> bool:
        wanted = any(getattr(handler, "wants_tokens", False) for handler in handlers)
        return wanted and self._can_stream(kwargs, *hooks)

    def _is_heard(self, config: Mapping[str, Any]) -> bool:
        return bool(self.callbacks) or has_listeners(config)

    def _start(
        self,
        messages: list[Any],
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
    ) -> "CallbackManagerForLLMRun":
        from plait.callbacks.manager import CallbackManager  # nobody listening is the common case

        manager = self._manager(CallbackManager, config, stop, kwargs)
        details = self._details(config, stop, kwargs)
        return manager.on_chat_model_start(
            self._serialized(), [messages], config.get("run_id"), **details
        )[0]

    async def _astart(
        self,
        messages: list[Any],
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
    ) -> "AsyncCallbackManagerForLLMRun":
        from plait.callbacks.manager import AsyncCallbackManager  # as in _start

        manager = self._manager(AsyncCallbackManager, config, stop, kwargs)
        details = self._details(config, stop, kwargs)
        runs = await manager.on_chat_model_start(
            self._serialized(), [messages], config.get("run_id"), **details
        )
        return runs[0]

    def _manager(
        self,
        kind: type[M],
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
    ) -> M:
        return kind.configure(
            config.get("callbacks"),
            self.callbacks,
            inheritable_tags=config.get("tags"),
            local_tags=self.tags,
            inheritable_metadata={
                **config.get("metadata", {}),
                **self._get_ls_params(stop=stop, **kwargs),
            },
            local_metadata=self.metadata,
        )

    def _details(
        self, config: RunnableConfig, stop: list[str] | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        own = {**self._identifying_params, "_type": self._llm_type}
        return {
            "invocation_params": {**own, "stop": stop, **kwargs},
            "options": {"stop": stop},
            "name": config.get("run_name"),
            "batch_size": 1,
        }

    def _serialized(self) -> dict[str, Any]:
        kind = type(self)
        return {
            "lc": 1,
            "type": "not_implemented",
            "id": [*kind.__module__.split("."), kind.__qualname__],
            "repr": repr(self),
            "name": self.get_name(),
        }

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """What tracers want to know of the model, by the field's names (`ls_model_name`, ...)."""
        provider = type(self).__name__.removeprefix("Chat").removesuffix("Chat").lower()
        found: dict[str, Any] = {"ls_provider": provider, "ls_model_type": "chat"}
        if stop:
            found["ls_stop"] = stop
        for key, names in _LS_PARAMS.items():
            for name in names:
                value = kwargs.get(name, getattr(self, name, None))
                if isinstance(value, (str, int, float)):
                    found[key] = value
                    break
        return found


_LS_PARAMS = {
    "ls_model_name": ("model", "model_name"),
    "ls_temperature": ("temperature",),
    "ls_max_tokens": ("max_tokens",),
}


def to_messages(input: Any) -> list[Any]:
    """The messages that a model is asked with: of a text, a sequence of messages, a prompt value.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(input, str):
        return [HumanMessage(input)]
    if callable(getattr(input, "to_messages", None)):
        return list(input.to_messages())
    if isinstance(input, Sequence):
        return list(convert_to_messages(cast("Sequence[Any]", input)))
    raise ValueError(
        f"Invalid input type {type(input)}. Must be a PromptValue, str, or list of BaseMessages "
        "(put a single message into a list)."
    )


def _message_of(result: ChatResult, run_id: Any) -> Any:
    """The answer: the first candidate's message, with an id and what the provider said."""
    generation = result.generations[0]
    message = generation.message
    if message.id is None:
        message.id = f"lc_run--{run_id}-0"
    told = {**(result.llm_output or {}), **(generation.generation_info or {})}
    if told:
        message.response_metadata = {**told, **message.response_metadata}
    return message


def _complete(chunk: ChatGenerationChunk, run_id: Any) -> None:
    """All chunks of a stream carry one id, and what the provider said of them."""
    message = chunk.message
    if message.id is None:
        message.id = f"lc_run--{run_id}"
    if chunk.generation_info:
        message.response_metadata = {**chunk.generation_info, **message.response_metadata}


def _end_after(last: ChatGenerationChunk | None, run_id: Any) -> ChatGenerationChunk | None:
    """An empty chunk that marks the stream's end, unless the last one does."""
    if last is None:
        raise ValueError("No generation chunks were returned")
    if getattr(last.message, "chunk_position", None) == "last":
        return None
    end = AIMessageChunk(content="", id=f"lc_run--{run_id}", chunk_position="last")
    return ChatGenerationChunk(message=end)


def _so_far(seen: list[ChatGenerationChunk]) -> LLMResult:
    return LLMResult([[add_up(seen)] if seen else []])
