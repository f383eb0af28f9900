"""Middleware of agents: what runs between their steps and around their calls."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.agents.middleware.context_editing import ClearToolUsesEdit, ContextEditingMiddleware
    from plait.agents.middleware.execution_policies import (
        CodexSandboxExecutionPolicy,
        DockerExecutionPolicy,
        HostExecutionPolicy,
    )
    from plait.agents.middleware.file_search import FilesystemFileSearchMiddleware
    from plait.agents.middleware.human_in_the_loop import (
        HumanInTheLoopMiddleware,
        InterruptOnConfig,
    )
    from plait.agents.middleware.model_call_limit import ModelCallLimitMiddleware
    from plait.agents.middleware.model_fallback import ModelFallbackMiddleware
    from plait.agents.middleware.model_retry import ModelRetryMiddleware
    from plait.agents.middleware.pii import PIIDetectionError, PIIMiddleware
    from plait.agents.middleware.provider_tool_search import ProviderToolSearchMiddleware
    from plait.agents.middleware.redaction import PIIMatch, RedactionRule
    from plait.agents.middleware.shell_tool import ShellToolMiddleware
    from plait.agents.middleware.sizes import TriggerClause
    from plait.agents.middleware.summarization import SummarizationMiddleware
    from plait.agents.middleware.todo import TodoListMiddleware
    from plait.agents.middleware.tool_call_limit import ToolCallLimitMiddleware
    from plait.agents.middleware.tool_emulator import LLMToolEmulator
    from plait.agents.middleware.tool_error import ToolErrorMiddleware
    from plait.agents.middleware.tool_retry import ToolRetryMiddleware
    from plait.agents.middleware.tool_selection import LLMToolSelectorMiddleware
    from plait.agents.middleware.tracing import configure_trace_policy
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
        "CodexSandboxExecutionPolicy": "execution_policies",
        "ContextEditingMiddleware": "context_editing",
        "DockerExecutionPolicy": "execution_policies",
        "ExtendedModelResponse": "types",
        "FilesystemFileSearchMiddleware": "file_search",
        "HostExecutionPolicy": "execution_policies",
        "HumanInTheLoopMiddleware": "human_in_the_loop",
        "InputAgentState": "types",
        "InterruptOnConfig": "human_in_the_loop",
        "LLMToolEmulator": "tool_emulator",
        "LLMToolSelectorMiddleware": "tool_selection",
        "ModelCallLimitMiddleware": "model_call_limit",
        "ModelCallResult": "types",
        "ModelFallbackMiddleware": "model_fallback",
        "ModelRequest": "types",
        "ModelResponse": "types",
        "ModelRetryMiddleware": "model_retry",
        "OutputAgentState": "types",
        "PIIDetectionError": "pii",
        "PIIMatch": "redaction",
        "PIIMiddleware": "pii",
        "ProviderToolSearchMiddleware": "provider_tool_search",
        "RedactionRule": "redaction",
        "Runtime": "plait.runtime",
        "ShellToolMiddleware": "shell_tool",
        "SummarizationMiddleware": "summarization",
        "TodoListMiddleware": "todo",
        "ToolCallLimitMiddleware": "tool_call_limit",
        "ToolCallRequest": "types",
        "ToolErrorMiddleware": "tool_error",
        "ToolRetryMiddleware": "tool_retry",
        "TracePolicy": "types",
        "TriggerClause": "sizes",
        "after_agent": "types",
        "after_model": "types",
        "before_agent": "types",
        "before_model": "types",
        "configure_trace_policy": "tracing",
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
    "CodexSandboxExecutionPolicy",
    "ContextEditingMiddleware",
    "DockerExecutionPolicy",
    "ExtendedModelResponse",
    "FilesystemFileSearchMiddleware",
    "HostExecutionPolicy",
    "HumanInTheLoopMiddleware",
    "InputAgentState",
    "InterruptOnConfig",
    "LLMToolEmulator",
    "LLMToolSelectorMiddleware",
    "ModelCallLimitMiddleware",
    "ModelCallResult",
    "ModelFallbackMiddleware",
    "ModelRequest",
    "ModelResponse",
    "ModelRetryMiddleware",
    "OutputAgentState",
    "PIIDetectionError",
    "PIIMatch",
    "PIIMiddleware",
    "ProviderToolSearchMiddleware",
    "RedactionRule",
    "Runtime",
    "ShellToolMiddleware",
    "SummarizationMiddleware",
    "TodoListMiddleware",
    "ToolCallLimitMiddleware",
    "ToolCallRequest",
    "ToolErrorMiddleware",
    "ToolRetryMiddleware",
    "TracePolicy",
    "TriggerClause",
    "after_agent",
    "after_model",
    "before_agent",
    "before_model",
    "configure_trace_policy",
    "dynamic_prompt",
    "hook_config",
    "omit_payload",
    "wrap_model_call",
    "wrap_tool_call",
]
