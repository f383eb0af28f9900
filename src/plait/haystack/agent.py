"""`Agent`: Haystack's component-style agent, as a graph on plait's engine."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from plait.errors import ConfigError, InvalidInputError, InvalidValueError, nearest
from plait.haystack.breakpoints import (
    AgentBreakpoint,
    AgentSnapshot,
    PipelineSnapshot,
    ToolBreakpoint,
)
from plait.haystack.components import (
    component_to_dict,
    default_to_dict,
    deserialize_chatgenerator_inplace,
    reading_component,
)
from plait.haystack.errors import ComponentError
from plait.haystack.generators import ChatModelGenerator, as_generator
from plait.haystack.guests import own, own_messages, own_tools, worker_of
from plait.haystack.invoker import ToolInvoker, refuse_policies
from plait.haystack.loop import NO_VISITS, REPLIES, VISITS, Loop, Run
from plait.haystack.messages import ChatMessage, ChatRole
from plait.haystack.open_calls import interrupted_answers
from plait.haystack.registry import remember
from plait.haystack.snapshots import restore
from plait.haystack.sockets import HaystackComponent, in_kind, refuse_pipeline_breakpoint
from plait.haystack.state import check_schema, complete_schema, read_schema, write_schema
from plait.haystack.streaming import StreamingCallbackT, select_streaming_callback
from plait.haystack.tools import (
    Tool,
    Toolset,
    ToolsType,
    check_names,
    flatten_tools_or_toolsets,
    read_parameters,
    warm_up_tools,
    write_parameters,
)
from plait.types import Command, Overwrite

if TYPE_CHECKING:
    from plait.graph.state import CompiledStateGraph
    from plait.runnables.config import ConfigLike

log = logging.getLogger(__name__)


class Agent(HaystackComponent):
    """A model that calls tools until it has an answer, or has called a tool that ends the run.

    Args:
        chat_generator: What is asked: a chat generator (one of plait's, of Haystack's, or any
            object whose `run` takes messages and tools), a chat model, or "provider:name".
        tools: What the model may call.
        system_prompt: What it is told first.
        exit_conditions: "text": an answer without tool calls; names of tools: such a tool has run
            without an error. By default `["text"]`; an answer without tool calls always ends.
        state_schema: What the agent and its tools share (see `State`).
        max_agent_steps: How often the model is asked at most.
        streaming_callback: Hears answers as they come, and the results of tools.
        raise_on_tool_invocation_failure: Raise what goes wrong in tools; else the model is told.
        tool_invoker_kwargs: More arguments of the `ToolInvoker`.
        checkpointer: Keeps the threads of the agent: give runs a thread id in their `config`.
        store: Long-term memory, for tools.
        name: The name of the agent's graph.

    Raises:
        InvalidInputError: The generator takes no tools, or `max_agent_steps` is no number. (A
            TypeError.)
        InvalidValueError: An exit condition is no tool, or the schema is none. (A ValueError.)
        ComponentError: A key of the state is called like an argument of `run`.
        ToolDefinitionError: Two tools have the same name, or something is no tool.

    >>> from plait.chat_models.fake import FakeListChatModel
    >>> agent = Agent(chat_generator=FakeListChatModel(responses=["Hello."]))
    >>> agent.run([ChatMessage.from_user("Hi!")])["last_message"].text
    'Hello.'
    """

    def __init__(
        self,
        *,
        chat_generator: Any,
        tools: ToolsType | None = None,
        system_prompt: str | None = None,
        exit_conditions: list[str] | None = None,
        state_schema: dict[str, Any] | None = None,
        max_agent_steps: int = 100,
        streaming_callback: StreamingCallbackT | None = None,
        raise_on_tool_invocation_failure: bool = False,
        tool_invoker_kwargs: dict[str, Any] | None = None,
        checkpointer: Any = None,
        store: Any = None,
        name: str | None = None,
    ) -> None:
        self.chat_generator = chat_generator
        self._generator: Any = as_generator(chat_generator)
        self.tools: Any = [] if tools is None else own_tools(tools)
        flat = flatten_tools_or_toolsets(self.tools)
        check_names(flat)
        if not flat and type(self.tools) in (list, Toolset):  # another set may know them later
            log.warning(
                "This agent has no tools, so it answers by text alone. Tools that only its "
                "generator has are not run: give them to the agent (Agent(tools=[...]))."
            )
        self.exit_conditions = ["text"] if exit_conditions is None else exit_conditions
        valid = ["text", *(tool.name for tool in flat)]
        if wrong := [one for one in self.exit_conditions if one not in valid]:
            raise InvalidValueError(
                f"Invalid exit conditions provided: {wrong}. Valid exit conditions must be a subset"
                f" of {valid}: 'text', or the name of a tool."
            )
        self._given_schema = state_schema or {}
        check_schema(self._given_schema)
        _check_keys(self._given_schema)
        self._schema = complete_schema(self._given_schema)
        self.state_schema = {"messages": self._schema["messages"], **self._given_schema}
        self.system_prompt = system_prompt
        if not isinstance(cast("Any", max_agent_steps), (int, float)):
            raise InvalidInputError(f"max_agent_steps is a number, not {max_agent_steps!r:.100}.")
        self.max_agent_steps = max_agent_steps
        self.streaming_callback = streaming_callback
        if streaming_callback is not None:
            remember(streaming_callback)
        self.raise_on_tool_invocation_failure = raise_on_tool_invocation_failure
        self.tool_invoker_kwargs = tool_invoker_kwargs
        self._invoker = self._invoker_of(self.tools)
        self._checkpointer, self._store, self._name = checkpointer, store, name
        self._is_warm = False

    def __repr__(self) -> str:
        return f"Agent({type(self.chat_generator).__name__}, tools={self.tools!r:.100})"

    @cached_property
    def graph(self) -> CompiledStateGraph:
        """The agent as a graph: to stream, draw, resume, or put into another as a node.

        Its state has the keys of the agent's; its nodes are `chat_generator` and `tool_invoker`.
        """
        default = Run(self.tools, self._invoker, self.streaming_callback)
        loop = Loop(
            self._generator,
            self._schema,
            self.exit_conditions,
            self.max_agent_steps,
            self.system_prompt,
            default,
        )
        return loop.compile(self._checkpointer, self._store, self._name)

    def warm_up(self) -> None:
        """Get the generator and the tools ready, once."""
        if not self._is_warm:
            if self._must_warm_up:
                worker_of(self._generator).warm_up()
            warm_up_tools(self.tools)
            self._invoker = self._invoker_of(self.tools)  # a set may know its tools only now
            self.__dict__.pop("graph", None)
            self._is_warm = True

    @property
    def _must_warm_up(self) -> bool:
        return callable(getattr(worker_of(self._generator), "warm_up", None))

    # --- running ---------------------------------------------------------------------------------

    def run(
        self,
        messages: Sequence[ChatMessage] | Command[Any] | None,
        streaming_callback: StreamingCallbackT | None = None,
        *,
        break_point: AgentBreakpoint | None = None,
        snapshot: AgentSnapshot | PipelineSnapshot | Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
        tools: ToolsType | list[str] | None = None,
        config: ConfigLike | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Ask the model and run the tools that it calls, until the run ends.

        Args:
            messages: The conversation; with a snapshot it is not read. A `Command(resume=...)`
                answers the questions that tools have asked; None goes on with a thread whose run
                was stopped or has failed.
            streaming_callback: Instead of the agent's.
            break_point: Where to stop.
            snapshot: Where to go on, of a run that was stopped or has failed.
            system_prompt: Instead of the agent's.
            tools: Instead of the agent's; or the names of some of these.
            config: Whose `configurable["thread_id"]` says which thread, where there is a
                checkpointer; its handlers hear of the run. (A key `config` of the state comes
                before it.)
            kwargs: Values of the state.

        Returns:
            `messages`, `last_message`, and the values of the state; `__interrupt__`, if tools wait
            for a person. Messages are Haystack's own if such were given.

        Raises:
            ConfigError: The agent needs `warm_up()` before. (A RuntimeError.)
            BreakpointException: The run has come to the breakpoint.
            PipelineRuntimeError: The generator failed, or a tool whose errors are raised.
            InvalidValueError: The breakpoint, a tool or the kind of callback is wrong.
            InvalidInputError: A value is for a key that the state lacks, or comes with a Command or
                None.
        """
        config, kwargs = self._config(config, kwargs)
        run = self._prepared(streaming_callback, False, break_point, tools)
        held: Any = {}
        if self._asks_thread(messages, snapshot, config):
            held = self.graph.get_state(cast("ConfigLike", config)).values
        given = self._input(messages, snapshot, system_prompt, kwargs, held)
        return in_kind(_result(self.graph.invoke(given, config, context=run)), messages)

    async def run_async(
        self,
        messages: Sequence[ChatMessage] | Command[Any] | None,
        streaming_callback: StreamingCallbackT | None = None,
        *,
        break_point: AgentBreakpoint | None = None,
        snapshot: AgentSnapshot | PipelineSnapshot | Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
        tools: ToolsType | list[str] | None = None,
        config: ConfigLike | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The async twin of `run`: the callback is a coroutine function.

        A generator without `run_async`, and tools that are plain functions, run on threads.
        """
        config, kwargs = self._config(config, kwargs)
        run = self._prepared(streaming_callback, True, break_point, tools)
        held: Any = {}
        if self._asks_thread(messages, snapshot, config):
            held = (await self.graph.aget_state(cast("ConfigLike", config))).values
        given = self._input(messages, snapshot, system_prompt, kwargs, held)
        return in_kind(_result(await self.graph.ainvoke(given, config, context=run)), messages)

    def _config(self, config: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if config is not None and "config" in self.state_schema:
            return None, {**kwargs, "config": config}
        return config, kwargs

    def _prepared(
        self,
        streaming_callback: StreamingCallbackT | None,
        is_async: bool,
        break_point: AgentBreakpoint | None,
        tools: Any,
    ) -> Run:
        """What this run has of its own."""
        if self._must_warm_up and not self._is_warm:
            call = "run_async()" if is_async else "run()"
            raise ConfigError(
                f"The component Agent wasn't warmed up. Run 'warm_up()' before calling '{call}'."
            )
        hear = select_streaming_callback(self.streaming_callback, streaming_callback, is_async)
        chosen = self.tools if tools is None else self._chosen(own_tools(tools))
        invoker = self._invoker if tools is None else self._invoker_of(chosen)
        break_point = own(break_point, AgentBreakpoint)
        if break_point is not None:
            _check_break_point(break_point, flatten_tools_or_toolsets(chosen))
        return Run(chosen, invoker, hear, break_point)

    def _chosen(self, tools: Any) -> Any:
        """The tools of one run, some of which may be named."""
        if not hasattr(tools, "__iter__") or isinstance(tools, str):
            raise InvalidValueError(
                "tools must be a list of Tool and/or Toolset objects, a Toolset, or a list of tool "
                f"names (strings), not {tools!r:.100}."
            )
        names = [one for one in tools if isinstance(one, str)]
        if not names:
            return tools
        known = {tool.name: tool for tool in flatten_tools_or_toolsets(self.tools)}
        if not known:
            raise InvalidValueError("No tools were configured for the Agent at initialization.")
        if wrong := set(names) - set(known):
            raise InvalidValueError(
                f"The following tool names are not valid: {wrong}. Valid tool names are: "
                f"{set(known)}."
            )
        others = [one for one in tools if not isinstance(one, str)]
        return [*(known[name] for name in dict.fromkeys(names)), *others]

    def _invoker_of(self, tools: Any) -> ToolInvoker | None:
        if not flatten_tools_or_toolsets(tools):
            return None
        given: dict[str, Any] = {
            "raise_on_failure": self.raise_on_tool_invocation_failure,
            **(self.tool_invoker_kwargs or {}),
        }
        return ToolInvoker(tools, **given)

    def _asks_thread(self, messages: Any, snapshot: Any, config: Any) -> bool:
        """Whether the input depends on what the thread holds already."""
        has_thread = self._checkpointer is not None and config is not None
        return has_thread and snapshot is None and not _goes_on(messages)

    def _input(
        self,
        messages: Any,
        snapshot: Any,
        system_prompt: str | None,
        values: dict[str, Any],
        held: Mapping[str, Any],
    ) -> Any:
        """The input of the graph, whose thread holds the values `held`."""
        if unknown := [key for key in values if key not in self.state_schema]:
            refuse_pipeline_breakpoint(unknown)
            raise InvalidInputError(
                f"The agent's state has no key {unknown[0]!r}: name it in state_schema. "
                f"{nearest(unknown[0], self.state_schema)}"
            )
        if _goes_on(messages) and snapshot is None:
            if values or system_prompt is not None:
                raise InvalidInputError(
                    "A run that goes on (with a Command, or None) has its values and its prompt "
                    "from its thread. Change values by Command(update={...})."
                )
            return messages
        if snapshot is not None:
            taken = own(own(snapshot, AgentSnapshot), PipelineSnapshot)
            back = restore(taken, self.state_schema)
            said = Overwrite(back.values.get("messages", []))
            counts = {VISITS: back.visits, REPLIES: back.replies}
            return {**back.values, "messages": said, **counts}
        given = own_messages(messages)
        stored: Sequence[ChatMessage] = held.get("messages") or ()
        answers = interrupted_answers(stored, given)
        prompt = system_prompt or (None if stored else self.system_prompt)
        if prompt is not None:
            given = [ChatMessage.from_system(prompt), *given]
        if not stored and all(message.is_from(ChatRole.SYSTEM) for message in given):
            log.warning("The agent is given system messages only: there is nothing to answer.")
        return {"messages": [*answers, *given], **values, VISITS: NO_VISITS}

    # --- serialization ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As plain data, in Haystack's form.

        Raises:
            SerializationError: A part of it has no such form.
        """
        refuse_policies((self.tool_invoker_kwargs or {}).get("policies"))
        generator = self._generator
        if not isinstance(generator, ChatModelGenerator):
            generator = self.chat_generator
        return default_to_dict(
            self,
            chat_generator=component_to_dict(generator, "chat_generator"),
            **write_parameters(self.tools, self.streaming_callback),
            system_prompt=self.system_prompt,
            exit_conditions=self.exit_conditions,
            state_schema=write_schema(self._given_schema),
            max_agent_steps=self.max_agent_steps,
            raise_on_tool_invocation_failure=self.raise_on_tool_invocation_failure,
            tool_invoker_kwargs=self.tool_invoker_kwargs,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **kwargs: Any) -> Agent:
        """From plain data. What it names must be plait's or registered (`register`).

        Args:
            data: What `to_dict` gave.
            kwargs: More arguments of the agent, such as a checkpointer.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading_component(cls, data):
            init = read_parameters(data)
            deserialize_chatgenerator_inplace(init)
            init["state_schema"] = read_schema(init.get("state_schema") or {})
            return cls(**{**init, **kwargs})


_OF_RUN = frozenset(("self", "break_point", "snapshot", "system_prompt", "tools"))
"""What `run` takes for itself, so that it cannot be given to the state."""


def _check_keys(schema: Mapping[str, Any]) -> None:
    """Check that `run` can be given a value for each key of the state.

    Raises:
        ComponentError: It cannot.
    """
    if taken := sorted(_OF_RUN.intersection(schema)):
        raise ComponentError(
            f"{taken[0]!r} cannot be a key of state_schema: it is an argument of run(), which says "
            "something about the run. Give the key another name."
        )


def _goes_on(messages: Any) -> bool:
    """Whether a run goes on where its thread stands."""
    return messages is None or isinstance(messages, Command)


def _check_break_point(break_point: Any, tools: list[Tool]) -> None:
    """Check that a run can come to its breakpoint.

    Raises:
        InvalidValueError: It is none, or names a tool that there is not.
    """
    if not isinstance(break_point, AgentBreakpoint):
        raise InvalidValueError(
            f"break_point must be an AgentBreakpoint, not {break_point!r}: "
            "AgentBreakpoint('my agent', Breakpoint('chat_generator'))."
        )
    point = break_point.break_point
    named = point.tool_name if isinstance(point, ToolBreakpoint) else None
    if named is not None and named not in (tool.name for tool in tools):
        known = [tool.name for tool in tools]
        raise InvalidValueError(
            f"Tool {named!r} is not available in the agent's tools. {nearest(named, known)}"
        )


def _result(values: Any) -> dict[str, Any]:
    messages = values.get("messages")
    return {**values, "last_message": messages[-1]} if messages else dict(values)


__all__ = ["Agent"]
