"""Objects of langchain_core in LangGraph's bytes, as plait's: messages, answers, prompts, agents.

LangGraph stores of a pydantic model what it dumps, so what one model holds of another is no object
there, but a dict that says its type.
"""

from __future__ import annotations

import re
from typing import Any

from plait.checkpoint.log.records import is_dict, is_list
from plait.checkpoint.serde.own import own_class
from plait.importing.calls import Call, damaged

_MODULES = re.compile(
    r"langchain(_core|_classic)?"
    r"\.(agents|documents|messages|outputs|prompt_values|prompts|schema)(\..*)?"
)
_MESSAGES = {
    "ai": "AIMessage",
    "chat": "ChatMessage",
    "function": "FunctionMessage",
    "human": "HumanMessage",
    "remove": "RemoveMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
}
_NAMES = (
    frozenset(_MESSAGES.values())
    | {f"{name}Chunk" for name in _MESSAGES.values()}
    | {"Blob", "Document"}
    | {"AgentAction", "AgentActionMessageLog", "AgentFinish", "AgentStep", "ToolAgentAction"}
    | {"ChatGeneration", "ChatGenerationChunk", "ChatResult", "Generation", "GenerationChunk"}
    | {"LLMResult", "RunInfo"}
    | {"ChatPromptValue", "ChatPromptValueConcrete", "ImagePromptValue", "StringPromptValue"}
)
_HOLDERS = frozenset({"action", "generations", "message", "message_log", "messages"})
"""Fields that hold models."""


def from_langchain(call: Call) -> Any:
    """What plait has for an object of langchain_core; None for one of any other class."""
    if call.args or call.name not in _NAMES or not _MODULES.fullmatch(call.module):
        return None
    return _made(call.name, call.kwargs)


def _made(name: str, fields: dict[str, Any]) -> Any:
    cls: Any = own_class(f"plait:{name}")
    given = {
        key: _held(value) if key in _HOLDERS else value
        for key, value in fields.items()
        if key != "type"
    }
    if name == "LLMResult" and given.get("run"):
        given["run"] = [_made("RunInfo", run) if is_dict(run) else run for run in given["run"]]
    return cls(**given)


def _held(value: Any) -> Any:
    """A model, or lists of models: made of their dumps, or as they are."""
    if is_list(value):
        return [_held(item) for item in value]
    if not is_dict(value):
        return value
    said = value.get("type")
    name = _MESSAGES.get(said, said) if type(said) is str else None
    if name not in _NAMES:
        raise damaged(f"a model of type {said!r:.80}")
    return _made(name, value)


__all__ = ["from_langchain"]
