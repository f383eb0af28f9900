"""`BaseLLM` and `LLM`: models from text to text.

Derive from `LLM` and define `_call`; from `BaseLLM` and define `_generate` to answer many prompts
in one request.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.callbacks.inside import achunks_inside, chunks_inside, inside
from plait.chat_models.answering import to_messages
from plait.chat_models.caching import cache_of
from plait.chat_models.language import BaseLanguageModel, listening_config
from plait.chat_models.listening import arun_given, run_given
from plait.chat_models.results import Generation, GenerationChunk, LLMResult, RunInfo
from plait.errors import InvalidInputError
from plait.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_config_list,
    run_in_executor,
)

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun


class BaseLLM(BaseLanguageModel[str], init=False):
    """A model from text to text that may answer several prompts in one request.

    Define `_generate`; `_agenerate`, `_stream` and `_astream` where the provider has them.
    """

    @property
    def OutputType(self) -> Any:
        """A text."""
        return str

    _run_type = "llm"

    def __str__(self) -> str:
        return f"\033[1m{type(self).__name__}\033[0m\nParams: {dict(self._identifying_params)}"

    @abstractmethod
    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer the prompts."""

    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer the prompts; here `_generate`, on a thread."""
        manager = None if run_manager is None else run_manager.get_sync()
        return await run_in_executor(None, self._generate, prompts, stop, manager, **kwargs)

    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        """Answer a prompt in chunks. The caller tells handlers of each."""
        raise NotImplementedError(f"{type(self).__name__} does not stream.")

    async def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        """Answer a prompt in chunks; here `_stream`, each chunk made on a thread."""
        manager = None if run_manager is None else run_manager.get_sync()
        chunks = iter(self._stream(prompt, stop, manager, **kwargs))
        while (chunk := await run_in_executor(None, next, chunks, None)) is not None:
            yield chunk

    def _model_details(
        self,
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
        batch_size: int = 1,
    ) -> dict[str, Any]:
        # Arguments of a call are told for chat models only, as in the peer.
        return super()._model_details(config, stop, {}, batch_size)

    # --- what a caller calls ---

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """Answer a text, messages, or a prompt value with a text."""
        result = self.__ask([to_text(input)], stop, [ensure_config(config)], kwargs)
        return result.generations[0][0].text

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """The async twin of `invoke`."""
        result = await self.__aask([to_text(input)], stop, [ensure_config(config)], kwargs)
        return result.generations[0][0].text

    def batch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Any]:
        """Answer many inputs: all in one request, unless the config bounds how many at once."""
        if not inputs:
            return []
        configs = get_config_list(config, len(inputs))
        bound = configs[0].get("max_concurrency")
        if bound is not None or return_exceptions:
            return super().batch(inputs, config, return_exceptions=return_exceptions, **kwargs)
        stop = kwargs.pop("stop", None)
        configs = [ensure_config(its) for its in configs]
        result = self.__ask([to_text(one) for one in inputs], stop, configs, kwargs)
        return [candidates[0].text for candidates in result.generations]

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Any]:
        """The async twin of `batch`."""
        if not inputs:
            return []
        configs = get_config_list(config, len(inputs))
        bound = configs[0].get("max_concurrency")
        if bound is not None or return_exceptions:
            return await super().abatch(
                inputs, config, return_exceptions=return_exceptions, **kwargs
            )
        stop = kwargs.pop("stop", None)
        configs = [ensure_config(its) for its in configs]
        result = await self.__aask([to_text(one) for one in inputs], stop, configs, kwargs)
        return [candidates[0].text for candidates in result.generations]

    def stream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[str]:
        """Yield the answer in pieces; a model without `_stream` yields it whole."""
        if type(self)._stream is BaseLLM._stream:
            yield self.invoke(input, config, stop=stop, **kwargs)
            return
        from plait.callbacks.manager import CallbackManager  # loads with the first listener

        prompt, config = to_text(input), ensure_config(config)
        run = None
        if self._is_heard(config):
            (run,) = self._model_manager(CallbackManager, config, stop, kwargs).on_llm_start(
                self._serialized(),
                [prompt],
                config.get("run_id"),
                **self._model_details(config, stop, kwargs),
            )
        total: GenerationChunk | None = None
        try:
            given = run_given(self._stream, None)  # its tokens are told here
            chunks = self._stream(prompt, stop=stop, **given, **kwargs)
            for chunk in chunks_inside(run, chunks):
                total = chunk if total is None else total + chunk
                if run is not None:
                    run.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk.text
            if total is None:
                raise ValueError("No generation chunks were returned")
        except BaseException as error:
            if run is not None:
                run.on_llm_error(error, response=LLMResult([[total] if total else []]))
            raise
        if run is not None:
            run.on_llm_end(LLMResult([[total]]))

    async def astream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[str]:
        """The async twin of `stream`."""
        if type(self)._stream is BaseLLM._stream and type(self)._astream is BaseLLM._astream:
            yield await self.ainvoke(input, config, stop=stop, **kwargs)
            return
        from plait.callbacks.manager import AsyncCallbackManager  # loads with the first listener

        prompt, config = to_text(input), ensure_config(config)
        run = None
        if self._is_heard(config):
            manager = self._model_manager(AsyncCallbackManager, config, stop, kwargs)
            (run,) = await manager.on_llm_start(
                self._serialized(),
                [prompt],
                config.get("run_id"),
                **self._model_details(config, stop, kwargs),
            )
        total: GenerationChunk | None = None
        try:
            given = arun_given(self._astream, None)  # its tokens are told here
            chunks = self._astream(prompt, stop=stop, **given, **kwargs)
            async for chunk in achunks_inside(run, chunks):
                total = chunk if total is None else total + chunk
                if run is not None:
                    await run.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk.text
            if total is None:
                raise ValueError("No generation chunks were returned")
        except BaseException as error:
            if run is not None:
                await run.on_llm_error(error, response=LLMResult([[total] if total else []]))
            raise
        if run is not None:
            await run.on_llm_end(LLMResult([[total]]))

    def generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer several prompts in one request, with all candidates of each."""
        config = ensure_config(listening_config(callbacks, tags, metadata, run_name))
        return self.__ask(_texts(prompts), stop, [config] * len(prompts), kwargs)

    async def agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """The async twin of `generate`."""
        config = ensure_config(listening_config(callbacks, tags, metadata, run_name))
        return await self.__aask(_texts(prompts), stop, [config] * len(prompts), kwargs)

    def generate_prompt(
        self, prompts: Sequence[Any], stop: list[str] | None = None, callbacks: Any = None,
        **kwargs: Any,
    ) -> LLMResult:  # fmt: skip
        """`generate`, of prompt values."""
        return self.generate([p.to_string() for p in prompts], stop, callbacks, **kwargs)

    async def agenerate_prompt(
        self, prompts: Sequence[Any], stop: list[str] | None = None, callbacks: Any = None,
        **kwargs: Any,
    ) -> LLMResult:  # fmt: skip
        """The async twin of `generate_prompt`."""
        return await self.agenerate([p.to_string() for p in prompts], stop, callbacks, **kwargs)

    # --- inside ---

    def __ask(
        self,
        prompts: list[str],
        stop: list[str] | None,
        configs: Sequence[RunnableConfig],
        kwargs: dict[str, Any],
    ) -> LLMResult:
        """Answers: known ones from the cache, the others in one request that handlers hear of."""
        cache = cache_of(self)
        key = self._get_llm_string(stop, **kwargs) if cache is not None else ""
        answers = {n: cache.lookup(p, key) for n, p in enumerate(prompts)} if cache else {}
        new = [n for n in range(len(prompts)) if answers.get(n) is None]
        runs = [self.__started(prompts[n], stop, configs[n], kwargs, len(new)) for n in new]
        heard = [run for run in runs if run is not None]
        try:
            given = run_given(self._generate, heard[0] if heard else None)
            asked = [prompts[n] for n in new]
            result = LLMResult([])
            if new:
                with inside(heard[0] if heard else None):
                    result = self._generate(asked, stop=stop, **given, **kwargs)
        except BaseException as error:
            for run in heard:
                run.on_llm_error(error, response=LLMResult([]))
            raise
        for n, run, generations in zip(new, runs, result.generations, strict=True):
            answers[n] = generations
            if run is not None:
                run.on_llm_end(LLMResult([generations], result.llm_output))
            if cache is not None:
                cache.update(prompts[n], key, generations)
        return _united(answers, result, heard)

    async def __aask(
        self,
        prompts: list[str],
        stop: list[str] | None,
        configs: Sequence[RunnableConfig],
        kwargs: dict[str, Any],
    ) -> LLMResult:
        """The async twin of `__ask`."""
        cache = cache_of(self)
        key = self._get_llm_string(stop, **kwargs) if cache is not None else ""
        answers = {n: await cache.alookup(p, key) for n, p in enumerate(prompts)} if cache else {}
        new = [n for n in range(len(prompts)) if answers.get(n) is None]
        runs = [await self.__astarted(prompts[n], stop, configs[n], kwargs, len(new)) for n in new]
        heard = [run for run in runs if run is not None]
        try:
            given = arun_given(self._agenerate, heard[0] if heard else None)
            asked = [prompts[n] for n in new]
            result = LLMResult([])
            if new:
                with inside(heard[0] if heard else None):
                    result = await self._agenerate(asked, stop=stop, **given, **kwargs)
        except BaseException as error:
            for run in heard:
                await run.on_llm_error(error, response=LLMResult([]))
            raise
        for n, run, generations in zip(new, runs, result.generations, strict=True):
            answers[n] = generations
            if run is not None:
                await run.on_llm_end(LLMResult([generations], result.llm_output))
            if cache is not None:
                await cache.aupdate(prompts[n], key, generations)
        return _united(answers, result, heard)

    def __started(
        self,
        prompt: str,
        stop: list[str] | None,
        config: RunnableConfig,
        kwargs: dict[str, Any],
        count: int,
    ) -> Any:
        if not self._is_heard(config):
            return None
        from plait.callbacks.manager import CallbackManager  # loads with the first listener

        details = self._model_details(config, stop, kwargs, count)
        manager = self._model_manager(CallbackManager, config, stop, kwargs)
        return manager.on_llm_start(self._serialized(), [prompt], config.get("run_id"), **details)[
            0
        ]

    async def __astarted(
        self,
        prompt: str,
        stop: list[str] | None,
        config: RunnableConfig,
        kwargs: dict[str, Any],
        count: int,
    ) -> Any:
        if not self._is_heard(config):
            return None
        from plait.callbacks.manager import AsyncCallbackManager  # loads with the first listener

        details = self._model_details(config, stop, kwargs, count)
        manager = self._model_manager(AsyncCallbackManager, config, stop, kwargs)
        runs = await manager.on_llm_start(
            self._serialized(), [prompt], config.get("run_id"), **details
        )
        return runs[0]


class LLM(BaseLLM, init=False):
    """Define `_call`, which answers a text with a text, and have a model.

    >>> class Reverse(LLM):
    ...     def _call(self, prompt, stop=None, run_manager=None, **kwargs):
    ...         return prompt[::-1]
    >>> Reverse().invoke("abc")
    'cba'
    """

    @abstractmethod
    def _call(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> str:
        """Answer one prompt."""

    async def _acall(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> str:
        """Answer one prompt; here `_call`, on a thread."""
        manager = None if run_manager is None else run_manager.get_sync()
        return await run_in_executor(None, self._call, prompt, stop, manager, **kwargs)

    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> LLMResult:
        given = run_given(self._call, run_manager)
        answers = [self._call(prompt, stop=stop, **given, **kwargs) for prompt in prompts]
        return LLMResult([[Generation(answer)] for answer in answers])

    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> LLMResult:
        given = arun_given(self._acall, run_manager)
        answers = [await self._acall(prompt, stop=stop, **given, **kwargs) for prompt in prompts]
        return LLMResult([[Generation(answer)] for answer in answers])


def to_text(input: Any) -> str:
    """The text that a model is asked with: of a text, messages, a prompt value.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(input, str):
        return input
    if callable(getattr(input, "to_string", None)):
        return input.to_string()
    from plait.messages.buffer import get_buffer_string  # few text models are asked with messages

    return get_buffer_string(to_messages(input))


def _texts(prompts: Any) -> list[str]:
    if not isinstance(prompts, list):
        raise InvalidPromptsError(
            "Argument 'prompts' is expected to be of type list[str], received argument of type "
            f"{type(prompts)}. Put a single prompt into a list, or call invoke()."
        )
    return cast("list[str]", prompts)


class InvalidPromptsError(InvalidInputError, ValueError):
    """`generate` was given something else than a list of prompts."""


def _united(answers: dict[int, Any], result: LLMResult, heard: list[Any]) -> LLMResult:
    runs = [RunInfo(run.run_id) for run in heard] or None
    return LLMResult([answers[n] for n in sorted(answers)], result.llm_output, runs)


__all__ = ["LLM", "BaseLLM", "InvalidPromptsError"]
