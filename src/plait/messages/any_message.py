"""`AnyMessage`: the union of message classes, as an annotation that pydantic understands."""

from importlib import import_module
from typing import Annotated, Any

from plait.messages.ai import AIMessage, AIMessageChunk
from plait.messages.chat import ChatMessage, ChatMessageChunk
from plait.messages.function import FunctionMessage, FunctionMessageChunk
from plait.messages.human import HumanMessage, HumanMessageChunk
from plait.messages.system import SystemMessage, SystemMessageChunk
from plait.messages.tool import ToolMessage, ToolMessageChunk


class AnyMessageSchema:
    """The part of `AnyMessage` that tells pydantic how to pick the class of a dict."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        schema = import_module("plait.messages.schema")
        return schema.plain_schema(schema.validate_any)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        schema = import_module("plait.messages.schema")
        return {"oneOf": [schema.json_schema(cls) for cls in schema.ANY_MESSAGE]}


AnyMessage = Annotated[
    AIMessage
    | HumanMessage
    | ChatMessage
    | SystemMessage
    | FunctionMessage
    | ToolMessage
    | AIMessageChunk
    | HumanMessageChunk
    | ChatMessageChunk
    | SystemMessageChunk
    | FunctionMessageChunk
    | ToolMessageChunk,
    AnyMessageSchema(),
]
