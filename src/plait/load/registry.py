"""What may be made from written data: a closed list of classes that are data, by their ids."""

from importlib import import_module
from typing import Any

_NAMESPACE = ["langchain", "schema", "messages"]


def message_classes() -> dict[tuple[str, ...], Any]:
    """Id to message class."""
    from plait import messages  # the data may hold none

    names = [
        *("AIMessage", "AIMessageChunk", "HumanMessage", "HumanMessageChunk", "SystemMessage"),
        *("SystemMessageChunk", "ToolMessage", "ToolMessageChunk", "ChatMessage"),
        *("ChatMessageChunk", "FunctionMessage", "RemoveMessage"),
    ]
    return {
        (*_NAMESPACE, name): getattr(messages, name) for name in names if hasattr(messages, name)
    }


_DATA = {
    "plait.documents": ("Document",),
    "plait.prompt_values": (
        *("ChatPromptValue", "ChatPromptValueConcrete", "ImagePromptValue", "StringPromptValue"),
    ),
    "plait.prompts": (
        *("AIMessagePromptTemplate", "ChatMessagePromptTemplate", "ChatPromptTemplate"),
        *("FewShotPromptWithTemplates", "HumanMessagePromptTemplate", "MessagesPlaceholder"),
        *("PromptTemplate", "SystemMessagePromptTemplate"),
    ),
    "plait.prompts.dict": ("DictPromptTemplate",),
    "plait.prompts.image": ("ImagePromptTemplate",),
    "plait.prompts.structured": ("StructuredPrompt",),
    "plait.output_parsers": ("CommaSeparatedListOutputParser", "StrOutputParser"),
    "plait.outputs": ("ChatGeneration", "ChatGenerationChunk", "Generation", "GenerationChunk"),
    "plait.agents.actions": ("AgentAction", "AgentActionMessageLog", "AgentFinish"),
}
"""Modules and their classes that are data: making one runs no code that the data could choose."""


def data_classes() -> dict[tuple[str, ...], Any]:
    """Id to class: messages, documents, prompts, and what models and agents say."""
    found = message_classes()
    for module, names in _DATA.items():
        for name in names:
            kind = getattr(import_module(module), name)
            found[tuple(kind.lc_id())] = kind
    return found


def id_of_message(thing: Any) -> tuple[list[str], dict[str, Any]] | None:
    """The id and the constructor arguments of a message; None if it is none."""
    from plait.messages import BaseMessage  # the data may hold none

    if not isinstance(thing, BaseMessage):
        return None
    fields = ("content", "additional_kwargs", "response_metadata", "type", "name", "id")
    more = ("tool_calls", "invalid_tool_calls", "usage_metadata", "tool_call_chunks")
    rest = ("tool_call_id", "status", "artifact", "role", "chunk_position")
    kwargs: dict[str, Any] = {}
    for name in (*fields, *more, *rest):
        value = getattr(thing, name, None)
        is_said = name in ("content", "type", "tool_calls", "invalid_tool_calls")
        if value is not None and (value or is_said):
            kwargs[name] = value
    return [*_NAMESPACE, type(thing).__name__], kwargs
