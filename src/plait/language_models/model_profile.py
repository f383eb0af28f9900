"""What a chat model can do, for type checkers (`langchain_core.language_models.model_profile`)."""

from typing import TypeAlias

from typing_extensions import TypedDict


class ModelProfile(TypedDict, total=False):
    """What is known of a model: its `profile`. All keys may be missing."""

    name: str
    status: str
    release_date: str
    last_updated: str
    open_weights: bool
    max_input_tokens: int
    max_output_tokens: int
    text_inputs: bool
    image_inputs: bool
    image_url_inputs: bool
    pdf_inputs: bool
    audio_inputs: bool
    video_inputs: bool
    image_tool_message: bool
    pdf_tool_message: bool
    text_outputs: bool
    image_outputs: bool
    audio_outputs: bool
    video_outputs: bool
    reasoning_output: bool
    reasoning_effort_levels: list[str]
    reasoning_effort_default: str | None
    tool_calling: bool
    tool_choice: bool
    tool_call_streaming: bool
    mid_conversation_system_messages: bool
    mid_conversation_tools: bool
    structured_output: bool
    attachment: bool
    temperature: bool


ModelProfileRegistry: TypeAlias = dict[str, ModelProfile]
"""Profiles by the names of models."""

__all__ = ["ModelProfile", "ModelProfileRegistry"]
