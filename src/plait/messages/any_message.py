"""`AnyMessage`: the union of message classes, as an annotation that pydantic understands."""

from typing import Annotated

from plait.messages.ai import AIMessage, AIMessageChunk
from plait.messages.chat import ChatMessage, ChatMessageChunk
from plait.messages.function import FunctionMessage, FunctionMessageChunk
from plait.messages.human import HumanMessage, HumanMessageChunk
from plait.messages.schema import AnyMessageSchema
from plait.messages.system import SystemMessage, SystemMessageChunk
from plait.messages.tool import ToolMessage, ToolMessageChunk

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
