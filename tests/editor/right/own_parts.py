from typing import Any, Iterator, List, Optional, Type

from pydantic import BaseModel, Field

from plait.callbacks import BaseCallbackHandler, CallbackManagerForLLMRun
from plait.chat_models import BaseChatModel
from plait.messages import AIMessage, AIMessageChunk, BaseMessage
from plait.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from plait.tools import BaseTool, StructuredTool


class Parrot(BaseChatModel):
    n: int = 3

    @property
    def _llm_type(self) -> str:
        return "parrot"

    def _generate(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(
            generations=[
                ChatGeneration(message=AIMessage(content=str(messages[-1].content)[: self.n]))
            ]
        )

    def _stream(
        self,
        messages: List[BaseMessage],
        stop: Optional[List[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for ch in str(messages[-1].content)[: self.n]:
            yield ChatGenerationChunk(message=AIMessageChunk(content=ch))


class In(BaseModel):
    a: int = Field(description="first")


class Calc(BaseTool):
    name: str = "Calc"
    description: str = "useful"
    args_schema: Type[BaseModel] = In

    def _run(self, a: int) -> str:
        return str(a)

    async def _arun(self, a: int) -> str:
        return str(a)


class Handler(BaseCallbackHandler):
    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        print("start")

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        print(token)

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        print("tool", output)


p = Parrot(n=4)
print(p.invoke("hello", config={"callbacks": [Handler()]}).content)
for c in p.stream("hello"):
    print(c.content)
print(Calc().invoke({"a": 1}, config={"callbacks": [Handler()]}))


def mul(a: int, b: int) -> int:
    """Multiply."""
    return a * b


t = StructuredTool.from_function(func=mul, name="mul", description="x")
print(t.invoke({"a": 1, "b": 2}))
