"""Whether a model's provider can hold its answer to a schema: what the model says, else its name.

Few models say it (`profile`). Of those that do not, the names of the families that can are listed
here, as their providers document them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_CAN = re.compile(
    r"(?:^|[/:.])(?:"
    r"(?:gpt-4o|gpt-4\.1|gpt-5(?!\.[24]-pro)(?:\.[1-5])?|gpt-6-(?:sol|luna|astra)"
    r"|grok-4(?:\.\d+)?|grok-build)(?=$|[-:/])"
    r"|claude-(?:opus-4-[5-8]|sonnet-4-[56]|haiku-4-5|fable-5|mythos-5)"
    r"(?=(?:-\d{8})?(?:-v\d+)?(?:$|:))"
    r")"
)
_NOT_WITH_TOOLS = re.compile(r"gemini(?!-3)")
"""Gemini before 3 takes either a schema or tools."""
_NAMES = ("model_name", "model", "model_id")


def holds_to_schemas(model: Any, tools: Sequence[Any]) -> bool:
    """Whether the provider of a model can hold an answer to a schema.

    Args:
        model: The model. A `profile` that names `structured_output` counts more than its name.
        tools: What else it is given.

    >>> from plait.chat_models import init_chat_model
    >>> holds_to_schemas(init_chat_model("openai:gpt-5"), tools=[])
    True
    """
    profile: Mapping[str, Any] = getattr(model, "profile", None) or {}
    name = _name_of(model)
    said = profile.get("structured_output")
    if said is None:
        return bool(_CAN.search(name))
    return bool(said) and not (tools and _NOT_WITH_TOOLS.search(name))


def _name_of(model: Any) -> str:
    model = getattr(model, "guest", model)
    names = (getattr(model, key, None) for key in _NAMES)
    return next((one.lower() for one in names if one and isinstance(one, str)), "")


__all__ = ["holds_to_schemas"]
