"""`ModelCallLimitMiddleware`: how often an agent may ask its model, in a run and on a thread."""

from typing import Annotated, Any, Literal, NotRequired

from plait.agents.middleware.base import AgentMiddleware, hook_config
from plait.agents.middleware.options import check_limits
from plait.agents.middleware.state import AgentState, PrivateStateAttr
from plait.channels.untracked_value import UntrackedValue
from plait.errors import ConfigError, RunError
from plait.messages import AIMessage
from plait.runtime import Runtime


class ModelCallLimitState(AgentState[Any]):
    """The state of an agent whose model calls are counted."""

    thread_model_call_count: NotRequired[Annotated[int, PrivateStateAttr]]
    """Calls on this thread so far."""
    run_model_call_count: NotRequired[Annotated[int, UntrackedValue, PrivateStateAttr]]
    """Calls in this run so far."""


class ModelCallLimitExceededError(RunError):
    """An agent has asked its model as often as it may.

    Args:
        thread_count: Calls on the thread.
        run_count: Calls in the run.
        thread_limit: How many the thread may have (None: any number).
        run_limit: How many a run may have.
    """

    def __init__(
        self, thread_count: int, run_count: int, thread_limit: int | None, run_limit: int | None
    ) -> None:
        self.thread_count = thread_count
        self.run_count = run_count
        self.thread_limit = thread_limit
        self.run_limit = run_limit
        reached = [
            f"{which} limit ({count}/{limit})"
            for which, count, limit in (
                ("thread", thread_count, thread_limit),
                ("run", run_count, run_limit),
            )
            if limit is not None and count >= limit
        ]
        super().__init__(f"Model call limits exceeded: {', '.join(reached)}")


class ModelCallLimitMiddleware(AgentMiddleware[ModelCallLimitState, Any, Any]):
    """Ends an agent, or fails, when it has asked its model often enough.

    Args:
        thread_limit: Calls that a thread may have, over all its runs (None: any number).
        run_limit: Calls that a run may have.
        exit_behavior: "end": the agent ends with a message that says so. "error": a
            `ModelCallLimitExceededError` is raised.

    Raises:
        ConfigError: There is no limit, one is no whole number of 0 or more, or `exit_behavior` is
            unknown.

    >>> ModelCallLimitMiddleware(run_limit=5).run_limit
    5
    """

    state_schema = ModelCallLimitState

    def __init__(
        self,
        *,
        thread_limit: int | None = None,
        run_limit: int | None = None,
        exit_behavior: Literal["end", "error"] = "end",
    ) -> None:
        if thread_limit is None and run_limit is None:
            raise ConfigError("Give ModelCallLimitMiddleware a thread_limit, a run_limit or both.")
        check_limits(thread_limit=thread_limit, run_limit=run_limit)
        if exit_behavior not in ("end", "error"):
            raise ConfigError(f"Invalid exit_behavior {exit_behavior!r}: use 'end' or 'error'.")
        self.thread_limit = thread_limit
        self.run_limit = run_limit
        self.exit_behavior = exit_behavior

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """End the agent where a limit is reached.

        Raises:
            ModelCallLimitExceededError: It is, and that is an error.
        """
        counts = _counts(state)
        limits = (self.thread_limit, self.run_limit)
        if not any(
            limit is not None and count >= limit
            for count, limit in zip(counts, limits, strict=True)
        ):
            return None
        reached = ModelCallLimitExceededError(*counts, *limits)
        if self.exit_behavior == "error":
            raise reached
        return {"jump_to": "end", "messages": [AIMessage(str(reached))]}

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `before_model`."""
        return self.before_model(state, runtime)

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        """Count the call."""
        thread, run = _counts(state)
        return {"thread_model_call_count": thread + 1, "run_model_call_count": run + 1}

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        """The async twin of `after_model`."""
        return self.after_model(state, runtime)


def _counts(state: Any) -> tuple[int, int]:
    return state.get("thread_model_call_count", 0), state.get("run_model_call_count", 0)


__all__ = ["ModelCallLimitExceededError", "ModelCallLimitMiddleware", "ModelCallLimitState"]
