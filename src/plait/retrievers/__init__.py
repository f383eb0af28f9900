"""Retrievers: from a question to the documents that may answer it."""

from abc import abstractmethod
from typing import Any, TypeAlias

from plait.callbacks.context import has_listeners
from plait.callbacks.inside import inside
from plait.common.reflection import signature
from plait.documents import Document
from plait.objects.fields import AnnotatedFields
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config, run_in_executor

RetrieverInput: TypeAlias = str
RetrieverOutput: TypeAlias = list[Document]
RetrieverLike: TypeAlias = Runnable[str, list[Document]]


class BaseRetriever(AnnotatedFields, Runnable[str, list[Document]], init=False):
    """From a question to documents. Derive from it and define `_get_relevant_documents`.

    Args:
        tags: Told to handlers of its runs; `metadata` too.

    >>> class Fixed(BaseRetriever):
    ...     documents: list[Document]
    ...     def _get_relevant_documents(self, query, *, run_manager):
    ...         return [one for one in self.documents if query in one.page_content]
    >>> Fixed(documents=[Document("cats"), Document("dogs")]).invoke("cat")
    [Document(metadata={}, page_content='cats')]
    """

    name: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None

    @abstractmethod
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        """The documents for a query; may take `run_manager`."""

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        """The async twin; here the sync one, on a thread."""
        code = self._get_relevant_documents
        given = _with_run(code, run_manager.get_sync(), kwargs)
        return await run_in_executor(None, code, query, **given)

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """The documents for a query; `kwargs` go to `_get_relevant_documents`."""
        config = ensure_config(config)
        code = self._get_relevant_documents
        if not has_listeners(config):
            return code(input, **_with_run(code, None, kwargs))
        from plait.callbacks import CallbackManager  # loads asyncio; only where somebody listens

        manager = CallbackManager.configure(*self.__listeners(config))
        name = config.get("run_name") or self.get_name()
        run = manager.on_retriever_start(None, input, config.get("run_id"), name=name)
        try:
            with inside(run):
                found = code(input, **_with_run(code, run, kwargs))
        except BaseException as error:
            run.on_retriever_error(error)
            raise
        run.on_retriever_end(found)
        return found

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """The async twin of `invoke`."""
        config = ensure_config(config)
        if not has_listeners(config):
            return await self.__afind(input, None, kwargs)
        from plait.callbacks import AsyncCallbackManager  # only where somebody listens

        manager = AsyncCallbackManager.configure(*self.__listeners(config))
        name = config.get("run_name") or self.get_name()
        run = await manager.on_retriever_start(None, input, config.get("run_id"), name=name)
        try:
            with inside(run):
                found = await self.__afind(input, run, kwargs)
        except BaseException as error:
            await run.on_retriever_error(error)
            raise
        await run.on_retriever_end(found)
        return found

    async def __afind(self, query: str, run: Any, kwargs: dict[str, Any]) -> list[Document]:
        code = self._aget_relevant_documents
        return await code(query, **_with_run(code, run, kwargs, sync=False))

    def __listeners(self, config: RunnableConfig) -> tuple[Any, ...]:
        tags, metadata = config.get("tags"), config.get("metadata")
        own = {**self._get_ls_params(), **(self.metadata or {})}
        return config.get("callbacks"), None, False, tags, self.tags, metadata, own

    def _get_ls_params(self, **kwargs: Any) -> dict[str, Any]:
        """Metadata of its runs, by the field's names."""
        return {"ls_retriever_name": _short_name(self.get_name())}


def _short_name(name: str) -> str:
    """The name that the field's traces know it by: without the word Retriever, in lower case."""
    return (name.removeprefix("Retriever").removesuffix("Retriever") or name).lower()


def _with_run(code: Any, run: Any, kwargs: dict[str, Any], *, sync: bool = True) -> dict[str, Any]:
    """The keywords of the code: the caller's, and the run manager where it asks for one."""
    if "run_manager" not in signature(code).parameters:
        return kwargs
    if run is None:
        from plait.callbacks import (  # loads asyncio; rarely needed
            AsyncCallbackManagerForRetrieverRun,
            CallbackManagerForRetrieverRun,
        )

        kind = CallbackManagerForRetrieverRun if sync else AsyncCallbackManagerForRetrieverRun
        run = kind.get_noop_manager()
    return {**kwargs, "run_manager": run}


__all__ = ["BaseRetriever", "RetrieverInput", "RetrieverLike", "RetrieverOutput"]
