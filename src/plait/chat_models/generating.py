"""`generate`: several conversations in one call, and all candidates of each in one result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plait.callbacks.inside import inside
from plait.callbacks.manager import AsyncCallbackManager, CallbackManager
from plait.chat_models.answering import message_of, so_far
from plait.chat_models.language import listening_config
from plait.chat_models.results import ChatGenerationChunk, ChatResult, LLMResult, RunInfo
from plait.runnables.config import ensure_config

if TYPE_CHECKING:
    from plait.chat_models.base import BaseChatModel


class Setup:
    """What the runs of one `generate` share."""

    def __init__(
        self, model: BaseChatModel, stop: list[str] | None, callbacks: Any, kwargs: dict[str, Any]
    ) -> None:
        names = ("tags", "metadata", "run_name")
        own = listening_config(callbacks, *(kwargs.pop(name, None) for name in names))
        self.run_id = kwargs.pop("run_id", None)
        self.config = ensure_config(own)
        self.model, self.stop, self.kwargs = model, stop, kwargs

    def details(self, count: int) -> dict[str, Any]:
        """What handlers are told of each run's start."""
        return self.model._model_details(  # pyright: ignore[reportPrivateUsage]
            self.config, self.stop, self.kwargs, batch_size=count
        )

    def manager(self, kind: Any) -> Any:
        """The manager that tells of the runs."""
        return self.model._model_manager(  # pyright: ignore[reportPrivateUsage]
            kind, self.config, self.stop, self.kwargs
        )


def generate(
    model: BaseChatModel,
    messages: Sequence[Sequence[Any]],
    stop: list[str] | None,
    callbacks: Any,
    **kwargs: Any,
) -> LLMResult:
    """`BaseChatModel.generate`."""
    setup = Setup(model, stop, callbacks, kwargs)
    asked = [list(one) for one in messages]
    runs = setup.manager(CallbackManager).on_chat_model_start(
        model._serialized(),  # pyright: ignore[reportPrivateUsage]
        asked,
        setup.run_id,
        **setup.details(len(asked)),
    )
    results: list[ChatResult] = []
    for run, one in zip(runs, asked, strict=True):
        seen: list[ChatGenerationChunk] = []
        try:
            with inside(run):
                result = model._answer_or_cached(one, stop, run, seen, kwargs)  # pyright: ignore[reportPrivateUsage]
            message_of(result, run.run_id)
        except BaseException as error:
            run.on_llm_error(error, response=so_far(seen))
            raise
        results.append(result)
    told = [LLMResult([result.generations], result.llm_output) for result in results]
    for run, one in zip(runs, told, strict=True):
        run.on_llm_end(one)
    return united(results, [run.run_id for run in runs])


async def agenerate(
    model: BaseChatModel,
    messages: Sequence[Sequence[Any]],
    stop: list[str] | None,
    callbacks: Any,
    **kwargs: Any,
) -> LLMResult:
    """`BaseChatModel.agenerate`."""
    setup = Setup(model, stop, callbacks, kwargs)
    asked = [list(one) for one in messages]
    runs = await setup.manager(AsyncCallbackManager).on_chat_model_start(
        model._serialized(),  # pyright: ignore[reportPrivateUsage]
        asked,
        setup.run_id,
        **setup.details(len(asked)),
    )

    async def answer(run: Any, one: list[Any]) -> ChatResult:
        seen: list[ChatGenerationChunk] = []
        try:
            with inside(run):
                result = await model._aanswer_or_cached(one, stop, run, seen, kwargs)  # pyright: ignore[reportPrivateUsage]
            message_of(result, run.run_id)
        except BaseException as error:
            await run.on_llm_error(error, response=so_far(seen))
            raise
        await run.on_llm_end(LLMResult([result.generations], result.llm_output))
        return result

    results = await asyncio.gather(*map(answer, runs, asked), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return united([r for r in results if isinstance(r, ChatResult)], [run.run_id for run in runs])


def united(results: Sequence[ChatResult], run_ids: Sequence[Any]) -> LLMResult:
    """One result of all, with the id of each run."""
    return LLMResult(
        [result.generations for result in results], {}, [RunInfo(run_id) for run_id in run_ids]
    )
