"""Listeners: functions that hear of each run of one runnable (`with_listeners`)."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any, cast
from uuid import UUID

from plait.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from plait.runnables.base import Runnable
from plait.runnables.binding import RunnableBinding
from plait.runnables.calling import code_of
from plait.runnables.config import RunnableConfig
from plait.runnables.told_runs import Run, as_dict


class _Runs:
    """The tree of runs under the first one that is heard, and what its listeners are due."""

    def __init__(self, config: RunnableConfig, listeners: Mapping[str, Any]) -> None:
        self._config = config
        self._listeners = listeners
        self._runs: dict[UUID, Run] = {}
        self._root: Run | None = None

    def start(
        self,
        kind: str,
        serialized: Any,
        inputs: Any,
        run_id: UUID,
        parent: UUID | None,
        told: dict[str, Any],
    ) -> Any:
        """A run starts; what the listener returns if it is the root."""
        run = Run(
            id=run_id,
            name=str(told.get("name") or "Unnamed"),
            run_type=kind,
            inputs=as_dict(inputs, "input"),
            parent_run_id=parent,
            tags=list(told.get("tags") or ()),
            extra={"metadata": dict(told.get("metadata") or {})},
            serialized=serialized,
        )
        self._runs[run_id] = run
        if parent is not None and parent in self._runs:
            self._runs[parent].adopt(run)
        if self._root is not None:
            return None
        self._root = run
        return self._tell("on_start")

    def end(self, run_id: UUID, told: Any, *, outputs: Any = None, error: Any = None) -> Any:
        """A run ends; what the listener returns if it is the root."""
        run = self._runs.get(run_id)
        if run is None:
            return None
        run.end("end" if error is None else "error")
        if "inputs" in told:
            run.inputs = as_dict(told["inputs"], "input")
        if error is None:
            run.outputs = as_dict(outputs, "output")
        else:
            run.error = repr(error) + "".join(traceback.format_exception(error))
        if run is not self._root:
            return None
        return self._tell("on_end" if error is None else "on_error")

    def _tell(self, event: str) -> Any:
        listener = self._listeners.get(event)
        if listener is None:
            return None
        takes_config = _parameters(listener) > 1
        return listener(self._root, self._config) if takes_config else listener(self._root)


_STARTS = {
    "on_chain_start": "chain",
    "on_chat_model_start": "chat_model",
    "on_llm_start": "llm",
    "on_tool_start": "tool",
    "on_retriever_start": "retriever",
}
_ENDS = ("on_chain_end", "on_llm_end", "on_tool_end", "on_retriever_end")
_ERRORS = ("on_chain_error", "on_llm_error", "on_tool_error", "on_retriever_error")


class _Handler(BaseCallbackHandler):
    """Tells sync listeners. Only the run's own handlers, not its children's, call it first."""

    run_inline = True

    def __init__(self, runs: _Runs) -> None:
        self.runs = runs


class _AsyncHandler(AsyncCallbackHandler):
    """Tells async listeners."""

    def __init__(self, runs: _Runs) -> None:
        self.runs = runs


def _on_start(kind: str) -> Callable[..., Any]:
    def tell(
        self: Any,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: Any = None,
        **told: Any,
    ) -> Any:
        return self.runs.start(kind, serialized, inputs, run_id, parent_run_id, told)

    return tell


def _on_end(self: Any, outputs: Any, *, run_id: UUID, **told: Any) -> Any:
    return self.runs.end(run_id, told, outputs=outputs)


def _on_error(self: Any, error: BaseException, *, run_id: UUID, **told: Any) -> Any:
    return self.runs.end(run_id, told, error=error)


def _async(method: Callable[..., Any]) -> Callable[..., Any]:
    async def tell(*args: Any, **kwargs: Any) -> None:
        said = method(*args, **kwargs)
        if said is not None:
            await said

    return tell


for _event, _kind in _STARTS.items():
    setattr(_Handler, _event, _on_start(_kind))
    setattr(_AsyncHandler, _event, _async(_on_start(_kind)))
for _event in _ENDS:
    setattr(_Handler, _event, _on_end)
    setattr(_AsyncHandler, _event, _async(_on_end))
for _event in _ERRORS:
    setattr(_Handler, _event, _on_error)
    setattr(_AsyncHandler, _event, _async(_on_error))


def listened_to(
    runnable: Runnable[Any, Any], on_start: Any, on_end: Any, on_error: Any, *, is_async: bool
) -> Runnable[Any, Any]:
    """`runnable`, telling the listeners of each of its runs."""
    listeners = {"on_start": on_start, "on_end": on_end, "on_error": on_error}
    kind = _AsyncHandler if is_async else _Handler

    def heard(config: RunnableConfig) -> RunnableConfig:
        return {"callbacks": [cast("Any", kind)(_Runs(config, listeners))]}

    return RunnableBinding(bound=runnable, config_factories=[heard])


def _parameters(listener: Any) -> int:
    code = code_of(listener)
    if code is None:
        return 1
    is_bound = hasattr(listener, "__self__") or not hasattr(listener, "__code__")
    return code.co_argcount - (1 if is_bound else 0)


__all__ = ["listened_to"]
