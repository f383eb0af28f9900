"""The graph of an executor: a node that asks the agent, a node that runs a tool, and back."""

from collections.abc import Callable, Sequence
from operator import add
from typing import Annotated, Any, Protocol, cast

from typing_extensions import TypedDict

from plait.agents.actions import AgentAction, AgentFinish, AgentStep
from plait.agents.classic.base import BasePlanner, decided
from plait.agents.classic.observing import EXCEPTION_TOOL, ObservingToolNode
from plait.agents.classic.timing import OVER, Clock
from plait.callbacks import has_listeners
from plait.channels.untracked_value import UntrackedValue
from plait.constants import END
from plait.errors import InvalidValueError, NotSupportedError
from plait.exceptions import OutputParserException, is_parsing_error
from plait.graph.state import StateGraph
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config
from plait.types import Command, Overwrite, Send

Step = tuple[AgentAction, Any]

_PLAN, _TOOL = "plan", "action"
"""What the calls are called that the time of a run bounds."""


class ExecutorState(TypedDict, total=False):
    """What an executor's thread holds."""

    inputs: dict[str, Any]
    """What the executor was called with."""
    steps: Annotated[list[AgentStep], add]
    """The intermediate steps: actions, each with what came of it."""
    actions: list[AgentAction]
    """What the agent decided last."""
    turns: int
    """How often the agent was asked."""
    finish: AgentFinish | None
    """The end, once there is one."""
    started: Annotated[float, UntrackedValue]
    """When this run began, by the monotonic clock: time that a person takes does not count."""


def fresh(inputs: dict[str, Any]) -> dict[str, Any]:
    """The input of a new call, on a thread that may hold an earlier one."""
    return {"inputs": inputs, "steps": Overwrite([]), "actions": [], "turns": 0, "finish": None}


def pairs(steps: Sequence[AgentStep]) -> list[Step]:
    """Steps as agents are shown them: the actions, each with what came of it."""
    return [(step.action, step.observation) for step in steps]


class Settings(Protocol):
    """What the nodes ask of their executor, whose fields may change between calls."""

    agent: Any
    max_iterations: int | None
    max_execution_time: float | None
    early_stopping_method: str
    handle_parsing_errors: bool | str | Callable[[OutputParserException], str]
    trim_intermediate_steps: int | Callable[[list[Step]], list[Step]]


class PlanNode(Runnable[Any, Any]):
    """Asks the agent what to do next; ends where iterations or time have run out."""

    def __init__(self, settings: Settings) -> None:
        self.name = "agent"
        self._settings = settings

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The update of the state with what the agent decided."""
        settings, clock = self._settings, self._clock(input)
        if self._is_over(input, clock):
            return self._stopped(input)
        agent: BasePlanner = settings.agent
        given = self._trimmed(input), _handlers(ensure_config(config))
        try:
            decision = clock.call(_PLAN, lambda: agent.plan(*given, **input["inputs"]))
        except ValueError as error:
            decision = _unread(error, settings.handle_parsing_errors)
        if decision is OVER:
            return self._stopped(input)
        return self._update(input, decision, clock)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        settings, clock = self._settings, self._clock(input)
        if self._is_over(input, clock):
            return await self._astopped(input)
        agent: BasePlanner = settings.agent
        given = self._trimmed(input), _handlers(ensure_config(config))
        try:
            decision = await clock.acall(_PLAN, lambda: agent.aplan(*given, **input["inputs"]))
        except ValueError as error:
            decision = _unread(error, settings.handle_parsing_errors)
        if decision is OVER:
            return await self._astopped(input)
        return self._update(input, decision, clock)

    def _clock(self, state: Any) -> Clock:
        return Clock(state.get("started"), self._settings.max_execution_time)

    def _update(self, state: Any, decision: Any, clock: Clock) -> dict[str, Any]:
        decision = decided(decision)
        turns = {"turns": state.get("turns", 0) + 1, "started": clock.started}
        if isinstance(decision, AgentFinish):
            return {"finish": _whole(self._settings.agent, decision), "actions": [], **turns}
        return {"actions": decision, **turns}

    def _is_over(self, state: Any, clock: Clock) -> bool:
        turns = self._settings.max_iterations
        return clock.is_over or (turns is not None and state.get("turns", 0) >= turns)

    def _stopped(self, state: Any) -> dict[str, Any]:
        agent: BasePlanner = self._settings.agent
        method, steps = self._ending(state)
        finish = agent.return_stopped_response(method, steps, **state["inputs"])
        return {"finish": _whole(agent, finish), "actions": []}

    async def _astopped(self, state: Any) -> dict[str, Any]:
        agent: BasePlanner = self._settings.agent
        method, steps = self._ending(state)
        finish = await agent.areturn_stopped_response(method, steps, **state["inputs"])
        return {"finish": _whole(agent, finish), "actions": []}

    def _ending(self, state: Any) -> tuple[str, list[Step]]:
        """How the agent is to end early, and the steps it is given: in a last turn no more of them
        than in the others."""
        method = self._settings.early_stopping_method
        return method, self._trimmed(state) if method == "generate" else pairs(state["steps"])

    def _trimmed(self, state: Any) -> list[Step]:
        """The steps that the agent is shown."""
        trim, steps = self._settings.trim_intermediate_steps, pairs(state["steps"])
        if callable(trim):
            return trim(steps)
        return steps[-trim:] if trim > 0 else steps


def _whole(agent: BasePlanner, finish: AgentFinish) -> AgentFinish:
    """An end that has the values which the agent names.

    Raises:
        InvalidValueError: It lacks one.
    """
    missing = [key for key in agent.return_values if key not in finish.return_values]
    if missing:
        raise InvalidValueError(
            f"The agent names {', '.join(map(repr, missing))} among what it returns "
            f"(return_values), and ended with {list(finish.return_values) or 'nothing'}."
        )
    return finish


def _handlers(config: RunnableConfig) -> Any:
    return config.get("callbacks") if has_listeners(config) else None


def _unread(error: Any, handle: Any) -> AgentAction:
    """The action that tells the agent that it was not understood.

    Raises:
        ValueError: Parsing errors are not to be handled; or it is another error.
    """
    if not is_parsing_error(error):
        raise error
    if handle is False:
        raise ValueError(
            "An output parsing error occurred. Create the AgentExecutor with "
            "handle_parsing_errors=True to send it back to the agent, so that it can try again. "
            f"The error: {error}"
        ) from error
    text = str(error)
    if handle is True:
        if not error.send_to_llm:
            told = "Invalid or incomplete response"
        else:
            told, text = error.observation, error.llm_output
    else:
        told = handle if isinstance(handle, str) else handle(error)
    return AgentAction(EXCEPTION_TOOL, told, text)


class ActionNode(Runnable[Any, Any]):
    """Runs the tool of one action."""

    def __init__(self, tools: ObservingToolNode, settings: Settings) -> None:
        self.name = "tools"
        self._tools = tools
        self._settings = settings

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The update of the state with what came of it; nothing, if the run's time is over."""
        given, clock = self._given(input, config), self._clock(input)
        return self._update(input, clock.call(_TOOL, lambda: self._tools.invoke(*given)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        given, clock = self._given(input, config), self._clock(input)
        value = await clock.acall(_TOOL, lambda: self._tools.ainvoke(*given))
        return self._update(input, value)

    def _given(self, input: Any, config: RunnableConfig | None) -> tuple[Any, ...]:
        return input["action"], input["id"], _seen(input), ensure_config(config)

    def _clock(self, given: Any) -> Clock:
        return Clock(given.get("started"), self._settings.max_execution_time)

    def _update(self, given: Any, observation: Any) -> Any:
        if observation is OVER:
            return {}  # the agent is asked next, and finds that the time is over
        action = given["action"]
        if isinstance(observation, Command):
            command = cast("Command[Any]", observation)
            if command.graph is None:
                raise NotSupportedError(
                    f"Tool {action.tool!r} returned a Command for the graph of an AgentExecutor, "
                    "whose state is its own. Return the value that the agent is to see, or a "
                    "Command(graph=Command.PARENT) for the graph around the executor."
                )
            return command
        step = AgentStep(action=action, observation=observation)
        update: dict[str, Any] = {"steps": [step]}
        tool = self._tools.tools_by_name.get(action.tool)
        if given["alone"] and getattr(tool, "return_direct", False):
            agent: BasePlanner = self._settings.agent
            key = next(iter(agent.return_values), "output")
            update["finish"] = _whole(agent, AgentFinish({key: observation}, ""))
        return update


def _seen(given: Any) -> dict[str, Any]:
    """The state as `InjectedState` arguments of tools see it."""
    return {**given["inputs"], "messages": given["inputs"].get("chat_history", [])}


def executor_graph(settings: Settings, tools: Sequence[Any], **compiled: Any) -> Any:
    """The compiled graph of an executor.

    Args:
        settings: The executor.
        tools: Its tools.
        **compiled: Arguments of `StateGraph.compile`.
    """
    builder = StateGraph(ExecutorState)
    builder.add_node("agent", PlanNode(settings))
    builder.add_node("tools", ActionNode(ObservingToolNode(tools), settings))
    builder.set_entry_point("agent")
    builder.add_conditional_edges("agent", _to_tools, ["tools", END])
    builder.add_conditional_edges("tools", _to_agent, ["agent", END])
    return builder.compile(**compiled)


def _to_tools(state: Any) -> Any:
    """Each action is a task of its own, which is resumed alone."""
    actions: list[AgentAction] = state.get("actions") or []
    if state.get("finish") is not None or not actions:
        return END
    return [
        Send(
            "tools",
            {
                "action": action,
                "id": getattr(action, "tool_call_id", None) or f"{state['turns']}.{place}",
                "alone": len(actions) == 1,
                "inputs": state["inputs"],
                "started": state.get("started"),  # is not stored, as in the state
            },
        )
        for place, action in enumerate(actions)
    ]


def _to_agent(state: Any) -> str:
    return END if state.get("finish") is not None else "agent"


__all__ = ["ExecutorState", "Settings", "Step", "executor_graph", "fresh", "pairs"]
