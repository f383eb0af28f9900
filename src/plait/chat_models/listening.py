"""The manager of a run, as the code of a model is given it, whether anybody listens or not."""

from collections.abc import Callable
from typing import Any

from plait.runnables.calling import accepts


class Unheard:
    """Stands for a run manager that nobody hears.

    The manager is made when something is asked of it: it loads asyncio, and few models ask.

    >>> Unheard("CallbackManagerForLLMRun").handlers
    []
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # copying and the like ask before there is a kind
        if self._made is None:
            from plait.callbacks import manager

            self._made = getattr(manager, self._kind).get_noop_manager()
        return getattr(self._made, name)


def run_given(code: Callable[..., Any], run: Any) -> dict[str, Any]:
    """The keyword by which sync code of a model is given its run, if it has a parameter for it.

    Args:
        code: What a model defines, such as `_generate`.
        run: The run's manager; None if nobody listens.
    """
    return _given(code, run, "CallbackManagerForLLMRun")


def arun_given(code: Callable[..., Any], run: Any) -> dict[str, Any]:
    """The async twin of `run_given`."""
    return _given(code, run, "AsyncCallbackManagerForLLMRun")


def _given(code: Callable[..., Any], run: Any, kind: str) -> dict[str, Any]:
    if not accepts(code, "run_manager"):
        return {}
    return {"run_manager": Unheard(kind) if run is None else run}


__all__ = ["arun_given", "run_given"]
