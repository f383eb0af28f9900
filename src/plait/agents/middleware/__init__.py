"""Middleware of agents: what runs between their steps and around their calls."""

from typing import TYPE_CHECKING

from plait.lazy import lazily

if TYPE_CHECKING:
    from plait.agents.middleware.context_editing import ClearToolUsesEdit, ContextEditingMiddleware
    from plait.agents.middleware.pii import PIIDetectionError, PIIMiddleware
    from plait.agents.middleware.redaction import PIIMatch, RedactionRule
    from plait.agents.middleware.todo import TodoListMiddleware
    from plait.agents.middleware.tool_emulator import LLMToolEmulator
    from plait.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ExtendedModelResponse,
        InputAgentState,
        ModelCallResult,
        ModelRequest,
        ModelResponse,
        OutputAgentState,
        ToolCallRequest,
        TracePolicy,
        after_agent,
        after_model,
        before_agent,
        before_model,
        dynamic_prompt,
        hook_config,
        omit_payload,
        wrap_model_call,
        wrap_tool_call,
    )
    from plait.runtime import Runtime

__getattr__ = lazily(
    __name__,
    {
        "AgentMiddleware": "types",
        "AgentState": "types",
        "ClearToolUsesEdit": "context_editing",
        "ContextEditingMiddleware": "context_editing",
        "ExtendedModelResponse": "types",
        "InputAgentState": "types",
        "LLMToolEmulator": "tool_emulator",
        "ModelCallResult": "types",
        "ModelRequest": "types",
        "ModelResponse": "types",
        "OutputAgentState": "types",
        "PIIDetectionError": "pii",
        "PIIMatch": "redaction",
        "PIIMiddleware": "pii",
        "RedactionRule": "redaction",
        "Runtime": "plait.runtime",
        "TodoListMiddleware": "todo",
        "ToolCallRequest": "types",
        "TracePolicy": "types",
        "after_agent": "types",
        "after_model": "types",
        "before_agent": "types",
        "before_model": "types",
        "dynamic_prompt": "types",
        "hook_config": "types",
        "omit_payload": "types",
        "wrap_model_call": "types",
        "wrap_tool_call": "types",
    },
)

__all__ = [
    "AgentMiddleware",
    "AgentState",
    "ClearToolUsesEdit",
    "ContextEditingMiddleware",
    "ExtendedModelResponse",
    "InputAgentState",
    "LLMToolEmulator",
    "ModelCallResult",
    "ModelRequest",
    "ModelResponse",
    "OutputAgentState",
    "PIIDetectionError",
    "PIIMatch",
    "PIIMiddleware",
    "RedactionRule",
    "Runtime",
    "TodoListMiddleware",
    "ToolCallRequest",
    "TracePolicy",
    "after_agent",
    "after_model",
    "before_agent",
    "before_model",
    "dynamic_prompt",
    "hook_config",
    "omit_payload",
    "wrap_model_call",
    "wrap_tool_call",
]
