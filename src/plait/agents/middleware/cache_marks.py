"""A request without the marks that only the cache of another provider understands.

Middleware marks requests for the prompt cache of the agent's model: `cache_control` is
Anthropic's, a `prompt_cache_key` OpenAI's and Fireworks', the header `X-Session-Affinity`
Fireworks' alone. Another provider may refuse a request for them.
"""

from collections.abc import Mapping
from typing import Any, cast

from plait.agents.middleware.requests import ModelRequest

_MARK = "cache_control"
_AROUND = ("extras", "metadata")
"""Where a block may hold the mark besides."""
_KEY = "prompt_cache_key"
_HEADERS = "extra_headers"
_AFFINITY = "x-session-affinity"
_ANTHROPIC = ("anthropic-chat", "anthropic-bedrock-chat", "anthropic-chat-vertexai")
_FIREWORKS = ("fireworks-chat",)
_TAKE_KEYS = (*_FIREWORKS, "openai-chat", "azure-openai-chat")


def request_for(model: Any, request: ModelRequest[Any]) -> ModelRequest[Any]:
    """The request with another model, and of the marks only those that it understands.

    Args:
        model: The model that is asked instead.
        request: What the model before was asked; it stays as it is.

    >>> request = ModelRequest(model=None, messages=[], model_settings={"prompt_cache_key": "1"})
    >>> request_for("a model of another provider", request).model_settings
    {}
    """
    kind: Any = getattr(model, "_llm_type", None)
    made: dict[str, Any] = {"model_settings": _settings(request.model_settings, kind)}
    if kind not in _ANTHROPIC:
        made |= {
            "system_message": _message(request.system_message),
            "messages": _each(request.messages, _message),
            "tools": _each(request.tools, _tool),
        }
    return request.override(model=model, **made)


def _settings(given: dict[str, Any], kind: Any) -> dict[str, Any]:
    left = dict(given)
    if kind not in _ANTHROPIC:
        left.pop(_MARK, None)
    if kind not in _TAKE_KEYS:
        left.pop(_KEY, None)
    headers = left.get(_HEADERS)
    if kind not in _FIREWORKS and isinstance(headers, Mapping):
        known = cast("Mapping[str, Any]", headers)
        kept = {name: value for name, value in known.items() if name.lower() != _AFFINITY}
        if kept != known:
            left[_HEADERS] = kept
            if not kept:
                del left[_HEADERS]
    return left


def _message(message: Any) -> Any:
    """A message whose blocks have no mark; itself, if none has one."""
    content = getattr(message, "content", None)
    if not isinstance(content, list):
        return message
    blocks = cast("list[Any]", content)
    made = _each(blocks, _unmarked)
    return message if made is blocks else message.model_copy(update={"content": made})


def _unmarked(given: Any) -> Any:
    """A block, or a provider's own tool, without the mark; itself, if it has none."""
    if not isinstance(given, dict):
        return given
    left = dict(cast("dict[str, Any]", given))
    found = left.pop(_MARK, None) is not None
    for name in _AROUND:
        inner = left.get(name)
        if isinstance(inner, Mapping) and _MARK in inner:
            left[name] = _without_mark(cast("Mapping[str, Any]", inner))
            found = True
    return left if found else cast("Any", given)


def _tool(given: Any) -> Any:
    extras = getattr(given, "extras", None)
    if isinstance(extras, Mapping) and _MARK in extras:
        left = _without_mark(cast("Mapping[str, Any]", extras)) or None
        return given.model_copy(update={"extras": left})
    made = _unmarked(given)
    return made if made is given or made.get("extras") != {} else {**made, "extras": None}


def _without_mark(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != _MARK}


def _each(given: list[Any], change: Any) -> list[Any]:
    """What is made of each; the list itself, if nothing changes."""
    made = [change(one) for one in given]
    return made if any(new is not old for new, old in zip(made, given, strict=True)) else given


__all__ = ["request_for"]
