"""`create_agent`: a model that calls tools in a loop, with middleware around its steps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Never

from plait.agents.hooks import Middleware, with_hook
from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.guests import GuestMiddleware, adopted
from plait.agents.middleware.requests import system_message_of
from plait.agents.middleware.state import AgentState
from plait.agents.model_node import ModelNode, ModelTools
from plait.agents.responses import Responses
from plait.agents.schemas import merged_schemas
from plait.agents.unknown_hooks import warn_of_unknown_hooks
from plait.agents.unknown_tools import warn_of_answers, warn_of_unknown
from plait.agents.wiring import Wiring
from plait.errors import ConfigError, DuplicateMiddlewareError, nearest
from plait.graph.state import StateGraph
from plait.messages import SystemMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.agent_history import keeps_repairs
from plait.prebuilt.agent_models import as_agent_model, refuse_other_tools
from plait.prebuilt.tool_node import ToolNode
from plait.pregel.streamed import tool_calls
from plait.runnables.config import RunnableConfig
from plait.tools.guests import each_tool

if TYPE_CHECKING:
    from plait.graph.state import CompiledStateGraph
    from plait.store.base import BaseStore

STEPS = 9_999
"""How many super-steps an agent may take unless its caller says otherwise."""

_PROMPT = "system_prompt= (one that depends on the state: the middleware `dynamic_prompt`)"

_INSTEAD = {
    "prompt": _PROMPT,
    "system_message": _PROMPT,
    "state_modifier": _PROMPT,
    "messages_modifier": _PROMPT,
    "pre_model_hook": "middleware=[...] with a function under `before_model`",
    "post_model_hook": "middleware=[...] with a function under `after_model`",
    "config_schema": "context_schema=",
    "llm": "model=",
    "memory": "checkpointer= for threads, store= for long-term memory",
}
"""Arguments of older ways to make an agent, and what does the same here."""


def create_agent(
    model: Any,
    tools: Sequence[Any] | ToolNode | None = None,
    *,
    system_prompt: str | list[Any] | SystemMessage | None = None,
    middleware: Sequence[Middleware] = (),
    response_format: Any = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = None,
    checkpointer: Any = None,
    store: "BaseStore | None" = None,
    interrupt_before: list[str] | None = None,
    interrupt_after: list[str] | None = None,
    debug: bool = False,
    name: str | None = None,
    cache: Any = None,
    transformers: Sequence[Any] | None = None,
    repair_history: bool = True,
    **unknown: Never,
) -> "CompiledStateGraph":
    """An agent: a model that calls tools, sees their results, and goes on until it has an answer.

    Args:
        model: "provider:name", or a chat model (plait's or LangChain's).
        tools: Tools, functions, and dicts of tools that the provider runs itself; or a `ToolNode`,
            with its policies, its interceptors and its way to tell of errors.
        system_prompt: What is put before the messages: a text, content blocks or a SystemMessage.
        middleware: What runs between the steps and around the calls (see `AgentMiddleware`). It may
            bring tools and keys of the state. Instances of LangChain's are taken too.
        response_format: A pydantic class, dataclass, TypedDict or JSON schema, or a strategy
            (`ToolStrategy`, `ProviderStrategy`, `AutoStrategy`) with one: the agent's last answer
            comes in this form too, under `structured_response`.
        state_schema: A state with more keys (by default `AgentState`).
        context_schema: The type of `runtime.context`.
        checkpointer: Keeps the threads of the agent.
        store: Long-term memory, for tools and middleware.
        interrupt_before: Nodes to stop before: "model", "tools", "<middleware>.before_model", ...
        interrupt_after: Nodes to stop after.
        debug: Print what happens.
        name: The agent's; it signs its messages, and is its node's name in a larger graph.
        cache: Keeps results of nodes.
        transformers: Of streams of version "v3", as in `StateGraph.compile`; those of middleware
            come before them. The agent's tool calls are always told, as `run.tool_calls`.
        repair_history: A run that was cancelled, failed or died between a tool call and its result
            leaves a call that no message answers. The next turn answers it: with the result, if the
            tool had given one, else with a ToolMessage that says it was interrupted. False: the
            model gets such a history as it is; most providers refuse it.

    Returns:
        The compiled graph.

    Raises:
        ConfigError: Something is no middleware, schema or prompt, the model has other tools bound
            to it, or a hook may jump to tools that the agent has not.
        DuplicateMiddlewareError: Two middlewares have the same name.
        ToolDefinitionError: Something is no tool.
        TypeError: There is no such argument; the message names the right one.

    >>> from plait.chat_models.fake import GenericFakeChatModel
    >>> agent = create_agent(GenericFakeChatModel(messages=iter(["Hello."])))
    >>> agent.invoke({"messages": "Hi!"})["messages"][-1].content
    'Hello.'
    """
    for key in unknown:
        raise TypeError(f"create_agent() takes no argument {key!r}. {_instead(key)}")
    middleware = _checked(middleware)
    responses = Responses(response_format)
    node, model_tools = _tools(() if tools is None else tools, middleware)
    warn_of_unknown(middleware, [*model_tools.shown, *responses.tools], isinstance(tools, ToolNode))
    warn_of_answers(middleware, responses.tools)
    model = as_agent_model(model)
    if model_tools.shown:
        refuse_other_tools(model, model_tools.shown)
    first = _system_message(system_prompt)
    schemas = merged_schemas(
        [
            *(one.state_schema for one in middleware),
            AgentState if state_schema is None else state_schema,
        ],
        responses.type(),
    )
    builder = StateGraph(
        schemas.state,
        context_schema=context_schema,
        input_schema=schemas.input,
        output_schema=schemas.output,
    )
    asking = ModelNode(
        model,
        model_tools,
        first,
        responses,
        middleware,
        name,
        repairs=repair_history,
        keeps_repairs=keeps_repairs(schemas.state),
    )
    builder.add_node("model", asking)
    if node is not None:
        builder.add_node("tools", node)
    Wiring(builder, middleware, node, responses).connect()
    compiled = builder.compile(
        checkpointer,
        cache=cache,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name,
        transformers=_transformers(middleware, transformers or ()),
    )
    config: RunnableConfig = {"recursion_limit": STEPS}
    if name:
        config["metadata"] = {"lc_agent_name": name}
    return compiled.with_config(config)


def _instead(argument: str) -> str:
    """What to write in the place of an argument that there is not."""
    if argument in _INSTEAD:
        return f"Use {_INSTEAD[argument]}."
    keywords = signature(create_agent).parameters
    return nearest(argument, [key for key in keywords if key != "unknown"])


def _transformers(middleware: Sequence[Middleware], given: Sequence[Any]) -> list[Any]:
    """What transforms the streams of the agent: each once."""
    wanted = [*(each for one in middleware for each in one.transformers), *given]
    if not any(getattr(each, "__name__", None) == "ToolCallTransformer" for each in wanted):
        wanted.insert(0, tool_calls)
    kept: list[Any] = [_subagents]
    for each in wanted:
        if each not in kept:  # not a dict's keys: what makes transformers may have no hash
            kept.append(each)
    return kept


def _subagents(scope: tuple[str, ...]) -> Any:
    from plait.stream.transformers import SubagentTransformer  # few runs are read by it

    return SubagentTransformer(scope)


def _checked(given: Sequence[Any]) -> list[Any]:
    """The middleware of an agent; what is none, or is there twice, is refused."""
    if not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"middleware is a list of middleware, not {given!r}. Write [...].")
    middleware = [adopted(one) for one in given]
    names: set[str] = set()
    for one in middleware:
        if not isinstance(one, AgentMiddleware):
            raise ConfigError(
                f"{one!r} is no middleware: give instances of AgentMiddleware, or what the "
                "decorators of plait.agents.middleware make."
            )
        who = f"Middleware {one.name!r}"
        if one.name in names:
            raise DuplicateMiddlewareError(
                f"{who} is there twice, and nodes are named after it. Remove one, or give one of "
                "them a name of its own (the property `name`)."
            )
        names.add(one.name)
        warn_of_unknown_hooks(one.guest if isinstance(one, GuestMiddleware) else one)
    return middleware


def _tools(
    given: Sequence[Any] | ToolNode, middleware: Sequence[Middleware]
) -> tuple[ToolNode | None, ModelTools]:
    """The node that runs tools, if there is need for one, and what the model is shown."""
    more, provided = _parted([tool for one in middleware for tool in one.tools])
    if isinstance(given, ToolNode):
        base = given
    else:
        own, others = _parted(each_tool(given))
        base = ToolNode(own)
        provided += others
    wraps = with_hook(middleware, "wrap_tool_call")
    if not more and not wraps and not base.tools_by_name:
        return None, ModelTools(provided, frozenset(), False)
    node = base.extended(
        more,
        _chained([one.wrap_tool_call for one in wraps]),
        _chained([one.awrap_tool_call for one in wraps]),
    )
    known = node.tools_by_name
    return node, ModelTools([*known.values(), *provided], frozenset(known), bool(wraps))


def _parted(tools: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Tools that the agent runs, and those that the provider runs itself."""
    provided: list[Any] = [one for one in tools if isinstance(one, Mapping)]
    return [one for one in tools if not isinstance(one, Mapping)], provided


def _chained(wraps: Sequence[Callable[..., Any]]) -> Callable[..., Any] | None:
    """All wrappers of tool calls as one, sync or async; the first is the outermost."""
    if not wraps:
        return None

    def run(request: Any, execute: Callable[[Any], Any]) -> Any:
        for wrap in reversed(wraps):
            execute = partial(_call, wrap, execute)
        return execute(request)

    return run


def _call(wrap: Callable[..., Any], handler: Callable[[Any], Any], request: Any) -> Any:
    return wrap(request, handler)


def _system_message(prompt: Any) -> SystemMessage | None:
    if prompt is None:
        return None
    if isinstance(prompt, str | list | tuple) or kind_of(prompt) == "system":
        return system_message_of(prompt)
    raise ConfigError(
        "system_prompt is a text, a list of content blocks or a SystemMessage, not "
        f"{prompt!r:.200}. For one that depends on the state use the middleware `dynamic_prompt`."
    )


__all__ = ["create_agent"]
