"""The middleware that the library ships, as specs of made programs configure it."""

from typing import Any

from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
    dynamic_prompt,
)

from .models import ERRORS, model_of

AT_ONCE = {"initial_delay": 0, "jitter": False}


def describe(call, state, runtime):
    return f"{call['name']} with {sorted(call['args'])}"


def when(request):
    return len(request.tool_call["args"]) > 1


def policy_of(given):
    """What `interrupt_on` says of one tool."""
    if not isinstance(given, dict):
        return given
    found = dict(given)
    if found.get("description") == "callable":
        found["description"] = describe
    if found.pop("when", None):
        found["when"] = when
    return found


def retry_options(options):
    """Options of a retry, with errors and handlers for their names."""
    found: dict[str, Any] = {**AT_ONCE, **options}
    if "retry_on" in found:
        found["retry_on"] = (
            (lambda error: "value" in str(error))
            if found["retry_on"] == "callable"
            else tuple(ERRORS[one] for one in found["retry_on"])
        )
    if found.get("on_failure") == "callable":
        found["on_failure"] = lambda error: f"failed: {error}"
    return found


def tool_error(error, request=None):
    return f"told {error}" if isinstance(error, ValueError) else None


def shipped(spec, log):
    """One middleware that the library ships."""
    kind, options = spec["kind"], dict(spec.get("options", {}))
    if kind == "model_limit":
        return ModelCallLimitMiddleware(**options)
    if kind == "tool_limit":
        return ToolCallLimitMiddleware(**options)
    if kind == "tool_retry":
        return ToolRetryMiddleware(**retry_options(options))
    if kind == "model_retry":
        return ModelRetryMiddleware(**retry_options(options))
    if kind == "fallback":
        return ModelFallbackMiddleware(*(model_of(one, log) for one in options["models"]))
    if kind == "people":
        policies = {k: policy_of(v) for k, v in options.pop("interrupt_on").items()}
        return HumanInTheLoopMiddleware(policies, **options)
    if kind == "pii":
        return PIIMiddleware(options.pop("type"), **options)
    if kind == "todo":
        return TodoListMiddleware(**options)
    if kind == "editing":
        return ContextEditingMiddleware(edits=[ClearToolUsesEdit(**options)])
    if kind == "summary":
        model = model_of(options.pop("model"), [])  # it is asked in each side's own words
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
        return SummarizationMiddleware(model, **options)
    if kind == "selector":
        model = model_of({"script": [], "answers": options.pop("answers")}, [])
        if options.get("on_parsing_failure") == "callable":
            options["on_parsing_failure"] = lambda answer: ["echo", "add"]
        return LLMToolSelectorMiddleware(model=model, **options)
    if kind == "emulator":
        return LLMToolEmulator(tools=options["tools"], model=model_of(options["model"], []))
    if kind == "tool_error":
        return ToolErrorMiddleware(tool_error, **options)
    return dynamic_prompt(lambda request: f"prompt {len(request.messages)}")
