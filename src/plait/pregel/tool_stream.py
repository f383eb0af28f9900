"""The stream mode `tools`: tool calls as they begin, give parts of their output, and end.

A `ToolStream` is a callback handler in the config of the run, so that every tool called in a node
tells it: plait's and langchain_core's, by a ToolNode or by hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from plait.callbacks.handlers import BaseCallbackHandler
from plait.common.failures import said
from plait.constants import TOOLS_MODE
from plait.errors import GraphBubbleUp, NodeCancelledError, ParentCommand
from plait.pregel.scope import TaskScope
from plait.runnables.config import with_handler
from plait.scope import current_scope

if TYPE_CHECKING:
    from plait.pregel.run import Run


class ToolStream(BaseCallbackHandler):
    """Tells the `tools` stream of one run, and of those inside it if it streams subgraphs."""

    raise_error = True
    run_inline = True
    ignore_llm = True
    ignore_chat_model = True
    ignore_chain = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self) -> None:
        self._calls: dict[UUID, tuple[TaskScope, str]] = {}

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A tool is called: by a tool call, or by hand, which has no id of its own."""
        scope = current_scope.get()
        if not isinstance(scope, TaskScope):
            return
        call_id = kwargs.get("tool_call_id") or str(run_id)
        self._calls[run_id] = scope, call_id
        name = (serialized or {}).get("name") or kwargs.get("name")
        given = input_str if inputs is None else inputs
        tell(scope, "tool-started", call_id, tool_name=name, input=given)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool returned."""
        if (call := self._calls.pop(run_id, None)) is not None:
            tell(call[0], "tool-finished", call[1], output=output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool failed, or left its graph by a command. A question is no failure: when it is
        answered, the call begins again."""
        call = self._calls.pop(run_id, None)
        begins_again = isinstance(error, GraphBubbleUp) and not isinstance(error, ParentCommand)
        if call is not None and not begins_again:
            with suppress(NodeCancelledError):  # the run was left; the tool's own error goes on
                tell(call[0], "tool-error", call[1], message=said(error))


def tell(scope: TaskScope, event: str, call_id: str | None, **about: Any) -> None:
    """Send an event of a tool call, if anybody listens to it."""
    scope.send(TOOLS_MODE, {"event": event, "tool_call_id": call_id, **about})


def listen_to_tools(run: Run) -> None:
    """Have a run hear of its tool calls, unless it inherits what tells them: each is told to the
    task that it is made in."""
    callbacks = run.config.get("callbacks")
    handlers: Iterable[Any] = getattr(callbacks, "handlers", callbacks) or ()
    if not any(isinstance(each, ToolStream) for each in handlers):
        run.config["callbacks"] = with_handler(callbacks, ToolStream())


__all__ = ["ToolStream", "listen_to_tools", "tell"]
