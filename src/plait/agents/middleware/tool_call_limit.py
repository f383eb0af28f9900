"""`ToolCallLimitMiddleware`: how often an agent may call its tools, in a run and on a thread."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, NotRequired

from plait.agents.middleware.base import AgentMiddleware, hook_config
from plait.agents.middleware.options import check_limits, check_texts
from plait.agents.middleware.state import AgentState, PrivateStateAttr, answered_calls
from plait.channels.untracked_value import UntrackedValue
from plait.errors import ConfigError, RunError
from plait.messages import AIMessage, ToolMessage
from plait.messages.foreign import kind_of
from plait.runtime import Runtime

ExitBehavior = Literal["continue", "error", "end"]
"""What happens to calls beyond a limit."""

_ALL = "__all__"
"""The key under which calls of all tools are counted."""


class ToolCallLimitState(AgentState[Any]):
    """The state of an agent whose tool calls are counted, by the tool that is limited."""

    thread_tool_call_count: NotRequired[Annotated[dict[str, int], PrivateStateAttr]]
    """Calls on this thread that were let through."""
    run_tool_call_count: NotRequired[Annotated[dict[str, int], UntrackedValue, PrivateStateAttr]]
    """Calls in this run, those that were refused included."""


class ToolCallLimitExceededError(RunError):
    """An agent has called its tools, or one of them, as often as it may.

    Args:
        thread_count: Calls on the thread, with those that were one too many.
        run_count: Calls in the run.
        thread_limit: How many the thread may have (None: any number).
        run_limit: How many a run may have.
        tool_name: The tool that is limited (None: all).
    """

    def __init__(
        self,
        thread_count: int,
        run_count: int,
        thread_limit: int | None,
        run_limit: int | None,
        tool_name: str | None = None,
    ) -> None:
        self.thread_count = thread_count
        self.run_count = run_count
        self.thread_limit = thread_limit
        self.run_limit = run_limit
        self.tool_name = tool_name
        exceeded = " and ".join(
            f"{which} limit exceeded ({count}/{limit} calls)"
            for which, count, limit in (
                ("thread", thread_count, thread_limit),
                ("run", run_count, run_limit),
            )
            if limit is not None and count > limit
        )
        whose = "Tool" if tool_name is None else f"'{tool_name}' tool"
        super().__init__(f"{whose} call limit reached: {exceeded}.")


class ToolCallLimitMiddleware(AgentMiddleware[ToolCallLimitState, Any, Any]):
    """Refuses tool calls beyond a limit, ends the agent there, or fails.

    An agent may have several, one for each tool.

    Args:
        tool_name: The tool whose calls count (None: all tools).
        thread_limit: Calls that a thread may have, over all its runs (None: any number).
        run_limit: Calls that a run may have.
        exit_behavior: "continue": calls beyond the limit are answered by an error, the others run,
            and the model goes on. "end": none of the turn's calls runs, and the agent ends with a
            message that says why. "error": a `ToolCallLimitExceededError` is raised.

    Raises:
        ConfigError: There is no limit, one is no whole number of 0 or more, `tool_name` is no text,
            `exit_behavior` is unknown, or a run may have more calls than a thread.

    >>> ToolCallLimitMiddleware(run_limit=3, tool_name="search").name
    'ToolCallLimitMiddleware[search]'
    """

    state_schema = ToolCallLimitState

    def __init__(
        self,
        *,
        tool_name: str | None = None,
        thread_limit: int | None = None,
        run_limit: int | None = None,
        exit_behavior: ExitBehavior = "continue",
    ) -> None:
        if thread_limit is None and run_limit is None:
            raise ConfigError("Give ToolCallLimitMiddleware a thread_limit, a run_limit or both.")
        check_limits(thread_limit=thread_limit, run_limit=run_limit)
        check_texts(tool_name=tool_name)
        if exit_behavior not in ("continue", "error", "end"):
            raise ConfigError(
                f"Invalid exit_behavior {exit_behavior!r}: use 'continue', 'error' or 'end'."
            )
        if thread_limit is not None and run_limit is not None and run_limit > thread_limit:
            raise ConfigError(
                f"run_limit ({run_limit}) is above thread_limit ({thread_limit}), so it would "
                "never be reached. Lower it, or leave it out."
            )
        self.tool_name = tool_name
        self.thread_limit = thread_limit
        self.run_limit = run_limit
        self.exit_behavior = exit_behavior

    @property
    def name(self) -> str:
        """The name, with that of the tool that is limited."""
        name = type(self).__name__
        return name if self.tool_name is None else f"{name}[{self.tool_name}]"

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given."""
        return {} if self.tool_name is None else {"tool_name": [self.tool_name]}

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Count the calls of the model's message, and answer those beyond the limit.

        Raises:
            ToolCallLimitExceededError: There are some, and that is an error.
        """
        said = next((one for one in reversed(state["messages"]) if kind_of(one) == "ai"), None)
        calls: list[Any] = list(getattr(said, "tool_calls", ()))
        counted = [one for one in calls if self.tool_name in (None, one["name"])]
        if not counted:
            return None
        key = self.tool_name or _ALL
        on_thread = dict(state.get("thread_tool_call_count", {}))
        in_run = dict(state.get("run_tool_call_count", {}))
        thread, run = on_thread.get(key, 0), in_run.get(key, 0)
        allowed = counted[: self._left(thread, run)]
        blocked = counted[len(allowed) :]
        in_run[key] = run + len(counted)
        stops = bool(blocked) and self.exit_behavior == "end"
        on_thread[key] = thread + (0 if stops else len(allowed))
        update = {"thread_tool_call_count": on_thread, "run_tool_call_count": in_run}
        if not blocked:
            return update
        reached = ToolCallLimitExceededError(
            thread + len(counted), in_run[key], self.thread_limit, self.run_limit, self.tool_name
        )
        if self.exit_behavior == "error":
            raise reached
        answered = answered_calls(state)
        left = [one for one in calls if one["id"] not in answered]
        messages: list[Any] = [_answer(one, self._refusal()) for one in left if one in blocked]
        if not stops:
            return {**update, "messages": messages}
        messages += [_answer(one, _NOT_RUN) for one in left if one not in blocked]
        messages.append(AIMessage(str(reached)))
        return {**update, "jump_to": "end", "messages": messages}

    @hook_config(can_jump_to=["end"])
    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `after_model`."""
        return self.after_model(state, runtime)

    def _left(self, thread: int, run: int) -> int | None:
        """How many more calls there may be; None: any number."""
        pairs = ((self.thread_limit, thread), (self.run_limit, run))
        left = [limit - count for limit, count in pairs if limit is not None]
        return max(0, min(left)) if left else None

    def _refusal(self) -> str:
        if self.tool_name is None:
            return "Tool call limit exceeded. Do not make additional tool calls."
        return f"Tool call limit exceeded. Do not call '{self.tool_name}' again."


_NOT_RUN = (
    "Execution stopped before this tool call could run because another tool call in the same "
    "batch exceeded the limit."
)


def _answer(call: Any, text: str) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")


__all__ = [
    "ExitBehavior",
    "ToolCallLimitExceededError",
    "ToolCallLimitMiddleware",
    "ToolCallLimitState",
]
