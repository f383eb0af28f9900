# pyright: strict
"""Methods that programs override, with the signatures that guides show: each is green."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, Optional, Self, Union
from uuid import UUID

from plait.agents import AgentState
from plait.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
from plait.caches import BaseCache
from plait.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManagerForLLMRun,
    BaseCallbackHandler,
    CallbackManagerForLLMRun,
)
from plait.channels import BaseChannel
from plait.chat_history import BaseChatMessageHistory
from plait.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from plait.checkpoint.serde.base import SerializerProtocol
from plait.documents import Document
from plait.embeddings import Embeddings
from plait.language_models import BaseChatModel, LanguageModelInput
from plait.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from plait.outputs import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    GenerationChunk,
    LLMResult,
)
from plait.runnables import Runnable, RunnableConfig
from plait.runtime import Runtime
from plait.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchOp
from plait.tools import BaseTool
from plait.types import Command
from plait.vectorstores import VectorStore


class Hears(BaseCallbackHandler):
    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any: ...
    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any: ...
    def on_llm_new_token(
        self,
        token: str,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> Any: ...
    def on_llm_end(
        self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> Any:
        print(response.generations[0][0].text)

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> Any: ...
    def on_chain_start(
        self, serialized: dict[str, Any], inputs: dict[str, Any], *, run_id: UUID, **kwargs: Any
    ) -> Any: ...
    def on_chain_end(self, outputs: dict[str, Any], *, run_id: UUID, **kwargs: Any) -> Any: ...
    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any: ...
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> Any: ...
    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any
    ) -> Any: ...
    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any: ...
    @property
    def ignore_llm(self) -> bool:
        return True


class HearsAsync(AsyncCallbackHandler):
    async def on_llm_new_token(
        self,
        token: str,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None: ...
    async def on_chain_start(
        self, serialized: dict[str, Any], inputs: dict[str, Any], **kwargs: Any
    ) -> None: ...
    async def on_tool_error(self, error: BaseException, **kwargs: Any) -> None: ...


class Saver(BaseCheckpointSaver[str]):
    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        yield from ()

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        typ, data = self.serde.dumps_typed(checkpoint)
        print(typ, data, checkpoint["id"], metadata.get("source"))
        return config

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None: ...
    def delete_thread(self, thread_id: str) -> None: ...
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for one in self.list(config):
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None: ...
    def get_next_version(self, current: str | None, channel: None) -> str:
        return "1"


class Store(BaseStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        out: list[Result] = []
        for op in ops:
            if isinstance(op, GetOp):
                print(op.namespace, op.key)
            elif isinstance(op, PutOp):
                print(op.value and op.value["x"], op.index, op.ttl)
            elif isinstance(op, SearchOp):
                print(op.namespace_prefix, op.query, op.limit + 1)
            out.append(None)
        return out

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.batch(ops)


class Model(BaseChatModel):
    client: Any = None

    @property
    def _llm_type(self) -> str:
        return "x"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage("x"), generation_info={"a": 1})],
            llm_output={"x": 1},
        )

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        chunk = ChatGenerationChunk(message=AIMessageChunk(content="x"))
        if run_manager:
            run_manager.on_llm_new_token("x", chunk=chunk)
        yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if run_manager:
            await run_manager.on_llm_new_token("x")
        yield ChatGenerationChunk(message=AIMessageChunk(content="x"))

    def bind_tools(
        self,
        tools: Sequence[Union[dict[str, Any], type, Callable[..., Any], BaseTool]],
        *,
        tool_choice: Optional[str] = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return super().bind(tools=tools, **kwargs)

    def get_num_tokens(self, text: str) -> int:
        return len(text)


class Lengths(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


class Vectors(VectorStore):
    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Optional[list[dict[str, Any]]] = None,
        *,
        ids: Optional[list[str]] = None,
        **kwargs: Any,
    ) -> list[str]:
        return []

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return []

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: Optional[list[dict[str, Any]]] = None,
        *,
        ids: Optional[list[str]] = None,
        **kwargs: Any,
    ) -> "Vectors":
        return cls()


class History(BaseChatMessageHistory):
    @property
    def messages(self) -> list[BaseMessage]:
        return []

    def add_messages(self, messages: Sequence[BaseMessage]) -> None: ...
    def clear(self) -> None: ...


class Cache(BaseCache):
    def lookup(self, prompt: str, llm_string: str) -> Any: ...
    def update(self, prompt: str, llm_string: str, return_val: Sequence[Any]) -> None: ...
    def clear(self, **kwargs: Any) -> None: ...


class Hooks(AgentMiddleware):
    def before_agent(self, state: AgentState, runtime: Runtime) -> dict[str, Any] | None: ...
    def after_model(self, state: AgentState, runtime: Runtime) -> dict[str, Any] | None: ...
    async def abefore_model(self, state: AgentState, runtime: Runtime) -> dict[str, Any] | None: ...
    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        return handler(request)

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        return handler(request)


class Total(BaseChannel[int, int, int]):
    @property
    def ValueType(self) -> type[int]:
        return int

    @property
    def UpdateType(self) -> type[int]:
        return int

    def from_checkpoint(self, checkpoint: int) -> Self:
        return self

    def update(self, values: Sequence[int]) -> bool:
        return True

    def get(self) -> int:
        return 1


text = "an embedding of one number"
assert Vectors().add_texts([text]) == []
assert Model().invoke("x").content == "x"
Store().put(("a",), "k", {"x": 1})
item: Item | None = Store().get(("a",), "k")
assert item is None
assert Saver().get_tuple({"configurable": {"thread_id": "1"}}) is None
assert History().messages == []
assert Cache().lookup("p", "m") is None
