"""The hooks of middleware as nodes, and the check that a hook jumps where it said it would."""

from collections.abc import Callable, Collection, Sequence
from inspect import iscoroutinefunction
from typing import Any, Literal, cast

from plait.agents.middleware.base import CAN_JUMP_TO, AgentMiddleware
from plait.agents.middleware.state import JumpTo
from plait.callbacks.context import finds_config
from plait.errors import InvalidNodeError, UndeclaredJumpError
from plait.pregel.binding import Binding, parameters
from plait.pregel.scope import scope_for
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, run_in_executor
from plait.types import Command

HookKind = Literal["before_agent", "before_model", "after_model", "after_agent"]
Middleware = AgentMiddleware[Any, Any, Any]


def defines(middleware: Middleware, method: str) -> bool:
    """Whether a middleware defines a method itself, rather than inherit the one of the base."""
    return getattr(type(middleware), method) is not getattr(AgentMiddleware, method)


def with_hook(middleware: Sequence[Middleware], kind: str) -> list[Middleware]:
    """Those of the middleware that define a hook or its async twin."""
    return [one for one in middleware if defines(one, kind) or defines(one, f"a{kind}")]


def jumps_of(middleware: Middleware, kind: HookKind) -> list[JumpTo]:
    """Where a hook of the middleware says that it may jump."""
    for method in (kind, f"a{kind}"):
        declared = getattr(getattr(middleware, method), CAN_JUMP_TO, None)
        if declared:
            return cast("list[JumpTo]", declared)
    return []


class HookNode(Runnable[Any, Any]):
    """A hook of a middleware as a node.

    Args:
        middleware: The middleware.
        kind: Which of its hooks.
        may_jump: Where the node's edges can lead.
    """

    def __init__(self, middleware: Middleware, kind: HookKind, may_jump: Collection[str]) -> None:
        self.name = f"{middleware.name}.{kind}"
        self._kind = kind
        self._may_jump = may_jump
        self._sync = self._bound(middleware, kind)
        self._async = self._bound(middleware, f"a{kind}")

    def _bound(self, middleware: Middleware, method: str) -> Binding | None:
        if not defines(middleware, method):
            return None
        hook: Callable[..., Any] = getattr(middleware, method)
        return Binding(_with_runtime(hook), f"{middleware.name}.{method}")

    @finds_config
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The update that the hook returns.

        Raises:
            InvalidNodeError: There is only an async hook.
            UndeclaredJumpError: The hook jumps where it did not declare to.
        """
        if self._sync is None:
            raise InvalidNodeError(
                f"Hook {self.name!r} is only there as an async method, so the agent must be called "
                "by ainvoke or astream. Or define the sync method too."
            )
        return self._checked(self._sync.call(input, scope_for(config)))

    @finds_config
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`; a hook that is only sync runs on a thread."""
        scope = scope_for(config)
        if self._async is not None:
            return self._checked(await self._async.call(input, scope))
        assert self._sync is not None, "a node is made of a hook that is defined"
        return self._checked(await run_in_executor(None, self._sync.call, input, scope))

    def _checked(self, result: Any) -> Any:
        update: Any = result
        if isinstance(result, Command):
            update = cast("Command[Any]", result).update
        jump = cast("dict[str, Any]", update).get("jump_to") if isinstance(update, dict) else None
        if jump is not None and jump not in self._may_jump:
            raise UndeclaredJumpError(
                f"Hook {self.name!r} set jump_to={jump!r}, which leads nowhere from there. "
                f"{self._advice(jump)}"
            )
        return cast("Any", result)

    def _advice(self, jump: Any) -> str:
        if jump == "model" and self._kind == "before_model":
            return "The model's turn begins with this hook: without a jump it goes on to the model."
        if jump in ("tools", "model", "end"):
            return (
                f"Declare it: hook_config(can_jump_to=[{jump!r}]), or can_jump_to=[{jump!r}] in "
                "the decorator; and the agent must have tools for a jump to them."
            )
        return "A hook may jump to 'tools', 'model' or 'end'."


def _with_runtime(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook, its second parameter called `runtime`, whatever its author calls it."""
    taken = [one for one in parameters(hook) or () if one.default is one.empty]
    if len(taken) != 2 or taken[1].kind is not taken[1].POSITIONAL_OR_KEYWORD:
        return hook
    if taken[1].name in ("runtime", "config", "writer", "store", "previous"):
        return hook
    if iscoroutinefunction(hook):

        async def acall(state: Any, runtime: Any) -> Any:
            return await hook(state, runtime)

        return acall

    def call(state: Any, runtime: Any) -> Any:
        return hook(state, runtime)

    return call


__all__ = ["HookKind", "HookNode", "Middleware", "defines", "jumps_of", "with_hook"]
