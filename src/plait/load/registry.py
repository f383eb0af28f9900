"""What may be made from written data: a closed list of classes that are data, by their ids."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

_MESSAGES = {
    "plait.messages": (
        *("AIMessage", "AIMessageChunk", "HumanMessage", "HumanMessageChunk", "SystemMessage"),
        *("SystemMessageChunk", "ToolMessage", "ToolMessageChunk", "ChatMessage"),
        *("ChatMessageChunk", "FunctionMessage", "RemoveMessage"),
    ),
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


def message_classes() -> dict[tuple[str, ...], Any]:
    """Id to message class."""
    return _by_id(_MESSAGES)


def data_classes() -> dict[tuple[str, ...], Any]:
    """Id to class: messages, documents, prompts, and what models and agents say."""
    return _by_id(_MESSAGES | _DATA)


def _by_id(named: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], Any]:
    classes = [
        getattr(import_module(module), name) for module, names in named.items() for name in names
    ]
    return {tuple(each.lc_id()): each for each in classes}
