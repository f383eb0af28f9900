"""Agents as chains: the scratchpad, a prompt, a model, and the parser of what it says."""

from collections.abc import Callable, Sequence
from typing import Any

from plait.agents.format_scratchpad import (
    format_log_to_messages,
    format_log_to_str,
    format_to_tool_messages,
    format_xml,
)
from plait.agents.format_scratchpad.steps import Steps
from plait.agents.output_parsers import (
    JSONAgentOutputParser,
    ReActSingleInputOutputParser,
    SelfAskOutputParser,
    ToolsAgentOutputParser,
    XMLAgentOutputParser,
)
from plait.agents.output_parsers.self_ask import INTERMEDIATE_ANSWER
from plait.agents.prompts import TOOL_RESPONSE
from plait.chat_models.guests import as_chat_model
from plait.errors import ConfigError, InvalidTemplateError
from plait.runnables.base import Runnable
from plait.runnables.passthrough import RunnablePassthrough
from plait.tools import coerce_to_tool
from plait.tools.render import (
    ToolsRenderer,
    render_text_description,
    render_text_description_and_args,
)
from plait.utils.function_calling import convert_to_openai_tool

SCRATCHPAD = "agent_scratchpad"
_STOP = ["\nObservation"]
"""Where a model that writes its own observations is stopped."""


def create_tool_calling_agent(
    llm: Any,
    tools: Sequence[Any],
    prompt: Any,
    *,
    message_formatter: Callable[[Steps], list[Any]] = format_to_tool_messages,
) -> Runnable[Any, Any]:
    """An agent whose model calls tools.

    Args:
        llm: "provider:name", or a chat model.
        tools: The tools it may call.
        prompt: A chat prompt with `agent_scratchpad` in it, a placeholder for messages.
        message_formatter: From the steps to those messages.

    Returns:
        A runnable for `AgentExecutor`: inputs and `intermediate_steps` in, actions or the end out.

    Raises:
        InvalidTemplateError: The prompt has no `agent_scratchpad`.
    """
    _check(prompt, SCRATCHPAD)
    model = as_chat_model(llm).bind_tools([coerce_to_tool(one) for one in tools])
    return _filled(message_formatter) | prompt | model | ToolsAgentOutputParser()


def create_openai_tools_agent(
    llm: Any, tools: Sequence[Any], prompt: Any, strict: bool | None = None
) -> Runnable[Any, Any]:
    """`create_tool_calling_agent` with the tools in OpenAI's form.

    Args:
        llm: "provider:name", or a chat model.
        tools: The tools it may call.
        prompt: A chat prompt with `agent_scratchpad` in it.
        strict: Whether arguments have to fit the tools' schemas exactly.

    Raises:
        InvalidTemplateError: The prompt has no `agent_scratchpad`.
    """
    _check(prompt, SCRATCHPAD)
    theirs = [convert_to_openai_tool(coerce_to_tool(one), strict=strict) for one in tools]
    model = as_chat_model(llm).bind(tools=theirs)
    return _filled(format_to_tool_messages) | prompt | model | ToolsAgentOutputParser()


def create_react_agent(
    llm: Any,
    tools: Sequence[Any],
    prompt: Any,
    output_parser: Any = None,
    tools_renderer: ToolsRenderer = render_text_description,
    *,
    stop_sequence: bool | list[str] = True,
) -> Runnable[Any, Any]:
    """An agent that names its tools in text: thought, action, action input, observation.

    For models that take no tools. (`plait.prebuilt.create_react_agent` is the graph of a model
    that does.)

    Args:
        llm: "provider:name", a chat model or a text model.
        tools: The tools it may name.
        prompt: A prompt with `tools`, `tool_names` and `agent_scratchpad` in it.
        output_parser: Reads what the model says.
        tools_renderer: From the tools to the text `tools`.
        stop_sequence: Where the model is stopped: before it invents an observation (True),
            nowhere (False), or at these texts.

    Raises:
        InvalidTemplateError: The prompt lacks a variable.
    """
    prompt = _with_tools(prompt, tools, tools_renderer)
    parser = output_parser or ReActSingleInputOutputParser()
    return _filled(format_log_to_str) | prompt | _stopped(llm, stop_sequence) | parser


def create_json_chat_agent(
    llm: Any,
    tools: Sequence[Any],
    prompt: Any,
    stop_sequence: bool | list[str] = True,
    tools_renderer: ToolsRenderer = render_text_description,
    template_tool_response: str = TOOL_RESPONSE,
) -> Runnable[Any, Any]:
    """An agent that names its tools in JSON, in a conversation.

    Args:
        llm: "provider:name", or a chat model.
        tools: The tools it may name.
        prompt: A chat prompt with `tools`, `tool_names` and `agent_scratchpad` (a placeholder).
        stop_sequence: See `create_react_agent`.
        tools_renderer: From the tools to the text `tools`.
        template_tool_response: How the model is told what a tool gave; has `{observation}` in it.

    Raises:
        InvalidTemplateError: The prompt, or the template, lacks a variable.
    """
    if "{observation}" not in template_tool_response:
        raise InvalidTemplateError("template_tool_response must have {observation} in it.")
    prompt = _with_tools(prompt, tools, tools_renderer)

    def messages(steps: Steps) -> list[Any]:
        return list(format_log_to_messages(steps, template_tool_response))

    return _filled(messages) | prompt | _stopped(llm, stop_sequence) | JSONAgentOutputParser()


def create_structured_chat_agent(
    llm: Any,
    tools: Sequence[Any],
    prompt: Any,
    tools_renderer: ToolsRenderer = render_text_description_and_args,
    *,
    stop_sequence: bool | list[str] = True,
) -> Runnable[Any, Any]:
    """An agent that names its tools in JSON, for tools with several arguments.

    Args:
        llm: "provider:name", or a chat model.
        tools: The tools it may name.
        prompt: A prompt with `tools`, `tool_names` and `agent_scratchpad` (a text).
        tools_renderer: From the tools to the text `tools`.
        stop_sequence: See `create_react_agent`.

    Raises:
        InvalidTemplateError: The prompt lacks a variable.
    """
    prompt = _with_tools(prompt, tools, tools_renderer)
    model = _stopped(llm, stop_sequence)
    return _filled(format_log_to_str) | prompt | model | JSONAgentOutputParser()


def create_xml_agent(
    llm: Any,
    tools: Sequence[Any],
    prompt: Any,
    tools_renderer: ToolsRenderer = render_text_description,
    *,
    stop_sequence: bool | list[str] = True,
) -> Runnable[Any, Any]:
    """An agent that names its tools in XML: `<tool>`, `<tool_input>`, `<final_answer>`.

    Args:
        llm: "provider:name", a chat model or a text model.
        tools: The tools it may name.
        prompt: A prompt with `tools` and `agent_scratchpad` (a text) in it.
        tools_renderer: From the tools to the text `tools`.
        stop_sequence: Where the model is stopped: after its tool's input (True), nowhere (False),
            or at these texts.

    Raises:
        InvalidTemplateError: The prompt lacks a variable.
    """
    _check(prompt, "tools", SCRATCHPAD)
    prompt = prompt.partial(tools=tools_renderer([coerce_to_tool(one) for one in tools]))
    model = _stopped(llm, ["</tool_input>"] if stop_sequence is True else stop_sequence)
    return _filled(format_xml) | prompt | model | XMLAgentOutputParser()


def create_self_ask_with_search_agent(
    llm: Any, tools: Sequence[Any], prompt: Any
) -> Runnable[Any, Any]:
    """An agent that takes a question apart, and has one tool that answers the parts.

    Args:
        llm: "provider:name", a chat model or a text model.
        tools: One tool, whose name is "Intermediate Answer".
        prompt: A prompt with `agent_scratchpad` (a text) in it.

    Raises:
        InvalidTemplateError: The prompt lacks a variable.
        ConfigError: The tools are others.
    """
    _check(prompt, SCRATCHPAD)
    names = [coerce_to_tool(one).name for one in tools]
    if names != [INTERMEDIATE_ANSWER]:
        raise ConfigError(
            f"An agent that asks itself has one tool, {INTERMEDIATE_ANSWER!r}, and was given "
            f"{names}. Name yours so: tool({INTERMEDIATE_ANSWER!r})(search)."
        )

    def scratchpad(steps: Steps) -> str:
        return format_log_to_str(steps, "\nIntermediate answer: ", llm_prefix="")

    model = _stopped(llm, ["\nIntermediate answer:"])
    return _filled(scratchpad) | prompt | model | SelfAskOutputParser()


def _filled(formatter: Callable[[Steps], Any]) -> Runnable[Any, Any]:
    """The inputs, with the steps as the prompt's scratchpad."""

    def scratchpad(inputs: dict[str, Any]) -> Any:
        return formatter(inputs["intermediate_steps"])

    return RunnablePassthrough().assign(**{SCRATCHPAD: scratchpad})


def _with_tools(prompt: Any, tools: Sequence[Any], renderer: ToolsRenderer) -> Any:
    """The prompt with the texts of the tools in it."""
    _check(prompt, "tools", "tool_names", SCRATCHPAD)
    known = [coerce_to_tool(one) for one in tools]
    return prompt.partial(tools=renderer(known), tool_names=", ".join(tool.name for tool in known))


def _stopped(llm: Any, stop: bool | list[str]) -> Any:
    """The model, stopped before it goes on without its tools."""
    is_text_model = hasattr(llm, "invoke") and not hasattr(llm, "bind_tools")
    model = llm if is_text_model else as_chat_model(llm)
    return model.bind(stop=_STOP if stop is True else stop) if stop else model


def _check(prompt: Any, *names: str) -> None:
    known = {*prompt.input_variables, *prompt.partial_variables}
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidTemplateError(
            f"The agent's prompt lacks {', '.join(f'{{{name}}}' for name in missing)}. Add it, or "
            "take one of plait.agents.prompts."
        )


__all__ = [
    "create_json_chat_agent",
    "create_openai_tools_agent",
    "create_react_agent",
    "create_self_ask_with_search_agent",
    "create_structured_chat_agent",
    "create_tool_calling_agent",
    "create_xml_agent",
]
