"""The agent's loop as a graph: ask the chat generator, run the tools that it calls, ask again.

A run enters where its visits say that it stands, so a fresh run and one that goes on from a
snapshot are the same graph. When it ends, its visits are taken back, so that the next turn of a
stored thread counts anew.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import TypedDict

from plait.constants import END
from plait.errors import InvalidValueError, bubbles_up
from plait.graph.state import StateGraph
from plait.haystack.breakpoints import (
    CHAT_GENERATOR,
    TOOL_INVOKER,
    AgentBreakpoint,
    Breakpoint,
    ToolBreakpoint,
)
from plait.haystack.generators import aask, ask
from plait.haystack.guests import worker_of
from plait.haystack.invoker import ToolInvoker
from plait.haystack.messages import ChatMessage, ChatRole
from plait.haystack.open_calls import closed
from plait.haystack.snapshots import Standing, failure, stop_at
from plait.haystack.state import Schema, State
from plait.haystack.tools import ToolsType
from plait.runnables.base import Runnable
from plait.runtime import get_runtime
from plait.types import Overwrite

if TYPE_CHECKING:
    from plait.graph.state import CompiledStateGraph

log = logging.getLogger(__name__)

VISITS = "component_visits"
"""The key of the graph's state that counts how often each component has run."""
REPLIES = "chat_generator_replies"
"""The key that says how many of the last messages are the model's last replies."""
OWN_KEYS = (VISITS, REPLIES)
NO_VISITS = {CHAT_GENERATOR: 0, TOOL_INVOKER: 0}

Values = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What one run of an agent has of its own: the context of its graph."""

    tools: ToolsType
    """What the model may call."""
    invoker: ToolInvoker | None
    """What runs it; None: there are no tools."""
    streaming_callback: Any = None
    break_point: AgentBreakpoint | None = None


class Loop:
    """The nodes of an agent, and where they lead.

    Args:
        generator: The chat generator.
        schema: The schema of the state.
        exit_conditions: Tools that end the run.
        max_steps: How often the generator is asked at most.
        system_prompt: What a conversation begins with that comes to the graph by itself; one that
            comes by the agent's `run` has its prompt already, and visits.
        default: What a run has that does not say.
    """

    def __init__(
        self,
        generator: Any,
        schema: Schema,
        exit_conditions: list[str],
        max_steps: int,
        system_prompt: str | None,
        default: Run,
    ) -> None:
        if taken := [key for key in OWN_KEYS if key in schema]:
            raise InvalidValueError(
                f"StateSchema: {taken[0]!r} is the agent's own. Give the key another name."
            )
        self.generator = generator
        self.schema = schema
        self.exits = frozenset(exit_conditions) - {"text"}
        self.max_steps = max_steps
        self.prompt = None if system_prompt is None else ChatMessage.from_system(system_prompt)
        self.default = default

    def compile(self, checkpointer: Any, store: Any, name: str | None) -> CompiledStateGraph:
        """The graph."""
        keys: dict[str, Any] = {key: entry["type"] for key, entry in self.schema.items()}
        keys["messages"] = Annotated[list[ChatMessage], self.schema["messages"]["handler"]]
        make: Any = TypedDict  # its keys are known only here
        shown = make("AgentState", keys, total=False)
        whole = make("AgentRun", {**keys, VISITS: dict[str, int], REPLIES: int}, total=False)
        builder = StateGraph(whole, output_schema=shown)
        builder.add_node(CHAT_GENERATOR, _Node(CHAT_GENERATOR, self._ask, self._aask))
        builder.add_node(TOOL_INVOKER, _Node(TOOL_INVOKER, self._act, self._aact))
        builder.set_conditional_entry_point(self.enter, [CHAT_GENERATOR, TOOL_INVOKER])
        builder.add_conditional_edges(CHAT_GENERATOR, self.after_asking, [TOOL_INVOKER, END])
        builder.add_conditional_edges(TOOL_INVOKER, self.after_tools, [CHAT_GENERATOR, END])
        graph: Any = builder.compile(checkpointer, store=store, name=name)
        return graph.with_config(recursion_limit=2 * max(self.max_steps, 0) + 2)

    # --- routes ----------------------------------------------------------------------------------

    def enter(self, state: Values) -> str:
        """To where the run stands: its tools, if the model has called some that have not run."""
        called = state.get("messages", [])[-state.get(REPLIES, 1) :]
        is_due = _has_called(state) and any(message.tool_calls for message in called)
        return TOOL_INVOKER if is_due else CHAT_GENERATOR

    def after_asking(self, state: Values) -> str:
        """To the tools, unless the run has ended."""
        return END if state[VISITS] == NO_VISITS else TOOL_INVOKER

    def after_tools(self, state: Values) -> str:
        """Back to the generator, unless the run has ended."""
        return END if state[VISITS] == NO_VISITS else CHAT_GENERATOR

    # --- the chat generator ----------------------------------------------------------------------

    def _ask(self, values: Values) -> Values:
        run, here = self._standing(values, CHAT_GENERATOR)
        if _is_answered(values) or self._is_out_of_steps(here):
            return {VISITS: NO_VISITS}
        with self._entered(run, here):
            replies = ask(self.generator, here.messages, run.tools, run.streaming_callback)
        return self._said(run, here, values, replies)

    async def _aask(self, values: Values) -> Values:
        run, here = self._standing(values, CHAT_GENERATOR)
        if _is_answered(values) or self._is_out_of_steps(here):
            return {VISITS: NO_VISITS}
        with self._entered(run, here):
            replies = await aask(self.generator, here.messages, run.tools, run.streaming_callback)
        return self._said(run, here, values, replies)

    def _said(self, run: Run, here: Standing, values: Values, replies: list[ChatMessage]) -> Values:
        said: Any = replies
        if len(here.messages) > len(values.get("messages", ())):  # a prompt, answers have come in
            said = Overwrite([*here.messages, *replies])
        calls = run.invoker is not None and any(reply.tool_calls for reply in replies)
        if not calls:
            return {"messages": said, VISITS: NO_VISITS}
        return {"messages": said, VISITS: _visited(here), REPLIES: len(replies)}

    # --- the tools -------------------------------------------------------------------------------

    def _act(self, values: Values) -> Values:
        run, here = self._standing(values, TOOL_INVOKER)
        state = _Recorded(self.schema, dict(here.state.data))
        with self._entered(run, here):
            done = _invoker(run).run(here.called, state, run.streaming_callback)
        return self._acted(here, state, done["tool_messages"])

    async def _aact(self, values: Values) -> Values:
        run, here = self._standing(values, TOOL_INVOKER)
        state = _Recorded(self.schema, dict(here.state.data))
        with self._entered(run, here):
            done = await _invoker(run).run_async(here.called, state, run.streaming_callback)
        return self._acted(here, state, done["tool_messages"])

    def _acted(self, here: Standing, state: _Recorded, answers: list[ChatMessage]) -> Values:
        ends = self._exits(here.called, answers) or self._is_out_of_steps(here)
        return {**state.changes(answers), VISITS: NO_VISITS if ends else _visited(here)}

    def _is_out_of_steps(self, here: Standing) -> bool:
        """Whether the generator may not be asked again."""
        if here.visits[CHAT_GENERATOR] < self.max_steps:
            return False
        log.warning("The agent stops: it has taken its %d steps (max_agent_steps).", self.max_steps)
        return True

    def _exits(self, called: list[ChatMessage], answers: list[ChatMessage]) -> bool:
        """Whether a tool was called that ends the run, and did not fail."""
        asked = {call.tool_name for message in called for call in message.tool_calls}
        results = [result for message in answers for result in message.tool_call_results]
        failed = {result.origin.tool_name for result in results if result.error}
        return bool((asked & self.exits) - failed)

    # --- both ------------------------------------------------------------------------------------

    def _standing(self, values: Values, component: str) -> tuple[Run, Standing]:
        context: Any = get_runtime(Run).context
        run = context if isinstance(context, Run) else self.default
        data = {key: value for key, value in values.items() if key not in OWN_KEYS}
        messages: list[ChatMessage] = data.get("messages", [])
        visits = values.get(VISITS, NO_VISITS)
        if self.prompt is not None and VISITS not in values and self.prompt not in messages:
            messages = data["messages"] = [self.prompt, *messages]
        if component == CHAT_GENERATOR and _has_called(values):  # a message came instead
            messages, visits = closed(messages), NO_VISITS
            data["messages"] = messages
        called = messages[-values.get(REPLIES, 1) :] if component == TOOL_INVOKER else []
        state = State.of(self.schema, data)
        return run, Standing(component, state, visits, called, run.tools, run.streaming_callback)

    @contextmanager
    def _entered(self, run: Run, here: Standing) -> Generator[None]:
        """Stop if the run's breakpoint is here; what the component raises inside gets its name.

        Raises:
            BreakpointException: The breakpoint is here.
            PipelineRuntimeError: The component failed.
        """
        if run.break_point is not None and _is_at(run.break_point.break_point, here):
            raise stop_at(here, run.break_point)
        try:
            yield
        except Exception as error:
            if bubbles_up(error):  # a question to a person, on its way up
                raise
            asked = here.component == CHAT_GENERATOR
            culprit = worker_of(self.generator) if asked else run.invoker
            raise failure(error, here, culprit) from error


def _is_at(point: Breakpoint, here: Standing) -> bool:
    """Whether a breakpoint is where the run stands."""
    if point.component_name != here.component:
        return False
    if point.visit_count != here.visits[here.component]:
        return False
    wanted = point.tool_name if isinstance(point, ToolBreakpoint) else None
    calls = [call.tool_name for message in here.called for call in message.tool_calls]
    return wanted is None or wanted in calls


def _has_called(values: Values) -> bool:
    """Whether the model was asked last, and its tools have not run."""
    visits = values.get(VISITS, NO_VISITS)
    return visits[CHAT_GENERATOR] > visits[TOOL_INVOKER]


def _is_answered(values: Values) -> bool:
    """Whether an answer stands where the model had called tools: a program has put it there."""
    messages: list[ChatMessage] = values.get("messages", [])
    last = messages[-1] if messages and _has_called(values) else None
    return last is not None and last.is_from(ChatRole.ASSISTANT) and not last.tool_calls


def _visited(here: Standing) -> dict[str, int]:
    return {**here.visits, here.component: here.visits[here.component] + 1}


class _Recorded(State):
    """The state of one step, which knows what was set in it."""

    def __init__(self, schema: Schema, data: Values) -> None:
        self._take(schema, data)
        self._set: set[str] = set()

    def set(self, key: str, value: Any, handler_override: Any = None) -> None:
        """As of `State`; remembers the key."""
        super().set(key, value, handler_override)
        self._set.add(key)

    def changes(self, answers: list[ChatMessage]) -> Values:
        """What was set, and the tools' answers."""
        if "messages" not in self._set:
            return {**{key: self._data[key] for key in self._set}, "messages": answers}
        self.set("messages", answers)  # after what tools have put there
        changed = {key: self._data[key] for key in self._set}
        return {**changed, "messages": Overwrite(changed["messages"])}


class _Node(Runnable[Any, Any]):
    """A node with a sync and an async form."""

    def __init__(self, name: str, call: Any, acall: Any) -> None:
        self.name = name
        self._call = call
        self._acall = acall

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """The update of the state."""
        return self._call(input)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        return await self._acall(input)


def _invoker(run: Run) -> ToolInvoker:
    if run.invoker is None:
        raise InvalidValueError(
            "The model has called tools, and this run of the agent has none: give it the tools "
            "that it ran with before."
        )
    return run.invoker


__all__ = ["NO_VISITS", "OWN_KEYS", "REPLIES", "VISITS", "Loop", "Run"]
