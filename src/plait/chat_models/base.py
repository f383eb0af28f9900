"""`BaseChatModel`: derive from it, define `_generate` (and `_stream`), and have a chat model.

It is a Runnable: messages in, an AIMessage out. Who listens through the config hears of start, each
token, end and error. A handler with `wants_tokens` makes an invoked model stream inside.
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from plait.callbacks.context import finds_config
from plait.callbacks.inside import achunks_inside, chunks_inside, inside
from plait.chat_models.answering import (
    complete,
    end_after,
    for_provider,
    message_of,
    so_far,
    to_messages,
)
from plait.chat_models.caching import cache_of, known_chat, prompt_key, to_keep
from plait.chat_models.language import BaseLanguageModel
from plait.chat_models.listening import arun_given, run_given
from plait.chat_models.output_version import chunks_in_version, in_version
from plait.chat_models.projected import Projected
from plait.chat_models.results import (
    ChatGenerationChunk,
    ChatResult,
    LLMResult,
    add_up,
    result_of_stream,
)
from plait.common.ids import new_id
from plait.common.lazy import lazily
from plait.errors import ConfigError, nearest
from plait.messages import AIMessage, AIMessageChunk
from plait.objects.fields import fields_of
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config, run_in_executor

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun

_WAYS = ("method", "strict")
"""Keywords of `with_structured_output` that say how a provider is to hold to a schema."""


class BaseChatModel(Projected, BaseLanguageModel[AIMessage], init=False):
    """A chat model. Annotated fields of a subclass are its keyword arguments.

    Define `_generate` and `_llm_type`; define `_stream` to stream; `_agenerate` and `_astream` to
    do either without a thread; `bind_tools` to take tools, which gives `with_structured_output`.
    A field `streaming` of a subclass says, where it is given, whether its models stream at all
    (False), or also where an answer is asked for whole (True).

    Args:
        name: The name that handlers see.
        cache: A `BaseCache` for this model's answers (see `BaseLanguageModel`).
        callbacks: Handlers that hear this model's own runs.
        tags: Tags of this model's runs.
        metadata: Metadata of this model's runs.
        rate_limiter: Asked before each request (see `plait.rate_limiters`).
        disable_streaming: Never stream inside (`"tool_calling"`: not when called with tools).
        profile: What the model can do, as a dict: `structured_output`, `max_input_tokens`...
        output_version: "v1": the content of answers is their standard blocks. By default the
            environment variable `LC_OUTPUT_VERSION` says it.

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

    __plait_unwritten__ = ("profile", "rate_limiter")

    rate_limiter: Any = None
    disable_streaming: bool | Literal["tool_calling"] = False
    profile: Any = None
    output_version: str | None = None

    _streams_when_invoked: ClassVar[bool | None] = None
    """What was given as `streaming`, by who made the model, where a subclass has such a field."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if values.get("streaming") is not None and "streaming" in fields_of(type(self)):
            vars(self)["_streams_when_invoked"] = bool(values["streaming"])

    # --- what a subclass defines ---

    @abstractmethod
    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: "CallbackManagerForLLMRun | None" = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Answer the messages."""

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
    ) -> Runnable[Any, AIMessage]:
        """This model with tools that it may call.

        Raises:
            NotImplementedError: The model has no tools.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not take tools. Define bind_tools() in it, usually as "
            "`return self.bind(tools=<the provider's form of them>)`."
        )

    # --- what a caller calls ---

    @finds_config
    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Answer a text, messages, or a prompt value with one AIMessage."""
        messages = to_messages(input)
        if not self._is_heard_under(config):
            result = self._answer_or_cached(messages, stop, None, [], kwargs)
            return message_of(result, _run_id_of(config))
        run = self.__start(messages, ensure_config(config), stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            with inside(run):
                result = self._answer_or_cached(messages, stop, run, seen, kwargs)
            message = message_of(result, run.run_id)
        except BaseException as error:
            run.on_llm_error(error, response=so_far(seen))
            raise
        run.on_llm_end(LLMResult([result.generations], result.llm_output))
        return message

    @finds_config
    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """The async twin of `invoke`."""
        messages = to_messages(input)
        if not self._is_heard_under(config):
            result = await self._aanswer_or_cached(messages, stop, None, [], kwargs)
            return message_of(result, _run_id_of(config))
        run = await self.__astart(messages, ensure_config(config), stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            with inside(run):
                result = await self._aanswer_or_cached(messages, stop, run, seen, kwargs)
            message = message_of(result, run.run_id)
        except BaseException as error:
            await run.on_llm_error(error, response=so_far(seen))
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
    ) -> Iterator[AIMessageChunk]:
        """Yield the answer as AIMessageChunks; a model without `_stream` yields it whole."""
        if not self.__can_stream(kwargs, "_stream"):
            whole: Any = self.invoke(input, config, stop=stop, **kwargs)
            yield whole
            return
        messages, config = to_messages(input), ensure_config(config)
        if not self._is_heard(config):
            run_id = config.get("run_id") or new_id()
            for chunk in self.__chunks(messages, stop, None, run_id, kwargs):
                yield chunk.message
            return
        run = self.__start(messages, config, stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            chunks = self.__chunks(messages, stop, run, run.run_id, kwargs)
            for chunk in chunks_inside(run, chunks):
                seen.append(chunk)
                yield chunk.message
        except BaseException as error:
            run.on_llm_error(error, response=so_far(seen))
            raise
        run.on_llm_end(LLMResult([[add_up(seen)]]))

    async def astream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """The async twin of `stream`."""
        if not self.__can_stream(kwargs, "_astream", "_stream"):
            whole: Any = await self.ainvoke(input, config, stop=stop, **kwargs)
            yield whole
            return
        messages, config = to_messages(input), ensure_config(config)
        if not self._is_heard(config):
            run_id = config.get("run_id") or new_id()
            async for chunk in self.__achunks(messages, stop, None, run_id, kwargs):
                yield chunk.message
            return
        run = await self.__astart(messages, config, stop, kwargs)
        seen: list[ChatGenerationChunk] = []
        try:
            chunks = self.__achunks(messages, stop, run, run.run_id, kwargs)
            async for chunk in achunks_inside(run, chunks):
                seen.append(chunk)
                yield chunk.message
        except BaseException as error:
            await run.on_llm_error(error, response=so_far(seen))
            raise
        await run.on_llm_end(LLMResult([[add_up(seen)]]))

    def generate(
        self,
        messages: Sequence[Sequence[Any]],
        stop: list[str] | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer several conversations, one after the other, with all candidates of each.

        Args:
            messages: The conversations.
            stop: Texts at which an answer ends.
            callbacks: Handlers that hear of each.
            kwargs: `tags`, `metadata`, `run_name` and `run_id` of the runs; the rest goes to the
                model.
        """
        from plait.chat_models.generating import generate  # few programs call it

        return generate(self, messages, stop, callbacks, **kwargs)

    async def agenerate(
        self,
        messages: Sequence[Sequence[Any]],
        stop: list[str] | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> LLMResult:
        """The async twin of `generate`; all at once."""
        from plait.chat_models.generating import agenerate  # few programs call it

        return await agenerate(self, messages, stop, callbacks, **kwargs)

    def generate_prompt(
        self,
        prompts: Sequence[Any],
        stop: list[str] | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> LLMResult:
        """`generate`, of prompt values."""
        return self.generate([p.to_messages() for p in prompts], stop, callbacks, **kwargs)

    async def agenerate_prompt(
        self,
        prompts: Sequence[Any],
        stop: list[str] | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> LLMResult:
        """The async twin of `generate_prompt`."""
        return await self.agenerate([p.to_messages() for p in prompts], stop, callbacks, **kwargs)

    def with_structured_output(
        self, schema: Any, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """This model, made to answer with a value of a schema; here by a tool that it must call.

        Args:
            schema: A pydantic class (its instances come out), a TypedDict, or a JSON schema with a
                title (dicts come out).
            include_raw: Give a dict of `raw` (the message), `parsed` (None if that failed) and
                `parsing_error`, instead of the value or its error.
            kwargs: `method` and `strict`: providers know several ways; the base has this one.

        Raises:
            ConfigError: Another keyword (a ValueError, too).
            NotImplementedError: The model takes no tools.
        """
        from plait.chat_models.structured import by_tool  # few models are asked for it

        if unknown := [name for name in kwargs if name not in _WAYS]:
            raise ConfigError(
                f"{type(self).__name__}.with_structured_output() has no keyword {unknown[0]!r}. "
                f"{nearest(unknown[0], ('include_raw', *_WAYS))}"
            )
        if type(self).bind_tools is BaseChatModel.bind_tools:
            raise NotImplementedError(
                f"{type(self).__name__} takes no tools, so it cannot be made to answer in a form. "
                "Define bind_tools() in it."
            )
        return by_tool(self, schema, include_raw, tool_choice="any")

    # --- inside ---

    def _answer_or_cached(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "CallbackManagerForLLMRun | None",
        seen: list[ChatGenerationChunk],
        kwargs: dict[str, Any],
    ) -> ChatResult:
        """The answer: from the cache, else made (and kept there). Chunks of it go to `seen`."""
        cache = cache_of(self)
        if cache is None:
            result = self.__made(messages, stop, run, seen, kwargs)
            return in_version(result, self.output_version)
        key = prompt_key(messages), self._get_llm_string(stop, **kwargs)
        known = cache.lookup(*key)
        if known is not None:
            return in_version(known_chat(known), self.output_version)
        result = self.__made(messages, stop, run, seen, kwargs)
        result = in_version(result, self.output_version)
        message_of(result, new_id() if run is None else run.run_id)
        cache.update(*key, to_keep(result))
        return result

    async def _aanswer_or_cached(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "AsyncCallbackManagerForLLMRun | None",
        seen: list[ChatGenerationChunk],
        kwargs: dict[str, Any],
    ) -> ChatResult:
        """The async twin of `_answer_or_cached`."""
        cache = cache_of(self)
        if cache is None:
            result = await self.__amade(messages, stop, run, seen, kwargs)
            return in_version(result, self.output_version)
        key = prompt_key(messages), self._get_llm_string(stop, **kwargs)
        known = await cache.alookup(*key)
        if known is not None:
            return in_version(known_chat(known), self.output_version)
        result = await self.__amade(messages, stop, run, seen, kwargs)
        result = in_version(result, self.output_version)
        message_of(result, new_id() if run is None else run.run_id)
        await cache.aupdate(*key, to_keep(result))
        return result

    def __made(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "CallbackManagerForLLMRun | None",
        seen: list[ChatGenerationChunk],
        kwargs: dict[str, Any],
    ) -> ChatResult:
        """A new answer, streamed inside if somebody wants its tokens."""
        told = run is not None or self._streams_when_invoked or "stream" in kwargs
        if told and self.__streams_inside(run, kwargs, "_stream"):
            run_id = new_id() if run is None else run.run_id
            seen.extend(self.__chunks(messages, stop, run, run_id, kwargs))
            return result_of_stream(seen)
        if self.rate_limiter is not None:
            self.rate_limiter.acquire(blocking=True)
        given = run_given(self._generate, run)
        return self._generate(messages, stop=stop, **given, **for_provider(kwargs))

    async def __amade(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "AsyncCallbackManagerForLLMRun | None",
        seen: list[ChatGenerationChunk],
        kwargs: dict[str, Any],
    ) -> ChatResult:
        """The async twin of `__made`."""
        told = run is not None or self._streams_when_invoked or "stream" in kwargs
        if told and self.__streams_inside(run, kwargs, "_astream", "_stream"):
            run_id = new_id() if run is None else run.run_id
            async for chunk in self.__achunks(messages, stop, run, run_id, kwargs):
                seen.append(chunk)
            return result_of_stream(seen)
        if self.rate_limiter is not None:
            await self.rate_limiter.aacquire(blocking=True)
        given = arun_given(self._agenerate, run)
        return await self._agenerate(messages, stop=stop, **given, **for_provider(kwargs))

    def __chunks(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "CallbackManagerForLLMRun | None",
        run_id: Any,
        kwargs: dict[str, Any],
    ) -> Iterator[ChatGenerationChunk]:
        """The chunks of `_stream`, completed, each told to `run` before it is given on."""
        last = None
        form = chunks_in_version(self.output_version)
        if self.rate_limiter is not None:
            self.rate_limiter.acquire(blocking=True)
        for last in self._stream(messages, stop=stop, **for_provider(kwargs)):
            complete(last, run_id)
            form(last)
            if run is not None:
                run.on_llm_new_token(last.message.content, chunk=last)
            yield last
        if (end := end_after(last, run_id)) is not None:
            if run is not None:
                run.on_llm_new_token("", chunk=end)
            yield end

    async def __achunks(
        self,
        messages: list[Any],
        stop: list[str] | None,
        run: "AsyncCallbackManagerForLLMRun | None",
        run_id: Any,
        kwargs: dict[str, Any],
    ) -> AsyncIterator[ChatGenerationChunk]:
        """The async twin of `__chunks`."""
        last = None
        form = chunks_in_version(self.output_version)
        if self.rate_limiter is not None:
            await self.rate_limiter.aacquire(blocking=True)
        async for last in self._astream(messages, stop=stop, **for_provider(kwargs)):
            complete(last, run_id)
            form(last)
            if run is not None:
                await run.on_llm_new_token(last.message.content, chunk=last)
            yield last
        if (end := end_after(last, run_id)) is not None:
            if run is not None:
                await run.on_llm_new_token("", chunk=end)
            yield end

    def __can_stream(self, kwargs: Mapping[str, Any], *hooks: str) -> bool:
        off = self.disable_streaming
        if self._streams_when_invoked is False or (
            off and (off != "tool_calling" or kwargs.get("tools"))
        ):
            return False
        return any(getattr(type(self), hook) is not vars(BaseChatModel)[hook] for hook in hooks)

    def __streams_inside(self, run: Any, kwargs: Mapping[str, Any], *hooks: str) -> bool:
        """Whether an answer that is asked for whole is streamed: if the call or the model says so,
        or somebody who listens wants its tokens."""
        wanted = kwargs.get("stream")
        if wanted is None:
            wanted = self._streams_when_invoked or (
                run is not None
                and any(getattr(handler, "wants_tokens", False) for handler in run.handlers)
            )
        return bool(wanted) and self.__can_stream(kwargs, *hooks)

    def __start(
        self,
        messages: list[Any],
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
    ) -> "CallbackManagerForLLMRun":
        from plait.callbacks.manager import CallbackManager  # nobody listening is the common case

        manager = self._model_manager(CallbackManager, config, stop, kwargs)
        details = self._model_details(config, stop, kwargs)
        return manager.on_chat_model_start(
            self._serialized(), [messages], config.get("run_id"), **details
        )[0]

    async def __astart(
        self,
        messages: list[Any],
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
    ) -> "AsyncCallbackManagerForLLMRun":
        from plait.callbacks.manager import AsyncCallbackManager  # as in __start

        manager = self._model_manager(AsyncCallbackManager, config, stop, kwargs)
        details = self._model_details(config, stop, kwargs)
        runs = await manager.on_chat_model_start(
            self._serialized(), [messages], config.get("run_id"), **details
        )
        return runs[0]


def _run_id_of(config: RunnableConfig | None) -> Any:
    return (config.get("run_id") if config else None) or new_id()


# The peer's path of it.
__getattr__ = lazily(__name__, {"init_chat_model": "plait.chat_models.configurable"})
